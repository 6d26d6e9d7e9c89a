"""The verb `serve`: an assistant that answers invocations as they come."""

from __future__ import annotations

import signal

import click

from tally_cli.calling import Call, builtin, verb
from tally_cli.local import open_assistant, options_of
from tally_cli.output import complain
from tallystick import calls
from tallystick.protocol.families.invocations import Invocation
from tallystick.runner import serve as serve_all


@click.command()
@click.option("--assistant", metavar="MODULE:CLASS", required=True, help="The assistant that answers.")
@click.option(
    "--deployment", "deployments", multiple=True, default=(calls.DEPLOYMENT,), show_default=True,
    metavar="ID", help="Whose invocations it answers; repeatable.",
)  # fmt: skip
@verb
def serve(call: Call, assistant: str, deployments: tuple[str, ...]) -> None:
    """Run an assistant on the invocations of a deployment, the oldest first, until interrupted.

    It prints each invocation that it has answered. One that fails is told on stderr, with its reason on
    record, and the next one is taken. SIGTERM ends it as Ctrl-C does: the attempt that it has in hand is
    failed, and can be taken again where attempts remain.
    """
    runs = open_assistant(call, assistant)
    if call.may_start:
        call.start()
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def succeeded(invocation: Invocation) -> None:
        if call.printer.as_json:
            call.printer.object({"invocation": builtin(invocation)})
        else:
            call.printer.row(invocation.invocation_id, invocation.state)
        call.printer.flush()

    def failed(invocation: Invocation, error: Exception) -> None:
        complain(f"tally: {invocation.invocation_id}: {type(error).__name__}: {error}")

    serve_all(runs, deployments, on_success=succeeded, on_failure=failed, **options_of(call))
