"""What `docs/cli.md` says is what `tally` does."""

import re

from cli_reference import commands, reference, written

from tally_cli.exits import MEANING


def test_the_table_of_exit_codes_is_the_programs() -> None:
    """Each code stands in the document with its name and meaning, and no other code does."""
    before, _, _ = written()
    rows = re.findall(r"^\| (\d+) \| ([A-Z_]+) \| (.+) \|$", before, re.MULTILINE)
    assert rows == [(str(int(code)), code.name, meaning) for code, meaning in MEANING.items()]


def test_the_reference_of_verbs_is_the_programs() -> None:
    """The reference was written from the commands as they are: run client/tests/cli_reference.py."""
    _, inside, _ = written()
    assert inside.strip() == reference().strip()


def test_every_verb_has_a_contract_for_json() -> None:
    """Each verb that prints objects stands in the table of `--json`."""
    before, _, _ = written()
    table = before.partition("### The objects of --json")[2].partition("## Exit codes")[0]
    told = set(re.findall(r"`([a-z ]+)`", "".join(re.findall(r"^\| (.+?) \|", table, re.MULTILINE))))
    groups = {"project", "space", "participants", "grant", "agent", "artifact", "invocation", "secrets"}
    wanted = {name.removeprefix("tally ") for name, _ in commands()} - groups - {"completion"}
    assert wanted <= told
