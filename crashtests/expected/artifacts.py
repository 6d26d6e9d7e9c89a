"""What is expected of artifacts and their uploads. A finalize has two transactions, and so two phases more:
behind the first, and behind the sealing.
"""

from __future__ import annotations

from typing import Final

import artifacts
from cells import BETWEEN, KEY, PHASES, Cell, Refusal
from effects import Place, command, content, insert, update
from entries import DIGEST, EVERYBODY, MEMBERS, NOBODY, UPLOADERS, Entry, Example, JsonObject, Page, listed
from harness.dumps import Effect
from harness.wire import Request, request
from scene import Scene
from world import CLIENT, World

from tallystick.protocol.operation import Emission

AVAILABLE: Final = "dev.kovee.artifact.available.v1"
REJECTED: Final = "dev.kovee.artifact.rejected.v1"


def _upload(scene: Scene) -> JsonObject:
    return {"upload_id": scene.upload["upload_id"]}


def _own_upload(scene: Scene) -> JsonObject:
    return {"upload_id": scene.new_upload()["upload_id"]}


ENTRIES: Final = (
    Entry(
        CLIENT,
        "artifact_upload_begin",
        "write upload R O declared_raw_sha256",
        callers="ok invalid",
        agents=UPLOADERS,
        events="dev.kovee.artifact.upload-began.v1",
        right=lambda _: artifacts.declared(),
        examples=(
            Example(
                {
                    "declared_raw_sha256": DIGEST,
                    "declared_size": 25,
                    "declared_media_type": "text/plain",
                    "classification_ref": "class-default",
                },
                optional="classification_ref",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "artifact_upload_show",
        "read upload R O -",
        callers="ok invalid",
        agents=NOBODY,
        right=_upload,
        examples=(Example({"upload_id": "upl-1"}),),
    ),
    Entry(
        CLIENT,
        "artifact_upload_credential",
        "read upload R O -",
        callers="ok invalid",
        agents=NOBODY,
        right=_upload,
        examples=(Example({"upload_id": "upl-1"}),),
    ),
    Entry(
        CLIENT,
        "artifact_upload_finalize",
        "write upload R O -",
        callers="ok invalid",
        agents=NOBODY,
        events="dev.kovee.artifact.available.v1 dev.kovee.artifact.rejected.v1",
        emission=Emission.ONE_OF,
        right=_own_upload,
        examples=(Example({"upload_id": "upl-1"}),),
    ),
    Entry(
        CLIENT,
        "artifact_upload_abort",
        "write upload R O reason",
        callers="ok invalid",
        agents=NOBODY,
        events="dev.kovee.artifact.upload-aborted.v1",
        right=_own_upload,
        examples=(
            Example(
                {"upload_id": "upl-1", "reason": "the wrong file"},
                optional="reason",
                texts="reason",
                empty="reason",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "artifact_show",
        "read read_realm R O -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: {"artifact_id": s.things.artifact_id},
        examples=(Example({"artifact_id": "art-1"}),),
    ),
    Entry(
        CLIENT,
        "tallystick_artifact_begin",
        "write upload R O declared_raw_sha256",
        callers="ok invalid",
        agents=UPLOADERS,
        events="dev.kovee.artifact.upload-began.v1",
        right=lambda _: artifacts.declared(),
        examples=(
            Example(
                {
                    "declared_raw_sha256": DIGEST,
                    "declared_size": 1073741824,
                    "declared_media_type": "text/plain",
                    "classification_ref": "class-default",
                },
                optional="classification_ref",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_artifact_put",
        "control upload R O data",
        callers="ok invalid",
        agents=NOBODY,
        right=lambda s: {**_upload(s), "offset": 0, "data": ""},
        examples=(
            Example(
                {"upload_id": "upl-1", "offset": 131072, "data": "dGhlIGJ5dGVzIG9mIGFuIGFydGlmYWN0Cg=="},
                empty="data",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_artifact_list",
        "read read_realm R F -",
        callers="ok invalid",
        agents=EVERYBODY,
        right=lambda _: {"limit": 9},
        examples=(listed({"state": "available"}, optional="state"),),
    ),
    Entry(
        CLIENT,
        "tallystick_artifact_get",
        "read read_realm R O -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: {"artifact_id": s.things.artifact_id, "offset": 0},
        examples=(Example({"artifact_id": "art-1", "offset": 524288, "length": 524288}, optional="length"),),
    ),
    Entry(
        CLIENT,
        "disclosure_manifest_show",
        "read read_realm R O -",
        callers="admitted invalid",
        agents=NOBODY,
        right=lambda _: {"disclosure_id": "disc-1"},
        examples=(Example({"disclosure_id": "disc-1"}),),
    ),
)


_BEGUN: Final = (
    *command(1),  # the upload
    insert("object_keys"),  # of the declared digest's commitment
    insert("artifact_uploads"),
    insert("artifacts"),
)
SEALING: Final = (
    insert("log"),
    update("artifact_uploads", "state", "ends_ms"),
    update("artifacts", "state"),
)
"""The first transaction of a finalize alone."""
_FINALIZED: Final = (
    *command(),
    insert("log"),  # of the first transaction
    update(
        "artifact_uploads",
        "ends_ms",  # by the first transaction
        "state",
        "revision",
        "sealed_ms",
        "terminal_ms",
        "sealed_storage_version",
        "observation_digest",
    ),
)
_ABORTED: Final = (*command(), update("artifacts", "state", "revision"))


def _begin(operation: str) -> Cell:
    return Cell(
        Place(operation, CLIENT),
        "",
        lambda _: artifacts.begin(KEY, operation),
        lambda _: artifacts.declared(artifacts.OTHER_BYTES),
        _BEGUN,
    )


def _finalize(situation: str, name: str, event: str, *rows: Effect) -> Cell:
    return Cell(
        Place("artifact_upload_finalize", CLIENT),
        situation,
        lambda w: artifacts.finalize(KEY, w.others[name]),
        lambda w: {"upload_id": w.others["another"]},
        (*_FINALIZED, *rows),
        phases=(*PHASES, *BETWEEN),
        begun=SEALING,
        events=(event,),
    )


def _abort(situation: str, name: str, *rows: Effect, **more: str) -> Cell:
    def make(world: World) -> Request:
        args = {"upload_id": world.others[name], **more}
        return request(CLIENT, "artifact_upload_abort", args, key=KEY)

    other = {"reason": "another"}
    return Cell(Place("artifact_upload_abort", CLIENT), situation, make, lambda _: other, (*_ABORTED, *rows))


CELLS: Final = (
    _begin("artifact_upload_begin"),
    _begin("tallystick_artifact_begin"),
    _finalize(
        "the bytes declared",
        "finalize",
        AVAILABLE,
        insert("object_keys"),
        update(
            "artifacts",
            "state",
            "revision",
            "size",
            "media_type",
            "sealed_storage_version",
            "verification_digest",
            "content_digest",
            "keys",
            "available_ms",
        ),
    ),
    _finalize("other bytes", "finalize other bytes", REJECTED, update("artifacts", "state", "revision")),
    _abort("", "abort", update("artifact_uploads", "state", "revision", "terminal_ms")),
    _abort(
        "with a reason",
        "abort with a reason",
        *content(),
        update("artifact_uploads", "state", "revision", "terminal_ms", "reason"),
        reason="the wrong file",
    ),
)


def _ended(world: World) -> Request:
    return artifacts.finalize(KEY, world.others["carried"])


REFUSALS: Final = (
    Refusal(Place("artifact_upload_finalize", CLIENT), "it has ended", _ended, "stale-revision"),
)

PAGE: Final = Page(ENTRIES, CELLS, REFUSALS)
