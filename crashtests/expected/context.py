"""What is expected of branches, frontiers, and assemblies of context."""

from __future__ import annotations

from typing import Final

from cells import KEY, Cell
from effects import STEP, Place, command, insert
from entries import BOUND, CONTRIBUTORS, MEMBERS, NOBODY, Entry, Example, JsonObject, Page, listed
from harness.wire import Request, request
from world import CLIENT, WORKER, World, assembly_args

_ASSEMBLY: Final = Example(
    {
        "space_id": "space-1",
        "branch_id": "branch-1",
        "audience_ref": "dep-local-dev",
        "purpose": "answer the question",
        "selection_policy_ref": "explicit_refs_v1",
        "required_refs": ["contrib-1"],
        "trigger_refs": ["contrib-1"],
        "recipe_ref": "recipe-1",
        "recipe_revision": 1,
    },
    optional="required_refs trigger_refs recipe_ref recipe_revision",
    texts="purpose",
    empty="purpose",
)


ENTRIES: Final = (
    Entry(
        CLIENT,
        "tallystick_frontier_list",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: s.page,
        examples=(listed({"space_id": "space-1"}),),
    ),
    Entry(
        CLIENT,
        "tallystick_assembly_list",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: s.page,
        examples=(listed({"space_id": "space-1"}),),
    ),
    Entry(
        CLIENT,
        "tallystick_branch_show",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: {"branch_id": s.things.space.branch_id},
        examples=(Example({"branch_id": "branch-1"}),),
    ),
    Entry(
        CLIENT,
        "frontier_pin",
        "write write_space R R -",
        callers="ok invalid",
        agents=CONTRIBUTORS,
        events="dev.kovee.space.frontier-pinned.v1",
        right=lambda s: s.things.space.args,
        examples=(Example({"space_id": "space-1", "branch_id": "branch-1"}),),
    ),
    Entry(
        CLIENT,
        "frontier_show",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: {"frontier_id": s.things.frontier["frontier_id"]},
        examples=(Example({"frontier_id": "front-1"}),),
    ),
    Entry(
        CLIENT,
        "context_assembly_create",
        "write write_space R R -",
        callers="ok surface",
        agents=CONTRIBUTORS,
        events="dev.kovee.space.context-assembly-created.v1",
        right=lambda s: assembly_args(s.things.space, [s.things.question["contribution_id"]]),
        examples=(_ASSEMBLY,),
    ),
    Entry(
        CLIENT,
        "context_assembly_show",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: {"assembly_id": s.things.assembly["assembly_id"]},
        examples=(Example({"assembly_id": "casm-1"}),),
    ),
    Entry(
        WORKER,
        "context_assembly_create",
        "write worker_fenced R R -",
        callers="ok stale nothing surface",
        agents=NOBODY,
        events="dev.kovee.space.context-assembly-created.v1",
        binding=BOUND,
        right=lambda s: assembly_args(s.things.space, [s.things.question["contribution_id"]]),
        examples=(_ASSEMBLY,),
    ),
)


_ASSEMBLED: Final = (*command(1), insert("frontiers"), insert("assemblies"))


def _pin(world: World) -> Request:
    return request(CLIENT, "frontier_pin", world.space.args, project=world.project, key=KEY)


def _other_purpose(_: World) -> JsonObject:
    return {"purpose": "something else"}


CELLS: Final = (
    Cell(
        Place("frontier_pin", CLIENT),
        "",
        _pin,
        lambda w: w.untouched.args,
        (*command(), insert("frontiers")),
    ),
    Cell(
        Place("context_assembly_create", CLIENT),
        "",
        lambda w: w.assemble(KEY),
        _other_purpose,
        _ASSEMBLED,
    ),
    Cell(
        Place("context_assembly_create", WORKER),
        "",
        lambda w: w.as_worker(w.assemble(KEY), w.attempts["assemble"]),
        _other_purpose,
        (*_ASSEMBLED, STEP),
    ),
)

PAGE: Final = Page(ENTRIES, CELLS)
