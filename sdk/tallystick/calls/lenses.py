"""Lenses: queries over a space, kept under a name, and what they give.

What a query and a sort can say is typed in ``tallystick.protocol.lens_grammar``, and told in docs/lenses.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias, Unpack

from tallystick.calls.descriptors import items, read, write
from tallystick.calls.values import (
    AnyProject,
    AnySpace,
    ReadOptions,
    WriteOptions,
    page_arguments,
    project_id,
)
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol import lens_grammar
    from tallystick.protocol.families.lenses import Lens, LensPage, LensView
    from tallystick.protocol.ijson import JsonValue

# In quotes, since neither is imported before it is needed.
Query: TypeAlias = "lens_grammar.LensQuery | Mapping[str, JsonValue]"
Sort: TypeAlias = "lens_grammar.LensSort | Mapping[str, JsonValue]"


def lens_create(
    space: AnySpace,
    kind: str,
    *,
    query: Query | None = None,
    sort: Sort | None = None,
    presentation: Mapping[str, JsonValue] | None = None,
    visibility: str = "private",
    **options: Unpack[WriteOptions],
) -> Write[Lens]:
    """A new way to look at a space, evaluated by ``lens_read``; left out, query and sort ask for nothing.

    ``kind`` is one of stream, workbench, pulse, branch_compare, ensemble, provenance and custom. A query and
    a sort that do not speak the grammar are stored, and mean nothing to the daemon. ``visibility`` is
    ``private``, ``shared`` or ``project``.
    """
    arguments = {
        "space_id": space.space_id,
        "kind": kind,
        "query_ast": {} if query is None else query,
        "sort_spec": {} if sort is None else sort,
        "presentation_options": {} if presentation is None else presentation,
        "visibility": visibility,
    }
    return Write("lens_create", arguments, "lenses.Lens", project_id=space.project_id, **options)


def lens_show(project: AnyProject, lens_id: str, **options: Unpack[ReadOptions]) -> Read[Lens]:
    """A lens as it stands now; ``lens-stream-<space>`` and ``lens-workbench-<space>`` come with a space."""
    return Read("lens_show", {"lens_id": lens_id}, "lenses.Lens", project_id=project_id(project), **options)


def lens_list(
    space: AnySpace,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[LensPage]:
    """A page of a space's lenses, those that come with it first; a revoked lens is not listed."""
    arguments = {"space_id": space.space_id, **page_arguments(limit, after, snapshot)}
    return Read("lens_list", arguments, "lenses.LensPage", project_id=space.project_id, **options)


def lens_update(
    project: AnyProject,
    lens_id: str,
    *,
    query: Query | None = None,
    sort: Sort | None = None,
    presentation: Mapping[str, JsonValue] | None = None,
    visibility: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Lens]:
    """Another query, sort, presentation or visibility; what is left out stays. An empty query asks for
    nothing."""
    arguments = {
        "lens_id": lens_id,
        "query_ast": query,
        "sort_spec": sort,
        "presentation_options": presentation,
        "visibility": visibility,
    }
    return Write("lens_update", arguments, "lenses.Lens", project_id=project_id(project), **options)


def lens_revoke(project: AnyProject, lens_id: str, **options: Unpack[WriteOptions]) -> Write[Lens]:
    """The lens is gone, for good."""
    return Write(
        "lens_revoke", {"lens_id": lens_id}, "lenses.Lens", project_id=project_id(project), **options
    )


def lens_read(
    project: AnyProject,
    lens_id: str,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[LensView]:
    """A page of what is seen through a lens; ``Invalid`` where it asks for what cannot be evaluated.

    Each item has the members of ``LensContribution`` or, through a workbench, ``LensCard``.
    """
    arguments = {"lens_id": lens_id, **page_arguments(limit, after, snapshot)}
    return Read("lens_read", arguments, "lenses.LensView", project_id=project_id(project), **options)


# --- methods ----------------------------------------------------------------------------------------------
class LensesMethods:
    """The methods of the clients."""

    lens_create = write(lens_create)
    lens_show = read(lens_show)
    lens_list = read(lens_list)
    lenses = items(lens_list)
    lens_update = write(lens_update)
    lens_revoke = write(lens_revoke)
    lens_read = read(lens_read)
    lens_items = items(lens_read)
