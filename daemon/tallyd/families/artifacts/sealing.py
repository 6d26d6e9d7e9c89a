"""Sealing: the work between the two transactions of a finalize, and what is tidied up after uploads.

::

    clerk: first transaction -> vault.seal, on a thread -> clerk: second transaction -> files settled -> reply
           (upload sealing)                                       (upload ended)

One upload is sealed by one run at a time. A client that goes away ends nothing; a daemon that stops ends the
runs, whose uploads stay ``sealing`` and can be finalized again. When a finalize or an abort is answered, the
plain bytes are gone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

import msgspec

from tallyd.families.artifacts import rows
from tallyd.families.shared.family import Errand
from tallyd.families.shared.host import Host
from tallyd.ledger.view import View
from tallyd.store.lacks import lack_of
from tallyd.vault import Order, Sealing, Stopped
from tallystick.protocol.problems import Problem, internal, unavailable

logger = logging.getLogger("tallyd.sealing")

_LOOK_SECONDS: Final = 60.0
"""Between two looks: staging bytes of an upload that expired stay no longer than this."""


class SealingWork(msgspec.Struct, frozen=True, eq=False):
    """A run of the vault for one upload."""

    order: Order

    @property
    def key(self) -> str:
        """One run at a time for an upload."""
        return self.order.upload_id

    @property
    def phases(self) -> tuple[str, str]:
        """The first transaction is durable and no byte was sealed; the sealed file is on the disk."""
        return "after_seal_txn", "after_seal"

    def run(self, host: Host, should_stop: Callable[[], bool]) -> Sealing:
        """Reads the staging file once: hashed, sealed, on the disk. Raises OSError, Stopped."""
        return host.vault.seal(self.order, should_stop)

    def settle(self, host: Host, outcome: Any) -> None:
        """What the durable store says decides. A run that no row names is thrown away whole once its upload
        has ended, and kept while it is open, because a transaction whose outcome is unknown may yet be found
        on the disk. Raises OSError.
        """
        row = host.read(lambda view: rows.find_upload(view, self.key))
        if row is None or row.terminal_ms is None:
            return
        if row.state != "completed" or row.sealed_storage_version != outcome.version:
            host.vault.discard(outcome)
        host.vault.staging.drop(self.key)

    def gave_up(self, failure: Exception) -> Problem:
        """Nothing was applied, and the same command goes on with it."""
        if isinstance(failure, Stopped):
            detail = f"the daemon is stopping; send the same again, and upload {self.key} is gone on with"
        elif (lack := lack_of(failure)) is not None:
            detail = f"upload {self.key} could not be sealed: {lack}; send the same again later"
            logger.warning("%s", detail)
        elif isinstance(failure, OSError):
            why = f"upload {self.key} could not be sealed ({failure.strerror})"
            detail = f"{why}; see to the disk, and send the same again"
            logger.error("%s", detail)
        else:
            logger.error("sealing upload %s failed, which is a defect", self.key, exc_info=failure)
            return internal(f"sealing upload {self.key} failed; the daemon's log says why").problem
        return unavailable(detail, "not_applied").problem


def _look(_view: View) -> bool:
    """There may always be something: what there is, the directory says."""
    return True


def _drop_ended(host: Host, _due: bool) -> None:
    """Removes staging files whose uploads ended without a reply to wait for: those that expired."""
    names = host.vault.staging.names()
    if not names:
        return
    for row in host.read(lambda view: [rows.find_upload(view, name) for name in names]):
        if row is not None and row.terminal_ms is not None and not host.is_busy(row.upload_id):
            host.vault.staging.drop(row.upload_id)


DROP_ENDED: Final = Errand(
    name="artifact_staging_sweep", look=_look, clean=_drop_ended, every_seconds=_LOOK_SECONDS
)
