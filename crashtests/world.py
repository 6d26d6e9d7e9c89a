"""A small store in which every writing operation can be done once: made by a daemon, over its sockets.

One project; a space with a question, its evidence and an assembly of both; a second space that no worker has
been in. Each cell of the matrix that needs an invocation has one of its own, in the state that it needs.
"""

from __future__ import annotations

from itertools import count
from typing import Any, Final, NamedTuple

import artifacts
import persons
import pipelines
from harness.dumps import Dump, dump_copy
from harness.home import Home
from harness.wire import Request, Wire, request

from tallystick.protocol.digests import cod
from tallystick.protocol.operation import Socket

CLIENT: Final = Socket.CLIENT
WORKER: Final = Socket.WORKER
DEPLOYMENT: Final = "dep-local-dev"
AT_HEAD: Final = {"dev.tallystick.append": {"at_head": True}}
TERM_SECONDS: Final = 600
"""Of the leases: longer than any cell takes."""
FAR: Final = "2999-12-31T00:00:00Z"
POLICY: Final = "explicit_refs_v1"
POLICY_PROPOSED: Final = {
    "proposed_policy_set_ref": "policy-proposed",
    "proposed_default_classification_ref": "class-proposed",
}
NO_CONTENT: Final[dict[str, object]] = {"query_ast": {}, "sort_spec": {}, "presentation_options": {}}
WIDER: Final = {"proposed_visibility": "project", **POLICY_PROPOSED}

JsonObject = dict[str, Any]


class Space(NamedTuple):
    """A space and its main branch."""

    space_id: str
    branch_id: str

    @property
    def args(self) -> JsonObject:
        return {"space_id": self.space_id, "branch_id": self.branch_id}


class Attempt(NamedTuple):
    """What a claim gave: the binding of every command of that attempt."""

    invocation_id: str
    attempt_id: str
    fence_epoch: int

    @property
    def binding(self) -> JsonObject:
        return {"attempt_id": self.attempt_id, "fence_epoch": self.fence_epoch}

    @property
    def args(self) -> JsonObject:
        return {"invocation_id": self.invocation_id, **self.binding}


class World(NamedTuple):
    """The ids of what is there."""

    home: Home
    project: str
    space: Space
    untouched: Space
    question: JsonObject
    """The contribution's record."""
    evidence: JsonObject
    assembly: JsonObject
    invocations: dict[str, str]
    """Invocation ids by the cell that uses them."""
    attempts: dict[str, Attempt]
    """Of those that were claimed."""
    others: dict[str, str]
    """Further ids, by what they are there for: for most, by the operation of the cell that uses them."""

    # --- requests, as clients and workers write them --------------------------------------------------------
    def append(self, key: str, text: str, space: Space | None = None, kind: str = "observation") -> Request:
        return append(self.project, space or self.space, key, text, kind)

    def relate(self, key: str, kind: str = "addresses") -> Request:
        """Question and evidence, related."""
        args = relation_args(self.space, self.evidence, self.question, kind)
        return request(CLIENT, "relation_assert", args, project=self.project, key=key, ext=AT_HEAD)

    def assemble(self, key: str, purpose: str = "answer the question") -> Request:
        return assemble(self.project, self.space, key, [self.question, self.evidence], purpose)

    def invoke(self, key: str, space: Space, assembly: JsonObject | None, **args: object) -> Request:
        return invoke(self.project, key, space, assembly, **args)

    def as_worker(self, asked: Request, attempt: Attempt) -> Request:
        """The same command on the worker socket, bound to an attempt."""
        return Request(WORKER, {**asked.body, "args": {**asked.body["args"], **attempt.binding}})

    def claim(self, key: str, invocation_id: str, term_seconds: int = TERM_SECONDS) -> Request:
        return claim(key, invocation_id, term_seconds)

    def show_space(self, space: Space | None = None) -> Request:
        args = {"space_id": (space or self.space).space_id}
        return request(CLIENT, "space_show", args, project=self.project)


def reference(contribution: JsonObject) -> JsonObject:
    """The triple that pins a contribution."""
    return {
        "object_ref": contribution["contribution_id"],
        "revision": contribution["revision"],
        "digest": contribution["content_digest"],
    }


# --- arguments, and the requests that are made of them ------------------------------------------------------
def append_args(space: Space, text: str, kind: str = "observation") -> JsonObject:
    return {**space.args, "kind": kind, "body_parts": [{"media_type": "text/plain", "text": text}]}


def relation_args(space: Space, one: JsonObject, other: JsonObject, kind: str = "addresses") -> JsonObject:
    return {**space.args, "kind": kind, "from_ref": reference(one), "to_ref": reference(other)}


def assembly_args(space: Space, refs: list[str], purpose: str = "answer the question") -> JsonObject:
    """The first of what is required is also what triggers."""
    return {
        **space.args,
        "audience_ref": DEPLOYMENT,
        "purpose": purpose,
        "selection_policy_ref": POLICY,
        "required_refs": refs,
        "trigger_refs": refs[:1],
    }


def invocation_args(space: Space, assembly: JsonObject | None = None, **more: object) -> JsonObject:
    args = {
        "assistant_deployment_id": DEPLOYMENT,
        "assistant_deployment_revision": 1,
        **space.args,
        "deadline": FAR,
        **more,
    }
    if assembly is not None:
        args["context_assembly_ref"] = assembly["assembly_id"]
        args["context_assembly_digest"] = assembly["digest"]
    return args


def reaction_args(space: Space, target: JsonObject, state: str, mark: str = "thanks") -> JsonObject:
    pinned = reference(target)
    return {
        "space_id": space.space_id,
        "target_ref": pinned["object_ref"],
        "target_revision": pinned["revision"],
        "target_digest": pinned["digest"],
        "key": mark,
        "state": state,
    }


def append(project: str, space: Space, key: str, text: str, kind: str = "observation") -> Request:
    args = append_args(space, text, kind)
    return request(CLIENT, "contribution_append", args, project=project, key=key, ext=AT_HEAD)


def assemble(
    project: str, space: Space, key: str, items: list[JsonObject], purpose: str = "answer the question"
) -> Request:
    args = assembly_args(space, [item["contribution_id"] for item in items], purpose)
    return request(CLIENT, "context_assembly_create", args, project=project, key=key)


def invoke(project: str, key: str, space: Space, assembly: JsonObject | None, **args: object) -> Request:
    said = invocation_args(space, assembly, **{"max_attempts": 2, **args})
    return request(CLIENT, "invocation_create", said, project=project, key=key)


def claim(key: str, invocation_id: str, term_seconds: int = TERM_SECONDS) -> Request:
    ext = {"dev.tallystick.lease": {"term_seconds": term_seconds}}
    return request(WORKER, "invocation_claim", {"invocation_id": invocation_id}, key=key, ext=ext)


def fail(key: str, attempt: Attempt, *, retryable: bool, reason: str = "assistant_error") -> Request:
    args = {**attempt.args, "reason_class": reason, "retryable": retryable}
    return request(WORKER, "tallystick_invocation_fail", args, key=key)


def complete(key: str, attempt: Attempt, result_ref: str | None = None) -> Request:
    args = attempt.args if result_ref is None else {**attempt.args, "result_ref": result_ref}
    return request(WORKER, "invocation_complete", args, key=key)


def attempt_of(claimed: JsonObject) -> Attempt:
    """The binding in a claim's result."""
    invocation_id = claimed["invocation"]["invocation_id"]
    return Attempt(invocation_id, claimed["attempt_id"], claimed["fence_epoch"])


QUEUED: Final = ("cancel queued", "claim first")
CLAIMED: Final = (
    "cancel running",
    "claim lapsed",
    "claim failed",
    "complete",
    "append",
    "relate",
    "assemble",
    "fail retryable",
    "fail for good",
    "cancel refused",
)


class Prepared(NamedTuple):
    """The world, its daemon stopped, and the dump of it."""

    world: World
    dump: Dump

    @property
    def home(self) -> Home:
        return self.world.home


def prepare(home: Home) -> Prepared:
    """Makes the store, stops its daemon, and looks at what is there."""
    return Prepared(build(home), dump_copy(home.paths))


def build(home: Home) -> World:
    """Makes the store, and stops its daemon."""
    with (
        home.start() as daemon,
        Wire(daemon.paths, CLIENT) as client,
        Wire(daemon.paths, WORKER) as worker,
    ):
        return _build(home, client, worker)


def make_space(client: Wire, project: str, name: str) -> Space:
    asked = request(
        CLIENT, "space_create", {"title": name, "visibility": "project"}, project=project, key=f"w-{name}"
    )
    made = client.ask(asked).result
    return Space(made["space_id"], made["main_branch_id"])


def _build(home: Home, client: Wire, worker: Wire) -> World:
    made = client.ask(request(CLIENT, "project_create", {"name": "kitchen"}, key="w-project"))
    project = made.result["project_id"]
    space, untouched = make_space(client, project, "taps"), make_space(client, project, "untouched")
    question = client.ask(append(project, space, "w-q", "Why does the tap drip?", "question")).result
    evidence = client.ask(append(project, space, "w-e", "It drips at night.", "evidence")).result
    assembly = client.ask(assemble(project, space, "w-assembly", [question, evidence])).result
    there = client.ask(append(project, untouched, "w-q2", "And the sink?", "question")).result
    elsewhere = client.ask(assemble(project, untouched, "w-assembly2", [there])).result
    invocations: dict[str, str] = {}
    attempts: dict[str, Attempt] = {}
    for name in (*QUEUED, *CLAIMED):
        within = (untouched, elsewhere) if name == "claim first" else (space, assembly)
        key = "w-" + name.replace(" ", "-")
        invoked = client.ask(invoke(project, key, *within)).result
        invocations[name] = invoked["invocation_id"]
        if name in CLAIMED:
            claimed = worker.ask(claim(f"{key}-claim", invocations[name])).result
            attempts[name] = attempt_of(claimed)
    failed = fail("w-failed", attempts["claim failed"], retryable=True)
    assert worker.ask(failed).result["state"] == "queued"
    others = {"project": project, **_for_stewards(client, project, space.space_id)}
    others |= _for_access(client, project)
    others |= _for_speakers(client, project, space, question, evidence)
    others |= artifacts.made(client)
    others |= pipelines.made(client, project)
    others |= persons.made(client)
    others |= persons.made_gates(client, project, others["access"], others["store"])
    _for_next(client, worker, project, space, assembly, others)
    others |= _for_erasure(client, project, space, others["carried's artifact"])
    return World(home, project, space, untouched, question, evidence, assembly, invocations, attempts, others)


def _for_next(
    client: Wire, worker: Wire, project: str, space: Space, assembly: JsonObject, others: dict[str, str]
) -> None:
    """An invocation of each of two deployments: one that nobody has claimed, one whose lease can lapse."""
    for name in ("next queued", "next lapsed"):
        key = "w-" + name.replace(" ", "-")
        deployed = {"assistant_deployment_id": others[name], "assistant_deployment_revision": 2}
        invoked = client.ask(invoke(project, f"{key}-invocation", space, assembly, **deployed)).result
        if name == "next lapsed":
            assert worker.ask(claim(f"{key}-claim", invoked["invocation_id"])).ok


OF_A_SPACE: Final = (
    "space_update_metadata",
    "space_freeze",
    "space_reopen",
    "space_archive",
    "space_restrict",
    "space_policy_narrow",
    "space_access_widen_prepare",
)
"""Operations that change a space, and have one of their own to do it to."""


def _for_stewards(client: Wire, project: str, space_id: str) -> dict[str, str]:
    """Agents, spaces and prepared changes for the cells of stewards."""

    def done(operation: str, args: JsonObject, where: str | None = project) -> JsonObject:
        key = f"w-{operation}-{len(found)}"
        return client.ask(request(CLIENT, operation, args, project=where, key=key)).result

    found: dict[str, str] = {}
    found["agent"] = done("tallystick_agent_add", {"name": "Eve", "credential_sha256": "ee" * 32}, None)[
        "agent_id"
    ]
    for operation in OF_A_SPACE:
        found[operation] = make_space(client, project, operation.replace("_", "-")).space_id
    done("space_freeze", {"space_id": found["space_reopen"]})
    for name in ("widening to confirm", "widening to cancel", "widening that has moved"):
        space = make_space(client, project, name.replace(" ", "-"))
        done("space_restrict", {"space_id": space.space_id})
        found[name] = done("space_access_widen_prepare", {"space_id": space.space_id, **WIDER})["widening_id"]
        if name == "widening that has moved":
            assert client.ask(append(project, space, "w-moves", "It moves.")).ok
    lens = {"space_id": space_id, "kind": "custom", "visibility": "private", **NO_CONTENT}
    found["lens to change"] = done("lens_create", lens)["lens_id"]
    found["governed"] = governed = done("project_create", {"name": "governed"}, None)["project_id"]
    for name in ("change to confirm", "change to cancel"):
        found[name] = done("project_access_policy_change_prepare", POLICY_PROPOSED, governed)["change_id"]
    found["moved"] = moved = done("project_create", {"name": "moved"}, None)["project_id"]
    change = done("project_access_policy_change_prepare", POLICY_PROPOSED, moved)
    found["change that has moved"] = change["change_id"]
    done("project_update_metadata", {"name": "moved on"}, moved)
    return found


def _for_access(client: Wire, project: str) -> dict[str, str]:
    """Participants and grants, each for the cell of the operation that it is named by."""
    space = make_space(client, project, "access")

    def done(operation: str, args: JsonObject) -> JsonObject:
        key = f"w-{operation}-{next(number)}"
        return client.ask(request(CLIENT, operation, args, project=project, key=key)).result

    number = count()
    found: dict[str, str] = {"access": space.space_id}
    for name in ("activate", "update", "remove"):
        args = {**GUEST, "space_id": space.space_id, "subject_ref": f"prin-{name}"}
        added = done("space_participant_add", args)
        found[f"space_participant_{name}"] = added["participant_id"]
        found[f"{name} digest"] = participant_digest(added)
    for name in ("update", "remove"):
        named = {"participant_id": found[f"space_participant_{name}"]}
        done("space_participant_activate", {**named, "subject_digest": found[f"{name} digest"]})
    granted = done("space_access_grant_create", {"space_id": space.space_id, **GRANTED})
    found["space_access_grant_revoke"] = granted["space_access_id"]
    return found


GUEST: Final = {"kind": "principal", "role": "observer"}
GRANTED: Final = {"subject_ref": "prin-granted", "allowed_actions": ["read"]}


def participant_digest(record: JsonObject) -> str:
    """What the activation of a participant has to name (KCP 3.4)."""
    members = ("participant_id", "space_id", "subject_ref", "kind", "role")
    subject = {member: record[member] for member in members}
    return cod("kovee-participant-subject", "schema:space-participant-v1", subject)


def _for_speakers(
    client: Wire, project: str, space: Space, question: JsonObject, evidence: JsonObject
) -> dict[str, str]:
    """A relation to be retracted, and a reaction that is there."""
    args = relation_args(space, evidence, question, "supports")
    related = request(CLIENT, "relation_assert", args, project=project, key="w-related", ext=AT_HEAD)
    relation = client.ask(related).result["relation_id"]
    assert client.ask(react(project, space, "w-react", evidence, "present")).ok
    return {"relation_retract": relation}


def _for_erasure(client: Wire, project: str, space: Space, artifact_id: str) -> dict[str, str]:
    """A contribution that carries an artifact, and the project's first event."""
    carrying = append(project, space, "w-carrying", "").changed(
        body_parts=[{"artifact_ref": artifact_id, "title": "the washer"}]
    )
    contribution = client.ask(carrying).result["contribution_id"]
    first = request(CLIENT, "events_read", {"source": project, "limit": 1})
    return {
        "carrying": contribution,
        "first event": client.ask(first).result["events"][0]["event_id"],
    }


def react(
    project: str, space: Space, key: str, target: JsonObject, state: str, mark: str = "thanks"
) -> Request:
    args = reaction_args(space, target, state, mark)
    return request(CLIENT, "reaction_set", args, project=project, key=key)
