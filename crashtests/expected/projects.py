"""What is expected of the realm, of projects, and of spaces: what they are, and who may change it."""

from __future__ import annotations

from typing import Final

from cells import KEY, NOWHERE, Cell, client_cell
from effects import POLICY, Place, Rows, command, content, insert, update
from entries import (
    EVERYBODY,
    MEMBERS,
    OWNER,
    OWNER_IN_PROJECT,
    STEWARDS,
    Entry,
    Example,
    JsonObject,
    Page,
    listed,
)
from harness.wire import Request, request
from scene import Scene
from world import CLIENT, World


def _frozen(scene: Scene) -> JsonObject:
    space = {"space_id": scene.space().space_id}
    scene.done("space_freeze", space)
    return space


ENTRIES: Final = (
    Entry(
        CLIENT,
        "realm_show",
        "read read_realm R F -",
        callers="ok invalid",
        agents=EVERYBODY,
        right=lambda _: {},
        examples=(Example({}),),
    ),
    Entry(
        CLIENT,
        "project_create",
        "write write_realm R F name",
        callers="ok invalid",
        agents=OWNER,
        events="dev.kovee.project.created.v1",
        right=lambda _: {"name": "mine"},
        examples=(
            Example(
                {
                    "name": "kitchen",
                    "default_classification_ref": "class-default",
                    "policy_set_ref": "policy-default",
                },
                optional="default_classification_ref policy_set_ref",
                texts="name",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "project_show",
        "read read_project R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda _: {},
        examples=(Example({}),),
    ),
    Entry(
        CLIENT,
        "project_list",
        "read read_realm R F -",
        callers="ok invalid",
        agents=EVERYBODY,
        right=lambda _: {"limit": 9},
        examples=(listed({}),),
    ),
    Entry(
        CLIENT,
        "space_create",
        "write write_project R R title",
        callers="ok invalid",
        agents=OWNER_IN_PROJECT,
        events="dev.kovee.space.created.v1",
        right=lambda _: {"title": "mine", "visibility": "project"},
        examples=(
            Example(
                {
                    "title": "why does the tap drip",
                    "visibility": "project",
                    "purpose_contribution_ref": "contrib-1",
                    "default_classification_ref": "class-default",
                    "policy_set_ref": "policy-default",
                },
                optional="purpose_contribution_ref default_classification_ref policy_set_ref",
                texts="title",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "space_show",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: s.here,
        examples=(Example({"space_id": "space-1"}),),
    ),
    Entry(
        CLIENT,
        "space_list",
        "read read_project R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda _: {"limit": 9},
        examples=(listed({}),),
    ),
    Entry(
        CLIENT,
        "project_update_metadata",
        "write write_project R R name",
        callers="ok invalid",
        agents=OWNER_IN_PROJECT,
        events="dev.kovee.project.updated.v1",
        right=lambda _: {"name": "another"},
        examples=(Example({"name": "kitchen"}, texts="name"),),
    ),
    Entry(
        CLIENT,
        "space_update_metadata",
        "write steward R R title",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.updated.v1",
        right=lambda s: {"space_id": s.space().space_id, "title": "another"},
        examples=(
            Example(
                {
                    "space_id": "space-1",
                    "title": "why does the tap drip",
                    "purpose_contribution_ref": "contrib-1",
                },
                optional="title purpose_contribution_ref",
                texts="title",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "space_freeze",
        "write steward R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.frozen.v1",
        right=lambda s: {"space_id": s.space().space_id},
        examples=(Example({"space_id": "space-1"}),),
    ),
    Entry(
        CLIENT,
        "space_reopen",
        "write steward R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.reopened.v1",
        right=_frozen,
        examples=(Example({"space_id": "space-1"}),),
    ),
    Entry(
        CLIENT,
        "space_archive",
        "write steward R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.archived.v1",
        right=lambda s: {"space_id": s.space().space_id},
        examples=(Example({"space_id": "space-1"}),),
    ),
    Entry(
        CLIENT,
        "space_restrict",
        "write steward R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.restricted.v1",
        right=lambda s: {"space_id": s.space("project").space_id},
        examples=(Example({"space_id": "space-1"}),),
    ),
    Entry(
        CLIENT,
        "space_policy_narrow",
        "write steward R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.policy-narrowed.v1",
        right=lambda s: {
            "space_id": s.space().space_id,
            "policy_set_ref": "policy-narrow",
            "default_classification_ref": "class-narrow",
        },
        examples=(
            Example(
                {
                    "space_id": "space-1",
                    "policy_set_ref": "policy-strict",
                    "default_classification_ref": "class-internal",
                },
                optional="policy_set_ref default_classification_ref",
            ),
        ),
    ),
)


def _space_cell(operation: str, rows: Rows, args: JsonObject | None = None, situation: str = "") -> Cell:
    """A cell of an operation on the space that the world has for it."""
    other = {"space_id": f"space-{NOWHERE}"}
    names = ("space_id", operation)
    return client_cell(operation, rows, args or {}, other, situation=situation, at="project", names=names)


def _purpose(world: World) -> Request:
    args = {"space_id": world.space.space_id, "purpose_contribution_ref": world.question["contribution_id"]}
    return request(CLIENT, "space_update_metadata", args, project=world.project, key=KEY)


_STATUS: Final = (*command(), update("spaces", "revision", "status"))

CELLS: Final = (
    client_cell(
        "project_create",
        (*command(), *content(), insert("projects")),
        {"name": "a name"},
        {"name": "another"},
    ),
    client_cell(
        "project_update_metadata",
        (*command(), *content(), update("projects", "revision", "name")),
        {"name": "a new name"},
        {"name": "another"},
        at="project",
    ),
    client_cell(
        "space_create",
        # its branch, and its first participant
        (*command(2), *content(), insert("spaces"), insert("participants")),
        {"title": "a title", "visibility": "project"},
        {"title": "another"},
        at="project",
    ),
    _space_cell(
        "space_update_metadata",
        (*command(), *content(), update("spaces", "revision", "title")),
        {"title": "a new title"},
        situation="title",
    ),
    Cell(
        Place("space_update_metadata", CLIENT),
        "purpose",
        _purpose,
        lambda _: {"title": "another"},
        (*command(), update("spaces", "revision", "purpose_contribution_ref")),
    ),
    _space_cell("space_freeze", _STATUS),
    _space_cell("space_reopen", _STATUS),
    _space_cell("space_archive", _STATUS),
    _space_cell("space_restrict", (*command(), update("spaces", "revision", "visibility"))),
    _space_cell(
        "space_policy_narrow",
        (*command(), update("spaces", "revision", *POLICY)),
        {"policy_set_ref": "policy-other", "default_classification_ref": "class-other"},
    ),
)

PAGE: Final = Page(ENTRIES, CELLS)
