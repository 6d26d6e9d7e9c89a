"""What is seen through a lens: by kind, narrowed by its query, in its order, page by page, by whom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from world import AT_HEAD

from tallyd.ledger.orders import SENSITIVE, Order, Orders
from tallyd.store.migrations import load
from tallystick.protocol import limits
from tallystick.protocol.families.lenses import LensCard, LensContribution
from tallystick.protocol.ijson import Cap, parse
from tallystick.protocol.lens_grammar import LensQuery, LensSort
from tallystick.protocol.shapes import LensKind, convert

from .agents import Agent
from .kernel import Json, Kernel

KINDS = get_args(LensKind)
DOCUMENT = Path(__file__).parents[3] / "docs" / "lenses.md"


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """An open space."""
    return kernel.space(kernel.project())


def lens(kernel: Kernel, space: Json, kind: str = "custom", **more: Any) -> str:
    """The id of a shared lens of the owner's."""
    args = {
        "space_id": space["space_id"],
        "kind": kind,
        "query_ast": {},
        "sort_spec": {},
        "presentation_options": {},
        "visibility": "shared",
        **more,
    }
    return str(kernel.ok("lens_create", args, project=space["project_id"])["lens_id"])


def asking(kernel: Kernel, space: Json, sort: Json | None = None, kind: str = "custom", **query: Any) -> str:
    """The id of a lens whose query speaks the grammar."""
    query.setdefault("select", "contributions")
    return lens(kernel, space, kind, query_ast=query, sort_spec=sort or {})


def reply(kernel: Kernel, space: Json, lens_id: str, **args: Any) -> Json:
    """The reply to lens_read."""
    said = {"lens_id": lens_id, "limit": 100, **args}
    return kernel.read("lens_read", said, project=space["project_id"])


def page(kernel: Kernel, space: Json, lens_id: str, **args: Any) -> Json:
    """The result of lens_read."""
    answered = reply(kernel, space, lens_id, **args)
    assert answered["outcome"] == "ok", answered
    result: Json = answered["result"]
    return result


def all_pages(kernel: Kernel, space: Json, lens_id: str, limit: int) -> list[list[Json]]:
    """The items of each page, as a client follows them."""
    at = page(kernel, space, lens_id, limit=limit)
    pages: list[list[Json]] = [at["items"]]
    while "next" in at:
        at = page(kernel, space, lens_id, limit=limit, after=at["next"], snapshot=at["snapshot"])
        pages.append(at["items"])
    return pages


def texts(items: list[Json]) -> list[str]:
    """What the shown contributions say."""
    return [item["contribution"]["body_parts"][0]["text"] for item in items]


def shown(kernel: Kernel, space: Json, lens_id: str) -> list[str]:
    """What is seen through a lens."""
    return texts(page(kernel, space, lens_id)["items"])


def relate(kernel: Kernel, space: Json, from_: Json, to: Json, kind: str = "supports") -> Json:
    """A relation between two contributions."""
    ends = {
        name: {"object_ref": end["contribution_id"], "revision": 1, "digest": end["content_digest"]}
        for name, end in (("from_ref", from_), ("to_ref", to))
    }
    args = {"space_id": space["space_id"], "branch_id": space["main_branch_id"], "kind": kind, **ends}
    return kernel.ok("relation_assert", args, project=space["project_id"], ext=AT_HEAD)


def dispose(kernel: Kernel, space: Json, op: str, made: Json, **more: Any) -> None:
    """A disposition of a contribution or relation."""
    named = (
        {"relation_ref": made["relation_id"]}
        if op == "relation_retract"
        else {"contribution_ref": made["contribution_id"]}
    )
    kernel.ok(op, {**named, "reason_class": "mistake", **more}, project=space["project_id"])


# --- kinds --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "workbench"])
def test_a_lens_of_any_kind_but_the_workbench_shows_contributions_in_order(
    kernel: Kernel, space: Json, kind: str
) -> None:
    """All of them, each whole and at its place."""
    said = [kernel.said(space, "a", "question"), kernel.said(space, "b", "utterance")]
    relate(kernel, space, said[0], said[1])
    said.append(kernel.said(space, "c"))
    items = page(kernel, space, lens(kernel, space, kind))["items"]
    assert items == [
        {
            "item_kind": "contribution",
            "branch_sequence": made["origin_branch_sequence"],
            "contribution": made,
        }
        for made in said
    ]


@pytest.mark.parametrize("built_in", [True, False])
def test_a_workbench_shows_cards_with_their_relations(kernel: Kernel, space: Json, built_in: bool) -> None:
    """Everything but utterances, with what leaves and what reaches it, in the order of the branch."""
    question, claim = kernel.said(space, "q", "question"), kernel.said(space, "c")
    kernel.said(space, "hm", "utterance")
    first = relate(kernel, space, claim, question, "addresses")
    second = relate(kernel, space, claim, question, "supports")
    back = relate(kernel, space, question, claim, "challenges")
    lens_id = f"lens-workbench-{space['space_id']}" if built_in else lens(kernel, space, "workbench")
    items = page(kernel, space, lens_id)["items"]
    assert items == [
        {
            "item_kind": "card",
            "card_kind": made["kind"],
            "branch_sequence": made["origin_branch_sequence"],
            "contribution": made,
            "relations_out": leaving,
            "relations_in": reaching,
        }
        for made, leaving, reaching in (
            (question, [back], [first, second]),
            (claim, [first, second], [back]),
        )
    ]


def test_what_is_shown_has_the_shapes_that_clients_know(kernel: Kernel, space: Json) -> None:
    """Each item is one of the two records of the protocol's types."""
    relate(kernel, space, kernel.said(space, "a"), kernel.said(space, "b"))
    for kind, shape in (("pulse", LensContribution), ("workbench", LensCard)):
        items = page(kernel, space, lens(kernel, space, kind))["items"]
        assert [convert(item, shape) for item in items]


def test_an_empty_space_shows_an_empty_page(kernel: Kernel, space: Json) -> None:
    """With a snapshot, and nothing to go on to."""
    for kind in ("stream", "workbench"):
        found = page(kernel, space, f"lens-{kind}-{space['space_id']}")
        assert (found["items"], "next" in found) == ([], False)


def test_a_lens_shows_its_own_space(kernel: Kernel, space: Json) -> None:
    """What is said elsewhere in the project is not in it."""
    other = kernel.space(space["project_id"], "the sink")
    kernel.said(other, "elsewhere")
    kernel.said(space, "here")
    assert shown(kernel, space, f"lens-stream-{space['space_id']}") == ["here"]


def test_a_redacted_contribution_is_shown_as_redacted(kernel: Kernel, space: Json) -> None:
    """Its place stays, its words are gone."""
    made = kernel.said(space, "secret")
    dispose(kernel, space, "contribution_redact", made)
    assert shown(kernel, space, lens(kernel, space)) == [""]


# --- the query ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "query", [{}, {"kinds": ["question"]}, {"knds": 1}, {"filter": {"select": "claims"}}]
)
def test_a_query_of_another_program_asks_for_nothing(kernel: Kernel, space: Json, query: Json) -> None:
    """Without `select` an object means what its program means by it; all is shown."""
    kernel.said(space, "a", "question")
    kernel.said(space, "b", "utterance")
    assert shown(kernel, space, lens(kernel, space, query_ast=query)) == ["a", "b"]


@pytest.mark.parametrize(
    ("query", "at"),
    [
        ({"select": "claims"}, "$.query_ast.select"),
        ({"select": "contributions", "knds": ["claim"]}, "knds"),
        ({"select": "contributions", "kinds": ["opinion"]}, "$.query_ast.kinds[0]"),
        ({"select": "contributions", "kinds": []}, "$.query_ast.kinds"),
        ({"select": "contributions", "since_sequence": -1}, "$.query_ast.since_sequence"),
        ({"select": "contributions", "related_to": None}, "$.query_ast.related_to"),
        ({"select": "contributions", "without": ["lost"]}, "$.query_ast.without[0]"),
        ({"select": "contributions", "related_to": "contrib-none"}, "contrib-none"),
    ],
    ids=str,
)
def test_a_query_that_cannot_be_evaluated_is_refused_by_name(
    kernel: Kernel, space: Json, query: Json, at: str
) -> None:
    """It is not passed over: reading such a lens says which member is wrong, and what may stand there."""
    kernel.said(space, "a")
    refused = reply(kernel, space, lens(kernel, space, query_ast=query))
    assert kernel.problem(refused) == "invalid"
    assert at in refused["problem"]["detail"]


@pytest.mark.parametrize(
    "sort", [{"order_by": "author"}, {"order_by": "branch_sequence", "desc": True}], ids=str
)
def test_a_sort_that_cannot_be_evaluated_is_refused(kernel: Kernel, space: Json, sort: Json) -> None:
    """As a query is."""
    refused = reply(kernel, space, lens(kernel, space, sort_spec=sort))
    assert kernel.problem(refused) == "invalid"
    assert "$.sort_spec" in refused["problem"]["detail"]


SCENE = """
q question     asserted
u utterance    -
c claim        tentative
e evidence     observed
s synthesis    -
"""


@pytest.fixture
def scene(kernel: Kernel, space: Json) -> dict[str, Json]:
    """One contribution of several kinds and postures each, at the branch sequences 1 to 5, and relations."""
    made: dict[str, Json] = {}
    for name, kind, posture in (line.split() for line in SCENE.strip().splitlines()):
        more = {} if posture == "-" else {"epistemic_posture": posture}
        made[name] = kernel.said(space, name, kind, more=more)
    made["c to q"] = relate(kernel, space, made["c"], made["q"], "addresses")
    made["e to c"] = relate(kernel, space, made["e"], made["c"], "supports")
    made["s to c"] = relate(kernel, space, made["s"], made["c"], "derived_from")
    return made


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, "q u c e s"),
        ({"select": "typed_cards"}, "q c e s"),
        ({"kinds": ["claim", "question"]}, "q c"),
        ({"kinds": ["goal"]}, ""),
        ({"authors": ["prin-owner", "asstdep-dep-local-dev"]}, "q u c e s"),
        ({"authors": ["asstdep-dep-local-dev"]}, ""),
        ({"postures": ["tentative", "observed"]}, "c e"),
        ({"postures": ["contested"]}, ""),
        ({"classifications": ["class-default"]}, "q u c e s"),
        ({"classifications": ["class-other"]}, ""),
        ({"since_sequence": 4}, "e s"),
        ({"until_sequence": 2}, "q u"),
        ({"since_sequence": 2, "until_sequence": 3}, "u c"),
        ({"since_sequence": 4, "until_sequence": 3}, ""),
        ({"relation_kinds": ["supports", "addresses"]}, "q c e"),
        ({"relation_kinds": ["quotes"]}, ""),
        ({"kinds": ["claim", "evidence"], "postures": ["observed"], "since_sequence": 1}, "e"),
    ],
    ids=str,
)
def test_a_query_shows_what_meets_all_its_members(
    kernel: Kernel, space: Json, query: Json, found: str
) -> None:
    """Each member narrows; those of a list are alternatives."""
    assert shown(kernel, space, asking(kernel, space, **query)) == found.split()


@pytest.mark.parametrize(
    ("to", "kinds", "found"),
    [
        ("c", None, "q e s"),
        ("q", None, "c"),
        ("u", None, ""),
        ("c", ["supports", "derived_from"], "e s"),
        ("q", ["supports"], ""),
    ],
)
def test_related_to_finds_both_ends(
    kernel: Kernel, space: Json, scene: dict[str, Json], to: str, kinds: list[str] | None, found: str
) -> None:
    """What a relation leads to or comes from, by whichever kinds are asked for; not the object itself."""
    query: Json = {"related_to": scene[to]["contribution_id"]}
    if kinds is not None:
        query["relation_kinds"] = kinds
    assert shown(kernel, space, asking(kernel, space, **query)) == found.split()


def test_without_leaves_out_what_became_of_things(
    kernel: Kernel, space: Json, scene: dict[str, Json]
) -> None:
    """What has one of the named dispositions is left out; unasked for, nothing is."""
    dispose(kernel, space, "contribution_withdraw", scene["q"])
    dispose(
        kernel, space, "contribution_supersede", scene["c"], replacement_ref=scene["s"]["contribution_id"]
    )
    dispose(kernel, space, "contribution_redact", scene["u"])
    assert shown(kernel, space, asking(kernel, space)) == ["q", "", "c", "e", "s"]
    assert shown(kernel, space, asking(kernel, space, without=["withdrawn"])) == ["", "c", "e", "s"]
    left = asking(kernel, space, without=["withdrawn", "superseded", "redacted"])
    assert shown(kernel, space, left) == ["e", "s"]


def test_retracted_relations_are_there_unless_they_are_left_out(
    kernel: Kernel, space: Json, scene: dict[str, Json]
) -> None:
    """On cards as where related contributions are looked for."""
    dispose(kernel, space, "relation_retract", scene["e to c"])
    near = {"related_to": scene["c"]["contribution_id"]}
    assert shown(kernel, space, asking(kernel, space, **near)) == ["q", "e", "s"]
    assert shown(kernel, space, asking(kernel, space, **near, without=["retracted"])) == ["q", "s"]

    def on_card(**query: Any) -> list[str]:
        lens_id = asking(kernel, space, kind="workbench", kinds=["claim"], **query)
        (card,) = page(kernel, space, lens_id)["items"]
        return [relation["relation_id"] for relation in card["relations_in"]]

    both = [scene["e to c"]["relation_id"], scene["s to c"]["relation_id"]]
    assert on_card() == both
    assert on_card(without=["retracted"]) == both[1:]


@pytest.mark.usefixtures("scene")
def test_a_workbench_never_shows_utterances(kernel: Kernel, space: Json) -> None:
    """A query narrows what its kind shows, and never widens it."""
    assert shown(kernel, space, asking(kernel, space, kind="workbench")) == ["q", "c", "e", "s"]
    kinds = ["utterance", "claim"]
    assert shown(kernel, space, asking(kernel, space, kind="workbench", kinds=kinds)) == ["c"]


@pytest.mark.usefixtures("scene")
def test_words_of_a_query_are_values(kernel: Kernel, space: Json) -> None:
    """A word that looks like a piece of SQL or JSON finds nothing, and harms nothing."""
    for word in ("x'||'", "');DELETE/**/FROM/**/log;--", '"],["', "%"):
        assert shown(kernel, space, asking(kernel, space, authors=[word])) == []
    assert len(shown(kernel, space, asking(kernel, space))) == 5


def test_a_posture_is_read_from_its_member_alone(kernel: Kernel, space: Json) -> None:
    """An identifier that spells the member is no posture."""
    kernel.said(space, "a", more={"schema_ref": '"epistemic_posture":"asserted"'})
    assert shown(kernel, space, asking(kernel, space, postures=["asserted"])) == []


def test_the_grammar_is_what_the_document_says() -> None:
    """docs/lenses.md names every member of query and sort."""
    document = DOCUMENT.read_text(encoding="utf-8")
    members = (*LensQuery.__struct_fields__, *LensSort.__struct_fields__)
    assert [member for member in members if f"| `{member}`" not in document] == []


@pytest.mark.usefixtures("scene")
# --- order and pages ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("sort", "backwards"),
    [
        ({}, False),
        ({"by": "space_sequence"}, False),
        ({"descending": True}, False),
        ({"order_by": "branch_sequence"}, False),
        ({"order_by": "space_sequence", "descending": False}, False),
        ({"order_by": "branch_sequence", "descending": True}, True),
        ({"order_by": "space_sequence", "descending": True}, True),
    ],
    ids=str,
)
@pytest.mark.parametrize("limit", [1, 2, 3, 100])
@pytest.mark.parametrize("kind", ["stream", "workbench"])
def test_pages_show_everything_once_and_in_order(
    kernel: Kernel, space: Json, kind: str, limit: int, sort: Json, backwards: bool
) -> None:
    """No page is empty, each but the last is full, whatever is left out between."""
    expected = ["q", "u", "c", "e", "s"] if kind == "stream" else ["q", "c", "e", "s"]
    pages = all_pages(kernel, space, asking(kernel, space, sort, kind), limit)
    assert [text for items in pages for text in texts(items)] == (expected[::-1] if backwards else expected)
    assert [len(items) for items in pages[:-1]] == [limit] * (len(pages) - 1)
    assert 0 < len(pages[-1]) <= limit


def test_a_page_of_cards_never_comes_empty_with_a_continuation(kernel: Kernel, space: Json) -> None:
    """Utterances between and after cards are passed over: the last card is followed by nothing."""
    for index in range(6):
        kernel.said(space, f"hm {index}", "utterance")
        if index in (1, 3):
            kernel.said(space, f"card {index}")
    pages = all_pages(kernel, space, f"lens-workbench-{space['space_id']}", 1)
    assert [texts(items) for items in pages] == [["card 1"], ["card 3"]]


def test_a_snapshot_keeps_what_is_later_out(kernel: Kernel, space: Json, scene: dict[str, Json]) -> None:
    """Later contributions, relations and dispositions do not change its pages."""
    lens_id = asking(kernel, space, kind="workbench", without=["withdrawn", "retracted"])
    before = all_pages(kernel, space, lens_id, 1)
    first = page(kernel, space, lens_id, limit=1)
    later = kernel.said(space, "later")
    relate(kernel, space, later, scene["c"])
    dispose(kernel, space, "contribution_withdraw", scene["e"])
    dispose(kernel, space, "relation_retract", scene["s to c"])
    rest = page(kernel, space, lens_id, after=first["next"], snapshot=first["snapshot"])
    assert [first["items"], *[[item] for item in rest["items"]]] == before
    assert shown(kernel, space, lens_id) == ["q", "c", "s", "later"]


def test_the_boundary_is_where_the_projects_events_go_on(kernel: Kernel, space: Json) -> None:
    """Nothing that a page shows is told again after its boundary cursor, and what comes later is."""
    kernel.said(space, "a")
    cursor = page(kernel, space, lens(kernel, space))["boundary_event_cursor"]
    kernel.said(space, "b")
    args = {"source": space["project_id"], "after_cursor": cursor, "limit": 9}
    (event,) = kernel.read("events_read", args)["result"]["events"]
    assert event["payload"]["body_parts"][0]["text"] == "b"


@pytest.mark.usefixtures("scene")
def test_a_continuation_is_bound_to_its_lens_and_what_it_asks_for(kernel: Kernel, space: Json) -> None:
    """Another lens's is invalid, and so is one from before the query or the order was changed; a change of
    anything else does not matter.
    """
    lens_id, project = asking(kernel, space), space["project_id"]
    first = page(kernel, space, lens_id, limit=2)
    on = {"after": first["next"], "snapshot": first["snapshot"]}
    assert kernel.problem(reply(kernel, space, asking(kernel, space), **on)) == "invalid"
    kernel.ok("lens_update", {"lens_id": lens_id, "presentation_options": {"dense": True}}, project=project)
    assert texts(page(kernel, space, lens_id, **on)["items"]) == ["c", "e", "s"]
    for part in (
        {"query_ast": {"select": "contributions", "kinds": ["claim"]}},
        {"query_ast": {}, "sort_spec": {"order_by": "branch_sequence", "descending": True}},
    ):
        kernel.ok("lens_update", {"lens_id": lens_id, **part}, project=project)
        assert kernel.problem(reply(kernel, space, lens_id, **on)) == "invalid"


@pytest.mark.usefixtures("scene")
def test_tokens_are_told_apart(kernel: Kernel, space: Json) -> None:
    """A snapshot is no continuation, nor the reverse; a continuation goes on in its own snapshot alone."""
    lens_id = asking(kernel, space)
    first = page(kernel, space, lens_id, limit=2)
    kernel.said(space, "later")
    second = page(kernel, space, lens_id, limit=2)
    for wrong in ({"after": first["snapshot"], "snapshot": first["snapshot"]}, {"snapshot": first["next"]}):
        assert kernel.problem(reply(kernel, space, lens_id, **wrong)) == "invalid"
    for wrong in ({"after": first["next"]}, {"after": first["next"], "snapshot": second["snapshot"]}):
        assert kernel.problem(reply(kernel, space, lens_id, **wrong)) == "snapshot-expired"


@pytest.mark.usefixtures("scene")
def test_a_continuation_goes_on_after_a_restart(kernel: Kernel, space: Json) -> None:
    """Nothing is kept for it but what the token says."""
    lens_id = f"lens-stream-{space['space_id']}"
    first = page(kernel, space, lens_id, limit=2)
    kernel.reopen()
    rest = page(kernel, space, lens_id, after=first["next"], snapshot=first["snapshot"])
    assert texts(rest["items"]) == ["c", "e", "s"]


# --- cards that are too large -------------------------------------------------------------------------------
@pytest.fixture
def hub(kernel: Kernel, space: Json) -> tuple[Json, list[str]]:
    """A question with more relations than one item holds, and a claim after it."""
    question, claim = kernel.said(space, "hub", "question"), kernel.said(space, "claim")
    count = limits.LIST_ITEMS_MAX + 44
    made = [relate(kernel, space, claim, question, "addresses")["relation_id"] for _ in range(count)]
    return question, made


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_card_with_too_many_relations_goes_on_in_the_next_item(
    kernel: Kernel, space: Json, hub: tuple[Json, list[str]], limit: int
) -> None:
    """The same contribution with the relations that follow: every one of them once, wherever pages end."""
    question, made = hub
    pages = all_pages(kernel, space, f"lens-workbench-{space['space_id']}", limit)
    items = [item for one in pages for item in one]
    assert texts(items) == ["hub", "hub", "claim", "claim"]
    assert [item["contribution"] for item in items[:2]] == [question, question]
    assert [relation["relation_id"] for item in items[:2] for relation in item["relations_in"]] == made
    assert [relation["relation_id"] for item in items[2:] for relation in item["relations_out"]] == made
    assert [len(item["relations_in"]) for item in items] == [limits.LIST_ITEMS_MAX, 44, 0, 0]


def test_a_card_that_goes_on_does_so_backwards_too(
    kernel: Kernel, space: Json, hub: tuple[Json, list[str]]
) -> None:
    """The order of contributions turns, a card's relations stay in the order of the branch."""
    newest = {"order_by": "branch_sequence", "descending": True}
    pages = all_pages(kernel, space, asking(kernel, space, newest, "workbench"), 1)
    items = [item for one in pages for item in one]
    assert texts(items) == ["claim", "claim", "hub", "hub"]
    assert [relation["relation_id"] for item in items[:2] for relation in item["relations_out"]] == hub[1]


def test_a_page_that_begins_inside_a_card_shows_the_next_ones_whole(
    kernel: Kernel, space: Json, hub: tuple[Json, list[str]]
) -> None:
    """Where one card went on says nothing about the cards behind it."""
    lens_id = f"lens-workbench-{space['space_id']}"
    first = page(kernel, space, lens_id, limit=1)
    rest = page(kernel, space, lens_id, after=first["next"], snapshot=first["snapshot"])["items"]
    assert [relation["relation_id"] for item in rest for relation in item["relations_out"]] == hub[1]


def test_a_card_beside_a_large_body_fits_a_reply(kernel: Kernel, space: Json) -> None:
    """Where a body leaves room for fewer relations than an item may hold, the card goes on where they end."""
    parts = [{"schema_ref": "schema:numbers", "value": ["@"]}]
    line, socket = kernel.append_request(space, "", more={"body_parts": parts})
    numbers = b",".join([b"[" + b",".join([b"9e15"] * 256) + b"]"] * 195)  # each written out in 16 digits
    answered = json.loads(kernel.answer(line.replace(b'"@"', numbers), socket))
    large, other = answered["result"], kernel.said(space, "other")
    made = [relate(kernel, space, large, other)["relation_id"] for _ in range(limits.LIST_ITEMS_MAX)]
    lens_id = f"lens-workbench-{space['space_id']}"
    args = {"lens_id": lens_id, "limit": 512}
    raw = kernel.answer(*kernel.request("lens_read", args, project=space["project_id"]))
    parse(raw, Cap.REPLY)
    (first,) = json.loads(raw)["result"]["items"]
    assert 0 < len(first["relations_out"]) < limits.LIST_ITEMS_MAX
    items = [item for one in all_pages(kernel, space, lens_id, 512) for item in one]
    assert [relation["relation_id"] for item in items for relation in item["relations_out"]] == made


# --- by whom ------------------------------------------------------------------------------------------------
def agent_page(agent: Agent, space: Json, lens_id: str) -> list[Json]:
    """The items that an agent is shown."""
    answered = agent.send("lens_read", {"lens_id": lens_id, "limit": 100}, project=space["project_id"])
    assert answered["outcome"] == "ok", answered
    items: list[Json] = answered["result"]["items"]
    return items


def test_what_a_ceiling_does_not_reach_is_not_there(kernel: Kernel, space: Json) -> None:
    """Neither contributions nor, on cards and where they are looked for, relations above it."""
    orders = Orders(classifications=Order(("class-default", "class-high")))
    kernel.tx.orders = kernel.view.orders = orders
    agent = Agent(kernel, "agent", classification_ceiling_ref="class-default")
    agent.join(space)
    low, high = (
        kernel.said(space, "low"),
        kernel.said(space, "high", more={"classification_ref": "class-high"}),
    )
    between = kernel.said(space, "between")
    seen = relate(kernel, space, low, between)
    kernel.ok(
        "space_policy_narrow",
        {"space_id": space["space_id"], "default_classification_ref": "class-high"},
        project=space["project_id"],
    )
    relate(kernel, space, low, between, "quotes")
    assert texts(agent_page(agent, space, f"lens-stream-{space['space_id']}")) == ["low", "between"]
    cards = agent_page(agent, space, f"lens-workbench-{space['space_id']}")
    assert [card["relations_out"] for card in cards] == [[seen], []]
    assert agent_page(agent, space, asking(kernel, space, relation_kinds=["quotes"])) == []
    owner = page(kernel, space, f"lens-workbench-{space['space_id']}")["items"]
    assert texts(owner) == ["low", "high", "between"]
    assert [len(card["relations_out"]) for card in owner] == [2, 0, 0]
    assert high["contribution_id"] not in json.dumps(cards)


def test_what_is_sensitive_is_put_on_record_before_it_is_shown(kernel: Kernel, space: Json) -> None:
    """Reading a sensitive contribution through a lens leaves a row that names it, and who read it."""
    made = kernel.said(space, "secret", more={"classification_ref": SENSITIVE})
    kernel.said(space, "open")
    assert shown(kernel, space, lens(kernel, space)) == ["secret", "open"]
    rows = kernel.view.all("SELECT actor, outcome, detail FROM log WHERE operation = 'lens_read'")
    detail = json.dumps({"objects": [made["contribution_id"]]}, separators=(",", ":"))
    assert list(rows) == [("prin-owner", "read", detail)]


def test_what_a_query_leaves_out_is_not_put_on_record(kernel: Kernel, space: Json) -> None:
    """Only what is looked at to be shown."""
    kernel.said(space, "secret", "claim", more={"classification_ref": SENSITIVE})
    kernel.said(space, "open", "question")
    assert shown(kernel, space, asking(kernel, space, kinds=["question"])) == ["open"]
    assert not kernel.view.all("SELECT 1 FROM log WHERE operation = 'lens_read'")


# --- snapshot_read ------------------------------------------------------------------------------------------
def spaces_of(kernel: Kernel, source: str, **how: Any) -> Json:
    """The reply to snapshot_read."""
    args = {"source": source, "limit": 100, **how.pop("args", {})}
    return kernel.read("snapshot_read", args, **how)


def test_a_snapshot_of_a_project_is_its_spaces(kernel: Kernel, space: Json) -> None:
    """As the list shows them, with the boundary from which events go on; named or not named by the
    envelope."""
    project = space["project_id"]
    other = kernel.space(project, "the sink")
    found = spaces_of(kernel, project)["result"]
    assert found["items"] == [space, other]
    assert spaces_of(kernel, project, project=project)["result"]["items"] == [space, other]
    kernel.said(space, "later")
    args = {"source": project, "after_cursor": found["boundary_event_cursor"], "limit": 9}
    assert len(kernel.read("events_read", args)["result"]["events"]) == 1


def test_a_snapshot_goes_on_in_pages_of_its_own(kernel: Kernel, space: Json) -> None:
    """A space made later is on none of them, and a token of the list of spaces is no token of it."""
    project = space["project_id"]
    kernel.space(project, "the sink")
    first = spaces_of(kernel, project, args={"limit": 1})["result"]
    kernel.space(project, "later")
    on = {"after": first["next"], "snapshot": first["snapshot"]}
    rest = spaces_of(kernel, project, args=on)["result"]
    assert [one["title"] for one in (*first["items"], *rest["items"])] == ["the tap", "the sink"]
    listed = kernel.read("space_list", {"limit": 1}, project=project)["result"]
    for token in (listed["snapshot"], first["boundary_event_cursor"], first["next"]):
        assert kernel.problem(spaces_of(kernel, project, args={"snapshot": token})) == "invalid"


def test_a_source_is_a_project_that_is_seen(kernel: Kernel, space: Json) -> None:
    """A space, the realm, another project than the envelope's, and what is not there are not found."""
    other = kernel.project("cellar")
    for source in (space["space_id"], "realm-personal", "proj-none"):
        assert kernel.problem(spaces_of(kernel, source)) == "not-found"
    assert kernel.problem(spaces_of(kernel, space["project_id"], project=other)) == "not-found"
    assert kernel.problem(spaces_of(kernel, space["project_id"], project="proj-none")) == "not-found"


def test_a_snapshot_shows_an_agent_the_spaces_that_it_sees(kernel: Kernel, space: Json) -> None:
    """A restricted space that it is not in is not there, nor is a project in which it sees nothing."""
    agent, project = Agent(kernel, "agent"), space["project_id"]
    hidden = kernel.space(project, "hidden")
    kernel.ok("space_restrict", {"space_id": hidden["space_id"]}, project=project)
    args = {"source": project, "limit": 9}
    assert kernel.problem(agent.send("snapshot_read", args)) == "not-found"
    agent.join(space)
    seen = agent.send("snapshot_read", args)["result"]["items"]
    assert [one["space_id"] for one in seen] == [space["space_id"]]


# --- stores from before -------------------------------------------------------------------------------------
def test_relations_from_before_get_their_ends(kernel: Kernel, space: Json, scene: dict[str, Json]) -> None:
    """The migration that keeps the ends of relations finds those of the ones that are there."""
    columns = "SELECT position, from_object, to_object FROM relations ORDER BY position"
    kept, db = kernel.view.all(columns), kernel.store.writer
    (backfill,) = [
        statement
        for migration in load()
        if migration.name == "lenses"
        for statement in migration.statements
        if statement.startswith("UPDATE relations")
    ]
    db.execute("UPDATE relations SET from_object = NULL, to_object = NULL")
    db.execute(backfill)
    assert kernel.view.all(columns) == kept
    near = asking(kernel, space, related_to=scene["q"]["contribution_id"])
    assert shown(kernel, space, near) == ["c"]
