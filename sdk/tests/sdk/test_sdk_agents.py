"""Agents and their credentials by the SDK, and workers that serve: on the real daemon."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tallyd_process import Tallyd

from tallystick import (
    Assistant,
    Client,
    InvocationContext,
    Unauthenticated,
    WorkerClient,
    WrongActor,
    ask,
    calls,
    serve,
)
from tallystick.calls.agents import credential_sha256, new_credential
from tallystick.calls.participants import participant_digest
from tallystick.core import Credential
from tallystick.protocol.families.invocations import Invocation
from tallystick.protocol.families.projects import Space
from tallystick.protocol.families.work import InvocationClaim
from tallystick.trio_client import TrioClient, TrioWorkerClient


@pytest.fixture
def client(tallyd: Tallyd) -> Iterator[Client]:
    with Client(tallyd.runtime_dir) as client:
        yield client


@pytest.fixture
def space(client: Client) -> Space:
    project = client.project_create("kitchen").value
    return client.space_create(project, "why does the tap drip").value


def asked(client: Client, space: Space, text: str = "Why?", **more: Any) -> Invocation:
    """A queued invocation on a question of its own."""
    return ask(client, space.project_id, space, text, **more).invocation


class Reviewer(Assistant):
    """Says the question back, or fails where it is told to."""

    def __init__(self, until: int, stop: threading.Event) -> None:
        self.answered: list[str] = []
        self._until, self._stop = until, stop

    def run(self, ctx: InvocationContext) -> None:
        assert ctx.question is not None
        text = str(ctx.question.body_parts[0].text)
        self.answered.append(text)
        if len(self.answered) == self._until:
            self._stop.set()
        if text.startswith("fail"):
            raise ZeroDivisionError(text)
        ctx.contribute("synthesis", f"Because: {text}", addresses=ctx.question)


def states(client: Client, space: Space) -> list[str]:
    return [str(one.state) for one in client.invocations(space.project_id)]


# --- the next one -----------------------------------------------------------------------------------------
def test_a_worker_is_given_the_next_or_told_of_none(client: Client, tallyd: Tallyd, space: Space) -> None:
    """The claim is one as ``claim`` gives it; without one there is None, and the key is free."""
    with WorkerClient(tallyd.runtime_dir) as worker:
        assert worker.next(wait_ms=0, key="k").value.claim is None
        invocation = asked(client, space)
        claim = worker.next(wait_ms=0, key="k").value.claim
        assert claim is not None
        assert claim.invocation.invocation_id == invocation.invocation_id
        assert worker.next(wait_ms=0, key="k").value.claim == claim
        assert worker.renew(claim).term_seconds == 60
        assert repr(claim.attempt_id) not in repr(worker.next(wait_ms=0, key="k").value)


def test_a_waiting_worker_does_not_keep_its_client_busy(client: Client, tallyd: Tallyd, space: Space) -> None:
    """A wait has a connection of its own: another thread's call goes through meanwhile."""
    with WorkerClient(tallyd.runtime_dir) as worker:
        found: list[InvocationClaim | None] = []
        waits = threading.Thread(target=lambda: found.append(worker.next().value.claim))
        waits.start()
        assert worker.hello().selected_version == "0.1"
        invocation = asked(client, space)
        waits.join()
        assert found[0] is not None
        assert found[0].invocation.invocation_id == invocation.invocation_id


# --- serving ----------------------------------------------------------------------------------------------
def test_a_server_answers_one_after_the_other(client: Client, tallyd: Tallyd, space: Space) -> None:
    """The oldest first, what comes later as it comes; who fails does not end the loop."""
    first, bad = asked(client, space, "one"), asked(client, space, "fail: two")
    stop, failed = threading.Event(), list[tuple[str, str]]()
    reviewer = Reviewer(3, stop)

    def told(invocation: Invocation, error: Exception) -> None:
        failed.append((invocation.invocation_id, str(error)))
        asked(client, space, "three")

    serve(reviewer, runtime_dir=tallyd.runtime_dir, stop=stop, on_failure=told)
    assert reviewer.answered == ["one", "fail: two", "three"]
    assert failed == [(bad.invocation_id, "fail: two")]
    assert states(client, space) == ["succeeded", "failed", "succeeded"]
    assert first.state == "queued"


def test_a_server_notices_no_restart(client: Client, tallyd: Tallyd, space: Space) -> None:
    """The daemon dies while the worker sleeps in it: the worker waits in the next one."""
    stop = threading.Event()
    reviewer = Reviewer(2, stop)
    serving = threading.Thread(
        target=serve, args=(reviewer,), kwargs={"runtime_dir": tallyd.runtime_dir, "stop": stop}
    )
    serving.start()
    one = asked(client, space, "one")
    while client.invocation_show(space.project_id, one.invocation_id).state != "succeeded":
        pass
    while not client.status().waiters:
        pass
    tallyd.restart()
    asked(client, space, "two")
    serving.join()
    assert reviewer.answered == ["one", "two"]
    assert states(client, space) == ["succeeded", "succeeded"]


def test_a_claim_whose_reply_was_lost_is_taken_up(tmp_path: Path, runtime_dir: str) -> None:
    """The daemon dies between the claim's commit and its reply: the same key gives the same claim."""
    daemon = Tallyd(str(tmp_path / "data"), runtime_dir)
    daemon.start(abort="after_commit:tallystick_invocation_next@worker")
    try:
        with Client(runtime_dir) as client:
            project = client.project_create("kitchen").value
            space = client.space_create(project, "why").value
            invocation = asked(client, space)
            stop = threading.Event()
            reviewer = Reviewer(1, stop)
            tries: list[int] = []
            serving = threading.Thread(
                target=serve,
                args=(reviewer,),
                kwargs={
                    "runtime_dir": runtime_dir,
                    "stop": stop,
                    "observer": lambda one: (
                        tries.append(one.number) if one.operation == "tallystick_invocation_next" else None
                    ),
                },
            )
            serving.start()
            assert daemon.wait_for_death() < 0
            daemon.start()
            serving.join()
            assert tries[:2] == [1, 2]
            assert client.invocation_show(project, invocation.invocation_id).state == "succeeded"
            claimed = client.events(project, type_prefixes=["dev.kovee.invocation.claimed"])
            assert len(list(claimed)) == 1
    finally:
        daemon.kill()


# --- agents -----------------------------------------------------------------------------------------------
def test_agents_are_added_listed_shown_and_revoked(client: Client) -> None:
    """By typed calls of the owner; the credential is made here and does not leave."""
    secret = new_credential()
    assert len(secret) >= 43
    assert new_credential() != secret
    added = client.agent_add("reviewer", credential_sha256(secret), deployments=["dep-local-dev"])
    agent = added.value
    assert (agent.name, agent.status, agent.deployments) == ("reviewer", "active", ("dep-local-dev",))
    assert client.agent_show(agent.agent_id) == agent
    other = client.agent_add("writer", credential_sha256(new_credential())).value
    assert list(client.agents(limit=1)) == [agent, other]
    assert client.agent_revoke(agent.agent_id, expected_revision=1).value.status == "revoked"


@pytest.fixture
def agent(client: Client) -> tuple[str, str]:
    """An agent's id and its credential."""
    secret = new_credential()
    return client.agent_add("reviewer", credential_sha256(secret)).value.agent_id, secret


def test_a_credential_makes_the_owners_socket_the_agents(
    client: Client, tallyd: Tallyd, agent: tuple[str, str]
) -> None:
    """Each connection of the client shows it first, also the one after a restart, and the waits' own."""
    agent_id, secret = agent
    with Client(tallyd.runtime_dir, actor=agent_id, credential=secret, key_store=None) as mine:
        for _ in range(2):
            assert list(mine.projects()) == []
            with pytest.raises(Exception, match="ask the owner"):
                mine.project_create("mine")
            tallyd.restart()
        with pytest.raises(Exception, match="not-found"):
            mine.events_wait(client.project_create("kitchen").value, "kc1.00.00", timeout_ms=0)


def test_a_wrong_credential_is_refused_and_nothing_is_sent(
    client: Client, tallyd: Tallyd, agent: tuple[str, str]
) -> None:
    """Unauthenticated, not applied; the same where the agent was revoked meanwhile."""
    agent_id, secret = agent
    with Client(tallyd.runtime_dir, actor=agent_id, credential="wrong", key_store=None) as wrong:
        with pytest.raises(Unauthenticated) as refused:
            wrong.project_create("x")
        assert refused.value.outcome == "not_applied"
    with Client(tallyd.runtime_dir, actor=agent_id, credential=secret, key_store=None) as mine:
        assert list(mine.projects()) == []
        client.agent_revoke(agent_id)
        with pytest.raises(Unauthenticated):
            list(mine.projects())


def test_keys_are_never_used_as_another(tallyd: Tallyd, agent: tuple[str, str]) -> None:
    """A credential of another actor than the client's is refused by the client itself."""
    with (
        Client(tallyd.runtime_dir, credential=agent[1]) as mistaken,
        pytest.raises(WrongActor, match=agent[0]) as refused,
    ):
        mistaken.project_create("x")
    assert refused.value.outcome == "not_applied"


@pytest.mark.trio
async def test_the_trio_clients_show_it_too(tallyd: Tallyd, agent: tuple[str, str]) -> None:
    """The async clients are the blocking ones in this as well."""
    agent_id, secret = agent
    async with TrioClient(tallyd.runtime_dir, actor=agent_id, credential=secret, key_store=None) as mine:
        assert (await mine.project_list()).items == ()
    async with TrioWorkerClient(tallyd.runtime_dir, actor=agent_id, credential=secret) as worker:
        with pytest.raises(Exception, match="not-found"):
            await worker.next(wait_ms=0)  # no deployment is bound to it
    async with TrioClient(tallyd.runtime_dir, credential=secret, key_store=None) as mistaken:
        with pytest.raises(WrongActor):
            await mistaken.realm_show()
    async with TrioClient(tallyd.runtime_dir, actor=agent_id, credential="wrong", key_store=None) as wrong:
        with pytest.raises(Unauthenticated):
            await wrong.realm_show()


def test_a_credential_is_not_shown() -> None:
    """Neither what holds it nor a client prints it."""
    secret = new_credential()
    assert secret not in repr(Credential(secret, "agent-1"))
    with Client("/tmp/nowhere", actor="agent-1", credential=secret, key_store=None) as client:
        assert secret not in repr(vars(client))


def test_an_agent_serves_on_its_own_sockets(client: Client, tallyd: Tallyd, space: Space) -> None:
    """A worker that is shown its own directory alone answers where it contributes, and nowhere else."""
    elsewhere = client.space_create(space.project_id, "elsewhere").value
    unseen, seen = asked(client, elsewhere, "unseen"), asked(client, space, "seen")
    secret = credential_sha256(new_credential())
    agent = client.agent_add("reviewer", secret, deployments=[calls.DEPLOYMENT]).value
    part = client.space_participant_add(space, agent.agent_id, "contributor").value
    client.space_participant_activate(space.project_id, part.participant_id, participant_digest(part))
    directory = os.path.join(tallyd.runtime_dir, agent.directory)
    stop = threading.Event()
    serve(Reviewer(1, stop), runtime_dir=directory, actor=agent.agent_id, stop=stop)
    shown = {one.invocation_id: str(one.state) for one in client.invocations(space.project_id)}
    assert shown == {unseen.invocation_id: "queued", seen.invocation_id: "succeeded"}
