"""What came of a question: asked again, run, retried, served; whatever an assistant does to the process."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from tally_program import Tally

from tally_cli.exits import Exit
from tallystick import WorkerClient
from tallystick.protocol.limits import LEASE_TERM_SECONDS_MIN

ASSISTANT = '''
import atexit, os, signal, subprocess, sys
from tallystick import Assistant


class Counts(Assistant):
    def run(self, ctx):
        ctx.contribute("synthesis", f"{len(ctx.items)} items", addresses=ctx.question)


class Loud(Assistant):
    def __init__(self):
        print("being made")
        atexit.register(print, "at the end")

    def run(self, ctx):
        print("by print")
        subprocess.run(["echo", "by a program"])
        os.write(1, b"by the descriptor\\n")
        ctx.contribute("synthesis", "quiet")


class Exits(Assistant):
    def run(self, ctx):
        print("{")
        sys.exit(0)


class Interrupted(Assistant):
    def run(self, ctx):
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()


class Breaks(Assistant):
    def run(self, ctx):
        raise RuntimeError("no idea")


class Mixed(Assistant):
    """Asks for the end of the process once, then answers."""
    def run(self, ctx):
        text = ctx.question.body_parts[0].text
        if text == "exit":
            sys.exit(3)
        ctx.contribute("synthesis", "answered " + text)
'''


@pytest.fixture
def mine(tally: Tally, space: str) -> str:
    """Assistants in the working directory, and a space to ask in."""
    (tally.root / "assistants_of_mine.py").write_text(ASSISTANT)
    (tally.root / "wants_to_end.py").write_text("import sys\nsys.exit(0)\n")
    return space


def running(name: str) -> tuple[str, str]:
    """The option that runs one of them."""
    return "--assistant", f"assistants_of_mine:{name}"


def contributions(tally: Tally) -> int:
    """How many things were said."""
    types = ("--type", "dev.kovee.space.contribution-appended")
    return len(tally.ok("events", *types, "--json").objects)


# --- asked again ------------------------------------------------------------------------------------------
def test_the_same_key_prints_the_stored_answer(tally: Tally, mine: str) -> None:
    """After success, with an assistant or without: the answer that there is, at once, and nothing new."""
    asked = ("ask", "why?", "--key", "k-1", "--space", mine)
    first = tally.ok(*asked, *running("Counts"), "--json").object
    said = contributions(tally)
    assert tally.ok(*asked, *running("Breaks"), "--json").object == first
    assert tally.ok(*asked, "--json").object == first
    assert contributions(tally) == said


def test_the_same_key_after_a_failure_says_why(tally: Tally, mine: str) -> None:
    """What failed for good is said with its reason, and with how to ask again."""
    asked = ("ask", "why?", "--key", "k-1", *running("Breaks"))
    tally(*asked)
    done = tally(*asked)
    assert done.code == Exit.PROBLEM
    assert "assistant_error: RuntimeError: no idea" in done.err
    assert "tally invocation retry" in done.err, mine


@pytest.mark.parametrize(
    "wrong",
    [
        ("--deadline", "tomorrow"),
        ("--deadline", "2020-01-01T00:00:00Z"),
        ("--evidence", "contrib-" + "0" * 32),
        ("--evidence", "nonsense"),
        ("--key", ""),
        ("--key", "k" * 118),
        ("--purpose", "p" * 5000),
    ],
    ids=lambda wrong: "-".join(wrong)[:30],
)
def test_what_is_wrong_is_said_before_anything_is_written(
    tally: Tally, mine: str, wrong: tuple[str, str]
) -> None:
    """No question is posted that nobody can answer as it was meant."""
    done = tally("ask", "why?", *wrong, "--space", mine)
    assert done.code in (Exit.USAGE, Exit.PROBLEM)
    assert contributions(tally) == 0


def test_an_empty_key_is_refused_by_every_verb(tally: Tally, mine: str) -> None:
    """It is not taken for none, under which a script's second try would say it twice."""
    assert tally("say", "once", "--key", "", "--space", mine).code == Exit.USAGE
    assert contributions(tally) == 0


# --- what an assistant does -------------------------------------------------------------------------------
def test_what_an_assistant_prints_is_not_our_output(tally: Tally, mine: str) -> None:
    """However it prints, stdout holds our JSON alone; the rest is on stderr."""
    done = tally.ok("ask", "why?", *running("Loud"), "--json", "--space", mine)
    assert json.loads(done.out)["answer"]["body_parts"][0]["text"] == "quiet"
    for words in ("being made", "by print", "by a program", "by the descriptor", "at the end"):
        assert words in done.err


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("Exits", Exit.ASSISTANT_FAILED, "assistant_exited: SystemExit: 0"),
        ("Interrupted", Exit.INTERRUPTED, "interrupted: KeyboardInterrupt"),
        ("Breaks", Exit.ASSISTANT_FAILED, "assistant_error: RuntimeError: no idea"),
    ],
)
def test_every_end_of_an_assistant_is_shown(
    tally: Tally, mine: str, name: str, code: Exit, reason: str
) -> None:
    """Its exit code is never that of success, and `invocation show` says why it failed."""
    done = tally("ask", "why?", *running(name), "--json", "--space", mine)
    assert (done.code, done.out) == (code, "")
    (asked,) = tally.ok("invocation", "list", "--json").objects
    assert asked["state"] == "failed"
    assert reason in tally.ok("invocation", "show", asked["invocation_id"]).out


def test_a_module_that_ends_the_process_is_told_of(tally: Tally, mine: str) -> None:
    """Loading it asks nothing, and is no success."""
    done = tally("ask", "why?", "--assistant", "wants_to_end:Any", "--space", mine)
    assert done.code == Exit.ASSISTANT_FAILED
    assert "SystemExit" in done.err
    assert contributions(tally) == 0


# --- run, retry, serve ------------------------------------------------------------------------------------
def test_an_invocation_is_run_and_retried(tally: Tally, mine: str) -> None:
    """One that waits is run; one that failed is asked anew, from the same evidence."""
    waiting = tally.id("ask", "why?", "--attempts", "2", "--space", mine)
    assert tally("invocation", "retry", waiting).code == Exit.PROBLEM
    assert tally("invocation", "run", waiting, *running("Breaks")).code == Exit.ASSISTANT_FAILED
    assert tally("invocation", "run", waiting, *running("Exits")).code == Exit.ASSISTANT_FAILED
    over = tally("invocation", "run", waiting, *running("Counts"))
    assert (over.code, "is failed" in over.err) == (Exit.PROBLEM, True)
    told = tally.ok("invocation", "retry", waiting, *running("Counts"), "--json").object
    assert told["answer"]["body_parts"][0]["text"] == "1 items"
    states = [found["state"] for found in tally.ok("invocation", "list", "--json").objects]
    assert states == ["failed", "succeeded"]


def test_a_held_lease_is_shown_as_a_countdown_and_waited_out(tally: Tally, mine: str) -> None:
    """A worker took it and died: under our own key its lease is waited out, elsewhere it is said at once."""
    waiting = tally.id("ask", "why?", "--key", "k-1", "--space", mine)
    with WorkerClient(str(tally.runtime_dir)) as worker:
        worker.claim(waiting, term_seconds=LEASE_TERM_SECONDS_MIN)
    at_once = tally("invocation", "run", waiting, *running("Counts"))
    assert (at_once.code, "is held by another attempt" in at_once.err) == (Exit.PROBLEM, True)
    done = tally.ok("ask", "why?", "--key", "k-1", *running("Counts"), "--space", mine)
    assert "s more; waiting" in done.err
    assert tally.ok("show", done.out.strip(), "--raw").out.startswith("1 items")


def test_serve_goes_on_until_it_is_told_to_end(tally: Tally, mine: str) -> None:
    """What an assistant does to one invocation does not end it; SIGTERM does."""
    ids = [tally.id("ask", words, "--space", mine) for words in ("exit", "one", "two")]
    with tally.start("serve", "--assistant", "assistants_of_mine:Mixed", "--json") as serving:
        assert serving.stdout is not None
        answered = [json.loads(serving.stdout.readline())["invocation"]["invocation_id"] for _ in range(2)]
        serving.send_signal(signal.SIGTERM)
        _, err = serving.communicate(timeout=30)
    assert answered == ids[1:]
    assert serving.returncode == Exit.INTERRUPTED
    assert ids[0] in err


def test_names_are_found_in_either_form(tally: Tally, mine: str, tmp_path: Path) -> None:
    """A name that is typed in another Unicode form is the same name; it stays as it was given."""
    tally.ok("space", "create", "Cafe\u0301")
    tally.ok("say", "here", "--space", "Caf\u00e9")
    titles = [found["title"] for found in tally.ok("space", "list", "--json").objects]
    assert "Cafe\u0301" in titles, (mine, tmp_path)
