"""A project of the owner's with an agent of every role, and right requests for each operation in it.

All that an agent is tried on is the owner's, and in restricted spaces: so what it may follows from its part
in them alone. What can be done once only is made anew for each request.
"""

from __future__ import annotations

import base64
import hashlib
import os
import socket
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Final, NamedTuple

import pipelines
from harness.wire import Reply, Request, Wire, judged, request
from world import AT_HEAD, FAR, Attempt, Space, attempt_of, participant_digest, reference

from tallystick.paths import Paths, resolve
from tallystick.protocol.operation import Placement, Socket
from tallystick.protocol.registry import BY_SOCKET

CLIENT: Final = Socket.CLIENT
WORKER: Final = Socket.WORKER
BUILT_IN: Final = "dep-local-dev"
POLICY: Final = "explicit_refs_v1"
JsonObject = dict[str, Any]
EMPTY_LENS: Final[JsonObject] = {"query_ast": {}, "sort_spec": {}, "presentation_options": {}}

ROLES: Final = {
    "steward": ("steward", "active"),
    "contributor": ("contributor", "active"),
    "observer": ("observer", "active"),
    "muted": ("contributor", "muted"),
    "removed": ("contributor", "revoked"),
    "none": (None, None),
}
"""The columns of the table of authority: the part that each agent has in every space of the scene."""


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
    hashed = hashlib.sha256((credential or f"the credential of {name}").encode()).hexdigest()
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
    """See the module. ``agents`` are by the columns of the table. A second scene of one daemon has a project
    and agents of its own, whose names begin with ``called``.
    """

    def __init__(self, paths: Paths, called: str = "") -> None:
        self.owner = Actor(paths)
        self._number = count()
        self.project = str(self.owner.done("project_create", {"name": "kitchen"})["project_id"])
        self.agents = {
            name: add_agent(self.owner, called + name, deployments=[BUILT_IN]) for name in ROLES
        }
        self.things = self._things()
        self.attempt = self._attempt()
        self.upload = self._begin_upload("artifact_upload_begin")
        self.alias = self.done(
            "assistant_alias_bind",
            {"display_alias": "Ada", "assistant_deployment_id": BUILT_IN, "deployment_revision": 1},
        )
        self.change = self.done(
            "project_access_policy_change_prepare", {"proposed_policy_set_ref": "policy-proposed"}
        )
        self.guest = self.participant()
        self.grant = self.done(
            "space_access_grant_create",
            {"space_id": self.things.space.space_id, "subject_ref": "prin-x", "allowed_actions": ["read"]},
        )
        self.widening = self.prepared()

    def done(self, operation: str, args: Mapping[str, object], **how: Any) -> JsonObject:
        """What the owner does in the project."""
        return self.owner.done(operation, args, project=self.project, **how)

    def key(self, word: str) -> str:
        """A word that nobody used before."""
        return f"{word}-{next(self._number)}"

    # --- things ---------------------------------------------------------------------------------------------
    def space(self, visibility: str = "restricted") -> Space:
        """A new space in which every agent has its part."""
        made = self.done("space_create", {"title": self.key("space"), "visibility": visibility})
        space = Space(made["space_id"], made["main_branch_id"])
        for name, (role, status) in ROLES.items():
            if role is not None and status is not None:
                take_part(self.owner, self.project, space, self.agents[name].name, role, status)
        return space

    def say(self, space: Space, kind: str = "claim", **more: object) -> JsonObject:
        parts = [{"media_type": "text/plain", "text": "It drips."}]
        args = {**space.args, "kind": kind, "body_parts": parts, **more}
        return self.done("contribution_append", args, ext=AT_HEAD)

    def relate(self, space: Space, one: JsonObject, other: JsonObject, kind: str = "addresses") -> JsonObject:
        args = {**space.args, "kind": kind, "from_ref": reference(one), "to_ref": reference(other)}
        return self.done("relation_assert", args, ext=AT_HEAD)

    def invocation(self, space: Space, **more: object) -> JsonObject:
        said = {
            "assistant_deployment_id": BUILT_IN,
            "assistant_deployment_revision": 1,
            **space.args,
            "deadline": FAR,
            **more,
        }
        return self.done("invocation_create", said)

    def lens(self, space: Space, visibility: str = "shared") -> JsonObject:
        said = {"space_id": space.space_id, "kind": "custom", "visibility": visibility}
        return self.done("lens_create", {**said, **EMPTY_LENS})

    def participant(self) -> JsonObject:
        """Somebody proposed for the common space."""
        said = {"space_id": self.things.space.space_id, "subject_ref": self.key("prin")}
        return self.done("space_participant_add", {**said, "kind": "principal", "role": "observer"})

    def prepared(self) -> JsonObject:
        """A widening of a space of its own."""
        wider = {"proposed_visibility": "project", "proposed_policy_set_ref": "policy-wider"}
        return self.done("space_access_widen_prepare", {"space_id": self.space().space_id, **wider})

    def _begin_upload(self, operation: str, data: bytes = b"washer") -> JsonObject:
        said = {
            "declared_raw_sha256": hashlib.sha256(data).hexdigest(),
            "declared_size": len(data),
            "declared_media_type": "text/plain",
        }
        return self.owner.done(operation, said)

    def _artifact(self, data: bytes = b"washer") -> str:
        begun = self._begin_upload("tallystick_artifact_begin", data)
        upload = {"upload_id": begun["upload_id"]}
        chunk = {"offset": 0, "data": base64.b64encode(data).decode()}
        self.owner.done("tallystick_artifact_put", {**upload, **chunk})
        return str(self.owner.done("artifact_upload_finalize", upload)["artifact_id"])

    def _things(self) -> Things:
        space = self.space()
        artifact_id = self._artifact()
        question = self.say(space, "question")
        part = {"artifact_ref": artifact_id, "title": "the washer"}
        evidence = self.say(space, "evidence", body_parts=[part])
        refs = [question["contribution_id"], evidence["contribution_id"]]
        assembly = self.done(
            "context_assembly_create",
            {
                **space.args,
                "audience_ref": BUILT_IN,
                "purpose": "answer",
                "selection_policy_ref": POLICY,
                "required_refs": refs,
                "trigger_refs": refs[:1],
            },
        )
        digits = str(question["contribution_id"]).partition("-")[2]
        return Things(
            space,
            question,
            evidence,
            self.relate(space, evidence, question),
            self.done("frontier_pin", space.args),
            assembly,
            self.invocation(space),
            self.lens(space),
            artifact_id,
            f"evt-{digits}",
        )

    def _attempt(self) -> Attempt:
        """One that the owner's own worker holds."""
        taken = self.invocation(self.things.space)
        claimed = self.owner.done("invocation_claim", {"invocation_id": taken["invocation_id"]}, to=WORKER)
        return attempt_of(claimed)

    # --- requests -------------------------------------------------------------------------------------------
    def right(self, operation: str) -> Request:
        """A request that the owner could make, under a key of its own; on what was made for it, where it can
        be done once only.
        """
        make = MAKES.get(operation)
        args, to = (FIXED[operation](self), CLIENT) if make is None else make(self)
        name = operation.removesuffix("@worker")
        needs_project = BY_SOCKET[to, name].project is Placement.REQUIRED
        place = self.project if needs_project else None
        ext = AT_HEAD if name in ("contribution_append", "relation_assert") else None
        return request(to, name, args, project=place, key=self.key(name), ext=ext)


Make = Callable[[Scene], JsonObject]


def _named(member: str, find: Callable[[Scene], object]) -> Make:
    return lambda scene: {member: find(scene)}


def _space(scene: Scene) -> JsonObject:
    return {"space_id": scene.things.space.space_id}


def _page(scene: Scene) -> JsonObject:
    return {**_space(scene), "limit": 9}


def _own_space(**more: object) -> Make:
    return lambda scene: {"space_id": scene.space().space_id, **more}


def _frozen(scene: Scene) -> JsonObject:
    space = {"space_id": scene.space().space_id}
    scene.done("space_freeze", space)
    return space


def _disposed(scene: Scene, **more: object) -> JsonObject:
    ref = scene.say(scene.things.space)["contribution_id"]
    return {"contribution_ref": ref, "reason_class": "author_request", **more}


def _retracted(scene: Scene) -> JsonObject:
    things = scene.things
    other = scene.say(things.space)
    relation = scene.relate(things.space, other, things.question)
    return {"relation_ref": relation["relation_id"], "reason_class": "author_request"}


def _reaction(scene: Scene) -> JsonObject:
    pinned = reference(scene.things.question)
    return {
        **_space(scene),
        "target_ref": pinned["object_ref"],
        "target_revision": pinned["revision"],
        "target_digest": pinned["digest"],
        "key": "thanks",
        "state": "present",
    }


def _activation(scene: Scene) -> JsonObject:
    part = scene.participant()
    return {"participant_id": part["participant_id"], "subject_digest": participant_digest(part)}


def _lens(scene: Scene) -> JsonObject:
    return {"lens_id": scene.lens(scene.things.space)["lens_id"]}


def _append(scene: Scene) -> JsonObject:
    parts = [{"media_type": "text/plain", "text": "A worn washer."}]
    return {**scene.things.space.args, "kind": "claim", "body_parts": parts}


def _relation(scene: Scene) -> JsonObject:
    pins = {"from_ref": reference(scene.things.evidence), "to_ref": reference(scene.things.question)}
    return {**scene.things.space.args, "kind": "supports", **pins}


def _assembly(scene: Scene) -> JsonObject:
    return {
        **scene.things.space.args,
        "audience_ref": BUILT_IN,
        "purpose": "answer",
        "selection_policy_ref": POLICY,
        "required_refs": [scene.things.question["contribution_id"]],
        "trigger_refs": [],
    }


def _invocation(scene: Scene) -> JsonObject:
    return {
        "assistant_deployment_id": BUILT_IN,
        "assistant_deployment_revision": 1,
        **scene.things.space.args,
        "deadline": FAR,
    }


def _upload(_scene: Scene) -> JsonObject:
    return {
        "declared_raw_sha256": hashlib.sha256(b"mine").hexdigest(),
        "declared_size": 4,
        "declared_media_type": "text/plain",
    }


def _deployed(_scene: Scene) -> JsonObject:
    return {
        "assistant_revision_id": "asstrev-local-dev",
        "config_ref": "cfg",
        "config_digest": "0" * 64,
        "secret_binding_set_ref": "none",
        "secret_binding_set_digest": "0" * 64,
        "policy_ref": "policy-default",
        "pool_ref": "pool",
        "security_profile": "developer",
        "concurrency_policy": "serial-branch",
        "rollout_policy": {},
    }


def _manifest(_scene: Scene) -> JsonObject:
    return pipelines.revision("asst-local-dev", "2")


_DEPLOYMENT: Final[Make] = lambda _: {"assistant_deployment_id": BUILT_IN}  # noqa: E731
_UPLOAD: Final = _named("upload_id", lambda s: s.upload["upload_id"])
_RECEIPT: Final = {"decision_receipt_ref": "receipt-1"}
_PROPOSED: Final = {"proposed_policy_set_ref": "policy-proposed"}
_AGENT: Final = _named("agent_id", lambda s: s.agents["none"].name)
_CHANGE: Final = _named("change_id", lambda s: s.change["change_id"])
_WIDENING: Final = _named("widening_id", lambda s: s.widening["widening_id"])
_ALIAS: Final = _named("alias_binding_id", lambda s: s.alias["alias_binding_id"])
_SOURCE: Final[Make] = lambda s: {"source": s.project, "limit": 9}  # noqa: E731

FIXED: Final[dict[str, Make]] = {
    "hello": lambda _: {
        "supported_versions": ["0.1"],
        "implementation": "table",
        "implementation_version": "1",
        "requested_features": [],
    },
    "protocol_info": lambda _: {},
    "diagnose": lambda _: {"checks": ["journal_mode"]},
    "tallystick_limits": lambda _: {},
    "tallystick_status": lambda _: {},
    "tallystick_shutdown": lambda _: {},
    "tallystick_agent_add": lambda s: {
        "name": "another",
        "credential_sha256": hashlib.sha256(s.key("secret").encode()).hexdigest(),
    },
    "tallystick_agent_list": lambda _: {"limit": 9},
    "tallystick_agent_show": _AGENT,
    "tallystick_agent_revoke": _AGENT,
    "realm_show": lambda _: {},
    "project_create": lambda _: {"name": "mine"},
    "project_show": lambda _: {},
    "project_list": lambda _: {"limit": 9},
    "project_update_metadata": lambda _: {"name": "another"},
    "project_access_policy_change_prepare": lambda _: _PROPOSED,
    "project_access_policy_change_show": _CHANGE,
    "project_access_policy_change_list": lambda _: {"limit": 9},
    "project_access_policy_change_confirm": lambda s: {**_CHANGE(s), **_RECEIPT},
    "project_access_policy_change_cancel": _CHANGE,
    "space_create": lambda _: {"title": "mine", "visibility": "project"},
    "space_show": _space,
    "space_list": lambda _: {"limit": 9},
    "space_update_metadata": _own_space(title="another"),
    "space_freeze": _own_space(),
    "space_reopen": _frozen,
    "space_archive": _own_space(),
    "space_restrict": lambda s: {"space_id": s.space("project").space_id},
    "space_policy_narrow": _own_space(
        policy_set_ref="policy-narrow", default_classification_ref="class-narrow"
    ),
    "space_access_widen_prepare": _own_space(proposed_visibility="project"),
    "space_access_widen_show": _WIDENING,
    "space_access_widen_list": lambda _: {"limit": 9},
    "space_access_widen_confirm": lambda s: {"widening_id": s.prepared()["widening_id"], **_RECEIPT},
    "space_access_widen_cancel": lambda s: {"widening_id": s.prepared()["widening_id"]},
    "space_participant_add": lambda s: {
        **_space(s),
        "subject_ref": s.key("prin"),
        "kind": "principal",
        "role": "observer",
    },
    "space_participant_activate": _activation,
    "space_participant_update": lambda s: {
        "participant_id": s.participant()["participant_id"],
        "role": "contributor",
    },
    "space_participant_remove": lambda s: {"participant_id": s.participant()["participant_id"]},
    "space_participant_list": _page,
    "space_access_grant_create": lambda s: {
        **_space(s),
        "subject_ref": "prin-x",
        "allowed_actions": ["contribute"],
    },
    "space_access_grant_revoke": _named("space_access_id", lambda s: s.grant["space_access_id"]),
    "space_access_grant_list": _page,
    "contribution_append": _append,
    "contribution_show": _named("contribution_id", lambda s: s.things.question["contribution_id"]),
    "contribution_list": _page,
    "contribution_withdraw": _disposed,
    "contribution_supersede": lambda s: _disposed(s, replacement_ref=s.things.question["contribution_id"]),
    "contribution_redact": _disposed,
    "tallystick_erase": lambda s: {**_erased(s), "reason_class": "author_request"},
    "relation_assert": _relation,
    "relation_retract": _retracted,
    "reaction_set": _reaction,
    "tallystick_contribution_list": _page,
    "tallystick_relation_show": _named("relation_id", lambda s: s.things.relation["relation_id"]),
    "tallystick_relation_list": _page,
    "tallystick_disposition_list": _page,
    "tallystick_frontier_list": _page,
    "tallystick_assembly_list": _page,
    "tallystick_branch_show": _named("branch_id", lambda s: s.things.space.branch_id),
    "tallystick_events_read": _SOURCE,
    "lens_create": lambda s: {
        **_space(s),
        "kind": "custom",
        "visibility": "shared",
        **EMPTY_LENS,
    },
    "lens_show": _named("lens_id", lambda s: s.things.lens["lens_id"]),
    "lens_list": _page,
    "lens_read": lambda s: {"lens_id": s.things.lens["lens_id"], "limit": 9},
    "lens_update": lambda s: {**_lens(s), "presentation_options": {"render": "list"}},
    "lens_revoke": _lens,
    "snapshot_read": _SOURCE,
    "frontier_pin": lambda s: s.things.space.args,
    "frontier_show": _named("frontier_id", lambda s: s.things.frontier["frontier_id"]),
    "context_assembly_create": _assembly,
    "context_assembly_show": _named("assembly_id", lambda s: s.things.assembly["assembly_id"]),
    "invocation_create": _invocation,
    "invocation_show": _named("invocation_id", lambda s: s.things.invocation["invocation_id"]),
    "invocation_list": lambda _: {"limit": 9},
    "invocation_cancel": _named("invocation_id", lambda s: s.invocation(s.things.space)["invocation_id"]),
    "assistant_create": lambda _: {"name": "mine", "description": ""},
    "assistant_show": lambda _: {"definition_id": "asst-local-dev"},
    "assistant_list": lambda _: {"limit": 9},
    "assistant_revision_register": _manifest,
    "assistant_revision_show": lambda _: {"assistant_revision_id": "asstrev-local-dev"},
    "assistant_revision_list": lambda _: {"limit": 9},
    "deployment_create": _deployed,
    "deployment_show": _DEPLOYMENT,
    "deployment_list": lambda _: {"limit": 9},
    "deployment_activate": _DEPLOYMENT,
    "deployment_drain": _DEPLOYMENT,
    "assistant_alias_bind": lambda s: {
        **_DEPLOYMENT(s),
        "display_alias": "mine",
        "deployment_revision": 1,
    },
    "assistant_alias_show": _ALIAS,
    "assistant_alias_list": lambda _: {"limit": 9},
    "assistant_alias_update": lambda s: {**_ALIAS(s), **_DEPLOYMENT(s), "deployment_revision": 1},
    "assistant_alias_revoke": _ALIAS,
    "events_read": _SOURCE,
    "events_wait": lambda s: {
        "source": s.project,
        "after_cursor": s.owner.done("events_read", _SOURCE(s))["next_cursor"],
        "timeout_ms": 0,
    },
    "event_payload": _named("event_id", lambda s: s.things.event_id),
    "artifact_upload_begin": _upload,
    "tallystick_artifact_begin": _upload,
    "artifact_upload_show": _UPLOAD,
    "artifact_upload_credential": _UPLOAD,
    "artifact_upload_finalize": _UPLOAD,
    "artifact_upload_abort": _UPLOAD,
    "tallystick_artifact_put": lambda s: {**_UPLOAD(s), "offset": 0, "data": ""},
    "artifact_show": _named("artifact_id", lambda s: s.things.artifact_id),
    "tallystick_artifact_list": lambda _: {"limit": 9},
    "tallystick_artifact_get": lambda s: {"artifact_id": s.things.artifact_id, "offset": 0},
    "disclosure_manifest_show": lambda _: {"disclosure_id": "disc-1"},
}
"""Arguments on the client socket."""


def _erased(scene: Scene) -> JsonObject:
    return {"object_ref": scene.lens(scene.things.space)["lens_id"]}


def _as_worker(
    args: Make | None = None, *, named: bool = False
) -> Callable[[Scene], tuple[JsonObject, Socket]]:
    """With the attempt that the owner's worker holds; ``named`` where the arguments name its invocation."""

    def make(scene: Scene) -> tuple[JsonObject, Socket]:
        binding = scene.attempt.args if named else scene.attempt.binding
        return {**({} if args is None else args(scene)), **binding}, WORKER

    return make


MAKES: Final[dict[str, Callable[[Scene], tuple[JsonObject, Socket]]]] = {
    "invocation_claim": lambda s: (
        {"invocation_id": s.invocation(s.things.space)["invocation_id"]},
        WORKER,
    ),
    "tallystick_invocation_next": lambda _: (
        {"deployments": [BUILT_IN], "wait_ms": 0, "term_seconds": 60},
        WORKER,
    ),
    "invocation_complete": _as_worker(named=True),
    "tallystick_invocation_progress": _as_worker(named=True),
    "tallystick_invocation_item": _as_worker(
        lambda s: {"object_ref": s.things.question["contribution_id"]}, named=True
    ),
    "tallystick_invocation_artifact": _as_worker(
        lambda s: {"artifact_id": s.things.artifact_id, "offset": 0}, named=True
    ),
    "tallystick_invocation_renew": _as_worker(named=True),
    "tallystick_invocation_fail": _as_worker(
        lambda _: {"reason_class": "tests_fail", "retryable": True}, named=True
    ),
    "contribution_append@worker": _as_worker(_append),
    "relation_assert@worker": _as_worker(_relation),
    "context_assembly_create@worker": _as_worker(_assembly),
    "invocation_cancel@worker": _as_worker(
        _named("invocation_id", lambda s: s.things.invocation["invocation_id"])
    ),
    "application_event_emit": _as_worker(lambda _: {"type": "com.example.x.v1", "payload": {}}),
    "model_complete": _as_worker(lambda _: MODEL),
}
"""Arguments and socket of what is asked on the worker socket."""

_DIGEST: Final = {"class": "structural_public", "algorithm": "sha-256", "value_hex": "0" * 64}
MODEL: Final[JsonObject] = {
    "model_profile_ref": "profile-1",
    "purpose_ref": "purpose-1",
    "classification_ref": "class-default",
    "prompt": "Why?",
    "max_output_tokens": 10,
    "act_intent_ref": "intent-1",
    "act_intent_digest": _DIGEST,
    "act_revision": 1,
    "subject_digest": _DIGEST,
    "context_manifest_ref": "manifest-1",
    "context_manifest_digest": _DIGEST,
    "stable_execution_key": "execution-1",
    "budget_reservation_set_ref": "budget-1",
}
