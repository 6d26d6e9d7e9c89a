"""Artifacts: declared, uploaded, sealed, read back.

``uploads`` has the commands and reads, ``rows`` the rows and their states, ``transfer`` the bytes over the
socket, ``sealing`` the work between the two transactions of a finalize, ``check`` a check of ``diagnose``.
"""

from __future__ import annotations

from typing import Final

from tallyd.families.artifacts import transfer, uploads
from tallyd.families.artifacts.check import ARTIFACT_STORE
from tallyd.families.artifacts.sealing import DROP_ENDED
from tallyd.families.shared.family import Family, asks, read, write
from tallystick.protocol.families.artifacts import (
    ARTIFACT_SHOW,
    ARTIFACT_UPLOAD_ABORT,
    ARTIFACT_UPLOAD_BEGIN,
    ARTIFACT_UPLOAD_CREDENTIAL,
    ARTIFACT_UPLOAD_FINALIZE,
    ARTIFACT_UPLOAD_SHOW,
    DISCLOSURE_MANIFEST_SHOW,
    OPERATIONS,
    TALLYSTICK_ARTIFACT_BEGIN,
    TALLYSTICK_ARTIFACT_GET,
    TALLYSTICK_ARTIFACT_LIST,
    TALLYSTICK_ARTIFACT_PUT,
)

FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(ARTIFACT_UPLOAD_BEGIN, uploads.begin),
        read(ARTIFACT_UPLOAD_SHOW, uploads.upload_show),
        asks(ARTIFACT_UPLOAD_CREDENTIAL, uploads.credential),
        write(ARTIFACT_UPLOAD_FINALIZE, uploads.finalize, first_step=uploads.begin_sealing),
        write(ARTIFACT_UPLOAD_ABORT, uploads.abort),
        read(ARTIFACT_SHOW, uploads.show),
        write(TALLYSTICK_ARTIFACT_BEGIN, uploads.begin_chunked),
        asks(TALLYSTICK_ARTIFACT_PUT, transfer.put),
        read(TALLYSTICK_ARTIFACT_LIST, uploads.list_, scans=True),
        asks(TALLYSTICK_ARTIFACT_GET, transfer.get),
        read(DISCLOSURE_MANIFEST_SHOW, uploads.disclosure_manifest_show),
    ),
    errands=(uploads.EXPIRY, DROP_ENDED),
    checks=(ARTIFACT_STORE,),
    classifications=("SELECT classification_ref FROM artifacts",),
)
