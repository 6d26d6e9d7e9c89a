"""The ledger: one row for each command, in one order that can be proved.

**Its job.** ``log`` appends the rows, with their chain of leaves and their sequences; ``verify`` checks the
whole of it. ``transaction`` is what a command sees and may change, ``view`` what a read sees; both are given
their time, ids and randomness. ``events`` makes KCP's envelopes from rows, ``skeleton`` puts the content in,
``cursors`` and ``pages`` make the tokens by which a client goes on reading.

**What holds.** Positions, stream and project sequences have no gap; the database's own constraints see to it.
No row of the log, no event and no kept result holds content: content stands in bodies, each with its own key.
A leaf commits to content by a keyed digest, so that erasing the key erases what could be tested.

**What it does not do.** It decides no authority (``admission``) and opens no file (``store``).
"""
