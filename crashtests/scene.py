"""A project of the owner's with an agent of every role in it, on a running daemon.

All that an agent is tried on is the owner's, and in restricted spaces: so what it may follows from its part
in them alone. What each operation is asked here stands in its family's page (``expected``); what can be done
once only is made anew for each request.
"""

from __future__ import annotations

import base64
import os
import socket
from collections.abc import Mapping
from hashlib import sha256
from itertools import count
from typing import Any, Final, NamedTuple

import artifacts
import pipelines
from entries import ROLES, Entry, JsonObject
from harness.dumps import Dump, dump_live
from harness.wire import Reply, Request, Wire, judged, request
from world import (
    AT_HEAD,
    CLIENT,
    DEPLOYMENT,
    NO_CONTENT,
    WORKER,
    Attempt,
    Space,
    append_args,
    assembly_args,
    attempt_of,
    invocation_args,
    participant_digest,
    relation_args,
)

from tallystick.paths import Paths, resolve
from tallystick.protocol.operation import Socket


def paths_in(paths: Paths, directory: str) -> Paths:
    """The places of whoever is shown that directory of sockets alone."""
    return resolve(
        paths.data_dir,
        os.path.join(paths.runtime_dir, directory),
        {"TALLY_STATE_DIR": paths.state_dir, "HOME": "/"},
    )


_KEYS: Final = count()


class Actor:
    """Somebody who speaks on the sockets of one directory: each request on a connection of its own."""

    def __init__(self, paths: Paths, name: str = "prin-owner") -> None:
        self.paths = paths
        self.name = name

    def send(self, asked: Request) -> Reply:
        """Half-closes behind the request and reads to the end, as KCP's clients do."""
        with Wire(self.paths, asked.socket) as wire:
            wire.send(asked)
            wire._socket.shutdown(socket.SHUT_WR)
            line = wire.read_line()
            assert not wire.read_line(), "more than one line came back"
        return judged(asked.operation, line)

    def ask(
        self,
        operation: str,
        args: Mapping[str, object],
        *,
        project: str | None = None,
        to: Socket = CLIENT,
        key: str | None = None,
        ext: JsonObject | None = None,
    ) -> Reply:
        """A request under a key of its own."""
        key = key or f"{self.name}-{next(_KEYS)}"
        return self.send(request(to, operation, dict(args), project=project, key=key, ext=ext))

    def done(self, operation: str, args: Mapping[str, object], **how: Any) -> JsonObject:
        """The result of what must be done."""
        return self.ask(operation, args, **how).result


def add_agent(owner: Actor, name: str, credential: str | None = None, **more: object) -> Actor:
    """A new agent, as it speaks in its own directory."""
    hashed = sha256((credential or f"the credential of {name}").encode()).hexdigest()
    record = owner.done("tallystick_agent_add", {"name": name, "credential_sha256": hashed, **more})
    return Actor(paths_in(owner.paths, record["directory"]), str(record["agent_id"]))


def take_part(owner: Actor, project: str, space: Space, subject: str, role: str, status: str) -> JsonObject:
    """Lets an agent into a space, by the owner's commands."""
    said = {"space_id": space.space_id, "subject_ref": subject, "kind": "service", "role": role}
    part = owner.done("space_participant_add", said, project=project)
    which = {"participant_id": part["participant_id"]}
    digest = {"subject_digest": participant_digest(part)}
    part = owner.done("space_participant_activate", {**which, **digest}, project=project)
    if status == "muted":
        return owner.done("space_participant_update", {**which, "status": "muted"}, project=project)
    if status == "revoked":
        return owner.done("space_participant_remove", which, project=project)
    return part


class Things(NamedTuple):
    """What stands in a space, all of it the owner's."""

    space: Space
    question: JsonObject
    evidence: JsonObject
    relation: JsonObject
    frontier: JsonObject
    assembly: JsonObject
    invocation: JsonObject
    lens: JsonObject
    artifact_id: str
    event_id: str


class Scene:
    """See the module. ``agents`` are by their parts in its spaces (``ROLES``).

    ``things`` are there for everybody to ask for. Every method makes something new: what can be changed, or
    done with, once only. A second scene of one daemon has a project and agents of its own, whose names begin
    with ``called``.
    """

    def __init__(self, paths: Paths, called: str = "") -> None:
        self.owner = Actor(paths)
        self._number = count()
        self.project = str(self.owner.done("project_create", {"name": "kitchen"})["project_id"])
        self.agents = {
            name: add_agent(self.owner, called + name, deployments=[DEPLOYMENT]) for name in ROLES
        }
        self.things = self._things()
        self.attempt = self.new_attempt()
        self.stale = self._stale()
        self.upload = self.new_upload()

    def done(self, operation: str, args: Mapping[str, object], **how: Any) -> JsonObject:
        """What the owner does in the project."""
        return self.owner.done(operation, args, project=self.project, **how)

    def key(self, word: str) -> str:
        """A word that nobody used before."""
        return f"{word}-{next(self._number)}"

    def settled(self) -> Dump:
        """The store when the daemon does nothing by itself any more: what was erased before is gone."""
        while True:
            dump = dump_live(self.owner.paths)
            if all(row["state"] == "erased" for row in dump["erasures"].values()):
                return dump
            assert self.owner.ask("diagnose", {}).ok

    def right(self, entry: Entry, attempt: Attempt | None = None) -> Request:
        """The entry's right request, under a key of its own. Where it names an attempt, that is the one that
        the owner's worker holds, unless another is given.
        """
        bound = (attempt or self.attempt).args
        args = {**entry.right(self), **{member: bound[member] for member in entry.binding}}
        project = self.project if entry.has_project else None
        return request(
            entry.socket, entry.name, args, project=project, key=self.key(entry.name), ext=entry.ext
        )

    # --- a space, and what is in it -------------------------------------------------------------------------
    @property
    def here(self) -> JsonObject:
        """Names the space in which everything stands."""
        return {"space_id": self.things.space.space_id}

    @property
    def page(self) -> JsonObject:
        """Asks for the first page of what is in it."""
        return {**self.here, "limit": 9}

    def space(self, visibility: str = "restricted") -> Space:
        """A space in which every agent has its part."""
        made = self.done("space_create", {"title": self.key("space"), "visibility": visibility})
        space = Space(made["space_id"], made["main_branch_id"])
        for name, (role, status) in ROLES.items():
            if role is not None and status is not None:
                take_part(self.owner, self.project, space, self.agents[name].name, role, status)
        return space

    def say(self, space: Space, kind: str = "claim", **more: object) -> JsonObject:
        return self.done(
            "contribution_append", {**append_args(space, "It drips.", kind), **more}, ext=AT_HEAD
        )

    def relate(self, space: Space, one: JsonObject, other: JsonObject) -> JsonObject:
        return self.done("relation_assert", relation_args(space, one, other), ext=AT_HEAD)

    def invocation(self, space: Space, assembly: JsonObject | None = None, **more: object) -> JsonObject:
        return self.done("invocation_create", {**invocation_args(space, assembly), **more})

    def lens(self, space: Space) -> JsonObject:
        said = {"space_id": space.space_id, "kind": "custom", "visibility": "shared"}
        return self.done("lens_create", {**said, **NO_CONTENT})

    def new_attempt(self) -> Attempt:
        """One that the owner's own worker holds, with question and evidence to read."""
        taken = self.invocation(self.things.space, self.things.assembly)
        claimed = self.owner.done("invocation_claim", {"invocation_id": taken["invocation_id"]}, to=WORKER)
        return attempt_of(claimed)

    def _stale(self) -> Attempt:
        """One that has failed: its invocation waits for another."""
        attempt = self.new_attempt()
        failed = {**attempt.args, "reason_class": "tests_fail", "retryable": True}
        self.owner.done("tallystick_invocation_fail", failed, to=WORKER)
        return attempt

    # --- who may see it -------------------------------------------------------------------------------------
    def participant(self) -> JsonObject:
        """Somebody proposed for the common space."""
        said = {**self.here, "subject_ref": self.key("prin")}
        return self.done("space_participant_add", {**said, "kind": "principal", "role": "observer"})

    def grant(self) -> JsonObject:
        said = {**self.here, "subject_ref": self.key("prin"), "allowed_actions": ["read"]}
        return self.done("space_access_grant_create", said)

    def policy_change(self) -> JsonObject:
        """Another policy of the project, prepared."""
        return self.done(
            "project_access_policy_change_prepare", {"proposed_policy_set_ref": self.key("policy")}
        )

    def widening(self) -> JsonObject:
        """A widening of a space of its own, prepared."""
        wider = {"proposed_visibility": "project", "proposed_policy_set_ref": "policy-wider"}
        return self.done("space_access_widen_prepare", {"space_id": self.space().space_id, **wider})

    # --- what stands in no space ----------------------------------------------------------------------------
    def deployment(self, *, active: bool = False) -> JsonObject:
        """A deployment of the built-in assistant."""
        made = self.owner.done("deployment_create", pipelines.deployment("asstrev-local-dev"))
        named = {"assistant_deployment_id": made["assistant_deployment_id"]}
        return self.owner.done("deployment_activate", named) if active else made

    def alias(self) -> JsonObject:
        bound = {"display_alias": self.key("Ada"), **pipelines.BUILT_IN}
        return self.done("assistant_alias_bind", bound)

    def new_upload(self, content: bytes = artifacts.BYTES) -> JsonObject:
        """An upload that has all its bytes."""
        begun = self.owner.done("tallystick_artifact_begin", artifacts.declared(content))
        chunk = {"upload_id": begun["upload_id"], "offset": 0, "data": base64.b64encode(content).decode()}
        self.owner.done("tallystick_artifact_put", chunk)
        return begun

    def _artifact(self) -> str:
        upload = {"upload_id": self.new_upload()["upload_id"]}
        return str(self.owner.done("artifact_upload_finalize", upload)["artifact_id"])

    def _things(self) -> Things:
        space = self.space()
        artifact_id = self._artifact()
        question = self.say(space, "question")
        part = {"artifact_ref": artifact_id, "title": "the washer"}
        evidence = self.say(space, "evidence", body_parts=[part])
        refs = [question["contribution_id"], evidence["contribution_id"]]
        digits = str(question["contribution_id"]).partition("-")[2]
        return Things(
            space,
            question,
            evidence,
            self.relate(space, evidence, question),
            self.done("frontier_pin", space.args),
            self.done("context_assembly_create", assembly_args(space, refs)),
            self.invocation(space),
            self.lens(space),
            artifact_id,
            f"evt-{digits}",
        )
