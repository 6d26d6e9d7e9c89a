"""The operations, as data: what each is called, who may call it where, what it takes, answers and writes.

This is the interface; the rest follows from it. Each family's rows stand in a module of their own and are put
together here. An operation without a row cannot be called. KCP's bundles are atomic: one is named to clients
only where every operation that KCP puts into it is served.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from ._context import CONTEXT
from ._contribution import CONTRIBUTION
from ._event import EVENT
from ._invocation import INVOCATION
from ._model import (
    CORE,
    DEVELOPER_ASSISTANT,
    SHARED_SPACE,
    TALLYSTICK_CORE,
    TALLYSTICK_WORKER,
    Kind,
    Mode,
    Operation,
    Placement,
    RowEffect,
    Socket,
    Surface,
)
from ._realm import REALM
from ._service import SERVICE
from ._space import SPACE

__all__ = [
    "BUNDLES",
    "BY_SOCKET",
    "FEATURES",
    "OPERATIONS",
    "OWN_BUNDLES",
    "Bundle",
    "Kind",
    "Mode",
    "Operation",
    "Placement",
    "RowEffect",
    "Socket",
    "Surface",
]

OPERATIONS: Final[tuple[Operation, ...]] = (
    *SERVICE,
    *REALM,
    *SPACE,
    *CONTRIBUTION,
    *CONTEXT,
    *INVOCATION,
    *EVENT,
)


def _by_socket(operations: Iterable[Operation]) -> dict[tuple[Socket, str], Operation]:
    table: dict[tuple[Socket, str], Operation] = {}
    for operation in operations:
        key = (operation.socket, operation.name)
        if key in table:
            raise ValueError(f"{operation.name} stands twice on the {operation.socket} socket")
        table[key] = operation
    return table


BY_SOCKET: Final[dict[tuple[Socket, str], Operation]] = _by_socket(OPERATIONS)


class Bundle(Struct, frozen=True):
    """A named set of operations: `whole` if all that belongs into it is served, `own` if it is not KCP's."""

    name: str
    operations: tuple[str, ...]
    whole: bool
    own: bool


def _bundle(name: str, *, whole: bool, own: bool) -> Bundle:
    names = dict.fromkeys(operation.name for operation in OPERATIONS if operation.bundle == name)
    return Bundle(name, tuple(names), whole, own)


BUNDLES: Final[dict[str, Bundle]] = {
    bundle.name: bundle
    for bundle in (
        _bundle(CORE, whole=True, own=False),
        _bundle(SHARED_SPACE, whole=False, own=False),
        _bundle(DEVELOPER_ASSISTANT, whole=False, own=False),
        _bundle(TALLYSTICK_CORE, whole=True, own=True),
        _bundle(TALLYSTICK_WORKER, whole=True, own=True),
    )
}

FEATURES: Final = tuple(b.name for b in BUNDLES.values() if b.whole and not b.own)
"""What `hello` and `protocol_info` name: KCP's bundles that are served whole."""
OWN_BUNDLES: Final = tuple(b.name for b in BUNDLES.values() if b.own)
"""What `tallystick_limits` names."""
