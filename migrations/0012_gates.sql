-- Gates, their openings, and the verdicts on these. An opening freezes the rules of its gate.

CREATE TABLE gates (
    position     INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id           BLOB    NOT NULL CHECK (length(id) = 16),
    space        INTEGER NOT NULL,
    name         TEXT    NOT NULL,
    revision     INTEGER NOT NULL,
    rank         INTEGER NOT NULL CHECK (rank BETWEEN 1 AND 4),  -- the minimum: peer, credential, ssh, ssh-sk
    quorum       INTEGER NOT NULL CHECK (quorum BETWEEN 1 AND 8),
    deciders     TEXT    NOT NULL,                -- canonical JSON: owner, agents, signers
    term_seconds INTEGER NOT NULL,
    rounds_max   INTEGER NOT NULL CHECK (rounds_max BETWEEN 1 AND 20),
    last_event   INTEGER NOT NULL,                -- position of the last event about it
    state        TEXT    NOT NULL,
    CHECK (rank < 3 OR quorum = 1 OR json_array_length(deciders, '$.signers') >= quorum),
    UNIQUE (space, name)
) STRICT;
CREATE TRIGGER gates_begin BEFORE INSERT ON gates
WHEN NOT EXISTS (SELECT 1 FROM lifecycle_steps WHERE (aggregate, was, becomes) = ('gate', '', NEW.state))
BEGIN SELECT RAISE(ABORT, 'gates: no gate begins in that state'); END;
CREATE TRIGGER gates_step BEFORE UPDATE ON gates
WHEN NEW.state <> OLD.state
    AND NOT EXISTS (SELECT 1 FROM lifecycle_steps WHERE (aggregate, was, becomes) = ('gate', OLD.state, NEW.state))
BEGIN SELECT RAISE(ABORT, 'gates: no such step'); END;

CREATE TABLE gate_openings (
    position        INTEGER PRIMARY KEY REFERENCES contributions (position) DEFERRABLE INITIALLY DEFERRED,
    id              BLOB    NOT NULL CHECK (length(id) = 16),
    gate            INTEGER NOT NULL REFERENCES gates (position) DEFERRABLE INITIALLY DEFERRED,
    gate_revision   INTEGER NOT NULL,
    space           INTEGER NOT NULL,
    subject         TEXT    NOT NULL,             -- a label: what this is about
    round           INTEGER NOT NULL,             -- of the gate and subject
    failures        INTEGER NOT NULL,             -- those in a row before it that were rejected or ran out
    subject_kind    TEXT    NOT NULL,
    digest          TEXT    NOT NULL,
    manifest_digest TEXT,
    target          INTEGER,                      -- position of the decision that it is about
    supersedes      TEXT    NOT NULL,             -- canonical JSON list: what the manifest names
    rank            INTEGER NOT NULL,
    quorum          INTEGER NOT NULL,
    deciders        TEXT    NOT NULL,
    state           TEXT    NOT NULL,
    ended_by        TEXT,
    revision        INTEGER NOT NULL,
    author          TEXT    NOT NULL,
    opener          TEXT    NOT NULL,             -- the channel's actor
    asker           TEXT,                         -- who asked for the invocation that made it
    epoch           INTEGER NOT NULL,
    expires_ms      INTEGER NOT NULL,
    settled         INTEGER,                      -- position of what ended its being open
    used            INTEGER,
    CHECK (failures BETWEEN 0 AND round - 1),
    CHECK ((state = 'open') = (settled IS NULL)),
    CHECK ((state = 'used') = (used IS NOT NULL)),
    CHECK (settled > position),
    CHECK (used >= settled),
    UNIQUE (gate, subject, round)
) STRICT;
CREATE UNIQUE INDEX gate_openings_live ON gate_openings (gate, subject) WHERE state IN ('open', 'approved');
CREATE INDEX gate_openings_by_expiry ON gate_openings (expires_ms) WHERE state IN ('open', 'approved');

CREATE TABLE opening_holds (
    opening INTEGER NOT NULL,
    task    INTEGER NOT NULL,
    lifted  INTEGER NOT NULL,
    PRIMARY KEY (opening, task)
) STRICT, WITHOUT ROWID;
CREATE INDEX opening_holds_of_task ON opening_holds (task) WHERE lifted = 0;
CREATE TABLE opening_waits (
    invocation INTEGER NOT NULL PRIMARY KEY,
    opening    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX opening_waits_of_opening ON opening_waits (opening);

CREATE TABLE verdicts (
    position       INTEGER PRIMARY KEY REFERENCES contributions (position) DEFERRABLE INITIALLY DEFERRED,
    id             BLOB    NOT NULL CHECK (length(id) = 16),
    opening        INTEGER NOT NULL REFERENCES gate_openings (position) DEFERRABLE INITIALLY DEFERRED,
    decision       TEXT    NOT NULL CHECK (decision IN ('approve', 'reject')),
    decider        TEXT    NOT NULL,
    actor          TEXT    NOT NULL,
    rank           INTEGER NOT NULL CHECK (rank BETWEEN 1 AND 4),
    "key"          INTEGER REFERENCES signer_keys (position) DEFERRABLE INITIALLY DEFERRED,
    statement      BLOB,
    signature      BLOB,
    flags          INTEGER,                       -- of a security key: touched
    comment_digest TEXT,
    CHECK (position > opening),
    CHECK (rank >= 3 OR decider = actor),
    CHECK ((rank >= 3) = (signature IS NOT NULL)),
    CHECK ((rank >= 3) = ("key" IS NOT NULL)),
    CHECK ((rank >= 3) = (statement IS NOT NULL)),
    CHECK (rank <> 4 OR (flags IS NOT NULL AND flags & 193 = 1)),
    CHECK (decision = 'approve' OR comment_digest IS NOT NULL),
    UNIQUE (opening, decider, decision),
    UNIQUE (signature)
) STRICT;

CREATE TRIGGER gate_openings_begin BEFORE INSERT ON gate_openings
WHEN NOT EXISTS (SELECT 1 FROM lifecycle_steps WHERE (aggregate, was, becomes) = ('opening', '', NEW.state))
BEGIN SELECT RAISE(ABORT, 'gate_openings: no opening begins in that state'); END;
CREATE TRIGGER gate_openings_step BEFORE UPDATE ON gate_openings
WHEN NEW.state <> OLD.state
    AND NOT EXISTS (SELECT 1 FROM lifecycle_steps WHERE (aggregate, was, becomes) = ('opening', OLD.state, NEW.state))
BEGIN SELECT RAISE(ABORT, 'gate_openings: no such step'); END;
CREATE TRIGGER gate_openings_rounds BEFORE INSERT ON gate_openings
WHEN NEW.failures >= (SELECT rounds_max FROM gates WHERE position = NEW.gate)
BEGIN SELECT RAISE(ABORT, 'gate_openings: its rounds are used up'); END;
-- It is approved and used only with its quorum of deciders, by keys that are not revoked, and with no reject.
CREATE TRIGGER gate_openings_quorum BEFORE UPDATE ON gate_openings
WHEN NEW.state IN ('approved', 'used') AND (
    (SELECT count(DISTINCT v.decider) FROM verdicts AS v LEFT JOIN signer_keys AS k ON k.position = v."key"
     WHERE v.opening = NEW.position AND v.decision = 'approve' AND v.rank >= NEW.rank
     AND (v."key" IS NULL OR k.state = 'active')) < NEW.quorum
    OR EXISTS (SELECT 1 FROM verdicts WHERE opening = NEW.position AND decision = 'reject'))
BEGIN SELECT RAISE(ABORT, 'gate_openings: the verdicts do not approve it'); END;
CREATE TRIGGER gate_openings_keep BEFORE UPDATE OF position, id, gate, gate_revision, space, subject, round, failures,
    subject_kind, digest, manifest_digest, target, supersedes, rank, quorum, deciders, author, opener, asker, epoch,
    expires_ms ON gate_openings
BEGIN SELECT RAISE(ABORT, 'gate_openings: this never changes'); END;
-- A verdict is one of the opening's deciders', strong enough, while it counts; and nobody's on what they opened themselves.
CREATE TRIGGER verdicts_count BEFORE INSERT ON verdicts
WHEN NOT EXISTS (
    SELECT 1 FROM gate_openings AS o WHERE o.position = NEW.opening
    AND (o.state = 'open' OR (o.state = 'approved' AND NEW.decision = 'reject'))
    AND (NEW.decision = 'reject' OR NEW.rank >= o.rank)
    AND CASE
        WHEN NEW.rank >= 3 THEN json_array_length(o.deciders, '$.signers') = 0
            OR EXISTS (SELECT 1 FROM json_each(o.deciders, '$.signers') WHERE value = NEW.decider)
        WHEN NEW.decider = 'prin-owner' THEN o.deciders ->> '$.owner' = 1
            AND (o.author <> 'prin-owner' OR o.rank = 1 OR NEW.decision = 'reject')
        ELSE NEW.decider NOT IN (o.author, o.opener, coalesce(o.asker, ''))
            AND EXISTS (SELECT 1 FROM json_each(o.deciders, '$.agents') WHERE value = NEW.decider)
    END)
BEGIN SELECT RAISE(ABORT, 'verdicts: it does not count'); END;
CREATE TRIGGER verdicts_keep BEFORE UPDATE ON verdicts
BEGIN SELECT RAISE(ABORT, 'verdicts: none ever changes'); END;
CREATE TRIGGER verdicts_stay BEFORE DELETE ON verdicts
BEGIN SELECT RAISE(ABORT, 'verdicts: none is ever deleted'); END;
