"""Clients that mean harm or know no better, against a real door."""

from __future__ import annotations

import random

import pytest
from door.desk import Caller, Opener

from tallyd.door import DoorLimits

CAPS = DoorLimits(
    request_bytes_max=200,
    oversize_line_discard_bytes_max=2_000,
    reply_backlog_bytes_max=3_000,
    connections_max=50,
)


def segment(chance: random.Random, number: int) -> bytes:
    """A piece of a stream: requests, halves of requests, noise, and lines that are too long."""
    kind = chance.randrange(8)
    requests = [
        f"write w{number}\n",
        f"wait k{number} 9\n",
        "who\n",
        f"size {chance.randrange(5_000)}\n",
        "raise\n",
    ]
    if kind < 4:
        return "".join(chance.sample(requests, chance.randrange(1, 4))).encode()
    if kind == 4:
        return chance.randbytes(chance.randrange(1, 300))
    if kind == 5:
        return b"x" * chance.randrange(1, 900)
    return chance.choice(requests).encode()[: chance.randrange(1, 9)]


async def misbehave(caller: Caller, chance: random.Random, number: int) -> None:
    """Send something, and read, half-close or go, or none of these."""
    for _ in range(chance.randrange(1, 12)):
        try:
            caller.sent_at_once(segment(chance, number))
        except OSError:
            return  # the door has had enough of it
    ending = chance.randrange(4)
    if ending == 0:
        caller.close()
    elif ending == 1:
        caller.half_close()
    elif ending == 2:
        caller.sent_at_once(b"\n")
        await caller.socket.recv(100)


@pytest.mark.trio
@pytest.mark.parametrize("seed", range(20))
async def test_case_063_whatever_clients_send(open_door: Opener, seed: int) -> None:
    """Whatever a crowd sends and however it goes, a well-behaved client beside it is answered, and nothing of
    the crowd is left when it has gone."""
    chance = random.Random(seed)
    house = open_door(CAPS)
    house.desk.clerk_is_inline = True
    modest = await house.caller()
    crowd = [await house.caller() for _ in range(30)]
    for number, caller in enumerate(crowd):
        await misbehave(caller, chance, number)
        assert await modest.ask(f"echo {number}") == str(number)
    for caller in crowd:
        caller.close()
    await house.settled()
    assert (house.door.connections, house.door.waits, house.door.in_flight) == (1, 0, 0)
    assert house.desk.open == {}
