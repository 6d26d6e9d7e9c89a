"""Workers that wait for work, on the daemon's own loop: what wakes them, what ends their wait, and what they
cost meanwhile.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self

import pytest
import trio
import trio.testing
from harness.wire import Request, Wire, request

from tallyd.store.ambient import SystemAmbient
from tallystick.protocol.operation import Socket

from .living import Living, line_from, living
from .process import Place, Tallyd

CLIENT: Final = Socket.CLIENT
WORKER: Final = Socket.WORKER
BUILT_IN: Final = "dep-local-dev"
FAR: Final = "2999-12-31T00:00:00Z"
TERM: Final = 60
WAIT_MS: Final = 30_000
NOTHING: Final[dict[str, Any]] = {
    "invocation": None,
    "attempt_id": None,
    "fence_epoch": None,
    "assembly": None,
    "frontier": None,
    "items": [],
}


class JumpingAmbient(SystemAmbient):
    """The daemon's clocks, on the clock that the test jumps with."""

    def __init__(self, clock: trio.testing.MockClock) -> None:
        self._clock = clock

    def wall_ms(self) -> int:
        return 1_900_000_000_000 + int(self._clock.current_time() * 1000)

    def monotonic(self) -> float:
        return self._clock.current_time()


def next_one(key: str, wait_ms: int = WAIT_MS, *deployments: str, term_seconds: int = TERM) -> Request:
    args = {
        "deployments": deployments or (BUILT_IN,),
        "wait_ms": wait_ms,
        "term_seconds": term_seconds,
    }
    return request(WORKER, "tallystick_invocation_next", args, key=key)


class Talk:
    """A connection to the daemon in this process."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream

    @classmethod
    async def to(cls, daemon: Living, socket: Socket = CLIENT) -> Self:
        paths = daemon._options.paths
        path = paths.client_socket if socket is CLIENT else paths.worker_socket
        return cls(await trio.open_unix_socket(path))

    async def send(self, *asked: Request) -> None:
        await self.stream.send_all(b"".join(one.line for one in asked))

    async def receive(self) -> dict[str, Any]:
        answered: dict[str, Any] = json.loads(await line_from(self.stream))
        return answered

    async def ask(self, asked: Request) -> dict[str, Any]:
        await self.send(asked)
        return await self.receive()

    async def result(self, asked: Request) -> dict[str, Any]:
        answered = await self.ask(asked)
        assert answered["outcome"] == "ok", answered
        result: dict[str, Any] = answered["result"]
        return result


class Scene:
    """A daemon with a project, and the owner's connection to it."""

    def __init__(self, daemon: Living, owner: Talk, project: str) -> None:
        self.daemon, self.owner, self.project = daemon, owner, project
        self._made = 0

    def invocation(self, **args: object) -> Request:
        """A request that makes an invocation."""
        self._made += 1
        said = {
            "assistant_deployment_id": BUILT_IN,
            "assistant_deployment_revision": 1,
            "deadline": FAR,
            "max_attempts": 2,
            **args,
        }
        return request(CLIENT, "invocation_create", said, project=self.project, key=f"i-{self._made}")

    async def invoke(self, **args: object) -> str:
        """A new invocation's id."""
        return str((await self.owner.result(self.invocation(**args)))["invocation_id"])

    async def state_of(self, invocation_id: str) -> str:
        named = {"invocation_id": invocation_id}
        shown = await self.owner.result(request(CLIENT, "invocation_show", named, project=self.project))
        return str(shown["state"])

    async def waiting(self) -> int:
        """How many requests wait, once the clerk has done what it was given before."""
        self._made += 1
        await self.owner.result(request(CLIENT, "project_create", {"name": "x"}, key=f"w-{self._made}"))
        waiters: int = (await self.owner.result(request(CLIENT, "tallystick_status", {})))["waiters"]
        return waiters

    def moment(self, seconds: float) -> str:
        """So many seconds from now, on the daemon's clock."""
        ms = self.daemon._ambient.wall_ms() + int(seconds * 1000)
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    async def deployment(self) -> str:
        """Another active deployment of the built-in assistant."""
        said = {
            "assistant_revision_id": "asstrev-local-dev",
            "config_ref": "cfg",
            "config_digest": "0" * 64,
            "secret_binding_set_ref": "none",
            "secret_binding_set_digest": "0" * 64,
            "policy_ref": "policy-default",
            "pool_ref": "pool",
            "security_profile": "developer",
            "concurrency_policy": "serial-branch",
            "rollout_policy": {},
        }
        made = await self.owner.result(request(CLIENT, "deployment_create", said, key="dep"))
        named = {"assistant_deployment_id": made["assistant_deployment_id"]}
        await self.owner.result(request(CLIENT, "deployment_activate", named, key="dep-on"))
        return str(made["assistant_deployment_id"])

    async def sleeping(self, *asked: Request) -> list[Talk]:
        """A worker for each request, asleep: the daemon has taken them, and the clerk has looked."""
        workers = [await Talk.to(self.daemon, WORKER) for _ in asked]
        before = await self.waiting()
        for number, (worker, one) in enumerate(zip(workers, asked, strict=True), before + 1):
            await worker.send(one)
            while await self.waiting() < number:
                pass
        return workers


@asynccontextmanager
async def scene(home: Place, clock: trio.testing.MockClock | None = None) -> AsyncIterator[Scene]:
    ambient = None if clock is None else JumpingAmbient(clock)
    async with living(home, ambient) as daemon:
        owner = await Talk.to(daemon)
        made = await owner.result(request(CLIENT, "project_create", {"name": "kitchen"}, key="p"))
        yield Scene(daemon, owner, made["project_id"])
        assert daemon.log_is_quiet


def taken(answered: dict[str, Any]) -> str | None:
    """Which invocation was handed over, if one was."""
    assert answered["outcome"] == "ok", answered
    invocation = answered["result"]["invocation"]
    return None if invocation is None else str(invocation["invocation_id"])


def binding(answered: dict[str, Any]) -> dict[str, Any]:
    result = answered["result"]
    return {
        "invocation_id": result["invocation"]["invocation_id"],
        "attempt_id": result["attempt_id"],
        "fence_epoch": result["fence_epoch"],
    }


@pytest.mark.trio
async def test_a_creation_wakes_a_sleeper(home: Place, mock_clock: trio.testing.MockClock) -> None:
    """No time passes between the commit and the claim."""
    async with scene(home, mock_clock) as here:
        (worker,) = await here.sleeping(next_one("w"))
        made = await here.invoke()
        assert taken(await worker.receive()) == made
        assert await here.state_of(made) == "running"


@pytest.mark.trio
async def test_a_failure_back_to_the_queue_wakes_a_sleeper(
    home: Place, mock_clock: trio.testing.MockClock
) -> None:
    """What one worker gives back another one takes."""
    async with scene(home, mock_clock) as here:
        made = await here.invoke()
        first = await Talk.to(here.daemon, WORKER)
        held = await first.ask(next_one("first", 0))
        (second,) = await here.sleeping(next_one("second"))
        given_back = {**binding(held), "reason_class": "tests_fail", "retryable": True}
        await first.result(request(WORKER, "tallystick_invocation_fail", given_back, key="f"))
        answered = await second.receive()
        assert (taken(answered), answered["result"]["fence_epoch"]) == (made, 2)


@pytest.mark.trio
async def test_a_lease_that_runs_out_wakes_a_sleeper(home: Place, mock_clock: trio.testing.MockClock) -> None:
    """At its end, and not before; a renewal moves the end on."""
    async with scene(home, mock_clock) as here:
        made = await here.invoke()
        holder = await Talk.to(here.daemon, WORKER)
        held = binding(await holder.ask(next_one("holder", 0, term_seconds=10)))
        (sleeper,) = await here.sleeping(next_one("sleeper"))
        mock_clock.jump(6)
        await holder.result(request(WORKER, "tallystick_invocation_renew", held))
        mock_clock.jump(9)  # the sleeper looks when the first term ends, and finds it renewed
        assert (await here.waiting()) == 1
        await holder.result(request(WORKER, "tallystick_invocation_renew", held))
        mock_clock.jump(10)
        answered = await sleeper.receive()
        assert (taken(answered), answered["result"]["fence_epoch"]) == (made, 2)


@pytest.mark.trio
async def test_a_not_before_wakes_a_sleeper(home: Place, mock_clock: trio.testing.MockClock) -> None:
    """What may begin later is taken when it may."""
    async with scene(home, mock_clock) as here:
        (sleeper,) = await here.sleeping(next_one("sleeper"))
        made = await here.invoke(not_before=here.moment(20))
        mock_clock.jump(19)
        assert await here.state_of(made) == "queued"
        mock_clock.jump(1)
        assert taken(await sleeper.receive()) == made


@pytest.mark.trio
async def test_the_end_of_the_wait_is_nothing(home: Place, mock_clock: trio.testing.MockClock) -> None:
    """After wait_ms a worker is told that there is nothing, and not earlier; at once for 0."""
    async with scene(home, mock_clock) as here:
        worker = await Talk.to(here.daemon, WORKER)
        assert (await worker.ask(next_one("at-once", 0)))["result"] == NOTHING
        (worker,) = await here.sleeping(next_one("later", 5_000))
        mock_clock.jump(4.999)
        assert await here.waiting() == 1
        mock_clock.jump(0.001)
        assert (await worker.receive())["result"] == NOTHING
        assert await here.waiting() == 0


@pytest.mark.trio
async def test_one_creation_is_taken_by_the_one_that_waits_longest(
    home: Place, mock_clock: trio.testing.MockClock
) -> None:
    """The others sleep on, and take what comes next in their order; each gets one and no more."""
    async with scene(home, mock_clock) as here:
        workers = await here.sleeping(*(next_one(f"w-{number}") for number in range(5)))
        for number, worker in enumerate(workers):
            made = await here.invoke()
            assert taken(await worker.receive()) == made
            assert await here.waiting() == 4 - number


@pytest.mark.trio
async def test_woken_twice_is_tried_once(home: Place, mock_clock: trio.testing.MockClock) -> None:
    """Two invocations that come in one batch wake a sleeper once: it takes the first, and the second is for
    who comes next.
    """
    async with scene(home, mock_clock) as here:
        (sleeper,) = await here.sleeping(next_one("sleeper"))
        await here.owner.send(here.invocation(), here.invocation())
        first, second = [(await here.owner.receive())["result"]["invocation_id"] for _ in range(2)]
        assert taken(await sleeper.receive()) == first
        assert taken(await sleeper.ask(next_one("again"))) == second
        assert await here.waiting() == 0


@pytest.mark.trio
async def test_who_waits_for_others_sleeps_on(home: Place, mock_clock: trio.testing.MockClock) -> None:
    """A commit that concerns another deployment wakes nobody here, and takes nothing from the queue."""
    async with scene(home, mock_clock) as here:
        other = await here.deployment()
        (sleeper,) = await here.sleeping(next_one("sleeper", WAIT_MS, other))
        made = await here.invoke()
        assert await here.waiting() == 1
        assert await here.state_of(made) == "queued"
        mock_clock.jump(WAIT_MS / 1000)
        assert (await sleeper.receive())["result"] == NOTHING


@pytest.mark.trio
async def test_a_wait_gives_way(home: Place, mock_clock: trio.testing.MockClock) -> None:
    """With a request behind it, it ends at once with nothing; that request is then answered, and the key is
    free.
    """
    async with scene(home, mock_clock) as here:
        worker = await Talk.to(here.daemon, WORKER)
        await worker.send(next_one("first"), next_one("second", 0))
        assert [(await worker.receive())["result"] for _ in range(2)] == [NOTHING, NOTHING]
        made = await here.invoke()
        assert taken(await worker.ask(next_one("first"))) == made


@pytest.mark.trio
async def test_who_is_gone_takes_nothing(home: Place, mock_clock: trio.testing.MockClock) -> None:
    """A sleeper whose client has closed its connection is forgotten: what comes stays for others."""
    async with scene(home, mock_clock) as here:
        (gone,) = await here.sleeping(next_one("gone"))
        await gone.stream.aclose()
        while await here.waiting():
            pass
        made = await here.invoke()
        assert await here.state_of(made) == "queued"


@pytest.mark.trio
async def test_a_half_closed_client_is_answered(home: Place, mock_clock: trio.testing.MockClock) -> None:
    """A KCP client that has sent its last byte is no dead one: it gets its claim, and then the end."""
    async with scene(home, mock_clock) as here:
        (worker,) = await here.sleeping(next_one("half"))
        await worker.stream.send_eof()
        made = await here.invoke()
        assert taken(await worker.receive()) == made
        assert await worker.stream.receive_some(1) == b""


@pytest.mark.trio
async def test_a_lost_reply_is_asked_for_again(home: Place, mock_clock: trio.testing.MockClock) -> None:
    """Two connections with the same key, as a client that has given one of them up makes them: one claim,
    told to both, byte for byte.
    """
    async with scene(home, mock_clock) as here:
        workers = await here.sleeping(next_one("same"), next_one("same"))
        made = await here.invoke()
        lines = [await line_from(worker.stream) for worker in workers]
        assert lines[0] == lines[1]
        assert json.loads(lines[0])["result"]["invocation"]["invocation_id"] == made
        again = await Talk.to(here.daemon, WORKER)
        await again.send(next_one("same"))
        assert await line_from(again.stream) == lines[0]


@pytest.mark.trio
async def test_the_drain_ends_the_waits(home: Place, mock_clock: trio.testing.MockClock) -> None:
    """Each sleeper is answered with nothing, and then its connection ends."""
    async with scene(home, mock_clock) as here:
        sleepers = await here.sleeping(next_one("a"), next_one("b"))
        here.daemon.stop()
        for sleeper in sleepers:
            assert (await sleeper.receive())["result"] == NOTHING
            assert await sleeper.stream.receive_some(1) == b""


@pytest.mark.trio
async def test_a_refusal_ends_a_wait(home: Place, mock_clock: trio.testing.MockClock) -> None:
    """A request that may wait for nothing is refused at once, and not after its wait."""
    async with scene(home, mock_clock) as here:
        worker = await Talk.to(here.daemon, WORKER)
        refused = await worker.ask(next_one("w", WAIT_MS, "dep-nowhere"))
        assert refused["problem"]["type"].endswith(":not-found")
        assert await here.waiting() == 0


def switches(pid: int) -> int:
    """How often a thread of the process has gone to sleep of itself."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        status = Path(f"/proc/{pid}/task/{task}/status").read_text()
        found = re.search(r"^voluntary_ctxt_switches:\s+(\d+)$", status, re.MULTILINE)
        assert found is not None
        total += int(found[1])
    return total


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="the system does not count it")
def test_a_sleeper_does_not_look_again_and_again(home: Place) -> None:
    """In two seconds of a wait the daemon's threads wake up some times in all, for its own housekeeping."""
    with Tallyd(home) as daemon, Wire(daemon.paths, WORKER) as worker:
        worker.ask(next_one("warm", 0))
        before = switches(daemon.pid)
        assert worker.ask(next_one("asleep", 2_000)).result == NOTHING
        assert switches(daemon.pid) - before < 60


def test_what_found_nothing_is_no_command(home: Place) -> None:
    """A crash hook counts commands: it passes over a wait that found nothing, and fires at the claim."""
    env = {"TALLYD_ABORT": "before_commit:tallystick_invocation_next@worker"}
    daemon = Tallyd(home, "--test-hooks", env=env)
    with Wire(home.paths) as owner, Wire(home.paths, WORKER) as worker:
        for key in ("a", "b"):
            assert worker.ask(next_one(key, 0)).result == NOTHING
        project = owner.ask(request(CLIENT, "project_create", {"name": "x"}, key="p")).result["project_id"]
        said = {
            "assistant_deployment_id": BUILT_IN,
            "assistant_deployment_revision": 1,
            "deadline": FAR,
        }
        worker.send(next_one("c"))
        while owner.ask(request(CLIENT, "tallystick_status", {})).result["waiters"] != 1:
            pass
        assert owner.ask(request(CLIENT, "invocation_create", said, project=project, key="i")).ok
        assert worker.read_line() == b""
    assert daemon.wait() < 0
    with Tallyd(home), Wire(home.paths, WORKER) as worker:
        claimed = worker.ask(next_one("c")).result
        assert claimed["invocation"]["state"] == "running"
        assert claimed["fence_epoch"] == 1, "the claim before the kill was not durable"
