"""The reference of verbs in ``docs/cli.md``, made from the commands themselves.

``python client/tests/cli_reference.py`` writes it; a test compares.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from tally_cli.root import VERBS, load

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
BEGIN = "<!-- begin verbs: written by client/tests/cli_reference.py -->\n"
END = "<!-- end verbs -->\n"
COMMON = ("--json", "--no-start", "--data-dir", "--runtime-dir")


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command with its whole name."""
    for name in VERBS:
        command = load(name)
        yield f"tally {name}", command
        if isinstance(command, click.Group):
            yield from ((f"tally {name} {inner}", command.commands[inner]) for inner in command.commands)


def reference() -> str:
    """All verbs in Markdown."""
    common = "Every verb takes `--json`, `--no-start`, `--data-dir DIR`, `--runtime-dir DIR` and `--help`.\n"
    return "\n".join([common, *(_entry(name, command) for name, command in commands())])


def _entry(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=name)
    usage = " ".join(command.collect_usage_pieces(context)).replace("[OPTIONS]", "").strip()
    text = inspect.cleandoc(command.help or "")
    lines = [f"### {name}", "", f"`{f'{name} {usage}'.strip()}`", "", text, ""]
    lines += [f"- {_option(param)}" for param in command.params if _is_own(param)]
    return "\n".join(lines).rstrip() + "\n"


def _is_own(param: click.Parameter) -> bool:
    return isinstance(param, click.Option) and not set(param.opts) & {*COMMON, "--help"}


def _option(param: click.Parameter) -> str:
    assert isinstance(param, click.Option)
    names = ", ".join(f"`{name}`" for name in param.opts)
    value = "" if param.is_flag else f" `{param.make_metavar(click.Context(click.Command('x')))}`"
    default = f" Default: `{param.default}`." if param.show_default else ""
    return f"{names}{value}: {param.help}{default}"


def written() -> tuple[str, str, str]:
    """The document before, inside and after the reference."""
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    inside, _, after = rest.partition(END)
    return before, inside, after


if __name__ == "__main__":
    head, _, tail = written()
    DOCUMENT.write_text(f"{head}{BEGIN}\n{reference()}\n{END}{tail}", encoding="utf-8")
