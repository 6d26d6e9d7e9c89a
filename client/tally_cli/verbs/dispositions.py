"""The verb `withdraw`: what no longer stands as it was said. It erases nothing; `erasure` has what does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tally_cli.calling import Call, Record, key_option, keyed, reason_option, text, verb
from tally_cli.choosing import pages, project_option
from tally_cli.verbs.contributions import find_said
from tallystick import calls

if TYPE_CHECKING:
    from tallystick.core import Call as Request


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
    project_id, found = find_said(call, project, ref)
    request: Request[object]
    if ref.startswith("rel-"):
        kind, request = "retract", calls.dispositions.relation_retract(project_id, ref, reason, **keyed(key))
    elif replacement is not None:
        kind, request = "supersede", calls.dispositions.contribution_supersede(
            project_id, ref, replacement, reason, **keyed(key)
        )  # fmt: skip
    else:
        kind, request = "withdraw", calls.dispositions.contribution_withdraw(
            project_id, ref, reason, **keyed(key)
        )  # fmt: skip

    def done() -> Record | None:
        earlier = disposed(call, project_id, found, kind)
        return earlier if earlier is not None and earlier.get("replacement_ref") == replacement else None

    said = call.change(request, done)
    call.made(said, "disposition_id", text(said, "kind"), ref)


def disposed(call: Call, project_id: str, said: Record, kind: str) -> Record | None:
    """The disposition of that kind which a contribution or relation has, where it has one."""
    ref = said.get("relation_id") or said.get("contribution_id")
    where = calls.SpaceRef(project_id, text(said, "space_id"), text(said, "origin_branch_id"))
    for each in pages(
        call,
        lambda after, snapshot: calls.dispositions.disposition_list(
            where, kind=kind, after=after, snapshot=snapshot
        ),
    ):
        if ref in each.values():
            return each
    return None
