"""What is expected of participants: who takes part in a space, and as what."""

from __future__ import annotations

from typing import Final

from cells import KEY, NOWHERE, Cell, client_cell
from effects import Place, command, insert, update
from entries import DIGEST, MEMBERS, OWNER_IN_PROJECT, STEWARDS, Entry, Example, JsonObject, Page, listed
from harness.wire import Request, request
from scene import Scene
from world import CLIENT, GUEST, World, participant_digest


def _activation(scene: Scene) -> JsonObject:
    part = scene.participant()
    return {"participant_id": part["participant_id"], "subject_digest": participant_digest(part)}


ENTRIES: Final = (
    Entry(
        CLIENT,
        "space_participant_add",
        "write steward R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.participant-added.v1",
        right=lambda s: {**s.here, "subject_ref": s.key("prin"), "kind": "principal", "role": "observer"},
        examples=(
            Example(
                {
                    "space_id": "space-1",
                    "subject_ref": "agent-1",
                    "kind": "assistant_deployment",
                    "role": "contributor",
                    "subject_revision": 3,
                },
                optional="subject_revision",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "space_participant_activate",
        "write operator R R -",
        callers="ok invalid",
        agents=OWNER_IN_PROJECT,
        events="dev.kovee.space.participant-activated.v1",
        right=_activation,
        examples=(Example({"participant_id": "part-1", "subject_digest": DIGEST}),),
    ),
    Entry(
        CLIENT,
        "space_participant_update",
        "write steward R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.participant-updated.v1",
        right=lambda s: {"participant_id": s.participant()["participant_id"], "role": "contributor"},
        examples=(
            Example(
                {"participant_id": "part-1", "role": "contributor", "status": "active"},
                optional="role status",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "space_participant_remove",
        "write steward R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.participant-removed.v1",
        right=lambda s: {"participant_id": s.participant()["participant_id"]},
        examples=(Example({"participant_id": "part-1"}),),
    ),
    Entry(
        CLIENT,
        "space_participant_list",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: s.page,
        examples=(listed({"space_id": "space-1"}),),
    ),
)


def _participant_cell(operation: str, columns: tuple[str, ...], args: JsonObject) -> Cell:
    """A cell of an operation on the participant that the world has for it."""
    rows = (*command(), update("participants", *columns))
    other = {"participant_id": f"part-{NOWHERE}"}
    return client_cell(operation, rows, args, other, at="project", names=("participant_id", operation))


def _activate(world: World) -> Request:
    participant, digest = world.others["space_participant_activate"], world.others["activate digest"]
    args = {"participant_id": participant, "subject_digest": digest}
    return request(CLIENT, "space_participant_activate", args, project=world.project, key=KEY)


CELLS: Final = (
    client_cell(
        "space_participant_add",
        (*command(), insert("participants")),
        {**GUEST, "subject_ref": "prin-new"},
        {"role": "contributor"},
        at="project",
        names=("space_id", "access"),
    ),
    Cell(
        Place("space_participant_activate", CLIENT),
        "",
        _activate,
        lambda _: {"subject_digest": "0" * 64},
        (*command(), update("participants", "revision", "status")),
    ),
    _participant_cell(
        "space_participant_update",
        ("revision", "role", "status"),
        {"role": "contributor", "status": "muted"},
    ),
    _participant_cell("space_participant_remove", ("revision", "status"), {}),
)

PAGE: Final = Page(ENTRIES, CELLS)
