"""The verbs `agent …`: whom the owner lets in, on sockets of their own.

The credential is made here and the daemon is given its SHA-256: so what is printed, or written to the file,
is the only copy there ever is.
"""

from __future__ import annotations

import os
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


def _find(call: Call, wanted: str) -> Record:
    """The agent of that id, or the only one of that name that was not revoked. Raises `Trouble` (exit 2)."""
    found = _agents(call)
    by_id = [each for each in found if each["agent_id"] == wanted]
    same = folded(wanted)
    named = [each for each in found if folded(text(each, "name")) == same and each["status"] == "active"]
    matching = by_id or named
    if len(matching) == 1:
        return matching[0]
    what = "no agent has" if not matching else "several agents have"
    raise Trouble(
        Exit.USAGE, "no-agent", f"{what} the id or name {wanted!r}; `tally agent list` shows all of them."
    )


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
    found = _find(call, agent)
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
    found = agent if key is not None and agent.startswith("agent-") else text(_find(call, agent), "agent_id")
    ended = call.ask(calls.agents.agent_revoke(found, **keyed(key)))
    call.made(ended, "agent_id", text(ended, "status"), text(ended, "name"))
