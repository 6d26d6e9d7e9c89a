"""Where everything is: the one function that daemon, SDK and CLI compute places with.

If a client and its daemon computed a socket's path each in its own way, they would one day differ, and the
daemon would look dead while it runs. So ``resolve`` is a function of two arguments and the environment, and
of nothing that changes while a daemon runs: it looks neither whether a directory exists nor whether anybody
listens in it. ``tally paths`` prints what it gives.

- Data directory: the argument, else ``TALLY_DATA_DIR``, else ``$XDG_DATA_HOME/tally``, else
  ``~/.local/share/tally``.
- Runtime directory, which holds the sockets: the argument, else ``TALLY_RUNTIME_DIR``, else
  ``$XDG_RUNTIME_DIR/tally``, else ``/tmp/tally-<uid>``.
- State directory: ``TALLY_STATE_DIR``, else ``$XDG_STATE_HOME/tally``, else ``~/.local/state/tally``.
- A data directory other than the default has a runtime directory of its own, named by the data directory's
  hash, so that two daemons with two stores never meet. A runtime directory given explicitly is taken as it
  is.
- A runtime directory whose sockets' paths would be longer than the kernel takes is replaced by a short one
  in /tmp, named by its hash, as gpg-agent does; ``Paths.runtime_dir_wanted`` then differs from
  ``Paths.runtime_dir``, and ``Paths.note()`` says so in a sentence.
- A relative ``TALLY_…`` variable is refused: it would name another place in each working directory. A
  relative ``XDG_…`` variable is ignored, as the XDG Base Directory Specification demands. An empty one
  counts as unset.

``resolve`` creates, opens and checks nothing; whoever uses a directory checks its owner and mode.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

SOCKET_PATH_BYTES_MAX: Final = 103
"""``sun_path`` holds 108 bytes on Linux and 104 on macOS, the closing NUL among them: 103 work
everywhere."""

CLIENT_SOCKET: Final = "tally.sock"
WORKER_SOCKET: Final = "tally-worker.sock"
CLIENT_ALIAS: Final = "kovee.sock"
WORKER_ALIAS: Final = "kovee-worker.sock"

_LONGEST_NAME: Final = max((CLIENT_SOCKET, WORKER_SOCKET, CLIENT_ALIAS, WORKER_ALIAS), key=len)
_SHORT_ROOT: Final = "/tmp"  # not $TMPDIR: daemon and client may have different ones
_HASH_HEX_DIGITS: Final = 16


class PathError(ValueError):
    """A place cannot be computed from what was given; the text says from what, and which variable to
    set."""


class Paths(NamedTuple):
    """All places of one store, each an absolute path."""

    data_dir: str
    database: str
    keys_dir: str
    data_lock: str
    marker: str
    runtime_dir: str
    client_socket: str
    worker_socket: str
    client_alias: str
    """Symbolic link to ``client_socket``, under the name that KCP clients look for."""
    worker_alias: str
    runtime_lock: str
    state_dir: str
    runtime_dir_wanted: str
    """What was asked for; differs from ``runtime_dir`` where its sockets' paths would be too long."""

    def marker_copy(self, store_id: str) -> str:
        """The copy of a store's marker in the state directory: one file a store."""
        return os.path.join(self.state_dir, f"{store_id}.json")

    @property
    def starting(self) -> str:
        """The file in which a daemon that takes long to start says how far it is; gone once it is ready."""
        return os.path.join(self.runtime_dir, "starting.json")

    def note(self) -> str | None:
        """A sentence for people, where the sockets are not in the directory that was asked for; else
        None."""
        if self.runtime_dir == self.runtime_dir_wanted:
            return None
        return (
            f"{_too_long(os.path.join(self.runtime_dir_wanted, _LONGEST_NAME))}, so the sockets are in"
            f" {self.runtime_dir}. Set TALLY_RUNTIME_DIR to a shorter directory to choose another place."
        )


def resolve(
    data_dir: str | None = None,
    runtime_dir: str | None = None,
    env: Mapping[str, str] = os.environ,
) -> Paths:
    """The places that belong to these arguments in this environment. Raises :class:`PathError`."""
    data = _given(data_dir, "the data directory") or _variable(env, "TALLY_DATA_DIR")
    default = _xdg(env, "XDG_DATA_HOME", ".local/share")
    if data is None:
        data = default
    if data is None:
        raise PathError(_homeless("data", "TALLY_DATA_DIR"))
    state = _variable(env, "TALLY_STATE_DIR") or _xdg(env, "XDG_STATE_HOME", ".local/state")
    if state is None:
        raise PathError(_homeless("state", "TALLY_STATE_DIR"))
    wanted = _given(runtime_dir, "the runtime directory") or _variable(env, "TALLY_RUNTIME_DIR")
    if wanted is None:
        wanted = _runtime_default(env, data, default)
    runtime = wanted
    if _bytes(os.path.join(wanted, _LONGEST_NAME)) > SOCKET_PATH_BYTES_MAX:
        runtime = f"{_short()}-{_hash('runtime', wanted)}"
    for path in (data, state, wanted):
        _check_text(path)
    return _paths(data, runtime, wanted, state)


def _check_text(path: str) -> None:
    """Raise PathError for a path that is no UTF-8 on the disk: SQLite opens no other, and no message could
    name it.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise PathError(f"the path {shown} is not UTF-8; name a directory whose path is") from None


def migration_copies(database: str) -> list[str]:
    """What stands beside a database under the name of a copy that was made before a migration.

    The one function here that looks at the disk. Raises OSError; a directory that is not there has none.
    """
    where, name = os.path.split(database)
    try:
        found = os.listdir(where)
    except FileNotFoundError:
        return []
    pattern = re.compile(re.escape(name) + r"\.before-\d{4}")
    return sorted(os.path.join(where, each) for each in found if pattern.fullmatch(each))


def check_socket_path(path: str) -> None:
    """Raise :class:`PathError` where a socket's ``path`` is too long: to be asked before bind or
    connect."""
    if _bytes(path) > SOCKET_PATH_BYTES_MAX:
        raise PathError(f"{_too_long(path)}. Set TALLY_RUNTIME_DIR to a shorter directory.")


def _paths(data: str, runtime: str, wanted: str, state: str) -> Paths:
    return Paths(
        data_dir=data,
        database=os.path.join(data, "tally.db"),
        keys_dir=os.path.join(data, "keys"),
        data_lock=os.path.join(data, "lock"),
        marker=os.path.join(data, "store.json"),
        runtime_dir=runtime,
        client_socket=os.path.join(runtime, CLIENT_SOCKET),
        worker_socket=os.path.join(runtime, WORKER_SOCKET),
        client_alias=os.path.join(runtime, CLIENT_ALIAS),
        worker_alias=os.path.join(runtime, WORKER_ALIAS),
        runtime_lock=os.path.join(runtime, "lock"),
        state_dir=state,
        runtime_dir_wanted=wanted,
    )


def _runtime_default(env: Mapping[str, str], data: str, default: str | None) -> str:
    base = env.get("XDG_RUNTIME_DIR", "")
    root = os.path.join(os.path.normpath(base), "tally") if os.path.isabs(base) else _short()
    # Two spellings of one directory must meet in one runtime directory, hence the real paths.
    real = os.path.realpath(data)
    if default is not None and real == os.path.realpath(default):
        return root
    return f"{root}-{_hash('data', real)}"


def _short() -> str:
    return os.path.join(_SHORT_ROOT, f"tally-{os.getuid()}")


def _hash(what: str, path: str) -> str:
    return hashlib.sha256(what.encode() + b"\0" + os.fsencode(path)).hexdigest()[:_HASH_HEX_DIGITS]


def _given(argument: str | None, what: str) -> str | None:
    if argument is None:
        return None
    if not argument:
        raise PathError(f"{what} is given as an empty path; name a directory")
    if "\0" in argument:
        raise PathError(f"{what} is given as {argument!r}: a path cannot hold a NUL byte")
    return os.path.abspath(argument)


def _variable(env: Mapping[str, str], name: str) -> str | None:
    value = env.get(name, "")
    if not value:
        return None
    if "\0" in value:
        raise PathError(f"{name} is {value!r}: a path cannot hold a NUL byte")
    if not os.path.isabs(value):
        raise PathError(
            f"{name} is {value!r}, which is not absolute: it would name another place in each working"
            f" directory. Set {name} to a path that begins with /"
        )
    return os.path.normpath(value)


def _xdg(env: Mapping[str, str], name: str, below_home: str) -> str | None:
    base = env.get(name, "")
    if os.path.isabs(base):
        return os.path.join(os.path.normpath(base), "tally")
    home = env.get("HOME", "")
    if not os.path.isabs(home):
        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:  # a container's uid often has no entry
            return None
    return os.path.join(os.path.normpath(home), below_home, "tally")


def _homeless(which: str, name: str) -> str:
    return (
        f"no place for the {which} directory: HOME is not set and uid {os.getuid()} has no entry in the"
        f" password database. Set {name} to a directory"
    )


def _bytes(path: str) -> int:
    return len(os.fsencode(path))


def _too_long(path: str) -> str:
    return (
        f"the socket path {path} has {_bytes(path)} bytes, and {SOCKET_PATH_BYTES_MAX} is what the"
        " address of a Unix socket can hold on every system"
    )
