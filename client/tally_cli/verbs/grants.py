"""The verbs `grant …`: what somebody may do in a space without taking part in it."""

from __future__ import annotations

from typing import Final

import click

from tally_cli.calling import Call, key_option, keyed, text, verb
from tally_cli.choosing import choose_place, choose_project, pages, project_option, space_option
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

    Each implies reading.
    """
    given = calls.grants.space_access_grant_create(
        choose_place(call, project, space),
        subject,
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
    where = choose_place(call, project, space)
    given = pages(
        call,
        lambda after, snapshot: calls.grants.space_access_grant_list(where, after=after, snapshot=snapshot),
    )
    call.tell_all(given, _GRANT)


@grant.command("revoke")
@click.argument("grant")
@project_option
@key_option
@verb
def grant_revoke(call: Call, grant: str, project: str | None, key: str | None) -> None:
    """Take the GRANT with that id back."""
    project_id = choose_project(call, project)
    ended = call.ask(calls.grants.space_access_grant_revoke(project_id, grant, **keyed(key)))
    call.made(ended, "space_access_id", text(ended, "status"))
