"""The vault: the bytes of artifacts, from the moment in which a client writes them to the one in which they
are erased.

Three directories, all private, below the data directory::

    artifacts/staging/<upload id>              as the client wrote them, until the upload has ended
    artifacts/sealed/<artifact id>.<version>   sealed, read-only, one file for each available artifact
    artifacts/aside/…                          sealed files that no row names: kept, and looked at by a person

What the room promises:

* What is sealed is what was hashed. One pass reads the staging file once, and gives each piece to the digest,
  to the cipher and to the disk; a client that goes on writing meanwhile changes nothing that was not seen.
* A staging file is opened without following links, and must be a regular file with one name that belongs to
  us.
* Each sealing run has a key of its own. It stands in the database only if the transaction that makes the
  artifact available put it there; the file of any other run is noise, and is thrown away, or set aside where
  nobody can say whether that transaction will be found on the disk.
* A sealed file is on the disk, with its name, before a row may speak of it.
* Sealing, reading and receiving take the same memory for a byte and for a gigabyte.

What it does not do: decide who may read or write anything, know a state, or touch the database. Time and
randomness come with what it is handed. Its calls wait for the disk, and so none of them belongs on the loop
or into a transaction.
"""

from tallyd.vault.places import Vault
from tallyd.vault.sealing import NO_BYTES, Order, Sealing, Stopped
from tallyd.vault.staging import Hole, NotOurs
from tallyd.vault.stream import Damaged
from tallyd.vault.sweeping import Swept

__all__ = ["NO_BYTES", "Damaged", "Hole", "NotOurs", "Order", "Sealing", "Stopped", "Swept", "Vault"]
