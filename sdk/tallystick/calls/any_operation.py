"""Any operation at all, by its name in the registry."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Unpack

from tallystick.calls.values import WriteOptions
from tallystick.core import REALM, Call, Read, Surface, Write
from tallystick.errors import NotSendable

if TYPE_CHECKING:
    from tallystick.protocol.ijson import JsonValue


def by_name(
    operation: str,
    arguments: Mapping[str, object],
    *,
    surface: Surface = "client",
    project_id: str | None = None,
    **options: Unpack[WriteOptions],
) -> Call[JsonValue]:
    """A call of an operation by its name in the registry, with its arguments as the protocol names them.

    The result stays parsed JSON. Raises ``NotSendable`` for an operation that this version does not know.
    """
    registry = import_module("tallystick.protocol.registry")
    described = import_module("tallystick.protocol.operation")
    known = registry.BY_SOCKET.get((described.Socket(surface), operation))
    if known is None:
        raise NotSendable("$.op", f"{operation} is no operation of the {surface} socket in this version")
    kind = Write if known.kind is described.Kind.WRITE else Read
    realm_id = None if known.realm is described.Placement.FORBIDDEN else REALM
    call: Call[JsonValue] = kind(
        operation, arguments, "", surface=surface, realm_id=realm_id, project_id=project_id, **options
    )
    waits = {described.Kind.WAIT: "timeout_ms", described.Kind.WRITE: "wait_ms"}.get(known.kind)
    wait_ms = None if waits is None else arguments.get(waits)
    if isinstance(wait_ms, int):
        call.wait_seconds = wait_ms / 1000
    return call
