"""Whatever an assistant does, its attempt ends in an outcome; and a step's key means one thing."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tallyd_process import Tallyd

from tallystick import (
    Asked,
    Assistant,
    AssistantExited,
    Client,
    IdempotencyMismatch,
    InvocationContext,
    InvocationEnded,
    LeaseHeld,
    NotSendable,
    Unreachable,
    WorkerClient,
    ask,
    run_one,
    serve,
)
from tallystick.protocol.families.invocations import Invocation
from tallystick.protocol.families.projects import Project, Space


@pytest.fixture
def client(tallyd: Tallyd) -> Iterator[Client]:
    with Client(tallyd.runtime_dir) as client:
        yield client


@pytest.fixture
def project(client: Client) -> Project:
    return client.project_create("kitchen").value


@pytest.fixture
def space(client: Client, project: Project) -> Space:
    return client.space_create(project, "why does the tap drip").value


@pytest.fixture
def asked(client: Client, project: Project, space: Space) -> Asked:
    """A question, to be answered in two attempts at most."""
    return ask(client, project, space, "Why does the tap drip?", max_attempts=2)


class Does(Assistant):
    """Does what a function does."""

    def __init__(self, act: Callable[[InvocationContext], object]) -> None:
        self._act = act

    def run(self, ctx: InvocationContext) -> None:
        self._act(ctx)


def raises(error: BaseException) -> Does:
    """An assistant that raises this."""

    def act(_ctx: InvocationContext) -> None:
        raise error

    return Does(act)


def failures(client: Client, project: Project) -> list[Any]:
    """What events tell of failures, oldest first."""
    found = client.events(project, type_prefixes=["dev.tallystick.invocation.failed"])
    return [event.payload for event in found]


def elsewhere() -> Unreachable:
    """What an assistant gets that asks a daemon of its own, which is away."""
    return Unreachable("nobody answers", path="/elsewhere", operation="hello")


class _Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("it has no words")


WAYS = [
    (SystemExit(3), AssistantExited, "assistant_exited", "SystemExit: 3"),
    (SystemExit(), AssistantExited, "assistant_exited", "SystemExit"),
    (asyncio.CancelledError(), AssistantExited, "assistant_exited", "CancelledError"),
    (KeyboardInterrupt(), KeyboardInterrupt, "interrupted", "KeyboardInterrupt"),
    (ValueError("the tap is \ud800"), ValueError, "assistant_error", "ValueError: the tap is ?"),
    (elsewhere(), Unreachable, "assistant_error", "Unreachable: nobody answers"),
    (_Unspeakable(), _Unspeakable, "assistant_error", "_Unspeakable"),
]


# --- every way to end -------------------------------------------------------------------------------------
@pytest.mark.parametrize(("error", "raised", "reason_class", "reason"), WAYS, ids=lambda way: repr(way)[:24])
def test_an_attempt_ends_failed_with_its_reason_whatever_is_raised(
    client: Client,
    tallyd: Tallyd,
    project: Project,
    asked: Asked,
    error: BaseException,
    raised: type[BaseException],
    reason_class: str,
    reason: str,
) -> None:
    """The invocation can be claimed again at once, and the record says what happened."""
    with pytest.raises(raised):
        run_one(raises(error), asked.invocation.invocation_id, runtime_dir=tallyd.runtime_dir)
    assert client.invocation_show(project, asked.invocation.invocation_id).state == "queued"
    (told,) = failures(client, project)
    assert (told["reason_class"], told["reason"]) == (reason_class, reason)


def test_an_interrupt_from_the_keyboard_ends_the_attempt(
    client: Client, tallyd: Tallyd, project: Project, asked: Asked
) -> None:
    """Ctrl-C in the middle of a step: the attempt is failed, and whoever called is interrupted."""

    def act(ctx: InvocationContext) -> None:
        ctx.contribute("synthesis", "half")
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run_one(Does(act), asked.invocation.invocation_id, runtime_dir=tallyd.runtime_dir)
    assert client.invocation_show(project, asked.invocation.invocation_id).state == "queued"


def test_what_an_assistant_raises_does_not_end_serving(
    client: Client, tallyd: Tallyd, project: Project, space: Space
) -> None:
    """Each way to end is told, and the next invocation is taken; a daemon that is away still ends it."""
    ends = [SystemExit(0), asyncio.CancelledError(), elsewhere(), ValueError("no")]
    for number in range(len(ends) + 1):
        ask(client, project, space, f"question {number}")
    stop, told = threading.Event(), list[Exception]()
    left = list(ends)

    def act(ctx: InvocationContext) -> None:
        if left:
            raise left.pop(0)
        ctx.contribute("synthesis", "the last one")
        stop.set()

    def tell(_invocation: Invocation, error: Exception) -> None:
        told.append(error)

    serve(Does(act), runtime_dir=tallyd.runtime_dir, stop=stop, on_failure=tell)
    assert [type(error) for error in told] == [AssistantExited, AssistantExited, Unreachable, ValueError]
    states = [invocation.state for invocation in client.invocations(project)]
    assert states == ["failed"] * 4 + ["succeeded"]


def test_a_deadline_that_passes_ends_it_in_the_real_daemon(
    client: Client, project: Project, space: Space
) -> None:
    """Nobody has to ask: an event tells that it failed, and the record says so."""
    after = client.head_cursor(project)
    soon = (datetime.now(UTC) + timedelta(seconds=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    asked = ask(client, project, space, "Quickly?", deadline=soon)
    prefixes = ["dev.tallystick.invocation.failed"]
    (event,) = client.events_wait(project, after, type_prefixes=prefixes, timeout_ms=20_000).events
    assert event.resource_ref == asked.invocation.invocation_id
    assert client.invocation_show(project, asked.invocation.invocation_id).state == "failed"


# --- who cannot claim -------------------------------------------------------------------------------------
def test_held_and_over_are_two_errors(tallyd: Tallyd, asked: Asked) -> None:
    """A held lease says for how long, and who waits is told; what is over says how it ended, at once."""
    invocation_id = asked.invocation.invocation_id
    told: list[int] = []
    with WorkerClient(tallyd.runtime_dir) as worker:
        claim = worker.claim(invocation_id, term_seconds=30).value
        with pytest.raises(LeaseHeld) as held:
            run_one(
                raises(ValueError()),
                invocation_id,
                claim_seconds=0,
                on_held=told.append,
                runtime_dir=tallyd.runtime_dir,
            )
        assert 0 < held.value.remaining_seconds <= 30
        worker.complete(claim)
    with pytest.raises(InvocationEnded) as over:
        run_one(raises(ValueError()), invocation_id, claim_seconds=600, runtime_dir=tallyd.runtime_dir)
    assert over.value.state == "succeeded"


# --- a key means one thing --------------------------------------------------------------------------------
def test_two_contributions_without_a_key_are_two(
    client: Client, tallyd: Tallyd, project: Project, space: Space, asked: Asked
) -> None:
    """Other words are another contribution, another object another relation; the same again is the same."""

    def act(ctx: InvocationContext) -> None:
        first = ctx.contribute("synthesis", "one", addresses=ctx.question)
        second = ctx.contribute("synthesis", "two", addresses=ctx.question)
        assert ctx.contribute("synthesis", "one", addresses=ctx.question) == first
        ctx.contribute("synthesis", "one", addresses=second)

    run_one(Does(act), asked.invocation.invocation_id, runtime_dir=tallyd.runtime_dir)
    said = [item.body_parts[0].text for item in client.contributions(space, kind="synthesis")]
    assert said == ["one", "two"]
    related = list(client.events(project, type_prefixes=["dev.kovee.space.relation-asserted"]))
    assert len(related) == 3


def test_a_used_key_with_other_words_is_refused(
    client: Client, tallyd: Tallyd, space: Space, asked: Asked
) -> None:
    """In the same attempt and in a later one, for what is said and for relations; the first ones stand."""

    def first(ctx: InvocationContext) -> None:
        said = ctx.contribute("synthesis", "one", operation_key="a", addresses=ctx.question)
        assert ctx.contribute("synthesis", "one", operation_key="a", addresses=ctx.question) == said
        with pytest.raises(IdempotencyMismatch, match="first used"):
            ctx.contribute("synthesis", "two", operation_key="a")
        with pytest.raises(IdempotencyMismatch):
            ctx.contribute("synthesis", "one", operation_key="a", addresses=said)
        raise ValueError("and then it died")

    def later(ctx: InvocationContext) -> None:
        done = ctx.done("a")
        assert done is not None
        with pytest.raises(IdempotencyMismatch) as caught:
            ctx.contribute("synthesis", "two", operation_key="a")
        assert "ctx.done('a')" in caught.value.__notes__[0]

    with pytest.raises(ValueError, match="died"):
        run_one(Does(first), asked.invocation.invocation_id, runtime_dir=tallyd.runtime_dir)
    run_one(Does(later), asked.invocation.invocation_id, runtime_dir=tallyd.runtime_dir)
    assert [item.body_parts[0].text for item in client.contributions(space, kind="synthesis")] == ["one"]


def test_an_empty_key_is_refused(client: Client, space: Space) -> None:
    """It is not taken for none, under which a retry would do it again."""
    with pytest.raises(NotSendable, match="empty key"):
        client.append(space, "claim", "once", key="")
    assert list(client.contributions(space)) == []
