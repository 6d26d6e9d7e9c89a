"""Stores made by released versions, kept as files: what people have on their disks must open for ever.

``released/<version>.tar.xz`` holds a data directory and a state directory (the database, its keys, its
marker and the marker's copy, artifacts' files), and ``reads.json``: reads, each with the reply that the
released version gave.

``python crashtests/released_stores.py 0.1.0`` wrote ``released/0.1.0.tar.xz``, in a checkout of that version.
A file that is there is never written anew: a later version cannot write what an earlier one wrote.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import tarfile
from pathlib import Path
from typing import Any, Final, NamedTuple

import artifacts
from erasing import await_erased
from harness.home import Daemon, Home
from harness.wire import REALM, Request, Wire, ask, request
from world import CLIENT, DEPLOYMENT, World, append, build

from tallystick.paths import Paths

KEPT: Final = Path(__file__).parent / "released"
READS: Final = "reads.json"
FIRST: Final = "0.1.0"
"""Schema 7."""


class Read(NamedTuple):
    """A read on the client socket, and the reply that the released version gave, without its newline."""

    body: dict[str, Any]
    reply: str


def versions() -> list[str]:
    """Those that a store is kept of."""
    return sorted(path.name.removesuffix(".tar.xz") for path in KEPT.glob("*.tar.xz"))


def unpack(version: str, home: Home) -> list[Read]:
    """Puts the store of a released version into an empty home; returns what was read from it then."""
    with tarfile.open(KEPT / f"{version}.tar.xz") as archive:
        archive.extractall(home.root, filter="data")
    for name in ("d", "s"):
        for directory, _, _ in os.walk(os.path.join(home.root, name)):
            os.chmod(directory, 0o700)
    reads = json.loads(Path(home.root, READS).read_text())
    return [Read(**read) for read in reads]


def differing(paths: Paths, reads: list[Read]) -> list[str]:
    """The operations of the reads that are not answered byte for byte as the released version did, but for
    ``_CHANGED``.
    """
    with Wire(paths) as wire:
        replies = [wire.ask(Request(CLIENT, read.body)).raw.decode() for read in reads]
    pairs = zip(reads, replies, strict=True)
    return [read.body["op"] for read, reply in pairs if _kept(reply) != _kept(read.reply)]


_CHANGED: Final = re.compile(r'"activated_at":"[^"]*",|"kc1\.[0-9a-f.]+"')
"""What a later version answers otherwise: the built-in deployment says since when it is active, and tokens
are sealed.
"""


def _kept(reply: str) -> str:
    return _CHANGED.sub("", reply)


# --- how one is made ----------------------------------------------------------------------------------------
def main(version: str) -> None:
    """Writes the archive of the version that runs here."""
    home = Home()
    try:
        world = build(home)
        with home.start() as daemon:
            _erase(daemon, world)
            _end_uploads(daemon, world)
        with home.start() as daemon:
            asked = list(_asked(daemon, world))
            reads = [Read(each.body, ask(daemon.paths, each).raw.decode()) for each in asked]
        with home.start() as daemon:
            assert differing(home.paths, reads) == [], "a read is not answered alike twice"
        _pack(home, KEPT / f"{version}.tar.xz", reads)
    finally:
        home.close()


def _erase(daemon: Daemon, world: World) -> None:
    """A contribution is redacted, and what the daemon does behind it is done."""
    said = ask(daemon.paths, append(world.project, world.space, "w-secret", "The key is under the mat."))
    args = {"contribution_ref": said.result["contribution_id"], "reason_class": "privacy"}
    redact = request(CLIENT, "contribution_redact", args, project=world.project, key="w-redact")
    assert ask(daemon.paths, redact).ok
    await_erased(daemon, world.project)


def _end_uploads(daemon: Daemon, world: World) -> None:
    """Those that are open: in an hour they would be expired, by whichever daemon runs then."""
    for name in (*artifacts.TO_FINALIZE, *artifacts.OPEN):
        args = {"upload_id": world.others[name], "reason": "it is kept for later"}
        aborted = ask(
            daemon.paths,
            request(CLIENT, "artifact_upload_abort", args, key=f"w-end-{name.replace(' ', '-')}"),
        )
        assert aborted.ok, aborted.value


def _asked(daemon: Daemon, world: World) -> list[Request]:
    """Reads of every kind of record, and every event."""
    project, others = world.project, world.others
    space = {"space_id": world.space.space_id}
    in_realm: list[tuple[str, dict[str, Any]]] = [
        ("realm_show", {}),
        ("project_list", {}),
        ("tallystick_agent_list", {}),
        ("tallystick_agent_show", {"agent_id": others["agent"]}),
        ("assistant_list", {}),
        ("assistant_revision_list", {"definition_id": "asst-local-dev"}),
        ("deployment_list", {}),
        ("deployment_show", {"assistant_deployment_id": DEPLOYMENT}),
        ("tallystick_artifact_list", {}),
        ("artifact_upload_show", {"upload_id": others["carried"]}),
        ("tallystick_events_read", {"source": REALM, "limit": 200}),
    ]
    in_project: list[tuple[str, dict[str, Any]]] = [
        ("project_show", {}),
        ("space_list", {}),
        ("space_show", space),
        ("space_participant_list", {"space_id": others["access"]}),
        ("space_access_grant_list", {"space_id": others["access"]}),
        ("space_access_widen_list", {}),
        ("project_access_policy_change_list", {}),
        ("contribution_list", {**space}),
        ("tallystick_contribution_list", {**space}),
        ("tallystick_relation_list", {**space}),
        ("tallystick_relation_show", {"relation_id": others["relation_retract"]}),
        ("tallystick_disposition_list", {**space}),
        ("tallystick_assembly_list", {**space}),
        ("context_assembly_show", {"assembly_id": world.assembly["assembly_id"]}),
        ("lens_list", {**space}),
        ("lens_read", {"lens_id": f"lens-stream-{world.space.space_id}", "limit": 100}),
        ("assistant_alias_list", {}),
        ("invocation_list", {}),
        *(("invocation_show", {"invocation_id": each}) for each in world.invocations.values()),
    ]
    for operation, args in (*in_realm, *in_project):
        if operation.endswith("_list"):
            args["limit"] = 100
    asked = [request(CLIENT, operation, args) for operation, args in in_realm]
    asked += [artifacts.show(others["carried's artifact"]), artifacts.get(others["carried's artifact"])]
    asked += [request(CLIENT, operation, args, project=project) for operation, args in in_project]
    asked += _events(daemon, project)
    refused = [(each.operation, reply.value) for each in asked if not (reply := ask(daemon.paths, each)).ok]
    assert refused == [], refused
    return asked


def _events(daemon: Daemon, project: str) -> list[Request]:
    """The pages of all events of a project."""
    pages: list[Request] = []
    args: dict[str, Any] = {"source": project, "limit": 200}
    while True:
        pages.append(request(CLIENT, "events_read", args))
        found = ask(daemon.paths, pages[-1]).result
        if not found["events"]:
            return pages
        args = {**args, "after_cursor": found["next_cursor"]}


def _pack(home: Home, target: Path, reads: list[Read]) -> None:
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for name in ("d", "s"):
            archive.add(os.path.join(home.root, name), name, filter=_anonymous)
        said = json.dumps([read._asdict() for read in reads], ensure_ascii=False, indent=1).encode()
        entry = tarfile.TarInfo(READS)
        entry.size = len(said)
        archive.addfile(entry, io.BytesIO(said))


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Nobody's name or number, and no time: what is kept is the store."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    main(sys.argv[1])
