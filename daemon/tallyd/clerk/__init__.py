"""The clerk: the only writer, on a thread of its own.

**Its job.** To take commands in their order and make each one transaction: what it changes, its events, its
row in the log, and the reply that is kept under its idempotency key. What arrives together is flushed
together.

================= ==========================================================================================
module            does
================= ==========================================================================================
``batch``         begins and commits the transaction, and handles what may go wrong with it: ``Clerk``
``command``       one command's way, from admission to its answer
``entries``       makes the rows of the log, and is the only one that does
``idempotency``   recognizes a command that came before
``bounds``        judges the size of a reply before it is kept
``refusals``      limits how many refusals of an actor are written down one by one
``members``       what a batch is made of, and what is answered
``hooks``         let a test kill the process before and after the commit
================= ==========================================================================================

**What holds.** A reply exists only after a commit. A member of a batch that is refused, or that fails, takes
nothing from the others. The same command under the same key has one effect and one reply. A commit whose sync
failed is followed by nothing: whether it is durable is unknown, so the process ends.

**What it does not do.** It knows no operation: handlers are given to it. It has no clock, no randomness and
no trio; its callers hand it batches (``service.driver``).
"""

from tallyd.clerk.batch import Clerk, SyncFailed
from tallyd.clerk.command import FencedRead, FirstStep, Handler, Unfinished
from tallyd.clerk.members import AccessRecord, Answer, Command, Member, SystemCommand

__all__ = [
    "AccessRecord",
    "Answer",
    "Clerk",
    "Command",
    "FencedRead",
    "FirstStep",
    "Handler",
    "Member",
    "SyncFailed",
    "SystemCommand",
    "Unfinished",
]
