"""An agent points every argument of every operation at what it may not see, and learns nothing by it.

What is hidden is a whole project of the owner's, and in the agent's own project a space in which it has no
part: one object of each kind of both, as their events tell. An agent's id is the one exception: whoever was
told it may propose that agent, so a steward can find out whether it is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

import pytest
from entries import JsonObject
from harness.dumps import differences, dump_live
from harness.wire import Reply
from scene import Actor, Scene
from service.process import Tallyd, homes
from world import CLIENT, DEPLOYMENT, FAR, WORKER, Attempt, attempt_of

from tallystick.protocol.operation import AnyOperation, Kind

from .attack import (
    Target,
    answers,
    asked,
    attacked,
    comparable,
    ids_in,
    never,
    one_of_each,
    one_of_each_type,
    places,
    pointed,
    right_args,
    shape,
    targets,
    told_of,
    without_options,
)

OPERATIONS: Final = attacked()


class Siege(NamedTuple):
    """A scene, the steward in it who attacks, and what is hidden from it."""

    scene: Scene
    agent: Actor
    hidden: list[str]
    prepared: dict[str, JsonObject]
    """What is made once for all attacks, by operation: later on the project has too many frontiers for it."""

    def right_args(self, operation: AnyOperation) -> JsonObject:
        """Arguments with which the attacker could do it; a worker's under a new attempt of its own."""
        taken = self.scene.invocation(self.scene.things.space)
        claimed = self.agent.done("invocation_claim", {"invocation_id": taken["invocation_id"]}, to=WORKER)
        return self.args_under(operation, attempt_of(claimed))

    def args_under(self, operation: AnyOperation, attempt: Attempt) -> JsonObject:
        """The same under an attempt that is there."""
        known = self.prepared.get(operation.name)
        return dict(known) if known is not None else right_args(self.scene, operation, attempt)


@pytest.fixture(scope="module")
def siege() -> Iterator[Siege]:
    """Made once: an attack changes nothing for another."""
    with homes() as new_home, Tallyd(new_home()) as running:
        scene, elsewhere = Scene(running.paths), Scene(running.paths, called="other ")
        agent = scene.agents["steward"]
        seen = ids_in(told_of(scene.owner, scene.project))
        prepared = {
            one.name: right_args(scene, one, scene.attempt)
            for one in OPERATIONS
            if one.socket is CLIENT and "change_id" in one.arguments.__struct_fields__
        }
        attempt_id, space_id = _hide_a_space(scene)
        beside = [one for one in told_of(scene.owner, scene.project) if one["stream_id"] == space_id]
        _put_into_no_space(elsewhere)
        other = told_of(elsewhere.owner, elsewhere.project)
        untold = ids_in(attempt_id, elsewhere.upload, elsewhere.attempt, elsewhere.things)
        hidden = [*one_of_each(ids_in(other) - seen), *one_of_each(ids_in(beside) - seen)]
        hidden += [*one_of_each_type(other), *one_of_each_type(beside), *one_of_each(untold)]
        hidden = sorted({one for one in hidden if not one.startswith("agent-")})
        yield Siege(scene, agent, hidden, prepared)


def _put_into_no_space(elsewhere: Scene) -> None:
    """An invocation of no space, and an event in its own stream."""
    deployed = {"assistant_deployment_id": DEPLOYMENT, "assistant_deployment_revision": 1}
    asked_for = elsewhere.done("invocation_create", {**deployed, "deadline": FAR})
    claim = {"invocation_id": asked_for["invocation_id"]}
    attempt = attempt_of(elsewhere.owner.done("invocation_claim", claim, to=WORKER))
    said = {**attempt.binding, "type": "com.example.told.v1", "payload": {"secret": "of another project"}}
    elsewhere.done("application_event_emit", said, to=WORKER)


def _hide_a_space(scene: Scene) -> tuple[str, str]:
    """A restricted space with one of each kind of object, whose every participant is removed. Returns the id
    of an attempt that is held there, and the space's.
    """
    things = scene._things()
    taken = scene.invocation(things.space)
    attempt = scene.owner.done("invocation_claim", {"invocation_id": taken["invocation_id"]}, to=WORKER)
    scene.done("reaction_set", {**_pinned(things.question), "space_id": things.space.space_id})
    listed = scene.done("space_participant_list", {"space_id": things.space.space_id, "limit": 99})
    for part in listed["items"]:
        if part["status"] != "revoked" and part["subject_ref"].startswith("agent-"):
            scene.done("space_participant_remove", {"participant_id": part["participant_id"]})
    return str(attempt["attempt_id"]), things.space.space_id


def _pinned(question: dict[str, object]) -> dict[str, object]:
    target = {"target_ref": question["contribution_id"], "target_digest": question["content_digest"]}
    return {**target, "target_revision": 1, "key": "seen", "state": "present"}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: f"{one.name}-{one.socket}")
def test_no_argument_tells_what_is_hidden(operation: AnyOperation, siege: Siege) -> None:
    """Whatever an argument names that the agent may not see: the answer is that for an id that was never
    given, byte for byte but for the id; with ``project_id`` and without.
    """
    scene, agent = siege.scene, siege.agent
    told = []
    whole = siege.right_args(operation)
    bare = without_options(operation, whole)
    for target, project, hidden, args in product(
        targets(operation, whole), places(scene, operation), siege.hidden, (whole, bare)
    ):
        pair = [
            asked(scene, operation, pointed(args, target.path, one), project)
            for one in (hidden, never(hidden))
        ]
        told.append((target, project, hidden, pair))
    replies = iter(answers(agent, [one for *_, pair in told for one in pair]))
    leaks = []
    for target, project, hidden, _ in told:
        real, nothing = next(replies), next(replies)
        if comparable(real, hidden) == comparable(nothing, never(hidden)):
            continue
        if real.ok or nothing.ok:  # a label, in what can be done once: each is asked of things of its own
            real, nothing = (_afresh(siege, target, project, one) for one in (hidden, never(hidden)))
            if shape(real) == shape(nothing):
                continue
        leaks.append((str(target), project is not None, hidden, real.value, nothing.value))
    assert not leaks, "\n".join(map(str, leaks[:6]))
    assert told, "nothing was asked"


def _afresh(siege: Siege, target: Target, project: str | None, identifier: str) -> Reply:
    args = siege.right_args(target.operation)
    made = asked(siege.scene, target.operation, pointed(args, target.path, identifier), project)
    (reply,) = answers(siege.agent, [made])
    return reply


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: f"{one.name}-{one.socket}")
def test_a_project_that_is_hidden_is_as_if_it_were_not(operation: AnyOperation, siege: Siege) -> None:
    """The envelope's ``project_id`` names another project, or none that ever was: the same is answered."""
    scene = siege.scene
    if places(scene, operation) == [None]:
        return
    hidden = next(one for one in siege.hidden if one.startswith("proj-"))
    replies = []
    for project in (hidden, never(hidden)):
        made = asked(scene, operation, siege.right_args(operation), project)
        replies += answers(siege.agent, [made])
    assert shape(replies[0]) == shape(replies[1])


WRITES: Final = [one for one in OPERATIONS if one.kind is Kind.WRITE]
SELDOM: Final = {"tallystick_invocation_next"}
"""Writes that find nothing to do, and do nothing, for whoever may not do anything."""


@pytest.mark.parametrize("operation", WRITES, ids=lambda one: f"{one.name}-{one.socket}")
@pytest.mark.parametrize("role", ["observer", "muted", "removed", "none"])
def test_who_may_only_read_writes_nothing(role: str, operation: AnyOperation, siege: Siege) -> None:
    """Whatever the owner could write in the scene, an agent that reads there, and one that does not, writes
    nothing: it is refused, and nothing in the store changes but the log of refusals.
    """
    scene, agent = siege.scene, siege.scene.agents[role]
    args = siege.args_under(operation, scene.attempt)
    before = dump_live(scene.owner.paths)
    replies = []
    for project in places(scene, operation):
        replies += answers(agent, [asked(scene, operation, args, project)])
    changes = differences(before, dump_live(scene.owner.paths))
    changed = {(change.table, change.action) for change in changes if change.table != "outbox"}
    assert changed <= {("log", "insert")}
    assert operation.name in SELDOM or not any(reply.ok for reply in replies)
