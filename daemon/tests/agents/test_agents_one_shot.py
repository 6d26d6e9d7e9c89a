"""A KCP client of a few lines: a connection a request, half-closed behind it, read to the end of the file.

It knows KCP's own names only: the sockets by their links, no extension of ours, a branch's head from what a
frontier and its own entries say (KCP 3.4). With it a whole invocation is run, on the owner's sockets and on
agents', with the daemon killed in the middle: after a step was durable and before its reply left.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any, Final

import pytest
from harness.wire import judged, request
from scene import Actor, add_agent, take_part
from service.process import Place, Tallyd
from world import CLIENT, DEPLOYMENT, WORKER, JsonObject, Space, append_args, assembly_args, invocation_args

from tallystick.protocol.digests import branch_next
from tallystick.protocol.operation import Socket


class OneShot:
    """See the module. ``directory`` is its KOVEE_RUNTIME_DIR."""

    def __init__(self, directory: str, name: str) -> None:
        self._directory = directory
        self._name = name
        self._made = 0
        self.unanswered: list[tuple[str, bytes]] = []

    def line(self, operation: str, args: JsonObject, project: str | None, to: Socket) -> bytes:
        """The bytes of a request under a key of its own."""
        self._made += 1
        return request(to, operation, args, project=project, key=f"{self._name}-{self._made}").line

    def send(self, operation: str, line: bytes, to: Socket) -> JsonObject | None:
        """Everything that comes back; None where nothing did, because the daemon died."""
        name = "kovee.sock" if to is CLIENT else "kovee-worker.sock"
        received = b""
        with socket.socket(socket.AF_UNIX) as plain:
            plain.settimeout(60)
            plain.connect(os.path.join(self._directory, name))
            plain.sendall(line)
            plain.shutdown(socket.SHUT_WR)
            while data := plain.recv(65536):
                received += data
        if not received:
            return None
        assert received.endswith(b"\n")
        assert received.count(b"\n") == 1
        return judged(operation, received[:-1]).result

    def ask(
        self, operation: str, args: JsonObject, *, project: str | None = None, to: Socket = CLIENT
    ) -> JsonObject:
        line = self.line(operation, args, project, to)
        answered = self.send(operation, line, to)
        assert answered is not None, f"no reply to {operation}"
        return answered


class Journey:
    """One who asks, and one who answers, each by one-shot connections; the daemon may die at one step."""

    def __init__(self, home: Place, asks: OneShot, answers: OneShot) -> None:
        self.home = home
        self.asks = asks
        self.answers = answers
        self.recovered: list[str] = []

    def ask(self, project: str, space: Space) -> JsonObject:
        """A question with its evidence, assembled, and the invocation that is to answer it."""
        question = self._append(project, space, "question", "Why does the tap drip?")
        evidence = self._append(project, space, "evidence", "The washer is worn.")
        refs = [question["contribution_id"], evidence["contribution_id"]]
        assembly = self.asks.ask(
            "context_assembly_create",
            assembly_args(space, refs),
            project=project,
        )
        invoked = invocation_args(space, assembly)
        return self.asks.ask("invocation_create", invoked, project=project)

    def _append(self, project: str, space: Space, kind: str, text: str) -> JsonObject:
        pinned = self.asks.ask("frontier_pin", space.args, project=project)
        args = {
            **append_args(space, text, kind),
            "expected_head_digest": pinned["branch_head_digest"],
        }
        return self.asks.ask("contribution_append", args, project=project)

    def answer(self, invocation_id: str) -> JsonObject:
        """Claims, answers from the claim alone, relates the answer to the question, completes."""
        claimed = self._step("invocation_claim", {"invocation_id": invocation_id}, None)
        binding = {name: claimed[name] for name in ("attempt_id", "fence_epoch")}
        project = claimed["invocation"]["project_id"]
        question, evidence = claimed["items"]
        assert evidence["body_parts"][0]["text"] == "The washer is worn."
        branch = {name: claimed["invocation"][name] for name in ("space_id", "branch_id")}
        head = claimed["frontier"]["branch_head_digest"]
        answer = self._step(
            "contribution_append",
            {
                **branch,
                **binding,
                "expected_head_digest": head,
                "kind": "synthesis",
                "body_parts": [{"media_type": "text/plain", "text": "A worn washer lets it drip."}],
            },
            project,
        )
        head = branch_next(head, answer["origin_branch_sequence"], answer["content_digest"])
        pins = {"from_ref": pin(answer), "to_ref": pin(question)}
        self._step(
            "relation_assert",
            {**branch, **binding, "expected_head_digest": head, "kind": "addresses", **pins},
            project,
        )
        named = {"invocation_id": invocation_id, **binding}
        return self._step("invocation_complete", {**named, "result_ref": answer["contribution_id"]}, project)

    def _step(self, operation: str, args: JsonObject, project: str | None) -> JsonObject:
        """A worker's step. Where the daemon died, another one is started, and the same bytes are sent."""
        line = self.answers.line(operation, args, project, WORKER)
        answered = self.answers.send(operation, line, WORKER)
        if answered is None:
            (dead,) = self.home.running
            assert dead.wait() < 0
            assert Tallyd(self.home).ready
            self.recovered.append(operation)
            answered = self.answers.send(operation, line, WORKER)
        assert answered is not None
        return answered


def pin(contribution: JsonObject) -> JsonObject:
    return {
        "object_ref": contribution["contribution_id"],
        "revision": contribution["revision"],
        "digest": contribution["content_digest"],
    }


KILLS: Final = (None, "invocation_claim", "contribution_append", "relation_assert", "invocation_complete")


def started(home: Place, kill: str | None) -> None:
    """A daemon that dies once, behind the commit of that step of a worker, and before its reply."""
    env = {} if kill is None else {"TALLYD_ABORT": f"after_commit:{kill}@worker"}
    arguments = [] if kill is None else ["--test-hooks"]
    assert Tallyd(home, *arguments, env=env).ready


def judge(owner: Actor, project: str, space: Space, invocation_id: str, author: str) -> None:
    """The record holds one synthesis of the deployment, one relation, one claim, one success."""
    listed = owner.done("contribution_list", {"space_id": space.space_id, "limit": 9}, project=project)
    kinds = [(item["kind"], item["author_actor_ref"]) for item in listed["items"]]
    assert kinds == [
        ("question", author),
        ("evidence", author),
        ("synthesis", f"asstdep-{DEPLOYMENT}"),
    ]
    shown = owner.done("invocation_show", {"invocation_id": invocation_id}, project=project)
    assert shown["state"] == "succeeded"
    events: list[dict[str, Any]] = owner.done("events_read", {"source": project, "limit": 99})["events"]
    types = [event["type"] for event in events]
    for once in ("space.relation-asserted", "invocation.claimed", "invocation.succeeded"):
        assert types.count(f"dev.kovee.{once}.v1") == 1
    assert [event["project_sequence"] for event in events] == list(range(1, len(events) + 1))


@pytest.mark.parametrize("kill", KILLS, ids=str)
def test_on_the_owners_sockets(kill: str | None, home: Place) -> None:
    """The owner asks and the owner's worker answers; nothing of the daemon's death is to be seen."""
    started(home, kill)
    owner, client = Actor(home.paths), OneShot(home.paths.runtime_dir, "owner")
    journey = Journey(home, client, client)
    project = client.ask("project_create", {"name": "kitchen"})["project_id"]
    made = client.ask("space_create", {"title": "taps", "visibility": "project"}, project=project)
    space = Space(made["space_id"], made["main_branch_id"])
    invocation = journey.ask(project, space)
    done = journey.answer(invocation["invocation_id"])
    assert done["state"] == "succeeded"
    assert journey.recovered == ([] if kill is None else [kill])
    judge(owner, project, space, invocation["invocation_id"], "prin-owner")


@pytest.mark.parametrize("kill", KILLS, ids=str)
def test_on_an_agents_sockets(kill: str | None, home: Place) -> None:
    """One agent asks and another answers, each in the directory that it is shown and nowhere else."""
    started(home, kill)
    owner = Actor(home.paths)
    project = owner.done("project_create", {"name": "kitchen"})["project_id"]
    made = owner.done("space_create", {"title": "taps", "visibility": "restricted"}, project=project)
    space = Space(made["space_id"], made["main_branch_id"])
    asker = add_agent(owner, "asker")
    worker = add_agent(owner, "worker", deployments=[DEPLOYMENT])
    for agent in (asker, worker):
        take_part(owner, project, space, agent.name, "contributor", "active")
    journey = Journey(
        home, OneShot(asker.paths.runtime_dir, "asker"), OneShot(worker.paths.runtime_dir, "worker")
    )
    invocation = journey.ask(project, space)
    done = journey.answer(invocation["invocation_id"])
    assert done["state"] == "succeeded"
    assert journey.recovered == ([] if kill is None else [kill])
    judge(owner, project, space, invocation["invocation_id"], asker.name)


def test_a_client_that_never_reads_the_reply_is_none_to_wait_for(home: Place) -> None:
    """Half-closed and gone: its command stands, and the next one-shot is answered."""
    started(home, None)
    client = OneShot(home.paths.runtime_dir, "gone")
    line = client.line("project_create", {"name": "kitchen"}, None, CLIENT)
    with socket.socket(socket.AF_UNIX) as plain:
        plain.connect(os.path.join(home.paths.runtime_dir, "kovee.sock"))
        plain.sendall(line)
        plain.shutdown(socket.SHUT_WR)
    created = client.send("project_create", line, CLIENT)
    assert created is not None
    listed = client.ask("project_list", {"limit": 9})["items"]
    assert [item["project_id"] for item in listed] == [created["project_id"]]
    assert json.dumps(created) in json.dumps(listed)
