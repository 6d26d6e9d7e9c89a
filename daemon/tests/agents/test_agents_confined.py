"""An agent that is shown its own directory of sockets and nothing else tries what it must not do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pytest
from entries import BOUND_AND_NAMED, Entry
from expected import ENTRIES, entry_of
from harness.dumps import differences, dump_live
from harness.wire import Reply, Request, Wire, request
from scene import Actor, Scene, add_agent
from world import (
    AT_HEAD,
    CLIENT,
    DEPLOYMENT,
    WORKER,
    Attempt,
    JsonObject,
    Space,
    append_args,
    assembly_args,
    attempt_of,
    invocation_args,
    participant_digest,
    reaction_args,
    relation_args,
)

TIDIED: Final = ("outbox", "delete")
"""What an earlier batch left for a later one to do."""
GUESSED: Final = "att-" + "5" * 32


class Hidden(NamedTuple):
    """A space that nobody but the owner has a part in, what is in it, and the attempt of its invocation."""

    space: Space
    said: JsonObject
    other: JsonObject
    relation: JsonObject
    frontier: JsonObject
    assembly: JsonObject
    invocation: JsonObject
    lens: JsonObject
    attempt: Attempt
    claimed: Request
    append: Request
    """The owner's own requests, byte for byte."""


@pytest.fixture(scope="module")
def hidden(scene: Scene) -> Hidden:
    """Made once: nobody changes it."""
    made = scene.done("space_create", {"title": "the owner's alone", "visibility": "restricted"})
    space = Space(made["space_id"], made["main_branch_id"])
    append = said(scene, space, "a secret of the owner's", "hidden-append")
    first, other = scene.owner.send(append).result, scene.say(space)
    assembled = assembly_args(space, [first["contribution_id"]])
    assembly = scene.done("context_assembly_create", assembled)
    taken = scene.invocation(space, assembly)
    claim = {"invocation_id": taken["invocation_id"]}
    claimed = request(WORKER, "invocation_claim", claim, key="hidden-claim")
    attempt = attempt_of(scene.owner.send(claimed).result)
    return Hidden(
        space,
        first,
        other,
        scene.relate(space, first, other),
        scene.done("frontier_pin", space.args),
        assembly,
        scene.invocation(space),
        scene.lens(space),
        attempt,
        claimed,
        append,
    )


def said(scene: Scene, space: Space, text: str, key: str, **more: object) -> Request:
    args = {**append_args(space, text, "claim"), **more}
    return request(CLIENT, "contribution_append", args, project=scene.project, key=key, ext=AT_HEAD)


def event_of(thing: JsonObject, member: str) -> str:
    """An event that made an object shares its digits with it."""
    return "evt-" + str(thing[member]).partition("-")[2]


# --- what is not theirs is not there ------------------------------------------------------------------------
Args = Callable[[Hidden], JsonObject]
UNSEEN: Final[dict[str, Args]] = {
    "space_show": lambda h: {"space_id": h.space.space_id},
    "contribution_list": lambda h: {"space_id": h.space.space_id, "limit": 9},
    "tallystick_contribution_list": lambda h: {"space_id": h.space.space_id, "limit": 9},
    "tallystick_relation_list": lambda h: {"space_id": h.space.space_id, "limit": 9},
    "tallystick_disposition_list": lambda h: {"space_id": h.space.space_id, "limit": 9},
    "tallystick_frontier_list": lambda h: {"space_id": h.space.space_id, "limit": 9},
    "tallystick_assembly_list": lambda h: {"space_id": h.space.space_id, "limit": 9},
    "space_participant_list": lambda h: {"space_id": h.space.space_id, "limit": 9},
    "space_access_grant_list": lambda h: {"space_id": h.space.space_id, "limit": 9},
    "lens_list": lambda h: {"space_id": h.space.space_id, "limit": 9},
    "tallystick_branch_show": lambda h: {"branch_id": h.space.branch_id},
    "contribution_show": lambda h: {"contribution_id": h.said["contribution_id"]},
    "tallystick_relation_show": lambda h: {"relation_id": h.relation["relation_id"]},
    "frontier_show": lambda h: {"frontier_id": h.frontier["frontier_id"]},
    "context_assembly_show": lambda h: {"assembly_id": h.assembly["assembly_id"]},
    "invocation_show": lambda h: {"invocation_id": h.invocation["invocation_id"]},
    "lens_show": lambda h: {"lens_id": h.lens["lens_id"]},
    "lens_read": lambda h: {"lens_id": h.lens["lens_id"], "limit": 9},
    "event_payload": lambda h: {"event_id": event_of(h.said, "contribution_id")},
    "contribution_append": lambda h: append_args(h.space, "x"),
    "frontier_pin": lambda h: h.space.args,
    "contribution_withdraw": lambda h: {
        "contribution_ref": h.said["contribution_id"],
        "reason_class": "author_request",
    },
    "contribution_redact": lambda h: {
        "contribution_ref": h.said["contribution_id"],
        "reason_class": "author_request",
    },
    "relation_retract": lambda h: {
        "relation_ref": h.relation["relation_id"],
        "reason_class": "author_request",
    },
    "invocation_cancel": lambda h: {"invocation_id": h.invocation["invocation_id"]},
    "space_freeze": lambda h: {"space_id": h.space.space_id},
    "lens_revoke": lambda h: {"lens_id": h.lens["lens_id"]},
    "tallystick_erase": lambda h: {"object_ref": h.lens["lens_id"], "reason_class": "x"},
    "tallystick_erase of an event": lambda h: {
        "event_id": event_of(h.lens, "lens_id"),
        "reason_class": "x",
    },
    "tallystick_erase of a contribution": lambda h: {
        "object_ref": h.said["contribution_id"],
        "reason_class": "x",
    },
    "tallystick_erase of a contribution's event": lambda h: {
        "event_id": event_of(h.said, "contribution_id"),
        "reason_class": "x",
    },
    "contribution_supersede": lambda h: {
        "contribution_ref": h.said["contribution_id"],
        "replacement_ref": h.other["contribution_id"],
        "reason_class": "author_request",
    },
    "reaction_set": lambda h: reaction_args(h.space, h.said, "present"),
    "lens_update": lambda h: {"lens_id": h.lens["lens_id"]},
    "space_participant_add": lambda h: {
        "space_id": h.space.space_id,
        "subject_ref": "prin-x",
        "kind": "principal",
        "role": "observer",
    },
}
"""By operation the arguments that name something of the space that is not shown."""


def nowhere(value: Any) -> Any:
    """The same with ids that nothing has."""
    return json.loads(re.sub(r"-[0-9a-f]{32}\b", "-" + "0" * 32, json.dumps(value)))


@pytest.mark.parametrize("operation", UNSEEN)
@pytest.mark.parametrize("role", ["steward", "none"])
def test_another_space_is_as_if_it_were_not(role: str, operation: str, scene: Scene, hidden: Hidden) -> None:
    """A steward of other spaces, and who has no part in anything, are answered as about what never was: the
    same words, but for the id that was asked for. Nothing is changed.
    """
    agent, args = scene.agents[role], UNSEEN[operation](hidden)
    operation = operation.partition(" ")[0]
    ext = AT_HEAD if operation == "contribution_append" else None
    project = None if operation in ("event_payload", "tallystick_erase") else scene.project
    before = dump_live(scene.owner.paths)
    real = agent.ask(operation, args, project=project, ext=ext)
    never = agent.ask(operation, nowhere(args), project=project, ext=ext)
    changes = differences(before, dump_live(scene.owner.paths))
    assert real.kind == "not-found"
    assert nowhere(real.problem) == nowhere(never.problem)
    assert {(change.table, change.action) for change in changes} <= {("log", "insert"), TIDIED}


def test_no_list_and_no_event_tells_of_it(scene: Scene, hidden: Hidden) -> None:
    """Neither ids nor words of the space stand in what a member of the project can list or follow."""
    agent = scene.agents["steward"]
    told = [
        agent.ask("space_list", {"limit": 512}, project=scene.project),
        agent.ask("invocation_list", {"limit": 512}, project=scene.project),
        agent.ask("snapshot_read", {"source": scene.project, "limit": 512}),
        agent.ask("tallystick_artifact_list", {"limit": 512}),
    ]
    cursor = None
    while True:
        args: JsonObject = {"source": scene.project, "limit": 512}
        page = agent.done("events_read", args if cursor is None else {**args, "after_cursor": cursor})
        told.append(Reply(json.dumps(page).encode(), {}))
        if page["next_cursor"] == cursor:
            break
        cursor = page["next_cursor"]
    for reply in told:
        for secret in (
            hidden.space.space_id,
            hidden.space.branch_id,
            str(hidden.said["contribution_id"]),
            str(hidden.invocation["invocation_id"]),
            "a secret of the owner's",
            "the owner's alone",
        ):
            assert secret.encode() not in reply.raw


def test_what_is_not_shown_cannot_be_reached_through_what_is(scene: Scene, hidden: Hidden) -> None:
    """Relations, assemblies, replacements, invocations and parts that name something of it find nothing."""
    agent, here = scene.agents["steward"], scene.things
    assembled = {**assembly_args(here.space, [hidden.said["contribution_id"]]), "trigger_refs": []}
    replaced = {
        "contribution_ref": scene.say(here.space)["contribution_id"],
        "replacement_ref": hidden.said["contribution_id"],
        "reason_class": "author_request",
    }
    invoked = invocation_args(here.space, context_assembly_ref=hidden.assembly["assembly_id"])
    project = scene.project
    related = relation_args(here.space, here.question, hidden.said)
    kinds = {
        "relation": agent.ask("relation_assert", related, project=project, ext=AT_HEAD).kind,
        "assembly": agent.ask("context_assembly_create", assembled, project=project).kind,
        "replacement": agent.ask("contribution_supersede", replaced, project=project).kind,
        "invocation": agent.ask("invocation_create", invoked, project=project).kind,
    }
    assert set(kinds.values()) == {"not-found"}, kinds


# --- not as somebody else -----------------------------------------------------------------------------------
def test_no_field_makes_an_agent_somebody_else(scene: Scene) -> None:
    """Arguments and envelope are closed to an actor's name; an extension that says one changes nothing."""
    agent, space = scene.agents["contributor"], scene.things.space
    named = said(scene, space, "x", "as-1", author_actor_ref="prin-owner")
    assert agent.send(named).kind == "invalid"
    plain = said(scene, space, "x", "as-2")
    for member in ("actor", "author", "principal"):
        assert agent.send(Request(CLIENT, {**plain.body, member: "prin-owner"})).kind == "invalid"
        meta = {**plain.body["meta"], member: "prin-owner"}
        assert agent.send(Request(CLIENT, {**plain.body, "meta": meta})).kind == "invalid"
    ext = {**AT_HEAD, "com.example.actor": "prin-owner"}
    told = agent.send(Request(CLIENT, {**plain.body, "ext": ext})).result
    assert told["author_actor_ref"] == agent.name
    inside = {"op": "tallystick_authenticate", "args": {"credential": "x"}, "version": "0.1"}
    with Wire(agent.paths) as wire:
        wire._socket.sendall(
            json.dumps(inside).encode() + b"\n" + scene.right(entry_of("project_create")).line
        )
        assert json.loads(wire.read_line())["outcome"] == "problem"
        assert wire.receive("project_create").kind == "unauthenticated"


def test_the_owners_socket_is_not_in_an_agents_directory(scene: Scene) -> None:
    """What an agent is shown holds its own two sockets, and no way up."""
    agent = scene.agents["none"]
    assert agent.ask("tallystick_status", {}).kind == "forbidden"
    assert agent.ask("tallystick_shutdown", {}).kind == "forbidden"
    assert agent.ask("diagnose", {}).kind == "forbidden"
    assert scene.owner.ask("tallystick_status", {}).ok


def test_no_agent_makes_another(scene: Scene) -> None:
    """Nor sees who there is, nor ends one, not even itself."""
    agent = scene.agents["steward"]
    new = {"name": "accomplice", "credential_sha256": "a1" * 32}
    assert agent.ask("tallystick_agent_add", new).kind == "forbidden"
    assert agent.ask("tallystick_agent_list", {"limit": 9}).kind == "forbidden"
    for name in (agent.name, scene.agents["none"].name):
        assert agent.ask("tallystick_agent_show", {"agent_id": name}).kind == "forbidden"
        assert agent.ask("tallystick_agent_revoke", {"agent_id": name}).kind == "forbidden"


# --- not by its own word ------------------------------------------------------------------------------------
def test_nobody_approves_its_own_participation(scene: Scene) -> None:
    """Proposed to a space it has no part in yet, an agent cannot let itself in: with no part in the project
    there is nothing, with one it is the owner's to do. A steward lets nobody in either.
    """
    space = scene.space()
    stranger = add_agent(scene.owner, "to be approved")
    proposed = {
        "space_id": space.space_id,
        "subject_ref": stranger.name,
        "kind": "service",
        "role": "steward",
    }
    part = scene.agents["steward"].done("space_participant_add", proposed, project=scene.project)
    approve = {"participant_id": part["participant_id"], "subject_digest": participant_digest(part)}
    activate = "space_participant_activate"
    assert stranger.ask(activate, approve, project=scene.project).kind == "not-found"
    assert scene.agents["steward"].ask(activate, approve, project=scene.project).kind == "forbidden"
    grant = {"space_id": space.space_id, "subject_ref": stranger.name, "allowed_actions": ["steward"]}
    assert stranger.ask("space_access_grant_create", grant, project=scene.project).kind == "not-found"
    steward = scene.agents["steward"]
    assert steward.ask("space_access_grant_create", grant, project=scene.project).kind == "forbidden"
    assert stranger.ask("space_show", {"space_id": space.space_id}, project=scene.project).kind == "not-found"


def part_of(scene: Scene, space: Space, subject: str) -> str:
    """The id of a subject's part in a space."""
    listed = scene.done("space_participant_list", {"space_id": space.space_id, "limit": 99})
    return next(str(p["participant_id"]) for p in listed["items"] if p["subject_ref"] == subject)


@pytest.mark.parametrize(
    ("role", "change"),
    [
        ("muted", {"status": "active"}),
        ("muted", {"role": "steward"}),
        ("observer", {"role": "contributor"}),
        ("contributor", {"role": "steward"}),
    ],
)
def test_nobody_raises_itself(role: str, change: JsonObject, scene: Scene) -> None:
    """Neither its role, nor from being muted."""
    agent, space = scene.agents[role], scene.things.space
    named = {"participant_id": part_of(scene, space, agent.name), **change}
    assert agent.ask("space_participant_update", named, project=scene.project).kind == "forbidden"


def test_a_steward_does_not_turn_on_the_owner(scene: Scene) -> None:
    """The owner's own part is not an agent's to change or to end."""
    steward, space = scene.agents["steward"], scene.things.space
    named = {"participant_id": part_of(scene, space, "prin-owner")}
    for change in ({"status": "muted"}, {"role": "observer"}):
        asked = steward.ask("space_participant_update", {**named, **change}, project=scene.project)
        assert asked.kind == "forbidden"
    assert steward.ask("space_participant_remove", named, project=scene.project).kind == "forbidden"


# --- not with another's attempt, or key ---------------------------------------------------------------------
FENCED: Final = [entry for entry in ENTRIES.values() if entry.binding == BOUND_AND_NAMED]
"""What a worker asks of its own invocation."""


@pytest.mark.parametrize("entry", FENCED, ids=str)
def test_an_attempt_is_neither_guessed_nor_borrowed(entry: Entry, scene: Scene, hidden: Hidden) -> None:
    """A guessed attempt and the owner's own, which somebody gave away, are one and the same nothing."""
    agent = scene.agents["contributor"]
    kinds = []
    for attempt in (scene.attempt, hidden.attempt, scene.attempt._replace(attempt_id=GUESSED)):
        answered = agent.send(scene.right(entry, attempt))
        kinds.append((answered.kind, nowhere(answered.problem["detail"])))
    assert len(set(kinds)) == 1
    assert kinds[0][0] == "not-found"


def test_an_invocation_is_not_taken_where_it_may_not(scene: Scene, hidden: Hidden) -> None:
    """Of a space that is not shown, or of a deployment that is not bound: there is none, and none comes."""
    agent, unbound = scene.agents["contributor"], add_agent(scene.owner, "unbound")
    named = {"invocation_id": hidden.invocation["invocation_id"]}
    assert agent.ask("invocation_claim", named, to=WORKER).kind == "not-found"
    mine = {"invocation_id": scene.invocation(scene.things.space)["invocation_id"]}
    assert unbound.ask("invocation_claim", mine, to=WORKER).kind == "not-found"
    waits = {"deployments": [DEPLOYMENT], "wait_ms": 0, "term_seconds": 60}
    assert unbound.ask("tallystick_invocation_next", waits, to=WORKER).kind == "not-found"
    taken = [agent.done("tallystick_invocation_next", waits, to=WORKER)["invocation"] for _ in range(40)]
    spaces = {invocation["space_id"] for invocation in taken if invocation is not None}
    assert hidden.space.space_id not in spaces


def test_anothers_key_leads_to_nothing(scene: Scene, hidden: Hidden) -> None:
    """The owner's requests, sent again byte for byte on an agent's sockets, are the agent's own: refused
    where it may not, and where it may, done in its own name; no reply of the owner's is handed over.
    """
    agent = scene.agents["contributor"]
    for replayed in (hidden.append, hidden.claimed):
        assert agent.send(replayed).kind == "not-found"
    owners = said(scene, scene.things.space, "the owner's words", "the-same-key")
    first = scene.owner.send(owners).result
    mine = agent.send(owners).result
    assert mine["contribution_id"] != first["contribution_id"]
    assert mine["author_actor_ref"] == agent.name
    other = said(scene, scene.things.space, "other words", "the-same-key")
    assert agent.send(other).kind == "idempotency-mismatch", "its own key by now"


def test_a_workers_words_under_the_owners_attempt_are_refused(scene: Scene) -> None:
    """Not even a replay of what the owner's worker did is answered elsewhere."""
    agent, attempt = scene.agents["contributor"], scene.attempt
    spoken = said(scene, scene.things.space, "the worker's", "step-1")
    step = Request(WORKER, {**spoken.body, "args": {**spoken.body["args"], **attempt.binding}})
    assert scene.owner.send(step).ok
    assert agent.send(step).kind == "not-found"
    assert scene.owner.send(step).ok


# --- not any more -------------------------------------------------------------------------------------------
def test_a_revoked_agent_has_nothing(scene: Scene) -> None:
    """Its directory is gone, and its credential is nobody's; the replies to what it did stay behind."""
    secret = "a credential that was right"
    agent = add_agent(scene.owner, "to be revoked", credential=secret)
    append = said(scene, scene.things.space, "x", "before")
    assert agent.send(append).kind == "not-found"
    scene.owner.done("tallystick_agent_revoke", {"agent_id": agent.name})
    with pytest.raises(FileNotFoundError):
        agent.send(append)
    line = json.dumps({"op": "tallystick_authenticate", "args": {"credential": secret}}).encode()
    with Wire(scene.owner.paths) as wire:
        wire._socket.sendall(line + b"\n" + append.line)
        assert json.loads(wire.read_line())["problem"]["type"].endswith(":unauthenticated")
        assert wire.receive("contribution_append").kind == "unauthenticated"


def test_what_was_removed_is_not_replayed(scene: Scene) -> None:
    """Taken out of a space, an agent gets no reply again to what it did there, under its own keys either."""
    space = scene.space()
    agent = scene.agents["contributor"]
    append = said(scene, space, "mine", "mine-1")
    assert agent.send(append).ok
    assert agent.send(append).ok
    named = {"participant_id": part_of(scene, space, agent.name)}
    scene.done("space_participant_remove", named)
    assert agent.send(append).kind == "not-found"


PLACES: Final = ("../../../etc/passwd", "/etc/passwd", "..", "~/keys/objects.key", "upl-../../x")


@pytest.mark.parametrize("place", PLACES)
def test_no_id_is_a_path(place: str, scene: Scene) -> None:
    """What is named is looked up, and never opened."""
    agent = scene.agents["steward"]
    for operation, args in (
        ("artifact_upload_show", {"upload_id": place}),
        ("artifact_upload_credential", {"upload_id": place}),
        ("tallystick_artifact_get", {"artifact_id": place, "offset": 0}),
        ("tallystick_artifact_put", {"upload_id": place, "offset": 0, "data": "eA=="}),
        ("tallystick_agent_show", {"agent_id": place}),
    ):
        assert agent.ask(operation, args).kind in ("not-found", "forbidden"), operation


def test_there_is_only_what_it_was_shown(scene: Scene) -> None:
    """The whole test above saw nothing of the daemon but the agent's own two sockets."""
    for agent in scene.agents.values():
        assert isinstance(agent, Actor)
        assert agent.paths.client_socket.startswith(agent.paths.runtime_dir)
        assert agent.name in agent.paths.runtime_dir
