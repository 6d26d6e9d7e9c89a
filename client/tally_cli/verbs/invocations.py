"""The verbs `invocation …`: what assistants were asked to do, doing it, asking again, and taking it back."""

from __future__ import annotations

from typing import Final

import click

from tally_cli.calling import Call, Record, key_option, keyed, text, verb
from tally_cli.choosing import choose_project, choose_space, found_in, pages, project_option
from tally_cli.exits import Exit
from tally_cli.outcomes import events_of, story
from tally_cli.shown import in_project
from tally_cli.trouble import Trouble
from tallystick import calls

_INVOCATION: Final = ("invocation_id", "state", "created_at", "deadline", "assistant_deployment_id")
ENDED: Final = ("succeeded", "failed", "canceled")
SHOWN: Final = {
    "inv": in_project(calls.invocations.invocation_show),
}
"""How an object is shown, by the beginning of its id."""


@click.group()
def invocation() -> None:
    """List, show, run, retry and cancel what assistants were asked to do. `ask` asks."""


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
    project_id, _ = _find(call, project, invocation)
    cancel = calls.invocations.invocation_cancel(project_id, invocation, reason=reason, **keyed(key))

    def done() -> Record | None:
        found = call.ask(calls.invocations.invocation_show(project_id, invocation))
        return found if found["state"] == "canceled" else None

    ended = call.change(cancel, done)
    call.made(ended, "invocation_id", text(ended, "state"))


@invocation.command("show")
@click.argument("invocation", metavar="INVOCATION")
@project_option
@verb
def invocation_show(call: Call, invocation: str, project: str | None) -> None:
    """Show an INVOCATION: how far it is, and what became of each attempt, with the reason if it failed."""
    project_id, record = _find(call, project, invocation)
    events = events_of(call, project_id, invocation)
    if call.printer.as_json:
        call.printer.object({"invocation": record, "events": list(events)})
        return
    call.printer.fields([(name, text(record, name)) for name in (*_INVOCATION, "max_attempts")])
    call.printer.table(("time", "what", "details"), story(events))


@invocation.command("run")
@click.argument("invocation", metavar="INVOCATION")
@click.option("--assistant", metavar="MODULE:CLASS", required=True, help="The assistant that answers it.")
@click.option("--wait", is_flag=True, help="Where another attempt has it, wait until its lease runs out.")
@project_option
@verb
def invocation_run(call: Call, invocation: str, assistant: str, wait: bool, project: str | None) -> None:
    """Run an assistant here and now on an INVOCATION that waits for one, and print its answer."""
    from tally_cli import local
    from tally_cli.verbs.asking import ended, tell

    runs = local.Remembering(local.open_assistant(call, assistant))
    project_id, _ = _find(call, project, invocation)
    found = call.client.invocation_show(project_id, invocation)
    if found.state in ENDED:
        raise ended(call, found)
    seconds = local.HELD_SECONDS_MAX if wait else 0.0
    tell(call, local.run_here(call, runs, invocation, wait_seconds=seconds), runs.answer)


@invocation.command("retry")
@click.argument("invocation", metavar="INVOCATION")
@click.option("--assistant", metavar="MODULE:CLASS", help="Run this assistant on it here and now.")
@click.option("--attempts", type=click.IntRange(1), metavar="N", help="How many attempts may fail.")
@click.option("--deadline", metavar="TIME", help="When it must be answered, RFC 3339; else within a day.")
@project_option
@key_option
@verb
def invocation_retry(
    call: Call,
    invocation: str,
    assistant: str | None,
    attempts: int | None,
    deadline: str | None,
    project: str | None,
    key: str | None,
) -> None:
    """Ask anew what an INVOCATION that failed or was canceled was to answer, from the same evidence.

    It is another invocation, on the same assembly. The one that ended stays as it is.
    """
    from tally_cli import local
    from tally_cli.verbs.asking import tell_outcome
    from tallystick.assistant import ask_again

    runs = None if assistant is None else local.Remembering(local.open_assistant(call, assistant))
    project_id, _ = _find(call, project, invocation)
    ended = call.client.invocation_show(project_id, invocation)
    if ended.state not in ENDED:
        words = f"{invocation} is {ended.state}: `tally invocation run` runs an assistant on it."
        raise Trouble(Exit.PROBLEM, "not-ended", words, invocation_id=invocation, state=ended.state)
    asked = ask_again(call.client, ended, deadline=deadline, max_attempts=attempts, key=key)
    tell_outcome(call, asked, runs, wait_seconds=None if key is None else local.HELD_SECONDS_MAX)


def _find(call: Call, project: str | None, invocation: str) -> tuple[str, Record]:
    """In which project an invocation is, and what it is; its id needs no project."""
    return found_in(call, project, lambda place: calls.invocations.invocation_show(place, invocation))
