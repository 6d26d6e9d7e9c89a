"""Every operation as a call: which arguments it takes, as which JSON it is sent, and what it gives back.

One function an operation, named as the operation is (``append`` for ``contribution_append``). ``Client`` and
``TrioClient`` have a method of the same name and arguments for each; what a function here returns as
``Write[T]`` their method gives as ``Reply[T]``, and what it returns as ``Read[T]`` it gives as ``T``.

Where an object is wanted, its record or its identifier can be given: a project, a space's branch, an end of a
relation. An append and a relation land at the branch's head wherever that is when they arrive (the extension
``dev.tallystick.append``), so that a person and an assistant do not stand in each other's way; who wants a
compare-and-set instead gives ``expected_head_digest``.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from typing import (
    TYPE_CHECKING,
    Concatenate,
    Final,
    NamedTuple,
    ParamSpec,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
)

from tallystick.core import REALM, Call, Read, Surface, Write
from tallystick.errors import NotSendable
from tallystick.protocol import limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from tallystick.protocol import records
    from tallystick.protocol.ijson import JsonValue

P = ParamSpec("P")
T = TypeVar("T")

IMPLEMENTATION: Final = "tallystick-sdk"
IMPLEMENTATION_VERSION: Final = "0.1.0"
DEPLOYMENT: Final = "dep-local-dev"
"""The built-in deployment of assistants."""
AT_HEAD: Final = {"dev.tallystick.append": {"at_head": True}}
OCTETS: Final = "application/octet-stream"
"""The media type of bytes of which nothing more is said."""
EXPLICIT_REFS: Final = "explicit_refs_v1"
"""The one selection policy: an assembly holds what it was told to hold."""


class SpaceRef(NamedTuple):
    """Where a space is, for whoever has its identifiers and not its record."""

    project_id: str
    space_id: str
    main_branch_id: str


# In quotes, since the records are not imported before they are needed.
Part: TypeAlias = "records.ContributionPart | Mapping[str, JsonValue]"
Linkable: TypeAlias = "records.ObjectRef | records.Contribution | records.Relation"
Named: TypeAlias = "Linkable | str"
Project: TypeAlias = "records.Project | str"
Space: TypeAlias = "records.Space | SpaceRef"


class ReadOptions(TypedDict, total=False):
    """What every read takes: ``deadline_seconds`` for this call, and extensions of the envelope."""

    deadline_seconds: float
    ext: Mapping[str, object]


class WriteOptions(TypedDict, total=False):
    """What every write takes.

    ``key``: the idempotency key, 1 to 128 visible ASCII characters; a new one where it is left out. The same
    key with the same arguments is the same command. ``expected_revision``: refuse (``StaleRevision``) unless
    the aggregate stands there. ``causation_event_ref``, ``traceparent``: what the command's events will name.
    """

    key: str
    expected_revision: int
    causation_event_ref: str
    traceparent: str
    deadline_seconds: float
    ext: Mapping[str, object]


# --- negotiation and service ------------------------------------------------------------------------------
def hello(
    supported_versions: Sequence[str] = ("0.1",), features: Sequence[str] = (), **options: Unpack[ReadOptions]
) -> Read[records.HelloResult]:
    """Which version both speak, and which bundles of operations the daemon serves whole."""
    arguments = {
        "supported_versions": list(supported_versions),
        "implementation": IMPLEMENTATION,
        "implementation_version": IMPLEMENTATION_VERSION,
        "requested_features": list(features),
    }
    return Read("hello", arguments, "HelloResult", realm_id=None, **options)


def protocol_info(**options: Unpack[ReadOptions]) -> Read[records.ProtocolInfo]:
    """What the daemon speaks and serves, without settling anything."""
    return Read("protocol_info", {}, "ProtocolInfo", realm_id=None, **options)


def diagnose(
    checks: Sequence[str] = (), *, project: Project | None = None, **options: Unpack[ReadOptions]
) -> Read[records.Diagnosis]:
    """The daemon's checks of itself; none named means all."""
    return Read(
        "diagnose",
        {"checks": list(checks) or None},
        "Diagnosis",
        project_id=None if project is None else project_id(project),
        **options,
    )


def served_limits(**options: Unpack[ReadOptions]) -> Read[records.ServedLimits]:
    """Every limit that a client can meet, by its name, and the daemon's own bundles."""
    return Read("tallystick_limits", {}, "ServedLimits", realm_id=None, **options)


def status(**options: Unpack[ReadOptions]) -> Read[records.Status]:
    """The daemon as it stands: for its owner."""
    return Read("tallystick_status", {}, "Status", **options)


def shutdown(**options: Unpack[ReadOptions]) -> Read[records.Stopping]:
    """Ask the daemon to finish what it has begun and stop: for its owner. It has no key: it writes nothing.
    """
    return Read("tallystick_shutdown", {}, "Stopping", **options)


# --- realm, projects, spaces ------------------------------------------------------------------------------
def realm_show(**options: Unpack[ReadOptions]) -> Read[records.Realm]:
    """The one realm of an installation."""
    return Read("realm_show", {}, "Realm", **options)


def project_create(
    name: str,
    *,
    default_classification_ref: str | None = None,
    policy_set_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.Project]:
    """A new project; its name has 1 to 256 characters."""
    arguments = {
        "name": name,
        "default_classification_ref": default_classification_ref,
        "policy_set_ref": policy_set_ref,
    }
    return Write("project_create", arguments, "Project", **options)


def project_show(project: Project, **options: Unpack[ReadOptions]) -> Read[records.Project]:
    """A project as it stands now."""
    return Read("project_show", {}, "Project", project_id=project_id(project), **options)


def project_list(
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.ProjectPage]:
    """A page of projects; a following page takes the page's ``next`` as ``after``, and its ``snapshot``."""
    return Read("project_list", _page(limit, after, snapshot), "ProjectPage", **options)


def space_create(
    project: Project,
    title: str,
    *,
    visibility: str = "project",
    purpose_contribution_ref: str | None = None,
    default_classification_ref: str | None = None,
    policy_set_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.Space]:
    """A new space with its main branch; visibility is ``project`` or ``restricted``."""
    arguments = {
        "title": title,
        "visibility": visibility,
        "purpose_contribution_ref": purpose_contribution_ref,
        "default_classification_ref": default_classification_ref,
        "policy_set_ref": policy_set_ref,
    }
    return Write("space_create", arguments, "Space", project_id=project_id(project), **options)


def space_show(project: Project, space_id: str, **options: Unpack[ReadOptions]) -> Read[records.Space]:
    """A space as it stands now."""
    return Read("space_show", {"space_id": space_id}, "Space", project_id=project_id(project), **options)


def space_list(
    project: Project,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.SpacePage]:
    """A page of a project's spaces; ``boundary_event_cursor`` is the project's head as it was then."""
    arguments = _page(limit, after, snapshot)
    return Read("space_list", arguments, "SpacePage", project_id=project_id(project), **options)


# --- what becomes of a project or a space ------------------------------------------------------------------
def project_update_metadata(
    project: Project, name: str, **options: Unpack[WriteOptions]
) -> Write[records.Project]:
    """Another name for a project, of 1 to 256 characters."""
    return Write(
        "project_update_metadata", {"name": name}, "Project", project_id=project_id(project), **options
    )


def space_update_metadata(
    space: Space,
    *,
    title: str | None = None,
    purpose: Named | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.Space]:
    """Another title or purpose for a space; what is left out stays. A purpose is a contribution of the
    space.
    """
    arguments = {
        "space_id": space.space_id,
        "title": title,
        "purpose_contribution_ref": None if purpose is None else identifier(purpose),
    }
    return Write("space_update_metadata", arguments, "Space", project_id=space.project_id, **options)


def space_freeze(space: Space, **options: Unpack[WriteOptions]) -> Write[records.Space]:
    """Nothing further is written in an open space until it is reopened."""
    return _space_write("space_freeze", space, **options)


def space_reopen(space: Space, **options: Unpack[WriteOptions]) -> Write[records.Space]:
    """A frozen space is written in again."""
    return _space_write("space_reopen", space, **options)


def space_archive(space: Space, **options: Unpack[WriteOptions]) -> Write[records.Space]:
    """A space is closed for good; it stays readable."""
    return _space_write("space_archive", space, **options)


def space_restrict(space: Space, **options: Unpack[WriteOptions]) -> Write[records.Space]:
    """A space is there for its participants alone, in whatever status; the way back is a widening."""
    return _space_write("space_restrict", space, **options)


def _space_write(operation: str, space: Space, **options: Unpack[WriteOptions]) -> Write[records.Space]:
    arguments = {"space_id": space.space_id}
    return Write(operation, arguments, "Space", project_id=space.project_id, **options)


def space_policy_narrow(
    space: Space,
    *,
    policy_set_ref: str | None = None,
    default_classification_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.Space]:
    """A narrower policy or default classification; what is left out stays.

    ``Forbidden`` where the owner's declared order says that it would be wider.
    """
    arguments = {
        "space_id": space.space_id,
        "policy_set_ref": policy_set_ref,
        "default_classification_ref": default_classification_ref,
    }
    return Write("space_policy_narrow", arguments, "Space", project_id=space.project_id, **options)


# --- prepared changes -------------------------------------------------------------------------------------
def project_access_policy_change_prepare(
    project: Project,
    *,
    proposed_policy_set_ref: str | None = None,
    proposed_default_classification_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.ProjectAccessPolicyChange]:
    """Prepare another access policy for a project; what is left out stays. Nothing changes until it is
    confirmed.
    """
    arguments = {
        "proposed_policy_set_ref": proposed_policy_set_ref,
        "proposed_default_classification_ref": proposed_default_classification_ref,
    }
    return Write(
        "project_access_policy_change_prepare",
        arguments,
        "ProjectAccessPolicyChange",
        project_id=project_id(project),
        **options,
    )


def project_access_policy_change_show(
    project: Project, change_id: str, **options: Unpack[ReadOptions]
) -> Read[records.ProjectAccessPolicyChange]:
    """A prepared change as it stands now."""
    return Read(
        "project_access_policy_change_show",
        {"change_id": change_id},
        "ProjectAccessPolicyChange",
        project_id=project_id(project),
        **options,
    )


def project_access_policy_change_list(
    project: Project,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.ProjectAccessPolicyChangePage]:
    """A page of a project's prepared changes, in whatever state."""
    return Read(
        "project_access_policy_change_list",
        _page(limit, after, snapshot),
        "ProjectAccessPolicyChangePage",
        project_id=project_id(project),
        **options,
    )


def project_access_policy_change_confirm(
    project: Project, change_id: str, decision_receipt_ref: str, **options: Unpack[WriteOptions]
) -> Write[records.ProjectAccessPolicyChange]:
    """Put a prepared change into force, by the decision that the receipt names.

    ``StaleRevision`` where it has ended, and where the project or a contribution in it has moved since: it
    is ``stale`` then, and has to be prepared anew. ``expected_revision`` is the change's.
    """
    return Write(
        "project_access_policy_change_confirm",
        {"change_id": change_id, "decision_receipt_ref": decision_receipt_ref},
        "ProjectAccessPolicyChange",
        project_id=project_id(project),
        **options,
    )


def project_access_policy_change_cancel(
    project: Project, change_id: str, **options: Unpack[WriteOptions]
) -> Write[records.ProjectAccessPolicyChange]:
    """Drop a prepared change. ``expected_revision`` is the change's."""
    return Write(
        "project_access_policy_change_cancel",
        {"change_id": change_id},
        "ProjectAccessPolicyChange",
        project_id=project_id(project),
        **options,
    )


def space_access_widen_prepare(
    space: Space,
    *,
    proposed_visibility: str | None = None,
    proposed_policy_set_ref: str | None = None,
    proposed_default_classification_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.SpaceAccessWidening]:
    """Prepare the widening of a space; what is left out stays. Nothing changes until it is confirmed."""
    arguments = {
        "space_id": space.space_id,
        "proposed_visibility": proposed_visibility,
        "proposed_policy_set_ref": proposed_policy_set_ref,
        "proposed_default_classification_ref": proposed_default_classification_ref,
    }
    return Write(
        "space_access_widen_prepare",
        arguments,
        "SpaceAccessWidening",
        project_id=space.project_id,
        **options,
    )


def space_access_widen_show(
    project: Project, widening_id: str, **options: Unpack[ReadOptions]
) -> Read[records.SpaceAccessWidening]:
    """A prepared widening as it stands now."""
    return Read(
        "space_access_widen_show",
        {"widening_id": widening_id},
        "SpaceAccessWidening",
        project_id=project_id(project),
        **options,
    )


def space_access_widen_list(
    project: Project,
    *,
    space_id: str | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.SpaceAccessWideningPage]:
    """A page of a project's prepared widenings, in whatever state; of one space where it is named."""
    arguments = {"space_id": space_id, **_page(limit, after, snapshot)}
    return Read(
        "space_access_widen_list",
        arguments,
        "SpaceAccessWideningPage",
        project_id=project_id(project),
        **options,
    )


def space_access_widen_confirm(
    project: Project, widening_id: str, decision_receipt_ref: str, **options: Unpack[WriteOptions]
) -> Write[records.SpaceAccessWidening]:
    """Put a prepared widening into force, by the decision that the receipt names.

    ``StaleRevision`` where it has ended, and where the space has moved since: it is ``stale`` then, and has
    to be prepared anew. ``expected_revision`` is the widening's.
    """
    return Write(
        "space_access_widen_confirm",
        {"widening_id": widening_id, "decision_receipt_ref": decision_receipt_ref},
        "SpaceAccessWidening",
        project_id=project_id(project),
        **options,
    )


def space_access_widen_cancel(
    project: Project, widening_id: str, **options: Unpack[WriteOptions]
) -> Write[records.SpaceAccessWidening]:
    """Drop a prepared widening. ``expected_revision`` is the widening's."""
    return Write(
        "space_access_widen_cancel",
        {"widening_id": widening_id},
        "SpaceAccessWidening",
        project_id=project_id(project),
        **options,
    )


# --- contributions and relations --------------------------------------------------------------------------
def append(
    space: Space,
    kind: str,
    text: str | None = None,
    *,
    parts: Sequence[Part] | None = None,
    media_type: str = "text/plain",
    language: str | None = None,
    branch_id: str | None = None,
    expected_head_digest: str | None = None,
    schema_ref: str | None = None,
    subject_refs: Sequence[Named] | None = None,
    source_refs: Sequence[Named] | None = None,
    epistemic_posture: str | None = None,
    classification_ref: str | None = None,
    retention_policy_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.Contribution]:
    """A new contribution at the head of the branch, the main one where none is named.

    Its body is ``text`` (of ``media_type``, at most 65,536 characters), or ``parts``. ``kind`` is one of
    utterance, goal, question, claim, observation, evidence, proposal, critique, synthesis, result and
    decision_reference. With ``expected_head_digest`` it lands only where the head is that one
    (``StaleRevision`` otherwise). The reply's revision is the space's.
    """
    arguments = {
        "space_id": space.space_id,
        "branch_id": branch_id or space.main_branch_id,
        "expected_head_digest": expected_head_digest,
        "kind": kind,
        "body_parts": body(text, parts, media_type, language),
        "schema_ref": schema_ref,
        "subject_refs": None if subject_refs is None else identifiers(subject_refs),
        "source_refs": None if source_refs is None else identifiers(source_refs),
        "epistemic_posture": epistemic_posture,
        "classification_ref": classification_ref,
        "retention_policy_ref": retention_policy_ref,
    }
    return Write(
        "contribution_append",
        arguments,
        "Contribution",
        project_id=space.project_id,
        **at_head(options, expected_head_digest),
    )


def contribution_show(
    project: Project, contribution_id: str, **options: Unpack[ReadOptions]
) -> Read[records.Contribution]:
    """One contribution."""
    return Read(
        "contribution_show",
        {"contribution_id": contribution_id},
        "Contribution",
        project_id=project_id(project),
        **options,
    )


def contribution_list(
    space: Space,
    *,
    branch_id: str | None = None,
    kind: str | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.ContributionPage]:
    """A page of a space's contributions in the order of their sequence."""
    arguments = {
        "space_id": space.space_id,
        "branch_id": branch_id,
        "kind": kind,
        **_page(limit, after, snapshot),
    }
    return Read("contribution_list", arguments, "ContributionPage", project_id=space.project_id, **options)


def relation_assert(
    space: Space,
    kind: str,
    from_: Linkable,
    to: Linkable,
    *,
    branch_id: str | None = None,
    expected_head_digest: str | None = None,
    rationale_ref: str | None = None,
    schema_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.Relation]:
    """A new relation between two objects of the space, each pinned at its revision and digest.

    ``kind`` is one of addresses, supports, challenges, refines, qualifies, supersedes, depends_on,
    derived_from, produced_by, quotes and evaluates.
    """
    arguments = {
        "space_id": space.space_id,
        "branch_id": branch_id or space.main_branch_id,
        "expected_head_digest": expected_head_digest,
        "kind": kind,
        "from_ref": pinned(from_),
        "to_ref": pinned(to),
        "rationale_ref": rationale_ref,
        "schema_ref": schema_ref,
    }
    return Write(
        "relation_assert",
        arguments,
        "Relation",
        project_id=space.project_id,
        **at_head(options, expected_head_digest),
    )


# --- frontiers and assemblies -----------------------------------------------------------------------------
def frontier_pin(
    space: Space, *, branch_id: str | None = None, **options: Unpack[WriteOptions]
) -> Write[records.Frontier]:
    """The branch as it stands now, kept under a name."""
    arguments = {"space_id": space.space_id, "branch_id": branch_id or space.main_branch_id}
    return Write("frontier_pin", arguments, "Frontier", project_id=space.project_id, **options)


def frontier_show(
    project: Project, frontier_id: str, **options: Unpack[ReadOptions]
) -> Read[records.Frontier]:
    """A frontier as it was pinned."""
    arguments = {"frontier_id": frontier_id}
    return Read("frontier_show", arguments, "Frontier", project_id=project_id(project), **options)


def context_assembly_create(
    space: Space,
    purpose: str,
    *,
    required_refs: Sequence[Named] = (),
    trigger_refs: Sequence[Named] = (),
    audience_ref: str = DEPLOYMENT,
    branch_id: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.Assembly]:
    """Exactly what an invocation will be given to read: the required objects, none more and none less.

    ``purpose`` is a label of at most 4,096 characters, and is never erased.
    """
    arguments = {
        "space_id": space.space_id,
        "branch_id": branch_id or space.main_branch_id,
        "audience_ref": audience_ref,
        "purpose": purpose,
        "selection_policy_ref": EXPLICIT_REFS,
        "required_refs": identifiers(required_refs),
        "trigger_refs": identifiers(trigger_refs),
    }
    return Write("context_assembly_create", arguments, "Assembly", project_id=space.project_id, **options)


def context_assembly_show(
    project: Project, assembly_id: str, **options: Unpack[ReadOptions]
) -> Read[records.Assembly]:
    """An assembly as it was made; ``Unavailable`` where one of its items is no longer what it was."""
    arguments = {"assembly_id": assembly_id}
    return Read("context_assembly_show", arguments, "Assembly", project_id=project_id(project), **options)


# --- invocations ------------------------------------------------------------------------------------------
def invocation_create(
    project: Project,
    *,
    deadline: str,
    deployment_id: str = DEPLOYMENT,
    deployment_revision: int = 1,
    space: Space | None = None,
    branch_id: str | None = None,
    assembly: records.Assembly | None = None,
    priority: int | None = None,
    not_before: str | None = None,
    max_attempts: int | None = None,
    budget_reservation_set_ref: str | None = None,
    disclosure_rules_digest: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.Invocation]:
    """Ask a deployment of an assistant to run. ``deadline`` and ``not_before`` are RFC 3339 timestamps."""
    if branch_id is None and space is not None:
        branch_id = space.main_branch_id
    arguments = {
        "assistant_deployment_id": deployment_id,
        "assistant_deployment_revision": deployment_revision,
        "space_id": None if space is None else space.space_id,
        "branch_id": branch_id,
        "context_assembly_ref": None if assembly is None else assembly.assembly_id,
        "context_assembly_digest": None if assembly is None else assembly.digest,
        "budget_reservation_set_ref": budget_reservation_set_ref,
        "disclosure_rules_digest": disclosure_rules_digest,
        "priority": priority,
        "not_before": not_before,
        "max_attempts": max_attempts,
        "deadline": deadline,
    }
    return Write("invocation_create", arguments, "Invocation", project_id=project_id(project), **options)


def invocation_show(
    project: Project, invocation_id: str, **options: Unpack[ReadOptions]
) -> Read[records.Invocation]:
    """An invocation as it stands now."""
    arguments = {"invocation_id": invocation_id}
    return Read("invocation_show", arguments, "Invocation", project_id=project_id(project), **options)


def invocation_list(
    project: Project,
    *,
    deployment_id: str | None = None,
    space_id: str | None = None,
    state: str | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.InvocationPage]:
    """A page of a project's invocations."""
    arguments = {
        "assistant_deployment_id": deployment_id,
        "space_id": space_id,
        "state": state,
        **_page(limit, after, snapshot),
    }
    return Read("invocation_list", arguments, "InvocationPage", project_id=project_id(project), **options)


def invocation_cancel(
    project: Project,
    invocation_id: str,
    *,
    cancellation_scope: str | None = None,
    reason: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.Invocation]:
    """End an invocation that has not ended; its worker's next command finds its lease stale."""
    arguments = {
        "invocation_id": invocation_id,
        "cancellation_scope": cancellation_scope,
        "reason": reason,
    }
    return Write("invocation_cancel", arguments, "Invocation", project_id=project_id(project), **options)


# --- artifacts --------------------------------------------------------------------------------------------
def artifact_begin(
    declared_raw_sha256: str,
    declared_size: int,
    declared_media_type: str = OCTETS,
    *,
    classification_ref: str | None = None,
    project: Project | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.ArtifactUploadBegun]:
    """Declare bytes that will come over the socket: their SHA-256 in hex, how many, of which media type."""
    arguments = _declared(declared_raw_sha256, declared_size, declared_media_type, classification_ref)
    place = _optional_project(project)
    return Write("tallystick_artifact_begin", arguments, "ArtifactUploadBegun", project_id=place, **options)


def artifact_put(
    upload_id: str,
    offset: int,
    data: bytes,
    *,
    project: Project | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.ArtifactReceived]:
    """Put at most ``limits.ARTIFACT_CHUNK_BYTES_MAX`` bytes where they belong; the same again does no harm,
    so it needs no key. An empty chunk at 0 asks how many bytes are there.
    """
    arguments = {"upload_id": upload_id, "offset": offset, "data": b64encode(data).decode()}
    place = _optional_project(project)
    return Read("tallystick_artifact_put", arguments, "ArtifactReceived", project_id=place, **options)


def artifact_get(
    artifact_id: str,
    offset: int = 0,
    length: int | None = None,
    *,
    project: Project | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.ArtifactBytes]:
    """Bytes of an available artifact from ``offset`` on, in base64; as many as a reply takes, or fewer."""
    arguments = {"artifact_id": artifact_id, "offset": offset, "length": length}
    place = _optional_project(project)
    return Read("tallystick_artifact_get", arguments, "ArtifactBytes", project_id=place, **options)


def artifact_list(
    *,
    state: str | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.ArtifactPage]:
    """A page of the artifacts that one may see, of one state alone where it is given."""
    arguments = {"state": state, **_page(limit, after, snapshot)}
    return Read("tallystick_artifact_list", arguments, "ArtifactPage", **options)


def artifact_upload_begin(
    declared_raw_sha256: str,
    declared_size: int,
    declared_media_type: str = OCTETS,
    *,
    classification_ref: str | None = None,
    project: Project | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.ArtifactUploadBegun]:
    """Declare bytes that this program will write itself, into the file that the credential names."""
    arguments = _declared(declared_raw_sha256, declared_size, declared_media_type, classification_ref)
    place = _optional_project(project)
    return Write("artifact_upload_begin", arguments, "ArtifactUploadBegun", project_id=place, **options)


def artifact_upload_show(
    upload_id: str, *, project: Project | None = None, **options: Unpack[ReadOptions]
) -> Read[records.ArtifactUpload]:
    """An upload as it stands."""
    place, arguments = _optional_project(project), {"upload_id": upload_id}
    return Read("artifact_upload_show", arguments, "ArtifactUpload", project_id=place, **options)


def artifact_upload_credential(
    upload_id: str, *, project: Project | None = None, **options: Unpack[ReadOptions]
) -> Read[records.ArtifactUploadCredential]:
    """Where to write the bytes of an upload."""
    place, arguments = _optional_project(project), {"upload_id": upload_id}
    result = "ArtifactUploadCredential"
    return Read("artifact_upload_credential", arguments, result, project_id=place, **options)


def artifact_upload_finalize(
    upload_id: str, *, project: Project | None = None, **options: Unpack[WriteOptions]
) -> Write[records.ArtifactUpload]:
    """Seal the bytes if they are what was declared: then the upload is ``completed``, else ``rejected``."""
    place, arguments = _optional_project(project), {"upload_id": upload_id}
    return Write("artifact_upload_finalize", arguments, "ArtifactUpload", project_id=place, **options)


def artifact_upload_abort(
    upload_id: str,
    *,
    reason: str | None = None,
    project: Project | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.ArtifactUpload]:
    """End an upload that has not ended; its bytes are removed."""
    place, arguments = _optional_project(project), {"upload_id": upload_id, "reason": reason}
    return Write("artifact_upload_abort", arguments, "ArtifactUpload", project_id=place, **options)


def artifact_show(
    artifact_id: str, *, project: Project | None = None, **options: Unpack[ReadOptions]
) -> Read[records.Artifact]:
    """An artifact, without its bytes."""
    place, arguments = _optional_project(project), {"artifact_id": artifact_id}
    return Read("artifact_show", arguments, "Artifact", project_id=place, **options)


def disclosure_manifest_show(
    disclosure_id: str, *, project: Project | None = None, **options: Unpack[ReadOptions]
) -> Read[records.DisclosureManifest]:
    """What was disclosed, to whom and for what."""
    place, arguments = _optional_project(project), {"disclosure_id": disclosure_id}
    return Read("disclosure_manifest_show", arguments, "DisclosureManifest", project_id=place, **options)


def _declared(sha256: str, size: int, media_type: str, classification_ref: str | None) -> dict[str, object]:
    return {
        "declared_raw_sha256": sha256,
        "declared_size": size,
        "declared_media_type": media_type,
        "classification_ref": classification_ref,
    }


def _optional_project(project: Project | None) -> str | None:
    return None if project is None else project_id(project)


# --- events -----------------------------------------------------------------------------------------------
def events_read(
    source: Project,
    *,
    after_cursor: str | None = None,
    type_prefixes: Sequence[str] = (),
    limit: int = limits.PAGE_ITEMS_MAX,
    **options: Unpack[ReadOptions],
) -> Read[records.EventPage]:
    """Events of a project after a cursor, from the first one where none is given. Never waits."""
    arguments = {
        "source": project_id(source),
        "after_cursor": after_cursor,
        "type_prefixes": list(type_prefixes) or None,
        "limit": limit,
    }
    return Read("events_read", arguments, "EventPage", **options)


def events_wait(
    source: Project,
    after_cursor: str,
    *,
    type_prefixes: Sequence[str] = (),
    timeout_ms: int = limits.WAIT_MS_MAX,
    **options: Unpack[ReadOptions],
) -> Read[records.EventBatch]:
    """Events of a project after a cursor; waits for the first of them up to ``timeout_ms`` (at most
    30,000)."""
    arguments = {
        "source": project_id(source),
        "after_cursor": after_cursor,
        "filters": {"type_prefixes": list(type_prefixes)} if type_prefixes else None,
        "timeout_ms": timeout_ms,
    }
    return Read("events_wait", arguments, "EventBatch", wait_seconds=timeout_ms / 1000, **options)


def event_payload(event_id: str, **options: Unpack[ReadOptions]) -> Read[records.EventPayload]:
    """The payload of one event."""
    return Read("event_payload", {"event_id": event_id}, "EventPayload", **options)


# --- a worker's operations --------------------------------------------------------------------------------
def claim(
    invocation_id: str,
    *,
    term_seconds: int = limits.LEASE_TERM_SECONDS_SDK,
    **options: Unpack[WriteOptions],
) -> Write[records.InvocationClaim]:
    """Take an invocation to run it, under a lease of ``term_seconds`` (10 to 86,400).

    ``StaleLease`` while another attempt's lease lives, and for an invocation that has ended.
    """
    arguments = {"invocation_id": invocation_id}
    options["ext"] = {"dev.tallystick.lease": {"term_seconds": term_seconds}, **options.get("ext", {})}
    return Write("invocation_claim", arguments, "InvocationClaim", surface="worker", **options)


def next_(
    deployments: Sequence[str] = (DEPLOYMENT,),
    *,
    wait_ms: int = limits.WAIT_MS_MAX,
    term_seconds: int = limits.LEASE_TERM_SECONDS_SDK,
    **options: Unpack[WriteOptions],
) -> Write[records.InvocationNext]:
    """Take the oldest invocation of these deployments that can be taken; waits for one up to ``wait_ms``.

    The value's ``claim`` is what ``claim`` gives, or None where nothing came in time: then nothing was
    written, and the same key asks anew. A key that gave a claim gives the same one while its attempt is the
    current one, and ``StaleLease`` after that.
    """
    arguments = {"deployments": list(deployments), "wait_ms": wait_ms, "term_seconds": term_seconds}
    return Write(
        "tallystick_invocation_next",
        arguments,
        "InvocationNext",
        surface="worker",
        wait_seconds=wait_ms / 1000,
        **options,
    )


def complete(
    claim: records.InvocationClaim, *, result: Named | None = None, **options: Unpack[WriteOptions]
) -> Write[records.Invocation]:
    """The invocation has succeeded, with this result if there is one."""
    arguments = {**attempt(claim), "result_ref": None if result is None else identifier(result)}
    return Write("invocation_complete", arguments, "Invocation", surface="worker", **options)


def fail(
    claim: records.InvocationClaim, reason_class: str, *, retryable: bool, **options: Unpack[WriteOptions]
) -> Write[records.Invocation]:
    """This attempt has failed; a retryable failure makes the invocation claimable while attempts remain."""
    arguments = {**attempt(claim), "reason_class": reason_class, "retryable": retryable}
    return Write("tallystick_invocation_fail", arguments, "Invocation", surface="worker", **options)


def progress(
    claim: records.InvocationClaim, **options: Unpack[ReadOptions]
) -> Read[records.InvocationProgress]:
    """What was done so far under this invocation, by this attempt and those before it, with the replies."""
    return Read(
        "tallystick_invocation_progress",
        attempt(claim),
        "InvocationProgress",
        surface="worker",
        **options,
    )


def renew(claim: records.InvocationClaim, **options: Unpack[ReadOptions]) -> Read[records.LeaseTerm]:
    """The lease begins its term anew, as it does with each command of the attempt."""
    return Read("tallystick_invocation_renew", attempt(claim), "LeaseTerm", surface="worker", **options)


def as_worker(
    build: Callable[P, Write[T]],
) -> Callable[Concatenate[records.InvocationClaim, P], Write[T]]:
    """A client's write as a worker makes it: the claim first, then the same arguments."""

    @wraps(build)
    def bound(claim: records.InvocationClaim, /, *args: P.args, **kwargs: P.kwargs) -> Write[T]:
        call = build(*args, **kwargs)
        call.arguments = {**call.arguments, **binding(claim)}
        call.surface = "worker"
        return call

    return bound


def binding(claim: records.InvocationClaim) -> dict[str, object]:
    """What names an attempt: who speaks, and under which fence."""
    return {"attempt_id": claim.attempt_id, "fence_epoch": claim.fence_epoch}


def attempt(claim: records.InvocationClaim) -> dict[str, object]:
    """An attempt with the invocation that it is of."""
    return {"invocation_id": claim.invocation.invocation_id, **binding(claim)}


def space_of(claim: records.InvocationClaim) -> SpaceRef | None:
    """The space that a claimed invocation belongs to, None where it has none."""
    invocation, assembly = claim.invocation, claim.assembly
    if invocation.space_id and invocation.branch_id:
        return SpaceRef(invocation.project_id, invocation.space_id, invocation.branch_id)
    if assembly is not None:
        return SpaceRef(assembly.project_id, assembly.space_id, assembly.branch_id)
    return None


# --- any operation ----------------------------------------------------------------------------------------
def by_name(
    operation: str,
    arguments: Mapping[str, object],
    *,
    surface: Surface = "client",
    project_id: str | None = None,
    **options: Unpack[WriteOptions],
) -> Call[JsonValue]:
    """A call of an operation by its name in the registry, with its arguments as the protocol names them.

    The result stays parsed JSON. Raises ``NotSendable`` for an operation that this version does not know.
    """
    registry = import_module("tallystick.protocol.registry")
    known = registry.BY_SOCKET.get((registry.Socket(surface), operation))
    if known is None:
        raise NotSendable("$.op", f"{operation} is no operation of the {surface} socket in this version")
    kind = Write if known.kind is registry.Kind.WRITE else Read
    realm_id = None if known.realm is registry.Placement.FORBIDDEN else REALM
    call: Call[JsonValue] = kind(
        operation, arguments, "", surface=surface, realm_id=realm_id, project_id=project_id, **options
    )
    waits = {registry.Kind.WAIT: "timeout_ms", registry.Kind.WRITE: "wait_ms"}.get(known.kind)
    wait_ms = None if waits is None else arguments.get(waits)
    if isinstance(wait_ms, int):
        call.wait_seconds = wait_ms / 1000
    return call


# --- what stands for what ---------------------------------------------------------------------------------
def project_id(project: Project) -> str:
    """The identifier of a project given as its record or its identifier."""
    return project if isinstance(project, str) else project.project_id


def identifier(item: Named) -> str:
    """The identifier of an object given as its record or its identifier."""
    if isinstance(item, str):
        return item
    for member in ("object_ref", "contribution_id", "relation_id"):
        if (value := getattr(item, member, None)) is not None:
            return str(value)
    raise TypeError(f"a {type(item).__name__} is no object of a space; give a contribution or a relation")


def identifiers(items: Iterable[Named]) -> list[str]:
    """``identifier`` of each."""
    return [identifier(item) for item in items]


def pinned(item: Linkable) -> dict[str, object]:
    """The triple that pins an object at its revision and digest."""
    digest = getattr(item, "content_digest", None) or getattr(item, "digest", None)
    return {"object_ref": identifier(item), "revision": item.revision, "digest": digest}


def body(
    text: str | None, parts: Sequence[Part] | None, media_type: str, language: str | None
) -> list[object]:
    """A body from a text or from parts; exactly one of them is given."""
    if (text is None) == (parts is None):
        raise TypeError("give either text or parts: a contribution has one body")
    if parts is not None:
        return list(parts)
    part = {"media_type": media_type, "text": text}
    return [part if language is None else {**part, "language": language}]


def at_head(options: WriteOptions, expected_head_digest: str | None) -> WriteOptions:
    """The options with the extension that lands a write at the head, unless a head is demanded."""
    if expected_head_digest is not None:
        return options
    return {**options, "ext": {**AT_HEAD, **options.get("ext", {})}}


def _page(limit: int, after: str | None, snapshot: str | None) -> dict[str, object]:
    return {"after": after, "limit": limit, "snapshot": snapshot}
