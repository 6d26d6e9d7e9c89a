"""The verbs `call` and `resume`: any operation by its name, and what was sent and never answered."""

from __future__ import annotations

import sys

import click

from tally_cli.calling import Call, key_option, keyed, verb
from tally_cli.choosing import choose_project, is_from_environment, project_option
from tally_cli.exits import Exit
from tally_cli.trouble import Trouble
from tallystick import calls
from tallystick.protocol.limits import REQUEST_BYTES_MAX


@click.command()
@click.argument("operation")
@click.argument("arguments", metavar="[JSON|-]", default="{}")
@click.option(
    "--revision", type=click.IntRange(0), metavar="N", help="Refuse it unless what it changes stands there."
)
@project_option
@key_option
@verb
def call(
    call: Call, operation: str, arguments: str, revision: int | None, project: str | None, key: str | None
) -> None:
    """Call an OPERATION of the protocol by its name, and print its result as JSON.

    For what has no verb of its own: `tally docs reference/operations` has all of them. The arguments are
    a JSON object; `-` takes it from stdin.
    """
    options = keyed(key)
    if revision is not None:
        options["expected_revision"] = revision
    place = _place(call, operation, project)
    found = _object(arguments)
    call.printer.object(
        call.caller.raw(calls.any_operation.by_name(operation, found, project_id=place, **options)).value
    )


def _place(call: Call, operation: str, project: str | None) -> str | None:
    """The project that an operation is called in, None for one that takes none.

    TALLY_PROJECT is a habit of the shell and not said of this call: where an operation takes no project it is
    left out, and one on the command line is refused by name. Raises `Trouble` (exit 2).
    """
    from tallystick.protocol.operation import Placement, Socket
    from tallystick.protocol.registry import BY_SOCKET

    known = BY_SOCKET.get((Socket.CLIENT, operation))
    if known is None:
        return None  # `by_name` says so
    if known.project is not Placement.FORBIDDEN:
        wanted = project is not None or known.project is Placement.REQUIRED
        return choose_project(call, project) if wanted else None
    if project is not None and not is_from_environment():
        raise click.UsageError(f"{operation} takes no project: leave --project out.")
    return None


def _object(text: str) -> dict[str, object]:
    """Arguments as they are given. Raises `Trouble` (exit 2) where they are no JSON object."""
    from tallystick.protocol.ijson import NotStrict, parse

    if text == "-":
        raw = sys.stdin.buffer.read(REQUEST_BYTES_MAX + 1)
    else:
        raw = text.encode("utf-8", "surrogateescape")
    try:
        found = parse(raw)
    except NotStrict as error:
        words = f"The arguments are no JSON that the daemon takes. {error}"
        raise Trouble(Exit.USAGE, "usage", words) from error
    if not isinstance(found, dict):
        raise Trouble(Exit.USAGE, "usage", "The arguments must be a JSON object, such as '{\"limit\": 10}'.")
    return dict(found)


@click.command()
@verb
def resume(call: Call) -> None:
    """Send again what this user's calls sent and never saw answered: the same bytes, under the same keys.

    Each was applied once at most, and is now. Prints each operation with its key and how it ended.
    """
    for resumed in call.caller.resume():
        ended = "applied" if resumed.error is None else resumed.error.kind
        told = {"operation": resumed.pending.operation, "key": resumed.pending.key, "ended": ended}
        if call.printer.as_json:
            call.printer.object(told)
        else:
            call.printer.row(*told.values())
