-- What people and assistants do with spaces beyond speaking in them: prepared changes of access, grants, dispositions,
-- reactions, lenses.

-- A change of a project's access policy, or the widening of a space's access: prepared, and then confirmed by somebody.
CREATE TABLE prepared_changes (
    position             INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id                   BLOB    NOT NULL CHECK (length(id) = 16),
    kind                 TEXT    NOT NULL CHECK (kind IN ('project_policy', 'space_widening')),
    project              INTEGER NOT NULL REFERENCES projects (position) DEFERRABLE INITIALLY DEFERRED,
    subject              INTEGER NOT NULL,        -- the project, or the space in it
    expected_revision    INTEGER NOT NULL,        -- of the subject, when it was prepared
    item_set_digest      BLOB    NOT NULL CHECK (length(item_set_digest) = 32),  -- of every contribution in the subject
    state                TEXT    NOT NULL CHECK (state IN ('prepared', 'confirmed', 'canceled', 'stale')),
    revision             INTEGER NOT NULL,
    decision_receipt_ref TEXT,                    -- of the decision that confirmed it
    terminal_ms          INTEGER,
    record               BLOB    NOT NULL,        -- canonical JSON of the members that never change
    CHECK ((state = 'prepared') = (terminal_ms IS NULL)),
    CHECK (state = 'confirmed' OR decision_receipt_ref IS NULL)
) STRICT;
CREATE INDEX prepared_changes_of_project ON prepared_changes (project, kind, position);

CREATE TABLE grants (
    position            INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id                  BLOB    NOT NULL CHECK (length(id) = 16),
    space               INTEGER NOT NULL REFERENCES spaces (position) DEFERRABLE INITIALLY DEFERRED,
    subject_ref         TEXT    NOT NULL,
    revision            INTEGER NOT NULL,
    source_ref          TEXT    NOT NULL,         -- the membership or policy that it rests on
    allowed_actions     TEXT    NOT NULL,         -- canonical JSON list
    ceiling_ref         TEXT,                     -- the highest classification that it reaches
    authorization_epoch INTEGER NOT NULL,
    expires_at          TEXT,                     -- as it was sent
    expires_ms          INTEGER,
    status              TEXT    NOT NULL CHECK (status IN ('active', 'revoked')),  -- that it expired is derived
    granted_by          TEXT    NOT NULL,
    created_ms          INTEGER NOT NULL
) STRICT;
CREATE INDEX grants_of_space ON grants (space, position);
CREATE INDEX grants_of_subject ON grants (subject_ref, space);

-- What became of a contribution or relation. The original stays as it was, but for a redacted one's content.
CREATE TABLE dispositions (
    position      INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id            BLOB    NOT NULL CHECK (length(id) = 16),
    target        INTEGER NOT NULL,               -- position of the contribution or relation
    space         INTEGER NOT NULL,
    kind          TEXT    NOT NULL CHECK (kind IN ('withdrawn', 'superseded', 'redacted', 'retracted')),
    replacement   INTEGER,                        -- position of the contribution that supersedes it
    reason_class  TEXT    NOT NULL,
    authorized_by TEXT    NOT NULL,
    created_ms    INTEGER NOT NULL,
    UNIQUE (target, kind)
) STRICT;
CREATE INDEX dispositions_of_space ON dispositions (space, position);

CREATE TABLE reactions (
    position        INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id              BLOB    NOT NULL CHECK (length(id) = 16),
    space           INTEGER NOT NULL,
    target          INTEGER NOT NULL,             -- position of what is reacted to
    actor_ref       TEXT    NOT NULL,
    key             TEXT    NOT NULL,
    state           TEXT    NOT NULL CHECK (state IN ('present', 'removed')),
    revision        INTEGER NOT NULL,
    updated_ms      INTEGER NOT NULL,
    UNIQUE (target, actor_ref, key)
) STRICT;

-- The events that stand in no project, by which they are read in order.
CREATE INDEX events_of_realm ON log (position) WHERE project IS NULL AND event_id IS NOT NULL;
