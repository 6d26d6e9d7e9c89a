"""The digest constructions of KCP 0.1 (sections 1.7, 3.2, 3.4); what goes into them is decided elsewhere.

Every digest says what it is a digest of: a kind or domain is hashed with the content, so that the digest of
one thing can never be shown as that of another. Hex is lowercase. Canonical bytes are RFC 8785's
(``canonical``), so values that are not I-JSON raise ``ValueError`` everywhere here.

Plain digests of content that people may want erased do not belong in a store: whoever can guess the content
can confirm it. ``keyed`` is for those, under a secret that is erased with the content.
"""

import hmac
from collections.abc import Collection, Mapping
from functools import cache
from hashlib import sha256
from typing import Final

from tallystick.protocol.canonical import canonical
from tallystick.protocol.limits import (
    DISPLAY_NAME_SCALARS_MAX,
    IDENTIFIER_BYTES_MAX,
    INLINE_TEXT_SCALARS_MAX,
    LIST_ITEMS_MAX,
    PAGE_ITEMS_MAX,
    REPLY_BYTES_MAX,
    REQUEST_BYTES_MAX,
)

_COD_DOMAIN: Final = "dev.kovee.canonical-object-digest.v1"
_TBD_DOMAIN: Final = "dev.kovee.typed-bytes-digest.v1"
_COMMAND_SCHEMA: Final = "https://kovee.example/kcp/v0/kcp-command.schema.json"
_BRANCH_HEAD_REF: Final = "https://kovee.example/kcp/v0/branch-head.v1"


def cod(object_kind: str, schema_ref: str, projection: object) -> str:
    """Canonical object digest: SHA-256, in hex, of a JSON value under its kind and schema (KCP 3.4)."""
    tagged_object = {
        "$domain": _COD_DOMAIN,
        "object_kind": object_kind,
        "projection": projection,
        "protocol_major": 0,
        "schema_ref": schema_ref,
    }
    return sha256(canonical(tagged_object)).hexdigest()


def tbd(domain: str, ref: str, data: bytes) -> str:
    """Typed byte digest: SHA-256, in hex, of bytes under their domain and media type or schema (KCP 3.4).

    Each part is preceded by its length (8 bytes, big-endian), so that no two splits give the same input.
    """
    parts = (_TBD_DOMAIN.encode(), domain.encode(), b"0", ref.encode(), data)
    return sha256(b"".join([len(part).to_bytes(8, "big") + part for part in parts])).hexdigest()


def branch_genesis(branch_id: str) -> str:
    """Head, in hex, of a branch that holds nothing yet (KCP 3.4)."""
    return tbd("branch-head", _BRANCH_HEAD_REF, f"genesis:{branch_id}".encode())


def branch_next(previous_hex: str, sequence: int, object_digest_hex: str) -> str:
    """Head, in hex, after the object with branch sequence ``sequence`` (from 1) was added (KCP 3.4)."""
    return tbd("branch-head", _BRANCH_HEAD_REF, f"{previous_hex}:{sequence}:{object_digest_hex}".encode())


def tagged(tag: str, obj: Mapping[str, object]) -> bytes:
    """Canonical bytes of an object with ``$domain`` added; ``ValueError`` if it has that member (KCP 3.4)."""
    if "$domain" in obj:
        raise ValueError(
            "An object to be tagged has a member $domain, which names the tag: rename the member."
        )
    return canonical({**obj, "$domain": tag})


def keyed(secret: bytes, tag: str, obj: Mapping[str, object]) -> str:
    """HMAC-SHA-256, in hex, of the tagged object: without the secret nobody can test a guess (KCP 3.4)."""
    return hmac.digest(secret, tagged(tag, obj), "sha256").hex()


@cache
def limits_digest() -> str:
    """Digest of the limits that KCP 1.7 names; a client compares it to know whether its own are ours."""
    limits = {
        "request_bytes": REQUEST_BYTES_MAX,
        "reply_bytes": REPLY_BYTES_MAX,
        "identifier_bytes": IDENTIFIER_BYTES_MAX,
        "display_name_scalars": DISPLAY_NAME_SCALARS_MAX,
        "inline_content_scalars": INLINE_TEXT_SCALARS_MAX,
        "list_items": LIST_ITEMS_MAX,
        "page_limit": PAGE_ITEMS_MAX,
    }
    return cod("kcp-limits", "schema:kcp-limits-v1", limits)


def request_projection(
    envelope: Mapping[str, object],
    *,
    surface: str,
    leave_out: Collection[str] = (),
    blank: Collection[str] = (),
) -> dict[str, object]:
    """What a command means, as KCP 3.2 lists it, from a parsed and decoded envelope.

    ``surface`` is ``external_client`` or ``worker``. Request id, idempotency key, trace and causation are
    not part of the meaning. ``leave_out`` names arguments that say who speaks and not what is meant (an
    attempt and its fence); ``blank`` names arguments whose content is replaced by null, so that the digest
    tells nothing about it; ``manifest.runtime`` is the member ``runtime`` of the argument ``manifest``. What
    is not there stays absent in both.
    """
    projection: dict[str, object] = {
        "version": envelope["version"],
        "authority_surface": surface,
        "op": envelope["op"],
        "args": envelope["args"],
        "ext": envelope.get("ext", {}),
    }
    for name in ("realm_id", "project_id"):
        if name in envelope:
            projection[name] = envelope[name]
    meta = envelope.get("meta")
    if isinstance(meta, dict) and "expected_revision" in meta:
        projection["expected_revision"] = meta["expected_revision"]
    if leave_out or blank:
        arguments = envelope["args"]
        assert isinstance(arguments, dict), "the envelope was decoded before it is digested"
        said = {name: value for name, value in arguments.items() if name not in leave_out}
        for path in blank:
            said = _blanked(said, path)
        projection["args"] = said
    return projection


def _blanked(members: dict[str, object], path: str) -> dict[str, object]:
    """``members`` with null at ``path``, if there is something; as they were given they stay as they are."""
    name, _, inner = path.partition(".")
    if name not in members:
        return members
    value = members[name]
    if not inner:
        return {**members, name: None}
    return {**members, name: _blanked(value, inner)} if isinstance(value, dict) else members


def request_digest(projection: Mapping[str, object]) -> str:
    """Digest, in hex, by which a retry is told from another command under the same key (KCP 3.2)."""
    return cod("kcp-command-idempotency", _COMMAND_SCHEMA, projection)
