"""Runs one call of ``tally`` and turns every way to end it into words on stderr and an exit code.

With ``--json`` the words are one JSON object on a line: ``{"error": {"exit": …, "kind": …, "message": …}}``,
with what else a program can use beside them. A traceback is shown only with ``TALLY_DEBUG=1``.
"""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

import click

from tally_cli.exits import Exit
from tally_cli.output import abandon_stdout, complain, prepare_streams, to_json
from tally_cli.root import COMPLETION_VARIABLE, tally
from tally_cli.trouble import Trouble
from tallystick.errors import (
    AssistantExited,
    CursorStoreError,
    KeyStoreError,
    LeaseLost,
    NotSendable,
    OtherStore,
    ProblemError,
    SandboxBlocked,
    TallyError,
    TransportError,
    WrongActor,
)
from tallystick.paths import PathError

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Of an error without a file's name: stdout takes no more. Files that `tally` writes are named in theirs."""


def run(arguments: Sequence[str]) -> int:
    """Run ``tally`` with `arguments`; returns its exit code. Nothing is left in a buffer."""
    prepare_streams()
    try:
        trouble = _outcome(arguments)
    except BrokenPipeError:
        abandon_stdout()
        return Exit.PIPE_CLOSED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    return Exit.OK if trouble is None else _end(trouble, as_json="--json" in arguments)


def _outcome(arguments: Sequence[str]) -> Trouble | None:
    """Run it and hand over all that it printed; what it ended with, None where all went well."""
    trouble = _tried(lambda: _invoke(list(arguments)))
    lost = _tried(sys.stdout.flush)
    return trouble or lost


def _tried(step: Callable[[], None]) -> Trouble | None:
    try:
        step()
    except BrokenPipeError:
        raise
    except Exception as error:
        return trouble_of(error)
    return None


def _invoke(arguments: list[str]) -> None:
    """Parse and run. Not by ``tally.main``, which has endings of its own for closed pipes and interrupts."""
    if COMPLETION_VARIABLE in os.environ:
        tally.main(arguments, prog_name="tally", complete_var=COMPLETION_VARIABLE)
    try:
        with tally.make_context("tally", arguments) as context:
            tally.invoke(context)
    except click.exceptions.Exit:
        pass  # --help and --version have said all


def _end(trouble: Trouble, *, as_json: bool) -> int:
    if os.environ.get("TALLY_DEBUG") == "1":
        import traceback

        traceback.print_exception(trouble.__cause__ or trouble)
    if not trouble.message:  # the verb has said it all
        return trouble.exit_code
    if as_json:
        members = {"exit": trouble.exit_code, "kind": trouble.kind, "message": trouble.message}
        complain(to_json({"error": {**members, **trouble.extra}}))
    else:
        complain(f"tally: {trouble.message}")
    return trouble.exit_code


def trouble_of(error: Exception) -> Trouble:
    """Any error as `Trouble`, which says how ``tally`` ends; the error itself is its cause."""
    if isinstance(error, Trouble):
        return error
    trouble = _known(error)
    trouble.__cause__ = error
    return trouble


def _known(error: Exception) -> Trouble:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return Trouble(Exit.USAGE, "usage", f"Say what to do.\n{error.message}")
    if isinstance(error, click.ClickException):
        return Trouble(Exit.USAGE, "usage", _usage_words(error))
    if isinstance(error, PathError):
        return Trouble(Exit.USAGE, "path", str(error))
    if isinstance(error, TallyError):
        return _from_sdk(error)
    if isinstance(error, OSError) and error.filename is not None:
        return Trouble(Exit.LOCAL_FILE, "file", f"{error.filename}: {error.strerror}")
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        abandon_stdout()
        words = (
            f"stdout cannot be written: {error.strerror}. What was asked for was done, and its output is lost"
            " or cut. Make room, or send it elsewhere."
        )
        return Trouble(Exit.LOCAL_FILE, "output", words)
    return Trouble(
        Exit.FAULT,
        "fault",
        f"A fault of tally itself: {type(error).__name__}: {error}. TALLY_DEBUG=1 shows where it happened.",
    )


def _from_sdk(error: TallyError) -> Trouble:
    if isinstance(error, ProblemError):
        return _from_problem(error)
    if isinstance(error, TransportError):
        if error.outcome == "unknown":
            return _unknown(str(error), error.operation, error.key)
        if isinstance(error, WrongActor):
            return Trouble(Exit.USAGE, "wrong-actor", f"{error} TALLY_ACTOR names the actor.")
        if isinstance(error, OtherStore):
            return Trouble(Exit.PROBLEM, error.kind, str(error), socket=error.path)
        if isinstance(error, SandboxBlocked):
            return Trouble(Exit.SANDBOX, "sandbox-blocked", str(error), socket=error.path)
        return Trouble(Exit.UNREACHABLE, "unreachable", str(error), socket=error.path)
    if isinstance(error, NotSendable):
        return Trouble(Exit.USAGE, "not-sendable", str(error), place=error.place)
    if isinstance(error, AssistantExited):
        return Trouble(Exit.ASSISTANT_FAILED, "assistant-failed", str(error))
    if isinstance(error, KeyStoreError | CursorStoreError):
        return Trouble(Exit.LOCAL_FILE, "file", str(error))
    return Trouble(Exit.FAULT, "fault", str(error))


def _from_problem(error: ProblemError) -> Trouble:
    if error.outcome == "unknown":
        return _unknown(str(error), error.operation, error.key)
    code = Exit.ASSISTANT_FAILED if isinstance(error, LeaseLost) else Exit.PROBLEM
    extra: dict[str, object] = {"operation": error.operation, "outcome": error.outcome}
    if error.ext:
        extra["ext"] = error.ext
    return Trouble(code, error.kind, f"{error.kind}: {error.detail}", **extra)


def _unknown(words: str, operation: str, key: str | None) -> Trouble:
    return Trouble(
        Exit.OUTCOME_UNKNOWN,
        "outcome-unknown",
        f"{words}\n`tally resume` sends it again, under the same key.",
        operation=operation,
        key=key,
    )


def _usage_words(error: click.ClickException) -> str:
    words = error.format_message()
    context = getattr(error, "ctx", None)
    if isinstance(context, click.Context):
        words += f"\n{context.get_usage()}\nTry `{context.command_path} --help`."
    return words
