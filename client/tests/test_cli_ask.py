"""`ask`: a question, its evidence, and an assistant from the working directory that answers from them."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest
from tally_program import Tally

from tally_cli.exits import Exit
from tally_cli.local import load_assistant
from tally_cli.trouble import Trouble
from tallystick.assistant import Assistant

ASSISTANT = '''
from tallystick import Assistant


class Counts(Assistant):
    def run(self, ctx):
        words = [part.text for item in ctx.items for part in item.body_parts]
        ctx.contribute("synthesis", f"{len(words)} texts: {words}", addresses=ctx.question)


class Breaks(Assistant):
    def run(self, ctx):
        raise RuntimeError("no idea \\x1b[2J")


class Silent(Assistant):
    def run(self, ctx):
        pass


class NoAssistant:
    pass


raised = 1 / 1
'''


@pytest.fixture
def evidence(tally: Tally, space: str) -> str:
    """Evidence in a space, and assistants in the working directory."""
    (tally.root / "helpers_of_mine.py").write_text(ASSISTANT)
    return tally.id("say", "the washer is worn", "--kind", "evidence", "--space", space)


def test_an_assistant_answers_from_the_evidence(tally: Tally, space: str, evidence: str) -> None:
    """The assembly holds exactly question and evidence, and the one answer addresses the question."""
    runs = ("--assistant", "helpers_of_mine:Counts")
    told = tally.ok("ask", "why?", "--evidence", evidence, *runs, "--space", space, "--json").object
    assert told["invocation"]["state"] == "succeeded"
    assert told["answer"]["body_parts"][0]["text"] == "2 texts: ['why?', 'the washer is worn']"
    assembly = tally.ok("show", told["invocation"]["context_assembly_ref"], "--json").object
    assert [item["object_ref"] for item in assembly["items"]][1:] == [evidence]
    assert assembly["omissions"] == []
    (relation,) = [
        event["payload"]
        for event in tally.ok("events", "--json").objects
        if event["type"] == "dev.kovee.space.relation-asserted.v1"
    ]
    assert relation["kind"] == "addresses"
    assert relation["from_ref"]["object_ref"] == told["answer"]["contribution_id"]
    assert relation["to_ref"]["object_ref"] == assembly["trigger_refs"][0]


def test_a_pipe_gets_the_answers_id(tally: Tally, space: str, evidence: str) -> None:
    """Into a pipe the answer's id is printed, or the invocation's where nobody answered."""
    answer = tally.id("ask", "why?", "--assistant", "helpers_of_mine:Counts", "--space", space)
    assert tally.ok("show", answer, "--raw").out.startswith("1 texts"), evidence
    waiting = tally.id("ask", "and now?")
    assert tally.ok("show", waiting, "--json").object["state"] == "queued"
    silent = tally.id("ask", "hm?", "--assistant", "helpers_of_mine:Silent")
    assert tally.ok("show", silent, "--json").object["state"] == "succeeded"


def test_an_assistant_that_breaks_is_told_of(tally: Tally, space: str, evidence: str) -> None:
    """Its error is words and exit code 7, made visible, with the invocation, which records the failure."""
    done = tally("ask", "why?", "--assistant", "helpers_of_mine:Breaks", "--json")
    assert (done.code, done.error["kind"]) == (Exit.ASSISTANT_FAILED, "assistant-failed"), (space, evidence)
    assert "no idea" in done.error["message"]
    assert "\x1b" not in done.err
    assert tally.ok("show", done.error["invocation_id"], "--json").object["state"] == "failed"


@pytest.mark.parametrize(
    "name",
    [
        "nowhere_at_all:X",
        "helpers_of_mine:Missing",
        "helpers_of_mine:NoAssistant",
        "helpers_of_mine:raised",
    ],
)
def test_an_assistant_that_cannot_be_loaded_asks_nothing(tally: Tally, evidence: str, name: str) -> None:
    """Nothing is posted before the assistant is there; exit code 7 names it."""
    before = len(tally.ok("events").out.splitlines())
    done = tally("ask", "why?", "--evidence", evidence, "--assistant", name, "--json")
    assert (done.code, done.error["kind"]) == (Exit.ASSISTANT_FAILED, "assistant-not-loaded")
    assert name in done.error["message"]
    assert len(tally.ok("events").out.splitlines()) == before


def test_the_working_directory_shadows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the working directory does not stand in the place of an installed module."""
    (tmp_path / "tallystick.py").write_text("raise SystemExit('shadowed')")
    monkeypatch.chdir(tmp_path)
    assert isinstance(load_assistant("tallystick:Assistant"), Assistant)
    with pytest.raises(Trouble):
        load_assistant("json:JSONDecoder")
    with pytest.raises(click.UsageError):
        load_assistant("json")
    assert os.getcwd() == str(tmp_path)


def test_the_same_key_asks_once(tally: Tally, space: str, evidence: str) -> None:
    """A call that is repeated under its key posts one question, and one invocation."""
    command = ("ask", "why?", "--evidence", evidence, "--key", "k1", "--space", space)
    assert tally.id(*command) == tally.id(*command)
    kinds = [event["type"] for event in tally.ok("events", "--json").objects]
    assert kinds.count("dev.kovee.invocation.created.v1") == 1
    assert kinds.count("dev.kovee.space.context-assembly-created.v1") == 1
