"""The verbs `agent …`: whom the owner lets in, on sockets of their own.

The credential is made here and the daemon is given its SHA-256: so what is printed, or written to the file,
is the only copy there ever is.
"""

from __future__ import annotations

import os
import re
from typing import Final

import click

from tally_cli.calling import Call, Record, key_option, keyed, text, verb
from tally_cli.choosing import folded, pages
from tally_cli.exits import Exit
from tally_cli.shown import anywhere
from tally_cli.trouble import Trouble
from tallystick import calls
from tallystick.paths import WORKER_SOCKET, check_socket_path

_AGENT: Final = ("agent_id", "status", "expires_at", "deployments", "name")
_SUBJECT_ID: Final = re.compile(r"(agent|prin|dep|peer|svc)-")
"""How the ids of those begin who can have a part in a space."""
_LONGEST_DIRECTORY: Final = os.path.join("agents", "agent-" + "0" * 32)
SHOWN: Final = {
    "agent": anywhere(calls.agents.agent_show),
}
"""How an object is shown, by the beginning of its id."""


@click.group()
def agent() -> None:
    """Add, list, show and revoke agents. Whoever connects in an agent's directory of sockets acts as it."""


@agent.command("add")
@click.argument("name")
@click.option("--uid", type=click.IntRange(0), metavar="UID", help="Its processes' uid, where not yours.")
@click.option(
    "--deployment", "deployments", multiple=True, metavar="ID",
    help="It may claim this one's invocations; repeatable.",
)  # fmt: skip
@click.option("--ceiling", metavar="CLASS", help="The highest classification that it may read.")
@click.option("--until", metavar="TIME", help="When it ends, as 2031-01-31T09:00:00Z.")
@click.option(
    "--credential-file", metavar="FILE", type=click.Path(),
    help="Write the credential there, and do not print it; one that is there is taken.",
)  # fmt: skip
@key_option
@verb
def agent_add(
    call: Call,
    name: str,
    uid: int | None,
    deployments: tuple[str, ...],
    ceiling: str | None,
    until: str | None,
    credential_file: str | None,
    key: str | None,
) -> None:
    """Let an agent called NAME in, and print its id, its directory and, this once, its credential.

    In its directory it needs no credential: show a sandbox that directory and no other. It has no part in
    anything before `tally participants propose` and `admit`, or `tally grant give`. With --credential-file
    nothing but its id is printed into a pipe.
    """
    check_socket_path(os.path.join(call.paths.runtime_dir, _LONGEST_DIRECTORY, WORKER_SOCKET))
    credential = calls.agents.new_credential() if credential_file is None else _kept(credential_file)
    made = call.ask(
        calls.agents.agent_add(
            name,
            calls.agents.credential_sha256(credential),
            peer_uid=uid,
            deployments=deployments or None,
            classification_ceiling_ref=ceiling,
            expires_at=until,
            **keyed(key),
        )
    )
    _tell_new(call, made, None if credential_file is not None else credential)


def _tell_new(call: Call, made: Record, credential: str | None) -> None:
    directory = _directory(call, made)
    printer = call.printer
    if printer.as_json:
        secret = {} if credential is None else {"credential": credential}
        printer.object({**made, "sockets": directory, **secret})
    elif credential is not None:
        printer.row(text(made, "agent_id"), directory, credential)
    else:
        call.made(made, "agent_id", directory)


def _directory(call: Call, record: Record) -> str:
    return os.path.join(call.paths.runtime_dir, text(record, "directory"))


def _kept(path: str) -> str:
    """The credential in a file, which is made where there is none: 0600, and on the disk before it is used.

    Raises `Trouble` (exit 8) where what is there is no credential, or OSError.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        with open(path, encoding="ascii", errors="replace") as file:
            kept = file.readline().strip()
        if len(kept) < calls.agents.CREDENTIAL_BYTES:
            least = calls.agents.CREDENTIAL_BYTES
            words = f"{path} holds no credential, which has {least} characters at least. Name another file."
            raise Trouble(Exit.LOCAL_FILE, "file", words) from None
        return kept
    credential = calls.agents.new_credential()
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(f"{credential}\n")
        file.flush()
        os.fsync(descriptor)
    return credential


def _agents(call: Call) -> list[Record]:
    return list(pages(call, lambda after, snapshot: calls.agents.agent_list(after=after, snapshot=snapshot)))


def find_agent(call: Call, wanted: str) -> Record:
    """The agent of that id; else the one of that name, among those let in, or the only one that ever had it.

    Raises `Trouble` (exit 2) where there is none, or where several have it.
    """
    found = _agents(call)
    same = folded(wanted)
    named = [each for each in found if folded(text(each, "name")) == same]
    for matching in (
        [each for each in found if each["agent_id"] == wanted],
        [each for each in named if each["status"] == "active"],
        named,
    ):
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise _no_agent(f"Several agents have the name {wanted!r}; name one by its id.")
    raise _no_agent(f"No agent has the id or name {wanted!r}.")


def _no_agent(words: str) -> Trouble:
    return Trouble(Exit.USAGE, "no-agent", f"{words} `tally agent list` shows all of them.")


def subject_ref(call: Call, wanted: str) -> str:
    """The id of whom a part or a grant is for: an id as it is, an agent's name as the id of that agent."""
    if _SUBJECT_ID.match(wanted):
        return wanted
    return text(find_agent(call, wanted), "agent_id")


@agent.command("list")
@verb
def agent_list(call: Call) -> None:
    """List all agents, those that were revoked too, in the order in which they were added."""
    call.tell_all(_agents(call), _AGENT)


@agent.command("show")
@click.argument("agent")
@verb
def agent_show(call: Call, agent: str) -> None:
    """Show the AGENT with that id or name, and where its sockets are."""
    found = find_agent(call, agent)
    shown = {**found, "sockets": _directory(call, found)}
    if call.printer.as_json:
        call.printer.object(shown)
        return
    call.printer.fields((name, _line(shown[name])) for name in shown)


def _line(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


@agent.command("revoke")
@click.argument("agent")
@key_option
@verb
def agent_revoke(call: Call, agent: str, key: str | None) -> None:
    """Let the AGENT with that id or name in no more, for good. What it did stands."""
    known = agent if key is not None and agent.startswith("agent-") else None
    found = known or text(find_agent(call, agent), "agent_id")

    def done() -> Record | None:
        shown = call.ask(calls.agents.agent_show(found))
        return shown if shown["status"] == "revoked" else None

    ended = call.change(calls.agents.agent_revoke(found, **keyed(key)), done)
    call.made(ended, "agent_id", text(ended, "status"), text(ended, "name"))
