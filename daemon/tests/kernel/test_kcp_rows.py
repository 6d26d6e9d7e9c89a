"""What the page about KCP says of assemblies, envelopes, references and invocations."""

from __future__ import annotations

import pytest

from .kernel import AT_HEAD, Json, Kernel


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
