"""Arguments of snapshots."""

from tallystick.protocol.shapes import Identifier

from ._base import PageArgs


class SnapshotReadArgs(PageArgs, frozen=True, kw_only=True):
    """A page of what a source holds: a project's spaces."""

    source: Identifier
