"""What must stand nowhere: content outside its sealed bodies, an attempt's id, and either in the log.

A journey is made whose every word of content, and whose every secret, is a canary; it succeeds and fails in
every way that a client can make it fail. Then every file of the daemon, its log and its process are searched.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from harness.files import contents
from harness.wire import Request, Wire, request
from socket_conformance.talk import Talk
from world import CLIENT, WORKER, Attempt, World, attempt_of, claim, complete, fail

from tallyd.service import logs
from tallyd.store.bodies import BodyStore, ObjectKeys
from tallyd.store.keys import Keys
from tallystick.protocol.canonical import canonical
from tallystick.protocol.envelope import decode_reply
from tallystick.protocol.families.work import InvocationClaim

from .process import Place, Tallyd

CONTENT: Final = tuple(f"canary-{what}-5f1d" for what in (
    "project", "title", "text", "language", "data", "member", "worker", "reason", "refused", "twice", "shape",
    "broken", "escaped", "long", "operation", "expected",
))  # fmt: skip
"""Words that only content holds, and words of requests that never became commands."""
KEY: Final = "canary-key-5f1d"
"""Idempotency keys are labels: they stand in the record, which shows that the search looks where things are,
and must not stand in the log."""


class Journey(NamedTuple):
    """What was made, to be searched."""

    place: Place
    attempts: tuple[str, ...]
    log: str
    process: dict[str, bytes]
    running: dict[str, bytes]
    """Every file while the daemon ran, after its death, and after the next one's drain."""


def _text(text: str) -> list[dict[str, Any]]:
    return [{"media_type": "text/plain", "text": text}]


def _succeed(wire: Wire, worker: Wire, world: World) -> list[Attempt]:
    """Every operation that takes content, done."""
    wire.ask(request(CLIENT, "project_create", {"name": "canary-project-5f1d"}, key=f"{KEY}-1"))
    title = {"title": "canary-title-5f1d", "visibility": "project"}
    wire.ask(request(CLIENT, "space_create", title, project=world.project, key=f"{KEY}-2"))
    assert wire.ask(world.append(f"{KEY}-3", "canary-text-5f1d")).ok
    parts = [
        {"media_type": "text/plain", "text": "x", "language": "en"},
        {"schema_ref": "urn:x", "value": {"canary-member-5f1d": ["canary-data-5f1d", 1.5]}},
    ]
    assert wire.ask(world.append(f"{KEY}-4", "x").changed(body_parts=parts)).ok
    claimed = [
        attempt_of(worker.ask(claim(f"{KEY}-5-{number}", world.invocations[name])).result)
        for number, name in enumerate(("claim first", "claim failed"))
    ]
    spoken = world.as_worker(world.append(f"{KEY}-6", "canary-worker-5f1d"), claimed[1])
    assert worker.ask(spoken).ok
    assert worker.ask(fail(f"{KEY}-7", claimed[1], retryable=True)).ok
    cancel = {"invocation_id": world.invocations["cancel running"], "reason": "canary-reason-5f1d"}
    assert wire.ask(request(CLIENT, "invocation_cancel", cancel, project=world.project, key=f"{KEY}-8")).ok
    return claimed


def _be_refused(wire: Wire, worker: Wire, world: World, held: Attempt) -> None:
    """Refused in every order of check: mismatch, stale head, stale lease, guessed attempt, wrong places."""
    twice = world.append(f"{KEY}-3", "canary-twice-5f1d")
    assert wire.ask(twice).kind == "idempotency-mismatch"
    moved = world.append(f"{KEY}-9", "canary-refused-5f1d").changed(expected_head_digest="0" * 64)
    body = {name: value for name, value in moved.body.items() if name != "ext"}
    assert wire.ask(Request(CLIENT, body)).kind == "stale-revision"
    late = world.as_worker(world.append(f"{KEY}-10", "canary-refused-5f1d"), world.attempts["claim failed"])
    assert worker.ask(late).kind == "stale-lease"
    guessed = held._replace(attempt_id=held.attempt_id[:-4] + "0000")
    assert worker.ask(complete(f"{KEY}-11", guessed)).kind == "not-found"
    assert wire.ask(world.as_worker(moved, held)._replace(socket=CLIENT)).kind == "forbidden-surface"


def _be_malformed(talk: Talk) -> None:
    """Lines with content that no parser takes, and one of each fault of a shape."""
    right = {"version": "0.1", "op": "project_create", "realm_id": "realm-personal"}
    meta = {"request_id": "r", "idempotency_key": f"{KEY}-12"}
    for line in (
        json.dumps({**right, "meta": meta, "args": {"name": ["canary-shape-5f1d"]}}),
        json.dumps({**right, "meta": meta, "args": {"name": "x", "canary-shape-5f1d": 1}}),
        json.dumps({**right, "op": "canary-operation-5f1d", "meta": meta, "args": {}}),
        '{"args":{"name":"canary-broken-5f1d"',
        '{"args":{"name":"canary-broken-5f1d","name":"canary-broken-5f1d"}}',
        '{"args":{"name":"canary-escaped-5f1d\\ud800"}}',
        '{"canary-long-5f1d":"' + "canary-long-5f1d" * 20_000 + '"}',
    ):
        assert talk.ask("project_create", line.encode()).kind in ("invalid", "unknown-op")


def _process(pid: int) -> dict[str, bytes]:
    """What the system shows of it to others of its user, where it shows that at all."""
    found = {}
    for name in ("cmdline", "environ", "comm", "status"):
        try:
            found[name] = Path(f"/proc/{pid}/{name}").read_bytes()
        except OSError:
            continue
    return found


@pytest.fixture(scope="module", params=["text", "json"])
def journey(world: World, request: pytest.FixtureRequest) -> Iterator[Journey]:
    """The journey, with the daemon killed in the middle, under either form of the log."""
    place = Place()
    place.copy_of(world.home)
    try:
        daemon = Tallyd(place, "--log-format", request.param)
        with Wire(place.paths) as wire, Wire(place.paths, WORKER) as worker, Talk(place.paths) as talk:
            claimed = _succeed(wire, worker, world)
            _be_refused(wire, worker, world, claimed[0])
            _be_malformed(talk)
        files = {f"running/{name}": content for name, content in contents(place.root)}
        shown = _process(daemon.pid)
        daemon.kill()
        files |= {f"killed/{name}": content for name, content in contents(place.root)}
        said = daemon.log()
        with Tallyd(place, "--log-format", request.param) as again:
            pass
        said += again.log()
        files |= {f"stopped/{name}": content for name, content in contents(place.root)}
        ids = tuple(attempt.attempt_id for attempt in (*claimed, *world.attempts.values()))
        yield Journey(place, ids, said, shown, files)
    finally:
        place.close()


def _disguises(text: str) -> set[bytes]:
    """A text as it might stand somewhere: as it is, in hex, in base64, in UTF-16, and as a bare digest."""
    raw = text.encode()
    found = {raw, raw.hex().encode(), text.encode("utf-16-le"), text.encode("utf-16-be")}
    for shift in range(3):  # what base64 makes of it inside something longer
        encoded = base64.b64encode(b"\0" * shift + raw)
        found.add(encoded[4 if shift else 0 : len(encoded) // 4 * 4 - 4])
    forms = [
        raw,
        canonical(text),
        canonical({"name": text}),
        canonical({"title": text}),
        canonical(_text(text)),
    ]
    for form in forms:
        digest = hashlib.sha256(form)
        found |= {digest.digest(), digest.hexdigest().encode()}
    return found


def test_case_086_content_stands_sealed_or_nowhere(journey: Journey) -> None:
    """No file of the daemon, running, killed or stopped, holds content in any disguise, or a plain digest of
    it.
    """
    for name in ("running/d/tally.db-wal", "stopped/d/tally.db"):
        assert KEY.encode() in journey.running[name]
    found = [
        (name, text)
        for text in CONTENT
        for disguise in _disguises(text)
        for name, content in journey.running.items()
        if disguise in content
    ]
    assert found == []


def test_no_attempt_id_stands_anywhere(journey: Journey) -> None:
    """What a claim hands over is in no file, not in the log, and in nothing that the system shows of it."""
    assert len(set(journey.attempts)) > 10
    places = {**journey.running, "log": journey.log.encode(), **journey.process}
    found = [
        name
        for attempt in journey.attempts
        for secret in (attempt.encode(), bytes.fromhex(attempt.partition("-")[2]))
        for name, content in places.items()
        if secret in content
    ]
    assert found == []


def test_case_086_the_log_tells_what_happened_without_what_was_said(journey: Journey) -> None:
    """Neither content nor keys nor any line that was refused is in the log, in either of its forms."""
    assert "ready on" in journey.log
    assert "stopped" in journey.log
    assert "canary" not in journey.log


def test_the_process_shows_no_secret(journey: Journey) -> None:
    """Command line and environment hold no content and no key."""
    keys = [content for name, content in journey.running.items() if "/keys/" in name]
    assert len(keys) >= 4
    assert b"tallyd" in journey.process["cmdline"]
    for name, shown in journey.process.items():
        assert b"canary" not in shown, name
        for key in keys:
            assert key not in shown
            assert key.hex().encode() not in shown


def test_each_line_of_a_json_log_is_an_object(world_home: Place) -> None:
    """With --log-format json every line is one JSON object with time, level, logger and message."""
    with Tallyd(world_home, "--log-format", "json") as daemon:
        pass
    lines = [json.loads(line) for line in daemon.log().splitlines()]
    assert len(lines) >= 3
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_fault_is_logged_without_its_words(form: logs.Format, capfd: pytest.CaptureFixture[str]) -> None:
    """What an exception says may be what a client wrote: types and places are logged, for its causes too."""
    logger = logging.getLogger("tallyd")
    handlers, level, propagates = list(logger.handlers), logger.level, logger.propagate
    try:
        logs.set_up(form)
        try:
            _fail("canary-inner-5f1d")
        except LookupError:
            logger.exception("a command failed")
        logger.handlers[0].close()
    finally:
        logger.handlers[:], logger.propagate = handlers, propagates
        logger.setLevel(level)
    written = capfd.readouterr().err
    assert "canary" not in written
    for word in ("a command failed", "LookupError", "KeyError", "_fail", "test_service_secrets.py"):
        assert word in written


def _fail(words: str) -> None:
    empty: dict[str, str] = {}
    try:
        empty[words]
    except KeyError as error:
        raise LookupError(f"{words} again") from error


SECRET: Final = bytes(range(96))


def test_case_086_no_repr_shows_a_secret(world: World, world_home: Place) -> None:
    """What holds keys, and what a claim hands over, does not show it where it is printed."""
    part = SECRET[:32]
    for secret in (
        Keys(cursor=part, objects=part, attempts=part, audit=part), ObjectKeys(SECRET), BodyStore(part)
    ):  # fmt: skip
        shown = f"{secret!r} {secret}"
        assert "redacted" in shown
        assert SECRET[:8].hex() not in shown
        assert repr(SECRET[40:48])[2:-1] not in shown
    with Tallyd(world_home), Wire(world_home.paths, WORKER) as worker:
        reply = worker.ask(world.claim("r-1", world.invocations["claim first"]))
    claimed = decode_reply(reply.raw).typed(InvocationClaim)
    shown = f"{claimed!r} {claimed}"
    assert claimed.attempt_id not in shown
    assert world.question["body_parts"][0]["text"] not in shown
