-- Which states each thing of coordination may begin in, and which may follow which. It is data, so that a further state
-- needs no new table; the triggers of each family's tables refuse every other beginning and step, whoever writes.

CREATE TABLE lifecycle_steps (
    aggregate TEXT NOT NULL,
    was       TEXT NOT NULL,                      -- '' is before the beginning
    becomes   TEXT NOT NULL,
    PRIMARY KEY (aggregate, was, becomes)
) STRICT, WITHOUT ROWID;
INSERT INTO lifecycle_steps (aggregate, was, becomes) VALUES
    ('key', '', 'active'), ('key', 'active', 'revoked'),
    ('gate', '', 'active'), ('gate', 'active', 'retired'),
    ('opening', '', 'open'),
    ('opening', 'open', 'approved'), ('opening', 'approved', 'used'),
    ('opening', 'open', 'rejected'), ('opening', 'approved', 'rejected'),
    ('opening', 'open', 'expired'), ('opening', 'approved', 'expired'),
    ('opening', 'open', 'withdrawn'), ('opening', 'approved', 'withdrawn'),
    ('opening', 'open', 'replaced'), ('opening', 'approved', 'replaced'),
    ('decision', '', 'proposed'), ('decision', '', 'standing'),
    ('decision', 'proposed', 'standing'),
    ('decision', 'proposed', 'superseded'), ('decision', 'standing', 'superseded'),
    ('decision', 'proposed', 'withdrawn'), ('decision', 'standing', 'withdrawn'),
    ('task', '', 'ready'), ('task', '', 'blocked'),
    ('task', 'blocked', 'ready'), ('task', 'ready', 'blocked'), ('task', 'ready', 'claimed'),
    ('task', 'claimed', 'ready'), ('task', 'claimed', 'done'), ('task', 'claimed', 'failed'),
    ('task', 'blocked', 'canceled'), ('task', 'ready', 'canceled'), ('task', 'claimed', 'canceled'),
    ('task', 'failed', 'ready'), ('task', 'failed', 'blocked'),
    ('task', 'canceled', 'ready'), ('task', 'canceled', 'blocked'),
    ('claim', '', 'running'),
    ('claim', 'running', 'done'), ('claim', 'running', 'failed'), ('claim', 'running', 'released'),
    ('claim', 'running', 'canceled'), ('claim', 'running', 'fenced'),
    ('reservation', '', 'held'), ('reservation', 'held', 'released'), ('reservation', 'held', 'lapsed');
