"""The clerk: the only writer, on a thread of its own.

**Its job.** To take commands in their order and make each one transaction: what it changes, its event, its
row in the log, the reply that is kept under its idempotency key. What arrives together is flushed together
(``clerk``). It recognizes a command that came before (``idempotency``), judges the size of what it would
answer (``bounds``), and writes down what it refuses (``refusals``).

**What holds.** A reply exists only behind a commit. One member of a batch that is refused, or that fails,
takes none of its neighbours with it. The same command under the same key has one effect and one reply. A
commit that fails is followed by nothing: whether it is durable is unknown, so the process ends.

**What it does not do.** It knows no operation: handlers are given to it. It has no clock, no randomness and
no trio; its callers hand it batches (``service.driver``). ``hooks`` let a test kill it before and behind the
commit.
"""
