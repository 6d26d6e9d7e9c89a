"""Which project and which space a verb is about.

What is named, by its id or its whole name, is taken; else the only one there is. Nothing is remembered
between calls, so that no call depends on an earlier one: where there are several and none is named, they are
listed. An object that is named by its id is looked for in every project: an id says all there is to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final
from unicodedata import normalize

import click
from click.core import ParameterSource

from tally_cli.calling import Call, Record, text
from tally_cli.exits import Exit
from tally_cli.trouble import Trouble
from tallystick import calls
from tallystick.core import Call as Request
from tallystick.errors import NotFound

LISTED_MAX: Final = 20
"""More would not help to choose."""
_SPACE_ID: Final = re.compile(r"space-[0-9a-f]{32}")

project_option = click.option(
    "-p", "--project", "project", metavar="PROJECT", envvar="TALLY_PROJECT",
    help="Id or name; where there is one only, it is that one. [TALLY_PROJECT]",
)  # fmt: skip
space_option = click.option(
    "-s", "--space", "space", metavar="SPACE", envvar="TALLY_SPACE",
    help="Id or title; where there is one only, it is that one. [TALLY_SPACE]",
)  # fmt: skip


def whole_pages(call: Call, page: Callable[[str | None, str | None], Request[object]]) -> Iterator[Record]:
    """A list, page by page over one snapshot; `page` makes a call of `after` and `snapshot`."""
    after: str | None = None
    snapshot: str | None = None
    while True:
        found = call.ask(page(after, snapshot))
        yield found
        after, snapshot = text(found, "next"), text(found, "snapshot")
        if not after:
            return


def pages(call: Call, page: Callable[[str | None, str | None], Request[object]]) -> Iterator[Record]:
    """All items of a list."""
    for found in whole_pages(call, page):
        items = found["items"]
        assert isinstance(items, list)
        yield from (item for item in items if isinstance(item, dict))


def projects(call: Call) -> Iterator[Record]:
    """All projects, in the order in which they were made."""
    return pages(call, lambda after, snapshot: calls.projects.project_list(after=after, snapshot=snapshot))


def spaces(call: Call, project_id: str) -> Iterator[Record]:
    """All spaces of a project, in the order in which they were made."""
    return pages(
        call, lambda after, snapshot: calls.projects.space_list(project_id, after=after, snapshot=snapshot)
    )


def choose_project(call: Call, wanted: str | None) -> str:
    """The id of the project that is meant. Raises `Trouble` (exit 2) where that is not clear."""
    if wanted is not None and re.fullmatch(r"proj-[0-9a-f]{32}", wanted):
        return wanted
    chosen = _only(list(projects(call)), wanted, "project", "name", "`tally init` makes one.")
    return text(chosen, "project_id")


def found_in(
    call: Call, project: str | None, request: Callable[[str], Request[object]]
) -> tuple[str, Record]:
    """In which project an object is, and what it is.

    `request` is made for each of `places_of` until one answers. Raises the daemon's ``NotFound`` where none
    has it.
    """
    missing: NotFound | None = None
    for place in places_of(call, project):
        try:
            return place, call.ask(request(place))
        except NotFound as error:
            missing = error
    if missing is None:
        raise _none_yet("project", "`tally init` makes one.")
    raise missing


def places_of(call: Call, project: str | None) -> list[str]:
    """The projects in which an object that is named by its id is looked for.

    One that is named on the command line is the only one. That of TALLY_PROJECT is the first: it says where
    to begin, and an object that is elsewhere is found all the same.
    """
    if project is not None and not is_from_environment():
        return [choose_project(call, project)]
    known = sorted(projects(call), key=lambda each: project not in (each["project_id"], each.get("name")))
    return [text(each, "project_id") for each in known]


def is_from_environment() -> bool:
    """Whether the project was named by TALLY_PROJECT, a habit of the shell, and not for this call."""
    source = click.get_current_context().get_parameter_source("project")
    return source is ParameterSource.ENVIRONMENT


def choose_space(call: Call, project_id: str, wanted: str | None) -> Record:
    """The space that is meant. Raises `Trouble` (exit 2) where that is not clear."""
    if wanted is not None and _SPACE_ID.fullmatch(wanted):
        return call.ask(calls.projects.space_show(project_id, wanted))
    hint = f"`tally space create --project {project_id} TITLE` makes one."
    return _only(list(spaces(call, project_id)), wanted, "space", "title", hint)


def space_ref(space: Record) -> calls.SpaceRef:
    """Where a space is, for the calls that write in it."""
    return calls.SpaceRef(text(space, "project_id"), text(space, "space_id"), text(space, "main_branch_id"))


def choose_place(call: Call, project: str | None, space: str | None) -> calls.SpaceRef:
    """Where the space is that is meant, in the project that is meant. Raises `Trouble` (exit 2)."""
    return space_ref(find_space(call, project, space))


def find_space(call: Call, project: str | None, wanted: str | None) -> Record:
    """The space that is meant, in the project that is meant; an id needs none. Raises `Trouble` (exit 2)."""
    if wanted is not None and _SPACE_ID.fullmatch(wanted):
        return found_in(call, project, lambda place: calls.projects.space_show(place, wanted))[1]
    return choose_space(call, choose_project(call, project), wanted)


def folded(name: str) -> str:
    """A name as it is looked up: one name may be typed in two ways that look the same (Unicode's NFC)."""
    return name if name.isascii() else normalize("NFC", name)


def _only(found: list[Record], wanted: str | None, what: str, name: str, hint: str) -> Record:
    matching = found
    if wanted is not None:
        same = folded(wanted)
        matching = [
            each for each in found if wanted == each.get(f"{what}_id") or same == folded(text(each, name))
        ]
    if len(matching) == 1:
        return matching[0]
    if not found:
        raise _none_yet(what, hint)
    shown = matching or found
    if wanted is not None and not matching:
        words = f"No {what} has the id or {name} {wanted!r}. There are:"
    elif wanted is not None:
        words = f"{len(matching)} have the {name} {wanted!r}; name one by its id:"
    else:
        words = f"There are {len(found)} {what}s; name one with --{what} or TALLY_{what.upper()}:"
    listed = [f"  {text(each, f'{what}_id')}  {text(each, name)}" for each in shown[:LISTED_MAX]]
    more = [f"  and {len(shown) - LISTED_MAX} more"] if len(shown) > LISTED_MAX else []
    raise Trouble(Exit.USAGE, f"which-{what}", "\n".join([words, *listed, *more]))


def _none_yet(what: str, hint: str) -> Trouble:
    return Trouble(Exit.USAGE, f"no-{what}", f"There is no {what} yet. {hint}")
