"""Starts the daemon where none runs.

*Where none runs* means that the kernel said so: connecting gave ENOENT or ECONNREFUSED. EPERM and EACCES mean
that a sandbox stands in between, and then nothing is started: a daemon inside an agent's sandbox would keep
the record where nobody else finds it, and end with the agent.

A daemon is started through the service manager where it knows a unit, else in a session of its own, with a
fixed environment and closed descriptors, as a grandchild: it belongs to nobody who may be ended together with
his children. It says through an inherited pipe when it is ready, so nobody polls. Two who start at once race
for the daemon's own lock; the loser's daemon exits, and the loser connects to the winner's.

A start that migrates a large store takes minutes, and says how far it is: it is waited for while it goes on,
and people are told (``watching``).

Only a call that has to start something pays for the modules that starting takes.

What it does not do: it never unlinks a socket or a lock, sends no signal, and trusts no stored process id.
"""

import errno
import fcntl
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from tally_cli.exits import Exit
from tally_cli.stopping import peer_uid
from tally_cli.trouble import Trouble
from tallystick.core import blocked
from tallystick.paths import PathError, Paths, resolve

if TYPE_CHECKING:
    from tally_cli.watching import Watch

READY_SECONDS_MAX: Final = 30
"""A start after a crash replays the write-ahead log, which is bounded: seconds, not minutes. One that says
how far it is with a migration is given longer."""
CONNECT_SECONDS_MAX: Final = 10
"""A listener whose queue is full still answers, only later."""
LOG_BYTES_MAX: Final = 8 * 2**20
"""A log beyond this is set aside when the next daemon is started, so that two of them at most are kept."""
LOST_RACE: Final = frozenset({74, 75})
"""Exit codes of ``tallyd``: another one holds the data directory, or the runtime directory."""
WINNER_SECONDS_MAX: Final = 10.0
"""How long the winner of a race may take from its lock to its socket: as long as a start takes."""
_PAUSE_SECONDS_MIN: Final = 0.01
_PAUSE_SECONDS_MAX: Final = 0.25

UNIT: Final = "tallyd.service"
LAUNCHD_LABEL: Final = "dev.tallystick.tallyd"
_MANAGER_SECONDS_MAX: Final = 60

SANDBOX_MARKERS: Final = ("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "SANDBOX_RUNTIME")
"""Variables that agents' sandboxes set for what runs in them, whether or not they let a socket through."""

KEPT_VARIABLES: Final = (
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "TMPDIR", "TZ", "USER",
    "TALLY_STATE_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
)  # fmt: skip
"""All that a daemon takes over from the shell of whoever happened to start it."""
DAEMON_PATH: Final = "/usr/local/bin:/usr/bin:/bin"

_READY_FD: Final = 3
# Codes of the process in between, beyond those that tallyd has (64 to 113) and those of signals (129 to 192).
_NO_MIDWIFE: Final = 252
_NOT_EXECUTED: Final = 253
_NOT_READY: Final = 254


# --- is somebody there? -------------------------------------------------------------------------------------
def connect(path: str) -> socket.socket | None:
    """A connection to the socket at `path`, or None where the kernel says that nobody listens there.

    Raises `Trouble`: exit 4 where connecting is forbidden, exit 3 where it fails otherwise.
    """
    try:
        found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    except OSError as error:
        raise _not_connected(path, error) from error
    try:
        found.settimeout(CONNECT_SECONDS_MAX)
        found.connect(path)
    except OSError as error:
        found.close()
        if error.errno in (errno.ENOENT, errno.ECONNREFUSED):
            return None
        raise _not_connected(path, error) from error
    return found


def answers(path: str) -> bool:
    """Whether somebody listens at `path`. Raises what `connect` and `check_listener` raise."""
    found = connect(path)
    if found is None:
        return False
    with found:
        check_listener(found, path)
    return True


def check_listener(found: socket.socket, path: str) -> None:
    """Raise `Trouble` (exit 3) where whoever listens at `path` closes our connections before it reads a byte.

    The kernel says whose daemon it is, and the socket's mode whom it is for: 0600 its owner alone. A socket
    that is open to others is for an agent with a uid of its own, and only the daemon knows which: it is asked
    for a word, and a closed connection is the answer.
    """
    theirs = peer_uid(found)
    try:
        is_for_others = bool(os.stat(path).st_mode & 0o002)
    except OSError:
        return  # it went while we came; what is asked next says so
    if is_for_others and not _is_served(found):
        raise Trouble(
            Exit.UNREACHABLE,
            "another-uid",
            f"The socket {path} is for an agent with a uid of its own, which is not this process's"
            f" ({os.geteuid()}): the daemon closes the connection unread. Run this as the agent's uid, or"
            " name the directory of your own sockets with TALLY_RUNTIME_DIR.",
            socket=path,
        )
    if not is_for_others and theirs not in (None, os.geteuid()):
        raise _another_user(path, theirs)


def _is_served(found: socket.socket) -> bool:
    """Whether the daemon answers on this connection, whatever it says; one that is slow does."""
    from tallystick import calls
    from tallystick.core import prepare

    try:
        found.sendall(prepare(calls.service.hello()).line + b"\n")
        return bool(found.recv(1))
    except TimeoutError:
        return True
    except OSError:
        return False


def _another_user(path: str, uid: int | None) -> Trouble:
    return Trouble(
        Exit.UNREACHABLE,
        "another-user",
        f"The socket {path} belongs to another user (uid {uid}), and this process has uid {os.geteuid()}: a"
        " daemon serves its own user alone. `tally paths` shows where this program looks; TALLY_RUNTIME_DIR"
        " names the directory of your own daemon's sockets.",
        socket=path,
    )


def _owner_above(path: str) -> int | None:
    """The uid of who keeps us from the socket: the owner of it, or of the first directory above it that
    we see. None where that is nobody else.
    """
    while True:
        try:
            uid = os.stat(path).st_uid
        except OSError:
            if path == os.path.dirname(path):
                return None
            path = os.path.dirname(path)
            continue
        return None if uid in (0, os.geteuid()) else uid


def _not_connected(path: str, error: OSError) -> Trouble:
    owner = _owner_above(path) if error.errno == errno.EACCES else None
    if owner is not None:
        return _another_user(path, owner)
    if error.errno in (errno.EPERM, errno.EACCES):
        return Trouble(Exit.SANDBOX, "sandbox-blocked", blocked(path, error), socket=path)
    return Trouble(
        Exit.UNREACHABLE,
        "unreachable",
        f"Connecting to {path} failed: {error.strerror or error}."
        " `tally paths` shows where the daemon is expected.",
        socket=path,
    )


def not_running(paths: Paths) -> Trouble:
    """What to say where no daemon answers and none is to be started."""
    return Trouble(
        Exit.UNREACHABLE,
        "not-running",
        f"No daemon answers at {paths.client_socket}. `tally up` starts one.",
        socket=paths.client_socket,
    )


# --- starting -----------------------------------------------------------------------------------------------
def ensure_running(
    paths: Paths, env: Mapping[str, str] = os.environ, tell: Callable[[str], None] | None = None
) -> bool:
    """See to it that a daemon answers at `paths`; returns whether one had to be started.

    `tell` hears sentences about a start that takes long, once a second at most.

    Raises `Trouble`: exit 4 inside a sandbox, 6 where the daemon refused to run, 3 where it does not get
    ready, 8 where its log cannot be written.
    """
    if answers(paths.client_socket):
        return False
    markers = [name for name in SANDBOX_MARKERS if env.get(name)]
    if markers:
        raise Trouble(
            Exit.SANDBOX,
            "sandbox-no-start",
            f"No daemon answers at {paths.client_socket}, and this process runs in a sandbox"
            f" ({markers[0]} is set), where none is started: nobody outside would find its record."
            " Run `tally up` outside of the sandbox.",
            socket=paths.client_socket,
        )
    from tally_cli.watching import Watch

    watch = Watch(paths.starting, tell)
    if not (_is_default(paths, env) and _start_unit(watch)):
        _start_session(paths, env, watch)
    return True


def clean_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of a daemon: what it finds its places by, and nothing to steer it by."""
    return {"PATH": DAEMON_PATH, **{name: env[name] for name in KEPT_VARIABLES if env.get(name)}}


def find_tallyd(env: Mapping[str, str]) -> str:
    """The daemon's program: beside this interpreter, else in an absolute directory of ``PATH``.

    The working directory is never searched. Raises `Trouble` (exit 6) where there is none.
    """
    import shutil

    beside = os.path.join(os.path.dirname(sys.executable), "tallyd")
    if os.access(beside, os.X_OK):
        return beside
    places = [place for place in env.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(place)]
    found = shutil.which("tallyd", path=os.pathsep.join(places)) if places else None
    if found is None:
        raise Trouble(
            Exit.NOT_STARTED,
            "no-daemon-program",
            f"There is no program tallyd beside {sys.executable}, nor in PATH."
            " Install the package tallystick where tally is installed.",
        )
    return found


def _is_default(paths: Paths, env: Mapping[str, str]) -> bool:
    """Whether these are the places that a unit of the service manager, which has no variables, serves."""
    try:
        return paths == resolve(env={name: env[name] for name in env if not name.startswith("TALLY_")})
    except PathError:
        return False


def _start_unit(watch: "Watch") -> bool:
    """Start the daemon through the service manager where it knows a unit; whether it did."""
    import shutil

    if sys.platform == "darwin":
        target = f"gui/{os.getuid()}/{LAUNCHD_LABEL}"
        known, start = ["launchctl", "print", target], ["launchctl", "kickstart", target]
    else:
        known, start = ["systemctl", "--user", "cat", UNIT], ["systemctl", "--user", "start", UNIT]
    if shutil.which(known[0]) is None or _manager(known, watch) != 0:
        return False
    code = _manager(start, watch)
    if code != 0:
        raise Trouble(
            Exit.NOT_STARTED,
            "unit-failed",
            f"`{' '.join(start)}` ended with exit code {code}. The service manager's log says why.",
        )
    return True


def _manager(command: Sequence[str], watch: "Watch") -> int:
    """The exit code of a command to the service manager, which waits for a daemon until it is ready."""
    import subprocess

    from tally_cli.watching import LOOK_SECONDS

    quiet = subprocess.DEVNULL
    began = time.monotonic()
    try:
        process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
    except OSError:
        return _NOT_READY
    with process:
        while time.monotonic() < watch.ends(began, _MANAGER_SECONDS_MAX):
            try:
                return process.wait(LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                watch.look()
        process.kill()
    return _NOT_READY


def _start_session(paths: Paths, env: Mapping[str, str], watch: "Watch") -> None:
    program = find_tallyd(env)
    places = ["--data-dir", paths.data_dir, "--runtime-dir", paths.runtime_dir]
    log = open_log(paths)
    try:
        begins = os.lseek(log, 0, os.SEEK_END)
        argv = [program, *places, "--ready-fd", str(_READY_FD)]
        code = _bear(argv, clean_environment(env), log, watch)
        if code == 0 or answers(paths.client_socket):
            return
        if code in LOST_RACE and winner_answers(paths.client_socket, WINNER_SECONDS_MAX, watch):
            return
        words = os.pread(log, 4096, begins).decode(errors="replace").strip()
    finally:
        os.close(log)
    raise _not_started(code, words, log_path(paths))


def winner_answers(path: str, seconds: float, watch: "Watch") -> bool:
    """Whether whoever won the race answers at `path` within so many seconds, or longer while it says that it
    goes on.

    The one place where we ask again and again: the winner is another's process, with no pipe to us.
    """
    pause, began = _PAUSE_SECONDS_MIN, time.monotonic()
    while not answers(path):
        if time.monotonic() + pause > watch.ends(began, seconds):
            return False
        time.sleep(pause)
        watch.look()
        pause = min(2 * pause, _PAUSE_SECONDS_MAX)
    return True


def _not_started(code: int, words: str, log: str) -> Trouble:
    if code == _NOT_READY:
        return Trouble(
            Exit.UNREACHABLE,
            "not-ready",
            f"A daemon was started, is not ready after {READY_SECONDS_MAX} s and does not say how far it is."
            f" Its log is {log}.",
            log=log,
        )
    return Trouble(
        Exit.NOT_STARTED,
        "daemon-refused",
        f"The daemon refused to run (exit code {code} of tallyd):\n{words or f'It said nothing to {log}.'}",
        daemon_exit=code,
        log=log,
    )


# --- the log ------------------------------------------------------------------------------------------------
def log_path(paths: Paths) -> str:
    """The log of a daemon that `tally` starts: one file for each runtime directory of this user."""
    return os.path.join(paths.state_dir, f"tallyd-{paths.runtime_dir.strip('/').replace('/', '-')}.log")


def open_log(paths: Paths) -> int:
    """A descriptor to append to the log, and to read it. Raises `Trouble` (exit 8) where that cannot be."""
    path = log_path(paths)
    try:
        os.makedirs(paths.state_dir, mode=0o700, exist_ok=True)
        if os.path.exists(path) and os.path.getsize(path) > LOG_BYTES_MAX:
            os.replace(path, path + ".1")
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Trouble(
            Exit.LOCAL_FILE,
            "log",
            f"The daemon's log {path} cannot be written: {error.strerror}."
            " Set TALLY_STATE_DIR to a directory that can.",
        ) from error


# --- birth --------------------------------------------------------------------------------------------------
def _bear(argv: list[str], env: Mapping[str, str], log: int, watch: "Watch") -> int:
    """Run `argv` as a grandchild in a session of its own; 0 once it is ready, else how it ended.

    The child in between leads the session, waits for the daemon's line on the pipe or for its end, and exits
    with what it learned: so the daemon is nobody's child as soon as it is ready, and leaves no zombie behind.
    """
    child = os.fork()
    if child == 0:
        _midwife(argv, env, log, watch)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else _NO_MIDWIFE


def _midwife(argv: list[str], env: Mapping[str, str], log: int, watch: "Watch") -> NoReturn:
    code = _NO_MIDWIFE
    try:
        caller = os.getppid()
        os.setsid()
        reads, writes = os.pipe()
        daemon = os.fork()
        if daemon == 0:
            _become(argv, env, log, writes)
        os.close(writes)
        code = _await_ready(reads, daemon, caller, watch)
    finally:
        os._exit(code)  # whatever happened: this copy of the caller must not go on as the caller


def _await_ready(reads: int, daemon: int, caller: int, watch: "Watch") -> int:
    """0 once the daemon is ready, else how it ended. The wait is given up where the daemon is silent for too
    long, and where the caller, whose stderr this is, has ended; the daemon itself goes on starting."""
    from tally_cli.watching import LOOK_SECONDS

    began = time.monotonic()
    while not select.select([reads], [], [], LOOK_SECONDS)[0]:
        watch.look()
        if time.monotonic() > watch.ends(began, READY_SECONDS_MAX) or os.getppid() != caller:
            return _NOT_READY
    if os.read(reads, 64):
        return 0
    _, status = os.waitpid(daemon, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code > 0 else 128 - code


def _become(argv: list[str], env: Mapping[str, str], log: int, ready: int) -> NoReturn:
    """Turn this process into the daemon: three standard descriptors, the pipe, and nothing else inherited."""
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        # First out of the way of the numbers that are set: a caller may have closed some of these.
        sources = [fcntl.fcntl(source, fcntl.F_DUPFD, _READY_FD + 1) for source in (nothing, log, ready)]
        for source, target in zip(sources, (0, 2, _READY_FD), strict=True):
            os.dup2(source, target)
        os.dup2(0, 1)
        os.closerange(_READY_FD + 1, os.sysconf("SC_OPEN_MAX"))
        os.chdir("/")
        os.umask(0o077)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execve(argv[0], argv, env)
    except OSError as error:
        os.write(2, f"{argv[0]} cannot be run: {error.strerror}\n".encode())
    finally:
        os._exit(_NOT_EXECUTED)
