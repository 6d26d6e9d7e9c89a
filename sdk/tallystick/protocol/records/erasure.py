"""Records of erasures."""

from typing import Literal

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import Identifier, PositiveInt, StatusToken, Timestamp

from ._base import Record


class Erasure(Record, frozen=True, kw_only=True):
    """What was erased, of which class the reason was, and how far the cleaning up behind it is.

    The content cannot be read any more from `erasing` on; `erased` says that nothing of it is left in the
    files either.
    """

    erasure_id: Identifier
    subject_ref: Identifier
    reason_class: StatusToken
    bodies: PositiveInt
    authorized_by_ref: Identifier
    state: Literal["erasing", "erased"]
    created_at: Timestamp
    erased_at: Timestamp | UnsetType = UNSET
