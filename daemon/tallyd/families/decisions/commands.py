"""Recording decisions, and letting proposals stand.

| was      | becomes    | by                                                                             |
|----------|------------|--------------------------------------------------------------------------------|
| –        | standing   | ``tallystick_decision_record``                                                 |
| –        | proposed   | the same, where it was asked for, or where it may only be proposed             |
| proposed | standing   | ``tallystick_decision_adopt``; an approval                                     |
| both     | superseded | a decision that stands and names it; ``contribution_supersede``                |
| both     | withdrawn  | ``contribution_withdraw``                                                      |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from tallyd.admission import Admission, check_rights, may_write
from tallyd.families.contributions.contributions import worker_space
from tallyd.families.contributions.data import Data, say_data
from tallyd.families.decisions import rows, rules
from tallyd.families.decisions.rows import Bearing, DecisionRow, Labels, Words
from tallyd.families.decisions.rules import Candidate, Met
from tallyd.families.dispositions import SUPERSEDED, note
from tallyd.families.shared import objects
from tallyd.families.shared.objects import refuse_unreachable
from tallyd.families.shared.results import check_open, check_revision, given, optional, refuse_revision
from tallyd.ledger import calls, ids, skeleton, times
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import SpaceRow, View
from tallystick.protocol import places
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.decisions import (
    ADOPTED,
    CONTESTED,
    RECORDED,
    TallystickDecisionAdoptArgs,
    TallystickDecisionRecordArgs,
)
from tallystick.protocol.limits import INLINE_TEXT_SCALARS_MAX
from tallystick.protocol.places import NoPlace, Place
from tallystick.protocol.problems import forbidden, invalid, not_found, stale_revision

EVENT_SCHEMA: Final = "schema:tallystick-decision-event-v1"
REASON: Final = "superseded_by_decision"
"""The reason class of a disposition that a decision makes."""


# --- recording ----------------------------------------------------------------------------------------------
class _Named(msgspec.Struct, frozen=True):
    """The decisions that a new one names."""

    supersedes: Sequence[DecisionRow]
    narrows: Sequence[DecisionRow]
    depends_on: Sequence[DecisionRow]


def record(tx: Transaction, request: Request[TallystickDecisionRecordArgs], admission: Admission) -> Applied:
    """``tallystick_decision_record``, on both sockets. All is looked up before anything is written."""
    args = request.args
    space = worker_space(tx, request, admission, args.space_id)
    check_open(space)
    refuse_revision(request, "what is made")
    if not args.reason.strip() or not args.value.strip():
        raise invalid("$.args: value and reason each say something, and not white space alone")
    place = _place(args)
    named = _named(tx, admission, space, args, place)
    because = _proposed_because(tx, admission, space, args, named)
    excludes = [(each.key, optional(each.value)) for each in given(args.excludes, ())]
    new = Candidate(
        key=args.key,
        value=args.value,
        place=place,
        narrows=frozenset(each.position for each in named.narrows),
        excludes=excludes,
        passes_over=frozenset(each.position for each in named.supersedes),
    )
    met = rules.meets(tx, space, new)
    if because is None:
        for target in named.supersedes:
            _check_may_supersede(tx, request, admission, space, target)
    return _write(tx, request, admission, space, named, new, met, because)


def _write(
    tx: Transaction,
    request: Request[TallystickDecisionRecordArgs],
    admission: Admission,
    space: SpaceRow,
    named: _Named,
    new: Candidate,
    met: Met,
    because: str | None,
) -> Applied:
    args = request.args
    basis_changed = any(each.state != "standing" for each in named.depends_on)
    reaches = reach(tx, admission, space)
    others = rows.refs(tx, sorted(met.conflicts), reaches)
    saying = say_data(tx, admission, space, _data(args))
    row = DecisionRow(
        position=saying.position,
        id=saying.digits,
        space=space.position,
        key=args.key,
        repository=new.place.repository,
        region=new.place.region,
        state="standing" if because is None else "proposed",
        revision=1,
        ratified_by=None,
        rank=0,
        review_ms=None if args.review_after is UNSET else times.unix_ms(args.review_after),
    )
    tx.insert("decisions", **{name: getattr(row, name) for name in row.__struct_fields__})
    for kind, targets in (
        ("supersedes", named.supersedes),
        ("narrows", named.narrows),
        ("depends_on", named.depends_on),
    ):
        for target in targets:
            tx.insert("decision_links", decision=row.position, kind=kind, target=target.position)
    labels = _labels(row, saying.contribution_id, space, args, because)
    _tell(tx, space, row, RECORDED, saying.classification, msgspec.to_builtins(labels))
    space = saying.space
    if because is None:
        space = _take_effect(
            tx, admission, space, row, named.supersedes, labels.excludes, met, saying.classification
        )
    tags = len(given(args.tags, ()))
    valued = frozenset(index for index, (_, value) in enumerate(new.excludes) if value is not None)
    bears = Bearing(
        contested_by=others if because is None else (),
        agreeing=met.agreeing if because is None else 0,
        basis_changed=basis_changed,
        would_meet=None if because is None else others,
    )
    told = _reply(
        tx, admission, space, row, labels, Words(saying.body, tags, valued), bears, saying.classification
    )
    return Applied(result=told, revision=space.revision)


def _reply(
    tx: Transaction,
    admission: Admission,
    space: SpaceRow,
    row: DecisionRow,
    labels: Labels,
    words: Words,
    bears: Bearing,
    classification: str,
) -> bytes:
    """The record of a decision that is made in this command, and has no row in the log yet."""
    made = rows.Made(classification=classification, author=admission.author, recorded_ms=tx.now_ms)
    return rows.record(tx, space, row, made, labels, words, bears)


def _place(args: TallystickDecisionRecordArgs) -> Place:
    try:
        return places.place(given(args.repository, ""), given(args.paths, ()))
    except NoPlace as fault:
        raise invalid(f"$.args: {fault}") from None


def _named(
    tx: Transaction,
    admission: Admission,
    space: SpaceRow,
    args: TallystickDecisionRecordArgs,
    place: Place,
) -> _Named:
    found = _Named(
        supersedes=_look_up(tx, admission, space, given(args.supersedes, ()), "supersedes"),
        narrows=_look_up(tx, admission, space, given(args.narrows, ()), "narrows"),
        depends_on=_look_up(tx, admission, space, given(args.depends_on, ()), "depends_on"),
    )
    for index, target in enumerate(found.supersedes):
        if target.state not in ("proposed", "standing"):
            raise _fallen(tx, target, f"$.args.supersedes[{index}]", reach(tx, admission, space))
    for index, target in enumerate(found.narrows):
        at = f"$.args.narrows[{index}]"
        if target.state != "standing" or target.key != args.key:
            raise invalid(f"{at}: {target.decision_id} is no decision for {args.key} that stands")
        if target.place == place or not places.inside(place, target.place):
            raise invalid(
                f"{at}: what narrows {target.decision_id} lies inside its place, and is not all of it"
            )
    return found


def _look_up(
    tx: Transaction, admission: Admission, space: SpaceRow, refs: Sequence[str], member: str
) -> list[DecisionRow]:
    """Raises Refusal ``not-found``, ``forbidden`` or ``invalid``."""
    if len(set(refs)) != len(refs):
        raise invalid(f"$.args.{member}: its items must be distinct, and one is there twice")
    return [_in_space(tx, admission, space, ref) for ref in refs]


def _in_space(tx: Transaction, admission: Admission, space: SpaceRow, ref: str) -> DecisionRow:
    row = rows.decision(tx, ref)
    if row is None or row.space != space.position:
        raise not_found("decision in this space", ref)
    objects.referable(tx, admission, space, ids.text("contrib", row.id))
    return row


def _fallen(view: View, row: DecisionRow, at: str, reaches: rows.Reaches) -> Exception:
    bears = rows.bearing(view, row, None, reaches)
    after = f"; {bears.superseded_by} stands in its place" if bears.superseded_by is not None else ""
    return stale_revision(row.revision, f"{at}: {row.decision_id} is {row.state}{after}; look at it again")


def _proposed_because(
    tx: Transaction,
    admission: Admission,
    space: SpaceRow,
    args: TallystickDecisionRecordArgs,
    named: _Named,
) -> str | None:
    """Why it may only be proposed, or is; None where it stands at once."""
    of_an_agent = admission.agent is not None or admission.invocation is not None
    if of_an_agent and calls.of(tx).is_gated(tx, space, rows.GATE):
        return "gate"
    if any(each.is_signed for each in named.supersedes):
        return "ratified"
    if given(args.origin, "own") == "quoted":
        return "quoted"
    return "asked" if given(args.proposed, False) else None


def _check_may_supersede(
    tx: Transaction, request: AnyRequest, admission: Admission, space: SpaceRow, target: DecisionRow
) -> None:
    """What ``contribution_supersede`` needs. Raises Refusal ``forbidden``."""
    if admission.rights(tx, space).stewards:
        return
    made = tx.log_row(target.position)
    if admission.actor not in (made.actor, made.author):
        raise forbidden(
            f"{target.decision_id} is another's: record yours without superseding it, and it is contested "
            f"until a steward of space {space.space_id} settles it ({request.operation.name})"
        )


def _data(args: TallystickDecisionRecordArgs) -> Data:
    said: dict[str, Any] = msgspec.to_builtins(args)
    value: dict[str, Any] = {name: said[name] for name in _SAID if name in said}
    return Data(
        kind=rows.KIND,
        schema_ref=rows.SCHEMA,
        value=value,
        text=f"{args.key} = {args.value}\n\n{args.reason}"[:INLINE_TEXT_SCALARS_MAX],
        sources=given(args.source_refs, ()),
        artifacts=given(args.artifact_refs, ()),
        classification=optional(args.classification_ref),
    )


_SAID: Final = (
    "key",
    "value",
    "reason",
    "repository",
    "paths",
    "origin",
    "supersedes",
    "narrows",
    "depends_on",
    "excludes",
    "tags",
    "reversibility",
    "review_after",
)
"""The members of the arguments that its data part repeats."""


def _labels(
    row: DecisionRow,
    contribution_id: str,
    space: SpaceRow,
    args: TallystickDecisionRecordArgs,
    because: str | None,
) -> Labels:
    paths = optional(args.paths)
    return Labels(
        decision_id=row.decision_id,
        contribution_ref=contribution_id,
        space_id=space.space_id,
        key=row.key,
        state=row.state,
        origin=given(args.origin, "own"),
        proposed_because=because,
        repository=optional(args.repository),
        paths=None if paths is None else list(paths),
        supersedes=list(given(args.supersedes, ())),
        narrows=list(given(args.narrows, ())),
        depends_on=list(given(args.depends_on, ())),
        excludes=[each.key for each in given(args.excludes, ())],
        reversibility=optional(args.reversibility),
        review_after=optional(args.review_after),
    )


# --- standing -----------------------------------------------------------------------------------------------
def _take_effect(
    tx: Transaction,
    admission: Admission,
    space: SpaceRow,
    row: DecisionRow,
    falls: Sequence[DecisionRow],
    excluded_keys: Sequence[str],
    met: Met,
    classification: str,
) -> SpaceRow:
    """What it names falls, what stands with it is written, and its conflicts are told. Returns the space."""
    for target in falls:
        contribution = objects.contribution(tx, ids.text("contrib", target.id))
        assert contribution is not None
        by = ids.text("contrib", row.id)
        space = note(tx, admission, space, contribution, SUPERSEDED, REASON, row.position, by)
    rules.stand(tx, row, excluded_keys, met)
    if met.conflicts:
        others = [
            {"decision_id": rows.id_at(tx, position), "cause": cause}
            for position, cause in sorted(met.conflicts.items())
        ]
        _tell(
            tx, space, row, CONTESTED, classification, {"decision_id": row.decision_id, "conflicts": others}
        )
    return space


def _tell(
    tx: Transaction,
    space: SpaceRow,
    row: DecisionRow,
    type_: str,
    classification: str,
    payload: dict[str, Any],
) -> None:
    tx.emit(
        Event(
            event_id=tx.new_id(),
            type=type_,
            schema_ref=EVENT_SCHEMA,
            resource=row.decision_id,
            resource_revision=row.revision,
            stream=space.position,
            project=space.project,
            classification=classification,
            payload=skeleton.encode(payload),
        )
    )


def adopt(tx: Transaction, request: Request[TallystickDecisionAdoptArgs], admission: Admission) -> Applied:
    """``tallystick_decision_adopt``: by its author or a steward; a quoted one by a steward alone; none that
    only an approval lets stand.
    """
    row, space = seen(tx, admission, request.args.decision_id)
    name = request.operation.name
    check_rights(
        tx, admission, space, may_write(name), f"{name} is for active contributors of {space.space_id}"
    )
    check_open(space)
    check_revision(request, row.revision, f"decision {row.decision_id}")
    if row.state != "proposed":
        raise invalid(f"{row.decision_id} is {row.state}; only what is proposed can be adopted")
    made, labels = tx.log_row(row.position), rows.labels_of(tx, row)
    _check_may_adopt(tx, admission, space, row, labels)
    content = rows.said(tx, row)
    if content is None:
        raise invalid(f"{row.decision_id} was erased; record what holds anew")
    falls = [each for each in _links(tx, row, "supersedes") if each.state in ("proposed", "standing")]
    for target in falls:
        _check_may_supersede(tx, request, admission, space, target)
    new = Candidate(
        key=row.key,
        value=content["value"],
        place=row.place,
        narrows=frozenset(each.position for each in _links(tx, row, "narrows")),
        excludes=[(each["key"], each.get("value")) for each in content.get("excludes", ())],
        passes_over=frozenset({row.position, *(each.position for each in falls)}),
    )
    met = rules.meets(tx, space, new)
    reaches = reach(tx, admission, space)
    others = rows.refs(tx, sorted(met.conflicts), reaches)
    basis = rows.bearing(tx, row, None, reaches)
    row = msgspec.structs.replace(row, state="standing", revision=row.revision + 1)
    tx.update("decisions", {"position": row.position}, state=row.state, revision=row.revision)
    classification = str(made.classification)
    _tell(tx, space, row, ADOPTED, classification, {"decision_id": row.decision_id, "key": row.key})
    space = _take_effect(tx, admission, space, row, falls, labels.excludes, met, classification)
    bears = msgspec.structs.replace(basis, contested_by=others, agreeing=met.agreeing)
    made_by = rows.Made(classification, str(made.author), made.recorded_ms)
    told = rows.record(tx, space, row, made_by, labels, rows.words_of(tx, row, content), bears)
    return Applied(result=told, revision=row.revision)


def _check_may_adopt(
    tx: Transaction, admission: Admission, space: SpaceRow, row: DecisionRow, labels: Labels
) -> None:
    because = labels.proposed_because
    if because in ("gate", "ratified"):
        raise forbidden(
            f"{row.decision_id} stands by an approval alone; open the gate {rows.GATE} of space "
            f"{space.space_id} for it"
        )
    if admission.rights(tx, space).stewards:
        return
    made = tx.log_row(row.position)
    if because == "quoted" or admission.actor not in (made.actor, made.author):
        whom = "a steward" if because == "quoted" else "its author, a steward"
        raise forbidden(f"{row.decision_id} can be adopted by {whom} of space {space.space_id} or the owner")


def _links(view: View, row: DecisionRow, kind: str) -> list[DecisionRow]:
    found = view.all(
        rows.SELECT + "JOIN decision_links AS l ON l.target = d.position WHERE l.decision = ? AND l.kind = ? "
        "ORDER BY d.position",
        row.position,
        kind,
    )
    return [rows.of(values) for values in found]


# --- what commands and reads share --------------------------------------------------------------------------
def seen(view: View, admission: Admission, ref: str) -> tuple[DecisionRow, SpaceRow]:
    """A decision of the project that the actor may read, and its space. Raises Refusal ``not-found``, or
    ``forbidden`` for what is above the actor's ceiling.
    """
    row, project = rows.decision(view, ref), admission.project
    space = None if row is None else view.space_at(row.space)
    if row is None or space is None or project is None or space.project != project.position:
        raise not_found("decision", ref)
    if not admission.sees(view, space):
        raise not_found("decision", ref)
    refuse_unreachable(view, admission, space, rows.classification_at(view, row.position), ref)
    return row, space


def reach(view: View, admission: Admission, space: SpaceRow) -> rows.Reaches:
    """What the actor may read in a space, by classification."""
    if admission.agent is None:
        return lambda _: True
    held = admission.rights(view, space)
    return lambda classification: held.reaches(view, classification)
