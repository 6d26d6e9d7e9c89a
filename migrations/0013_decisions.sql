-- Decisions: what holds, where, and what it contradicts. What one says is its contribution's body.

CREATE TABLE decisions (
    position    INTEGER PRIMARY KEY REFERENCES contributions (position) DEFERRABLE INITIALLY DEFERRED,
    id          BLOB    NOT NULL CHECK (length(id) = 16),
    space       INTEGER NOT NULL,
    "key"       TEXT    NOT NULL,
    repository  TEXT    NOT NULL,                 -- '' is any
    region      TEXT    NOT NULL,                 -- folded paths, sorted, newlines between; '' is everywhere
    state       TEXT    NOT NULL,
    revision    INTEGER NOT NULL,
    ratified_by INTEGER REFERENCES verdicts (position) DEFERRABLE INITIALLY DEFERRED,
    rank        INTEGER NOT NULL,                 -- the lowest of the verdicts that ratified it; 0 without
    review_ms   INTEGER,
    CHECK ((ratified_by IS NULL) = (rank = 0)),
    CHECK (ratified_by IS NULL OR (ratified_by > position AND state <> 'proposed'))
) STRICT;
CREATE INDEX decisions_standing ON decisions (space, "key") WHERE state = 'standing';
CREATE INDEX decisions_of_key ON decisions (space, "key", position);
CREATE INDEX decisions_of_space ON decisions (space, position);
CREATE UNIQUE INDEX decisions_ratified ON decisions (space, "key", repository, region)
    WHERE state = 'standing' AND ratified_by IS NOT NULL;

CREATE TABLE decision_places (                    -- of standing decisions that have a place
    space      INTEGER NOT NULL,
    repository TEXT    NOT NULL,
    node       TEXT    NOT NULL,
    decision   INTEGER NOT NULL,
    PRIMARY KEY (space, repository, node, decision)
) STRICT, WITHOUT ROWID;

CREATE TABLE decision_links (
    decision INTEGER NOT NULL,
    kind     TEXT    NOT NULL CHECK (kind IN ('supersedes', 'narrows', 'depends_on')),
    target   INTEGER NOT NULL,
    PRIMARY KEY (decision, kind, target),
    CHECK (target < decision)
) STRICT, WITHOUT ROWID;
CREATE INDEX decision_links_to ON decision_links (target, kind);

CREATE TABLE decision_exclusions (                -- of standing decisions
    space    INTEGER NOT NULL,
    "key"    TEXT    NOT NULL,
    decision INTEGER NOT NULL,
    PRIMARY KEY (space, "key", decision)
) STRICT, WITHOUT ROWID;

CREATE TABLE decision_conflicts (
    a      INTEGER NOT NULL,
    b      INTEGER NOT NULL,
    cause  TEXT    NOT NULL CHECK (cause IN ('same_key', 'excluded')),
    opened INTEGER NOT NULL,                      -- position of the event that told it
    ended  INTEGER,                               -- position of what ended it
    PRIMARY KEY (a, b),
    CHECK (a < b),
    CHECK (ended >= opened)
) STRICT, WITHOUT ROWID;
CREATE INDEX decision_conflicts_of_b ON decision_conflicts (b);

CREATE TRIGGER decisions_begin BEFORE INSERT ON decisions
WHEN NOT EXISTS (SELECT 1 FROM lifecycle_steps WHERE (aggregate, was, becomes) = ('decision', '', NEW.state))
BEGIN SELECT RAISE(ABORT, 'decisions: no decision begins in that state'); END;
CREATE TRIGGER decisions_step BEFORE UPDATE ON decisions
WHEN NEW.state <> OLD.state
    AND NOT EXISTS (SELECT 1 FROM lifecycle_steps WHERE (aggregate, was, becomes) = ('decision', OLD.state, NEW.state))
BEGIN SELECT RAISE(ABORT, 'decisions: no such step'); END;
CREATE TRIGGER decisions_fallen BEFORE UPDATE ON decisions
WHEN NEW.state <> OLD.state AND NEW.state IN ('superseded', 'withdrawn')
    AND NOT EXISTS (SELECT 1 FROM dispositions WHERE target = NEW.position AND kind = NEW.state)
BEGIN SELECT RAISE(ABORT, 'decisions: nothing says that it fell'); END;
CREATE TRIGGER decisions_ratification BEFORE UPDATE ON decisions
WHEN NEW.ratified_by IS NOT OLD.ratified_by AND (OLD.ratified_by IS NOT NULL OR NOT EXISTS (
    SELECT 1 FROM verdicts AS v JOIN gate_openings AS o ON o.position = v.opening
    WHERE v.position = NEW.ratified_by AND v.decision = 'approve' AND o.subject_kind = 'decision'
    AND o.target = NEW.position AND NEW.rank BETWEEN o.rank AND v.rank))
BEGIN SELECT RAISE(ABORT, 'decisions: no verdict ratifies it so'); END;
CREATE TRIGGER decisions_keep BEFORE UPDATE OF position, id, space, "key", repository, region, review_ms ON decisions
BEGIN SELECT RAISE(ABORT, 'decisions: this never changes'); END;
