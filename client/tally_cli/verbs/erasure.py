"""The verbs `redact` and `erase`: what must not be readable any more is erased, for good.

On a terminal they ask first, unless ``--yes`` is given; in a script they do as they are told.
"""

from __future__ import annotations

import sys

import click

from tally_cli.calling import Call, key_option, keyed, reason_option, text, verb
from tally_cli.choosing import project_option
from tally_cli.exits import Exit
from tally_cli.trouble import Trouble
from tally_cli.verbs.contributions import find_said
from tally_cli.verbs.dispositions import disposed
from tallystick import calls

yes_option = click.option("--yes", is_flag=True, help="Do not ask on a terminal.")


@click.command()
@click.argument("ref", metavar="CONTRIBUTION")
@reason_option
@yes_option
@project_option
@key_option
@verb
def redact(call: Call, ref: str, reason: str, yes: bool, project: str | None, key: str | None) -> None:
    """Erase what a contribution says, and the artifacts that it carries. It cannot be undone.

    The record of who said something and when stays, with this beside it; what was said cannot be read any
    more. Once of each contribution, by a steward of the space or the owner. On a terminal it asks first.
    """
    project_id, found = find_said(call, project, ref)
    if not yes:
        _ask_first(
            call, f"Erase what {ref} says? This cannot be undone. Who said it and when stays on record."
        )
    request = calls.erasure.contribution_redact(project_id, ref, reason, **keyed(key))
    said = call.change(request, lambda: disposed(call, project_id, found, "redact"))
    call.made(said, "disposition_id", text(said, "kind"), ref)


@click.command()
@click.argument("ref", metavar="ID")
@reason_option
@yes_option
@key_option
@verb
def erase(call: Call, ref: str, reason: str, yes: bool, key: str | None) -> None:
    """Erase the content of an object or an event that is no contribution. It cannot be undone.

    ID is an event (evt-…): what it tells; an artifact (art-…): its bytes; or another object, such as a
    project or a space: its names, titles and texts in every event that it had. A name reads "[erased]"
    afterwards. The record of who did something and when stays. For a contribution there is `redact`. On a
    terminal it asks first.
    """
    if ref.startswith("contrib-"):
        raise click.UsageError(f"{ref} is a contribution: `tally redact {ref}` erases what it says.")
    if not yes:
        _ask_first(
            call, f"Erase the content of {ref}? This cannot be undone. Who did what and when stays on record."
        )
    named = {"event_id": ref} if ref.startswith("evt-") else {"object_ref": ref}
    said = call.ask(calls.erasure.erase(reason, **named, **keyed(key)))
    call.made(said, "erasure_id", text(said, "state"), ref)


def _ask_first(call: Call, question: str) -> None:
    """Ask a person at a terminal. Raises `Trouble` (exit 2) where they do not say yes."""
    if call.printer.as_json or not sys.stdin.isatty():
        return
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:
        raise KeyboardInterrupt from None  # click's word for it, which `running` does not know
    if not agreed:
        raise Trouble(Exit.USAGE, "declined", "Nothing was erased.")
