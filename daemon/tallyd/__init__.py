"""tallyd: the one daemon that owns the record.

Its rooms, each on top of the ones before it; a room imports none that comes later:

==============  ==============================================================================================
``store``       the database file: locks, keys, migrations, bodies, exit codes
``vault``       artifacts' bytes: staged, sealed, erased
``ledger``      the log and its leaves, ids, cursors, events, and what a command or a read sees
``admission``   who speaks, and what they may
``operations``  what each operation does, as functions of a view or a transaction
``clerk``       the only writer: one thread, each command a transaction, a batch one flush
``readers``     reads as short transactions, and waiting for events
``door``        sockets, lines and deadlines
``service``     all of it put together: the daemon's life
==============  ==============================================================================================
"""
