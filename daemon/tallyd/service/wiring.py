"""The families, put together for those who ask: the clerk, the door's lines, and every view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from tallyd.clerk import FencedRead, FirstStep, Unfinished
from tallyd.clerk import Handler as CommandHandler
from tallyd.families import Family, all_families
from tallyd.families.shared.family import FencedReadHandler, Handler, Key, WriteHandler, handlers_of
from tallyd.ledger.calls import Calls
from tallyd.ledger.transaction import Transaction
from tallyd.ledger.view import EventCheck


class Wiring(msgspec.Struct, frozen=True, kw_only=True):
    """Who answers which operation, and what else the families tell."""

    families: tuple[Family, ...]
    handlers: Mapping[Key, Handler]
    writes: Mapping[Key, CommandHandler]
    first_steps: Mapping[Key, FirstStep]
    unfinished: Mapping[Key, Unfinished]
    fenced_reads: Mapping[Key, FencedRead]
    event_checks: tuple[EventCheck, ...]
    calls: Calls[Transaction]


def wiring() -> Wiring:
    """Of all families. Raises TypeError where an operation has no handler."""
    families = tuple(all_families().values())
    handlers = handlers_of(families)
    writes = {key: each for key, each in handlers.items() if isinstance(each, WriteHandler)}
    return Wiring(
        families=families,
        handlers=handlers,
        writes={key: each.run for key, each in writes.items()},
        first_steps={key: each.first_step for key, each in writes.items() if each.first_step is not None},
        unfinished={key: each.unfinished for key, each in writes.items() if each.unfinished is not None},
        fenced_reads={key: each.run for key, each in handlers.items() if isinstance(each, FencedReadHandler)},
        event_checks=tuple(each.event_shown for each in families if each.event_shown is not None),
        calls=Calls(
            disposed=tuple(each.disposed for each in families if each.disposed is not None),
            gated=tuple(each.gated for each in families if each.gated is not None),
        ),
    )


WIRING: Final = wiring()
