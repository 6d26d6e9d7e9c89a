-- Lenses: ways to look at a space. The two that every space has (lens-stream-<space>, lens-workbench-<space>) follow from
-- the space, and have a row here from their first change on.

CREATE TABLE lenses (
    position     INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id           BLOB    CHECK (length(id) = 16),  -- null of a built-in one
    space        INTEGER NOT NULL REFERENCES spaces (position) DEFERRABLE INITIALLY DEFERRED,
    built_in     TEXT    CHECK (built_in IN ('stream', 'workbench')),
    owner_ref    TEXT    NOT NULL,
    revision     INTEGER NOT NULL,
    kind         TEXT    NOT NULL CHECK (kind IN ('stream', 'workbench', 'pulse', 'branch_compare', 'ensemble',
                                                  'provenance', 'custom')),
    query        INTEGER,                         -- body; of a built-in one null: as it comes
    sort         INTEGER,                         -- body, the same
    presentation INTEGER,                         -- body, the same
    visibility   TEXT    NOT NULL,
    status       TEXT    NOT NULL CHECK (status IN ('active', 'revoked')),
    created_ms   INTEGER NOT NULL,
    CHECK ((id IS NULL) = (built_in IS NOT NULL)),
    CHECK (built_in IS NOT NULL OR (query IS NOT NULL AND sort IS NOT NULL AND presentation IS NOT NULL)),
    UNIQUE (space, built_in)
) STRICT;
CREATE INDEX lenses_of_space ON lenses (space, position);

-- The objects that a relation leads from and to, by which a card finds what leaves and what reaches its contribution.
ALTER TABLE relations ADD COLUMN from_object INTEGER;
ALTER TABLE relations ADD COLUMN to_object INTEGER;
UPDATE relations SET
    from_object = (SELECT ids.position FROM log JOIN ids ON ids.id = unhex(substr(
                       json_extract(CAST(log.payload AS TEXT), '$.from_ref.object_ref'), -32))
                   WHERE log.position = relations.position),
    to_object   = (SELECT ids.position FROM log JOIN ids ON ids.id = unhex(substr(
                       json_extract(CAST(log.payload AS TEXT), '$.to_ref.object_ref'), -32))
                   WHERE log.position = relations.position);
CREATE INDEX relations_from ON relations (from_object);
CREATE INDEX relations_to ON relations (to_object);
