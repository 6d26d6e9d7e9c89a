"""The verb `secrets`: what today's list of secrets finds in what was said before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import click

from tally_cli.calling import Call, Record, text, verb
from tally_cli.choosing import (
    choose_project,
    find_space,
    pages,
    project_option,
    projects,
    space_option,
    space_ref,
    spaces,
)
from tally_cli.output import complain
from tallystick import calls


@click.group()
def secrets() -> None:
    """Look for secrets in what is on record."""


@secrets.command()
@project_option
@space_option
@verb
def scan(call: Call, project: str | None, space: str | None) -> None:
    """List the contributions in which today's list of secrets finds something: the rule, and how often.

    The secret itself is never printed. Nothing is changed: `tally redact` erases what such a contribution
    says. All projects that you see are looked through, or the one, or the one space, that is named. Reading
    what is sensitive leaves a record, as any reading of it does.
    """
    from tallystick.protocol.secrets import redact_value

    looked = 0
    rows: list[Record] = []
    for where in _places(call, project, space):
        for said in _contributions(call, where):
            looked += 1
            rows += [
                {
                    "project_id": where.project_id,
                    "contribution_id": said["contribution_id"],
                    "rule": rule,
                    "count": times,
                }
                for rule, times in redact_value(said.get("body_parts"))[1]
            ]
    call.tell_all(rows, ("contribution_id", "rule", "count"))
    if not call.printer.as_json:
        found = len({text(row, "contribution_id") for row in rows})
        complain(f"{looked:,} contributions were looked through; {found:,} hold what looks like a secret.")


def _places(call: Call, project: str | None, space: str | None) -> Iterator[calls.SpaceRef]:
    """The spaces that are looked through."""
    if space is not None:
        yield space_ref(find_space(call, project, space))
        return
    named = [choose_project(call, project)] if project is not None else None
    for project_id in named or [text(each, "project_id") for each in projects(call)]:
        yield from map(space_ref, spaces(call, project_id))


def _contributions(call: Call, where: calls.SpaceRef) -> Iterator[Record]:
    """What was said in a space; without what is withheld from the caller, and what is erased says nothing."""
    found = pages(
        call,
        lambda after, snapshot: calls.contributions.disposed_contribution_list(
            where, after=after, snapshot=snapshot
        ),
    )
    return (cast(Record, each["contribution"]) for each in found)
