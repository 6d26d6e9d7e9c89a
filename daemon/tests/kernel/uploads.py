"""Uploads and artifacts, as clients of the kernel make them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import artifacts

from .kernel import Json, Kernel

BYTES = b"the bytes of an artifact\n"


def declared(content: bytes = BYTES, **more: Any) -> Json:
    """What a begin says of those bytes."""
    return artifacts.declared(content, **more)


def begin(kernel: Kernel, content: bytes = BYTES, **more: Any) -> Json:
    """The upload of an artifact of those bytes."""
    return kernel.ok("artifact_upload_begin", declared(content, **more))


def stage(kernel: Kernel, upload: Json, content: bytes = BYTES) -> Path:
    """Writes the bytes where the credential says."""
    answered = kernel.read("artifact_upload_credential", {"upload_id": upload["upload_id"]})
    path = Path(answered["result"]["credential"]["path"])
    path.write_bytes(content)
    return path


def finalize(kernel: Kernel, upload: Json, **how: Any) -> Json:
    """The reply to its finalize."""
    return kernel.write("artifact_upload_finalize", {"upload_id": upload["upload_id"]}, **how)


def available(kernel: Kernel, content: bytes = BYTES, **more: Any) -> Json:
    """An artifact of those bytes, as its upload's begin called it."""
    upload = begin(kernel, content, **more)
    stage(kernel, upload, content)
    assert finalize(kernel, upload)["result"]["state"] == "completed"
    return upload
