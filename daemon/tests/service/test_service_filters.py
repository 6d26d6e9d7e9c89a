"""Filtered reads and waits over more events than one slice of a look goes through, in a daemon."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator
from typing import Any, Final

import pytest
from harness.home import Daemon, Home
from harness.wire import Request, Wire, request
from world import CLIENT

from .waiting import waits

PASSED_OVER: Final = 9_000
IN_FLIGHT: Final = 64
WANTED: Final = "dev.kovee.space"
WAIT_MS: Final = 20_000


class Busy:
    """A project with two events of spaces, and thousands of others before each of them."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        with Wire(daemon.paths) as client:
            made = client.ask(request(CLIENT, "project_create", {"name": "busy"}, key="p"))
            self.project = made.result["project_id"]
            self.begin = str(made.value["event_cursor"])
            for part in range(2):
                self.rename(client, part)
                title = {"title": f"space {part}", "visibility": "project"}
                client.ask(request(CLIENT, "space_create", title, project=self.project, key=f"s{part}"))

    def rename(self, client: Wire, part: int) -> None:
        asked = [
            request(
                CLIENT,
                "project_update_metadata",
                {"name": f"name {number}"},
                project=self.project,
                key=f"n-{part}-{number}",
            )
            for number in range(PASSED_OVER)
        ]
        for at in range(0, PASSED_OVER, IN_FLIGHT):
            some = asked[at : at + IN_FLIGHT]
            client.send(*some)
            assert all(client.receive(one.operation).ok for one in some)

    def read(self, limit: int, **more: Any) -> Request:
        args = {"source": self.project, "type_prefixes": [WANTED], "limit": limit, **more}
        return request(CLIENT, "events_read", args)


@pytest.fixture(scope="module")
def busy() -> Iterator[Busy]:
    """One for this module: its tests write nothing."""
    home = Home()
    try:
        with home.start() as daemon:
            yield Busy(daemon)
    finally:
        home.close()


def titles(result: dict[str, Any]) -> list[str]:
    return [event["payload"]["title"] for event in result["events"]]


def test_a_filtered_page_is_filled_or_ends_at_the_head(busy: Busy) -> None:
    """However far apart: a page of one ends behind it, and a page that is not full has all that there is."""
    with Wire(busy.daemon.paths) as client:
        first = client.ask(busy.read(1)).result
        assert titles(first) == ["space 0"]
        rest = client.ask(busy.read(9, after_cursor=first["next_cursor"])).result
        assert titles(rest) == ["space 1"]
        assert titles(client.ask(busy.read(9)).result) == ["space 0", "space 1"]
        none = client.ask(busy.read(9, type_prefixes=["org.example"])).result
        assert none["events"] == []
        behind = {"after_cursor": none["next_cursor"], "type_prefixes": ["org.example"]}
        assert client.ask(busy.read(9, **behind)).result["next_cursor"] == none["next_cursor"]


def test_the_realm_is_read_through_as_well(busy: Busy) -> None:
    """Ours tells of the realm's events in the same way."""
    args = {"source": "realm-personal", "type_prefixes": ["org.example"], "limit": 9}
    with Wire(busy.daemon.paths) as client:
        none = client.ask(request(CLIENT, "tallystick_events_read", args)).result
        assert (none["events"], none["withheld"]) == ([], [])


@pytest.mark.parametrize("timeout_ms", [0, WAIT_MS])
def test_a_filtered_wait_finds_what_is_there(busy: Busy, timeout_ms: int) -> None:
    """It sleeps only at the head: an event behind thousands of others is given at once, in one reply."""
    with Wire(busy.daemon.paths) as client:
        began = time.monotonic()
        asked = waits(busy.project, busy.begin, timeout_ms, type_prefixes=[WANTED])
        assert titles(client.ask(asked).result) == ["space 0"]
        assert time.monotonic() - began < WAIT_MS / 1000


def test_others_are_served_between_its_slices(busy: Busy) -> None:
    """While one client's filter passes over thousands of events, reads of another are answered: more than the
    one that would have waited for its end.
    """
    with Wire(busy.daemon.paths) as client, Wire(busy.daemon.paths) as other:
        between = request(CLIENT, "project_show", {}, project=busy.project)
        client.send(busy.read(9, type_prefixes=["org.example"]))
        answered = 0
        while not select.select([client], [], [], 0)[0]:
            assert other.ask(between).ok
            answered += 1
        assert client.receive("events_read").ok
        assert answered > 1
