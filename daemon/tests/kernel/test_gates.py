"""Gates: stewards define them, and a gate whose verdicts are signed is weakened by a signature alone."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from .agents import Agent
from .kernel import Json, Kernel
from .signing import KEYS, about_gate, add_key, endorsement, gates, revoke_args, signer_of

DEFINE = "tallystick_gate_define"
RETIRE = "tallystick_gate_retire"
TERM = {"term_seconds": 3_600}


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space that all of the project see."""
    return kernel.space(kernel.project())


def defined(kernel: Kernel, space: Json, name: str = "deploy", minimum: str = "ssh", **more: Any) -> Json:
    """A gate of the owner's; its record."""
    args = {"space_id": space["space_id"], "name": name, "minimum": minimum, **more}
    return kernel.ok(DEFINE, args, project=space["project_id"])


def change(kernel: Kernel, space: Json, minimum: str = "ssh", **more: Any) -> Json:
    """The reply to other rules for the gate ``deploy``."""
    args = {"space_id": space["space_id"], "name": "deploy", "minimum": minimum, **more}
    return kernel.write(DEFINE, args, project=space["project_id"])


# --- defining -----------------------------------------------------------------------------------------------
def test_a_gate_has_the_rules_that_were_asked_for_and_defaults(kernel: Kernel, space: Json) -> None:
    """The list gives it back, with the leaf of the event that defined it."""
    made = defined(kernel, space, minimum="peer")
    assert (made["minimum"], made["quorum"], made["rounds_max"]) == ("peer", 1, 3)
    assert (made["term_seconds"], made["state"], made["revision"]) == (86_400, "active", 1)
    assert made["deciders"] == {"owner": True, "agents": [], "signers": []}
    assert "last_leaf" not in made, "the leaf commits to the reply"
    listed = gates(kernel, space)["deploy"]
    assert len(listed.pop("last_leaf")) == 64
    assert listed == made


def test_a_change_is_a_new_revision_of_all_rules(kernel: Kernel, space: Json) -> None:
    """What is left out has its default again."""
    first = defined(kernel, space, minimum="peer", quorum=2, rounds_max=5)
    changed = change(kernel, space, "credential", term_seconds=60)["result"]
    assert (changed["revision"], changed["quorum"], changed["rounds_max"]) == (2, 1, 3)
    assert (changed["gate_id"], changed["by"], changed["at"]) == (first["gate_id"], first["by"], first["at"])
    kernel.reopen()
    assert gates(kernel, space)["deploy"]["term_seconds"] == 60


def test_a_definition_and_a_change_in_one_batch(kernel: Kernel, space: Json) -> None:
    """The second sees the first, which is not on the disk yet."""
    args = {"space_id": space["space_id"], "name": "deploy", "minimum": "ssh"}
    lines = [
        kernel.request(DEFINE, {**args, **more}, project=space["project_id"], key=f"b{number}")
        for number, more in enumerate(({}, {"minimum": "ssh-sk"}, {"minimum": "peer"}))
    ]
    replies = kernel.batch(lines)
    assert [each["result"]["revision"] for each in replies] == [1, 2, 3], "no key was ever there to sign"


def test_the_revision_of_a_change_is_compared(kernel: Kernel, space: Json) -> None:
    """A definition has none to compare."""
    args = {"space_id": space["space_id"], "name": "deploy", "minimum": "peer"}
    assert kernel.problem(kernel.write(DEFINE, args, project=space["project_id"], rev=1)) == "invalid"
    kernel.ok(DEFINE, args, project=space["project_id"])
    assert kernel.problem(kernel.write(DEFINE, args, project=space["project_id"], rev=2)) == "stale-revision"
    kernel.ok(DEFINE, args, project=space["project_id"], rev=1)


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"name": "Deploy"}, "invalid"),
        ({"name": "a b"}, "invalid"),
        ({"minimum": "strong"}, "invalid"),
        ({"quorum": 0}, "invalid"),
        ({"quorum": 9}, "invalid"),
        ({"quorum": 2}, "invalid"),
        ({"term_seconds": 59}, "invalid"),
        ({"term_seconds": 2_592_001}, "invalid"),
        ({"rounds_max": 0}, "invalid"),
        ({"rounds_max": 21}, "invalid"),
        ({"deciders": {"agents": ["agent-" + "0" * 32]}}, "not-found"),
        ({"deciders": {"signers": ["signer-" + "0" * 32]}}, "not-found"),
        ({"deciders": {"signers": ["signer-" + "0" * 32] * 2}}, "invalid"),
        ({"deciders": {"owners": True}}, "invalid"),
        ({"endorsement": "nonsense"}, "invalid"),
    ],
)
def test_rules_that_cannot_be_are_refused(kernel: Kernel, space: Json, more: Json, kind: str) -> None:
    """And nothing is defined."""
    args = {"space_id": space["space_id"], "name": "deploy", "minimum": "ssh", **more}
    assert kernel.problem(kernel.write(DEFINE, args, project=space["project_id"])) == kind
    assert gates(kernel, space) == {}


def test_deciders_are_a_set(kernel: Kernel, space: Json) -> None:
    """In whichever order they are named, each has one written form."""
    first, second = Agent(kernel, "Ada").id, Agent(kernel, "Bob").id
    made = defined(kernel, space, deciders={"agents": [second, first], "owner": False})
    assert made["deciders"] == {"owner": False, "agents": sorted((first, second)), "signers": []}


def test_stewards_define_and_nobody_else(kernel: Kernel, space: Json) -> None:
    """A contributor sees the gates, and changes none."""
    steward, contributor = Agent(kernel, "Ada"), Agent(kernel, "Bob")
    steward.join(space, "steward")
    contributor.join(space)
    args = {"space_id": space["space_id"], "name": "deploy", "minimum": "peer"}
    how = {"project": space["project_id"], "key": "define"}
    assert kernel.problem(contributor.send(DEFINE, args, **how)) == "forbidden"
    assert steward.send(DEFINE, args, **how)["outcome"] == "ok"
    page = {"space_id": space["space_id"], "limit": 9}
    shown = contributor.send("tallystick_gate_list", page, project=space["project_id"])
    assert [each["by"] for each in shown["result"]["items"]] == [steward.id]


def test_a_frozen_space_has_its_gates_as_they_are(kernel: Kernel, space: Json) -> None:
    """None is defined, changed or retired there."""
    defined(kernel, space)
    kernel.ok("space_freeze", {"space_id": space["space_id"]}, project=space["project_id"])
    assert kernel.problem(change(kernel, space, "ssh-sk")) == "stale-revision"
    args = {"space_id": space["space_id"], "name": "deploy"}
    assert kernel.problem(kernel.write(RETIRE, args, project=space["project_id"])) == "stale-revision"


# --- weakening ----------------------------------------------------------------------------------------------
WEAKER: list[tuple[str, Json, Json]] = [
    ("peer", {}, {"minimum": "peer"}),
    ("ssh", {"quorum": 1}, {"quorum": 1}),
    ("ssh", {"term_seconds": 86_401}, {"term_seconds": 86_401}),
    ("ssh", {"deciders": {"owner": False}}, {"owner": False}),
]


@pytest.mark.parametrize(("minimum", "more", "lines"), WEAKER, ids=["minimum", "quorum", "term", "deciders"])
def test_a_signed_gate_is_weakened_by_a_signature_alone(
    kernel: Kernel, space: Json, minimum: str, more: Json, lines: Json
) -> None:
    """Attack 8: on the owner's socket too. With the signature of one who decides there it is done."""
    add_key(kernel, "ed25519")
    add_key(kernel, "ed25519-other", "ed25519")
    signers = sorted(signer_of(KEYS[name]) for name in ("ed25519", "ed25519-other"))
    rules: Json = {"quorum": 2, "deciders": {"signers": signers}}
    defined(kernel, space, **rules)
    kept = {**rules, **more}
    if "deciders" in more:
        kept["deciders"] = {"signers": signers, **more["deciders"]}
    assert kernel.problem(change(kernel, space, minimum, **kept)) == "unauthenticated"
    statement = about_gate(kernel, space, "deploy", **lines)
    kept["endorsement"] = endorsement(KEYS["ed25519"], statement)
    assert change(kernel, space, minimum, **kept)["result"]["revision"] == 2


def test_what_makes_a_gate_stronger_needs_no_signature(kernel: Kernel, space: Json) -> None:
    """Nor does another number of rounds; and one that comes along is refused."""
    add_key(kernel, "ed25519")
    add_key(kernel, "sk-ed25519", "ed25519")
    defined(kernel, space)
    assert change(kernel, space, "ssh", **TERM, rounds_max=9)["outcome"] == "ok"
    assert change(kernel, space, "ssh-sk", **TERM)["outcome"] == "ok"
    needless = endorsement(KEYS["sk-ed25519"], about_gate(kernel, space, "deploy"), 5)
    assert kernel.problem(change(kernel, space, "ssh-sk", **TERM, endorsement=needless)) == "invalid"


def test_an_unsigned_gate_is_changed_by_any_steward(kernel: Kernel, space: Json) -> None:
    """It stops mistakes and claims no more."""
    add_key(kernel, "ed25519")
    defined(kernel, space, minimum="credential", quorum=2)
    assert change(kernel, space, "peer")["outcome"] == "ok"


def test_without_a_key_of_its_rank_there_is_nobody_to_ask(kernel: Kernel, space: Json) -> None:
    """The keyring never had one; from the first on it takes a signature, though that key was revoked."""
    add_key(kernel, "ed25519")
    defined(kernel, space, minimum="ssh-sk")
    assert change(kernel, space, "ssh")["outcome"] == "ok"
    change(kernel, space, "ssh-sk")
    strong = add_key(kernel, "sk-ed25519", "ed25519")
    kernel.ok("tallystick_signer_revoke", revoke_args(kernel, strong, KEYS["sk-ed25519"], KEYS["sk-ed25519"]))
    assert kernel.problem(change(kernel, space, "ssh")) == "unauthenticated"


def test_a_weaker_key_or_another_signer_weakens_nothing(kernel: Kernel, space: Json) -> None:
    """The signature is of the gate's rank, and of one whom it names."""
    add_key(kernel, "ed25519")
    add_key(kernel, "sk-ed25519", "ed25519")
    add_key(kernel, "sk-ecdsa", "sk-ed25519", counter=2)
    signers = {"signers": [signer_of(KEYS["sk-ed25519"])]}
    defined(kernel, space, minimum="ssh-sk", deciders=signers)
    statement = about_gate(kernel, space, "deploy", minimum="peer")
    for name, counter, right in (("ed25519", 1, False), ("sk-ecdsa", 9, False), ("sk-ed25519", 9, True)):
        signed = endorsement(KEYS[name], statement, counter)
        reply = change(kernel, space, "peer", deciders=signers, endorsement=signed)
        assert reply["outcome"] == ("ok" if right else "problem"), name


@pytest.mark.parametrize(
    "otherwise",
    [
        {"store": "0" * 32},
        {"epoch": 2},
        {"space": "space-" + "0" * 32},
        {"gate": "other"},
        {"revision": 2},
        {"minimum": "credential"},
        {"quorum": 2},
        {"owner": False},
        {"agents": ("agent-" + "0" * 32,)},
        {"signers": ("signer-" + "0" * 32,)},
        {"term_seconds": 60},
        {"rounds_max": 4},
        {"state": "retired"},
        {"after": "0" * 64},
    ],
)
def test_a_signature_of_other_rules_changes_nothing(kernel: Kernel, space: Json, otherwise: Json) -> None:
    """Attack 7: each line is the daemon's own to say."""
    add_key(kernel, "ed25519")
    defined(kernel, space)
    statement = about_gate(kernel, space, "deploy", **{"minimum": "peer", **otherwise})
    signed = endorsement(KEYS["ed25519"], statement)
    assert kernel.problem(change(kernel, space, "peer", endorsement=signed)) == "unauthenticated"
    assert gates(kernel, space)["deploy"]["minimum"] == "ssh"


def test_an_endorsement_is_good_once(kernel: Kernel, space: Json) -> None:
    """It names the gate's revision and its last event: what was signed for then is not signed for now."""
    add_key(kernel, "ed25519")
    defined(kernel, space)
    signed = endorsement(KEYS["ed25519"], about_gate(kernel, space, "deploy", minimum="peer"))
    assert change(kernel, space, "peer", endorsement=signed)["outcome"] == "ok"
    assert change(kernel, space, "ssh")["outcome"] == "ok"
    assert kernel.problem(change(kernel, space, "peer", endorsement=signed)) == "unauthenticated"


def test_an_untouched_or_copied_security_key_weakens_nothing(kernel: Kernel, space: Json) -> None:
    """Attack 11. A counter is remembered over all that a key signs."""
    key = KEYS["sk-ed25519"]
    add_key(kernel, "sk-ed25519", counter=5)
    defined(kernel, space, minimum="ssh-sk")
    statement = about_gate(kernel, space, "deploy", minimum="ssh")
    back = endorsement(key, statement, 5)
    assert kernel.problem(change(kernel, space, "ssh", endorsement=back)) == "unauthenticated"
    assert change(kernel, space, "ssh", endorsement=endorsement(key, statement, 6))["outcome"] == "ok"


# --- retiring -----------------------------------------------------------------------------------------------
def test_a_retired_name_is_not_used_again(kernel: Kernel, space: Json) -> None:
    """It stays listed; a signed gate is retired by a signature alone."""
    add_key(kernel, "ed25519")
    defined(kernel, space)
    args = {"space_id": space["space_id"], "name": "deploy"}
    assert kernel.problem(kernel.write(RETIRE, args, project=space["project_id"])) == "unauthenticated"
    signed = endorsement(KEYS["ed25519"], about_gate(kernel, space, "deploy", state="retired"))
    gone = kernel.ok(RETIRE, {**args, "endorsement": signed}, project=space["project_id"])
    assert (gone["state"], gone["revision"]) == ("retired", 2)
    assert kernel.problem(change(kernel, space, "ssh")) == "stale-revision"
    assert kernel.problem(kernel.write(RETIRE, args, project=space["project_id"])) == "stale-revision"
    assert gates(kernel, space)["deploy"]["state"] == "retired"
    other = {**args, "name": "nothing"}
    assert kernel.problem(kernel.write(RETIRE, other, project=space["project_id"])) == "not-found"


def test_a_gate_named_decisions_makes_proposals_of_what_agents_decide(kernel: Kernel, space: Json) -> None:
    """While it is active, and of agents alone."""
    agent = Agent(kernel, "Ada")
    agent.join(space)
    said = {"space_id": space["space_id"], "key": "a", "value": "one", "reason": "why"}

    def states(key: str) -> tuple[str, str]:
        args, project = {**said, "key": key}, space["project_id"]
        theirs = agent.send("tallystick_decision_record", args, project=project, key=key)["result"]
        mine = kernel.ok("tallystick_decision_record", args, project=project)
        return theirs["state"], mine["state"]

    assert states("before") == ("standing", "standing")
    defined(kernel, space, "decisions", "peer")
    assert states("gated") == ("proposed", "standing")
    kernel.ok(RETIRE, {"space_id": space["space_id"], "name": "decisions"}, project=space["project_id"])
    assert states("after") == ("standing", "standing")


# --- the store refuses by itself ----------------------------------------------------------------------------
RIGHT: Json = {
    "position": 900,
    "id": b"i" * 16,
    "space": 1,
    "name": "other",
    "revision": 1,
    "rank": 3,
    "quorum": 2,
    "deciders": '{"agents":[],"owner":true,"signers":["a","b"]}',
    "term_seconds": 60,
    "rounds_max": 3,
    "last_event": 900,
    "state": "active",
}


def insert(kernel: Kernel, **otherwise: Any) -> None:
    """By another connection, as an intruder would; and it is not kept."""
    row = {**RIGHT, **otherwise}
    db = apsw.Connection(kernel.paths.database)
    db.execute("BEGIN")
    db.execute(f"INSERT INTO gates ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", [*row.values()])
    db.execute("ROLLBACK")


def test_a_right_gate_could_be_inserted(kernel: Kernel) -> None:
    """So each of the refusals is for its own reason."""
    insert(kernel)
    insert(kernel, rank=2, deciders='{"signers":[]}')
    insert(kernel, quorum=1, deciders='{"signers":[]}')


@pytest.mark.parametrize(
    "otherwise",
    [
        {"id": b"short"},
        {"rank": 0},
        {"rank": 5},
        {"quorum": 0},
        {"quorum": 9},
        {"rounds_max": 0},
        {"rounds_max": 21},
        {"deciders": '{"signers":["a"]}'},
        {"state": "retired"},
        {"state": ""},
        {"space": "first", "name": "deploy"},
        *({name: None} for name in RIGHT if name != "position"),
    ],
    ids=str,
)
def test_no_wrong_gate_can_be_inserted(kernel: Kernel, space: Json, otherwise: Json) -> None:
    """Whoever writes."""
    defined(kernel, space)
    if otherwise.get("space") == "first":
        row = kernel.view.one("SELECT space FROM gates")
        assert row is not None
        otherwise = {**otherwise, "space": row[0]}
    with pytest.raises(apsw.ConstraintError):
        insert(kernel, **otherwise)


def test_a_retired_gate_never_comes_back(kernel: Kernel, space: Json) -> None:
    """Whoever writes."""
    defined(kernel, space, minimum="peer")
    kernel.ok(RETIRE, {"space_id": space["space_id"], "name": "deploy"}, project=space["project_id"])
    db = apsw.Connection(kernel.paths.database)
    with pytest.raises(apsw.ConstraintError, match="no such step"):
        db.execute("UPDATE gates SET state = 'active'")
