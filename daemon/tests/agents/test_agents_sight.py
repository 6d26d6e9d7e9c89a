"""An agent refers to, works on and erases what it sees, and nothing else; and writes where it may write."""

from __future__ import annotations

import base64
import hashlib
from typing import Final

import pytest
from entries import JsonObject
from scene import Actor, Scene, add_agent, take_part
from world import AT_HEAD, DEPLOYMENT, FAR, POLICY, WORKER, Attempt, Space, attempt_of, reference

SECRET: Final = "class-sensitive"
"""Above every ceiling."""
TEXT: Final = [{"media_type": "text/plain", "text": "It drips."}]


@pytest.fixture(scope="module")
def space(scene: Scene) -> Space:
    """A restricted space; nobody changes what is in it."""
    return scene.space()


@pytest.fixture(scope="module")
def bounded(scene: Scene, space: Space) -> Actor:
    """A steward of the space who reads nothing that is sensitive."""
    agent = add_agent(
        scene.owner, "bounded", classification_ceiling_ref="class-default", deployments=[DEPLOYMENT]
    )
    take_part(scene.owner, scene.project, space, agent.name, "steward", "active")
    return agent


def upload(actor: Actor, **more: object) -> str:
    """An artifact that is available."""
    data = b"washer"
    declared = {"declared_raw_sha256": hashlib.sha256(data).hexdigest(), "declared_size": len(data)}
    begun = actor.done("tallystick_artifact_begin", {**declared, "declared_media_type": "text/plain", **more})
    named = {"upload_id": begun["upload_id"]}
    actor.done("tallystick_artifact_put", {**named, "offset": 0, "data": base64.b64encode(data).decode()})
    return str(actor.done("artifact_upload_finalize", named)["artifact_id"])


# --- work ---------------------------------------------------------------------------------------------------
def of_no_space(scene: Scene, **more: object) -> JsonObject:
    """An invocation that names no space."""
    deployed = {"assistant_deployment_id": DEPLOYMENT, "assistant_deployment_revision": 1}
    return scene.done("invocation_create", {**deployed, "deadline": FAR, **more})


@pytest.mark.parametrize("role", ["observer", "muted", "removed", "none"])
def test_who_writes_nowhere_takes_no_work(role: str, scene: Scene) -> None:
    """An invocation of no space is for who writes in some space of its project; it is not the next one."""
    agent, invocation = scene.agents[role], of_no_space(scene)
    claim = {"invocation_id": invocation["invocation_id"]}
    assert agent.ask("invocation_claim", claim, to=WORKER).kind == "not-found"
    waits = {"deployments": [DEPLOYMENT], "wait_ms": 0, "term_seconds": 60}
    assert agent.done("tallystick_invocation_next", waits, to=WORKER)["invocation"] is None


def test_work_of_no_space_is_written_where_its_worker_may_write(scene: Scene) -> None:
    """A contributor takes it, and writes in its own space; in one that it only reads it is refused."""
    agent = scene.agents["contributor"]
    open_to_all = scene.done("space_create", {"title": scene.key("open"), "visibility": "project"})
    claim = {"invocation_id": of_no_space(scene)["invocation_id"]}
    attempt = attempt_of(agent.done("invocation_claim", claim, to=WORKER))
    reads = Space(open_to_all["space_id"], open_to_all["main_branch_id"])
    assert written(agent, attempt, scene, scene.things.space) is None
    assert written(agent, attempt, scene, reads) == "forbidden"


def written(agent: Actor, attempt: Attempt, scene: Scene, space: Space, **more: object) -> str | None:
    """The kind of the refusal when a worker writes to a space."""
    args = {**space.args, **attempt.binding, "kind": "claim", "body_parts": TEXT, **more}
    said = agent.ask("contribution_append", args, to=WORKER, project=scene.project, ext=AT_HEAD)
    return said.kind


def test_an_invocation_stands_where_what_it_hands_over_stands(scene: Scene) -> None:
    """One of no space that hands over an assembly is there for who sees the assembly's space, in lists, by
    its id, and to be claimed: its record holds the assembly's id and digest.
    """
    made = scene.done("space_create", {"title": "the owner's", "visibility": "restricted"})
    hidden = Space(made["space_id"], made["main_branch_id"])
    assembly = assembled(scene, hidden, [scene.say(hidden)["contribution_id"]])
    invocation = of_no_space(scene, context_assembly_ref=assembly["assembly_id"])
    named, agent = {"invocation_id": invocation["invocation_id"]}, scene.agents["steward"]
    assert agent.ask("invocation_show", named, project=scene.project).kind == "not-found"
    assert agent.ask("invocation_claim", named, to=WORKER).kind == "not-found"
    listed = agent.ask("invocation_list", {"limit": 512}, project=scene.project)
    told = agent.ask("events_read", {"source": scene.project, "limit": 512}, project=scene.project)
    for reply in (listed, told):
        assert str(assembly["assembly_id"]).encode() not in reply.raw


def assembled(scene: Scene, space: Space, refs: list[object]) -> JsonObject:
    """An assembly of the owner's."""
    said = {"audience_ref": DEPLOYMENT, "purpose": "answer", "selection_policy_ref": POLICY}
    return scene.done(
        "context_assembly_create", {**space.args, **said, "required_refs": refs, "trigger_refs": []}
    )


# --- ceilings -----------------------------------------------------------------------------------------------
def test_a_file_is_as_secret_as_what_carries_it(scene: Scene, space: Space, bounded: Actor) -> None:
    """Without a class of its own an artifact has that of what carries it, and is shown so; carried by
    something that its reader may read besides, it is as secret all the same. With a class of its own it keeps
    that.
    """
    plain, own = upload(scene.owner), upload(scene.owner, classification_ref="class-own")
    for artifact in (plain, own):
        parts = [{"artifact_ref": artifact}]
        scene.say(space, "evidence", body_parts=parts, classification_ref=SECRET)
        scene.say(space, "evidence", body_parts=parts)
    read = {"artifact_id": plain, "offset": 0}
    assert bounded.ask("tallystick_artifact_get", read).kind == "not-found"
    assert bounded.ask("artifact_show", {"artifact_id": plain}).kind == "not-found"
    assert bounded.ask("tallystick_artifact_get", {"artifact_id": own, "offset": 0}).ok
    assert scene.owner.done("artifact_show", {"artifact_id": plain})["classification_ref"] == SECRET
    assert scene.owner.done("artifact_show", {"artifact_id": own})["classification_ref"] == "class-own"


def test_an_assembly_with_a_relation_above_the_ceiling_is_withheld(scene: Scene, bounded: Actor) -> None:
    """Shown and claimed, an assembly holds the digests of what it names: of a relation too."""
    made = scene.done("space_create", {"title": scene.key("secret"), "visibility": "restricted"})
    space = Space(made["space_id"], made["main_branch_id"])
    take_part(scene.owner, scene.project, space, bounded.name, "steward", "active")
    one, other = scene.say(space), scene.say(space)
    scene.done("space_policy_narrow", {"space_id": space.space_id, "default_classification_ref": SECRET})
    relation = scene.relate(space, one, other)
    assembly = assembled(scene, space, [one["contribution_id"], relation["relation_id"]])
    shown = bounded.ask(
        "context_assembly_show", {"assembly_id": assembly["assembly_id"]}, project=scene.project
    )
    invocation = scene.invocation(space, context_assembly_ref=assembly["assembly_id"])
    claimed = bounded.ask("invocation_claim", {"invocation_id": invocation["invocation_id"]}, to=WORKER)
    assert (shown.kind, claimed.kind) == ("unavailable", "unavailable")
    assert str(relation["digest"]).encode() not in shown.raw + claimed.raw


LENS_WORDS: Final[JsonObject] = {
    "query_ast": {"select": "contributions"},
    "sort_spec": {"order_by": "branch_sequence"},
}


@pytest.mark.parametrize("visibility", ["project", "restricted"])
def test_a_space_above_the_ceiling_tells_no_title_and_no_lens(
    scene: Scene, bounded: Actor, visibility: str
) -> None:
    """What a space is called and how its lenses look have the class that the space gives by default: for
    reads, lists, events and commands, also what was told before the space had that class.
    """
    title = scene.key("takeover of the neighbour")
    made = scene.done("space_create", {"title": title, "visibility": visibility})
    space = Space(made["space_id"], made["main_branch_id"])
    take_part(scene.owner, scene.project, space, bounded.name, "steward", "active")
    shape = {**LENS_WORDS, "presentation_options": {"heading": title}}
    lens = scene.done(
        "lens_create", {"space_id": space.space_id, "kind": "stream", "visibility": "project", **shape}
    )
    named, through = {"space_id": space.space_id}, {"lens_id": lens["lens_id"]}
    asked: dict[str, JsonObject] = {
        "space_show": named,
        "lens_show": through,
    }
    read: JsonObject = {**through, "limit": 9}
    assert all(bounded.ask(name, args, project=scene.project).ok for name, args in asked.items())
    scene.done("space_policy_narrow", {**named, "default_classification_ref": SECRET})
    assert bounded.ask("lens_read", read, project=scene.project).ok
    asked |= {"space_freeze": named, "lens_update": through}
    replies = {name: bounded.ask(name, args, project=scene.project) for name, args in asked.items()}
    assert {name: reply.kind for name, reply in replies.items()} == dict.fromkeys(asked, "forbidden")
    listed: dict[str, JsonObject] = {
        "space_list": {"limit": 512},
        "lens_list": {**named, "limit": 512},
        "events_read": {"source": scene.project, "limit": 512},
    }
    lists = [bounded.ask(name, args, project=scene.project) for name, args in listed.items()]
    assert all(reply.ok for reply in lists)
    built_in = {"lens_id": f"lens-stream-{space.space_id}"}
    assert bounded.ask("lens_show", built_in, project=scene.project).ok
    assert [reply.raw for reply in (*lists, *replies.values()) if title.encode() in reply.raw] == []
    assert scene.done("space_show", named)["title"] == title


def test_what_may_not_be_read_is_not_erased(scene: Scene, space: Space, bounded: Actor) -> None:
    """A steward redacts and erases up to its ceiling."""
    secret = scene.say(space, classification_ref=SECRET)
    redacted = {"contribution_ref": secret["contribution_id"], "reason_class": "x"}
    assert bounded.ask("contribution_redact", redacted, project=scene.project).kind == "forbidden"
    assert scene.done("contribution_show", {"contribution_id": secret["contribution_id"]})["body_parts"]


# --- references ---------------------------------------------------------------------------------------------
def test_a_reference_needs_the_sight_of_who_makes_it(scene: Scene, space: Space, bounded: Actor) -> None:
    """Whatever names an object of the space is refused where the object is above the ceiling."""
    secret, seen = scene.say(space, classification_ref=SECRET), scene.say(space)
    ref, pin = secret["contribution_id"], reference(secret)
    append: JsonObject = {**space.args, "kind": "claim", "body_parts": TEXT}
    related = {**space.args, "kind": "supports", "from_ref": reference(seen), "to_ref": reference(seen)}
    assembly = {**space.args, "audience_ref": DEPLOYMENT, "purpose": "x", "selection_policy_ref": POLICY}
    replaced = {"contribution_ref": seen["contribution_id"], "reason_class": "x"}
    asked: dict[str, tuple[str, JsonObject]] = {
        "subject": ("contribution_append", {**append, "subject_refs": [ref]}),
        "source": ("contribution_append", {**append, "source_refs": [ref]}),
        "part": ("contribution_append", {**append, "body_parts": [{"object_ref": ref}]}),
        "from": ("relation_assert", {**related, "from_ref": pin}),
        "to": ("relation_assert", {**related, "to_ref": pin}),
        "rationale": ("relation_assert", {**related, "from_ref": pin, "rationale_ref": ref}),
        "trigger": ("context_assembly_create", {**assembly, "required_refs": [], "trigger_refs": [ref]}),
        "item": ("context_assembly_create", {**assembly, "required_refs": [ref], "trigger_refs": []}),
        "replacement": ("contribution_supersede", {**replaced, "replacement_ref": ref}),
        "purpose": ("space_update_metadata", {"space_id": space.space_id, "purpose_contribution_ref": ref}),
        "relations of it": (
            "tallystick_relation_list",
            {"space_id": space.space_id, "object_ref": ref, "limit": 9},
        ),
    }
    kinds = {}
    for name, (operation, args) in asked.items():
        ext = AT_HEAD if operation in ("contribution_append", "relation_assert") else None
        kinds[name] = bounded.ask(operation, args, project=scene.project, ext=ext).kind
    assert kinds == dict.fromkeys(asked, "forbidden")


def test_a_worker_attaches_no_file_that_is_not_its_works(scene: Scene) -> None:
    """On the owner's channel too: a file of another project is not there for it. What the space's readers
    have, and what was uploaded since the claim, it attaches.
    """
    elsewhere, space = upload(scene.owner), scene.things.space
    claim = {"invocation_id": scene.invocation(space)["invocation_id"]}
    attempt = attempt_of(scene.owner.done("invocation_claim", claim, to=WORKER))
    made = upload(scene.owner)
    kinds = [
        written(scene.owner, attempt, scene, space, body_parts=[{"artifact_ref": artifact}])
        for artifact in (elsewhere, scene.things.artifact_id, made)
    ]
    assert kinds == ["not-found", None, None]
