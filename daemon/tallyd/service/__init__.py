"""The service: the rooms put together, and the daemon's life from its start to its drain.

**Its job.** ``main`` reads arguments and ``config`` the settings; ``daemon`` opens the store, serves and
closes. ``lines`` says what a line is; ``dispatcher`` makes of a request a read, a wait or a command, and of
its outcome a line (``answers``); ``serving`` reads, in turn with commands (``read_turns``), ``work_waits``
lets workers sleep; ``handlers`` says which function answers which operation. ``driver`` runs the clerk on its
thread, ``checkpointer`` moves its log into the database. ``agent_sockets`` and ``credentials`` are other
channels than the owner's.
``sealing``, ``erasing`` and ``housekeeping`` do what stands behind a command, or is due at intervals.

**What holds.** One loop, on which nothing blocks: what may take long is on a thread. The daemon is ready when
whatever an earlier process left half done is settled. A drain answers what was taken and takes no more.

**What it does not do.** It knows no rule of the record: those stand in ``admission``, ``operations`` and
``ledger``.
"""
