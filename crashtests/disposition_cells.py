"""The cells of what is said of contributions and relations afterwards: dispositions and reactions."""

from __future__ import annotations

from typing import Any, Final

from cells import KEY, Cell
from effects import CLIENT, Place
from harness.wire import Request, request
from world import World, react

REASON: Final = {"reason_class": "author_request"}


def _other_reason(_: World) -> dict[str, Any]:
    return {"reason_class": "another"}


def _other_mark(_: World) -> dict[str, Any]:
    return {"key": "another"}


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


def _react(world: World, state: str, mark: str = "thanks") -> Request:
    return react(world.project, world.space, KEY, world.evidence, state, mark)


DISPOSITION_CELLS: Final = (
    Cell(Place("contribution_withdraw", CLIENT), "", _withdraw, _other_reason),
    Cell(Place("contribution_supersede", CLIENT), "", _supersede, _other_reason),
    Cell(Place("relation_retract", CLIENT), "", _retract, _other_reason),
    Cell(Place("reaction_set", CLIENT), "new", lambda w: _react(w, "present", "new"), _other_mark),
    Cell(Place("reaction_set", CLIENT), "taken back", lambda w: _react(w, "removed"), _other_mark),
    Cell(Place("reaction_set", CLIENT), "as it is", lambda w: _react(w, "present"), _other_mark),
)
