"""The verb `ask`: a question, its evidence, and an assistant that answers from them alone."""

from __future__ import annotations

import click

from tally_cli.calling import Call, builtin, key_option, verb
from tally_cli.choosing import choose_place, project_option, space_option
from tally_cli.exits import Exit
from tally_cli.local import HELD_SECONDS_MAX, Remembering, open_assistant, run_here
from tally_cli.outcomes import failure_of, result_of
from tally_cli.trouble import Trouble
from tallystick.assistant import Asked
from tallystick.assistant import ask as post
from tallystick.protocol.families.contributions import Contribution
from tallystick.protocol.families.invocations import Invocation

assistant_option = click.option(
    "--assistant", metavar="MODULE:CLASS",
    help="Run this assistant here and now; else the invocation waits for a worker.",
)  # fmt: skip
attempts_option = click.option(
    "--attempts", type=click.IntRange(1), metavar="N",
    help="How many attempts may fail before it is over; one, where it is not said.",
)  # fmt: skip


@click.command()
@click.argument("question")
@click.option("--evidence", multiple=True, metavar="ID", help="A contribution to answer from; repeatable.")
@assistant_option
@attempts_option
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
    attempts: int | None,
    purpose: str,
    deadline: str | None,
    project: str | None,
    space: str | None,
    key: str | None,
) -> None:
    """Post QUESTION, and let an assistant answer it from exactly the evidence that is named.

    MODULE:CLASS is a subclass of tallystick.Assistant in an installed module, or in one of the working
    directory. The answer is printed; into a pipe its id, or the invocation's where nobody answered yet. The
    same key again prints the answer that there is. Everything is checked before anything is written.
    """
    runs = None if assistant is None else Remembering(open_assistant(call, assistant))
    where = choose_place(call, project, space)
    with call.waiting.told("the question to be posted"):
        asked = post(
            call.client,
            where.project_id,
            where,
            question,
            evidence,
            purpose=purpose,
            deadline=deadline,
            max_attempts=attempts,
            key=key,
        )
    tell_outcome(call, asked, runs, wait_seconds=None if key is None else HELD_SECONDS_MAX)


def tell_outcome(call: Call, asked: Asked, runs: Remembering | None, *, wait_seconds: float | None) -> None:
    """Print the answer that there is; else run the assistant, and print its answer. Raises `Trouble`."""
    project_id = asked.invocation.project_id
    invocation = call.client.invocation_show(project_id, asked.invocation.invocation_id)
    if invocation.state in ("failed", "canceled"):
        raise ended(call, invocation, asked.cursor)
    answer = None
    if invocation.state == "succeeded":
        ref = result_of(call, project_id, invocation.invocation_id, asked.cursor)
        answer = None if ref is None else call.client.contribution_show(project_id, ref)
    elif runs is not None:
        invocation = run_here(call, runs, invocation.invocation_id, wait_seconds=wait_seconds)
        answer = runs.answer
    tell(call, invocation, answer)


def ended(call: Call, invocation: Invocation, after: str | None = None) -> Trouble:
    """Says that an invocation is over without an answer, and why."""
    invocation_id = invocation.invocation_id
    why = failure_of(call, invocation.project_id, invocation_id, after)
    return Trouble(
        Exit.PROBLEM,
        "invocation-ended",
        f"The invocation {invocation_id} is {invocation.state}{f' ({why})' if why else ''}."
        f" `tally invocation retry {invocation_id}` asks for another one.",
        invocation_id=invocation_id,
        state=invocation.state,
    )


def tell(call: Call, invocation: Invocation, answer: Contribution | None) -> None:
    """Print an invocation and its answer, where there is one."""
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
