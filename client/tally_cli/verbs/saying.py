"""The verb `say`: what a person, or a program at a shell, has to say in a space."""

from __future__ import annotations

import sys
from typing import Final, NoReturn, cast

import click

from tally_cli.calling import Call, key_option, keyed, text, verb
from tally_cli.choosing import choose_project, choose_space, project_option, space_option, space_ref
from tally_cli.exits import Exit
from tally_cli.trouble import Trouble
from tallystick import calls
from tallystick.protocol.limits import INLINE_TEXT_SCALARS_MAX, REQUEST_BYTES_MAX

KINDS: Final = (
    "utterance", "goal", "question", "claim", "observation", "evidence", "proposal", "critique", "synthesis",
    "result", "decision_reference",
)  # fmt: skip
"""Kinds of contributions that a person or a worker may append (KCP section 9)."""
POSTURES: Final = ("asserted", "tentative", "observed", "reported", "contested")


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

    It lands after whatever was said before it arrives. Into a pipe the new contribution's id is printed.
    """
    texts = [] if artifacts and words is None and file is None else [_body(words, file)]
    parts = [*({"media_type": media_type, "text": each} for each in texts),
             *({"artifact_ref": each} for each in artifacts)]  # fmt: skip
    where = space_ref(choose_space(call, choose_project(call, project), space))
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
