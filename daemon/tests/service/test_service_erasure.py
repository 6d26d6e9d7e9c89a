"""Erasure on the daemon's process: a thousand pieces of content, through every operation that takes some, in
a store that has grown around them; then a reader who has every file and every key looks for what is left.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pipelines
import pytest
from erasing import await_erased
from harness.dumps import dump_copy, sequence_faults
from harness.home import Home
from harness.wire import Request, Wire, request
from world import CLIENT, WORKER, Attempt, append, assemble, attempt_of, claim, invoke, make_space

from tallystick.protocol.registry import OPERATIONS

from .erasure_judge import Canaries, everything, found_in

WHY: Final = {"reason_class": "privacy"}
SHORT: Final = 5
"""Of each kind beside contributions."""
CONTRIBUTIONS: Final = 1_000
NEIGHBOUR: Final = "neighbour %d, who stays" + " and stays" * 30
IN_FLIGHT: Final = 32
NOT_KEPT: Final = {"model_complete", "invocation_cancel@worker"}
"""Refused in every case: their content was never kept."""


class Erasing(NamedTuple):
    """A canary and the command that erases it."""

    place: str
    canary: str
    command: Request


class Maker:
    """A client that makes things whose content is canaries."""

    def __init__(self, client: Wire, worker: Wire, canaries: Canaries) -> None:
        self.client = client
        self.worker = worker
        self.canaries = canaries
        self.keys = 0
        self.project = self.done("project_create", {"name": "house"}, project=None)["project_id"]
        self.space = make_space(client, self.project, "kitchen")

    def key(self) -> str:
        self.keys += 1
        return f"e-{self.keys}"

    def done(self, operation: str, args: dict[str, Any], **how: Any) -> dict[str, Any]:
        """The result of a command that succeeds."""
        if "project" not in how:
            how["project"] = self.project
        return self.client.ask(request(CLIENT, operation, args, key=self.key(), **how)).result

    def word(self, most: int = 200) -> str:
        return self.canaries.new(min(most, self.canaries.length()))

    def erase(self, place: str, canary: str, project: str | None, **subject: str) -> Erasing:
        command = request(CLIENT, "tallystick_erase", {**subject, **WHY}, project=project, key=self.key())
        return Erasing(place, canary, command)

    def redact(self, place: str, canary: str, contribution: str) -> Erasing:
        args = {"contribution_ref": contribution, **WHY}
        command = request(CLIENT, "contribution_redact", args, project=self.project, key=self.key())
        return Erasing(place, canary, command)

    def claimed(self) -> Attempt:
        """An invocation that an attempt holds."""
        question = self.client.ask(append(self.project, self.space, self.key(), "why?", "question")).result
        assembly = self.client.ask(assemble(self.project, self.space, self.key(), [question])).result
        made = self.client.ask(invoke(self.project, self.key(), self.space, assembly)).result
        return attempt_of(self.worker.ask(claim(self.key(), made["invocation_id"])).result)

    # --- each kind of content -------------------------------------------------------------------------------
    def projects(self) -> Iterator[Erasing]:
        first, second = self.word(), self.word()
        project = self.done("project_create", {"name": first}, project=None)["project_id"]
        self.done("project_update_metadata", {"name": second}, project=project)
        yield self.erase("project_create", first, project, object_ref=project)
        yield Erasing("project_update_metadata", second, self.nothing())

    def spaces(self) -> Iterator[Erasing]:
        first, second = self.word(), self.word()
        made = self.done("space_create", {"title": first, "visibility": "project"})["space_id"]
        self.done("space_update_metadata", {"space_id": made, "title": second})
        yield self.erase("space_create", first, self.project, object_ref=made)
        yield Erasing("space_update_metadata", second, self.nothing())

    def lenses(self) -> Iterator[Erasing]:
        words = [self.word(2_000) for _ in range(4)]
        members = ("query_ast", "sort_spec", "presentation_options")
        content = {member: {"note": word} for member, word in zip(members, words, strict=False)}
        args = {"space_id": self.space.space_id, "kind": "custom", "visibility": "private", **content}
        lens = self.done("lens_create", args)["lens_id"]
        self.done("lens_update", {"lens_id": lens, "presentation_options": {words[3]: 1}})
        yield self.erase("lens_create", words[0], self.project, object_ref=lens)
        yield from (Erasing("lens_create", word, self.nothing()) for word in words[1:3])
        yield Erasing("lens_update", words[3], self.nothing())

    def cancels(self) -> Iterator[Erasing]:
        word = self.word()
        invocation = self.claimed().invocation_id
        self.done("invocation_cancel", {"invocation_id": invocation, "reason": word})
        yield self.erase("invocation_cancel", word, self.project, object_ref=invocation)

    def failures(self) -> Iterator[Erasing]:
        word = self.word()
        held = self.claimed()
        failed = {"invocation_id": held.invocation_id, "reason_class": "tests_fail", "retryable": False}
        args = {**failed, **held.binding, "reason": word}
        self.worker.ask(request(WORKER, "tallystick_invocation_fail", args, key=self.key()))
        yield self.erase("tallystick_invocation_fail", word, self.project, object_ref=held.invocation_id)

    def assistants(self) -> Iterator[Erasing]:
        words = [self.word() for _ in range(5)]
        named = {"name": words[0], "description": words[1]}
        definition = self.done("assistant_create", named, project=None)["definition_id"]
        revision = self.done("assistant_revision_register", _revision(definition, words[2]), project=None)
        deployed = _deployment(revision["assistant_revision_id"], words[3])
        deployment = self.done("deployment_create", deployed, project=None)["assistant_deployment_id"]
        active = self.done("deployment_activate", {"assistant_deployment_id": deployment}, project=None)
        bound = {
            "display_alias": words[4],
            "assistant_deployment_id": deployment,
            "deployment_revision": active["revision"],
        }
        alias = self.done("assistant_alias_bind", bound)["alias_binding_id"]
        yield self.erase("assistant_create", words[0], None, object_ref=definition)
        yield Erasing("assistant_create", words[1], self.nothing())
        ref = revision["assistant_revision_id"]
        yield self.erase("assistant_revision_register", words[2], None, object_ref=ref)
        yield self.erase("deployment_create", words[3], None, object_ref=deployment)
        yield self.erase("assistant_alias_bind", words[4], self.project, object_ref=alias)

    def decisions(self) -> Iterator[Erasing]:
        """One for each of a decision's texts."""
        for member in ("value", "reason", "excludes", "tags"):
            word = self.word()
            said = {"excludes": [{"key": "canary.other", "value": word}], "tags": [word]}.get(member, word)
            args = {"key": f"canary.{self.key()}", "value": "none", "reason": "none", member: said}
            made = self.done("tallystick_decision_record", {"space_id": self.space.space_id, **args})
            yield self.redact("tallystick_decision_record", word, made["contribution_ref"])

    def tasks(self) -> Iterator[Erasing]:
        """What a task says, what is noted of it, and each way to end a claim with words."""
        for member in ("title", "brief"):
            word = self.word()
            made = self.task(**{member: word})
            yield self.redact("tallystick_task_create", word, made["contribution_ref"])
        word = self.word()
        noted = self.done("tallystick_task_note", {"task_id": self.task()["task_id"], "text": word})
        yield self.redact("tallystick_task_note", word, noted["notes"][-1])
        for ending, member in (("done", "receipt"), ("fail", "text"), ("release", "note")):
            word = self.word()
            claim = self.done("tallystick_task_claim", {"task_id": self.task()["task_id"]})
            held = {"task_id": claim["task"]["task_id"], "claim_id": claim["claim_id"]}
            more = {"retryable": False} if ending == "fail" else {}
            ended = self.done(f"tallystick_task_{ending}", {**held, **more, member: word})
            yield self.redact(f"tallystick_task_{ending}", word, ended.get("task", ended)["notes"][-1])

    def task(self, **said: str) -> dict[str, Any]:
        return self.done("tallystick_task_create", {"space_id": self.space.space_id, "title": "t", **said})

    def emissions(self) -> Iterator[Erasing]:
        word, held = self.word(), self.claimed()
        args = {"type": "org.example.noted.v1", "payload": {"note": word}, **held.binding}
        emit = request(WORKER, "application_event_emit", args, project=self.project, key=self.key())
        event = self.worker.ask(emit).result["event_id"]
        yield self.erase("application_event_emit", word, self.project, event_id=event)

    def said_by_workers(self) -> Iterator[Erasing]:
        word, held = self.word(20_000), self.claimed()
        asked = append(self.project, self.space, self.key(), word)
        said = Request(WORKER, {**asked.body, "args": {**asked.body["args"], **held.binding}})
        contribution = self.worker.ask(said).result["contribution_id"]
        yield self.redact("contribution_append@worker", word, contribution)

    def artifacts(self) -> Iterator[Erasing]:
        for operation in ("artifact_upload_begin", "tallystick_artifact_begin"):
            word = self.word(20_000)
            artifact = self.artifact(operation, word)
            if operation == "artifact_upload_begin":
                yield self.erase(operation, word, None, object_ref=artifact)
                continue
            parts = [{"artifact_ref": artifact, "title": "the washer"}]
            carrying = append(self.project, self.space, self.key(), "").changed(body_parts=parts)
            contribution = self.client.ask(carrying).result["contribution_id"]
            yield self.redact(operation, word, contribution)
            yield Erasing("tallystick_artifact_put", word, self.nothing())

    def artifact(self, operation: str, content: str) -> str:
        """An available artifact whose bytes went over the socket, as a JSON string."""
        data = f'"{content}"'.encode()
        upload = self.done(operation, _declared(data), project=None)
        chunk = {"upload_id": upload["upload_id"], "offset": 0, "data": base64.b64encode(data).decode()}
        put = request(CLIENT, "tallystick_artifact_put", chunk, key=self.key())
        assert self.client.ask(put).ok
        self.done("artifact_upload_finalize", {"upload_id": upload["upload_id"]}, project=None)
        return str(upload["artifact_id"])

    def aborts(self) -> Iterator[Erasing]:
        word = self.word()
        upload = self.done("artifact_upload_begin", _declared(b"never sent"), project=None)["upload_id"]
        self.done("artifact_upload_abort", {"upload_id": upload, "reason": word}, project=None)
        yield self.erase("artifact_upload_abort", word, None, object_ref=upload)

    def agents(self) -> Iterator[Erasing]:
        word = self.word(60)
        args = {"name": word, "credential_sha256": hashlib.sha256(word.encode()).hexdigest()}
        agent = self.done("tallystick_agent_add", args, project=None)["agent_id"]
        self.done("tallystick_agent_revoke", {"agent_id": agent}, project=None)
        yield self.erase("tallystick_agent_add", word, None, object_ref=agent)

    def nothing(self) -> Request:
        """Erased with what stands before it."""
        return request(CLIENT, "tallystick_status", {})

    def contributions(self) -> Iterator[Erasing]:
        """Many, of every length, each with a neighbour beside it."""
        words = [self.word(20_000) for _ in range(CONTRIBUTIONS)]
        asked = []
        for number, word in enumerate(words):
            asked.append(append(self.project, self.space, self.key(), word))
            asked.append(append(self.project, self.space, self.key(), NEIGHBOUR % number))
        made = [reply["contribution_id"] for reply in in_flight(self.client, asked)]
        for word, contribution in zip(words, made[::2], strict=True):
            yield self.redact("contribution_append", word, contribution)


def in_flight(client: Wire, asked: list[Request]) -> list[dict[str, Any]]:
    """Results of many commands, some of them under way at any moment."""
    results = []
    for start in range(0, len(asked), IN_FLIGHT):
        some = asked[start : start + IN_FLIGHT]
        client.send(*some)
        results += [client.receive(one.operation).result for one in some]
    return results


def _declared(data: bytes) -> dict[str, Any]:
    return {
        "declared_raw_sha256": hashlib.sha256(data).hexdigest(),
        "declared_size": len(data),
        "declared_media_type": "application/json",
    }


def _revision(definition: str, canary: str) -> dict[str, Any]:
    made = pipelines.revision(definition, "1")
    made["manifest"]["runtime"] = {"note": canary}
    return made


def _deployment(revision: str, canary: str) -> dict[str, Any]:
    return {
        "assistant_revision_id": revision,
        "config_ref": "cfg-1",
        "config_digest": "c" * 64,
        "secret_binding_set_ref": "sbs-1",
        "secret_binding_set_digest": "d" * 64,
        "policy_ref": "pol-1",
        "pool_ref": "pool-1",
        "security_profile": "developer",
        "concurrency_policy": "serial-branch",
        "rollout_policy": {"note": canary},
    }


KINDS: Final[tuple[Callable[[Maker], Iterator[Erasing]], ...]] = (
    Maker.projects,
    Maker.spaces,
    Maker.lenses,
    Maker.cancels,
    Maker.decisions,
    Maker.tasks,
    Maker.failures,
    Maker.assistants,
    Maker.emissions,
    Maker.said_by_workers,
    Maker.artifacts,
    Maker.aborts,
    Maker.agents,
)


def _takes_content() -> set[str]:
    return {
        operation.name + ("@worker" if operation.socket is WORKER and operation.name in TWICE else "")
        for operation in OPERATIONS
        if operation.content
    }


TWICE: Final = {"contribution_append", "invocation_cancel"}
"""Operations that take content on both sockets."""


@pytest.mark.slow
def test_of_a_thousand_erasures_nothing_is_left(home: Home) -> None:
    """Before, the judge finds each canary; afterwards, with all files and keys, no fragment of one; and a
    kill in the middle changes nothing of that. Neighbours are there, replays show the redaction, sequences
    are dense, the store's diagnosis is clean.
    """
    canaries = Canaries()
    with home.start() as daemon, Wire(daemon.paths) as client, Wire(daemon.paths, WORKER) as worker:
        maker = Maker(client, worker, canaries)
        erasings = [one for _ in range(SHORT) for make in KINDS for one in make(maker)]
        erasings += maker.contributions()
    assert {one.place for one in erasings} == _takes_content() - NOT_KEPT
    shutil.copyfile(home.paths.database, home.paths.database + ".before-0007")
    before = found_in(everything(home.paths), canaries.made)
    assert set(canaries.made) <= set().union(*before.values())
    commands = [one.command for one in erasings if one.command.operation != "tallystick_status"]
    half = len(commands) // 2
    daemon = home.start()
    with Wire(daemon.paths) as client:
        in_flight(client, commands[:half])
    daemon.kill()
    with home.start() as daemon, Wire(daemon.paths) as client:
        results = in_flight(client, commands[half:])
        await_erased(daemon, maker.project)
        running = found_in(everything(home.paths), canaries.made)
        assert in_flight(client, commands[half:]) == results
        _judge_reads(client, maker, len(erasings))
    assert running == {}
    assert found_in(everything(home.paths), canaries.made) == {}
    assert sequence_faults(dump_copy(home.paths)) == []


def _judge_reads(client: Wire, maker: Maker, erasings: int) -> None:
    """Every event and contribution is served, neighbours whole, and nothing of a canary in any line."""
    assert erasings >= 1_000
    texts, cursor = [], None
    while True:
        args: dict[str, Any] = {"source": maker.project, "limit": 200}
        if cursor is not None:
            args["after_cursor"] = cursor
        reply = client.ask(request(CLIENT, "events_read", args))
        assert found_in({"line": reply.raw}, maker.canaries.made) == {}
        if not reply.result["events"]:
            break
        cursor = reply.result["next_cursor"]
        parts = [event["payload"].get("body_parts", [{}])[0] for event in reply.result["events"]]
        texts += [part["text"] for part in parts if part.get("text")]
    kept = [text for text in texts if text.startswith("neighbour")]
    assert kept == [NEIGHBOUR % number for number in range(CONTRIBUTIONS)]
    checks = client.ask(request(CLIENT, "diagnose", {})).result["checks"]
    assert {check["check"] for check in checks if check["status"] != "pass"} <= {"container_layer"}
