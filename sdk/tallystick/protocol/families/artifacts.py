"""Artifacts: bytes that are declared, uploaded, sealed once they are what was declared, and read back."""

from typing import Final, Literal

from msgspec import UNSET, UnsetType

from tallystick.protocol.arguments import Args, Content, ExactContent, PageArgs
from tallystick.protocol.operation import (
    COMMAND_ROWS,
    GUARDED_LISTS,
    GUARDED_READS,
    ONE_ID,
    SHARED_SPACE,
    TALLYSTICK_ARTIFACT,
    Emission,
    Kind,
    Mode,
    Placement,
    RowEffect,
)
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.records import Page, Record
from tallystick.protocol.shapes import (
    ArtifactChunk,
    ArtifactReadBytes,
    ArtifactState,
    DigestHex,
    FreeText,
    Identifier,
    JsonObject,
    MediaType,
    SafeInt,
    StatusToken,
    Timestamp,
    UploadState,
)


# --- records ------------------------------------------------------------------------------------------------
class ArtifactUploadBegun(Record, frozen=True, kw_only=True):
    """The result of `artifact_upload_begin`.

    The digest that was declared is not repeated: whoever finds it later can tell whether they guessed bytes
    that were erased.
    """

    upload_id: Identifier
    artifact_id: Identifier
    revision: SafeInt
    state: UploadState
    declared_raw_sha256: DigestHex | UnsetType = UNSET
    declared_size: SafeInt
    declared_media_type: MediaType
    classification_ref: Identifier
    max_bytes: SafeInt
    expires_at: Timestamp
    created_at: Timestamp


class ArtifactUpload(Record, frozen=True, kw_only=True):
    """An upload: what was declared, and how far it is; `idempotency_key` is the one that began it."""

    upload_id: Identifier
    artifact_id: Identifier
    realm_id: Identifier
    owner_ref: Identifier
    revision: SafeInt
    declared_raw_sha256: DigestHex | UnsetType = UNSET
    declared_size: SafeInt
    declared_media_type: MediaType
    classification_ref: Identifier
    staging_storage_ref: Identifier
    provider_upload_ref: Identifier | UnsetType = UNSET
    state: UploadState
    sealed_storage_version: Identifier | UnsetType = UNSET
    seal_observation_digest: DigestHex | UnsetType = UNSET
    authorization_dependency_set_ref: Identifier
    authority_digest: DigestHex
    max_bytes: SafeInt
    expires_at: Timestamp
    idempotency_key: Identifier
    created_at: Timestamp
    sealed_at: Timestamp | UnsetType = UNSET
    terminal_at: Timestamp | UnsetType = UNSET


class LocalStagingFile(Record, frozen=True, kw_only=True):
    """The credential of an upload whose client writes the bytes itself: into which file, and how."""

    kind: Literal["local-staging-file"]
    path: str
    write_mode: Literal["truncate-then-write"]


class ArtifactUploadCredential(Record, frozen=True, kw_only=True):
    """The result of `artifact_upload_credential`.

    KCP leaves the credential open; it is a `LocalStagingFile`. It is made afresh each time and never stored.
    """

    upload_id: Identifier
    credential: JsonObject
    max_bytes: SafeInt
    audience: Identifier
    expires_at: Timestamp


class Artifact(Record, frozen=True, kw_only=True):
    """An artifact. Size, media type and storage are there from its sealing until it is erased.

    `raw_sha256` and `typed_byte_digest` are never sent: whoever finds them later can tell whether they
    guessed bytes that were erased.
    """

    artifact_id: Identifier
    realm_id: Identifier
    owner_ref: Identifier
    revision: SafeInt
    state: ArtifactState
    raw_sha256: DigestHex | UnsetType = UNSET
    typed_byte_digest: DigestHex | UnsetType = UNSET
    size: SafeInt | UnsetType = UNSET
    media_type: MediaType | UnsetType = UNSET
    classification_ref: Identifier
    sealed_storage_ref: Identifier | UnsetType = UNSET
    sealed_storage_version: Identifier | UnsetType = UNSET
    verification_digest: DigestHex | UnsetType = UNSET
    encryption_key_ref: Identifier
    created_by: Identifier
    created_at: Timestamp
    available_at: Timestamp | UnsetType = UNSET
    retention_until: Timestamp | UnsetType = UNSET


class ArtifactReceived(Record, frozen=True, kw_only=True):
    """The result of `tallystick_artifact_put`: how many bytes are there, on the disk, from the first on.

    The next chunk's offset is `received_bytes`. It never counts more than what will be read.
    """

    upload_id: Identifier
    received_bytes: SafeInt
    declared_size: SafeInt


class ArtifactPage(Page, frozen=True, kw_only=True):
    """A page of artifacts, each as it is now."""

    items: tuple[Artifact, ...]


class ArtifactBytes(Record, frozen=True, kw_only=True):
    """The result of `tallystick_artifact_get`: bytes in base64 (RFC 4648, section 4), of `size` in all."""

    artifact_id: Identifier
    offset: SafeInt
    size: SafeInt
    data: str


class DisclosureItem(Record, frozen=True, kw_only=True):
    """One object that was disclosed."""

    ref: Identifier
    revision: SafeInt | UnsetType = UNSET
    digest: DigestHex
    size: SafeInt


class DisclosureTransformation(Record, frozen=True, kw_only=True):
    """What was done to an object before it was disclosed."""

    kind: StatusToken
    source_digest: DigestHex
    result_digest: DigestHex


class ProviderClaims(Record, frozen=True, kw_only=True):
    """What the recipient says about the place, the keeping and the use of what it was given."""

    region: Identifier
    retention: Identifier
    training_use: Identifier


class DisclosureManifest(Record, frozen=True, kw_only=True):
    """Exactly what left the realm: to whom, for what, from which assembly."""

    disclosure_id: Identifier
    sender_realm: Identifier
    sender_project: Identifier | UnsetType = UNSET
    sender_space: Identifier | UnsetType = UNSET
    recipient_kind: StatusToken
    recipient_binding: Identifier
    purpose: FreeText
    data_classes: tuple[Identifier, ...]
    context_assembly_ref: Identifier | UnsetType = UNSET
    context_assembly_digest: DigestHex | UnsetType = UNSET
    commitment_ref: Identifier | UnsetType = UNSET
    exact_items: tuple[DisclosureItem, ...]
    transformations: tuple[DisclosureTransformation, ...]
    provider_claims: ProviderClaims | UnsetType = UNSET
    total_bytes: SafeInt
    created_at: Timestamp
    digest: DigestHex


# --- arguments ----------------------------------------------------------------------------------------------
class ArtifactUploadBeginArgs(Args, frozen=True, kw_only=True):
    """What the bytes will be. Their digest is content: it tells whether one guessed them."""

    declared_raw_sha256: ExactContent[DigestHex]
    declared_size: SafeInt
    declared_media_type: MediaType
    classification_ref: Identifier | UnsetType = UNSET


class ArtifactUploadShowArgs(Args, frozen=True, kw_only=True):
    """Which upload."""

    upload_id: Identifier


class ArtifactUploadCredentialArgs(Args, frozen=True, kw_only=True):
    """Which upload."""

    upload_id: Identifier


class ArtifactUploadFinalizeArgs(Args, frozen=True, kw_only=True):
    """Which upload."""

    upload_id: Identifier


class ArtifactUploadAbortArgs(Args, frozen=True, kw_only=True):
    """Which upload, and why."""

    upload_id: Identifier
    reason: Content[FreeText] | UnsetType = UNSET


class ArtifactShowArgs(Args, frozen=True, kw_only=True):
    """Which artifact."""

    artifact_id: Identifier


class TallystickArtifactBeginArgs(Args, frozen=True, kw_only=True):
    """What the bytes will be. Their digest is content: it tells whether one guessed them."""

    declared_raw_sha256: ExactContent[DigestHex]
    declared_size: SafeInt
    declared_media_type: MediaType
    classification_ref: Identifier | UnsetType = UNSET


class TallystickArtifactPutArgs(Args, frozen=True, kw_only=True):
    """A chunk and where it belongs. An empty chunk at 0 asks how many bytes are there."""

    upload_id: Identifier
    offset: SafeInt
    data: ExactContent[ArtifactChunk]


class TallystickArtifactListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the artifacts, of those in one state alone where it is given."""

    state: ArtifactState | UnsetType = UNSET


class TallystickArtifactGetArgs(Args, frozen=True, kw_only=True):
    """Which bytes of which artifact; without a length, as many as a reply takes."""

    artifact_id: Identifier
    offset: SafeInt
    length: ArtifactReadBytes | UnsetType = UNSET


class DisclosureManifestShowArgs(Args, frozen=True, kw_only=True):
    """Which disclosure."""

    disclosure_id: Identifier


# --- operations ---------------------------------------------------------------------------------------------
BEGUN_ROWS: Final = (
    *COMMAND_ROWS,
    RowEffect("ids", "insert", 2),  # the event's, which the artifact shares, and the upload's
    RowEffect("object_keys", "insert"),
    RowEffect("artifact_uploads", "insert"),
    RowEffect("artifacts", "insert"),
)
"""Of a begin, whichever way the bytes will come."""

ARTIFACT_UPLOAD_BEGIN: Final = SHARED_SPACE.write(
    "artifact_upload_begin",
    ArtifactUploadBeginArgs,
    ArtifactUploadBegun,
    "Declare bytes that are to be uploaded.",
    mode=Mode.UPLOAD,
    project=Placement.OPTIONAL,
    event="dev.kovee.artifact.upload-began.v1",
    all_rows=BEGUN_ROWS,
)
ARTIFACT_UPLOAD_SHOW: Final = SHARED_SPACE.read(
    "artifact_upload_show",
    ArtifactUploadShowArgs,
    ArtifactUpload,
    "One upload.",
    mode=Mode.UPLOAD,
    project=Placement.OPTIONAL,
)
ARTIFACT_UPLOAD_CREDENTIAL: Final = SHARED_SPACE.read(
    "artifact_upload_credential",
    ArtifactUploadCredentialArgs,
    ArtifactUploadCredential,
    "Where to write the bytes of an upload; made afresh, never stored.",
    mode=Mode.UPLOAD,
    project=Placement.OPTIONAL,
    problems=(*GUARDED_READS, ProblemKind.STALE_REVISION),
)
ARTIFACT_UPLOAD_FINALIZE: Final = SHARED_SPACE.write(
    "artifact_upload_finalize",
    ArtifactUploadFinalizeArgs,
    ArtifactUpload,
    "Seal the bytes if they are what was declared, else reject them.",
    mode=Mode.UPLOAD,
    project=Placement.OPTIONAL,
    events=(
        "dev.kovee.artifact.available.v1",
        "dev.kovee.artifact.rejected.v1",
    ),
    emission=Emission.ONE_OF,
    all_rows=(
        RowEffect("log", "insert", 2),  # one for each of its two transactions
        RowEffect("idempotency", "insert"),
        RowEffect("outbox", "insert"),
        ONE_ID,
        RowEffect("object_keys", "insert", None),
        RowEffect(
            "artifact_uploads",
            "update",
            columns=(
                "revision",
                "state",
                "ends_ms",
                "sealed_ms",
                "terminal_ms",
                "sealed_storage_version",
                "observation_digest",
            ),
        ),
        RowEffect(
            "artifacts",
            "update",
            columns=(
                "revision",
                "state",
                "size",
                "media_type",
                "sealed_storage_version",
                "verification_digest",
                "content_digest",
                "keys",
                "available_ms",
            ),
        ),
    ),
)
ARTIFACT_UPLOAD_ABORT: Final = SHARED_SPACE.write(
    "artifact_upload_abort",
    ArtifactUploadAbortArgs,
    ArtifactUpload,
    "End an upload that has not ended.",
    mode=Mode.UPLOAD,
    project=Placement.OPTIONAL,
    event="dev.kovee.artifact.upload-aborted.v1",
    rows=(
        RowEffect("bodies", "insert", None),
        RowEffect("object_keys", "insert", None),
        RowEffect("artifact_uploads", "update", columns=("revision", "state", "terminal_ms", "reason")),
        RowEffect("artifacts", "update", columns=("revision", "state")),
    ),
)
ARTIFACT_SHOW: Final = SHARED_SPACE.read(
    "artifact_show",
    ArtifactShowArgs,
    Artifact,
    "One artifact, without its bytes.",
    mode=Mode.READ_REALM,
    project=Placement.OPTIONAL,
    problems=GUARDED_READS,
)
TALLYSTICK_ARTIFACT_BEGIN: Final = TALLYSTICK_ARTIFACT.write(
    "tallystick_artifact_begin",
    TallystickArtifactBeginArgs,
    ArtifactUploadBegun,
    "Declare bytes that are to come in chunks over this socket.",
    mode=Mode.UPLOAD,
    project=Placement.OPTIONAL,
    event="dev.kovee.artifact.upload-began.v1",
    all_rows=BEGUN_ROWS,
)
TALLYSTICK_ARTIFACT_PUT: Final = TALLYSTICK_ARTIFACT.read(
    "tallystick_artifact_put",
    TallystickArtifactPutArgs,
    ArtifactReceived,
    "Put a chunk where it belongs, and hear how many bytes are there; again does no harm.",
    kind=Kind.CONTROL,
    mode=Mode.UPLOAD,
    project=Placement.OPTIONAL,
    problems=(*GUARDED_READS, ProblemKind.STALE_REVISION),
)
TALLYSTICK_ARTIFACT_LIST: Final = TALLYSTICK_ARTIFACT.read(
    "tallystick_artifact_list",
    TallystickArtifactListArgs,
    ArtifactPage,
    "The artifacts that one may see, a page at a time, in order of creation.",
    mode=Mode.READ_REALM,
    project=Placement.FORBIDDEN,
    problems=GUARDED_LISTS,
)
TALLYSTICK_ARTIFACT_GET: Final = TALLYSTICK_ARTIFACT.read(
    "tallystick_artifact_get",
    TallystickArtifactGetArgs,
    ArtifactBytes,
    "Bytes of an available artifact, from an offset on.",
    mode=Mode.READ_REALM,
    project=Placement.OPTIONAL,
    problems=(*GUARDED_READS, ProblemKind.STALE_REVISION),
)
DISCLOSURE_MANIFEST_SHOW: Final = SHARED_SPACE.read(
    "disclosure_manifest_show",
    DisclosureManifestShowArgs,
    DisclosureManifest,
    "One disclosure: what went to whom, and for what.",
    mode=Mode.READ_REALM,
    project=Placement.OPTIONAL,
    problems=GUARDED_READS,
)

OPERATIONS: Final = (
    ARTIFACT_UPLOAD_BEGIN,
    ARTIFACT_UPLOAD_SHOW,
    ARTIFACT_UPLOAD_CREDENTIAL,
    ARTIFACT_UPLOAD_FINALIZE,
    ARTIFACT_UPLOAD_ABORT,
    ARTIFACT_SHOW,
    TALLYSTICK_ARTIFACT_BEGIN,
    TALLYSTICK_ARTIFACT_PUT,
    TALLYSTICK_ARTIFACT_LIST,
    TALLYSTICK_ARTIFACT_GET,
    DISCLOSURE_MANIFEST_SHOW,
)
