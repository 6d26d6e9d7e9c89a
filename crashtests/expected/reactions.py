"""What is expected of reactions: somebody's mark on a contribution, set and taken back."""

from __future__ import annotations

from typing import Final

from cells import KEY, Cell
from effects import Place, Rows, command, insert, update
from entries import CONTRIBUTORS, DIGEST, Entry, Example, Page
from harness.wire import Request
from world import CLIENT, World, react, reaction_args

from tallystick.protocol.operation import Emission

ENTRIES: Final = (
    Entry(
        CLIENT,
        "reaction_set",
        "write write_space R R -",
        callers="ok invalid",
        agents=CONTRIBUTORS,
        events="dev.kovee.space.reaction-set.v1",
        emission=Emission.ON_CHANGE,
        right=lambda s: reaction_args(s.things.space, s.things.question, "present"),
        examples=(
            Example(
                {
                    "space_id": "space-1",
                    "target_ref": "contrib-1",
                    "target_revision": 1,
                    "target_digest": DIGEST,
                    "key": "agree",
                    "state": "removed",
                }
            ),
        ),
    ),
)


def _cell(situation: str, state: str, rows: Rows, mark: str = "thanks") -> Cell:
    def make(world: World) -> Request:
        return react(world.project, world.space, KEY, world.evidence, state, mark)

    return Cell(Place("reaction_set", CLIENT), situation, make, lambda _: {"key": "another"}, rows)


CELLS: Final = (
    _cell("new", "present", (*command(), insert("reactions")), "new"),
    _cell("taken back", "removed", (*command(), update("reactions", "state", "revision", "updated_ms"))),
    _cell("as it is", "present", (insert("log"), insert("idempotency"))),  # tells nobody
)

PAGE: Final = Page(ENTRIES, CELLS)
