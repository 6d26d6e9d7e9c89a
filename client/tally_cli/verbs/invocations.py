"""The verbs `invocation …`: what assistants were asked to do, and taking it back."""

from __future__ import annotations

from typing import Final

import click

from tally_cli.calling import Call, Record, key_option, keyed, text, verb
from tally_cli.choosing import choose_project, choose_space, found_in, pages, project_option
from tally_cli.shown import in_project
from tallystick import calls

_INVOCATION: Final = ("invocation_id", "state", "created_at", "deadline", "assistant_deployment_id")
SHOWN: Final = {
    "inv": in_project(calls.invocations.invocation_show),
}
"""How an object is shown, by the beginning of its id."""


@click.group()
def invocation() -> None:
    """List and cancel what assistants were asked to do. `ask` asks; `show` shows one."""


@invocation.command("list")
@click.option("--state", metavar="STATE", help="Only those in that state, such as queued or running.")
@click.option("-s", "--space", "space", metavar="SPACE", help="Only those in that space, by its id or title.")
@project_option
@verb
def invocation_list(call: Call, state: str | None, space: str | None, project: str | None) -> None:
    """List a project's invocations, in the order in which they were asked for."""
    project_id = choose_project(call, project)
    space_id = None if space is None else text(choose_space(call, project_id, space), "space_id")
    found = pages(
        call,
        lambda after, snapshot: calls.invocations.invocation_list(
            project_id, space_id=space_id, state=state, after=after, snapshot=snapshot
        ),
    )
    call.tell_all(found, _INVOCATION)


@invocation.command("cancel")
@click.argument("invocation", metavar="INVOCATION")
@click.option("--reason", metavar="TEXT", help="Why, for whoever reads the record.")
@project_option
@key_option
@verb
def invocation_cancel(
    call: Call, invocation: str, reason: str | None, project: str | None, key: str | None
) -> None:
    """Cancel an INVOCATION that has not ended: its worker writes nothing more. What it wrote stands."""
    project_id, _ = found_in(
        call, project, lambda place: calls.invocations.invocation_show(place, invocation)
    )
    cancel = calls.invocations.invocation_cancel(project_id, invocation, reason=reason, **keyed(key))

    def done() -> Record | None:
        found = call.ask(calls.invocations.invocation_show(project_id, invocation))
        return found if found["state"] == "canceled" else None

    ended = call.change(cancel, done)
    call.made(ended, "invocation_id", text(ended, "state"))
