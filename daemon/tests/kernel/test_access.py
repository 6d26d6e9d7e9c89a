"""Who may see and do what in a space: participants, grants, ceilings, and what an agent is not shown."""

from __future__ import annotations

import json

import pytest

from tallyd.ledger.orders import Order, Orders
from tallystick.protocol.operation import Socket

from .agents import Agent
from .kernel import Json, Kernel


@pytest.fixture
def project(kernel: Kernel) -> str:
    """A project."""
    return kernel.project()


@pytest.fixture
def space(kernel: Kernel, project: str) -> Json:
    """A space that its participants alone see."""
    return kernel.ok("space_create", {"title": "s", "visibility": "restricted"}, project=project)


@pytest.fixture
def agent(kernel: Kernel) -> Agent:
    """An agent without any part in anything."""
    return Agent(kernel, "reviewer")


READS: tuple[tuple[str, Json], ...] = (("space_show", {}), ("contribution_list", {"limit": 5}))


def test_who_has_no_part_sees_no_project(kernel: Kernel, project: str, space: Json, agent: Agent) -> None:
    """A project, its spaces and its events are not there."""
    assert kernel.problem(agent.send("project_show", {}, project=project)) == "not-found"
    assert agent.send("project_list", {"limit": 5})["result"]["items"] == []
    assert kernel.problem(agent.send("events_read", {"source": project, "limit": 5})) == "not-found"
    for op, args in READS:
        named = {**args, "space_id": space["space_id"]}
        assert kernel.problem(agent.send(op, named, project=project)) == "not-found"


@pytest.mark.parametrize(
    ("role", "status", "reads", "writes"),
    [
        ("observer", "active", True, False),
        ("contributor", "active", True, True),
        ("steward", "active", True, True),
        ("contributor", "muted", True, False),
        ("steward", "muted", True, False),
        ("contributor", "proposed", False, False),
        ("contributor", "revoked", False, False),
    ],
)
def test_a_participant_does_what_role_and_status_say(
    kernel: Kernel, project: str, space: Json, agent: Agent, role: str, status: str, reads: bool, writes: bool
) -> None:
    """Reading and writing follow the table; what is not seen is not found, what is seen and not allowed
    forbidden.
    """
    agent.join(space, role, status)
    shown = agent.send("space_show", {"space_id": space["space_id"]}, project=project)
    assert (shown["outcome"] == "ok") is reads
    wrote = agent.append(space)
    assert (wrote["outcome"] == "ok") is writes
    if not writes:
        assert kernel.problem(wrote) == ("forbidden" if reads else "not-found")
    else:
        assert wrote["result"]["author_actor_ref"] == agent.id


@pytest.mark.parametrize(
    ("actions", "appends", "pins"),
    [
        (["read"], False, False),
        (["contribute"], True, True),
        (["frontier_pin"], False, True),
        (["steward"], True, True),
    ],
)
def test_a_grant_allows_what_it_names(
    project: str, space: Json, agent: Agent, actions: list[str], appends: bool, pins: bool
) -> None:
    """Words for kinds of action, or names of operations; each implies reading."""
    agent.grant(space, *actions)
    assert agent.send("space_show", {"space_id": space["space_id"]}, project=project)["outcome"] == "ok"
    assert (agent.append(space)["outcome"] == "ok") is appends
    named = {"space_id": space["space_id"], "branch_id": space["main_branch_id"]}
    assert (agent.send("frontier_pin", named, project=project, key="pin")["outcome"] == "ok") is pins


def test_an_expired_grant_allows_nothing(kernel: Kernel, space: Json, agent: Agent) -> None:
    """Expiry is enforced on the daemon's clock."""
    agent.grant(space, "contribute", expires_at="2030-03-17T17:46:41Z")
    assert agent.append(space, "early", key="early")["outcome"] == "ok"
    kernel.ambient.advance(2)
    assert kernel.problem(agent.append(space, "late", key="late")) == "not-found"


def test_a_project_space_is_read_by_members_and_written_by_participants(
    kernel: Kernel, project: str, space: Json, agent: Agent
) -> None:
    """Visibility ``project`` opens reading to whoever has a part in the project, and writing to nobody."""
    open_space = kernel.space(project, "open")
    agent.join(space, "observer")
    assert agent.send("space_show", {"space_id": open_space["space_id"]}, project=project)["outcome"] == "ok"
    assert kernel.problem(agent.append(open_space)) == "forbidden"


def test_a_replay_asks_for_the_rights_of_its_command(
    kernel: Kernel, project: str, space: Json, agent: Agent
) -> None:
    """A command that names its space through another object is judged by that space when it is sent again."""
    agent.join(space, "steward")
    other = kernel.take_part(space, "prin-guest", "observer")
    removal = {"participant_id": other["participant_id"]}
    done = agent.send("space_participant_remove", removal, project=project, key="remove")
    assert done["outcome"] == "ok"
    assert agent.send("space_participant_remove", removal, project=project, key="remove") == done
    part = {"participant_id": agent.part["participant_id"]}
    kernel.ok("space_participant_update", {**part, "role": "observer"}, project=project)
    again = agent.send("space_participant_remove", removal, project=project, key="remove")
    assert kernel.problem(again) == "forbidden"
    kernel.ok("space_participant_update", {**part, "role": "steward"}, project=project)
    assert agent.send("space_participant_remove", removal, project=project, key="remove") == done


def test_events_of_an_unseen_space_are_gaps(kernel: Kernel, project: str, space: Json, agent: Agent) -> None:
    """They are absent from reads, filtered or not, and the sequence has gaps where they are."""
    seen = kernel.space(project, "seen")
    agent.join(seen, "observer")
    kernel.said(space, "unseen")
    kernel.said(seen, "for all")
    read = agent.send("events_read", {"source": project, "limit": 100})["result"]["events"]
    assert {event["stream_id"] for event in read} == {project, seen["space_id"]}
    assert [event["project_sequence"] for event in read] == [1, 3, 4, 5, 7]
    filtered = {"source": project, "limit": 100, "type_prefixes": ["dev.kovee.space"]}
    assert len(agent.send("events_read", filtered)["result"]["events"]) == 4
    event_id = kernel.read("events_read", {"source": project, "limit": 100})["result"]["events"][5][
        "event_id"
    ]
    assert kernel.problem(agent.send("event_payload", {"event_id": event_id})) == "not-found"


def test_a_ceiling_withholds_what_is_above_it(
    kernel: Kernel, project: str, space: Json, agent: Agent
) -> None:
    """Between declared names the ceiling counts; undeclared ones are readable; sensitive is above all."""
    orders = Orders(classifications=Order(("class-open", "class-internal", "class-secret")))
    kernel.view.orders = kernel.tx.orders = orders
    agent.grant(space, "read", classification_ceiling_ref="class-internal")
    made = {
        name: kernel.said(space, name, more={"classification_ref": name})["contribution_id"]
        for name in ("class-open", "class-secret", "class-sensitive", "class-odd")
    }
    listed = agent.send("contribution_list", {"space_id": space["space_id"], "limit": 9}, project=project)
    assert [item["classification_ref"] for item in listed["result"]["items"]] == ["class-open", "class-odd"]
    for name in ("class-secret", "class-sensitive"):
        shown = agent.send("contribution_show", {"contribution_id": made[name]}, project=project)
        assert kernel.problem(shown) == "forbidden"
    row = kernel.view.log_row(kernel.view.number("SELECT max(position) FROM log"))
    assert (row.outcome, row.actor) == ("denied", agent.id)
    events = agent.send("events_read", {"source": project, "limit": 100})["result"]["events"]
    shown_classes = {event["classification_ref"] for event in events if "contribution" in event["type"]}
    assert shown_classes == {"class-open", "class-odd"}


def test_a_refused_look_at_a_sensitive_payload_is_on_record(
    kernel: Kernel, project: str, space: Json, agent: Agent
) -> None:
    """Of a space that the agent reads; where it reads nothing there is nothing to look at, and no record."""
    agent.grant(space, "read", classification_ceiling_ref="class-internal")
    hidden = kernel.ok("space_create", {"title": "hidden", "visibility": "restricted"}, project=project)
    made = [
        kernel.said(where, "canary", more={"classification_ref": "class-sensitive"})["contribution_id"]
        for where in (space, hidden)
    ]
    ends = [kernel.view.number("SELECT max(position) FROM log")]
    for contribution in made:
        event_id = "evt-" + contribution.removeprefix("contrib-")
        refused = agent.send("event_payload", {"event_id": event_id})
        assert kernel.problem(refused) == "not-found"
        ends.append(kernel.view.number("SELECT max(position) FROM log"))
    assert ends == [ends[0], ends[0] + 1, ends[0] + 1]
    row = kernel.view.log_row(ends[-1])
    assert (row.operation, row.outcome, row.actor) == ("event_payload", "denied", agent.id)
    assert json.loads(row.detail) == {"objects": [made[0]]}


def test_a_replay_is_refused_to_who_no_longer_sees_the_space(
    kernel: Kernel, space: Json, agent: Agent
) -> None:
    """The stored result is its actor's while the actor sees where it was written."""
    agent.join(space)
    assert agent.append(space, key="k")["outcome"] == "ok"
    assert agent.append(space, key="k")["outcome"] == "ok"
    agent.leave(space)
    assert kernel.problem(agent.append(space, key="k")) == "not-found"


def test_keys_of_two_actors_do_not_meet(kernel: Kernel, space: Json, agent: Agent) -> None:
    """An agent cannot replay the owner's key, nor be refused by it."""
    agent.join(space)
    kernel.said(space, "the owner's", key="same")
    assert agent.append(space, "the agent's", key="same")["result"]["author_actor_ref"] == agent.id


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("project_create", {"name": "mine"}),
        ("tallystick_agent_add", {"name": "another", "credential_sha256": "0" * 64}),
        ("tallystick_agent_list", {"limit": 5}),
    ],
)
def test_what_is_the_owners_is_forbidden_to_agents(kernel: Kernel, agent: Agent, op: str, args: Json) -> None:
    """No agent makes projects, or other agents, or looks at them."""
    key = None if op.endswith("_list") else "k"
    assert kernel.problem(agent.send(op, args, key=key)) == "forbidden"


def test_a_revoked_agent_is_unauthenticated_at_once(kernel: Kernel, space: Json, agent: Agent) -> None:
    """Its connection may live on: its authority does not."""
    agent.join(space)
    kernel.ok("tallystick_agent_revoke", {"agent_id": agent.id})
    assert kernel.problem(agent.append(space)) == "unauthenticated"
    again = kernel.write("tallystick_agent_revoke", {"agent_id": agent.id}, key="again")
    assert kernel.problem(again) == "stale-revision"


def test_an_expired_agent_is_unauthenticated(kernel: Kernel, space: Json) -> None:
    """Expiry is enforced on the daemon's clock."""
    agent = Agent(kernel, "brief", expires_at="2030-03-17T17:47:00Z")
    agent.join(space)
    assert agent.append(space)["outcome"] == "ok"
    kernel.ambient.advance(60)
    assert kernel.problem(agent.append(space, key="later")) == "unauthenticated"


def test_an_agent_claims_for_its_deployments_where_it_contributes(kernel: Kernel, space: Json) -> None:
    """Elsewhere, or for another deployment, there is no such invocation; an attempt lives on its own
    channel.
    """
    invocation = kernel.invocation(space, kernel.said(space, "why?", "question"))
    bound = Agent(kernel, "bound", deployments=["dep-local-dev"])
    other = Agent(kernel, "other")
    args = {"invocation_id": invocation["invocation_id"]}
    assert kernel.problem(bound.send("invocation_claim", args, Socket.WORKER, key="a")) == "not-found"
    other.join(space)
    assert kernel.problem(other.send("invocation_claim", args, Socket.WORKER, key="b")) == "not-found"
    bound.join(space)
    claimed = bound.send("invocation_claim", args, Socket.WORKER, key="c")
    assert claimed["outcome"] == "ok"
    binding = {"attempt_id": claimed["result"]["attempt_id"], "fence_epoch": 1}
    complete = {**args, **binding}
    assert kernel.problem(kernel.write("invocation_complete", complete, socket=Socket.WORKER)) == "not-found"
    assert bound.send("invocation_complete", complete, Socket.WORKER, key="d")["outcome"] == "ok"
    row = kernel.view.log_row(kernel.view.number("SELECT max(position) FROM log"))
    assert (row.actor, row.author) == (bound.id, "asstdep-dep-local-dev")


def test_a_credential_stands_nowhere(kernel: Kernel, agent: Agent) -> None:
    """Not in a row, an event or a reply: its SHA-256 alone is kept."""
    shown = kernel.read("tallystick_agent_show", {"agent_id": agent.id})
    assert "sha256" not in json.dumps(shown)
    assert agent.credential not in repr(kernel.dump())
    assert "reviewer" not in repr(kernel.dump())
