"""What is expected of gates: the rules by which something is let through, in a space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cells import KEY, Cell, client_cell
from effects import Place, Rows, command, insert, update
from entries import MEMBERS, STEWARDS, Entry, Example, Page, listed
from harness.wire import request
from world import CLIENT

if TYPE_CHECKING:
    from scene import Scene


def _gate(scene: Scene) -> dict[str, Any]:
    """Names a gate that was defined for this alone."""
    named = {**scene.here, "name": scene.key("gate")}
    scene.done("tallystick_gate_define", {**named, "minimum": "peer"})
    return named


ENTRIES: Final = (
    Entry(
        CLIENT,
        "tallystick_gate_define",
        "write steward R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.tallystick.gate.defined.v1",
        right=lambda s: {**s.here, "name": s.key("gate"), "minimum": "peer"},
        examples=(
            Example(
                {
                    "space_id": "space-1",
                    "name": "deploy",
                    "minimum": "ssh-sk",
                    "quorum": 1,
                    "deciders": {"owner": True, "agents": ["agent-1"], "signers": ["signer-1"]},
                    "term_seconds": 3_600,
                    "rounds_max": 3,
                    "endorsement": "U1NIU0lH",
                },
                optional="quorum deciders owner agents signers term_seconds rounds_max endorsement",
                texts="endorsement",
                sets="agents signers",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_gate_retire",
        "write steward R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.tallystick.gate.retired.v1",
        right=_gate,
        examples=(
            Example(
                {"space_id": "space-1", "name": "deploy", "endorsement": "U1NIU0lH"},
                optional="endorsement",
                texts="endorsement",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_gate_list",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: s.page,
        examples=(listed({"space_id": "space-1"}),),
    ),
)


def _endorsed(operation: str, which: str, args: dict[str, Any], other: dict[str, Any], rows: Rows) -> Cell:
    """A cell of the signed gate, with the endorsement that the prepared store has for it."""
    return Cell(
        Place(operation, CLIENT),
        "signed, by a touch",
        lambda w: request(
            CLIENT,
            operation,
            {
                "space_id": w.others["access"],
                "name": "signed",
                "endorsement": w.others[which],
                **args,
            },
            project=w.project,
            key=KEY,
        ),
        lambda _: other,
        rows,
    )


_COUNTED: Final = update("signer_keys", "counter")

CELLS: Final = (
    client_cell(
        "tallystick_gate_define",
        (*command(), insert("gates")),
        {"name": "new", "minimum": "peer"},
        {"minimum": "credential"},
        situation="new",
        at="project",
        names=("space_id", "access"),
    ),
    client_cell(
        "tallystick_gate_define",
        (
            *command(),
            update(
                "gates",
                "revision",
                "rank",
                "quorum",
                "deciders",
                "term_seconds",
                "rounds_max",
                "last_event",
            ),
        ),
        {
            "name": "plain",
            "minimum": "credential",
            "quorum": 2,
            "deciders": {"owner": False},
            "term_seconds": 60,
            "rounds_max": 1,
        },
        {"minimum": "ssh"},
        situation="changed",
        at="project",
        names=("space_id", "access"),
    ),
    _endorsed(
        "tallystick_gate_define",
        "weakened",
        {"minimum": "ssh"},
        {"minimum": "peer"},
        (*command(), update("gates", "revision", "rank", "last_event"), _COUNTED),
    ),
    client_cell(
        "tallystick_gate_retire",
        (*command(), update("gates", "revision", "state", "last_event")),
        {"name": "plain"},
        {"name": "signed"},
        situation="unsigned",
        at="project",
        names=("space_id", "access"),
    ),
    _endorsed(
        "tallystick_gate_retire",
        "retired",
        {},
        {"name": "plain"},
        (*command(), update("gates", "revision", "state", "last_event"), _COUNTED),
    ),
)

PAGE: Final = Page(ENTRIES, CELLS)
