"""The verb `ask`: a question, its evidence, and an assistant that answers from them alone."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from tally_cli.calling import Call, builtin, key_option, verb
from tally_cli.choosing import choose_project, choose_space, project_option, space_option, space_ref
from tally_cli.exits import Exit
from tally_cli.trouble import Trouble
from tallystick.assistant import Assistant, InvocationContext
from tallystick.assistant import ask as post
from tallystick.errors import TallyError
from tallystick.protocol.families.contributions import Contribution
from tallystick.protocol.families.invocations import Invocation
from tallystick.runner import run_one


@click.command()
@click.argument("question")
@click.option("--evidence", multiple=True, metavar="ID", help="A contribution to answer from; repeatable.")
@click.option(
    "--assistant", metavar="MODULE:CLASS",
    help="Run this assistant here and now; else the invocation waits for a worker.",
)  # fmt: skip
@click.option("--purpose", default="answer the question", show_default=True, help="A label, never erased.")
@click.option("--deadline", metavar="TIME", help="When it must be answered, RFC 3339; else within a day.")
@project_option
@space_option
@key_option
@verb
def ask(
    call: Call,
    question: str,
    evidence: tuple[str, ...],
    assistant: str | None,
    purpose: str,
    deadline: str | None,
    project: str | None,
    space: str | None,
    key: str | None,
) -> None:
    """Post QUESTION, and let an assistant answer it from exactly the evidence that is named.

    MODULE:CLASS is a subclass of tallystick.Assistant in an installed module, or in one of the working
    directory. The answer is printed; into a pipe its id, or the invocation's where nobody answered yet.
    """
    runs = None if assistant is None else Remembering(load_assistant(assistant))
    project_id = choose_project(call, project)
    where = space_ref(choose_space(call, project_id, space))
    asked = post(
        call.client, project_id, where, question, evidence, purpose=purpose, deadline=deadline, key=key
    )
    invocation = asked.invocation
    if runs is not None:
        invocation = _run(call, runs, invocation.invocation_id)
    _tell(call, invocation, None if runs is None else runs.answer)


def _tell(call: Call, invocation: Invocation, answer: Contribution | None) -> None:
    printer = call.printer
    if printer.as_json:
        told = {"invocation": builtin(invocation)}
        printer.object(told if answer is None else {**told, "answer": builtin(answer)})
    elif answer is None:
        call.made({"id": invocation.invocation_id}, "id", invocation.state)
    else:
        call.made({"id": answer.contribution_id}, "id", answer.kind, invocation.invocation_id)
        if printer.people:
            for part in answer.body_parts:
                if isinstance(part.text, str):
                    printer.text(part.text)


def _run(call: Call, assistant: Assistant, invocation_id: str) -> Invocation:
    places = call.paths
    try:
        return run_one(
            assistant,
            invocation_id,
            runtime_dir=places.runtime_dir,
            data_dir=places.data_dir,
            actor=call.actor,
            credential=call.credential,
        )
    except TallyError:
        raise
    except Exception as error:
        raise Trouble(
            Exit.ASSISTANT_FAILED,
            "assistant-failed",
            f"The assistant raised {type(error).__name__}: {error}\n"
            f"`tally show {invocation_id}` shows its invocation.",
            invocation_id=invocation_id,
        ) from error


class Remembering(Assistant):
    """Runs another assistant, and keeps what it wrote last."""

    def __init__(self, inner: Assistant) -> None:
        self._inner = inner
        self.answer: Contribution | None = None

    def run(self, ctx: InvocationContext) -> None:
        """See ``Assistant``."""
        self._inner.run(ctx)
        self.answer = ctx.last_contribution


def load_assistant(name: str) -> Assistant:
    """An assistant of the class that ``module:Class`` names. Raises `Trouble` (exit 7).

    Modules are looked for where Python finds them, and last in the working directory, so that a file there
    never stands in the place of an installed one.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise click.UsageError(f"--assistant {name!r} is not of the form MODULE:CLASS")
    sys.path.append(os.getcwd())
    try:
        found = getattr(import_module(module), attribute)()
    except Exception as error:
        raise _not_loaded(name, f"{type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(os.getcwd())
    if not isinstance(found, Assistant):
        raise _not_loaded(name, f"{attribute} is no subclass of tallystick.Assistant")
    return found


def _not_loaded(name: str, why: str) -> Trouble:
    words = f"The assistant {name} cannot be loaded: {why}"
    return Trouble(Exit.ASSISTANT_FAILED, "assistant-not-loaded", words)
