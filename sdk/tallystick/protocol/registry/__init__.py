"""The operations, as data: what each is called, who may call it where, what it takes, answers and writes.

This is the interface; the rest follows from it. Each family's rows stand in a module of their own and are put
together here. KCP's bundles are atomic, and the three that are named to clients are served whole.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from ._agent import AGENT
from ._alias import ALIAS
from ._artifact import ARTIFACT
from ._artifact_bytes import ARTIFACT_BYTES
from ._assistant import ASSISTANT
from ._completion import COMPLETION
from ._context import CONTEXT
from ._contribution import CONTRIBUTION
from ._deployment import DEPLOYMENT
from ._disclosure import DISCLOSURE
from ._disposition import DISPOSITION, REDACTION
from ._emission import EMISSION
from ._erasure import ERASURE
from ._event import EVENT
from ._grant import GRANT
from ._invocation import INVOCATION
from ._lens import LENS
from ._lifecycle import LIFECYCLE
from ._model import (
    CORE,
    DEVELOPER_ASSISTANT,
    SHARED_SPACE,
    TALLYSTICK_AGENT,
    TALLYSTICK_ARTIFACT,
    TALLYSTICK_CORE,
    TALLYSTICK_ERASURE,
    TALLYSTICK_SPACE,
    TALLYSTICK_WORKER,
    Emission,
    Kind,
    Mode,
    Operation,
    Placement,
    RowEffect,
    Socket,
    Surface,
)
from ._next import NEXT
from ._participant import PARTICIPANT
from ._policy import POLICY
from ._reaction import REACTION
from ._reading import READING
from ._realm import REALM
from ._service import SERVICE
from ._snapshot import SNAPSHOT
from ._space import SPACE
from ._widening import WIDENING

__all__ = [
    "BUNDLES",
    "BY_SOCKET",
    "FEATURES",
    "OPERATIONS",
    "OWN_BUNDLES",
    "Bundle",
    "Emission",
    "Kind",
    "Mode",
    "Operation",
    "Placement",
    "RowEffect",
    "Socket",
    "Surface",
]

_FAMILIES: Final = (
    SERVICE,
    AGENT,
    REALM,
    SPACE,
    LIFECYCLE,
    POLICY,
    WIDENING,
    PARTICIPANT,
    GRANT,
    CONTRIBUTION,
    DISPOSITION,
    REACTION,
    READING,
    LENS,
    SNAPSHOT,
    CONTEXT,
    INVOCATION,
    NEXT,
    ASSISTANT,
    DEPLOYMENT,
    ALIAS,
    EMISSION,
    COMPLETION,
    EVENT,
    REDACTION,
    ERASURE,
    ARTIFACT,
    ARTIFACT_BYTES,
    DISCLOSURE,
)

OPERATIONS: Final[tuple[Operation, ...]] = tuple(row for family in _FAMILIES for row in family)
"""What can be called."""


def _by_socket(operations: Iterable[Operation]) -> dict[tuple[Socket, str], Operation]:
    """A table of `operations` by socket and name. Raises `ValueError` where one stands twice."""
    table: dict[tuple[Socket, str], Operation] = {}
    for operation in operations:
        key = (operation.socket, operation.name)
        if key in table:
            raise ValueError(f"{operation.name} stands twice on the {operation.socket} socket")
        table[key] = operation
    return table


BY_SOCKET: Final[dict[tuple[Socket, str], Operation]] = _by_socket(OPERATIONS)


class Bundle(Struct, frozen=True):
    """A named set of operations: `own` if it is not KCP's."""

    name: str
    operations: tuple[str, ...]
    own: bool


def _bundle(name: str, *, own: bool = False) -> Bundle:
    names = dict.fromkeys(operation.name for operation in OPERATIONS if operation.bundle == name)
    return Bundle(name, tuple(names), own)


BUNDLES: Final[dict[str, Bundle]] = {
    bundle.name: bundle
    for bundle in (
        _bundle(CORE),
        _bundle(SHARED_SPACE),
        _bundle(DEVELOPER_ASSISTANT),
        _bundle(TALLYSTICK_CORE, own=True),
        _bundle(TALLYSTICK_WORKER, own=True),
        _bundle(TALLYSTICK_AGENT, own=True),
        _bundle(TALLYSTICK_ERASURE, own=True),
        _bundle(TALLYSTICK_ARTIFACT, own=True),
        _bundle(TALLYSTICK_SPACE, own=True),
    )
}

FEATURES: Final = tuple(b.name for b in BUNDLES.values() if not b.own)
"""What `hello` and `protocol_info` name: KCP's bundles, each served whole."""
OWN_BUNDLES: Final = tuple(b.name for b in BUNDLES.values() if b.own)
"""What `tallystick_limits` names."""
