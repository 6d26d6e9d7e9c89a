"""The ledger: one row a command, in one order, that can be proved.

**Its job.** ``log`` is the chain of rows, their leaves and their dense sequences; ``verify`` walks it again.
``transaction`` is what a command sees and may change, ``view`` what a read sees; both know the time, ids and
randomness only through what they were given. Out of rows ``events`` makes KCP's envelopes, ``skeleton`` joins
them with content, ``cursors`` and ``pages`` make places that a client can hold and cannot make.

**What holds.** Positions, stream and project sequences have no gap; the database's own constraints see to it.
No row of the log, no event and no kept result holds content: content stands in bodies, each with its own key.
A leaf commits to content by a keyed digest, so that erasing the key erases what could be tested.

**What it does not do.** It decides no authority (``admission``) and opens no file (``store``).
"""
