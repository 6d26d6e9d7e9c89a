"""The recorded transcripts: a fresh daemon answers each step as another implementation did, or better."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
from conformance.kcp_vectors import NO_DATA, data_root
from harness.home import Daemon, Home
from harness.wire import judged

from .talk import EVENTS, REPLIES, SENT, STEPS, STEPS_ALIKE, Note

TRANSCRIPTS: Final = None if (_root := data_root()) is None else _root / "transcripts"
NAMES: Final = sorted(
    path.name.removesuffix(".scenario.json") for path in (TRANSCRIPTS or Path()).glob("*.scenario.json")
)

Call = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def scenario() -> Iterator[ModuleType]:
    """The program beside the transcripts, which runs a scenario and compares what is answered."""
    if TRANSCRIPTS is None:
        pytest.skip(NO_DATA)
    path_before = list(sys.path)
    spec = importlib.util.spec_from_file_location("kcp_scenario", TRANSCRIPTS / "scenario.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = path_before


@pytest.fixture
def home() -> Iterator[Home]:
    """An empty home."""
    home = Home()
    yield home
    home.close()


class Restarted:
    """What the scenario starts, and kills at its end and before each step that wants that."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._running: Daemon | None = None

    def start(self, _socket: str) -> None:
        self._running = self._home.start()
        assert self._running.ready, self._running.log()

    def kill(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running = None


def judging(call: Call, note: Note) -> Call:
    """The scenario's own way to send, with every reply and event that comes back validated and counted."""

    def judged_call(socket_path: str, command: dict[str, Any]) -> dict[str, Any]:
        answered = call(socket_path, command)
        reply = judged(command["op"], json.dumps(answered).encode())
        note(SENT, 1)
        note(REPLIES, 1)
        result = reply.value.get("result")
        note(EVENTS, len(result.get("events", ())) if isinstance(result, dict) else 0)
        return answered

    return judged_call


def loaded(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.skipif(not NAMES, reason=NO_DATA)
@pytest.mark.parametrize("name", NAMES or ["none"])
def test_a_transcript_is_answered_as_recorded(
    name: str, scenario: ModuleType, home: Home, record_property: Note, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every step is alike, or differs where the list of what may be better allows it."""
    assert TRANSCRIPTS is not None
    monkeypatch.setattr(scenario, "call", judging(scenario.call, record_property))
    steps = loaded(TRANSCRIPTS / f"{name}.scenario.json")
    recorded = {step["name"]: step for step in loaded(TRANSCRIPTS / f"{name}.transcript.json")}
    allowed = {(entry["step"], entry["path"]) for entry in loaded(TRANSCRIPTS / "allow.json")}

    answered = scenario.run(steps, home.paths.runtime_dir, Restarted(home), home.paths.data_dir)

    compare = scenario.Compare(allowed)
    different: dict[str, list[object]] = {}
    for step in answered:
        assert "error" not in step, step
        seen = len(compare.diffs)
        compare.walk(step["name"], "", recorded[step["name"]]["reply"], step["reply"])
        found = [diff for diff in compare.diffs[seen:] if (diff["step"], diff["path"]) not in allowed]
        if found:
            different[step["name"]] = found
    record_property(STEPS, len(steps))
    record_property(STEPS_ALIKE, len(steps) - len(different) - (len(recorded) - len(answered)))
    assert different == {}
    assert [step["name"] for step in answered] == list(recorded)
