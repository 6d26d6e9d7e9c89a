"""The verb for what no longer stands as it was said."""

from __future__ import annotations

import click

from tally_cli.calling import Call, key_option, keyed, text, verb
from tally_cli.choosing import choose_project, project_option
from tallystick import space_calls


@click.command()
@click.argument("ref", metavar="ID")
@click.option("--for", "replacement", metavar="ID", help="The contribution that stands in its place.")
@click.option(
    "--reason", metavar="CLASS", default="unspecified", show_default=True,
    help="A word for why: lowercase letters, digits and underscores. It is a label, and is never erased.",
)  # fmt: skip
@project_option
@key_option
@verb
def withdraw(
    call: Call, ref: str, replacement: str | None, reason: str, project: str | None, key: str | None
) -> None:
    """Say that a contribution no longer stands, or that a relation is no longer asserted.

    What was said is still shown, with this beside it; it is not erased. Once of each object, by its author, a
    steward of the space, or the owner. With --for, another contribution stands in its place.
    """
    if replacement is not None and ref.startswith("rel-"):
        raise click.UsageError("A relation has no replacement: leave --for out, and relate anew.")
    project_id = choose_project(call, project)
    if ref.startswith("rel-"):
        said = call.ask(space_calls.relation_retract(project_id, ref, reason, **keyed(key)))
    elif replacement is not None:
        superseded = space_calls.contribution_supersede(project_id, ref, replacement, reason, **keyed(key))
        said = call.ask(superseded)
    else:
        said = call.ask(space_calls.contribution_withdraw(project_id, ref, reason, **keyed(key)))
    call.made(said, "disposition_id", text(said, "kind"), ref)
