"""What is expected of what is said of contributions and relations afterwards."""

from __future__ import annotations

from typing import Final

from cells import KEY, Cell
from effects import DISPOSED, UNBOUND, Place, command, update
from entries import MEMBERS, STEWARDS, Entry, Example, JsonObject, Page, listed
from harness.wire import Request, request
from scene import Scene
from world import CLIENT, World

REASON: Final = {"reason_class": "author_request"}


def _disposed(scene: Scene) -> JsonObject:
    return {"contribution_ref": scene.say(scene.things.space)["contribution_id"], **REASON}


def _retracted(scene: Scene) -> JsonObject:
    things = scene.things
    relation = scene.relate(things.space, scene.say(things.space), things.question)
    return {"relation_ref": relation["relation_id"], **REASON}


ENTRIES: Final = (
    Entry(
        CLIENT,
        "contribution_withdraw",
        "write write_space R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.contribution-withdrawn.v1",
        right=_disposed,
        examples=(Example({"contribution_ref": "contrib-1", "reason_class": "outdated"}),),
    ),
    Entry(
        CLIENT,
        "contribution_supersede",
        "write write_space R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.contribution-superseded.v1",
        right=lambda s: {**_disposed(s), "replacement_ref": s.things.question["contribution_id"]},
        examples=(
            Example(
                {"contribution_ref": "contrib-1", "replacement_ref": "contrib-2", "reason_class": "outdated"}
            ),
        ),
    ),
    Entry(
        CLIENT,
        "relation_retract",
        "write write_space R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.relation-retracted.v1",
        right=_retracted,
        examples=(Example({"relation_ref": "rel-1", "reason_class": "outdated"}),),
    ),
    Entry(
        CLIENT,
        "tallystick_disposition_list",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: s.page,
        examples=(listed({"space_id": "space-1", "kind": "withdraw"}, optional="kind"),),
    ),
)


def _other_reason(_: World) -> JsonObject:
    return {"reason_class": "another"}


def _withdraw(world: World) -> Request:
    args = {"contribution_ref": world.evidence["contribution_id"], **REASON}
    return request(CLIENT, "contribution_withdraw", args, project=world.project, key=KEY)


def _supersede(world: World) -> Request:
    args = {
        "contribution_ref": world.evidence["contribution_id"],
        "replacement_ref": world.question["contribution_id"],
        **REASON,
    }
    return request(CLIENT, "contribution_supersede", args, project=world.project, key=KEY)


def _retract(world: World) -> Request:
    args = {"relation_ref": world.others["relation_retract"], **REASON}
    return request(CLIENT, "relation_retract", args, project=world.project, key=KEY)


_ROWS: Final = (*command(), *DISPOSED)

def _of_decision(world: World) -> JsonObject:
    return {"contribution_ref": world.others["decision's contribution"], **REASON}


def _withdraw_decision(world: World) -> Request:
    return request(CLIENT, "contribution_withdraw", _of_decision(world), project=world.project, key=KEY)


def _supersede_decision(world: World) -> Request:
    args = {**_of_decision(world), "replacement_ref": world.question["contribution_id"]}
    return request(CLIENT, "contribution_supersede", args, project=world.project, key=KEY)


_FALLEN: Final = (*_ROWS, update("decisions", "state", "revision"), *UNBOUND)

CELLS: Final = (
    Cell(Place("contribution_withdraw", CLIENT), "a decision", _withdraw_decision, _other_reason, _FALLEN),
    Cell(Place("contribution_supersede", CLIENT), "a decision", _supersede_decision, _other_reason, _FALLEN),
    Cell(Place("contribution_withdraw", CLIENT), "", _withdraw, _other_reason, _ROWS),
    Cell(Place("contribution_supersede", CLIENT), "", _supersede, _other_reason, _ROWS),
    Cell(Place("relation_retract", CLIENT), "", _retract, _other_reason, _ROWS),
)

PAGE: Final = Page(ENTRIES, CELLS)
