"""Which task an actor may claim now, and taking it.

There is one predicate, ``hindrance``: a claim says by it why not, ``next`` and ``ready`` pass over what it
names. In the clerk's order one caller gets a task: a claim is a row, and one claim of a task runs (a unique
index says so too).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec import UNSET

from tallyd.admission import Admission, check_space
from tallyd.admission.access import Rights
from tallyd.families.shared.results import check_open, check_revision, given, optional, space_in
from tallyd.families.tasks import rows
from tallyd.families.tasks.commands import find
from tallyd.families.tasks.rows import Sight
from tallyd.ledger import calls, claims, skeleton, times
from tallyd.ledger.calls import Claiming
from tallyd.ledger.claims import TASKS, ClaimRow, TaskRow
from tallyd.ledger.transaction import Applied, Idle, Transaction
from tallyd.ledger.view import SpaceRow, View
from tallystick.protocol import limits
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.tasks import (
    TALLYSTICK_TASK_CLAIM,
    TallystickTaskClaimArgs,
    TallystickTaskNextArgs,
)
from tallystick.protocol.problems import Refusal, forbidden, rate_limited, stale_lease, stale_revision

_RETRY_SECONDS: Final = 60
"""After how long to come again for an actor that holds all it may: as good as any other."""


# --- which may be claimed -----------------------------------------------------------------------------------
class Found(NamedTuple):
    """A task that the actor may claim now but for paths that somebody else may have reserved."""

    row: TaskRow
    space: SpaceRow
    in_the_way: bool


class Hindrance(NamedTuple):
    """Why an actor cannot claim a task now: a closed word, and the refusal that says so."""

    word: str
    refusal: Refusal


def hindrance(view: View, admission: Admission, held: Rights, row: TaskRow) -> Hindrance | None:
    """None where the actor, with these rights in its space, may claim it now."""
    if row.state not in ("ready", "claimed"):
        what = f"task {row.task_id} is {row.state}, and cannot be claimed; look at what blocks it"
        return Hindrance("state", stale_revision(row.revision, what))
    if not held.may(TALLYSTICK_TASK_CLAIM.name):
        return Hindrance("rights", forbidden("tasks of this space are its contributors' to claim"))
    if not held.reaches(view, row.classification):
        return Hindrance("class", forbidden(f"{row.task_id} is above what this actor may read"))
    if row.assignee not in ("", admission.author):
        return Hindrance("assignee", forbidden(f"{row.task_id} is for {row.assignee} alone; ask its creator"))
    if row.state == "claimed":
        if view.claim_leases.live(row.position):
            return Hindrance("held", claims.refuse(view, row, "somebody was before you"))
        if row.lapses >= limits.TASK_TAKEOVERS_MAX:
            what = (
                f"task {row.task_id} was taken over {row.lapses} times in a row from holders that fell "
                "silent; a steward frees it, when it is known why"
            )
            return Hindrance("lapsed", stale_lease(what))
    return None


def is_in_the_way(view: View, row: TaskRow) -> bool:
    """Whether somebody else has a path that a claim of the task would take."""
    return bool(row.reserve) and any(asked(view, row) for asked in calls.of(view).in_the_way)


def claimable(view: View, admission: Admission, only: SpaceRow | None) -> Iterator[Found]:
    """What the actor may claim in a space, or in its project (the oldest 256 spaces that it may write in), by
    priority and age.
    """
    spaces = {space.position: (space, held) for space, held in _writable(view, admission, only)}
    streams = [_ready(view, position, assignee) for position in spaces for assignee in ("", admission.author)]
    for row in heapq.merge(
        _lapsed(view, set(spaces)), *streams, key=lambda row: (row.priority, row.position)
    ):
        space, held = spaces[row.space]
        if hindrance(view, admission, held, row) is None:
            yield Found(row, space, is_in_the_way(view, row))


def _writable(view: View, admission: Admission, only: SpaceRow | None) -> Iterator[tuple[SpaceRow, Rights]]:
    assert admission.project is not None
    positions = (
        [only.position]
        if only is not None
        else [
            int(str(position))
            for (position,) in view.all(
                "SELECT position FROM spaces WHERE project = ? AND status = 'open' ORDER BY position",
                admission.project.position,
            )
        ]
    )
    found = 0
    for position in positions:
        space = view.space_at(position)
        assert space is not None
        held = admission.rights(view, space)
        if space.status == "open" and held.may(TALLYSTICK_TASK_CLAIM.name):
            yield space, held
            found += 1
            if found == limits.TASK_SPACES_MAX:
                return


_READY: Final = (
    TASKS
    + "WHERE t.space = ? AND t.assignee = ? AND t.state = 'ready' AND (t.priority, t.position) > (?, ?) "
    "ORDER BY t.priority, t.position LIMIT ?"
)


def _ready(view: View, space: int, assignee: str) -> Iterator[TaskRow]:
    """Ready tasks of a space for an assignee, in order; a few are read at a time, since mostly the first is
    taken.
    """
    priority, position, some = -1, -1, 1
    while True:
        found = view.all(_READY, space, assignee, priority, position, some)
        for values in found:
            row = rows.of(values)
            priority, position = row.priority, row.position
            yield row
        if len(found) < some:
            return
        some = min(4 * some, limits.TASKS_READY_MAX)


def _lapsed(view: View, spaces: set[int]) -> list[TaskRow]:
    """Claimed tasks of these spaces whose lease ran out, in order."""
    found = (claims.task_at(view, position) for position in view.claim_leases.lapsed())
    of_spaces = [row for row in found if row is not None and row.space in spaces and row.state == "claimed"]
    return sorted(of_spaces, key=lambda row: (row.priority, row.position))


# --- claim --------------------------------------------------------------------------------------------------
def claim(tx: Transaction, request: Request[TallystickTaskClaimArgs], admission: Admission) -> Applied:
    """``tallystick_task_claim``."""
    args, sight = request.args, Sight(tx, admission)
    row, space = find(tx, admission, sight, args.task_id)
    check_space(tx, request, admission, space)
    check_open(space)
    check_revision(request, row.revision, f"task {args.task_id}")
    hindered = hindrance(tx, admission, admission.rights(tx, space), row)
    if hindered is not None:
        raise hindered.refusal
    term = given(args.term_seconds, limits.TASK_TERM_SECONDS)
    return _take(tx, admission, sight, Found(row, space, False), term, optional(args.label), 0)


def next_(tx: Transaction, request: Request[TallystickTaskNextArgs], admission: Admission) -> Applied | Idle:
    """``tallystick_task_next``: a claim of the first that the actor may claim now. In vain it writes nothing,
    and may find something when a lease runs out.
    """
    args = request.args
    only = None if args.space_id is UNSET else space_in(tx, admission, args.space_id)
    passed_over = 0
    for found in claimable(tx, admission, only):
        if found.in_the_way:
            passed_over += 1
            continue
        term = given(args.term_seconds, limits.TASK_TERM_SECONDS)
        return _take(tx, admission, Sight(tx, admission), found, term, optional(args.label), passed_over)
    return Idle(NOTHING, tx.claim_leases.next_lapse_seconds())


NOTHING: Final = skeleton.encode(
    dict.fromkeys(
        ("task", "claim_id", "fence", "term_seconds", "reservation_id", "taken_over", "passed_over")
    )
)
"""What whoever waited in vain is answered."""


def _take(
    tx: Transaction,
    admission: Admission,
    sight: Sight,
    found: Found,
    term_seconds: int,
    label: str | None,
    passed_over: int,
) -> Applied:
    row, space, _ = found
    if claims.of_actor(tx, admission.actor) >= limits.CLAIMS_OF_ACTOR_MAX:
        raise rate_limited(
            _RETRY_SECONDS,
            f"this actor holds {limits.CLAIMS_OF_ACTOR_MAX} tasks, which is the most; end or release some",
        )
    previous, last = claims.held(tx, row), claims.latest(tx, row.position)
    seen = rows.bearing(tx, sight, row)
    taken_over = None if previous is None else _taken_over(tx, previous)
    if previous is not None:
        rows.end_claim(tx, space, row, previous, "fenced")
    claim = _insert(tx, admission, row, 1 if last is None else last.ordinal + 1, term_seconds, label)
    row = rows.change(
        tx, row, state="claimed", claim=claim.ordinal, lapses=0 if previous is None else row.lapses + 1
    )
    reservation = _reserve(tx, space, row, claim)
    said: dict[str, object] = {
        "claim_ref": claim.reference_id,
        "actor": claim.actor,
        "fence": claim.ordinal,
        "term_seconds": term_seconds,
    }
    rows.event(tx, row, space, claims.CLAIMED, said if label is None else {**said, "label": label})
    tx.lease_changes.append(lambda: tx.claim_leases.renew(row.position, term_seconds))
    result = {
        "task": skeleton.embedded(rows.record(tx, row, space, seen, _held(tx, claim))),
        "claim_id": skeleton.place(skeleton.CLAIM, f"{claim.task}.{claim.ordinal}.{claim.epoch}"),
        "fence": claim.ordinal,
        "term_seconds": term_seconds,
        "reservation_id": reservation,
        "taken_over": taken_over,
        "passed_over": passed_over,
    }
    return Applied(result=skeleton.encode(result), revision=row.revision)


def _insert(
    tx: Transaction, admission: Admission, row: TaskRow, ordinal: int, term_seconds: int, label: str | None
) -> ClaimRow:
    made = ClaimRow(
        task=row.position,
        ordinal=ordinal,
        id_hash=claims.hash_of(tx.claim_id(row.position, ordinal, tx.epoch)),
        reference=tx.new_id(),
        state="running",
        actor=admission.actor,
        label=label,
        epoch=tx.epoch,
        term_seconds=term_seconds,
        claimed=tx.position,
        ending=None,
    )
    tx.insert("task_claims", **{field: getattr(made, field) for field in made.__struct_fields__})
    return made


def _reserve(tx: Transaction, space: SpaceRow, row: TaskRow, claim: ClaimRow) -> str | None:
    """The reservation that the claim takes; None where it takes none."""
    if not row.reserve:
        return None
    taken = [claimed(tx, Claiming(space, row, claim.ordinal)) for claimed in calls.of(tx).claimed]
    return taken[0] if taken else None


def _held(tx: Transaction, claim: ClaimRow) -> dict[str, object]:
    """A new claim, as ``claims.record`` tells it once it is in."""
    said: dict[str, object] = {
        "claim_ref": claim.reference_id,
        "actor": claim.actor,
        "fence": claim.ordinal,
        "since": tx.now,
        "remaining_seconds": claim.term_seconds,
    }
    return said if claim.label is None else {**said, "label": claim.label}


def _taken_over(tx: Transaction, previous: ClaimRow) -> dict[str, object]:
    """From whom, and what is known of the task by then."""
    said: dict[str, object] = {
        "actor": previous.actor,
        "since": claims.since(tx, previous),
        "silent_since": claims.silent_since(tx, previous),
        "notes": _newest_notes(tx, previous.task),
    }
    return said if previous.label is None else {**said, "label": previous.label}


def _newest_notes(tx: Transaction, task: int) -> list[dict[str, object]]:
    """The newest notes, oldest first; of those that would make the reply too long no text."""
    newest = tx.all(
        "SELECT log.resource, log.author, log.recorded_ms, c.body, c.size FROM task_notes AS n "
        "JOIN log ON log.position = n.note JOIN contributions AS c ON c.position = n.note "
        "WHERE n.task = ? ORDER BY n.note DESC LIMIT ?",
        task,
        limits.TASK_NOTES_SHOWN_MAX,
    )
    room = limits.TASK_NOTES_BYTES_MAX
    notes: list[dict[str, object]] = []
    for ref, author, recorded_ms, body, size in newest:
        said: dict[str, object] = {
            "contribution_ref": ref,
            "by": author,
            "at": times.rfc3339(int(str(recorded_ms))),
        }
        room -= int(str(size))
        if room >= 0:
            said["text"] = skeleton.place(skeleton.MEMBER, f"{int(str(body))}.text")
        notes.append(said)
    return notes[::-1]
