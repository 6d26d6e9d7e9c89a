"""What records share: the closed struct, the page that every list answers with, and what of it is withheld.

Each family's page has its own records (``families``): what results and event payloads hold, by KCP's names.
A record is closed, frozen and checked on decoding; an optional member is `UNSET` where it is left out, and
null is taken for none of them. (`InvocationClaim` has members that are null on the wire, as KCP has it, and
so has `InvocationNext`, which is a claim or none.) Constructing one in Python checks nothing: msgspec checks
what it decodes.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.shapes import Cursor, PositiveInt, SafeInt, WithheldReason


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What all records share: closed, immutable, members by name, what is left out stays left out."""


First = Literal[1]
"""The revision of an immutable record."""


class Page(Record, frozen=True, kw_only=True):
    """What every list's result shares: send `next` as `after` and `snapshot` again for the following page."""

    next: Cursor | UnsetType = UNSET
    snapshot: Cursor
    boundary_event_cursor: Cursor


class Withheld(Record, frozen=True, kw_only=True):
    """From one sequence to another, both included, so many are withheld for this reason, and no more is said.

    The sequence is the branch's for contributions and relations, the space's stream's for what else stands
    in a space, and the project's for events. Things are counted before any filter of the list.
    """

    from_sequence: SafeInt
    to_sequence: SafeInt
    count: PositiveInt
    reason: WithheldReason


Ranges = Annotated[tuple[Withheld, ...], Meta(max_length=2 * (limits.PAGE_ITEMS_MAX + 1))]
"""In order; empty for the owner, from whom nothing is withheld."""
