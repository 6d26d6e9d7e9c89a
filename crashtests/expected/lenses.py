"""What is expected of lenses: made ones, and the two that come with every space."""

from __future__ import annotations

from typing import Final

from cells import KEY, Cell, Refusal
from effects import Place, Rows, command, content, insert, update
from entries import CONTRIBUTORS, MEMBERS, STEWARDS, Entry, Example, JsonObject, Page, listed
from harness.wire import Request, request
from world import CLIENT, NO_CONTENT, World

ENTRIES: Final = (
    Entry(
        CLIENT,
        "lens_create",
        "write write_space R R query_ast,sort_spec,presentation_options",
        callers="ok invalid",
        agents=CONTRIBUTORS,
        events="dev.kovee.space.lens-created.v1",
        right=lambda s: {**s.here, "kind": "custom", "visibility": "shared", **NO_CONTENT},
        examples=(
            Example(
                {
                    "space_id": "space-1",
                    "kind": "workbench",
                    "query_ast": {"kinds": ["claim"], "not": None},
                    "sort_spec": {"by": "space_sequence"},
                    "presentation_options": {"dense": True, "nested": {"a": []}},
                    "visibility": "shared",
                },
                open="query_ast sort_spec presentation_options",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "lens_show",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: {"lens_id": s.things.lens["lens_id"]},
        examples=(Example({"lens_id": "lens-1"}),),
    ),
    Entry(
        CLIENT,
        "lens_list",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: s.page,
        examples=(listed({"space_id": "space-1"}),),
    ),
    Entry(
        CLIENT,
        "lens_update",
        "write write_space R R query_ast,sort_spec,presentation_options",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.lens-updated.v1",
        right=lambda s: {
            "lens_id": s.lens(s.things.space)["lens_id"],
            "presentation_options": {"render": "list"},
        },
        examples=(
            Example(
                {
                    "lens_id": "lens-1",
                    "query_ast": {"kinds": ["claim"], "not": None},
                    "sort_spec": {"by": "space_sequence"},
                    "presentation_options": {"dense": True, "nested": {"a": []}},
                    "visibility": "shared",
                },
                optional="query_ast sort_spec presentation_options visibility",
                open="query_ast sort_spec presentation_options",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "lens_revoke",
        "write write_space R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.kovee.space.lens-revoked.v1",
        right=lambda s: {"lens_id": s.lens(s.things.space)["lens_id"]},
        examples=(Example({"lens_id": "lens-1"}),),
    ),
    Entry(
        CLIENT,
        "lens_read",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: {"lens_id": s.things.lens["lens_id"], "limit": 9},
        examples=(listed({"lens_id": "lens-1"}),),
    ),
)


_CONTENT: Final = {
    "query_ast": {"select": "contributions", "kinds": ["claim"]},
    "sort_spec": {"order_by": "branch_sequence", "descending": True},
    "presentation_options": {"render": "list"},
}


def _create(world: World) -> Request:
    args = {"space_id": world.space.space_id, "kind": "custom", "visibility": "private", **_CONTENT}
    return request(CLIENT, "lens_create", args, project=world.project, key=KEY)


def _cell(operation: str, situation: str, lens: str, args: JsonObject, rows: Rows) -> Cell:
    """A cell of an operation on the lens that the world knows by that name, or on a space's built-in one."""

    def make(world: World) -> Request:
        built_in = f"lens-{lens}-{world.space.space_id}"
        said = {"lens_id": world.others.get(lens, built_in), **args}
        return request(CLIENT, operation, said, project=world.project, key=KEY)

    return Cell(Place(operation, CLIENT), situation, make, lambda _: {"lens_id": "lens-other"}, rows)


CELLS: Final = (
    Cell(
        Place("lens_create", CLIENT),
        "",
        _create,
        lambda _: {"query_ast": {"select": "typed_cards"}},
        (*command(), *content(3), insert("lenses")),
    ),
    _cell(
        "lens_update",
        "all of it",
        "lens to change",
        {**_CONTENT, "visibility": "shared"},
        (
            *command(),
            *content(3),
            update("lenses", "revision", "query", "sort", "presentation", "visibility"),
        ),
    ),
    _cell(
        "lens_update",
        "a built-in one",
        "stream",
        {"presentation_options": {"render": "list"}},
        (*command(), *content(), insert("lenses")),  # its row is made when it is first changed
    ),
    _cell(
        "lens_revoke",
        "a made one",
        "lens to change",
        {},
        (*command(), update("lenses", "revision", "status")),
    ),
    _cell("lens_revoke", "a built-in one", "workbench", {}, (*command(), insert("lenses"))),
)


def _stale_update(world: World) -> Request:
    args = {"lens_id": world.others["lens to change"], **_CONTENT}
    return request(CLIENT, "lens_update", args, project=world.project, key=KEY, revision=7)


REFUSALS: Final = (
    Refusal(Place("lens_update", CLIENT), "at another revision", _stale_update, "stale-revision"),
)

PAGE: Final = Page(ENTRIES, CELLS, REFUSALS)
