"""The cells of artifacts. A finalize has two transactions, and so two phases more: behind the first, and
behind the sealing.
"""

from __future__ import annotations

from typing import Any, Final

import artifacts
from cells import BETWEEN, KEY, PHASES, Cell, Refusal
from effects import CLIENT, SEALING, WORKER, Place
from harness.wire import Request, request
from world import World

AVAILABLE: Final = "dev.kovee.artifact.available.v1"
REJECTED: Final = "dev.kovee.artifact.rejected.v1"


def _finalize(situation: str, name: str, event: str) -> Cell:
    return Cell(
        Place("artifact_upload_finalize", CLIENT),
        situation,
        lambda w: artifacts.finalize(KEY, w.others[name]),
        _another_upload,
        phases=(*PHASES, *BETWEEN),
        begun=SEALING,
        events=(event,),
    )


def _another_upload(world: World) -> dict[str, Any]:
    return {"upload_id": world.others["another"]}


def _begin(operation: str) -> Cell:
    return Cell(
        Place(operation, CLIENT),
        "",
        lambda _: artifacts.begin(KEY, operation),
        lambda _: artifacts.declared(artifacts.OTHER_BYTES),
    )


def _abort(situation: str, name: str, **more: str) -> Cell:
    def make(world: World) -> Request:
        args = {"upload_id": world.others[name], **more}
        return request(CLIENT, "artifact_upload_abort", args, key=KEY)

    return Cell(Place("artifact_upload_abort", CLIENT), situation, make, lambda _: {"reason": "another"})


def _carry(world: World) -> Request:
    parts = [{"artifact_ref": world.others["carried's artifact"], "title": "the washer"}]
    return world.append(KEY, "").changed(body_parts=parts)


def _other_parts(_: World) -> dict[str, Any]:
    return {"body_parts": [{"media_type": "text/plain", "text": "Something else."}]}


ARTIFACT_CELLS: Final = (
    _begin("artifact_upload_begin"),
    _begin("tallystick_artifact_begin"),
    _finalize("the bytes declared", "finalize", AVAILABLE),
    _finalize("other bytes", "finalize other bytes", REJECTED),
    _abort("", "abort"),
    _abort("with a reason", "abort with a reason", reason="the wrong file"),
    Cell(Place("contribution_append", CLIENT), "with an artifact", _carry, _other_parts),
    Cell(
        Place("contribution_append", WORKER),
        "with an artifact",
        lambda w: w.as_worker(_carry(w), w.attempts["append"]),
        _other_parts,
    ),
)


def _ended(world: World) -> Request:
    return artifacts.finalize(KEY, world.others["carried"])


ARTIFACT_REFUSALS: Final = (
    Refusal(Place("artifact_upload_finalize", CLIENT), "it has ended", _ended, "stale-revision"),
)
