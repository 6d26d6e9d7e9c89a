"""The store: one directory, one SQLite database, one owner.

**Its job.** It opens the database with the settings that the rest of the daemon relies on. Beside the
database it keeps what must not be inside: the keys, the locks, and the marker that says how far the log was
known to reach.

**What holds.**

- *Acknowledged means durable.* Every SQLite setting that durability rests on is set, read back and compared
  (``pragmas``). Files beside the database are written aside, synced, renamed, and their directory synced
  (``files``). What a start finds in the write-ahead log is synced before anything is answered from it
  (``opening``).
- *One owner.* Two kernel locks, on the data and on the runtime directory, are taken before the database is
  opened and held until the process ends (``locks``).
- *A store that existed is never replaced by an empty one.* The start is refused, with a reason of its own,
  where the database is missing, a key is lost, or the store was put back to an older state (``opening``,
  ``keys``, ``marker``).
- *Erased means gone* starts here. Deleted rows are overwritten, temporary data stays in memory, there are no
  core dumps (``pragmas``, ``process``); each piece of content stands in one row, encrypted (``bodies``).
- *An upgrade is done whole or not at all*, after a verified copy (``copies``, ``migrations``,
  ``references``).
- *Every refusal* has an exit code of its own and says what to do next; none suggests destroying anything
  (``refusals``).

**What it does not do.** It knows nothing of commands, events or protocol; it uses nothing else of the
daemon. It starts no thread. It can checkpoint and write the marker, and the service decides when. It takes
time and randomness from what it is handed (``ambient``).

**Beware.** Nothing in this process may open and close the database file or its ``-shm`` beside SQLite:
closing any descriptor of a file drops all the POSIX locks that the process has on it, in the middle of a
transaction. Sizes come from ``stat``, copies from the backup API.

====================  =====================================================================================
opening               ``open_store``: the order of checks, the first start, adoption
store                 ``Store``: writer, readers, checkpoints, marker, whether it is still ours
directories, files    private directories; durable files; the seam for faults of the disk
locks                 kernel locks
filesystem, probe     which file systems are refused, and the trial of the others
pragmas               connections and their settings
migrations            steps of the schema, applied in one transaction
copies                the copy made before an upgrade: made, used again, removed
references            which references an upgrade may have broken
progress              how far a long start is
identity, keys        who the store is; its secrets
marker                how far the log was known to reach
process               what the process gives up at its start
lacks                 what the system would not give
refusals, failures    exit codes; what an error means for a start
====================  =====================================================================================
"""
