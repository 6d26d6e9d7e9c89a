"""``tallyd``: arguments, environment, exit codes. It stays in the foreground.

``run`` is what ``main`` and the test launchers share: they differ in the clock and in the VFS under the
database.
"""

from __future__ import annotations

import argparse
import gc
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

import trio

from tallyd.clerk.hooks import AbortHook
from tallyd.door import raise_soft_limit
from tallyd.families.agents import is_agents_directory
from tallyd.families.service.about import implementation_version
from tallyd.service import config, logs
from tallyd.service.daemon import IGNORED_SIGNALS, Daemon, Options, serve
from tallyd.service.ready import Readiness
from tallyd.store import process
from tallyd.store.ambient import Ambient, CheckedAmbient, SystemAmbient
from tallyd.store.lacks import lack_of
from tallyd.store.refusals import ExitCode, StartRefused
from tallystick.paths import PathError, resolve

ABORT_VARIABLE = "TALLYD_ABORT"
HOLD_VARIABLE = "TALLYD_BATCH_HOLD"

_GARBAGE_OBJECTS: Final = 10_000
"""Objects that may be made, and not freed, between two looks for cycles: a batch of 64 makes fewer."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise StartRefused(ExitCode.BAD_CONFIGURATION, f"{message}; tallyd --help explains each argument")


def _open_descriptor(text: str) -> int:
    """An argument that names a descriptor which this process was given."""
    try:
        descriptor = int(text)
        os.fstat(descriptor)
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(f"{text!r} is no descriptor that is open here") from None
    return descriptor


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tallyd", description="The daemon that owns the record, and the only door to it."
    )
    parser.add_argument(
        "--data-dir", help="where the database is (default: $TALLY_DATA_DIR, or below the home directory)"
    )
    parser.add_argument(
        "--runtime-dir", help="where the sockets are (default: $TALLY_RUNTIME_DIR, or the session's)"
    )
    parser.add_argument(
        "--adopt", metavar="STORE_ID", help="go on, in a new epoch, from a store that was put back"
    )
    parser.add_argument(
        "--ready-fd", type=_open_descriptor, help="write one line to this descriptor when ready"
    )
    parser.add_argument("--log-format", choices=("text", "json"), default="text")
    parser.add_argument("--test-hooks", action="store_true", help="take the crash hooks of the test suites")
    parser.add_argument("--version", action="version", version=f"tallyd {implementation_version()}")
    return parser


def _hooks(given: bool, env: Mapping[str, str]) -> tuple[AbortHook | None, int]:
    """The armed hooks. Raises StartRefused where one is set that may not be, or that cannot be read."""
    armed, hold = env.get(ABORT_VARIABLE), env.get(HOLD_VARIABLE)
    if not given:
        for name, value in ((ABORT_VARIABLE, armed), (HOLD_VARIABLE, hold)):
            if value is not None:
                raise StartRefused(
                    ExitCode.TEST_HOOKS_WITHOUT_FLAG,
                    f"{name} is set, which ends the daemon in the middle of a command, and --test-hooks is "
                    f"not given; "
                    f"unset {name}",
                )
        return None, 0
    try:
        return None if armed is None else AbortHook(armed), int(hold or 0)
    except ValueError as error:
        raise StartRefused(ExitCode.BAD_CONFIGURATION, str(error)) from None


def _refuse_agents_directory(runtime_dir: str) -> None:
    """Whoever is shown an agent's directory must not make its own daemon there, or be the owner in it.

    Raises StartRefused.
    """
    if is_agents_directory(runtime_dir):
        owners = os.path.dirname(os.path.dirname(runtime_dir))
        raise StartRefused(
            ExitCode.BAD_DIRECTORY,
            f"{runtime_dir} is an agent's directory of sockets, which the daemon of {owners} makes. Start "
            f"that one, or name another runtime directory with --runtime-dir or TALLY_RUNTIME_DIR",
        )


def run(argv: Sequence[str], ambient: Ambient, vfs: str | None = None) -> int:
    """Runs the daemon to its end; returns its exit code. 0 after a drain, else one of ``ExitCode``."""
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # until the daemon serves, and can say so
    try:
        daemon = _opened(_parser().parse_args(argv), ambient, vfs)
    except StartRefused as refused:
        return _refused(refused.exit_code, str(refused))
    except PathError as error:
        return _refused(ExitCode.BAD_CONFIGURATION, str(error))
    except Exception as error:
        return _ended(error)
    _settle_memory()
    try:
        return trio.run(serve, daemon)
    except Exception as error:
        return _ended(error)
    finally:
        logs.flush()


def _ended(error: Exception) -> int:
    """An error that nothing below has answered: the process ends with it, and with a code of the table."""
    lack = lack_of(error)
    if lack is not None:
        return _refused(ExitCode.RESOURCES_LACKING, f"{lack}. Make room or raise the limit, then start again")
    logging.getLogger("tallyd").critical("the daemon failed, which is a defect", exc_info=error)
    return _refused(ExitCode.DEFECT, "a fault of its own, which the log names, ended the daemon")


def _opened(arguments: argparse.Namespace, ambient: Ambient, vfs: str | None) -> Daemon:
    """The daemon, open and not yet serving. Raises StartRefused, PathError."""
    logs.set_up(arguments.log_format)
    raise_soft_limit()
    hook, hold = _hooks(arguments.test_hooks, os.environ)
    paths = resolve(arguments.data_dir, arguments.runtime_dir)
    _refuse_agents_directory(paths.runtime_dir)
    for missing in process.harden():
        logging.getLogger("tallyd").warning("%s", missing)
    options = Options(
        paths=paths,
        adopt=arguments.adopt,
        hook=hook,
        batch_hold=hold,
        vfs=vfs,
        settings=config.load(paths.data_dir),
    )
    daemon = Daemon(options, CheckedAmbient(ambient), Readiness(arguments.ready_fd, os.environ, paths))
    daemon.open()
    return daemon


def _refused(code: ExitCode, sentence: str) -> int:
    """The sentence is the last line: what was logged comes before it."""
    logs.flush()
    sys.stderr.write(f"tallyd: {sentence}\n")
    return int(code)


def _settle_memory() -> None:
    """What start-up made stays for life: the garbage collector need not look at it again in the middle of a
    batch. Nor need it run for each few requests: what they make goes by its reference counts.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE_OBJECTS, *gc.get_threshold()[1:])


def main() -> None:
    """The console script."""
    sys.exit(run(sys.argv[1:], SystemAmbient()))
