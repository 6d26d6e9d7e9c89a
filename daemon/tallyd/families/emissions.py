"""What else a worker may ask for: events of its application's own type, and calls to a model.

There is no authority for model calls yet: ``model_complete`` takes its arguments from an attempt that is
there, and answers ``unavailable`` with that reason, before it looks at the fence (KCP section 2). Nothing
leaves the machine.
"""

from __future__ import annotations

from typing import Final

from tallyd.admission import Admission
from tallyd.families.shared.family import Family, write
from tallyd.families.shared.fence import check_fence, step
from tallyd.families.shared.servable import check_servable
from tallyd.ledger import ids, skeleton
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallystick.protocol import limits
from tallystick.protocol.canonical import canonical
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.emissions import (
    APPLICATION_EVENT_EMIT,
    MODEL_COMPLETE,
    OPERATIONS,
    ApplicationEventEmitArgs,
    ModelCompleteArgs,
)
from tallystick.protocol.problems import forbidden, invalid, unavailable

RESERVED: Final = ("dev.kovee.", "dev.tallystick.")
"""Types of events that the system alone writes."""
_AROUND_PAYLOAD: Final = 4
"""Reply, result, list and event stand around a payload where events are read."""


def emit(tx: Transaction, request: Request[ApplicationEventEmitArgs], admission: Admission) -> Applied:
    """``application_event_emit``: into the stream of the invocation's space, or, where it has none, its
    own.
    """
    args = request.args
    invocation = admission.invocation
    assert invocation is not None
    if args.type.startswith(RESERVED):
        raise forbidden(
            f"$.args.type: {' and '.join(RESERVED)} begin the system's own types; use your own domain"
        )
    payload = canonical(args.payload)
    if len(payload) > limits.INLINE_PAYLOAD_BYTES_MAX:
        raise invalid(
            f"$.args.payload is {len(payload)} bytes in canonical form, and "
            f"{limits.INLINE_PAYLOAD_BYTES_MAX} are the most"
        )
    check_servable(payload, _AROUND_PAYLOAD, "$.args.payload")
    stream = invocation.position if invocation.space is None else invocation.space
    body, _ = tx.seal(payload)
    digits = tx.new_id()
    space = None if invocation.space is None else tx.space_at(invocation.space)
    project = tx.project_at(invocation.project)
    assert project is not None
    tx.emit(
        Event(
            event_id=digits,
            type=args.type,
            schema_ref="schema:application-event-v1",
            resource=invocation.invocation_id,
            resource_revision=None,
            stream=stream,
            project=invocation.project,
            classification=(space or project).default_classification_ref,
            payload=b"\0%b%d\0" % (skeleton.OBJECT, body),
        )
    )
    said = {
        "event_id": ids.text("evt", digits),
        "stream_id": tx.resource_at(stream),
        "stream_sequence": tx.log.stream_sequence(stream) + 1,
        "project_sequence": tx.log.project_sequence(invocation.project) + 1,
        "occurred_at": tx.now,
    }
    return Applied(result=skeleton.encode(said))


def complete_model(
    tx: Transaction, request: Request[ModelCompleteArgs], admission: Admission
) -> Applied:
    """``model_complete``: of an attempt that may act. It says no outcome, since nothing is gained by sending
    it again.
    """
    check_fence(tx, request, admission)
    raise unavailable("no authority for model calls is configured: this daemon sends nothing to any provider")


FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(APPLICATION_EVENT_EMIT, step(emit)),
        write(MODEL_COMPLETE, complete_model),
    ),
)
