"""Artifacts through crashes, on the real process: what lies on the disk at each phase of a finalize, and
after it.

The matrix judges the rows; here it is the files.
"""

from __future__ import annotations

import hashlib
import os
import select
from base64 import b64decode
from pathlib import Path

import artifacts
import pytest
from cells import BETWEEN, PHASES, Run, armed, crash
from effects import Place
from harness.dumps import differences, dump_copy, dump_live
from harness.files import contents
from harness.home import Home
from harness.wire import Wire, ask
from world import CLIENT, Prepared

FINALIZE = Place("artifact_upload_finalize", CLIENT)
SEALED_BY_THEN = {"after_seal_txn": False, "after_seal": True, "before_commit": True, "after_commit": True}
"""Whether the sealed file is on the disk at that phase."""


def files(home: Home) -> dict[str, dict[str, bytes]]:
    """Name and content of each file of the vault, by directory."""
    root = Path(home.paths.data_dir) / "artifacts"
    return {
        name: {file: (root / name / file).read_bytes() for file in sorted(os.listdir(root / name))}
        for name in ("staging", "sealed", "aside")
    }


def staging(home: Home, upload_id: str) -> str:
    """Where an upload's bytes lie."""
    return os.path.join(home.paths.data_dir, "artifacts", "staging", upload_id)


@pytest.mark.crash
@pytest.mark.parametrize("phase", [*BETWEEN, *PHASES])
def test_unverified_bytes_are_never_available(prepared: Prepared, world_home: Home, phase: str) -> None:
    """Killed at any phase before the last, no artifact is available and its plain bytes wait; sent again, it
    is done once, under another key than the dead run's, whose file is kept aside.
    """
    run, world = Run(prepared, world_home), prepared.world
    upload_id, artifact_id = world.others["finalize"], world.others["finalize's artifact"]
    sent = artifacts.finalize("crash-1", upload_id)
    before = files(world_home)
    crash(run, armed(FINALIZE, phase), sent)
    left = files(world_home)
    assert left["staging"] == before["staging"], "plain bytes survive the crash"
    assert len(left["sealed"]) == len(before["sealed"]) + SEALED_BY_THEN[phase]
    durable = phase == "after_commit"
    with run.start() as daemon:
        swept = files(world_home)
        wanted = before["staging"].keys() - ({upload_id} if durable else set())
        assert swept["staging"].keys() == wanted, "staging goes when its upload has ended, and not before"
        stray = left["sealed"].keys() - before["sealed"].keys()
        if not durable:
            assert ask(daemon.paths, artifacts.show(artifact_id)).result["state"] == "verifying"
            assert ask(daemon.paths, artifacts.get(artifact_id)).kind == "stale-revision"
            assert swept["aside"] == {name: left["sealed"][name] for name in stray}
        first, second = ask(daemon.paths, sent), ask(daemon.paths, sent)
        assert first.result["state"] == "completed"
        assert first.raw == second.raw
        got = ask(daemon.paths, artifacts.get(artifact_id)).result
        assert b64decode(got["data"]) == artifacts.BYTES
    done = files(world_home)
    assert upload_id not in done["staging"]
    assert len(done["sealed"]) == len(before["sealed"]) + 1
    assert done["aside"] == ({} if durable else {name: left["sealed"][name] for name in stray})


@pytest.mark.crash
def test_the_sweep_replayed_does_nothing(prepared: Prepared, world_home: Home) -> None:
    """Plain staging bytes outlive the crash behind the commit, the next start removes them, and the start
    after that finds nothing to do, in files and in rows.
    """
    run, world = Run(prepared, world_home), prepared.world
    crash(run, armed(FINALIZE, "after_commit"), artifacts.finalize("crash-1", world.others["finalize"]))
    assert world.others["finalize"] in files(world_home)["staging"]
    with run.start():
        pass
    swept, rows = files(world_home), dump_copy(world_home.paths)
    assert world.others["finalize"] not in swept["staging"]
    with run.start() as daemon:
        assert files(world_home) == swept
        assert differences(rows, dump_live(daemon.paths)) == []


@pytest.mark.crash
def test_a_run_that_was_killed_leaves_no_part(prepared: Prepared, world_home: Home) -> None:
    """What a dead run had half written goes at the next start; a sealed file that no row names is kept, byte
    for byte.
    """
    run = Run(prepared, world_home)
    sealed = Path(world_home.paths.data_dir) / "artifacts" / "sealed"
    (sealed / "art-0.v1-0.part").write_bytes(b"half")
    (sealed / "art-1.v1-1").write_bytes(b"whole")
    before = files(world_home)
    for _ in range(2):
        with run.start():
            found = files(world_home)
        assert found["aside"] == {"art-1.v1-1": b"whole"}
        assert found["sealed"].keys() == before["sealed"].keys() - {"art-0.v1-0.part", "art-1.v1-1"}


@pytest.mark.crash
def test_finalized_bytes_stand_nowhere_in_the_clear(prepared: Prepared, world_home: Home) -> None:
    """When a finalize or an abort is answered, the plain bytes are in no file any more."""
    content = b"A photograph that nobody else is to see, ever."
    with Run(prepared, world_home).start() as daemon, Wire(daemon.paths) as client:
        for number, ends in enumerate(("finalize", "abort")):
            upload = client.ask(artifacts.begin(f"clear-{number}", content=content)).result
            artifacts.stage(client, upload["upload_id"], content)
            assert any(content in found for _, found in contents(world_home.paths.data_dir)), (
                "the judge sees it while it is there"
            )
            asked = artifacts.finalize(f"clear-{ends}", upload["upload_id"])
            if ends == "abort":
                asked = asked._replace(body={**asked.body, "op": "artifact_upload_abort"})
            assert client.ask(asked).result["state"] == ("completed" if ends == "finalize" else "aborted")
            left = contents(world_home.paths.data_dir)
            assert [path for path, found in left if content[:16] in found] == []


@pytest.mark.crash
def test_a_second_finalize_waits_for_the_first(prepared: Prepared, world_home: Home) -> None:
    """Two clients finalize one upload at once: the same key gets the same bytes, another key is refused, once
    sealed.
    """
    world = prepared.world
    with Run(prepared, world_home).start() as daemon:
        wires = [Wire(daemon.paths) for _ in range(6)]
        for number, wire in enumerate(wires):
            wire.send(artifacts.finalize(f"twice-{number % 2}", world.others["finalize"]))
        replies = [wire.receive("artifact_upload_finalize") for wire in wires]
        for wire in wires:
            with wire:
                pass
    won = 0 if replies[0].ok else 1
    assert len({reply.raw for reply in replies[won::2]}) == 1
    assert replies[won].result["state"] == "completed"
    assert {reply.kind for reply in replies[1 - won :: 2]} == {"stale-revision"}
    found = files(world_home)
    assert len(found["sealed"]) == 2, (
        "the one carried and the one finalized: no run was sealed twice and kept"
    )


@pytest.mark.crash
def test_what_stands_behind_a_finalize_sees_it(prepared: Prepared, world_home: Home) -> None:
    """Pipelined on one connection, an append that carries the artifact runs when the finalize is done."""
    world = prepared.world
    carry = world.append("behind", "").changed(
        body_parts=[{"artifact_ref": world.others["finalize's artifact"]}]
    )
    with Run(prepared, world_home).start() as daemon, Wire(daemon.paths) as client:
        client.send(artifacts.finalize("before-it", world.others["finalize"]), carry)
        assert client.receive("artifact_upload_finalize").result["state"] == "completed"
        assert client.receive("contribution_append").ok


@pytest.mark.crash
def test_others_go_on_while_an_artifact_is_sealed(prepared: Prepared, world_home: Home) -> None:
    """Twenty appends, one after the other, are durable and answered while one finalize hashes 128 MiB."""
    size = 128 * 2**20
    digest = hashlib.sha256()
    for _ in range(size >> 20):
        digest.update(bytes(1 << 20))
    declared = {"declared_raw_sha256": digest.hexdigest(), "declared_size": size}
    world = prepared.world
    with (
        Run(prepared, world_home).start() as daemon,
        Wire(daemon.paths) as sealing,
        Wire(daemon.paths) as other,
    ):
        begin = artifacts.begin("large", "tallystick_artifact_begin").changed(**declared)
        upload_id = sealing.ask(begin).result["upload_id"]
        with open(staging(world_home, upload_id), "xb") as file:
            file.truncate(size)
        sealing.send(artifacts.finalize("large", upload_id))
        for number in range(20):
            assert other.ask(world.append(f"meanwhile-{number}", "It drips on.")).ok
        assert select.select([sealing], [], [], 0) == ([], [], []), "the finalize was answered before them"
        assert sealing.receive("artifact_upload_finalize").result["state"] == "completed"


@pytest.mark.crash
def test_a_finalize_outlives_its_client(prepared: Prepared, world_home: Home) -> None:
    """A client that went away finds the upload completed, and its reply under its key."""
    world = prepared.world
    sent = artifacts.finalize("gone", world.others["finalize"])
    with Run(prepared, world_home).start() as daemon:
        with Wire(daemon.paths) as client:
            client.send(sent)
        assert ask(daemon.paths, sent).result["state"] == "completed"
