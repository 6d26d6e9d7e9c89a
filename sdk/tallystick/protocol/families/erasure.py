"""Erasure: content that is destroyed for good. Identifiers, labels and the log's hashes stay."""

from typing import Final, Literal

from msgspec import UNSET, UnsetType

from tallystick.protocol.arguments import Args
from tallystick.protocol.families.dispositions import DISPOSED_ROWS, ContributionDisposition
from tallystick.protocol.operation import (
    ARTIFACT_ERASED,
    SHARED_SPACE,
    TALLYSTICK_ERASURE,
    UNBOUND_DECISION,
    Mode,
    Placement,
    RowEffect,
)
from tallystick.protocol.records import Record
from tallystick.protocol.shapes import Identifier, PositiveInt, StatusToken, Timestamp


# --- records ------------------------------------------------------------------------------------------------
class ContributionRedaction(ContributionDisposition, frozen=True, kw_only=True):
    """The result of `contribution_redact`: its body is erased."""

    kind: Literal["redact"]


class Erasure(Record, frozen=True, kw_only=True):
    """What was erased, of which class the reason was, and how far the cleaning up behind it is.

    The daemon shows none of the content from `erasing` on; `erased` says that nothing of it is left in the
    files either. A reply says how far it is when it is given, an event how far it was.
    """

    erasure_id: Identifier
    subject_ref: Identifier
    reason_class: StatusToken
    bodies: PositiveInt
    authorized_by_ref: Identifier
    state: Literal["erasing", "erased"]
    created_at: Timestamp
    erased_at: Timestamp | UnsetType = UNSET


# --- arguments ----------------------------------------------------------------------------------------------
class ContributionRedactArgs(Args, frozen=True, kw_only=True):
    """Whose body to erase, and the class of the reason."""

    contribution_ref: Identifier
    reason_class: StatusToken


class TallystickEraseArgs(Args, frozen=True, kw_only=True):
    """Whose content to erase, an object's or one event's, and the class of the reason."""

    object_ref: Identifier | UnsetType = UNSET
    event_id: Identifier | UnsetType = UNSET
    reason_class: StatusToken

    def __post_init__(self) -> None:
        if (self.object_ref is UNSET) == (self.event_id is UNSET):
            raise ValueError("name either object_ref or event_id: one of the two, and not both")


# --- operations ---------------------------------------------------------------------------------------------
CONTRIBUTION_REDACT: Final = SHARED_SPACE.write(
    "contribution_redact",
    ContributionRedactArgs,
    ContributionRedaction,
    "Erase a contribution's body.",
    mode=Mode.STEWARD,
    event="dev.kovee.space.contribution-redacted.v1",
    ids=2,
    rows=(
        *DISPOSED_ROWS,
        RowEffect("erasures", "insert"),
        RowEffect("bodies", "delete"),
        RowEffect("object_keys", "delete", None),
        ARTIFACT_ERASED,
        *UNBOUND_DECISION,
    ),
)
TALLYSTICK_ERASE: Final = TALLYSTICK_ERASURE.write(
    "tallystick_erase",
    TallystickEraseArgs,
    Erasure,
    "Erase an object's or event's content and its keys; answered when they are in no file any more.",
    mode=Mode.STEWARD,
    project=Placement.OPTIONAL,
    event="dev.tallystick.content.erasing.v1",
    all_rows=(
        RowEffect("log", "insert"),
        RowEffect("ids", "insert"),
        RowEffect("outbox", "insert"),
        RowEffect("idempotency", "insert"),
        RowEffect("erasures", "insert"),
        RowEffect("bodies", "delete", None),
        RowEffect("object_keys", "delete", None),
        ARTIFACT_ERASED,
    ),
)

OPERATIONS: Final = (
    CONTRIBUTION_REDACT,
    TALLYSTICK_ERASE,
)
