"""Records of frontiers and context assemblies."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import (
    AnyJson,
    Cursor,
    DigestHex,
    FreeText,
    Identifier,
    SafeInt,
    StatusToken,
    Timestamp,
)

from ._base import First, Record


class Frontier(Record, frozen=True, kw_only=True):
    """A branch as it stood: its sequence, its head, and the project's cursor."""

    frontier_id: Identifier
    revision: First
    space_id: Identifier
    branch_id: Identifier
    branch_sequence: SafeInt
    branch_head_digest: DigestHex
    project_event_cursor: Cursor
    external_source_cursors: tuple[dict[str, AnyJson], ...]
    created_at: Timestamp
    digest: DigestHex


class AssemblyItem(Record, frozen=True, kw_only=True):
    """One contribution of an assembly; `size` is the bytes of its body parts as JSON."""

    object_ref: Identifier
    revision: SafeInt
    digest: DigestHex
    size: SafeInt
    classification_ref: Identifier
    role: StatusToken
    order: SafeInt
    inclusion_reason: StatusToken


class AssemblyRelation(Record, frozen=True, kw_only=True):
    """One relation of an assembly."""

    relation_ref: Identifier
    digest: DigestHex


class AssemblyTransformation(Record, frozen=True, kw_only=True):
    """What was done to an item before it was included."""

    kind: StatusToken
    instruction_ref: Identifier | UnsetType = UNSET
    version: Identifier
    source_digest: DigestHex
    result_digest: DigestHex


class AssemblyOmission(Record, frozen=True, kw_only=True):
    """What was left out, and why."""

    visible_candidate_ref: Identifier | UnsetType = UNSET
    reason: StatusToken


class AssemblyTotals(Record, frozen=True, kw_only=True):
    """How much an assembly holds."""

    items: SafeInt
    bytes: SafeInt
    estimated_tokens: SafeInt


class Assembly(Record, frozen=True, kw_only=True):
    """A context assembly: exactly what an invocation is given to read."""

    assembly_id: Identifier
    revision: First
    realm_id: Identifier
    project_id: Identifier
    space_id: Identifier
    branch_id: Identifier
    audience_ref: Identifier
    purpose: FreeText
    trigger_refs: tuple[Identifier, ...]
    frontier_ref: Identifier
    frontier_digest: DigestHex
    recipe_ref: Identifier | UnsetType = UNSET
    recipe_revision: SafeInt | UnsetType = UNSET
    recipe_digest: DigestHex | UnsetType = UNSET
    selection_policy_ref: Identifier
    selection_policy_digest: DigestHex
    items: tuple[AssemblyItem, ...]
    relations: tuple[AssemblyRelation, ...]
    transformations: tuple[AssemblyTransformation, ...]
    omissions: tuple[AssemblyOmission, ...]
    classification_join_ref: Identifier
    totals: AssemblyTotals
    selection_policy_version: Identifier
    assembler_version: Identifier
    authorization_dependency_set_ref: Identifier
    authority_digest: DigestHex
    created_at: Timestamp
    digest: DigestHex
