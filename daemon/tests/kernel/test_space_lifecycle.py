"""What is done to a space itself: its statuses as a table, metadata, restriction and narrowing."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tallyd.families.projects import spaces
from tallyd.ledger.orders import Order, Orders
from tallyd.ledger.verify import Walk

from .kernel import Json, Kernel

# Status before, operation, status after ("-": refused). Written from the protocol, not from the product.
LIFECYCLE = """
open     space_freeze               frozen
open     space_reopen               -
open     space_archive              archived
open     space_update_metadata      open
open     space_policy_narrow        open
open     space_access_widen_prepare open
open     space_restrict             open
frozen   space_freeze               -
frozen   space_reopen               open
frozen   space_archive              archived
frozen   space_update_metadata      frozen
frozen   space_policy_narrow        frozen
frozen   space_access_widen_prepare frozen
frozen   space_restrict             frozen
archived space_freeze               -
archived space_reopen               -
archived space_archive              -
archived space_update_metadata      -
archived space_policy_narrow        -
archived space_access_widen_prepare -
archived space_restrict             archived
"""
ROWS = [tuple(line.split()) for line in LIFECYCLE.strip().splitlines()]
CHANGES = {
    "space_freeze": "dev.kovee.space.frozen.v1",
    "space_reopen": "dev.kovee.space.reopened.v1",
    "space_archive": "dev.kovee.space.archived.v1",
    "space_restrict": "dev.kovee.space.restricted.v1",
    "space_update_metadata": "dev.kovee.space.updated.v1",
    "space_policy_narrow": "dev.kovee.space.policy-narrowed.v1",
}
"""What each operation that changes a space is told by."""
LEADING_TO = {"open": (), "frozen": ("space_freeze",), "archived": ("space_archive",)}


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """An open space."""
    return kernel.space(kernel.project())


def change(kernel: Kernel, space: Json, op: str, args: Json | None = None, **how: Any) -> Json:
    """The reply to an operation on the space."""
    said = {"space_id": space["space_id"], **(args or {})}
    return kernel.write(op, said, project=space["project_id"], **how)


def changed(kernel: Kernel, space: Json, op: str, args: Json | None = None, **how: Any) -> Json:
    """The space after an operation that must be applied."""
    answered = change(kernel, space, op, args, **how)
    assert answered["outcome"] == "ok", answered
    result: Json = answered["result"]
    return result


def shown(kernel: Kernel, space: Json) -> Json:
    """The space as it is."""
    result: Json = kernel.read("space_show", {"space_id": space["space_id"]}, project=space["project_id"])[
        "result"
    ]
    return result


def events(kernel: Kernel, space: Json) -> list[Json]:
    """The project's events."""
    found: list[Json] = kernel.read("events_read", {"source": space["project_id"], "limit": 100})["result"][
        "events"
    ]
    return found


def before_that(kernel: Kernel, space: Json, op: str) -> None:
    """Makes the space one that the operation goes with."""
    if op == "space_reopen":
        changed(kernel, space, "space_freeze")


# --- the table ----------------------------------------------------------------------------------------------
def test_the_lifecycle_is_the_table_of_the_protocol() -> None:
    """Each status and operation of the product's table is in the one written by hand, and the reverse."""
    by_hand = {(status, op): after for status, op, after in ROWS}
    operations = {op for _, op in by_hand}
    product = {
        (status, op): spaces.LIFECYCLE[status].get(op, "-")
        for status, op in itertools.product(spaces.LIFECYCLE, operations)
    }
    assert product == by_hand
    assert {op for after in spaces.LIFECYCLE.values() for op in after} == operations


@pytest.mark.parametrize(("status", "op", "after"), ROWS)
def test_each_status_takes_what_the_table_says(
    kernel: Kernel, space: Json, status: str, op: str, after: str
) -> None:
    """An operation that a status allows leads to the status of the table; all others are stale, and change
    nothing.
    """
    for step in LEADING_TO[status]:
        changed(kernel, space, step)
    before = shown(kernel, space)
    assert before["status"] == status
    answered = change(kernel, space, op)
    if after == "-":
        assert kernel.problem(answered) == "stale-revision"
        recovery = answered["problem"]["ext"]["dev.kovee.recovery.stale-revision"]
        assert recovery == {"current_revision": before["revision"]}
        assert shown(kernel, space) == before
    else:
        assert answered["outcome"] == "ok", answered
        assert shown(kernel, space)["status"] == after


@pytest.mark.parametrize("op", CHANGES)
def test_a_change_is_one_revision_and_one_event_with_the_whole_record(
    kernel: Kernel, space: Json, op: str
) -> None:
    """The reply, the space as it is shown and the event's payload are one record, one revision on."""
    before_that(kernel, space, op)
    count, revision = len(events(kernel, space)), shown(kernel, space)["revision"]
    answered = change(kernel, space, op)
    told = events(kernel, space)[count:]
    assert [event["type"] for event in told] == [CHANGES[op]]
    assert told[0]["payload"] == answered["result"] == shown(kernel, space)
    assert answered["revision"] == told[0]["resource_revision"] == revision + 1
    assert (told[0]["resource_ref"], told[0]["stream_id"]) == (space["space_id"], space["space_id"])
    assert told[0]["schema_ref"] == "schema:space-v1"


@pytest.mark.parametrize("op", CHANGES)
def test_an_expected_revision_is_compared(kernel: Kernel, space: Json, op: str) -> None:
    """Another revision than the space's is stale, and its own is taken."""
    before_that(kernel, space, op)
    revision = shown(kernel, space)["revision"]
    assert kernel.problem(change(kernel, space, op, rev=revision - 1)) == "stale-revision"
    assert changed(kernel, space, op, rev=revision)["revision"] == revision + 1


@pytest.mark.parametrize("op", CHANGES)
def test_a_space_is_found_in_its_own_project_alone(kernel: Kernel, space: Json, op: str) -> None:
    """An unknown space and one of another project are not found."""
    elsewhere = {**space, "project_id": kernel.project("cellar")}
    assert kernel.problem(change(kernel, elsewhere, op)) == "not-found"
    assert kernel.problem(change(kernel, {**space, "space_id": "space-none"}, op)) == "not-found"


@pytest.mark.parametrize("op", CHANGES)
def test_a_replay_after_a_restart_is_byte_identical_and_writes_nothing(
    kernel: Kernel, space: Json, op: str
) -> None:
    """The same key and intent get the first reply, also where the operation would be refused by now."""
    before_that(kernel, space, op)
    line, socket = kernel.request(op, {"space_id": space["space_id"]}, project=space["project_id"], key="k1")
    first = kernel.answer(line, socket)
    assert json.loads(first)["outcome"] == "ok"
    kernel.reopen()
    before = kernel.dump()
    assert kernel.answer(line, socket) == first
    assert kernel.dump() == before


def test_a_key_means_one_space(kernel: Kernel, space: Json) -> None:
    """The same key for another space is a mismatch."""
    other = kernel.space(space["project_id"], "another")
    changed(kernel, space, "space_freeze", key="k1")
    assert kernel.problem(change(kernel, other, "space_freeze", key="k1")) == "idempotency-mismatch"


def test_nothing_is_written_in_a_frozen_space_until_it_is_reopened(kernel: Kernel, space: Json) -> None:
    """An append is stale while the space is frozen, and taken again after."""
    changed(kernel, space, "space_freeze")
    assert kernel.problem(kernel.append(space, "too late")) == "stale-revision"
    changed(kernel, space, "space_reopen")
    kernel.said(space, "in time")


# --- metadata -----------------------------------------------------------------------------------------------
def test_what_is_left_out_of_the_metadata_stays(kernel: Kernel, space: Json) -> None:
    """Title and purpose change each for itself; with neither named it is a revision all the same."""
    purpose = kernel.said(space, "What holds?", "question")["contribution_id"]
    assert changed(kernel, space, "space_update_metadata", {"title": "the sink"})["title"] == "the sink"
    after = changed(kernel, space, "space_update_metadata", {"purpose_contribution_ref": purpose})
    assert (after["title"], after["purpose_contribution_ref"]) == ("the sink", purpose)
    last = changed(kernel, space, "space_update_metadata")
    assert last == {**after, "revision": after["revision"] + 1}


def test_a_purpose_is_a_contribution_of_the_space(kernel: Kernel, space: Json) -> None:
    """One that does not exist, stands in another space, or is no contribution, is not found; nothing is
    kept of it.
    """
    other = kernel.space(space["project_id"], "another")
    foreign = kernel.said(other, "Elsewhere.")["contribution_id"]
    kernel.clerk.tidy()
    before = kernel.dump()
    for purpose in (foreign, "contrib-" + "0" * 32, space["space_id"], "contrib-none"):
        args = {"title": "the sink", "purpose_contribution_ref": purpose}
        assert kernel.problem(change(kernel, space, "space_update_metadata", args)) == "not-found"
    after = kernel.dump()
    assert len(after.pop("log")) == len(before.pop("log")) + 4
    assert after == before


def test_a_title_stands_in_a_body_alone(kernel: Kernel, space: Json) -> None:
    """No table holds it in the clear, and once its body is gone record and event read ``[erased]``."""
    body = len(kernel.dump()["bodies"])
    changed(kernel, space, "space_update_metadata", {"title": "canary of a title"})
    assert "canary" not in repr(kernel.dump())
    number = kernel.dump()["bodies"][body][0]
    for table in ("bodies", "object_keys"):
        kernel.store.writer.execute(f"DELETE FROM {table} WHERE body = ?", (number,))
    assert shown(kernel, space)["title"] == "[erased]"
    assert events(kernel, space)[-1]["payload"]["title"] == "[erased]"


def test_a_title_is_content_and_is_compared_under_its_key(kernel: Kernel, space: Json) -> None:
    """Another title under the same key is another intent."""
    changed(kernel, space, "space_update_metadata", {"title": "the sink"}, key="k1")
    again = change(kernel, space, "space_update_metadata", {"title": "the tub"}, key="k1")
    assert kernel.problem(again) == "idempotency-mismatch"


def test_a_purpose_of_a_new_space_stands_in_its_project(kernel: Kernel, space: Json) -> None:
    """A space is made for a contribution of its project, and of no other."""
    purpose = kernel.said(space, "What holds?", "question")["contribution_id"]
    args = {"title": "why", "visibility": "project", "purpose_contribution_ref": purpose}
    made = kernel.ok("space_create", args, project=space["project_id"])
    assert made["purpose_contribution_ref"] == purpose
    refused = kernel.write("space_create", args, project=kernel.project("cellar"))
    assert kernel.problem(refused) == "not-found"


# --- restricting --------------------------------------------------------------------------------------------
def test_a_restricted_space_is_not_restricted_again(kernel: Kernel, space: Json) -> None:
    """Twice is stale, in whatever status."""
    assert changed(kernel, space, "space_restrict")["visibility"] == "restricted"
    assert kernel.problem(change(kernel, space, "space_restrict")) == "stale-revision"
    changed(kernel, space, "space_archive")
    assert kernel.problem(change(kernel, space, "space_restrict")) == "stale-revision"


def test_a_restricted_space_is_there_for_its_participants_alone(kernel: Kernel, space: Json) -> None:
    """Whoever takes part in another space of the project sees it until it is restricted, and then finds
    neither it nor what is in it; its own participants go on.
    """
    said = kernel.said(space, "It drips.")["contribution_id"]
    neighbour = kernel.space(space["project_id"], "another")
    outsider = kernel.agent_in(neighbour, "outsider", "observer")
    insider = kernel.agent_in(space, "insider", "observer")

    def sees(actor: str) -> list[str]:
        project = space["project_id"]
        asked = [
            kernel.request("space_show", {"space_id": space["space_id"]}, project=project),
            kernel.request("contribution_show", {"contribution_id": said}, project=project),
        ]
        outcomes = [json.loads(kernel.answer(*one, actor))["outcome"] for one in asked]
        listed = json.loads(
            kernel.answer(*kernel.request("space_list", {"limit": 9}, project=project), actor)
        )
        return [*outcomes, *(item["space_id"] for item in listed["result"]["items"])]

    both = ["ok", "ok", space["space_id"], neighbour["space_id"]]
    assert sees(outsider) == both
    changed(kernel, space, "space_restrict")
    assert sees(outsider) == ["problem", "problem", neighbour["space_id"]]
    assert sees(insider) == both


# --- narrowing ----------------------------------------------------------------------------------------------
DECLARED = Orders(
    policies=Order(("policy-default", "policy-team", "policy-strict")),
    classifications=Order(("class-public", "class-default", "class-internal")),
)
NARROWINGS = [
    ("policy_set_ref", "policy-default", "policy-team", True),
    ("policy_set_ref", "policy-default", "policy-strict", True),
    ("policy_set_ref", "policy-strict", "policy-strict", True),
    ("policy_set_ref", "policy-strict", "policy-team", False),
    ("policy_set_ref", "policy-team", "policy-default", False),
    ("policy_set_ref", "policy-strict", "policy-unheard-of", True),
    ("policy_set_ref", "policy-unheard-of", "policy-default", True),
    ("default_classification_ref", "class-default", "class-internal", True),
    ("default_classification_ref", "class-internal", "class-internal", True),
    ("default_classification_ref", "class-internal", "class-default", False),
    ("default_classification_ref", "class-internal", "class-unheard-of", True),
    ("default_classification_ref", "class-internal", "class-sensitive", True),
    ("default_classification_ref", "class-sensitive", "class-internal", False),
    ("default_classification_ref", "class-unheard-of", "class-sensitive", True),
    ("default_classification_ref", "class-sensitive", "class-unheard-of", False),
]


def space_with(kernel: Kernel, **refs: str) -> Json:
    """A space of that policy or classification."""
    args = {"title": "the tap", "visibility": "project", **refs}
    return kernel.ok("space_create", args, project=kernel.project())


@pytest.mark.parametrize(("member", "before", "after", "taken"), NARROWINGS)
def test_between_declared_names_it_only_narrows(
    kernel: Kernel, member: str, before: str, after: str, taken: bool
) -> None:
    """What the owner's order calls wider is forbidden and leaves nothing; names that no order knows are
    taken.
    """
    kernel.tx.orders = DECLARED
    space = space_with(kernel, **{member: before})
    answered = change(kernel, space, "space_policy_narrow", {member: after})
    if taken:
        assert answered["result"][member] == after
    else:
        assert kernel.problem(answered) == "forbidden"
        assert "space_access_widen_prepare" in answered["problem"]["detail"]
        assert shown(kernel, space) == space


def test_without_declared_orders_every_policy_is_taken(kernel: Kernel, space: Json) -> None:
    """Nothing is known of the names, so nothing is wider."""
    for policy in ("policy-strict", "policy-default"):
        after = changed(kernel, space, "space_policy_narrow", {"policy_set_ref": policy})
        assert after["policy_set_ref"] == policy


def test_one_widening_of_two_refuses_both(kernel: Kernel) -> None:
    """A narrower policy does not carry a wider classification with it."""
    kernel.tx.orders = DECLARED
    space = space_with(kernel, default_classification_ref="class-internal")
    args = {"policy_set_ref": "policy-strict", "default_classification_ref": "class-public"}
    assert kernel.problem(change(kernel, space, "space_policy_narrow", args)) == "forbidden"
    assert shown(kernel, space) == space


def test_status_and_revision_are_judged_before_what_narrows(kernel: Kernel) -> None:
    """A widening with a stale revision, or of an archived space, is stale first."""
    kernel.tx.orders = DECLARED
    space = space_with(kernel, policy_set_ref="policy-strict")
    wider = {"policy_set_ref": "policy-default"}
    stale = change(kernel, space, "space_policy_narrow", wider, rev=7)
    assert kernel.problem(stale) == "stale-revision"
    changed(kernel, space, "space_archive")
    assert kernel.problem(change(kernel, space, "space_policy_narrow", wider)) == "stale-revision"


def test_an_event_is_classified_as_the_space_is_after_it(kernel: Kernel, space: Json) -> None:
    """The narrowing's own event bears the narrower classification."""
    changed(kernel, space, "space_policy_narrow", {"default_classification_ref": "class-internal"})
    assert events(kernel, space)[-1]["classification_ref"] == "class-internal"


def test_the_log_verifies_after_all_of_it(kernel: Kernel, space: Json) -> None:
    """Changes, refusals and replays leave a chain that its verifier accepts."""
    for op in ("space_freeze", "space_freeze", "space_reopen", "space_restrict", "space_archive"):
        change(kernel, space, op)
    assert list(Walk(kernel.view).slices()) == [None]
