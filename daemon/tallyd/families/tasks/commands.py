"""What is done about a task by whoever may write where it stands: create, note, and what its creator and
stewards change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import UNSET, UnsetType

from tallyd.admission import Admission, check_space
from tallyd.families.contributions.contributions import worker_space
from tallyd.families.contributions.data import Data, say_data
from tallyd.families.shared.objects import refuse_unreachable
from tallyd.families.shared.results import check_open, check_revision, given, optional, refuse_revision
from tallyd.families.tasks import rows
from tallyd.families.tasks.rows import Bearing, Sight
from tallyd.ledger import agents, calls, claims, ids, skeleton
from tallyd.ledger.claims import TaskRow
from tallyd.ledger.transaction import Applied, Transaction
from tallyd.ledger.view import SpaceRow, Value, View
from tallystick.protocol import limits, places
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.tasks import (
    CANCELED,
    CREATED,
    FREED,
    NOTED,
    REOPENED,
    UPDATED,
    TallystickTaskCancelArgs,
    TallystickTaskCreateArgs,
    TallystickTaskFreeArgs,
    TallystickTaskNoteArgs,
    TallystickTaskReopenArgs,
    TallystickTaskUpdateArgs,
)
from tallystick.protocol.problems import cycle, forbidden, invalid, not_found, stale_revision

NOTE: Final = "observation"
NOTE_SCHEMA: Final = "schema:tallystick-note-v1"
_ENDED: Final = frozenset({"done", "failed", "canceled"})
_REOPENABLE: Final = frozenset({"failed", "canceled"})


# --- create -------------------------------------------------------------------------------------------------
def create(tx: Transaction, request: Request[TallystickTaskCreateArgs], admission: Admission) -> Applied:
    """``tallystick_task_create``."""
    args = request.args
    space = worker_space(tx, request, admission, args.space_id)
    check_open(space)
    refuse_revision(request, "a task that is made")
    refuse_blank("title", args.title)
    _check_place(tx, args)
    _check_assignee(tx, given(args.assignee, ""))
    sight = Sight(tx, admission)
    needed = [_needed(tx, admission, sight, ref) for ref in given(args.needs, ())]
    unmet = [each for each in needed if each.state != "done"]
    saying = say_data(tx, admission, space, _said(args))
    row = TaskRow(
        position=saying.position,
        id=saying.digits,
        space=space.position,
        creator=admission.author,
        state="blocked" if unmet else "ready",
        revision=1,
        unmet=len(unmet),
        priority=given(args.priority, limits.TASK_PRIORITY),
        assignee=given(args.assignee, ""),
        repository=given(args.repository, ""),
        paths=_list(args.paths),
        reserve=int(given(args.reserve, False)),
        labels=_list(args.labels),
        attempts_max=given(args.attempts_max, limits.TASK_ATTEMPTS),
        failed_attempts=0,
        lapses=0,
        claim=None,
        receipt=None,
        classification=saying.classification,
        body=saying.body,
    )
    rows.insert(tx, row)
    for each in needed:
        tx.insert("task_needs", task=row.position, needs=each.position)
    rows.event(tx, row, space, CREATED, _labels(row))
    if row.state == "ready":
        rows.wake(tx, space)
    seen = Bearing(
        at_ms=tx.now_ms,
        needs=[each.task_id for each in needed],
        blocked_by=[{"ref": each.task_id, "state": each.state} for each in unmet],
    )
    return Applied(result=rows.record(tx, row, saying.space, seen, None), revision=saying.space.revision)


def _said(args: TallystickTaskCreateArgs) -> Data:
    brief = given(args.brief, "")
    value: dict[str, object] = {"title": args.title, "brief": brief}
    for member in (
        "priority",
        "needs",
        "labels",
        "assignee",
        "repository",
        "paths",
        "reserve",
        "attempts_max",
    ):
        label = getattr(args, member)
        if label is not UNSET:
            value[member] = label
    text = f"{args.title}\n\n{brief}" if brief else args.title
    return Data(
        kind=rows.KIND,
        schema_ref=rows.TASK_SCHEMA,
        value=value,
        text=text[: limits.INLINE_TEXT_SCALARS_MAX],
        sources=given(args.source_refs, ()),
        artifacts=given(args.artifact_refs, ()),
        classification=optional(args.classification_ref),
    )


def _list(items: Sequence[str] | UnsetType) -> str:
    return skeleton.encode(list(given(items, ()))).decode()


def _labels(row: TaskRow) -> dict[str, object]:
    """What an event tells of a task that is never erased."""
    return {
        "priority": row.priority,
        "assignee": row.assignee,
        "repository": row.repository,
        "paths": skeleton.embedded(row.paths.encode()),
        "labels": skeleton.embedded(row.labels.encode()),
        "reserve": bool(row.reserve),
        "attempts_max": row.attempts_max,
    }


def refuse_blank(member: str, text: str) -> None:
    if not text.strip():
        raise invalid(f"$.args.{member} is white space alone; say it in words")


def _check_place(tx: Transaction, args: TallystickTaskCreateArgs) -> None:
    try:
        places.place(given(args.repository, ""), given(args.paths, ()))
    except places.NoPlace as fault:
        raise invalid(f"$.args: {fault}") from None
    if not given(args.reserve, False):
        return
    if not calls.of(tx).claimed:
        raise invalid("$.args.reserve: this daemon has no reservations; leave it out, and agree by notes")
    if not given(args.repository, "") or not given(args.paths, ()):
        raise invalid("$.args.reserve: a claim can only take paths of a repository; name both")


def _check_assignee(tx: Transaction, assignee: str) -> None:
    if assignee not in ("", ids.OWNER) and agents.agent(tx, assignee) is None:
        raise not_found("actor", assignee)


def _needed(tx: Transaction, admission: Admission, sight: Sight, ref: str) -> TaskRow:
    """A task of the project that another is to need."""
    row, _ = find(tx, admission, sight, ref)
    count = tx.number("SELECT count(*) FROM task_needs WHERE needs = ?", row.position)
    if count >= limits.TASKS_NEEDING_MAX:
        raise invalid(f"{ref} is needed by {count} tasks, which is the most; make a task between them")
    return row


# --- finding one --------------------------------------------------------------------------------------------
def find(view: View, admission: Admission, sight: Sight, task_id: str) -> tuple[TaskRow, SpaceRow]:
    """The task, where it is in the request's project and its space is seen. Raises Refusal ``not-found``, or
    ``forbidden`` for what is above the actor's ceiling.
    """
    row = claims.task(view, task_id)
    space = None if row is None else sight.space(row.space)
    project = admission.project
    if row is None or space is None or project is None or space.project != project.position:
        raise not_found("task", task_id)
    refuse_unreachable(view, admission, space, row.classification, task_id)
    return row, space


def _open_task(
    tx: Transaction, request: AnyRequest, admission: Admission, sight: Sight, task_id: str
) -> tuple[TaskRow, SpaceRow]:
    """One that the actor's mode lets it change, in a space that is open."""
    row, space = find(tx, admission, sight, task_id)
    check_space(tx, request, admission, space)
    check_open(space)
    check_revision(request, row.revision, f"task {task_id}")
    return row, space


def _managed(
    tx: Transaction, request: AnyRequest, admission: Admission, sight: Sight, task_id: str
) -> tuple[TaskRow, SpaceRow]:
    """The same, for its creator and for stewards alone."""
    row, space = _open_task(tx, request, admission, sight, task_id)
    if admission.author != row.creator and not admission.rights(tx, space).stewards:
        raise forbidden(
            f"{task_id} is another's; its creator, a steward of the space or the owner can do this"
        )
    return row, space


# --- note ---------------------------------------------------------------------------------------------------
def note(tx: Transaction, request: Request[TallystickTaskNoteArgs], admission: Admission) -> Applied:
    """``tallystick_task_note``: anybody's who may write there; of an ended task too."""
    args, sight = request.args, Sight(tx, admission)
    row, space = _open_task(tx, request, admission, sight, args.task_id)
    refuse_blank("text", args.text)
    seen, holder = rows.bearing(tx, sight, row), claims.held(tx, row)
    saying = say_data(
        tx, admission, space, note_of(row, args.text, "note", args.source_refs, args.artifact_refs)
    )
    tx.insert("task_notes", task=row.position, note=saying.position)
    rows.event(tx, row, space, NOTED, {"note_ref": saying.contribution_id})
    told = None if holder is None else claims.record(tx, holder)
    result = rows.record(tx, row, saying.space, seen.with_note(saying.contribution_id), told)
    return Applied(result=result, revision=saying.space.revision)


def note_of(
    row: TaskRow,
    text: str,
    what: str,
    sources: Sequence[str] | UnsetType,
    artifacts: Sequence[str] | UnsetType,
) -> Data:
    """A note of a task: ``what`` is ``note``, ``failure`` or ``release``."""
    return Data(
        kind=NOTE,
        schema_ref=NOTE_SCHEMA,
        value={"task_id": row.task_id, "what": what, "text": text},
        text=text,
        about=(row.contribution_id,),
        sources=given(sources, ()),
        artifacts=given(artifacts, ()),
        classification=row.classification,
    )


# --- update -------------------------------------------------------------------------------------------------
def update(tx: Transaction, request: Request[TallystickTaskUpdateArgs], admission: Admission) -> Applied:
    """``tallystick_task_update``."""
    args, sight = request.args, Sight(tx, admission)
    row, space = _managed(tx, request, admission, sight, args.task_id)
    if row.state in _ENDED:
        raise stale_revision(
            row.revision, f"{args.task_id} is {row.state}, and changes no more; reopen it first"
        )
    _check_assignee(tx, given(args.assignee, ""))
    columns: dict[str, Value] = {}
    if args.priority is not UNSET:
        columns["priority"] = args.priority
    if args.assignee is not UNSET:
        columns["assignee"] = args.assignee
    if args.labels is not UNSET:
        columns["labels"] = _list(args.labels)
    if given(args.add_needs, ()) or given(args.drop_needs, ()):
        unmet = _change_needs(tx, admission, sight, row, args)
        columns |= {"unmet": unmet, "state": "blocked" if unmet else "ready"}
    if not columns:
        raise invalid("$.args names nothing that is to become different")
    row = rows.change(tx, row, **columns)
    rows.event(tx, row, space, UPDATED, _labels(row))
    if row.state == "ready":
        rows.wake(tx, space)
    return Applied(result=rows.record_now(tx, sight, row, space), revision=row.revision)


def _change_needs(
    tx: Transaction, admission: Admission, sight: Sight, row: TaskRow, args: TallystickTaskUpdateArgs
) -> int:
    """Adds and drops needs; how many are unmet then, with what else holds the task."""
    if row.state == "claimed":
        raise stale_revision(
            row.revision, f"{args.task_id} is claimed; its needs change when it is given back"
        )
    needed = {each.task_id: each for each in rows.needed_by(tx, row.position)}
    unmet = row.unmet
    for index, ref in enumerate(given(args.drop_needs, ())):
        dropped = needed.pop(ref, None)
        if dropped is None or not sight.reaches(dropped.space, dropped.classification):
            raise invalid(f"$.args.drop_needs[{index}]: {args.task_id} does not need {ref}")
        tx.delete("task_needs", task=row.position, needs=dropped.position)
        unmet -= dropped.state != "done"
    for ref in given(args.add_needs, ()):
        if ref in needed:
            continue
        added = needed[ref] = _needed(tx, admission, sight, ref)
        _refuse_circle(tx, row, added)
        tx.insert("task_needs", task=row.position, needs=added.position)
        unmet += added.state != "done"
    if len(needed) > limits.TASKS_NEEDED_MAX:
        raise invalid(f"$.args.add_needs: a task needs at most {limits.TASKS_NEEDED_MAX} others; name fewer")
    return unmet


def _refuse_circle(tx: Transaction, row: TaskRow, added: TaskRow) -> None:
    """Raises Refusal ``cycle`` where the added one needs the task already, at once or in the end; ``invalid``
    where it takes too long to see.
    """
    pending, visited = [added.position], {added.position}
    while pending:
        at = pending.pop()
        if at == row.position:
            raise cycle(f"$.args.add_needs: {added.task_id} needs {row.task_id}, at once or in the end")
        if len(visited) > limits.TASKS_VISITED_MAX:
            raise invalid(f"$.args.add_needs: {added.task_id} stands on too many others to be looked through")
        for (needs,) in tx.all("SELECT needs FROM task_needs WHERE task = ?", at):
            assert isinstance(needs, int)
            if needs not in visited:
                visited.add(needs)
                pending.append(needs)


# --- cancel, reopen, free -----------------------------------------------------------------------------------
def cancel(tx: Transaction, request: Request[TallystickTaskCancelArgs], admission: Admission) -> Applied:
    """``tallystick_task_cancel``: what needs it stays blocked, and says by what."""
    args, sight = request.args, Sight(tx, admission)
    row, space = _managed(tx, request, admission, sight, args.task_id)
    if row.state in _ENDED:
        raise stale_revision(row.revision, f"{args.task_id} is {row.state}, and cannot be canceled")
    said = _end_held(tx, space, row, "canceled")
    row = rows.change(tx, row, state="canceled", claim=None)
    rows.event(tx, row, space, CANCELED, {**said, "reason_class": args.reason_class})
    return Applied(result=rows.record_now(tx, sight, row, space), revision=row.revision)


def reopen(tx: Transaction, request: Request[TallystickTaskReopenArgs], admission: Admission) -> Applied:
    """``tallystick_task_reopen``: with all its attempts before it again."""
    args, sight = request.args, Sight(tx, admission)
    row, space = _managed(tx, request, admission, sight, args.task_id)
    if row.state not in _REOPENABLE:
        raise stale_revision(
            row.revision, f"{args.task_id} is {row.state}; only what failed or was canceled is reopened"
        )
    row = rows.change(tx, row, state="blocked" if row.unmet else "ready", failed_attempts=0)
    rows.event(tx, row, space, REOPENED, {"reason_class": args.reason_class})
    if row.state == "ready":
        rows.wake(tx, space)
    return Applied(result=rows.record_now(tx, sight, row, space), revision=row.revision)


def free(tx: Transaction, request: Request[TallystickTaskFreeArgs], admission: Admission) -> Applied:
    """``tallystick_task_free``: its holder is fenced, however alive."""
    args, sight = request.args, Sight(tx, admission)
    row, space = _open_task(tx, request, admission, sight, args.task_id)
    if row.state != "claimed":
        raise stale_revision(row.revision, f"{args.task_id} is {row.state}; nobody holds it")
    said = _end_held(tx, space, row, "fenced")
    row = rows.change(tx, row, state="ready", claim=None)
    rows.event(tx, row, space, FREED, {**said, "reason_class": args.reason_class})
    rows.wake(tx, space)
    return Applied(result=rows.record_now(tx, sight, row, space), revision=row.revision)


def _end_held(tx: Transaction, space: SpaceRow, row: TaskRow, state: str) -> dict[str, object]:
    """Ends the claim that holds a task, if one does; what the event tells of it."""
    claim = claims.held(tx, row)
    if claim is None:
        return {}
    rows.end_claim(tx, space, row, claim, state)
    return {"claim_ref": claim.reference_id, "fence": claim.ordinal}
