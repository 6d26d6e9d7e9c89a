"""What is expected of aliases: the names that assistants have in a project."""

from __future__ import annotations

from typing import Final

import pipelines
from cells import KEY, NOWHERE, Cell, client_cell
from effects import Place, command, content, insert, update
from entries import MEMBERS, OWNER_IN_PROJECT, Entry, Example, Page, listed
from harness.wire import Request
from world import CLIENT, World

ENTRIES: Final = (
    Entry(
        CLIENT,
        "assistant_alias_bind",
        "write operator R R display_alias",
        callers="ok invalid",
        agents=OWNER_IN_PROJECT,
        events="dev.kovee.assistant.alias-bound.v1",
        right=lambda s: {"display_alias": s.key("alias"), **pipelines.BUILT_IN},
        examples=(
            Example(
                {
                    "display_alias": "Plumber One",
                    "assistant_deployment_id": "dep-1",
                    "deployment_revision": 1,
                },
                texts="display_alias",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "assistant_alias_show",
        "read read_project R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: {"alias_binding_id": s.alias()["alias_binding_id"]},
        examples=(Example({"alias_binding_id": "alias-1"}),),
    ),
    Entry(
        CLIENT,
        "assistant_alias_list",
        "read read_project R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda _: {"limit": 9},
        examples=(listed({"assistant_deployment_id": "dep-1"}, optional="assistant_deployment_id"),),
    ),
    Entry(
        CLIENT,
        "assistant_alias_update",
        "write operator R R -",
        callers="ok invalid",
        agents=OWNER_IN_PROJECT,
        events="dev.kovee.assistant.alias-updated.v1",
        right=lambda s: {"alias_binding_id": s.alias()["alias_binding_id"], **pipelines.BUILT_IN},
        examples=(
            Example(
                {"alias_binding_id": "alias-1", "assistant_deployment_id": "dep-1", "deployment_revision": 1}
            ),
        ),
    ),
    Entry(
        CLIENT,
        "assistant_alias_revoke",
        "write operator R R -",
        callers="ok invalid",
        agents=OWNER_IN_PROJECT,
        events="dev.kovee.assistant.alias-revoked.v1",
        right=lambda s: {"alias_binding_id": s.alias()["alias_binding_id"]},
        examples=(Example({"alias_binding_id": "alias-1"}),),
    ),
)


def _update(world: World) -> Request:
    args = {
        "alias_binding_id": world.others["assistant_alias_update"],
        "assistant_deployment_id": world.others["deployment_drain"],
        "deployment_revision": 2,
    }
    return pipelines.asked(KEY, "assistant_alias_update", args, world.project)


CELLS: Final = (
    client_cell(
        "assistant_alias_bind",
        (*command(), *content(2), insert("aliases")),
        {"display_alias": "The reviewer", **pipelines.BUILT_IN},
        {"display_alias": "Another"},
        at="project",
    ),
    Cell(
        Place("assistant_alias_update", CLIENT),
        "",
        _update,
        lambda _: {"deployment_revision": 3},
        (*command(), update("aliases", "revision", "deployment_id", "deployment_revision")),
    ),
    client_cell(
        "assistant_alias_revoke",
        (*command(), update("aliases", "revision", "status")),
        {},
        {"alias_binding_id": f"alias-{NOWHERE}"},
        at="project",
        names=("alias_binding_id", "assistant_alias_revoke"),
    ),
)

PAGE: Final = Page(ENTRIES, CELLS)
