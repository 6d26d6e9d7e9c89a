"""Every method of the clients, held against the registry: what it sends is what the daemon takes."""

import inspect
import json
from collections.abc import Callable
from functools import partial

import pytest
from msgspec import to_builtins

from tallystick import trio_client
from tallystick.calls import (
    SpaceRef,
    access_changes,
    agents,
    aliases,
    any_operation,
    artifacts,
    assistants,
    attempts,
    context,
    contributions,
    deployments,
    dispositions,
    emissions,
    erasure,
    events,
    gates,
    grants,
    invocations,
    lenses,
    participants,
    projects,
    reactions,
    service,
    signers,
    snapshots,
    work,
)
from tallystick.client import Client, WorkerClient
from tallystick.core import Call, Read, Write, prepare
from tallystick.protocol.arguments import APPEND_EXTENSION
from tallystick.protocol.envelope import decode_request
from tallystick.protocol.families.assistants import AssistantRevision, Manifest, ResourceLimits
from tallystick.protocol.families.contributions import ObjectRef
from tallystick.protocol.families.emissions import ModelCall, UnkeyedDigestRef
from tallystick.protocol.families.invocations import Invocation
from tallystick.protocol.families.work import InvocationClaim
from tallystick.protocol.ijson import JsonValue
from tallystick.protocol.lens_grammar import LensQuery, LensSort
from tallystick.protocol.operation import Kind, Socket
from tallystick.protocol.parts import ContributionPart
from tallystick.protocol.registry import BY_SOCKET

HEX = "0" * 64
SPACE = SpaceRef("proj-1", "space-1", "branch-1")
REF = ObjectRef(object_ref="contrib-1", revision=1, digest=HEX)

MANIFEST = Manifest(
    schema_version="1",
    definition_id="asstdef-1",
    version="1.0.0",
    entrypoint="mender:Mender",
    package_digest=HEX,
    runtime={"python": "3.11"},
    supported_worker_protocols=("0.1",),
    input_schema_ref="schema:x",
    output_schema_ref="schema:y",
    skills=(),
    attention_proposals=({"when": None},),
    requested_capabilities=(),
    model_profiles=(),
    tool_profiles=(),
    network_policy={},
    resource_limits=ResourceLimits(cpu=1, memory=1, disk=0, output_bytes=65_536),
    default_timeout=60,
    max_concurrency=1,
    causal_concurrency_policy="serial-branch",
    checkpoint_support=False,
    cancellation_support=True,
    security_profiles=("developer",),
)


def claim() -> InvocationClaim:
    """A claim as far as a worker's calls look into it."""
    invocation = Invocation(
        invocation_id="inv-1",
        realm_id="realm-personal",
        project_id="proj-1",
        assistant_deployment_id="dep-local-dev",
        assistant_deployment_revision=1,
        assistant_revision_id="asstrev-local-dev",
        effective_config_ref="cfg-1",
        effective_config_digest=HEX,
        secret_binding_set_ref="secrets-none",
        secret_binding_set_digest=HEX,
        effective_policy_digest=HEX,
        effective_security_profile="developer",
        rollout_decision_ref="rollout-1",
        trigger_ref="casm-1",
        trigger_digest=HEX,
        input_manifest_ref="inman-1",
        input_digest=HEX,
        correlation_ref="req-1",
        state="running",
        revision=2,
        priority=0,
        not_before="2030-01-01T00:00:00Z",
        deadline="2031-01-01T00:00:00Z",
        max_attempts=1,
        created_at="2030-01-01T00:00:00Z",
    )
    return InvocationClaim(
        invocation=invocation, attempt_id="att-1", fence_epoch=2, assembly=None, frontier=None, items=()
    )


def register(
    manifest: Manifest | dict[str, JsonValue],
    *,
    signature_refs: list[str] | None = None,
    project: str | None = None,
) -> Write[AssistantRevision]:
    """A registration of a revision with that manifest."""
    return assistants.assistant_revision_register(
        "asstdef-1",
        "1.0.0",
        manifest,
        package_artifact_ref="art-1",
        package_digest=HEX,
        config_schema_digest=HEX,
        sdk_protocol_range="0.1",
        signature_refs=signature_refs,
        project=project,
    )


KEYED_DIGEST: dict[str, JsonValue] = {
    "algorithm": "hmac-sha-256",
    "class": "scope_erasure_safe",
    "key_ref": "key-1",
    "value_hex": HEX,
}


def complete_by_model(
    digest: emissions.Digest, *, system: str | None = None, stable_binding_key: str | None = None
) -> Write[ModelCall]:
    """A call to a model with that digest wherever one is wanted."""
    return emissions.model_complete(
        claim(),
        "model-small",
        "Why does it drip?",
        max_output_tokens=100,
        purpose_ref="purpose-1",
        classification_ref="class-default",
        act_intent_ref="intent-1",
        act_intent_digest=digest,
        act_revision=1,
        subject_digest=digest,
        context_manifest_ref="man-1",
        context_manifest_digest=digest,
        stable_execution_key="exec-1",
        budget_reservation_set_ref="budget-1",
        system=system,
        stable_binding_key=stable_binding_key,
    )


Build = Callable[[], Call[object]]

CLIENT: dict[str, list[Build]] = {
    "hello": [service.hello],
    "protocol_info": [service.protocol_info],
    "diagnose": [service.diagnose, partial(service.diagnose, ["journal_mode"], project="proj-1")],
    "limits": [service.served_limits],
    "status": [service.status],
    "shutdown": [service.shutdown],
    "realm_show": [projects.realm_show],
    "agent_add": [
        partial(agents.agent_add, "reviewer", HEX),
        partial(
            agents.agent_add,
            "reviewer",
            HEX,
            peer_uid=1000,
            deployments=["dep-local-dev"],
            classification_ceiling_ref="class-internal",
            expires_at="2126-12-31T09:00:00Z",
        ),
    ],
    "agent_show": [partial(agents.agent_show, "agent-1")],
    "agent_list": [agents.agent_list, partial(agents.agent_list, limit=1, after="a", snapshot="b")],
    "agent_revoke": [partial(agents.agent_revoke, "agent-1", expected_revision=1)],
    "project_create": [
        partial(projects.project_create, "kitchen"),
        partial(
            projects.project_create,
            "kitchen",
            default_classification_ref="class-default",
            policy_set_ref="policy-default",
            key="k",
            expected_revision=0,
            causation_event_ref="evt-1",
            traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            ext={"org.example.note": {"a": 1}},
        ),
    ],
    "project_show": [partial(projects.project_show, "proj-1")],
    "project_list": [projects.project_list, partial(projects.project_list, limit=1, after="a", snapshot="b")],
    "project_update_metadata": [partial(projects.project_update_metadata, "proj-1", "cellar")],
    "project_access_policy_change_prepare": [
        partial(access_changes.project_access_policy_change_prepare, "proj-1"),
        partial(
            access_changes.project_access_policy_change_prepare,
            "proj-1",
            proposed_policy_set_ref="policy-strict",
            proposed_default_classification_ref="class-internal",
            expected_revision=1,
        ),
    ],
    "project_access_policy_change_show": [
        partial(access_changes.project_access_policy_change_show, "proj-1", "papc-1")
    ],
    "project_access_policy_change_list": [
        partial(access_changes.project_access_policy_change_list, "proj-1")
    ],
    "project_access_policy_change_confirm": [
        partial(access_changes.project_access_policy_change_confirm, "proj-1", "papc-1", "rcpt-1")
    ],
    "project_access_policy_change_cancel": [
        partial(access_changes.project_access_policy_change_cancel, "proj-1", "papc-1")
    ],
    "space_create": [
        partial(projects.space_create, "proj-1", "why"),
        partial(
            projects.space_create,
            "proj-1",
            "why",
            visibility="restricted",
            purpose_contribution_ref="contrib-1",
            default_classification_ref="class-default",
            policy_set_ref="policy-default",
        ),
    ],
    "space_show": [partial(projects.space_show, "proj-1", "space-1")],
    "space_list": [partial(projects.space_list, "proj-1")],
    "space_update_metadata": [
        partial(projects.space_update_metadata, SPACE),
        partial(projects.space_update_metadata, SPACE, title="the sink", purpose="contrib-1"),
        partial(projects.space_update_metadata, SPACE, purpose=REF),
    ],
    "space_freeze": [partial(projects.space_freeze, SPACE)],
    "space_reopen": [partial(projects.space_reopen, SPACE)],
    "space_archive": [partial(projects.space_archive, SPACE)],
    "space_restrict": [partial(projects.space_restrict, SPACE, expected_revision=3)],
    "space_policy_narrow": [
        partial(
            projects.space_policy_narrow,
            SPACE,
            policy_set_ref="policy-strict",
            default_classification_ref="class-internal",
        )
    ],
    "space_access_widen_prepare": [
        partial(access_changes.space_access_widen_prepare, SPACE),
        partial(
            access_changes.space_access_widen_prepare,
            SPACE,
            proposed_visibility="project",
            proposed_policy_set_ref="policy-open",
            proposed_default_classification_ref="class-public",
        ),
    ],
    "space_access_widen_show": [partial(access_changes.space_access_widen_show, "proj-1", "widen-1")],
    "space_access_widen_list": [
        partial(access_changes.space_access_widen_list, "proj-1"),
        partial(access_changes.space_access_widen_list, "proj-1", space_id="space-1", limit=1),
    ],
    "space_access_widen_confirm": [
        partial(access_changes.space_access_widen_confirm, "proj-1", "widen-1", "rcpt-1")
    ],
    "space_access_widen_cancel": [partial(access_changes.space_access_widen_cancel, "proj-1", "widen-1")],
    "append": [
        partial(contributions.append, SPACE, "question", "why?"),
        partial(
            contributions.append,
            SPACE,
            "evidence",
            parts=[
                ContributionPart(media_type="text/plain", text="ä"),
                {"schema_ref": "schema:x", "value": {"n": [1, None, 0.5]}},
            ],
            branch_id="branch-2",
            expected_head_digest=HEX,
            schema_ref="schema:x",
            subject_refs=[REF, "contrib-2"],
            source_refs=["contrib-3"],
            epistemic_posture="observed",
            classification_ref="class-default",
            retention_policy_ref="ret-default",
        ),
        partial(contributions.append, SPACE, "claim", "oui", media_type="text/markdown", language="fr"),
    ],
    "contribution_show": [partial(contributions.contribution_show, "proj-1", "contrib-1")],
    "contribution_list": [
        partial(contributions.contribution_list, SPACE),
        partial(
            contributions.contribution_list, SPACE, branch_id="branch-1", kind="claim", limit=5, after="a"
        ),
    ],
    "relation_assert": [
        partial(contributions.relation_assert, SPACE, "addresses", REF, REF),
        partial(
            contributions.relation_assert,
            SPACE,
            "supports",
            REF,
            REF,
            branch_id="branch-2",
            expected_head_digest=HEX,
            rationale_ref="contrib-9",
            schema_ref="schema:x",
        ),
    ],
    "lens_create": [
        partial(lenses.lens_create, SPACE, "custom"),
        partial(
            lenses.lens_create,
            SPACE,
            "workbench",
            query=LensQuery(select="contributions", kinds=("claim",)),
            sort=LensSort(order_by="branch_sequence"),
            presentation={"dense": None},
            visibility="shared",
        ),
        partial(lenses.lens_create, SPACE, "pulse", query={"mine": [None]}, sort={}, expected_revision=1),
    ],
    "lens_show": [partial(lenses.lens_show, "proj-1", "lens-1")],
    "lens_list": [partial(lenses.lens_list, SPACE, limit=1, after="a", snapshot="b")],
    "lens_update": [
        partial(lenses.lens_update, "proj-1", "lens-1"),
        partial(
            lenses.lens_update,
            "proj-1",
            "lens-1",
            query={},
            sort={},
            presentation={},
            visibility="shared",
        ),
    ],
    "lens_revoke": [partial(lenses.lens_revoke, "proj-1", "lens-1")],
    "lens_read": [partial(lenses.lens_read, "proj-1", "lens-1", limit=1, after="a", snapshot="b")],
    "snapshot_read": [partial(snapshots.snapshot_read, "proj-1", limit=1, after="a", snapshot="b")],
    "space_participant_add": [
        partial(participants.space_participant_add, SPACE, "agent-1", "contributor"),
        partial(
            participants.space_participant_add,
            SPACE,
            "prin-1",
            "steward",
            kind="principal",
            subject_revision=1,
        ),
    ],
    "space_participant_activate": [partial(participants.space_participant_activate, "proj-1", "part-1", HEX)],
    "space_participant_update": [
        partial(participants.space_participant_update, "proj-1", "part-1"),
        partial(participants.space_participant_update, "proj-1", "part-1", role="observer", status="muted"),
    ],
    "space_participant_remove": [partial(participants.space_participant_remove, "proj-1", "part-1")],
    "space_participant_list": [partial(participants.space_participant_list, SPACE)],
    "space_access_grant_create": [
        partial(grants.space_access_grant_create, SPACE, "agent-1", ["read"]),
        partial(
            grants.space_access_grant_create,
            SPACE,
            "agent-1",
            ("contribute", "reaction_set"),
            classification_ceiling_ref="class-internal",
            expires_at="2031-01-01T00:00:00Z",
        ),
    ],
    "space_access_grant_revoke": [partial(grants.space_access_grant_revoke, "proj-1", "sgrant-1")],
    "space_access_grant_list": [partial(grants.space_access_grant_list, SPACE)],
    "signer_add": [
        partial(signers.signer_add, "ssh-ed25519 AAAA", "Ada", "U1NIU0lH"),
        partial(
            signers.signer_add,
            "ssh-ed25519 AAAA",
            "Ada",
            "U1NIU0lH",
            signer="signer-1",
            endorsement="U1NIU0lH",
        ),
    ],
    "signer_revoke": [partial(signers.signer_revoke, "skey-1", "lost", "U1NIU0lH", expected_revision=1)],
    "signer_list": [signers.signer_list, partial(signers.signer_list, limit=1, after="a", snapshot="b")],
    "gate_define": [
        partial(gates.gate_define, SPACE, "deploy", "peer"),
        partial(
            gates.gate_define,
            SPACE,
            "deploy",
            "ssh-sk",
            quorum=2,
            deciders={"owner": False, "agents": ["agent-1"], "signers": ["signer-1", "signer-2"]},
            term_seconds=60,
            rounds_max=1,
            endorsement="U1NIU0lH",
            expected_revision=1,
        ),
    ],
    "gate_retire": [
        partial(gates.gate_retire, SPACE, "deploy"),
        partial(gates.gate_retire, SPACE, "deploy", endorsement="U1NIU0lH", expected_revision=1),
    ],
    "gate_list": [partial(gates.gate_list, SPACE)],
    "contribution_withdraw": [
        partial(dispositions.contribution_withdraw, "proj-1", "contrib-1", "mistake"),
        partial(dispositions.contribution_withdraw, "proj-1", REF, "mistake", expected_revision=3),
    ],
    "contribution_supersede": [
        partial(dispositions.contribution_supersede, "proj-1", REF, "contrib-2", "better")
    ],
    "contribution_redact": [
        partial(erasure.contribution_redact, "proj-1", "contrib-1", "privacy"),
        partial(erasure.contribution_redact, "proj-1", REF, "privacy", expected_revision=3),
    ],
    "erase": [
        partial(erasure.erase, "privacy", object_ref="space-1"),
        partial(erasure.erase, "privacy", event_id="evt-1", project="proj-1"),
    ],
    "relation_retract": [partial(dispositions.relation_retract, "proj-1", "rel-1", "wrong")],
    "reaction_set": [
        partial(reactions.reaction_set, SPACE, REF, "insightful"),
        partial(reactions.reaction_set, SPACE, REF, "insightful", "removed"),
    ],
    "disposed_contribution_list": [
        partial(contributions.disposed_contribution_list, SPACE),
        partial(contributions.disposed_contribution_list, SPACE, branch_id="branch-1", kind="claim", limit=1),
    ],
    "relation_show": [partial(contributions.relation_show, "proj-1", "rel-1")],
    "relation_list": [
        partial(contributions.relation_list, SPACE),
        partial(contributions.relation_list, SPACE, kind="supports", of=REF, after="a", snapshot="b"),
    ],
    "disposition_list": [partial(dispositions.disposition_list, SPACE, kind="withdraw")],
    "frontier_list": [partial(context.frontier_list, SPACE)],
    "assembly_list": [partial(context.assembly_list, SPACE)],
    "branch_show": [partial(context.branch_show, "proj-1", "branch-1")],
    "accounted_events_read": [
        events.accounted_events_read,
        partial(events.accounted_events_read, "proj-1", after_cursor="c", type_prefixes=["dev.kovee"]),
    ],
    "frontier_pin": [partial(context.frontier_pin, SPACE)],
    "frontier_show": [partial(context.frontier_show, "proj-1", "front-1")],
    "context_assembly_create": [
        partial(
            context.context_assembly_create, SPACE, "to answer", required_refs=[REF], trigger_refs=["c-1"]
        )
    ],
    "context_assembly_show": [partial(context.context_assembly_show, "proj-1", "casm-1")],
    "assistant_create": [
        partial(assistants.assistant_create, "mender"),
        partial(assistants.assistant_create, "mender", "Mends taps.", project="proj-1"),
    ],
    "assistant_show": [partial(assistants.assistant_show, "asstdef-1")],
    "assistant_list": [
        assistants.assistant_list,
        partial(assistants.assistant_list, project="proj-1", limit=1, after="a", snapshot="b"),
    ],
    "assistant_revision_register": [
        partial(register, MANIFEST),
        partial(register, to_builtins(MANIFEST), signature_refs=["sig-1"], project="proj-1"),
    ],
    "assistant_revision_show": [partial(assistants.assistant_revision_show, "asstrev-1")],
    "assistant_revision_list": [
        assistants.assistant_revision_list,
        partial(assistants.assistant_revision_list, definition_id="asstdef-1", limit=1, after="a"),
    ],
    "deployment_create": [
        partial(
            deployments.deployment_create,
            "asstrev-1",
            config_ref="cfg-1",
            config_digest=HEX,
            secret_binding_set_ref="secrets-none",
            secret_binding_set_digest=HEX,
            policy_ref="policy-default",
            pool_ref="pool-1",
            security_profile="confined",
            concurrency_policy="causal-keyed",
            rollout_policy={"share": [1, None]},
        )
    ],
    "deployment_show": [partial(deployments.deployment_show, "dep-1")],
    "deployment_list": [
        deployments.deployment_list,
        partial(deployments.deployment_list, assistant_revision_id="asstrev-1", snapshot="b"),
    ],
    "deployment_activate": [partial(deployments.deployment_activate, "dep-1", expected_revision=1)],
    "deployment_drain": [partial(deployments.deployment_drain, "dep-1", project="proj-1")],
    "assistant_alias_bind": [partial(aliases.assistant_alias_bind, "proj-1", "Mender", "dep-1", 2)],
    "assistant_alias_show": [partial(aliases.assistant_alias_show, "proj-1", "alias-1")],
    "assistant_alias_list": [
        partial(aliases.assistant_alias_list, "proj-1"),
        partial(aliases.assistant_alias_list, "proj-1", assistant_deployment_id="dep-1", after="a"),
    ],
    "assistant_alias_update": [
        partial(aliases.assistant_alias_update, "proj-1", "alias-1", "dep-2", 2, expected_revision=1)
    ],
    "assistant_alias_revoke": [partial(aliases.assistant_alias_revoke, "proj-1", "alias-1")],
    "invocation_create": [
        partial(invocations.invocation_create, "proj-1", deadline="2031-01-01T00:00:00Z"),
        partial(
            invocations.invocation_create,
            "proj-1",
            deadline="2031-01-01T00:00:00Z",
            space=SPACE,
            priority=3,
            not_before="2030-01-01T00:00:00Z",
            max_attempts=2,
            budget_reservation_set_ref="b-1",
            disclosure_rules_digest=HEX,
        ),
    ],
    "invocation_show": [partial(invocations.invocation_show, "proj-1", "inv-1")],
    "invocation_list": [
        partial(invocations.invocation_list, "proj-1"),
        partial(
            invocations.invocation_list, "proj-1", deployment_id="dep-1", space_id="space-1", state="queued"
        ),
    ],
    "invocation_cancel": [
        partial(invocations.invocation_cancel, "proj-1", "inv-1"),
        partial(
            invocations.invocation_cancel, "proj-1", "inv-1", cancellation_scope="whole", reason="enough"
        ),
    ],
    "artifact_begin": [
        partial(artifacts.artifact_begin, HEX, 3),
        partial(
            artifacts.artifact_begin, HEX, 3, "text/plain", classification_ref="class-a", project="proj-1"
        ),
    ],
    "artifact_put": [partial(artifacts.artifact_put, "upl-1", 0, b"abc", project="proj-1")],
    "artifact_get": [
        partial(artifacts.artifact_get, "art-1"),
        partial(artifacts.artifact_get, "art-1", 5, 10, project="proj-1"),
    ],
    "artifact_list": [
        artifacts.artifact_list,
        partial(artifacts.artifact_list, state="available", limit=3, after="a", snapshot="s"),
    ],
    "artifact_upload_begin": [
        partial(artifacts.artifact_upload_begin, HEX, 3),
        partial(
            artifacts.artifact_upload_begin, HEX, 3, "text/plain", classification_ref="c", project="proj-1"
        ),
    ],
    "artifact_upload_show": [partial(artifacts.artifact_upload_show, "upl-1")],
    "artifact_upload_credential": [partial(artifacts.artifact_upload_credential, "upl-1")],
    "artifact_upload_finalize": [partial(artifacts.artifact_upload_finalize, "upl-1")],
    "artifact_upload_abort": [
        partial(artifacts.artifact_upload_abort, "upl-1"),
        partial(artifacts.artifact_upload_abort, "upl-1", reason="enough", project="proj-1"),
    ],
    "artifact_show": [partial(artifacts.artifact_show, "art-1", project="proj-1")],
    "disclosure_manifest_show": [partial(artifacts.disclosure_manifest_show, "disc-1")],
    "events_read": [
        partial(events.events_read, "proj-1"),
        partial(events.events_read, "proj-1", after_cursor="a", type_prefixes=["dev.kovee"], limit=3),
    ],
    "events_wait": [
        partial(events.events_wait, "proj-1", "a"),
        partial(events.events_wait, "proj-1", "a", type_prefixes=["dev.kovee.space"], timeout_ms=5),
    ],
    "event_payload": [partial(events.event_payload, "evt-1")],
}
"""Each of the client's operations, by the name of its method, at least and at most of its arguments."""

WORKER: dict[str, list[Build]] = {
    "hello": [lambda: any_operation.by_name("hello", service.hello().arguments, surface="worker")],
    "claim": [partial(work.claim, "inv-1"), partial(work.claim, "inv-1", term_seconds=10)],
    "next": [work.next_, partial(work.next_, ["dep-1", "dep-2"], wait_ms=1, term_seconds=10)],
    "complete": [partial(work.complete, claim()), partial(work.complete, claim(), result=REF)],
    "fail": [partial(work.fail, claim(), "assistant_error", retryable=True)],
    "progress": [partial(work.progress, claim())],
    "item": [partial(work.item, claim(), "contrib-1")],
    "artifact": [
        partial(work.artifact, claim(), "art-1"),
        partial(work.artifact, claim(), "art-1", 7, 9),
    ],
    "renew": [partial(work.renew, claim())],
    "append": [partial(attempts.as_worker(contributions.append), claim(), SPACE, "claim", "x")],
    "relation_assert": [
        partial(attempts.as_worker(contributions.relation_assert), claim(), SPACE, "supports", REF, REF)
    ],
    "context_assembly_create": [
        partial(attempts.as_worker(context.context_assembly_create), claim(), SPACE, "p", required_refs=[REF])
    ],
    "invocation_cancel": [
        partial(attempts.as_worker(invocations.invocation_cancel), claim(), "proj-1", "inv-9")
    ],
    "application_event_emit": [
        partial(emissions.application_event_emit, claim(), "org.example.mended.v1", {"taps": [None]})
    ],
    "model_complete": [
        partial(complete_by_model, UnkeyedDigestRef(class_="structural_public", value_hex=HEX)),
        partial(complete_by_model, KEYED_DIGEST, system="Be brief.", stable_binding_key="bind-1"),
    ],
}
"""Each of the worker's operations."""

CALLS = [
    (Socket.CLIENT if table is CLIENT else Socket.WORKER, name, build)
    for table in (CLIENT, WORKER)
    for name, builds in table.items()
    for build in builds
]


@pytest.mark.parametrize(("socket", "name", "build"), CALLS)
def test_the_daemon_takes_what_a_call_sends(socket: Socket, name: str, build: Build) -> None:
    """The door's own decoder takes the line, as a write where it is one, and the result's type is the
    registry's."""
    call = build()
    request = decode_request(prepare(call).line, socket)
    operation = request.operation
    assert request.operation.name == call.operation
    assert isinstance(call, Write) == (operation.kind is Kind.WRITE)
    assert isinstance(call, Read) == (operation.kind is not Kind.WRITE)
    assert call.surface == socket
    assert (call.wait_seconds > 0) == (operation.kind is Kind.WAIT or operation.waits)
    is_by_name = socket is Socket.WORKER and name == "hello"
    assert call.result == (
        "" if is_by_name else f"{operation.result.__module__.rpartition('.')[2]}.{operation.result.__name__}"
    )


@pytest.mark.parametrize(("socket", "table"), [(Socket.CLIENT, CLIENT), (Socket.WORKER, WORKER)])
def test_every_operation_has_its_method(socket: Socket, table: dict[str, list[Build]]) -> None:
    """No operation of the registry is without a method, blocking and async, of the same name."""
    known = {name for where, name in BY_SOCKET if where is socket}
    assert {builds[0]().operation for builds in table.values()} == known
    blocking, on_trio = {
        Socket.CLIENT: (Client, trio_client.TrioClient),
        Socket.WORKER: (WorkerClient, trio_client.TrioWorkerClient),
    }[socket]
    for name in table:
        assert inspect.signature(getattr(blocking, name)) == inspect.signature(getattr(on_trio, name))


def test_appends_land_at_the_head_unless_a_head_is_demanded() -> None:
    """The extension stands exactly where the compare-and-set does not."""
    free = json.loads(prepare(contributions.append(SPACE, "claim", "x")).line)
    bound = json.loads(prepare(contributions.append(SPACE, "claim", "x", expected_head_digest=HEX)).line)
    assert free["ext"] == {APPEND_EXTENSION: {"at_head": True}}
    assert "expected_head_digest" not in free["args"]
    assert "ext" not in bound
    assert bound["args"]["expected_head_digest"] == HEX


def test_a_foreign_extension_stands_beside_ours() -> None:
    """A caller's own ext keys do not push ours out."""
    call = contributions.append(SPACE, "claim", "x", ext={"org.example.note": 1})
    assert set(json.loads(prepare(call).line)["ext"]) == {APPEND_EXTENSION, "org.example.note"}


@pytest.mark.parametrize("arguments", [{}, {"text": "x", "parts": []}])
def test_a_contribution_has_one_body(arguments: dict[str, object]) -> None:
    """Neither no body nor two."""
    with pytest.raises(TypeError, match="either text or parts"):
        contributions.append(SPACE, "claim", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("named", [{}, {"object_ref": "space-1", "event_id": "evt-1"}])
def test_one_thing_is_erased_at_a_time(named: dict[str, str]) -> None:
    """Neither none nor two."""
    with pytest.raises(TypeError, match="either object_ref or event_id"):
        erasure.erase("privacy", **named)  # type: ignore[arg-type]


def test_an_unknown_operation_is_not_sent() -> None:
    """A name that this version does not know is refused where it was written."""
    with pytest.raises(ValueError, match="space_explode"):
        any_operation.by_name("space_explode", {})


def test_a_query_speaks_its_grammar_and_is_sent_as_it_is() -> None:
    """A typed query names what makes it one, also where it asks for nothing else; nulls of others stay."""
    typed = lenses.lens_create(SPACE, "custom", query=LensQuery(select="contributions"))
    foreign = lenses.lens_update(
        "proj-1", "lens-1", query={"mine": [None]}, sort=LensSort(order_by="space_sequence")
    )
    assert json.loads(prepare(typed).line)["args"]["query_ast"] == {"select": "contributions"}
    args = json.loads(prepare(foreign).line)["args"]
    assert (args["query_ast"], args["sort_spec"]) == ({"mine": [None]}, {"order_by": "space_sequence"})
    assert "presentation_options" not in args
