"""The first rows of a store, and the row of an adoption: what opening asks of the ledger."""

from __future__ import annotations

from collections.abc import Callable

from tallyd.ledger import ids, log, skeleton
from tallyd.ledger.log import Log, LogRow
from tallyd.store.ambient import Ambient
from tallyd.store.identity import Epoch, Identity
from tallyd.store.keys import Keys
from tallyd.store.writer import Writer


def bootstrap(ambient: Ambient) -> Callable[[Writer, Identity, Keys], None]:
    """Writes realm, built-in deployment and the log's first row, inside the transaction that makes the
    store.
    """

    def write(db: Writer, identity: Identity, _keys: Keys) -> None:
        now = ambient.wall_ms()
        db.execute(
            "INSERT INTO realm (realm_id, revision, name, status, home_region, auth_policy_ref, "
            "retention_policy_ref, "
            "encryption_key_ref, created_ms) VALUES (?, 1, 'personal', 'active', 'local', 'auth-local-uds', "
            "'ret-default', "
            "'enc-none-plain', ?)",
            (ids.REALM_ID, now),
        )
        db.execute(
            "INSERT INTO deployments (deployment_id, revision, assistant_revision_id, security_profile, "
            "status, created_ms) "
            "VALUES ('dep-local-dev', 1, 'asstrev-local-dev', 'developer', 'active', ?)",
            (now,),
        )
        _append(db, ambient, identity.epoch, "realm_bootstrap", {"store": identity.store_id})

    return write


def adoption(ambient: Ambient) -> Callable[[Writer, Identity, Epoch], None]:
    """Writes the audit row of a new epoch, inside the transaction that begins it."""

    def write(db: Writer, identity: Identity, epoch: Epoch) -> None:
        _append(
            db,
            ambient,
            epoch,
            "store_adopt",
            {"store": identity.store_id, "abandoned_epoch": epoch.number - 1},
        )

    return write


def _append(
    db: Writer, ambient: Ambient, epoch: Epoch, operation: str, detail: dict[str, object]
) -> None:
    log_ = Log(db)
    log_.begin()
    log_.append(
        LogRow(
            position=log_.next_position,
            leaf=b"",
            epoch=epoch.number,
            recorded_ms=log_.now_ms(ambient.wall_ms()),
            actor=ids.SYSTEM,
            strength="process",
            operation=operation,
            mode="owner",
            outcome=log.APPLIED,
            detail=skeleton.encode(detail).decode(),
            salt=ambient.random(log.SALT_BYTES),
        )
    )
