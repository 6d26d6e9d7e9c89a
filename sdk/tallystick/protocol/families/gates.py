"""Gates: the rules by which something is let through, each in a space, under a name."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, PageArgs
from tallystick.protocol.families.signers import Signature
from tallystick.protocol.operation import LISTS, TALLYSTICK_COORDINATION, Mode, RowEffect
from tallystick.protocol.records import Page, Record
from tallystick.protocol.shapes import (
    DigestHex,
    GateName,
    Identifier,
    SafeInt,
    Timestamp,
    refuse_repeats,
)
from tallystick.protocol.statements import Strength

Quorum = Annotated[int, Meta(ge=1, le=8)]
TermSeconds = Annotated[int, Meta(ge=limits.GATE_TERM_SECONDS_MIN, le=limits.GATE_TERM_SECONDS_MAX)]
Rounds = Annotated[int, Meta(ge=1, le=20)]
SomeDeciders = Annotated[tuple[Identifier, ...], Meta(max_length=limits.GATE_DECIDERS_ITEMS_MAX)]


# --- records ------------------------------------------------------------------------------------------------
class Deciders(Record, frozen=True, kw_only=True):
    """Whose verdicts count: unsigned ones of the owner and of the agents that are named, signed ones of the
    signers that are named, or of any signer where none is.
    """

    owner: bool
    agents: SomeDeciders
    signers: SomeDeciders


class Gate(Record, frozen=True, kw_only=True):
    """A gate and its rules. A change of them is a new revision, and touches no opening.

    `last_leaf` is the log's leaf of the newest event about it: what the next statement about it has as
    `after`. It is not in the reply to a command, which the leaf commits to.
    """

    gate_id: Identifier
    project_id: Identifier
    space_id: Identifier
    name: GateName
    revision: SafeInt
    state: Literal["active", "retired"]
    minimum: Strength
    quorum: Quorum
    deciders: Deciders
    term_seconds: TermSeconds
    rounds_max: Rounds
    by: Identifier
    at: Timestamp
    last_leaf: DigestHex | UnsetType = UNSET


class GatePage(Page, frozen=True, kw_only=True):
    """The result of `tallystick_gate_list`; retired gates stay listed."""

    items: Annotated[tuple[Gate, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


# --- arguments ----------------------------------------------------------------------------------------------
class DecidersArgs(Args, frozen=True, kw_only=True):
    """Who decides: the owner, unless `owner` is false, and who is named."""

    owner: bool | UnsetType = UNSET
    agents: SomeDeciders | UnsetType = UNSET
    signers: SomeDeciders | UnsetType = UNSET

    def __post_init__(self) -> None:
        for member in ("agents", "signers"):
            named = getattr(self, member)
            if named is not UNSET:
                refuse_repeats(member, named)


class TallystickGateDefineArgs(Args, frozen=True, kw_only=True):
    """A gate's name and all of its rules: what is left out has its default, also in a change.

    `endorsement` is a signature of the statement with the rules as they will be; a change that weakens a
    signed gate needs it.
    """

    space_id: Identifier
    name: GateName
    minimum: Strength
    quorum: Quorum | UnsetType = UNSET
    deciders: DecidersArgs | UnsetType = UNSET
    term_seconds: TermSeconds | UnsetType = UNSET
    rounds_max: Rounds | UnsetType = UNSET
    endorsement: Signature | UnsetType = UNSET


class TallystickGateRetireArgs(Args, frozen=True, kw_only=True):
    """Which gate is used no more. Of a signed gate it needs an endorsement."""

    space_id: Identifier
    name: GateName
    endorsement: Signature | UnsetType = UNSET


class TallystickGateListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of a space's gates."""

    space_id: Identifier


# --- operations ---------------------------------------------------------------------------------------------
DEFINED: Final = "dev.tallystick.gate.defined.v1"
RETIRED: Final = "dev.tallystick.gate.retired.v1"
_COUNTED: Final = RowEffect("signer_keys", "update", None, ("counter",))
"""A security key that endorsed."""

TALLYSTICK_GATE_DEFINE: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_gate_define",
    TallystickGateDefineArgs,
    Gate,
    "Define a gate of a space, or change its rules.",
    mode=Mode.STEWARD,
    event=DEFINED,
    rows=(
        RowEffect("gates", "insert", None),
        RowEffect(
            "gates",
            "update",
            None,
            ("revision", "rank", "quorum", "deciders", "term_seconds", "rounds_max", "last_event"),
        ),
        _COUNTED,
    ),
)
TALLYSTICK_GATE_RETIRE: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_gate_retire",
    TallystickGateRetireArgs,
    Gate,
    "Use a gate no more; its name is not used again.",
    mode=Mode.STEWARD,
    event=RETIRED,
    rows=(RowEffect("gates", "update", 1, ("revision", "state", "last_event")), _COUNTED),
)
TALLYSTICK_GATE_LIST: Final = TALLYSTICK_COORDINATION.read(
    "tallystick_gate_list",
    TallystickGateListArgs,
    GatePage,
    "A space's gates, a page at a time, in the order in which they were defined.",
    mode=Mode.READ_SPACE,
    problems=LISTS,
)

OPERATIONS: Final = (TALLYSTICK_GATE_DEFINE, TALLYSTICK_GATE_RETIRE, TALLYSTICK_GATE_LIST)
