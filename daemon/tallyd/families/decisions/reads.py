"""Reads of decisions: one, what is current for a key, and lists.

What stands is one predicate, the row's state; what an erased decision says binds nobody. Across spaces
decisions are compared here alone, among what the reader sees.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from tallyd.admission import Admission
from tallyd.families.decisions import rows
from tallyd.families.decisions.commands import reach, seen
from tallyd.families.decisions.rows import DecisionRow, folded
from tallyd.families.shared.fence import check_fence
from tallyd.families.shared.results import Served, given, optional, space_in
from tallyd.ledger import pages, skeleton
from tallyd.ledger.attempts import InvocationRow
from tallyd.ledger.view import SpaceRow, View
from tallyd.ledger.withheld import ABOVE_CEILING, Withheld
from tallystick.protocol import limits, places
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.decisions import (
    TallystickDecisionCurrentArgs,
    TallystickDecisionListArgs,
    TallystickDecisionShowArgs,
)
from tallystick.protocol.places import NoPlace, Place
from tallystick.protocol.problems import invalid, not_found


def show(view: View, request: Request[TallystickDecisionShowArgs], admission: Admission) -> Served:
    """``tallystick_decision_show``."""
    row, space = seen(view, admission, request.args.decision_id)
    return Served(view.render(rows.shown(view, space, row, reach(view, admission, space))), row.revision)


def show_to_worker(view: View, request: Request[TallystickDecisionShowArgs], admission: Admission) -> Served:
    """``tallystick_decision_show`` on the worker socket: what the invocation itself recorded, while the
    attempt is the current one.
    """
    ref = request.args.decision_id
    _, invocation = check_fence(view, request, admission)
    row = rows.decision(view, ref)
    space = None if row is None else view.space_at(row.space)
    if row is None or space is None or not _is_step(view, invocation, row):
        raise not_found("decision of this invocation", ref)
    return Served(view.render(rows.shown(view, space, row, reach(view, admission, space))), row.revision)


def _is_step(view: View, invocation: InvocationRow, row: DecisionRow) -> bool:
    step = view.one(
        "SELECT 1 FROM invocation_steps WHERE invocation = ? AND position = ?",
        invocation.position,
        row.position,
    )
    return step is not None


# --- what is current ----------------------------------------------------------------------------------------
class _Candidate(msgspec.Struct, frozen=True):
    """A decision that stands for a key at a place, and what it says."""

    row: DecisionRow
    space: SpaceRow
    value: str


def current(view: View, request: Request[TallystickDecisionCurrentArgs], admission: Admission) -> Served:
    """``tallystick_decision_current``."""
    args = request.args
    wanted = _wanted(optional(args.repository), optional(args.path))
    spaces = _spaces(view, admission, optional(args.space_id))
    found: list[_Candidate] = []
    erased, elsewhere = [], []
    for space in spaces:
        for row in _readable(view, admission, space, rows.standing_of_key(view, space.position, args.key)):
            content = rows.said(view, row)
            if not wanted.reached_by(row):
                elsewhere.append(row)
            elif content is None:
                erased.append(row)
            else:
                found.append(_Candidate(row, space, folded(content["value"])))
    if wanted.node is not None:
        found = _without_narrowed(view, found)
    holding, contesting = _split(view, found, wanted, admission)
    earlier, more = _earlier(view, admission, spaces, args.key)
    status = "contested" if contesting else "current" if holding else "none"
    told: dict[str, object] = {
        "status": status,
        "current": [_shown(view, admission, each.space, each.row) for each in holding],
        "contesting": [_shown(view, admission, space, row) for space, row in contesting],
        "earlier": [_shown(view, admission, space, row) for space, row in earlier],
        "earlier_more": more,
    }
    if status == "none":
        proposed = any(_of_state(view, admission, space, args.key, "proposed") for space in spaces)
        told["because"] = _why_none(erased, elsewhere, proposed, earlier)
    return Served(skeleton.encode(told))


class _Where(msgspec.Struct, frozen=True):
    """What is asked about: a repository, "" for any, and a path's node, None for all of it."""

    repository: str
    node: str | None

    def reached_by(self, row: DecisionRow) -> bool:
        """Whether a decision holds there."""
        return places.reaches(row.place, self.repository, self.node)


def _wanted(repository: str | None, path: str | None) -> _Where:
    try:
        if repository is not None:
            places.check_repository(repository)
        return _Where(repository or "", None if path is None else places.node_of(path))
    except NoPlace as fault:
        raise invalid(f"$.args: {fault}") from None


def _spaces(view: View, admission: Admission, space_id: str | None) -> list[SpaceRow]:
    """The space that is named, or all of the project that the reader sees."""
    assert admission.project is not None
    if space_id is not None:
        return [space_in(view, admission, space_id)]
    found = view.all(
        "SELECT position FROM spaces WHERE project = ? ORDER BY position", admission.project.position
    )
    spaces = [view.space_at(int(str(position))) for (position,) in found]
    return [space for space in spaces if space is not None and admission.sees(view, space)]


def _readable(
    view: View, admission: Admission, space: SpaceRow, found: Iterable[DecisionRow]
) -> Iterator[DecisionRow]:
    reaches = reach(view, admission, space)
    return (row for row in found if reaches(rows.classification_at(view, row.position)))


def _without_narrowed(view: View, found: Sequence[_Candidate]) -> list[_Candidate]:
    """Without those that another candidate narrows: at this place the narrower goes before them."""
    there = {each.row.position for each in found}
    narrowed = {
        int(str(target))
        for position in there
        for (target,) in view.all(
            "SELECT target FROM decision_links WHERE decision = ? AND kind = 'narrows'", position
        )
    }
    return [each for each in found if each.row.position not in narrowed]


def _split(
    view: View, found: Sequence[_Candidate], wanted: _Where, admission: Admission
) -> tuple[list[_Candidate], list[tuple[SpaceRow, DecisionRow]]]:
    """What holds, and what contests it. Where it is contested the ratified one holds, if exactly one is."""
    against: dict[int, tuple[SpaceRow, DecisionRow]] = {}
    for each in found:
        for position in rows.contesting(view, each.row.position):
            other = rows.decision_at(view, position)
            if other is None or not wanted.reached_by(other):
                continue
            if next(_readable(view, admission, each.space, [other]), None) is not None:
                against[position] = (each.space, other)
                against[each.row.position] = (each.space, each.row)
    for each in (each for pair in _apart(found) for each in pair):
        against[each.row.position] = (each.space, each.row)
    ordered = sorted(found, key=lambda each: (each.row.rank == 0, -each.row.position))
    if not against:
        return ordered, []
    ratified = [each for each in ordered if each.row.position in against and each.row.rank > 0]
    holding = ratified if len(ratified) == 1 else []
    kept = {each.row.position for each in holding}
    others = [against[position] for position in sorted(against, reverse=True) if position not in kept]
    return holding, others


def _apart(found: Sequence[_Candidate]) -> Iterator[tuple[_Candidate, _Candidate]]:
    """Pairs of two spaces that say other things of places that overlap."""
    for index, one in enumerate(found):
        for other in found[index + 1 :]:
            apart = one.row.space != other.row.space and one.value != other.value
            if apart and places.overlap(one.row.place, other.row.place):
                yield one, other


_EARLIER: Final = (
    rows.SELECT + "WHERE d.space = ? AND d.key = ? AND d.state IN ('superseded', 'withdrawn') "
    "ORDER BY d.position DESC"
)


def _earlier(
    view: View, admission: Admission, spaces: Sequence[SpaceRow], key: str
) -> tuple[list[tuple[SpaceRow, DecisionRow]], int]:
    """The newest of the key that no longer stand, and how many more there are."""
    found = [
        (space, row)
        for space in spaces
        for row in _readable(
            view, admission, space, [rows.of(values) for values in view.all(_EARLIER, space.position, key)]
        )
    ]
    found.sort(key=lambda each: -each[1].position)
    most = limits.DECISIONS_EARLIER_ITEMS_MAX
    return found[:most], max(0, len(found) - most)


def _of_state(view: View, admission: Admission, space: SpaceRow, key: str, state: str) -> bool:
    found = view.all(
        rows.SELECT + "WHERE d.space = ? AND d.key = ? AND d.state = ?", space.position, key, state
    )
    return next(_readable(view, admission, space, [rows.of(values) for values in found]), None) is not None


def _why_none(
    erased: Sequence[DecisionRow],
    elsewhere: Sequence[DecisionRow],
    proposed: bool,
    earlier: Sequence[tuple[SpaceRow, DecisionRow]],
) -> str:
    if erased:
        return "erased"
    if elsewhere:
        return "elsewhere"
    if proposed:
        return "only_proposed"
    return earlier[0][1].state if earlier else "never_decided"


def _shown(view: View, admission: Admission, space: SpaceRow, row: DecisionRow) -> msgspec.Raw:
    record = rows.shown(view, space, row, reach(view, admission, space))
    return skeleton.embedded(view.render_with_marks(record))


# --- lists --------------------------------------------------------------------------------------------------
_ROWS: Final = (
    f"SELECT log.project_sequence, log.classification, {rows.COLUMNS} FROM decisions AS d "
    "JOIN log ON log.position = d.position WHERE d.space = ? AND d.position > ? AND d.position <= ? "
    "ORDER BY d.position"
)


class _LeftOut:
    """What a page leaves out, by state, counted as far as the page has come."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._since: dict[str, int] = {}

    def add(self, state: str) -> None:
        self._since[state] = self._since.get(state, 0) + 1

    def close(self) -> None:
        """What was counted since the last item belongs to the page."""
        for state, count in self._since.items():
            self.counts[state] = self.counts.get(state, 0) + count
        self._since.clear()


def list_(view: View, request: Request[TallystickDecisionListArgs], admission: Admission) -> Served:
    """``tallystick_decision_list``: of a space, or of all of the project that the reader sees."""
    args = request.args
    spaces = _spaces(view, admission, optional(args.space_id))
    assert admission.project is not None
    wanted = _Wanted.of(args)
    source = f"list:decisions:{optional(args.space_id) or admission.project.project_id}"
    asked = pages.ask(source, args, wanted.filters())
    snapshot = pages.open_page(view, asked, admission.project)
    withheld, left_out = Withheld(), _LeftOut()

    def items() -> Iterator[tuple[int, bytes]]:
        merged = heapq.merge(
            *(_of_space(view, admission, space, snapshot) for space in spaces),
            key=lambda found: found[1].position,
        )
        for space, row, sequence, reaches in merged:
            if not reaches(rows.classification_at(view, row.position)):
                withheld.add(sequence, ABOVE_CEILING)
            elif not wanted.matches(row):
                continue
            elif row.state not in wanted.states:
                left_out.add(row.state)
            elif wanted.is_so(view, row):
                yield row.position, view.render_with_marks(rows.shown(view, space, row, reaches))
                withheld.close_range()
                left_out.close()
        withheld.close_range()
        left_out.close()

    found = pages.page(view, asked, snapshot, items(), withheld, beside=lambda: {"left_out": left_out.counts})
    return Served(found)


def _of_space(
    view: View, admission: Admission, space: SpaceRow, snapshot: pages.Snapshot
) -> Iterator[tuple[SpaceRow, DecisionRow, int, rows.Reaches]]:
    reaches = reach(view, admission, space)
    found = view.db.execute(_ROWS, (space.position, snapshot.after, snapshot.bound))
    for sequence, _, *values in found:
        yield space, rows.of(values), sequence, reaches


class _Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """How a list is narrowed."""

    states: tuple[str, ...]
    key_prefix: str | None
    place: Place | None
    contested: bool | None
    unratified: bool | None

    @staticmethod
    def of(args: TallystickDecisionListArgs) -> _Wanted:
        """From the arguments. Raises Refusal ``invalid`` for a place that cannot be one."""
        repository, paths = optional(args.repository), given(args.paths, ())
        place = None
        if repository is not None or paths:
            try:
                place = places.place(repository or "", paths)
            except NoPlace as fault:
                raise invalid(f"$.args: {fault}") from None
        return _Wanted(
            states=("standing", *sorted(given(args.include, ()))),
            key_prefix=optional(args.key_prefix),
            place=place,
            contested=optional(args.contested),
            unratified=optional(args.unratified),
        )

    def filters(self) -> tuple[str | None, ...]:
        """By which a continuation is known to be of the same list."""
        place = None if self.place is None else f"{self.place.repository}\n{self.place.region}"
        states = None if len(self.states) == 1 else ",".join(self.states)
        return (states, self.key_prefix, place, _word(self.contested), _word(self.unratified))

    def matches(self, row: DecisionRow) -> bool:
        """Whether a decision is one that the list is about, whatever its state."""
        prefix = self.key_prefix
        if prefix is not None and row.key != prefix and not row.key.startswith(prefix + "."):
            return False
        return self.place is None or places.overlap(row.place, self.place)

    def is_so(self, view: View, row: DecisionRow) -> bool:
        """Whether it is contested and ratified as the list wants it."""
        if self.unratified is not None and (row.rank == 0) is not self.unratified:
            return False
        return self.contested is None or bool(rows.contesting(view, row.position)) is self.contested


def _word(wanted: bool | None) -> str | None:
    return None if wanted is None else str(wanted)
