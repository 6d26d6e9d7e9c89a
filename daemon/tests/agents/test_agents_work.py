"""Agents that wait for work on their own sockets: who is woken, and who gets it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from harness.wire import Wire, request
from scene import Actor, add_agent, take_part
from service.process import Tallyd
from world import DEPLOYMENT, WORKER, Space, invocation_args


class Work:
    """A restricted space of the owner's, and invocations in it."""

    def __init__(self, owner: Actor) -> None:
        self.owner = owner
        self.project = str(owner.done("project_create", {"name": "kitchen"})["project_id"])
        self.space = self.make_space()

    def make_space(self) -> Space:
        said = {"title": "taps", "visibility": "restricted"}
        made = self.owner.done("space_create", said, project=self.project)
        return Space(made["space_id"], made["main_branch_id"])

    def invoke(self, space: Space | None = None) -> str:
        said = invocation_args(space or self.space)
        return str(self.owner.done("invocation_create", said, project=self.project)["invocation_id"])

    def let_in(self, agent: Actor, role: str = "contributor", status: str = "active") -> dict[str, Any]:
        return take_part(self.owner, self.project, self.space, agent.name, role, status)

    def asleep(self, *agents: Actor) -> list[Wire]:
        """A waiting worker of each, the first of them first."""
        wires = []
        for number, agent in enumerate(agents, 1):
            wires.append(Wire(agent.paths, WORKER))
            args = {"deployments": [DEPLOYMENT], "wait_ms": 30_000, "term_seconds": 60}
            wires[-1].send(request(WORKER, "tallystick_invocation_next", args, key=f"w-{number}"))
            while self.owner.done("tallystick_status", {})["waiters"] != number:
                pass
        return wires


@pytest.fixture
def work(daemon: Tallyd) -> Work:
    return Work(Actor(daemon.paths))


def taken(wire: Wire) -> str:
    answered = json.loads(wire.read_line())
    assert answered["outcome"] == "ok", answered
    return str(answered["result"]["invocation"]["invocation_id"])


def test_being_let_in_wakes_an_agent(work: Work) -> None:
    """It waits for work where it has no part; the moment it contributes there, what is queued is its."""
    agent = add_agent(work.owner, "worker", deployments=[DEPLOYMENT])
    queued = work.invoke()
    (wire,) = work.asleep(agent)
    with wire:
        work.let_in(agent)
        assert taken(wire) == queued


def test_a_grant_wakes_an_agent(work: Work) -> None:
    """One of contribution does what a part in the space does."""
    agent = add_agent(work.owner, "worker", deployments=[DEPLOYMENT])
    queued = work.invoke()
    (wire,) = work.asleep(agent)
    with wire:
        granted = {
            "space_id": work.space.space_id,
            "subject_ref": agent.name,
            "allowed_actions": ["contribute"],
        }
        work.owner.done("space_access_grant_create", granted, project=work.project)
        assert taken(wire) == queued


def test_work_goes_to_who_may_do_it(work: Work) -> None:
    """Of agents that wait, the first that contributes where the invocation is gets it; an observer who came
    before it sleeps on, and so does who has a part in another space.
    """
    observer, elsewhere, worker = (
        add_agent(work.owner, name, deployments=[DEPLOYMENT]) for name in ("observer", "elsewhere", "worker")
    )
    work.let_in(observer, "observer")
    other = work.make_space()
    take_part(work.owner, work.project, other, elsewhere.name, "contributor", "active")
    work.let_in(worker)
    wires = work.asleep(observer, elsewhere, worker)
    queued = work.invoke()
    assert taken(wires[2]) == queued
    assert work.owner.done("tallystick_status", {})["waiters"] == 2
    there = work.invoke(other)
    assert taken(wires[1]) == there
    for wire in wires:
        with wire:
            pass


def test_being_muted_is_the_end_of_an_attempt(work: Work) -> None:
    """A worker that may write no more is told that there is no such attempt; speaking again, it goes on."""
    agent = add_agent(work.owner, "worker", deployments=[DEPLOYMENT])
    part = work.let_in(agent)
    (wire,) = work.asleep(agent)
    with wire:
        work.invoke()
        claimed = json.loads(wire.read_line())["result"]
    mine = {
        "invocation_id": claimed["invocation"]["invocation_id"],
        "attempt_id": claimed["attempt_id"],
        "fence_epoch": claimed["fence_epoch"],
    }
    which = {"participant_id": part["participant_id"]}
    for status, kind in (("muted", "not-found"), ("active", None)):
        change = {**which, "status": status}
        work.owner.done("space_participant_update", change, project=work.project)
        assert agent.ask("tallystick_invocation_renew", mine, to=WORKER).kind == kind
