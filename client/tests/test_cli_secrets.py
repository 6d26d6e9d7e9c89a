"""Secrets at the shell: they do not leave it, and what is on record from before is found."""

from __future__ import annotations

import json
from pathlib import Path

from tally_program import Tally

from tallystick.protocol import secrets

KEY = next(rule for rule in secrets.rules() if rule.id == "aws-access-key").examples[0]
SETTINGS = 'write = "keep"\n'


def body(tally: Tally, contribution: str) -> str:
    """What a contribution says."""
    return str(tally.ok("show", contribution, "--json").object["body_parts"][0]["text"])


def test_a_secret_is_redacted_and_told(tally: Tally, space: str) -> None:
    """What is written has the marker; stderr names the rule, and never the value."""
    said = tally.ok("say", f"use {KEY} there", "--space", space)
    assert body(tally, said.out.strip()) == "use [REDACTED:aws-access-key] there"
    assert "Redacted before it was sent: aws-access-key." in said.err
    assert KEY not in said.err


def test_refused_where_the_environment_says_so(tally: Tally, space: str) -> None:
    """Nothing is sent; a setting that there is not is told as such."""
    refused = tally("say", f"use {KEY} there", "--space", space, env={"TALLY_SECRETS": "refuse"})
    assert refused.code != 0
    assert "aws-access-key" in refused.err
    assert KEY not in refused.err
    assert not tally.ok("read", "--space", space).out
    wrong = tally("say", "words", "--space", space, env={"TALLY_SECRETS": "hide"})
    assert wrong.code == 2
    assert "redact, refuse or keep" in wrong.err


def test_scan_finds_what_was_kept(tally: Tally) -> None:
    """Where daemon and shell were told to keep, `secrets scan` lists contribution, rule and count."""
    data = Path(json.loads(tally.ok("paths", "--json").out)["data_dir"])
    data.mkdir(mode=0o700, exist_ok=True)
    (data / "tallyd.toml").write_text(f"[secrets]\n{SETTINGS}", encoding="utf-8")
    tally.ok("init")
    space = tally.id("space", "create", "the tap")
    kept = {"TALLY_SECRETS": "keep"}
    said = tally.id("say", f"{KEY} and {KEY} and password=hunter2-x9", "--space", space, env=kept)
    tally.ok("say", "nothing of that kind", "--space", space)
    assert KEY in body(tally, said)
    found = tally.ok("secrets", "scan", "--json")
    assert [(each["contribution_id"], each["rule"], each["count"]) for each in found.objects] == [
        (said, "assignment", 1),
        (said, "aws-access-key", 2),
    ]
    for looked in (tally.ok("secrets", "scan"), tally.ok("secrets", "scan", "--space", space)):
        assert said in looked.out
        assert "2 contributions were looked through; 1 hold" in looked.err
        assert KEY not in looked.out + looked.err
    tally.ok("redact", said)
    assert not tally.ok("secrets", "scan").out
