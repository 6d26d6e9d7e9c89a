"""Snapshots: what a source holds, beside the cursor that its events go on from."""

from typing import Final

from tallystick.protocol import arguments, records

from ._model import GUARDED_LISTS, SHARED_SPACE, Kind, Mode, Operation, Placement, Socket

SNAPSHOT: Final = (
    Operation(
        name="snapshot_read",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_PROJECT,
        realm=Placement.REQUIRED,
        project=Placement.OPTIONAL,
        arguments=arguments.SnapshotReadArgs,
        result=records.SnapshotPage,
        problems=GUARDED_LISTS,
        summary="A project's spaces, a page at a time, with the cursor to follow from.",
    ),
)
