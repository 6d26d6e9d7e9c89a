"""Which function answers which operation. The registry says what there is; here is who does it.

A missing or surplus handler is a start-up error: an operation cannot be advertised without one, nor one be
reachable that the registry does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from tallyd.admission import Admission
from tallyd.clerk import FencedRead, FirstStep, Handler
from tallyd.ledger.view import EventCheck, View
from tallyd.operations import (
    agents,
    aliases,
    artifact_bytes,
    artifacts,
    assemblies,
    assistants,
    contributions,
    deployments,
    dispositions,
    emissions,
    erasure,
    events,
    frontiers,
    grants,
    invocations,
    lenses,
    participants,
    policy_changes,
    projects,
    reactions,
    reading,
    relations,
    service,
    snapshots,
    spaces,
    widenings,
    work_reads,
    workers,
)
from tallyd.operations.results import FileIO, Served
from tallyd.vault import Vault
from tallystick.protocol.envelope import AnyRequest
from tallystick.protocol.operation import Kind, Socket
from tallystick.protocol.registry import BY_SOCKET

Read = Callable[[View, AnyRequest, Admission], Served | FileIO]

CLIENT: Final = Socket.CLIENT
WORKER: Final = Socket.WORKER

WRITES: Final[dict[tuple[Socket, str], Handler]] = {
    (CLIENT, "tallystick_agent_add"): agents.add,
    (CLIENT, "tallystick_agent_revoke"): agents.revoke,
    (CLIENT, "assistant_create"): assistants.create,
    (CLIENT, "assistant_revision_register"): assistants.register,
    (CLIENT, "deployment_create"): deployments.create,
    (CLIENT, "deployment_activate"): deployments.activate,
    (CLIENT, "deployment_drain"): deployments.drain,
    (CLIENT, "assistant_alias_bind"): aliases.bind,
    (CLIENT, "assistant_alias_update"): aliases.update,
    (CLIENT, "assistant_alias_revoke"): aliases.revoke,
    (CLIENT, "contribution_redact"): erasure.redact,
    (CLIENT, "tallystick_erase"): erasure.erase,
    (CLIENT, "project_create"): projects.create,
    (CLIENT, "space_create"): spaces.create,
    (CLIENT, "project_update_metadata"): projects.update_metadata,
    (CLIENT, "project_access_policy_change_prepare"): policy_changes.prepare,
    (CLIENT, "project_access_policy_change_confirm"): policy_changes.confirm,
    (CLIENT, "project_access_policy_change_cancel"): policy_changes.cancel,
    (CLIENT, "space_update_metadata"): spaces.update_metadata,
    (CLIENT, "space_freeze"): spaces.freeze,
    (CLIENT, "space_reopen"): spaces.reopen,
    (CLIENT, "space_archive"): spaces.archive,
    (CLIENT, "space_restrict"): spaces.restrict,
    (CLIENT, "space_policy_narrow"): spaces.policy_narrow,
    (CLIENT, "space_access_widen_prepare"): widenings.prepare,
    (CLIENT, "space_access_widen_confirm"): widenings.confirm,
    (CLIENT, "space_access_widen_cancel"): widenings.cancel,
    (CLIENT, "space_participant_add"): participants.add,
    (CLIENT, "space_participant_activate"): participants.activate,
    (CLIENT, "space_participant_update"): participants.update,
    (CLIENT, "space_participant_remove"): participants.remove,
    (CLIENT, "space_access_grant_create"): grants.create,
    (CLIENT, "space_access_grant_revoke"): grants.revoke,
    (CLIENT, "contribution_append"): contributions.append,
    (CLIENT, "contribution_withdraw"): dispositions.withdraw,
    (CLIENT, "contribution_supersede"): dispositions.supersede,
    (CLIENT, "relation_retract"): dispositions.retract,
    (CLIENT, "reaction_set"): reactions.set_,
    (CLIENT, "relation_assert"): relations.assert_,
    (CLIENT, "lens_create"): lenses.create,
    (CLIENT, "lens_update"): lenses.update,
    (CLIENT, "lens_revoke"): lenses.revoke,
    (CLIENT, "frontier_pin"): frontiers.pin,
    (CLIENT, "context_assembly_create"): assemblies.create,
    (CLIENT, "invocation_create"): invocations.create,
    (CLIENT, "invocation_cancel"): invocations.cancel,
    (CLIENT, "artifact_upload_begin"): artifacts.begin,
    (CLIENT, "artifact_upload_finalize"): artifacts.finalize,
    (CLIENT, "artifact_upload_abort"): artifacts.abort,
    (CLIENT, "tallystick_artifact_begin"): artifacts.begin_chunked,
    (WORKER, "invocation_claim"): workers.claim,
    (WORKER, "tallystick_invocation_next"): workers.next_,
    (WORKER, "invocation_complete"): workers.fenced(workers.complete),
    (WORKER, "contribution_append"): workers.fenced(contributions.append),
    (WORKER, "relation_assert"): workers.fenced(relations.assert_),
    (WORKER, "context_assembly_create"): workers.fenced(assemblies.create),
    (WORKER, "invocation_cancel"): workers.cancel,
    (WORKER, "application_event_emit"): workers.fenced(emissions.emit),
    (WORKER, "model_complete"): emissions.complete_model,
    (WORKER, "tallystick_invocation_fail"): workers.fenced(workers.fail),
}

FENCED_READS: Final[dict[tuple[Socket, str], FencedRead]] = {
    (WORKER, "tallystick_invocation_progress"): workers.progress,
    (WORKER, "tallystick_invocation_renew"): workers.renew,
}

FIRST_STEPS: Final[dict[tuple[Socket, str], FirstStep]] = {
    (CLIENT, "artifact_upload_finalize"): artifacts.begin_sealing,
}
"""Of commands with two transactions: what is done between them is done outside the clerk."""

READS: Final[dict[tuple[Socket, str], Read]] = {
    (CLIENT, "hello"): service.hello,
    (WORKER, "hello"): service.hello,
    (CLIENT, "protocol_info"): service.protocol_info,
    (CLIENT, "tallystick_limits"): service.served_limits,
    (CLIENT, "tallystick_agent_show"): agents.show,
    (CLIENT, "tallystick_agent_list"): agents.list_,
    (CLIENT, "assistant_show"): assistants.show,
    (CLIENT, "assistant_list"): assistants.list_,
    (CLIENT, "assistant_revision_show"): assistants.show_revision,
    (CLIENT, "assistant_revision_list"): assistants.list_revisions,
    (CLIENT, "deployment_show"): deployments.show,
    (CLIENT, "deployment_list"): deployments.list_,
    (CLIENT, "assistant_alias_show"): aliases.show,
    (CLIENT, "assistant_alias_list"): aliases.list_,
    (CLIENT, "realm_show"): projects.realm_show,
    (CLIENT, "project_show"): projects.show,
    (CLIENT, "project_list"): projects.list_,
    (CLIENT, "space_show"): spaces.show,
    (CLIENT, "space_list"): spaces.list_,
    (CLIENT, "project_access_policy_change_show"): policy_changes.show,
    (CLIENT, "project_access_policy_change_list"): policy_changes.list_,
    (CLIENT, "space_access_widen_show"): widenings.show,
    (CLIENT, "space_access_widen_list"): widenings.list_,
    (CLIENT, "space_participant_list"): participants.list_,
    (CLIENT, "space_access_grant_list"): grants.list_,
    (CLIENT, "tallystick_contribution_list"): reading.contribution_list,
    (CLIENT, "tallystick_relation_show"): reading.relation_show,
    (CLIENT, "tallystick_relation_list"): reading.relation_list,
    (CLIENT, "tallystick_disposition_list"): reading.disposition_list,
    (CLIENT, "tallystick_branch_show"): reading.branch_show,
    (CLIENT, "tallystick_frontier_list"): reading.frontier_list,
    (CLIENT, "tallystick_assembly_list"): reading.assembly_list,
    (CLIENT, "tallystick_events_read"): reading.events_read,
    (CLIENT, "contribution_show"): contributions.show,
    (CLIENT, "contribution_list"): contributions.list_,
    (CLIENT, "lens_show"): lenses.show,
    (CLIENT, "lens_list"): lenses.list_,
    (CLIENT, "lens_read"): lenses.read,
    (CLIENT, "snapshot_read"): snapshots.read,
    (CLIENT, "frontier_show"): frontiers.show,
    (CLIENT, "context_assembly_show"): assemblies.show,
    (CLIENT, "invocation_show"): invocations.show,
    (CLIENT, "invocation_list"): invocations.list_,
    (CLIENT, "artifact_upload_show"): artifacts.upload_show,
    (CLIENT, "artifact_show"): artifacts.show,
    (CLIENT, "tallystick_artifact_list"): artifacts.list_,
    (CLIENT, "disclosure_manifest_show"): artifacts.disclosure_manifest_show,
    (CLIENT, "events_read"): events.read,
    (CLIENT, "event_payload"): events.payload,
    (WORKER, "tallystick_invocation_item"): work_reads.item,
}

BY_THE_SERVICE: Final = frozenset(
    {
        (CLIENT, "events_wait"),
        (CLIENT, "diagnose"),
        (CLIENT, "tallystick_status"),
        (CLIENT, "tallystick_shutdown"),
        (CLIENT, "tallystick_artifact_put"),
    }
)
"""Answered by the dispatcher itself: they wait, run long, or speak of the daemon."""


VAULT_READS: Final[
    dict[tuple[Socket, str], Callable[[Vault, View, AnyRequest, Admission], Served | FileIO]]
] = {
    (CLIENT, "artifact_upload_credential"): artifacts.credential,
    (CLIENT, "tallystick_artifact_get"): artifact_bytes.get,
    (WORKER, "tallystick_invocation_artifact"): work_reads.artifact,
}
"""Reads that also look at an artifact's files."""


EVENT_CHECKS: Final[tuple[EventCheck, ...]] = (lenses.event_shown, policy_changes.event_shown)
"""What hides an event from somebody who sees its stream: each family's own rule."""


def reads(vault: Vault) -> dict[tuple[Socket, str], Read]:
    """All reads."""
    return READS | {key: partial(handler, vault) for key, handler in VAULT_READS.items()}


def check_complete() -> None:
    """Raises RuntimeError where registry and handlers do not agree, in name or kind."""
    answered = {**dict.fromkeys(WRITES, Kind.WRITE), **dict.fromkeys(FENCED_READS, Kind.FENCED_READ)}
    answered |= dict.fromkeys((*READS, *VAULT_READS), Kind.READ)
    assert FIRST_STEPS.keys() <= WRITES.keys(), "a first step without a second"
    for key, operation in BY_SOCKET.items():
        if key in BY_THE_SERVICE:
            continue
        if answered.get(key) is not operation.kind:
            raise RuntimeError(
                f"{operation.name} on the {operation.socket} socket has no {operation.kind} handler"
            )
    surplus = (answered.keys() | BY_THE_SERVICE) - BY_SOCKET.keys()
    if surplus:
        raise RuntimeError(f"handlers without an entry in the registry: {sorted(surplus)}")
