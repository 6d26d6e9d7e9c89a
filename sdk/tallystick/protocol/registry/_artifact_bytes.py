"""Artifacts whose bytes come and go over the socket, in chunks, resumable; sealed by
`artifact_upload_finalize`.
"""

from typing import Final

from tallystick.protocol import arguments, records
from tallystick.protocol.problems import Kind as ProblemKind

from ._artifact import BEGUN_ROWS
from ._model import (
    GUARDED_LISTS,
    GUARDED_READS,
    GUARDED_WRITES,
    TALLYSTICK_ARTIFACT,
    Kind,
    Mode,
    Operation,
    Placement,
    Socket,
)

ARTIFACT_BYTES: Final = (
    Operation(
        name="tallystick_artifact_begin",
        bundle=TALLYSTICK_ARTIFACT,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.WRITE,
        mode=Mode.UPLOAD,
        realm=Placement.REQUIRED,
        project=Placement.OPTIONAL,
        arguments=arguments.TallystickArtifactBeginArgs,
        result=records.ArtifactUploadBegun,
        content=("declared_raw_sha256",),
        problems=GUARDED_WRITES,
        events=("dev.kovee.artifact.upload-began.v1",),
        rows=BEGUN_ROWS,
        summary="Declare bytes that are to come in chunks over this socket.",
    ),
    Operation(
        name="tallystick_artifact_put",
        bundle=TALLYSTICK_ARTIFACT,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.CONTROL,
        mode=Mode.UPLOAD,
        realm=Placement.REQUIRED,
        project=Placement.OPTIONAL,
        arguments=arguments.TallystickArtifactPutArgs,
        result=records.ArtifactReceived,
        content=("data",),
        problems=(*GUARDED_READS, ProblemKind.STALE_REVISION),
        summary="Put a chunk where it belongs, and hear how many bytes are there; again does no harm.",
    ),
    Operation(
        name="tallystick_artifact_list",
        bundle=TALLYSTICK_ARTIFACT,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_REALM,
        realm=Placement.REQUIRED,
        project=Placement.FORBIDDEN,
        arguments=arguments.TallystickArtifactListArgs,
        result=records.ArtifactPage,
        problems=GUARDED_LISTS,
        summary="The artifacts that one may see, a page at a time, in order of creation.",
    ),
    Operation(
        name="tallystick_artifact_get",
        bundle=TALLYSTICK_ARTIFACT,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_REALM,
        realm=Placement.REQUIRED,
        project=Placement.OPTIONAL,
        arguments=arguments.TallystickArtifactGetArgs,
        result=records.ArtifactBytes,
        problems=(*GUARDED_READS, ProblemKind.STALE_REVISION),
        summary="Bytes of an available artifact, from an offset on.",
    ),
)
