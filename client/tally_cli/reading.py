"""What was said in a space, whole and for people: who said it, when, what became of it, what it bears on.

One entry a contribution, in the order of the space::

    #2  claim  prin-owner  2026-12-01 09:17  contrib-01a2…
        addresses #1; challenged by #3
        The washer is worn.

Times are the reader's local ones. Entries are wrapped at the terminal's width; nothing of a body is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, cast

from tally_cli.bodies import part_text
from tally_cli.calling import Record, text
from tally_cli.output import Printer

_INDENT: Final = "    "
_DONE: Final = {"withdraw": "withdrawn", "supersede": "superseded", "redact": "redacted"}
_PASSIVE: Final = {
    "addresses": "addressed", "supports": "supported", "challenges": "challenged", "refines": "refined",
    "qualifies": "qualified", "supersedes": "superseded", "depends_on": "needed", "quotes": "quoted",
    "derived_from": "drawn on", "produced_by": "named as producer", "evaluates": "evaluated",
}  # fmt: skip
"""How the other end is told of a relation: by whom it is addressed, supported, and so on."""


def tell(printer: Printer, items: Iterable[Record], relations: Iterable[Record]) -> None:
    """Print each contribution, with those of the relations that leave it or reach it."""
    whole = list(items)
    numbers = {
        text(said, "contribution_id"): f"#{text(said, 'space_sequence')}"
        for said in (cast(Record, item["contribution"]) for item in whole)
    }
    bearings = _bearings(relations, numbers)
    for count, item in enumerate(whole):
        said = cast(Record, item["contribution"])
        ref = text(said, "contribution_id")
        if count:
            printer.text("")
        told = [text(said, "kind"), text(said, "author_actor_ref"), _local(text(said, "created_at")), ref]
        printer.row(numbers[ref], *told)
        became = [_became(each, numbers) for each in cast(list[Record], item["dispositions"])]
        if notes := [*became, *bearings.get(ref, [])]:
            printer.paragraph("; ".join(notes), _INDENT)
        for part in cast(list[Record], said["body_parts"]):
            printer.paragraph(part_text(part), _INDENT)


def _became(disposition: Record, numbers: Mapping[str, str]) -> str:
    kind = text(disposition, "kind")
    other = text(disposition, "replacement_ref")
    by = f" by {numbers.get(other, other)}" if other else ""
    return f"{_DONE.get(kind, kind)}{by} {_local(text(disposition, 'created_at'))}"


def _bearings(relations: Iterable[Record], numbers: Mapping[str, str]) -> dict[str, list[str]]:
    """Of each contribution and relation, by its id, what it bears on and what bears on it."""
    found: dict[str, list[str]] = {}
    for item in relations:
        relation = cast(Record, item["relation"])
        one, other = (text(cast(Record, relation[end]), "object_ref") for end in ("from_ref", "to_ref"))
        kind = text(relation, "kind")
        end = " (retracted)" if item["dispositions"] else ""
        found.setdefault(one, []).append(f"{kind} {numbers.get(other, other)}{end}")
        found.setdefault(other, []).append(f"{_PASSIVE.get(kind, kind)} by {numbers.get(one, one)}{end}")
    return found


def _local(time: str) -> str:
    """A time of the protocol in the reader's own time zone, to the minute."""
    return datetime.fromisoformat(time).astimezone().strftime("%Y-%m-%d %H:%M")
