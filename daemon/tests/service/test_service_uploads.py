"""Bytes that come while their upload ends, at the daemon's process."""

from __future__ import annotations

import base64
import hashlib
import os
from contextlib import ExitStack
from typing import Any, Final

from harness.home import Home
from harness.wire import Wire, request
from world import CLIENT

CHUNK: Final = bytes(128 * 1024)
ROUNDS: Final = 8
IN_FLIGHT: Final = 4
WRITERS: Final = 8


def _put(upload: str) -> Any:
    args = {"upload_id": upload, "offset": 0, "data": base64.b64encode(CHUNK).decode()}
    return request(CLIENT, "tallystick_artifact_put", args)


def test_what_is_written_while_its_upload_is_aborted_is_gone(home: Home) -> None:
    """Whenever the abort comes between the chunks: once it is answered there are no bytes, and none come."""
    declared = {
        "declared_raw_sha256": hashlib.sha256(CHUNK).hexdigest(),
        "declared_size": len(CHUNK),
        "declared_media_type": "text/plain",
    }
    staging = os.path.join(home.paths.data_dir, "artifacts", "staging")
    with home.start() as daemon, ExitStack() as stack:
        writers = [stack.enter_context(Wire(daemon.paths)) for _ in range(WRITERS)]
        other = stack.enter_context(Wire(daemon.paths))
        for number in range(ROUNDS):
            begin = request(CLIENT, "tallystick_artifact_begin", declared, key=f"b{number}")
            upload = other.ask(begin).result["upload_id"]
            for writer in writers:
                writer.send(*[_put(upload)] * IN_FLIGHT)
            assert writers[0].receive("tallystick_artifact_put").ok
            abort = request(CLIENT, "artifact_upload_abort", {"upload_id": upload}, key=f"a{number}")
            assert other.ask(abort).ok
            assert os.listdir(staging) == []
            left = [*writers * IN_FLIGHT][1:]
            replies = [writer.receive("tallystick_artifact_put") for writer in left]
            assert {reply.kind for reply in replies} <= {None, "stale-revision"}
            assert os.listdir(staging) == []
