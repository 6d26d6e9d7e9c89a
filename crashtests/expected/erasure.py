"""What is expected of erasures: what is erased is gone from every file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from cells import KEY, Cell, Refusal
from effects import ARTIFACT_ERASED, CONTENT_ERASED, DISPOSED, UNBOUND, Place, command, delete, insert
from entries import STEWARDS, Entry, Example, JsonObject, Page
from erasing import run_erasure
from harness.dumps import Effect
from harness.wire import Request, request
from world import CLIENT, World

WHY: Final = {"reason_class": "privacy"}


ENTRIES: Final = (
    Entry(
        CLIENT,
        "contribution_redact",
        "write steward R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.contribution-redacted.v1",
        right=lambda s: {"contribution_ref": s.say(s.things.space)["contribution_id"], **WHY},
        examples=(Example({"contribution_ref": "contrib-1", "reason_class": "outdated"}),),
    ),
    Entry(
        CLIENT,
        "tallystick_erase",
        "write steward R O -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.tallystick.content.erasing.v1",
        right=lambda s: {"object_ref": s.lens(s.things.space)["lens_id"], **WHY},
        examples=(Example({"object_ref": "proj-1", "reason_class": "privacy"}),),
    ),
)


def _other_reason(_: World) -> JsonObject:
    return {"reason_class": "another"}


def _redact_cell(situation: str, contribution: Callable[[World], str], *rows: Effect) -> Cell:
    def make(world: World) -> Request:
        args = {"contribution_ref": contribution(world), **WHY}
        return request(CLIENT, "contribution_redact", args, project=world.project, key=KEY)

    # what it says of the contribution has an id of its own
    all_rows = (*command(1), *DISPOSED, *CONTENT_ERASED, *rows)
    place = Place("contribution_redact", CLIENT)
    return Cell(place, situation, make, _other_reason, all_rows, run=run_erasure)


def _erase(world: World, member: str, subject: str) -> Request:
    args = {member: subject, **WHY}
    return request(CLIENT, "tallystick_erase", args, project=world.project, key=KEY)


def _erase_cell(situation: str, member: str, name: str, *rows: Effect) -> Cell:
    def make(world: World) -> Request:
        return _erase(world, member, world.others[name])

    place = Place("tallystick_erase", CLIENT)
    return Cell(place, situation, make, _other_reason, (*command(), *rows), run=run_erasure)


CELLS: Final = (
    _redact_cell("", lambda w: w.evidence["contribution_id"]),
    _redact_cell("a decision", lambda w: w.others["decision's contribution"], *UNBOUND),
    _redact_cell("with an artifact", lambda w: w.others["carrying"], *ARTIFACT_ERASED),
    _erase_cell(
        "an object's",
        "object_ref",
        "lens to change",
        insert("erasures"),
        delete("bodies", 3),  # a lens has three free objects
        delete("object_keys", 3),
    ),
    _erase_cell("an event's", "event_id", "first event", *CONTENT_ERASED),
    _erase_cell("an artifact's", "object_ref", "carried's artifact", insert("erasures"), *ARTIFACT_ERASED),
)


def _again(world: World) -> Request:
    return _erase(world, "object_ref", world.evidence["contribution_id"])


REFUSALS: Final = (Refusal(Place("tallystick_erase", CLIENT), "a contribution", _again, "invalid"),)

PAGE: Final = Page(ENTRIES, CELLS, REFUSALS)
