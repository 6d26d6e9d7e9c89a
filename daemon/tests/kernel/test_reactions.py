"""One actor's mark on an object, under a key: set, taken back, and never twice."""

from __future__ import annotations

from typing import Any

import pytest
from world import AT_HEAD

from tallyd.ledger.orders import Order, Orders
from tallyd.ledger.verify import Walk

from .agents import Agent
from .kernel import Json, Kernel

SET = "reaction_set"


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space that its participants alone see."""
    args = {"title": "the tap", "visibility": "restricted"}
    return kernel.ok("space_create", args, project=kernel.project())


@pytest.fixture
def said(kernel: Kernel, space: Json) -> Json:
    """A contribution."""
    return kernel.said(space, "It drips.")


def arguments(space: Json, said: Json, state: str = "present", key: str = "insightful", **more: Any) -> Json:
    """Arguments of a reaction to a contribution or relation."""
    return {
        "space_id": space["space_id"],
        "target_ref": said.get("contribution_id") or said["relation_id"],
        "target_revision": 1,
        "target_digest": said.get("content_digest") or said["digest"],
        "key": key,
        "state": state,
        **more,
    }


def react(kernel: Kernel, space: Json, said: Json, state: str = "present", **more: Any) -> Json:
    """The reply to a reaction. ``idempotency`` is the command's key, ``reaction`` the reaction's."""
    how: Json = {name: more.pop(name) for name in ("rev", "project") if name in more}
    if "idempotency" in more:
        how["key"] = more.pop("idempotency")
    how.setdefault("project", space["project_id"])
    return kernel.write(SET, arguments(space, said, state, **more), **how)


def events(kernel: Kernel, space: Json) -> list[Json]:
    """The project's events of reactions."""
    args = {"source": space["project_id"], "limit": 200, "type_prefixes": ["dev.kovee.space.reaction-set"]}
    found: list[Json] = kernel.read("events_read", args)["result"]["events"]
    return found


def test_a_reaction_says_who_marked_what(kernel: Kernel, space: Json, said: Json) -> None:
    """Its record, its own revision as the reply's, and the space's revision as it was."""
    answered = react(kernel, space, said)
    result = dict(answered["result"])
    assert result.pop("reaction_id").startswith("react-")
    assert result == {
        **arguments(space, said),
        "actor_ref": "prin-owner",
        "revision": 1,
        "updated_at": "2030-03-17T17:46:40Z",
    }
    assert answered["revision"] == 1
    shown = kernel.read("space_show", {"space_id": space["space_id"]}, project=space["project_id"])
    assert shown["revision"] == 2


def test_setting_it_again_changes_the_one(kernel: Kernel, space: Json, said: Json) -> None:
    """Taken back and set again it is the same reaction, a revision on each time, with its time."""
    first = react(kernel, space, said)["result"]
    kernel.ambient.advance(5)
    second = react(kernel, space, said, "removed")
    third = react(kernel, space, said)
    at = "2030-03-17T17:46:45Z"
    assert second["result"] == {**first, "state": "removed", "revision": 2, "updated_at": at}
    assert third["result"] == {**first, "revision": 3, "updated_at": at}
    assert (second["revision"], third["revision"]) == (2, 3)


def test_each_change_is_one_event(kernel: Kernel, space: Json, said: Json) -> None:
    """In the space's stream, with the whole record after it and the reply's cursor behind it."""
    records = [react(kernel, space, said, state)["result"] for state in ("present", "removed")]
    told = events(kernel, space)
    assert [event["payload"] for event in told] == records
    assert [event["resource_revision"] for event in told] == [1, 2]
    assert {event["resource_ref"] for event in told} == {records[0]["reaction_id"]}
    assert {(event["stream_id"], event["schema_ref"]) for event in told} == {
        (space["space_id"], "schema:reaction-v1")
    }


@pytest.mark.parametrize("state", ["present", "removed"])
def test_what_is_so_already_is_told_to_nobody(kernel: Kernel, space: Json, said: Json, state: str) -> None:
    """The reaction as it stands, its revision, no cursor, no event; one row in the log, and the log holds."""
    first = react(kernel, space, said, state)
    kernel.ambient.advance(5)
    before = kernel.dump()
    again = react(kernel, space, said, state)
    assert again == {"outcome": "ok", "result": first["result"], "revision": 1}
    after = kernel.dump()
    changed = {table for table in after if after[table] != before[table]}
    assert changed <= {"log", "idempotency", "outbox"}
    assert len(after["log"]) == len(before["log"]) + 1
    assert len(events(kernel, space)) == 1
    assert [fault for fault in Walk(kernel.view).slices() if fault is not None] == []


def test_an_unchanged_one_is_answered_again_by_its_key(kernel: Kernel, space: Json, said: Json) -> None:
    """As it was answered first, though the reaction has gone on; and after a restart."""
    react(kernel, space, said)
    unchanged = react(kernel, space, said, idempotency="k")
    react(kernel, space, said, "removed")
    before = kernel.fingerprint()
    kernel.reopen()
    assert react(kernel, space, said, idempotency="k") == unchanged
    assert kernel.fingerprint() == before
    other = react(kernel, space, said, "removed", idempotency="k")
    assert kernel.problem(other) == "idempotency-mismatch"


def test_taking_back_what_was_never_set_makes_one(kernel: Kernel, space: Json, said: Json) -> None:
    """In the state removed, at revision 1, with its event."""
    answered = react(kernel, space, said, "removed")
    assert (answered["result"]["state"], answered["revision"]) == ("removed", 1)
    assert len(events(kernel, space)) == 1


def test_there_is_one_for_each_target_actor_and_key(kernel: Kernel, space: Json, said: Json) -> None:
    """Another key, another object and another actor are other reactions."""
    other = kernel.said(space, "And the sink?")
    agent = Agent(kernel, "reviewer")
    agent.join(space)
    theirs = agent.send(SET, arguments(space, said), project=space["project_id"], key="r")["result"]
    made = [
        react(kernel, space, said)["result"],
        react(kernel, space, said, key="odd")["result"],
        react(kernel, space, other)["result"],
        theirs,
    ]
    assert len({one["reaction_id"] for one in made}) == 4
    assert {one["revision"] for one in made} == {1}
    assert theirs["actor_ref"] == agent.id


def test_a_relation_is_reacted_to_as_well(kernel: Kernel, space: Json, said: Json) -> None:
    """Pinned by its own digest."""
    other = kernel.said(space, "And the sink?")
    ends = [
        {"object_ref": one["contribution_id"], "revision": 1, "digest": one["content_digest"]}
        for one in (other, said)
    ]
    named = {"space_id": space["space_id"], "branch_id": space["main_branch_id"], "kind": "addresses"}
    args = {**named, "from_ref": ends[0], "to_ref": ends[1]}
    relation = kernel.ok("relation_assert", args, project=space["project_id"], ext=AT_HEAD)
    assert react(kernel, space, relation)["result"]["target_ref"] == relation["relation_id"]


@pytest.mark.parametrize("end", ["space_freeze", "space_archive"])
def test_a_space_that_is_not_open_takes_none(kernel: Kernel, space: Json, said: Json, end: str) -> None:
    """Stale, also where nothing would change."""
    react(kernel, space, said)
    kernel.ok(end, {"space_id": space["space_id"]}, project=space["project_id"])
    assert kernel.problem(react(kernel, space, said)) == "stale-revision"


def test_the_spaces_revision_is_compared(kernel: Kernel, space: Json, said: Json) -> None:
    """Before the target is looked for; the revision there is comes with the refusal."""
    nobody = {**said, "contribution_id": "contrib-" + "0" * 32}
    refused = react(kernel, space, nobody, rev=1)
    assert kernel.problem(refused) == "stale-revision"
    assert refused["problem"]["ext"] == {"dev.kovee.recovery.stale-revision": {"current_revision": 2}}
    assert react(kernel, space, said, rev=2)["outcome"] == "ok"


def test_the_target_stands_in_the_space(kernel: Kernel, space: Json, said: Json) -> None:
    """Another space's object is not found, nor a space, nor anything in an unknown space."""
    other = kernel.space(space["project_id"], "other")
    assert kernel.problem(react(kernel, other, said)) == "not-found"
    for name in ("contrib-" + "0" * 32, space["space_id"], "prin-owner"):
        assert kernel.problem(react(kernel, space, said, target_ref=name)) == "not-found"
    assert kernel.problem(react(kernel, space, said, space_id="space-" + "0" * 32)) == "not-found"
    assert kernel.problem(react(kernel, space, said, project=kernel.project("cellar"))) == "not-found"


@pytest.mark.parametrize("more", [{"target_revision": 2}, {"target_digest": "0" * 64}])
def test_the_target_is_pinned(kernel: Kernel, space: Json, said: Json, more: Json) -> None:
    """Another revision or digest than the object's is stale, with its revision."""
    refused = react(kernel, space, said, **more)
    assert kernel.problem(refused) == "stale-revision"
    assert refused["problem"]["ext"] == {"dev.kovee.recovery.stale-revision": {"current_revision": 1}}


@pytest.mark.parametrize(
    ("role", "status", "expected"),
    [
        ("steward", "active", "ok"),
        ("contributor", "active", "ok"),
        ("observer", "active", "forbidden"),
        ("contributor", "muted", "forbidden"),
        ("contributor", "proposed", "not-found"),
        ("contributor", "revoked", "not-found"),
    ],
)
def test_who_may_react(
    kernel: Kernel, space: Json, said: Json, role: str, status: str, expected: str
) -> None:
    """Whoever may write in the space."""
    agent = Agent(kernel, "reviewer")
    agent.join(space, role, status)
    answered = agent.send(SET, arguments(space, said), project=space["project_id"], key="k")
    assert ("ok" if answered["outcome"] == "ok" else kernel.problem(answered)) == expected


def test_a_grant_may_be_of_reacting_alone(kernel: Kernel, space: Json, said: Json) -> None:
    """It names the operation, and allows nothing else that writes; up to its ceiling."""
    kernel.view.orders = kernel.tx.orders = Orders(classifications=Order(("class-default", "class-secret")))
    agent = Agent(kernel, "reader")
    agent.grant(space, SET, classification_ceiling_ref="class-default")
    project = space["project_id"]
    assert agent.send(SET, arguments(space, said), project=project, key="a")["outcome"] == "ok"
    assert kernel.problem(agent.append(space)) == "forbidden"
    secret = kernel.said(space, "secret", more={"classification_ref": "class-secret"})
    refused = agent.send(SET, arguments(space, secret), project=project, key="b")
    assert kernel.problem(refused) == "forbidden"
    assert react(kernel, space, secret)["outcome"] == "ok"
    assert events(kernel, space)[-1]["classification_ref"] == "class-secret"
