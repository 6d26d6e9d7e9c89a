"""Who takes part in a space: proposed by a steward, let in by the owner, and never taken off the list."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from world import participant_digest

from tallyd.families import participants
from tallyd.ledger.verify import Walk
from tallystick.protocol.operation import Socket

from .agents import Agent
from .kernel import Json, Kernel

ADD = "space_participant_add"
ACTIVATE = "space_participant_activate"
UPDATE = "space_participant_update"
REMOVE = "space_participant_remove"
LIST = "space_participant_list"

# Status before, what is done, status after; or the refusal. Written from the protocol, not from the product.
LIFECYCLE = """
proposed activate     active
proposed update       proposed
proposed to_active    invalid
proposed to_muted     invalid
proposed to_proposed  invalid
proposed to_revoked   invalid
proposed remove       revoked
active   activate     invalid
active   update       active
active   to_active    active
active   to_muted     muted
active   to_proposed  invalid
active   to_revoked   invalid
active   remove       revoked
muted    activate     invalid
muted    update       muted
muted    to_active    active
muted    to_muted     muted
muted    to_proposed  invalid
muted    to_revoked   invalid
muted    remove       revoked
revoked  activate     invalid
revoked  update       invalid
revoked  to_active    invalid
revoked  to_muted     invalid
revoked  to_proposed  invalid
revoked  to_revoked   invalid
revoked  remove       invalid
"""
ROWS = [tuple(line.split()) for line in LIFECYCLE.strip().splitlines()]
STATUSES = ("proposed", "active", "muted", "revoked")


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space that its participants alone see."""
    args = {"title": "the tap", "visibility": "restricted", "default_classification_ref": "class-internal"}
    return kernel.ok("space_create", args, project=kernel.project())


@pytest.fixture
def agent(kernel: Kernel) -> Agent:
    """An agent without any part in anything."""
    return Agent(kernel, "reviewer")


def propose(kernel: Kernel, space: Json, subject: str = "prin-guest", **more: Any) -> Json:
    """The reply to a proposal."""
    args = {"space_id": space["space_id"], "subject_ref": subject, "kind": "principal", "role": "observer"}
    how = {name: more.pop(name) for name in ("key", "rev", "project") if name in more}
    how.setdefault("project", space["project_id"])
    return kernel.write(ADD, args | more, **how)


def change(kernel: Kernel, space: Json, op: str, part: Json, args: Json | None = None, **how: Any) -> Json:
    """The reply to a command about a participant."""
    how.setdefault("project", space["project_id"])
    return kernel.write(op, {"participant_id": part["participant_id"], **(args or {})}, **how)


def activate(kernel: Kernel, space: Json, part: Json, **how: Any) -> Json:
    """The reply to its activation, as it stands."""
    return change(kernel, space, ACTIVATE, part, {"subject_digest": participant_digest(part)}, **how)


def listed(kernel: Kernel, space: Json) -> list[Json]:
    """The space's participants, as they are."""
    args = {"space_id": space["space_id"], "limit": 50}
    items: list[Json] = kernel.read(LIST, args, project=space["project_id"])["result"]["items"]
    return items


def events(kernel: Kernel, space: Json) -> list[Json]:
    """The project's events of participants."""
    args = {"source": space["project_id"], "limit": 200}
    found: list[Json] = kernel.read("events_read", args)["result"]["events"]
    return [event for event in found if ".participant-" in event["type"]]


def of_space(kernel: Kernel, space: Json) -> Json:
    """The space, as it is."""
    args = {"space_id": space["space_id"]}
    result: Json = kernel.read("space_show", args, project=space["project_id"])["result"]
    return result


# --- proposing ----------------------------------------------------------------------------------------------
def test_a_proposal_says_who_in_which_role(kernel: Kernel, space: Json) -> None:
    """Its record has what was sent and what the daemon derives, and is the reply's result and revision."""
    answered = propose(kernel, space, subject_revision=7, role="contributor")
    assert answered["revision"] == 1
    result = answered["result"]
    assert result.pop("participant_id").startswith("part-")
    assert result == {
        "space_id": space["space_id"],
        "subject_ref": "prin-guest",
        "subject_revision": 7,
        "kind": "principal",
        "role": "contributor",
        "authority_source_ref": "auth-local-uds",
        "status": "proposed",
        "revision": 1,
    }
    assert "subject_revision" not in propose(kernel, space, "prin-other")["result"]


def test_a_proposal_is_one_event_of_the_space(kernel: Kernel, space: Json) -> None:
    """In the space's stream, of its classification, with the whole record, before the reply's cursor."""
    answered = propose(kernel, space)
    (event,) = events(kernel, space)
    assert event["type"] == "dev.kovee.space.participant-added.v1"
    assert event["schema_ref"] == "schema:space-participant-v1"
    assert event["payload"] == answered["result"]
    assert (event["resource_ref"], event["resource_revision"]) == (answered["result"]["participant_id"], 1)
    assert (event["stream_id"], event["classification_ref"]) == (space["space_id"], "class-internal")
    after = {"source": space["project_id"], "after_cursor": answered["event_cursor"], "limit": 5}
    assert kernel.read("events_read", after)["result"]["events"] == []


def test_nothing_of_it_moves_the_space(kernel: Kernel, space: Json) -> None:
    """The space's revision is what it was, whoever comes and goes."""
    part = propose(kernel, space)["result"]
    activate(kernel, space, part)
    change(kernel, space, UPDATE, part, {"role": "steward"})
    change(kernel, space, REMOVE, part)
    assert of_space(kernel, space) == space


def test_a_subject_takes_part_once(kernel: Kernel, space: Json) -> None:
    """Proposed again it is refused, whatever became of it, the owner too; in another space it may be."""
    part = propose(kernel, space)["result"]
    assert kernel.problem(propose(kernel, space)) == "invalid"
    change(kernel, space, REMOVE, part)
    assert kernel.problem(propose(kernel, space)) == "invalid"
    assert kernel.problem(propose(kernel, space, "prin-owner")) == "invalid"
    other = kernel.space(space["project_id"], "other")
    assert propose(kernel, other)["outcome"] == "ok"


def test_a_proposal_compares_the_spaces_revision(kernel: Kernel, space: Json) -> None:
    """Before the space's status and before the subject; the revision there is comes with the refusal."""
    kernel.ok("space_archive", {"space_id": space["space_id"]}, project=space["project_id"])
    refused = propose(kernel, space, "prin-owner", rev=1)
    assert kernel.problem(refused) == "stale-revision"
    assert refused["problem"]["ext"] == {"dev.kovee.recovery.stale-revision": {"current_revision": 2}}
    assert kernel.problem(propose(kernel, space, rev=2)) == "invalid"


def test_an_unknown_space_has_no_participants(kernel: Kernel, space: Json) -> None:
    """Nor has one of another project: neither to propose to nor to list."""
    elsewhere = kernel.project("cellar")
    for space_id, project in (("space-" + "0" * 32, space["project_id"]), (space["space_id"], elsewhere)):
        named = {**space, "space_id": space_id}
        assert kernel.problem(propose(kernel, named, project=project, rev=9)) == "not-found"
        page = kernel.read(LIST, {"space_id": space_id, "limit": 5}, project=project)
        assert kernel.problem(page) == "not-found"


def test_an_agent_is_proposed_as_the_service_that_it_is(kernel: Kernel, space: Json, agent: Agent) -> None:
    """An agent that was never added is not found; one that is named as another kind is refused."""
    assert kernel.problem(propose(kernel, space, "agent-" + "0" * 32, kind="service")) == "not-found"
    assert kernel.problem(propose(kernel, space, agent.id, kind="principal")) == "invalid"
    assert propose(kernel, space, agent.id, kind="service")["outcome"] == "ok"


def test_a_proposal_sent_again_is_one(kernel: Kernel, space: Json) -> None:
    """The same key gives the same reply and writes nothing; with another role it is another intent."""
    first = propose(kernel, space, key="k")
    before = kernel.fingerprint()
    assert propose(kernel, space, key="k") == first
    assert kernel.fingerprint() == before
    assert kernel.problem(propose(kernel, space, key="k", role="steward")) == "idempotency-mismatch"


# --- the lifecycle ------------------------------------------------------------------------------------------
def test_the_table_of_statuses_is_whole() -> None:
    """The table here has a line for each status and thing done, and the product's says the same."""
    done = ("activate", "update", "to_active", "to_muted", "to_proposed", "to_revoked", "remove")
    assert [row[:2] for row in ROWS] == list(itertools.product(STATUSES, done))
    allowed = {(before, what.replace("_", " ")): after for before, what, after in ROWS if after in STATUSES}
    said = {
        (before, what): after
        for before, afters in participants.LIFECYCLE.items()
        for what, after in afters.items()
    }
    assert said == allowed


@pytest.mark.parametrize(("before", "what", "after"), ROWS, ids=["-".join(row[:2]) for row in ROWS])
def test_a_participant_goes_from_status_to_status(
    kernel: Kernel, space: Json, before: str, what: str, after: str
) -> None:
    """Each status allows what the table says; what it refuses leaves the participant as it was."""
    part = kernel.take_part(space, "prin-guest", "observer", before, "principal")
    if what == "activate":
        answered = activate(kernel, space, part)
    elif what == "remove":
        answered = change(kernel, space, REMOVE, part)
    else:
        args = {"status": what.removeprefix("to_")} if what.startswith("to_") else {"role": "contributor"}
        answered = change(kernel, space, UPDATE, part, args)
    if after in STATUSES:
        assert answered["result"] == {
            **part,
            "revision": part["revision"] + 1,
            "status": after,
            "role": "contributor" if what == "update" else "observer",
        }
        assert answered["revision"] == part["revision"] + 1
    else:
        assert kernel.problem(answered) == after
        assert listed(kernel, space)[-1] == part


def test_each_step_is_told_by_its_event(kernel: Kernel, space: Json) -> None:
    """One event each, with the whole record after it, and the participant's revision."""
    part = propose(kernel, space)["result"]
    records = [
        part,
        activate(kernel, space, part)["result"],
        change(kernel, space, UPDATE, part, {"status": "muted"})["result"],
        change(kernel, space, REMOVE, part)["result"],
    ]
    told = events(kernel, space)
    names = [event["type"].removeprefix("dev.kovee.space.participant-") for event in told]
    assert names == ["added.v1", "activated.v1", "updated.v1", "removed.v1"]
    assert [event["payload"] for event in told] == records
    assert [event["resource_revision"] for event in told] == [1, 2, 3, 4]
    assert {event["resource_ref"] for event in told} == {part["participant_id"]}


def test_an_update_without_a_change_is_a_revision(kernel: Kernel, space: Json) -> None:
    """With nothing named, or what is so already, it is a revision and an event all the same."""
    part = kernel.take_part(space, "prin-guest", "observer", kind="principal")
    for revision, args in ((3, {}), (4, {"role": "observer"}), (5, {"status": "active"})):
        answered = change(kernel, space, UPDATE, part, args)
        assert answered["result"] == {**part, "revision": revision}
        assert "event_cursor" in answered


@pytest.mark.parametrize("op", [ACTIVATE, UPDATE, REMOVE])
def test_a_change_compares_the_participants_revision(kernel: Kernel, space: Json, op: str) -> None:
    """Before the space's status and its own; the revision there is comes with the refusal."""
    part = kernel.take_part(space, "prin-guest", status="revoked", kind="principal")
    kernel.ok("space_archive", {"space_id": space["space_id"]}, project=space["project_id"])
    more = {"subject_digest": "0" * 64} if op == ACTIVATE else {}
    refused = change(kernel, space, op, part, more, rev=2)
    assert kernel.problem(refused) == "stale-revision"
    assert refused["problem"]["ext"] == {"dev.kovee.recovery.stale-revision": {"current_revision": 3}}
    assert kernel.problem(change(kernel, space, op, part, more, rev=3)) == "invalid"


@pytest.mark.parametrize("op", [ACTIVATE, UPDATE, REMOVE])
@pytest.mark.parametrize("status", ["proposed", "active"])
def test_an_archived_space_keeps_its_participants(kernel: Kernel, space: Json, op: str, status: str) -> None:
    """Neither proposed, let in, changed nor removed: invalid. A frozen one changes them."""
    frozen = kernel.space(space["project_id"], "frozen")
    for where, end in ((space, "space_archive"), (frozen, "space_freeze")):
        part = kernel.take_part(where, "prin-guest", status=status, kind="principal")
        kernel.ok(end, {"space_id": where["space_id"]}, project=where["project_id"])
        more = {"subject_digest": participant_digest(part)} if op == ACTIVATE else {}
        answered = change(kernel, where, op, part, more)
        if end == "space_archive":
            assert kernel.problem(answered) == "invalid"
            assert kernel.problem(propose(kernel, where, "prin-late")) == "invalid"
        elif (op, status) != (ACTIVATE, "active"):
            assert answered["outcome"] == "ok"


@pytest.mark.parametrize("op", [ACTIVATE, UPDATE, REMOVE])
def test_an_unknown_participant_is_not_found(kernel: Kernel, space: Json, op: str) -> None:
    """Nor one of another project's space, nor another object's digits under the participant's prefix."""
    part = propose(kernel, space)["result"]
    more = {"subject_digest": "0" * 64} if op == ACTIVATE else {}
    elsewhere = kernel.project("cellar")
    assert kernel.problem(change(kernel, space, op, part, more, project=elsewhere, rev=9)) == "not-found"
    for name in ("part-" + "0" * 32, "guest", "part-" + space["space_id"].partition("-")[2]):
        assert kernel.problem(change(kernel, space, op, {"participant_id": name}, more)) == "not-found"


# --- letting in ---------------------------------------------------------------------------------------------
def test_nobody_is_let_in_unseen(kernel: Kernel, space: Json) -> None:
    """The digest of the proposal as it is now is asked for: another is stale, that of an earlier role too."""
    part = propose(kernel, space)["result"]
    refused = change(kernel, space, ACTIVATE, part, {"subject_digest": "0" * 64})
    assert kernel.problem(refused) == "stale-revision"
    raised = change(kernel, space, UPDATE, part, {"role": "steward"})["result"]
    assert kernel.problem(activate(kernel, space, part)) == "stale-revision"
    assert activate(kernel, space, raised)["result"]["role"] == "steward"


def test_a_steward_proposes_and_the_owner_lets_in(kernel: Kernel, space: Json, agent: Agent) -> None:
    """An agent that stewards adds, changes and removes others; letting anybody in is not its to do."""
    agent.join(space, "steward")
    project = space["project_id"]
    args = {
        "space_id": space["space_id"], "subject_ref": "prin-guest", "kind": "principal", "role": "observer"
    }  # fmt: skip
    part = agent.send(ADD, args, project=project, key="a")["result"]
    assert events(kernel, space)[-1]["actor_ref"] == agent.id
    which = {"participant_id": part["participant_id"]}
    digest = {**which, "subject_digest": participant_digest(part)}
    assert kernel.problem(agent.send(ACTIVATE, digest, project=project, key="b")) == "forbidden"
    assert activate(kernel, space, part)["outcome"] == "ok"
    muted = agent.send(UPDATE, {**which, "status": "muted"}, project=project, key="c")
    assert muted["result"]["status"] == "muted"
    assert agent.send(REMOVE, which, project=project, key="d")["result"]["status"] == "revoked"


@pytest.mark.parametrize("role", ["observer", "contributor"])
def test_who_does_not_steward_changes_nobody(kernel: Kernel, space: Json, agent: Agent, role: str) -> None:
    """Neither others nor itself: forbidden; who does not see the space finds nothing there."""
    part = propose(kernel, space)["result"]
    agent.join(space, role)
    stranger = Agent(kernel, "stranger")
    for op, args in (
        (ADD, {"space_id": space["space_id"], "subject_ref": "x", "kind": "service", "role": "observer"}),
        (UPDATE, {"participant_id": part["participant_id"]}),
        (UPDATE, {"participant_id": agent.part["participant_id"], "role": "steward"}),
        (REMOVE, {"participant_id": part["participant_id"]}),
    ):
        before = len(events(kernel, space))
        how = {"project": space["project_id"], "key": f"{op}-{json.dumps(args)}"[:120].replace(" ", "")}
        assert kernel.problem(agent.send(op, args, **how)) == "forbidden"
        assert kernel.problem(stranger.send(op, args, **how)) == "not-found"
        assert len(events(kernel, space)) == before


def test_an_agent_does_not_raise_itself(kernel: Kernel, space: Json, agent: Agent) -> None:
    """With stewardship by a grant it may lower its role and mute itself; the way back is another's."""
    agent.join(space, "contributor")
    agent.grant(space, "steward")
    project, which = space["project_id"], {"participant_id": agent.part["participant_id"]}

    def update(**args: str) -> Json:
        return agent.send(UPDATE, {**which, **args}, project=project, key="-".join(args.values()))

    assert kernel.problem(update(role="steward")) == "forbidden"
    assert update(role="observer")["result"]["role"] == "observer"
    assert kernel.problem(update(role="contributor")) == "forbidden"
    assert update(status="muted")["result"]["status"] == "muted"
    assert kernel.problem(update(status="active")) == "forbidden"
    assert change(kernel, space, UPDATE, agent.part, {"status": "active"})["outcome"] == "ok"


def test_the_owners_part_is_the_owners(kernel: Kernel, space: Json, agent: Agent) -> None:
    """A steward neither mutes nor removes the owner; the owner's own part the owner changes."""
    agent.join(space, "steward")
    (owner, _) = listed(kernel, space)
    which = {"participant_id": owner["participant_id"]}
    for op, args in ((UPDATE, {**which, "status": "muted"}), (REMOVE, which)):
        assert kernel.problem(agent.send(op, args, project=space["project_id"], key=op)) == "forbidden"
    assert change(kernel, space, UPDATE, owner, {"role": "observer"})["outcome"] == "ok"
    assert kernel.said(space, "the owner may everything all the same")


@pytest.mark.parametrize(
    ("op", "args"), [(UPDATE, {"status": "muted"}), (UPDATE, {"role": "observer"}), (REMOVE, {})]
)
def test_a_silenced_deployment_writes_nothing(kernel: Kernel, space: Json, op: str, args: Json) -> None:
    """Its running attempt neither; it may still complete. Let speak again, it goes on under its lease."""
    question = kernel.said(space, "why?", "question")
    claimed = kernel.claim(kernel.invocation(space, question))["result"]
    binding = {"attempt_id": claimed["attempt_id"], "fence_epoch": 1}
    (_, worker) = listed(kernel, space)
    change(kernel, space, op, worker, args)

    def append(text: str) -> Json:
        more = {"more": binding, "socket": Socket.WORKER}
        return kernel.append(space, text, "synthesis", **more)

    assert kernel.problem(append("because")) == "forbidden"
    if op == UPDATE:
        change(kernel, space, UPDATE, worker, {"status": "active", "role": "contributor"})
        assert append("because of that")["outcome"] == "ok"
    ended = {"invocation_id": claimed["invocation"]["invocation_id"], **binding}
    assert kernel.write("invocation_complete", ended, socket=Socket.WORKER)["outcome"] == "ok"


def test_authority_follows_the_change_at_once(kernel: Kernel, space: Json, agent: Agent) -> None:
    """Proposed it has nothing, let in it writes, muted it reads, removed it has nothing again."""
    shown = {"space_id": space["space_id"]}

    def may() -> tuple[bool, bool]:
        read = agent.send("space_show", shown, project=space["project_id"])["outcome"] == "ok"
        return read, agent.append(space, key=f"k{len(events(kernel, space))}")["outcome"] == "ok"

    part = propose(kernel, space, agent.id, kind="service", role="contributor")["result"]
    seen = [may()]
    activate(kernel, space, part)
    seen.append(may())
    change(kernel, space, UPDATE, part, {"status": "muted"})
    seen.append(may())
    change(kernel, space, REMOVE, part)
    seen.append(may())
    assert seen == [(False, False), (True, True), (True, False), (False, False)]


# --- the list -----------------------------------------------------------------------------------------------
def test_the_list_shows_all_that_came(kernel: Kernel, space: Json) -> None:
    """In the order in which they came, page by page over one snapshot, those that were removed too."""
    owner = listed(kernel, space)
    assert [(one["subject_ref"], one["role"], one["status"]) for one in owner] == [
        ("prin-owner", "steward", "active")
    ]
    made = [kernel.take_part(space, f"prin-{status}", status=status, kind="principal") for status in STATUSES]
    args = {"space_id": space["space_id"], "limit": 2}
    page = kernel.read(LIST, args, project=space["project_id"])["result"]
    propose(kernel, space, "prin-late")
    items = page["items"]
    while "next" in page:
        more = {**args, "after": page["next"], "snapshot": page["snapshot"]}
        page = kernel.read(LIST, more, project=space["project_id"])["result"]
        items += page["items"]
    assert items == [*owner, *made]


def test_whoever_reads_the_space_sees_who_takes_part(kernel: Kernel, space: Json, agent: Agent) -> None:
    """Also an observer; who does not see the space does not."""
    args = {"space_id": space["space_id"], "limit": 5}
    assert kernel.problem(agent.send(LIST, args, project=space["project_id"])) == "not-found"
    agent.join(space, "observer")
    seen = agent.send(LIST, args, project=space["project_id"])["result"]["items"]
    assert [one["subject_ref"] for one in seen] == ["prin-owner", agent.id]


def test_a_claims_participant_is_one_like_others(kernel: Kernel, space: Json) -> None:
    """It came without an event of its own; it can be muted and removed as others are."""
    kernel.claim(kernel.invocation(space, kernel.said(space, "why?", "question")))
    (_, worker) = listed(kernel, space)
    assert worker["authority_source_ref"].startswith("invocation:inv-")
    assert events(kernel, space) == []
    assert change(kernel, space, UPDATE, worker, {"status": "muted"})["result"]["status"] == "muted"
    assert change(kernel, space, REMOVE, worker)["result"]["status"] == "revoked"


def test_the_log_holds_after_all_of_it(kernel: Kernel, space: Json) -> None:
    """Every leaf derives again from its row, refusals among them."""
    for status in STATUSES:
        kernel.take_part(space, f"prin-{status}", status=status, kind="principal")
    propose(kernel, space, "prin-owner")
    assert [fault for fault in Walk(kernel.view).slices() if fault is not None] == []
