"""Verbs about projects and spaces: where contributions stand."""

from __future__ import annotations

from typing import Final

import click

from tally_cli.calling import Call, Record, key_option, keyed, text, verb
from tally_cli.choosing import choose_project, choose_space, project_option, projects, spaces
from tallystick import calls

_PROJECT: Final = ("project_id", "status", "created_at", "name")
_SPACE: Final = ("space_id", "status", "visibility", "created_at", "title")


def _tell_fields(call: Call, record: Record) -> None:
    if call.printer.as_json:
        call.printer.object(record)
    else:
        call.printer.fields((name, text(record, name)) for name in record)


@click.group()
def project() -> None:
    """Make, list and show projects. A project has an order of events and an audience of its own."""


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


@click.group()
def space() -> None:
    """Make, list and show spaces. A space holds contributions to one matter, and what relates them."""


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
    made = call.ask(calls.spaces.space_create(project_id, title, visibility=visibility, **keyed(key)))
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
    _tell_fields(call, choose_space(call, choose_project(call, project), space))

