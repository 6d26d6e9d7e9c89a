"""Assemblies and the invocations on them: what is named, by whom, and how they are listed."""

from __future__ import annotations

import pytest

from tallystick.protocol.operation import Socket

from .kernel import Json, Kernel


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space to ask in."""
    return kernel.space(kernel.project())


def assemble(kernel: Kernel, space: Json, claimed: Json | None = None, **args: object) -> Json:
    """An assembly, by the owner or by the attempt of a claim."""
    named: Json = {
        "space_id": space["space_id"],
        "branch_id": space["main_branch_id"],
        "audience_ref": "dep-local-dev",
        "purpose": "look",
        "selection_policy_ref": "explicit_refs_v1",
        **args,
    }
    how: Json = {"project": space["project_id"]}
    if claimed is not None:
        named |= {"attempt_id": claimed["attempt_id"], "fence_epoch": claimed["fence_epoch"]}
        how["socket"] = Socket.WORKER
    return kernel.ok("context_assembly_create", named, **how)


def test_an_assembly_takes_one_ref_twice_as_two_items(kernel: Kernel, space: Json) -> None:
    """It names what it was told to name, in that order."""
    one, other = kernel.said(space, "The tap drips."), kernel.said(space, "It does not.")
    made = assemble(kernel, space, required_refs=[c["contribution_id"] for c in (one, other, one)])
    assert [item["object_ref"] for item in made["items"]] == [
        one["contribution_id"],
        other["contribution_id"],
        one["contribution_id"],
    ]
    assert [item["order"] for item in made["items"]] == [0, 1, 2]
    assert made["totals"]["items"] == 3


def test_authority_is_one_for_an_actor_on_a_branch_and_a_trigger_is_its_assembly(
    kernel: Kernel, space: Json
) -> None:
    """Whatever is assembled; elsewhere, or for a worker, it is another. An invocation is triggered by what it
    is given.
    """
    question = kernel.said(space, "why?", "question")
    refs = [question["contribution_id"]]
    mine = {assemble(kernel, space, required_refs=named)["authority_digest"] for named in ([], refs)}
    elsewhere = assemble(kernel, kernel.space(space["project_id"], "another"))["authority_digest"]
    invocation = kernel.invocation(space, question)
    assert invocation["trigger_digest"] == invocation["context_assembly_digest"]
    assert invocation["trigger_ref"] == invocation["context_assembly_ref"]
    workers = assemble(kernel, space, kernel.claim(invocation)["result"])["authority_digest"]
    assert len({*mine, elsewhere, workers}) == 3


def test_a_workers_assembly_is_told_as_the_workers(kernel: Kernel, space: Json) -> None:
    """The event's actor is the deployment that the attempt works for, as it is for all else that it does."""
    claimed = kernel.claim(kernel.invocation(space, kernel.said(space, "why?", "question")))["result"]
    made = assemble(kernel, space, claimed)
    events = kernel.read("events_read", {"source": space["project_id"], "limit": 100})["result"]["events"]
    told = {event["payload"].get("assembly_id"): event["actor_ref"] for event in events}
    assert told[made["assembly_id"]] == "asstdep-dep-local-dev"
    assert told[claimed["assembly"]["assembly_id"]] == "prin-owner"


def test_invocations_are_filtered_before_the_page_is_cut(kernel: Kernel, space: Json) -> None:
    """Each page of a filtered list is full but the last, however much stands between its items."""
    project = space["project_id"]
    asked = {
        "assistant_deployment_id": "dep-local-dev",
        "assistant_deployment_revision": 1,
        "deadline": "2031-01-01T00:00:00Z",
    }
    wanted = []
    for n in range(12):
        where = {"space_id": space["space_id"]} if n % 4 == 3 else {}
        made = kernel.ok("invocation_create", {**asked, **where}, project=project)
        if where:
            kernel.ok("invocation_cancel", {"invocation_id": made["invocation_id"]}, project=project)
            wanted.append(made["invocation_id"])
    for filtered in ({"space_id": space["space_id"]}, {"state": "canceled"}):
        seen: list[str] = []
        going: Json = {}
        for left in (2, 1, 0):
            asked = {"limit": 1, **filtered, **going}
            result = kernel.read("invocation_list", asked, project=project)["result"]
            seen += [item["invocation_id"] for item in result["items"]]
            assert ("next" in result) == (left > 0)
            going = {"after": result.get("next"), "snapshot": result["snapshot"]}
        assert seen == wanted
