"""Lenses, and what is seen through them; snapshots of a project.

What a query and a sort can say is typed in ``tallystick.protocol.lens_grammar``, and told in docs/lenses.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias, Unpack

from tallystick.calls.values import Project, ReadOptions, Space, WriteOptions, page_arguments, project_id
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol import lens_grammar, records
    from tallystick.protocol.ijson import JsonValue

# In quotes, since neither is imported before it is needed.
Query: TypeAlias = "lens_grammar.LensQuery | Mapping[str, JsonValue]"
Sort: TypeAlias = "lens_grammar.LensSort | Mapping[str, JsonValue]"


def lens_create(
    space: Space,
    kind: str,
    *,
    query: Query | None = None,
    sort: Sort | None = None,
    presentation: Mapping[str, JsonValue] | None = None,
    visibility: str = "private",
    **options: Unpack[WriteOptions],
) -> Write[records.Lens]:
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
    return Write("lens_create", arguments, "Lens", project_id=space.project_id, **options)


def lens_show(project: Project, lens_id: str, **options: Unpack[ReadOptions]) -> Read[records.Lens]:
    """A lens as it stands now; ``lens-stream-<space>`` and ``lens-workbench-<space>`` come with a space."""
    return Read("lens_show", {"lens_id": lens_id}, "Lens", project_id=project_id(project), **options)


def lens_list(
    space: Space,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.LensPage]:
    """A page of a space's lenses, those that come with it first; a revoked lens is not listed."""
    arguments = {"space_id": space.space_id, **page_arguments(limit, after, snapshot)}
    return Read("lens_list", arguments, "LensPage", project_id=space.project_id, **options)


def lens_update(
    project: Project,
    lens_id: str,
    *,
    query: Query | None = None,
    sort: Sort | None = None,
    presentation: Mapping[str, JsonValue] | None = None,
    visibility: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.Lens]:
    """Another query, sort, presentation or visibility; what is left out stays. An empty query asks for
    nothing."""
    arguments = {
        "lens_id": lens_id,
        "query_ast": query,
        "sort_spec": sort,
        "presentation_options": presentation,
        "visibility": visibility,
    }
    return Write("lens_update", arguments, "Lens", project_id=project_id(project), **options)


def lens_revoke(project: Project, lens_id: str, **options: Unpack[WriteOptions]) -> Write[records.Lens]:
    """The lens is gone, for good."""
    return Write("lens_revoke", {"lens_id": lens_id}, "Lens", project_id=project_id(project), **options)


def lens_read(
    project: Project,
    lens_id: str,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.LensView]:
    """A page of what is seen through a lens; ``Invalid`` where it asks for what cannot be evaluated.

    Each item has the members of ``records.LensContribution`` or, through a workbench, ``records.LensCard``.
    """
    arguments = {"lens_id": lens_id, **page_arguments(limit, after, snapshot)}
    return Read("lens_read", arguments, "LensView", project_id=project_id(project), **options)


def snapshot_read(
    source: Project,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.SnapshotPage]:
    """A page of a project's spaces, and in ``boundary_event_cursor`` where its events go on from."""
    arguments = {"source": project_id(source), **page_arguments(limit, after, snapshot)}
    return Read("snapshot_read", arguments, "SnapshotPage", **options)
