"""What is read beside KCP's lists: what became of things, what is withheld, and the realm's events."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from world import AT_HEAD

from tallyd.ledger.orders import Order, Orders
from tallyd.ledger.withheld import RANGES_MAX, Range, Withheld
from tallystick.protocol.families.context import AssemblySummaryPage, Branch, FrontierPage
from tallystick.protocol.families.contributions import DisposedContributionPage, DisposedRelationPage
from tallystick.protocol.families.dispositions import DispositionPage
from tallystick.protocol.families.events import EventsRead
from tallystick.protocol.limits import PAGE_ITEMS_MAX
from tallystick.protocol.records import Page
from tallystick.protocol.shapes import convert

from .agents import Agent
from .kernel import Json, Kernel

CONTRIBUTIONS = "tallystick_contribution_list"
RELATIONS = "tallystick_relation_list"
RELATION = "tallystick_relation_show"
DISPOSITIONS = "tallystick_disposition_list"
FRONTIERS = "tallystick_frontier_list"
ASSEMBLIES = "tallystick_assembly_list"
BRANCH = "tallystick_branch_show"
EVENTS = "tallystick_events_read"
LISTS: dict[str, type[Page]] = {
    CONTRIBUTIONS: DisposedContributionPage,
    RELATIONS: DisposedRelationPage,
    DISPOSITIONS: DispositionPage,
    FRONTIERS: FrontierPage,
    ASSEMBLIES: AssemblySummaryPage,
}
SECRET = {"classification_ref": "class-secret"}
NOBODY = "0" * 32


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space that its participants alone see; the owner declared an order of classifications."""
    order = Orders(classifications=Order(("class-default", "class-secret")))
    kernel.view.orders = kernel.tx.orders = order
    return kernel.ok(
        "space_create", {"title": "the tap", "visibility": "restricted"}, project=kernel.project()
    )


@pytest.fixture
def reader(kernel: Kernel, space: Json) -> Agent:
    """An agent that reads the space up to class-default."""
    agent = Agent(kernel, "reader", classification_ceiling_ref="class-default")
    agent.join(space, "observer")
    return agent


def read(kernel: Kernel, space: Json, op: str, agent: Agent | None = None, **args: Any) -> Json:
    """A list's page, or another read's result, as it is answered."""
    if op in LISTS:
        args = {"space_id": space["space_id"], "limit": 50, **args}
    if agent is not None:
        return agent.send(op, args, project=space["project_id"])
    return kernel.read(op, args, project=space["project_id"])


def items(kernel: Kernel, space: Json, op: str, agent: Agent | None = None, **args: Any) -> list[Json]:
    """The items of a list's page."""
    found: list[Json] = read(kernel, space, op, agent, **args)["result"]["items"]
    return found


def withheld(answered: Json) -> list[tuple[int, int, int, str]]:
    """What of a page is withheld."""
    return [
        (one["from_sequence"], one["to_sequence"], one["count"], one["reason"])
        for one in answered["result"]["withheld"]
    ]


def dispose(kernel: Kernel, space: Json, op: str, **args: str) -> Json:
    return kernel.ok(op, {"reason_class": "mistake", **args}, project=space["project_id"])


def relate(kernel: Kernel, space: Json, one: Json, other: Json, kind: str = "addresses") -> Json:
    """A relation between two contributions."""
    ends = [
        {"object_ref": end["contribution_id"], "revision": 1, "digest": end["content_digest"]}
        for end in (one, other)
    ]
    named = {"space_id": space["space_id"], "branch_id": space["main_branch_id"], "kind": kind}
    args = {**named, "from_ref": ends[0], "to_ref": ends[1]}
    return kernel.ok("relation_assert", args, project=space["project_id"], ext=AT_HEAD)


def assemble(kernel: Kernel, space: Json, *said: Json) -> Json:
    """An assembly of contributions."""
    args = {
        "space_id": space["space_id"],
        "branch_id": space["main_branch_id"],
        "audience_ref": "dep-local-dev",
        "purpose": "answer",
        "selection_policy_ref": "explicit_refs_v1",
        "required_refs": [one["contribution_id"] for one in said],
        "trigger_refs": [said[0]["contribution_id"]],
    }
    return kernel.ok("context_assembly_create", args, project=space["project_id"])


def pages(
    kernel: Kernel, space: Json, op: str, agent: Agent | None, limit: int, **args: Any
) -> Iterator[Json]:
    """All pages of a list, each as it is answered."""
    more: Json = {}
    while True:
        page = read(kernel, space, op, agent, limit=limit, **args, **more)
        yield page
        if "next" not in page["result"]:
            return
        more = {"after": page["result"]["next"], "snapshot": page["result"]["snapshot"]}


# --- with what became of them -------------------------------------------------------------------------------
def test_a_contribution_is_listed_with_what_became_of_it(kernel: Kernel, space: Json) -> None:
    """The record as KCP's list has it, and each disposition as its command answered, in order."""
    a, b, c = (kernel.said(space, text) for text in "abc")
    superseded = dispose(
        kernel, space, "contribution_supersede",
        contribution_ref=a["contribution_id"], replacement_ref=b["contribution_id"],
    )  # fmt: skip
    withdrawn = dispose(kernel, space, "contribution_withdraw", contribution_ref=a["contribution_id"])
    assert items(kernel, space, CONTRIBUTIONS) == [
        {"contribution": a, "dispositions": [superseded, withdrawn]},
        {"contribution": b, "dispositions": []},
        {"contribution": c, "dispositions": []},
    ]


def test_contributions_are_narrowed_as_kcp_does(kernel: Kernel, space: Json) -> None:
    """By kind and by branch; a branch of another space is not found."""
    kernel.said(space, "a", "claim")
    question = kernel.said(space, "b", "question")
    narrowed = {"kind": "question", "branch_id": space["main_branch_id"]}
    assert [one["contribution"] for one in items(kernel, space, CONTRIBUTIONS, **narrowed)] == [question]
    other = kernel.space(space["project_id"], "other")
    refused = read(kernel, space, CONTRIBUTIONS, branch_id=other["main_branch_id"])
    assert kernel.problem(refused) == "not-found"


def test_relations_are_shown_and_listed_with_their_retraction(kernel: Kernel, space: Json) -> None:
    """In order, all, or of a kind, or those that lead from or to an object, another relation too."""
    a, b, c = (kernel.said(space, text) for text in "abc")
    first, second = relate(kernel, space, a, b), relate(kernel, space, c, a, "supports")
    named = {"object_ref": first["relation_id"], "revision": 1, "digest": first["digest"]}
    about = {"contribution_id": first["relation_id"], "content_digest": first["digest"]}
    third = relate(kernel, space, c, about, "challenges")
    assert third["to_ref"] == named
    retracted = dispose(kernel, space, "relation_retract", relation_ref=first["relation_id"])
    whole = [
        {"relation": first, "dispositions": [retracted]},
        {"relation": second, "dispositions": []},
        {"relation": third, "dispositions": []},
    ]
    assert items(kernel, space, RELATIONS) == whole
    assert items(kernel, space, RELATIONS, kind="supports") == whole[1:2]
    assert items(kernel, space, RELATIONS, object_ref=a["contribution_id"]) == whole[:2]
    assert items(kernel, space, RELATIONS, object_ref=first["relation_id"]) == whole[2:]
    assert items(kernel, space, RELATIONS, object_ref=a["contribution_id"], kind="supports") == whole[1:2]
    shown = read(kernel, space, RELATION, relation_id=first["relation_id"])
    assert (shown["result"], shown["revision"]) == (whole[0], 1)


def test_dispositions_are_listed_in_order(kernel: Kernel, space: Json) -> None:
    """Of contributions and relations together, or of one kind; another space's are not among them."""
    a, b = kernel.said(space, "a"), kernel.said(space, "b")
    relation = relate(kernel, space, a, b)
    made = [
        dispose(kernel, space, "contribution_withdraw", contribution_ref=b["contribution_id"]),
        dispose(kernel, space, "relation_retract", relation_ref=relation["relation_id"]),
        dispose(kernel, space, "contribution_withdraw", contribution_ref=a["contribution_id"]),
    ]
    other = kernel.space(space["project_id"], "other")
    there = kernel.said(other, "there")
    dispose(kernel, other, "contribution_withdraw", contribution_ref=there["contribution_id"])
    assert items(kernel, space, DISPOSITIONS) == made
    assert items(kernel, space, DISPOSITIONS, kind="retract") == made[1:2]
    assert items(kernel, space, DISPOSITIONS, kind="withdraw") == [made[0], made[2]]


# --- branches, frontiers, assemblies ------------------------------------------------------------------------
def test_a_branch_shows_the_head_that_an_append_compares(kernel: Kernel, space: Json) -> None:
    """From genesis on, over contributions and relations; the revision is the space's."""
    branch = {"branch_id": space["main_branch_id"]}
    for sequence in range(3):
        shown = read(kernel, space, BRANCH, **branch)
        assert convert(shown["result"], Branch).branch_sequence == sequence
        assert shown["revision"] == sequence + 1
        more = {"expected_head_digest": shown["result"]["branch_head_digest"]}
        assert kernel.append(space, f"{sequence}", more=more, ext=None)["outcome"] == "ok"
    assert shown["result"]["space_id"] == space["space_id"]


def test_frontiers_are_listed_with_those_of_assemblies(kernel: Kernel, space: Json) -> None:
    """Each as frontier_show shows it, in order of pinning."""
    said = kernel.said(space, "a")
    named = {"space_id": space["space_id"], "branch_id": space["main_branch_id"]}
    pinned = kernel.ok("frontier_pin", named, project=space["project_id"])
    assembly = assemble(kernel, space, said)
    listed = items(kernel, space, FRONTIERS)
    assert listed[0] == pinned
    assert [one["frontier_id"] for one in listed[1:]] == [assembly["frontier_ref"]]
    shown = {"frontier_id": assembly["frontier_ref"]}
    assert kernel.read("frontier_show", shown, project=space["project_id"])["result"] == listed[1]


def test_assemblies_are_listed_without_their_items(kernel: Kernel, space: Json) -> None:
    """In order; what else they say is what context_assembly_show says."""
    a, b = kernel.said(space, "a"), kernel.said(space, "b")
    made = [assemble(kernel, space, a), assemble(kernel, space, a, b)]
    listed = items(kernel, space, ASSEMBLIES)
    assert [one["totals"]["items"] for one in listed] == [1, 2]
    for one, whole in zip(listed, made, strict=True):
        assert one.keys() < whole.keys()
        assert not one.keys() & {"items", "relations", "omissions"}
        assert one == {member: whole[member] for member in one}


# --- what all lists share -----------------------------------------------------------------------------------
def everything(kernel: Kernel, space: Json) -> None:
    """Five of each thing that is listed."""
    said = [kernel.said(space, f"{n}") for n in range(6)]
    for one, other in itertools.pairwise(said):
        relate(kernel, space, one, other)
        dispose(kernel, space, "contribution_withdraw", contribution_ref=other["contribution_id"])
        assemble(kernel, space, one)
    dispose(kernel, space, "contribution_withdraw", contribution_ref=said[0]["contribution_id"])


@pytest.mark.parametrize("op", LISTS)
def test_pages_go_on_over_one_snapshot(kernel: Kernel, space: Json, op: str) -> None:
    """Each item once, in the order of the whole, none of those made meanwhile; each page of its type."""
    everything(kernel, space)
    whole = items(kernel, space, op)
    found: list[Json] = []
    for page in pages(kernel, space, op, None, 2):
        convert(page["result"], LISTS[op])
        found += page["result"]["items"]
        if len(found) == 2:
            everything(kernel, space)
    assert found == whole
    assert len(items(kernel, space, op)) == 2 * len(whole)


@pytest.mark.parametrize("op", LISTS)
def test_a_continuation_is_bound_to_its_list_and_filter(kernel: Kernel, space: Json, op: str) -> None:
    """Neither of another list, nor under another filter, nor of a snapshot for itself."""
    everything(kernel, space)
    page = read(kernel, space, op, limit=1)["result"]
    tokens: Json = {"after": page["next"], "snapshot": page["snapshot"]}
    for other in LISTS:
        if other != op:
            assert kernel.problem(read(kernel, space, other, **tokens)) == "invalid"
    swapped: Json = {"after": page["snapshot"], "snapshot": page["snapshot"]}
    assert kernel.problem(read(kernel, space, op, **swapped)) == "invalid"
    kinds = {CONTRIBUTIONS: "claim", RELATIONS: "addresses", DISPOSITIONS: "withdraw"}
    if op in kinds:
        assert kernel.problem(read(kernel, space, op, **tokens, kind=kinds[op])) == "invalid"


@pytest.mark.parametrize("op", [*LISTS, RELATION, BRANCH])
def test_what_is_not_seen_is_not_there(kernel: Kernel, space: Json, op: str) -> None:
    """For a stranger, in another project, and under names that nothing has."""
    relation = relate(kernel, space, kernel.said(space, "a"), kernel.said(space, "b"))
    args = {
        RELATION: {"relation_id": relation["relation_id"]},
        BRANCH: {"branch_id": space["main_branch_id"]},
    }.get(op, {})
    stranger = Agent(kernel, "stranger")
    assert kernel.problem(read(kernel, space, op, stranger, **args)) == "not-found"
    elsewhere = {**space, "project_id": kernel.project("cellar")}
    assert kernel.problem(read(kernel, elsewhere, op, **args)) == "not-found"
    nothing = {RELATION: {"relation_id": "rel-" + NOBODY}, BRANCH: {"branch_id": "branch-" + NOBODY}}
    unknown: Json = nothing.get(op, {"space_id": "space-" + NOBODY})
    assert kernel.problem(read(kernel, space, op, **unknown)) == "not-found"
    digits = space["space_id"].partition("-")[2]
    if op == BRANCH:
        assert kernel.problem(read(kernel, space, op, branch_id=f"branch-{digits}")) == "not-found"
    if op == RELATIONS:
        assert kernel.problem(read(kernel, space, op, object_ref="rel-" + NOBODY)) == "not-found"


# --- what is withheld ---------------------------------------------------------------------------------------
def test_what_is_above_the_ceiling_is_counted_where_it_stands(
    kernel: Kernel, space: Json, reader: Agent
) -> None:
    """Between the items, by the branch's sequence; the owner is withheld nothing."""
    for n, hidden in enumerate((True, False, True, True, False, False, True)):
        kernel.said(space, f"{n}", more=SECRET if hidden else {})
    answered = read(kernel, space, CONTRIBUTIONS, reader)
    shown = [one["contribution"]["origin_branch_sequence"] for one in answered["result"]["items"]]
    assert shown == [2, 5, 6]
    above = "above_ceiling"
    assert withheld(answered) == [(1, 1, 1, above), (3, 4, 2, above), (7, 7, 1, above)]
    convert(answered["result"], DisposedContributionPage)
    assert withheld(read(kernel, space, CONTRIBUTIONS)) == []


def test_it_is_counted_before_the_filter(kernel: Kernel, space: Json, reader: Agent) -> None:
    """Whatever its kind; one range between two items, however many others stand there."""
    kernel.said(space, "1", "question")
    for n, more in enumerate((SECRET, {}, SECRET)):
        kernel.said(space, f"{n}", "claim", more=more)
    kernel.said(space, "5", "question")
    answered = read(kernel, space, CONTRIBUTIONS, reader, kind="question")
    assert len(answered["result"]["items"]) == 2
    assert withheld(answered) == [(2, 4, 2, "above_ceiling")]


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
def test_each_is_counted_on_one_page(kernel: Kernel, space: Json, reader: Agent, limit: int) -> None:
    """However the list is cut, the pages' ranges together are those of the whole."""
    pattern = (False, True, True, False, False, True, False, True)
    for n, hidden in enumerate(pattern):
        kernel.said(space, f"{n}", more=SECRET if hidden else {})
    ranges = [one for page in pages(kernel, space, CONTRIBUTIONS, reader, limit) for one in withheld(page)]
    above = "above_ceiling"
    assert ranges == [(2, 3, 2, above), (6, 6, 1, above), (8, 8, 1, above)]


def test_relations_dispositions_and_assemblies_are_withheld_as_what_they_are_of(
    kernel: Kernel, space: Json, reader: Agent
) -> None:
    """A relation by its space's class then, a disposition by its object's, an assembly by its items'."""
    secret, plain = kernel.said(space, "a", more=SECRET), kernel.said(space, "b")
    for one in (secret, plain):
        dispose(kernel, space, "contribution_withdraw", contribution_ref=one["contribution_id"])
        assemble(kernel, space, one)
    shown = read(kernel, space, DISPOSITIONS, reader)
    assert [one["contribution_ref"] for one in shown["result"]["items"]] == [plain["contribution_id"]]
    assert [one[2:] for one in withheld(shown)] == [(1, "above_ceiling")]
    listed = read(kernel, space, ASSEMBLIES, reader)
    assert [one["trigger_refs"] for one in listed["result"]["items"]] == [[plain["contribution_id"]]]
    assert [one[2:] for one in withheld(listed)] == [(1, "above_ceiling")]

    relate(kernel, space, plain, secret)
    narrowed = {"space_id": space["space_id"], "default_classification_ref": "class-secret"}
    kernel.ok("space_policy_narrow", narrowed, project=space["project_id"])
    hidden = relate(kernel, space, secret, plain)
    related = read(kernel, space, RELATIONS, reader)
    assert [one["relation"]["branch_sequence"] for one in related["result"]["items"]] == [3]
    assert withheld(related) == [(4, 4, 1, "above_ceiling")]
    refused = read(kernel, space, RELATION, reader, relation_id=hidden["relation_id"])
    assert kernel.problem(refused) == "forbidden"
    assert withheld(read(kernel, space, RELATIONS)) == []


def test_a_sensitive_contribution_leaves_its_record_first(kernel: Kernel, space: Json) -> None:
    """Listed with what became of it as listed without: the log says who looked."""
    said = kernel.said(space, "private", more={"classification_ref": "class-sensitive"})
    assert len(items(kernel, space, CONTRIBUTIONS)) == 1
    row = kernel.view.log_row(kernel.view.number("SELECT max(position) FROM log"))
    assert (row.operation, row.outcome, row.actor) == (CONTRIBUTIONS, "read", "prin-owner")
    assert said["contribution_id"] in row.detail


def test_ranges_are_bounded_by_the_items() -> None:
    """Two reasons before each of the most items, and after the last: never more."""
    counted = Withheld()
    for item in range(PAGE_ITEMS_MAX + 1):
        for reason in ("above_ceiling", "not_visible") * 3:
            counted.add(item, reason)
        counted.close_range()
    assert len(counted.ranges) == RANGES_MAX
    assert counted.ranges[0] == Range(0, 0, 3, "above_ceiling")


# --- events -------------------------------------------------------------------------------------------------
def test_a_projects_events_say_what_is_withheld(kernel: Kernel, space: Json, reader: Agent) -> None:
    """By project sequence and reason, without type, time, actor or stream; KCP's read leaves gaps."""
    hidden = kernel.ok(
        "space_create", {"title": "b", "visibility": "restricted"}, project=space["project_id"]
    )
    start = reader.send("events_read", {"source": space["project_id"], "limit": 50})["result"]["next_cursor"]
    kernel.said(hidden, "1")
    kernel.said(space, "2", more=SECRET)
    kernel.said(hidden, "3")
    kernel.said(space, "4")
    kernel.said(hidden, "5")
    args = {"source": space["project_id"], "after_cursor": start, "limit": 50}
    answered = reader.send(EVENTS, args)
    result = convert(answered["result"], EventsRead)
    head = result.events[0].project_sequence
    assert isinstance(head, int)
    first = head - 3
    assert [event.project_sequence for event in result.events] == [head]
    assert withheld(answered) == [
        (first, first + 2, 2, "not_visible"),
        (first + 1, first + 1, 1, "above_ceiling"),
        (head + 1, head + 1, 1, "not_visible"),
    ]
    gaps = reader.send("events_read", args)["result"]
    assert gaps["events"] == answered["result"]["events"]
    assert "withheld" not in gaps


def test_withheld_events_are_counted_before_the_filter(kernel: Kernel, space: Json, reader: Agent) -> None:
    """And once: a read that goes on from the cursor counts what comes."""
    kernel.said(space, "1", more=SECRET)
    filtered = {"source": space["project_id"], "limit": 50, "type_prefixes": ["dev.kovee.project"]}
    answered = reader.send(EVENTS, filtered)
    assert [event["type"] for event in answered["result"]["events"]] == ["dev.kovee.project.created.v1"]
    assert [one[2:] for one in withheld(answered)] == [(1, "above_ceiling")]
    again = reader.send(EVENTS, {**filtered, "after_cursor": answered["result"]["next_cursor"]})
    assert (again["result"]["events"], again["result"]["withheld"]) == ([], [])


def test_the_owner_reads_the_same_as_by_kcp(kernel: Kernel, space: Json) -> None:
    """The same events and cursors, nothing withheld; each read's cursor is taken by the other."""
    kernel.said(space, "1")
    args = {"source": space["project_id"], "limit": 2}
    ours, kcps = kernel.read(EVENTS, args)["result"], kernel.read("events_read", args)["result"]
    assert ours == {**kcps, "withheld": []}
    more = {**args, "after_cursor": ours["next_cursor"]}
    assert (
        kernel.read("events_read", more)["result"]["events"] == kernel.read(EVENTS, more)["result"]["events"]
    )


def test_the_realms_events_are_read_by_the_owner(kernel: Kernel, space: Json) -> None:
    """Those that stand in no project, in order, page by page, filtered too, without what stands between."""
    agents = [Agent(kernel, f"agent {n}") for n in range(3)]
    kernel.said(space, "between")
    kernel.append(space, "refused", more={"branch_id": "branch-" + NOBODY})
    kernel.ok("tallystick_agent_revoke", {"agent_id": agents[0].id})
    args: Json = {"source": "realm-personal", "limit": 3}
    first = kernel.read(EVENTS, args)["result"]
    convert(first, EventsRead)
    assert [event["resource_ref"] for event in first["events"]] == [agent.id for agent in agents]
    assert all("project_id" not in event for event in first["events"])
    rest = kernel.read(EVENTS, {**args, "after_cursor": first["next_cursor"]})["result"]
    assert [event["type"] for event in rest["events"]] == ["dev.tallystick.agent.revoked.v1"]
    assert rest["withheld"] == []
    revoked = {**args, "type_prefixes": ["dev.tallystick.agent.revoked"]}
    found = kernel.read(EVENTS, revoked)["result"]
    assert found["events"] == rest["events"]
    end = kernel.read(EVENTS, {**revoked, "after_cursor": found["next_cursor"]})["result"]
    assert (end["events"], end["next_cursor"]) == ([], found["next_cursor"])


@pytest.mark.parametrize("op", ["tallystick_agent_list", "project_list", "assistant_list", "deployment_list"])
def test_a_realm_lists_boundary_is_a_place_in_the_realms_events(kernel: Kernel, op: str) -> None:
    """What comes after the list is what is read from its boundary on."""
    Agent(kernel, "before")
    boundary = kernel.read(op, {"limit": 5})["result"]["boundary_event_cursor"]
    assert boundary == kernel.read(op, {"limit": 5})["result"]["boundary_event_cursor"]
    after = Agent(kernel, "after")
    args = {"source": "realm-personal", "after_cursor": boundary, "limit": 9}
    events = kernel.read(EVENTS, args)["result"]["events"]
    assert [event["resource_ref"] for event in events] == [after.id]


def test_a_cursor_of_the_realm_is_no_cursor_of_a_project(kernel: Kernel, space: Json) -> None:
    """Nor the reverse; one made under a filter goes on under that filter; one past the head has expired."""
    Agent(kernel, "one")
    realm: Json = {"source": "realm-personal", "limit": 5}
    project: Json = {"source": space["project_id"], "limit": 5}
    of_realm = kernel.read(EVENTS, realm)["result"]["next_cursor"]
    of_project = kernel.read(EVENTS, project)["result"]["next_cursor"]
    assert kernel.problem(kernel.read(EVENTS, {**realm, "after_cursor": of_project})) == "invalid"
    assert kernel.problem(kernel.read(EVENTS, {**project, "after_cursor": of_realm})) == "invalid"
    filtered = kernel.read(EVENTS, {**realm, "type_prefixes": ["dev.tallystick"]})["result"]["next_cursor"]
    assert kernel.problem(kernel.read(EVENTS, {**realm, "after_cursor": filtered})) == "invalid"
    past = kernel.view.cursors.token("events:realm", 999)
    expired = kernel.read(EVENTS, {**realm, "after_cursor": past})
    assert kernel.problem(expired) == "cursor-expired"
    oldest = expired["problem"]["ext"]["dev.kovee.recovery.cursor-expired"]["oldest_cursor"]
    assert len(kernel.read(EVENTS, {**realm, "after_cursor": oldest})["result"]["events"]) == 1


def test_the_realms_events_are_not_an_agents(kernel: Kernel, reader: Agent) -> None:
    """Forbidden to read; nor is the payload of another agent's to be had by its event's id."""
    assert kernel.problem(reader.send(EVENTS, {"source": "realm-personal", "limit": 5})) == "forbidden"
    other = Agent(kernel, "other")
    event = {"event_id": f"evt-{other.id.partition('-')[2]}"}
    assert kernel.problem(reader.send("event_payload", event)) == "not-found"
    assert kernel.read("event_payload", event)["outcome"] == "ok"
    assert kernel.problem(reader.send(EVENTS, {"source": "proj-" + NOBODY, "limit": 5})) == "not-found"
