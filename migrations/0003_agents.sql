-- Agents: who may use which directory of sockets, as whom.

CREATE TABLE agents (
    position          INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id                BLOB    NOT NULL CHECK (length(id) = 16),
    revision          INTEGER NOT NULL,
    name              INTEGER NOT NULL,           -- body
    status            TEXT    NOT NULL CHECK (status IN ('active', 'revoked')),
    credential_sha256 BLOB    NOT NULL CHECK (length(credential_sha256) = 32),  -- the client makes the credential
    peer_uid          INTEGER,                    -- the uid that its processes have, where it is not the daemon's
    deployments       TEXT    NOT NULL,           -- canonical JSON list: whose invocations it may claim
    ceiling_ref       TEXT,                       -- the highest classification that it may read
    expires_at        TEXT,                       -- as it was sent
    expires_ms        INTEGER,
    created_ms        INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX agents_by_credential ON agents (credential_sha256);
