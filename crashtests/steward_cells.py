"""The cells of what stewards and owners do: agents, and what a project and a space are, and who sees them."""

from __future__ import annotations

from typing import Any, Final

from cells import KEY, Cell, Refusal
from effects import CLIENT, Place
from harness.dumps import Effect
from harness.wire import Request, request
from world import GRANTED, GUEST, World

RECEIPT: Final = "receipt-1"
NOWHERE: Final = "0" * 32


def _cell(
    operation: str,
    args: dict[str, Any],
    other: dict[str, Any],
    *,
    situation: str = "",
    at: str | None = None,
    names: tuple[str, str] | None = None,
) -> Cell:
    """A cell of an operation on the project that ``at`` names (none: on no project); ``names`` is a member of
    its arguments, and the name that the world knows its value by."""

    def make(world: World) -> Request:
        named = {} if names is None else {names[0]: world.others[names[1]]}
        project = None if at is None else world.others[at]
        return request(CLIENT, operation, {**args, **named}, project=project, key=KEY)

    return Cell(Place(operation, CLIENT), situation, make, lambda _: other)


def _space_cell(operation: str, args: dict[str, Any] | None = None, situation: str = "") -> Cell:
    """A cell of an operation on the space that the world has for it."""
    other = {"space_id": f"space-{NOWHERE}"}
    return _cell(
        operation, args or {}, other, situation=situation, at="project", names=("space_id", operation)
    )


def _participant_cell(operation: str, args: dict[str, Any]) -> Cell:
    """A cell of an operation on the participant that the world has for it."""
    other = {"participant_id": f"part-{NOWHERE}"}
    return _cell(operation, args, other, at="project", names=("participant_id", operation))


def _activate(world: World) -> Request:
    participant, digest = world.others["space_participant_activate"], world.others["activate digest"]
    args = {"participant_id": participant, "subject_digest": digest}
    return request(CLIENT, "space_participant_activate", args, project=world.project, key=KEY)


def _purpose(world: World) -> Request:
    args = {"space_id": world.space.space_id, "purpose_contribution_ref": world.question["contribution_id"]}
    return request(CLIENT, "space_update_metadata", args, project=world.project, key=KEY)


_POLICY: Final = {"policy_set_ref": "policy-other", "default_classification_ref": "class-other"}
_PROPOSED: Final = {f"proposed_{member}": value for member, value in _POLICY.items()}
_CONFIRMED: Final = {"decision_receipt_ref": RECEIPT}
_OTHER_RECEIPT: Final = {"decision_receipt_ref": "receipt-2"}

STEWARD_CELLS: Final = (
    _cell("tallystick_agent_add", {"name": "Ada", "credential_sha256": "ab" * 32}, {"name": "Bob"}),
    _cell("tallystick_agent_revoke", {}, {"agent_id": f"agent-{NOWHERE}"}, names=("agent_id", "agent")),
    _cell("project_update_metadata", {"name": "a new name"}, {"name": "another"}, at="project"),
    _space_cell("space_update_metadata", {"title": "a new title"}, situation="title"),
    Cell(Place("space_update_metadata", CLIENT), "purpose", _purpose, lambda _: {"title": "another"}),
    _space_cell("space_freeze"),
    _space_cell("space_reopen"),
    _space_cell("space_archive"),
    _space_cell("space_restrict"),
    _space_cell("space_policy_narrow", _POLICY),
    _cell(
        "project_access_policy_change_prepare",
        _PROPOSED,
        {"proposed_policy_set_ref": "policy-third"},
        at="governed",
    ),
    _cell(
        "project_access_policy_change_confirm",
        _CONFIRMED,
        _OTHER_RECEIPT,
        at="governed",
        names=("change_id", "change to confirm"),
    ),
    _cell(
        "project_access_policy_change_cancel",
        {},
        {"change_id": f"papc-{NOWHERE}"},
        at="governed",
        names=("change_id", "change to cancel"),
    ),
    _cell(
        "space_participant_add",
        {**GUEST, "subject_ref": "prin-new"},
        {"role": "contributor"},
        at="project",
        names=("space_id", "access"),
    ),
    Cell(Place("space_participant_activate", CLIENT), "", _activate, lambda _: {"subject_digest": "0" * 64}),
    _participant_cell("space_participant_update", {"role": "contributor", "status": "muted"}),
    _participant_cell("space_participant_remove", {}),
    _cell(
        "space_access_grant_create",
        {**GRANTED, "subject_ref": "prin-new"},
        {"allowed_actions": ["contribute"]},
        at="project",
        names=("space_id", "access"),
    ),
    _cell(
        "space_access_grant_revoke",
        {},
        {"space_access_id": f"sgrant-{NOWHERE}"},
        at="project",
        names=("space_access_id", "space_access_grant_revoke"),
    ),
    _space_cell("space_access_widen_prepare", _PROPOSED),
    _cell(
        "space_access_widen_confirm",
        _CONFIRMED,
        _OTHER_RECEIPT,
        at="project",
        names=("widening_id", "widening to confirm"),
    ),
    _cell(
        "space_access_widen_cancel",
        {},
        {"widening_id": f"widen-{NOWHERE}"},
        at="project",
        names=("widening_id", "widening to cancel"),
    ),
)


def _confirm_moved(world: World) -> Request:
    args = {"widening_id": world.others["widening that has moved"], **_CONFIRMED}
    return request(CLIENT, "space_access_widen_confirm", args, project=world.project, key=KEY)


def _confirm_overtaken(world: World) -> Request:
    args = {"change_id": world.others["change that has moved"], **_CONFIRMED}
    operation = "project_access_policy_change_confirm"
    return request(CLIENT, operation, args, project=world.others["moved"], key=KEY)


_FOUND_STALE: Final = (
    Effect("log", "insert", 1),
    Effect("prepared_changes", "update", 1, frozenset({"state", "terminal_ms"})),
)

STEWARD_REFUSALS: Final = (
    Refusal(
        Place("space_access_widen_confirm", CLIENT),
        "what it binds has moved",
        _confirm_moved,
        "stale-revision",
        _FOUND_STALE,
    ),
    Refusal(
        Place("project_access_policy_change_confirm", CLIENT),
        "what it binds has moved",
        _confirm_overtaken,
        "stale-revision",
        _FOUND_STALE,
    ),
)
"""Whoever finds that a change has moved is refused, and the change is stale from then on."""
