"""Records of what we read beside KCP: things with what became of them, and what of a page is withheld."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.shapes import (
    Cursor,
    DigestHex,
    DispositionKind,
    FreeText,
    Identifier,
    PositiveInt,
    SafeInt,
    StatusToken,
    Timestamp,
    WithheldReason,
)

from ._base import First, Page, Record
from .context import AssemblyTotals, Frontier
from .contribution import Contribution, Relation
from .event import Event


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


class DisposedContribution(Record, frozen=True, kw_only=True):
    """A contribution, and what became of it: each kind once, in the order in which it did."""

    contribution: Contribution
    dispositions: tuple[Disposition, ...]


class InvocationItem(Record, frozen=True, kw_only=True):
    """A contribution or a relation that an invocation's assembly names, and what became of it."""

    contribution: Contribution | UnsetType = UNSET
    relation: Relation | UnsetType = UNSET
    dispositions: tuple[Disposition, ...]


class DisposedContributionPage(Page, frozen=True, kw_only=True):
    """The result of `tallystick_contribution_list`."""

    items: Annotated[tuple[DisposedContribution, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]
    withheld: Ranges


class DisposedRelation(Record, frozen=True, kw_only=True):
    """A relation, and whether it was retracted; the result of `tallystick_relation_show`."""

    relation: Relation
    dispositions: tuple[Disposition, ...]


class DisposedRelationPage(Page, frozen=True, kw_only=True):
    """The result of `tallystick_relation_list`."""

    items: Annotated[tuple[DisposedRelation, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]
    withheld: Ranges


class FrontierPage(Page, frozen=True, kw_only=True):
    """The result of `tallystick_frontier_list`: whoever reads a space sees all its frontiers."""

    items: Annotated[tuple[Frontier, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


class AssemblySummary(Record, frozen=True, kw_only=True):
    """A context assembly without its items and relations, which `context_assembly_show` shows."""

    assembly_id: Identifier
    space_id: Identifier
    branch_id: Identifier
    audience_ref: Identifier
    purpose: FreeText
    trigger_refs: tuple[Identifier, ...]
    frontier_ref: Identifier
    classification_join_ref: Identifier
    totals: AssemblyTotals
    revision: First
    created_at: Timestamp
    digest: DigestHex


class AssemblySummaryPage(Page, frozen=True, kw_only=True):
    """The result of `tallystick_assembly_list`."""

    items: Annotated[tuple[AssemblySummary, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]
    withheld: Ranges


class Branch(Record, frozen=True, kw_only=True):
    """A branch as it stands: the head that an append is compared with, and the last sequence given on it."""

    branch_id: Identifier
    space_id: Identifier
    branch_sequence: SafeInt
    branch_head_digest: DigestHex
    created_by: Identifier
    created_at: Timestamp


class EventsRead(Record, frozen=True, kw_only=True):
    """The result of `tallystick_events_read`: go on after `next_cursor`. An empty page is the end only where
    the cursor did not move.
    """

    events: Annotated[tuple[Event, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]
    withheld: Ranges
    next_cursor: Cursor
    snapshot_epoch: Cursor
