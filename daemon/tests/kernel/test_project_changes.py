"""Projects change: another name at once, another access policy by a change prepared and then confirmed."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from world import AT_HEAD

from tallyd.clerk import Clerk
from tallyd.clerk.refusals import RefusalMeter
from tallyd.families.access_changes import prepared
from tallyd.ledger.orders import Order, Orders
from tallyd.ledger.verify import Walk
from tallyd.service.wiring import WIRING
from tallystick.protocol.digests import cod

from .agents import Agent
from .kernel import Json, Kernel

PREPARE = "project_access_policy_change_prepare"
SHOW = "project_access_policy_change_show"
LIST = "project_access_policy_change_list"
CONFIRM = "project_access_policy_change_confirm"
CANCEL = "project_access_policy_change_cancel"
RECEIPT = {"decision_receipt_ref": "rcpt-1"}
STRICT = {"proposed_policy_set_ref": "policy-strict"}


@pytest.fixture
def project(kernel: Kernel) -> str:
    """A project."""
    return kernel.project()


def prepare(kernel: Kernel, project: str, args: Json | None = None, **how: Any) -> Json:
    """A prepared change."""
    return kernel.ok(PREPARE, STRICT if args is None else args, project=project, **how)


def confirm(kernel: Kernel, change: Json, **how: Any) -> Json:
    """The reply to its confirmation."""
    how.setdefault("project", change["project_id"])
    return kernel.write(CONFIRM, {"change_id": change["change_id"], **RECEIPT}, **how)


def cancel(kernel: Kernel, change: Json, **how: Any) -> Json:
    """The reply to its cancellation."""
    how.setdefault("project", change["project_id"])
    return kernel.write(CANCEL, {"change_id": change["change_id"]}, **how)


def shown(kernel: Kernel, change: Json) -> Json:
    """The change as it is."""
    answered = kernel.read(SHOW, {"change_id": change["change_id"]}, project=change["project_id"])
    assert answered["revision"] == answered["result"]["revision"]
    result: Json = answered["result"]
    return result


def project_of(kernel: Kernel, project: str) -> Json:
    """The project as it is."""
    result: Json = kernel.read("project_show", {}, project=project)["result"]
    return result


def events(kernel: Kernel, project: str) -> list[Json]:
    """The project's events."""
    found: list[Json] = kernel.read("events_read", {"source": project, "limit": 200})["result"]["events"]
    return found


def pinned(kernel: Kernel, space: Json) -> str:
    """A frontier of the space."""
    args = {"space_id": space["space_id"], "branch_id": space["main_branch_id"]}
    return str(kernel.ok("frontier_pin", args, project=space["project_id"])["frontier_id"])


# --- metadata -----------------------------------------------------------------------------------------------
def test_a_rename_is_one_revision_and_one_event_with_the_whole_record(kernel: Kernel, project: str) -> None:
    """Reply, project and payload are one record; the same name again is a revision too."""
    for revision in (2, 3):
        answered = kernel.write("project_update_metadata", {"name": "cellar"}, project=project)
        told = events(kernel, project)[-1]
        assert told["payload"] == answered["result"] == project_of(kernel, project)
        assert answered["result"]["name"] == "cellar"
        assert answered["revision"] == told["resource_revision"] == revision
        assert (told["type"], told["stream_id"]) == ("dev.kovee.project.updated.v1", project)


def test_a_rename_compares_the_expected_revision(kernel: Kernel, project: str) -> None:
    """Another revision is stale, and the refusal says which one it is."""
    stale = kernel.write("project_update_metadata", {"name": "x"}, project=project, rev=2)
    assert kernel.problem(stale) == "stale-revision"
    assert stale["problem"]["ext"]["dev.kovee.recovery.stale-revision"] == {"current_revision": 1}
    assert kernel.ok("project_update_metadata", {"name": "x"}, project=project, rev=1)["revision"] == 2


@pytest.mark.parametrize("status", ["suspended", "archived"])
def test_a_project_that_is_not_active_keeps_its_name(kernel: Kernel, project: str, status: str) -> None:
    """No operation makes it so yet; where it is so, a rename is stale."""
    kernel.store.writer.execute("UPDATE projects SET status = ?", (status,))
    kernel.tx.undo_all()
    refused = kernel.write("project_update_metadata", {"name": "x"}, project=project)
    assert kernel.problem(refused) == "stale-revision"


def test_a_name_stands_in_a_body_alone(kernel: Kernel, project: str) -> None:
    """No table holds it in the clear, and once its body is gone project and event read ``[erased]``."""
    kernel.ok("project_update_metadata", {"name": "canary of a name"}, project=project)
    assert "canary" not in repr(kernel.dump())
    number = kernel.dump()["bodies"][-1][0]
    for table in ("bodies", "object_keys"):
        kernel.store.writer.execute(f"DELETE FROM {table} WHERE body = ?", (number,))
    assert project_of(kernel, project)["name"] == "[erased]"
    assert events(kernel, project)[-1]["payload"]["name"] == "[erased]"


# --- preparing ----------------------------------------------------------------------------------------------
def test_a_prepared_change_says_what_it_binds(kernel: Kernel, project: str) -> None:
    """Its record has what was and what is proposed, all frontiers, and digests that a client can derive."""
    space, hidden = kernel.space(project), kernel.space(project, "another")
    kernel.ok("space_restrict", {"space_id": hidden["space_id"]}, project=project)
    said = [kernel.said(space, "one"), kernel.said(hidden, "two"), kernel.said(space, "three")]
    frontiers = [pinned(kernel, space), pinned(kernel, hidden)]
    change = prepare(kernel, project)
    items = [
        {"ref": one["contribution_id"], "digest": one["content_digest"]}
        for one in (said[0], said[2], said[1])
    ]
    subject = {
        "project_id": project,
        "expected_project_revision": 1,
        "prior_policy_set_ref": "policy-default",
        "proposed_policy_set_ref": "policy-strict",
        "prior_default_classification_ref": "class-default",
        "proposed_default_classification_ref": "class-default",
        "affected_space_frontier_refs": frontiers,
        "affected_item_set_digest": cod("kovee-item-set", "schema:kovee-item-set-v1", {"items": items}),
    }
    audience = {"scope": "project", "project_id": project}
    assert change == {
        **subject,
        "change_id": change["change_id"],
        "effective_change": "incomparable",
        "classification_join_ref": "class-default",
        "destination_audience_digest": cod(
            "kovee-destination-audience", "schema:kovee-audience-v1", audience
        ),
        "subject_digest": cod("kovee-prepared-subject", "schema:kovee-prepared-subject-v1", subject),
        "prepared_by_principal": "prin-owner",
        "state": "prepared",
        "revision": 1,
        "created_at": "2030-03-17T17:46:40Z",
    }
    assert shown(kernel, change) == change


def test_an_empty_project_has_an_empty_item_set(kernel: Kernel, project: str) -> None:
    """The digest is of no items, and not of something else."""
    empty = cod("kovee-item-set", "schema:kovee-item-set-v1", {"items": []})
    assert prepare(kernel, project)["affected_item_set_digest"] == empty


def test_preparing_changes_the_project_in_nothing(kernel: Kernel, project: str) -> None:
    """One event in the project's stream, and the project as it was."""
    before, count = project_of(kernel, project), len(events(kernel, project))
    answered = kernel.write(PREPARE, STRICT, project=project)
    told = events(kernel, project)[count:]
    assert [event["type"] for event in told] == ["dev.kovee.project.policy-change-prepared.v1"]
    assert told[0]["payload"] == answered["result"]
    assert told[0]["resource_ref"] == answered["result"]["change_id"]
    assert told[0]["stream_id"] == project
    assert told[0]["schema_ref"] == "schema:project-access-policy-change-v1"
    assert (answered["revision"], told[0]["resource_revision"]) == (1, 1)
    assert project_of(kernel, project) == before


def test_a_changes_events_are_classified_as_its_project_is_until_then(kernel: Kernel, project: str) -> None:
    """As the project's own events are; a change of that is told as before, and what follows as it is then."""
    narrowing = {"proposed_default_classification_ref": "class-secret"}
    cancel(kernel, prepare(kernel, project))
    confirm(kernel, prepare(kernel, project, narrowing))
    prepare(kernel, project)
    told = [event["classification_ref"] for event in events(kernel, project)[1:]]
    assert told == ["class-default"] * 4 + ["class-secret"]


def test_preparing_compares_the_projects_revision(kernel: Kernel, project: str) -> None:
    """Another revision is stale."""
    assert kernel.problem(kernel.write(PREPARE, STRICT, project=project, rev=0)) == "stale-revision"
    assert prepare(kernel, project, rev=1)["expected_project_revision"] == 1


ORDERS = Orders(
    policies=Order(("policy-open", "policy-default", "policy-strict")),
    classifications=Order(("class-public", "class-default", "class-internal")),
)
EFFECTS = [
    ({}, "narrowing"),
    ({"policy": "policy-strict"}, "narrowing"),
    ({"policy": "policy-open"}, "widening"),
    ({"policy": "policy-unheard-of"}, "incomparable"),
    ({"classification": "class-internal"}, "narrowing"),
    ({"classification": "class-public"}, "widening"),
    ({"classification": "class-sensitive"}, "narrowing"),
    ({"classification": "class-unheard-of"}, "incomparable"),
    ({"policy": "policy-strict", "classification": "class-internal"}, "narrowing"),
    ({"policy": "policy-open", "classification": "class-public"}, "widening"),
    ({"policy": "policy-strict", "classification": "class-public"}, "incomparable"),
    ({"policy": "policy-open", "classification": "class-unheard-of"}, "incomparable"),
]


@pytest.mark.parametrize(("proposed", "effect"), EFFECTS)
def test_the_effect_follows_from_the_declared_orders(
    kernel: Kernel, project: str, proposed: Json, effect: str
) -> None:
    """Narrower in nothing wider, wider in nothing narrower, or neither can be said."""
    kernel.tx.orders = ORDERS
    names = {"policy": "proposed_policy_set_ref", "classification": "proposed_default_classification_ref"}
    args = {names[name]: value for name, value in proposed.items()}
    assert prepare(kernel, project, args)["effective_change"] == effect


def test_without_declared_orders_only_no_change_can_be_compared(kernel: Kernel, project: str) -> None:
    """Nothing proposed is a narrowing; anything else is incomparable."""
    assert prepare(kernel, project, {})["effective_change"] == "narrowing"
    assert prepare(kernel, project)["effective_change"] == "incomparable"


def test_more_frontiers_than_a_record_may_list_are_refused_whole(kernel: Kernel, project: str) -> None:
    """256 are listed; with one more nothing of the command is left, and its key is free."""
    space = kernel.space(project)
    for _ in range(256):
        pinned(kernel, space)
    assert len(prepare(kernel, project)["affected_space_frontier_refs"]) == 256
    pinned(kernel, space)
    kernel.clerk.tidy()
    before = kernel.dump()
    refused = kernel.write(PREPARE, STRICT, project=project, key="k1")
    assert kernel.problem(refused) == "invalid"
    after = kernel.dump()
    assert len(after.pop("log")) == len(before.pop("log")) + 1
    assert after == before
    assert kernel.write(PREPARE, STRICT, project=kernel.project("cellar"), key="k1")["outcome"] == "ok"


# --- the states as a table ----------------------------------------------------------------------------------
# State before, what is done, state after ("-": refused). Written from the protocol, not from the product.
STATES = """
prepared  confirm    confirmed
prepared  cancel     canceled
prepared  find-stale stale
confirmed confirm    -
confirmed cancel     -
confirmed find-stale -
canceled  confirm    -
canceled  cancel     -
canceled  find-stale -
stale     confirm    -
stale     cancel     -
stale     find-stale -
"""
ROWS = [tuple(line.split()) for line in STATES.strip().splitlines()]


def bring(kernel: Kernel, change: Json, state: str) -> None:
    """Ends a change so that it is in that state."""
    if state == "confirmed":
        assert confirm(kernel, change)["outcome"] == "ok"
    elif state == "canceled":
        assert cancel(kernel, change)["outcome"] == "ok"
    elif state == "stale":
        move(kernel, change)
        assert kernel.problem(confirm(kernel, change)) == "stale-revision"


def move(kernel: Kernel, change: Json) -> None:
    """Moves what a change binds."""
    kernel.ok("project_update_metadata", {"name": "moved"}, project=change["project_id"])


def test_the_states_are_the_table_of_the_protocol() -> None:
    """Each state and act of the product's table is in the one written by hand, and the reverse."""
    by_hand = {(state, done.replace("-", " ")): after for state, done, after in ROWS}
    acts = {done for _, done in by_hand}
    product = {
        (state, done): prepared.LIFECYCLE[state].get(done, "-")
        for state, done in itertools.product(prepared.LIFECYCLE, acts)
    }
    assert product == by_hand


@pytest.mark.parametrize(("state", "done", "after"), ROWS)
def test_each_state_takes_what_the_table_says(
    kernel: Kernel, project: str, state: str, done: str, after: str
) -> None:
    """An ended change is final: whatever is done to it then is stale, and leaves it as it was."""
    change = prepare(kernel, project)
    bring(kernel, change, state)
    before = shown(kernel, change)
    assert before["state"] == state
    if done == "find-stale":
        move(kernel, change)
    answered = cancel(kernel, change) if done == "cancel" else confirm(kernel, change)
    if after in ("-", "stale"):
        assert kernel.problem(answered) == "stale-revision"
    else:
        assert answered["outcome"] == "ok", answered
    assert shown(kernel, change)["state"] == (state if after == "-" else after)
    if after == "-":
        assert shown(kernel, change) == before


def test_the_state_is_looked_at_before_the_revision(kernel: Kernel, project: str) -> None:
    """A change that has ended is refused for that, whatever revision is expected of it."""
    change = prepare(kernel, project)
    bring(kernel, change, "canceled")
    for answered in (confirm(kernel, change, rev=7), cancel(kernel, change, rev=7)):
        assert kernel.problem(answered) == "stale-revision"
        assert "is canceled" in answered["problem"]["detail"]


@pytest.mark.parametrize("end", [confirm, cancel])
def test_ending_compares_the_changes_own_revision(kernel: Kernel, project: str, end: Any) -> None:
    """It is the change that is expected at a revision, not its project; a wrong one leaves it prepared."""
    kernel.ok("project_update_metadata", {"name": "cellar"}, project=project)
    change = prepare(kernel, project)
    assert kernel.problem(end(kernel, change, rev=2)) == "stale-revision"
    assert shown(kernel, change)["state"] == "prepared"
    assert end(kernel, change, rev=1)["outcome"] == "ok"


# --- confirming ---------------------------------------------------------------------------------------------
def test_a_confirmation_puts_the_change_into_force(kernel: Kernel, project: str) -> None:
    """The project is one revision on, with what was proposed; the one event is the change's own."""
    proposed = {**STRICT, "proposed_default_classification_ref": "class-internal"}
    change = prepare(kernel, project, proposed)
    count = len(events(kernel, project))
    answered = confirm(kernel, change)
    told = events(kernel, project)[count:]
    assert [event["type"] for event in told] == ["dev.kovee.project.policy-change-confirmed.v1"]
    assert told[0]["payload"] == answered["result"] == shown(kernel, change)
    assert answered["result"] == {
        **change,
        "state": "confirmed",
        "revision": 2,
        "decision_receipt_ref": "rcpt-1",
        "terminal_at": "2030-03-17T17:46:40Z",
    }
    assert answered["revision"] == 2
    after = project_of(kernel, project)
    assert (after["policy_set_ref"], after["default_classification_ref"]) == (
        "policy-strict",
        "class-internal",
    )
    assert after["revision"] == 2


def test_a_cancellation_changes_nothing_else(kernel: Kernel, project: str) -> None:
    """The project stays as it was, and no receipt is shown."""
    change, before = prepare(kernel, project), project_of(kernel, project)
    kernel.ambient.advance(5)
    answered = cancel(kernel, change)
    assert answered["result"] == {
        **change,
        "state": "canceled",
        "revision": 2,
        "terminal_at": "2030-03-17T17:46:45Z",
    }
    told = events(kernel, project)[-1]
    assert told["type"] == "dev.kovee.project.policy-change-canceled.v1"
    assert told["payload"] == answered["result"]
    assert project_of(kernel, project) == before


def test_what_a_change_does_not_bind_may_move(kernel: Kernel, project: str) -> None:
    """Frontiers are listed and not bound; neither are relations, nor what happens in other projects."""
    space = kernel.space(project)
    one, two = kernel.said(space, "one"), kernel.said(space, "two")
    change = prepare(kernel, project)
    pinned(kernel, space)
    ends = [
        {"object_ref": said["contribution_id"], "revision": 1, "digest": said["content_digest"]}
        for said in (one, two)
    ]
    kernel.ok(
        "relation_assert",
        {
            "space_id": space["space_id"],
            "branch_id": space["main_branch_id"],
            "kind": "supports",
            "from_ref": ends[0],
            "to_ref": ends[1],
        },
        project=project,
        ext=AT_HEAD,
    )
    kernel.said(kernel.space(kernel.project("cellar")), "elsewhere")
    assert confirm(kernel, change)["outcome"] == "ok"


def test_of_two_changes_of_one_revision_one_is_confirmed(kernel: Kernel, project: str) -> None:
    """The first confirmation moves the project, so the other finds itself stale."""
    first, second = prepare(kernel, project), prepare(kernel, project, {})
    assert confirm(kernel, first)["outcome"] == "ok"
    assert kernel.problem(confirm(kernel, second)) == "stale-revision"
    assert shown(kernel, second)["state"] == "stale"


# --- a refusal that changes the state -----------------------------------------------------------------------
def append_to(kernel: Kernel, change: Json) -> None:
    """A contribution in a space of the change's project."""
    listed = kernel.read("space_list", {"limit": 1}, project=change["project_id"])
    kernel.said(listed["result"]["items"][0], "new")


def new_space(kernel: Kernel, change: Json) -> None:
    """A contribution in a space that was not there."""
    kernel.said(kernel.space(change["project_id"], "new"), "new")


@pytest.mark.parametrize("moves", [move, append_to, new_space])
def test_a_confirmation_that_finds_its_change_stale_says_so_and_makes_it_so(
    kernel: Kernel, project: str, moves: Any
) -> None:
    """Refused, the project as it was, and the change stale: ended, without a receipt, with no event and at
    the revision that the last one told.
    """
    kernel.space(project)
    change = prepare(kernel, project)
    moves(kernel, change)
    before, count = project_of(kernel, project), len(events(kernel, project))
    kernel.ambient.advance(5)
    refused = confirm(kernel, change)
    assert kernel.problem(refused) == "stale-revision"
    assert refused["problem"]["ext"]["dev.kovee.recovery.stale-revision"] == {"current_revision": 1}
    assert shown(kernel, change) == {
        **change,
        "state": "stale",
        "terminal_at": "2030-03-17T17:46:45Z",
    }
    assert project_of(kernel, project) == before
    assert len(events(kernel, project)) == count


def test_the_same_confirmation_sent_again_is_refused_in_the_same_bytes(kernel: Kernel, project: str) -> None:
    """Nothing is stored under its key, and what it finds then is refused as it was: also after a restart."""
    change = prepare(kernel, project)
    move(kernel, change)
    asked = kernel.request(CONFIRM, {"change_id": change["change_id"], **RECEIPT}, project=project, key="k1")
    first = kernel.answer(*asked)
    state = shown(kernel, change)
    assert kernel.answer(*asked) == first
    kernel.reopen()
    assert kernel.answer(*asked) == first
    assert shown(kernel, change) == state
    assert len(kernel.dump()["idempotency"]) == 3  # of the project, the change and the rename


def test_a_refusal_that_changes_the_state_is_one_row_that_commits_to_it(kernel: Kernel, project: str) -> None:
    """Beside the change's own row the log's alone is new; its outcome is the refusal's, and it verifies."""
    change = prepare(kernel, project)
    move(kernel, change)
    kernel.clerk.tidy()
    before = kernel.dump()
    confirm(kernel, change)
    after = kernel.dump()
    assert [table for table in after if after[table] != before[table]] == ["log", "prepared_changes"]
    assert len(after["log"]) == len(before["log"]) + 1
    row = kernel.view.log_row(len(after["log"]) - 1)
    assert (row.outcome, row.event_id, row.key_hash) == ("stale-revision", None, None)
    assert row.state_commitment is not None
    assert list(Walk(kernel.view).slices()) == [None]
    confirm(kernel, change)
    assert kernel.view.log_row(len(after["log"])).state_commitment is None


def test_it_is_written_down_however_many_refusals_there_were(kernel: Kernel, project: str) -> None:
    """What changes the state has its row, also beyond the refusals of a minute that are written one by
    one.
    """
    change = prepare(kernel, project)
    move(kernel, change)
    none_at_all = RefusalMeter(per_minute_max=0)
    kernel.clerk = Clerk(kernel.tx, kernel.ambient, WIRING.writes, WIRING.fenced_reads, refusals=none_at_all)
    for _ in range(3):
        kernel.write("space_freeze", {"space_id": "space-none"}, project=project)
    before = len(kernel.dump()["log"])
    confirm(kernel, change)
    assert len(kernel.dump()["log"]) == before + 1
    assert kernel.view.log_row(before).outcome == "stale-revision"


def test_others_in_its_batch_are_applied(kernel: Kernel, project: str) -> None:
    """A refusal that stays takes nothing from its neighbours, and what refused ones wrote goes as ever."""
    space = kernel.space(project)
    change = prepare(kernel, project)
    move(kernel, change)
    confirming = kernel.request(
        CONFIRM, {"change_id": change["change_id"], **RECEIPT}, project=project, key="k1"
    )
    answers = kernel.batch(
        [
            kernel.append_request(space, "before", key="k2"),
            confirming,
            kernel.append_request(space, "not this", "system_notice", key="k3"),
            kernel.append_request(space, "after", key="k4"),
        ]
    )
    assert [answer["outcome"] for answer in answers] == ["ok", "problem", "problem", "ok"]
    assert answers[3]["result"]["space_sequence"] == 2
    assert shown(kernel, change)["state"] == "stale"
    assert list(Walk(kernel.view).slices()) == [None]


# --- replays, reads, authority ------------------------------------------------------------------------------
@pytest.mark.parametrize("op", [PREPARE, CONFIRM, CANCEL])
def test_a_replay_after_a_restart_is_byte_identical_and_writes_nothing(
    kernel: Kernel, project: str, op: str
) -> None:
    """The same key and intent get the first reply, though the change has ended since."""
    change = prepare(kernel, project)
    args = {
        PREPARE: {**STRICT, "proposed_default_classification_ref": "class-internal"},
        CONFIRM: {"change_id": change["change_id"], **RECEIPT},
        CANCEL: {"change_id": change["change_id"]},
    }[op]
    line, socket = kernel.request(op, args, project=project, key="k1")
    first = kernel.answer(line, socket)
    assert json.loads(first)["outcome"] == "ok"
    kernel.reopen()
    before = kernel.dump()
    assert kernel.answer(line, socket) == first
    assert kernel.dump() == before


def test_another_receipt_under_a_key_is_another_intent(kernel: Kernel, project: str) -> None:
    """A key means one decision."""
    change = prepare(kernel, project)
    assert confirm(kernel, change, key="k1")["outcome"] == "ok"
    other = {"change_id": change["change_id"], "decision_receipt_ref": "rcpt-2"}
    assert kernel.problem(kernel.write(CONFIRM, other, project=project, key="k1")) == "idempotency-mismatch"


def test_a_change_is_found_in_its_own_project_alone(kernel: Kernel, project: str) -> None:
    """An unknown one, one of another project, and an id of another kind with its digits are not found."""
    change, elsewhere = prepare(kernel, project), kernel.project("cellar")
    digits = change["change_id"].removeprefix("papc-")
    widened = {"space_id": kernel.space(project)["space_id"]}
    widening = kernel.ok("space_access_widen_prepare", widened, project=project)["widening_id"]
    for named, where in (
        (change["change_id"], elsewhere),
        ("papc-" + "0" * 32, project),
        ("papc-none", project),
        (f"widen-{digits}", project),
        (f"evt-{digits}", project),
        ("papc-" + widening.removeprefix("widen-"), project),
        ("papc-" + project.removeprefix("proj-"), project),
    ):
        one = {"change_id": named}
        assert kernel.problem(kernel.read(SHOW, one, project=where)) == "not-found"
        assert kernel.problem(kernel.write(CANCEL, one, project=where)) == "not-found"
        assert kernel.problem(kernel.write(CONFIRM, {**one, **RECEIPT}, project=where)) == "not-found"


def test_changes_are_listed_in_the_order_of_their_making_as_they_are_now(
    kernel: Kernel, project: str
) -> None:
    """Page by page within their snapshot; those of another project, and widenings, are not among them."""
    space = kernel.space(project)
    kernel.ok("space_access_widen_prepare", {"space_id": space["space_id"]}, project=project)
    changes = [prepare(kernel, project) for _ in range(5)]
    prepare(kernel, kernel.project("cellar"))
    first = kernel.read(LIST, {"limit": 2}, project=project)["result"]
    prepare(kernel, project)
    cancel(kernel, changes[3])
    seen, after = list(first["items"]), first["next"]
    while after is not None:
        args = {"limit": 2, "after": after, "snapshot": first["snapshot"]}
        page = kernel.read(LIST, args, project=project)["result"]
        seen += page["items"]
        after = page.get("next")
    assert [one["change_id"] for one in seen] == [one["change_id"] for one in changes]
    assert seen == [shown(kernel, one) for one in changes]


def test_a_change_is_the_owners_and_shown_to_the_projects_members(kernel: Kernel, project: str) -> None:
    """Nobody else prepares, confirms or cancels; whoever is of the project may look, and others find
    nothing.
    """
    space = kernel.space(project)
    change = prepare(kernel, project)
    steward = kernel.agent_in(space, "steward", "steward")
    stranger = kernel.agent_in(kernel.space(kernel.project("cellar")), "stranger", "steward")
    one = {"change_id": change["change_id"]}

    def kinds(actor: str) -> list[str]:
        asked = [
            kernel.request(PREPARE, STRICT, project=project, key="k1"),
            kernel.request(CONFIRM, {**one, **RECEIPT}, project=project, key="k2"),
            kernel.request(CANCEL, one, project=project, key="k3"),
            kernel.request(SHOW, one, project=project),
            kernel.request(LIST, {"limit": 9}, project=project),
        ]
        replies = [json.loads(kernel.answer(*request, actor)) for request in asked]
        return ["ok" if reply["outcome"] == "ok" else kernel.problem(reply) for reply in replies]

    assert kinds(steward) == ["forbidden"] * 3 + ["ok"] * 2
    assert kinds(stranger) == ["not-found"] * 5
    assert shown(kernel, change) == change


def test_a_change_that_lists_frontiers_of_an_unseen_space_is_not_there(kernel: Kernel, project: str) -> None:
    """For an agent it is not shown, listed or told of; from when it sees that space, it is."""
    agent = Agent(kernel, "reviewer")
    agent.join(kernel.space(project, "seen"), "observer")
    before = prepare(kernel, project)
    hidden = kernel.ok("space_create", {"title": "hidden", "visibility": "restricted"}, project=project)
    kernel.ok(
        "frontier_pin",
        {"space_id": hidden["space_id"], "branch_id": hidden["main_branch_id"]},
        project=project,
    )
    after = prepare(kernel, project)
    assert before["affected_space_frontier_refs"] == []
    assert len(after["affected_space_frontier_refs"]) == 1

    def sees() -> tuple[list[str], list[str], list[str]]:
        shows = [
            change["change_id"]
            for change in (before, after)
            if agent.send(SHOW, {"change_id": change["change_id"]}, project=project)["outcome"] == "ok"
        ]
        listed = agent.send(LIST, {"limit": 10}, project=project)["result"]["items"]
        told = agent.send("events_read", {"source": project, "limit": 100})["result"]["events"]
        return (
            shows,
            [item["change_id"] for item in listed],
            [event["resource_ref"] for event in told if event["resource_ref"].startswith("papc-")],
        )

    assert sees() == ([before["change_id"]],) * 3
    agent.grant(hidden, "read")
    assert sees() == ([before["change_id"], after["change_id"]],) * 3
