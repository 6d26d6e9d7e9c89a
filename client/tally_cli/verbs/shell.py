"""The verb `completion`: what makes a shell complete the words of ``tally``."""

import click
from click.shell_completion import get_completion_class

from tally_cli.exits import Exit
from tally_cli.root import COMPLETION_VARIABLE
from tally_cli.trouble import Trouble


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for SHELL.

    For bash: `eval "$(tally completion bash)"` in ~/.bashrc. For zsh the same in ~/.zshrc. For fish:
    `tally completion fish > ~/.config/fish/completions/tally.fish`.
    """
    kind = get_completion_class(shell)
    root = click.get_current_context().find_root().command
    if kind is None:
        raise Trouble(Exit.FAULT, "fault", f"click has no completion for {shell}")
    click.echo(kind(root, {}, "tally", COMPLETION_VARIABLE).source())
