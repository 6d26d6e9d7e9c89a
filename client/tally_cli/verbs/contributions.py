"""The verbs `say`, `read` and `relate`: what is said in a space, and how it bears on what was said before."""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, cast

import click

from tally_cli.bodies import part_text
from tally_cli.calling import Call, Record, key_option, keyed, text, verb
from tally_cli.choosing import choose_place, found_in, pages, project_option, space_option, whole_pages
from tally_cli.exits import Exit
from tally_cli.files import spooled
from tally_cli.output import complain, cut, first_line
from tally_cli.shown import in_project
from tally_cli.trouble import Trouble
from tallystick import calls
from tallystick.protocol.limits import INLINE_TEXT_SCALARS_MAX, REQUEST_BYTES_MAX

if TYPE_CHECKING:
    from tallystick.protocol.families.contributions import ObjectRef

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
_HEADINGS: Final = ("#", "contribution", "kind", "author", "became", "what")
_WHAT_COLUMNS: Final = 60
_READ_BYTES: Final = 1 << 20
_ENVELOPE_BYTES: Final = 32_768
"""Left for all of a request but the text: a few hundred bytes, and 128 for each of 256 ids."""


def _relation(call: Call, ref: str, project: str | None) -> Record:
    """A relation with its dispositions beside its own members."""
    _, found = found_in(call, project, lambda place: calls.contributions.relation_show(place, ref))
    return {**cast(Record, found["relation"]), "dispositions": found["dispositions"]}


SHOWN: Final = {"contrib": in_project(calls.contributions.contribution_show), "rel": _relation}
"""How an object is shown, by the beginning of its id."""


# --- say --------------------------------------------------------------------------------------------------
@click.command()
@click.argument("words", metavar="[TEXT|-]", required=False)
@click.option("--file", "file", metavar="FILE", help="Take the text from a file, which must be UTF-8.")
@click.option("--kind", type=click.Choice(KINDS), default="utterance", show_default=True, help="What it is.")
@click.option("--posture", type=click.Choice(POSTURES), help="How sure it is meant.")
@click.option("--media-type", default="text/plain", show_default=True, metavar="TYPE", help="Of the text.")
@click.option("--subject", "subjects", multiple=True, metavar="ID", help="What it is about; repeatable.")
@click.option("--artifact", "artifacts", multiple=True, metavar="ID", help="A file with it; repeatable.")
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
    artifacts: tuple[str, ...],
    subjects: tuple[str, ...],
    sources: tuple[str, ...],
    project: str | None,
    space: str | None,
    key: str | None,
) -> None:
    """Append TEXT to a space; `-` takes it from stdin. With --artifact it carries files, or is them alone.

    It lands after whatever was said before it arrives. Into a pipe the new contribution's id is printed. Of
    stdin or a file, what is too long for a contribution's text is carried as an artifact.
    """
    if (words is None) == (file is None) and not (artifacts and words is None):
        raise click.UsageError("Give either a text (or - for stdin) or --file.")
    name = "-" if words == "-" else file
    with nullcontext() if name is None else spooled(name) as source:
        parts: list[Record] = []
        if source is not None and not _fits(source, "stdin" if name == "-" else str(name)):
            where = choose_place(call, project, space)
            parts.append(_carried(call, where, source, media_type, key))
        elif source is not None or words is not None:
            body = _said(cast(str, words) if source is None else source.read().decode())
            parts.append({"media_type": media_type, "text": body})
    parts += [{"artifact_ref": each} for each in artifacts]
    where = choose_place(call, project, space)
    request = calls.contributions.append(
        where,
        kind,
        parts=parts,
        epistemic_posture=posture,
        subject_refs=subjects or None,
        source_refs=sources or None,
        **keyed(key),
    )
    said = call.ask(request)
    call.made(said, "contribution_id", text(said, "kind"), f"#{text(said, 'space_sequence')}")


def _said(body: str) -> str:
    """The text, which says something and fits. Raises `Trouble` (exit 2)."""
    if not body.strip():
        raise Trouble(Exit.USAGE, "empty", "The text is empty: there is nothing to say. Nothing was sent.")
    if len(body) > INLINE_TEXT_SCALARS_MAX:
        raise Trouble(
            Exit.USAGE,
            "too-long",
            f"The text is longer than {INLINE_TEXT_SCALARS_MAX:,} characters, which is what a contribution's"
            " text may have. Give it on stdin or as a --file: it is carried as an artifact then.",
        )
    return body


def _fits(source: BinaryIO, name: str) -> bool:
    """Whether a file's text fits a contribution, by its characters and as a request's bytes.

    The file is at its beginning again. Raises `Trouble` (exit 2) where it is no UTF-8.
    """
    decoder, scalars, read = getincrementaldecoder("utf-8")(), 0, 0
    while True:
        piece = source.read(_READ_BYTES)
        begun = len(decoder.getstate()[0])
        try:
            scalars += len(decoder.decode(piece, final=not piece))
        except UnicodeDecodeError as error:
            place = read - begun + error.start
            words = f"{name}: byte {place} is no UTF-8. Convert the text, or put the file as an artifact."
            raise Trouble(Exit.USAGE, "not-utf-8", words) from error
        read += len(piece)
        if not piece:
            break
    source.seek(0)
    if scalars > INLINE_TEXT_SCALARS_MAX:
        return False
    body = source.read().decode()
    source.seek(0)
    return len(json.dumps(body, ensure_ascii=False).encode()) <= REQUEST_BYTES_MAX - _ENVELOPE_BYTES


def _carried(call: Call, where: calls.SpaceRef, source: BinaryIO, media_type: str, key: str | None) -> Record:
    """A long text as an artifact that the contribution carries: the part that names it."""
    from tallystick.artifacts import UploadOptions

    options: UploadOptions = {"project": where.project_id}
    if key is not None:
        options["key"] = f"{key}.text"
    with call.waiting.told("the upload of the text"):
        made = call.client.upload(source, media_type, **options)
    if not call.printer.as_json:
        complain(
            f"The text is longer than {INLINE_TEXT_SCALARS_MAX:,} characters: it is carried as the artifact"
            f" {made.artifact_id}."
        )
    return {"artifact_ref": made.artifact_id, "title": f"text, {made.size:,} bytes"}


# --- read -------------------------------------------------------------------------------------------------
@click.command()
@click.option("--kind", type=click.Choice(KINDS), help="Only contributions of that kind.")
@click.option("--short", is_flag=True, help="A table on a terminal too: one line a contribution.")
@project_option
@space_option
@verb
def read(call: Call, kind: str | None, short: bool, project: str | None, space: str | None) -> None:
    """Read what was said in a space, in its order, and what became of each.

    On a terminal whole: who said it and when, what it bears on, and every word, wrapped at its width. Into a
    pipe, and with --short, one line a contribution.
    """
    where = choose_place(call, project, space)
    withheld = 0
    items: list[Record] = []
    for page in whole_pages(
        call,
        lambda after, snapshot: calls.contributions.disposed_contribution_list(
            where, kind=kind, after=after, snapshot=snapshot
        ),
    ):
        items += cast(list[Record], page["items"])
        withheld += sum(cast(int, each["count"]) for each in cast(list[Record], page["withheld"]))
    if call.printer.as_json:
        for item in items:
            call.printer.object(item)
    elif short or not call.printer.people:
        call.printer.table(_HEADINGS, map(_line, items))
    else:
        from tally_cli.reading import tell

        tell(call.printer, items, _relations(call, where))
    if withheld:
        complain(f"{withheld} more are withheld from you.")


def _relations(call: Call, where: calls.SpaceRef) -> Iterator[Record]:
    """All relations of a space, each with its retraction beside it."""
    return pages(
        call,
        lambda after, snapshot: calls.contributions.relation_list(where, after=after, snapshot=snapshot),
    )


def _line(item: Record) -> list[str]:
    said = cast(Record, item["contribution"])
    became = " ".join(text(each, "kind") for each in cast(list[Record], item["dispositions"]))
    parts = (part_text(part) for part in cast(list[Record], said["body_parts"]))
    what = cut(first_line(next(filter(None, parts), "")), _WHAT_COLUMNS)
    members = [text(said, name) for name in ("space_sequence", "contribution_id", "kind", "author_actor_ref")]
    return [*members, became, what]


# --- relate -----------------------------------------------------------------------------------------------
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
    project_id, one = find_said(call, project, from_ref)
    _, other = find_said(call, project_id, to_ref)
    where = calls.SpaceRef(project_id, text(one, "space_id"), text(one, "origin_branch_id"))
    relation = call.ask(
        calls.contributions.relation_assert(
            where, kind, _pin(one), _pin(other), rationale_ref=rationale, **keyed(key)
        )
    )
    call.made(relation, "relation_id", text(relation, "kind"))


def find_said(call: Call, project: str | None, ref: str) -> tuple[str, Record]:
    """A contribution or a relation by its id, and the project that it is in."""
    if ref.startswith("rel-"):
        place, found = found_in(call, project, lambda each: calls.contributions.relation_show(each, ref))
        return place, cast(Record, found["relation"])
    return found_in(call, project, lambda each: calls.contributions.contribution_show(each, ref))


def _pin(record: Record) -> ObjectRef:
    ref = text(record, "relation_id") or text(record, "contribution_id")
    revision = cast(int, record["revision"])
    digest = text(record, "content_digest") or text(record, "digest")
    return cast("ObjectRef", Pin(ref, revision, digest))
