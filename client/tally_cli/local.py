"""Assistants that run in this process: loading them, running them, and keeping stdout for `tally` alone.

An assistant is somebody's program. What it prints goes to stderr (`keep_stdout`), however it prints: by
``print``, by a program that it starts, or when the process ends. What `tally` prints is never mixed with it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module

import click

from tally_cli.calling import Call
from tally_cli.exits import Exit
from tally_cli.output import complain
from tally_cli.trouble import Trouble
from tallystick.assistant import Assistant, InvocationContext
from tallystick.errors import TallyError
from tallystick.protocol.families.contributions import Contribution
from tallystick.protocol.families.invocations import Invocation
from tallystick.runner import RunOptions, run_one

HELD_SECONDS_MAX = 86_400.0
"""A lease runs no longer, so who waits for one waits no longer."""
_COUNTDOWN_SECONDS = 5
_STDOUT, _STDERR = 1, 2


class Remembering(Assistant):
    """Runs another assistant, and keeps what it wrote last."""

    def __init__(self, inner: Assistant) -> None:
        self._inner = inner
        self.answer: Contribution | None = None

    def run(self, ctx: InvocationContext) -> None:
        """See ``Assistant``."""
        self._inner.run(ctx)
        self.answer = ctx.last_contribution


def keep_stdout(call: Call) -> None:
    """From here on to the end of the process, only the printer writes to stdout; all else goes to stderr."""
    sys.stdout.flush()
    ours = os.fdopen(os.dup(_STDOUT), "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)
    os.dup2(_STDERR, _STDOUT)
    call.printer.move_to(ours)
    click.get_current_context().call_on_close(ours.close)


def open_assistant(call: Call, name: str) -> Assistant:
    """The assistant of that name, which has stdout no more. Raises `Trouble` (exit 7)."""
    keep_stdout(call)
    return load_assistant(name)


def load_assistant(name: str) -> Assistant:
    """An assistant of the class that ``module:Class`` names. Raises `Trouble` (exit 7).

    Modules are looked for where Python finds them, and last in the working directory, so that a file there
    never stands in the place of an installed one.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise click.UsageError(f"--assistant {name!r} is not of the form MODULE:CLASS")
    sys.path.append(os.getcwd())
    try:
        found = getattr(import_module(module), attribute)()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may ask for the end of the process
        raise _not_loaded(name, f"{type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(os.getcwd())
    if not isinstance(found, Assistant):
        raise _not_loaded(name, f"{attribute} is no subclass of tallystick.Assistant")
    return found


def _not_loaded(name: str, why: str) -> Trouble:
    words = f"The assistant {name} cannot be loaded: {why}"
    return Trouble(Exit.ASSISTANT_FAILED, "assistant-not-loaded", words)


def run_here(
    call: Call, assistant: Assistant, invocation_id: str, *, wait_seconds: float | None = None
) -> Invocation:
    """Run the assistant on the invocation. ``wait_seconds``: for how long another attempt's lease is waited
    for, with a countdown. Raises `Trouble` (exit 7).
    """
    options: RunOptions = {**options_of(call), "patience": call.waiting.goes_on}
    try:
        return run_one(
            assistant, invocation_id, claim_seconds=wait_seconds, on_held=countdown(call), **options
        )
    except TallyError:
        raise
    except Exception as error:
        raise Trouble(
            Exit.ASSISTANT_FAILED,
            "assistant-failed",
            f"The assistant raised {type(error).__name__}: {error}\n"
            f"`tally invocation show {invocation_id}` shows its invocation.",
            invocation_id=invocation_id,
        ) from error


def options_of(call: Call) -> RunOptions:
    """Where and as whom an assistant of this call works."""
    return {
        "runtime_dir": call.paths.runtime_dir,
        "data_dir": call.paths.data_dir,
        "actor": call.actor,
        "credential": call.credential,
    }


def countdown(call: Call) -> Callable[[int], None]:
    """Tells on stderr for how long a lease is held: at once, and then every few seconds."""
    told: set[int] = set()

    def tell(seconds: int) -> None:
        step = seconds // _COUNTDOWN_SECONDS
        if step not in told and not call.printer.as_json:
            told.add(step)
            complain(f"Another attempt has it for {seconds} s more; waiting for its lease to run out.")

    return tell
