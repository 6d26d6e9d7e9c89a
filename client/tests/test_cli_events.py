"""`events`: what happened is printed once, and what happens is followed from a place that is kept."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tally_program import Tally

from tally_cli.exits import Exit
from tally_cli.output import first_line
from tally_cli.verbs.events import cells, summary
from tallystick.protocol.ijson import JsonValue


def lines(follower: subprocess.Popen[str], count: int) -> list[str]:
    """The next lines of a follower's output."""
    assert follower.stdout is not None
    return [follower.stdout.readline().rstrip("\n") for _ in range(count)]


def end(follower: subprocess.Popen[str]) -> None:
    """Kill a follower, as an outage would."""
    follower.kill()
    follower.communicate(timeout=30)


def test_events_are_printed_in_their_order(tally: Tally, space: str) -> None:
    """Every event once, with its sequence, as lines and as the protocol's envelopes."""
    ref = tally.id("say", "first line\nsecond", "--kind", "claim", "--space", space)
    printed = [line.split("\t") for line in tally.ok("events").out.splitlines()]
    assert [cell[0] for cell in printed] == ["1", "2", "3"]
    assert [cell[2].split(".")[-2] for cell in printed] == ["created", "created", "contribution-appended"]
    assert (printed[-1][3], printed[-1][5]) == (ref, "claim: first line")
    envelopes = tally.ok("events", "--json").objects
    assert [each["project_sequence"] for each in envelopes] == [1, 2, 3]
    assert envelopes[-1]["payload"]["body_parts"][0]["text"] == "first line\nsecond"


def test_events_can_be_narrowed(tally: Tally, space: str) -> None:
    """By type, by number, after a cursor, and to what is to come."""
    tally.ok("say", "one", "--space", space)
    assert len(tally.ok("events", "--type", "dev.kovee.space").out.splitlines()) == 2
    assert len(tally.ok("events", "--limit", "1").out.splitlines()) == 1
    assert tally.ok("events", "--new").out == ""
    assert tally("events", "--new", "--after", "kc1.0").code == Exit.USAGE
    assert tally("events", "--after", "nonsense").code == Exit.PROBLEM
    assert tally("events", "--cursor-file", "place").code == Exit.USAGE


def test_following_goes_on_with_what_happens(tally: Tally, space: str) -> None:
    """A follower prints what there is and then each event as it happens, whoever reads the pipe."""
    follower = tally.start("events", "--follow", "--json")
    assert [json.loads(line)["project_sequence"] for line in lines(follower, 2)] == [1, 2]
    ref = tally.id("say", "news", "--space", space)
    (event,) = map(json.loads, lines(follower, 1))
    assert (event["project_sequence"], event["resource_ref"]) == (3, ref)
    end(follower)


def test_following_new_events_only(tally: Tally, space: str) -> None:
    """With --new a follower skips what has happened before it began."""
    follower = tally.start("events", "--follow", "--new", "--limit", "1")
    ref = ""
    while follower.poll() is None:  # it begins some time after it was started
        ref = tally.id("say", "news", "--space", space)
    (line,) = lines(follower, 1)
    assert line.split("\t")[2] == "dev.kovee.space.contribution-appended.v1"
    assert ref
    follower.communicate(timeout=30)


def test_a_killed_follower_goes_on_where_it_was(tally: Tally, space: str) -> None:
    """With a cursor file, a follower that is killed and started again misses nothing and repeats little."""
    command = ("events", "--follow", "--cursor-file", "place", "--json")
    follower = tally.start(*command)
    assert len(lines(follower, 2)) == 2
    tally.ok("say", "three", "--space", space)
    assert json.loads(lines(follower, 1)[0])["project_sequence"] == 3
    end(follower)
    tally.ok("say", "four", "--space", space)
    again = tally.start(*command)
    sequence = json.loads(lines(again, 1)[0])["project_sequence"]
    assert sequence in (3, 4)  # the last one printed may come again: it was printed, and not yet noted
    if sequence == 3:
        assert json.loads(lines(again, 1)[0])["project_sequence"] == 4
    end(again)
    other = tally("events", "--follow", "--cursor-file", "place", "--type", "dev.kovee.space", "--json")
    assert (other.code, other.error["kind"]) == (Exit.LOCAL_FILE, "file")


def test_a_follower_outlives_the_daemon(tally: Tally, space: str) -> None:
    """The daemon is stopped and started again, and the follower goes on as if nothing had been."""
    follower = tally.start("events", "--follow", "--json")
    assert len(lines(follower, 2)) == 2
    tally.ok("down")
    tally.ok("up")
    tally.ok("say", "still here", "--space", space)
    assert json.loads(lines(follower, 1)[0])["project_sequence"] == 3
    end(follower)


PAYLOADS: list[JsonValue] = [
    None,
    [],
    "x",
    7,
    {},
    {"body_parts": 3},
    {"body_parts": [3, {}]},
    {"from_ref": 1, "to_ref": {}},
]


def test_a_payload_of_any_shape_is_summed_up() -> None:
    """A summary relies on no member of a payload: others write what they like."""
    for payload in PAYLOADS:
        assert isinstance(summary({"payload": payload}), str)
    assert summary({"payload": {"title": "\n  a\nb"}}) == "a"
    assert first_line(" \n\t\n x \n y") == "x"


def test_a_gap_is_told_as_such() -> None:
    """A new epoch of the store is a line of its own, which no event can be taken for."""
    told = cells({"gap": {"expired_cursor": "a", "resumed_at": "b", "epoch": {"number": 2}}})
    assert told[0] == "gap"
    assert '"number":2' in told[-1]


def test_the_log_holds_no_content_case_086(tally: Tally, space: str) -> None:
    """Neither what is said nor its key stands in the daemon's log, refused or not."""
    tally.ok("say", "canary-text", "--key", "canary-key", "--space", space)
    assert tally("say", "canary-other", "--key", "canary-key", "--space", space).code == Exit.PROBLEM
    log = Path(tally.ok("paths", "--json").object["log"])
    tally.ok("down")
    assert log.stat().st_size > 0
    assert "canary" not in log.read_text()
