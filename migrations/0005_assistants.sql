-- Assistants: definitions, their revisions, deployments and the aliases that projects have for them.
--
-- The built-in ones stand at position 0, the row of the realm's beginning, and have neither bodies nor a time of their own.

CREATE TABLE assistants (
    position      INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    definition_id TEXT    NOT NULL UNIQUE,
    owner_ref     TEXT    NOT NULL,
    revision      INTEGER NOT NULL,
    name          INTEGER,                        -- body
    description   INTEGER,                        -- body
    status        TEXT    NOT NULL CHECK (status IN ('active')),
    created_ms    INTEGER
) STRICT;
INSERT INTO assistants VALUES (0, 'asst-local-dev', 'prin-owner', 1, NULL, NULL, 'active', NULL);

-- A revision's record is its event's payload, which never changes.
CREATE TABLE assistant_revisions (
    position              INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    assistant_revision_id TEXT NOT NULL UNIQUE,
    definition_id         TEXT NOT NULL,
    version               TEXT NOT NULL,
    UNIQUE (definition_id, version)
) STRICT;
INSERT INTO assistant_revisions VALUES (0, 'asstrev-local-dev', 'asst-local-dev', 'local-dev');

ALTER TABLE deployments ADD COLUMN position INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deployments ADD COLUMN activated_ms INTEGER;
ALTER TABLE deployments ADD COLUMN record BLOB;   -- skeleton of the members that never change; null of the built-in one
CREATE INDEX deployments_in_order ON deployments (position);

-- What a worker that waits for work may find, the oldest first.
CREATE INDEX invocations_unended ON invocations (deployment_id, position) WHERE state IN ('queued', 'running');

CREATE TABLE aliases (
    position            INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id                  BLOB    NOT NULL CHECK (length(id) = 16),
    project             INTEGER NOT NULL REFERENCES projects (position) DEFERRABLE INITIALLY DEFERRED,
    revision            INTEGER NOT NULL,
    display             INTEGER NOT NULL,         -- body
    normalized          INTEGER NOT NULL,         -- body
    deployment_id       TEXT    NOT NULL,
    deployment_revision INTEGER NOT NULL,
    status              TEXT    NOT NULL CHECK (status IN ('active', 'revoked')),
    created_by          TEXT    NOT NULL,
    created_ms          INTEGER NOT NULL
) STRICT;
CREATE INDEX aliases_of_project ON aliases (project, position);
