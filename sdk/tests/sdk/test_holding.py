"""A task that is held: renewed by a thread, ended by its holder or by how the block was left."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tallyd_process import Tallyd

from tallystick import Client, StaleLease
from tallystick.holding import HeldTask
from tallystick.protocol.families.projects import Project
from tallystick.protocol.families.tasks import TaskClaim


@pytest.fixture
def client(tallyd: Tallyd) -> Iterator[Client]:
    with Client(tallyd.runtime_dir) as client:
        yield client


@pytest.fixture
def project(client: Client) -> Project:
    return client.project_create("kitchen").value


@pytest.fixture
def taken(client: Client, project: Project) -> TaskClaim:
    """A claim of a new task."""
    space = client.space_create(project, "taps").value
    client.task_create(space, "tighten the tap")
    return client.task_next(project, wait_ms=0).value


def state(client: Client, taken: TaskClaim) -> str:
    assert taken.task is not None
    return client.task_show(taken.task.project_id, taken.task).state


def test_its_holder_ends_it(client: Client, taken: TaskClaim) -> None:
    """With notes before, and a receipt; the block ends nothing more."""
    with HeldTask(client, taken) as task:
        assert len(task.note("the washer is worn").notes) == 1
        assert task.done("it is tight").task.state == "done"
    assert state(client, taken) == "done"


def test_left_without_an_end_it_is_released(client: Client, taken: TaskClaim) -> None:
    """Ready again, and no attempt is counted."""
    with HeldTask(client, taken):
        pass
    assert taken.task is not None
    shown = client.task_show(taken.task.project_id, taken.task)
    assert (shown.state, shown.failed_attempts) == ("ready", 0)


def test_left_by_an_exception_it_failed(client: Client, taken: TaskClaim) -> None:
    """One attempt is counted, and the exception goes on."""
    with pytest.raises(ZeroDivisionError), HeldTask(client, taken):
        _ = 1 / 0
    assert taken.task is not None
    shown = client.task_show(taken.task.project_id, taken.task)
    assert (shown.state, shown.failed_attempts) == ("ready", 1)


def test_freed_it_is_lost(client: Client, taken: TaskClaim) -> None:
    """The thread finds out at the next renewal, and whatever the holder says is refused; leaving is quiet."""
    assert taken.task is not None
    with HeldTask(client, taken, term_seconds=1) as task:
        client.task_free(taken.task.project_id, taken.task, "silent")
        with pytest.raises(StaleLease):
            task.done("it is tight")
        task._thread.join()
        assert task.lost
    assert state(client, taken) == "ready"


def test_a_claim_of_nothing_is_no_held_task(client: Client, project: Project) -> None:
    """What a wait in vain gave is told apart before any thread begins."""
    with pytest.raises(ValueError, match="no task"):
        HeldTask(client, client.task_next(project, wait_ms=0).value)
