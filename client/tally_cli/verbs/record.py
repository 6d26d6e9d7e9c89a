"""Verbs about the record: what is said, how it is related, and what stands there."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, cast

import click

from tally_cli.calling import Call, Record, key_option, keyed, text, verb
from tally_cli.choosing import choose_project, choose_space, project_option, space_option, space_ref
from tally_cli.exits import Exit
from tally_cli.output import to_json
from tally_cli.trouble import Trouble
from tallystick import calls
from tallystick.protocol.limits import INLINE_TEXT_SCALARS_MAX, REQUEST_BYTES_MAX

if TYPE_CHECKING:
    from tallystick.core import Call as Request
    from tallystick.protocol.records import ObjectRef

KINDS: Final = (
    "utterance", "goal", "question", "claim", "observation", "evidence", "proposal", "critique", "synthesis",
    "result", "decision_reference",
)  # fmt: skip
"""Kinds of contributions that a person or a worker may append (KCP section 9)."""
POSTURES: Final = ("asserted", "tentative", "observed", "reported", "contested")
RELATIONS: Final = (
    "addresses", "supports", "challenges", "refines", "qualifies", "supersedes", "depends_on", "derived_from",
    "produced_by", "quotes", "evaluates",
)  # fmt: skip


# --- saying -------------------------------------------------------------------------------------------------
@click.command()
@click.argument("words", metavar="[TEXT|-]", required=False)
@click.option("--file", "file", metavar="FILE", help="Take the text from a file, which must be UTF-8.")
@click.option("--kind", type=click.Choice(KINDS), default="utterance", show_default=True, help="What it is.")
@click.option("--posture", type=click.Choice(POSTURES), help="How sure it is meant.")
@click.option("--media-type", default="text/plain", show_default=True, metavar="TYPE", help="Of the text.")
@click.option("--subject", "subjects", multiple=True, metavar="ID", help="What it is about; repeatable.")
@click.option("--source", "sources", multiple=True, metavar="ID", help="What it rests on; repeatable.")
@project_option
@space_option
@key_option
@verb
def say(
    call: Call,
    words: str | None,
    file: str | None,
    kind: str,
    posture: str | None,
    media_type: str,
    subjects: tuple[str, ...],
    sources: tuple[str, ...],
    project: str | None,
    space: str | None,
    key: str | None,
) -> None:
    """Append TEXT to a space; `-` takes it from stdin.

    It lands after whatever was said before it arrives. Into a pipe the new contribution's id is printed.
    """
    body = _body(words, file)
    where = space_ref(choose_space(call, choose_project(call, project), space))
    request = calls.contributions.append(
        where,
        kind,
        body,
        media_type=media_type,
        epistemic_posture=posture,
        subject_refs=subjects or None,
        source_refs=sources or None,
        **keyed(key),
    )
    said = call.ask(request)
    call.made(said, "contribution_id", text(said, "kind"), f"#{text(said, 'space_sequence')}")


def _body(words: str | None, file: str | None) -> str:
    """The text that is to be said. Raises `Trouble` (exit 2, or 8 for a file that cannot be read)."""
    if (words is None) == (file is None):
        raise click.UsageError("Give either a text (or - for stdin) or --file.")
    if file is not None:
        with open(file, "rb") as opened:
            body = _decoded(opened.read(REQUEST_BYTES_MAX + 1), file)
    elif words == "-":
        body = _decoded(sys.stdin.buffer.read(REQUEST_BYTES_MAX + 1), "stdin")
    else:
        body = cast(str, words)
    if len(body) > INLINE_TEXT_SCALARS_MAX:
        raise Trouble(
            Exit.USAGE,
            "too-long",
            f"The text is longer than {INLINE_TEXT_SCALARS_MAX:,} characters, which is what a contribution's"
            " text may have. Say it in several, or only the part that matters.",
        )
    return body


def _decoded(data: bytes, name: str) -> str:
    try:
        return data[:REQUEST_BYTES_MAX].decode() if len(data) <= REQUEST_BYTES_MAX else _too_long(name)
    except UnicodeDecodeError as error:
        raise Trouble(
            Exit.USAGE, "not-utf-8", f"{name}: byte {error.start} is no UTF-8. Convert the text, or its part."
        ) from error


def _too_long(name: str) -> NoReturn:
    raise Trouble(
        Exit.USAGE,
        "too-long",
        f"{name} has more than {REQUEST_BYTES_MAX:,} bytes, which is what a request may have in all."
        " Say it in several, or only the part that matters.",
    )


# --- relating -----------------------------------------------------------------------------------------------
class Pin(NamedTuple):
    """An object as a relation's end names it."""

    object_ref: str
    revision: int
    digest: str


@click.command()
@click.argument("from_ref", metavar="FROM")
@click.argument("kind", metavar="KIND", type=click.Choice(RELATIONS))
@click.argument("to_ref", metavar="TO")
@click.option("--rationale", metavar="ID", help="The contribution that says why.")
@project_option
@key_option
@verb
def relate(
    call: Call,
    from_ref: str,
    kind: str,
    to_ref: str,
    rationale: str | None,
    project: str | None,
    key: str | None,
) -> None:
    """Relate the contribution (or relation) FROM to TO, as in `relate contrib-1 addresses contrib-2`.

    KIND is addresses, supports, challenges, refines, qualifies, supersedes, depends_on, derived_from,
    produced_by, quotes or evaluates. Both ends are pinned as they are now.
    """
    project_id = choose_project(call, project)
    one, other = _find(call, project_id, from_ref), _find(call, project_id, to_ref)
    where = calls.SpaceRef(project_id, text(one, "space_id"), text(one, "origin_branch_id"))
    relation = call.ask(
        calls.contributions.relation_assert(
            where, kind, _pin(one), _pin(other), rationale_ref=rationale, **keyed(key)
        )
    )
    call.made(relation, "relation_id", text(relation, "kind"))


def _find(call: Call, project_id: str, ref: str) -> Record:
    """A contribution or a relation of a project, by its id."""
    if ref.startswith("rel-"):
        return _relation(call, project_id, ref)
    return call.ask(calls.contributions.contribution_show(project_id, ref))


def _pin(record: Record) -> ObjectRef:
    ref = text(record, "relation_id") or text(record, "contribution_id")
    revision = cast(int, record["revision"])
    digest = text(record, "content_digest") or text(record, "digest")
    return cast("ObjectRef", Pin(ref, revision, digest))


def _relation(call: Call, project_id: str, ref: str) -> Record:
    """A relation, and what became of it."""
    shown = call.ask(calls.contributions.relation_show(project_id, ref))
    return {**cast(Record, shown["relation"]), "dispositions": shown["dispositions"]}


def events(
    call: Call, project_id: str, *, after: str | None = None, type_prefixes: tuple[str, ...] = ()
) -> Iterator[Record]:
    """All events of a project that there are now, from the first, or after a cursor."""
    while True:
        page = call.ask(
            calls.events.events_read(project_id, after_cursor=after, type_prefixes=type_prefixes)
        )
        found = cast(list[Record], page["events"])
        yield from found
        if not found or page["next_cursor"] == after:
            return
        after = text(page, "next_cursor")


# --- showing ------------------------------------------------------------------------------------------------
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
    prefix = ref.partition("-")[0]
    if prefix == "evt":
        return call.ask(calls.events.event_payload(ref))
    if prefix == "proj":
        return call.ask(calls.projects.project_show(ref))
    if prefix not in _SHOWS and prefix != "rel":
        known = ", ".join(f"{each}-…" for each in [*_SHOWS, "rel", "proj", "evt"])
        raise Trouble(Exit.USAGE, "usage", f"{ref!r} is no id of an object that can be shown: {known}")
    project_id = choose_project(call, project)
    if prefix == "rel":
        return _relation(call, project_id, ref)
    return call.ask(_SHOWS[prefix](project_id, ref))


def _space(project_id: str, ref: str) -> Request[object]:
    return calls.spaces.space_show(project_id, ref)


def _contribution(project_id: str, ref: str) -> Request[object]:
    return calls.contributions.contribution_show(project_id, ref)


def _frontier(project_id: str, ref: str) -> Request[object]:
    return calls.context.frontier_show(project_id, ref)


def _assembly(project_id: str, ref: str) -> Request[object]:
    return calls.context.context_assembly_show(project_id, ref)


def _invocation(project_id: str, ref: str) -> Request[object]:
    return calls.invocations.invocation_show(project_id, ref)


_SHOWS: Final = {
    "contrib": _contribution,
    "space": _space,
    "front": _frontier,
    "casm": _assembly,
    "inv": _invocation,
}
"""The call that shows an object of a project, by the beginning of its id (KCP 1.9)."""


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
            call.printer.text(_part(cast(Record, part)))


def _part(part: Record) -> str:
    """One part of a body as text: five shapes, told apart by their members (KCP section 9)."""
    if "text" in part:
        return text(part, "text")
    if "value" in part:
        return to_json(part["value"])
    if "target_ref" in part:
        return f"@{text(part, 'display_text')} ({text(part, 'target_ref')})"
    if "artifact_ref" in part:
        return f"[{text(part, 'artifact_ref')}] {text(part, 'title')}"
    return f"[{text(part, 'object_ref')}]"


def _texts(record: Record) -> Iterator[str]:
    parts = record.get("body_parts")
    if not isinstance(parts, list):
        raise Trouble(Exit.USAGE, "usage", "--raw shows texts, and this object is no contribution.")
    for part in parts:
        if isinstance(part, Mapping) and "text" in part:
            yield text(part, "text")


# --- what was never answered --------------------------------------------------------------------------------
@click.command()
@verb
def resume(call: Call) -> None:
    """Send again what this user's calls sent and never saw answered: the same bytes, under the same keys.

    Each was applied once at most, and is now. Prints each operation with its key and how it ended.
    """
    for resumed in call.client.resume():
        ended = "applied" if resumed.error is None else resumed.error.kind
        told = {"operation": resumed.pending.operation, "key": resumed.pending.key, "ended": ended}
        if call.printer.as_json:
            call.printer.object(told)
        else:
            call.printer.row(*told.values())
