"""The check that ``diagnose`` makes of artifacts' files."""

from __future__ import annotations

from functools import partial
from typing import Final

from tallyd.families.artifacts import rows
from tallyd.families.shared.host import FAIL, PASS, Check, Found, Host, InSlice
from tallyd.ledger.view import ContentDamaged, View


def _files(host: Host, view: View, in_slice: InSlice) -> Found:
    """The files are looked at when the read is over: nothing waits for a disk inside a transaction."""
    found = in_slice(lambda: rows.with_files(view))
    assert isinstance(found, list)
    kept = [row for row in found if row.state == "available"]
    for row in kept:
        assert row.size is not None
        assert row.sealed_storage_version is not None
        fault = host.vault.fault(row.artifact_id, row.sealed_storage_version, row.size) or in_slice(
            partial(_fault_of_key, view, row)
        )
        # One that was erased while this check looks has no file any more, and is none to complain of.
        if fault is not None and in_slice(partial(_still_available, view, row.position)):
            return Found(FAIL, f"artifact {row.artifact_id}: {fault}; restore its file from a verified copy")
    return Found(PASS, f"{len(kept)} artifacts, each with its sealed file")


def _fault_of_key(view: View, row: rows.ArtifactRow) -> str | None:
    assert row.keys is not None
    try:
        view.object_keys(row.keys)
    except ContentDamaged as damaged:
        return f"its key, which log row {damaged.position} brought, cannot be opened"
    return None


def _still_available(view: View, position: int) -> bool:
    return rows.artifact_at(view, position).state == "available"


ARTIFACT_STORE: Final = Check(name="artifact_store", is_protocols=True, run=_files)
