"""What left the realm."""

from typing import Final

from tallystick.protocol import arguments, records

from ._model import GUARDED_READS, SHARED_SPACE, Kind, Mode, Operation, Placement, Socket

DISCLOSURE: Final = (
    Operation(
        name="disclosure_manifest_show",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_REALM,
        realm=Placement.REQUIRED,
        project=Placement.OPTIONAL,
        arguments=arguments.DisclosureManifestShowArgs,
        result=records.DisclosureManifest,
        problems=GUARDED_READS,
        summary="One disclosure: what went to whom, and for what.",
    ),
)
