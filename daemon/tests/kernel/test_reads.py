"""Pages, cursors and events: what a read shows, and where it goes on."""

from __future__ import annotations

import hmac
import json

import pytest

from tallyd.admission import Speaker, admit
from tallyd.families.events import Following
from tallyd.ledger import view as view_module
from tallyd.ledger.view import View
from tallystick.protocol.canonical import canonical
from tallystick.protocol.digests import cod
from tallystick.protocol.envelope import decode_request
from tallystick.protocol.operation import Socket

from .kernel import Json, Kernel


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space to read in."""
    return kernel.space(kernel.project())


def page(kernel: Kernel, space: Json, **args: object) -> Json:
    """One page of the space's contributions."""
    said = {"space_id": space["space_id"], "limit": 2, **args}
    return kernel.read("contribution_list", said, project=space["project_id"])


def events(kernel: Kernel, space: Json, **args: object) -> Json:
    """One read of the project's events."""
    return kernel.read("events_read", {"source": space["project_id"], "limit": 100, **args})


def test_pages_of_one_snapshot_show_each_row_once(kernel: Kernel, space: Json) -> None:
    """Rows made between two pages are not shown in the later one, and none is shown twice or left out."""
    texts = [kernel.said(space, f"{n}")["contribution_id"] for n in range(5)]
    seen: list[str] = []
    after: dict[str, object] = {}
    for _ in range(3):
        result = page(kernel, space, **after)["result"]
        seen += [item["contribution_id"] for item in result["items"]]
        kernel.said(space, "later")
        after = {"after": result.get("next"), "snapshot": result["snapshot"]}
    assert seen == texts
    assert after["after"] is None


def test_the_same_state_gives_the_same_tokens(kernel: Kernel, space: Json) -> None:
    """Nothing but the state is in a token."""
    for n in range(5):
        kernel.said(space, f"{n}")
    assert page(kernel, space) == page(kernel, space)
    assert events(kernel, space) == events(kernel, space)


def test_a_refusal_and_the_record_of_a_read_are_no_other_state(kernel: Kernel, space: Json) -> None:
    """What adds no row to a list makes no other token of it, though it writes a row in the log."""
    for n in range(5):
        kernel.said(space, f"{n}", more={"classification_ref": "class-sensitive"})
    before = kernel.view.number("SELECT max(position) FROM log")
    first = page(kernel, space)
    refused = kernel.write("space_reopen", {"space_id": space["space_id"]}, project=space["project_id"])
    assert kernel.problem(refused) == "stale-revision"
    assert kernel.view.number("SELECT max(position) FROM log") == before + 2
    assert page(kernel, space) == first
    going = {"after": first["result"]["next"], "snapshot": first["result"]["snapshot"]}
    assert len(page(kernel, space, **going)["result"]["items"]) == 2


def test_snapshot_and_continuation_do_not_stand_for_each_other(kernel: Kernel, space: Json) -> None:
    """Each is taken for what it is."""
    for n in range(5):
        kernel.said(space, f"{n}")
    result = page(kernel, space)["result"]
    snapshot, following = result["snapshot"], result["next"]
    assert kernel.problem(page(kernel, space, after=snapshot, snapshot=snapshot)) == "invalid"
    assert kernel.problem(page(kernel, space, snapshot=following)) == "invalid"
    assert kernel.problem(page(kernel, space, after=snapshot)) == "invalid"
    assert kernel.problem(page(kernel, space, after=following, snapshot=snapshot, kind="claim")) == "invalid"
    kernel.said(space, "more")
    other = page(kernel, space)["result"]["snapshot"]
    assert kernel.problem(page(kernel, space, after=following, snapshot=other)) == "snapshot-expired"


def test_a_continuation_alone_goes_on_while_its_snapshot_is_the_present_one(
    kernel: Kernel, space: Json
) -> None:
    """It is the second page of what a first page would be now; once that is another, it has expired."""
    for n in range(5):
        kernel.said(space, f"{n}")
    first = page(kernel, space)["result"]
    whole = page(kernel, space, after=first["next"], snapshot=first["snapshot"])
    assert page(kernel, space, after=first["next"]) == whole
    assert kernel.problem(page(kernel, space, after=first["next"], kind="claim")) == "invalid"
    kernel.said(space, "more")
    assert kernel.problem(page(kernel, space, after=first["next"])) == "snapshot-expired"
    assert page(kernel, space, after=first["next"], snapshot=first["snapshot"]) == whole


def test_what_happens_elsewhere_makes_no_other_token(kernel: Kernel, space: Json) -> None:
    """A list's snapshot moves with its project; one of the realm's lists with its own rows."""
    for n in range(3):
        kernel.said(space, f"{n}")
    other = kernel.project("other")
    first = page(kernel, space)["result"]
    projects = kernel.read("project_list", {"limit": 1})["result"]
    kernel.said(kernel.space(other), "elsewhere")
    assert page(kernel, space)["result"] == first
    assert kernel.read("project_list", {"limit": 1})["result"] == projects
    kernel.project("a third")
    assert page(kernel, space, after=first["next"])["result"]["items"]
    moved = kernel.read("project_list", {"limit": 1})["result"]
    assert moved["snapshot"] != projects["snapshot"]


def test_a_token_of_another_list_is_invalid(kernel: Kernel, space: Json) -> None:
    """Tokens are bound to their list and parent."""
    for n in range(3):
        kernel.said(space, f"{n}")
    neighbour = kernel.space(space["project_id"], "another")
    result = page(kernel, space)["result"]
    refused = page(kernel, neighbour, snapshot=result["snapshot"])
    assert kernel.problem(refused) == "invalid"


def test_a_page_is_cut_where_its_reply_would_not_fit(kernel: Kernel, space: Json) -> None:
    """By bytes and by values as well as by count; each page holds one item at least."""
    for _ in range(12):
        kernel.said(
            space, "x" * 65_000, more={"body_parts": [{"media_type": "text/plain", "text": "x" * 65_000}] * 3}
        )
    many = [{"schema_ref": "schema:x", "value": list(range(256))}] * 100
    for _ in range(4):
        kernel.said(space, "", more={"body_parts": many})
    seen = 0
    after: dict[str, object] = {}
    while True:
        answered = page(kernel, space, limit=512, **after)
        assert len(json.dumps(answered)) <= 1_048_576
        seen += len(answered["result"]["items"])
        if "next" not in answered["result"]:
            break
        assert answered["result"]["items"]
        after = {"after": answered["result"]["next"], "snapshot": answered["result"]["snapshot"]}
    assert seen == 16


def test_large_events_come_in_pages_that_fit(kernel: Kernel, space: Json) -> None:
    """A read and a wait are cut before their reply is too long, and go on until all is told."""
    parts = [{"media_type": "text/plain", "text": "x" * 65_000}] * 3
    for _ in range(8):
        kernel.said(space, "", more={"body_parts": parts})
    start = kernel.view.cursors.token(space["project_id"], 0)
    everything = [*range(1, 11)]  # project, space, and what was said
    for wait in (False, True):
        seen: list[int] = []
        cursor, pages = start, 0
        while seen != everything:
            read = events(kernel, space, after_cursor=cursor)["result"]
            result = waited(kernel, space, cursor) if wait else read
            assert result["events"]
            assert len(json.dumps(result)) <= 1_048_576
            seen += [event["project_sequence"] for event in result["events"]]
            cursor, pages = result["next_cursor"], pages + 1
        assert pages > 1


def waited(kernel: Kernel, space: Json, cursor: str) -> Json:
    """The result of a wait that need not sleep."""
    args = {"source": space["project_id"], "after_cursor": cursor, "timeout_ms": 0}
    request = decode_request(kernel.request("events_wait", args)[0], Socket.CLIENT)
    speaker = Speaker("prin-owner", "peer-uid", Socket.CLIENT)

    def look(view: View) -> tuple[bool, bytes]:
        admission = admit(view, request, speaker)
        return Following(view, request, admission).look(view, admission)

    found, result = kernel.reader.read(look)
    assert found
    said: Json = json.loads(result)
    return said


def test_a_filtered_read_moves_over_what_it_skips(kernel: Kernel, space: Json) -> None:
    """The cursor of a filtered read stands behind what it looked at, not at its last match."""
    for n in range(4):
        kernel.said(space, f"{n}")
    prefixes = ["dev.kovee.project"]
    first = events(kernel, space, type_prefixes=prefixes)["result"]
    assert [event["type"] for event in first["events"]] == ["dev.kovee.project.created.v1"]
    kernel.said(space, "more")
    second = events(kernel, space, type_prefixes=prefixes, after_cursor=first["next_cursor"])
    assert second["result"]["events"] == []
    assert second["result"]["next_cursor"] != first["next_cursor"]


def test_a_filtered_cursor_goes_with_its_filter_alone(kernel: Kernel, space: Json) -> None:
    """A cursor that names a position is taken with any filter; one of a filtered read only with that."""
    kernel.said(space, "a")
    filtered = events(kernel, space, type_prefixes=["dev.kovee.space"])["result"]["next_cursor"]
    assert kernel.problem(events(kernel, space, after_cursor=filtered)) == "invalid"
    assert (
        kernel.problem(events(kernel, space, after_cursor=filtered, type_prefixes=["dev.kovee"])) == "invalid"
    )
    assert events(kernel, space, after_cursor=filtered, type_prefixes=["dev.kovee.space"])["outcome"] == "ok"
    plain = kernel.append(space, "b")["event_cursor"]
    assert events(kernel, space, after_cursor=plain, type_prefixes=["dev.kovee.space"])["outcome"] == "ok"


@pytest.mark.parametrize("damage", ["kc1.", "kc1.7b7d.00", "nonsense", "one digit", "truncated", "foreign"])
def test_an_unusable_cursor_is_one_and_the_same_invalid(kernel: Kernel, space: Json, damage: str) -> None:
    """Forged, truncated and foreign cursors are told apart by nothing."""
    cursor = kernel.append(space, "a")["event_cursor"]
    other = kernel.ok("project_create", {"name": "other"})
    made = {
        "one digit": cursor[:-1] + ("0" if cursor[-1] != "0" else "1"),
        "truncated": cursor[:-10],
        "foreign": kernel.read("events_read", {"source": other["project_id"], "limit": 1})["result"][
            "next_cursor"
        ],
    }.get(damage, damage)
    refused = events(kernel, space, after_cursor=made)
    assert kernel.problem(refused) == "invalid"
    assert (
        refused["problem"]["detail"] == events(kernel, space, after_cursor="kc1.zz.zz")["problem"]["detail"]
    )


def test_a_token_tells_nothing(kernel: Kernel, space: Json) -> None:
    """Cursors, snapshots and continuations are sealed: neither what they say nor how long it is shows."""
    told = []
    for number in range(12):
        told.append(str(kernel.append(space, f"said {number}")["event_cursor"]))
    args = {"space_id": space["space_id"], "limit": 2}
    page = kernel.read("contribution_list", args, project=space["project_id"])["result"]
    told += [page["boundary_event_cursor"], page["snapshot"], page["next"]]
    told.append(events(kernel, space)["result"]["next_cursor"])
    for token in told:
        _, held, seal = token.split(".")
        for part in (bytes.fromhex(held), bytes.fromhex(seal)):
            assert not any(word in part for word in (b"seq", b"source", space["project_id"].encode()))
    cursors = kernel.view.cursors
    lengths = {len(cursors.continuation("list:x", n, n, n, f="0" * 16)) for n in (0, 9, 10**15)}
    assert lengths == {len(cursors.token("list:x", 0))}


def test_tokens_of_the_version_that_did_not_seal_are_taken(kernel: Kernel, space: Json) -> None:
    """Followers keep cursors across an upgrade: with the sequence that they hold, while their epoch lasts."""
    kernel.append(space, "a")
    epoch = kernel.store.identity.epoch
    said = {"epoch": epoch.number, "nonce": epoch.nonce.hex()[:16], "seq": 1, "v": 1}
    plain = canonical({**said, "source": space["project_id"]})
    seal = hmac.digest(kernel.store.keys.cursor, plain, "sha256").hex()
    old = f"kc1.{plain.hex()}.{seal}"
    found = events(kernel, space, after_cursor=old)["result"]["events"]
    assert found[0]["project_sequence"] == 2
    forged = f"kc1.{plain.replace(b'1', b'2').hex()}.{seal}"
    assert kernel.problem(events(kernel, space, after_cursor=forged)) == "invalid"


def test_a_list_token_is_no_cursor_of_events(kernel: Kernel, space: Json) -> None:
    """Whatever its source."""
    token = page(kernel, space)["result"]["snapshot"]
    assert kernel.problem(events(kernel, space, after_cursor=token)) == "invalid"


def test_cursors_of_an_abandoned_epoch_expire_by_name(kernel: Kernel, space: Json) -> None:
    """After an adoption an old cursor is told where to go on, an old snapshot to begin again."""
    cursor = kernel.append(space, "a")["event_cursor"]
    snapshot = page(kernel, space)["result"]["snapshot"]
    kernel.close()
    marker = kernel.paths.marker
    with open(marker, encoding="utf-8") as file:
        known = json.load(file)
    known["position"] += 5
    for path in (marker, kernel.paths.marker_copy(known["store_id"])):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(known, file)
    kernel.open(adopt=known["store_id"])
    refused = events(kernel, space, after_cursor=cursor)
    assert kernel.problem(refused) == "cursor-expired"
    ext = refused["problem"]["ext"]
    assert ext["dev.tallystick.epoch"] == {"number": 2}
    oldest = ext["dev.kovee.recovery.cursor-expired"]["oldest_cursor"]
    assert len(events(kernel, space, after_cursor=oldest)["result"]["events"]) == 3
    assert events(kernel, space)["result"]["snapshot_epoch"] == "epoch-2"
    assert kernel.problem(page(kernel, space, snapshot=snapshot)) == "snapshot-expired"
    row = kernel.view.log_row(kernel.view.number("SELECT max(position) FROM log"))
    assert (row.operation, row.epoch) == ("store_adopt", 2)


def test_a_payload_digest_is_that_of_the_payload(kernel: Kernel, space: Json) -> None:
    """Computed on serving, by KCP's construction, the same in both reads."""
    kernel.said(space, "a")
    for event in events(kernel, space)["result"]["events"]:
        digest = cod("kcp-event-payload", event["schema_ref"], event["payload"])
        assert event["payload_digest"] == digest
        alone = kernel.read("event_payload", {"event_id": event["event_id"]})["result"]
        assert (alone["payload"], alone["payload_digest"]) == (event["payload"], digest)


def test_an_event_names_whoever_and_whatever_caused_it(kernel: Kernel, space: Json) -> None:
    """Request id and causation stand in the event, and in the contribution."""
    kernel.said(space, "a", meta={"request_id": "req-x", "causation_event_ref": "evt-cause"})
    event = events(kernel, space)["result"]["events"][-1]
    assert (event["correlation_ref"], event["causation_ref"], event["actor_ref"]) == (
        "req-x",
        "evt-cause",
        "prin-owner",
    )
    assert event["payload"]["causation_ref"] == "evt-cause"


def test_reading_what_is_sensitive_leaves_a_record_first(kernel: Kernel, space: Json) -> None:
    """Each way to its content writes a row that says who looked at what; other reads write none."""
    made = kernel.said(space, "canary", more={"classification_ref": "class-sensitive"})
    kernel.said(space, "plain")
    evt = "evt-" + made["contribution_id"].removeprefix("contrib-")
    project = space["project_id"]
    reads = (
        ("contribution_show", {"contribution_id": made["contribution_id"]}, project),
        ("contribution_list", {"space_id": space["space_id"], "limit": 5}, project),
        ("events_read", {"source": project, "limit": 100}, None),
        ("event_payload", {"event_id": evt}, None),
    )
    for op, args, of in reads:
        before = kernel.view.number("SELECT count(*) FROM log")
        answered = kernel.read(op, args, project=of)
        assert "canary" in json.dumps(answered)
        assert kernel.view.number("SELECT count(*) FROM log") == before + 1
        row = kernel.view.log_row(before)
        assert (row.operation, row.outcome, row.actor) == (op, "read", "prin-owner")
        assert json.loads(row.detail) == {"objects": [made["contribution_id"]]}
    before = kernel.view.number("SELECT count(*) FROM log")
    kernel.read("space_show", {"space_id": space["space_id"]}, project=project)
    assert kernel.view.number("SELECT count(*) FROM log") == before


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("space_show", {"space_id": "space-" + "0" * 32}),
        ("contribution_show", {"contribution_id": "contrib-none"}),
        ("frontier_show", {"frontier_id": "front-" + "0" * 32}),
        ("context_assembly_show", {"assembly_id": "casm-" + "0" * 32}),
        ("invocation_show", {"invocation_id": "inv-" + "0" * 32}),
    ],
)
def test_what_is_not_there_is_not_found(kernel: Kernel, space: Json, op: str, args: Json) -> None:
    """An id that we did not make names nothing."""
    assert kernel.problem(kernel.read(op, args, project=space["project_id"])) == "not-found"


def test_an_id_of_another_kind_names_nothing(kernel: Kernel, space: Json) -> None:
    """An event shares its digits with what it made, and is not it; nor is what was made beside it."""
    made = kernel.said(space, "a")
    digits = made["contribution_id"].removeprefix("contrib-")
    asked = kernel.invocation(space, made)["context_assembly_ref"]
    shown = kernel.read("context_assembly_show", {"assembly_id": asked}, project=space["project_id"])
    beside = shown["result"]["frontier_ref"].removeprefix("front-")
    branch = space["main_branch_id"].removeprefix("branch-")
    for op, args in (
        ("space_show", {"space_id": f"space-{digits}"}),
        ("space_show", {"space_id": f"space-{branch}"}),
        ("lens_list", {"space_id": f"space-{branch}", "limit": 5}),
        ("lens_show", {"lens_id": f"lens-stream-space-{branch}"}),
        ("invocation_show", {"invocation_id": f"inv-{digits}"}),
        ("frontier_show", {"frontier_id": f"front-{digits}"}),
        ("context_assembly_show", {"assembly_id": f"casm-{digits}"}),
        ("context_assembly_show", {"assembly_id": f"casm-{beside}"}),
    ):
        assert kernel.problem(kernel.read(op, args, project=space["project_id"])) == "not-found"


def test_everything_stays_in_its_project(kernel: Kernel, space: Json) -> None:
    """By another project nothing of this one is found (case 84)."""
    other = kernel.project("other")
    made = kernel.said(space, "a")
    for op, args in (
        ("space_show", {"space_id": space["space_id"]}),
        ("contribution_show", {"contribution_id": made["contribution_id"]}),
        ("contribution_list", {"space_id": space["space_id"], "limit": 1}),
    ):
        assert kernel.problem(kernel.read(op, args, project=other)) == "not-found"
    narrowed = kernel.read("events_read", {"source": space["project_id"], "limit": 1}, project=other)
    assert kernel.problem(narrowed) == "not-found"


def test_a_view_remembers_a_bounded_number_of_ids(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many projects a reader has met, it remembers no more ids than its bound, each of them right."""
    projects = [kernel.project(f"number {n}") for n in range(7)]
    monkeypatch.setattr(view_module, "_REMEMBERED_IDS_MAX", 3)
    for _ in range(2):
        for project in projects:
            shown = kernel.read("events_read", {"source": project, "limit": 10})["result"]["events"]
            assert [event["project_id"] for event in shown] == [project]
            assert len(kernel.view._stream_ids) <= 3
