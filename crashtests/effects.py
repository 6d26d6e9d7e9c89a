"""The rows that each writing operation may touch, written by hand, and not from the registry.

A line is one cell of the matrix: the operation in one situation, and then exactly how many rows of which
table it inserts, and which columns of how many rows it updates. Nothing else of the store may differ after
it. ``of_operation`` puts the cells of an operation together, and a test holds that against what the
operation's own entry in the registry declares: two hands must have come to the same.

Every command writes its log row, the way from its key to it, its event's id and its event's outbox row.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.dumps import Action, Effect

from tallystick.protocol.operation import Socket


class Place(NamedTuple):
    """An operation on a socket."""

    operation: str
    socket: Socket

    def __str__(self) -> str:
        return self.operation + ("@worker" if self.socket is Socket.WORKER else "")


def _insert(table: str, number: int = 1) -> Effect:
    return Effect(table, "insert", number)


def _update(table: str, *columns: str) -> Effect:
    return Effect(table, "update", 1, frozenset(columns))


def _command(further_objects: int = 0) -> tuple[Effect, ...]:
    """An object that it makes shares its id with the event; each further one has an id of its own."""
    return (_insert("log"), _insert("idempotency"), _insert("ids", 1 + further_objects), _insert("outbox"))


_COMMAND: Final = _command()
_CONTENT: Final = (_insert("bodies"), _insert("object_keys"))
_APPENDED: Final = _update("spaces", "revision", "next_space_sequence", "branch_sequence", "branch_head")
_RELATED: Final = _update("spaces", "revision", "branch_sequence", "branch_head")
_DISPOSED: Final = (_insert("dispositions"), _update("spaces", "revision"))
_STEP: Final = _insert("invocation_steps")
_POLICY: Final = ("policy_set_ref", "default_classification_ref")
_TWO_CONTENTS: Final = (_insert("bodies", 2), _insert("object_keys", 2))
_THREE_CONTENTS: Final = (_insert("bodies", 3), _insert("object_keys", 3))
_CONFIRMED: Final = _update("prepared_changes", "state", "revision", "decision_receipt_ref", "terminal_ms")
_ERASING: Final = (
    _insert("erasures"),
    Effect("bodies", "delete", 1),
    Effect("object_keys", "delete", 1),
)
_ARTIFACT_ERASING: Final = (
    Effect("object_keys", "delete", 2),  # of its bytes, and of their declared digest
    _update(
        "artifacts",
        "state",
        "revision",
        "size",
        "media_type",
        "verification_digest",
        "content_digest",
        "keys",
        "available_ms",
        "retention_ms",
    ),
)
ERASED_BEHIND: Final = (
    _insert("log"),
    _insert("ids"),
)
"""What the daemon writes by itself behind an erasure, when its files are clean: one row."""
_ENDED: Final = _update("attempts", "state", "ending")
_BEGUN: Final = (
    *_command(1),  # the upload
    _insert("object_keys"),  # of the declared digest's commitment
    _insert("artifact_uploads"),
    _insert("artifacts"),
)
_FINALIZED: Final = (
    "state",
    "revision",
    "sealed_ms",
    "terminal_ms",
    "sealed_storage_version",
    "observation_digest",
)
SEALING: Final = (
    _insert("log"),
    _update("artifact_uploads", "state", "ends_ms"),
    _update("artifacts", "state"),
)
"""The first transaction of a finalize alone."""

CLIENT: Final = Socket.CLIENT
WORKER: Final = Socket.WORKER

EFFECTS: Final[dict[Place, dict[str, tuple[Effect, ...]]]] = {
    Place("project_create", CLIENT): {
        "": (*_COMMAND, *_CONTENT, _insert("projects")),
    },
    Place("space_create", CLIENT): {
        # its branch, and its first participant
        "": (*_command(2), *_CONTENT, _insert("spaces"), _insert("participants")),
    },
    Place("contribution_append", CLIENT): {
        "": (*_COMMAND, *_CONTENT, _insert("contributions"), _APPENDED),
        "with an artifact": (
            *_COMMAND,
            *_CONTENT,
            _insert("contributions"),
            _insert("artifact_references"),
            _APPENDED,
        ),
    },
    Place("relation_assert", CLIENT): {
        "": (*_COMMAND, _insert("relations"), _RELATED),
    },
    Place("frontier_pin", CLIENT): {
        "": (*_COMMAND, _insert("frontiers")),
    },
    Place("context_assembly_create", CLIENT): {
        "": (*_command(1), _insert("frontiers"), _insert("assemblies")),
    },
    Place("invocation_create", CLIENT): {
        "": (*_COMMAND, _insert("invocations")),
    },
    Place("invocation_cancel", CLIENT): {
        "queued": (*_COMMAND, _update("invocations", "state", "revision", "terminal_ms")),
        "running, with a reason": (
            *_COMMAND,
            *_CONTENT,
            _ENDED,
            _update("invocations", "state", "revision", "terminal_ms"),
        ),
    },
    Place("invocation_claim", WORKER): {
        "first in its space": (
            *_command(1),
            _insert("attempts"),
            _insert("participants"),
            _update("invocations", "state", "revision"),
        ),
        "lapsed lease": (
            *_COMMAND,
            _insert("attempts"),
            _ENDED,
            _update("invocations", "revision"),
        ),
        "after a failure": (
            *_COMMAND,
            _insert("attempts"),
            _update("invocations", "state", "revision"),
        ),
    },
    Place("tallystick_invocation_next", WORKER): {
        "queued, first in its space": (
            *_command(1),
            _insert("attempts"),
            _insert("participants"),
            _update("invocations", "state", "revision"),
        ),
        "lapsed lease": (
            *_COMMAND,
            _insert("attempts"),
            _ENDED,
            _update("invocations", "revision"),
        ),
    },
    Place("invocation_complete", WORKER): {
        "": (*_COMMAND, _ENDED, _update("invocations", "state", "revision", "terminal_ms")),
    },
    Place("contribution_append", WORKER): {
        "": (*_COMMAND, *_CONTENT, _insert("contributions"), _APPENDED, _STEP),
        "with an artifact": (
            *_COMMAND,
            *_CONTENT,
            _insert("contributions"),
            _insert("artifact_references"),
            _APPENDED,
            _STEP,
        ),
    },
    Place("artifact_upload_begin", CLIENT): {"": _BEGUN},
    Place("tallystick_artifact_begin", CLIENT): {"": _BEGUN},
    Place("artifact_upload_finalize", CLIENT): {
        # the row of its first transaction and that of its second, and what both did to one row
        "the bytes declared": (
            *_COMMAND,
            _insert("log"),
            _insert("object_keys"),
            _update("artifact_uploads", "ends_ms", *_FINALIZED),
            _update(
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
        "other bytes": (
            *_COMMAND,
            _insert("log"),
            _update("artifact_uploads", "ends_ms", *_FINALIZED),
            _update("artifacts", "state", "revision"),
        ),
    },
    Place("artifact_upload_abort", CLIENT): {
        "": (
            *_COMMAND,
            _update("artifact_uploads", "state", "revision", "terminal_ms"),
            _update("artifacts", "state", "revision"),
        ),
        "with a reason": (
            *_COMMAND,
            *_CONTENT,
            _update("artifact_uploads", "state", "revision", "terminal_ms", "reason"),
            _update("artifacts", "state", "revision"),
        ),
    },
    Place("relation_assert", WORKER): {
        "": (*_COMMAND, _insert("relations"), _RELATED, _STEP),
    },
    Place("context_assembly_create", WORKER): {
        "": (*_command(1), _insert("frontiers"), _insert("assemblies"), _STEP),
    },
    Place("tallystick_invocation_fail", WORKER): {
        "to be tried again": (
            *_COMMAND,
            _ENDED,
            _update("invocations", "state", "revision", "failed_attempts"),
        ),
        "for good": (
            *_COMMAND,
            _ENDED,
            _update("invocations", "state", "revision", "failed_attempts", "terminal_ms"),
        ),
    },
    Place("invocation_cancel", WORKER): {},
    Place("tallystick_agent_add", CLIENT): {
        "": (*_COMMAND, *_CONTENT, _insert("agents")),
    },
    Place("tallystick_agent_revoke", CLIENT): {
        "": (*_COMMAND, _update("agents", "revision", "status")),
    },
    Place("project_update_metadata", CLIENT): {
        "": (*_COMMAND, *_CONTENT, _update("projects", "revision", "name")),
    },
    Place("space_update_metadata", CLIENT): {
        "title": (*_COMMAND, *_CONTENT, _update("spaces", "revision", "title")),
        "purpose": (*_COMMAND, _update("spaces", "revision", "purpose_contribution_ref")),
    },
    Place("space_freeze", CLIENT): {
        "": (*_COMMAND, _update("spaces", "revision", "status")),
    },
    Place("space_reopen", CLIENT): {
        "": (*_COMMAND, _update("spaces", "revision", "status")),
    },
    Place("space_archive", CLIENT): {
        "": (*_COMMAND, _update("spaces", "revision", "status")),
    },
    Place("space_restrict", CLIENT): {
        "": (*_COMMAND, _update("spaces", "revision", "visibility")),
    },
    Place("space_policy_narrow", CLIENT): {
        "": (*_COMMAND, _update("spaces", "revision", *_POLICY)),
    },
    Place("project_access_policy_change_prepare", CLIENT): {
        "": (*_COMMAND, _insert("prepared_changes")),
    },
    Place("project_access_policy_change_confirm", CLIENT): {
        "": (*_COMMAND, _CONFIRMED, _update("projects", "revision", *_POLICY)),
    },
    Place("project_access_policy_change_cancel", CLIENT): {
        "": (*_COMMAND, _update("prepared_changes", "state", "revision", "terminal_ms")),
    },
    Place("space_participant_add", CLIENT): {
        "": (*_COMMAND, _insert("participants")),
    },
    Place("space_participant_activate", CLIENT): {
        "": (*_COMMAND, _update("participants", "revision", "status")),
    },
    Place("space_participant_update", CLIENT): {
        "": (*_COMMAND, _update("participants", "revision", "role", "status")),
    },
    Place("space_participant_remove", CLIENT): {
        "": (*_COMMAND, _update("participants", "revision", "status")),
    },
    Place("space_access_grant_create", CLIENT): {
        "": (*_COMMAND, _insert("grants")),
    },
    Place("space_access_grant_revoke", CLIENT): {
        "": (*_COMMAND, _update("grants", "revision", "status")),
    },
    Place("contribution_withdraw", CLIENT): {
        "": (*_COMMAND, *_DISPOSED),
    },
    Place("contribution_supersede", CLIENT): {
        "": (*_COMMAND, *_DISPOSED),
    },
    Place("contribution_redact", CLIENT): {
        "": (*_COMMAND, _insert("ids"), *_DISPOSED, *_ERASING),
        "with an artifact": (*_COMMAND, _insert("ids"), *_DISPOSED, *_ERASING, *_ARTIFACT_ERASING),
    },
    Place("tallystick_erase", CLIENT): {
        # a lens: three free objects
        "an object's": (
            *_COMMAND,
            *_ERASING,
            Effect("bodies", "delete", 2),
            Effect("object_keys", "delete", 2),
        ),
        "an event's": (*_COMMAND, *_ERASING),
        "an artifact's": (*_COMMAND, _insert("erasures"), *_ARTIFACT_ERASING),
    },
    Place("relation_retract", CLIENT): {
        "": (*_COMMAND, *_DISPOSED),
    },
    Place("reaction_set", CLIENT): {
        "new": (*_COMMAND, _insert("reactions")),
        "taken back": (*_COMMAND, _update("reactions", "state", "revision", "updated_ms")),
        "as it is": (_insert("log"), _insert("idempotency")),  # tells nobody
    },
    Place("assistant_create", CLIENT): {
        "": (*_COMMAND, *_TWO_CONTENTS, _insert("assistants")),
    },
    Place("assistant_revision_register", CLIENT): {
        "": (*_COMMAND, *_THREE_CONTENTS, _insert("assistant_revisions")),
    },
    Place("deployment_create", CLIENT): {
        "": (*_COMMAND, *_CONTENT, _insert("deployments")),
    },
    Place("deployment_activate", CLIENT): {
        "": (*_COMMAND, _update("deployments", "revision", "status", "activated_ms")),
    },
    Place("deployment_drain", CLIENT): {
        "": (*_COMMAND, _update("deployments", "revision", "status")),
    },
    Place("assistant_alias_bind", CLIENT): {
        "": (*_COMMAND, *_TWO_CONTENTS, _insert("aliases")),
    },
    Place("assistant_alias_update", CLIENT): {
        "": (*_COMMAND, _update("aliases", "revision", "deployment_id", "deployment_revision")),
    },
    Place("assistant_alias_revoke", CLIENT): {
        "": (*_COMMAND, _update("aliases", "revision", "status")),
    },
    Place("application_event_emit", WORKER): {
        "": (*_COMMAND, *_CONTENT, _STEP),
    },
    Place("model_complete", WORKER): {},
    Place("space_access_widen_prepare", CLIENT): {
        "": (*_COMMAND, _insert("prepared_changes")),
    },
    Place("space_access_widen_confirm", CLIENT): {
        "": (*_COMMAND, _CONFIRMED, _update("spaces", "revision", "visibility", *_POLICY)),
    },
    Place("space_access_widen_cancel", CLIENT): {
        "": (*_COMMAND, _update("prepared_changes", "state", "revision", "terminal_ms")),
    },
    Place("lens_create", CLIENT): {
        "": (*_COMMAND, *_THREE_CONTENTS, _insert("lenses")),
    },
    Place("lens_update", CLIENT): {
        "all of it": (
            *_COMMAND,
            *_THREE_CONTENTS,
            _update("lenses", "revision", "query", "sort", "presentation", "visibility"),
        ),
        # its row is made when it is first changed
        "a built-in one": (*_COMMAND, *_CONTENT, _insert("lenses")),
    },
    Place("lens_revoke", CLIENT): {
        "a made one": (*_COMMAND, _update("lenses", "revision", "status")),
        "a built-in one": (*_COMMAND, _insert("lenses")),
    },
}
"""By operation and situation. A worker's cancel is refused in every situation there is: it has no cell in
which it does anything, and ``REFUSED`` is all that it may leave."""

REFUSED: Final = (_insert("log"),)
"""What a refused command leaves: the row that says so."""


class Merged(NamedTuple):
    """What an operation does to one table, over all its situations: ``number`` is None where they differ."""

    number: int | None
    columns: frozenset[str]


def of_operation(place: Place) -> dict[tuple[str, Action], Merged]:
    """All situations of an operation together."""
    situations = list(EFFECTS[place].values())
    touched = {(effect.table, effect.action) for effects in situations for effect in effects}
    return {at: _merged(at, situations) for at in touched}


def _merged(at: tuple[str, Action], situations: list[tuple[Effect, ...]]) -> Merged:
    there = [[effect for effect in effects if (effect.table, effect.action) == at] for effects in situations]
    counts = {sum(effect.number for effect in effects) for effects in there}
    columns = frozenset[str]().union(*(effect.columns for effects in there for effect in effects))
    return Merged(counts.pop() if len(counts) == 1 else None, columns)
