"""Many clients over tasks that need each other: each is claimed once, in order, and done once, though the
daemon is killed under them.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any, Final

import pytest
from harness.home import Home

from tallystick.client import Client
from tallystick.core import Reply
from tallystick.errors import OutcomeUnknown, TransportError

CLIENTS: Final = 16
TASKS: Final = 200
NEEDS_MAX: Final = 3
WAIT_MS: Final = 1_000
DEADLINE_SECONDS: Final = 60.0


class Crew:
    """Clients that take what is next until all is done."""

    def __init__(self, home: Home, project: str) -> None:
        self._home = home
        self._project = project
        self._lock = threading.Lock()
        self.done: list[str] = []
        self.faults: list[BaseException] = []
        self.progress = threading.Semaphore(0)
        """Released once for each task that was done."""
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(CLIENTS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _run(self, number: int) -> None:
        try:
            with client_of(self._home) as client:
                self._work(client, number)
        except BaseException as fault:
            self.faults.append(fault)
            self.progress.release(TASKS)

    def _work(self, client: Client, number: int) -> None:
        turn = 0
        while len(self.done) < TASKS and not self.faults:
            turn += 1
            key = f"client-{number}-{turn}"
            taken = certain(
                client.task_next, self._project, wait_ms=WAIT_MS, label=f"client {number}", key=f"{key}-next"
            ).value
            if taken.task is None:
                continue
            certain(client.task_done, taken, f"done by client {number}", key=f"{key}-done")
            with self._lock:
                self.done.append(taken.task.task_id)
            self.progress.release()


def client_of(home: Home) -> Client:
    return Client(
        home.paths.runtime_dir, home.paths.data_dir, key_store=None, deadline_seconds=DEADLINE_SECONDS
    )


def certain(call: Any, *args: Any, **how: Any) -> Reply[Any]:
    """The reply, however often the daemon goes away: the same key asks again."""
    while True:
        try:
            reply: Reply[Any] = call(*args, **how)
        except (OutcomeUnknown, TransportError):
            continue
        return reply


def build(client: Client) -> tuple[str, dict[str, list[str]]]:
    """A project, and its tasks with what each needs."""
    project = client.project_create("kitchen").value
    space = client.space_create(project, "taps").value
    drawn = random.Random(10)
    needs: dict[str, list[str]] = {}
    for number in range(TASKS):
        known = list(needs)
        chosen = drawn.sample(known, min(len(known), drawn.randint(0, NEEDS_MAX)))
        made = client.task_create(space, f"task {number}", needs=chosen, priority=drawn.randint(0, 4)).value
        needs[made.task_id] = chosen
    return project.project_id, needs


def told(client: Client, project: str) -> list[tuple[str, str]]:
    """What became of which task, in the order of the project's events."""
    found: list[tuple[str, str]] = []
    cursor: str | None = None
    while True:
        page = client.events_read(project, after_cursor=cursor, type_prefixes=["dev.tallystick.task"])
        found += [(each.type.split(".")[3], each.resource_ref) for each in page.events]
        if not page.events or page.next_cursor == cursor:
            return found
        cursor = page.next_cursor


@pytest.mark.parametrize("kills", [0, 5])
def test_each_task_is_claimed_once_and_done_once(home: Home, kills: int) -> None:
    """By sixteen clients, none before all that it needs is done; with the daemon killed meanwhile, too."""
    daemon = home.start()
    with client_of(home) as client:
        project, needs = build(client)
    crew = Crew(home, project)
    crew.start()
    for _ in range(kills):
        for _ in range(TASKS // (kills + 2)):
            crew.progress.acquire()
        daemon.kill()
        daemon.wait()
        daemon = home.start()
    crew.join()
    assert crew.faults == []
    with client_of(home) as client:
        events = told(client, project)
    for what in ("claimed", "done"):
        assert sorted(task for each, task in events if each == what) == sorted(needs)
    assert sorted(crew.done) == sorted(needs)
    at = {each: place for place, each in enumerate(events)}
    for task, needed in needs.items():
        assert all(at["done", each] < at["claimed", task] for each in needed)
    daemon.stop()


def test_a_waiter_is_woken_by_what_makes_a_task_ready(home: Home) -> None:
    """By a task that is created, and by one that a receipt unlocks: long before its wait is over."""
    daemon = home.start()
    with client_of(home) as client, client_of(home) as waiting:
        project = client.project_create("kitchen").value
        space = client.space_create(project, "taps").value
        first = woken(waiting, project.project_id, lambda: client.task_create(space, "first"))
        client.task_create(space, "last", needs=[first.task])
        last = woken(waiting, project.project_id, lambda: client.task_done(first, "it is tight"))
        assert (first.task.title, last.task.title) == ("first", "last")
    daemon.stop()


def woken(waiting: Client, project: str, make: Callable[[], object]) -> Any:
    """What a client that waits for a task is given once it was made; the wait would be twice as long."""
    taken: list[Any] = []
    begun = threading.Event()

    def wait() -> None:
        begun.set()
        taken.append(waiting.task_next(project, wait_ms=int(DEADLINE_SECONDS * 400)).value)

    thread = threading.Thread(target=wait)
    thread.start()
    begun.wait()
    make()
    thread.join(DEADLINE_SECONDS / 5)
    assert not thread.is_alive(), "it was not woken"
    return taken[0]
