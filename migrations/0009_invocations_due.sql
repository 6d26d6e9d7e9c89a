-- An invocation ends when its deadline passes, and when too many of its attempts have lapsed. Both are found without
-- going through all invocations that have not ended.

ALTER TABLE invocations ADD COLUMN lapsed_attempts INTEGER NOT NULL DEFAULT 0;  -- fenced by a claim after their lease ran out
UPDATE invocations SET lapsed_attempts = (SELECT count(*) FROM attempts
                                          WHERE attempts.invocation = invocations.position AND attempts.state = 'fenced')
WHERE state IN ('queued', 'running');
CREATE INDEX invocations_by_deadline ON invocations (deadline_ms) WHERE state IN ('queued', 'running');
CREATE INDEX invocations_by_lapses ON invocations (lapsed_attempts) WHERE state = 'running';
