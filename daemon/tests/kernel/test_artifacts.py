"""Artifacts: declared, written or sent in chunks, sealed once they are what was declared, erased with their
key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from base64 import b64decode, b64encode
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest
from world import AT_HEAD

from tallyd.admission import Speaker, admit
from tallyd.clerk import Answer, Command, SystemCommand
from tallyd.families.artifacts import rows as artifact_rows
from tallyd.families.artifacts import uploads as artifacts
from tallyd.families.artifacts.sealing import SealingWork
from tallyd.families.shared.family import ReadHandler
from tallyd.families.shared.results import FileIO, Further, Served
from tallyd.ledger import log
from tallyd.ledger.verify import Walk
from tallyd.service.wiring import WIRING
from tallyd.vault import Sealing, Swept
from tallystick.protocol import limits
from tallystick.protocol.envelope import decode_request
from tallystick.protocol.operation import Socket
from tallystick.protocol.problems import Refusal
from tallystick.protocol.shapes import ArtifactState, UploadState

from .agents import Agent
from .kernel import Json, Kernel
from .uploads import BYTES, available, begin, declared, finalize, stage

HOUR = limits.UPLOAD_SECONDS_MAX


def upload_of(kernel: Kernel, upload: Json) -> Json:
    answered: Json = kernel.read("artifact_upload_show", {"upload_id": upload["upload_id"]})["result"]
    return answered


def artifact_of(kernel: Kernel, upload: Json) -> Json:
    answered: Json = kernel.read("artifact_show", {"artifact_id": upload["artifact_id"]})["result"]
    return answered


def first_step(kernel: Kernel, upload: Json, key: str) -> tuple[Command, Answer]:
    """The first of a finalize's two transactions alone: what a crash behind it leaves."""
    line, socket = kernel.request("artifact_upload_finalize", {"upload_id": upload["upload_id"]}, key=key)
    command = Command(decode_request(line, socket), Speaker("prin-owner", "peer-uid", socket))
    return command, kernel.clerk.run([command])[0]


def second_step(kernel: Kernel, command: Command, sealing: Sealing) -> Json:
    """The second, with what the vault did in between."""
    answer = kernel.clerk.run([Command(command.request, command.speaker, sealing)])[0]
    said: Json = json.loads(answer.reply)
    return said


def part(upload: Json, **more: Any) -> Json:
    return {"artifact_ref": upload["artifact_id"], **more}


def carry(kernel: Kernel, space: Json, *parts: Json, **how: Any) -> Json:
    """Appends a contribution of those parts."""
    return kernel.append(space, "", "evidence", more={"body_parts": list(parts)}, **how)


def last_event(kernel: Kernel) -> Json:
    """Type and payload of the last event."""
    position = kernel.view.number("SELECT max(position) FROM log WHERE event_id IS NOT NULL")
    row = kernel.view.log_row(position)
    assert row.payload is not None
    return {"type": row.type, "payload": json.loads(kernel.view.render(row.payload)), "row": row}


def everything(kernel: Kernel) -> bytes:
    """All that the database holds, as text and as bytes."""
    return repr(kernel.dump()).encode() + b"".join(
        value for rows in kernel.dump().values() for row in rows for value in row if isinstance(value, bytes)
    )


def names(kernel: Kernel) -> dict[str, list[str]]:
    """What lies in each of the vault's directories."""
    root = Path(kernel.paths.data_dir) / "artifacts"
    return {name: sorted(os.listdir(root / name)) for name in ("staging", "sealed", "aside")}


# --- lifecycles ---------------------------------------------------------------------------------------------
def test_the_lifecycles_are_kcps() -> None:
    """Every state of KCP's is in its table, with ``erasing``, which is ours; and what has ended becomes
    nothing.
    """
    assert set(artifact_rows.UPLOADS) == set(get_args(UploadState))
    assert set(artifact_rows.ARTIFACTS) == {*get_args(ArtifactState), "erasing"}
    ends = {"completed", "rejected", "expired", "aborted"}
    assert {state for state, following in artifact_rows.UPLOADS.items() if not following} == ends
    assert {s for s, following in artifact_rows.ARTIFACTS.items() if not following} == {
        "rejected",
        "unavailable",
        "erased",
    }
    for table in (artifact_rows.UPLOADS, artifact_rows.ARTIFACTS):
        assert {state for following in table.values() for state in following} <= set(table)


@pytest.mark.parametrize("state", sorted(artifact_rows.UPLOADS))
def test_what_an_upload_may_become_is_what_its_table_says(kernel: Kernel, state: str) -> None:
    """In each state finalize, abort, credential and put do what the table allows, and else are refused."""
    upload = begin(kernel)
    path = stage(kernel, upload)
    terminal = None if artifact_rows.UPLOADS[state] else 1
    kernel.store.writer.execute("UPDATE artifact_uploads SET state = ?, terminal_ms = ?", (state, terminal))
    kernel.store.writer.execute("UPDATE artifacts SET state = 'verifying'")
    which = {"upload_id": upload["upload_id"]}
    writable = state in ("prepared", "uploading")
    credential = kernel.read("artifact_upload_credential", which)
    assert (credential["outcome"] == "ok") is writable
    put = kernel.read("tallystick_artifact_put", {**which, "offset": 0, "data": ""})
    assert (put["outcome"] == "ok") is writable
    for refused in (credential, put):
        assert writable or kernel.problem(refused) == "stale-revision"
    aborts = "aborted" in artifact_rows.UPLOADS[state]
    finalizes = state == "sealing" or "sealing" in artifact_rows.UPLOADS[state]
    if not finalizes:
        assert kernel.problem(finalize(kernel, upload)) == "stale-revision"
    aborted = kernel.write("artifact_upload_abort", which)
    assert (aborted["outcome"] == "ok") is aborts
    assert aborts or kernel.problem(aborted) == "stale-revision"
    assert path.exists() is not aborts


# --- begin --------------------------------------------------------------------------------------------------
def test_begin_answers_with_references_and_bounds(kernel: Kernel) -> None:
    """The digest that was declared is in no reply, and the artifact is pending."""
    answered = kernel.write("artifact_upload_begin", declared())
    upload = answered["result"]
    assert answered["revision"] == 1
    assert "event_cursor" not in answered
    assert upload["state"] == "prepared"
    assert upload["max_bytes"] == 64 * 2**20
    assert upload["classification_ref"] == "class-default"
    assert "declared_raw_sha256" not in upload
    shown = artifact_of(kernel, upload)
    assert (shown["state"], shown["revision"], shown["encryption_key_ref"]) == (
        "pending",
        1,
        "enc-aes-256-gcm-own-key-v1",
    )
    event = last_event(kernel)
    assert event["type"] == "dev.kovee.artifact.upload-began.v1"
    assert event["payload"] == upload
    assert event["row"].project is None


def test_the_declared_digest_stands_nowhere(kernel: Kernel) -> None:
    """Only a keyed commitment is kept: the database cannot be asked whether these were the bytes."""
    begin(kernel)
    sha = hashlib.sha256(BYTES)
    assert sha.hexdigest().encode() not in everything(kernel)
    assert sha.digest() not in everything(kernel)


def test_another_digest_under_a_key_is_another_intent(kernel: Kernel) -> None:
    """The digest is content, and is compared all the same while its key lives."""
    first = kernel.write("artifact_upload_begin", declared(), key="k")
    assert kernel.write("artifact_upload_begin", declared(), key="k") == first
    other = declared(b"the bytes of an artifacT\n")
    assert kernel.problem(kernel.write("artifact_upload_begin", other, key="k")) == "idempotency-mismatch"


@pytest.mark.parametrize(
    ("op", "most"),
    [
        ("artifact_upload_begin", limits.ARTIFACT_UPLOAD_BYTES_MAX),
        ("tallystick_artifact_begin", limits.ARTIFACT_BYTES_MAX),
    ],
)
def test_each_begin_has_its_bound(kernel: Kernel, op: str, most: int) -> None:
    """KCP's stays at 64 MiB, ours goes to a gigabyte."""
    assert kernel.ok(op, declared(declared_size=most))["max_bytes"] == most
    assert kernel.problem(kernel.write(op, declared(declared_size=most + 1))) == "invalid"


def test_an_upload_over_the_socket_begins_as_uploading(kernel: Kernel) -> None:
    """Its state says from where the bytes come."""
    assert kernel.ok("tallystick_artifact_begin", declared())["state"] == "uploading"


def test_an_expected_revision_must_hold(kernel: Kernel) -> None:
    """A begin makes something new; finalize and abort compare the upload's."""
    refused = kernel.write("artifact_upload_begin", declared(), rev=9)
    assert kernel.problem(refused) == "stale-revision"
    assert kernel.write("artifact_upload_begin", declared(), rev=0)["outcome"] == "ok"
    upload = begin(kernel)
    assert kernel.problem(finalize(kernel, upload, rev=2)) == "stale-revision"
    aborted = kernel.write("artifact_upload_abort", {"upload_id": upload["upload_id"]}, rev=2)
    assert aborted["problem"]["ext"]["dev.kovee.recovery.stale-revision"] == {"current_revision": 1}
    assert finalize(kernel, upload, rev=1)["outcome"] == "ok"


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("artifact_upload_show", {"upload_id": "upl-none"}),
        ("artifact_upload_credential", {"upload_id": "upl-none"}),
        ("artifact_upload_finalize", {"upload_id": "upl-none"}),
        ("artifact_upload_abort", {"upload_id": "upl-none"}),
        ("artifact_show", {"artifact_id": "art-none"}),
        ("disclosure_manifest_show", {"disclosure_id": "disc-none"}),
        ("tallystick_artifact_put", {"upload_id": "upl-none", "offset": 0, "data": ""}),
        ("tallystick_artifact_get", {"artifact_id": "art-none", "offset": 0}),
    ],
)
def test_what_is_not_there_is_not_found(kernel: Kernel, op: str, args: Json) -> None:
    """An unknown id, and a project that does not exist, whatever the id."""
    key = "k" if op in ("artifact_upload_finalize", "artifact_upload_abort") else None
    assert kernel.problem(kernel.read(op, args, key=key)) == "not-found"
    known = begin(kernel)
    named = {name: known.get(name, value) for name, value in args.items()}
    assert kernel.problem(kernel.read(op, named, key=key, project="proj-none")) == "not-found"


def test_an_id_of_the_other_kind_names_nothing(kernel: Kernel) -> None:
    """Upload and artifact share a command, and not their digits."""
    upload = begin(kernel)
    digits = upload["upload_id"].removeprefix("upl-")
    for artifact_id in (upload["upload_id"], f"art-{digits}"):
        assert kernel.problem(kernel.read("artifact_show", {"artifact_id": artifact_id})) == "not-found"
    other = "upl-" + upload["artifact_id"].removeprefix("art-")
    assert kernel.problem(kernel.read("artifact_upload_show", {"upload_id": other})) == "not-found"


# --- finalize -----------------------------------------------------------------------------------------------
def test_the_bytes_declared_become_an_artifact(kernel: Kernel) -> None:
    """Upload and artifact agree about what was sealed; the plain bytes are gone, and an event tells of it."""
    upload = begin(kernel)
    path = stage(kernel, upload)
    answered = finalize(kernel, upload)
    done, artifact = answered["result"], artifact_of(kernel, upload)
    assert (done["state"], done["revision"], answered["revision"]) == ("completed", 2, 2)
    assert done == upload_of(kernel, upload)
    assert (artifact["state"], artifact["size"], artifact["media_type"]) == ("available", 25, "text/plain")
    assert artifact["verification_digest"] == done["seal_observation_digest"]
    assert artifact["sealed_storage_version"] == done["sealed_storage_version"]
    assert not path.exists()
    assert names(kernel)["sealed"] == [f"{upload['artifact_id']}.{done['sealed_storage_version']}"]
    event = last_event(kernel)
    assert event["type"] == "dev.kovee.artifact.available.v1"
    assert event["payload"] == {
        "artifact_id": upload["artifact_id"],
        "upload_id": upload["upload_id"],
        "state": "available",
        "verification_digest": done["seal_observation_digest"],
    }
    assert (event["row"].stream_sequence, event["row"].resource_revision) == (2, 2)


def test_the_content_digest_is_kcps_under_the_artifacts_own_key(kernel: Kernel) -> None:
    """It is derived from nothing that outlives the artifact."""
    upload = available(kernel)
    row = artifact_rows.find_artifact(kernel.view, upload["artifact_id"])
    assert row is not None
    assert row.keys is not None
    keys = kernel.view.bodies.keys(kernel.view.db, row.keys)
    assert keys is not None
    typed = log.framed(
        b"dev.kovee.typed-bytes-digest.v1", b"dev.kovee.artifact-content.v1", b"0", b"text/plain", BYTES
    )
    assert row.content_digest == hmac.digest(keys.digest, typed, hashlib.sha256)


@pytest.mark.parametrize(
    ("content", "size", "version"),
    [
        (b"the bytes of anothr one.\n", 25, "v1-"),
        (BYTES, 26, "v1-"),
        (BYTES[:-1], 25, "v1-"),
        (b"", 25, "v1-"),
        (None, 25, "none"),
    ],
)
def test_other_bytes_are_rejected(kernel: Kernel, content: bytes | None, size: int, version: str) -> None:
    """Of the right size, of another, none at all: the command is applied, and nothing becomes available."""
    upload = begin(kernel, declared_size=size)
    if content is not None:
        stage(kernel, upload, content)
    answered = finalize(kernel, upload)
    done, artifact = answered["result"], artifact_of(kernel, upload)
    assert (done["state"], done["revision"]) == ("rejected", 2)
    assert done["sealed_storage_version"].startswith(version)
    assert {"sealed_at", "terminal_at", "seal_observation_digest"} <= done.keys()
    assert (artifact["state"], artifact["revision"]) == ("rejected", 2)
    assert {"size", "media_type", "sealed_storage_ref", "verification_digest"}.isdisjoint(artifact)
    assert names(kernel) == {"staging": [], "sealed": [], "aside": []}
    assert last_event(kernel)["type"] == "dev.kovee.artifact.rejected.v1"
    assert len(kernel.dump()["object_keys"]) == 1, "of what was declared, and none of what was sealed"


def test_an_empty_artifact_is_one(kernel: Kernel) -> None:
    """Nothing, declared and written, is sealed and can be read back."""
    upload = available(kernel, b"")
    got = kernel.read("tallystick_artifact_get", {"artifact_id": upload["artifact_id"], "offset": 0})
    assert (got["result"]["data"], got["result"]["size"]) == ("", 0)


def test_a_finalize_is_done_once(kernel: Kernel) -> None:
    """Its replay is byte-identical and writes nothing; another key finds the upload ended; another upload is
    another intent.
    """
    upload, other = begin(kernel), begin(kernel)
    stage(kernel, upload)
    first = finalize(kernel, upload, key="k")
    before = kernel.dump()
    assert finalize(kernel, upload, key="k") == first
    assert kernel.dump() == before
    assert kernel.problem(finalize(kernel, upload, key="l")) == "stale-revision"
    assert kernel.problem(finalize(kernel, other, key="k")) == "idempotency-mismatch"


def test_a_replay_needs_no_bytes(kernel: Kernel) -> None:
    """The key is looked up before the pipeline: an answered finalize starts no run again."""
    upload = begin(kernel)
    stage(kernel, upload)
    finalize(kernel, upload, key="k")
    _, answer = first_step(kernel, upload, "k")
    assert answer.outside is None
    assert json.loads(answer.reply)["result"]["state"] == "completed"


def test_the_first_transaction_shows_and_gives_nothing(kernel: Kernel) -> None:
    """Between the two the upload is sealing, its artifact verifying, and neither can be used; no key is
    stored.
    """
    space = kernel.space(kernel.project())
    upload = begin(kernel)
    stage(kernel, upload)
    keys = len(kernel.dump()["object_keys"])
    _, answer = first_step(kernel, upload, "k")
    assert isinstance(answer.outside, SealingWork)
    assert answer.reply == b""
    sealing = answer.outside.run(kernel.host, lambda: False)
    assert sealing.matches
    assert (upload_of(kernel, upload)["state"], upload_of(kernel, upload)["revision"]) == ("sealing", 1)
    assert artifact_of(kernel, upload)["state"] == "verifying"
    assert kernel.problem(carry(kernel, space, part(upload))) == "invalid"
    got = kernel.read("tallystick_artifact_get", {"artifact_id": upload["artifact_id"], "offset": 0})
    assert kernel.problem(got) == "stale-revision"
    assert len(kernel.dump()["object_keys"]) == keys
    assert answer.outside.order.random[:32] not in everything(kernel)


def test_the_first_transaction_is_one_row_and_two_states(kernel: Kernel) -> None:
    """It is put on record under a name of its own, without an event, and leaves the key free."""
    upload = begin(kernel)
    kernel.clerk.tidy()
    before = kernel.dump()
    first_step(kernel, upload, "k")
    after = kernel.dump()
    changed = {table for table in after if after[table] != before[table]}
    assert changed == {"log", "artifact_uploads", "artifacts"}
    row = kernel.view.log_row(kernel.view.number("SELECT max(position) FROM log"))
    assert (row.operation, row.outcome, row.event_id, row.key_hash) == (
        "artifact_upload_finalize#begin",
        "applied",
        None,
        None,
    )
    assert row.state_commitment is not None


@pytest.mark.parametrize("key", ["k", "another"])
def test_what_a_crash_left_sealing_is_gone_on_with(kernel: Kernel, key: str) -> None:
    """After the first transaction, and after the sealing, the same command, or one of another key, completes
    it once.
    """
    upload = begin(kernel)
    stage(kernel, upload)
    _, answer = first_step(kernel, upload, "k")
    assert isinstance(answer.outside, SealingWork)
    stray = answer.outside.run(kernel.host, lambda: False)
    kernel.reopen()
    assert kernel.swept.aside == (f"{upload['artifact_id']}.{stray.version}",)
    assert kernel.swept.staging == ()
    before = kernel.dump()["log"]
    first = finalize(kernel, upload, key=key)
    assert first["result"]["state"] == "completed"
    assert len(kernel.dump()["log"]) == len(before) + 1, "going on writes no second first row"
    assert finalize(kernel, upload, key=key) == first
    assert first["result"]["sealed_storage_version"] != stray.version
    assert len(names(kernel)["sealed"]) == 1
    if key != "k":
        assert kernel.problem(finalize(kernel, upload, key="k")) == "stale-revision"


def test_an_abort_between_the_two_transactions_wins(kernel: Kernel) -> None:
    """The second finds the upload ended and is refused; what was sealed is thrown away whole, its key never
    stored.
    """
    upload = begin(kernel)
    path = stage(kernel, upload)
    command, answer = first_step(kernel, upload, "k")
    assert isinstance(answer.outside, SealingWork)
    sealing = answer.outside.run(kernel.host, lambda: False)
    kernel.ok("artifact_upload_abort", {"upload_id": upload["upload_id"]})
    assert kernel.problem(second_step(kernel, command, sealing)) == "stale-revision"
    SealingWork(sealing.order).settle(kernel.host, sealing)
    assert names(kernel) == {"staging": [], "sealed": [], "aside": []}
    assert not path.exists()
    assert artifact_of(kernel, upload)["state"] == "unavailable"
    assert len(kernel.dump()["object_keys"]) == 1


def test_the_second_of_two_runs_is_refused(kernel: Kernel) -> None:
    """Whatever raced, one run's key and file belong to the artifact, and the other's are nowhere."""
    upload = begin(kernel)
    stage(kernel, upload)
    first, one = first_step(kernel, upload, "k")
    second, two = first_step(kernel, upload, "l")
    assert isinstance(one.outside, SealingWork)
    assert isinstance(two.outside, SealingWork)
    sealed = [one.outside.run(kernel.host, lambda: False), two.outside.run(kernel.host, lambda: False)]
    assert second_step(kernel, first, sealed[0])["outcome"] == "ok"
    assert kernel.problem(second_step(kernel, second, sealed[1])) == "stale-revision"
    assert artifact_of(kernel, upload)["sealed_storage_version"] == sealed[0].version


def test_a_run_whose_fate_is_unknown_is_kept(kernel: Kernel) -> None:
    """While the upload is open its run's file stays: the transaction that failed may yet be found on the
    disk.
    """
    upload = begin(kernel)
    stage(kernel, upload)
    _, answer = first_step(kernel, upload, "k")
    assert isinstance(answer.outside, SealingWork)
    sealing = answer.outside.run(kernel.host, lambda: False)
    SealingWork(sealing.order).settle(kernel.host, sealing)
    assert len(names(kernel)["sealed"]) == 1
    assert len(names(kernel)["staging"]) == 1


# --- abort --------------------------------------------------------------------------------------------------
def test_an_abort_ends_upload_and_artifact(kernel: Kernel) -> None:
    """The bytes that came are gone, and the artifact will never be."""
    upload = begin(kernel)
    path = stage(kernel, upload)
    answered = kernel.write("artifact_upload_abort", {"upload_id": upload["upload_id"]})
    assert (answered["result"]["state"], answered["revision"]) == ("aborted", 2)
    assert {"sealed_at", "sealed_storage_version"}.isdisjoint(answered["result"])
    assert artifact_of(kernel, upload)["state"] == "unavailable"
    assert not path.exists()
    event = last_event(kernel)
    assert event["payload"] == {"upload_id": upload["upload_id"], "state": "aborted"}


def test_the_reason_is_content(kernel: Kernel) -> None:
    """It is told by the event, compared under the key, and stands nowhere in the clear."""
    upload = begin(kernel)
    said = {"upload_id": upload["upload_id"], "reason": "the wrong file altogether"}
    first = kernel.write("artifact_upload_abort", said, key="k")
    assert kernel.write("artifact_upload_abort", said, key="k") == first
    other = {**said, "reason": "another"}
    assert kernel.problem(kernel.write("artifact_upload_abort", other, key="k")) == "idempotency-mismatch"
    assert last_event(kernel)["payload"]["reason"] == "the wrong file altogether"
    assert b"wrong file" not in everything(kernel)


# --- expiry -------------------------------------------------------------------------------------------------
def test_an_upload_expires_when_it_says(kernel: Kernel) -> None:
    """Up to the second everything goes on; from it on nothing does, and the refusal says so by name."""
    upload = begin(kernel)
    stage(kernel, upload)
    which = {"upload_id": upload["upload_id"]}
    kernel.ambient.advance(HOUR - 1)
    assert kernel.read("artifact_upload_credential", which)["outcome"] == "ok"
    kernel.ambient.advance(1)
    for refused in (
        kernel.read("artifact_upload_credential", which),
        kernel.read("tallystick_artifact_put", {**which, "offset": 0, "data": ""}),
        finalize(kernel, upload),
        kernel.write("artifact_upload_abort", which),
    ):
        assert kernel.problem(refused) == "stale-revision"
        assert f"{upload['upload_id']} expired at {upload['expires_at']}" in refused["problem"]["detail"]
        assert refused["problem"]["ext"]["dev.kovee.recovery.stale-revision"] == {"current_revision": 2}
    assert (upload_of(kernel, upload)["state"], artifact_of(kernel, upload)["state"]) == (
        "expired",
        "unavailable",
    )


EXPIRY = SystemCommand(artifacts.EXPIRE, partial(artifacts.expire, None))


def test_the_row_is_written_as_it_was_shown(kernel: Kernel) -> None:
    """The daemon's system command writes the expiry down, with an event; reads before and after it are the
    same.
    """
    upload, other = begin(kernel), begin(kernel)
    kernel.ok("artifact_upload_abort", {"upload_id": other["upload_id"]})
    kernel.ambient.advance(HOUR)
    shown = upload_of(kernel, upload), artifact_of(kernel, upload)
    answer = kernel.clerk.run([EXPIRY])[0]
    assert (answer.reply, answer.sources) == (b"", (log.REALM_STREAM,))
    assert (upload_of(kernel, upload), artifact_of(kernel, upload)) == shown
    event = last_event(kernel)
    assert event["type"] == "dev.tallystick.artifact.upload-expired.v1"
    assert event["payload"] == {"upload_id": upload["upload_id"], "state": "expired"}
    assert (event["row"].actor, event["row"].operation) == ("tallyd", artifacts.EXPIRE)
    before = kernel.dump()
    assert kernel.clerk.run([EXPIRY])[0].reply == b""
    assert kernel.dump() == before, "there is nothing more to do, and nothing is written"


def test_an_expired_uploads_bytes_go_at_the_next_start(kernel: Kernel) -> None:
    """Nobody wants them any more, whether or not the expiry was written down."""
    upload = begin(kernel)
    stage(kernel, upload)
    kernel.ambient.advance(HOUR)
    open_one = begin(kernel)
    stage(kernel, open_one)
    kernel.reopen()
    assert kernel.swept.staging == (upload["upload_id"],)
    assert names(kernel)["staging"] == [open_one["upload_id"]]


def test_a_first_finalize_gives_an_hour_more(kernel: Kernel) -> None:
    """One that a crash interrupted in the last second can be gone on with; after that hour it too has
    expired.
    """
    upload = begin(kernel)
    stage(kernel, upload)
    kernel.ambient.advance(HOUR - 1)
    first_step(kernel, upload, "k")
    kernel.ambient.advance(HOUR - 1)
    assert upload_of(kernel, upload)["state"] == "sealing"
    assert finalize(kernel, upload, key="k")["result"]["state"] == "completed"
    late = begin(kernel)
    first_step(kernel, late, "l")
    kernel.ambient.advance(HOUR)
    assert kernel.problem(finalize(kernel, late, key="l")) == "stale-revision"
    assert upload_of(kernel, late)["state"] == "expired"


# --- chunks -------------------------------------------------------------------------------------------------
def put(kernel: Kernel, upload: Json, offset: int, data: bytes) -> Json:
    args = {"upload_id": upload["upload_id"], "offset": offset, "data": b64encode(data).decode()}
    return kernel.read("tallystick_artifact_put", args)


def get(kernel: Kernel, upload: Json, offset: int, **more: int) -> Json:
    return kernel.read(
        "tallystick_artifact_get", {"artifact_id": upload["artifact_id"], "offset": offset, **more}
    )


def test_chunks_go_up_and_come_down(kernel: Kernel) -> None:
    """An artifact sent in chunks is the one that is read in chunks; no chunk leaves a row."""
    content = bytes(range(256)) * 3000
    upload = kernel.ok("tallystick_artifact_begin", declared(content))
    before = kernel.dump()
    step = limits.ARTIFACT_CHUNK_BYTES_MAX
    for offset in range(0, len(content), step):
        received = put(kernel, upload, offset, content[offset : offset + step])["result"]["received_bytes"]
        assert received == min(len(content), offset + step)
    assert kernel.dump() == before
    assert finalize(kernel, upload)["result"]["state"] == "completed"
    found = b""
    while len(found) < len(content):
        got = get(kernel, upload, len(found))["result"]
        assert (got["offset"], got["size"]) == (len(found), len(content))
        found += b64decode(got["data"])
    assert found == content
    assert get(kernel, upload, len(content))["result"]["data"] == ""
    assert b64decode(get(kernel, upload, 65_530, length=12)["result"]["data"]) == content[65_530:65_542]


def test_a_read_opens_one_file_however_many_there_are(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row names it: no other file is looked into, and no directory gone through."""
    uploads = [available(kernel, f"number {n}".encode()) for n in range(5)]
    opened, opens = [], os.open

    def noting(path: str, *how: Any, **more: Any) -> int:
        opened.append(path)
        return opens(path, *how, **more)

    def unwanted(path: str) -> list[str]:
        raise AssertionError(f"{path} was gone through")

    monkeypatch.setattr(os, "open", noting)
    monkeypatch.setattr(os, "listdir", unwanted)
    monkeypatch.setattr(os, "scandir", unwanted)
    assert b64decode(get(kernel, uploads[3], 0)["result"]["data"]) == b"number 3"
    assert len(opened) == 1
    assert uploads[3]["artifact_id"] in opened[0]


def test_an_empty_upload_over_the_socket_is_there(kernel: Kernel) -> None:
    """Its one chunk is the empty one; without it there is nothing to seal, as without any other bytes."""
    sent, silent = (kernel.ok("tallystick_artifact_begin", declared(b"")) for _ in range(2))
    assert put(kernel, sent, 0, b"")["result"]["received_bytes"] == 0
    assert finalize(kernel, sent)["result"]["state"] == "completed"
    assert finalize(kernel, silent)["result"]["state"] == "rejected"


def test_an_upload_goes_on_after_a_restart(kernel: Kernel) -> None:
    """An empty chunk asks where it stands, and the rest follows."""
    upload = kernel.ok("tallystick_artifact_begin", declared())
    put(kernel, upload, 0, BYTES[:10])
    kernel.reopen()
    assert put(kernel, upload, 0, b"")["result"] == {
        "upload_id": upload["upload_id"],
        "received_bytes": 10,
        "declared_size": 25,
    }
    put(kernel, upload, 10, BYTES[10:])
    assert finalize(kernel, upload)["result"]["state"] == "completed"


def test_a_hole_is_refused_with_where_to_go_on(kernel: Kernel) -> None:
    """In words and for programs."""
    upload = kernel.ok("tallystick_artifact_begin", declared())
    put(kernel, upload, 0, BYTES[:10])
    refused = put(kernel, upload, 11, b"x")
    assert kernel.problem(refused) == "invalid"
    assert refused["problem"]["ext"]["dev.tallystick.upload"] == {"received_bytes": 10}


def test_a_chunk_is_not_written_to_what_has_ended(kernel: Kernel) -> None:
    """Judged before an abort and written after it: it is refused, and nothing lies there; the same where the
    upload is being finalized.
    """
    aborted, finalized = (kernel.ok("tallystick_artifact_begin", declared()) for _ in range(2))
    chunks = [judged_chunk(kernel, upload) for upload in (aborted, finalized)]
    kernel.ok("artifact_upload_abort", {"upload_id": aborted["upload_id"]})
    first_step(kernel, finalized, "f")
    for chunk in chunks:
        with pytest.raises(Refusal) as refused:
            chunk()
        assert refused.value.kind == "stale-revision"
    assert names(kernel)["staging"] == []


def judged_chunk(kernel: Kernel, upload: Json) -> FileIO:
    """A chunk that was let in, and is not written yet."""
    args = {"upload_id": upload["upload_id"], "offset": 0, "data": b64encode(BYTES).decode()}
    line, socket = kernel.request("tallystick_artifact_put", args)
    request = decode_request(line, socket)
    handler = WIRING.handlers[socket, request.operation.name]
    assert isinstance(handler, ReadHandler)
    speaker = Speaker("prin-owner", "peer-uid", socket)
    found = kernel.reader.read(
        lambda view: handler.run(kernel.host, view, request, admit(view, request, speaker))
    )
    assert not isinstance(found, Served | Further)
    return found


@pytest.mark.parametrize(
    ("offset", "data"),
    [
        (0, b64encode(BYTES + b"x").decode()),
        (25, "eA=="),
        (0, "not base64!"),
        (0, "eA"),
        (0, "eA==eA=="),
        (0, "e A="),
        (0, b64encode(bytes(limits.ARTIFACT_CHUNK_BYTES_MAX + 1)).decode()),
        (2**53, "eA=="),
    ],
)
def test_a_chunk_that_is_none_is_refused(kernel: Kernel, offset: int, data: str) -> None:
    """Past what was declared, no base64, too long: nothing of it is kept."""
    upload = kernel.ok("tallystick_artifact_begin", declared())
    args = {"upload_id": upload["upload_id"], "offset": offset, "data": data}
    assert kernel.problem(kernel.read("tallystick_artifact_put", args)) == "invalid"
    assert put(kernel, upload, 0, b"")["result"]["received_bytes"] == 0


@pytest.mark.parametrize(
    "more", [{"offset": 26}, {"offset": 0, "length": 0}, {"offset": 0, "length": 2**19 + 1}]
)
def test_a_range_that_is_none_is_refused(kernel: Kernel, more: Json) -> None:
    """Behind the end, of nothing, of more than a reply takes."""
    upload = available(kernel)
    args = {"artifact_id": upload["artifact_id"], **more}
    assert kernel.problem(kernel.read("tallystick_artifact_get", args)) == "invalid"


def test_damage_is_named_and_not_served(kernel: Kernel) -> None:
    """A sealed file that is not what was sealed gives no byte, and the refusal says which artifact it is."""
    upload = available(kernel)
    version = artifact_of(kernel, upload)["sealed_storage_version"]
    path = Path(kernel.paths.data_dir) / "artifacts" / "sealed" / f"{upload['artifact_id']}.{version}"
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.unlink()
    path.write_bytes(raw)
    refused = get(kernel, upload, 0)
    assert kernel.problem(refused) == "unavailable"
    assert upload["artifact_id"] in refused["problem"]["detail"]
    path.unlink()
    assert "is missing" in get(kernel, upload, 0)["problem"]["detail"]


def test_reading_sensitive_bytes_is_put_on_record(kernel: Kernel) -> None:
    """The record names the artifact, and is there before the bytes."""
    upload = available(kernel, classification_ref="class-sensitive")
    assert b64decode(get(kernel, upload, 0)["result"]["data"]) == BYTES
    row = kernel.view.log_row(kernel.view.number("SELECT max(position) FROM log"))
    assert (row.operation, row.outcome) == ("tallystick_artifact_get", "read")
    assert json.loads(row.detail)["objects"] == [upload["artifact_id"]]


# --- contributions ------------------------------------------------------------------------------------------
def test_a_contribution_carries_available_artifacts(kernel: Kernel) -> None:
    """Each is remembered once, however often its part stands there."""
    space = kernel.space(kernel.project())
    one, two = available(kernel), available(kernel)
    said = carry(kernel, space, part(one, title="notes"), part(two), part(one))
    assert said["outcome"] == "ok"
    assert len(kernel.dump()["artifact_references"]) == 2
    position = kernel.view.position_of("contrib", said["result"]["contribution_id"])
    assert position is not None
    carried = [row.artifact_id for row in artifact_rows.carried_by(kernel.view, position)]
    assert carried == [one["artifact_id"], two["artifact_id"]]


def test_what_is_not_available_cannot_be_carried(kernel: Kernel) -> None:
    """Pending, rejected, aborted, expired ones are invalid, with the place; an unknown one is not found."""
    space = kernel.space(kernel.project())
    pending, rejected, aborted, expired = (begin(kernel) for _ in range(4))
    finalize(kernel, rejected)
    kernel.ok("artifact_upload_abort", {"upload_id": aborted["upload_id"]})
    for upload in (pending, rejected, aborted):
        refused = carry(kernel, space, {"media_type": "text/plain", "text": "see"}, part(upload))
        assert kernel.problem(refused) == "invalid"
        assert "body_parts[1]" in refused["problem"]["detail"]
    kernel.ambient.advance(HOUR)
    assert kernel.problem(carry(kernel, space, part(expired))) == "invalid"
    unknown = "art-" + "0" * 32
    assert kernel.problem(carry(kernel, space, {"artifact_ref": unknown})) == "not-found"
    assert kernel.dump()["artifact_references"] == []


# --- erasure ------------------------------------------------------------------------------------------------
def erase(kernel: Kernel, upload: Json) -> object:
    """Erases an artifact inside a transaction of the clerk's; returns what is then to be done."""
    done: list[object] = []

    def do(tx: Any) -> bool:
        row = artifact_rows.find_artifact(tx, upload["artifact_id"])
        assert row is not None
        done.append(artifacts.erase(tx, row))
        return True

    assert kernel.clerk.run([SystemCommand("test_erase", do)])[0].reply == b""
    return done[0]


def test_an_artifact_reads_erased_from_the_transaction_on(kernel: Kernel) -> None:
    """Size, media type, storage and digests are gone from it; its upload stays completed."""
    upload = available(kernel)
    completed = upload_of(kernel, upload)
    todo = erase(kernel, upload)
    shown = artifact_of(kernel, upload)
    assert (shown["state"], shown["revision"]) == ("erased", 3)
    assert set(shown) == {
        "artifact_id",
        "classification_ref",
        "created_at",
        "created_by",
        "encryption_key_ref",
        "owner_ref",
        "realm_id",
        "retention_until",
        "revision",
        "state",
    }
    assert upload_of(kernel, upload) == completed
    assert isinstance(todo, artifacts.Erasing)
    assert kernel.problem(get(kernel, upload, 0)) == "stale-revision"
    space = kernel.space(kernel.project())
    assert kernel.problem(carry(kernel, space, part(upload))) == "invalid"


def test_erasing_leaves_no_key_and_then_no_file(kernel: Kernel) -> None:
    """The keys go with the transaction, the file behind it; a restart in between keeps the file for the
    tidy-up.
    """
    upload, neighbour = available(kernel), available(kernel, b"a neighbour")
    todo = erase(kernel, upload)
    assert isinstance(todo, artifacts.Erasing)
    assert len(kernel.dump()["object_keys"]) == 2, "the neighbour's two"
    kernel.reopen()
    assert kernel.swept.aside == ()
    waiting = artifact_rows.with_files(kernel.view, erasing=True)
    assert [row.artifact_id for row in waiting] == [upload["artifact_id"]]
    assert kernel.vault.erase(todo.artifact_id, todo.version)
    assert not kernel.vault.erase(todo.artifact_id, todo.version)

    def done(tx: Any) -> bool:
        artifacts.erased(tx, artifact_rows.with_files(tx, erasing=True)[0])
        return True

    kernel.clerk.run([SystemCommand("test_erased", done)])
    assert artifact_rows.with_files(kernel.view, erasing=True) == []
    assert artifact_of(kernel, upload)["state"] == "erased"
    assert b64decode(get(kernel, neighbour, 0)["result"]["data"]) == b"a neighbour"


def test_after_erasure_nothing_can_be_tested(kernel: Kernel) -> None:
    """Neither commitment nor digest can be derived again: their keys are gone, and so is the digest."""
    upload = available(kernel)
    row = artifact_rows.find_artifact(kernel.view, upload["artifact_id"])
    assert row is not None
    assert row.content_digest is not None
    erase(kernel, upload)
    assert kernel.dump()["object_keys"] == []
    assert row.content_digest not in everything(kernel)


def test_a_begin_replayed_after_erasure_is_answered(kernel: Kernel) -> None:
    """Once what was declared is gone, identifiers alone are compared."""
    first = kernel.write("artifact_upload_begin", declared(), key="k")
    stage(kernel, first["result"])
    finalize(kernel, first["result"])
    erase(kernel, first["result"])
    assert kernel.write("artifact_upload_begin", declared(), key="k") == first
    other = declared(declared_size=24)
    assert kernel.problem(kernel.write("artifact_upload_begin", other, key="k")) == "idempotency-mismatch"


# --- who ----------------------------------------------------------------------------------------------------
@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space that its participants alone see."""
    project = kernel.project()
    return kernel.ok("space_create", {"title": "s", "visibility": "restricted"}, project=project)


@pytest.fixture
def agent(kernel: Kernel, space: Json) -> Agent:
    """An agent that contributes to that space."""
    made = Agent(kernel, "reviewer")
    made.join(space)
    return made


def agents_upload(agent: Agent, content: bytes = BYTES, **more: Any) -> Json:
    """An artifact that an agent made available, over its own sockets."""
    upload = agent.send("tallystick_artifact_begin", declared(content, **more), key=f"b-{len(content)}")[
        "result"
    ]
    data = b64encode(content).decode()
    agent.send("tallystick_artifact_put", {"upload_id": upload["upload_id"], "offset": 0, "data": data})
    done = agent.send("artifact_upload_finalize", {"upload_id": upload["upload_id"]}, key=f"f-{len(content)}")
    assert done["result"]["state"] == "completed"
    made: Json = upload
    return made


def test_an_upload_is_for_who_may_write_somewhere(kernel: Kernel, space: Json) -> None:
    """An agent without a part, an observer and a muted one would only fill the disk."""
    nobody, observer, muted = (Agent(kernel, name) for name in ("nobody", "observer", "muted"))
    observer.join(space, "observer")
    muted.join(space, "contributor", "muted")
    for agent in (nobody, observer, muted):
        for op in ("artifact_upload_begin", "tallystick_artifact_begin"):
            assert kernel.problem(agent.send(op, declared(), key=op)) == "forbidden"


def test_an_agent_has_so_many_uploads_open(kernel: Kernel, agent: Agent) -> None:
    """What it declares and never finalizes fills no more of the disk; one that has ended or expired makes
    room, and nobody else is held up.
    """

    def begin(number: int, who: Agent = agent) -> Json:
        return who.send("artifact_upload_begin", declared(), key=f"open-{number}")

    open_ones = [begin(n)["result"]["upload_id"] for n in range(limits.AGENT_OPEN_UPLOADS_MAX)]
    refused = begin(100)["problem"]
    assert refused["type"].endswith("rate-limited")
    wait = refused["ext"]["dev.kovee.recovery.rate-limited"]["retry_after_seconds"]
    assert wait == limits.UPLOAD_SECONDS_MAX
    assert kernel.write("artifact_upload_begin", declared())["outcome"] == "ok"
    agent.send("artifact_upload_abort", {"upload_id": open_ones[0]}, key="abort")
    assert begin(101)["outcome"] == "ok"
    assert kernel.problem(begin(102)) == "rate-limited"
    kernel.ambient.advance(wait)
    assert begin(103)["outcome"] == "ok"


def test_an_agents_upload_is_its_own(kernel: Kernel, space: Json, agent: Agent) -> None:
    """To another agent neither upload nor artifact is there; the owner sees both."""
    upload = agents_upload(agent)
    other = Agent(kernel, "other")
    other.join(space)
    uploads = {"upload_id": upload["upload_id"]}
    chunk = {**uploads, "offset": 0, "data": ""}
    assert kernel.problem(other.send("artifact_upload_show", uploads)) == "not-found"
    assert kernel.problem(other.send("artifact_upload_credential", uploads)) == "not-found"
    assert kernel.problem(other.send("tallystick_artifact_put", chunk)) == "not-found"
    for op in ("artifact_upload_finalize", "artifact_upload_abort"):
        assert kernel.problem(other.send(op, uploads, key=op)) == "not-found"
    artifact = {"artifact_id": upload["artifact_id"]}
    assert kernel.problem(other.send("artifact_show", artifact)) == "not-found"
    assert kernel.problem(other.send("tallystick_artifact_get", {**artifact, "offset": 0})) == "not-found"
    for shown in (upload_of(kernel, upload), artifact_of(kernel, upload)):
        assert shown["owner_ref"] == agent.id


def test_the_owners_artifact_is_seen_where_it_is_carried(kernel: Kernel, space: Json, agent: Agent) -> None:
    """In a space that the agent sees, and as long as it does."""
    upload = available(kernel)
    named = {"artifact_id": upload["artifact_id"]}
    assert kernel.problem(agent.send("artifact_show", named)) == "not-found"
    elsewhere = kernel.space(kernel.project("elsewhere"))
    carry(kernel, elsewhere, part(upload))
    assert kernel.problem(agent.send("artifact_show", named)) == "not-found"
    carry(kernel, space, part(upload))
    assert agent.send("artifact_show", named)["result"]["state"] == "available"
    got = agent.send("tallystick_artifact_get", {**named, "offset": 0})
    assert b64decode(got["result"]["data"]) == BYTES
    agent.leave(space)
    assert kernel.problem(agent.send("artifact_show", named)) == "not-found"


def test_an_agent_carries_only_what_it_sees(kernel: Kernel, space: Json, agent: Agent) -> None:
    """An id that it guessed is not found, and no door to the bytes."""
    secret, own = available(kernel), agents_upload(agent)
    args = {"space_id": space["space_id"], "branch_id": space["main_branch_id"], "kind": "evidence"}

    def append(upload: Json, key: str) -> Json:
        said = {**args, "body_parts": [part(upload)]}
        return agent.send("contribution_append", said, project=space["project_id"], ext=AT_HEAD, key=key)

    assert kernel.problem(append(secret, "k")) == "not-found"
    assert append(own, "l")["outcome"] == "ok"


def test_what_is_above_an_agents_ceiling_is_not_there(kernel: Kernel, space: Json) -> None:
    """A carried artifact of a classification that the agent does not reach stays hidden."""
    agent = Agent(kernel, "low", classification_ceiling_ref="class-default")
    agent.join(space)
    upload = available(kernel, classification_ref="class-sensitive")
    carry(kernel, space, part(upload))
    assert kernel.problem(agent.send("artifact_show", {"artifact_id": upload["artifact_id"]})) == "not-found"


# --- the whole ----------------------------------------------------------------------------------------------
def test_the_bytes_stand_nowhere_in_the_clear(kernel: Kernel) -> None:
    """Neither in the database nor in any file below the data directory."""
    content = b"twenty-odd secret bytes of an artifact"
    upload = available(kernel, content)
    assert content[:12] not in everything(kernel)
    for directory, _, files in os.walk(kernel.paths.data_dir):
        for name in files:
            assert content[:12] not in (Path(directory) / name).read_bytes(), name
    assert b64decode(get(kernel, upload, 0)["result"]["data"]) == content


def test_the_log_of_all_of_it_verifies(kernel: Kernel) -> None:
    """Every row, also of system commands and of first transactions, matches its leaf and
    commitments.
    """
    space = kernel.space(kernel.project())
    one = available(kernel)
    carry(kernel, space, part(one))
    for upload in (begin(kernel), begin(kernel)):
        finalize(kernel, upload)
    kernel.ok("artifact_upload_abort", {"upload_id": begin(kernel)["upload_id"], "reason": "no"})
    begin(kernel)
    kernel.ambient.advance(HOUR)
    kernel.clerk.run([EXPIRY])
    erase(kernel, one)
    walk = Walk(kernel.view)
    assert [fault for fault in walk.slices() if fault is not None] == []
    assert walk.rows == len(kernel.dump()["log"])


def test_a_store_keeps_its_artifacts_over_a_restart(kernel: Kernel) -> None:
    """Nothing is swept that a row names, and the bytes come back."""
    upload = available(kernel)
    kernel.reopen()
    assert kernel.swept == Swept()
    assert b64decode(get(kernel, upload, 0)["result"]["data"]) == BYTES


def test_uploads_are_not_of_the_worker_socket(kernel: Kernel) -> None:
    """A worker hands artifacts over by its client socket."""
    answered = kernel.write("artifact_upload_begin", declared(), socket=Socket.WORKER)
    assert kernel.problem(answered) == "unknown-op"


# --- the list -----------------------------------------------------------------------------------------------
def listed(answered: Json) -> list[str]:
    """The ids of a page."""
    return [item["artifact_id"] for item in answered["result"]["items"]]


def test_the_list_shows_artifacts_as_they_are(kernel: Kernel) -> None:
    """In the order of their beginning, each as ``artifact_show`` has it, narrowed by the state shown."""
    one, two, three = available(kernel), begin(kernel), available(kernel)
    erase(kernel, one)
    answered = kernel.read("tallystick_artifact_list", {"limit": 9})
    assert answered["result"]["items"] == [artifact_of(kernel, upload) for upload in (one, two, three)]
    for state, expected in {"erased": [one], "pending": [two], "available": [three], "rejected": []}.items():
        found = listed(kernel.read("tallystick_artifact_list", {"limit": 9, "state": state}))
        assert found == [upload["artifact_id"] for upload in expected]
    kernel.ambient.advance(HOUR)
    late = kernel.read("tallystick_artifact_list", {"limit": 9, "state": "unavailable"})
    assert listed(late) == [two["artifact_id"]], "one whose upload expired, before its row says so"


def test_the_list_is_paged_over_a_snapshot(kernel: Kernel) -> None:
    """What is begun meanwhile does not shift it."""
    made = [begin(kernel)["artifact_id"] for _ in range(5)]
    first = kernel.read("tallystick_artifact_list", {"limit": 2})
    begin(kernel)
    found, page = listed(first), first
    while "next" in page["result"]:
        more = {"after": page["result"]["next"], "snapshot": first["result"]["snapshot"]}
        page = kernel.read("tallystick_artifact_list", {"limit": 2, **more})
        found += listed(page)
    assert found == made


def test_an_agents_list_holds_what_it_sees(kernel: Kernel, space: Json, agent: Agent) -> None:
    """Its own, and what is carried where it reads; of the others there is no trace."""
    available(kernel)
    carried, own = available(kernel), agents_upload(agent)
    carry(kernel, space, part(carried))
    found = agent.send("tallystick_artifact_list", {"limit": 1})
    assert listed(found) == [carried["artifact_id"]]
    more = {"after": found["result"]["next"], "snapshot": found["result"]["snapshot"]}
    rest = agent.send("tallystick_artifact_list", {"limit": 1, **more})
    assert listed(rest) == [own["artifact_id"]]
    assert "next" not in rest["result"]
