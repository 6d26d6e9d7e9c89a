"""Who may call what, written by hand, and not from the registry that the code reads.

A line is an operation; a column is who calls it, and how. ``ok`` is admitted and done; ``admitted`` is let in
as far as what it names is there; every other word is a refusal (``KINDS``). No cell is left open: an
operation that exists must have its line. What is described and not served yet has one too.

========= ============================================================================================
owner     on the client socket, as itself
+attempt  the same, but naming the attempt that is current: authority is not gained by writing an id down
current   on the worker socket, with the attempt that holds the invocation
stale     on the worker socket, with an attempt whose invocation has gone on without it
guessed   on the worker socket, with an attempt id that nobody was given
none      on the worker socket, without any attempt
========= ============================================================================================
"""

from __future__ import annotations

from typing import Final

AUTHORITY: Final = """
operation                            | owner    | +attempt | current  | stale   | guessed | none
hello                                | ok       | invalid  | invalid  | invalid | invalid | ok
protocol_info                        | ok       | invalid  | unknown  | unknown | unknown | unknown
diagnose                             | ok       | invalid  | unknown  | unknown | unknown | unknown
realm_show                           | ok       | invalid  | unknown  | unknown | unknown | unknown
project_create                       | ok       | invalid  | unknown  | unknown | unknown | unknown
project_show                         | ok       | invalid  | unknown  | unknown | unknown | unknown
project_list                         | ok       | invalid  | unknown  | unknown | unknown | unknown
space_create                         | ok       | invalid  | unknown  | unknown | unknown | unknown
space_show                           | ok       | invalid  | unknown  | unknown | unknown | unknown
space_list                           | ok       | invalid  | unknown  | unknown | unknown | unknown
contribution_append                  | ok       | surface  | ok       | stale   | nothing | surface
contribution_show                    | ok       | invalid  | unknown  | unknown | unknown | unknown
contribution_list                    | ok       | invalid  | unknown  | unknown | unknown | unknown
relation_assert                      | ok       | surface  | ok       | stale   | nothing | surface
frontier_pin                         | ok       | invalid  | unknown  | unknown | unknown | unknown
frontier_show                        | ok       | invalid  | unknown  | unknown | unknown | unknown
context_assembly_create              | ok       | surface  | ok       | stale   | nothing | surface
context_assembly_show                | ok       | invalid  | unknown  | unknown | unknown | unknown
invocation_create                    | ok       | invalid  | unknown  | unknown | unknown | unknown
invocation_show                      | ok       | invalid  | unknown  | unknown | unknown | unknown
invocation_list                      | ok       | invalid  | unknown  | unknown | unknown | unknown
invocation_cancel                    | ok       | surface  | nothing  | nothing | nothing | surface
invocation_claim                     | unknown  | unknown  | invalid  | invalid | invalid | ok
invocation_complete                  | unknown  | unknown  | ok       | stale   | nothing | invalid
events_read                          | ok       | invalid  | unknown  | unknown | unknown | unknown
events_wait                          | ok       | invalid  | unknown  | unknown | unknown | unknown
event_payload                        | ok       | invalid  | unknown  | unknown | unknown | unknown
project_update_metadata              | admitted | invalid  | unknown  | unknown | unknown | unknown
space_update_metadata                | admitted | invalid  | unknown  | unknown | unknown | unknown
space_freeze                         | admitted | invalid  | unknown  | unknown | unknown | unknown
space_reopen                         | admitted | invalid  | unknown  | unknown | unknown | unknown
space_archive                        | admitted | invalid  | unknown  | unknown | unknown | unknown
space_restrict                       | admitted | invalid  | unknown  | unknown | unknown | unknown
space_policy_narrow                  | admitted | invalid  | unknown  | unknown | unknown | unknown
project_access_policy_change_prepare | admitted | invalid  | unknown  | unknown | unknown | unknown
project_access_policy_change_show    | admitted | invalid  | unknown  | unknown | unknown | unknown
project_access_policy_change_list    | admitted | invalid  | unknown  | unknown | unknown | unknown
project_access_policy_change_confirm | admitted | invalid  | unknown  | unknown | unknown | unknown
project_access_policy_change_cancel  | admitted | invalid  | unknown  | unknown | unknown | unknown
space_access_widen_prepare           | admitted | invalid  | unknown  | unknown | unknown | unknown
space_access_widen_show              | admitted | invalid  | unknown  | unknown | unknown | unknown
space_access_widen_list              | admitted | invalid  | unknown  | unknown | unknown | unknown
space_access_widen_confirm           | admitted | invalid  | unknown  | unknown | unknown | unknown
space_access_widen_cancel            | admitted | invalid  | unknown  | unknown | unknown | unknown
space_participant_add                | admitted | invalid  | unknown  | unknown | unknown | unknown
space_participant_activate           | admitted | invalid  | unknown  | unknown | unknown | unknown
space_participant_update             | admitted | invalid  | unknown  | unknown | unknown | unknown
space_participant_remove             | admitted | invalid  | unknown  | unknown | unknown | unknown
space_participant_list               | admitted | invalid  | unknown  | unknown | unknown | unknown
space_access_grant_create            | admitted | invalid  | unknown  | unknown | unknown | unknown
space_access_grant_revoke            | admitted | invalid  | unknown  | unknown | unknown | unknown
space_access_grant_list              | admitted | invalid  | unknown  | unknown | unknown | unknown
contribution_withdraw                | admitted | invalid  | unknown  | unknown | unknown | unknown
contribution_supersede               | admitted | invalid  | unknown  | unknown | unknown | unknown
contribution_redact                  | admitted | invalid  | unknown  | unknown | unknown | unknown
relation_retract                     | admitted | invalid  | unknown  | unknown | unknown | unknown
reaction_set                         | admitted | invalid  | unknown  | unknown | unknown | unknown
lens_create                          | admitted | invalid  | unknown  | unknown | unknown | unknown
lens_show                            | admitted | invalid  | unknown  | unknown | unknown | unknown
lens_list                            | admitted | invalid  | unknown  | unknown | unknown | unknown
lens_update                          | admitted | invalid  | unknown  | unknown | unknown | unknown
lens_revoke                          | admitted | invalid  | unknown  | unknown | unknown | unknown
lens_read                            | admitted | invalid  | unknown  | unknown | unknown | unknown
snapshot_read                        | admitted | invalid  | unknown  | unknown | unknown | unknown
assistant_create                     | admitted | invalid  | unknown  | unknown | unknown | unknown
assistant_show                       | admitted | invalid  | unknown  | unknown | unknown | unknown
assistant_list                       | admitted | invalid  | unknown  | unknown | unknown | unknown
assistant_revision_register          | admitted | invalid  | unknown  | unknown | unknown | unknown
assistant_revision_show              | admitted | invalid  | unknown  | unknown | unknown | unknown
assistant_revision_list              | admitted | invalid  | unknown  | unknown | unknown | unknown
deployment_create                    | admitted | invalid  | unknown  | unknown | unknown | unknown
deployment_show                      | admitted | invalid  | unknown  | unknown | unknown | unknown
deployment_list                      | admitted | invalid  | unknown  | unknown | unknown | unknown
deployment_activate                  | admitted | invalid  | unknown  | unknown | unknown | unknown
deployment_drain                     | admitted | invalid  | unknown  | unknown | unknown | unknown
assistant_alias_bind                 | admitted | invalid  | unknown  | unknown | unknown | unknown
assistant_alias_show                 | admitted | invalid  | unknown  | unknown | unknown | unknown
assistant_alias_list                 | admitted | invalid  | unknown  | unknown | unknown | unknown
assistant_alias_update               | admitted | invalid  | unknown  | unknown | unknown | unknown
assistant_alias_revoke               | admitted | invalid  | unknown  | unknown | unknown | unknown
application_event_emit               | unknown  | unknown  | admitted | stale   | nothing | invalid
model_complete                       | unknown  | unknown  | admitted | stale   | nothing | invalid
artifact_upload_begin                | admitted | invalid  | unknown  | unknown | unknown | unknown
artifact_upload_show                 | admitted | invalid  | unknown  | unknown | unknown | unknown
artifact_upload_credential           | admitted | invalid  | unknown  | unknown | unknown | unknown
artifact_upload_finalize             | admitted | invalid  | unknown  | unknown | unknown | unknown
artifact_upload_abort                | admitted | invalid  | unknown  | unknown | unknown | unknown
artifact_show                        | admitted | invalid  | unknown  | unknown | unknown | unknown
disclosure_manifest_show             | admitted | invalid  | unknown  | unknown | unknown | unknown
tallystick_limits                    | ok       | invalid  | unknown  | unknown | unknown | unknown
tallystick_status                    | ok       | invalid  | unknown  | unknown | unknown | unknown
tallystick_shutdown                  | ok       | invalid  | unknown  | unknown | unknown | unknown
tallystick_invocation_progress       | unknown  | unknown  | ok       | stale   | nothing | invalid
tallystick_invocation_next           | unknown  | unknown  | invalid  | invalid | invalid | admitted
tallystick_invocation_renew          | unknown  | unknown  | ok       | stale   | nothing | invalid
tallystick_invocation_fail           | unknown  | unknown  | ok       | stale   | nothing | invalid
tallystick_erase                     | admitted | invalid  | unknown  | unknown | unknown | unknown
tallystick_contribution_list         | admitted | invalid  | unknown  | unknown | unknown | unknown
tallystick_relation_show             | admitted | invalid  | unknown  | unknown | unknown | unknown
tallystick_relation_list             | admitted | invalid  | unknown  | unknown | unknown | unknown
tallystick_disposition_list          | admitted | invalid  | unknown  | unknown | unknown | unknown
tallystick_frontier_list             | admitted | invalid  | unknown  | unknown | unknown | unknown
tallystick_assembly_list             | admitted | invalid  | unknown  | unknown | unknown | unknown
tallystick_branch_show               | admitted | invalid  | unknown  | unknown | unknown | unknown
tallystick_events_read               | admitted | invalid  | unknown  | unknown | unknown | unknown
tallystick_agent_add                 | admitted | invalid  | unknown  | unknown | unknown | unknown
tallystick_agent_list                | ok       | invalid  | unknown  | unknown | unknown | unknown
tallystick_agent_show                | admitted | invalid  | unknown  | unknown | unknown | unknown
tallystick_agent_revoke              | admitted | invalid  | unknown  | unknown | unknown | unknown
tallystick_artifact_begin            | admitted | invalid  | unknown  | unknown | unknown | unknown
tallystick_artifact_put              | admitted | invalid  | unknown  | unknown | unknown | unknown
tallystick_artifact_list             | admitted | invalid  | unknown  | unknown | unknown | unknown
tallystick_artifact_get              | admitted | invalid  | unknown  | unknown | unknown | unknown
"""
"""An attempt that is named where the operation takes none is ``invalid``: arguments are closed. A claim names
an invocation and no attempt. A worker that cancels finds nothing: an attempt has no children."""

ADMITTED: Final = "admitted"
"""Let in by everything that judges who calls and how; what it then names need not be there."""

KINDS: Final = {
    "ok": None,
    ADMITTED: ADMITTED,
    "invalid": "invalid",
    "surface": "forbidden-surface",
    "unknown": "unknown-op",
    "stale": "stale-lease",
    "nothing": "not-found",
}

OWNER: Final = ("owner", "+attempt")
WORKERS: Final = ("current", "stale", "guessed", "none")


def table() -> dict[str, dict[str, str | None]]:
    """By operation and column the kind of the refusal; None for what is done, or the word for admitted."""
    head, *lines = [[cell.strip() for cell in line.split("|")] for line in AUTHORITY.strip().splitlines()]
    return {
        name: {column: KINDS[word] for column, word in zip(head[1:], words, strict=True)}
        for name, *words in lines
    }
