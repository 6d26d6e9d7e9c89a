-- Tasks: what is to be done, what it needs, and who holds it. What one says is its contribution's body.

CREATE TABLE tasks (
    position        INTEGER PRIMARY KEY REFERENCES contributions (position) DEFERRABLE INITIALLY DEFERRED,
    id              BLOB    NOT NULL CHECK (length(id) = 16),
    space           INTEGER NOT NULL,
    creator         TEXT    NOT NULL,
    state           TEXT    NOT NULL,
    revision        INTEGER NOT NULL,
    unmet           INTEGER NOT NULL,             -- needs that are not done and holds that are not lifted
    priority        INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 4),
    assignee        TEXT    NOT NULL,             -- '' is anybody
    repository      TEXT    NOT NULL,
    paths           TEXT    NOT NULL,             -- canonical JSON list
    reserve         INTEGER NOT NULL,
    labels          TEXT    NOT NULL,             -- canonical JSON list
    attempts_max    INTEGER NOT NULL,
    failed_attempts INTEGER NOT NULL,
    lapses          INTEGER NOT NULL,             -- takeovers in a row, of the claim that holds it
    claim           INTEGER,                      -- ordinal of the claim that holds it
    receipt         INTEGER REFERENCES contributions (position) DEFERRABLE INITIALLY DEFERRED,
    CHECK (unmet >= 0),
    CHECK (unmet = 0 OR state NOT IN ('ready', 'claimed', 'done')),
    CHECK (state <> 'blocked' OR unmet > 0),
    CHECK ((state = 'claimed') = (claim IS NOT NULL)),
    CHECK ((state = 'done') = (receipt IS NOT NULL)),
    CHECK (failed_attempts <= attempts_max),
    CHECK (lapses <= 5),
    FOREIGN KEY (position, claim) REFERENCES task_claims (task, ordinal) DEFERRABLE INITIALLY DEFERRED
) STRICT;
CREATE INDEX tasks_ready ON tasks (space, assignee, priority, position) WHERE state = 'ready';
CREATE INDEX tasks_of_space ON tasks (space, position);

CREATE TABLE task_needs (
    task  INTEGER NOT NULL,
    needs INTEGER NOT NULL,
    PRIMARY KEY (task, needs),
    CHECK (task <> needs)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_needs_of ON task_needs (needs, task);

CREATE TABLE task_notes (
    task INTEGER NOT NULL,
    note INTEGER NOT NULL,
    PRIMARY KEY (task, note),
    CHECK (note > task)
) STRICT, WITHOUT ROWID;

CREATE TABLE task_claims (
    task         INTEGER NOT NULL REFERENCES tasks (position) DEFERRABLE INITIALLY DEFERRED,
    ordinal      INTEGER NOT NULL,                -- 1, 2, …: also the fence
    id_hash      BLOB    NOT NULL CHECK (length(id_hash) = 32),
    reference    BLOB    NOT NULL CHECK (length(reference) = 16),
    state        TEXT    NOT NULL,
    actor        TEXT    NOT NULL,
    label        TEXT,
    epoch        INTEGER NOT NULL,
    term_seconds INTEGER NOT NULL,
    claimed      INTEGER NOT NULL,                -- position of the command that made it
    ending       INTEGER,                         -- and of the one that ended it
    PRIMARY KEY (task, ordinal),
    CHECK ((state = 'running') = (ending IS NULL)),
    UNIQUE (id_hash)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX task_claims_running ON task_claims (task) WHERE state = 'running';
CREATE INDEX task_claims_of_actor ON task_claims (actor) WHERE state = 'running';

CREATE TRIGGER tasks_begin BEFORE INSERT ON tasks
WHEN NOT EXISTS (SELECT 1 FROM lifecycle_steps WHERE (aggregate, was, becomes) = ('task', '', NEW.state))
BEGIN SELECT RAISE(ABORT, 'tasks: no task begins in that state'); END;
CREATE TRIGGER tasks_step BEFORE UPDATE ON tasks
WHEN NEW.state <> OLD.state
    AND NOT EXISTS (SELECT 1 FROM lifecycle_steps WHERE (aggregate, was, becomes) = ('task', OLD.state, NEW.state))
BEGIN SELECT RAISE(ABORT, 'tasks: no such step'); END;
CREATE TRIGGER task_claims_begin BEFORE INSERT ON task_claims
WHEN NOT EXISTS (SELECT 1 FROM lifecycle_steps WHERE (aggregate, was, becomes) = ('claim', '', NEW.state))
BEGIN SELECT RAISE(ABORT, 'task_claims: no claim begins in that state'); END;
CREATE TRIGGER task_claims_step BEFORE UPDATE ON task_claims
WHEN NEW.state <> OLD.state
    AND NOT EXISTS (SELECT 1 FROM lifecycle_steps WHERE (aggregate, was, becomes) = ('claim', OLD.state, NEW.state))
BEGIN SELECT RAISE(ABORT, 'task_claims: no such step'); END;
