"""What is said of contributions and relations afterwards, once each: withdrawn, superseded, retracted."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, PageArgs
from tallystick.protocol.operation import (
    FALLEN_DECISION,
    GUARDED_WRITES,
    LISTS,
    SHARED_SPACE,
    TALLYSTICK_SPACE,
    Mode,
    RowEffect,
)
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.records import Page, Ranges, Record
from tallystick.protocol.shapes import DispositionKind, Identifier, StatusToken, Timestamp


# --- records ------------------------------------------------------------------------------------------------
class ContributionDisposition(Record, frozen=True, kw_only=True):
    """What the three dispositions of a contribution share; the contribution's record stays.

    `replacement_ref` is there where it is superseded, `payload_removed_at` where it is redacted.
    """

    disposition_id: Identifier
    contribution_ref: Identifier
    replacement_ref: Identifier | UnsetType = UNSET
    reason_class: StatusToken
    authorized_by_ref: Identifier
    payload_removed_at: Timestamp | UnsetType = UNSET
    created_at: Timestamp


class ContributionWithdrawal(ContributionDisposition, frozen=True, kw_only=True):
    """The result of `contribution_withdraw`: nobody stands by it any longer."""

    kind: Literal["withdraw"]


class ContributionSupersession(ContributionDisposition, frozen=True, kw_only=True):
    """The result of `contribution_supersede`: another contribution stands in its place."""

    kind: Literal["supersede"]


class RelationDisposition(Record, frozen=True, kw_only=True):
    """The result of `relation_retract`: it is no longer asserted; the relation's record stays."""

    disposition_id: Identifier
    relation_ref: Identifier
    kind: Literal["retract"]
    authorized_by_ref: Identifier
    reason_class: StatusToken
    created_at: Timestamp


class Disposition(Record, frozen=True, kw_only=True):
    """What became of a contribution or a relation; whichever it is has its member.

    `replacement_ref` is there where a contribution is superseded, `payload_removed_at` where it is redacted.
    """

    disposition_id: Identifier
    contribution_ref: Identifier | UnsetType = UNSET
    relation_ref: Identifier | UnsetType = UNSET
    kind: DispositionKind
    replacement_ref: Identifier | UnsetType = UNSET
    reason_class: StatusToken
    authorized_by_ref: Identifier
    payload_removed_at: Timestamp | UnsetType = UNSET
    created_at: Timestamp


class DispositionPage(Page, frozen=True, kw_only=True):
    """The result of `tallystick_disposition_list`."""

    items: Annotated[tuple[Disposition, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]
    withheld: Ranges


# --- arguments ----------------------------------------------------------------------------------------------
class ContributionWithdrawArgs(Args, frozen=True, kw_only=True):
    """Which contribution nobody stands by any longer, and the class of the reason."""

    contribution_ref: Identifier
    reason_class: StatusToken


class ContributionSupersedeArgs(Args, frozen=True, kw_only=True):
    """Which contribution, which other stands in its place, and the class of the reason."""

    contribution_ref: Identifier
    replacement_ref: Identifier
    reason_class: StatusToken


class RelationRetractArgs(Args, frozen=True, kw_only=True):
    """Which relation is no longer asserted, and the class of the reason."""

    relation_ref: Identifier
    reason_class: StatusToken


class TallystickDispositionListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of what became of a space's contributions and relations: all, or those of a kind."""

    space_id: Identifier
    kind: DispositionKind | UnsetType = UNSET


# --- operations ---------------------------------------------------------------------------------------------
DISPOSED_ROWS: Final = (
    RowEffect("dispositions", "insert"),
    RowEffect("spaces", "update", columns=("revision",)),
)
"""What became of something, and the revision of its space."""

CONTRIBUTION_WITHDRAW: Final = SHARED_SPACE.write(
    "contribution_withdraw",
    ContributionWithdrawArgs,
    ContributionWithdrawal,
    "Say that nobody stands by a contribution any longer.",
    mode=Mode.WRITE_SPACE,
    event="dev.kovee.space.contribution-withdrawn.v1",
    rows=(*DISPOSED_ROWS, *FALLEN_DECISION),
)
CONTRIBUTION_SUPERSEDE: Final = SHARED_SPACE.write(
    "contribution_supersede",
    ContributionSupersedeArgs,
    ContributionSupersession,
    "Put another contribution in the place of one.",
    mode=Mode.WRITE_SPACE,
    problems=(*GUARDED_WRITES, ProblemKind.CYCLE),
    event="dev.kovee.space.contribution-superseded.v1",
    rows=(*DISPOSED_ROWS, *FALLEN_DECISION),
)
RELATION_RETRACT: Final = SHARED_SPACE.write(
    "relation_retract",
    RelationRetractArgs,
    RelationDisposition,
    "Say that a relation is no longer asserted.",
    mode=Mode.WRITE_SPACE,
    event="dev.kovee.space.relation-retracted.v1",
    rows=DISPOSED_ROWS,
)
TALLYSTICK_DISPOSITION_LIST: Final = TALLYSTICK_SPACE.read(
    "tallystick_disposition_list",
    TallystickDispositionListArgs,
    DispositionPage,
    "What was withdrawn, superseded, redacted and retracted in a space, in order.",
    mode=Mode.READ_SPACE,
    problems=LISTS,
)

OPERATIONS: Final = (
    CONTRIBUTION_WITHDRAW,
    CONTRIBUTION_SUPERSEDE,
    RELATION_RETRACT,
    TALLYSTICK_DISPOSITION_LIST,
)
