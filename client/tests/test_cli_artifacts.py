"""Files from the shell: put, carried by what is said, listed, and got again."""

from __future__ import annotations

import os
import random
import signal

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


def test_a_pipe_of_any_size_is_put_and_said(tally: Tally, space: str) -> None:
    """Bytes of a pipe become an artifact; a long text is carried by what is said, as one, under one key."""
    octets = tally.ok("artifact", "put", "-", "--json", stdin=MANY_BYTES).object
    assert (octets["size"], octets["media_type"]) == (len(MANY_BYTES), "application/octet-stream")
    text = ("Zeile mit ü\n" * 100_000).encode()
    said = tally.ok("say", "-", "--media-type", "text/x-log", "--space", space, "--key", "k", stdin=text)
    (part,) = tally.ok("show", said.out.strip(), "--json").object["body_parts"]
    assert part["artifact_ref"] in said.err
    carried = tally.ok("show", part["artifact_ref"], "--json").object
    assert (carried["size"], carried["media_type"]) == (len(text), "text/x-log")
    assert tally.ok("artifact", "get", part["artifact_ref"]).out.encode() == text
    again = tally.id("say", "-", "--media-type", "text/x-log", "--space", space, "--key", "k", stdin=text)
    assert again == said.out.strip()
    (tally.root / "controls").write_bytes(b"\x1b" * 60_000)
    fits_no_request = tally.ok("say", "--file", "controls", "--json").object
    assert fits_no_request["body_parts"][0]["artifact_ref"].startswith("art-")


def test_a_long_text_that_is_no_utf_8_is_refused_with_its_place(tally: Tally) -> None:
    """Nothing is uploaded of it, and nothing started."""
    refused = tally("say", "-", stdin=b"x" * 3_000_000 + b"\xe9")
    assert (refused.code, "byte 3000000 " in refused.err) == (Exit.USAGE, True), refused
    assert not tally.data_dir.exists()


def test_a_download_appears_when_it_is_whole(tally: Tally, space: str) -> None:
    """While bytes come there is no file of the name, and one that appears meanwhile is left as it is."""
    assert space
    os.mkfifo(tally.root / "pipe")
    putting = tally.start("artifact", "put", "pipe", "--media-type", "text/plain")
    (tally.root / "pipe").write_bytes(MANY_BYTES)
    artifact = putting.communicate()[0].strip()
    pid = tally.ok("status", "--json").object["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        getting = tally.start("artifact", "get", artifact, "leak.png", "--no-start")
        assert getting.stderr is not None
        assert "waiting for the download" in getting.stderr.readline()
        names = sorted(os.listdir(tally.root))
        assert "leak.png" not in names
        assert [name for name in names if name.endswith(".part")]
        (tally.root / "leak.png").write_text("mine")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert (getting.wait(), (tally.root / "leak.png").read_text()) == (Exit.LOCAL_FILE, "mine")
    assert not [name for name in os.listdir(tally.root) if name.endswith(".part")]
    getting.communicate()
