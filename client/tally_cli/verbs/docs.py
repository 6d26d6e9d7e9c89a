"""The verb `docs`: the pages that were installed with the program, or those of the checkout it runs from."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from tally_cli.calling import Call, verb
from tally_cli.exits import Exit
from tally_cli.trouble import Trouble


@click.command()
@click.argument("page", required=False)
@verb
def docs(call: Call, page: str | None) -> None:
    """List the pages, or print the PAGE of that name, such as `cli` or `reference/limits`. Asks no daemon."""
    known = dict(_pages(_root()))
    if page is None:
        call.tell_all(
            ({"page": name, "path": path, "title": _title(path)} for name, path in known.items()),
            ("page", "path", "title"),
        )
        return
    path = known.get(page.removesuffix(".md"))
    if path is None:
        raise Trouble(Exit.USAGE, "usage", f"There is no page {page!r}. There are: {', '.join(known)}.")
    with open(path, encoding="utf-8") as file:
        content = file.read()
    if call.printer.as_json:
        call.printer.object({"page": page.removesuffix(".md"), "path": path, "text": content})
    else:
        call.printer.own(content)


def _root() -> str:
    """Where the pages are: beside this package, or in the checkout that it stands in."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    installed = os.path.join(package, "pages")
    if os.path.isdir(installed):
        return installed
    return os.path.join(os.path.dirname(os.path.dirname(package)), "docs")


def _pages(root: str) -> Iterator[tuple[str, str]]:
    """Each page's name and path. The settings, a page that is a file of settings too, keep their ending."""
    for where in (root, os.path.join(root, "reference")):
        for name in sorted(os.listdir(where)):
            if name.endswith((".md", ".toml")):
                path = os.path.join(where, name)
                yield os.path.relpath(path, root).removesuffix(".md"), path


def _title(path: str) -> str:
    """The first line that says something, without its mark."""
    with open(path, encoding="utf-8") as file:
        return next((line.strip("# \n") for line in file if line.strip("# \n")), "")
