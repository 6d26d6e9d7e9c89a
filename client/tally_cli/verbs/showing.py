"""The verb `show`: one object by its id. Which ids there are, each family's module says (``SHOWN``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import cast

import click

from tally_cli.bodies import part_text
from tally_cli.calling import Call, Record, text, verb
from tally_cli.choosing import project_option
from tally_cli.exits import Exit
from tally_cli.output import to_json
from tally_cli.shown import Shown
from tally_cli.trouble import Trouble
from tallystick.protocol import families


@click.command()
@click.argument("ref", metavar="ID")
@click.option("--raw", is_flag=True, help="Only its texts, as they were written. Into a pipe or a file only.")
@project_option
@verb
def show(call: Call, ref: str, raw: bool, project: str | None) -> None:
    """Show the object with that ID: whatever its kind is, the beginning of the id tells it."""
    record = _shown(call, ref, project)
    if raw:
        if call.printer.as_json:
            raise click.UsageError("Give either --raw or --json: JSON loses nothing.")
        call.printer.raw("".join(_texts(record)))
    elif call.printer.as_json:
        call.printer.object(record)
    else:
        _tell(call, record)


def _shown(call: Call, ref: str, project: str | None) -> Record:
    """The object of that id. Raises `Trouble` (exit 2) where no family has such ids."""
    prefix = ref.partition("-")[0]
    known: list[str] = []
    for shown in shown_by_family():
        if prefix in shown:
            return shown[prefix](call, ref, project)
        known += (f"{each}-…" for each in shown)
    raise Trouble(Exit.USAGE, "usage", f"{ref!r} is no id of an object that can be shown: {', '.join(known)}")


def shown_by_family() -> Iterator[Mapping[str, Shown]]:
    """What each family shows. Its module is loaded when its turn comes; a family may have none."""
    for family in families.NAMES:
        if find_spec(name := f"tally_cli.verbs.{family}") is not None:
            yield getattr(import_module(name), "SHOWN", {})


def _tell(call: Call, record: Record) -> None:
    parts = record.get("body_parts")
    call.printer.fields(
        (name, value if isinstance(value, str) else to_json(value))
        for name, value in record.items()
        if name != "body_parts"
    )
    if isinstance(parts, list):
        call.printer.text("")
        for part in parts:
            call.printer.text(part_text(cast(Record, part)))


def _texts(record: Record) -> Iterator[str]:
    parts = record.get("body_parts")
    if not isinstance(parts, list):
        raise Trouble(Exit.USAGE, "usage", "--raw shows texts, and this object is no contribution.")
    for part in parts:
        if isinstance(part, Mapping) and "text" in part:
            yield text(part, "text")
