"""The verbs `artifact …`: files that contributions can carry, sealed by the daemon."""

from __future__ import annotations

import sys
from typing import Final

import click

from tally_cli.calling import Call, builtin, key_option, text, verb
from tally_cli.choosing import choose_project, pages, project_option
from tally_cli.exits import Exit
from tally_cli.files import spooled, written_aside
from tally_cli.shown import anywhere
from tally_cli.trouble import Trouble
from tallystick import calls

_ARTIFACT: Final = ("artifact_id", "state", "created_at", "media_type", "size")
_OCTETS: Final = "application/octet-stream"
SHOWN: Final = {
    "art": anywhere(calls.artifacts.artifact_show),
    "upl": anywhere(calls.artifacts.artifact_upload_show),
}
"""How an object is shown, by the beginning of its id."""


@click.group()
def artifact() -> None:
    """Put, get and list artifacts: files that contributions can carry (`say --artifact`)."""


@artifact.command("put")
@click.argument("file", metavar="FILE|-")
@click.option("--media-type", metavar="TYPE", help="Of the bytes; without it guessed from the file's name.")
@click.option("--classification", metavar="CLASS", help="How it is classified: who may read it.")
@project_option
@key_option
@verb
def artifact_put(
    call: Call,
    file: str,
    media_type: str | None,
    classification: str | None,
    project: str | None,
    key: str | None,
) -> None:
    """Upload FILE, or stdin where it is `-`, have it sealed, and print the artifact's id.

    With a --key, an upload that was cut off is gone on with: the same call sends only what is not there yet.
    """
    from tallystick.artifacts import UploadOptions

    options: UploadOptions = {}
    if key is not None:
        options["key"] = key
    if classification is not None:
        options["classification_ref"] = classification
    if project is not None:
        options["project"] = choose_project(call, project)
    with spooled(file) as source, call.waiting.told(f"the upload of {file}"):
        made = call.client.upload(source, media_type or _guessed(file), **options)
    call.made(record := builtin(made), "artifact_id", text(record, "media_type"), text(record, "size"))


def _guessed(file: str) -> str:
    from mimetypes import guess_type

    media_type, encoding = guess_type(file)
    return media_type if media_type is not None and encoding is None else _OCTETS


@artifact.command("get")
@click.argument("artifact", metavar="ARTIFACT")
@click.argument("file", metavar="[FILE|-]", default="-")
@verb
def artifact_get(call: Call, artifact: str, file: str) -> None:
    """Download an ARTIFACT into FILE, which must not be there yet, or to stdout.

    FILE appears when all bytes are in it and on the disk; until then they stand in a file beside it.
    """
    if file == "-":
        if sys.stdout.isatty():
            raise Trouble(
                Exit.USAGE, "usage", "A terminal would obey the bytes. Name a FILE, or send them into a pipe."
            )
        call.client.download(artifact, sys.stdout.buffer)
        return
    with written_aside(file) as target, call.waiting.told(f"the download of {artifact}"):
        call.client.download(artifact, target)


@artifact.command("list")
@click.option("--state", metavar="STATE", help="Only those in that state, such as available.")
@verb
def artifact_list(call: Call, state: str | None) -> None:
    """List artifacts, in the order in which their uploads were begun."""
    found = pages(
        call,
        lambda after, snapshot: calls.artifacts.artifact_list(state=state, after=after, snapshot=snapshot),
    )
    call.tell_all(found, _ARTIFACT)
