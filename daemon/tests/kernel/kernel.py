"""A kernel without its door: a real store in a directory, the real clerk and readers, and a clock that the
test owns.

Requests go in as lines and answers come out as lines, through the same functions that the door's dispatcher
calls.
"""

from __future__ import annotations

import hashlib
import json
import random
from functools import partial
from pathlib import Path
from typing import Any

from world import AT_HEAD, Space, assembly_args, invocation_args, participant_digest

from tallyd.admission import Speaker, admit
from tallyd.clerk import AccessRecord, Clerk, Command
from tallyd.clerk.hooks import Hooks
from tallyd.families.artifacts import rows as artifact_rows
from tallyd.families.shared.family import ReadHandler, SlicedHandler
from tallyd.families.shared.results import FileIO, Further, Served
from tallyd.ledger.leases import Leases
from tallyd.ledger.log import Log
from tallyd.ledger.transaction import Transaction
from tallyd.ledger.view import View
from tallyd.readers.gate import Gate
from tallyd.readers.reads import Reader, Seen
from tallyd.service.answers import done, refused, served
from tallyd.service.bootstrap import adoption, bootstrap
from tallyd.service.host import DaemonHost
from tallyd.service.steps import take_steps
from tallyd.service.wiring import WIRING
from tallyd.store.opening import open_store
from tallyd.store.store import Store
from tallyd.vault import Vault
from tallystick.paths import Paths, resolve
from tallystick.protocol.envelope import AnyRequest, decode_request
from tallystick.protocol.operation import Socket
from tallystick.protocol.problems import Refusal

REALM = "realm-personal"
START_MS = 1_900_000_000_000

Json = dict[str, Any]


class TestAmbient:
    """Time stands still until the test moves it; randomness comes from a seed."""

    __test__ = False

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        self._offset = 0.0

    def wall_ms(self) -> int:
        return START_MS + int(self._offset * 1000)

    def monotonic(self) -> float:
        return 1000.0 + self._offset

    def random(self, count: int, /) -> bytes:
        return self._random.randbytes(count)

    def advance(self, seconds: float) -> None:
        self._offset += seconds


class Kernel:
    """One store, opened. ``reopen`` is a restart of the daemon without its process."""

    def __init__(
        self, root: Path, ambient: TestAmbient, hooks: Hooks | None = None, vfs: str | None = None
    ) -> None:
        env = {"HOME": str(root), "TALLY_STATE_DIR": str(root / "state")}
        self.paths: Paths = resolve(str(root / "data"), str(root / "run"), env)
        self.ambient = ambient
        self._hooks = hooks
        self._vfs = vfs
        self._requests = 0
        self.open()

    def open(self, adopt: str | None = None) -> None:
        self.store: Store = open_store(
            self.paths,
            ambient=self.ambient,
            bootstrap=bootstrap(self.ambient),
            on_adopt=adoption(self.ambient),
            adopt=adopt,
            vfs=self._vfs,
        )
        store = self.store
        self.leases = Leases(self.ambient.monotonic)
        self.tx = Transaction(
            store.writer, store.keys, store.identity, self.ambient, self.leases, Log(store.writer)
        )
        self.tx.event_checks = WIRING.event_checks
        self.tx.calls = WIRING.calls
        self.clerk = Clerk(
            self.tx,
            self.ambient,
            WIRING.writes,
            WIRING.fenced_reads,
            self._hooks,
            first_steps=WIRING.first_steps,
            unfinished=WIRING.unfinished,
        )
        take_steps(self.clerk, WIRING.steps)
        self.gate = Gate()
        self.reader = self._new_reader()
        self.vault = Vault(self.paths.data_dir, store.disk)
        self.vault.open()
        self.host = DaemonHost(
            WIRING.families, store, self.vault, self._new_reader, self._no_daemon, self._no_daemon, {}
        )
        self.swept = self.vault.sweep(
            artifact_rows.open_uploads(self.view), artifact_rows.sealed_files(self.view)
        )

    def _new_reader(self) -> Reader:
        view = View(self.store.reader(), self.store.keys, self.store.identity, self.ambient.wall_ms)
        view.event_checks = WIRING.event_checks
        view.calls, view.claim_leases = WIRING.calls, self.tx.claim_leases
        return Reader(view, self.gate)

    def _no_daemon(self) -> Any:
        raise AssertionError("there is no daemon here, only its kernel")

    @property
    def view(self) -> View:
        return self.reader.view

    def close(self) -> None:
        self.reader.close()
        self.store.write_marker(*self.clerk.durable)
        self.store.close()

    def reopen(self) -> None:
        self.close()
        self.open()

    # --- requests -------------------------------------------------------------------------------------------
    def request(
        self,
        op: str,
        args: Json | None = None,
        *,
        project: str | None = None,
        key: str | None = None,
        rev: int | None = None,
        ext: Json | None = None,
        meta: Json | None = None,
        socket: Socket = Socket.CLIENT,
        realm: str | None = REALM,
    ) -> tuple[bytes, Socket]:
        """A line and its socket; a mutation's key is made from its number unless given."""
        self._requests += 1
        said: Json = {"version": "0.1", "op": op, "args": args or {}}
        if realm is not None:
            said["realm_id"] = realm
        if project is not None:
            said["project_id"] = project
        if ext is not None:
            said["ext"] = ext
        if key is not None:
            said["meta"] = {"request_id": f"req-{self._requests}", "idempotency_key": key}
            if rev is not None:
                said["meta"]["expected_revision"] = rev
            said["meta"].update(meta or {})
        return json.dumps(said).encode(), socket

    def answer(self, line: bytes, socket: Socket, actor: str = "prin-owner") -> bytes:
        """What the daemon would answer to one line."""
        speaker = Speaker(actor, "peer-uid", socket)
        try:
            request = decode_request(line, socket)
        except Refusal as refusal:
            return refused(refusal)
        handler = WIRING.handlers[socket, request.operation.name]
        if isinstance(handler, ReadHandler | SlicedHandler):
            return self._read(handler, request, speaker)
        return self._command(Command(request, speaker))

    def _command(self, command: Command) -> bytes:
        """A command, with the file I/O that it asks for."""
        answer = self.clerk.run([command])[0]
        if answer.outside is not None:
            outcome = answer.outside.run(self.host, lambda: False)
            settle = answer.outside.settle
            answer = self.clerk.run([Command(command.request, command.speaker, outcome)])[0]
            settle(self.host, outcome)
        elif answer.follow_up is not None:
            answer.follow_up(self.host)
        return answer.reply

    def _read(self, handler: ReadHandler | SlicedHandler, request: AnyRequest, speaker: Speaker) -> bytes:
        """A read, put on record first where it looks at something sensitive."""
        recorded: frozenset[str] = frozenset()
        while True:
            seen = self._to_its_end(handler, request, speaker)
            if seen.accessed <= recorded:
                break
            recorded |= seen.accessed
            self.clerk.run([AccessRecord(request, speaker, tuple(recorded), seen.denied)])
        try:
            found = seen.value()
        except Refusal as refusal:
            return refused(refusal)
        return served(found) if isinstance(found, Served) else done(found)

    def _to_its_end(
        self, handler: ReadHandler | SlicedHandler, request: AnyRequest, speaker: Speaker
    ) -> Seen[Served | FileIO]:
        """A read's transactions, one after the other, and what all of them looked at."""
        look = partial(self._look, handler, request=request, speaker=speaker)
        accessed: frozenset[str] = frozenset()
        while True:
            seen = self.reader.try_look(look)
            assert seen is not None, "no gate is closed here"
            accessed |= seen.accessed
            if not isinstance(seen.outcome, Further):
                return Seen(seen.outcome, accessed)
            look = partial(self._go_on, seen.outcome, request=request, speaker=speaker)

    def _go_on(
        self, further: Further, view: View, request: AnyRequest, speaker: Speaker
    ) -> Served | FileIO | Further:
        return further.go_on(view, admit(view, request, speaker))

    def _look(
        self, handler: ReadHandler | SlicedHandler, view: View, request: AnyRequest, speaker: Speaker
    ) -> Served | FileIO | Further:
        admission = admit(view, request, speaker)
        if isinstance(handler, ReadHandler):
            return handler.run(self.host, view, request, admission)
        return handler.run(self.host, view, request, admission, lambda piece: piece())

    def write(self, op: str, args: Json, **how: Any) -> Json:
        """A mutation's reply, as a dict."""
        how.setdefault("key", f"key-{self._requests}-{op}")
        answered: Json = json.loads(self.answer(*self.request(op, args, **how)))
        return answered

    def read(self, op: str, args: Json | None = None, **how: Any) -> Json:
        """A read's reply, as a dict."""
        answered: Json = json.loads(self.answer(*self.request(op, args, **how)))
        return answered

    def ok(self, op: str, args: Json, **how: Any) -> Json:
        """A mutation's result; it must be applied."""
        answered = self.write(op, args, **how)
        assert answered["outcome"] == "ok", answered
        result: Json = answered["result"]
        return result

    def batch(self, requests: list[tuple[bytes, Socket]]) -> list[Json]:
        """The replies of commands that went to the clerk together."""
        commands = [
            Command(decode_request(line, socket), Speaker("prin-owner", "peer-uid", socket))
            for line, socket in requests
        ]
        return [json.loads(answer.reply) for answer in self.clerk.run(commands)]

    # --- scenes ---------------------------------------------------------------------------------------------
    def project(self, name: str = "kitchen") -> str:
        return str(self.ok("project_create", {"name": name})["project_id"])

    def space(self, project: str, title: str = "the tap") -> Json:
        return self.ok("space_create", {"title": title, "visibility": "project"}, project=project)

    def agent_in(self, space: Json, name: str, role: str) -> str:
        """An agent that takes part in a space."""
        hashed = hashlib.sha256(name.encode()).hexdigest()
        agent = str(self.ok("tallystick_agent_add", {"name": name, "credential_sha256": hashed})["agent_id"])
        self.take_part(space, agent, role)
        return agent

    def take_part(
        self,
        space: Json,
        subject: str,
        role: str = "contributor",
        status: str = "active",
        kind: str = "service",
    ) -> Json:
        """A participant of that role and status: proposed, and then let in, muted or removed as it takes."""
        named = {"space_id": space["space_id"], "subject_ref": subject, "kind": kind, "role": role}
        made = self.ok("space_participant_add", named, project=space["project_id"])
        if status == "proposed":
            return made
        which = {"participant_id": made["participant_id"]}
        activated = {**which, "subject_digest": participant_digest(made)}
        made = self.ok("space_participant_activate", activated, project=space["project_id"])
        if status == "muted":
            made = self.ok(
                "space_participant_update", {**which, "status": "muted"}, project=space["project_id"]
            )
        elif status == "revoked":
            made = self.ok("space_participant_remove", which, project=space["project_id"])
        return made

    def append_request(self, space: Json, text: str, kind: str = "claim", **how: Any) -> tuple[bytes, Socket]:
        args = {
            "space_id": space["space_id"],
            "branch_id": space["main_branch_id"],
            "kind": kind,
            "body_parts": [{"media_type": "text/plain", "text": text}],
            **how.pop("more", {}),
        }
        how.setdefault("ext", AT_HEAD)
        how.setdefault("key", f"key-{self._requests}-append")
        return self.request("contribution_append", args, project=space["project_id"], **how)

    def append(self, space: Json, text: str, kind: str = "claim", **how: Any) -> Json:
        answered: Json = json.loads(self.answer(*self.append_request(space, text, kind, **how)))
        return answered

    def said(self, space: Json, text: str, kind: str = "claim", **how: Any) -> Json:
        answered = self.append(space, text, kind, **how)
        assert answered["outcome"] == "ok", answered
        result: Json = answered["result"]
        return result

    def invocation(self, space: Json, *items: Json, **args: Any) -> Json:
        """A queued invocation on an assembly of the items, the first of them its trigger."""
        refs = [item["contribution_id"] for item in items]
        return self.invocation_on(space, refs, refs[:1], **args)

    def invocation_on(self, space: Json, refs: list[str], triggers: list[str], **args: Any) -> Json:
        """A queued invocation on an assembly that names these."""
        there, project = Space(space["space_id"], space["main_branch_id"]), space["project_id"]
        assembled = {**assembly_args(there, refs), "trigger_refs": triggers}
        assembly = self.ok("context_assembly_create", assembled, project=project)
        invoked = invocation_args(there, assembly, **{"deadline": "2031-01-01T00:00:00Z", **args})
        return self.ok("invocation_create", invoked, project=project)

    def claim(self, invocation: Json, term: int | None = 60, **how: Any) -> Json:
        ext = None if term is None else {"dev.tallystick.lease": {"term_seconds": term}}
        return self.write(
            "invocation_claim",
            {"invocation_id": invocation["invocation_id"]},
            socket=Socket.WORKER,
            ext=ext,
            **how,
        )

    def problem(self, answered: Json) -> str:
        """The kind of a refusal."""
        assert answered["outcome"] == "problem", answered
        return str(answered["problem"]["type"]).removeprefix("urn:kovee:error:")

    # --- looking inside -------------------------------------------------------------------------------------
    def dump(self) -> dict[str, list[tuple[object, ...]]]:
        """Every row of every table, as durable."""
        tables = [
            str(row[0])
            for row in self.view.all(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
        ]
        return {
            table: list(self.view.all(f"SELECT * FROM {table} ORDER BY 1, 2")) for table in sorted(tables)
        }

    def fingerprint(self) -> str:
        """A digest of the dump."""
        return hashlib.sha256(repr(self.dump()).encode()).hexdigest()
