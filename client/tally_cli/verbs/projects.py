"""The verbs `project …` and `space …`: where contributions stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import click

from tally_cli.calling import Call, Record, key_option, keyed, text, verb
from tally_cli.choosing import (
    choose_place,
    choose_project,
    find_space,
    project_option,
    projects,
    space_option,
    spaces,
)
from tally_cli.shown import anywhere, in_project
from tallystick import calls

if TYPE_CHECKING:
    from tallystick.core import Call as Request

_PROJECT: Final = ("project_id", "status", "created_at", "name")
_SPACE: Final = ("space_id", "status", "visibility", "created_at", "title")


SHOWN: Final = {
    "proj": anywhere(calls.projects.project_show),
    "space": in_project(calls.projects.space_show),
}
"""How an object is shown, by the beginning of its id."""


def _tell_fields(call: Call, record: Record) -> None:
    if call.printer.as_json:
        call.printer.object(record)
    else:
        call.printer.fields((name, text(record, name)) for name in record)


@click.group()
def project() -> None:
    """Make, list, show and rename projects. A project has an order of events and an audience of its own."""


@project.command("create")
@click.argument("name")
@key_option
@verb
def project_create(call: Call, name: str, key: str | None) -> None:
    """Make a project called NAME."""
    made = call.ask(calls.projects.project_create(name, **keyed(key)))
    call.made(made, "project_id", text(made, "name"))


@project.command("list")
@verb
def project_list(call: Call) -> None:
    """List all projects, in the order in which they were made."""
    call.tell_all(projects(call), _PROJECT)


@project.command("show")
@click.argument("project", required=False, envvar="TALLY_PROJECT")
@verb
def project_show(call: Call, project: str | None) -> None:
    """Show the PROJECT with that id or name, or the only one."""
    _tell_fields(call, call.ask(calls.projects.project_show(choose_project(call, project))))


@project.command("rename")
@click.argument("name")
@project_option
@key_option
@verb
def project_rename(call: Call, name: str, project: str | None, key: str | None) -> None:
    """Give a project another NAME. The old one stands in the events that told it."""
    renamed = call.ask(
        calls.projects.project_update_metadata(choose_project(call, project), name, **keyed(key))
    )
    call.made(renamed, "project_id", text(renamed, "name"))


@click.group()
def space() -> None:
    """Make, list, show, rename, close and open spaces.

    A space holds contributions to one matter, and what relates them.
    """


@space.command("create")
@click.argument("title")
@project_option
@click.option(
    "--visibility", type=click.Choice(["project", "restricted"]), default="project", show_default=True,
    help="Who may see it: the project's members, or those who were let in.",
)  # fmt: skip
@key_option
@verb
def space_create(call: Call, title: str, project: str | None, visibility: str, key: str | None) -> None:
    """Make a space called TITLE."""
    project_id = choose_project(call, project)
    made = call.ask(calls.projects.space_create(project_id, title, visibility=visibility, **keyed(key)))
    call.made(made, "space_id", text(made, "title"))


@space.command("list")
@project_option
@verb
def space_list(call: Call, project: str | None) -> None:
    """List all spaces of a project, in the order in which they were made."""
    call.tell_all(spaces(call, choose_project(call, project)), _SPACE)


@space.command("show")
@click.argument("space", required=False, envvar="TALLY_SPACE")
@project_option
@verb
def space_show(call: Call, space: str | None, project: str | None) -> None:
    """Show the SPACE with that id or title, or the only one."""
    _tell_fields(call, find_space(call, project, space))


@space.command("rename")
@click.argument("title")
@project_option
@space_option
@key_option
@verb
def space_rename(call: Call, title: str, project: str | None, space: str | None, key: str | None) -> None:
    """Give a space another TITLE. The old one stands in the events that told it."""
    where = choose_place(call, project, space)
    renamed = call.ask(calls.projects.space_update_metadata(where, title=title, **keyed(key)))
    call.made(renamed, "space_id", text(renamed, "title"))


def _lifecycle(name: str, change: Callable[..., Request[object]], after: tuple[str, str], words: str) -> None:
    """A verb that changes what may be done in a space; `after` is a member and the value that it then has."""

    @space.command(name, help=words)
    @click.argument("space", required=False, envvar="TALLY_SPACE")
    @project_option
    @key_option
    @verb
    def run(call: Call, space: str | None, project: str | None, key: str | None) -> None:
        where = choose_place(call, project, space)

        def done() -> Record | None:
            found = call.ask(calls.projects.space_show(where.project_id, where.space_id))
            member, value = after
            return found if found[member] == value else None

        changed = call.change(change(where, **keyed(key)), done)
        call.made(changed, "space_id", text(changed, "status"), text(changed, "visibility"))


_lifecycle(
    "freeze",
    calls.projects.space_freeze,
    ("status", "frozen"),
    "Let nothing more be said in the SPACE until it is reopened.",
)
_lifecycle(
    "reopen",
    calls.projects.space_reopen,
    ("status", "open"),
    "Let the frozen SPACE be written in again.",
)
_lifecycle(
    "archive",
    calls.projects.space_archive,
    ("status", "archived"),
    "Close the SPACE for good. It is still read.",
)
_lifecycle(
    "restrict",
    calls.projects.space_restrict,
    ("visibility", "restricted"),
    "Show the SPACE to those alone who take part in it or have a grant. The way back is a prepared widening.",
)
