"""The verbs of ``tally``, by name, and the command that holds them.

A verb's module is loaded when the verb is called, and not for the list of verbs in ``tally --help``: so its
summary stands here.
"""

from importlib import import_module
from typing import Final, NamedTuple

import click

from tallystick import __version__

COMPLETION_VARIABLE: Final = "_TALLY_COMPLETE"
"""By this variable a shell asks for completions (click's convention)."""


class Verb(NamedTuple):
    """Where a verb is, and what it does in a few words."""

    module: str
    summary: str


VERBS: Final = {
    "init": Verb("daemon", "Make the project `personal`; again and again is the same."),
    "up": Verb("daemon", "Start the daemon, unless one runs."),
    "down": Verb("daemon", "Ask the daemon to finish what it does and stop."),
    "status": Verb("service", "Show the daemon as it stands."),
    "anew": Verb("anew", "Let a new store begin where one was given up."),
    "paths": Verb("daemon", "Print where everything is."),
    "limits": Verb("service", "Print every limit that a client can meet."),
    "diagnose": Verb("service", "Let the daemon check itself and its record."),
    "project": Verb("projects", "Make, list, show and rename projects."),
    "space": Verb("projects", "Make, list, show, rename, close and open spaces."),
    "participants": Verb(
        "participants", "List, propose, admit, change and remove who takes part in a space."
    ),
    "grant": Verb("grants", "Give, list and take back grants in a space."),
    "agent": Verb("agents", "Add, list, show and revoke agents."),
    "say": Verb("contributions", "Append a contribution to a space."),
    "read": Verb("contributions", "Read what was said in a space, and what became of it."),
    "relate": Verb("contributions", "Relate two contributions."),
    "artifact": Verb("artifacts", "Put, get and list files that contributions carry."),
    "withdraw": Verb("dispositions", "Say that something no longer stands."),
    "redact": Verb("erasure", "Erase what a contribution says, for good."),
    "erase": Verb("erasure", "Erase the content of another object or event, for good."),
    "secrets": Verb("secrets", "Look for secrets in what is on record."),
    "show": Verb("showing", "Show any object by its id."),
    "events": Verb("events", "Print what happened in a project, or follow it."),
    "ask": Verb("asking", "Ask a question, and let an assistant answer it."),
    "invocation": Verb("invocations", "List, show, run, retry and cancel what assistants were asked to do."),
    "serve": Verb("serving", "Run an assistant on invocations as they come."),
    "call": Verb("commands", "Call any operation of the protocol by its name."),
    "resume": Verb("commands", "Send again what was never answered."),
    "docs": Verb("docs", "List the pages that say more, or print one."),
    "completion": Verb("shell", "Print a completion script for a shell."),
}
"""Every verb of ``tally``, in the order in which a newcomer meets them."""


class Verbs(click.Group):
    """A group whose commands are loaded one by one."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All verbs, in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of a verb, with its module loaded."""
        return load(cmd_name) if cmd_name in VERBS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list of verbs in ``tally --help``, from the table alone."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items()])


def load(name: str) -> click.Command:
    """The command of the verb `name`."""
    command: click.Command = getattr(import_module(f"tally_cli.verbs.{VERBS[name].module}"), name)
    return command


def load_all() -> list[click.Command]:
    """Every verb's command: for tests and for documentation."""
    return [load(name) for name in VERBS]


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tally", message="%(prog)s %(version)s")
def tally() -> None:
    """A durable record that coding agents and people share.

    The daemon is started where none runs. --json makes every verb print JSON, one object a line; text of
    others is shown with control and invisible characters spelled out. Exit codes: 0 done, 1 the daemon
    refused, 2 wrong usage, 3 no daemon, 4 a sandbox in between, 5 outcome unknown; `tally docs cli` has them
    all, and `tally docs` lists the other pages.
    """
