"""Decisions: what stands, what it meets, what falls, and which is current."""

from __future__ import annotations

import json
from typing import Any

import apsw
import pytest

from tallystick.protocol.operation import Socket

from .agents import Agent
from .attempt import Worker
from .kernel import Json, Kernel

RECORD = "tallystick_decision_record"
ADOPT = "tallystick_decision_adopt"
LABELS = "space, key, repository, region"
COPIED = f"position + 1, id, {LABELS}"


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space that all of the project see."""
    return kernel.ok("space_create", {"title": "ledger", "visibility": "project"}, project=kernel.project())


def decide(kernel: Kernel, space: Json, key: str, value: str, **more: Any) -> Json:
    """A decision of the owner's, recorded; its record."""
    args = {"space_id": space["space_id"], "key": key, "value": value, "reason": "since it is so", **more}
    return kernel.ok(RECORD, args, project=space["project_id"])


def decided(agent: Agent, space: Json, key: str, value: str, **more: Any) -> Json:
    """The reply to an agent's recording."""
    args = {"space_id": space["space_id"], "key": key, "value": value, "reason": "since it is so", **more}
    return agent.send(
        RECORD, args, project=space["project_id"], key=f"{agent.id}-{key}-{len(value)}{value[0]}"
    )


def show(kernel: Kernel, space: Json, decision: Json) -> Json:
    """A decision as it is now."""
    found = kernel.read(
        "tallystick_decision_show", {"decision_id": decision["decision_id"]}, project=space["project_id"]
    )
    assert found["outcome"] == "ok", found
    result: Json = found["result"]
    return result


def current(kernel: Kernel, space: Json, key: str, **more: Any) -> Json:
    """What is current for a key."""
    found = kernel.read("tallystick_decision_current", {"key": key, **more}, project=space["project_id"])
    assert found["outcome"] == "ok", found
    result: Json = found["result"]
    return result


def listed(kernel: Kernel, space: Json, **more: Any) -> Json:
    """A page of the project's decisions."""
    found = kernel.read("tallystick_decision_list", {"limit": 50, **more}, project=space["project_id"])
    assert found["outcome"] == "ok", found
    result: Json = found["result"]
    return result


def ids(decisions: list[Json]) -> list[str]:
    return [each["decision_id"] for each in decisions]


def event_types(kernel: Kernel, space: Json) -> list[str]:
    """The types of the project's events, in their order."""
    found = kernel.read("events_read", {"source": space["project_id"], "limit": 200})["result"]["events"]
    return [each["type"].removeprefix("dev.") for each in found]


def raw(kernel: Kernel) -> apsw.Connection:
    """Another connection to the store, as an intruder would open it."""
    db = apsw.Connection(kernel.paths.database)
    db.execute("PRAGMA foreign_keys = ON")
    return db


# --- recording ----------------------------------------------------------------------------------------------
def test_what_is_recorded_stands_and_says_what_was_sent(kernel: Kernel, space: Json) -> None:
    """Its record has the arguments; its contribution has the words, for whoever knows no decisions."""
    made = decide(
        kernel,
        space,
        "db.engine",
        "sqlite",
        repository="example.org/ledger",
        paths=["services/ledger", "services/ledger/api"],
        excludes=[{"key": "db.server", "value": "postgres"}, {"key": "orm"}],
        tags=["storage"],
        reversibility="hard",
        review_after="2031-01-01T00:00:00Z",
    )
    assert made["state"] == "standing"
    assert (made["key"], made["value"], made["reason"]) == ("db.engine", "sqlite", "since it is so")
    assert made["paths"] == ["services/ledger", "services/ledger/api"], "kept as they were given"
    assert made["excludes"] == [{"key": "db.server", "value": "postgres"}, {"key": "orm"}]
    assert (made["tags"], made["erased"], made["review_due"]) == (["storage"], False, False)
    assert made["decision_id"][4:] == made["contribution_ref"][8:], "it has its contribution's digits"
    assert show(kernel, space, made) == made
    said = kernel.read(
        "contribution_show", {"contribution_id": made["contribution_ref"]}, project=space["project_id"]
    )["result"]
    assert said["kind"] == "decision_reference"
    assert said["body_parts"][1]["text"] == "db.engine = sqlite\n\nsince it is so"
    assert event_types(kernel, space)[-2:] == [
        "kovee.space.contribution-appended.v1",
        "tallystick.decision.recorded.v1",
    ]


def test_a_replay_is_the_same_bytes(kernel: Kernel, space: Json) -> None:
    """The stored reply stays as it was, though the decision fell since; only what is erased is gone."""
    args = {"space_id": space["space_id"], "key": "a", "value": "one", "reason": "why"}
    line = kernel.request(RECORD, args, project=space["project_id"], key="again")
    first = kernel.answer(*line)
    made = json.loads(first)["result"]
    decide(kernel, space, "a", "two", supersedes=[made["decision_id"]])
    assert kernel.answer(*line) == first
    erase(kernel, space, made)
    again = json.loads(kernel.answer(*line))["result"]
    assert again == {**made, "value": "[erased]", "reason": "[erased]"}


def erase(kernel: Kernel, space: Json, decision: Json) -> None:
    args = {"contribution_ref": decision["contribution_ref"], "reason_class": "asked"}
    kernel.ok("contribution_redact", args, project=space["project_id"])


@pytest.mark.parametrize(
    ("more", "member"),
    [
        ({"paths": ["/etc"]}, "paths"),
        ({"paths": ["a/../b"]}, "segment"),
        ({"paths": ["a//b"]}, "segment"),
        ({"paths": ["a\tb"]}, "control"),
        ({"reason": " \n "}, "reason"),
        ({"key": "Db.Engine"}, "key"),
        ({"key": "a.b.c.d.e.f.g.h.i"}, "key"),
        ({"supersedes": ["dec-" + "0" * 32] * 2}, "distinct"),
    ],
)
def test_what_is_wrong_is_named(kernel: Kernel, space: Json, more: Json, member: str) -> None:
    """Bad places, keys and texts are refused with their place, and nothing is recorded."""
    args = {"space_id": space["space_id"], "key": "a", "value": "one", "reason": "why", **more}
    refused = kernel.write(RECORD, args, project=space["project_id"])
    assert refused["problem"]["type"].endswith(":invalid")
    assert member in refused["problem"]["detail"]
    assert listed(kernel, space)["items"] == []


def test_what_is_made_has_no_revision(kernel: Kernel, space: Json) -> None:
    """``expected_revision`` is of an object that is there."""
    args = {"space_id": space["space_id"], "key": "a", "value": "one", "reason": "why"}
    refused = kernel.write(RECORD, args, project=space["project_id"], rev=1)
    assert refused["problem"]["type"].endswith(":invalid")


# --- contradiction ------------------------------------------------------------------------------------------
def test_another_value_for_the_same_place_is_contested_at_once(kernel: Kernel, space: Json) -> None:
    """Both stand, both are told, by one event; nothing is refused."""
    one = decide(kernel, space, "db.engine", "sqlite", paths=["services"])
    other = decide(kernel, space, "db.engine", "postgres", paths=["services/ledger"])
    assert other["contested_by"] == [one["decision_id"]]
    assert show(kernel, space, one)["contested_by"] == [other["decision_id"]]
    assert event_types(kernel, space)[-1] == "tallystick.decision.contested.v1"
    found = current(kernel, space, "db.engine", path="services/ledger/db.py")
    assert (found["status"], found["current"]) == ("contested", [])
    assert ids(found["contesting"]) == [other["decision_id"], one["decision_id"]]
    assert ids(listed(kernel, space, contested=True)["items"]) == [one["decision_id"], other["decision_id"]]


@pytest.mark.parametrize(
    "more",
    [
        {"value": " sqlite "},
        {"value": "postgres", "paths": ["docs"]},
        {"value": "postgres", "paths": ["services"], "repository": "example.org/other"},
        {"value": "postgres", "key": "db.client"},
    ],
)
def test_what_does_not_contradict_is_not_contested(kernel: Kernel, space: Json, more: Json) -> None:
    """An equal value, another place, another repository, another key."""
    decide(kernel, space, "db.engine", "sqlite", paths=["services"], repository="example.org/ledger")
    other = decide(kernel, space, **{"key": "db.engine", "paths": ["services"], **more})
    assert other["contested_by"] == []
    if more["value"] == " sqlite ":
        assert other["agreeing"] == 1


def test_paths_are_compared_folded(kernel: Kernel, space: Json) -> None:
    """Two spellings that a file system may take for one are one place."""
    one = decide(kernel, space, "a", "x", paths=["Caf\u00e9/Menu"])
    other = decide(kernel, space, "a", "y", paths=["cafe\u0301"])
    assert other["contested_by"] == [one["decision_id"]]


def test_exclusions_are_met_from_either_side(kernel: Kernel, space: Json) -> None:
    """With a value or without, whichever of the two was there first."""
    server = decide(kernel, space, "db.server", "postgres")
    one = decide(kernel, space, "db.engine", "sqlite", excludes=[{"key": "db.server", "value": "postgres"}])
    orm = decide(kernel, space, "orm", "none", excludes=[{"key": "cache"}])
    cache = decide(kernel, space, "cache", "redis")
    assert one["contested_by"] == [server["decision_id"]]
    assert cache["contested_by"] == [orm["decision_id"]]
    mysql = decide(kernel, space, "db.server", "mysql", supersedes=[server["decision_id"]])
    assert mysql["contested_by"] == []
    assert show(kernel, space, one)["contested_by"] == []


# --- falling ------------------------------------------------------------------------------------------------
def test_superseding_ends_conflicts_and_is_seen_from_both_ends(kernel: Kernel, space: Json) -> None:
    """One row of dispositions says it, and KCP's event tells it (case C-5)."""
    one = decide(kernel, space, "db.engine", "sqlite")
    other = decide(kernel, space, "db.engine", "postgres")
    settled = decide(
        kernel, space, "db.engine", "duckdb", supersedes=[one["decision_id"], other["decision_id"]]
    )
    assert settled["contested_by"] == []
    for fallen in (one, other):
        shown = show(kernel, space, fallen)
        assert (shown["state"], shown["superseded_by"]) == ("superseded", settled["decision_id"])
        assert shown["contested_by"] == []
    assert event_types(kernel, space)[-4:] == [
        "kovee.space.contribution-appended.v1",
        "tallystick.decision.recorded.v1",
        "kovee.space.contribution-superseded.v1",
        "kovee.space.contribution-superseded.v1",
    ]
    found = current(kernel, space, "db.engine")
    assert (found["status"], ids(found["current"])) == ("current", [settled["decision_id"]])
    assert ids(found["earlier"]) == [other["decision_id"], one["decision_id"]]


def test_what_fell_cannot_be_superseded_again(kernel: Kernel, space: Json) -> None:
    """Its successor is named."""
    one = decide(kernel, space, "a", "x")
    other = decide(kernel, space, "a", "y", supersedes=[one["decision_id"]])
    args = {"space_id": space["space_id"], "key": "a", "value": "z", "reason": "why"}
    refused = kernel.write(RECORD, {**args, "supersedes": [one["decision_id"]]}, project=space["project_id"])
    assert refused["problem"]["type"].endswith(":stale-revision")
    assert other["decision_id"] in refused["problem"]["detail"]


@pytest.mark.parametrize("how", ["contribution_withdraw", "contribution_supersede"])
def test_the_protocols_own_dispositions_let_it_fall(kernel: Kernel, space: Json, how: str) -> None:
    """Whatever replaces it, in the same transaction."""
    one, other = decide(kernel, space, "a", "x"), decide(kernel, space, "a", "y")
    args = {"contribution_ref": one["contribution_ref"], "reason_class": "mistake"}
    if how == "contribution_supersede":
        args["replacement_ref"] = kernel.said(space, "a text")["contribution_id"]
    kernel.ok(how, args, project=space["project_id"])
    state = "withdrawn" if how == "contribution_withdraw" else "superseded"
    assert show(kernel, space, one)["state"] == state
    assert show(kernel, space, other)["contested_by"] == []


def test_an_erased_decision_binds_nobody(kernel: Kernel, space: Json) -> None:
    """Its words are gone, what it contested is free, and its labels stay."""
    one = decide(kernel, space, "a", "x", excludes=[{"key": "b", "value": "secret"}], tags=["t"])
    other = decide(kernel, space, "a", "y")
    erase(kernel, space, one)
    shown = show(kernel, space, one)
    assert (shown["value"], shown["reason"], shown["erased"]) == ("[erased]", "[erased]", True)
    assert (shown["excludes"], shown["tags"], shown["state"]) == ([{"key": "b"}], [], "standing")
    assert show(kernel, space, other)["contested_by"] == []
    assert decide(kernel, space, "b", "secret")["contested_by"] == []
    found = current(kernel, space, "a")
    assert (found["status"], ids(found["current"])) == ("current", [other["decision_id"]])
    erase(kernel, space, other)
    assert current(kernel, space, "a")["because"] == "erased"


# --- narrowing ----------------------------------------------------------------------------------------------
def test_the_narrower_goes_before_the_wider_in_its_own_place(kernel: Kernel, space: Json) -> None:
    """And stands by itself when the wider falls."""
    wide = decide(kernel, space, "indent", "4")
    narrow = decide(kernel, space, "indent", "2", paths=["web"], narrows=[wide["decision_id"]])
    assert narrow["contested_by"] == []
    assert show(kernel, space, wide)["narrowed_by"] == [narrow["decision_id"]]
    assert ids(current(kernel, space, "indent", path="web/a.js")["current"]) == [narrow["decision_id"]]
    assert ids(current(kernel, space, "indent", path="api/a.py")["current"]) == [wide["decision_id"]]
    assert ids(current(kernel, space, "indent")["current"]) == [narrow["decision_id"], wide["decision_id"]]
    args = {"contribution_ref": wide["contribution_ref"], "reason_class": "mistake"}
    kernel.ok("contribution_withdraw", args, project=space["project_id"])
    assert show(kernel, space, narrow)["state"] == "standing"
    assert current(kernel, space, "indent", path="api/a.py")["because"] == "elsewhere"


@pytest.mark.parametrize("paths", [None, ["web"], ["docs"]])
def test_what_does_not_lie_inside_narrows_nothing(
    kernel: Kernel, space: Json, paths: list[str] | None
) -> None:
    """The whole, the same place, and another place."""
    wide = decide(kernel, space, "indent", "4", paths=["web"])
    args = {"space_id": space["space_id"], "key": "indent", "value": "2", "reason": "why"}
    args |= {"narrows": [wide["decision_id"]]} | ({} if paths is None else {"paths": paths})
    refused = kernel.write(RECORD, args, project=space["project_id"])
    assert refused["problem"]["type"].endswith(":invalid")


# --- proposals ----------------------------------------------------------------------------------------------
def test_a_proposal_meets_nobody_until_it_stands(kernel: Kernel, space: Json) -> None:
    """It says what it would meet; adopted, it does, and what it names falls."""
    one = decide(kernel, space, "a", "x")
    other = decide(kernel, space, "a", "z", paths=["web"])
    proposal = decide(kernel, space, "a", "y", proposed=True, supersedes=[one["decision_id"]])
    assert (proposal["state"], proposal["proposed_because"]) == ("proposed", "asked")
    assert proposal["would_meet"] == [other["decision_id"]]
    assert show(kernel, space, one)["state"] == "standing"
    assert ids(listed(kernel, space)["items"]) == [one["decision_id"], other["decision_id"]]
    assert listed(kernel, space)["left_out"] == {"proposed": 1}
    adopted = kernel.ok(ADOPT, {"decision_id": proposal["decision_id"]}, project=space["project_id"])
    assert (adopted["state"], adopted["revision"]) == ("standing", 2)
    assert adopted["contested_by"] == [other["decision_id"]]
    assert show(kernel, space, one)["superseded_by"] == proposal["decision_id"]
    assert event_types(kernel, space)[-3:] == [
        "tallystick.decision.adopted.v1",
        "kovee.space.contribution-superseded.v1",
        "tallystick.decision.contested.v1",
    ]


def test_quoted_words_are_a_proposal_for_a_steward(kernel: Kernel, space: Json) -> None:
    """Whoever quotes does not decide (case B24)."""
    agent = Agent(kernel, "reader")
    agent.join(space)
    quoted = decided(agent, space, "a", "approve this", origin="quoted")["result"]
    assert (quoted["state"], quoted["proposed_because"]) == ("proposed", "quoted")
    args = {"decision_id": quoted["decision_id"]}
    refused = agent.send(ADOPT, args, project=space["project_id"], key="adopt-own")
    assert refused["problem"]["type"].endswith(":forbidden")
    assert kernel.ok(ADOPT, args, project=space["project_id"])["state"] == "standing"


def test_who_may_adopt_and_supersede(kernel: Kernel, space: Json) -> None:
    """An author their own, a steward and the owner anybody's."""
    one, two = Agent(kernel, "one"), Agent(kernel, "two")
    one.join(space), two.join(space)
    mine = decided(one, space, "a", "x", proposed=True)["result"]
    args = {"decision_id": mine["decision_id"]}
    refused = two.send(ADOPT, args, project=space["project_id"], key="not-mine")
    assert refused["problem"]["type"].endswith(":forbidden")
    adopted = one.send(ADOPT, args, project=space["project_id"], key="mine")
    assert adopted["outcome"] == "ok"
    theirs = decided(two, space, "a", "y", supersedes=[mine["decision_id"]])
    assert theirs["problem"]["type"].endswith(":forbidden")
    contested = decided(two, space, "a", "z")["result"]
    assert contested["contested_by"] == [mine["decision_id"]]


def test_only_what_is_proposed_is_adopted(kernel: Kernel, space: Json) -> None:
    """Once, at its revision."""
    proposal = decide(kernel, space, "a", "x", proposed=True)
    args = {"decision_id": proposal["decision_id"]}
    stale = kernel.write(ADOPT, args, project=space["project_id"], rev=7)
    assert stale["problem"]["type"].endswith(":stale-revision")
    kernel.ok(ADOPT, args, project=space["project_id"])
    again = kernel.write(ADOPT, args, project=space["project_id"])
    assert again["problem"]["type"].endswith(":invalid")


# --- reading ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "because"),
    [
        (lambda _k, _s: None, "never_decided"),
        (lambda k, s: decide(k, s, "a", "x", proposed=True), "only_proposed"),
        (lambda k, s: decide(k, s, "a", "x", paths=["web"]), "elsewhere"),
    ],
)
def test_why_nothing_is_current(kernel: Kernel, space: Json, make: Any, because: str) -> None:
    """Never decided, only proposed, or decided for another place."""
    make(kernel, space)
    found = current(kernel, space, "a", path="api")
    assert (found["status"], found["because"]) == ("none", because)


def test_two_spaces_that_say_other_things_are_contested(kernel: Kernel, space: Json) -> None:
    """Across spaces decisions are compared here, among those that the reader sees."""
    hidden = kernel.ok(
        "space_create", {"title": "other", "visibility": "restricted"}, project=space["project_id"]
    )
    one, other = decide(kernel, space, "a", "x"), decide(kernel, hidden, "a", "y")
    found = current(kernel, space, "a")
    assert found["status"] == "contested"
    assert ids(found["contesting"]) == [other["decision_id"], one["decision_id"]]
    assert ids(current(kernel, space, "a", space_id=space["space_id"])["current"]) == [one["decision_id"]]
    agent = Agent(kernel, "reader")
    agent.join(space, "observer")
    seen = agent.send("tallystick_decision_current", {"key": "a"}, project=space["project_id"])["result"]
    assert (seen["status"], ids(seen["current"])) == ("current", [one["decision_id"]])
    listed_ = agent.send("tallystick_decision_list", {"limit": 9}, project=space["project_id"])["result"]
    assert ids(listed_["items"]) == [one["decision_id"]]
    args = {"decision_id": other["decision_id"]}
    shown = agent.send("tallystick_decision_show", args, project=space["project_id"])
    assert shown["problem"]["type"].endswith(":not-found")


def test_what_bears_on_a_decision(kernel: Kernel, space: Json) -> None:
    """A basis that fell, a challenge that was not retracted, a review that is due."""
    basis = decide(kernel, space, "a", "x")
    made = decide(
        kernel, space, "b", "y", depends_on=[basis["decision_id"]], review_after="2000-01-01T00:00:00Z"
    )
    assert (made["basis_changed"], made["review_due"]) == (False, True)
    decide(kernel, space, "a", "z", supersedes=[basis["decision_id"]])
    assert show(kernel, space, made)["basis_changed"]
    evidence = kernel.said(space, "it is not so")
    contribution = kernel.read(
        "contribution_show", {"contribution_id": made["contribution_ref"]}, project=space["project_id"]
    )["result"]
    args = {"space_id": space["space_id"], "branch_id": space["main_branch_id"], "kind": "challenges"}
    for name, said in (("from_ref", evidence), ("to_ref", contribution)):
        digest = said["content_digest"]
        args[name] = {"object_ref": said["contribution_id"], "revision": 1, "digest": digest}
    at_head = {"dev.tallystick.append": {"at_head": True}}
    relation = kernel.ok("relation_assert", args, project=space["project_id"], ext=at_head)
    assert show(kernel, space, made)["challenged_by"] == [relation["relation_id"]]
    retract = {"relation_ref": relation["relation_id"], "reason_class": "wrong"}
    kernel.ok("relation_retract", retract, project=space["project_id"])
    assert show(kernel, space, made)["challenged_by"] == []


def test_a_list_in_pages_is_the_whole(kernel: Kernel, space: Json) -> None:
    """Over two spaces, in the order of recording; what is left out is counted once."""
    other = kernel.ok(
        "space_create", {"title": "other", "visibility": "project"}, project=space["project_id"]
    )
    made = [
        decide(kernel, where, f"k.{n}", "x", proposed=n % 3 == 0)
        for n, where in enumerate([space, other] * 6)
    ]
    standing = [each["decision_id"] for each in made if each["state"] == "standing"]
    found: list[str] = []
    left_out = 0
    page: Json = {}
    while True:
        going = {"after": page["next"], "snapshot": page["snapshot"]} if page else {}
        page = listed(kernel, space, limit=3, **going)
        found += ids(page["items"])
        left_out += page["left_out"].get("proposed", 0)
        if "next" not in page:
            break
    assert (found, left_out) == (standing, 4)
    whole = listed(kernel, space, include=["proposed"])
    assert ids(whole["items"]) == [each["decision_id"] for each in made]
    assert ids(listed(kernel, space, key_prefix="k.1", include=["proposed"])["items"]) == [
        made[1]["decision_id"]
    ]


# --- what the database itself refuses -----------------------------------------------------------------------
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE decisions SET state = 'proposed'",
        "UPDATE decisions SET state = 'withdrawn'",
        "UPDATE decisions SET state = 'forgotten'",
        "UPDATE decisions SET state = 'superseded', revision = 2",
        "UPDATE decisions SET key = 'other'",
        "UPDATE decisions SET repository = 'other'",
        "UPDATE decisions SET region = 'other'",
        "UPDATE decisions SET space = 0",
        "UPDATE decisions SET rank = 3",
        "UPDATE decisions SET rank = NULL",
        "UPDATE decisions SET ratified_by = 1, rank = 4",
        "UPDATE decisions SET ratified_by = position + 1, rank = 4",
        f"INSERT INTO decisions SELECT {COPIED}, 'withdrawn', 1, NULL, 0, NULL FROM decisions",
        f"INSERT INTO decisions SELECT 1, x'', {LABELS}, 'standing', 1, NULL, 0, NULL FROM decisions",
        f"INSERT INTO decisions SELECT {COPIED}, 'standing', 1, NULL, 0, NULL FROM decisions",
        "INSERT INTO decision_links SELECT position, 'narrows', position FROM decisions",
        "INSERT INTO decision_links SELECT position, 'likes', position - 1 FROM decisions",
        "INSERT INTO decision_links SELECT position, NULL, position - 1 FROM decisions",
        "INSERT INTO decision_conflicts SELECT position, position, 'same_key', 1, NULL FROM decisions",
        "INSERT INTO decision_conflicts SELECT position - 1, position, 'dislike', 1, NULL FROM decisions",
        "INSERT INTO decision_conflicts SELECT position - 1, position, 'excluded', 5, 4 FROM decisions",
        "INSERT INTO decision_places SELECT space, NULL, '', position FROM decisions",
        "DELETE FROM contributions WHERE position IN (SELECT position FROM decisions)",
    ],
)
@pytest.mark.parametrize("open_", [True, False], ids=["live", "closed"])
def test_states_that_may_not_be_are_refused(kernel: Kernel, space: Json, statement: str, open_: bool) -> None:
    """By the tables themselves, on a live store and on a closed one."""
    made = decide(kernel, space, "a", "x")
    if not open_:
        kernel.close()
    db = raw(kernel)
    with pytest.raises(apsw.ConstraintError):
        db.execute(f"BEGIN; {statement}; COMMIT")
    if db.in_transaction:
        db.execute("ROLLBACK")
    db.close()
    if not open_:
        kernel.open()
    assert show(kernel, space, made) == made


# --- workers ------------------------------------------------------------------------------------------------
def test_a_workers_decision_is_a_step_that_it_can_read(kernel: Kernel, space: Json) -> None:
    """Under its fence, as its deployment; other decisions are not there for it."""
    invocation = kernel.invocation(space, kernel.said(space, "which?", "question"))
    worker = Worker(kernel, space, invocation, kernel.claim(invocation, key="first"))
    args = {"space_id": space["space_id"], "key": "a", "value": "x", "reason": "why", **worker.binding}
    made = kernel.write(RECORD, args, key="step", project=space["project_id"], socket=Socket.WORKER)
    assert made["outcome"] == "ok", made
    assert made["result"]["by"].startswith("asstdep-")
    read = {"decision_id": made["result"]["decision_id"], **worker.binding}
    shown = kernel.read("tallystick_decision_show", read, project=space["project_id"], socket=Socket.WORKER)
    assert shown["result"] == made["result"]
    other = decide(kernel, space, "b", "y")
    hidden = kernel.read(
        "tallystick_decision_show",
        {"decision_id": other["decision_id"], **worker.binding},
        project=space["project_id"],
        socket=Socket.WORKER,
    )
    assert hidden["problem"]["type"].endswith(":not-found")
