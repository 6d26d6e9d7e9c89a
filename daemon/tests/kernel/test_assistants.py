"""Assistants, revisions, deployments, aliases and what workers emit."""

from __future__ import annotations

import json
from typing import Any

import pipelines
import pytest

from tallyd.families import aliases, deployments
from tallystick.protocol import limits
from tallystick.protocol.operation import Socket
from tallystick.protocol.registry import OPERATIONS

from .kernel import Json, Kernel

WORKER = Socket.WORKER


def manifest(definition_id: str, version: str = "1") -> Json:
    """A manifest with content in it."""
    return {**pipelines.manifest(definition_id, version), "runtime": {"note": "canary in the manifest"}}


class Pipeline:
    """A definition, and what is made of it."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        made = kernel.ok("assistant_create", {"name": "Reviewer canary", "description": "Reads, canary."})
        self.definition = str(made["definition_id"])

    def register(self, version: str = "1", **changed: Any) -> Json:
        args = {
            "definition_id": self.definition,
            "version": version,
            "manifest": manifest(self.definition, version),
            "package_artifact_ref": "art-1",
            "package_digest": "a" * 64,
            "config_schema_digest": "b" * 64,
            "sdk_protocol_range": "0.1",
            **changed,
        }
        return self.kernel.write("assistant_revision_register", args)

    def deploy(self, revision: str, **changed: Any) -> Json:
        args = {
            "assistant_revision_id": revision,
            "config_ref": "cfg-1",
            "config_digest": "c" * 64,
            "secret_binding_set_ref": "sbs-1",
            "secret_binding_set_digest": "d" * 64,
            "policy_ref": "pol-1",
            "pool_ref": "pool-1",
            "security_profile": "developer",
            "concurrency_policy": "serial-branch",
            "rollout_policy": {"note": "canary in the rollout"},
            **changed,
        }
        return self.kernel.write("deployment_create", args)

    def active(self) -> Json:
        """A deployment that takes invocations."""
        revision = self.register()["result"]["assistant_revision_id"]
        made = self.deploy(revision)["result"]["assistant_deployment_id"]
        return self.kernel.ok("deployment_activate", {"assistant_deployment_id": made})


@pytest.fixture
def pipeline(kernel: Kernel) -> Pipeline:
    """A definition."""
    return Pipeline(kernel)


def test_the_pipeline_leads_to_an_invocation_under_its_own_configuration(
    kernel: Kernel, pipeline: Pipeline
) -> None:
    """Refs and digests of an invocation are its deployment's, not constants."""
    deployment = pipeline.active()
    assert (deployment["status"], deployment["revision"]) == ("active", 2)
    space = kernel.space(kernel.project())
    invocation = kernel.invocation(
        space,
        kernel.said(space, "why?", "question"),
        assistant_deployment_id=deployment["assistant_deployment_id"],
        assistant_deployment_revision=2,
    )
    assert invocation["effective_config_ref"] == "cfg-1"
    assert invocation["effective_config_digest"] == "c" * 64
    assert invocation["secret_binding_set_ref"] == "sbs-1"
    assert invocation["assistant_revision_id"] == deployment["assistant_revision_id"]


def test_nothing_free_in_form_stands_outside_bodies(kernel: Kernel, pipeline: Pipeline) -> None:
    """Names, descriptions, manifests' free parts and rollout policies are content; reads put them
    together.
    """
    pipeline.active()
    assert "canary" not in repr(kernel.dump())
    assert "canary" in json.dumps(kernel.read("assistant_revision_list", {"limit": 5}))
    assert "canary" in json.dumps(kernel.read("deployment_list", {"limit": 5}))
    assert "canary" in json.dumps(kernel.read("assistant_show", {"definition_id": pipeline.definition}))


def test_the_built_in_ones_are_listed_first(kernel: Kernel, pipeline: Pipeline) -> None:
    """They follow from the realm, and are shown as the others are."""
    assert pipeline.definition
    for op, member, built_in in (
        ("assistant_list", "definition_id", "asst-local-dev"),
        ("assistant_revision_list", "assistant_revision_id", "asstrev-local-dev"),
        ("deployment_list", "assistant_deployment_id", "dep-local-dev"),
    ):
        assert kernel.read(op, {"limit": 5})["result"]["items"][0][member] == built_in


def test_no_operation_retires_an_assistant() -> None:
    """What is registered stays as it was registered: nothing changes or deletes a row of either table."""
    for operation in OPERATIONS:
        touched = {(row.table, row.action) for row in (*operation.rows, *operation.refusal_rows)}
        for table in ("assistants", "assistant_revisions"):
            assert not touched & {(table, "update"), (table, "delete")}, operation.name


@pytest.mark.parametrize("member", ["definition_id", "version", "package_digest"])
def test_a_manifest_says_what_the_arguments_say(pipeline: Pipeline, member: str) -> None:
    """Three members stand in both, and must agree."""
    changed = manifest(pipeline.definition)
    changed[member] = "f" * 64
    assert pipeline.kernel.problem(pipeline.register(manifest=changed)) == "invalid"


def nested(depth: int) -> Json:
    """An object of so many, each inside the next."""
    return {} if depth == 1 else {"a": nested(depth - 1)}


def depth_of(value: object) -> int:
    """Containers around the innermost value."""
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max((depth_of(one) for one in inner), default=0)


@pytest.mark.parametrize("member", ["runtime", "network_policy", "attention_proposals", "rollout_policy"])
def test_what_is_free_in_form_can_be_read_wherever_it_is_shown(
    kernel: Kernel, pipeline: Pipeline, member: str
) -> None:
    """The deepest that is taken is told in the realm's events within a reply's limits; one deeper is
    invalid.
    """

    def make(depth: int) -> Json:
        if member == "rollout_policy":
            return pipeline.deploy("asstrev-local-dev", rollout_policy=nested(depth))
        free = [nested(depth)] if member == "attention_proposals" else nested(depth)
        return pipeline.register(manifest={**manifest(pipeline.definition, "1"), member: free})

    inside = {"rollout_policy": 0, "attention_proposals": 2}.get(member, 1)
    deepest = limits.DEPTH_MAX - 5 - inside
    refused = make(deepest + 1)
    assert kernel.problem(refused) == "invalid"
    assert make(deepest)["outcome"] == "ok"
    events = {"source": "realm-personal", "limit": 100}
    for op, args in (
        ("deployment_list", {"limit": 9}),
        ("assistant_revision_list", {"limit": 9}),
        ("tallystick_events_read", events),
    ):
        answered = kernel.read(op, args)
        assert answered["outcome"] == "ok"
        assert depth_of(answered) <= limits.DEPTH_MAX
    assert depth_of(answered) == limits.DEPTH_MAX


def test_a_version_is_registered_once(pipeline: Pipeline) -> None:
    """A revision never changes."""
    assert pipeline.register()["outcome"] == "ok"
    assert pipeline.kernel.problem(pipeline.register()) == "invalid"
    assert pipeline.register("2")["outcome"] == "ok"


def test_an_unknown_revision_is_not_found_before_a_profile_is_forbidden(pipeline: Pipeline) -> None:
    """In this order."""
    unknown = pipeline.deploy("asstrev-none", security_profile="secure")
    assert pipeline.kernel.problem(unknown) == "not-found"
    revision = pipeline.register()["result"]["assistant_revision_id"]
    assert pipeline.kernel.problem(pipeline.deploy(revision, security_profile="secure")) == "forbidden"


@pytest.mark.parametrize("status", sorted(deployments.LIFECYCLE))
@pytest.mark.parametrize(("op", "to"), [("deployment_activate", "active"), ("deployment_drain", "drained")])
def test_a_deployment_changes_as_its_table_says(
    kernel: Kernel, pipeline: Pipeline, status: str, op: str, to: str
) -> None:
    """Other transitions are invalid, and the expected revision is looked at before."""
    revision = pipeline.register()["result"]["assistant_revision_id"]
    named = {"assistant_deployment_id": pipeline.deploy(revision)["result"]["assistant_deployment_id"]}
    for step in {"created": (), "active": ("activate",), "drained": ("activate", "drain")}[status]:
        kernel.ok(f"deployment_{step}", named)
    assert kernel.problem(kernel.write(op, named, rev=99)) == "stale-revision"
    changed = kernel.write(op, named)
    if to in deployments.LIFECYCLE[status]:
        assert changed["result"]["status"] == to
        assert "event_cursor" not in changed
    else:
        assert kernel.problem(changed) == "invalid"


def test_a_drained_deployment_takes_no_invocation_and_finishes_what_is_queued(
    kernel: Kernel, pipeline: Pipeline
) -> None:
    """A queued invocation of it can still be claimed."""
    deployment = pipeline.active()["assistant_deployment_id"]
    space = kernel.space(kernel.project())
    question = kernel.said(space, "why?", "question")
    of = {"assistant_deployment_id": deployment, "assistant_deployment_revision": 2}
    queued = kernel.invocation(space, question, **of)
    kernel.ok("deployment_drain", {"assistant_deployment_id": deployment})
    refused = kernel.write(
        "invocation_create", {**of, "deadline": "2031-01-01T00:00:00Z"}, project=space["project_id"]
    )
    assert kernel.problem(refused) == "not-found"
    assert kernel.claim(queued)["outcome"] == "ok"


def bound(kernel: Kernel, project: str, name: str = "Reviewer  One", **how: Any) -> Json:
    """An alias for the built-in deployment."""
    args = {"display_alias": name, "assistant_deployment_id": "dep-local-dev", "deployment_revision": 1}
    return kernel.write("assistant_alias_bind", {**args, **how}, project=project)


def test_one_active_alias_of_a_name_in_a_project(kernel: Kernel) -> None:
    """Names are compared normalised; another project, or a revoked one, does not count."""
    project = kernel.project()
    first = bound(kernel, project)["result"]
    assert first["normalized_alias"] == "reviewer one"
    assert kernel.problem(bound(kernel, project, "REVIEWER one")) == "invalid"
    assert bound(kernel, kernel.project("other"), "reviewer one")["outcome"] == "ok"
    kernel.ok("assistant_alias_revoke", {"alias_binding_id": first["alias_binding_id"]}, project=project)
    assert bound(kernel, project, "reviewer one")["outcome"] == "ok"
    assert "eviewer" not in repr(kernel.dump())


def test_an_alias_in_another_unicode_form_is_the_same_name(kernel: Kernel) -> None:
    """What looks the same is compared the same; each stays written as it was given."""
    project = kernel.project()
    first = bound(kernel, project, "Rene\u0301")["result"]
    assert first["display_alias"] == "Rene\u0301"
    assert kernel.problem(bound(kernel, project, "Ren\u00e9")) == "invalid"


def test_an_alias_is_bound_to_a_deployment_at_its_revision(kernel: Kernel) -> None:
    """Unknown is not found, another revision stale."""
    project = kernel.project()
    assert kernel.problem(bound(kernel, project, assistant_deployment_id="dep-none")) == "not-found"
    assert kernel.problem(bound(kernel, project, deployment_revision=2)) == "stale-revision"


@pytest.mark.parametrize("op", ["assistant_alias_update", "assistant_alias_revoke"])
def test_a_revoked_alias_changes_no_more(kernel: Kernel, op: str) -> None:
    """Invalid, after the expected revision."""
    project = kernel.project()
    named = {"alias_binding_id": bound(kernel, project)["result"]["alias_binding_id"]}
    kernel.ok("assistant_alias_revoke", named, project=project)
    more = (
        {"assistant_deployment_id": "dep-local-dev", "deployment_revision": 1}
        if op.endswith("update")
        else {}
    )
    assert kernel.problem(kernel.write(op, {**named, **more}, project=project, rev=9)) == "stale-revision"
    assert kernel.problem(kernel.write(op, {**named, **more}, project=project)) == "invalid"
    assert aliases.LIFECYCLE["revoked"] == frozenset()


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({}, None),
        ({"target_revision": 2}, "stale-revision"),
        ({"target_ref": "alias-" + "0" * 32}, "not-found"),
        ({"target_kind": "principal", "target_ref": "prin-other"}, "not-found"),
        ({"target_kind": "principal", "target_ref": "prin-owner"}, None),
    ],
)
def test_a_mention_names_an_alias_at_its_revision(kernel: Kernel, changed: Json, kind: str | None) -> None:
    """An active alias of the project, or the owner."""
    project = kernel.project()
    space = kernel.space(project)
    alias = bound(kernel, project)["result"]["alias_binding_id"]
    part = {
        "target_kind": "assistant_alias",
        "target_ref": alias,
        "target_revision": 1,
        "display_text": "Reviewer",
        **changed,
    }
    answered = kernel.append(space, "", more={"body_parts": [part]})
    assert answered["outcome"] == "ok" if kind is None else kernel.problem(answered) == kind


def emit(kernel: Kernel, space: Json, claimed: Json, **changed: Any) -> Json:
    """An application's event, by an attempt."""
    args = {
        "type": "org.example.step.finished.v1",
        "payload": {"step": "canary"},
        "attempt_id": claimed["result"]["attempt_id"],
        "fence_epoch": claimed["result"]["fence_epoch"],
        **changed,
    }
    return kernel.write("application_event_emit", args, project=space["project_id"], socket=WORKER)


def test_an_application_event_stands_in_the_stream_of_its_space(kernel: Kernel) -> None:
    """Its resource is the invocation, its payload content, and its type the caller's."""
    space = kernel.space(kernel.project())
    claimed = kernel.claim(kernel.invocation(space, kernel.said(space, "why?", "question")))
    result = emit(kernel, space, claimed)["result"]
    event = kernel.read("events_read", {"source": space["project_id"], "limit": 100})["result"]["events"][-1]
    assert (event["event_id"], event["stream_id"]) == (result["event_id"], space["space_id"])
    assert event["stream_sequence"] == result["stream_sequence"]
    assert event["payload"] == {"step": "canary"}
    assert event["resource_ref"] == claimed["result"]["invocation"]["invocation_id"]
    assert "resource_revision" not in event
    assert "canary" not in repr(kernel.dump())


@pytest.mark.parametrize("type_", ["dev.kovee.space.created.v1", "dev.tallystick.agent.added.v1"])
def test_reserved_types_are_the_systems(kernel: Kernel, type_: str) -> None:
    """Forbidden, and the binding is looked at before."""
    space = kernel.space(kernel.project())
    claimed = kernel.claim(kernel.invocation(space, kernel.said(space, "why?", "question")))
    assert kernel.problem(emit(kernel, space, claimed, type=type_)) == "forbidden"
    assert kernel.problem(emit(kernel, space, claimed, type=type_, fence_epoch=2)) == "stale-lease"


def test_a_payload_has_a_limit(kernel: Kernel) -> None:
    """64 KiB in canonical form."""
    space = kernel.space(kernel.project())
    claimed = kernel.claim(kernel.invocation(space, kernel.said(space, "why?", "question")))
    assert emit(kernel, space, claimed, payload={"p": "x" * 65_528})["outcome"] == "ok"
    assert kernel.problem(emit(kernel, space, claimed, payload={"p": "x" * 65_529})) == "invalid"


def test_a_model_call_is_unavailable_to_whoever_holds_the_invocation(kernel: Kernel) -> None:
    """There is no authority for it: the reason says so, and nothing is applied. An attempt that does not hold
    its invocation is told so first, and one that is not there is not found.
    """
    space = kernel.space(kernel.project())
    claimed = kernel.claim(kernel.invocation(space, kernel.said(space, "why?", "question")))
    digest = {"class": "structural_public", "algorithm": "sha-256", "value_hex": "0" * 64}
    args = {
        "attempt_id": claimed["result"]["attempt_id"],
        "fence_epoch": 1,
        "model_profile_ref": "mp-1",
        "purpose_ref": "pu-1",
        "classification_ref": "class-default",
        "prompt": "canary",
        "max_output_tokens": 10,
        "act_intent_ref": "ai-1",
        "act_intent_digest": digest,
        "act_revision": 1,
        "subject_digest": digest,
        "context_manifest_ref": "cm-1",
        "context_manifest_digest": digest,
        "stable_execution_key": "k",
        "budget_reservation_set_ref": "b",
    }
    answered = kernel.write("model_complete", args, project=space["project_id"], socket=WORKER)
    assert kernel.problem(answered) == "unavailable"
    assert "ext" not in answered["problem"], "nobody sends it again"
    for changed, kind in (({"fence_epoch": 2}, "stale-lease"), ({"attempt_id": "att-none"}, "not-found")):
        refused = kernel.write(
            "model_complete", {**args, **changed}, project=space["project_id"], socket=WORKER
        )
        assert kernel.problem(refused) == kind
    assert "canary" not in repr(kernel.dump())
