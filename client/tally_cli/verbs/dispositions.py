"""The verb `withdraw`: what no longer stands as it was said. It erases nothing; `erasure` has what does."""

from __future__ import annotations

import click

from tally_cli.calling import Call, key_option, keyed, reason_option, text, verb
from tally_cli.choosing import choose_project, project_option
from tallystick import calls


@click.command()
@click.argument("ref", metavar="ID")
@click.option("--for", "replacement", metavar="ID", help="The contribution that stands in its place.")
@reason_option
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
        said = call.ask(calls.dispositions.relation_retract(project_id, ref, reason, **keyed(key)))
    elif replacement is not None:
        superseded = calls.dispositions.contribution_supersede(
            project_id, ref, replacement, reason, **keyed(key)
        )
        said = call.ask(superseded)
    else:
        said = call.ask(calls.dispositions.contribution_withdraw(project_id, ref, reason, **keyed(key)))
    call.made(said, "disposition_id", text(said, "kind"), ref)
