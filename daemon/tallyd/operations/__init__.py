"""Operations: what each of them does, once it is known who asks and that they may.

**Its job.** A write is a function of a transaction, a request and an admission, and returns what happened
(``Applied``); a read is a function of a view, and returns what is shown (``Served``). A module holds a
family: its rows, its lifecycle as a table, its records and its handlers.

**What holds.** A handler changes rows only through the transaction, and tells by the events that the registry
declares. Which rows it may touch is declared there too, and the crash matrix and a table written by hand hold
it to that. Nothing free in form is stored but as a body.

**What it does not do.** It judges no authority that its mode already stands for, keeps no state of its own,
and neither waits nor opens anything. Which function answers which operation stands in ``service.handlers``.
"""
