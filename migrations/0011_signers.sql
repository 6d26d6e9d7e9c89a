-- Keys of persons, by which verdicts are signed. A keyring begins anew when all of its keys are lost.

CREATE TABLE signer_keys (
    position    INTEGER PRIMARY KEY REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED,
    id          BLOB    NOT NULL CHECK (length(id) = 16),
    keyring     INTEGER NOT NULL,
    signer      BLOB    NOT NULL CHECK (length(signer) = 16),
    name        INTEGER NOT NULL,                 -- body
    public_key  BLOB    NOT NULL,
    rank        INTEGER NOT NULL CHECK (rank IN (3, 4)),
    state       TEXT    NOT NULL,
    revision    INTEGER NOT NULL,
    statement   BLOB    NOT NULL,
    signature   BLOB    NOT NULL,                 -- by the key itself
    endorsed_by INTEGER REFERENCES signer_keys (position) DEFERRABLE INITIALLY DEFERRED,
    endorsement BLOB,
    counter     INTEGER NOT NULL,                 -- of its last signature
    last_event  INTEGER NOT NULL,                 -- position of the last event about it
    CHECK ((endorsed_by IS NULL) = (endorsement IS NULL)),
    UNIQUE (keyring, public_key)
) STRICT;
CREATE UNIQUE INDEX signer_keys_first ON signer_keys (keyring) WHERE endorsed_by IS NULL;

CREATE TRIGGER signer_keys_begin BEFORE INSERT ON signer_keys
WHEN NOT EXISTS (SELECT 1 FROM lifecycle_steps WHERE (aggregate, was, becomes) = ('key', '', NEW.state))
BEGIN SELECT RAISE(ABORT, 'signer_keys: no key begins in that state'); END;
CREATE TRIGGER signer_keys_step BEFORE UPDATE ON signer_keys
WHEN NEW.state <> OLD.state
    AND NOT EXISTS (SELECT 1 FROM lifecycle_steps WHERE (aggregate, was, becomes) = ('key', OLD.state, NEW.state))
BEGIN SELECT RAISE(ABORT, 'signer_keys: no such step'); END;
-- An endorsement is by an active key of the keyring, of at least the new key's rank (of the highest that there is, where
-- it is the first of its rank), and of the same signer where that signer has a key.
CREATE TRIGGER signer_keys_endorsed BEFORE INSERT ON signer_keys
WHEN NEW.endorsed_by IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM signer_keys AS e WHERE e.position = NEW.endorsed_by AND e.keyring = NEW.keyring AND e.state = 'active'
    AND e.rank >= min(NEW.rank, (SELECT max(rank) FROM signer_keys WHERE keyring = NEW.keyring))
    AND (e.signer = NEW.signer
         OR NOT EXISTS (SELECT 1 FROM signer_keys WHERE keyring = NEW.keyring AND signer = NEW.signer)))
BEGIN SELECT RAISE(ABORT, 'signer_keys: that key cannot endorse this one'); END;
CREATE TRIGGER signer_keys_counter BEFORE UPDATE ON signer_keys
WHEN NEW.counter < OLD.counter
BEGIN SELECT RAISE(ABORT, 'signer_keys: a counter never falls'); END;
CREATE TRIGGER signer_keys_keep BEFORE UPDATE OF position, id, keyring, signer, name, public_key, rank, statement, signature,
    endorsed_by, endorsement ON signer_keys
BEGIN SELECT RAISE(ABORT, 'signer_keys: this never changes'); END;
