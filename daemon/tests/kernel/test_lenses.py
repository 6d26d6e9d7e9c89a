"""Lenses as objects: made, changed, taken away, listed; those of every space; whose they are."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tallyd.families.lenses import lenses
from tallyd.ledger.verify import Walk

from .agents import Agent
from .kernel import Json, Kernel

CREATE, UPDATE, REVOKE = "lens_create", "lens_update", "lens_revoke"
EVENT = "dev.kovee.space.lens-{}.v1"

# Status before, operation, status after ("-": not found). Written from the protocol, not from the product.
LIFECYCLE = """
active  lens_update active
active  lens_revoke revoked
revoked lens_update -
revoked lens_revoke -
"""
ROWS = [tuple(line.split()) for line in LIFECYCLE.strip().splitlines()]

STREAM = {
    "query_ast": {"select": "contributions"},
    "sort_spec": {"order_by": "branch_sequence"},
    "presentation_options": {"render": "chronological"},
}
WORKBENCH = {
    "query_ast": {"select": "typed_cards"},
    "sort_spec": {"order_by": "branch_sequence"},
    "presentation_options": {"render": "cards_with_relations"},
}
BUILT_IN = {"stream": STREAM, "workbench": WORKBENCH}


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """An open space."""
    return kernel.space(kernel.project())


def making(space: Json, **more: Any) -> Json:
    """Arguments that make a lens."""
    return {
        "space_id": space["space_id"],
        "kind": "custom",
        "query_ast": {},
        "sort_spec": {},
        "presentation_options": {},
        "visibility": "shared",
        **more,
    }


def made(kernel: Kernel, space: Json, **more: Any) -> Json:
    """A lens of the owner's."""
    return kernel.ok(CREATE, making(space, **more), project=space["project_id"])


def change(kernel: Kernel, space: Json, op: str, lens_id: str, args: Json | None = None, **how: Any) -> Json:
    """The reply to an operation on a lens."""
    return kernel.write(op, {"lens_id": lens_id, **(args or {})}, project=space["project_id"], **how)


def changed(kernel: Kernel, space: Json, op: str, lens_id: str, args: Json | None = None) -> Json:
    """The lens after an operation that must be applied."""
    answered = change(kernel, space, op, lens_id, args)
    assert answered["outcome"] == "ok", answered
    result: Json = answered["result"]
    return result


def shown(kernel: Kernel, space: Json, lens_id: str) -> Json:
    """The reply to lens_show."""
    return kernel.read("lens_show", {"lens_id": lens_id}, project=space["project_id"])


def listed(kernel: Kernel, space: Json, **args: Any) -> Json:
    """The result of lens_list."""
    said = {"space_id": space["space_id"], "limit": 100, **args}
    answered = kernel.read("lens_list", said, project=space["project_id"])
    assert answered["outcome"] == "ok", answered
    result: Json = answered["result"]
    return result


def told(kernel: Kernel, space: Json) -> list[Json]:
    """The events of the project's lenses."""
    args = {"source": space["project_id"], "limit": 100}
    found: list[Json] = kernel.read("events_read", args)["result"]["events"]
    return [event for event in found if event["schema_ref"] == "schema:space-lens-v1"]


def built_in(space: Json, kind: str) -> str:
    """The id of a space's built-in lens."""
    return f"lens-{kind}-{space['space_id']}"


# --- the table ----------------------------------------------------------------------------------------------
def test_the_lifecycle_is_the_table_of_the_protocol() -> None:
    """Each status and operation of the product's table is in the one written by hand, and the reverse."""
    by_hand = {(status, op): after for status, op, after in ROWS}
    product = {
        (status, op): lenses.LIFECYCLE[status].get(op, "-")
        for status, op in itertools.product(lenses.LIFECYCLE, (UPDATE, REVOKE))
    }
    assert product == by_hand


@pytest.mark.parametrize("which", ["made", "stream"])
@pytest.mark.parametrize(("status", "op", "after"), ROWS)
def test_each_status_takes_what_the_table_says(
    kernel: Kernel, space: Json, which: str, status: str, op: str, after: str
) -> None:
    """Made or built in, a lens goes from status to status as the table says, and a revoked one is not
    found.
    """
    lens_id = made(kernel, space)["lens_id"] if which == "made" else built_in(space, which)
    if status == "revoked":
        changed(kernel, space, REVOKE, lens_id)
    answered = change(kernel, space, op, lens_id)
    if after == "-":
        assert kernel.problem(answered) == "not-found"
    else:
        assert answered["result"]["status"] == after


# --- making -------------------------------------------------------------------------------------------------
CONTENT = {
    "query_ast": {"kinds": ["claim"]},
    "sort_spec": {"by": "space_sequence"},
    "presentation_options": {"dense": True, "n": 3, "nested": {"a": []}},
}


@pytest.mark.parametrize(
    "kind", ["stream", "workbench", "pulse", "branch_compare", "ensemble", "provenance", "custom"]
)
def test_a_lens_of_each_kind_is_made_and_shown(kernel: Kernel, space: Json, kind: str) -> None:
    """A lens is what was sent, at revision 1 and active, and is shown with that revision."""
    lens = made(kernel, space, kind=kind, **CONTENT)
    assert lens == {
        "lens_id": lens["lens_id"],
        "space_id": space["space_id"],
        "owner_ref": "prin-owner",
        "revision": 1,
        "kind": kind,
        **CONTENT,
        "visibility": "shared",
        "status": "active",
        "created_at": lens["created_at"],
    }
    answered = shown(kernel, space, lens["lens_id"])
    assert (answered["result"], answered["revision"]) == (lens, 1)


def test_making_one_is_told_and_leaves_the_space_alone(kernel: Kernel, space: Json) -> None:
    """One event in the space's stream, with the whole record; the space's revision stays."""
    lens = made(kernel, space)
    (event,) = told(kernel, space)
    assert event["type"] == EVENT.format("created")
    assert (event["stream_id"], event["resource_ref"]) == (space["space_id"], lens["lens_id"])
    assert (event["resource_revision"], event["payload"]) == (1, lens)
    answered = kernel.read("space_show", {"space_id": space["space_id"]}, project=space["project_id"])
    assert answered["result"]["revision"] == space["revision"]


@pytest.mark.parametrize(
    "query", [{"select": "nothing"}, {"select": "contributions", "knds": 1}, {"by": None}]
)
def test_any_query_is_taken(kernel: Kernel, space: Json, query: Json) -> None:
    """As the protocol has it, an object is stored whatever it says."""
    assert made(kernel, space, query_ast=query)["query_ast"] == query


def test_the_expected_revision_is_the_spaces(kernel: Kernel, space: Json) -> None:
    """Making a lens compares the space's revision, and says the current one."""
    refused = kernel.write(CREATE, making(space), project=space["project_id"], rev=space["revision"] + 1)
    assert kernel.problem(refused) == "stale-revision"
    recovery = refused["problem"]["ext"]["dev.kovee.recovery.stale-revision"]
    assert recovery == {"current_revision": space["revision"]}
    taken = kernel.write(CREATE, making(space), project=space["project_id"], rev=space["revision"])
    assert taken["outcome"] == "ok"


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "mirror"},
        {"visibility": "For All"},
        {"query_ast": []},
        {"sort_spec": "branch_sequence"},
        {"presentation_options": None},
    ],
    ids=str,
)
def test_a_wrong_argument_is_invalid(kernel: Kernel, space: Json, wrong: Json) -> None:
    """Kinds are a closed set, visibility is a token, and the three contents are objects."""
    refused = kernel.write(CREATE, making(space, **wrong), project=space["project_id"])
    assert kernel.problem(refused) == "invalid"


def test_a_space_that_is_not_there_has_no_lens(kernel: Kernel, space: Json) -> None:
    """An unknown space, and one of another project, are not found."""
    elsewhere = kernel.project("cellar")
    for args, project in (
        (making({"space_id": "space-none"}), space["project_id"]),
        (making(space), elsewhere),
    ):
        assert kernel.problem(kernel.write(CREATE, args, project=project)) == "not-found"


def test_a_lens_that_could_not_be_shown_is_not_taken(kernel: Kernel, space: Json) -> None:
    """Nested deeper than a reading of events can serve, it is invalid; one level less, it is served there."""
    deep: Any = 1
    for _ in range(59):
        deep = [deep]
    refused = kernel.write(CREATE, making(space, query_ast={"a": deep}), project=space["project_id"])
    assert kernel.problem(refused) == "invalid"
    lens = made(kernel, space, query_ast={"a": deep[0]})
    assert told(kernel, space)[0]["payload"] == lens


# --- changing -----------------------------------------------------------------------------------------------
def test_an_update_changes_what_it_names(kernel: Kernel, space: Json) -> None:
    """What is named is new, what is left out stays, and each update is a revision and an event."""
    lens = made(kernel, space, **CONTENT)
    query = changed(kernel, space, UPDATE, lens["lens_id"], {"query_ast": {"kinds": ["goal"]}})
    assert query == {**lens, "revision": 2, "query_ast": {"kinds": ["goal"]}}
    private = changed(kernel, space, UPDATE, lens["lens_id"], {"visibility": "private"})
    assert private == {**query, "revision": 3, "visibility": "private"}
    assert [event["payload"] for event in told(kernel, space)] == [lens, query, private]
    assert [event["type"] for event in told(kernel, space)[1:]] == [EVENT.format("updated")] * 2


def test_an_update_of_nothing_is_a_revision(kernel: Kernel, space: Json) -> None:
    """It is told like any other."""
    lens = made(kernel, space, **CONTENT)
    answered = change(kernel, space, UPDATE, lens["lens_id"])
    assert answered["result"] == {**lens, "revision": 2}
    assert answered["revision"] == 2
    assert answered["event_cursor"]


@pytest.mark.parametrize("op", [UPDATE, REVOKE])
def test_the_expected_revision_is_the_lenses(kernel: Kernel, space: Json, op: str) -> None:
    """Changing and taking away compare the lens's revision, before the state of its space."""
    lens_id = made(kernel, space)["lens_id"]
    changed(kernel, space, UPDATE, lens_id)
    kernel.ok("space_archive", {"space_id": space["space_id"]}, project=space["project_id"])
    assert kernel.problem(change(kernel, space, op, lens_id, rev=1)) == "stale-revision"
    assert kernel.problem(change(kernel, space, op, lens_id, rev=2)) == "invalid"


def test_a_frozen_space_takes_lenses_and_an_archived_one_does_not(kernel: Kernel, space: Json) -> None:
    """An archived space keeps and shows its lenses as they are; a frozen one is no obstacle."""
    kernel.ok("space_freeze", {"space_id": space["space_id"]}, project=space["project_id"])
    lens_id = made(kernel, space)["lens_id"]
    kernel.ok("space_archive", {"space_id": space["space_id"]}, project=space["project_id"])
    before = listed(kernel, space)["items"]
    refused = kernel.write(CREATE, making(space), project=space["project_id"])
    assert kernel.problem(refused) == "invalid"
    for lens, op in itertools.product((lens_id, built_in(space, "stream")), (UPDATE, REVOKE)):
        assert kernel.problem(change(kernel, space, op, lens)) == "invalid"
    assert listed(kernel, space)["items"] == before


def test_a_revoked_lens_is_gone(kernel: Kernel, space: Json) -> None:
    """It is shown, read and listed no more; its last event says that it was revoked."""
    lens = made(kernel, space)
    assert changed(kernel, space, REVOKE, lens["lens_id"]) == {**lens, "revision": 2, "status": "revoked"}
    assert kernel.problem(shown(kernel, space, lens["lens_id"])) == "not-found"
    read = kernel.read("lens_read", {"lens_id": lens["lens_id"], "limit": 9}, project=space["project_id"])
    assert kernel.problem(read) == "not-found"
    assert lens["lens_id"] not in [item["lens_id"] for item in listed(kernel, space)["items"]]
    assert told(kernel, space)[-1]["type"] == EVENT.format("revoked")


@pytest.mark.parametrize("op", [CREATE, UPDATE, REVOKE])
def test_a_command_sent_again_is_the_same(kernel: Kernel, space: Json, op: str) -> None:
    """The same key and arguments give the same bytes and write nothing; another content is a mismatch."""
    args = making(space) if op == CREATE else {"lens_id": made(kernel, space)["lens_id"]}
    line, socket = kernel.request(op, args, project=space["project_id"], key="k")
    first, before = kernel.answer(line, socket), kernel.fingerprint()
    assert kernel.answer(line, socket) == first
    assert kernel.fingerprint() == before
    other = {**args, "query_ast": {"other": 1}} if op != REVOKE else {"lens_id": built_in(space, "stream")}
    assert (
        kernel.problem(kernel.write(op, other, project=space["project_id"], key="k"))
        == "idempotency-mismatch"
    )


def test_the_log_verifies(kernel: Kernel, space: Json) -> None:
    """Every row of a lens's life stands under its leaf."""
    lens_id = made(kernel, space, **CONTENT)["lens_id"]
    changed(kernel, space, UPDATE, lens_id, {"sort_spec": {}})
    changed(kernel, space, REVOKE, lens_id)
    changed(kernel, space, UPDATE, built_in(space, "stream"), {"visibility": "private"})
    assert list(Walk(kernel.view).slices()) == [None]


def test_content_stands_in_bodies_alone(kernel: Kernel, space: Json) -> None:
    """Of query, sort and presentation nothing is found in any row of any table."""
    lens_id = made(kernel, space, query_ast={"canary": "query"}, sort_spec={"canary": "sort"})["lens_id"]
    changed(kernel, space, UPDATE, lens_id, {"presentation_options": {"canary": "presentation"}})
    assert "canary" not in repr(kernel.dump())


@pytest.mark.parametrize("which", ["made", "stream"])
def test_an_erased_lens_has_empty_content(kernel: Kernel, space: Json, which: str) -> None:
    """In every event that it had, and for good; it is still there, and asks for nothing."""
    lens_id = made(kernel, space, **CONTENT)["lens_id"] if which == "made" else built_in(space, which)
    changed(kernel, space, UPDATE, lens_id, CONTENT)
    kernel.ok("tallystick_erase", {"object_ref": lens_id, "reason_class": "privacy"})
    contents = [[event["payload"][part] for part in CONTENT] for event in told(kernel, space)]
    assert all(content == [{}, {}, {}] for content in contents)
    lens = shown(kernel, space, lens_id)["result"]
    assert [lens[part] for part in CONTENT] == [{}, {}, {}]
    kernel.said(space, "a")
    read = kernel.read("lens_read", {"lens_id": lens_id, "limit": 9}, project=space["project_id"])
    assert len(read["result"]["items"]) == 1


def test_a_built_in_lens_as_it_comes_has_no_content_to_erase(kernel: Kernel, space: Json) -> None:
    """Nothing of anybody's stands in it."""
    erase = {"object_ref": built_in(space, "stream"), "reason_class": "privacy"}
    assert kernel.problem(kernel.write("tallystick_erase", erase)) == "not-found"


# --- the two of every space ---------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", BUILT_IN)
def test_a_space_comes_with_its_built_in_lenses(kernel: Kernel, space: Json, kind: str) -> None:
    """They are the owner's, at revision 1, as old as the space, and nothing is stored for them."""
    assert shown(kernel, space, built_in(space, kind)) == {
        "outcome": "ok",
        "result": {
            "lens_id": built_in(space, kind),
            "space_id": space["space_id"],
            "owner_ref": "prin-owner",
            "revision": 1,
            "kind": kind,
            **BUILT_IN[kind],
            "visibility": "project",
            "status": "active",
            "created_at": space["created_at"],
        },
        "revision": 1,
    }
    assert kernel.dump()["lenses"] == []


def test_a_built_in_lens_is_changed_and_goes_on_from_there(kernel: Kernel, space: Json) -> None:
    """Its revisions count on over a restart, what it came with stays, and the other one is untouched."""
    lens_id = built_in(space, "stream")
    first = changed(kernel, space, UPDATE, lens_id, {"presentation_options": {"dense": True}})
    assert (first["revision"], first["query_ast"]) == (2, STREAM["query_ast"])
    kernel.reopen()
    second = changed(kernel, space, UPDATE, lens_id, {"visibility": "shared"})
    assert second == {**first, "revision": 3, "visibility": "shared"}
    assert [event["payload"] for event in told(kernel, space)] == [first, second]
    assert shown(kernel, space, built_in(space, "workbench"))["revision"] == 1


def test_a_revoked_built_in_lens_does_not_come_back(kernel: Kernel, space: Json) -> None:
    """It is gone for good, and the other one, and other spaces', stay."""
    changed(kernel, space, REVOKE, built_in(space, "stream"))
    kernel.reopen()
    assert kernel.problem(shown(kernel, space, built_in(space, "stream"))) == "not-found"
    assert [lens["kind"] for lens in listed(kernel, space)["items"]] == ["workbench"]
    other = kernel.space(space["project_id"], "the sink")
    assert len(listed(kernel, other)["items"]) == 2


@pytest.mark.parametrize(
    "lens_id",
    [
        "lens-none",
        "lens-stream-space-none",
        "lens-pulse-{space_id}",
        "{space_id}",
        "lens-{space_digits}",
        "lens-workbench-{lens_id}",
    ],
)
def test_what_names_no_lens_is_not_found(kernel: Kernel, space: Json, lens_id: str) -> None:
    """An id that looks like one, of a space or a lens, is no lens."""
    lens = made(kernel, space)
    digits = space["space_id"].removeprefix("space-")
    said = lens_id.format(space_id=space["space_id"], space_digits=digits, lens_id=lens["lens_id"])
    assert kernel.problem(shown(kernel, space, said)) == "not-found"


def test_the_event_of_a_change_is_no_lens(kernel: Kernel, space: Json) -> None:
    """The digits of a built-in lens's first change lead to its row, and are no second name of it."""
    changed(kernel, space, UPDATE, built_in(space, "stream"))
    digits = told(kernel, space)[0]["event_id"].removeprefix("evt-")
    assert kernel.problem(shown(kernel, space, f"lens-{digits}")) == "not-found"


# --- lists --------------------------------------------------------------------------------------------------
def test_the_list_is_in_the_order_of_making_page_by_page(kernel: Kernel, space: Json) -> None:
    """The built-in ones first, whether they were changed or not, and no page repeats or skips one."""
    lens_ids = [made(kernel, space, kind=kind)["lens_id"] for kind in ("pulse", "ensemble", "custom")]
    changed(kernel, space, UPDATE, built_in(space, "workbench"))
    page = listed(kernel, space, limit=1)
    found = [page["items"][0]["lens_id"]]
    while "next" in page:
        page = listed(kernel, space, limit=1, after=page["next"], snapshot=page["snapshot"])
        found += [item["lens_id"] for item in page["items"]]
    assert found == [built_in(space, "stream"), built_in(space, "workbench"), *lens_ids]


def test_a_snapshot_keeps_later_lenses_out(kernel: Kernel, space: Json) -> None:
    """A lens made after the first page is on none of its pages, and a revoked one is gone from them."""
    lens_id = made(kernel, space)["lens_id"]
    first = listed(kernel, space, limit=1)
    made(kernel, space)
    changed(kernel, space, REVOKE, lens_id)
    rest = listed(kernel, space, after=first["next"], snapshot=first["snapshot"])
    assert [lens["kind"] for lens in rest["items"]] == ["workbench"]


def test_the_lenses_of_an_unknown_space_are_not_found(kernel: Kernel, space: Json) -> None:
    """As the space is not."""
    args = {"space_id": "space-none", "limit": 3}
    assert kernel.problem(kernel.read("lens_list", args, project=space["project_id"])) == "not-found"


def test_another_project_does_not_see_them(kernel: Kernel, space: Json) -> None:
    """Through another project a lens, made or built in, is not found, whatever is asked of it."""
    other = kernel.project("cellar")
    for lens_id in (made(kernel, space)["lens_id"], built_in(space, "stream")):
        for op, more in (("lens_show", {}), ("lens_read", {"limit": 3})):
            answered = kernel.read(op, {"lens_id": lens_id, **more}, project=other)
            assert kernel.problem(answered) == "not-found"
        for op in (UPDATE, REVOKE):
            assert kernel.problem(kernel.write(op, {"lens_id": lens_id}, project=other)) == "not-found"


# --- whose they are -----------------------------------------------------------------------------------------
def agent_lens(agent: Agent, space: Json, key: str = "lens", **more: Any) -> Json:
    """A lens that an agent made."""
    answered = agent.send(CREATE, making(space, **more), project=space["project_id"], key=key)
    assert answered["outcome"] == "ok", answered
    result: Json = answered["result"]
    return result


def seen_by(agent: Agent, space: Json, lens_id: str) -> bool:
    """Whether a lens is there for an agent: show, read and list agree."""
    project = space["project_id"]
    answers = [
        agent.send("lens_show", {"lens_id": lens_id}, project=project)["outcome"] == "ok",
        agent.send("lens_read", {"lens_id": lens_id, "limit": 9}, project=project)["outcome"] == "ok",
        lens_id
        in json.dumps(agent.send("lens_list", {"space_id": space["space_id"], "limit": 9}, project=project)),
    ]
    assert len(set(answers)) == 1
    return bool(answers[0])


@pytest.mark.parametrize(
    ("visibility", "there"), [("shared", True), ("project", True), ("private", False), ("team", False)]
)
def test_visibility_says_for_whom_a_lens_is_there(
    kernel: Kernel, space: Json, visibility: str, there: bool
) -> None:
    """A shared lens is there for whoever reads its space, any other for its maker and the owner."""
    maker, reader = Agent(kernel, "maker"), Agent(kernel, "reader")
    maker.join(space)
    reader.join(space, "observer")
    lens_id = agent_lens(maker, space, visibility=visibility)["lens_id"]
    assert shown(kernel, space, lens_id)["result"]["owner_ref"] == maker.id
    assert seen_by(maker, space, lens_id)
    assert seen_by(reader, space, lens_id) is there


def test_the_built_in_lenses_are_there_for_readers_until_they_are_private(
    kernel: Kernel, space: Json
) -> None:
    """The owner may keep a built-in lens to itself."""
    reader = Agent(kernel, "reader")
    reader.join(space, "observer")
    lens_id = built_in(space, "stream")
    assert seen_by(reader, space, lens_id)
    changed(kernel, space, UPDATE, lens_id, {"visibility": "private"})
    assert not seen_by(reader, space, lens_id)


def test_a_lens_of_a_space_that_is_not_seen_is_not_there(kernel: Kernel, space: Json) -> None:
    """Whatever its visibility, and however it is asked for."""
    stranger = Agent(kernel, "stranger")
    stranger.join(kernel.space(space["project_id"], "elsewhere"))
    lens_id = made(kernel, space, visibility="project")["lens_id"]
    kernel.ok("space_restrict", {"space_id": space["space_id"]}, project=space["project_id"])
    for named in (lens_id, built_in(space, "workbench")):
        assert not seen_by(stranger, space, named)
        refused = stranger.send(UPDATE, {"lens_id": named}, project=space["project_id"], key=f"k-{named}")
        assert kernel.problem(refused) == "not-found"


# Who, whose lens, what is answered to a change of it. "other" is another agent's, shared; "hidden", private.
MAY_CHANGE = """
contributor own      ok
contributor other    forbidden
contributor hidden   not-found
contributor built_in forbidden
steward     own      ok
steward     other    ok
steward     hidden   not-found
steward     built_in ok
observer    other    forbidden
observer    built_in forbidden
muted       own      forbidden
"""


@pytest.mark.parametrize("op", [UPDATE, REVOKE])
@pytest.mark.parametrize(
    ("who", "whose", "answer"), [tuple(line.split()) for line in MAY_CHANGE.strip().splitlines()]
)
def test_who_may_change_a_lens(
    kernel: Kernel, space: Json, op: str, who: str, whose: str, answer: str
) -> None:
    """Who made it, while it may write in the space, and stewards what is there for them; the owner any."""
    agent, other = Agent(kernel, "agent"), Agent(kernel, "other")
    participant = agent.join(space, "contributor" if who == "muted" else who)
    other.join(space)
    if whose == "built_in":
        lens_id = built_in(space, "stream")
    elif whose == "own":
        lens_id = agent_lens(agent, space, visibility="private")["lens_id"]
    else:
        lens_id = agent_lens(other, space, visibility="shared" if whose == "other" else "private")["lens_id"]
    if who == "muted":
        muted = {"participant_id": participant["participant_id"], "status": "muted"}
        kernel.ok("space_participant_update", muted, project=space["project_id"])
    answered = agent.send(op, {"lens_id": lens_id}, project=space["project_id"], key="change")
    assert ("ok" if answered["outcome"] == "ok" else kernel.problem(answered)) == answer
    if answer != "ok":
        assert change(kernel, space, op, lens_id)["outcome"] == "ok"


def test_an_observer_makes_no_lens(kernel: Kernel, space: Json) -> None:
    """It reads, and does not write."""
    reader = Agent(kernel, "reader")
    reader.join(space, "observer")
    answered = reader.send(CREATE, making(space), project=space["project_id"], key="k")
    assert kernel.problem(answered) == "forbidden"


def test_a_steward_erases_the_lenses_that_are_there_for_it(kernel: Kernel, space: Json) -> None:
    """Another's private lens is as little found by erasing it as by reading it."""
    maker, steward = Agent(kernel, "maker"), Agent(kernel, "steward")
    maker.join(space)
    steward.join(space, "steward")
    for visibility, answer in (("private", "not-found"), ("shared", "ok")):
        lens_id = agent_lens(maker, space, key=visibility, visibility=visibility)["lens_id"]
        erase = {"object_ref": lens_id, "reason_class": "privacy"}
        answered = steward.send("tallystick_erase", erase, key=f"erase-{visibility}")
        assert ("ok" if answered["outcome"] == "ok" else kernel.problem(answered)) == answer


def test_events_of_a_hidden_lens_are_a_gap(kernel: Kernel, space: Json) -> None:
    """Another's private lens is in nobody's events but its maker's and the owner's, by whatever read."""
    maker, reader = Agent(kernel, "maker"), Agent(kernel, "reader")
    maker.join(space)
    reader.join(space, "observer")
    lens_id = agent_lens(maker, space, visibility="private")["lens_id"]
    (event,) = told(kernel, space)

    def events_of(agent: Agent) -> list[Json]:
        read = agent.send("events_read", {"source": space["project_id"], "limit": 100})["result"]["events"]
        return [one for one in read if one["resource_ref"] == lens_id]

    payload = {"event_id": event["event_id"]}
    assert events_of(maker) == [event]
    assert events_of(reader) == []
    assert kernel.problem(reader.send("event_payload", payload)) == "not-found"
    assert maker.send("event_payload", payload)["outcome"] == "ok"


def test_what_was_private_stays_untold_when_it_is_shared(kernel: Kernel, space: Json) -> None:
    """Sharing shows a lens as it is from then on, and hiding it again hides all of it."""
    reader = Agent(kernel, "reader")
    reader.join(space, "observer")
    lens_id = made(kernel, space, visibility="private", query_ast={"secret": 1})["lens_id"]
    changed(kernel, space, UPDATE, lens_id, {"visibility": "shared", "query_ast": {}})

    def revisions() -> list[int]:
        read = reader.send("events_read", {"source": space["project_id"], "limit": 100})["result"]["events"]
        return [event["resource_revision"] for event in read if event["resource_ref"] == lens_id]

    assert revisions() == [2]
    changed(kernel, space, UPDATE, lens_id, {"visibility": "private"})
    assert revisions() == []
