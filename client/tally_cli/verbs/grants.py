"""The verbs `grant …`: what somebody may do in a space without taking part in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import click

from tally_cli.calling import Call, Record, key_option, keyed, text, verb
from tally_cli.choosing import (
    choose_place,
    pages,
    places_of,
    project_option,
    space_option,
    space_ref,
    spaces,
)
from tally_cli.exits import Exit
from tally_cli.trouble import Trouble
from tally_cli.verbs.agents import subject_ref
from tallystick import calls

_GRANT: Final = ("space_access_id", "status", "expires_at", "subject_ref", "allowed_actions")


@click.group()
def grant() -> None:
    """Give, list and take back grants: what somebody may do in a space without taking part in it."""


@grant.command("give")
@click.argument("subject")
@click.argument("actions", metavar="ACTION...", nargs=-1, required=True)
@click.option("--ceiling", metavar="CLASS", help="The highest classification that it reaches.")
@click.option("--until", metavar="TIME", help="When it ends, as 2031-01-31T09:00:00Z.")
@project_option
@space_option
@key_option
@verb
def grant_give(
    call: Call,
    subject: str,
    actions: tuple[str, ...],
    ceiling: str | None,
    until: str | None,
    project: str | None,
    space: str | None,
    key: str | None,
) -> None:
    """Let SUBJECT do each ACTION: read, contribute, steward, or an operation such as reaction_set.

    Each implies reading. SUBJECT is an id, or an agent's name.
    """
    given = calls.grants.space_access_grant_create(
        choose_place(call, project, space),
        subject_ref(call, subject),
        actions,
        classification_ceiling_ref=ceiling,
        expires_at=until,
        **keyed(key),
    )
    made = call.ask(given)
    call.made(made, "space_access_id", text(made, "subject_ref"), " ".join(actions))


@grant.command("list")
@project_option
@space_option
@verb
def grant_list(call: Call, project: str | None, space: str | None) -> None:
    """List a space's grants, those that ended too, in the order in which they were given."""
    call.tell_all(_grants(call, choose_place(call, project, space)), _GRANT)


def _grants(call: Call, where: calls.SpaceRef) -> Iterator[Record]:
    return pages(
        call,
        lambda after, snapshot: calls.grants.space_access_grant_list(where, after=after, snapshot=snapshot),
    )


@grant.command("revoke")
@click.argument("grant")
@project_option
@key_option
@verb
def grant_revoke(call: Call, grant: str, project: str | None, key: str | None) -> None:
    """Take the GRANT with that id back."""
    place, _ = _find(call, project, grant)

    def done() -> Record | None:
        _, now = _find(call, place, grant)
        return now if now["status"] == "revoked" else None

    request = calls.grants.space_access_grant_revoke(place, grant, **keyed(key))
    ended = call.change(request, done)
    call.made(ended, "space_access_id", text(ended, "status"))


def _find(call: Call, project: str | None, grant: str) -> tuple[str, Record]:
    """The project and the grant of that id, in whichever space it is: no operation shows a grant by itself.

    Raises `Trouble` (exit 1) where there is none.
    """
    for place in places_of(call, project):
        for each in (found for space in spaces(call, place) for found in _grants(call, space_ref(space))):
            if each["space_access_id"] == grant:
                return place, each
    words = f"not-found: there is no grant {grant} here. `tally grant list` shows those of a space."
    raise Trouble(Exit.PROBLEM, "not-found", words)
