"""The verb `anew`: a person says that a directory's store was given up, so that a new one may begin there.

The daemon makes no new store where it knows of one: a directory that is empty since its disk is not mounted
would otherwise look like a fresh start. Only a person knows that a store was removed on purpose, so it takes
a verb of its own, with the store's id typed. It removes nothing: the note that a store is there is kept under
another name.
"""

from __future__ import annotations

import json
import os

import click

from tally_cli.calling import Call, verb
from tally_cli.exits import Exit
from tally_cli.starting import answers
from tally_cli.trouble import Trouble
from tallystick.paths import Paths


@click.command()
@click.argument("store", metavar="STORE_ID")
@verb
def anew(call: Call, store: str) -> None:
    """Say that the store STORE_ID was given up: the next start makes a new one in its directory.

    The daemon, which refuses to make one there, names the id. Nothing is removed: where anything of the store
    is left it is refused, and the note in the state directory is kept under another name.
    """
    places = call.paths
    if answers(places.client_socket):
        raise _refused(f"A daemon answers at {places.client_socket}. `tally down` stops it.")
    note = _note(places, store)
    left = _left(places)
    if left:
        raise _refused(
            f"{places.data_dir} still holds {', '.join(left[:5])}. A store that is there is not given up; if"
            " it does not start, the daemon says why. Move what is there elsewhere, or name another directory"
            " with TALLY_DATA_DIR."
        )
    kept = os.path.join(places.state_dir, f"given-up-{os.path.basename(note)}")
    os.rename(note, kept)
    if call.printer.as_json:
        call.printer.object({"given_up": store, "kept": kept})
        return
    call.printer.row("given up", store, kept)


def _left(paths: Paths) -> list[str]:
    """The files in the data directory, but for the lock, which each start that was refused leaves there."""
    found = [os.path.join(where, name) for where, _, names in os.walk(paths.data_dir) for name in names]
    return sorted(os.path.relpath(path, paths.data_dir) for path in found if path != paths.data_lock)


def _note(paths: Paths, store: str) -> str:
    """The file in the state directory which says that the store is in this data directory.

    Raises `Trouble` (exit 2) where there is none, or where it speaks of another directory.
    """
    path = paths.marker_copy(os.path.basename(store))
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read(65_536))
        place = found["data_dir"] if found["store_id"] == store else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        place = None
    if place != os.path.realpath(paths.data_dir):
        where = "" if place is None else f": it is in {place}"
        raise Trouble(
            Exit.USAGE,
            "no-store",
            f"No store {store} is known to be in {paths.data_dir}{where}. The daemon that refuses to make a"
            " new one there names the id: `tally up`.",
        )
    return path


def _refused(words: str) -> Trouble:
    return Trouble(Exit.USAGE, "not-given-up", words)
