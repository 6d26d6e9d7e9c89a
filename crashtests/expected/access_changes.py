"""What is expected of policy changes and widenings: prepared first, then confirmed or canceled."""

from __future__ import annotations

from typing import Final

from cells import KEY, NOWHERE, Refusal, client_cell
from effects import POLICY, Place, command, insert, update
from entries import MEMBERS, OWNER_IN_PROJECT, STEWARDS, Entry, Example, Page, listed
from harness.wire import Request, request
from world import CLIENT, World

CONFIRMED: Final = {"decision_receipt_ref": "receipt-1"}


ENTRIES: Final = (
    Entry(
        CLIENT,
        "project_access_policy_change_prepare",
        "write owner R R -",
        callers="ok invalid",
        agents=OWNER_IN_PROJECT,
        events="dev.kovee.project.policy-change-prepared.v1",
        right=lambda s: {"proposed_policy_set_ref": s.key("policy")},
        examples=(
            Example(
                {
                    "proposed_policy_set_ref": "policy-open",
                    "proposed_default_classification_ref": "class-public",
                },
                optional="proposed_policy_set_ref proposed_default_classification_ref",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "project_access_policy_change_show",
        "read read_project R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: {"change_id": s.policy_change()["change_id"]},
        examples=(Example({"change_id": "papc-1"}),),
    ),
    Entry(
        CLIENT,
        "project_access_policy_change_list",
        "read read_project R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda _: {"limit": 9},
        examples=(listed({}),),
    ),
    Entry(
        CLIENT,
        "project_access_policy_change_confirm",
        "write owner R R -",
        callers="ok invalid",
        agents=OWNER_IN_PROJECT,
        events="dev.kovee.project.policy-change-confirmed.v1",
        right=lambda s: {"change_id": s.policy_change()["change_id"], **CONFIRMED},
        examples=(Example({"change_id": "papc-1", "decision_receipt_ref": "receipt-1"}),),
    ),
    Entry(
        CLIENT,
        "project_access_policy_change_cancel",
        "write owner R R -",
        callers="ok invalid",
        agents=OWNER_IN_PROJECT,
        events="dev.kovee.project.policy-change-canceled.v1",
        right=lambda s: {"change_id": s.policy_change()["change_id"]},
        examples=(Example({"change_id": "papc-1"}),),
    ),
    Entry(
        CLIENT,
        "space_access_widen_prepare",
        "write steward R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.access-widening-prepared.v1",
        right=lambda s: {"space_id": s.space().space_id, "proposed_visibility": "project"},
        examples=(
            Example(
                {
                    "space_id": "space-1",
                    "proposed_visibility": "restricted",
                    "proposed_policy_set_ref": "policy-open",
                    "proposed_default_classification_ref": "class-public",
                },
                optional=("proposed_visibility proposed_policy_set_ref proposed_default_classification_ref"),
            ),
        ),
    ),
    Entry(
        CLIENT,
        "space_access_widen_show",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: {"widening_id": s.widening()["widening_id"]},
        examples=(Example({"widening_id": "widen-1"}),),
    ),
    Entry(
        CLIENT,
        "space_access_widen_list",
        "read read_project R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda _: {"limit": 9},
        examples=(listed({"space_id": "space-1"}, optional="space_id"),),
    ),
    Entry(
        CLIENT,
        "space_access_widen_confirm",
        "write steward R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.access-widening-confirmed.v1",
        right=lambda s: {"widening_id": s.widening()["widening_id"], **CONFIRMED},
        examples=(Example({"widening_id": "widen-1", "decision_receipt_ref": "receipt-1"}),),
    ),
    Entry(
        CLIENT,
        "space_access_widen_cancel",
        "write steward R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.access-widening-canceled.v1",
        right=lambda s: {"widening_id": s.widening()["widening_id"]},
        examples=(Example({"widening_id": "widen-1"}),),
    ),
)


_PROPOSED: Final = {
    "proposed_policy_set_ref": "policy-other",
    "proposed_default_classification_ref": "class-other",
}
_OTHER_RECEIPT: Final = {"decision_receipt_ref": "receipt-2"}
_PREPARED: Final = (*command(), insert("prepared_changes"))
_CONFIRMED: Final = update("prepared_changes", "state", "revision", "decision_receipt_ref", "terminal_ms")
_CANCELED: Final = (*command(), update("prepared_changes", "state", "revision", "terminal_ms"))

CELLS: Final = (
    client_cell(
        "project_access_policy_change_prepare",
        _PREPARED,
        _PROPOSED,
        {"proposed_policy_set_ref": "policy-third"},
        at="governed",
    ),
    client_cell(
        "project_access_policy_change_confirm",
        (*command(), _CONFIRMED, update("projects", "revision", *POLICY)),
        CONFIRMED,
        _OTHER_RECEIPT,
        at="governed",
        names=("change_id", "change to confirm"),
    ),
    client_cell(
        "project_access_policy_change_cancel",
        _CANCELED,
        {},
        {"change_id": f"papc-{NOWHERE}"},
        at="governed",
        names=("change_id", "change to cancel"),
    ),
    client_cell(
        "space_access_widen_prepare",
        _PREPARED,
        _PROPOSED,
        {"space_id": f"space-{NOWHERE}"},
        at="project",
        names=("space_id", "space_access_widen_prepare"),
    ),
    client_cell(
        "space_access_widen_confirm",
        (*command(), _CONFIRMED, update("spaces", "revision", "visibility", *POLICY)),
        CONFIRMED,
        _OTHER_RECEIPT,
        at="project",
        names=("widening_id", "widening to confirm"),
    ),
    client_cell(
        "space_access_widen_cancel",
        _CANCELED,
        {},
        {"widening_id": f"widen-{NOWHERE}"},
        at="project",
        names=("widening_id", "widening to cancel"),
    ),
)


def _confirm_widening(world: World) -> Request:
    args = {"widening_id": world.others["widening that has moved"], **CONFIRMED}
    return request(CLIENT, "space_access_widen_confirm", args, project=world.project, key=KEY)


def _confirm_change(world: World) -> Request:
    args = {"change_id": world.others["change that has moved"], **CONFIRMED}
    operation = "project_access_policy_change_confirm"
    return request(CLIENT, operation, args, project=world.others["moved"], key=KEY)


_FOUND_STALE: Final = (insert("log"), update("prepared_changes", "state", "terminal_ms"))
"""Whoever finds that a change has moved is refused, and the change is stale from then on."""

REFUSALS: Final = (
    Refusal(
        Place("space_access_widen_confirm", CLIENT),
        "what it binds has moved",
        _confirm_widening,
        "stale-revision",
        _FOUND_STALE,
    ),
    Refusal(
        Place("project_access_policy_change_confirm", CLIENT),
        "what it binds has moved",
        _confirm_change,
        "stale-revision",
        _FOUND_STALE,
    ),
)

PAGE: Final = Page(ENTRIES, CELLS, REFUSALS)
