"""What the page about KCP says of assemblies, envelopes, references and invocations."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from world import AT_HEAD

from tallystick.protocol.digests import branch_genesis, branch_next

from .kernel import Json, Kernel


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space to speak in."""
    return kernel.space(kernel.project())


def test_an_assembly_with_an_erased_item_is_unavailable_and_names_it(kernel: Kernel, space: Json) -> None:
    """What an assistant was given is never shown with a placeholder in it, under the digest of before."""
    kept, erased = kernel.said(space, "The tap drips."), kernel.said(space, "canary")
    invocation = kernel.invocation(space, kept, erased)
    asked = {"assembly_id": invocation["context_assembly_ref"]}
    shown = kernel.read("context_assembly_show", asked, project=space["project_id"])
    assert shown["result"]["digest"] == invocation["context_assembly_digest"]
    said = {"contribution_ref": erased["contribution_id"], "reason_class": "mistake"}
    kernel.ok("contribution_redact", said, project=space["project_id"])
    refused = kernel.read("context_assembly_show", asked, project=space["project_id"])
    assert kernel.problem(refused) == "unavailable"
    assert erased["contribution_id"] in refused["problem"]["detail"]
    assert kept["contribution_id"] not in refused["problem"]["detail"]


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("assistant_list", {"limit": 5}),
        ("deployment_list", {"limit": 5}),
        ("deployment_show", {"assistant_deployment_id": "dep-local-dev"}),
    ],
)
def test_a_project_that_is_not_there_is_not_found(kernel: Kernel, space: Json, op: str, args: Json) -> None:
    """An operation of the realm is refused under an unknown project, and answered under one that is there."""
    assert kernel.read(op, args, project=space["project_id"])["outcome"] == "ok"
    refused = kernel.read(op, args, project="proj-unknown")
    assert kernel.problem(refused) == "not-found"
    assert "proj-unknown" in refused["problem"]["detail"]


def test_what_is_referred_to_is_as_it_is_said_to_be(kernel: Kernel, space: Json) -> None:
    """A part that pins what its object is not is stale; nothing is related to itself."""
    said = kernel.said(space, "The tap drips.")
    pinned = {"object_ref": said["contribution_id"], "digest": said["content_digest"]}
    part = {**pinned, "object_revision": said["revision"]}
    for wrong in ({"object_revision": said["revision"] + 1}, {"digest": "0" * 64}):
        refused = kernel.append(space, "", more={"body_parts": [{**part, **wrong}]})
        assert kernel.problem(refused) == "stale-revision"
    assert kernel.append(space, "", more={"body_parts": [part]})["outcome"] == "ok"
    end = {**pinned, "revision": said["revision"]}
    named = {"space_id": space["space_id"], "branch_id": space["main_branch_id"], "kind": "supports"}
    related = {**named, "from_ref": end, "to_ref": end}
    refused = kernel.write("relation_assert", related, project=space["project_id"], ext=AT_HEAD)
    assert kernel.problem(refused) == "cycle"


def test_an_invocation_is_asked_for_where_it_can_be(kernel: Kernel, space: Json) -> None:
    """Another space's branch is not found, a digest needs its assembly, an archived space takes none."""
    project = space["project_id"]
    other = kernel.space(project, "another")
    asked = {
        "space_id": space["space_id"],
        "branch_id": space["main_branch_id"],
        "assistant_deployment_id": "dep-local-dev",
        "assistant_deployment_revision": 1,
        "deadline": "2031-01-01T00:00:00Z",
    }
    for wrong, kind in (
        ({"branch_id": other["main_branch_id"]}, "not-found"),
        ({"context_assembly_digest": "0" * 64}, "invalid"),
    ):
        refused = kernel.write("invocation_create", {**asked, **wrong}, project=project)
        assert kernel.problem(refused) == kind
    kernel.ok("invocation_create", asked, project=project)
    kernel.ok("space_archive", {"space_id": space["space_id"]}, project=project)
    assert kernel.problem(kernel.write("invocation_create", asked, project=project)) == "stale-revision"


def redacted(kernel: Kernel, said: Json) -> None:
    """Erases the body of a contribution."""
    args = {"contribution_ref": said["contribution_id"], "reason_class": "mistake"}
    kernel.ok("contribution_redact", args, project=said["project_id"])


def test_a_redaction_leaves_the_head_where_it_was(kernel: Kernel, space: Json) -> None:
    """Whoever folded the head before appends to the same one after it."""
    said = kernel.said(space, "canary")
    asked = {"branch_id": space["main_branch_id"]}
    before = kernel.read("tallystick_branch_show", asked, project=space["project_id"])["result"]
    folded = branch_next(branch_genesis(space["main_branch_id"]), 1, said["content_digest"])
    assert before["branch_head_digest"] == folded
    redacted(kernel, said)
    after = kernel.read("tallystick_branch_show", asked, project=space["project_id"])["result"]
    assert after == before
    assert kernel.append(space, "next", more={"expected_head_digest": folded}, ext={})["outcome"] == "ok"


def test_pages_go_on_across_an_erasure(kernel: Kernel, space: Json) -> None:
    """A list that was begun before one of its rows was erased shows each row once, that one without its
    words.
    """
    said = [kernel.said(space, f"canary {number}") for number in range(4)]
    asked: Json = {"space_id": space["space_id"], "limit": 2}
    first = kernel.read("contribution_list", asked, project=space["project_id"])["result"]
    redacted(kernel, said[2])
    kernel.said(space, "later")
    going = {**asked, "after": first["next"], "snapshot": first["snapshot"]}
    second = kernel.read("contribution_list", going, project=space["project_id"])["result"]
    assert [item["contribution_id"] for item in first["items"] + second["items"]] == [
        each["contribution_id"] for each in said
    ]
    assert [item["body_parts"][0]["text"] for item in second["items"]] == ["", "canary 3"]
    assert "next" not in second

FAULTS: dict[str, Json] = {
    "space": {"space_id": "space-unknown"},
    "status": {},
    "branch": {"branch_id": "branch-unknown"},
    "revision": {},
    "head": {"expected_head_digest": "0" * 64},
    "kind": {"kind": "system_notice"},
    "part": {"body_parts": [{"object_ref": "contrib-unknown"}]},
    "reference": {"subject_refs": ["rel-unknown"]},
}
"""What is wrong with an append, in the order in which it is looked at."""
EACH_ALONE = {
    "space": "not-found",
    "status": "stale-revision",
    "branch": "not-found",
    "revision": "stale-revision",
    "head": "stale-revision",
    "kind": "forbidden",
    "part": "not-found",
    "reference": "not-found",
}


def append_wrong_in(kernel: Kernel, space: Json, *faults: str) -> Json:
    """The problem of an append with these faults; the space is frozen beforehand where that is one of them.

    A frozen space is opened again, so that each append finds the same one.
    """
    named = {"space_id": space["space_id"]}
    shown = kernel.read("space_show", named, project=space["project_id"])["result"]
    if "status" in faults:
        shown = kernel.ok("space_freeze", named, project=space["project_id"])
    more: Json = {"expected_head_digest": branch_genesis(space["main_branch_id"])}
    for fault in faults:
        more |= FAULTS[fault]
    kind = more.pop("kind", "claim")
    rev = shown["revision"] + ("revision" in faults)
    answered = kernel.append(space, "x", kind, more=more, rev=rev, ext={})
    if "status" in faults:
        kernel.ok("space_reopen", named, project=space["project_id"])
    assert answered["outcome"] == "problem", answered
    problem: Json = answered["problem"]
    return problem


@pytest.mark.parametrize("fault", EACH_ALONE)
def test_an_append_says_what_is_wrong_with_it(kernel: Kernel, space: Json, fault: str) -> None:
    """Each fault alone has its own kind, and its place or its object in the words."""
    problem = append_wrong_in(kernel, space, fault)
    assert problem["type"] == f"urn:kovee:error:{EACH_ALONE[fault]}"


@pytest.mark.parametrize(("first", "second"), list(combinations(FAULTS, 2)))
def test_an_append_is_checked_in_one_order(kernel: Kernel, space: Json, first: str, second: str) -> None:
    """Of two faults the one is told that KCP's order looks at first, as if there were no other."""
    problem = append_wrong_in(kernel, space, first, second)
    alone = append_wrong_in(kernel, space, first)
    assert without_numbers(problem) == without_numbers(alone)


def without_numbers(problem: Json) -> Json:
    """Without the space's revision, which freezing and opening it again have moved."""
    assert set(problem) <= {"type", "title", "status", "detail", "ext"}
    return {"type": problem["type"], "detail": re.sub(r"\b\d+\b", "#", problem["detail"])}
