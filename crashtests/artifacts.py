"""Uploads and artifacts of the prepared store: one for each cell that ends one, their bytes written where
they belong.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Final

from harness.wire import Request, Wire, request

from tallystick.protocol.operation import Socket

BYTES: Final = b"The washer, photographed: worn through on one side.\n"
OTHER_BYTES: Final = b"The washer, photographed: worn through on one side?\n"
"""As many, and not what was declared."""
TO_FINALIZE: Final = ("finalize", "finalize other bytes")
OPEN: Final = ("abort", "abort with a reason", "another")

JsonObject = dict[str, Any]


def declared(content: bytes = BYTES, **more: object) -> JsonObject:
    """What a begin says of bytes."""
    return {
        "declared_raw_sha256": hashlib.sha256(content).hexdigest(),
        "declared_size": len(content),
        "declared_media_type": "text/plain",
        **more,
    }


def begin(key: str, operation: str = "artifact_upload_begin", content: bytes = BYTES) -> Request:
    return request(Socket.CLIENT, operation, declared(content), key=key)


def finalize(key: str, upload_id: str) -> Request:
    return request(Socket.CLIENT, "artifact_upload_finalize", {"upload_id": upload_id}, key=key)


def show(artifact_id: str) -> Request:
    return request(Socket.CLIENT, "artifact_show", {"artifact_id": artifact_id})


def get(artifact_id: str) -> Request:
    return request(Socket.CLIENT, "tallystick_artifact_get", {"artifact_id": artifact_id, "offset": 0})


def stage(client: Wire, upload_id: str, content: bytes = BYTES) -> None:
    """Writes the bytes as a client of KCP's does: into the file that the credential names."""
    asked = request(Socket.CLIENT, "artifact_upload_credential", {"upload_id": upload_id})
    Path(client.ask(asked).result["credential"]["path"]).write_bytes(content)


def made(client: Wire) -> dict[str, str]:
    """An upload for each cell, by its name, and an artifact that can be carried; ``<name>'s artifact`` is the
    artifact of an upload.
    """
    found: dict[str, str] = {}
    for name in (*TO_FINALIZE, *OPEN, "carried"):
        upload = client.ask(begin(f"w-{name.replace(' ', '-')}")).result
        found[name], found[f"{name}'s artifact"] = upload["upload_id"], upload["artifact_id"]
        if name not in OPEN:
            stage(client, found[name], OTHER_BYTES if name == "finalize other bytes" else BYTES)
    sealed = client.ask(finalize("w-carried-finalize", found["carried"])).result
    assert sealed["state"] == "completed"
    return found
