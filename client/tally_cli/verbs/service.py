"""The verbs `status`, `limits` and `diagnose`: what the daemon tells of itself."""

from __future__ import annotations

from typing import Final

import click

from tally_cli.calling import Call, Record, text, verb
from tally_cli.exits import Exit
from tally_cli.output import to_json
from tally_cli.starting import not_running
from tally_cli.trouble import Trouble
from tallystick import calls

_LEVELS: Final = {"pass": Exit.OK, "warn": Exit.OK, "fail": Exit.PROBLEM}


@click.command()
@verb
def status(call: Call) -> None:
    """Show the daemon as it stands. It is not started for that: exit code 3 where none runs."""
    call.may_start = False
    try:
        found = call.ask(calls.service.status())
    except Trouble as trouble:
        if trouble.kind != not_running(call.paths).kind or not call.printer.as_json:
            raise
        call.printer.object({"running": False, "socket": call.paths.client_socket})
        raise Trouble(trouble.exit_code, trouble.kind, "") from None
    if call.printer.as_json:
        call.printer.object({"running": True, **found})
        return
    call.printer.fields(_flat(found))


def _flat(record: Record) -> list[tuple[str, str]]:
    """A record's members as names with dots and texts."""
    pairs: list[tuple[str, str]] = []
    for name, value in record.items():
        if isinstance(value, dict):
            pairs += [(f"{name}.{inner}", shown) for inner, shown in _flat(value)]
        else:
            pairs.append((name, value if isinstance(value, str) else to_json(value)))
    return pairs


@click.command()
@verb
def limits(call: Call) -> None:
    """Print every limit that a client can meet, as the daemon has it."""
    served = call.ask(calls.service.served_limits())
    if call.printer.as_json:
        call.printer.object(served)
        return
    values = served["limits"]
    assert isinstance(values, dict)
    call.printer.table(["limit", "value"], [(name, str(value)) for name, value in values.items()])


@click.command()
@click.argument("checks", nargs=-1)
@verb
def diagnose(call: Call, checks: tuple[str, ...]) -> None:
    """Let the daemon check itself and its record: all CHECKS, or those named. Exit code 1 where one fails.

    Of the first four the result is always told, of the others only where they do not pass, or are named:
    store_bootstrap, journal_mode, audit_chain, artifact_store; integrity, suppressed_refusals,
    container_layer, undeclared_names.
    """
    found = call.ask(calls.service.diagnose(checks))
    if call.printer.as_json:
        call.printer.object(found)
    else:
        done = found["checks"]
        assert isinstance(done, list)
        rows = [each for each in done if isinstance(each, dict)]
        call.printer.table(
            ["check", "status", "detail"],
            [(text(each, "check"), text(each, "status"), text(each, "detail")) for each in rows],
        )
    if _LEVELS.get(text(found, "status"), Exit.PROBLEM) is not Exit.OK:
        raise Trouble(Exit.PROBLEM, "check-failed", "A check failed. The record was not changed.")
