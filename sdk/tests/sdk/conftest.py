"""What the SDK's tests share: short private directories, and the real daemon as a process."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tallyd_process import Tallyd


@pytest.fixture(autouse=True)
def _state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the key stores of the person who runs it."""
    for name in ("TALLY_DATA_DIR", "TALLY_RUNTIME_DIR", "TALLYD_ABORT", "TALLYD_BATCH_HOLD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TALLY_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture
def runtime_dir() -> Iterator[str]:
    """A directory for sockets whose paths are short enough for the kernel."""
    path = tempfile.mkdtemp(prefix="sdk", dir="/tmp")
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def socket_path(runtime_dir: str) -> str:
    """Where a client that is given ``runtime_dir`` looks."""
    return os.path.join(runtime_dir, "tally.sock")


@pytest.fixture
def run_python(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a Python process on a piece of source, which reads its arguments from ``sys.argv``."""
    started: list[subprocess.Popen[str]] = []

    def run(source: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", source, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def tallyd(tmp_path: Path, runtime_dir: str) -> Iterator[Tallyd]:
    """The real daemon on a fresh store, running."""
    daemon = Tallyd(str(tmp_path / "data"), runtime_dir)
    daemon.start()
    yield daemon
    daemon.kill()
