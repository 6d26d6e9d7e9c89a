-- The states of agents and erasures are the program's tables, in the modules that write them, and no longer a CHECK here:
-- a further state of theirs is then no rebuild of the table. SQLite takes no constraint away from a table, so both are
-- made anew, otherwise as they were. States that the protocol names keep their CHECK.

CREATE TABLE new_agents (
    position          INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id                BLOB    NOT NULL CHECK (length(id) = 16),
    revision          INTEGER NOT NULL,
    name              INTEGER NOT NULL,           -- body
    status            TEXT    NOT NULL,
    credential_sha256 BLOB    NOT NULL CHECK (length(credential_sha256) = 32),  -- the client makes the credential
    peer_uid          INTEGER,                    -- the uid that its processes have, where it is not the daemon's
    deployments       TEXT    NOT NULL,           -- canonical JSON list: whose invocations it may claim
    ceiling_ref       TEXT,                       -- the highest classification that it may read
    expires_at        TEXT,                       -- as it was sent
    expires_ms        INTEGER,
    created_ms        INTEGER NOT NULL
) STRICT;
INSERT INTO new_agents SELECT position, id, revision, name, status, credential_sha256, peer_uid, deployments, ceiling_ref,
                              expires_at, expires_ms, created_ms FROM agents;
DROP TABLE agents;
ALTER TABLE new_agents RENAME TO agents;
CREATE UNIQUE INDEX agents_by_credential ON agents (credential_sha256);

CREATE TABLE new_erasures (
    position      INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id            BLOB    NOT NULL CHECK (length(id) = 16),
    subject       TEXT    NOT NULL,               -- the object or event whose content it was
    reason_class  TEXT    NOT NULL,
    bodies        INTEGER NOT NULL,               -- how many were erased
    authorized_by TEXT    NOT NULL,
    state         TEXT    NOT NULL,
    created_ms    INTEGER NOT NULL,
    erased_ms     INTEGER
) STRICT;
INSERT INTO new_erasures SELECT position, id, subject, reason_class, bodies, authorized_by, state, created_ms, erased_ms
                         FROM erasures;
DROP TABLE erasures;
ALTER TABLE new_erasures RENAME TO erasures;
CREATE INDEX erasures_in_progress ON erasures (position) WHERE state = 'erasing';
