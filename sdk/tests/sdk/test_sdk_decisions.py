"""Decisions from both clients and from an assistant, with the real daemon."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tallyd_process import Tallyd

from tallystick import Assistant, Client, InvocationContext, ask, run_one
from tallystick.protocol.families.decisions import Decision
from tallystick.protocol.families.projects import Project, Space
from tallystick.trio_client import TrioClient


@pytest.fixture
def client(tallyd: Tallyd) -> Iterator[Client]:
    with Client(tallyd.runtime_dir) as client:
        yield client


@pytest.fixture
def project(client: Client) -> Project:
    return client.project_create("kitchen").value


@pytest.fixture
def space(client: Client, project: Project) -> Space:
    return client.space_create(project, "ledger").value


def test_one_answer_to_which_is_current(client: Client, project: Project, space: Space) -> None:
    """Recorded, contested and overturned; each state is read back as a record."""
    one = client.decision_record(space, "db.engine", "sqlite", "one file", paths=["services"]).value
    other = client.decision_record(space, "db.engine", "postgres", "two writers").value
    assert other.contested_by == (one.decision_id,)
    found = client.decision_current(project, "db.engine", path="services/ledger")
    assert (found.status, found.current) == ("contested", ())
    over = client.decision_record(space, "db.engine", "duckdb", "both", supersedes=[one, other]).value
    found = client.decision_current(project, "db.engine")
    assert ([each.decision_id for each in found.current], found.status) == ([over.decision_id], "current")
    assert [each.value for each in found.earlier] == ["postgres", "sqlite"]
    assert [each.state for each in client.decisions(project, include=["superseded"])] == [
        "superseded",
        "superseded",
        "standing",
    ]


@pytest.mark.trio
async def test_the_same_on_trio(tallyd: Tallyd) -> None:
    """A proposal, adopted."""
    async with TrioClient(tallyd.runtime_dir) as client:
        project = (await client.project_create("kitchen")).value
        space = (await client.space_create(project, "ledger")).value
        made = (await client.decision_record(space, "indent", "2", "narrow", proposed=True)).value
        adopted = (await client.decision_adopt(project, made.decision_id)).value
        assert adopted.state == "standing"
        assert await client.decision_show(project, made.decision_id) == adopted


class Decider(Assistant):
    """Decides the same thing twice, under no key."""

    def __init__(self) -> None:
        self.made: list[Decision] = []

    def run(self, ctx: InvocationContext) -> None:
        for _ in range(2):
            self.made.append(ctx.decide("tap.washer", "rubber", "it was worn", tags=["tap"]))


def test_an_assistant_decides_once(client: Client, project: Project, space: Space) -> None:
    """The same decision again is the same step, and is the deployment's."""
    asked = ask(client, project, space, "Which washer?")
    decider = Decider()
    run_one(decider, asked.invocation.invocation_id, runtime_dir=client.paths.runtime_dir)
    assert decider.made[0] == decider.made[1]
    assert decider.made[0].by.startswith("asstdep-")
    assert [each.decision_id for each in client.decisions(project)] == [decider.made[0].decision_id]
