"""Files from the shell: put, carried by what is said, listed, and got again."""

from __future__ import annotations

import os
import random

from tally_program import Tally

from tally_cli.exits import Exit
from tallystick.protocol import limits

MANY_BYTES = random.Random(7).randbytes(3 * limits.ARTIFACT_CHUNK_BYTES_MAX + 11)


def test_a_file_is_put_and_got_byte_for_byte(tally: Tally, space: str) -> None:
    """Larger than a chunk, into a file and into a pipe; its media type is guessed from its name."""
    assert space
    (tally.root / "leak.png").write_bytes(MANY_BYTES)
    artifact = tally.id("artifact", "put", "leak.png")
    shown = tally.ok("show", artifact, "--json").object
    assert (shown["state"], shown["media_type"], shown["size"]) == ("available", "image/png", len(MANY_BYTES))
    tally.ok("artifact", "get", artifact, "back.png")
    assert (tally.root / "back.png").read_bytes() == MANY_BYTES
    assert os.stat(tally.root / "back.png").st_mode & 0o777 == 0o600
    listed = tally.ok("artifact", "list", "--state", "available").out
    rows = [line.split("\t") for line in listed.splitlines()]
    assert [(row[0], row[1], row[3]) for row in rows] == [(artifact, "available", "image/png")]


def test_bytes_go_into_a_pipe_as_they_are(tally: Tally, space: str) -> None:
    """Nothing is made visible in them, and nothing is added; a name that says nothing makes them octets."""
    assert space
    (tally.root / "data").write_bytes(b"\x1b]0;owned\x07\n")
    artifact = tally.ok("artifact", "put", "data", "--json").object
    assert artifact["media_type"] == "application/octet-stream"
    assert tally.ok("artifact", "get", artifact["artifact_id"]).out == "\x1b]0;owned\x07\n"


def test_no_file_is_overwritten_and_none_is_left_half(tally: Tally, space: str) -> None:
    """A file that is there stays as it is; of what cannot be got no file is left."""
    assert space
    (tally.root / "mine").write_text("mine")
    artifact = tally.id("artifact", "put", "mine", "--media-type", "text/plain")
    assert tally("artifact", "get", artifact, "mine").code == Exit.LOCAL_FILE
    assert (tally.root / "mine").read_text() == "mine"
    missing = tally("artifact", "get", f"art-{'0' * 32}", "other", "--json")
    assert (missing.code, missing.error["kind"]) == (Exit.PROBLEM, "not-found")
    assert not (tally.root / "other").exists()
    assert tally("artifact", "put", "no such file").code == Exit.LOCAL_FILE


def test_the_same_key_is_the_same_artifact(tally: Tally, space: str) -> None:
    """An upload that is called again under its key is gone on with, and is one."""
    assert space
    (tally.root / "leak.png").write_bytes(b"drip")
    once = tally.id("artifact", "put", "leak.png", "--key", "leak")
    assert tally.id("artifact", "put", "leak.png", "--key", "leak") == once
    assert len(tally.ok("artifact", "list").out.splitlines()) == 1


def test_what_is_said_carries_files(tally: Tally, space: str) -> None:
    """Beside a text, or alone; redacting it erases them."""
    (tally.root / "leak.png").write_bytes(b"drip")
    artifact = tally.id("artifact", "put", "leak.png")
    both = tally.ok("say", "look", "--artifact", artifact, "--space", space, "--json").object
    assert both["body_parts"] == [
        {"media_type": "text/plain", "text": "look"},
        {"artifact_ref": artifact},
    ]
    alone = tally.id("say", "--artifact", artifact, "--kind", "evidence", "--space", space)
    assert f"[{artifact}]" in tally.ok("show", alone).out
    tally.ok("redact", alone)
    assert tally("artifact", "get", artifact).code == Exit.PROBLEM
    assert tally.ok("show", artifact, "--json").object["state"] == "erased"
