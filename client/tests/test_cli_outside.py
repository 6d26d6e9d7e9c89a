"""What stands in the way outside of the program is named at once: disks, users, older daemons, waits."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tally_program import TALLY, Tally

from tally_cli.exits import Exit

NOBODY = 54_321
"""A uid that nobody has."""

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="root: takes privileges that are not given here")


def _daemon_pid(tally: Tally) -> int:
    pid: int = tally.ok("status", "--json").object["pid"]
    return pid


# --- stdout -----------------------------------------------------------------------------------------------
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system does not have /dev/full")
@pytest.mark.parametrize("verb", ["status", "status --json", "paths", "events", "completion bash", "--help"])
def test_a_stdout_that_is_full_is_named(tally: Tally, space: str, verb: str) -> None:
    """Output that has no room ends with 8, names stdout, and is no fault of tally."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [TALLY, *verb.split()], env=tally.env, stdout=full, stderr=subprocess.PIPE, check=False, text=True
        )
    assert done.returncode == Exit.LOCAL_FILE, (space, done)
    assert "stdout cannot be written: No space left on device" in done.stderr
    assert done.stderr.count("\n") == 1


# --- the disk ---------------------------------------------------------------------------------------------
def test_a_disk_that_refuses_is_said_at_once(tally: Tally, space: str) -> None:
    """A write to a store whose files cannot grow ends at once and says why; with room it works."""
    pid = _daemon_pid(tally)
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (8192, before[1]))
    refused = tally("say", "x" * 60_000, "--space", space, "--key", "k", "--json")
    resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
    assert refused.code == Exit.OUTCOME_UNKNOWN, refused
    assert "the disk refused to write" in refused.error["message"]
    assert "sent once" in refused.error["message"]
    assert tally.id("say", "x" * 60_000, "--space", space, "--key", "k").startswith("contrib-")


@pytest.fixture
def small_disk(tally: Tally) -> Iterator[Path]:
    """The data directory on a disk of 16 MiB."""
    tally.data_dir.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m,mode=0700", "tmpfs", str(tally.data_dir)]
    if os.getuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("root: takes privileges that are not given here")
    try:
        yield tally.data_dir
        tally("down")
    finally:
        subprocess.run(["umount", "-l", str(tally.data_dir)], check=True)


def test_a_full_disk_is_said_at_once(tally: Tally, small_disk: Path) -> None:
    """On a disk that is full a write ends at once with 1, as not applied; with room again it works."""
    tally.ok("init")
    space = tally.id("space", "create", "x")
    filler = small_disk / "filler"
    with open(filler, "wb") as file:
        file.write(b"x" * (shutil.disk_usage(small_disk).free - 4096))
    refused = tally("say", "x" * 60_000, "--space", space, "--json")
    assert refused.code == Exit.PROBLEM, refused
    assert "the disk is full" in refused.error["message"]
    assert refused.error["ext"]["dev.tallystick.disk"] == {"state": "full"}
    filler.unlink()
    tally.ok("say", "x" * 60_000, "--space", space)
    assert tally.ok("resume").out == ""


# --- waits ------------------------------------------------------------------------------------------------
def test_a_wait_says_what_it_is_for(tally: Tally, space: str) -> None:
    """A daemon that is slow to answer is named on stderr after a second, once; with --json nothing is."""
    pid = _daemon_pid(tally)
    os.kill(pid, signal.SIGSTOP)
    try:
        waits, quiet = tally.start("status"), tally.start("status", "--json")
        assert waits.stderr is not None
        assert waits.stderr.readline() == "tally: waiting for the daemon's answer to tallystick_status\n"
    finally:
        os.kill(pid, signal.SIGCONT)
    assert (waits.communicate()[1], waits.returncode) == ("", Exit.OK), space
    assert (quiet.communicate()[1], quiet.returncode) == ("", Exit.OK)


# --- other users ------------------------------------------------------------------------------------------
LISTENER = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o600)
os.chown(sys.argv[1], 54321, 54321)
os.seteuid(54321)
listener.listen()
print("listens", flush=True)
sys.stdin.read()
"""

VISITOR = """
import os, sys
from tally_cli.starting import answers
from tally_cli.trouble import Trouble
from tallystick import calls
from tallystick.core import prepare
prepare(calls.service.hello())
os.setuid(int(sys.argv[2]))
try:
    answers(sys.argv[1])
    print("served")
except Trouble as trouble:
    print(int(trouble.exit_code), trouble.kind)
"""


@needs_root
def test_the_socket_of_another_user_is_named(tally: Tally) -> None:
    """Root, who reaches everybody's socket, is told whose this one is, and sends nothing. The listener is a
    process of another user, which never answers: the kernel alone says whose it is.
    """
    tally.runtime_dir.mkdir(mode=0o700)
    with subprocess.Popen(
        [sys.executable, "-c", LISTENER, str(tally.socket)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as listener:
        assert listener.stdout is not None
        assert listener.stdout.readline() == "listens\n"
        done = tally("read", "--json", "--no-start")
        listener.communicate()
    assert (done.code, done.error["kind"]) == (Exit.UNREACHABLE, "another-user")
    assert f"uid {NOBODY}" in done.error["message"]
    tally.socket.unlink()


@needs_root
def test_a_directory_of_another_user_is_named(tally: Tally) -> None:
    """EACCES below a directory of another user is that user's, and no sandbox."""
    os.chmod(tally.root, 0o755)
    tally.runtime_dir.mkdir(mode=0o700)
    os.chown(tally.runtime_dir, NOBODY + 1, NOBODY + 1)
    done = subprocess.run(
        [sys.executable, "-c", VISITOR, str(tally.socket), str(NOBODY)],
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout.split() == [str(int(Exit.UNREACHABLE)), "another-user"]
    tally.runtime_dir.rmdir()


@needs_root
def test_a_socket_for_another_uid_is_named(tally: Tally, space: str) -> None:
    """In the directory of an agent with a uid of its own, the owner and a third user are told so at once;
    that uid is served, also where it is the owner's.
    """
    os.chmod(tally.root, 0o755)
    agent = tally.ok("agent", "add", "reviewer", "--uid", str(NOBODY + 1), "--json").object
    done = tally("read", "--json", "--no-start", env={"TALLY_RUNTIME_DIR": agent["sockets"]})
    assert (done.code, done.error["kind"]) == (Exit.UNREACHABLE, "another-uid"), space
    for uid, told in ((NOBODY, [str(int(Exit.UNREACHABLE)), "another-uid"]), (NOBODY + 1, ["served"])):
        command = [sys.executable, "-c", VISITOR, f"{agent['sockets']}/tally.sock", str(uid)]
        visited = subprocess.run(command, capture_output=True, check=True, text=True)
        assert visited.stdout.split() == told
    own = tally.ok("agent", "add", "own", "--uid", str(os.getuid()), "--json").object
    tally.ok("limits", env={"TALLY_RUNTIME_DIR": own["sockets"], "TALLY_ACTOR": own["agent_id"]})


# --- an older daemon --------------------------------------------------------------------------------------
OLDER = """
import sys
import tallystick
tallystick.__version__ = "0.0.9"
from tallystick.protocol import registry
from tallystick.protocol.operation import Socket
del registry.BY_SOCKET[Socket.CLIENT, "tallystick_contribution_list"]
from tallyd.service.main import main
sys.exit(main())
"""


def test_an_older_daemon_is_named_with_both_versions(tally: Tally, space: str) -> None:
    """A daemon that does not know an operation is told of with its version, ours, and how to restart it."""
    tally.ok("down")
    reads, writes = os.pipe()
    command = [sys.executable, "-c", OLDER, "--ready-fd", str(writes)]
    with subprocess.Popen(command, env=tally.env, pass_fds=[writes], stderr=subprocess.DEVNULL) as daemon:
        os.close(writes)
        assert os.read(reads, 1), "the daemon ended before it was ready"
        os.close(reads)
        done = tally("read", "--space", space, "--json")
        daemon.terminate()
    assert (done.code, done.error["kind"]) == (Exit.PROBLEM, "unknown-op")
    for words in ("tallyd 0.", "this is tally 0.1.0", "tally down", "tally up"):
        assert words in done.error["message"]
