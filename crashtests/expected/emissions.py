"""What is expected of what workers emit: events of their own types, and calls to models."""

from __future__ import annotations

from typing import Final

from cells import KEY, Cell, Refusal
from effects import STEP, Place, command, content
from entries import BOUND, DIGEST, NOBODY, Entry, Example, JsonObject, Page
from harness.wire import Request, request
from world import WORKER, World

from tallystick.protocol.operation import Emission

TYPE: Final = "com.example.reviewed.v1"
_DIGEST: Final = {"class": "structural_public", "algorithm": "sha-256", "value_hex": "0" * 64}
_MODEL: Final[JsonObject] = {
    "model_profile_ref": "profile-1",
    "purpose_ref": "purpose-1",
    "classification_ref": "class-default",
    "prompt": "Why does it drip?",
    "max_output_tokens": 10,
    "act_intent_ref": "intent-1",
    "act_intent_digest": _DIGEST,
    "act_revision": 1,
    "subject_digest": _DIGEST,
    "context_manifest_ref": "manifest-1",
    "context_manifest_digest": _DIGEST,
    "stable_execution_key": "execution-1",
    "budget_reservation_set_ref": "budget-1",
}
"""A call that lacks nothing. Nobody has a model: it is let in, and then it is unavailable."""


ENTRIES: Final = (
    Entry(
        WORKER,
        "application_event_emit",
        "write worker_fenced R R payload",
        callers="ok stale nothing invalid",
        agents=NOBODY,
        emission=Emission.OF_CALLER,
        binding=BOUND,
        right=lambda _: {"type": TYPE, "payload": {}},
        examples=(
            Example(
                {"type": "org.example.step.finished.v1", "payload": {"step": 1, "notes": [None]}},
                open="payload",
            ),
        ),
    ),
    Entry(
        WORKER,
        "model_complete",
        "write worker_fenced R R prompt,system",
        callers="admitted stale nothing invalid",
        agents=NOBODY,
        binding=BOUND,
        right=lambda _: _MODEL,
        examples=(
            Example(
                {
                    "model_profile_ref": "profile-1",
                    "purpose_ref": "purpose-1",
                    "classification_ref": "class-default",
                    "prompt": "why does the tap drip",
                    "system": "be brief",
                    "max_output_tokens": 256,
                    "stable_binding_key": "bind-1",
                    "act_intent_ref": "act-1",
                    "act_intent_digest": {
                        "algorithm": "hmac-sha-256",
                        "class": "local_erasure_safe",
                        "key_ref": "key-1",
                        "value_hex": DIGEST,
                    },
                    "act_revision": 2,
                    "subject_digest": {
                        "algorithm": "hmac-sha-256",
                        "class": "local_erasure_safe",
                        "key_ref": "key-1",
                        "value_hex": DIGEST,
                    },
                    "context_manifest_ref": "manifest-1",
                    "context_manifest_digest": {
                        "algorithm": "sha-256",
                        "class": "portable_public",
                        "value_hex": DIGEST,
                    },
                    "stable_execution_key": "exec-1",
                    "budget_reservation_set_ref": "budget-1",
                },
                optional="system stable_binding_key",
                texts="prompt system",
                empty="system",
            ),
        ),
    ),
)


def _emit(world: World) -> Request:
    args = {**world.attempts["append"].binding, "type": TYPE, "payload": {"verdict": "worn"}}
    return request(WORKER, "application_event_emit", args, key=KEY, project=world.project)


CELLS: Final = (
    Cell(
        Place("application_event_emit", WORKER),
        "",
        _emit,
        lambda _: {"payload": {"verdict": "sound"}},
        (*command(), *content(), STEP),
        events=(TYPE,),
    ),
)


def _model(world: World) -> Request:
    args = {**world.attempts["append"].binding, **_MODEL}
    return request(WORKER, "model_complete", args, key=KEY, project=world.project)


REFUSALS: Final = (Refusal(Place("model_complete", WORKER), "no authority for it", _model, "unavailable"),)
"""Nothing leaves the machine, whatever a call to a model names."""

PAGE: Final = Page(ENTRIES, CELLS, REFUSALS)
