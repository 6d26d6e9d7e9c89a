"""The registry: every operation, from the pages of the families; what is called where, and what is served.

The interface is the pages (``families``); the rest follows from it.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Final

from msgspec import Struct

from tallystick.protocol import families
from tallystick.protocol.operation import (
    CORE,
    DEVELOPER_ASSISTANT,
    SHARED_SPACE,
    TALLYSTICK_AGENT,
    TALLYSTICK_ARTIFACT,
    TALLYSTICK_CORE,
    TALLYSTICK_ERASURE,
    TALLYSTICK_SPACE,
    TALLYSTICK_WORKER,
    AnyOperation,
    Bundle,
    Socket,
)


def _operations(family: str) -> tuple[AnyOperation, ...]:
    operations: tuple[AnyOperation, ...] = import_module(f"{families.__name__}.{family}").OPERATIONS
    return operations


BY_FAMILY: Final[dict[str, tuple[AnyOperation, ...]]] = {name: _operations(name) for name in families.NAMES}
"""The operations of each family."""
OPERATIONS: Final[tuple[AnyOperation, ...]] = tuple(row for rows in BY_FAMILY.values() for row in rows)
"""What can be called."""


def _by_socket(operations: Iterable[AnyOperation]) -> dict[tuple[Socket, str], AnyOperation]:
    """A table of `operations` by socket and name. Raises `ValueError` where one stands twice."""
    table: dict[tuple[Socket, str], AnyOperation] = {}
    for operation in operations:
        key = (operation.socket, operation.name)
        if key in table:
            raise ValueError(f"{operation.name} stands twice on the {operation.socket} socket")
        table[key] = operation
    return table


BY_SOCKET: Final[dict[tuple[Socket, str], AnyOperation]] = _by_socket(OPERATIONS)


class ServedBundle(Struct, frozen=True):
    """A bundle with the names of its operations: `own` if it is not KCP's."""

    name: str
    operations: tuple[str, ...]
    own: bool


def _served(name: str) -> ServedBundle:
    names = dict.fromkeys(operation.name for operation in OPERATIONS if operation.bundle == name)
    return ServedBundle(name, tuple(names), Bundle(name).is_own)


_FIRST: Final = (
    CORE,
    SHARED_SPACE,
    DEVELOPER_ASSISTANT,
    TALLYSTICK_CORE,
    TALLYSTICK_WORKER,
    TALLYSTICK_AGENT,
    TALLYSTICK_ERASURE,
    TALLYSTICK_ARTIFACT,
    TALLYSTICK_SPACE,
)
"""The order in which these were always told; further ones follow in the order of their families."""

BUNDLES: Final[dict[str, ServedBundle]] = {
    name: _served(name)
    for name in dict.fromkeys(
        (*(bundle.name for bundle in _FIRST), *(operation.bundle for operation in OPERATIONS))
    )
}

FEATURES: Final = tuple(b.name for b in BUNDLES.values() if not b.own)
"""What `hello` and `protocol_info` name: KCP's bundles, each served whole."""
OWN_BUNDLES: Final = tuple(b.name for b in BUNDLES.values() if b.own)
"""What `tallystick_limits` names."""
