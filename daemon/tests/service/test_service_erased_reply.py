"""The reply of a redaction or an erasure is the end of it: killed at once, the daemon leaves no file in which
the key, or what it sealed, still stands.
"""

from __future__ import annotations

import base64
import hashlib
from contextlib import closing
from typing import Any

import apsw
import pytest
from erasing import await_erased
from harness.files import contents
from harness.home import Home
from harness.wire import Request, Wire, request
from world import CLIENT, append, make_space

from tallystick.paths import Paths

WHY = {"reason_class": "privacy"}


def secrets_of(paths: Paths, body_query: str) -> list[bytes]:
    """The wrapped keys of the body that a query names, and what they sealed."""
    with closing(apsw.Connection(paths.database, flags=apsw.SQLITE_OPEN_READONLY)) as db:
        found: Any = db.execute(body_query).fetchone()
        body = int(found[0])
        kept: Any = db.execute("SELECT wrapped FROM object_keys WHERE body = ?", (body,)).fetchall()
        kept += db.execute("SELECT sealed FROM bodies WHERE body = ?", (body,)).fetchall()
        assert kept
        return [bytes(value) for (value,) in kept]


def holding(paths: Paths, secrets: list[bytes]) -> list[str]:
    """The files in which one of these byte strings stands."""
    files = contents(paths.data_dir, paths.state_dir)
    return [name for name, data in files if any(secret in data for secret in secrets)]


class Said:
    """A project and a contribution in it."""

    def __init__(self, client: Wire) -> None:
        made = client.ask(request(CLIENT, "project_create", {"name": "to be forgotten"}, key="p")).result
        self.project = made["project_id"]
        space = make_space(client, self.project, "kitchen")
        said = client.ask(append(self.project, space, "c", "to be forgotten as well" * 20)).result
        self.contribution = said["contribution_id"]

    @property
    def redact(self) -> Request:
        args = {"contribution_ref": self.contribution, **WHY}
        return request(CLIENT, "contribution_redact", args, project=self.project, key="r")

    @property
    def erase(self) -> Request:
        args = {"object_ref": self.project, **WHY}
        return request(CLIENT, "tallystick_erase", args, project=self.project, key="e")


BODIES = {
    "contribution_redact": "SELECT body FROM contributions",
    "tallystick_erase": "SELECT name FROM projects",
}


@pytest.mark.parametrize("operation", BODIES)
def test_killed_behind_its_reply_no_file_opens_it(home: Home, operation: str) -> None:
    """Neither key nor sealed text is in the database, its write-ahead log, or anything beside them."""
    daemon = home.start()
    with Wire(daemon.paths) as client:
        said = Said(client)
        secrets = secrets_of(daemon.paths, BODIES[operation])
        assert holding(daemon.paths, secrets)
        asked = said.redact if operation == "contribution_redact" else said.erase
        reply = client.ask(asked)
        daemon.kill()
    assert reply.ok
    assert reply.result.get("state", "erased") == "erased"
    assert holding(home.paths, secrets) == []


def test_while_the_log_cannot_be_cut_the_reply_says_erasing(home: Home) -> None:
    """Another process reads: the reply comes all the same, and its replay says when it is done."""
    with home.start() as daemon, Wire(daemon.paths) as client:
        said = Said(client)
        with closing(apsw.Connection(daemon.paths.database, flags=apsw.SQLITE_OPEN_READONLY)) as reader:
            reader.execute("BEGIN")
            assert reader.execute("SELECT count(*) FROM log").fetchone()
            first = client.ask(said.erase).result
            reader.execute("ROLLBACK")
        await_erased(daemon, said.project)
        again = client.ask(said.erase).result
    assert first["state"] == "erasing"
    assert again == {**first, "state": "erased"}


def test_a_redaction_is_answered_when_nothing_is_left(home: Home) -> None:
    """Its record cannot say that the files are not clean yet: while another process reads, it is unavailable
    with an unknown outcome, its replay as well; the same key is answered when it is over, and only then.
    """
    daemon = home.start()
    with Wire(daemon.paths) as client:
        said = Said(client)
        secrets = secrets_of(daemon.paths, BODIES["contribution_redact"])
        with closing(apsw.Connection(daemon.paths.database, flags=apsw.SQLITE_OPEN_READONLY)) as reader:
            reader.execute("BEGIN")
            assert reader.execute("SELECT count(*) FROM log").fetchone()
            refused = [client.ask(said.redact), client.ask(said.redact)]
            reader.execute("ROLLBACK")
        while not (reply := client.ask(said.redact)).ok:
            refused.append(reply)
        daemon.kill()
    assert {(each.kind, each.problem["ext"]["dev.tallystick.outcome"]["state"]) for each in refused} == {
        ("unavailable", "unknown")
    }
    assert holding(home.paths, secrets) == []


@pytest.mark.parametrize("subject", ["upload_id", "artifact_id"])
def test_what_an_aborted_upload_declared_can_be_erased(home: Home, subject: str) -> None:
    """By the id of either: its digest's key is in no file any more, nor is why it was aborted; once."""
    data = b"never sent"
    declared = {
        "declared_raw_sha256": hashlib.sha256(data).hexdigest(),
        "declared_size": len(data),
        "declared_media_type": "text/plain",
    }
    daemon = home.start()
    with Wire(daemon.paths) as client:
        upload = client.ask(request(CLIENT, "artifact_upload_begin", declared, key="b")).result
        erase = request(CLIENT, "tallystick_erase", {"object_ref": upload[subject], **WHY}, key="e")
        assert client.ask(erase).kind == "invalid"
        reason = {"upload_id": upload["upload_id"], "reason": "a mistake that nobody need know of"}
        assert client.ask(request(CLIENT, "artifact_upload_abort", reason, key="a")).ok
        secrets = secrets_of(daemon.paths, "SELECT declared_keys FROM artifact_uploads")
        secrets += secrets_of(daemon.paths, "SELECT reason FROM artifact_uploads")
        assert client.ask(erase).result["bodies"] == 2
        again = request(CLIENT, "tallystick_erase", {"object_ref": upload[subject], **WHY}, key="f")
        assert client.ask(again).kind == "invalid"
        daemon.kill()
    assert holding(home.paths, secrets) == []


def test_an_erased_artifact_is_left_in_no_file(home: Home) -> None:
    """Killed behind the reply: neither its sealed file nor its plain bytes are there."""
    data = b"a picture of the tap " * 40
    declared = {
        "declared_raw_sha256": hashlib.sha256(data).hexdigest(),
        "declared_size": len(data),
        "declared_media_type": "text/plain",
    }
    daemon = home.start()
    with Wire(daemon.paths) as client:
        upload = client.ask(request(CLIENT, "tallystick_artifact_begin", declared, key="b")).result
        chunk = {"upload_id": upload["upload_id"], "offset": 0, "data": base64.b64encode(data).decode()}
        assert client.ask(request(CLIENT, "tallystick_artifact_put", chunk)).ok
        finalize = {"upload_id": upload["upload_id"]}
        assert client.ask(request(CLIENT, "artifact_upload_finalize", finalize, key="f")).ok
        secrets = secrets_of(daemon.paths, "SELECT keys FROM artifacts")
        erase = request(CLIENT, "tallystick_erase", {"object_ref": upload["artifact_id"], **WHY}, key="e")
        assert client.ask(erase).result["state"] == "erased"
        daemon.kill()
    assert holding(home.paths, [*secrets, data]) == []
    assert [name for name, _ in contents(home.paths.data_dir) if upload["artifact_id"] in name] == []
