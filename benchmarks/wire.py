"""The few requests that the benchmarks make, as lines of bytes, and a blocking connection to set things up.

The lines are made by hand and not by the SDK: what is measured is the daemon, and the load must cost as
little as it can on a machine of two cores.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from typing import Any, Final, Self

REALM: Final = "realm-personal"
WORDS: Final = "a decision that somebody took and the reason that they gave for it, as they said it then; "


def text_of(size: int) -> str:
    """A text of that many bytes."""
    return (WORDS * (size // len(WORDS) + 1))[:size]


def keys() -> Iterator[bytes]:
    """Idempotency keys as the SDK makes them: 32 hex digits that sort by their time."""
    own = os.urandom(4).hex()
    last = 0
    while True:
        last = max(last + 1, time.time_ns() // 1_000_000 << 12)
        yield b"%012x7%03x8%07x%s" % (last >> 12, last & 0xFFF, last & 0xFFF_FFFF, own.encode())


def request(op: str, args: dict[str, Any], **members: Any) -> bytes:
    """A line, its newline included. ``members`` are project_id, meta, ext."""
    said = {"version": "0.1", "op": op, "realm_id": REALM, **members, "args": args}
    return json.dumps(said).encode() + b"\n"


class Space:
    """Where a client writes."""

    def __init__(self, project_id: str, space_id: str, branch_id: str) -> None:
        self.project_id = project_id
        self.space_id = space_id
        self.branch_id = branch_id


class Append:
    """Makes lines of ``contribution_append`` at a space's head: prebuilt but for the key."""

    def __init__(self, space: Space, text_bytes: int, kind: str = "evidence") -> None:
        line = request(
            "contribution_append",
            {
                "space_id": space.space_id,
                "branch_id": space.branch_id,
                "kind": kind,
                "body_parts": [{"media_type": "text/plain", "text": text_of(text_bytes)}],
            },
            project_id=space.project_id,
            meta={"request_id": "req-<key>", "idempotency_key": "<key>"},
            ext={"dev.tallystick.append": {"at_head": True}},
        )
        self._pieces = line.split(b"<key>")

    def line(self, key: bytes) -> bytes:
        """One request, its newline included."""
        return key.join(self._pieces)


class Wire:
    """One connection that asks and waits for the answer."""

    def __init__(self, path: str, timeout_seconds: float = 60.0) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout_seconds)
        self.socket.connect(path)
        self._file = self.socket.makefile("rb")
        self._keys = keys()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.socket.close()

    def ask(self, line: bytes) -> dict[str, Any]:
        """The reply. Raises RuntimeError for a problem, with its detail."""
        self.socket.sendall(line)
        return self.reply()

    def reply(self) -> dict[str, Any]:
        """The next reply of what was sent. Raises RuntimeError for a problem, with its detail."""
        answer: dict[str, Any] = json.loads(self._file.readline())
        if answer["outcome"] != "ok":
            raise RuntimeError(f"the daemon refused: {answer['problem']}")
        return answer

    def write(self, op: str, args: dict[str, Any], **members: Any) -> dict[str, Any]:
        """The result of a command under a new key."""
        key = next(self._keys).decode()
        meta = {"request_id": f"req-{key}", "idempotency_key": key}
        result: dict[str, Any] = self.ask(request(op, args, meta=meta, **members))["result"]
        return result

    def new_project(self, name: str) -> str:
        """Its id."""
        return str(self.write("project_create", {"name": name})["project_id"])

    def new_space(self, project_id: str, title: str) -> Space:
        """An open space of a project."""
        args = {"title": title, "visibility": "project"}
        made = self.write("space_create", args, project_id=project_id)
        return Space(project_id, made["space_id"], made["main_branch_id"])
