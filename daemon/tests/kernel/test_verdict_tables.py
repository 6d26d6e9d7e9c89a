"""The tables of openings and verdicts refuse by themselves what may not be, whoever writes, on an open store
and on a closed one.

Each row is put in by another connection, as an intruder would, beside rows that are right; each wrong one
differs from a right one in one thing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from .kernel import Json, Kernel, TestAmbient
from .signing import KEYS, add_key, revoke_args, signer_of

OWNER = "prin-owner"
AGENT, OPENER, ASKER = "agent-decides", "agent-opened", "agent-asked"
SIGNER = signer_of(KEYS["ed25519"])
GATE: Json = {
    "position": 900,
    "id": b"g" * 16,
    "space": 1,
    "name": "deploy",
    "revision": 1,
    "rank": 1,
    "quorum": 1,
    "deciders": "{}",
    "term_seconds": 60,
    "rounds_max": 3,
    "last_event": 900,
    "state": "active",
}
ANYBODY = f'{{"agents":["{AGENT}","{OPENER}","{ASKER}"],"owner":true,"signers":[]}}'
OPENING: Json = {
    "position": 1_000,
    "id": b"o" * 16,
    "gate": 900,
    "gate_revision": 1,
    "space": 1,
    "subject": "api",
    "round": 1,
    "failures": 0,
    "subject_kind": "commit",
    "digest": "git:" + "0" * 40,
    "manifest_digest": None,
    "target": None,
    "supersedes": "[]",
    "rank": 1,
    "quorum": 1,
    "deciders": ANYBODY,
    "state": "open",
    "ended_by": None,
    "revision": 1,
    "author": OPENER,
    "opener": OPENER,
    "asker": ASKER,
    "epoch": 1,
    "expires_ms": 1,
    "settled": None,
    "used": None,
}
UNSIGNED: Json = {
    "position": 1_001,
    "id": b"v" * 16,
    "opening": 1_000,
    "decision": "approve",
    "decider": AGENT,
    "actor": AGENT,
    "rank": 1,
    "key": None,
    "statement": None,
    "signature": None,
    "flags": None,
    "comment_digest": None,
}
SIGNED: Json = {
    **UNSIGNED,
    "decider": SIGNER,
    "actor": OWNER,
    "rank": 3,
    "key": 1,
    "statement": b"said",
    "signature": b"signed",
}
NULLABLE = {"manifest_digest", "target", "ended_by", "asker", "settled", "used"}


class Intruder:
    """Another connection to a store with one gate, and one transaction that is never kept."""

    def __init__(self, kernel: Kernel) -> None:
        self.keys = [int(str(row[0])) for row in kernel.view.all("SELECT position FROM signer_keys")]
        self.db = apsw.Connection(kernel.paths.database)

    def insert(self, table: str, right: Json, **otherwise: Any) -> None:
        row = {**right, **otherwise}
        names = ", ".join(f'"{name}"' for name in row)
        self.db.execute(
            f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", [*row.values()]
        )

    def opening(self, **otherwise: Any) -> None:
        self.insert("gate_openings", OPENING, **otherwise)

    def verdict(self, right: Json = UNSIGNED, **otherwise: Any) -> None:
        """The key ``1`` is the first that is there, ``2`` the second, which was revoked."""
        row = {**right, **otherwise}
        if row["key"] is not None:
            row["key"] = self.keys[row["key"] - 1]
        self.insert("verdicts", row)

    def change(self, sets: str) -> None:
        self.db.execute(f"UPDATE gate_openings SET {sets}")


@pytest.fixture(scope="module", params=["live", "closed"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Intruder]:
    """A store with two keys, the second of them revoked; its daemon runs, or does not."""
    root: Path = tmp_path_factory.mktemp(request.param)
    kernel = Kernel(root, TestAmbient())
    add_key(kernel, "ed25519")
    gone = add_key(kernel, "ed25519-other", "ed25519")
    args = revoke_args(kernel, gone, KEYS["ed25519-other"], KEYS["ed25519"])
    kernel.ok("tallystick_signer_revoke", args)
    made = Intruder(kernel)
    if request.param == "closed":
        kernel.close()
    yield made
    made.db.close()
    if request.param == "live":
        kernel.close()


@pytest.fixture
def db(store: Intruder) -> Iterator[Intruder]:
    """In a transaction with a gate and an opening of it."""
    store.db.execute("BEGIN IMMEDIATE")
    store.insert("gates", GATE)
    store.opening()
    yield store
    store.db.execute("ROLLBACK")


# --- openings -----------------------------------------------------------------------------------------------
SECOND: Json = {"position": 1_100, "id": b"p" * 16, "subject": "other"}


@pytest.mark.parametrize("otherwise", [{}, {"round": 3, "failures": 2}, {"target": 5}], ids=str)
def test_a_right_opening_can_be_inserted(db: Intruder, otherwise: Json) -> None:
    """So each of the refusals is for its own reason."""
    db.opening(**{**SECOND, **otherwise})


@pytest.mark.parametrize(
    "otherwise",
    [
        {"id": b"short"},
        {"failures": -1},
        {"failures": 1},
        {"round": 9, "failures": 3},
        {"state": "approved"},
        {"state": "approved", "settled": 1_101},
        {"state": "used", "settled": 1_101, "used": 1_102},
        {"state": ""},
        {"state": "lost"},
        {"settled": 1_101},
        {"used": 1_101},
        {"subject": "api"},
        {"subject": "api", "round": 2},
        *({name: None} for name in OPENING if name not in NULLABLE | {"position"}),
    ],
    ids=str,
)
def test_no_wrong_opening_can_be_inserted(db: Intruder, otherwise: Json) -> None:
    """Each begins open, in a round of its own, and one of a gate and subject at a time."""
    with pytest.raises(apsw.ConstraintError):
        db.opening(**{**SECOND, **otherwise})


def test_an_opening_is_approved_and_used_with_its_quorum(db: Intruder) -> None:
    """The right way, in which each of the following goes wrong once."""
    db.verdict()
    db.change("state = 'approved', settled = 1001")
    db.change("state = 'used', used = 1002")


ENDS = ("rejected", "expired", "withdrawn", "replaced")


@pytest.mark.parametrize("state", ENDS)
def test_an_opening_that_has_ended_stays_so(db: Intruder, state: str) -> None:
    """Whatever ended it, nothing follows."""
    db.verdict()
    db.change(f"state = '{state}', settled = 1001")
    for after in ("open', settled = NULL --", "approved' --", "used', used = 1002 --", *ENDS):
        if after != state:
            with pytest.raises(apsw.ConstraintError):
                db.change(f"state = '{after}'" if after in ENDS else f"state = '{after}")


@pytest.mark.parametrize(
    "sets",
    [
        "state = 'approved', settled = 1001",  # without its verdict
        "state = 'used', settled = 1001, used = 1002",
        "state = 'lost', settled = 1001",
        "state = 'expired'",
        "state = 'expired', settled = 1000",
        "state = 'expired', settled = 1001, used = 1002",
        "settled = 1001",
        "state = NULL",
    ],
)
def test_no_opening_takes_a_step_that_there_is_not(db: Intruder, sets: str) -> None:
    """An end has its position, later than the opening's; and nothing is approved without its verdicts."""
    with pytest.raises(apsw.ConstraintError):
        db.change(sets)


@pytest.mark.parametrize(
    "sets", ["state = 'used'", "state = 'used', used = 1000", "state = 'open', settled = NULL"]
)
def test_an_approved_opening_is_used_with_a_position_of_its_own(db: Intruder, sets: str) -> None:
    """Not before what settled it; and it is never open again."""
    db.verdict()
    db.change("state = 'approved', settled = 1001")
    with pytest.raises(apsw.ConstraintError):
        db.change(sets)


def test_one_decider_is_no_quorum_of_two(db: Intruder) -> None:
    """Deciders are counted, and not what they say."""
    db.opening(**SECOND, quorum=2)
    db.verdict(opening=1_100, position=1_101)
    with pytest.raises(apsw.ConstraintError, match="do not approve"):
        db.change("state = 'approved', settled = 1201 WHERE position = 1100")
    db.verdict(opening=1_100, position=1_102, id=b"w" * 16, decider=OWNER, actor=OWNER)
    db.change("state = 'approved', settled = 1201 WHERE position = 1100")


def test_a_reject_approves_nothing_and_stops_an_approved_one(db: Intruder) -> None:
    """Whoever else approved."""
    db.verdict()
    db.change("state = 'approved', settled = 1001")
    db.verdict(position=1_002, id=b"w" * 16, decision="reject", comment_digest="sha256:0")
    with pytest.raises(apsw.ConstraintError, match="do not approve"):
        db.change("state = 'used', used = 1003")


def test_a_revoked_key_approves_nothing(db: Intruder) -> None:
    """A verdict by it stays in the record, and counts no more."""
    db.verdict(SIGNED, key=2)
    with pytest.raises(apsw.ConstraintError, match="do not approve"):
        db.change("state = 'approved', settled = 1001")


@pytest.mark.parametrize(
    "name",
    [name for name in OPENING if name not in {"state", "ended_by", "revision", "settled", "used"}],
)
def test_what_was_opened_never_changes(db: Intruder, name: str) -> None:
    """Rules, subject and digest are those that were opened."""
    with pytest.raises(apsw.ConstraintError, match="never changes"):
        db.change(f"{name} = {name}")


# --- verdicts -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("right", "otherwise"),
    [
        (UNSIGNED, {}),
        (UNSIGNED, {"decider": OWNER, "actor": OWNER}),
        (UNSIGNED, {"decision": "reject", "comment_digest": "sha256:0"}),
        (SIGNED, {}),
        (SIGNED, {"rank": 4, "flags": 1}),
        (SIGNED, {"rank": 4, "flags": 5}),
    ],
    ids=str,
)
def test_a_right_verdict_can_be_inserted(db: Intruder, right: Json, otherwise: Json) -> None:
    """So each of the refusals is for its own reason."""
    db.verdict(right, **otherwise)


@pytest.mark.parametrize(
    ("right", "otherwise"),
    [
        (UNSIGNED, {"id": b"short"}),
        (UNSIGNED, {"position": 999}),
        (UNSIGNED, {"opening": 777}),
        (UNSIGNED, {"decision": "abstain"}),
        (UNSIGNED, {"rank": 0}),
        (UNSIGNED, {"rank": 5}),
        (UNSIGNED, {"rank": 3}),
        (UNSIGNED, {"actor": OWNER}),
        (UNSIGNED, {"decider": "agent-somebody", "actor": "agent-somebody"}),
        (UNSIGNED, {"decider": OPENER, "actor": OPENER}),
        (UNSIGNED, {"decider": ASKER, "actor": ASKER}),
        (UNSIGNED, {"decision": "reject"}),
        (UNSIGNED, {"key": 1}),
        (UNSIGNED, {"statement": b"said"}),
        (UNSIGNED, {"signature": b"signed"}),
        (SIGNED, {"rank": 2}),
        (SIGNED, {"key": None}),
        (SIGNED, {"statement": None}),
        (SIGNED, {"signature": None}),
        (SIGNED, {"rank": 4}),
        (SIGNED, {"rank": 4, "flags": 0}),
        (SIGNED, {"rank": 4, "flags": 4}),
        (SIGNED, {"rank": 4, "flags": 0x41}),
        (SIGNED, {"rank": 4, "flags": 0x81}),
        *((UNSIGNED, {name: None}) for name in ("id", "opening", "decision", "decider", "actor", "rank")),
    ],
    ids=str,
)
def test_no_wrong_verdict_can_be_inserted(db: Intruder, right: Json, otherwise: Json) -> None:
    """Nobody decides what they opened or asked for; and a signed verdict has all that a signature has."""
    with pytest.raises(apsw.ConstraintError):
        db.verdict(right, **otherwise)


@pytest.mark.parametrize(
    ("opening", "right", "otherwise"),
    [
        ({"rank": 3}, UNSIGNED, {}),
        ({"rank": 4}, SIGNED, {}),
        (
            {"deciders": '{"agents":[],"owner":false,"signers":[]}'},
            UNSIGNED,
            {"decider": OWNER, "actor": OWNER},
        ),
        ({"deciders": '{"agents":[],"owner":true,"signers":["signer-other"]}'}, SIGNED, {}),
        ({"rank": 2, "author": OWNER}, UNSIGNED, {"rank": 2, "decider": OWNER, "actor": OWNER}),
    ],
    ids=["unsigned", "weak", "not the owner", "not that signer", "the owner's own"],
)
def test_a_verdict_that_the_rules_do_not_count_is_refused(
    db: Intruder, opening: Json, right: Json, otherwise: Json
) -> None:
    """By the rules that the opening froze."""
    db.opening(**{**SECOND, **opening})
    with pytest.raises(apsw.ConstraintError, match="does not count"):
        db.verdict(right, **{"opening": 1_100, "position": 1_101, **otherwise})


def test_the_owner_decides_what_they_opened_where_a_person_cannot_be_told(db: Intruder) -> None:
    """At minimum ``peer`` the socket cannot tell a person from a program; and anybody rejects their own."""
    mine: Json = {"author": OWNER, "opener": OWNER, "asker": None}
    db.opening(**SECOND, **mine)
    db.verdict(opening=1_100, position=1_101, decider=OWNER, actor=OWNER)
    third = {"position": 1_200, "id": b"q" * 16, "subject": "third", "rank": 2, **mine}
    db.opening(**third)
    rejects: Json = {"decision": "reject", "comment_digest": "sha256:0", "decider": OWNER, "actor": OWNER}
    db.verdict(opening=1_200, position=1_201, id=b"w" * 16, **rejects)


@pytest.mark.parametrize("state", ENDS)
def test_no_verdict_comes_after_the_end(db: Intruder, state: str) -> None:
    """Nor an approval of what is approved; a reject of that does."""
    db.change(f"state = '{state}', settled = 1001")
    with pytest.raises(apsw.ConstraintError, match="does not count"):
        db.verdict()


def test_each_decides_once_and_each_signature_once(db: Intruder) -> None:
    """A second verdict the same way is refused, and so is a signature that was taken before."""
    db.verdict(SIGNED)
    again: Json = {"position": 1_002, "id": b"w" * 16}
    with pytest.raises(apsw.ConstraintError, match="UNIQUE"):
        db.verdict(SIGNED, **again, signature=b"another")
    with pytest.raises(apsw.ConstraintError, match="UNIQUE"):
        db.verdict(SIGNED, **again, decider="signer-another")


@pytest.mark.parametrize("name", list(UNSIGNED))
def test_a_verdict_never_changes(db: Intruder, name: str) -> None:
    """And none is ever deleted."""
    db.verdict()
    with pytest.raises(apsw.ConstraintError, match="none ever changes"):
        db.db.execute(f'UPDATE verdicts SET "{name}" = "{name}"')
    with pytest.raises(apsw.ConstraintError, match="none is ever deleted"):
        db.db.execute("DELETE FROM verdicts")


def test_an_approved_opening_takes_no_further_approval(db: Intruder) -> None:
    """A reject alone, until it is used."""
    db.verdict()
    db.change("state = 'approved', settled = 1001")
    owner: Json = {"position": 1_002, "id": b"w" * 16, "decider": OWNER, "actor": OWNER}
    with pytest.raises(apsw.ConstraintError, match="does not count"):
        db.verdict(**owner)
    db.verdict(**owner, decision="reject", comment_digest="sha256:0")
    db.change("state = 'rejected'")
