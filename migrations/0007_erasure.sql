-- Erasures: content whose keys are gone, and what is still to be cleaned up behind them.

CREATE TABLE erasures (
    position      INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id            BLOB    NOT NULL CHECK (length(id) = 16),
    subject       TEXT    NOT NULL,               -- the object or event whose content it was
    reason_class  TEXT    NOT NULL,
    bodies        INTEGER NOT NULL,               -- how many were erased
    authorized_by TEXT    NOT NULL,
    state         TEXT    NOT NULL CHECK (state IN ('erasing', 'erased')),
    created_ms    INTEGER NOT NULL,
    erased_ms     INTEGER
) STRICT;
CREATE INDEX erasures_in_progress ON erasures (position) WHERE state = 'erasing';
