"""A wall clock that steps back gives nobody back what has expired, and nothing is dated before what was."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
import trio
from harness.wire import Request, request
from scene import paths_in
from service.living import line_from, living
from service.process import Place
from world import CLIENT

from tallyd.store.ambient import SystemAmbient

BEGINNING_MS: Final = 1_900_000_000_000
"""2030-03-17T17:46:40Z."""


class Stepping(SystemAmbient):
    """A wall clock that is set by the test."""

    def __init__(self) -> None:
        self.seconds = 0

    def wall_ms(self) -> int:
        return BEGINNING_MS + self.seconds * 1000


async def asked(path: str, one: Request) -> dict[str, Any]:
    """The reply to a request, on a connection of its own."""
    stream = await trio.open_unix_socket(path)
    async with stream:
        await stream.send_all(one.line)
        answered: dict[str, Any] = json.loads(await line_from(stream))
    return answered


def project(name: str) -> Request:
    return request(CLIENT, "project_create", {"name": name}, key=name)


@pytest.mark.trio
async def test_a_clock_that_steps_back_revives_nothing(home: Place) -> None:
    """Time in the store is that of its newest record, at least: an expired agent stays expired, and what is
    made later is dated later; also by the next daemon.
    """
    clock, agents = Stepping(), {"name": "brief", "credential_sha256": "ab" * 32}
    owner, shown = home.paths.client_socket, request(CLIENT, "realm_show", {})
    async with living(home, clock):
        until = {**agents, "expires_at": "2030-03-17T17:46:45Z"}
        added = await asked(owner, request(CLIENT, "tallystick_agent_add", until, key="add"))
        agent = paths_in(home.paths, added["result"]["directory"]).client_socket
        assert (await asked(agent, shown))["outcome"] == "ok"
        clock.seconds = 10
        late = (await asked(owner, project("late")))["result"]["created_at"]
        clock.seconds = 0
        refused = await asked(agent, shown)
        assert refused["problem"]["type"].endswith(":unauthenticated")
        assert (await asked(owner, project("back")))["result"]["created_at"] == late
    async with living(home, clock):
        assert (await asked(owner, project("again")))["result"]["created_at"] == late
        listed = request(CLIENT, "tallystick_agent_list", {"limit": 9})
        assert (await asked(owner, listed))["outcome"] == "ok"
    assert late == "2030-03-17T17:46:50Z"
