"""Arguments of erasing what `contribution_redact` does not reach: ours."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import Identifier, StatusToken

from ._base import Args


class TallystickEraseArgs(Args, frozen=True, kw_only=True):
    """Whose content to erase, an object's or one event's, and the class of the reason."""

    object_ref: Identifier | UnsetType = UNSET
    event_id: Identifier | UnsetType = UNSET
    reason_class: StatusToken

    def __post_init__(self) -> None:
        if (self.object_ref is UNSET) == (self.event_id is UNSET):
            raise ValueError("name either object_ref or event_id: one of the two, and not both")
