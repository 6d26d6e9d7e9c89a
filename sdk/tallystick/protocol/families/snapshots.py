"""Snapshots: a project's spaces, all as they stood at one moment."""

from typing import Annotated, Final

from msgspec import Meta

from tallystick.protocol import limits
from tallystick.protocol.arguments import PageArgs
from tallystick.protocol.operation import GUARDED_LISTS, SHARED_SPACE, Mode, Placement
from tallystick.protocol.records import Page
from tallystick.protocol.shapes import Identifier, JsonObject


# --- records ------------------------------------------------------------------------------------------------
class SnapshotPage(Page, frozen=True, kw_only=True):
    """The result of `snapshot_read`. KCP leaves the items open; those of a project are its `Space`s."""

    items: Annotated[tuple[JsonObject, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


# --- arguments ----------------------------------------------------------------------------------------------
class SnapshotReadArgs(PageArgs, frozen=True, kw_only=True):
    """A page of what a source holds: a project's spaces."""

    source: Identifier


# --- operations ---------------------------------------------------------------------------------------------
SNAPSHOT_READ: Final = SHARED_SPACE.read(
    "snapshot_read",
    SnapshotReadArgs,
    SnapshotPage,
    "A project's spaces, a page at a time, with the cursor to follow from.",
    mode=Mode.READ_PROJECT,
    project=Placement.OPTIONAL,
    problems=GUARDED_LISTS,
)

OPERATIONS: Final = (SNAPSHOT_READ,)
