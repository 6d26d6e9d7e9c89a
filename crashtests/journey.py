"""What the journeys share: a question with its evidence, a reviewer's process, and the record afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from harness.home import DEATH_SECONDS_MAX
from harness.wire import Wire, ask, request
from world import CLIENT, Space, append, assemble, invoke, make_space

from tallystick.paths import Paths

PROGRAM: Final = Path(__file__).parent / "reviewer.py"

JsonObject = dict[str, Any]


class Asked(NamedTuple):
    """A person's question, its evidence, and the invocation that is to answer it."""

    project: str
    space: Space
    question: str
    evidence: str
    invocation: str


def ask_why(paths: Paths) -> Asked:
    """A person asks in a new space, and names the evidence."""
    with Wire(paths) as person:
        made = person.ask(request(CLIENT, "project_create", {"name": "kitchen"}, key="j-project"))
        project = made.result["project_id"]
        space = make_space(person, project, "taps")
        question = person.ask(append(project, space, "j-q", "Why does it fail?", "question")).result
        evidence = person.ask(append(project, space, "j-e", "expected 3, got 2", "evidence")).result
        assembly = person.ask(assemble(project, space, "j-assembly", [question, evidence])).result
        invocation = person.ask(invoke(project, "j-invocation", space, assembly)).result
    ids = question["contribution_id"], evidence["contribution_id"]
    return Asked(project, space, *ids, invocation["invocation_id"])


class Reviewer(NamedTuple):
    """The assistant's process."""

    process: subprocess.Popen[str]

    def said(self) -> object:
        """Its next line."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def go_on(self) -> None:
        """Ends its pause."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def ends(self) -> int:
        """Its exit code, when it has ended by itself."""
        return self.process.wait(DEATH_SECONDS_MAX)

    def tries(self, operation: str) -> int:
        """How often it sent what it sent of an operation, at most, after its end."""
        assert self.process.stdout is not None
        said = [json.loads(line) for line in self.process.stdout]
        numbers = [
            each["number"] for each in said if isinstance(each, dict) and each["operation"] == operation
        ]
        return max(numbers, default=0)


@contextmanager
def reviewer(paths: Paths, invocation: str, words: str, *flags: str) -> Iterator[Reviewer]:
    """A reviewer that runs on an invocation; killed at the end of the block if it still does."""
    command = [sys.executable, str(PROGRAM), "--runtime-dir", paths.runtime_dir, *flags, invocation, words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Reviewer(process)
        finally:
            process.kill()


class Record(NamedTuple):
    """What the events of a project say, by kind."""

    contributions: dict[str, list[JsonObject]]
    relations: list[JsonObject]
    assemblies: list[JsonObject]
    succeeded: list[JsonObject]
    events: list[JsonObject]


def record_of(paths: Paths, project: str) -> Record:
    """Reads a project's events from the first to the last."""
    args = {"source": project, "limit": 512}
    events = ask(paths, request(CLIENT, "events_read", args, project=project)).result["events"]
    contributions: dict[str, list[JsonObject]] = {}
    for payload in _of(events, "contribution-appended"):
        contributions.setdefault(payload["kind"], []).append(payload)
    assemblies = [
        ask(paths, request(CLIENT, "context_assembly_show", {"assembly_id": made}, project=project)).result
        for made in (payload["assembly_id"] for payload in _of(events, "context-assembly-created"))
    ]
    return Record(
        contributions, _of(events, "relation-asserted"), assemblies, _of(events, "succeeded"), events
    )


def _of(events: list[JsonObject], word: str) -> list[JsonObject]:
    return [event["payload"] for event in events if f".{word}." in event["type"]]
