"""Starting the daemon: by whom, in which environment, and where not."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tally_program import TALLY, Tally

from tally_cli.exits import Exit
from tally_cli.starting import (
    DAEMON_PATH,
    LOST_RACE,
    SANDBOX_MARKERS,
    answers,
    clean_environment,
    ensure_running,
    find_tallyd,
    log_path,
    open_log,
    winner_answers,
)
from tally_cli.trouble import Trouble
from tally_cli.watching import Watch
from tallyd.store.refusals import ExitCode
from tallystick.paths import Paths, resolve

SANDBOXED = Path(__file__).parent / "sandboxed.py"


def places(root: Path) -> Paths:
    """Places below a directory."""
    env = {"TALLY_STATE_DIR": str(root / "s"), "HOME": str(root)}
    return resolve(str(root / "d"), str(root / "r"), env)


# --- what a daemon inherits ---------------------------------------------------------------------------------
def test_a_daemon_inherits_only_what_it_finds_its_places_by() -> None:
    """Nothing that a caller could steer the daemon's code by passes: not PATH, not Python's variables."""
    env = {
        "HOME": "/h", "LANG": "C.UTF-8", "XDG_DATA_HOME": "/x", "TALLY_STATE_DIR": "/s", "TZ": "",
        "PATH": "/evil", "PYTHONPATH": "/evil", "PYTHONSTARTUP": "/evil", "LD_PRELOAD": "/evil.so",
        "TALLYD_ABORT": "after_commit:contribution_append", "TALLYD_BATCH_HOLD": "3", "AWS_SECRET_KEY": "k",
    }  # fmt: skip
    assert clean_environment(env) == {
        "PATH": DAEMON_PATH, "HOME": "/h", "LANG": "C.UTF-8", "XDG_DATA_HOME": "/x", "TALLY_STATE_DIR": "/s",
    }  # fmt: skip


BORN = """
import json, os, sys
told = {
    "environment": dict(os.environ), "descriptors": sorted(map(int, os.listdir("/dev/fd")))[:-1],
    "leads_session": os.getsid(0) == os.getpid(), "session": os.getsid(0), "directory": os.getcwd(),
    "umask": os.umask(0), "terminals": [os.isatty(number) for number in (0, 1, 2)],
}
open(sys.argv[1], "w").write(json.dumps(told))
if sys.argv[2] == "ready":
    os.write(3, b"ready\\n")
    os.close(3)
    sys.stdin.read()
sys.stderr.write("why it refuses\\n")
sys.exit(int(sys.argv[2]) if sys.argv[2] != "ready" else 0)
"""
BEARING = """
import json, os, sys
from tally_cli.starting import _bear
from tally_cli.watching import Watch
extra = os.open("/dev/null", os.O_RDONLY)
os.set_inheritable(extra, True)
log = os.open(sys.argv[1] + ".log", os.O_RDWR | os.O_CREAT)
argv = [sys.executable, "-I", "-c", sys.argv[2], *sys.argv[3:]]
code = _bear(argv, {"PATH": "/bin"}, log, Watch("/nowhere"))
try:
    os.waitpid(-1, os.WNOHANG)
    children = True
except ChildProcessError:
    children = False
print(json.dumps({"code": code, "children": children, "session": os.getsid(0)}))
"""


def bear(tmp_path: Path, how: str) -> tuple[dict[str, object], dict[str, object], str]:
    """Let a process bear another; what the parent saw, what the child saw, and its log."""
    told = tmp_path / "told"
    script = [sys.executable, "-c", BEARING, str(told), BORN, str(told), how]
    done = subprocess.run(
        script, capture_output=True, text=True, timeout=60, check=True, stdin=subprocess.DEVNULL
    )
    return json.loads(done.stdout), json.loads(told.read_text()), Path(f"{told}.log").read_text()


def test_a_daemon_is_born_alone(tmp_path: Path) -> None:
    """It is in another session, nobody's child, in /, with four descriptors, no terminal, umask 077."""
    parent, child, _ = bear(tmp_path, "ready")
    assert parent["code"] == 0
    assert not parent["children"]
    assert child["session"] != parent["session"]
    assert child["descriptors"] == [0, 1, 2, 3]
    assert child["terminals"] == [False, False, False]
    assert (child["directory"], child["umask"]) == ("/", 0o077)
    environment = child["environment"]
    assert isinstance(environment, dict)
    assert set(environment) <= {"PATH", "LC_CTYPE"}  # Python itself adds the latter in a bare environment


@pytest.mark.parametrize("code", [1, 66, 74, 113])
def test_the_exit_code_of_a_daemon_that_refuses_is_learned(tmp_path: Path, code: int) -> None:
    """Whoever starts it learns its exit code, and its words stand in the log."""
    parent, _, log = bear(tmp_path, str(code))
    assert parent["code"] == code
    assert log == "why it refuses\n"


# --- what is started ----------------------------------------------------------------------------------------
def test_the_daemon_of_the_same_installation_is_started() -> None:
    """The program beside this interpreter is taken, whatever PATH says."""
    assert find_tallyd({"PATH": "/nowhere"}) == str(Path(sys.executable).parent / "tallyd")


def test_the_working_directory_is_never_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tallyd that lies in the working directory is not run, also where PATH has empty or relative parts."""
    for directory in (tmp_path, tmp_path / "bin"):
        directory.mkdir(exist_ok=True)
        (directory / "tallyd").write_text("#!/bin/sh\n")
        (directory / "tallyd").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", "/nowhere/python3")
    with pytest.raises(Trouble) as missing:
        find_tallyd({"PATH": ":bin:.:"})
    assert missing.value.exit_code is Exit.NOT_STARTED
    assert find_tallyd({"PATH": f":{tmp_path}/bin"}) == f"{tmp_path}/bin/tallyd"


def test_the_codes_of_a_lost_race_are_the_daemons() -> None:
    """The numbers by which a lost race is known are those that tallyd ends with."""
    assert {ExitCode.DATA_DIRECTORY_HELD, ExitCode.RUNTIME_DIRECTORY_HELD} == LOST_RACE


def test_the_log_is_private_and_bounded(tmp_path: Path) -> None:
    """It is made 0600 in a 0700 directory, never through a link, and set aside when it has grown."""
    where = places(tmp_path)
    os.close(open_log(where))
    path = Path(log_path(where))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    with path.open("wb") as log:
        log.truncate(9 * 2**20)
    os.close(open_log(where))
    assert path.stat().st_size == 0
    assert Path(f"{path}.1").stat().st_size == 9 * 2**20
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Trouble) as refused:
        open_log(where)
    assert refused.value.exit_code is Exit.LOCAL_FILE


# --- who is there -------------------------------------------------------------------------------------------
def test_nobody_is_there_where_nobody_listens(tally: Tally) -> None:
    """No socket, and a socket that nobody listens on, both mean that nobody is there; it is not unlinked."""
    assert not answers(str(tally.socket))
    tally.runtime_dir.mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tally.socket))
        inode = tally.socket.stat().st_ino
    assert not answers(str(tally.socket))
    assert tally.socket.stat().st_ino == inode
    tally.socket.unlink()


def test_the_winner_of_a_race_is_waited_for(tally: Tally) -> None:
    """Whoever lost the race connects as soon as the winner listens, and gives up in bounded time."""
    tally.runtime_dir.mkdir()
    assert not winner_answers(str(tally.socket), 0.05, Watch("/nowhere"))
    script = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); s.accept()"
    )
    winner = subprocess.Popen([sys.executable, "-c", script, str(tally.socket)])
    assert winner_answers(str(tally.socket), 30, Watch("/nowhere"))
    assert winner.wait(30) == 0
    tally.socket.unlink()


@pytest.mark.parametrize("marker", SANDBOX_MARKERS)
def test_nothing_is_started_inside_a_sandbox(tmp_path: Path, marker: str) -> None:
    """Where a sandbox says that it is one, no daemon is started, and the words say what to do."""
    with pytest.raises(Trouble) as refused:
        ensure_running(places(tmp_path), {"HOME": str(tmp_path), "PATH": os.defpath, marker: "1"})
    assert refused.value.exit_code is Exit.SANDBOX
    assert marker in refused.value.message
    assert "tally up" in refused.value.message
    assert list(tmp_path.iterdir()) == []


# --- with the real daemon -----------------------------------------------------------------------------------
def test_a_daemon_is_started_where_none_runs(tally: Tally) -> None:
    """The first verb that needs a daemon starts it, and the second finds it."""
    assert tally.ok("up", "--json").object["started"] is True
    again = tally.ok("up", "--json").object
    assert again["started"] is False
    assert tally.ok("status", "--json").object["pid"] == again["pid"]


def test_two_starters_race_and_the_loser_connects_case_005(tally: Tally) -> None:
    """Six who start at once all succeed, and there is one daemon."""
    starters = [tally.start("up", "--json") for _ in range(6)]
    ended = [starter.communicate(timeout=60) for starter in starters]
    assert [starter.returncode for starter in starters] == [0] * 6, ended
    assert len({json.loads(out)["pid"] for out, _ in ended}) == 1


@pytest.mark.parametrize("how", [("--no-start",), ()], ids=["option", "variable"])
def test_no_start_starts_nothing(tally: Tally, how: tuple[str, ...]) -> None:
    """With --no-start, or TALLY_NO_START=1, a verb ends with 3 and leaves nothing behind."""
    done = tally("say", "hello", "--json", *how, env={} if how else {"TALLY_NO_START": "1"})
    assert (done.code, done.error["kind"]) == (Exit.UNREACHABLE, "not-running")
    assert not tally.data_dir.exists()
    assert not tally.runtime_dir.exists()


def test_a_daemon_that_refuses_is_quoted(tally: Tally) -> None:
    """Where tallyd refuses to run, tally ends with 6, with tallyd's exit code and its own words."""
    tally.data_dir.write_text("a file where a directory should be")
    done = tally("init", "--json")
    assert done.code == Exit.NOT_STARTED
    assert done.error["daemon_exit"] in set(ExitCode)
    assert str(tally.data_dir) in done.error["message"]
    assert tally.data_dir.read_text() == "a file where a directory should be"


def test_a_killed_daemon_is_started_anew_without_help_case_001_case_010(tally: Tally) -> None:
    """After kill -9 sockets and lock files are still there; the next verb starts a daemon all the same."""
    pid = tally.ok("up", "--json").object["pid"]
    subprocess.run(["kill", "-9", str(pid)], check=True)
    done = tally("status", "--json")
    while done.code == 0:  # until the kernel has closed its sockets
        done = tally("status", "--json")
    assert done.code == Exit.UNREACHABLE
    assert tally.socket.is_socket()
    assert (tally.runtime_dir / "lock").exists()
    assert tally.ok("init", "--json").object["name"] == "personal"


def test_probing_leaves_the_socket_alone_case_007(tally: Tally) -> None:
    """No verb of a client unlinks or replaces a socket, whether a daemon answers or not."""
    tally.ok("up")
    inode = tally.socket.stat().st_ino
    for verb in ("status", "up", "init", "paths"):
        tally.ok(verb)
    assert tally.socket.stat().st_ino == inode


@pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")
@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="system call numbers differ")
@pytest.mark.parametrize("verb", ["say hello", "status", "up", "down", "init"])
def test_a_forbidden_socket_is_called_by_name_case_020(tally: Tally, verb: str) -> None:
    """Where the kernel refuses to connect, every verb ends with 4 and names each client's setting."""
    tally.ok("up")
    command = [sys.executable, str(SANDBOXED), TALLY, *verb.split()]
    done = subprocess.run(command, env=tally.env, capture_output=True, text=True, check=False)
    assert done.returncode == Exit.SANDBOX
    assert done.stdout == ""
    for words in ("sandbox", str(tally.socket), "allowUnixSockets", "network_access", "Traceback"):
        assert (words in done.stderr) is (words != "Traceback"), done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_caller_without_standard_descriptors_starts_it_as_well(tally: Tally, closed: str) -> None:
    """Whatever descriptors the caller has closed, the daemon gets its own, and the exit code is right."""
    done = subprocess.run(["sh", "-c", f"exec {TALLY} up {closed}"], env=tally.env, timeout=60, check=False)
    assert done.returncode == Exit.OK
    assert tally.ok("status", "--json").object["running"] is True


MANAGER = """#!{python}
import os, subprocess, sys
with open("{told}", "a") as told:
    print(*sys.argv[1:], file=told)
if sys.argv[2] == "cat":
    sys.exit({known})
if {starts}:
    reads, writes = os.pipe()
    os.set_inheritable(writes, True)
    subprocess.Popen(["{tallyd}", "--ready-fd", str(writes)], close_fds=False, start_new_session=True,
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writes)
    sys.exit(os.read(reads, 1) == b"")
sys.exit(5)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")
@pytest.mark.parametrize(("known", "starts"), [(True, True), (True, False), (False, False)])
def test_the_service_manager_starts_its_own_unit(tally: Tally, known: bool, starts: bool) -> None:
    """Where a unit is known it is started, and its failure is told; else a session of its own is."""
    told = tally.root / "told"
    manager = tally.root / "systemctl"
    words = {"python": sys.executable, "told": told, "tallyd": Path(sys.executable).parent / "tallyd"}
    manager.write_text(MANAGER.format(known=int(not known), starts=starts, **words))
    manager.chmod(0o755)
    for name in ("TALLY_DATA_DIR", "TALLY_RUNTIME_DIR", "TALLY_STATE_DIR"):
        del tally.env[name]
    tally.env |= {"PATH": f"{tally.root}:{os.defpath}", "XDG_RUNTIME_DIR": str(tally.root)}
    done = tally("up", "--json")
    asked = told.read_text().splitlines()
    assert asked == ["--user cat tallyd.service", *(["--user start tallyd.service"] if known else [])]
    assert done.code == (Exit.NOT_STARTED if known and not starts else Exit.OK), done
    log = Path(tally.ok("paths", "--json").object["log"])
    assert log.exists() is (not known)


def test_the_service_manager_is_not_asked_for_other_places(tally: Tally) -> None:
    """A unit serves the default places: for a store elsewhere no service manager is asked."""
    manager = tally.root / "systemctl"
    manager.write_text(f"#!/bin/sh\ntouch {tally.root}/asked\nexit 0\n")
    manager.chmod(0o755)
    tally.env["PATH"] = f"{tally.root}:{os.defpath}"
    tally.ok("up")
    assert not (tally.root / "asked").exists()


# --- stopping -----------------------------------------------------------------------------------------------
def test_down_returns_when_the_daemon_has_ended(tally: Tally) -> None:
    """After `down` the daemon has let go of its locks; a second `down` finds nothing to do."""
    tally.ok("up")
    locks = [tally.data_dir / "lock", tally.runtime_dir / "lock"]
    for path in locks:
        with path.open() as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert tally.ok("down", "--json").object == {"stopped": True}
    for path in locks:
        with path.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert tally.ok("down", "--json").object == {"stopped": False}
    assert tally("status").code == Exit.UNREACHABLE


def test_down_starts_no_daemon(tally: Tally) -> None:
    """Stopping where nothing runs starts nothing."""
    tally.ok("down")
    assert not tally.data_dir.exists()
