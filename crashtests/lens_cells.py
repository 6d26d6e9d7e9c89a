"""The cells of lenses: made ones, and the two that come with every space."""

from __future__ import annotations

from typing import Any, Final

from cells import KEY, Cell, Refusal
from effects import CLIENT, Place
from harness.wire import Request, request
from world import World

CONTENT: Final = {
    "query_ast": {"select": "contributions", "kinds": ["claim"]},
    "sort_spec": {"order_by": "branch_sequence", "descending": True},
    "presentation_options": {"render": "list"},
}


def _create(world: World) -> Request:
    args = {"space_id": world.space.space_id, "kind": "custom", "visibility": "private", **CONTENT}
    return request(CLIENT, "lens_create", args, project=world.project, key=KEY)


def _cell(operation: str, situation: str, lens: str, args: dict[str, Any]) -> Cell:
    """A cell of an operation on the lens that the world knows by that name, or on a space's built-in one."""

    def make(world: World) -> Request:
        built_in = f"lens-{lens}-{world.space.space_id}"
        said = {"lens_id": world.others.get(lens, built_in), **args}
        return request(CLIENT, operation, said, project=world.project, key=KEY)

    return Cell(Place(operation, CLIENT), situation, make, lambda _: {"lens_id": "lens-other"})


LENS_CELLS: Final = (
    Cell(Place("lens_create", CLIENT), "", _create, lambda _: {"query_ast": {"select": "typed_cards"}}),
    _cell("lens_update", "all of it", "lens to change", {**CONTENT, "visibility": "shared"}),
    _cell("lens_update", "a built-in one", "stream", {"presentation_options": {"render": "list"}}),
    _cell("lens_revoke", "a made one", "lens to change", {}),
    _cell("lens_revoke", "a built-in one", "workbench", {}),
)


def _stale_update(world: World) -> Request:
    args = {"lens_id": world.others["lens to change"], **CONTENT}
    asked = request(CLIENT, "lens_update", args, project=world.project, key=KEY)
    meta = {**asked.body["meta"], "expected_revision": 7}
    return Request(asked.socket, {**asked.body, "meta": meta})


LENS_REFUSALS: Final = (
    Refusal(Place("lens_update", CLIENT), "at another revision", _stale_update, "stale-revision"),
)
