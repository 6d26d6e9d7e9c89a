"""Contributions that other families make: a data part of a schema of ours, then a text for all others.

Whatever a person may ask to be forgotten is the body of a contribution, so that redaction, lenses, assemblies
and exports reach it with nothing added. The data part repeats the labels, so that the digest covers them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tallyd.admission import Admission
from tallyd.families.artifacts import uploads as artifacts
from tallyd.families.contributions.contributions import AROUND_PARTS, Said, Saying, say
from tallyd.families.shared import objects
from tallyd.families.shared.servable import check_servable
from tallyd.ledger.transaction import Transaction
from tallyd.ledger.view import SpaceRow
from tallystick.protocol.canonical import canonical


class Data(msgspec.Struct, frozen=True, kw_only=True):
    """What a family says: the value of its data part, and the text for readers without the schema.

    ``artifacts`` and ``sources`` are references, which their actor must see; ``about`` are the contributions
    that it is about, which the family has looked up already.
    """

    kind: str
    schema_ref: str
    value: Mapping[str, Any]
    text: str
    about: Sequence[str] = ()
    sources: Sequence[str] = ()
    artifacts: Sequence[str] = ()
    classification: str | None = None


def say_data(tx: Transaction, admission: Admission, space: SpaceRow, data: Data) -> Saying:
    """Appends it. Its event is the command's first. Raises Refusal ``not-found`` or ``forbidden`` for what it
    refers to.
    """
    carried = [
        artifacts.referable(tx, admission, space, ref, f"$.args.artifact_refs[{index}]")
        for index, ref in enumerate(data.artifacts)
    ]
    for ref in data.sources:
        objects.referable(tx, admission, space, ref)
    parts = canonical(
        [
            {"schema_ref": data.schema_ref, "value": dict(data.value)},
            {"media_type": "text/plain", "text": data.text},
            *({"artifact_ref": ref} for ref in data.artifacts),
        ]
    )
    check_servable(parts, AROUND_PARTS, "$.args")
    artifacts.refer(tx, carried, tx.position)
    said = Said(
        kind=data.kind,
        parts=parts,
        subjects=list(data.about),
        sources=list(data.sources),
        classification=data.classification,
    )
    return say(tx, admission, space, said)
