"""What became of what was said: withdrawn, superseded, retracted; each once, and the original stays."""

from __future__ import annotations

from typing import Any

import pytest
from world import AT_HEAD

from tallyd.families import dispositions
from tallyd.ledger.orders import Order, Orders
from tallystick.protocol.operation import Socket

from .agents import Agent
from .kernel import Json, Kernel

WITHDRAW = "contribution_withdraw"
SUPERSEDE = "contribution_supersede"
RETRACT = "relation_retract"
OPERATIONS = (WITHDRAW, SUPERSEDE, RETRACT)
NOBODY = "0" * 32


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space that its participants alone see."""
    args = {"title": "the tap", "visibility": "restricted"}
    return kernel.ok("space_create", args, project=kernel.project())


def ref(said: Json) -> Json:
    """The triple that pins a contribution."""
    return {"object_ref": said["contribution_id"], "revision": 1, "digest": said["content_digest"]}


def relate(kernel: Kernel, space: Json, one: Json, other: Json) -> Json:
    """A relation between two contributions."""
    named = {"space_id": space["space_id"], "branch_id": space["main_branch_id"], "kind": "addresses"}
    args = {**named, "from_ref": ref(one), "to_ref": ref(other)}
    return kernel.ok("relation_assert", args, project=space["project_id"], ext=AT_HEAD)


def withdraw(kernel: Kernel, space: Json, said: Json, reason: str = "mistake", **how: Any) -> Json:
    """The reply to a withdrawal."""
    how.setdefault("project", space["project_id"])
    args = {"contribution_ref": said["contribution_id"], "reason_class": reason}
    return kernel.write(WITHDRAW, args, **how)


def supersede(kernel: Kernel, space: Json, said: Json, by: Json, **how: Any) -> Json:
    """The reply to a supersession."""
    how.setdefault("project", space["project_id"])
    args = {
        "contribution_ref": said["contribution_id"],
        "replacement_ref": by["contribution_id"],
        "reason_class": "better",
    }
    return kernel.write(SUPERSEDE, args, **how)


def retract(kernel: Kernel, space: Json, relation: Json, **how: Any) -> Json:
    """The reply to a retraction."""
    how.setdefault("project", space["project_id"])
    return kernel.write(RETRACT, {"relation_ref": relation["relation_id"], "reason_class": "wrong"}, **how)


def arguments(kernel: Kernel, space: Json, op: str, make: Any = None) -> Json:
    """Arguments of an operation about something new, said by the owner or by ``make``."""
    say = make or (lambda text: kernel.said(space, text))
    one, other = say("one"), say("other")
    if op == WITHDRAW:
        return {"contribution_ref": one["contribution_id"], "reason_class": "mistake"}
    if op == SUPERSEDE:
        named = {"contribution_ref": one["contribution_id"], "replacement_ref": other["contribution_id"]}
        return {**named, "reason_class": "better"}
    return {"relation_ref": relate(kernel, space, one, other)["relation_id"], "reason_class": "wrong"}


def events(kernel: Kernel, space: Json) -> list[Json]:
    """The project's events."""
    args = {"source": space["project_id"], "limit": 200}
    found: list[Json] = kernel.read("events_read", args)["result"]["events"]
    return found


def revision(kernel: Kernel, space: Json) -> int:
    """The space's revision, as it is."""
    shown = kernel.read("space_show", {"space_id": space["space_id"]}, project=space["project_id"])
    return int(shown["revision"])


# --- what each says -----------------------------------------------------------------------------------------
def test_a_withdrawal_says_what_and_why(kernel: Kernel, space: Json) -> None:
    """Its record, with the space's next revision as the reply's."""
    said = kernel.said(space, "It drips.")
    answered = withdraw(kernel, space, said)
    result = dict(answered["result"])
    assert result.pop("disposition_id").startswith("cdisp-")
    assert result == {
        "contribution_ref": said["contribution_id"],
        "kind": "withdraw",
        "reason_class": "mistake",
        "authorized_by_ref": "prin-owner",
        "created_at": "2030-03-17T17:46:40Z",
    }
    assert answered["revision"] == 3 == revision(kernel, space)


def test_a_supersession_names_what_stands_instead(kernel: Kernel, space: Json) -> None:
    """The replacement beside the rest."""
    said, better = kernel.said(space, "It drips."), kernel.said(space, "It drips at night.")
    answered = supersede(kernel, space, said, better)
    assert (answered["result"]["kind"], answered["result"]["replacement_ref"]) == (
        "supersede",
        better["contribution_id"],
    )
    assert answered["revision"] == 4 == revision(kernel, space)


def test_a_retraction_is_of_a_relation(kernel: Kernel, space: Json) -> None:
    """Its record has other members, and an id of its own kind."""
    relation = relate(kernel, space, kernel.said(space, "one"), kernel.said(space, "other"))
    answered = retract(kernel, space, relation)
    result = dict(answered["result"])
    assert result.pop("disposition_id").startswith("rdisp-")
    assert result == {
        "relation_ref": relation["relation_id"],
        "kind": "retract",
        "reason_class": "wrong",
        "authorized_by_ref": "prin-owner",
        "created_at": "2030-03-17T17:46:40Z",
    }
    assert answered["revision"] == 5 == revision(kernel, space)


@pytest.mark.parametrize(
    ("op", "type_", "schema"),
    [
        (WITHDRAW, "contribution-withdrawn", "schema:contribution-disposition-v1"),
        (SUPERSEDE, "contribution-superseded", "schema:contribution-disposition-v1"),
        (RETRACT, "relation-retracted", "schema:relation-disposition-v1"),
    ],
)
def test_each_is_one_event_of_the_space(
    kernel: Kernel, space: Json, op: str, type_: str, schema: str
) -> None:
    """It names the disposition, in the space's stream, with the whole record, before the reply's cursor."""
    answered = kernel.write(op, arguments(kernel, space, op), project=space["project_id"])
    event = events(kernel, space)[-1]
    assert (event["type"], event["schema_ref"]) == (f"dev.kovee.space.{type_}.v1", schema)
    assert event["payload"] == answered["result"]
    assert (event["resource_ref"], event["resource_revision"]) == (answered["result"]["disposition_id"], 1)
    assert event["stream_id"] == space["space_id"]
    after = {"source": space["project_id"], "after_cursor": answered["event_cursor"], "limit": 5}
    assert kernel.read("events_read", after)["result"]["events"] == []


def test_the_event_is_classified_as_what_it_is_about(kernel: Kernel, space: Json) -> None:
    """Who may not read a contribution is not told what became of it."""
    said = kernel.said(space, "secret", more={"classification_ref": "class-secret"})
    withdraw(kernel, space, said)
    assert events(kernel, space)[-1]["classification_ref"] == "class-secret"


# --- what stays ---------------------------------------------------------------------------------------------
def test_the_original_stays_and_is_referred_to_as_before(kernel: Kernel, space: Json) -> None:
    """It is shown and listed unchanged, and relations, references, reactions and assemblies take it."""
    said, other = kernel.said(space, "one", "question"), kernel.said(space, "other")
    relation = relate(kernel, space, other, said)
    withdraw(kernel, space, said)
    supersede(kernel, space, said, other)
    retract(kernel, space, relation)
    project = space["project_id"]
    shown = kernel.read("contribution_show", {"contribution_id": said["contribution_id"]}, project=project)
    assert shown["result"] == said
    listed = kernel.read("contribution_list", {"space_id": space["space_id"], "limit": 9}, project=project)
    assert listed["result"]["items"] == [said, other]
    assert relate(kernel, space, other, said)["to_ref"]["object_ref"] == said["contribution_id"]
    part = {"object_ref": relation["relation_id"], "digest": relation["digest"]}
    kernel.said(space, "", more={"body_parts": [part], "source_refs": [said["contribution_id"]]})
    assert kernel.invocation(space, said)["state"] == "queued"


def test_the_branch_is_not_moved(kernel: Kernel, space: Json) -> None:
    """An append goes on from the head before: a disposition is no entry of the branch."""
    said = kernel.said(space, "one")
    withdraw(kernel, space, said)
    assert kernel.said(space, "two")["origin_branch_sequence"] == said["origin_branch_sequence"] + 1


# --- once, and never in a circle ----------------------------------------------------------------------------
@pytest.mark.parametrize("op", OPERATIONS)
def test_each_kind_is_said_once(kernel: Kernel, space: Json, op: str) -> None:
    """The second of a kind is invalid, whatever its reason; the space is not moved by it."""
    args = arguments(kernel, space, op)
    assert kernel.write(op, args, project=space["project_id"])["outcome"] == "ok"
    at = revision(kernel, space)
    again = {**args, "reason_class": "another"}
    assert kernel.problem(kernel.write(op, again, project=space["project_id"])) == "invalid"
    assert revision(kernel, space) == at


@pytest.mark.parametrize("first", [WITHDRAW, SUPERSEDE])
def test_two_kinds_go_together(kernel: Kernel, space: Json, first: str) -> None:
    """What is withdrawn can be superseded, and the other way round; by something withdrawn, too."""
    said, better = kernel.said(space, "one"), kernel.said(space, "other")
    withdraw(kernel, space, better)
    orders = [withdraw(kernel, space, said), supersede(kernel, space, said, better)]
    if first == SUPERSEDE:
        said = kernel.said(space, "again")
        orders = [supersede(kernel, space, said, better), withdraw(kernel, space, said)]
    assert [answered["outcome"] for answered in orders] == ["ok", "ok"]


def test_replacements_never_lead_in_a_circle(kernel: Kernel, space: Json) -> None:
    """Not by itself, not by each other, not around three; a chain and a shared replacement are taken."""
    a, b, c = (kernel.said(space, text) for text in "abc")
    assert kernel.problem(supersede(kernel, space, a, a)) == "invalid"
    assert supersede(kernel, space, a, b)["outcome"] == "ok"
    assert kernel.problem(supersede(kernel, space, b, a)) == "cycle"
    assert supersede(kernel, space, b, c)["outcome"] == "ok"
    assert kernel.problem(supersede(kernel, space, c, a)) == "cycle"
    d = kernel.said(space, "d")
    assert supersede(kernel, space, d, b)["outcome"] == "ok"
    assert supersede(kernel, space, c, kernel.said(space, "e"))["outcome"] == "ok"


def test_the_second_is_refused_before_the_circle(kernel: Kernel, space: Json) -> None:
    """Where another replacement would lead is not asked; one that is not there is not found before that."""
    a, b = kernel.said(space, "a"), kernel.said(space, "b")
    supersede(kernel, space, a, b)
    assert kernel.problem(supersede(kernel, space, a, a)) == "invalid"
    nobody = {"contribution_id": "contrib-" + NOBODY}
    assert kernel.problem(supersede(kernel, space, a, nobody)) == "not-found"


# --- what is refused ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("status", ["space_freeze", "space_archive"])
def test_a_space_that_is_not_open_takes_none(kernel: Kernel, space: Json, op: str, status: str) -> None:
    """Stale, before anything that is said of the object."""
    args = arguments(kernel, space, op)
    kernel.ok(op, args, project=space["project_id"])
    kernel.ok(status, {"space_id": space["space_id"]}, project=space["project_id"])
    assert kernel.problem(kernel.write(op, args, project=space["project_id"])) == "stale-revision"


@pytest.mark.parametrize("op", OPERATIONS)
def test_the_spaces_revision_is_compared(kernel: Kernel, space: Json, op: str) -> None:
    """Before the second is refused; the revision there is comes with the refusal."""
    args = arguments(kernel, space, op)
    at = revision(kernel, space)
    refused = kernel.write(op, args, project=space["project_id"], rev=at - 1)
    assert kernel.problem(refused) == "stale-revision"
    assert refused["problem"]["ext"] == {"dev.kovee.recovery.stale-revision": {"current_revision": at}}
    assert kernel.write(op, args, project=space["project_id"], rev=at)["revision"] == at + 1
    assert kernel.problem(kernel.write(op, args, project=space["project_id"], rev=at)) == "stale-revision"


@pytest.mark.parametrize("op", OPERATIONS)
def test_what_is_not_there_is_not_found(kernel: Kernel, space: Json, op: str) -> None:
    """Nor what stands in another project, nor a thing of the other kind."""
    args = arguments(kernel, space, op)
    member = "relation_ref" if op == RETRACT else "contribution_ref"
    other_kind = arguments(kernel, space, WITHDRAW if op == RETRACT else RETRACT)
    elsewhere = kernel.project("cellar")
    assert kernel.problem(kernel.write(op, args, project=elsewhere, rev=99)) == "not-found"
    for name in (f"{args[member].partition('-')[0]}-{NOBODY}", *other_kind.values()):
        told = kernel.write(op, {**args, member: name}, project=space["project_id"], rev=99)
        assert kernel.problem(told) == "not-found"


def test_the_replacement_stands_in_the_same_space(kernel: Kernel, space: Json) -> None:
    """One of another space of the project is not found, nor a relation."""
    said, other = kernel.said(space, "one"), kernel.said(space, "other")
    foreign = kernel.said(kernel.space(space["project_id"], "other"), "elsewhere")
    assert kernel.problem(supersede(kernel, space, said, foreign)) == "not-found"
    relation = {"contribution_id": relate(kernel, space, said, other)["relation_id"]}
    assert kernel.problem(supersede(kernel, space, said, relation)) == "not-found"


@pytest.mark.parametrize("op", OPERATIONS)
def test_sent_again_it_is_one(kernel: Kernel, space: Json, op: str) -> None:
    """The same key gives the same reply and writes nothing; another reason is another intent."""
    args = arguments(kernel, space, op)
    first = kernel.write(op, args, project=space["project_id"], key="k")
    before = kernel.fingerprint()
    assert kernel.write(op, args, project=space["project_id"], key="k") == first
    assert kernel.fingerprint() == before
    other = kernel.write(op, {**args, "reason_class": "other"}, project=space["project_id"], key="k")
    assert kernel.problem(other) == "idempotency-mismatch"


# --- who may ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize(
    ("role", "status", "own", "others"),
    [
        ("steward", "active", "ok", "ok"),
        ("contributor", "active", "ok", "forbidden"),
        ("observer", "active", "forbidden", "forbidden"),
        ("steward", "muted", "forbidden", "forbidden"),
        ("contributor", "muted", "forbidden", "forbidden"),
        ("contributor", "revoked", "not-found", "not-found"),
    ],
)
def test_who_may_say_it(
    kernel: Kernel, space: Json, op: str, role: str, status: str, own: str, others: str
) -> None:
    """An active author of their own, an active steward of all; who does not see the space finds nothing."""
    agent = Agent(kernel, "reviewer")
    part = agent.join(space, "contributor")
    texts = iter("abcdefgh")

    def by_agent(_text: str) -> Json:
        result: Json = agent.append(space, next(texts))["result"]
        return result

    mine = arguments(kernel, space, op, by_agent)
    if op == RETRACT:
        one, other = by_agent(""), by_agent("")
        named = {"space_id": space["space_id"], "branch_id": space["main_branch_id"], "kind": "refines"}
        args = {**named, "from_ref": ref(one), "to_ref": ref(other)}
        made = agent.send("relation_assert", args, project=space["project_id"], key="rel", ext=AT_HEAD)
        mine = {**mine, "relation_ref": made["result"]["relation_id"]}
    theirs = arguments(kernel, space, op)
    which = {"participant_id": part["participant_id"]}
    update = {**which, "role": role} | ({"status": status} if status != "revoked" else {})
    kernel.ok("space_participant_update", update, project=space["project_id"])
    if status == "revoked":
        kernel.ok("space_participant_remove", which, project=space["project_id"])
    for args, expected in ((mine, own), (theirs, others)):
        answered = agent.send(op, args, project=space["project_id"], key=f"k-{expected}-{args is mine}")
        kind = "ok" if answered["outcome"] == "ok" else kernel.problem(answered)
        assert kind == expected
        if expected == "ok":
            assert answered["result"]["authorized_by_ref"] == agent.id


def test_a_grant_of_the_operation_is_for_ones_own(kernel: Kernel, space: Json) -> None:
    """What others said stays theirs, unless stewardship is granted."""
    agent = Agent(kernel, "reviewer")
    agent.grant(space, "contribution_append", WITHDRAW)
    mine, theirs = agent.append(space)["result"], kernel.said(space, "the owner's")

    def try_(said: Json, key: str) -> Json:
        args = {"contribution_ref": said["contribution_id"], "reason_class": "mistake"}
        return agent.send(WITHDRAW, args, project=space["project_id"], key=key)

    assert try_(mine, "a")["outcome"] == "ok"
    assert kernel.problem(try_(theirs, "b")) == "forbidden"
    agent.grant(space, "steward")
    assert try_(theirs, "c")["outcome"] == "ok"


def test_what_a_worker_said_is_its_channels_too(kernel: Kernel, space: Json) -> None:
    """The agent on whose socket an attempt wrote may withdraw that, though a deployment is its author."""
    agent = Agent(kernel, "bound", deployments=["dep-local-dev"])
    agent.join(space)
    other = Agent(kernel, "other", deployments=["dep-local-dev"])
    other.join(space)
    invocation = kernel.invocation(space, kernel.said(space, "why?", "question"))
    named = {"invocation_id": invocation["invocation_id"]}
    claimed = agent.send("invocation_claim", named, Socket.WORKER, key="claim")["result"]
    args = {
        "space_id": space["space_id"],
        "branch_id": space["main_branch_id"],
        "kind": "synthesis",
        "body_parts": [{"media_type": "text/plain", "text": "because"}],
        "attempt_id": claimed["attempt_id"],
        "fence_epoch": 1,
    }
    how: Json = {"project": space["project_id"], "ext": AT_HEAD}
    said = agent.send("contribution_append", args, Socket.WORKER, key="say", **how)["result"]
    assert said["author_actor_ref"] == "asstdep-dep-local-dev"
    gone = {"contribution_ref": said["contribution_id"], "reason_class": "mistake"}
    assert kernel.problem(other.send(WITHDRAW, gone, project=space["project_id"], key="w")) == "forbidden"
    assert agent.send(WITHDRAW, gone, project=space["project_id"], key="w")["outcome"] == "ok"


@pytest.mark.parametrize("op", [WITHDRAW, SUPERSEDE])
def test_what_is_above_a_ceiling_is_not_disposed_of(kernel: Kernel, space: Json, op: str) -> None:
    """A steward up to a ceiling cannot touch what it may not read."""
    order = Orders(classifications=Order(("class-default", "class-secret")))
    kernel.view.orders = kernel.tx.orders = order
    agent = Agent(kernel, "steward")
    agent.grant(space, "steward", classification_ceiling_ref="class-default")

    def secret(text: str) -> Json:
        return kernel.said(space, text, more={"classification_ref": "class-secret"})

    args = arguments(kernel, space, op, secret)
    assert kernel.problem(agent.send(op, args, project=space["project_id"], key="k")) == "forbidden"


# --- the table ----------------------------------------------------------------------------------------------
def test_the_kinds_are_the_protocols() -> None:
    """Redaction's row is ready for whoever erases; rows say what was done, records what it is called."""
    named = {kind.done: kind.name for kind in dispositions.KINDS.values()}
    assert named == {
        "withdrawn": "withdraw",
        "superseded": "supersede",
        "redacted": "redact",
        "retracted": "retract",
    }
