"""The verbs `init`, `up`, `down` and `paths`: the daemon and its store, from here."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

import click

from tally_cli.calling import Call, Record, text, verb
from tally_cli.choosing import projects
from tally_cli.exits import Exit
from tally_cli.repository import repository
from tally_cli.starting import connect, log_path
from tally_cli.stopping import END_SECONDS_MAX, peer_process, watch
from tally_cli.trouble import Trouble
from tallystick import calls
from tallystick.errors import IdempotencyResultExpired, TransportError
from tallystick.paths import migration_copies

INIT_KEY: Final = "tally-init-personal"
INIT_NAME: Final = "personal"
_SHUTDOWN_SECONDS_MAX: Final = 5.0


@click.command()
@verb
def init(call: Call) -> None:
    """Make the project `personal`, and the store and the daemon where there are none.

    It always uses the same idempotency key: however often it is called, there is one project.
    """
    try:
        project = call.ask(calls.projects.project_create(INIT_NAME, key=INIT_KEY))
    except IdempotencyResultExpired:
        project = _made_long_ago(call)
    call.made(project, "project_id", text(project, "name"))


def _made_long_ago(call: Call) -> Record:
    """The project of the first `init`, when the daemon no longer gives the answer to that."""
    for project in projects(call):
        if project.get("name") == INIT_NAME:
            return project
    raise Trouble(
        Exit.PROBLEM,
        "not-found",
        f"`tally init` made the project `{INIT_NAME}` long ago, and no project has this name any more. "
        "`tally project list` shows those that there are; `tally project create NAME` makes another.",
    )


@click.command()
@verb
def up(call: Call) -> None:
    """Start the daemon, unless one runs.

    A start that brings a large record up to date takes minutes: on stderr it is told how far it is.
    """
    if not call.may_start:
        raise Trouble(Exit.USAGE, "usage", "`tally up` starts a daemon, and --no-start forbids it.")
    started = call.start()
    status = call.ask(calls.service.status())
    if call.printer.as_json:
        call.printer.object({"started": started, **status})
        return
    word = "started" if started else "running"
    call.printer.row(word, f"pid {text(status, 'pid')}", call.paths.runtime_dir)


@click.command()
@verb
def down(call: Call) -> None:
    """Ask the daemon to finish what it does and stop, and wait until it has.

    It is asked through its socket, and never signalled. Where none runs there is nothing to do.
    """
    stopped = _stop(call)
    if call.printer.as_json:
        call.printer.object({"stopped": stopped})
        return
    call.printer.row("stopped" if stopped else "not running")


def _stop(call: Call) -> bool:
    """Whether a daemon ran, and has ended now. Raises `Trouble` where it does not end."""
    connection = connect(call.paths.client_socket)
    if connection is None:
        return False
    with connection:
        pid = peer_process(connection)
        try:
            ended = watch(pid) if pid is not None else None
        except OSError:
            ended = None
    call.may_start = False
    try:
        call.ask(calls.service.shutdown(deadline_seconds=_SHUTDOWN_SECONDS_MAX))
    except (TransportError, Trouble) as error:  # it may have gone before its answer was read
        if connect(call.paths.client_socket) is not None:
            raise error
    with call.waiting.told("the daemon to finish what it does and stop"):
        has_ended = ended is None or ended(END_SECONDS_MAX)
    if not has_ended:
        raise Trouble(
            Exit.OUTCOME_UNKNOWN,
            "still-stopping",
            f"The daemon was asked to stop and has not ended within {END_SECONDS_MAX} s."
            f" It finishes what it has begun; its log may say more: {log_path(call.paths)}",
        )
    return True


@click.command()
@verb
def paths(call: Call) -> None:
    """Print where everything is: data, sockets, and the files of this user. Asks no daemon.

    Copies that were made before the record was brought up to date are shown with their size; the daemon
    removes them when it has started once more.
    """
    from tallystick.keystore import path_for

    found = {**call.paths._asdict(), "log": log_path(call.paths), "keys": path_for(call.paths, call.actor)}
    copies = _sizes(migration_copies(call.paths.database))
    if call.printer.as_json:
        around = repository()
        told = {"repository": None if around is None else around._asdict()}
        sizes = [{"path": path, "bytes": size} for path, size in copies]
        call.printer.object({**found, **told, "copies": sizes})
        return
    call.printer.fields(found.items())
    around = repository()
    if around is not None:
        call.printer.fields([("repository", f"{around.label} ({around.source})")])
    call.printer.fields(("copy", f"{path} ({size} bytes)") for path, size in copies)
    note = call.paths.note()
    if note is not None:
        call.printer.text(note)


def _sizes(paths: list[str]) -> list[tuple[str, int]]:
    """Files with their bytes; one that was removed meanwhile is left out."""
    found = []
    for path in paths:
        with suppress(FileNotFoundError):
            found.append((path, os.stat(path, follow_symlinks=False).st_size))
    return found
