-- The kernel's schema.
--
-- One idea runs through it: `log` holds one row for each audited command (and one more for each further event of it),
-- and a row's position is its name everywhere else. An object is named by the position of the row that made it: a
-- project, a space, an invocation are streams, and `log.stream` is the position at which the stream began.
--
-- What a person may ask to be forgotten stands in `bodies` and nowhere else, sealed, once. Every other place holds a
-- skeleton: canonical JSON with a reference where content belongs.

-- Identity, epoch and the check values of the key files.
CREATE TABLE store_meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Audit, events, leaves and stored results. docs/log-format.md says how a leaf follows from a row.
CREATE TABLE log (
    position           INTEGER PRIMARY KEY CHECK (position >= 0),
    leaf               BLOB    NOT NULL CHECK (length(leaf) = 32),
    epoch              INTEGER NOT NULL,
    recorded_ms        INTEGER NOT NULL,          -- Unix time in milliseconds
    -- audit: who did what under which mode, and how it ended
    actor              TEXT    NOT NULL,          -- the channel's actor
    strength           TEXT    NOT NULL,          -- how strongly it was authenticated
    operation          TEXT    NOT NULL,
    mode               TEXT    NOT NULL,
    outcome            TEXT    NOT NULL,          -- applied, a problem's kind, or a suppression
    detail             TEXT    NOT NULL,          -- canonical JSON: ids made here, words of closed sets, a keyed digest
    command            INTEGER REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,  -- of a further event: the command's first row
    -- event: null where the row holds none
    event_id           BLOB CHECK (length(event_id) = 16),
    type               TEXT,
    schema_ref         TEXT,
    resource           TEXT,
    resource_revision  INTEGER,
    author             TEXT,                      -- the event's actor: for a worker its deployment
    causation          TEXT,
    correlation        TEXT,                      -- the request id
    classification     TEXT,
    world_ms           INTEGER,                   -- when it happened out there, where somebody said so
    stream             INTEGER,
    stream_sequence    INTEGER,
    project            INTEGER,
    project_sequence   INTEGER,
    payload            BLOB,                      -- skeleton
    -- stored result: null where nothing can be replayed
    idempotency_key    TEXT,
    key_hash           BLOB CHECK (length(key_hash) = 32),
    request_digest     BLOB CHECK (length(request_digest) = 32),  -- content replaced by null
    request_mac        BLOB CHECK (length(request_mac) = 32),     -- of the whole, under a key that is erased with the body
    result             BLOB,                      -- skeleton; null where it is the payload
    reply_revision     INTEGER,
    reply_sequence     INTEGER,                   -- project sequence of the reply's event cursor
    -- commitments
    salt               BLOB NOT NULL CHECK (length(salt) = 16),
    content_commitment BLOB CHECK (length(content_commitment) = 32),
    state_commitment   BLOB CHECK (length(state_commitment) = 32),
    result_commitment  BLOB CHECK (length(result_commitment) = 32),
    UNIQUE (stream, stream_sequence),
    UNIQUE (project, project_sequence),
    CHECK ((event_id IS NULL) = (type IS NULL)),
    CHECK ((event_id IS NULL) = (stream IS NULL)),
    CHECK ((stream IS NULL) = (stream_sequence IS NULL)),
    CHECK ((project IS NULL) = (project_sequence IS NULL)),
    CHECK ((key_hash IS NULL) = (request_digest IS NULL))
) STRICT;

-- (first 12 bytes of the client's key ‖ first 12 of the triple's hash) → the command; the whole hash stands in the log.
CREATE TABLE idempotency (
    lookup   BLOB    NOT NULL PRIMARY KEY CHECK (length(lookup) = 24),
    position INTEGER NOT NULL REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;

-- An object's or event's 128 bits → the row that made it. An event that makes an object shares its digits with it.
CREATE TABLE ids (
    id       BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    position INTEGER NOT NULL REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    position INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    event_id BLOB NOT NULL
) STRICT;

-- Content, sealed under its object's key. body = position of the command × 16 + ordinal: never used twice.
CREATE TABLE bodies (
    body   INTEGER PRIMARY KEY,
    sealed BLOB NOT NULL
) STRICT;

-- Rows of one fixed size, so that an erased one is overwritten in place.
CREATE TABLE object_keys (
    body    INTEGER PRIMARY KEY,
    wrapped BLOB NOT NULL CHECK (length(wrapped) = 124)
) STRICT;

CREATE TABLE realm (
    realm_id             TEXT    NOT NULL PRIMARY KEY,
    revision             INTEGER NOT NULL,
    name                 TEXT    NOT NULL,
    status               TEXT    NOT NULL,
    home_region          TEXT    NOT NULL,
    auth_policy_ref      TEXT    NOT NULL,
    retention_policy_ref TEXT    NOT NULL,
    encryption_key_ref   TEXT    NOT NULL,
    created_ms           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE projects (
    position                   INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id                         BLOB    NOT NULL CHECK (length(id) = 16),
    revision                   INTEGER NOT NULL,
    name                       INTEGER NOT NULL,   -- body
    status                     TEXT    NOT NULL CHECK (status IN ('active', 'suspended', 'archived')),
    default_classification_ref TEXT    NOT NULL,
    policy_set_ref             TEXT    NOT NULL,
    created_by                 TEXT    NOT NULL,
    created_ms                 INTEGER NOT NULL
) STRICT;

CREATE TABLE spaces (
    position                   INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id                         BLOB    NOT NULL CHECK (length(id) = 16),
    project                    INTEGER NOT NULL REFERENCES projects (position) DEFERRABLE INITIALLY DEFERRED,
    revision                   INTEGER NOT NULL,
    title                      INTEGER NOT NULL,   -- body
    purpose_contribution_ref   TEXT,
    visibility                 TEXT    NOT NULL CHECK (visibility IN ('project', 'restricted')),
    status                     TEXT    NOT NULL CHECK (status IN ('open', 'frozen', 'archived')),
    main_branch                BLOB    NOT NULL CHECK (length(main_branch) = 16),
    next_space_sequence        INTEGER NOT NULL,
    branch_sequence            INTEGER NOT NULL,   -- of the main branch's last entry
    branch_head                BLOB    NOT NULL CHECK (length(branch_head) = 32),
    default_classification_ref TEXT    NOT NULL,
    policy_set_ref             TEXT    NOT NULL,
    created_by                 TEXT    NOT NULL,
    created_ms                 INTEGER NOT NULL
) STRICT;
CREATE INDEX spaces_of_project ON spaces (project, position);

-- Named by the command that added it: no command adds two.
CREATE TABLE participants (
    position             INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id                   BLOB    NOT NULL CHECK (length(id) = 16),
    space                INTEGER NOT NULL REFERENCES spaces (position) DEFERRABLE INITIALLY DEFERRED,
    subject_ref          TEXT    NOT NULL,
    subject_revision     INTEGER,
    kind                 TEXT    NOT NULL
                         CHECK (kind IN ('principal', 'assistant_deployment', 'service', 'peer_projection')),
    role                 TEXT    NOT NULL CHECK (role IN ('steward', 'contributor', 'observer')),
    status               TEXT    NOT NULL CHECK (status IN ('proposed', 'active', 'muted', 'revoked')),
    revision             INTEGER NOT NULL,
    authority_source_ref TEXT    NOT NULL,
    UNIQUE (subject_ref, space)
) STRICT;
CREATE INDEX participants_of_space ON participants (space, position);

-- A contribution's record is its event's payload, which never changes; here stands what commands look up.
CREATE TABLE contributions (
    position        INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    space           INTEGER NOT NULL,
    branch_sequence INTEGER NOT NULL,
    kind            TEXT    NOT NULL,
    classification  TEXT    NOT NULL,
    digest          BLOB    NOT NULL CHECK (length(digest) = 32),  -- keyed; the key goes with the body
    size            INTEGER NOT NULL,             -- bytes of the canonical body parts
    body            INTEGER NOT NULL
) STRICT;

CREATE TABLE relations (
    position        INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    space           INTEGER NOT NULL,
    branch_sequence INTEGER NOT NULL,
    kind            TEXT    NOT NULL,
    classification  TEXT    NOT NULL,
    digest          BLOB    NOT NULL CHECK (length(digest) = 32)
) STRICT;

-- Pinned by frontier_pin, or by an assembly in the same command.
CREATE TABLE frontiers (
    position         INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id               BLOB    NOT NULL CHECK (length(id) = 16),
    space            INTEGER NOT NULL,
    branch_sequence  INTEGER NOT NULL,
    branch_head      BLOB    NOT NULL CHECK (length(branch_head) = 32),
    project_event_cursor TEXT NOT NULL,           -- as it was made: the digest covers it
    created_ms       INTEGER NOT NULL,
    digest           BLOB    NOT NULL CHECK (length(digest) = 32)
) STRICT;

-- An assembly's record is its command's stored result, which never changes.
CREATE TABLE assemblies (
    position INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    space    INTEGER NOT NULL,
    digest   BLOB    NOT NULL CHECK (length(digest) = 32)
) STRICT;

CREATE TABLE deployments (
    deployment_id         TEXT    NOT NULL PRIMARY KEY,
    revision              INTEGER NOT NULL,
    assistant_revision_id TEXT    NOT NULL,
    security_profile      TEXT    NOT NULL CHECK (security_profile IN ('developer', 'confined', 'secure')),
    status                TEXT    NOT NULL CHECK (status IN ('created', 'active', 'drained')),
    created_ms            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE invocations (
    position         INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id               BLOB    NOT NULL CHECK (length(id) = 16),
    project          INTEGER NOT NULL REFERENCES projects (position) DEFERRABLE INITIALLY DEFERRED,
    space            INTEGER,
    assembly         INTEGER,
    deployment_id    TEXT    NOT NULL,
    state            TEXT    NOT NULL CHECK (state IN ('queued', 'claimed', 'running', 'waiting_commitment', 'waiting_human',
                                             'waiting_resource', 'succeeded', 'failed', 'canceled', 'ambiguous')),
    revision         INTEGER NOT NULL,
    not_before_ms    INTEGER NOT NULL,
    deadline_ms      INTEGER NOT NULL,
    max_attempts     INTEGER NOT NULL,
    failed_attempts  INTEGER NOT NULL,            -- attempts ended by a failure; a lapsed lease does not count
    terminal_ms      INTEGER,
    record           BLOB    NOT NULL             -- canonical JSON of the members that never change
) STRICT;
CREATE INDEX invocations_of_project ON invocations (project, position);

CREATE TABLE attempts (
    invocation    INTEGER NOT NULL REFERENCES invocations (position) DEFERRABLE INITIALLY DEFERRED,
    ordinal       INTEGER NOT NULL,               -- 1 …; also the fence
    id_hash       BLOB    NOT NULL CHECK (length(id_hash) = 32),  -- SHA-256 of the attempt id, which stands nowhere
    reference     BLOB    NOT NULL CHECK (length(reference) = 16),
    state         TEXT    NOT NULL CHECK (state IN ('running', 'fenced', 'succeeded', 'failed', 'canceled')),
    channel_actor TEXT    NOT NULL,
    epoch         INTEGER NOT NULL,
    term_seconds  INTEGER NOT NULL,               -- a duration: deadlines live in memory, on the monotonic clock
    claim         INTEGER NOT NULL,               -- position of the claim
    ending        INTEGER,                        -- position of the command that ended it
    PRIMARY KEY (invocation, ordinal)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX attempts_by_id ON attempts (id_hash);

-- The commands of an invocation's attempts, so that a later attempt finds what is done.
CREATE TABLE invocation_steps (
    invocation INTEGER NOT NULL,
    position   INTEGER NOT NULL,
    PRIMARY KEY (invocation, position)
) STRICT, WITHOUT ROWID;
