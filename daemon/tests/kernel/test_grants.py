"""What somebody may do in a space without taking part in it: given by the owner, until it expires or is taken
back.
"""

from __future__ import annotations

from typing import Any

import pytest

from tallyd.families import grants
from tallyd.ledger.orders import Order, Orders

from .agents import Agent
from .kernel import Json, Kernel

CREATE = "space_access_grant_create"
REVOKE = "space_access_grant_revoke"
LIST = "space_access_grant_list"
SOON = "2030-03-17T17:47:40Z"
"""A minute after the test's clock begins."""


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space that its participants alone see."""
    args = {"title": "the tap", "visibility": "restricted", "default_classification_ref": "class-internal"}
    return kernel.ok("space_create", args, project=kernel.project())


def create(kernel: Kernel, space: Json, *actions: str, **more: Any) -> Json:
    """The reply to a grant."""
    args = {
        "space_id": space["space_id"],
        "subject_ref": "prin-guest",
        "allowed_actions": actions or ["read"],
    }
    how = {name: more.pop(name) for name in ("key", "rev", "project") if name in more}
    how.setdefault("project", space["project_id"])
    return kernel.write(CREATE, args | more, **how)


def revoke(kernel: Kernel, space: Json, grant: Json, **how: Any) -> Json:
    """The reply to its revocation."""
    how.setdefault("project", space["project_id"])
    return kernel.write(REVOKE, {"space_access_id": grant["space_access_id"]}, **how)


def listed(kernel: Kernel, space: Json) -> list[Json]:
    """The space's grants, as they are."""
    args = {"space_id": space["space_id"], "limit": 50}
    items: list[Json] = kernel.read(LIST, args, project=space["project_id"])["result"]["items"]
    return items


def events(kernel: Kernel, space: Json) -> list[Json]:
    """The project's events of grants."""
    args = {"source": space["project_id"], "limit": 200}
    found: list[Json] = kernel.read("events_read", args)["result"]["events"]
    return [event for event in found if ".access-grant-" in event["type"]]


def end(kernel: Kernel, space: Json, op: str) -> None:
    kernel.ok(op, {"space_id": space["space_id"]}, project=space["project_id"])


def test_a_grant_says_who_may_what_until_when(kernel: Kernel, space: Json) -> None:
    """Its record has what was sent, as it was sent, and what the daemon derives."""
    more = {"classification_ceiling_ref": "class-internal", "expires_at": "2031-01-01T01:00:00.5+01:00"}
    answered = create(kernel, space, "contribution_append", "reaction_set", **more)
    assert answered["revision"] == 1
    result = dict(answered["result"])
    assert result.pop("space_access_id").startswith("sgrant-")
    assert result == {
        "space_id": space["space_id"],
        "subject_ref": "prin-guest",
        "revision": 1,
        "source_membership_or_policy_ref": "policy-owner-local",
        "allowed_actions": ["contribution_append", "reaction_set"],
        **more,
        "authorization_epoch": 1,
        "status": "active",
        "granted_by_or_policy_use_ref": "prin-owner",
        "created_at": "2030-03-17T17:46:40Z",
    }
    bare = create(kernel, space)["result"]
    assert not bare.keys() & more.keys()


def test_giving_and_taking_back_are_events_of_the_space(kernel: Kernel, space: Json) -> None:
    """One each, in the space's stream, with the whole record after it; the space's revision stays."""
    given = create(kernel, space)
    taken = revoke(kernel, space, given["result"])
    told = events(kernel, space)
    assert [event["type"] for event in told] == [
        "dev.kovee.space.access-grant-created.v1",
        "dev.kovee.space.access-grant-revoked.v1",
    ]
    assert [event["payload"] for event in told] == [given["result"], taken["result"]]
    assert [event["resource_revision"] for event in told] == [1, 2]
    assert {event["resource_ref"] for event in told} == {given["result"]["space_access_id"]}
    assert {event["schema_ref"] for event in told} == {"schema:space-access-grant-v1"}
    assert {(event["stream_id"], event["classification_ref"]) for event in told} == {
        (space["space_id"], "class-internal")
    }
    shown = kernel.read("space_show", {"space_id": space["space_id"]}, project=space["project_id"])
    assert shown["revision"] == space["revision"]


def test_the_lifecycle_is_two_statuses() -> None:
    """Active ones are revoked, and that is the end; expiry is derived and stands in no row."""
    assert grants.LIFECYCLE == {"active": {"revoke": "revoked"}, "revoked": {}}


def test_a_grant_is_taken_back_once(kernel: Kernel, space: Json) -> None:
    """Again it is invalid, after its revision was compared; it stays listed as revoked."""
    grant = create(kernel, space)["result"]
    taken = revoke(kernel, space, grant, rev=1)
    assert taken["result"] == {**grant, "revision": 2, "status": "revoked"}
    refused = revoke(kernel, space, grant, rev=1)
    assert kernel.problem(refused) == "stale-revision"
    assert refused["problem"]["ext"] == {"dev.kovee.recovery.stale-revision": {"current_revision": 2}}
    assert kernel.problem(revoke(kernel, space, grant)) == "invalid"
    assert listed(kernel, space) == [taken["result"]]


def test_revisions_are_compared(kernel: Kernel, space: Json) -> None:
    """A grant's creation compares the space's, its revocation its own."""
    assert kernel.problem(create(kernel, space, rev=2)) == "stale-revision"
    grant = create(kernel, space, rev=1)["result"]
    assert kernel.problem(revoke(kernel, space, grant, rev=7)) == "stale-revision"


@pytest.mark.parametrize("expires_at", ["2030-03-17T17:46:40Z", "2020-01-01T00:00:00Z"])
def test_a_grant_that_has_expired_is_not_given(kernel: Kernel, space: Json, expires_at: str) -> None:
    """Expiry lies in the future of the daemon's clock, to the moment."""
    assert kernel.problem(create(kernel, space, expires_at=expires_at)) == "invalid"
    assert listed(kernel, space) == []


def test_an_expired_grant_is_shown_as_expired(kernel: Kernel, space: Json) -> None:
    """From the moment on, at the revision that it had: nothing is written for it. It can be taken back."""
    grant = create(kernel, space, expires_at=SOON)["result"]
    kernel.ambient.advance(59)
    assert listed(kernel, space) == [grant]
    before = kernel.fingerprint()
    kernel.ambient.advance(1)
    assert listed(kernel, space) == [{**grant, "status": "expired"}]
    assert kernel.fingerprint() == before
    assert revoke(kernel, space, grant)["result"] == {**grant, "revision": 2, "status": "revoked"}


def test_an_archived_space_gives_none_and_takes_back(kernel: Kernel, space: Json) -> None:
    """Invalid after the revision; a frozen one gives."""
    grant = create(kernel, space)["result"]
    end(kernel, space, "space_freeze")
    assert create(kernel, space)["outcome"] == "ok"
    end(kernel, space, "space_archive")
    assert kernel.problem(create(kernel, space, rev=1)) == "stale-revision"
    assert kernel.problem(create(kernel, space)) == "invalid"
    assert revoke(kernel, space, grant)["outcome"] == "ok"


def test_what_is_unknown_is_not_found(kernel: Kernel, space: Json) -> None:
    """A space or a grant of another project too, other digits, and an agent that was never added."""
    grant, elsewhere = create(kernel, space)["result"], kernel.project("cellar")
    assert kernel.problem(create(kernel, space, project=elsewhere)) == "not-found"
    assert kernel.problem(create(kernel, space, space_id="space-" + "0" * 32)) == "not-found"
    assert kernel.problem(create(kernel, space, subject_ref="agent-" + "0" * 32)) == "not-found"
    assert kernel.problem(revoke(kernel, space, grant, project=elsewhere)) == "not-found"
    for name in ("sgrant-" + "0" * 32, "grant", "sgrant-" + space["space_id"].partition("-")[2]):
        assert kernel.problem(revoke(kernel, space, {"space_access_id": name}, rev=9)) == "not-found"


def test_the_same_grant_may_be_given_twice(kernel: Kernel, space: Json) -> None:
    """They are two, and taking one back leaves the other; under one key it is one."""
    first, second = create(kernel, space, key="k"), create(kernel, space, key="l")
    assert create(kernel, space, key="k") == first
    revoke(kernel, space, first["result"])
    assert [one["status"] for one in listed(kernel, space)] == ["revoked", "active"]
    assert second["result"] in listed(kernel, space)


def test_agents_give_nothing(kernel: Kernel, space: Json) -> None:
    """Not even a steward, and not to itself; whoever reads the space sees its grants."""
    steward, stranger = Agent(kernel, "steward"), Agent(kernel, "stranger")
    steward.join(space, "steward")
    grant = create(kernel, space)["result"]
    project, named = space["project_id"], {"space_id": space["space_id"]}
    args = {**named, "subject_ref": steward.id, "allowed_actions": ["steward"]}
    assert kernel.problem(steward.send(CREATE, args, project=project, key="a")) == "forbidden"
    which = {"space_access_id": grant["space_access_id"]}
    assert kernel.problem(steward.send(REVOKE, which, project=project, key="b")) == "forbidden"
    assert steward.send(LIST, {**named, "limit": 5}, project=project)["result"]["items"] == [grant]
    assert kernel.problem(stranger.send(LIST, {**named, "limit": 5}, project=project)) == "not-found"


def test_what_is_granted_ends_with_the_grant(kernel: Kernel, space: Json) -> None:
    """Of two grants each allows what it names, and ends when it is taken back or expires."""
    agent = Agent(kernel, "reviewer")
    reading, writing = agent.grant(space, "read"), agent.grant(space, "contribute", expires_at=SOON)
    shown = {"space_id": space["space_id"]}
    assert agent.append(space, "one")["outcome"] == "ok"
    kernel.ambient.advance(60)
    assert kernel.problem(agent.append(space, "two")) == "forbidden"
    assert agent.send("space_show", shown, project=space["project_id"])["outcome"] == "ok"
    revoke(kernel, space, reading)
    assert kernel.problem(agent.send("space_show", shown, project=space["project_id"])) == "not-found"
    assert revoke(kernel, space, writing)["outcome"] == "ok"


def test_the_wider_of_two_ceilings_counts(kernel: Kernel, space: Json) -> None:
    """As long as both grants last; then what is left."""
    kernel.view.orders = kernel.tx.orders = Orders(
        classifications=Order(("class-open", "class-internal", "class-x"))
    )
    said = kernel.said(space, "x", more={"classification_ref": "class-x"})
    agent = Agent(kernel, "reviewer")
    agent.grant(space, "read", classification_ceiling_ref="class-internal")
    wide = agent.grant(space, "read", classification_ceiling_ref="class-x")
    named = {"contribution_id": said["contribution_id"]}
    assert agent.send("contribution_show", named, project=space["project_id"])["outcome"] == "ok"
    revoke(kernel, space, wide)
    assert kernel.problem(agent.send("contribution_show", named, project=space["project_id"])) == "forbidden"


def test_the_list_goes_on_over_its_snapshot(kernel: Kernel, space: Json) -> None:
    """Page by page, in the order in which they were given; those given meanwhile are of the next."""
    made = [create(kernel, space, action)["result"] for action in ("read", "contribute", "steward")]
    args = {"space_id": space["space_id"], "limit": 2}
    page = kernel.read(LIST, args, project=space["project_id"])["result"]
    create(kernel, space, "reaction_set")
    more = {**args, "after": page["next"], "snapshot": page["snapshot"]}
    rest = kernel.read(LIST, more, project=space["project_id"])["result"]
    assert page["items"] + rest["items"] == made
    assert "next" not in rest
