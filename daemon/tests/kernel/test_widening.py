"""A space is shown to more people by a widening alone: prepared, looked at, and then confirmed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from world import AT_HEAD

from tallyd.ledger.orders import Order, Orders
from tallystick.protocol.digests import cod

from .kernel import Json, Kernel

PREPARE = "space_access_widen_prepare"
SHOW = "space_access_widen_show"
LIST = "space_access_widen_list"
CONFIRM = "space_access_widen_confirm"
CANCEL = "space_access_widen_cancel"
RECEIPT = {"decision_receipt_ref": "rcpt-1"}
OPEN = {"proposed_visibility": "project"}


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A restricted space."""
    args = {"title": "the tap", "visibility": "restricted"}
    return kernel.ok("space_create", args, project=kernel.project())


def prepare(kernel: Kernel, space: Json, args: Json | None = None, **how: Any) -> Json:
    """A prepared widening, of the space's visibility unless told."""
    said = {"space_id": space["space_id"], **(OPEN if args is None else args)}
    return kernel.ok(PREPARE, said, project=space["project_id"], **how)


def confirm(kernel: Kernel, space: Json, widening: Json, **how: Any) -> Json:
    """The reply to its confirmation."""
    how.setdefault("project", space["project_id"])
    return kernel.write(CONFIRM, {"widening_id": widening["widening_id"], **RECEIPT}, **how)


def cancel(kernel: Kernel, space: Json, widening: Json, **how: Any) -> Json:
    """The reply to its cancellation."""
    how.setdefault("project", space["project_id"])
    return kernel.write(CANCEL, {"widening_id": widening["widening_id"]}, **how)


def shown(kernel: Kernel, space: Json, widening: Json) -> Json:
    """The widening as it is."""
    answered = kernel.read(SHOW, {"widening_id": widening["widening_id"]}, project=space["project_id"])
    assert answered["revision"] == answered["result"]["revision"]
    result: Json = answered["result"]
    return result


def space_of(kernel: Kernel, space: Json) -> Json:
    """The space as it is."""
    args = {"space_id": space["space_id"]}
    result: Json = kernel.read("space_show", args, project=space["project_id"])["result"]
    return result


def events(kernel: Kernel, space: Json) -> list[Json]:
    """The project's events."""
    found: list[Json] = kernel.read("events_read", {"source": space["project_id"], "limit": 200})["result"][
        "events"
    ]
    return found


def pinned(kernel: Kernel, space: Json) -> str:
    """A frontier of the space."""
    args = {"space_id": space["space_id"], "branch_id": space["main_branch_id"]}
    return str(kernel.ok("frontier_pin", args, project=space["project_id"])["frontier_id"])


# --- preparing ----------------------------------------------------------------------------------------------
def test_a_prepared_widening_says_what_it_binds(kernel: Kernel, space: Json) -> None:
    """Its record has what was and what is proposed, the space's frontiers and items and no others."""
    said, frontier = kernel.said(space, "It drips."), pinned(kernel, space)
    neighbour = kernel.space(space["project_id"], "another")
    kernel.said(neighbour, "Not this.")
    pinned(kernel, neighbour)
    widening = prepare(kernel, space, {**OPEN, "proposed_policy_set_ref": "policy-open"})
    items = [{"ref": said["contribution_id"], "digest": said["content_digest"]}]
    subject = {
        "space_id": space["space_id"],
        "expected_space_revision": 2,
        "prior_visibility": "restricted",
        "proposed_visibility": "project",
        "prior_policy_set_ref": "policy-default",
        "proposed_policy_set_ref": "policy-open",
        "prior_default_classification_ref": "class-default",
        "proposed_default_classification_ref": "class-default",
        "affected_frontier_refs": [frontier],
        "affected_item_set_digest": cod("kovee-item-set", "schema:kovee-item-set-v1", {"items": items}),
    }
    audience = {"scope": "space", "space_id": space["space_id"], "visibility": "project"}
    assert widening == {
        **subject,
        "widening_id": widening["widening_id"],
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
    assert shown(kernel, space, widening) == widening


def test_preparing_changes_the_space_in_nothing(kernel: Kernel, space: Json) -> None:
    """One event in the space's stream, and the space as it was."""
    before, count = space_of(kernel, space), len(events(kernel, space))
    widening = prepare(kernel, space)
    told = events(kernel, space)[count:]
    assert [event["type"] for event in told] == ["dev.kovee.space.access-widening-prepared.v1"]
    assert told[0]["payload"] == widening
    assert told[0]["resource_ref"] == widening["widening_id"]
    assert told[0]["stream_id"] == space["space_id"]
    assert told[0]["schema_ref"] == "schema:space-access-widening-v1"
    assert space_of(kernel, space) == before


def test_a_widenings_events_are_classified_as_its_space_is_until_then(kernel: Kernel) -> None:
    """Whoever is not to read the space by default is not told of what is to become of it; once it is widened,
    what follows is told as widely.
    """
    secret = {"visibility": "restricted", "default_classification_ref": "class-secret"}
    space = kernel.ok("space_create", {"title": "the vault", **secret}, project=kernel.project())
    cancel(kernel, space, prepare(kernel, space))
    opening = {"proposed_default_classification_ref": "class-default"}
    confirm(kernel, space, prepare(kernel, space, opening))
    prepare(kernel, space)
    told = [event["classification_ref"] for event in events(kernel, space)[2:]]
    assert told == ["class-secret"] * 4 + ["class-default"]


def test_preparing_compares_the_spaces_revision(kernel: Kernel, space: Json) -> None:
    """Another revision is stale; the space's own is what the widening binds."""
    args = {"space_id": space["space_id"]}
    assert kernel.problem(kernel.write(PREPARE, args, project=space["project_id"], rev=2)) == "stale-revision"
    assert prepare(kernel, space, rev=1)["expected_space_revision"] == 1


def test_an_unknown_space_cannot_be_widened(kernel: Kernel, space: Json) -> None:
    """Nor one of another project."""
    elsewhere = kernel.project("cellar")
    for named, project in (("space-none", space["project_id"]), (space["space_id"], elsewhere)):
        assert kernel.problem(kernel.write(PREPARE, {"space_id": named}, project=project)) == "not-found"


def test_more_frontiers_than_a_record_may_list_are_refused_whole(kernel: Kernel, space: Json) -> None:
    """With 257 of its own the space's widening is invalid, and nothing of it is left; its neighbour's is
    not.
    """
    neighbour = kernel.space(space["project_id"], "another")
    for _ in range(257):
        pinned(kernel, space)
    refused = kernel.write(PREPARE, {"space_id": space["space_id"]}, project=space["project_id"])
    assert kernel.problem(refused) == "invalid"
    assert kernel.dump()["prepared_changes"] == []
    assert prepare(kernel, neighbour)["affected_frontier_refs"] == []


# --- ending -------------------------------------------------------------------------------------------------
def test_a_confirmation_puts_the_widening_into_force(kernel: Kernel, space: Json) -> None:
    """The space is one revision on, with what was proposed; the one event is the widening's own."""
    proposed = {
        **OPEN,
        "proposed_policy_set_ref": "policy-open",
        "proposed_default_classification_ref": "class-public",
    }
    widening = prepare(kernel, space, proposed)
    count = len(events(kernel, space))
    answered = confirm(kernel, space, widening)
    told = events(kernel, space)[count:]
    assert [event["type"] for event in told] == ["dev.kovee.space.access-widening-confirmed.v1"]
    assert told[0]["payload"] == answered["result"] == shown(kernel, space, widening)
    assert answered["result"] == {
        **widening,
        "state": "confirmed",
        "revision": 2,
        "decision_receipt_ref": "rcpt-1",
        "terminal_at": "2030-03-17T17:46:40Z",
    }
    assert space_of(kernel, space) == {
        **space,
        "revision": 2,
        "visibility": "project",
        "policy_set_ref": "policy-open",
        "default_classification_ref": "class-public",
    }


def test_a_widening_widens_where_narrowing_is_forbidden_to(kernel: Kernel, space: Json) -> None:
    """By the declared order the policy is wider: one operation refuses it, the other is for it."""
    kernel.tx.orders = Orders(policies=Order(("policy-open", "policy-default")))
    direct = {"space_id": space["space_id"], "policy_set_ref": "policy-open"}
    narrow = kernel.write("space_policy_narrow", direct, project=space["project_id"])
    assert kernel.problem(narrow) == "forbidden"
    widening = prepare(kernel, space, {"proposed_policy_set_ref": "policy-open"})
    assert confirm(kernel, space, widening)["outcome"] == "ok"
    assert space_of(kernel, space)["policy_set_ref"] == "policy-open"


def test_a_widened_space_is_there_for_the_project(kernel: Kernel, space: Json) -> None:
    """Whoever takes part in another space of the project sees it from the confirmation on."""
    neighbour = kernel.space(space["project_id"], "another")
    outsider = kernel.agent_in(neighbour, "outsider", "observer")

    def outcome() -> str:
        asked = kernel.request("space_show", {"space_id": space["space_id"]}, project=space["project_id"])
        return str(json.loads(kernel.answer(*asked, outsider))["outcome"])

    widening = prepare(kernel, space)
    assert outcome() == "problem"
    confirm(kernel, space, widening)
    assert outcome() == "ok"


def test_a_cancellation_changes_nothing_else(kernel: Kernel, space: Json) -> None:
    """The space stays as it was, and no receipt is shown."""
    widening, before = prepare(kernel, space), space_of(kernel, space)
    answered = cancel(kernel, space, widening)
    assert answered["result"] == {
        **widening,
        "state": "canceled",
        "revision": 2,
        "terminal_at": "2030-03-17T17:46:40Z",
    }
    told = events(kernel, space)[-1]
    assert told["type"] == "dev.kovee.space.access-widening-canceled.v1"
    assert told["payload"] == answered["result"]
    assert space_of(kernel, space) == before
    assert kernel.problem(confirm(kernel, space, widening)) == "stale-revision"


def test_a_widening_of_an_archived_space_can_be_canceled_and_not_confirmed(
    kernel: Kernel, space: Json
) -> None:
    """Archiving moved what it binds; dropping it is free of the space's status."""
    first, second = prepare(kernel, space), prepare(kernel, space)
    kernel.ok("space_archive", {"space_id": space["space_id"]}, project=space["project_id"])
    assert cancel(kernel, space, first)["result"]["state"] == "canceled"
    assert kernel.problem(confirm(kernel, space, second)) == "stale-revision"
    assert space_of(kernel, space)["visibility"] == "restricted"


def append(kernel: Kernel, space: Json) -> None:
    kernel.said(space, "new")


def relate(kernel: Kernel, space: Json) -> None:
    listed = kernel.read(
        "contribution_list", {"space_id": space["space_id"], "limit": 2}, project=space["project_id"]
    )["result"]["items"]
    ends = [
        {"object_ref": one["contribution_id"], "revision": 1, "digest": one["content_digest"]}
        for one in listed
    ]
    args = {
        "space_id": space["space_id"],
        "branch_id": space["main_branch_id"],
        "kind": "supports",
        "from_ref": ends[0],
        "to_ref": ends[1],
    }
    kernel.ok("relation_assert", args, project=space["project_id"], ext=AT_HEAD)


def rename(kernel: Kernel, space: Json) -> None:
    args = {"space_id": space["space_id"], "title": "another"}
    kernel.ok("space_update_metadata", args, project=space["project_id"])


def pin(kernel: Kernel, space: Json) -> None:
    pinned(kernel, space)


def write_elsewhere(kernel: Kernel, space: Json) -> None:
    kernel.said(kernel.space(space["project_id"], "another"), "new")


@pytest.mark.parametrize(
    ("moves", "state"),
    [
        (append, "stale"),
        (relate, "stale"),
        (rename, "stale"),
        (pin, "confirmed"),
        (write_elsewhere, "confirmed"),
    ],
)
def test_a_confirmation_finds_out_whether_the_space_has_moved(
    kernel: Kernel, space: Json, moves: Any, state: str
) -> None:
    """Whatever moves the space's revision makes its widening stale, for good; frontiers and other spaces do
    not.
    """
    kernel.said(space, "one")
    kernel.said(space, "two")
    widening = prepare(kernel, space)
    moves(kernel, space)
    before = space_of(kernel, space)
    asked = kernel.request(
        CONFIRM, {"widening_id": widening["widening_id"], **RECEIPT}, project=space["project_id"], key="k1"
    )
    first = kernel.answer(*asked)
    assert json.loads(first)["outcome"] == ("ok" if state == "confirmed" else "problem")
    assert shown(kernel, space, widening)["state"] == state
    assert ("decision_receipt_ref" in shown(kernel, space, widening)) == (state == "confirmed")
    if state == "stale":
        assert space_of(kernel, space) == before
    kernel.reopen()
    assert kernel.answer(*asked) == first
    assert shown(kernel, space, widening)["revision"] == (2 if state == "confirmed" else 1)


@pytest.mark.parametrize("end", [confirm, cancel])
def test_ending_compares_the_widenings_own_revision_after_its_state(
    kernel: Kernel, space: Json, end: Any
) -> None:
    """A wrong revision leaves it prepared; of an ended one the state is what is refused."""
    kernel.said(space, "the space is at another revision")
    widening = prepare(kernel, space)
    assert kernel.problem(end(kernel, space, widening, rev=2)) == "stale-revision"
    assert shown(kernel, space, widening)["state"] == "prepared"
    assert end(kernel, space, widening, rev=1)["outcome"] == "ok"
    again = end(kernel, space, widening, rev=1)
    assert kernel.problem(again) == "stale-revision"
    assert f"is {shown(kernel, space, widening)['state']}" in again["problem"]["detail"]


# --- reads and authority ------------------------------------------------------------------------------------
def test_a_widening_is_found_in_its_own_project_alone(kernel: Kernel, space: Json) -> None:
    """An unknown one, one of another project, and an id of another kind with its digits are not found."""
    widening, elsewhere = prepare(kernel, space), kernel.project("cellar")
    digits = widening["widening_id"].removeprefix("widen-")
    change = kernel.ok("project_access_policy_change_prepare", {}, project=space["project_id"])["change_id"]
    for named, project in (
        (widening["widening_id"], elsewhere),
        ("widen-" + "0" * 32, space["project_id"]),
        ("widen-none", space["project_id"]),
        (f"papc-{digits}", space["project_id"]),
        ("widen-" + change.removeprefix("papc-"), space["project_id"]),
        ("widen-" + space["space_id"].removeprefix("space-"), space["project_id"]),
    ):
        one = {"widening_id": named}
        assert kernel.problem(kernel.read(SHOW, one, project=project)) == "not-found"
        assert kernel.problem(kernel.write(CANCEL, one, project=project)) == "not-found"
        assert kernel.problem(kernel.write(CONFIRM, {**one, **RECEIPT}, project=project)) == "not-found"


def ids(answered: Json) -> list[str]:
    """Of the widenings on a page."""
    return [one["widening_id"] for one in answered["result"]["items"]]


def test_widenings_are_listed_by_project_or_by_space(kernel: Kernel, space: Json) -> None:
    """In the order of their making; policy changes and other projects' widenings are not among them."""
    project = space["project_id"]
    neighbour = kernel.space(project, "another")
    kernel.ok("project_access_policy_change_prepare", {}, project=project)
    made = [prepare(kernel, one)["widening_id"] for one in (space, neighbour, space)]
    prepare(kernel, kernel.space(kernel.project("cellar")))
    assert ids(kernel.read(LIST, {"limit": 9}, project=project)) == made
    named = {"space_id": space["space_id"], "limit": 9}
    assert ids(kernel.read(LIST, named, project=project)) == [made[0], made[2]]
    for missing, where in (("space-none", project), (space["space_id"], kernel.project("attic"))):
        refused = kernel.read(LIST, {"space_id": missing, "limit": 9}, project=where)
        assert kernel.problem(refused) == "not-found"


def test_a_continuation_goes_on_under_its_own_filter(kernel: Kernel, space: Json) -> None:
    """The named space is bound into the token."""
    for _ in range(3):
        prepare(kernel, space)
    named = {"space_id": space["space_id"], "limit": 2}
    first = kernel.read(LIST, named, project=space["project_id"])["result"]
    going = {"limit": 2, "after": first["next"], "snapshot": first["snapshot"]}
    assert kernel.problem(kernel.read(LIST, going, project=space["project_id"])) == "invalid"
    rest = kernel.read(LIST, {**going, "space_id": space["space_id"]}, project=space["project_id"])
    assert len(rest["result"]["items"]) == 1
    assert "next" not in rest["result"]


OPERATIONS = ("prepare", "confirm", "cancel", "show", "list")
AUTHORITY = {
    "steward": ["ok", "ok", "ok", "ok", 3],
    "contributor": ["forbidden", "forbidden", "forbidden", "ok", 2],
    "observer": ["forbidden", "forbidden", "forbidden", "ok", 2],
    "neighbour": ["not-found", "not-found", "not-found", "not-found", 0],
}
"""What each may do with a restricted space's widening; of a list, how many it shows afterwards."""


@pytest.mark.parametrize("role", AUTHORITY)
def test_widenings_are_the_stewards_and_shown_to_who_sees_the_space(
    kernel: Kernel, space: Json, role: str
) -> None:
    """Who does not see the space finds none of its widenings, and who does not answer for it ends none."""
    neighbour = kernel.space(space["project_id"], "another")
    stands_in = neighbour if role == "neighbour" else space
    actor = kernel.agent_in(stands_in, role, "steward" if role == "neighbour" else role)
    first = prepare(kernel, space)
    one = {"widening_id": first["widening_id"]}
    project = space["project_id"]

    def send(op: str, args: Json, key: str | None = None) -> Json:
        answered: Json = json.loads(kernel.answer(*kernel.request(op, args, project=project, key=key), actor))
        return answered

    def kind(answered: Json) -> str:
        return "ok" if answered["outcome"] == "ok" else kernel.problem(answered)

    second = prepare(kernel, space)
    found: list[Any] = [kind(send(PREPARE, {"space_id": space["space_id"]}, "k1"))]
    found.append(kind(send(CONFIRM, {**one, **RECEIPT}, "k2")))
    found.append(kind(send(CANCEL, {"widening_id": second["widening_id"]}, "k3")))
    found.append(kind(send(SHOW, one)))
    found.append(len(send(LIST, {"limit": 9})["result"]["items"]))
    assert dict(zip(OPERATIONS, found, strict=True)) == dict(zip(OPERATIONS, AUTHORITY[role], strict=True))


def test_a_widening_names_the_agent_that_prepared_it(kernel: Kernel, space: Json) -> None:
    """The principal is the channel's, and not the owner."""
    steward = kernel.agent_in(space, "steward", "steward")
    asked = kernel.request(PREPARE, {"space_id": space["space_id"]}, project=space["project_id"], key="k1")
    widening = json.loads(kernel.answer(*asked, steward))["result"]
    assert widening["prepared_by_principal"] == steward
