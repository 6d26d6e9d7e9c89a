"""Secrets in texts: each rule finds its examples whole and leaves its counterexamples, twice changes nothing,
and no text makes it slow."""

from __future__ import annotations

import json
import math
import re
import string
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tallystick.protocol import secrets
from tallystick.protocol.registry import BY_SOCKET
from tallystick.protocol.secrets import Find, Place, Rule, places, redact, redact_value

RULES = secrets.rules()
EXAMPLES = [
    pytest.param(rule, text, id=f"{rule.id}-{n}") for rule in RULES for n, text in enumerate(rule.examples)
]
COUNTEREXAMPLES = [
    pytest.param(text, id=f"{rule.id}-{n}") for rule in RULES for n, text in enumerate(rule.counterexamples)
]
PAGE = Path(str(secrets.__file__)).with_suffix(".json")
HOSTILE_SCALARS = 65_536
SECONDS_MAX = 3.0
"""For one text of 64 KiB: a pattern that is quadratic takes minutes, and a busy machine has room."""


def secret_of(rule: Rule, text: str) -> str:
    """The part of an example that is the secret."""
    found = re.search(rule.pattern, text)
    assert found is not None
    return found[rule.group]


# --- the list ---------------------------------------------------------------------------------------------
def test_every_rule_has_examples_and_counterexamples() -> None:
    """Ids are words of their own; the members are those that the page says, and hints are written folded."""
    listed = json.loads(PAGE.read_text(encoding="utf-8"))["rules"]
    needed = {"id", "hint", "pattern", "group", "allow", "examples", "counterexamples"}
    assert len({rule.id for rule in RULES}) == len(RULES)
    for members in listed:
        assert needed <= members.keys() <= needed | {"min_entropy", "short"}
        assert re.fullmatch(r"[a-z][a-z-]*", members["id"])
        assert members["examples"]
        assert members["counterexamples"]
        assert members["hint"] == [hint.lower() for hint in members["hint"]]
        for text in members["examples"]:
            assert "·" in text, "an example is joined, so that no scanner cries"


@pytest.mark.parametrize(("rule", "text"), EXAMPLES)
def test_an_example_is_redacted_whole(rule: Rule, text: str) -> None:
    """Also between words and in a line with another; nothing of the secret stays, and the rule is named."""
    secret = secret_of(rule, text)
    for around in (text, f"before {text} after", f"{text}\n{text}"):
        clean, finds = redact(around)
        assert rule.id in [find.rule for find in finds]
        rest = re.sub(r"\[REDACTED:[a-z-]+\]", "", clean)
        assert not any(secret[at : at + 6] in rest for at in range(len(secret) - 5))
        assert redact(clean) == (clean, ())


@pytest.mark.parametrize("text", COUNTEREXAMPLES)
def test_case_b23_a_counterexample_survives(text: str) -> None:
    """Alone and between words."""
    assert redact(text) == (text, ())
    assert redact(f"before {text} after") == (f"before {text} after", ())


@pytest.mark.parametrize(
    "text",
    [
        "the API key is in the vault",
        "max_tokens=4096",
        "input_cost_per_token: 1.4e-06",
        "<task-notification>",
        "5c6aae8f0d3b4c19a7e2d1f60b8c4a3e9d7f1b25",
        "commit 9151b8c",
        "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "getStripeSecretKey()",
        "sha256:" + "0123456789abcdef" * 4,
        *(f"{kind}-{'0123456789abcdef' * 2}" for kind in (
            "proj", "space", "branch", "contrib", "rel", "inv", "invatt", "evt", "dec", "task", "open",
            "verd", "rev", "resv", "gate", "skey", "signer", "tclm", "art", "artver", "upl", "agent",
        )),
        'const token = await getSessionToken(request1)',
        '{"max_output_tokens": 8192, "token_count": 123456789}',
        "tokens: 1,234,567",
        "token: [REDACTED:assignment]",
    ],
)  # fmt: skip
def test_case_c7_what_must_survive(text: str) -> None:
    """Numbers, references, ids and talk about secrets are no secrets."""
    assert redact(text) == (text, ())


def test_entropy_tells_a_placeholder_from_a_secret() -> None:
    """A value of few different characters is none."""
    assert redact("password=xxxxxxxx1x")[1] == ()
    assert redact("password=hunter2-x9")[1] == (Find("assignment", 1),)
    assert redact("Bearer aaaaaaaaaaaaaaaaaaa1")[1] == ()
    assert redact("Bearer a1b2c3d4e5f6g7h8i9j0")[1] == (Find("bearer", 1),)


# --- markers ----------------------------------------------------------------------------------------------
def test_a_marker_exempts_nothing_beside_it() -> None:
    """A marker that a text brings along hides neither what touches it nor what claims to be one."""
    assert redact("password=[REDACTED:jwt]hunter2-x9")[0] == "password=[REDACTED:assignment]"
    assert "hunter2" not in redact("password=[REDACTED:hunter2-x9]")[0]
    key = next(rule for rule in RULES if rule.id == "aws-access-key").examples[0]
    assert redact(f"[REDACTED:jwt]{key}[REDACTED:jwt]")[1] == (Find("aws-access-key", 1),)


PIECES = st.one_of(
    st.sampled_from([text for rule in RULES for text in rule.examples]),
    st.sampled_from([text[:20] for rule in RULES for text in rule.examples]),
    st.sampled_from([text for rule in RULES for text in rule.counterexamples]),
    st.sampled_from([hint for rule in RULES for hint in rule.hints]),
    st.sampled_from([f"[REDACTED:{rule.id}]" for rule in RULES] + ["[REDACTED:dense]", "[REDACTED:", "]"]),
    st.text(max_size=12),
    st.text(string.punctuation + " \n", max_size=4),
)
TEXTS = st.lists(PIECES, max_size=8).map("".join)


@given(TEXTS)
@example("password=" * 9)
@example("token=[REDACTED:assignment].a1b2c3d4")
def test_twice_changes_nothing(text: str) -> None:
    """Whatever stands beside whatever."""
    clean, finds = redact(text)
    assert redact(clean) == (clean, ())
    assert (clean == text) is (not finds)


@given(
    st.recursive(
        TEXTS | st.integers(), lambda v: st.lists(v, max_size=3) | st.dictionaries(TEXTS, v, max_size=3)
    )
)
def test_values_are_cleaned_as_texts_are(value: object) -> None:
    """All texts of it, and twice changes nothing; where nothing is found it is the same object."""
    clean, finds = redact_value(value)
    assert redact_value(clean) == (clean, ())
    assert (clean is value) is (not finds)
    assert bool(places(value)) is bool(finds)


def test_a_member_is_judged_by_its_name() -> None:
    """What its name calls a secret is one, unless it is a reference, a number or a word."""
    value = {
        "config": [{"password": "hunter2-x9", "user": "hunter2-x9"}],
        "api_key": "see-the-vault",
        "token": 7,
    }
    clean, finds = redact_value(value)
    assert clean == {
        "config": [{"password": "[REDACTED:assignment]", "user": "hunter2-x9"}],
        "api_key": "see-the-vault",
        "token": 7,
    }
    assert finds == (Find("assignment", 1),)


def test_no_member_is_lost_where_names_become_the_same() -> None:
    """Two secrets as names of members."""
    one, other = (f"AKIA{'FAKEEXAMPLE2FAKE'[n:]}{'FAKEEXAMPLE2FAKE'[:n]}" for n in (0, 1))
    clean, finds = redact_value({one: 1, other: 2})
    assert isinstance(clean, dict)
    assert list(clean.values()) == [1, 2]
    assert finds == (Find("aws-access-key", 2),)


def test_a_label_or_manifest_is_told_rule_and_place() -> None:
    """And never the value, not as a member's name either."""
    key = next(rule for rule in RULES if rule.id == "aws-access-key").examples[0]
    assert places(key) == [Place("aws-access-key", "$")]
    assert places({"argv": ["run", f"--key={key}"], "env": {"password": "hunter2-x9"}}) == [
        Place("aws-access-key", "$.argv[1]"),
        Place("assignment", "$.env.password"),
    ]
    assert places({key: {"a": key}}) == [
        Place("aws-access-key", "$.<member 0>"),
        Place("aws-access-key", "$.<member 0>.a"),
    ]
    assert places({"argv": ["make", "test"], "files": {"a.py": "0" * 64}}) == []


# --- time -------------------------------------------------------------------------------------------------
def hostile() -> list[str]:
    """Texts of 64 KiB: beginnings of finds that never end, and ends that never come, close together."""
    seeds: set[str] = set()
    for rule in RULES:
        for hint in rule.hints:
            seeds |= {hint, f"{hint}=", f"{hint}: ", f"{hint}.", f"{hint} {hint}-"}
        for text in rule.examples[:2]:
            seeds |= {text, text[: len(text) // 2], text[:-1] + ".", text[:12] + "@"}
    texts = [(seed * math.ceil(HOSTILE_SCALARS / len(seed)))[:HOSTILE_SCALARS] for seed in sorted(seeds)]
    for rule in RULES:
        for tail in ("a", ",", "-", ".a", "a_", ":", " ", "=", "A1", "\\n"):
            texts.append((rule.hints[0] + tail * HOSTILE_SCALARS)[:HOSTILE_SCALARS])
            texts.append((rule.examples[0] + tail * HOSTILE_SCALARS)[:HOSTILE_SCALARS])
    return texts


def test_no_text_takes_long() -> None:
    """64 KiB of what each pattern likes least."""
    slow = []
    for text in hostile():
        began = time.process_time()
        redact(text)
        if (took := time.process_time() - began) > SECONDS_MAX:
            slow.append((took, text[:40]))
    assert not slow


def test_nothing_is_read_before_the_first_text() -> None:
    """Who imports the SDK, or sends nothing, does not pay for the list."""
    program = (
        "import tallystick.client, sys\n"
        "assert 'tallystick.protocol.secrets' not in sys.modules\n"
        "from tallystick.protocol import secrets\n"
        "assert secrets.rules.cache_info().currsize == 0\n"
        "secrets.redact('a tap drips')\n"
        "assert not any('_finds' in vars(rule) for rule in secrets.rules())\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


# --- what is redacted -------------------------------------------------------------------------------------
def test_texts_of_content_are_all_but_bytes_and_digests() -> None:
    """What an operation takes as content is looked through, unless it is marked as exact."""
    exact = {
        (operation.name, name)
        for operation in BY_SOCKET.values()
        for name in set(operation.content) - set(operation.texts)
    }
    assert exact == {
        ("artifact_upload_begin", "declared_raw_sha256"),
        ("tallystick_artifact_begin", "declared_raw_sha256"),
        ("tallystick_artifact_put", "data"),
    }
