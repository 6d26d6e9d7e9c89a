"""One bit of one sealed body, or of one key, is flipped on the disk: that object alone is unreadable, it is
named with its position wherever it is met, and everything else goes on.
"""

from __future__ import annotations

import base64
import hashlib
from contextlib import closing
from typing import Any, Final

import apsw
import pytest
from harness.home import Home
from harness.wire import Reply, Request, Wire, request
from world import CLIENT, WORKER, append, assemble, claim, invoke, make_space

from .process import Place

MARK: Final = "dev.tallystick.damaged"
CANARY: Final = "the washer is worn"
FLIPS: Final = {
    "body": "SELECT sealed FROM bodies WHERE body = ?",
    "keys": "SELECT wrapped FROM object_keys WHERE body = ?",
}


class Scene:
    """A store with two contributions and an invocation about each; the first contribution is damaged."""

    def __init__(self, home: Home) -> None:
        self.home = home
        with home.start() as daemon, Wire(daemon.paths) as client:
            self.project = client.ask(request(CLIENT, "project_create", {"name": "house"}, key="p")).result[
                "project_id"
            ]
            self.space = make_space(client, self.project, "kitchen")
            self.first = append(self.project, self.space, "first", CANARY)
            self.damaged = client.ask(self.first).result
            self.beside = client.ask(append(self.project, self.space, "beside", "a neighbour")).result
            self.invocations = [self.asked_about(client, made) for made in (self.damaged, self.beside)]
        self.position = 0

    def asked_about(self, client: Wire, contribution: dict[str, Any]) -> str:
        key = contribution["contribution_id"]
        assembly = client.ask(assemble(self.project, self.space, f"a{key}", [contribution])).result
        made = client.ask(invoke(self.project, f"i{key}", self.space, assembly)).result
        return str(made["invocation_id"])

    def flip(self, what: str) -> None:
        """One bit in the body of the first contribution, or in its keys; no daemon runs."""
        table, column = ("bodies", "sealed") if what == "body" else ("object_keys", "wrapped")
        with closing(apsw.Connection(self.home.paths.database)) as db:
            found: Any = db.execute(
                "SELECT contributions.position, body FROM contributions JOIN log USING (position) "
                "WHERE resource = ?",
                (self.damaged["contribution_id"],),
            ).fetchone()
            self.position, body = found
            kept: Any = db.execute(FLIPS[what], (body,)).fetchone()
            changed = bytearray(kept[0])
            changed[len(changed) // 2] ^= 1
            db.execute(f"UPDATE {table} SET {column} = ? WHERE body = ?", (bytes(changed), body))

    def read(self, operation: str, args: dict[str, Any]) -> Request:
        return request(CLIENT, operation, args, project=self.project)

    def show(self, contribution: dict[str, Any]) -> Request:
        return self.read("contribution_show", {"contribution_id": contribution["contribution_id"]})

    def names_it(self, reply: Reply) -> bool:
        """Whether a refusal says which object cannot be opened, and where it stands."""
        said = {"log_position": self.position, "object_ref": self.damaged["contribution_id"]}
        return reply.kind == "unavailable" and reply.problem["ext"][MARK] == said

    def texts(self, contributions: list[dict[str, Any]]) -> list[str]:
        return [one["body_parts"][0]["text"] for one in contributions if "body_parts" in one]

    def are_both_there(self, texts: list[str]) -> bool:
        """A page has a mark with the position in place of the one, and the other whole."""
        mark, beside = texts
        return f"log row {self.position}" in mark and mark.startswith("[damaged") and beside == "a neighbour"


@pytest.fixture(params=["body", "keys"])
def scene(home: Place, request: pytest.FixtureRequest) -> Scene:
    """The store, with the bit flipped."""
    made = Scene(home)
    made.flip(request.param)
    return made


def test_a_damaged_object_is_named_and_pages_go_on(scene: Scene) -> None:
    """Shown alone it is refused by name; lists, events, a follow and lenses mark it beside its neighbour."""
    with scene.home.start() as daemon, Wire(daemon.paths) as client:
        assert scene.names_it(client.ask(scene.show(scene.damaged)))
        assert client.ask(scene.show(scene.beside)).result["body_parts"][0]["text"] == "a neighbour"
        space = scene.space.space_id
        listed = client.ask(scene.read("contribution_list", {"space_id": space, "limit": 9})).result["items"]
        assert scene.are_both_there(scene.texts(listed))
        begun = client.ask(request(CLIENT, "events_read", {"source": scene.project, "limit": 1})).result
        behind = {"source": scene.project, "after_cursor": begun["next_cursor"]}
        wait = {**behind, "timeout_ms": 0, "filters": {"type_prefixes": ["dev.kovee.space"]}}
        accounted = {**behind, "limit": 99, "type_prefixes": ["dev.kovee"]}
        for asked in (
            scene.read("events_read", {**behind, "limit": 99}),
            scene.read("events_wait", wait),
            request(CLIENT, "tallystick_events_read", accounted),
        ):
            told = client.ask(asked).result["events"]
            assert scene.are_both_there(scene.texts([event["payload"] for event in told]))
        for lens in ("stream", "workbench"):
            shown = client.ask(scene.read("lens_read", {"lens_id": f"lens-{lens}-{space}", "limit": 9}))
            seen = [item["contribution"] for item in shown.result["items"]]
            assert scene.are_both_there(scene.texts(seen))


def test_many_reads_of_it_at_once_are_all_answered(scene: Scene) -> None:
    """Reads that wait for their turn are refused or served each, and those behind them as well."""
    with scene.home.start() as daemon, Wire(daemon.paths) as client, Wire(daemon.paths) as other:
        asked = [scene.show(scene.damaged), scene.show(scene.beside)] * 40
        for wire in (client, other):
            wire.send(*asked)
        for wire in (client, other):
            replies = [wire.receive(one.operation) for one in asked]
            assert all(scene.names_it(reply) for reply in replies[::2])
            assert all(reply.ok for reply in replies[1::2])


def test_diagnose_names_it_and_walks_on(scene: Scene) -> None:
    """The check fails with object and position, and goes through the log to its end."""
    with scene.home.start() as daemon, Wire(daemon.paths) as client:
        found = client.ask(request(CLIENT, "diagnose", {"checks": ["audit_chain"]})).result["checks"][0]
        assert found["status"] == "fail"
        assert found["detail"].startswith(
            f"log row {scene.position}: the content of {scene.damaged['contribution_id']}"
        )


def test_a_replay_of_its_key_fails_alone(scene: Scene) -> None:
    """In one batch with others: these are applied. Its own is answered with what it made, and a mark; where
    its keys are damaged, so that nobody can say whether the words are the same, it is refused by name.
    """
    with scene.home.start(hold=3) as daemon, Wire(daemon.paths) as client:
        others = [append(scene.project, scene.space, f"new-{number}", "more") for number in range(2)]
        client.send(others[0], scene.first, others[1])
        before, replayed, after = [client.receive("contribution_append") for _ in range(3)]
        assert before.ok
        assert after.ok
        if replayed.ok:
            assert replayed.result["contribution_id"] == scene.damaged["contribution_id"]
            assert f"log row {scene.position}" in replayed.result["body_parts"][0]["text"]
        else:
            assert scene.names_it(replayed)


def test_a_claim_never_hands_it_over(scene: Scene) -> None:
    """A claim of the invocation about it is refused by name; the next one that there is passes over it."""
    with scene.home.start() as daemon, Wire(daemon.paths, WORKER) as worker:
        assert scene.names_it(worker.ask(claim("c1", scene.invocations[0])))
        named = {"deployments": ["dep-local-dev"], "wait_ms": 0, "term_seconds": 60}
        following = worker.ask(request(WORKER, "tallystick_invocation_next", named, key="c2")).result
        assert following["invocation"]["invocation_id"] == scene.invocations[1]


def test_it_can_be_erased(scene: Scene) -> None:
    """Its redaction takes effect, and it reads redacted from then on; the diagnosis is clean again."""
    with scene.home.start() as daemon, Wire(daemon.paths) as client:
        args = {"contribution_ref": scene.damaged["contribution_id"], "reason_class": "damaged"}
        redact = request(CLIENT, "contribution_redact", args, project=scene.project, key="r")
        assert client.ask(redact).ok
        shown = client.ask(scene.show(scene.damaged)).result
        assert shown["body_parts"][0]["media_type"] == "application/x.kovee.redacted"
        found = client.ask(request(CLIENT, "diagnose", {"checks": ["audit_chain"]})).result
        assert found["status"] == "pass"


# --- brothers -----------------------------------------------------------------------------------------------
def flip_in(home: Home, table: str, column: str, body: int) -> None:
    """One bit of one row; no daemon runs."""
    with closing(apsw.Connection(home.paths.database)) as db:
        kept: Any = db.execute(f"SELECT {column} FROM {table} WHERE body = ?", (body,)).fetchone()
        changed = bytearray(kept[0])
        changed[-1] ^= 1
        db.execute(f"UPDATE {table} SET {column} = ? WHERE body = ?", (bytes(changed), body))


def number_in(home: Home, query: str) -> int:
    with closing(apsw.Connection(home.paths.database)) as db:
        found: Any = db.execute(query).fetchone()
        return int(found[0])


def alias(project: str, key: str, name: str) -> Request:
    bound = {
        "display_alias": name,
        "assistant_deployment_id": "dep-local-dev",
        "deployment_revision": 1,
    }
    return request(CLIENT, "assistant_alias_bind", bound, project=project, key=key)


def test_a_damaged_alias_hinders_no_other(home: Home) -> None:
    """Another alias of the project is bound beside it."""
    with home.start() as daemon, Wire(daemon.paths) as client:
        made = client.ask(request(CLIENT, "project_create", {"name": "house"}, key="p")).result
        project = made["project_id"]
        assert client.ask(alias(project, "a", "plumber")).ok
    flip_in(home, "bodies", "sealed", number_in(home, "SELECT normalized FROM aliases"))
    with home.start() as daemon, Wire(daemon.paths) as client:
        assert client.ask(alias(project, "b", "painter")).ok


@pytest.mark.parametrize("table", ["bodies", "object_keys"])
def test_half_of_a_body_is_damage_and_no_erasure(home: Home, table: str) -> None:
    """A lost row of the two is not shown as something that somebody erased."""
    scene = Scene(home)
    with closing(apsw.Connection(home.paths.database)) as db:
        db.execute(f"DELETE FROM {table} WHERE body = (SELECT min(body) FROM contributions)")
    scene.position = number_in(home, "SELECT min(position) FROM contributions")
    with home.start() as daemon, Wire(daemon.paths) as client:
        assert scene.names_it(client.ask(scene.show(scene.damaged)))


def test_a_damaged_key_of_an_artifact_is_named(home: Home) -> None:
    """Its bytes are refused by name, and the check of the files names it."""
    data = b"bytes"
    with home.start() as daemon, Wire(daemon.paths) as client:
        declared = {
            "declared_raw_sha256": hashlib.sha256(data).hexdigest(),
            "declared_size": len(data),
            "declared_media_type": "text/plain",
        }
        upload = client.ask(request(CLIENT, "tallystick_artifact_begin", declared, key="b")).result
        chunk = {"upload_id": upload["upload_id"], "offset": 0, "data": base64.b64encode(data).decode()}
        assert client.ask(request(CLIENT, "tallystick_artifact_put", chunk)).ok
        named = {"upload_id": upload["upload_id"]}
        assert client.ask(request(CLIENT, "artifact_upload_finalize", named, key="f")).ok
    flip_in(home, "object_keys", "wrapped", number_in(home, "SELECT keys FROM artifacts"))
    with home.start() as daemon, Wire(daemon.paths) as client:
        get = {"artifact_id": upload["artifact_id"], "offset": 0}
        refused = client.ask(request(CLIENT, "tallystick_artifact_get", get))
        assert refused.kind == "unavailable"
        assert refused.problem["ext"][MARK]["object_ref"] == upload["artifact_id"]
        check = client.ask(request(CLIENT, "diagnose", {"checks": ["artifact_store"]})).result["checks"][0]
        assert check["status"] == "fail"
        assert upload["artifact_id"] in check["detail"]
