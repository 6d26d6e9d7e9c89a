"""The cells of assistants: their definitions, revisions, deployments and aliases, and what workers emit."""

from __future__ import annotations

from typing import Any, Final

import pipelines
from cells import KEY, Cell, Refusal
from effects import CLIENT, WORKER, Place
from harness.wire import Request, request
from world import World

TYPE: Final = "com.example.reviewed.v1"
NOWHERE: Final = "0" * 32


def _register(world: World) -> Request:
    args = pipelines.revision(world.others["assistant_revision_register"], "2")
    return pipelines.asked(KEY, "assistant_revision_register", args)


def _create(world: World) -> Request:
    args = pipelines.deployment(world.others["deployment_create"])
    return pipelines.asked(KEY, "deployment_create", args)


def _deployment_cell(operation: str) -> Cell:
    def make(world: World) -> Request:
        args = {"assistant_deployment_id": world.others[operation]}
        return pipelines.asked(KEY, operation, args)

    other = {"assistant_deployment_id": f"dep-{NOWHERE}"}
    return Cell(Place(operation, CLIENT), "", make, lambda _: other)


def _bind(world: World) -> Request:
    args = {"display_alias": "The reviewer", **pipelines.BUILT_IN}
    return pipelines.asked(KEY, "assistant_alias_bind", args, world.project)


def _update(world: World) -> Request:
    args = {
        "alias_binding_id": world.others["assistant_alias_update"],
        "assistant_deployment_id": world.others["deployment_drain"],
        "deployment_revision": 2,
    }
    return pipelines.asked(KEY, "assistant_alias_update", args, world.project)


def _revoke(world: World) -> Request:
    args = {"alias_binding_id": world.others["assistant_alias_revoke"]}
    return pipelines.asked(KEY, "assistant_alias_revoke", args, world.project)


def _emit(world: World) -> Request:
    args = {**world.attempts["append"].binding, "type": TYPE, "payload": {"verdict": "worn"}}
    return request(WORKER, "application_event_emit", args, key=KEY, project=world.project)


def _other_alias(_: World) -> dict[str, Any]:
    return {"alias_binding_id": f"alias-{NOWHERE}"}


PIPELINE_CELLS: Final = (
    Cell(
        Place("assistant_create", CLIENT),
        "",
        lambda _: pipelines.asked(KEY, "assistant_create", pipelines.DEFINED),
        lambda _: {"description": "Something else."},
    ),
    Cell(
        Place("assistant_revision_register", CLIENT),
        "",
        _register,
        lambda _: {"config_schema_digest": "e" * 64},
    ),
    Cell(Place("deployment_create", CLIENT), "", _create, lambda _: {"rollout_policy": {"percent": 1}}),
    _deployment_cell("deployment_activate"),
    _deployment_cell("deployment_drain"),
    Cell(Place("assistant_alias_bind", CLIENT), "", _bind, lambda _: {"display_alias": "Another"}),
    Cell(Place("assistant_alias_update", CLIENT), "", _update, lambda _: {"deployment_revision": 3}),
    Cell(Place("assistant_alias_revoke", CLIENT), "", _revoke, _other_alias),
    Cell(
        Place("application_event_emit", WORKER),
        "",
        _emit,
        lambda _: {"payload": {"verdict": "sound"}},
        events=(TYPE,),
    ),
)


def _model(world: World) -> Request:
    digest = {"class": "structural_public", "algorithm": "sha-256", "value_hex": "0" * 64}
    args = {
        **world.attempts["append"].binding,
        "model_profile_ref": "profile-1",
        "purpose_ref": "purpose-1",
        "classification_ref": "class-default",
        "prompt": "Why does it drip?",
        "max_output_tokens": 10,
        "act_intent_ref": "intent-1",
        "act_intent_digest": digest,
        "act_revision": 1,
        "subject_digest": digest,
        "context_manifest_ref": "manifest-1",
        "context_manifest_digest": digest,
        "stable_execution_key": "execution-1",
        "budget_reservation_set_ref": "budget-1",
    }
    return request(WORKER, "model_complete", args, key=KEY, project=world.project)


PIPELINE_REFUSALS: Final = (
    Refusal(Place("model_complete", WORKER), "no authority for it", _model, "unavailable"),
)
"""Nothing leaves the machine, whatever a call to a model names."""
