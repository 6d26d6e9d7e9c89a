"""Readers: everything that looks and does not write.

**Its job.** To run a read as one short transaction on a connection of its own, so that it never waits for a
commit's flush; to keep reads and the write-ahead log's reset out of each other's way (``gate``); to let
followers sleep until their own source is committed to (``waiters``).

**What holds.** A read sees what is durable, and one moment of it. No transaction is open while anybody waits.
A follower costs nothing until a commit concerns its source, and is woken once a batch. What may take
long (a filtered list, a diagnosis) runs on a thread, with a connection of its own, in pieces; a long look
through events is cut into short read transactions, each in its turn on the loop.

**What it does not do.** It decides no authority (``admission``), and knows no operation: what a read does
stands in ``families``.
"""
