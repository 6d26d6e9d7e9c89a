"""The verbs `task …`: what is to be done, who holds it, and how it ended."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final

import click

from tally_cli.calling import Call, Record, key_option, keyed, reason_option, text, verb
from tally_cli.choosing import (
    choose_place,
    choose_project,
    choose_space,
    pages,
    places_of,
    project_option,
    space_option,
)
from tally_cli.exits import Exit
from tally_cli.held import Held, session
from tally_cli.output import complain
from tally_cli.trouble import Trouble
from tallystick import calls
from tallystick.calls.tasks import ClaimRef
from tallystick.errors import NotFound, StaleLease
from tallystick.protocol import limits

_ID: Final = re.compile(r"task-[0-9a-f]{32}")
_LISTED: Final = ("task_id", "priority", "state", "title")

term_option = click.option(
    "--term",
    type=click.IntRange(limits.LEASE_TERM_SECONDS_MIN, limits.LEASE_TERM_SECONDS_MAX),
    default=limits.TASK_TERM_SECONDS_BARE,
    show_default=True,
    metavar="SECONDS",
    help="How long the claim lasts unless it is renewed.",
)


@click.group()
def task() -> None:
    """Say what is to be done, take it, and end it with a receipt."""


# --- what is to be done -------------------------------------------------------------------------------------
@task.command("create")
@click.argument("title")
@click.option("--brief", metavar="TEXT", help="What is to be done, at length; `-` takes it from stdin.")
@click.option("--priority", type=click.IntRange(0, limits.TASK_PRIORITY_LAST), help="0 is first. [2]")
@click.option("--needs", multiple=True, metavar="TASK", help="What must be done before; repeatable.")
@click.option("--label", "labels", multiple=True, metavar="LABEL", help="Repeatable.")
@click.option("--assignee", metavar="ACTOR", help="Whoever alone may claim it.")
@click.option("--repository", metavar="LABEL", help="In which repository it is done.")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Where in it; repeatable.")
@click.option("--reserve", is_flag=True, help="A claim takes the paths.")
@click.option("--attempts-max", type=int, metavar="N", help="Failures before it is failed. [3]")
@project_option
@space_option
@key_option
@verb
def create(
    call: Call,
    /,
    title: str,
    brief: str | None,
    needs: tuple[str, ...],
    labels: tuple[str, ...],
    paths: tuple[str, ...],
    reserve: bool,
    project: str | None,
    space: str | None,
    key: str | None,
    **labelled: Any,
) -> None:
    """Make a task of that TITLE. It is blocked while a task that it needs is not done."""
    where = choose_place(call, project, space)
    request = calls.tasks.task_create(
        where,
        title,
        brief=_long(brief),
        needs=[text(_find(call, where.project_id, each), "task_id") for each in needs] or None,
        labels=labels or None,
        paths=paths or None,
        reserve=reserve or None,
        **labelled,
        **keyed(key),
    )
    made = call.ask(request)
    call.made(made, "task_id", f"P{text(made, 'priority')}", text(made, "state"), text(made, "title"))


@task.command("update")
@click.argument("task")
@click.option("--priority", type=click.IntRange(0, limits.TASK_PRIORITY_LAST), help="0 is first.")
@click.option("--assignee", metavar="ACTOR", help="Whoever alone may claim it; empty for anybody.")
@click.option("--label", "labels", multiple=True, metavar="LABEL", help="All of its labels; repeatable.")
@click.option("--add-needs", multiple=True, metavar="TASK", help="Repeatable.")
@click.option("--drop-needs", multiple=True, metavar="TASK", help="Repeatable.")
@project_option
@key_option
@verb
def update(
    call: Call,
    /,
    task: str,
    labels: tuple[str, ...],
    add_needs: tuple[str, ...],
    drop_needs: tuple[str, ...],
    project: str | None,
    key: str | None,
    **labelled: Any,
) -> None:
    """Change a TASK: for its creator, and for stewards."""
    found = _find(call, project, task)
    place = text(found, "project_id")
    needs: dict[str, Any] = {
        name: [text(_find(call, place, each), "task_id") for each in given] or None
        for name, given in (("add_needs", add_needs), ("drop_needs", drop_needs))
    }
    request = calls.tasks.task_update(
        place, text(found, "task_id"), labels=labels or None, **needs, **labelled, **keyed(key)
    )
    _tell(call, call.ask(request))


@task.command("cancel")
@click.argument("task")
@reason_option
@project_option
@key_option
@verb
def cancel(call: Call, task: str, reason: str, project: str | None, key: str | None) -> None:
    """Say that a TASK is not to be done."""
    _change(call, "cancel", "canceled", task, reason, project, key)


@task.command("reopen")
@click.argument("task")
@reason_option
@project_option
@key_option
@verb
def reopen(call: Call, task: str, reason: str, project: str | None, key: str | None) -> None:
    """Put a failed or canceled TASK back, with all its attempts."""
    _change(call, "reopen", "ready", task, reason, project, key)


@task.command("free")
@click.argument("task")
@reason_option
@project_option
@key_option
@verb
def free(call: Call, task: str, reason: str, project: str | None, key: str | None) -> None:
    """Take a TASK from its holder at once: for stewards."""
    _change(call, "free", "", task, reason, project, key)


def _change(
    call: Call, name: str, state: str, task: str, reason: str, project: str | None, key: str | None
) -> None:
    found = _find(call, project, task)
    place, task_id = text(found, "project_id"), text(found, "task_id")
    build = getattr(calls.tasks, f"task_{name}")

    def done() -> Record | None:
        now = call.ask(calls.tasks.task_show(place, task_id))
        return now if now["state"] == state else None

    changed = call.change(build(place, task_id, reason, **keyed(key)), done)
    call.made(changed, "task_id", text(changed, "state"))


@task.command("note")
@click.argument("task")
@click.argument("words", metavar="TEXT")
@project_option
@key_option
@verb
def note(call: Call, task: str, words: str, project: str | None, key: str | None) -> None:
    """Say what is to be known about a TASK; `-` takes the TEXT from stdin."""
    found = _find(call, project, task)
    place, said = text(found, "project_id"), str(_long(words))
    noted = call.ask(calls.tasks.task_note(place, text(found, "task_id"), said, **keyed(key)))
    _tell(call, noted)


# --- reading ------------------------------------------------------------------------------------------------
@task.command("ready")
@click.option("--limit", type=click.IntRange(1, limits.TASKS_READY_MAX), default=20, show_default=True)
@project_option
@click.option("-s", "--space", metavar="SPACE", help="Id or title; without one, all of the project.")
@verb
def ready(call: Call, limit: int, project: str | None, space: str | None) -> None:
    """List what could be claimed now, first what `next` would take. Exit code 14 where there is none."""
    place = choose_project(call, project)
    found = call.ask(calls.tasks.task_ready(place, space_id=_space(call, place, space), limit=limit))
    items = found["items"]
    assert isinstance(items, list)
    call.tell_all(items, _LISTED)  # type: ignore[arg-type]
    if not items:
        raise _nothing()


@task.command("list")
@click.option("--state", type=click.Choice(["ready", "blocked", "claimed", "done", "failed", "canceled"]))
@click.option("--assignee", metavar="ACTOR", help="For whom they are.")
@click.option("--actor", metavar="ACTOR", help="Who holds them.")
@click.option("--label", metavar="LABEL")
@project_option
@click.option("-s", "--space", metavar="SPACE", help="Id or title; without one, all of the project.")
@verb
def list_(call: Call, /, project: str | None, space: str | None, **narrowed: Any) -> None:
    """List tasks, in the order in which they were created."""
    place = choose_project(call, project)
    call.tell_all(_tasks(call, place, space_id=_space(call, place, space), **narrowed), _LISTED)


@task.command("show")
@click.argument("task")
@project_option
@verb
def show(call: Call, task: str, project: str | None) -> None:
    """Show a TASK: who holds it, what it waits for, and its notes."""
    found = _find(call, project, task)
    if call.printer.as_json:
        call.printer.object(found)
        return
    for name in ("task_id", "title", "state", "priority", "assignee", "by", "at", "brief"):
        if text(found, name):
            call.printer.row(name.removesuffix("_id"), text(found, name))
    for line in (*_holder(found), *_blockers(found)):
        call.printer.row(*line)
    for ref in found["notes"]:  # type: ignore[union-attr]
        call.printer.row("note", str(ref))


def _holder(found: Record) -> Iterator[tuple[str, str]]:
    claim = found.get("claim")
    if isinstance(claim, dict):
        named = text(claim, "actor") + (f" ({text(claim, 'label')})" if claim.get("label") else "")
        left = text(claim, "remaining_seconds")
        how = f"{left} s left" if left else f"silent since {text(claim, 'silent_since')}"
        yield "held", f"by {named}, fence {text(claim, 'fence')}, {how}"


def _blockers(found: Record) -> Iterator[tuple[str, str]]:
    blocked_by = found["blocked_by"]
    assert isinstance(blocked_by, list)
    for each in blocked_by:
        assert isinstance(each, dict)
        yield "blocked", f"by {text(each, 'ref')}, which is {text(each, 'state')}"
    if found["hidden"]:
        yield "blocked", f"by {text(found, 'hidden')} that you do not see"


# --- taking it ----------------------------------------------------------------------------------------------
@task.command("claim")
@click.argument("task")
@term_option
@project_option
@key_option
@verb
def claim(call: Call, task: str, term: int, project: str | None, key: str | None) -> None:
    """Take that TASK. Renew the claim in time (`tally task renew`), or let `tally task run` do it."""
    found = _find(call, project, task)
    request = calls.tasks.task_claim(
        text(found, "project_id"), text(found, "task_id"), term_seconds=term, label=session(), **keyed(key)
    )
    _taken(call, call.ask(request))


@task.command("next")
@click.option(
    "--wait", type=click.IntRange(0, limits.WAIT_MS_MAX // 1000), default=0, metavar="SECONDS",
    help="How long to wait for one.",
)  # fmt: skip
@term_option
@project_option
@click.option("-s", "--space", metavar="SPACE", help="Id or title; without one, all of the project.")
@key_option
@verb
def next_(call: Call, wait: int, term: int, project: str | None, space: str | None, key: str | None) -> None:
    """Take the first task that can be taken. Exit code 14 where there is none."""
    _taken(call, _next(call, project, space, wait, term, key))


def _next(
    call: Call, project: str | None, space: str | None, wait: int, term: int, key: str | None
) -> Record:
    place = choose_project(call, project)
    request = calls.tasks.task_next(
        place,
        space_id=_space(call, place, space),
        wait_ms=wait * 1000,
        term_seconds=term,
        label=session(),
        **keyed(key),
    )
    taken = call.ask(request)
    if taken["task"] is None:
        raise _nothing()
    return taken


def _taken(call: Call, taken: Record) -> ClaimRef:
    """Keeps the claim, and tells what was taken; the claim's id is told to nobody."""
    found = taken["task"]
    assert isinstance(found, dict)
    ref = ClaimRef(text(found, "project_id"), text(found, "task_id"), text(taken, "claim_id"))
    Held(call).add(ref)
    shown = {name: value for name, value in taken.items() if name != "claim_id"} | {"task_id": ref.task_id}
    what = f"fence {text(taken, 'fence')}, {text(taken, 'term_seconds')} s, renew: tally task renew"
    call.made(shown, "task_id", f"P{text(found, 'priority')}", text(found, "title"), what)
    over = taken["taken_over"]
    if isinstance(over, dict) and not call.printer.as_json:
        complain(_taken_over(over))
    return ref


def _taken_over(over: Record) -> str:
    named = text(over, "actor") + (f" (session {text(over, 'label')})" if over.get("label") else "")
    notes = over["notes"]
    assert isinstance(notes, list)
    last = notes[-1] if notes else None
    said = f'; its last note: "{text(last, "text")}"' if isinstance(last, dict) and last.get("text") else ""
    return f"taken over from {named}, silent since {text(over, 'silent_since')}{said}"


def _nothing() -> Trouble:
    return Trouble(Exit.NOTHING_READY, "nothing-ready", "No task can be claimed now; --wait waits for one.")


@task.command("run", context_settings={"ignore_unknown_options": True})
@click.argument("task", required=False)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@project_option
@click.option("-s", "--space", metavar="SPACE", help="Id or title; without one, all of the project.")
@verb
def run(
    call: Call, task: str | None, command: tuple[str, ...], project: str | None, space: str | None
) -> None:
    """Take that TASK, or the next one, and run COMMAND with its id in TALLY_TASK, renewing the claim.

    Write `-- COMMAND`. Where it ends with 0 the task is done, else it failed and may be tried again (exit
    code 7).
    """
    from tallystick.holding import HeldTask

    if task is not None and not task.startswith("task-"):
        command, task = (task, *command), None
    if not command:
        raise click.UsageError("Give the command after --.")
    term = limits.TASK_TERM_SECONDS
    if task is None:
        taken = _next(call, project, space, 0, term, None)
    else:
        found = _find(call, project, task)
        taken = call.ask(
            calls.tasks.task_claim(
                text(found, "project_id"), text(found, "task_id"), term_seconds=term, label=session()
            )
        )
    ref = _taken(call, taken)
    sys.stdout.flush()
    with HeldTask(call.client, ref, term_seconds=term) as held:
        code = subprocess.run(
            command, check=False, env={**_environment(), "TALLY_TASK": ref.task_id}
        ).returncode
        said = f"{command[0]} ended with {code}"
        if code == 0:
            held.done(said)
        else:
            held.fail(said, retryable=True)
    Held(call).drop(ref)
    if code:
        raise Trouble(
            Exit.ASSISTANT_FAILED, "command-failed", f"{said}; task {ref.task_id} can be tried again."
        )


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)


# --- holding it ---------------------------------------------------------------------------------------------
@task.command("renew")
@click.argument("task", required=False)
@verb
def renew(call: Call, task: str | None) -> None:
    """Keep the claim of a TASK for another term; of the session's only one, where none is named."""
    ref = Held(call).one(task)
    with_loss = _Losing(call, ref)
    left = with_loss.ask(calls.tasks.task_renew(ref))
    call.made({**left, "task_id": ref.task_id}, "task_id", f"{text(left, 'remaining_seconds')} s left")


@task.command("done")
@click.argument("task", required=False)
@click.option("--receipt", required=True, metavar="TEXT", help="What was done; `-` takes it from stdin.")
@key_option
@verb
def done(call: Call, task: str | None, receipt: str, key: str | None) -> None:
    """End a held TASK as done."""
    ref = Held(call).one(task)
    ended = _Losing(call, ref).end(calls.tasks.task_done(ref, str(_long(receipt)), **keyed(key)))
    record = ended["task"]
    assert isinstance(record, dict)
    unlocked = ended["unlocked"]
    assert isinstance(unlocked, list)
    more = [f"unlocked {' '.join(map(str, unlocked))}"] if unlocked else []
    call.made({**ended, "task_id": ref.task_id}, "task_id", text(record, "state"), *more)


@task.command("fail")
@click.argument("task", required=False)
@click.option("--text", "words", required=True, metavar="TEXT", help="Why; `-` takes it from stdin.")
@click.option("--for-good", is_flag=True, help="Another attempt will not help.")
@key_option
@verb
def fail(call: Call, task: str | None, words: str, for_good: bool, key: str | None) -> None:
    """Say that this attempt at a held TASK failed; it is ready again while attempts remain."""
    ref = Held(call).one(task)
    request = calls.tasks.task_fail(ref, str(_long(words)), retryable=not for_good, **keyed(key))
    _tell(call, _Losing(call, ref).end(request))


@task.command("release")
@click.argument("task", required=False)
@click.option("--note", metavar="TEXT", help="For whoever takes it next; `-` takes it from stdin.")
@key_option
@verb
def release(call: Call, task: str | None, note: str | None, key: str | None) -> None:
    """Give a held TASK back; it counts no attempt."""
    ref = Held(call).one(task)
    _tell(call, _Losing(call, ref).end(calls.tasks.task_release(ref, _long(note), **keyed(key))))


class _Losing:
    """What is asked under a claim; one that is no longer good is kept no longer."""

    def __init__(self, call: Call, ref: ClaimRef) -> None:
        self._call = call
        self._ref = ref

    def ask(self, request: Any) -> Record:
        try:
            return self._call.ask(request)
        except (StaleLease, NotFound):
            Held(self._call).drop(self._ref)
            raise

    def end(self, request: Any) -> Record:
        ended = self.ask(request)
        Held(self._call).drop(self._ref)
        return ended


# --- what they share ----------------------------------------------------------------------------------------
def _tell(call: Call, record: Record) -> None:
    call.made(record, "task_id", text(record, "state"), text(record, "title"))


def _long(words: str | None) -> str | None:
    """A text, or all of stdin for `-`."""
    return sys.stdin.read() if words == "-" else words


def _space(call: Call, project: str, wanted: str | None) -> str | None:
    return None if wanted is None else text(choose_space(call, project, wanted), "space_id")


def _tasks(call: Call, project: str, **narrowed: Any) -> Iterator[Record]:
    return pages(
        call,
        lambda after, snapshot: calls.tasks.task_list(project, after=after, snapshot=snapshot, **narrowed),
    )


def _find(call: Call, project: str | None, wanted: str) -> Record:
    """The task of that id, or of the one id that begins so. Raises `Trouble`."""
    places = places_of(call, project)
    if _ID.fullmatch(wanted):
        for place in places:
            try:
                return call.ask(calls.tasks.task_show(place, wanted))
            except NotFound:
                continue
        found: list[Record] = []
    else:
        found = [
            each
            for place in places
            for each in _tasks(call, place)
            if text(each, "task_id").startswith(wanted)
        ]
    if len(found) == 1:
        return found[0]
    if not found:
        words = f"There is no task {wanted} here that you may see. `tally task list` shows them."
        raise Trouble(Exit.PROBLEM, "not-found", words)
    words = f"{len(found)} tasks begin with {wanted}; write more of the id."
    raise Trouble(Exit.USAGE, "usage", words)
