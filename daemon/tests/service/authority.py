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
invocation_cancel                    | ok       | surface  | nothing  | stale   | nothing | surface
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
tallystick_invocation_item           | unknown  | unknown  | ok       | stale   | nothing | invalid
tallystick_invocation_artifact       | unknown  | unknown  | admitted | stale   | nothing | invalid
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


# --- agents -------------------------------------------------------------------------------------------------
AGENTS: Final = """
operation                            | steward | contributor | observer | muted   | removed | none
hello                                | ok      | ok          | ok       | ok      | ok      | ok
protocol_info                        | ok      | ok          | ok       | ok      | ok      | ok
tallystick_limits                    | ok      | ok          | ok       | ok      | ok      | ok

diagnose                             | owners  | owners      | owners   | owners  | owners  | owners
tallystick_status                    | owners  | owners      | owners   | owners  | owners  | owners
tallystick_shutdown                  | owners  | owners      | owners   | owners  | owners  | owners
tallystick_agent_add                 | owners  | owners      | owners   | owners  | owners  | owners
tallystick_agent_list                | owners  | owners      | owners   | owners  | owners  | owners
tallystick_agent_show                | owners  | owners      | owners   | owners  | owners  | owners
tallystick_agent_revoke              | owners  | owners      | owners   | owners  | owners  | owners
project_create                       | owners  | owners      | owners   | owners  | owners  | owners
assistant_create                     | owners  | owners      | owners   | owners  | owners  | owners
assistant_revision_register          | owners  | owners      | owners   | owners  | owners  | owners
deployment_create                    | owners  | owners      | owners   | owners  | owners  | owners
deployment_activate                  | owners  | owners      | owners   | owners  | owners  | owners
deployment_drain                     | owners  | owners      | owners   | owners  | owners  | owners

realm_show                           | ok      | ok          | ok       | ok      | ok      | ok
project_list                         | ok      | ok          | ok       | ok      | ok      | ok
assistant_show                       | ok      | ok          | ok       | ok      | ok      | ok
assistant_list                       | ok      | ok          | ok       | ok      | ok      | ok
assistant_revision_show              | ok      | ok          | ok       | ok      | ok      | ok
assistant_revision_list              | ok      | ok          | ok       | ok      | ok      | ok
deployment_show                      | ok      | ok          | ok       | ok      | ok      | ok
deployment_list                      | ok      | ok          | ok       | ok      | ok      | ok
tallystick_artifact_list             | ok      | ok          | ok       | ok      | ok      | ok

project_show                         | ok      | ok          | ok       | ok      | nothing | nothing
project_access_policy_change_show    | ok      | ok          | ok       | ok      | nothing | nothing
project_access_policy_change_list    | ok      | ok          | ok       | ok      | nothing | nothing
space_list                           | ok      | ok          | ok       | ok      | nothing | nothing
space_access_widen_list              | ok      | ok          | ok       | ok      | nothing | nothing
invocation_show                      | ok      | ok          | ok       | ok      | nothing | nothing
invocation_list                      | ok      | ok          | ok       | ok      | nothing | nothing
assistant_alias_show                 | ok      | ok          | ok       | ok      | nothing | nothing
assistant_alias_list                 | ok      | ok          | ok       | ok      | nothing | nothing
snapshot_read                        | ok      | ok          | ok       | ok      | nothing | nothing
events_read                          | ok      | ok          | ok       | ok      | nothing | nothing
events_wait                          | ok      | ok          | ok       | ok      | nothing | nothing
event_payload                        | ok      | ok          | ok       | ok      | nothing | nothing
tallystick_events_read               | ok      | ok          | ok       | ok      | nothing | nothing

space_show                           | ok      | ok          | ok       | ok      | nothing | nothing
space_access_widen_show              | ok      | ok          | ok       | ok      | nothing | nothing
space_participant_list               | ok      | ok          | ok       | ok      | nothing | nothing
space_access_grant_list              | ok      | ok          | ok       | ok      | nothing | nothing
contribution_show                    | ok      | ok          | ok       | ok      | nothing | nothing
contribution_list                    | ok      | ok          | ok       | ok      | nothing | nothing
frontier_show                        | ok      | ok          | ok       | ok      | nothing | nothing
context_assembly_show                | ok      | ok          | ok       | ok      | nothing | nothing
lens_show                            | ok      | ok          | ok       | ok      | nothing | nothing
lens_list                            | ok      | ok          | ok       | ok      | nothing | nothing
lens_read                            | ok      | ok          | ok       | ok      | nothing | nothing
artifact_show                        | ok      | ok          | ok       | ok      | nothing | nothing
tallystick_artifact_get              | ok      | ok          | ok       | ok      | nothing | nothing
tallystick_contribution_list         | ok      | ok          | ok       | ok      | nothing | nothing
tallystick_relation_show             | ok      | ok          | ok       | ok      | nothing | nothing
tallystick_relation_list             | ok      | ok          | ok       | ok      | nothing | nothing
tallystick_disposition_list          | ok      | ok          | ok       | ok      | nothing | nothing
tallystick_frontier_list             | ok      | ok          | ok       | ok      | nothing | nothing
tallystick_assembly_list             | ok      | ok          | ok       | ok      | nothing | nothing
tallystick_branch_show               | ok      | ok          | ok       | ok      | nothing | nothing

project_update_metadata              | owners  | owners      | owners   | owners  | nothing | nothing
project_access_policy_change_prepare | owners  | owners      | owners   | owners  | nothing | nothing
project_access_policy_change_confirm | owners  | owners      | owners   | owners  | nothing | nothing
project_access_policy_change_cancel  | owners  | owners      | owners   | owners  | nothing | nothing
space_create                         | owners  | owners      | owners   | owners  | nothing | nothing
space_participant_activate           | owners  | owners      | owners   | owners  | nothing | nothing
space_access_grant_create            | owners  | owners      | owners   | owners  | nothing | nothing
space_access_grant_revoke            | owners  | owners      | owners   | owners  | nothing | nothing
assistant_alias_bind                 | owners  | owners      | owners   | owners  | nothing | nothing
assistant_alias_update               | owners  | owners      | owners   | owners  | nothing | nothing
assistant_alias_revoke               | owners  | owners      | owners   | owners  | nothing | nothing

space_update_metadata                | ok      | not         | not      | not     | nothing | nothing
space_freeze                         | ok      | not         | not      | not     | nothing | nothing
space_reopen                         | ok      | not         | not      | not     | nothing | nothing
space_archive                        | ok      | not         | not      | not     | nothing | nothing
space_restrict                       | ok      | not         | not      | not     | nothing | nothing
space_policy_narrow                  | ok      | not         | not      | not     | nothing | nothing
space_access_widen_prepare           | ok      | not         | not      | not     | nothing | nothing
space_access_widen_confirm           | ok      | not         | not      | not     | nothing | nothing
space_access_widen_cancel            | ok      | not         | not      | not     | nothing | nothing
space_participant_add                | ok      | not         | not      | not     | nothing | nothing
space_participant_update             | ok      | not         | not      | not     | nothing | nothing
space_participant_remove             | ok      | not         | not      | not     | nothing | nothing
contribution_redact                  | ok      | not         | not      | not     | nothing | nothing
tallystick_erase                     | ok      | not         | not      | not     | nothing | nothing

contribution_withdraw                | ok      | not         | not      | not     | nothing | nothing
contribution_supersede               | ok      | not         | not      | not     | nothing | nothing
relation_retract                     | ok      | not         | not      | not     | nothing | nothing
lens_update                          | ok      | not         | not      | not     | nothing | nothing
lens_revoke                          | ok      | not         | not      | not     | nothing | nothing

contribution_append                  | ok      | ok          | not      | not     | nothing | nothing
relation_assert                      | ok      | ok          | not      | not     | nothing | nothing
reaction_set                         | ok      | ok          | not      | not     | nothing | nothing
lens_create                          | ok      | ok          | not      | not     | nothing | nothing
frontier_pin                         | ok      | ok          | not      | not     | nothing | nothing
context_assembly_create              | ok      | ok          | not      | not     | nothing | nothing
invocation_create                    | ok      | ok          | not      | not     | nothing | nothing
invocation_cancel                    | ok      | ok          | not      | not     | nothing | nothing

artifact_upload_begin                | ok      | ok          | not      | not     | not     | not
tallystick_artifact_begin            | ok      | ok          | not      | not     | not     | not
artifact_upload_show                 | nothing | nothing     | nothing  | nothing | nothing | nothing
artifact_upload_credential           | nothing | nothing     | nothing  | nothing | nothing | nothing
artifact_upload_finalize             | nothing | nothing     | nothing  | nothing | nothing | nothing
artifact_upload_abort                | nothing | nothing     | nothing  | nothing | nothing | nothing
tallystick_artifact_put              | nothing | nothing     | nothing  | nothing | nothing | nothing
disclosure_manifest_show             | nothing | nothing     | nothing  | nothing | nothing | nothing

invocation_claim                     | ok      | ok          | nothing  | nothing | nothing | nothing
tallystick_invocation_next           | ok      | ok          | ok       | ok      | ok      | ok

contribution_append@worker           | nothing | nothing     | nothing  | nothing | nothing | nothing
relation_assert@worker               | nothing | nothing     | nothing  | nothing | nothing | nothing
context_assembly_create@worker       | nothing | nothing     | nothing  | nothing | nothing | nothing
invocation_cancel@worker             | nothing | nothing     | nothing  | nothing | nothing | nothing
invocation_complete                  | nothing | nothing     | nothing  | nothing | nothing | nothing
tallystick_invocation_progress       | nothing | nothing     | nothing  | nothing | nothing | nothing
tallystick_invocation_item           | nothing | nothing     | nothing  | nothing | nothing | nothing
tallystick_invocation_artifact       | nothing | nothing     | nothing  | nothing | nothing | nothing
tallystick_invocation_renew          | nothing | nothing     | nothing  | nothing | nothing | nothing
tallystick_invocation_fail           | nothing | nothing     | nothing  | nothing | nothing | nothing
application_event_emit               | nothing | nothing     | nothing  | nothing | nothing | nothing
model_complete                       | nothing | nothing     | nothing  | nothing | nothing | nothing
"""
"""What an agent may, by its part in a restricted space, with what is the owner's: in its own directory of
sockets, asked as the owner could ask. ``owners`` and ``not`` are both ``forbidden``, of what only the owner
does and of what others may. ``muted`` was a contributor and may read; ``removed`` was one and has no part in
the project any more, as ``none`` never had. What is asked of a worker names the attempt that the owner's
worker holds: it is there on the owner's socket alone. Waiting for the next one is for whoever is bound to the
deployment; what it finds is another matter.
"""

AGENT_KINDS: Final = {"ok": None, "owners": "forbidden", "not": "forbidden", "nothing": "not-found"}

PATTERNS: Final[dict[str, frozenset[str]]] = {
    "public": frozenset({"ok ok ok ok ok ok"}),
    "read_realm": frozenset(
        {
            "ok ok ok ok ok ok",
            "ok ok ok ok nothing nothing",  # an artifact: seen by who sees what carries it
            "nothing nothing nothing nothing nothing nothing",  # there is no disclosure yet
        }
    ),
    "read_project": frozenset({"ok ok ok ok nothing nothing"}),
    "read_space": frozenset({"ok ok ok ok nothing nothing"}),
    "write_space": frozenset(
        {
            "ok ok not not nothing nothing",
            "ok not not not nothing nothing",  # what is another's: its author, a steward or the owner
        }
    ),
    "invoke": frozenset({"ok ok not not nothing nothing"}),
    "steward": frozenset({"ok not not not nothing nothing"}),
    "upload": frozenset(
        {
            "ok ok not not not not",
            "nothing nothing nothing nothing nothing nothing",  # another's upload
        }
    ),
    "write_realm": frozenset({"owners owners owners owners owners owners"}),
    "write_project": frozenset({"owners owners owners owners nothing nothing"}),
    "operator": frozenset(
        {
            "owners owners owners owners owners owners",  # of the realm
            "owners owners owners owners nothing nothing",  # of a project
        }
    ),
    "owner": frozenset(
        {"owners owners owners owners owners owners", "owners owners owners owners nothing nothing"}
    ),
    "worker_claim": frozenset({"ok ok nothing nothing nothing nothing"}),
    "worker_next": frozenset({"ok ok ok ok ok ok"}),
    "worker_fenced": frozenset({"nothing nothing nothing nothing nothing nothing"}),
}
"""By the mode that the registry gives an operation, the lines that it may have: written by hand as well."""


def agents_words() -> dict[str, dict[str, str]]:
    """By operation and column the word of the agents' table."""
    lines = [line for line in AGENTS.strip().splitlines() if line.strip()]
    head, *rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    return {name: dict(zip(head[1:], words, strict=True)) for name, *words in rows}


def agents_table() -> dict[str, dict[str, str | None]]:
    """By operation and column the kind of the refusal; None for what is done."""
    return {
        name: {column: AGENT_KINDS[word] for column, word in line.items()}
        for name, line in agents_words().items()
    }
