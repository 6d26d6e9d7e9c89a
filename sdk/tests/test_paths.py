"""Every place of a store, computed by one function."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tallystick import paths
from tallystick.paths import PathError, resolve

UID = os.getuid()
BARE = {"HOME": "/home/ada"}


def test_defaults_stand_below_home_and_tmp() -> None:
    """Without arguments and variables, places follow the XDG defaults and the uid."""
    found = resolve(env=BARE)
    assert found.data_dir == "/home/ada/.local/share/tally"
    assert found.state_dir == "/home/ada/.local/state/tally"
    assert found.runtime_dir == f"/tmp/tally-{UID}"
    assert found.note() is None


def test_every_file_stands_in_its_directory() -> None:
    """Names of files are fixed: other programs look for them."""
    found = resolve("/d", "/r", {"HOME": "/h", "TALLY_STATE_DIR": "/s"})
    assert found.database == "/d/tally.db"
    assert found.keys_dir == "/d/keys"
    assert found.data_lock == "/d/lock"
    assert found.marker == "/d/store.json"
    assert found.client_socket == "/r/tally.sock"
    assert found.worker_socket == "/r/tally-worker.sock"
    assert found.client_alias == "/r/kovee.sock"
    assert found.worker_alias == "/r/kovee-worker.sock"
    assert found.runtime_lock == "/r/lock"
    assert found.marker_copy("store-1") == "/s/store-1.json"


def test_xdg_variables_are_used() -> None:
    """XDG directories replace the defaults below HOME."""
    env = {**BARE, "XDG_DATA_HOME": "/x/data", "XDG_STATE_HOME": "/x/state", "XDG_RUNTIME_DIR": "/run/user/7"}
    found = resolve(env=env)
    assert (found.data_dir, found.state_dir, found.runtime_dir) == (
        "/x/data/tally",
        "/x/state/tally",
        "/run/user/7/tally",
    )


@pytest.mark.parametrize("value", ["", "relative/dir"])
def test_xdg_variable_that_is_not_absolute_is_ignored(value: str) -> None:
    """The XDG specification says that a relative path is invalid and must be ignored."""
    env = {**BARE, "XDG_DATA_HOME": value, "XDG_STATE_HOME": value, "XDG_RUNTIME_DIR": value}
    assert resolve(env=env) == resolve(env=BARE)


def test_own_variables_come_before_xdg_and_arguments_before_both() -> None:
    """Argument, then TALLY_…, then XDG_…."""
    env = {
        **BARE,
        "XDG_DATA_HOME": "/x",
        "XDG_RUNTIME_DIR": "/x",
        "XDG_STATE_HOME": "/x",
        "TALLY_DATA_DIR": "/t/data",
        "TALLY_RUNTIME_DIR": "/t/run",
        "TALLY_STATE_DIR": "/t/state",
    }
    found = resolve(env=env)
    assert (found.data_dir, found.runtime_dir, found.state_dir) == ("/t/data", "/t/run", "/t/state")
    found = resolve("/a/data", "/a/run", env)
    assert (found.data_dir, found.runtime_dir, found.state_dir) == ("/a/data", "/a/run", "/t/state")


def test_another_data_directory_has_another_runtime_directory() -> None:
    """Two stores never share sockets unless somebody says so."""
    env = {**BARE, "XDG_RUNTIME_DIR": "/run/user/7"}
    one, two, three = resolve(env=env), resolve("/srv/one", env=env), resolve("/srv/two", env=env)
    assert len({one.runtime_dir, two.runtime_dir, three.runtime_dir}) == 3
    assert two.runtime_dir.startswith("/run/user/7/tally-")
    assert resolve("/srv/one", env=BARE).runtime_dir.startswith(f"/tmp/tally-{UID}-")
    assert resolve("/srv/one", "/r", env).runtime_dir == "/r"
    assert resolve("/srv/one", env={**env, "TALLY_RUNTIME_DIR": "/r"}).runtime_dir == "/r"


def test_the_default_data_directory_named_by_hand_is_still_the_default() -> None:
    """Saying what would be taken anyway does not move the sockets."""
    assert resolve("/home/ada/.local/share/tally", env=BARE) == resolve(env=BARE)
    assert resolve(env={**BARE, "TALLY_DATA_DIR": "/home/ada/.local/share/tally/"}) == resolve(env=BARE)


def test_two_spellings_of_one_data_directory_meet(tmp_path: Path) -> None:
    """A client that comes through a symbolic link finds the daemon that did not."""
    (tmp_path / "real" / "store").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    direct, linked = (
        resolve(str(tmp_path / "real/store"), env=BARE),
        resolve(str(tmp_path / "link/store"), env=BARE),
    )
    assert direct.runtime_dir == linked.runtime_dir


def test_the_runtime_directory_does_not_depend_on_what_exists(tmp_path: Path) -> None:
    """Client and daemon agree before the first start and after it."""
    before = resolve(str(tmp_path / "store"), env=BARE)
    (tmp_path / "store").mkdir()
    assert resolve(str(tmp_path / "store"), env=BARE) == before


def test_relative_argument_is_taken_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path typed at a shell means what it means there, and is kept absolute."""
    monkeypatch.chdir(tmp_path)
    assert resolve("store", "run", BARE).data_dir == str(tmp_path / "store")
    assert resolve("store", "run", BARE).runtime_dir == str(tmp_path / "run")


@pytest.mark.parametrize("name", ["TALLY_DATA_DIR", "TALLY_RUNTIME_DIR", "TALLY_STATE_DIR"])
@pytest.mark.parametrize("value", ["store", "~/store", "./x"])
def test_relative_variable_is_refused_by_name(name: str, value: str) -> None:
    """A relative variable would name another place in each working directory."""
    with pytest.raises(PathError, match=name):
        resolve(env={**BARE, name: value})


def test_empty_variable_counts_as_unset_and_empty_argument_does_not() -> None:
    """``TALLY_DATA_DIR=`` is how shells unset; an empty argument is a mistake in a script."""
    assert resolve(env={**BARE, "TALLY_DATA_DIR": "", "TALLY_RUNTIME_DIR": ""}) == resolve(env=BARE)
    with pytest.raises(PathError, match="data directory"):
        resolve("", env=BARE)
    with pytest.raises(PathError, match="runtime directory"):
        resolve("/d", "", BARE)


def test_nul_byte_is_refused() -> None:
    """No system call takes it, and none should see half a path."""
    with pytest.raises(PathError, match="NUL"):
        resolve("/d\0x", env=BARE)
    with pytest.raises(PathError, match="TALLY_STATE_DIR"):
        resolve(env={**BARE, "TALLY_STATE_DIR": "/d\0x"})


@pytest.mark.parametrize("extra", [0, 1])
def test_case_014_long_runtime_directory_is_replaced_by_a_short_one(extra: int) -> None:
    """103 bytes are taken; one more gets a short directory named by its hash, and a sentence with both."""
    room = paths.SOCKET_PATH_BYTES_MAX - len("/tally-worker.sock")
    wanted = "/" + "d" * (room - 1 + extra)
    found = resolve("/d", wanted, BARE)
    assert len(found.worker_socket) <= 103
    if not extra:
        assert (found.runtime_dir, found.note()) == (wanted, None)
        return
    assert found.runtime_dir.startswith(f"/tmp/tally-{UID}-")
    assert found.runtime_dir_wanted == wanted
    note = found.note()
    assert note is not None
    assert all(part in note for part in ("104 bytes", "103", "TALLY_RUNTIME_DIR", found.runtime_dir, wanted))


def test_case_014_two_long_directories_do_not_meet() -> None:
    """The short directory belongs to one long one, from whichever side it is asked for."""
    one, two = "/" + "a" * 120, "/" + "b" * 120
    assert resolve("/d", one, BARE).runtime_dir != resolve("/d", two, BARE).runtime_dir
    assert resolve("/d", one, BARE) == resolve("/d", env={**BARE, "TALLY_RUNTIME_DIR": one})


def test_case_015_length_is_counted_in_bytes() -> None:
    """The kernel counts bytes, not characters."""
    found = resolve("/d", "/" + "ü" * 50, BARE)
    assert found.runtime_dir != found.runtime_dir_wanted


def test_case_016_a_socket_path_that_is_too_long_names_length_limit_and_variable() -> None:
    """Whoever names a socket outright gets the reason before bind or connect, not an errno after it."""
    paths.check_socket_path("/" + "s" * 102)
    with pytest.raises(PathError, match=r"104 bytes.*103.*TALLY_RUNTIME_DIR"):
        paths.check_socket_path("/" + "s" * 103)


def test_case_015_the_longest_path_that_is_taken_can_be_bound() -> None:
    """The limit is one that the kernel of this machine takes."""
    with (
        tempfile.TemporaryDirectory(prefix="ty", dir="/tmp") as root,
        socket.socket(socket.AF_UNIX) as listener,
    ):
        path = root + "/" + "s" * (paths.SOCKET_PATH_BYTES_MAX - len(root) - 1)
        paths.check_socket_path(path)
        listener.bind(path)
        assert os.path.exists(path)


def test_without_home_the_password_database_is_asked() -> None:
    """A service without HOME has a home all the same."""
    assert resolve(env={}) == resolve(env={"HOME": os.path.expanduser(f"~{_user()}")})


def test_without_any_home_the_variables_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A uid without an entry gets the two variables to set, and with them works."""
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 5)
    with pytest.raises(PathError, match="TALLY_DATA_DIR"):
        resolve(env={})
    with pytest.raises(PathError, match="TALLY_STATE_DIR"):
        resolve("/d", env={})
    assert resolve("/d", env={"TALLY_STATE_DIR": "/s"}).runtime_dir.startswith("/tmp/tally-")


def test_case_013_another_process_computes_the_same_places(tmp_path: Path) -> None:
    """Daemon and client are two processes in two working directories."""
    env = {"HOME": str(tmp_path), "TALLY_DATA_DIR": str(tmp_path / "d"), "PATH": os.environ["PATH"]}
    code = "from tallystick.paths import resolve; print(resolve())"
    ran = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd="/", capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == str(resolve(env=env))


def test_importing_it_costs_nothing_else() -> None:
    """The CLI computes places on every call: no third-party module may come with it."""
    code = (
        "import sys; before = set(sys.modules); import tallystick.paths;"
        "print(*{m.partition('.')[0] for m in set(sys.modules) - before})"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"trio", "msgspec", "apsw", "cryptography", "click"} & set(ran.stdout.split())


def test_copies_of_upgrades_are_found_by_their_names(tmp_path: Path) -> None:
    """What is named as a copy of that database is listed, in the order of the names, and nothing else.
    Without the directory there is none.
    """
    database = str(tmp_path / "tally.db")
    for name in ("before-0008", "before-0002", "before-0008.partial", "before-1", "before-00080"):
        (tmp_path / f"tally.db.{name}").touch()
    (tmp_path / "other.db.before-0001").touch()
    assert paths.migration_copies(database) == [f"{database}.before-0002", f"{database}.before-0008"]
    assert paths.migration_copies("/nowhere/tally.db") == []


def _user() -> str:
    return pwd.getpwuid(UID).pw_name
