"""What all records share, and the page that every list answers with."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from tallystick.protocol.shapes import Cursor


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What all records share: closed, immutable, members by name, what is left out stays left out."""


First = Literal[1]
"""The revision of an immutable record."""


class Page(Record, frozen=True, kw_only=True):
    """What every list's result shares: send `next` as `after` and `snapshot` again for the following page."""

    next: Cursor | UnsetType = UNSET
    snapshot: Cursor
    boundary_event_cursor: Cursor
