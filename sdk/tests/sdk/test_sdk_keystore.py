"""The key store: what is on the disk before the first try, after the reply, and after each kind of
accident."""

import fcntl
import json
import os
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tallystick import journal, keystore
from tallystick.core import Request
from tallystick.errors import KeyStoreError
from tallystick.keystore import KeyStore, path_for
from tallystick.paths import resolve

Run = Callable[..., "subprocess.Popen[str]"]


def request(key: str, content: str = "canary") -> Request:
    """A request whose line has the content."""
    return Request("client", "contribution_append", key, json.dumps({"key": key, "text": content}).encode())


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "keys.log")


@pytest.fixture
def store(path: str) -> KeyStore:
    return KeyStore(path, actor="prin-owner")


def keys(store: KeyStore) -> list[str]:
    return [pending.key for pending in store.pending()]


# --- what is kept -----------------------------------------------------------------------------------------
def test_a_recorded_request_is_pending_with_its_bytes(store: KeyStore, path: str) -> None:
    """Another store on the same file finds the very line, its operation and when it was stored."""
    before = time.time()
    store.record(request("k1", 'ä "quoted" 😀'))
    (pending,) = KeyStore(path, actor="prin-owner").pending()
    assert pending.request == request("k1", 'ä "quoted" 😀')
    assert before - 1 < pending.stored_at < time.time() + 1


def test_the_file_is_its_owners_alone(store: KeyStore, path: str) -> None:
    """Mode 0600 from the first moment, in a directory that is private where it was made."""
    store.record(request("k1"))
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


def test_a_settled_request_leaves_key_time_and_keyed_digest(store: KeyStore, path: str) -> None:
    """After the reply the content is gone from the file, and the digest is no plain one of it."""
    slot = store.record(request("k1"))
    assert "canary" in Path(path).read_text()
    store.settle(slot)
    text = Path(path).read_text()
    assert "canary" not in text
    assert keys(store) == []
    (_, done) = journal.lines(text.encode())
    assert set(done.members) == {"state", "surface", "operation", "key", "at", "digest"}
    assert done.members["key"] == "k1"
    other = KeyStore(f"{path}.other", actor="prin-owner")
    other.settle(other.record(request("k1")))
    assert str(done.members["digest"]) not in Path(other.path).read_text()


def test_no_answer_leaves_it_pending(store: KeyStore) -> None:
    """Settling one request leaves the others, in the order in which they were recorded."""
    slots = [store.record(request(f"k{n}")) for n in range(4)]
    store.settle(slots[1])
    assert keys(store) == ["k0", "k2", "k3"]


def test_settling_twice_changes_nothing(store: KeyStore, path: str) -> None:
    """Two processes may resume one request; whoever is second finds it done."""
    slot = store.record(request("k1"))
    store.settle(slot)
    content = Path(path).read_bytes()
    KeyStore(path, actor="prin-owner").settle(slot)
    assert Path(path).read_bytes() == content


def test_a_callers_key_is_recorded_once(store: KeyStore, path: str) -> None:
    """A caller who gives its key again meets the line of its first life, and learns that it may have been
    sent."""
    store.record(request("k1"))
    slot = KeyStore(path, actor="prin-owner").record(request("k1"), may_be_there=True)
    assert slot.was_there
    assert keys(store) == ["k1"]


def test_the_same_key_with_other_bytes_is_another_line(store: KeyStore) -> None:
    """The daemon judges what a reused key means; the store keeps both until they are answered."""
    store.record(request("k1"))
    assert not store.record(request("k1", "other"), may_be_there=True).was_there
    assert keys(store) == ["k1", "k1"]


def test_nothing_pending_makes_no_file(store: KeyStore, path: str) -> None:
    """Asking an unused store writes nothing."""
    assert store.pending() == []
    assert not os.path.exists(path)


def test_each_actor_and_each_daemon_has_its_own_file(tmp_path: Path) -> None:
    """No two of them share a path, and an actor's name cannot leave the directory."""
    env = {"TALLY_STATE_DIR": str(tmp_path), "HOME": "/home/ada"}
    places = [resolve(runtime_dir=runtime, env=env) for runtime in ("/run/a", "/run/b")]
    paths = {path_for(place, actor) for place in places for actor in ("prin-owner", "agent/../x", "agent")}
    assert len(paths) == 6
    assert {os.path.dirname(path) for path in paths} == {str(tmp_path)}


# --- accidents --------------------------------------------------------------------------------------------
def test_a_torn_tail_is_a_request_that_never_left(store: KeyStore, path: str) -> None:
    """However short the last line was cut, the lines before it are whole, and the next one is not glued to
    it.

    Where only its padding is missing it counts: then it is a request that was stored and never sent.
    """
    store.record(request("k1"))
    whole = Path(path).read_bytes()
    store.record(request("k2"))
    longer = Path(path).read_bytes()
    store.close()
    complete = len(longer.rstrip(b" \n"))
    for size in range(len(whole), len(longer)):
        Path(path).write_bytes(longer[:size])
        again = KeyStore(path, actor="prin-owner")
        again.record(request("k3"))
        assert keys(again) == (["k1", "k2", "k3"] if size >= complete else ["k1", "k3"])
        again.close()


def test_a_torn_settlement_is_no_pending_request(store: KeyStore, path: str) -> None:
    """Where a power cut left half of the new line over half of the old, the request was answered already."""
    slot = store.record(request("k1"))
    before = Path(path).read_bytes()
    store.settle(slot)
    after = Path(path).read_bytes()
    start, end = slot.line.offset, slot.line.offset + slot.line.length
    for cut in range(start + 9, end - 1, 7):
        Path(path).write_bytes(before[:start] + after[start:cut] + before[cut:])
        assert keys(store) in ([], ["k1"])
    Path(path).write_bytes(before[: start + 20] + after[start + 20 :])
    assert keys(store) == []


def test_foreign_bytes_are_skipped(store: KeyStore, path: str) -> None:
    """Zeros and garbage, as file systems leave them, hide none of the lines around them."""
    store.record(request("k1"))
    with open(path, "ab") as file:
        file.write(b"\0" * 100 + b"\n{}\n00000000 {}\n\xff\xfe")
    store.record(request("k2"))
    assert keys(store) == ["k1", "k2"]


def test_case_047_a_client_killed_before_it_sent_leaves_its_key(path: str, run_python: Run) -> None:
    """The key is on the disk before the first try: SIGKILL between the two leaves the request to be
    resumed."""
    source = """
import sys
from tallystick.core import Request
from tallystick.keystore import KeyStore
KeyStore(sys.argv[1], actor="prin-owner").record(Request("client", "project_create", "k1", b'{"a":1}'))
print("stored", flush=True)
sys.stdin.read()
"""
    process = run_python(source, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "stored\n"
    process.kill()
    process.wait()
    (pending,) = KeyStore(path, actor="prin-owner").pending()
    assert pending.request == Request("client", "project_create", "k1", b'{"a":1}')


# --- several at once --------------------------------------------------------------------------------------
WRITER = """
import sys
from tallystick import keystore
from tallystick.core import Request
keystore.COMPACT_BYTES = 20_000
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = keystore.KeyStore(path, actor="prin-owner")
store._compact_at = keystore.COMPACT_BYTES
for n in range(count):
    slot = store.record(Request("client", "op", f"{name}-{n}", b'{"text":"' + b"x" * 400 + b'"}'))
    if n % 2:
        store.settle(slot)
"""


def test_several_processes_use_it_at_once(path: str, run_python: Run) -> None:
    """Nothing is lost, doubled or torn while four processes write, settle and rewrite one file."""
    processes = [run_python(WRITER, path, name, "60") for name in "abcd"]
    assert [process.wait(timeout=60) for process in processes] == [0] * 4
    expected = {f"{name}-{n}" for name in "abcd" for n in range(0, 60, 2)}
    found = keys(KeyStore(path, actor="prin-owner"))
    assert len(found) == len(expected)
    assert set(found) == expected


def test_a_settlement_finds_its_line_after_a_rewrite(store: KeyStore, path: str) -> None:
    """A request that was recorded before another process rewrote the file is settled in the new one."""
    slots = [store.record(request(f"k{n}", "x" * 300)) for n in range(3)]
    store.settle(slots[0])  # whose line becomes shorter
    other = KeyStore(path, actor="prin-owner")
    other._compact_at = 1
    other.record(request("k3"))
    lines = {line.members.get("key"): line.offset for line in journal.lines(Path(path).read_bytes())}
    assert lines["k2"] != slots[2].line.offset
    store.settle(slots[2])
    assert keys(store) == ["k1", "k3"]


def test_a_rewrite_keeps_what_counts(store: KeyStore, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pending requests stay whatever their age; answered keys go after seven days."""
    week = keystore.KEEP_SECONDS
    now = time.time_ns()
    with monkeypatch.context() as clock:
        clock.setattr(time, "time_ns", lambda: now - (week + 60) * 10**9)
        store.record(request("old-pending"))
        store.settle(store.record(request("old-done")))
    store.settle(store.record(request("new-done")))
    store._compact_at = 1
    store.record(request("new-pending"))
    assert keys(store) == ["old-pending", "new-pending"]
    text = Path(path).read_text()
    assert "new-done" in text
    assert "old-done" not in text
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_a_store_in_use_does_not_grow_for_ever(
    store: KeyStore, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that writes all day keeps the last answered keys and a bounded file."""
    monkeypatch.setattr(keystore, "COMPACT_BYTES", 10_000)
    monkeypatch.setattr(keystore, "KEEP_ANSWERED_MAX", 10)
    store._compact_at = 10_000
    sizes = []
    for n in range(200):
        store.settle(store.record(request(f"k{n}", "x" * 300)))
        sizes.append(os.stat(path).st_size)
    assert max(sizes) < 12_000


def test_case_042_a_child_of_fork_does_not_release_its_parents_lock(store: KeyStore, path: str) -> None:
    """A child that uses and closes its copy leaves the parent's lock on the file where it was."""
    store.record(request("k0"))
    with store._file():
        if (pid := os.fork()) == 0:
            store.close()
            os._exit(0)
        os.waitpid(pid, 0)
        with open(path, "rb") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_case_042_a_child_of_fork_has_a_file_of_its_own(store: KeyStore) -> None:
    """Parent and child write to one store after a fork, each under a lock of its own."""
    store.record(request("parent-0"))
    if (pid := os.fork()) == 0:
        store.record(request("child"))
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    store.record(request("parent-1"))
    assert keys(store) == ["parent-0", "child", "parent-1"]


# --- refusals ---------------------------------------------------------------------------------------------
def test_another_actors_file_is_refused(store: KeyStore, path: str) -> None:
    """A request is never sent again as somebody else, even where the file was put in another's place."""
    store.record(request("k1"))
    with pytest.raises(KeyStoreError, match="belongs to the actor prin-owner"):
        KeyStore(path, actor="agent-7").pending()


def test_a_file_that_others_can_read_is_refused(store: KeyStore, path: str) -> None:
    """The store says how to take the rights away, and writes nothing into such a file."""
    store.record(request("k1"))
    store.close()
    os.chmod(path, 0o644)
    with pytest.raises(KeyStoreError, match="chmod 600"):
        store.record(request("k2"))


def test_a_link_in_its_place_is_refused(store: KeyStore, path: str, tmp_path: Path) -> None:
    """A symbolic link would write a person's words into a file of somebody's choice."""
    os.makedirs(os.path.dirname(path))
    os.symlink(tmp_path / "elsewhere", path)
    with pytest.raises(KeyStoreError):
        store.record(request("k1"))
    assert not (tmp_path / "elsewhere").exists()


def test_another_format_is_refused(store: KeyStore, path: str) -> None:
    """A file of a later version is not written into."""
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(journal.encode({"format": "tallystick-keys", "version": 2}))
    os.chmod(path, 0o600)
    with pytest.raises(KeyStoreError, match="this version can read"):
        store.record(request("k1"))


def test_a_directory_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    """The error names the file, the variable to set, and the way without a store."""
    (tmp_path / "file").write_text("")
    store = KeyStore(str(tmp_path / "file" / "keys.log"), actor="prin-owner")
    with pytest.raises(KeyStoreError, match="TALLY_STATE_DIR") as caught:
        store.record(request("k1"))
    assert store.path in str(caught.value)
    assert "Nothing was sent" in str(caught.value)
