"""``diagnose``: is the store what it says it is? Each check answers for itself, and none changes anything.

================== ===========================================================================================
check              passes when
================== ===========================================================================================
store_bootstrap    identity, realm and the log's first row are there
journal_mode       the journal is a write-ahead log
audit_chain        every row of the log matches its leaf, its sequences are dense, its content is what came
artifact_store     every available artifact has its sealed file, of the length that it was sealed with
integrity          SQLite's own integrity check finds nothing
suppressed_refusals no suppression of refusals was left without its count by a crash
container_layer    the store does not lie on a container's layer
undeclared_names   what `tallyd.toml` puts in an order, it puts in order all of
================== ===========================================================================================

The first four are the protocol's. Where none is named all are run: the protocol's are told, and of the others
those that do not pass, so that a store in order is answered as a client of the protocol expects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from tallyd.admission import Admission
from tallyd.ledger import ids, skeleton, times
from tallyd.ledger.verify import Walk
from tallyd.ledger.view import View
from tallyd.operations import artifact_rows
from tallyd.operations.results import Served, given
from tallyd.store.filesystem import FileSystem
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.service import DiagnoseArgs
from tallystick.protocol.problems import invalid

PASS: Final = "pass"
WARN: Final = "warn"
FAIL: Final = "fail"

Slice = Callable[[Callable[[], object]], object]
"""Runs a piece of reading as one short read transaction, when the store has room for it."""


class Found(msgspec.Struct, frozen=True):
    """What a check found."""

    status: str
    detail: str


class Place(msgspec.Struct, frozen=True):
    """Where the store lies, as opening found it."""

    file_system: FileSystem
    artifact_fault: Callable[[str, str, int], str | None]
    """What is wrong with the sealed file of an artifact of that id, version and size."""


def _store_bootstrap(view: View, _place: Place) -> Found:
    realm = view.one("SELECT 1 FROM realm WHERE realm_id = ?", ids.REALM_ID)
    first = view.one("SELECT operation FROM log WHERE position = 0")
    if realm is None or first is None:
        return Found(
            FAIL, "the realm or the log's first row is missing; stop the daemon and restore a verified copy"
        )
    return Found(PASS, f"store {view.identity.store_id}, epoch {view.epoch}")


def _journal_mode(view: View, _place: Place) -> Found:
    row = view.one("PRAGMA journal_mode")
    mode = None if row is None else str(row[0])
    return Found(PASS if mode == "wal" else FAIL, f"journal_mode is {mode}")


def _integrity(view: View, _place: Place) -> Found:
    rows = [str(row[0]) for row in view.all("PRAGMA integrity_check(8)")]
    if rows == ["ok"]:
        return Found(PASS, "SQLite finds nothing")
    return Found(
        FAIL, "SQLite reports damage: " + "; ".join(rows) + "; stop the daemon and restore a verified copy"
    )


def _suppressed_refusals(view: View, _place: Place) -> Found:
    begun = view.number("SELECT count(*) FROM log WHERE outcome = 'suppressed-begin'")
    told = view.number("SELECT count(*) FROM log WHERE outcome = 'suppressed'")
    if begun <= told:
        return Found(PASS, f"{told} suppressions, each with its count")
    return Found(
        WARN, f"{begun - told} suppressions of refusals have no count: the daemon died, or one goes on now"
    )


def _container_layer(_view: View, place: Place) -> Found:
    note = place.file_system.note
    if not place.file_system.container_layer or note is None:
        return Found(PASS, note or f"on {place.file_system.type}")
    return Found(WARN, note)


_NAMES_SHOWN: Final = 8

_POLICIES: Final = "SELECT policy_set_ref FROM projects UNION SELECT policy_set_ref FROM spaces ORDER BY 1"
_CLASSIFICATIONS: Final = (
    "SELECT default_classification_ref FROM projects UNION SELECT default_classification_ref FROM spaces "
    "UNION SELECT classification FROM contributions UNION SELECT classification FROM relations "
    "UNION SELECT classification_ref FROM artifacts "
    "UNION SELECT ceiling_ref FROM grants WHERE ceiling_ref IS NOT NULL "
    "UNION SELECT ceiling_ref FROM agents WHERE ceiling_ref IS NOT NULL ORDER BY 1"
)


def _undeclared_names(view: View, _place: Place) -> Found:
    """Names in use that the owner's order does not know: a ceiling does not hold what is classified so."""
    orders = view.orders
    policies = [str(row[0]) for row in view.all(_POLICIES)]
    classifications = [str(row[0]) for row in view.all(_CLASSIFICATIONS)]
    unknown = {
        "policies": [name for name in policies if name not in orders.policies.names],
        "classifications": orders.undeclared(classifications),
    }
    told = "; ".join(f"{kind}: {_first_of(names)}" for kind, names in unknown.items() if names)
    declared = {"policies": orders.policies.names, "classifications": orders.classifications.names}
    if not told:
        return Found(PASS, "every policy and classification in use stands in its order")
    if not any(unknown[kind] for kind, names in declared.items() if names):
        return Found(PASS, f"in use and in no order, where none is declared: {told}")
    return Found(
        WARN,
        f"in use and in no order: {told}; no ceiling keeps back what is classified so, and narrowing takes "
        f"such a policy as it comes: add them to [orders] in tallyd.toml",
    )


def _first_of(names: Sequence[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


AUDIT_CHAIN: Final = "audit_chain"
ARTIFACT_STORE: Final = "artifact_store"
"""Walked in slices, and looked at file by file: these two are no functions of one look."""

CHECKS: Final[dict[str, Callable[[View, Place], Found] | None]] = {
    "store_bootstrap": _store_bootstrap,
    "journal_mode": _journal_mode,
    AUDIT_CHAIN: None,
    ARTIFACT_STORE: None,
    "integrity": _integrity,
    "suppressed_refusals": _suppressed_refusals,
    "container_layer": _container_layer,
    "undeclared_names": _undeclared_names,
}
KCPS: Final = ("store_bootstrap", "journal_mode", AUDIT_CHAIN, ARTIFACT_STORE)
"""The protocol's own checks, which are always told."""


def named_checks(request: Request[DiagnoseArgs]) -> Sequence[str]:
    """The checks asked for by name. Raises Refusal ``invalid``."""
    args = request.args
    named = given(args.checks, ())
    for index, name in enumerate(named):
        if name not in CHECKS:
            raise invalid(f"$.args.checks[{index}] is no check; there are {', '.join(CHECKS)}")
    return named


def diagnose(view: View, request: AnyRequest, _admission: Admission, place: Place, in_slice: Slice) -> Served:
    """Runs the checks one after the other; ``in_slice`` gives each piece its own read transaction."""
    named, rows = named_checks(request), []
    for name in named or CHECKS:
        found = _look(name, view, place, in_slice)
        if name in (named or KCPS) or found.status != PASS:
            rows.append({"check": name, "status": found.status, "detail": found.detail})
    worst = next((status for status in (FAIL, WARN) if any(row["status"] == status for row in rows)), PASS)
    said = {"status": worst, "checks": rows, "generated_at": times.rfc3339(view.wall_ms())}
    return Served(skeleton.encode(said))


def _look(name: str, view: View, place: Place, in_slice: Slice) -> Found:
    check = CHECKS[name]
    if name == AUDIT_CHAIN:
        return _walk(view, in_slice)
    if name == ARTIFACT_STORE:
        return _files(view, place, in_slice)
    assert check is not None
    return _run(view, check, place, in_slice)


def _run(view: View, check: Callable[[View, Place], Found], place: Place, in_slice: Slice) -> Found:
    found = in_slice(lambda: check(view, place))
    assert isinstance(found, Found)
    return found


def _files(view: View, place: Place, in_slice: Slice) -> Found:
    """The files are looked at when the read is over: nothing waits for a disk inside a transaction."""
    rows = in_slice(lambda: artifact_rows.with_files(view))
    assert isinstance(rows, list)
    kept = [row for row in rows if row.state == "available"]
    for row in kept:
        assert row.size is not None
        assert row.sealed_storage_version is not None
        fault = place.artifact_fault(row.artifact_id, row.sealed_storage_version, row.size)
        # One that was erased while this check looks has no file any more, and is none to complain of.
        if fault is not None and in_slice(partial(_still_available, view, row.position)):
            return Found(FAIL, f"artifact {row.artifact_id}: {fault}; restore its file from a verified copy")
    return Found(PASS, f"{len(kept)} artifacts, each with its sealed file")


def _still_available(view: View, position: int) -> bool:
    return artifact_rows.artifact_at(view, position).state == "available"


def _walk(view: View, in_slice: Slice) -> Found:
    walk = in_slice(lambda: Walk(view))
    assert isinstance(walk, Walk)
    slices = walk.slices()
    while True:
        step = in_slice(lambda: next(slices, "end"))
        if step == "end":
            return Found(PASS, f"{walk.rows} rows, each of which matches its leaf")
        if step is not None:
            cause = getattr(step, "cause", "")
            position = getattr(step, "position", "?")
            return Found(
                FAIL,
                f"log row {position}: {cause}; stop the daemon, keep the files, and restore a verified copy",
            )
