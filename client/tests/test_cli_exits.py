"""Every way to end has a code of its own, words for people, and an object for programs."""

import io
import sys
from pathlib import Path

import click
import pytest

from tally_cli.exits import MEANING, Exit
from tally_cli.output import Printer
from tally_cli.running import trouble_of
from tally_cli.trouble import Trouble
from tallystick import errors
from tallystick.paths import PathError
from tallystick.protocol import problems
from tallystick.protocol.ijson import JsonValue

PATH = {"path": "/run/tally.sock", "operation": "contribution_append", "key": "k1"}


def test_every_code_has_a_meaning() -> None:
    """The table of meanings covers each code, and codes are what shells can tell apart."""
    assert set(MEANING) == set(Exit)
    assert len({int(code) for code in Exit}) == len(Exit)
    assert all(0 <= code < 256 for code in Exit)


def _unknown() -> errors.TransportError:
    broken = errors.BadReply("cut off", **PATH)
    broken.outcome = "unknown"
    return broken


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (Trouble(Exit.PROBLEM, "x", "words"), Exit.PROBLEM, "x"),
        (errors.Unreachable("words", **PATH), Exit.UNREACHABLE, "unreachable"),
        (errors.SandboxBlocked("words", **PATH), Exit.SANDBOX, "sandbox-blocked"),
        (errors.TimedOut("words", **PATH), Exit.UNREACHABLE, "unreachable"),
        (errors.OutcomeUnknown("words", **PATH), Exit.OUTCOME_UNKNOWN, "outcome-unknown"),
        (_unknown(), Exit.OUTCOME_UNKNOWN, "outcome-unknown"),
        (errors.NotSendable("$.args", "words"), Exit.USAGE, "not-sendable"),
        (errors.KeyStoreError("words"), Exit.LOCAL_FILE, "file"),
        (errors.CursorStoreError("words"), Exit.LOCAL_FILE, "file"),
        (FileNotFoundError(2, "No such file", "x.txt"), Exit.LOCAL_FILE, "file"),
        (PathError("words"), Exit.USAGE, "path"),
        (click.UsageError("words"), Exit.USAGE, "usage"),
        (click.BadParameter("words"), Exit.USAGE, "usage"),
        (ZeroDivisionError("words"), Exit.FAULT, "fault"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_each_error_has_its_code(error: Exception, code: Exit, kind: str) -> None:
    """Each error of SDK, command line and system ends with its own code and word."""
    trouble = trouble_of(error)
    assert (trouble.exit_code, trouble.kind) == (code, kind)
    assert trouble.message


RECOVERIES: dict[str, JsonValue] = {
    "stale-revision": {"current_revision": 3},
    "cursor-expired": {"oldest_cursor": "kc1.0", "snapshot_boundary": "kc1.1"},
    "rate-limited": {"retry_after_seconds": 1},
}


@pytest.mark.parametrize("kind", sorted(errors.BY_KIND))
def test_a_problem_ends_with_one_and_its_kind(kind: str) -> None:
    """Each problem kind is exit code 1 under its own name; not so where the outcome is unknown."""
    told: dict[str, JsonValue] = {"type": f"urn:kovee:error:{kind}", "detail": "what to do"}
    if kind in RECOVERIES:
        told["ext"] = {f"dev.kovee.recovery.{kind}": RECOVERIES[kind]}
    problem = problems.decode_problem(told)
    refused = errors.BY_KIND[kind](problem, operation="space_show", key="k1")
    trouble = trouble_of(refused)
    assert (trouble.exit_code, trouble.kind) == (Exit.PROBLEM, kind)
    assert "what to do" in trouble.message
    refused.outcome = "unknown"
    assert trouble_of(refused).exit_code is Exit.OUTCOME_UNKNOWN


def test_an_unknown_outcome_says_how_to_find_out() -> None:
    """Whoever reads it learns the key, and the verb that asks again."""
    trouble = trouble_of(errors.OutcomeUnknown("words", **PATH))
    assert "tally resume" in trouble.message
    assert trouble.extra["key"] == "k1"


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


def test_raw_text_does_not_reach_a_terminal() -> None:
    """Raw text goes into pipes only; on a terminal asking for it is a usage error."""
    pipe, terminal = io.StringIO(), Terminal()
    Printer(as_json=False, stream=pipe).raw("\x1b[2J")
    assert pipe.getvalue() == "\x1b[2J"
    with pytest.raises(Trouble) as refused:
        Printer(as_json=False, stream=terminal).raw("\x1b[2J")
    assert refused.value.exit_code is Exit.USAGE
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_all_other_ways_to_print_make_text_visible(stream: type[io.StringIO]) -> None:
    """Rows, fields, tables, texts and JSON hold no character that acts."""
    acting = "a\x1b[2J\u202eb"
    for as_json in (False, True):
        out = stream()
        printer = Printer(as_json=as_json, stream=out)
        printer.row(acting, acting)
        printer.fields([("name", acting)])
        printer.table(["heading"], [[acting]])
        printer.text(acting)
        printer.object({acting: [acting]})
        assert "\x1b" not in out.getvalue()
        assert "\u202e" not in out.getvalue()
        assert out.getvalue().count("202e") == 7


def test_a_pipe_gets_lines_and_a_terminal_a_table() -> None:
    """The same rows are tab-separated lines without headings, or aligned under headings, ids whole."""
    pipe, terminal = io.StringIO(), Terminal()
    rows = [["contrib-1", "短い"], ["c", "x" * 200]]
    Printer(as_json=False, stream=pipe).table(["id", "text"], rows)
    Printer(as_json=False, stream=terminal).table(["id", "text"], rows)
    assert pipe.getvalue().splitlines() == ["contrib-1\t短い", "c\t" + "x" * 200]
    heading, first, second = terminal.getvalue().splitlines()
    assert (heading, first) == ("ID         TEXT", "contrib-1  短い")
    assert second.startswith("c          xxx")
    assert second.endswith("…")
    assert len(second) == 80


def test_the_program_never_signals_a_process_case_011() -> None:
    """No module of the CLI can send a signal: stopping is asked through the socket."""
    package = Path(sys.modules["tally_cli"].__path__[0])
    for module in package.rglob("*.py"):
        words = module.read_text(encoding="utf-8")
        for sender in ("os.kill", "killpg", "pidfd_send_signal", "send_signal", ".terminate("):
            assert sender not in words, module
