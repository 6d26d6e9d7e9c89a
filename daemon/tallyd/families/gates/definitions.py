"""Defining gates, changing their rules, retiring them, and listing them.

Stewards do, and the owner. But a gate whose verdicts are signed is weakened by a signature alone: otherwise
whoever reaches the owner's socket would make the gate ask for less, and then approve.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from tallyd.admission import Admission
from tallyd.families.gates import rows
from tallyd.families.gates.rows import ACTIVE, GateRow, Rules
from tallyd.families.shared.results import (
    Served,
    check_open,
    check_revision,
    given,
    optional,
    space_in,
)
from tallyd.ledger import agents, keys, pages
from tallyd.ledger.keys import Proof
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import SpaceRow, View
from tallystick.protocol import limits
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.gates import (
    DEFINED,
    RETIRED,
    DecidersArgs,
    TallystickGateDefineArgs,
    TallystickGateListArgs,
    TallystickGateRetireArgs,
)
from tallystick.protocol.problems import invalid, not_found, stale_revision, unauthenticated
from tallystick.protocol.statements import RANKS, GateStatement

EVENT_SCHEMA = "schema:tallystick-gate-event-v1"
_QUORUM = 1
_ROUNDS_MAX = 3


# --- defining -----------------------------------------------------------------------------------------------
def define(tx: Transaction, request: Request[TallystickGateDefineArgs], admission: Admission) -> Applied:
    """``tallystick_gate_define``: a new gate, or new rules of one that is there."""
    args = request.args
    space = space_in(tx, admission, args.space_id)
    check_open(space)
    rules = _rules(tx, args)
    before = rows.named(tx, space, args.name)
    if before is None:
        if request.meta is not None and request.meta.expected_revision is not UNSET:
            raise invalid("$.meta.expected_revision: there is no such gate yet; leave it out")
        if args.endorsement is not UNSET:
            raise _needless(args.name)
        return _make(tx, admission, space, args.name, rules)
    check_revision(request, before.revision, f"gate {before.name}")
    _refuse_retired(before)
    proof = _endorsed(tx, space, before, rules, "active", args.endorsement)
    row = msgspec.structs.replace(before, revision=before.revision + 1, last_event=tx.position)
    row = _with(row, rules)
    tx.update(
        "gates",
        {"position": row.position},
        revision=row.revision,
        rank=row.rank,
        quorum=row.quorum,
        deciders=row.deciders,
        term_seconds=row.term_seconds,
        rounds_max=row.rounds_max,
        last_event=row.last_event,
    )
    return _told(tx, space, row, DEFINED, proof)


def _make(tx: Transaction, admission: Admission, space: SpaceRow, name: str, rules: Rules) -> Applied:
    row = GateRow(
        position=tx.position,
        id=tx.new_id(),
        space=space.position,
        name=name,
        revision=1,
        rank=rules.rank,
        quorum=rules.quorum,
        deciders=rows.stored(rules.deciders),
        term_seconds=rules.term_seconds,
        rounds_max=rules.rounds_max,
        last_event=tx.position,
        state=ACTIVE,
    )
    tx.insert("gates", **{field: getattr(row, field) for field in row.__struct_fields__})
    tx.emit(_event(row, space, DEFINED, row.id, rows.record(tx, space, row, admission.author, tx.now_ms)))
    return Applied(revision=1)


def _with(row: GateRow, rules: Rules) -> GateRow:
    return msgspec.structs.replace(
        row,
        rank=rules.rank,
        quorum=rules.quorum,
        deciders=rows.stored(rules.deciders),
        term_seconds=rules.term_seconds,
        rounds_max=rules.rounds_max,
    )


def _rules(view: View, args: TallystickGateDefineArgs) -> Rules:
    """The rules that are asked for. Raises Refusal ``not-found`` for a decider that there is not, ``invalid``
    for a quorum of signers that nobody could check.
    """
    deciders = _deciders(view, given(args.deciders, DecidersArgs()))
    rank, quorum = RANKS[args.minimum], given(args.quorum, _QUORUM)
    if rank >= rows.SIGNED and quorum > 1 and len(deciders.signers) < quorum:
        raise invalid(
            f"$.args.deciders.signers names {len(deciders.signers)} signers, and $.args.quorum is {quorum}: "
            "a gate whose verdicts are signed by several names at least as many"
        )
    return Rules(
        rank,
        quorum,
        deciders,
        given(args.term_seconds, limits.GATE_TERM_SECONDS_DEFAULT),
        given(args.rounds_max, _ROUNDS_MAX),
    )


def _deciders(view: View, args: DecidersArgs) -> rows.Deciders:
    named = rows.Deciders(
        owner=given(args.owner, True),
        agents=tuple(sorted(given(args.agents, ()))),
        signers=tuple(sorted(given(args.signers, ()))),
    )
    for agent_id in named.agents:
        if agents.agent(view, agent_id) is None:
            raise not_found("agent", agent_id)
    known = {row.signer_id for row in keys.of_keyring(view)} if named.signers else set()
    for signer in named.signers:
        if signer not in known:
            raise not_found("signer", signer)
    return named


# --- retiring -----------------------------------------------------------------------------------------------
def retire(tx: Transaction, request: Request[TallystickGateRetireArgs], admission: Admission) -> Applied:
    """``tallystick_gate_retire``."""
    args = request.args
    space = space_in(tx, admission, args.space_id)
    check_open(space)
    before = rows.named(tx, space, args.name)
    if before is None:
        raise not_found("gate", args.name)
    check_revision(request, before.revision, f"gate {before.name}")
    _refuse_retired(before)
    proof = _endorsed(tx, space, before, before.rules, "retired", args.endorsement)
    row = msgspec.structs.replace(
        before, revision=before.revision + 1, state="retired", last_event=tx.position
    )
    tx.update(
        "gates",
        {"position": row.position},
        revision=row.revision,
        state=row.state,
        last_event=row.last_event,
    )
    return _told(tx, space, row, RETIRED, proof)


def _refuse_retired(row: GateRow) -> None:
    if row.state != ACTIVE:
        raise stale_revision(
            row.revision, f"gate {row.name} was retired, and its name is not used again; choose another"
        )


def _told(tx: Transaction, space: SpaceRow, row: GateRow, type_: str, proof: Proof | None) -> Applied:
    if proof is not None:
        keys.counted(tx, proof)
    first = tx.log_row(row.position)
    said = rows.record(tx, space, row, str(first.author), first.recorded_ms)
    tx.emit(_event(row, space, type_, tx.new_id(), said))
    return Applied(revision=row.revision)


def _event(row: GateRow, space: SpaceRow, type_: str, digits: bytes, payload: bytes) -> Event:
    return Event(
        event_id=digits,
        type=type_,
        schema_ref=EVENT_SCHEMA,
        resource=row.gate_id,
        resource_revision=row.revision,
        stream=space.position,
        project=space.project,
        classification=space.default_classification_ref,
        payload=payload,
    )


# --- what weakens -------------------------------------------------------------------------------------------
def weakens(before: Rules, after: Rules) -> bool:
    """Whether rules ask for less than others did, or of others."""
    return (
        after.rank < before.rank
        or after.quorum < before.quorum
        or after.deciders != before.deciders
        or after.term_seconds > before.term_seconds
    )


def _endorsed(
    view: View,
    space: SpaceRow,
    before: GateRow,
    after: Rules,
    state: Literal["active", "retired"],
    endorsement: str | UnsetType,
) -> Proof | None:
    """Who signed for a change of a gate; None where nobody has to. Raises Refusal ``unauthenticated``, or
    ``invalid`` for an endorsement that is not needed.
    """
    at, rules = "$.args.endorsement", before.rules
    weaker = state != ACTIVE or weakens(rules, after)
    there = any(row.rank >= rules.rank for row in keys.of_keyring(view))
    if rules.rank < rows.SIGNED or not weaker or not there:
        if endorsement is not UNSET:
            raise _needless(before.name)
        return None
    signature = optional(endorsement)
    if signature is None:
        raise unauthenticated(
            f"this weakens gate {before.name}, whose verdicts are signed: have the statement with the rules "
            "as they will be signed by one who decides there, and send that as endorsement"
        )
    endorser = keys.signed_by(view, signature, at)
    if endorser.rank < rules.rank:
        raise unauthenticated(f"{at}: {endorser.key_id} is weaker than gate {before.name} asks for")
    named = rules.deciders.signers
    if named and endorser.signer_id not in named:
        raise unauthenticated(f"{at}: {endorser.signer_id} is none of the signers of gate {before.name}")
    return keys.prove(signature, _statement(view, space, before, after, state), endorser, at)


def _needless(name: str) -> Exception:
    return invalid(f"$.args.endorsement: nothing here weakens gate {name} as a signed one; leave it out")


def _statement(
    view: View, space: SpaceRow, before: GateRow, after: Rules, state: Literal["active", "retired"]
) -> GateStatement:
    return GateStatement(
        store=keys.store(view),
        epoch=view.epoch,
        space=space.space_id,
        gate=before.name,
        revision=before.revision,
        minimum=rows.STRENGTHS[after.rank],
        quorum=after.quorum,
        owner=after.deciders.owner,
        agents=after.deciders.agents,
        signers=after.deciders.signers,
        term_seconds=after.term_seconds,
        rounds_max=after.rounds_max,
        state=state,
        after=rows.last_leaf(view, before),
    )


# --- what others ask ----------------------------------------------------------------------------------------
def gated(view: View, space: SpaceRow, name: str) -> bool:
    """Whether a space has an active gate of that name."""
    row = rows.named(view, space, name)
    return row is not None and row.state == ACTIVE


def list_(view: View, request: Request[TallystickGateListArgs], admission: Admission) -> Served:
    """``tallystick_gate_list``: in the order in which they were defined, retired ones too."""
    args = request.args
    space, project = space_in(view, admission, args.space_id), admission.project
    assert project is not None
    asked = pages.ask(f"list:gates:{space.space_id}", args)
    snapshot = pages.open_page(view, asked, project)
    return Served(pages.page(view, asked, snapshot, _rows(view, space, snapshot)))


def _rows(view: View, space: SpaceRow, snapshot: pages.Snapshot) -> Iterator[tuple[int, bytes]]:
    found = view.db.execute(
        rows.SELECT + "WHERE space = ? AND position > ? AND position <= ? ORDER BY position",
        (space.position, snapshot.after, snapshot.bound),
    )
    for values in found:
        row = GateRow(*values)
        first = view.log_row(row.position)
        leaf = rows.last_leaf(view, row)
        yield row.position, rows.record(view, space, row, str(first.author), first.recorded_ms, leaf)
