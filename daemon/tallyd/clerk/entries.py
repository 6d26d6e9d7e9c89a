"""The one place that makes rows of the log, and appends them.

Every row says who did what, when, under which mode and with what outcome. The kinds of row are:

=================== ========================================================================================
row                 says besides
=================== ========================================================================================
applied             the first event, the idempotency key and its digests, the result, and the commitments to
                    content and state
further event       one of the second and later events of a command, which it names
first step          that the first of a command's two transactions changed the state, and to what
refusal             the problem's kind; the state too, where the refusal changed it
suppressed          how many refusals of an actor were not written down one by one
access              which sensitive objects a read looked at
system command      its events, and the commitment to the state
=================== ========================================================================================

The detail of a row holds nothing of the client's but a keyed digest of its idempotency key. The chain of
leaves is the log's own (``ledger.log``); what a command means is judged elsewhere.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tallyd.admission import Admission
from tallyd.clerk.idempotency import Intent
from tallyd.clerk.members import AccessRecord
from tallyd.clerk.refusals import REFUSALS, SUPPRESSED
from tallyd.ledger import ids, log, skeleton
from tallyd.ledger.log import LogRow
from tallyd.ledger.transaction import Applied, Transaction
from tallyd.store.bodies import mac
from tallystick.protocol.envelope import AnyRequest

_NO_DETAIL: Final = "{}"


# --- rows of commands ---------------------------------------------------------------------------------------
def append_applied(
    tx: Transaction, request: AnyRequest, admission: Admission, wanted: Intent, applied: Applied
) -> list[LogRow]:
    """Writes the row of a command that was applied, one more for each further event, and what finds the
    command again by its key.
    """
    position, salt = tx.position, tx.random(log.SALT_BYTES)
    reply_sequence = _reply_sequence(tx, applied)
    row = msgspec.structs.replace(
        _with_event(tx, _audit_row(tx, request, admission, log.APPLIED, salt, wanted.key), 0),
        idempotency_key=wanted.key,
        key_hash=wanted.key_hash,
        request_digest=wanted.request_digest,
        request_mac=wanted.request_mac(tx.request_key),
        result=applied.result,
        reply_revision=applied.revision,
        reply_sequence=reply_sequence,
        content_commitment=tx.content_commitment(),
        state_commitment=log.state_commitment(salt, tx.state_rows),
    )
    rows = [_append_committed(tx, row)]
    for index in range(1, len(tx.events)):
        further = _audit_row(tx, request, admission, log.APPLIED, tx.random(log.SALT_BYTES), None)
        further = _with_event(tx, msgspec.structs.replace(further, command=position), index)
        rows.append(_append_committed(tx, further))
    tx.index_command(wanted.lookup, position)
    return rows


def append_first_step(tx: Transaction, request: AnyRequest, admission: Admission, key: str) -> None:
    """Writes the row of the first of a command's two transactions, if that changed the state."""
    assert not tx.events, "an event belongs to the transaction that ends the command"
    if not tx.state_rows:
        return
    salt = tx.random(log.SALT_BYTES)
    row = _audit_row(tx, request, admission, log.APPLIED, salt, key)
    name = f"{request.operation.name}#begin"
    state = log.state_commitment(salt, tx.state_rows)
    tx.log.append(msgspec.structs.replace(row, operation=name, state_commitment=state))


def append_refusal(
    tx: Transaction, request: AnyRequest, admission: Admission, outcome: str, key: str | None
) -> None:
    """Writes the one row of a command that was refused and changed nothing."""
    tx.log.append(_audit_row(tx, request, admission, outcome, tx.random(log.SALT_BYTES), key))


def append_changing_refusal(
    tx: Transaction, request: AnyRequest, admission: Admission, outcome: str, key: str
) -> None:
    """Writes the one row of a refusal that changed the state, with the commitment to the change."""
    assert request.operation.refusal_rows, "an operation says in the registry that its refusal may change"
    assert tx.state_rows, "a refusal that changes nothing is raised"
    assert not tx.events, "a refused command has no event"
    assert tx.content_commitment() is None, "a refused command brings no content"
    salt = tx.random(log.SALT_BYTES)
    row = _audit_row(tx, request, admission, outcome, salt, key)
    state = log.state_commitment(salt, tx.state_rows)
    tx.log.append(msgspec.structs.replace(row, state_commitment=state))


# --- rows of the daemon's own -------------------------------------------------------------------------------
def append_suppressed(tx: Transaction, actor: str, what: str, count: int) -> None:
    """Writes how many refusals of an actor, or records of its reads, were left out."""
    said: dict[str, object] = {"count": count}
    if what != REFUSALS:
        said["of"] = what
    tx.log.append(
        _row(
            tx,
            tx.random(log.SALT_BYTES),
            actor=actor,
            operation=SUPPRESSED,
            outcome=SUPPRESSED,
            detail=skeleton.encode(said).decode(),
        )
    )


def append_access(tx: Transaction, record: AccessRecord, outcome: str | None) -> None:
    """Writes who looked at which sensitive objects; with an outcome other than what became of the look, where
    one is given.
    """
    tx.log.append(
        _row(
            tx,
            tx.random(log.SALT_BYTES),
            actor=record.speaker.actor,
            strength=record.speaker.strength,
            operation=record.request.operation.name,
            mode=str(record.request.operation.mode),
            outcome=outcome or ("denied" if record.denied else "read"),
            detail=skeleton.encode({"objects": sorted(set(record.objects))}).decode(),
        )
    )


def append_system_command(tx: Transaction, name: str) -> list[LogRow]:
    """Writes the row of a system command that did something, and one more for each further event."""
    position, salt = tx.position, tx.random(log.SALT_BYTES)
    row = _row(
        tx,
        salt,
        actor=ids.SYSTEM,
        strength="process",
        operation=name,
        mode="owner",
        outcome=log.APPLIED,
        correlation=f"{name}-{position}",
    )
    state = log.state_commitment(salt, tx.state_rows)
    rows = [_append_committed(tx, msgspec.structs.replace(_with_event(tx, row, 0), state_commitment=state))]
    for index in range(1, len(tx.events)):
        further = msgspec.structs.replace(row, command=position, salt=tx.random(log.SALT_BYTES))
        rows.append(_append_committed(tx, _with_event(tx, further, index)))
    return rows


# --- parts of rows ------------------------------------------------------------------------------------------
def _row(
    tx: Transaction,
    salt: bytes,
    *,
    actor: str,
    operation: str,
    outcome: str,
    strength: str = "",
    mode: str = "",
    detail: str = _NO_DETAIL,
    correlation: str | None = None,
) -> LogRow:
    """What every row says. The log derives the leaf when it appends the row."""
    return LogRow(
        position=tx.position,
        leaf=b"",
        epoch=tx.epoch,
        recorded_ms=tx.now_ms,
        actor=actor,
        strength=strength,
        operation=operation,
        mode=mode,
        outcome=outcome,
        detail=detail,
        correlation=correlation,
        salt=salt,
    )


def _audit_row(
    tx: Transaction, request: AnyRequest, admission: Admission, outcome: str, salt: bytes, key: str | None
) -> LogRow:
    """What every row of a client's or worker's command says."""
    detail: dict[str, object] = {} if key is None else {"idem": mac(tx.keys.audit, key.encode()).hex()}
    if tx.sensitive:
        detail["objects"] = sorted(set(tx.sensitive))
    return _row(
        tx,
        salt,
        actor=admission.actor,
        strength=admission.strength,
        operation=request.operation.name,
        mode=admission.mode,
        outcome=outcome,
        detail=skeleton.encode(detail).decode(),
        correlation=request.meta.request_id if request.meta is not None and outcome == log.APPLIED else None,
    )


def _with_event(tx: Transaction, row: LogRow, index: int) -> LogRow:
    """The row with the command's event of that index, if there is one: its sequences are the next of its
    stream and project.
    """
    if index >= len(tx.events):
        return row
    event = tx.events[index]
    sequence = None if event.project is None else tx.log.project_sequence(event.project) + 1
    return msgspec.structs.replace(
        row,
        position=tx.position,
        event_id=event.event_id,
        type=event.type,
        schema_ref=event.schema_ref,
        resource=event.resource,
        resource_revision=event.resource_revision,
        author=tx.author,
        causation=tx.causation,
        classification=event.classification,
        stream=event.stream,
        stream_sequence=tx.log.stream_sequence(event.stream) + 1,
        project=event.project,
        project_sequence=sequence,
        payload=event.payload,
    )


def _append_committed(tx: Transaction, row: LogRow) -> LogRow:
    """Appends a row with the commitment to its payload, result and key."""
    return tx.log.append(msgspec.structs.replace(row, result_commitment=log.result_commitment(row)))


def _reply_sequence(tx: Transaction, applied: Applied) -> int | None:
    """The project sequence that the reply's cursor stands after: of the command's last event."""
    if not applied.cursor or not tx.events or tx.events[0].project is None:
        return None
    return tx.log.project_sequence(tx.events[0].project) + len(tx.events)
