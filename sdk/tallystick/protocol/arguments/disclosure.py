"""Arguments of what was disclosed."""

from tallystick.protocol.shapes import Identifier

from ._base import Args


class DisclosureManifestShowArgs(Args, frozen=True, kw_only=True):
    """Which disclosure."""

    disclosure_id: Identifier
