"""Arguments of the events that an application writes."""

from tallystick.protocol.shapes import EventType, JsonObject

from ._base import FencedArgs


class ApplicationEventEmitArgs(FencedArgs, frozen=True, kw_only=True):
    """An event of the application's own type, and what it tells."""

    type: EventType
    payload: JsonObject
