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
those that do not pass, so that a store in order is answered as a client of the protocol expects. A family
gives its own checks (``Family.checks``); those of the store itself are here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tallyd.admission import Admission
from tallyd.families.shared.host import FAIL, PASS, WARN, Check, Found, Host, InSlice
from tallyd.families.shared.results import Served, given
from tallyd.ledger import ids, skeleton, times
from tallyd.ledger.verify import Fault, Walk
from tallyd.ledger.view import View
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.service import DiagnoseArgs
from tallystick.protocol.problems import invalid


def diagnose(
    host: Host, view: View, request: Request[DiagnoseArgs], _admission: Admission, in_slice: InSlice
) -> Served:
    """Runs the checks one after the other; ``in_slice`` gives each piece its own read transaction."""
    checks = {check.name: check for check in host.checks}
    named, rows = named_checks(request, checks), []
    for name in named or checks:
        found = checks[name].run(host, view, in_slice)
        if named or checks[name].is_protocols or found.status != PASS:
            rows.append({"check": name, "status": found.status, "detail": found.detail})
    worst = next((status for status in (FAIL, WARN) if any(row["status"] == status for row in rows)), PASS)
    said = {"status": worst, "checks": rows, "generated_at": times.rfc3339(view.wall_ms())}
    return Served(skeleton.encode(said))


def named_checks(request: Request[DiagnoseArgs], checks: Mapping[str, Check]) -> Sequence[str]:
    """The checks asked for by name. Raises Refusal ``invalid``."""
    named = given(request.args.checks, ())
    for index, name in enumerate(named):
        if name not in checks:
            raise invalid(f"$.args.checks[{index}] is no check; there are {', '.join(checks)}")
    return named


# --- checks of the store itself -----------------------------------------------------------------------------
def _at_once(name: str, look: Callable[[Host, View], Found], *, is_protocols: bool = False) -> Check:
    """A check that is one short read."""

    def run(host: Host, view: View, in_slice: InSlice) -> Found:
        found = in_slice(lambda: look(host, view))
        assert isinstance(found, Found)
        return found

    return Check(name=name, is_protocols=is_protocols, run=run)


def _store_bootstrap(_host: Host, view: View) -> Found:
    realm = view.one("SELECT 1 FROM realm WHERE realm_id = ?", ids.REALM_ID)
    first = view.one("SELECT operation FROM log WHERE position = 0")
    if realm is None or first is None:
        return Found(
            FAIL, "the realm or the log's first row is missing; stop the daemon and restore a verified copy"
        )
    return Found(PASS, f"store {view.identity.store_id}, epoch {view.epoch}")


def _journal_mode(_host: Host, view: View) -> Found:
    row = view.one("PRAGMA journal_mode")
    mode = None if row is None else str(row[0])
    return Found(PASS if mode == "wal" else FAIL, f"journal_mode is {mode}")


def _integrity(_host: Host, view: View) -> Found:
    rows = [str(row[0]) for row in view.all("PRAGMA integrity_check(8)")]
    if rows == ["ok"]:
        return Found(PASS, "SQLite finds nothing")
    return Found(
        FAIL, "SQLite reports damage: " + "; ".join(rows) + "; stop the daemon and restore a verified copy"
    )


def _suppressed_refusals(_host: Host, view: View) -> Found:
    begun = view.number("SELECT count(*) FROM log WHERE outcome = 'suppressed-begin'")
    told = view.number("SELECT count(*) FROM log WHERE outcome = 'suppressed'")
    if begun <= told:
        return Found(PASS, f"{told} suppressions, each with its count")
    return Found(
        WARN, f"{begun - told} suppressions of refusals have no count: the daemon died, or one goes on now"
    )


def _container_layer(host: Host, _view: View) -> Found:
    note = host.file_system.note
    if not host.file_system.container_layer or note is None:
        return Found(PASS, note or f"on {host.file_system.type}")
    return Found(WARN, note)


_NAMES_SHOWN: Final = 8


def _undeclared_names(host: Host, view: View) -> Found:
    """Names in use that the owner's order does not know: a ceiling does not hold what is classified so."""
    orders = view.orders
    policies = [str(row[0]) for row in view.all(host.policies_in_use)]
    classifications = [str(row[0]) for row in view.all(host.classifications_in_use)]
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


def _first_of(names: Sequence[str], between: str = ", ") -> str:
    more = len(names) - _NAMES_SHOWN
    return between.join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _walk(_host: Host, view: View, in_slice: InSlice) -> Found:
    walk = in_slice(lambda: Walk(view))
    assert isinstance(walk, Walk)
    slices = walk.slices()
    while True:
        step = in_slice(lambda: next(slices, "end"))
        if step == "end":
            break
        if step is not None:
            assert isinstance(step, Fault)
            return _broken([*walk.damaged, step])
    if walk.damaged:
        return _broken(walk.damaged)
    return Found(PASS, f"{walk.rows} rows, each of which matches its leaf")


def _broken(faults: Sequence[Fault]) -> Found:
    told = _first_of([f"log row {fault.position}: {fault.cause}" for fault in faults], "; ")
    return Found(FAIL, f"{told}; stop the daemon, keep the files, and restore a verified copy")


CHECKS: Final = (
    _at_once("store_bootstrap", _store_bootstrap, is_protocols=True),
    _at_once("journal_mode", _journal_mode, is_protocols=True),
    Check(name="audit_chain", is_protocols=True, run=_walk),
    _at_once("integrity", _integrity),
    _at_once("suppressed_refusals", _suppressed_refusals),
    _at_once("container_layer", _container_layer),
    _at_once("undeclared_names", _undeclared_names),
)
