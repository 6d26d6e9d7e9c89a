"""Snapshots: a project's spaces, all as they stood at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from tallystick.calls.descriptors import read
from tallystick.calls.values import AnyProject, ReadOptions, page_arguments, project_id
from tallystick.core import Read
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.snapshots import SnapshotPage


def snapshot_read(
    source: AnyProject,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[SnapshotPage]:
    """A page of a project's spaces, and in ``boundary_event_cursor`` where its events go on from."""
    arguments = {"source": project_id(source), **page_arguments(limit, after, snapshot)}
    return Read("snapshot_read", arguments, "snapshots.SnapshotPage", **options)


# --- methods ----------------------------------------------------------------------------------------------
class SnapshotsMethods:
    """The methods of the clients."""

    snapshot_read = read(snapshot_read)
