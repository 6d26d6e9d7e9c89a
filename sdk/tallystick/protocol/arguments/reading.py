"""Arguments of what we read beside KCP: of a space, with what became of things and what is withheld; and of
events, the realm's too.
"""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import (
    ContributionKind,
    Cursor,
    DispositionKind,
    EventTypePrefixes,
    Identifier,
    PageLimit,
    RelationKind,
)

from ._base import Args, PageArgs


class TallystickContributionListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of a space's contributions, narrowed as `contribution_list` is."""

    space_id: Identifier
    branch_id: Identifier | UnsetType = UNSET
    kind: ContributionKind | UnsetType = UNSET


class TallystickRelationShowArgs(Args, frozen=True, kw_only=True):
    """Which relation."""

    relation_id: Identifier


class TallystickRelationListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of a space's relations: all, those of a kind, or those that lead from or to an object."""

    space_id: Identifier
    kind: RelationKind | UnsetType = UNSET
    object_ref: Identifier | UnsetType = UNSET


class TallystickDispositionListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of what became of a space's contributions and relations: all, or those of a kind."""

    space_id: Identifier
    kind: DispositionKind | UnsetType = UNSET


class TallystickFrontierListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of a space's frontiers."""

    space_id: Identifier


class TallystickAssemblyListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of a space's context assemblies."""

    space_id: Identifier


class TallystickBranchShowArgs(Args, frozen=True, kw_only=True):
    """Which branch."""

    branch_id: Identifier


class TallystickEventsReadArgs(Args, frozen=True, kw_only=True):
    """Whose events, a project's or the realm's, after which cursor, of which types."""

    source: Identifier
    after_cursor: Cursor | UnsetType = UNSET
    type_prefixes: EventTypePrefixes | UnsetType = UNSET
    limit: PageLimit
