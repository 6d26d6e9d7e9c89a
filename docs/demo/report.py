"""What the demo prints about the record and its checks: plain lines, for a person and for a pipe.

Texts from the record are shortened, and their invisible and control characters made visible: an assistant
wrote them, and others wrote what it read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from docs.demo.checks import Observation, Verdict

from tallystick.protocol.families.contributions import Contribution
from tallystick.protocol.visible import visible

WIDTH: Final = 110
"""Columns of a line: as wide as this project's own."""
EVIDENCE_LINES: Final = 2
SYNTHESIS_LINES: Final = 9
EVENTS_SHOWN: Final = 12
_NAME: Final = 12


def record(seen: Observation) -> Iterator[str]:
    """The record as it stands, as lines."""
    for contribution in seen.contributions:
        yield from _contribution(contribution)
    for relation in seen.relations:
        ends = [_named(seen, ref.object_ref) for ref in (relation.from_ref, relation.to_ref)]
        yield _row("relation", f"{ends[0]} {relation.kind} {ends[1]}")
    for assembly in seen.assemblies:
        items = ", ".join(_named(seen, item.object_ref) for item in assembly.items)
        yield _row("assembly", f"what the assistant was given: {items}; {len(assembly.omissions)} left out")
    for invocation in seen.invocations:
        yield _row("invocation", f"{invocation.state}, by {invocation.assistant_deployment_id}")
    yield _row("events", f"{len(seen.events)}, each with its place in the project's sequence:")
    for event in seen.events[:EVENTS_SHOWN]:
        kind = event.type.removeprefix("dev.kovee.").removesuffix(".v1")
        about = _named(seen, event.resource_ref)
        said = "" if about == event.resource_ref else f" ({about})"
        yield _row("", f"{event.project_sequence or 0:3}  {kind}{said}, by {event.actor_ref}")
    yield from _more(len(seen.events), EVENTS_SHOWN, "events")


def verdicts(given: Iterable[Verdict]) -> Iterator[str]:
    """Each check with ✓ or ✗, and what was found."""
    for verdict in given:
        yield _cut(f"  {'✓' if verdict.holds else '✗'} {verdict.check:<60} {visible(verdict.found)}")


def _contribution(contribution: Contribution) -> Iterator[str]:
    text = "\n".join(part.text for part in contribution.body_parts if isinstance(part.text, str))
    lines = text.rstrip("\n").split("\n")
    yield _row(contribution.kind, f"by {contribution.author_actor_ref}")
    if contribution.kind == "evidence":
        yield from _more(len(lines), EVIDENCE_LINES, "lines before these")
        yield from (_quote(line) for line in lines[-EVIDENCE_LINES:])
    else:
        yield from (_quote(line) for line in lines[:SYNTHESIS_LINES])
        yield from _more(len(lines), SYNTHESIS_LINES, "lines")


def _more(there: int, shown: int, what: str) -> Iterator[str]:
    if there > shown:
        yield _quote(f"… {there - shown} more {what}")


def _named(seen: Observation, ref: str) -> str:
    """An object of the space as a newcomer would call it; others keep their identifier."""
    kinds = {each.contribution_id: each.kind for each in seen.contributions}
    return kinds.get(ref, ref)


def _row(name: str, text: str) -> str:
    return _cut(f"  {name:<{_NAME}}{visible(text)}")


def _quote(line: str) -> str:
    return _cut(f"  {'':<{_NAME}}| {visible(line)}".rstrip())


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"
