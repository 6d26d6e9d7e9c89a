"""Arguments of lenses."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import Identifier, JsonObject, LensKind, StatusToken

from ._base import Args, PageArgs


class LensCreateArgs(Args, frozen=True, kw_only=True):
    """What the lens selects from which space, in which order, how it is shown and to whom."""

    space_id: Identifier
    kind: LensKind
    query_ast: JsonObject
    sort_spec: JsonObject
    presentation_options: JsonObject
    visibility: StatusToken


class LensShowArgs(Args, frozen=True, kw_only=True):
    """Which lens."""

    lens_id: Identifier


class LensListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of a space's lenses."""

    space_id: Identifier


class LensUpdateArgs(Args, frozen=True, kw_only=True):
    """Which lens, and what of it is new."""

    lens_id: Identifier
    query_ast: JsonObject | UnsetType = UNSET
    sort_spec: JsonObject | UnsetType = UNSET
    presentation_options: JsonObject | UnsetType = UNSET
    visibility: StatusToken | UnsetType = UNSET


class LensRevokeArgs(Args, frozen=True, kw_only=True):
    """Which lens."""

    lens_id: Identifier


class LensReadArgs(PageArgs, frozen=True, kw_only=True):
    """A page of what a lens shows."""

    lens_id: Identifier
