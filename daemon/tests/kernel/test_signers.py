"""Keys of persons: the first is taken on trust, every other is vouched for, and none is revoked unsigned."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from .agents import Agent
from .kernel import Json, Kernel
from .signing import KEYS, about_key, add_args, add_key, armored, keyring, revoke_args, signer_of

ADD = "tallystick_signer_add"
REVOKE = "tallystick_signer_revoke"


def refused(kernel: Kernel, args: Json, op: str = ADD) -> str:
    return kernel.problem(kernel.write(op, args))


# --- adding -------------------------------------------------------------------------------------------------
def test_the_first_key_is_taken_on_its_own_signature(kernel: Kernel) -> None:
    """Its record says whose it is and that nobody endorsed it; the list gives it back, and what is next."""
    before = keyring(kernel)
    assert (before["items"], before["keyring"]) == ([], 1)
    made = add_key(kernel, "ed25519")
    key = KEYS["ed25519"]
    assert (made["type"], made["fingerprint"]) == ("ssh-ed25519", key.fingerprint)
    assert (made["signer"], made["public_key"], made["state"]) == (signer_of(key), key.line, "active")
    assert "endorsed_by" not in made
    after = keyring(kernel)
    assert after["items"] == [made]
    assert after["last_leaf"] != before["last_leaf"]


@pytest.mark.parametrize(
    "name", ["ed25519", "ecdsa-256", "ecdsa-384", "ecdsa-521", "rsa-3072", "sk-ed25519", "sk-ecdsa"]
)
def test_each_type_of_key_can_be_added(kernel: Kernel, name: str) -> None:
    """All that OpenSSH makes and that may sign."""
    assert add_key(kernel, name)["type"] == KEYS[name].type


def test_a_weak_key_is_refused(kernel: Kernel) -> None:
    """RSA of 2,048 bits signs nothing here."""
    assert refused(kernel, add_args(kernel, KEYS["rsa-2048"])) == "invalid"


def test_a_second_key_needs_the_endorsement_of_one_that_is_there(kernel: Kernel) -> None:
    """Attack 5: whoever reaches the owner's socket cannot register a key of their own."""
    first = add_key(kernel, "ed25519")
    other = KEYS["ed25519-other"]
    assert refused(kernel, add_args(kernel, other)) == "unauthenticated"
    assert refused(kernel, add_args(kernel, other, other)) == "unauthenticated"
    made = add_key(kernel, "ed25519-other", "ed25519")
    assert made["endorsed_by"] == first["key_id"]
    assert made["signer"] != first["signer"]


def test_the_first_key_of_a_keyring_has_no_endorsement(kernel: Kernel) -> None:
    """Nobody is there who could have made one."""
    args = add_args(kernel, KEYS["ed25519"], KEYS["ed25519-other"])
    assert refused(kernel, args) == "invalid"


def test_a_further_key_of_somebody_is_endorsed_by_one_of_theirs(kernel: Kernel) -> None:
    """Nobody gives themselves another's name."""
    mine = add_key(kernel, "ed25519")
    add_key(kernel, "ed25519-other", "ed25519")
    further = add_args(kernel, KEYS["ecdsa-256"], KEYS["ed25519-other"], signer=mine["signer"])
    assert refused(kernel, further) == "unauthenticated"
    made = add_key(kernel, "ecdsa-256", "ed25519", signer=mine["signer"])
    assert made["signer"] == mine["signer"]
    unknown = add_args(kernel, KEYS["ecdsa-384"], KEYS["ed25519"], signer="signer-" + "0" * 32)
    assert refused(kernel, unknown) == "not-found"


def test_a_key_endorses_none_above_its_rank_but_the_first_of_one(kernel: Kernel) -> None:
    """An ssh key vouches for the first security key; from then on security keys do."""
    add_key(kernel, "ed25519")
    add_key(kernel, "sk-ed25519", "ed25519")
    assert refused(kernel, add_args(kernel, KEYS["sk-ecdsa"], KEYS["ed25519"])) == "unauthenticated"
    add_key(kernel, "sk-ecdsa", "sk-ed25519", counter=2)
    assert add_key(kernel, "ecdsa-256", "sk-ed25519", counter=3)["type"] == "ecdsa-sha2-nistp256"


def test_a_key_is_added_once(kernel: Kernel) -> None:
    """Also when it was revoked."""
    first = add_key(kernel, "ed25519")
    assert refused(kernel, add_args(kernel, KEYS["ed25519"], KEYS["ed25519"])) == "invalid"
    add_key(kernel, "ed25519-other", "ed25519")
    kernel.ok(REVOKE, revoke_args(kernel, first, KEYS["ed25519"], KEYS["ed25519-other"]))
    assert refused(kernel, add_args(kernel, KEYS["ed25519"], KEYS["ed25519-other"])) == "invalid"


@pytest.mark.parametrize(
    "otherwise",
    [
        {"store": "0" * 32},
        {"epoch": 2},
        {"keyring": 2},
        {"action": "revoke"},
        {"key": KEYS["ed25519-other"].fingerprint},
        {"type": "ssh-rsa"},
        {"signer": "signer-" + "0" * 32},
        {"after": "0" * 64},
    ],
)
def test_a_signature_of_another_statement_adds_nothing(kernel: Kernel, otherwise: Json) -> None:
    """Each line is the daemon's own to say."""
    args = add_args(kernel, KEYS["ed25519"], otherwise=otherwise)
    assert refused(kernel, args) == "unauthenticated"
    assert keyring(kernel)["items"] == []


def test_a_statement_is_good_for_one_moment(kernel: Kernel) -> None:
    """What was signed before the newest event about keys is signed again."""
    add_key(kernel, "ed25519")
    old = add_args(kernel, KEYS["ecdsa-256"], KEYS["ed25519"])
    add_key(kernel, "ed25519-other", "ed25519")
    assert refused(kernel, old) == "unauthenticated"


def test_a_signature_in_another_namespace_is_none(kernel: Kernel) -> None:
    """A verdict's signature adds no key."""
    args = add_args(kernel, KEYS["ed25519"])
    wrong = KEYS["ed25519"].sign(about_key(kernel, KEYS["ed25519"]), "verdict@tallystick")
    assert refused(kernel, {**args, "signature": armored(wrong)}) == "unauthenticated"


def test_an_untouched_or_copied_security_key_is_refused(kernel: Kernel) -> None:
    """Attack 11: no touch; and a counter that was set back."""
    key = KEYS["sk-ed25519"]
    args = add_args(kernel, key)
    untouched = key.sign(about_key(kernel, key), "signer@tallystick", flags=0)
    assert refused(kernel, {**args, "signature": armored(untouched)}) == "unauthenticated"
    add_key(kernel, "sk-ed25519", counter=7)
    back = add_args(kernel, KEYS["sk-ecdsa"], key, counter=7)
    assert refused(kernel, back) == "unauthenticated"
    add_key(kernel, "sk-ecdsa", "sk-ed25519", counter=8)


def test_a_refused_signature_counts_nothing(kernel: Kernel) -> None:
    """A command that was refused leaves the counter of its security key."""
    add_key(kernel, "sk-ed25519", counter=1)
    args = add_args(kernel, KEYS["sk-ecdsa"], KEYS["sk-ed25519"], counter=50)
    refused(kernel, {**args, "signature": "nonsense"})
    add_key(kernel, "sk-ecdsa", "sk-ed25519", counter=2)


def test_at_most_so_many_keys_are_active(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is of active keys: who revokes one can add another."""
    monkeypatch.setattr("tallystick.protocol.limits.SIGNER_KEYS_MAX", 2)
    add_key(kernel, "ed25519")
    second = add_key(kernel, "ed25519-other", "ed25519")
    assert refused(kernel, add_args(kernel, KEYS["ecdsa-256"], KEYS["ed25519"])) == "invalid"
    kernel.ok(REVOKE, revoke_args(kernel, second, KEYS["ed25519-other"], KEYS["ed25519"]))
    add_key(kernel, "ecdsa-256", "ed25519")


# --- revoking -----------------------------------------------------------------------------------------------
def test_a_key_is_revoked_by_one_of_its_rank_itself_too(kernel: Kernel) -> None:
    """It stays listed, with the reason; a weaker key revokes nothing."""
    weak = add_key(kernel, "ed25519")
    strong = add_key(kernel, "sk-ed25519", "ed25519")
    weaker = revoke_args(kernel, strong, KEYS["sk-ed25519"], KEYS["ed25519"])
    assert refused(kernel, weaker, REVOKE) == "unauthenticated"
    gone = kernel.ok(REVOKE, revoke_args(kernel, strong, KEYS["sk-ed25519"], KEYS["sk-ed25519"]))
    assert (gone["state"], gone["reason"], gone["revision"]) == ("revoked", "lost", 2)
    assert keyring(kernel)["items"] == [weak, gone]
    again = revoke_args(kernel, strong, KEYS["sk-ed25519"], KEYS["ed25519"])
    assert refused(kernel, again, REVOKE) == "stale-revision"
    kernel.reopen()
    assert keyring(kernel)["items"] == [weak, gone]


def test_a_revoked_key_vouches_for_nobody(kernel: Kernel) -> None:
    """Attack 7: a signature of a revoked key is none."""
    first = add_key(kernel, "ed25519")
    add_key(kernel, "ed25519-other", "ed25519")
    kernel.ok(REVOKE, revoke_args(kernel, first, KEYS["ed25519"], KEYS["ed25519-other"]))
    assert refused(kernel, add_args(kernel, KEYS["ecdsa-256"], KEYS["ed25519"])) == "unauthenticated"


def test_the_last_key_that_revokes_itself_leaves_a_closed_keyring(kernel: Kernel) -> None:
    """A second first key would be a way around every endorsement."""
    first = add_key(kernel, "ed25519")
    kernel.ok(REVOKE, revoke_args(kernel, first, KEYS["ed25519"], KEYS["ed25519"]))
    assert refused(kernel, add_args(kernel, KEYS["ed25519-other"])) == "unauthenticated"


# --- who, and what is told ----------------------------------------------------------------------------------
def test_keys_are_the_owners_and_everybody_sees_them(kernel: Kernel) -> None:
    """An agent adds and revokes none, with whichever signatures."""
    record = add_key(kernel, "ed25519")
    agent = Agent(kernel, "Ada")
    args = add_args(kernel, KEYS["ed25519-other"], KEYS["ed25519"])
    assert kernel.problem(agent.send(ADD, args, key="a")) == "forbidden"
    gone = revoke_args(kernel, record, KEYS["ed25519"], KEYS["ed25519"])
    assert kernel.problem(agent.send(REVOKE, gone, key="b")) == "forbidden"
    assert agent.send("tallystick_signer_list", {"limit": 9})["result"]["items"] == [record]


def test_no_event_or_row_has_a_keys_name(kernel: Kernel) -> None:
    """It is the body of a contribution's kind: sealed, and nowhere else."""
    add_key(kernel, "ed25519")
    rows = kernel.dump()
    sealed = {table: each for table, each in rows.items() if table != "bodies"}
    assert "who has" not in repr(sealed)


def test_a_replay_gives_the_first_reply(kernel: Kernel) -> None:
    """The same command again adds no second key, though its statement is of an earlier moment."""
    line = kernel.request(ADD, add_args(kernel, KEYS["ed25519"]), key="once")
    first = kernel.answer(*line)
    assert kernel.answer(*line) == first
    assert len(keyring(kernel)["items"]) == 1


# --- the store refuses by itself ----------------------------------------------------------------------------
def raw(kernel: Kernel) -> apsw.Connection:
    """Another connection to the store, as an intruder would open it."""
    return apsw.Connection(kernel.paths.database)


def _row(db: apsw.Connection, **otherwise: Any) -> tuple[str, list[Any]]:
    """An insertion of the newest key again, with other columns."""
    names = [str(each[1]) for each in db.execute("PRAGMA table_info(signer_keys)")]
    last = db.execute("SELECT * FROM signer_keys ORDER BY position DESC LIMIT 1").fetchone()
    assert last is not None
    fresh = {"position": last[0] + 1000, "id": b"i" * 16, "public_key": b"another", "signer": b"s" * 16}
    values = {**dict(zip(names, last, strict=True)), **fresh, **otherwise}
    marks = ", ".join("?" * len(names))
    return f"INSERT INTO signer_keys ({', '.join(names)}) VALUES ({marks})", [values[name] for name in names]


@pytest.mark.parametrize(
    ("otherwise", "why"),
    [
        ({"id": b"short"}, "CHECK"),
        ({"signer": b"short"}, "CHECK"),
        ({"rank": 2}, "CHECK"),
        ({"rank": 5}, "endorse"),
        ({"rank": None}, "endorse"),
        ({"endorsement": None}, "CHECK"),
        ({"endorsed_by": None, "endorsement": None}, "UNIQUE"),
        ({"endorsed_by": None}, "CHECK"),
        ({"state": "revoked"}, "begins"),
        ({"state": "lost"}, "begins"),
        ({"signature": None}, "NOT NULL"),
        ({"statement": None}, "NOT NULL"),
        ({"counter": None}, "NOT NULL"),
        ({"last_event": None}, "NOT NULL"),
        ({"keyring": 2}, "endorse"),
        ({"rank": 4}, "endorse"),
        ({"endorsed_by": 1}, "endorse"),
        ({"public_key": KEYS["ed25519"].blob}, "UNIQUE"),
    ],
)
def test_no_wrong_key_can_be_inserted(kernel: Kernel, otherwise: Json, why: str) -> None:
    """Whoever writes."""
    add_key(kernel, "ed25519")
    add_key(kernel, "sk-ed25519", "ed25519")
    add_key(kernel, "ecdsa-256", "ed25519")
    db = raw(kernel)
    first = db.execute("SELECT position FROM signer_keys ORDER BY position LIMIT 1").fetchone()
    assert first is not None
    if otherwise.get("endorsed_by") == 1:  # the first key, for somebody's further one, and it is another's
        other = db.execute("SELECT signer FROM signer_keys WHERE rank = 4").fetchone()
        assert other is not None
        otherwise = {"endorsed_by": first[0], "signer": other[0]}
    with pytest.raises(apsw.ConstraintError, match=why):
        db.execute(*_row(db, **otherwise))


def test_a_right_key_could_be_inserted(kernel: Kernel) -> None:
    """So each of the refusals is for its own reason."""
    add_key(kernel, "ed25519")
    add_key(kernel, "ecdsa-256", "ed25519")
    db = raw(kernel)
    db.execute("BEGIN")
    db.execute(*_row(db))
    assert db.changes() == 1
    db.execute("ROLLBACK")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("state = 'active' WHERE state = 'revoked'", "step"),
        ("state = 'lost' WHERE state = 'active'", "step"),
        ("counter = 6 WHERE rank = 4", "falls"),
        ("public_key = x'00'", "changes"),
        ("rank = 3", "changes"),
        ("signer = zeroblob(16)", "changes"),
        ("keyring = 2", "changes"),
        ("statement = x'00'", "changes"),
        ("signature = x'00'", "changes"),
        ("endorsed_by = NULL, endorsement = NULL", "changes"),
        ("name = 1", "changes"),
        ("id = zeroblob(16)", "changes"),
    ],
)
def test_no_key_changes_as_it_may_not(kernel: Kernel, change: str, why: str) -> None:
    """Only forwards, and never what was signed."""
    add_key(kernel, "ed25519")
    add_key(kernel, "sk-ed25519", "ed25519", counter=7)
    gone = add_key(kernel, "ecdsa-256", "ed25519")
    kernel.ok(REVOKE, revoke_args(kernel, gone, KEYS["ecdsa-256"], KEYS["ed25519"]))
    with pytest.raises(apsw.ConstraintError, match=why):
        raw(kernel).execute(f"UPDATE signer_keys SET {change}")
