-- Artifacts and their uploads. The bytes stand in files of their own (artifacts/), never here.
--
-- An upload and its artifact are made by one command, whose position names both; each has an id of its own. The keys of
-- what was declared are object keys of that command; the keys of what was sealed are object keys of the command that
-- made the artifact available, and stand nowhere before it.

CREATE TABLE artifact_uploads (
    position               INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id                     BLOB    NOT NULL CHECK (length(id) = 16),
    revision               INTEGER NOT NULL,
    state                  TEXT    NOT NULL CHECK (state IN ('prepared', 'uploading', 'sealing', 'sealed', 'verifying',
                                                   'completed', 'rejected', 'expired', 'aborted')),
    owner_ref              TEXT    NOT NULL,
    declared_size          INTEGER NOT NULL,
    declared_media_type    TEXT    NOT NULL,
    declared_commitment    BLOB    NOT NULL CHECK (length(declared_commitment) = 32),  -- of the SHA-256, keyed
    declared_keys          INTEGER NOT NULL,      -- object keys; the commitment says nothing once they are gone
    classification_ref     TEXT    NOT NULL,
    max_bytes              INTEGER NOT NULL,
    created_ms             INTEGER NOT NULL,
    expires_ms             INTEGER NOT NULL,      -- shown
    ends_ms                INTEGER NOT NULL,      -- past it the upload is expired; its first finalize gives it a term anew
    sealed_ms              INTEGER,
    terminal_ms            INTEGER,
    sealed_storage_version TEXT,
    observation_digest     BLOB CHECK (length(observation_digest) = 32),
    reason                 INTEGER                -- body: why it was aborted
) STRICT;
-- Those that have not ended, in the order in which they expire.
CREATE INDEX artifact_uploads_open ON artifact_uploads (ends_ms) WHERE terminal_ms IS NULL;

CREATE TABLE artifacts (
    position               INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id                     BLOB    NOT NULL CHECK (length(id) = 16),
    revision               INTEGER NOT NULL,
    -- erasing: the keys are gone and the file is about to be; to a client that is erased
    state                  TEXT    NOT NULL CHECK (state IN ('pending', 'verifying', 'scanning', 'available', 'quarantined',
                                                   'rejected', 'unavailable', 'erasing', 'erased')),
    owner_ref              TEXT    NOT NULL,
    classification_ref     TEXT    NOT NULL,
    created_by             TEXT    NOT NULL,
    created_ms             INTEGER NOT NULL,
    -- of an available artifact; gone with it
    size                   INTEGER,
    media_type             TEXT,
    sealed_storage_version TEXT,
    verification_digest    BLOB CHECK (length(verification_digest) = 32),
    content_digest         BLOB CHECK (length(content_digest) = 32),  -- keyed
    keys                   INTEGER,               -- object keys
    available_ms           INTEGER,
    retention_ms           INTEGER                -- when it was erased
) STRICT;
-- Those that have a sealed file, or a file that is to be erased.
CREATE INDEX artifacts_with_files ON artifacts (position) WHERE sealed_storage_version IS NOT NULL;

-- Which contributions carry an artifact: through whose spaces it may be seen, and with which of them it goes.
CREATE TABLE artifact_references (
    artifact     INTEGER NOT NULL REFERENCES artifacts (position) DEFERRABLE INITIALLY DEFERRED,
    contribution INTEGER NOT NULL REFERENCES contributions (position) DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (artifact, contribution)
) STRICT, WITHOUT ROWID;
CREATE INDEX artifact_references_of_contribution ON artifact_references (contribution);
