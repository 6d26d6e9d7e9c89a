"""Families: what each operation does, once it is known who asks and that they may.

**Its job.** A folder or module a family, by the name that it has everywhere (it stands in
``tallystick.protocol.families``): its rows, its rules, its lifecycles as tables, and its handlers. ``FAMILY``
is what it tells the rest of the daemon. ``shared`` is no family: there is what several of them use.

A write is a function of a transaction, a request and an admission, and returns what happened (``Applied``); a
read is a function of a view, and returns what is shown (``Served``).

**What holds.** A handler changes rows only through the transaction, and tells by the events that its
operation declares. Which rows it may touch is declared there too, and the crash matrix and a table written by
hand hold it to that. Nothing free in form is stored but as a body.

**What it does not do.** It judges no authority that its mode already stands for, keeps no state of its own,
and neither waits nor opens anything.
"""

from importlib import import_module
from typing import Final

from tallyd.families.shared.family import Family
from tallystick.protocol import families


def _family(name: str) -> Family:
    family: Family = import_module(f"{__name__}.{name}").FAMILY
    return family


def all_families() -> dict[str, Family]:
    """Every family, by its name, in the order of the protocol's list. Raises TypeError where one does not
    answer all of its operations.
    """
    return {name: _family(name) for name in families.NAMES}


__all__: Final = ["Family", "all_families"]
