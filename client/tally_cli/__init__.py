"""``tally``, the command line of Tallystick: every operation that a person needs, as a verb.

It is a client like any other: it speaks to the daemon through ``tallystick``, the SDK, over the daemon's
socket, opens no database and imports neither the daemon nor trio. A call is a process, so what it imports is
its price: `main` answers ``--version`` by itself, and `root` loads only the module of the verb that is
called.

What it promises: text of others cannot act on the terminal (`visible`), each way to end has a code of its own
(`exits`), what a program reads is a documented contract (``--json``), and no traceback is ever shown unless
``TALLY_DEBUG=1`` asks for it.
"""
