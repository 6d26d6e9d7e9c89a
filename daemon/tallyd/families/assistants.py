"""Assistants and their revisions: what a deployment deploys. Of the realm: no project, and no project
sequence.

A definition never changes but by new revisions; no operation retires it. A revision is immutable, and its
manifest must say the same as the arguments beside it. What is free in form in a manifest is content; the rest
are identifiers and numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from tallyd.admission import Admission
from tallyd.families.shared.family import Family, read, write
from tallyd.families.shared.results import Served, given, optional
from tallyd.families.shared.servable import check_servable
from tallyd.ledger import ids, pages, skeleton, times
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import View
from tallystick.protocol.canonical import canonical
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.assistants import (
    ASSISTANT_CREATE,
    ASSISTANT_LIST,
    ASSISTANT_REVISION_LIST,
    ASSISTANT_REVISION_REGISTER,
    ASSISTANT_REVISION_SHOW,
    ASSISTANT_SHOW,
    OPERATIONS,
    AssistantCreateArgs,
    AssistantRevisionListArgs,
    AssistantRevisionRegisterArgs,
    AssistantRevisionShowArgs,
    AssistantShowArgs,
    Manifest,
)
from tallystick.protocol.problems import invalid, not_found

CLASS_DEFAULT: Final = "class-default"
BUILT_IN_NAME: Final = "Local developer assistant"
BUILT_IN_DESCRIPTION: Final = "Whatever assistant the owner runs on this machine."
AROUND_RECORDS: Final = 4
"""Reply, result, list and event stand around a record where the realm's events are read."""
_FREE_FORM: Final = ("runtime", "attention_proposals", "network_policy")


class AssistantRow(msgspec.Struct, frozen=True):
    """A row of ``assistants``, its fields in the table's order."""

    position: int
    definition_id: str
    owner_ref: str
    revision: int
    name: int | None
    description: int | None
    status: str
    created_ms: int | None


_COLUMNS: Final = ", ".join(AssistantRow.__struct_fields__)


def realm_event(
    tx: Transaction, type_: str, schema_ref: str, resource: str, stream: int, payload: bytes, **more: object
) -> Event:
    """An event of an object of the realm."""
    digits = more.get("digits")
    revision = more.get("revision")
    return Event(
        event_id=digits if isinstance(digits, bytes) else tx.new_id(),
        type=type_,
        schema_ref=schema_ref,
        resource=resource,
        resource_revision=revision if isinstance(revision, int) else 1,
        stream=stream,
        project=None,
        classification=CLASS_DEFAULT,
        payload=payload,
    )


def realm_created(view: View) -> int:
    """When the realm began: the built-in objects have no time of their own."""
    return view.number("SELECT created_ms FROM realm WHERE realm_id = ?", ids.REALM_ID)


# --- definitions --------------------------------------------------------------------------------------------
def record(view: View, row: AssistantRow) -> bytes:
    """Skeleton of a definition's record."""
    name: object = BUILT_IN_NAME if row.name is None else skeleton.place(skeleton.NAME, row.name)
    described: object = (
        BUILT_IN_DESCRIPTION if row.description is None else skeleton.place(skeleton.NAME, row.description)
    )
    created_ms = realm_created(view) if row.created_ms is None else row.created_ms
    return skeleton.encode(
        {
            "definition_id": row.definition_id,
            "realm_id": ids.REALM_ID,
            "owner_ref": row.owner_ref,
            "revision": row.revision,
            "name": name,
            "description": described,
            "status": row.status,
            "created_at": times.rfc3339(created_ms),
        }
    )


def find(view: View, definition_id: str) -> AssistantRow:
    """Raises Refusal ``not-found``."""
    row = view.db.execute(
        f"SELECT {_COLUMNS} FROM assistants WHERE definition_id = ?", (definition_id,)
    ).fetchone()
    if row is None:
        raise not_found("assistant", definition_id)
    return AssistantRow(*row)


def create(tx: Transaction, request: Request[AssistantCreateArgs], admission: Admission) -> Applied:
    """``assistant_create``."""
    args = request.args
    digits = tx.new_id()
    name, _ = tx.seal(canonical(args.name))
    description, _ = tx.seal(canonical(args.description))
    row = AssistantRow(
        position=tx.position,
        definition_id=ids.text("asst", digits),
        owner_ref=admission.author,
        revision=1,
        name=name,
        description=description,
        status="active",
        created_ms=tx.now_ms,
    )
    tx.insert("assistants", **{field: getattr(row, field) for field in row.__struct_fields__})
    made = record(tx, row)
    schema = "schema:assistant-definition-v1"
    stream = row.position
    tx.emit(
        realm_event(
            tx, "dev.kovee.assistant.created.v1", schema, row.definition_id, stream, made, digits=digits
        )
    )
    return Applied(revision=1)


def show(view: View, request: Request[AssistantShowArgs], _admission: Admission) -> Served:
    """``assistant_show``."""
    args = request.args
    row = find(view, args.definition_id)
    return Served(view.render(record(view, row)), row.revision)


def list_(view: View, request: AnyRequest, _admission: Admission) -> Served:
    """``assistant_list``: in the order in which they were made, the built-in one first."""
    asked = pages.ask("list:assistants", request.args)
    snapshot = pages.open_page(view, asked, "assistants")
    return Served(pages.page(view, asked, snapshot, _rows(view, snapshot)))


def _rows(view: View, snapshot: pages.Snapshot) -> Iterator[tuple[int, bytes]]:
    rows = view.db.execute(
        f"SELECT {_COLUMNS} FROM assistants WHERE position > ? AND position <= ? ORDER BY position",
        (snapshot.after, snapshot.bound),
    )
    for values in rows:
        row = AssistantRow(*values)
        yield row.position, view.render_with_marks(record(view, row))


# --- revisions ----------------------------------------------------------------------------------------------
def register(
    tx: Transaction, request: Request[AssistantRevisionRegisterArgs], admission: Admission
) -> Applied:
    """``assistant_revision_register``."""
    args = request.args
    definition = find(tx, args.definition_id)
    for member in ("definition_id", "version", "package_digest"):
        if getattr(args.manifest, member) != getattr(args, member):
            raise invalid(f"$.args.manifest.{member} must be what $.args.{member} says")
    check_servable(canonical(args), AROUND_RECORDS, "$.args")
    taken = "SELECT 1 FROM assistant_revisions WHERE definition_id = ? AND version = ?"
    if tx.one(taken, args.definition_id, args.version) is not None:
        raise invalid(
            f"$.args.version {args.version} is registered already; a revision never changes: name another"
        )
    digits = tx.new_id()
    revision_id = ids.text("asstrev", digits)
    said = {
        "assistant_revision_id": revision_id,
        "definition_id": args.definition_id,
        "version": args.version,
        "manifest": _manifest(tx, args.manifest),
        "package_artifact_ref": args.package_artifact_ref,
        "package_digest": args.package_digest,
        "config_schema_digest": args.config_schema_digest,
        "sdk_protocol_range": args.sdk_protocol_range,
        "signature_refs": given(args.signature_refs, ()),
        "created_by": admission.author,
        "created_at": tx.now,
    }
    tx.insert(
        "assistant_revisions",
        position=tx.position,
        assistant_revision_id=revision_id,
        definition_id=args.definition_id,
        version=args.version,
    )
    made, schema = skeleton.encode(said), "schema:assistant-revision-v1"
    type_, stream = "dev.kovee.assistant.revision-registered.v1", definition.position
    tx.emit(realm_event(tx, type_, schema, revision_id, stream, made, digits=digits))
    return Applied(revision=1)


def _manifest(tx: Transaction, manifest: Manifest) -> dict[str, object]:
    """The manifest with its free-form members sealed."""
    said: dict[str, object] = {}
    for member in manifest.__struct_fields__:
        value = getattr(manifest, member)
        if member in _FREE_FORM:
            body, _ = tx.seal(canonical(value))
            value = skeleton.place(skeleton.OBJECT, body)
        said[member] = value
    return said


def _built_in_revision(view: View) -> bytes:
    zero = "0" * 64
    manifest = {
        "schema_version": "1",
        "definition_id": "asst-local-dev",
        "version": "local-dev",
        "entrypoint": "local:Assistant",
        "package_digest": zero,
        "runtime": {},
        "supported_worker_protocols": ["0.1"],
        "input_schema_ref": "schema:context-assembly-v1",
        "output_schema_ref": "schema:contribution-body-v1",
        "skills": [],
        "attention_proposals": [],
        "requested_capabilities": [],
        "model_profiles": [],
        "tool_profiles": [],
        "network_policy": {},
        "resource_limits": {"cpu": 0, "memory": 0, "disk": 0, "output_bytes": 0},
        "default_timeout": 0,
        "max_concurrency": 1,
        "causal_concurrency_policy": "serial-branch",
        "checkpoint_support": False,
        "cancellation_support": True,
        "security_profiles": ["developer"],
    }
    return skeleton.encode(
        {
            "assistant_revision_id": "asstrev-local-dev",
            "definition_id": "asst-local-dev",
            "version": "local-dev",
            "manifest": manifest,
            "package_artifact_ref": "art-local-dev",
            "package_digest": zero,
            "config_schema_digest": zero,
            "sdk_protocol_range": "0.1",
            "signature_refs": [],
            "created_by": ids.OWNER,
            "created_at": times.rfc3339(realm_created(view)),
        }
    )


def _revision_at(view: View, position: int) -> bytes:
    if position == 0:
        return _built_in_revision(view)
    payload = view.log_row(position).payload
    assert payload is not None
    return view.render(payload)


def revision_position(view: View, revision_id: str) -> int | None:
    """Where a revision was registered; 0 of the built-in one, None where there is none."""
    row = view.one("SELECT position FROM assistant_revisions WHERE assistant_revision_id = ?", revision_id)
    return None if row is None else int(str(row[0]))


def show_revision(view: View, request: Request[AssistantRevisionShowArgs], _admission: Admission) -> Served:
    """``assistant_revision_show``."""
    args = request.args
    position = revision_position(view, args.assistant_revision_id)
    if position is None:
        raise not_found("assistant revision", args.assistant_revision_id)
    return Served(_revision_at(view, position), 1)


def list_revisions(view: View, request: Request[AssistantRevisionListArgs], _admission: Admission) -> Served:
    """``assistant_revision_list``, narrowed by definition."""
    args = request.args
    definition = optional(args.definition_id)
    if definition is not None:
        find(view, definition)
    asked = pages.ask("list:assistant-revisions", args, (definition,))
    snapshot = pages.open_page(view, asked, "assistant_revisions")
    rows = _revision_rows(view, snapshot, definition)
    return Served(pages.page(view, asked, snapshot, rows))


def _revision_rows(
    view: View, snapshot: pages.Snapshot, definition: str | None
) -> Iterator[tuple[int, bytes]]:
    rows = view.db.execute(
        "SELECT position FROM assistant_revisions WHERE position > ?1 AND position <= ?2 "
        "AND (?3 IS NULL OR definition_id = ?3) ORDER BY position",
        (snapshot.after, snapshot.bound, definition),
    )
    for (position,) in rows:
        yield position, _revision_at(view, position)


FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(ASSISTANT_CREATE, create),
        read(ASSISTANT_SHOW, show),
        read(ASSISTANT_LIST, list_),
        write(ASSISTANT_REVISION_REGISTER, register),
        read(ASSISTANT_REVISION_SHOW, show_revision),
        read(ASSISTANT_REVISION_LIST, list_revisions),
    ),
)
