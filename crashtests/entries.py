"""What a page of ``expected`` is made of: the entries of a family's operations, its crash cells and refusals.

A page is written by hand, from the protocol and the design, and never from the registry that the code reads:
two hands must have come to the same, and the suites hold them against each other and against the daemon.

An entry's ``callers`` has a word for each of these, who call as the entry's ``right`` request says:

========= ============================================================================================
owner     on the client socket, as itself
+attempt  the same, but naming an attempt that is current: authority is not gained by writing an id down
current   on the worker socket, with the attempt that holds the invocation
stale     on the worker socket, with an attempt whose invocation has gone on without it
guessed   on the worker socket, with an attempt id that nobody was given
none      on the worker socket, without any attempt
========= ============================================================================================

The first two stand in the entries of the client socket, the other four in those of the worker socket. A
socket that has no entry of an operation does not know it: whoever calls it there is told so.

Its ``agents`` has a word for each part that an agent can have in a restricted space, with what is the
owner's in it: ``steward``, ``contributor``, ``observer``, ``muted`` (a contributor who may only read),
``removed`` (who has no part in the project any more) and ``none`` (who never had one). Each asks on its own
sockets as the owner could ask. What is asked of a worker names the attempt that the owner's worker holds: it
is there on the owner's socket alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cells import Cell, Refusal

from tallystick.protocol.operation import Emission, Socket

if TYPE_CHECKING:
    from scene import Scene

JsonObject = dict[str, Any]

ADMITTED: Final = "admitted"
"""Let in by everything that judges who calls and how; what it then names need not be there."""

KINDS: Final = {
    "ok": None,
    ADMITTED: ADMITTED,
    "invalid": "invalid",
    "surface": "forbidden-surface",
    "unknown": "unknown-op",
    "stale": "stale-lease",
    "nothing": "not-found",
    "owners": "forbidden",
    "not": "forbidden",
}
"""The kind of the problem that each word stands for; none for what is done. ``owners`` is what only the owner
does, ``not`` what others may."""

CALLERS: Final = {
    Socket.CLIENT: ("owner", "+attempt"),
    Socket.WORKER: ("current", "stale", "guessed", "none"),
}
ROLES: Final = {
    "steward": ("steward", "active"),
    "contributor": ("contributor", "active"),
    "observer": ("observer", "active"),
    "muted": ("contributor", "muted"),
    "removed": ("contributor", "revoked"),
    "none": (None, None),
}
"""Role and status of each agent in the spaces that it is tried in."""

EVERYBODY: Final = "ok ok ok ok ok ok"
MEMBERS: Final = "ok ok ok ok nothing nothing"
CONTRIBUTORS: Final = "ok ok not not nothing nothing"
CLAIMERS: Final = "ok ok nothing nothing nothing nothing"
STEWARDS: Final = "ok not not not nothing nothing"
"""Also of what is another's to change: its author, a steward and the owner may."""
UPLOADERS: Final = "ok ok not not not not"
NOBODY: Final = "nothing nothing nothing nothing nothing nothing"
"""It is the owner's or its worker's alone, and not there for others; or there is none of it yet."""
OWNER: Final = "owners owners owners owners owners owners"
OWNER_IN_PROJECT: Final = "owners owners owners owners nothing nothing"
"""What only the owner does, in a project: who is not in the project hears of nothing."""

BOUND: Final = ("attempt_id", "fence_epoch")
BOUND_AND_NAMED: Final = ("invocation_id", *BOUND)

DIGEST: Final = "0123456789abcdef" * 4


class Example(NamedTuple):
    """A request's arguments with every member that they may have, right in their shape: what they name need
    not be there.

    The other fields are members' names, set apart by spaces: what may be left out, where any text, an empty
    one or any value may stand, objects of any members, and lists whose items are distinct. Every other change
    of one member makes the request invalid. ``ext`` is an extension of ours, and ``needs_ext`` says that the
    request is wrong without it. The attempt of a bound request is left out: it is the same in all.
    """

    args: JsonObject
    optional: str = ""
    texts: str = ""
    empty: str = ""
    free: str = ""
    open: str = ""
    sets: str = ""
    ext: JsonObject | None = None
    needs_ext: bool = False
    situation: str = ""


def listed(args: JsonObject, optional: str = "") -> Example:
    """An example of a list that comes in pages."""
    return Example(
        {**args, "after": "kc1.61.62", "limit": 20, "snapshot": "kc1.63.64"},
        optional=f"{optional} after snapshot",
        texts="after snapshot",
    )


class Entry(NamedTuple):
    """One operation on one socket.

    ``call`` says its kind, its mode, whether the request names the realm and the project (R required,
    F forbidden, O optional), and which arguments are content (commas between, - for none). ``events`` are the
    types that it tells, with spaces between. ``right`` makes the arguments of a request that the owner or its
    worker may make and that is then done, on what is there in a scene; what can be done once only is made
    anew for each request. ``binding`` are the members by which such a request names its attempt, and ``ext``
    is its extension.
    """

    socket: Socket
    name: str
    call: str
    callers: str
    agents: str
    right: Callable[[Scene], JsonObject]
    examples: tuple[Example, ...]
    events: str = ""
    emission: Emission = Emission.EACH
    binding: tuple[str, ...] = ()
    ext: JsonObject | None = None

    def __str__(self) -> str:
        return f"{self.name}@{self.socket}"

    @property
    def mode(self) -> str:
        return self.call.split()[1]

    @property
    def has_project(self) -> bool:
        """Whether the request must name the project."""
        return self.call.split()[3] == "R"

    def of_callers(self) -> dict[str, str | None]:
        """By caller, what becomes of the call: see ``KINDS``."""
        words = zip(CALLERS[self.socket], self.callers.split(), strict=True)
        return {caller: KINDS[word] for caller, word in words}

    def of_agents(self) -> dict[str, str | None]:
        """By an agent's part, what becomes of the call: see ``KINDS``."""
        return {role: KINDS[word] for role, word in zip(ROLES, self.agents.split(), strict=True)}


class Page(NamedTuple):
    """All that is expected of a family. A writing operation has a crash cell for each situation that it can
    be done in; a refusal is tried in the same way.
    """

    entries: tuple[Entry, ...]
    cells: tuple[Cell, ...] = ()
    refusals: tuple[Refusal, ...] = ()
