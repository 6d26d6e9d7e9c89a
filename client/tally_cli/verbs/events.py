"""The verb `events`: what happened in a project, as it was and as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

import click

from tally_cli.calling import Call, Record, builtin, text, verb
from tally_cli.choosing import choose_project, project_option
from tally_cli.output import cut, first_line, to_json
from tally_cli.shown import anywhere
from tallystick import calls

if TYPE_CHECKING:
    from tallystick.follow import Gap
    from tallystick.protocol.families.events import Event

HEADINGS: Final = ("#", "time", "type", "object", "actor", "what")
_WHAT_COLUMNS: Final = 60
SHOWN: Final = {
    "evt": anywhere(calls.events.event_payload),
}
"""How an object is shown, by the beginning of its id."""


@click.command()
@project_option
@click.option("-f", "--follow", is_flag=True, help="Go on with what happens from now on, until interrupted.")
@click.option("--new", is_flag=True, help="Begin where the project stands now, not at its first event.")
@click.option("--after", metavar="CURSOR", help="Begin after this cursor.")
@click.option(
    "--cursor-file", metavar="FILE",
    help="With --follow: keep the place in FILE, and go on from there the next time.",
)  # fmt: skip
@click.option("--type", "types", multiple=True, metavar="PREFIX", help="Only such types; repeatable.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="End after N events.")
@verb
def events(
    call: Call,
    project: str | None,
    follow: bool,
    new: bool,
    after: str | None,
    cursor_file: str | None,
    types: tuple[str, ...],
    limit: int | None,
) -> None:
    """Print what happened in a project, one line an event; with --follow, go on as it happens.

    An event counts as printed when its line was written; with a cursor file it is printed at least once,
    however often daemon or follower are restarted.
    """
    if cursor_file is not None and not follow:
        raise click.UsageError("--cursor-file keeps the place of --follow.")
    if cursor_file is not None and limit is not None:
        raise click.UsageError("--limit ends before the place is kept: give either it or --cursor-file.")
    if new and after is not None:
        raise click.UsageError("Give either --new or --after.")
    project_id = choose_project(call, project)
    if new:
        after = call.client.head_cursor(project_id)
    tell = _teller(call, one_by_one=follow)
    if not follow:
        tell(islice(read(call, project_id, after=after, type_prefixes=types), limit))
        return
    items = call.client.follow(project_id, cursor_store=cursor_file, after_cursor=after, type_prefixes=types)
    tell(_plain(item) for item in islice(items, limit))


def read(
    call: Call, project_id: str, *, after: str | None = None, type_prefixes: tuple[str, ...] = ()
) -> Iterator[Record]:
    """All events of a project that there are now, from the first, or after a cursor."""
    while True:
        page = call.ask(calls.events.events_read(project_id, after_cursor=after, type_prefixes=type_prefixes))
        found = cast(list[Record], page["events"])
        yield from found
        if not found or page["next_cursor"] == after:
            return
        after = text(page, "next_cursor")


def _plain(item: Event | Gap) -> Record:
    """An event as parsed JSON; a gap as an object with the one member ``gap``."""
    from tallystick.follow import Gap

    if isinstance(item, Gap):
        return {"gap": item._asdict()}
    return builtin(item)


def _teller(call: Call, *, one_by_one: bool) -> Callable[[Iterator[Record]], None]:
    """How events are told: each at once when they are followed, else as one table."""
    printer = call.printer

    def objects(found: Iterator[Record]) -> None:
        for event in found:
            printer.object(event)
            printer.flush()

    def rows(found: Iterator[Record]) -> None:
        for event in found:
            printer.row(*cells(event))
            printer.flush()

    def table(found: Iterator[Record]) -> None:
        printer.table(HEADINGS, map(cells, found))

    if printer.as_json:
        return objects
    return rows if one_by_one or not printer.people else table


def cells(event: Record) -> list[str]:
    """An event as a line's cells, under `HEADINGS`."""
    if "gap" in event:
        words = f"the store is in a new epoch, and what follows is read anew: {to_json(event['gap'])}"
        return ["gap", "", "", "", "", words]
    sequence = text(event, "project_sequence") or text(event, "stream_sequence")
    members = [text(event, name) for name in ("occurred_at", "type", "resource_ref", "actor_ref")]
    return [sequence, *members, summary(event)]


def summary(event: Record) -> str:
    """What an event's payload says, in a few words, without relying on any member of it."""
    payload = event.get("payload")
    if not isinstance(payload, Mapping):
        return ""
    if isinstance(parts := payload.get("body_parts"), list):
        texts = [text(part, "text") for part in parts if isinstance(part, Mapping)]
        said = cut(first_line(next(filter(None, texts), "")), _WHAT_COLUMNS)
        return f"{text(payload, 'kind')}: {said}" if said else text(payload, "kind")
    one, other = payload.get("from_ref"), payload.get("to_ref")
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return f"{text(one, 'object_ref')} {text(payload, 'kind')} {text(other, 'object_ref')}"
    for name in ("title", "name", "state", "kind", "digest"):
        if name in payload:
            return first_line(text(payload, name))
    return ""
