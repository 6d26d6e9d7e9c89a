"""Where no rule of ours says otherwise, the answers are KCP's to the letter."""

from __future__ import annotations

import socket
from typing import Final

import pytest
from entries import JsonObject
from expected import ENTRIES, entry_of
from harness.wire import Wire
from scene import Scene
from world import DEPLOYMENT, WORKER, attempt_of, participant_digest, reference

from tallystick.protocol.digests import cod

FENCED: Final[dict[str, JsonObject]] = {
    "invocation_complete": {},
    "tallystick_invocation_progress": {},
    "tallystick_invocation_item": {"object_ref": "contrib-1"},
    "tallystick_invocation_artifact": {"artifact_id": "art-1", "offset": 0},
    "tallystick_invocation_renew": {},
    "tallystick_invocation_fail": {"reason_class": "tests_fail", "retryable": False},
}


def claimed(scene: Scene) -> JsonObject:
    """The binding of an attempt that the owner's worker holds, with its invocation."""
    claim = {"invocation_id": scene.invocation(scene.things.space)["invocation_id"]}
    return attempt_of(scene.owner.done("invocation_claim", claim, to=WORKER)).args


@pytest.mark.parametrize("operation", FENCED)
def test_an_attempt_of_another_invocation_is_stale(operation: str, scene: Scene) -> None:
    """A known attempt that is not one of the invocation named holds no lease of it, whether or not there is
    such an invocation.
    """
    binding, other = claimed(scene), claimed(scene)
    for invocation_id in (other["invocation_id"], "inv-" + "0" * 32):
        args = {**binding, **FENCED[operation], "invocation_id": invocation_id}
        assert scene.owner.ask(operation, args, to=WORKER).kind == "stale-lease"


def test_what_has_no_lease_any_more_is_told_so_before_all_else(scene: Scene) -> None:
    """An ended attempt that names a project, a child, a space or a permit that is not there."""
    binding = claimed(scene)
    scene.owner.done("invocation_complete", binding, to=WORKER)
    speaks = {name: binding[name] for name in ("attempt_id", "fence_epoch")}
    nowhere = "0" * 32
    asked = {
        "invocation_cancel": {**speaks, "invocation_id": f"inv-{nowhere}"},
        "application_event_emit": {**speaks, "type": "com.example.x.v1", "payload": {}},
        "context_assembly_create": {
            **speaks,
            "space_id": f"space-{nowhere}",
            "branch_id": f"branch-{nowhere}",
            "audience_ref": DEPLOYMENT,
            "purpose": "x",
            "selection_policy_ref": "explicit_refs_v1",
        },
        "model_complete": {**ENTRIES[WORKER, "model_complete"].right(scene), **speaks},
    }
    for project in (scene.project, f"proj-{nowhere}"):
        kinds = {
            name: scene.owner.ask(name, args, to=WORKER, project=project).kind for name, args in asked.items()
        }
        assert kinds == dict.fromkeys(asked, "stale-lease")


def test_a_worker_that_may_act_has_no_children(scene: Scene) -> None:
    """Its cancel finds nothing, whatever it names; without a fence its completion is invalid."""
    binding = claimed(scene)
    speaks = {name: binding[name] for name in ("attempt_id", "fence_epoch")}
    for invocation_id in (binding["invocation_id"], "inv-" + "0" * 32):
        args = {**speaks, "invocation_id": invocation_id}
        answered = scene.owner.ask("invocation_cancel", args, to=WORKER, project=scene.project)
        assert answered.kind == "not-found"
    for left_out in ("attempt_id", "fence_epoch"):
        args = {name: value for name, value in binding.items() if name != left_out}
        assert scene.owner.ask("invocation_complete", args, to=WORKER).kind == "invalid"


def test_a_step_that_leads_nowhere_is_invalid(scene: Scene) -> None:
    """A grant is revoked once, a participant activated and removed once; another revision is told first."""
    space = scene.things.space.space_id
    said = {"space_id": space, "subject_ref": scene.agents["none"].name, "allowed_actions": ["read"]}
    grant = scene.done("space_access_grant_create", said)
    revoke = {"space_access_id": grant["space_access_id"]}
    part = scene.participant()
    named = {"participant_id": part["participant_id"]}
    activate = {**named, "subject_digest": participant_digest(part)}
    steps = (
        ("space_access_grant_revoke", revoke),
        ("space_participant_activate", activate),
        ("space_participant_remove", named),
    )
    for operation, args in steps:
        scene.done(operation, args)
        assert scene.owner.ask(operation, args, project=scene.project).kind == "invalid"
    assert grant["source_membership_or_policy_ref"] == "policy-owner-local"


def test_nothing_stands_in_its_own_place(scene: Scene) -> None:
    """A contribution that is superseded by itself is invalid; a longer circle is a cycle."""
    one, other = (scene.say(scene.things.space)["contribution_id"] for _ in range(2))
    itself = {"contribution_ref": one, "replacement_ref": one, "reason_class": "x"}
    assert scene.owner.ask("contribution_supersede", itself, project=scene.project).kind == "invalid"
    scene.done("contribution_supersede", {**itself, "replacement_ref": other})
    back = {"contribution_ref": other, "replacement_ref": one, "reason_class": "x"}
    assert scene.owner.ask("contribution_supersede", back, project=scene.project).kind == "cycle"


def test_records_of_what_comes_built_in(scene: Scene) -> None:
    """The built-in deployment says since when it is active; built-in lenses are as visible as their space."""
    shown = scene.owner.done("deployment_show", {"assistant_deployment_id": DEPLOYMENT})
    assert shown["activated_at"]
    for visibility in ("restricted", "project"):
        space = scene.space(visibility)
        listed = scene.agents["observer"].done(
            "lens_list", {"space_id": space.space_id, "limit": 9}, project=scene.project
        )
        assert [lens["visibility"] for lens in listed["items"]] == [visibility] * 2


def test_an_assembly_is_classified_by_its_items(scene: Scene) -> None:
    """The relations among them say nothing of it."""
    space = scene.space()
    one, other = (scene.say(space, classification_ref="class-one") for _ in range(2))
    refs = [one["contribution_id"], scene.relate(space, one, other)["relation_id"]]
    assembly = scene.done(
        "context_assembly_create",
        {
            **space.args,
            "audience_ref": DEPLOYMENT,
            "purpose": "x",
            "selection_policy_ref": "explicit_refs_v1",
            "required_refs": refs,
            "trigger_refs": [],
        },
    )
    assert assembly["classification_join_ref"] == "class-one"


@pytest.mark.parametrize("with_rationale", [False, True])
def test_a_relations_digest_has_seven_members(with_rationale: bool, scene: Scene) -> None:
    """Whoever has the record computes it: where, in which order, what kind, from what to what, and why."""
    things = scene.things
    ends = {"from_ref": reference(things.evidence), "to_ref": reference(things.question)}
    why = {"rationale_ref": things.question["contribution_id"]} if with_rationale else {}
    said = {**things.space.args, "kind": "supports", **ends, **why}
    relation = scene.done("relation_assert", said, ext={"dev.tallystick.append": {"at_head": True}})
    where = ("space_id", "origin_branch_id", "branch_sequence")
    members = (*where, "kind", "from_ref", "to_ref", "rationale_ref")
    digested = {name: relation.get(name) for name in members}
    assert relation["digest"] == cod("kovee-relation", relation["schema_ref"], digested)


def test_an_empty_line_after_a_request_is_no_request(scene: Scene) -> None:
    """It is answered once, and what comes then is answered as ever."""
    asked = scene.right(entry_of("realm_show"))
    with Wire(scene.owner.paths) as wire:
        wire._socket.sendall(asked.line + b"\n\n" + asked.line + b"\n")
        wire._socket.shutdown(socket.SHUT_WR)
        replies = [wire.read_line() for _ in range(3)]
    assert replies[0] == replies[1] != b""
    assert replies[2] == b""
