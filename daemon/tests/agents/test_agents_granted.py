"""What is granted, to whom, and who is told apart from whom."""

from __future__ import annotations

import hashlib

import pytest
from entries import JsonObject
from scene import Actor, Scene, add_agent
from service.process import Place, Tallyd


def granted(scene: Scene, subject: str, *actions: str) -> str | None:
    """The kind of the refusal of a grant in the common space."""
    said = {"space_id": scene.things.space.space_id, "subject_ref": subject, "allowed_actions": actions}
    return scene.owner.ask("space_access_grant_create", said, project=scene.project).kind


@pytest.mark.parametrize("actions", [["frobnicate"], ["read", "frobnicate"], ["tallystick"]])
def test_only_actions_that_there_are_are_granted(actions: list[str], scene: Scene) -> None:
    """A word that is no action is refused, and nobody reads by it."""
    stranger = scene.agents["none"]
    assert granted(scene, stranger.name, *actions) == "invalid"
    shown = {"space_id": scene.things.space.space_id}
    assert stranger.ask("space_show", shown, project=scene.project).kind == "not-found"


def test_grants_are_for_subjects_that_are_there(scene: Scene) -> None:
    """Not for a name, nor a revoked agent, nor one that never was, nor a deployment that is not there."""
    revoked = add_agent(scene.owner, "to be revoked soon")
    scene.owner.done("tallystick_agent_revoke", {"agent_id": revoked.name})
    kinds = {
        subject: granted(scene, subject, "read")
        for subject in (revoked.name, "observer", "agent-" + "0" * 32, "asstdep-dep-none")
    }
    assert list(kinds.values()) == ["invalid", "invalid", "not-found", "not-found"]
    assert granted(scene, "asstdep-dep-local-dev", "read") is None
    part = {
        "space_id": scene.things.space.space_id,
        "subject_ref": "observer",
        "kind": "service",
        "role": "observer",
    }
    assert scene.owner.ask("space_participant_add", part, project=scene.project).kind == "invalid"


def added(owner: Actor, name: str, **more: object) -> str | None:
    """The kind of the refusal of an agent."""
    hashed = hashlib.sha256(f"{name} {more}".encode()).hexdigest()
    said: JsonObject = {"name": name, "credential_sha256": hashed, **more}
    return owner.ask("tallystick_agent_add", said).kind


def test_agents_are_told_apart(home: Place) -> None:
    """Two active agents have neither one name, in whichever form it is written, nor one uid; what a revoked
    agent had can be had again.
    """
    with Tallyd(home) as running:
        owner = Actor(running.paths)
        first = add_agent(owner, "Zo\u00eb", peer_uid=4242)
        assert added(owner, "Zo\u00eb") == "invalid"
        assert added(owner, "Zoe\u0308") == "invalid"
        assert added(owner, "zo\u00eb") is None
        assert added(owner, "another", peer_uid=4242) == "invalid"
        owner.done("tallystick_agent_revoke", {"agent_id": first.name})
        assert added(owner, "Zoe\u0308", peer_uid=4242) is None
