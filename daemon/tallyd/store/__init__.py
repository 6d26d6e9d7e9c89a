"""The store: one directory, one SQLite database, one owner.

**Its job.** To open the database so that the promises made above it can be kept, and to keep beside it what
must not be inside: the keys, the locks, and the marker that says how far the log was known to reach.

**What holds.**

- *Acknowledged means durable.* Every setting that durability rests on is made, read back and compared
  (``pragmas``). Files beside the database are written aside, synced, renamed, and their directory synced
  (``files``). What a start finds in the write-ahead log is synced before anything is answered from it
  (``opening``).
- *One owner.* Two kernel locks, on the data and on the runtime directory, are taken before the database is
  opened and held until the process ends (``locks``).
- *Nothing that once existed is made anew, empty.* A missing database, a lost key, a store that was put back
  are each refused, by name (``opening``, ``keys``, ``marker``).
- *Forgotten means gone* starts here: deleted rows are overwritten, temporary data stays in memory, no core
  dumps (``pragmas``, ``process``), content stands once, sealed (``bodies``).
- *A schema changes whole or not at all*, after a verified copy (``migrations``).
- *Every refusal* has an exit code of its own and says what to do; none suggests destroying anything
  (``refusals``).

**What it does not do.** It knows nothing of commands, events or protocol; it uses nothing else of the
daemon. It starts no thread, and decides neither when to checkpoint nor when to write the marker: it offers
both. It has no clock and no randomness but what it is handed (``ambient``).

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
migrations            steps of the schema, and the copy made before them
identity, keys        who the store is; its secrets
marker                how far the log was known to reach
process               what the process gives up at its start
lacks                 what the system would not give
refusals, failures    exit codes; what an error means for a start
====================  =====================================================================================
"""
