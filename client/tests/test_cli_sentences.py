"""Sentences of the pages and of help that were found untrue once, held to what the program does."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tally_program import TALLY, Tally

from tally_cli.exits import Exit
from tallyd.door.shares import Bounds
from tallystick.protocol import limits

ROOT = Path(__file__).resolve().parents[2]


def _block(page: str, heading: str, language: str) -> str:
    """The first code block of that language under a heading."""
    _, _, after = (ROOT / page).read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    found = re.search(rf"```{language}\n(.*?)```", after, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_session_of_the_readme_runs(tally: Tally) -> None:
    """Each line after the installation works as written, with the assistant that the page shows, and is
    answered from the evidence. The follower, which never ends, is left out.
    """
    code = _block("README.md", "A session", "python").partition("\nrun_one(")[0]
    (tally.root / "mypackage.py").write_text(code)
    session = _block("README.md", "A session", "sh")
    assert "--evidence" in session
    lines = [line for line in session.splitlines() if not line.startswith(("pip ", "tally events --follow"))]
    assert len(lines) == len(session.splitlines()) - 2
    script = "set -e\npytest() { echo FAILED; }\n" + "\n".join(lines)
    env = {**tally.env, "PATH": f"{Path(TALLY).parent}:{tally.env['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], env=env, cwd=tally.root, capture_output=True, text=True, check=False
    )
    assert done.returncode == Exit.OK, done
    assert "Line 18 adds one cent too few." in done.stdout


def test_a_queued_question_ends_its_call(tally: Tally, space: str) -> None:
    """Without an assistant nobody answers: `ask` ends with 0, and the invocation waits for a worker."""
    asked = tally.ok("ask", "why?", "--space", space, "--json").object
    assert (asked["invocation"]["state"], "answer" in asked) == ("queued", False)


def test_help_names_the_checks_that_the_daemon_has(tally: Tally, space: str) -> None:
    """`diagnose --help` names exactly the checks that the daemon takes, those that are always told first."""
    refused = tally("diagnose", "horoscope", "--json").error["message"]
    known = refused.partition("there are ")[2].split(", ")
    words = tally.ok("diagnose", "--help").out
    assert re.findall(r"\b[a-z]+_[a-z]+\b|\bintegrity\b", words.partition("named:")[2]) == known, space
    told = [check["check"] for check in tally.ok("diagnose", "--json").object["checks"]]
    assert told[:4] == known[:4]


def test_an_agent_of_one_space_reads_the_project_visible_ones(tally: Tally, space: str) -> None:
    """As docs/agents.md says first: every space of visibility `project`, and no restricted one."""
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8").partition("## What it may")[2]
    assert page.index("reads every space of that project") < 200
    project = tally.ok("project", "show", "--json").object["project_id"]
    agent = tally.ok("agent", "add", "reviewer", "--json").object
    tally.ok("participants", "propose", "reviewer", "observer", "--space", space)
    tally.ok("participants", "admit", "reviewer", "observer", "--space", space)
    other = tally.id("space", "create", "other")
    closed = tally.id("space", "create", "closed", "--visibility", "restricted")
    for ref in (other, closed):
        tally.ok("say", "a word", "--space", ref)
    as_agent = {"TALLY_RUNTIME_DIR": agent["sockets"], "TALLY_ACTOR": agent["agent_id"]}
    named = ("--project", project, "--space")
    assert "a word" in tally.ok("read", *named, other, env=as_agent).out
    assert tally("read", *named, closed, env=as_agent).code == Exit.PROBLEM


def test_no_page_says_what_was_found_untrue() -> None:
    """A lens has no name; the Makefile speaks of no figures that the README does not have."""
    words = {
        path.name: path.read_text(encoding="utf-8") for path in [*ROOT.glob("docs/*.md"), ROOT / "Makefile"]
    }
    assert "kept under a name" not in words["lenses.md"] + words["concepts.md"]
    assert "figures in the README" not in words["Makefile"]
    assert "that one alone" in words["security.md"]


def test_the_shares_of_agents_are_those_of_the_daemon() -> None:
    """docs/agents.md gives an agent's share, and that of all, of connections and of requests in flight."""
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8").partition("## How much of the daemon")[2]
    of_connections, of_requests = (
        Bounds.of(whole) for whole in (limits.CONNECTIONS_MAX, limits.REQUESTS_IN_FLIGHT_MAX)
    )
    assert [int(number) for number in re.findall(r"\b\d{3,}\b", page.partition("## End it")[0])] == [
        limits.CONNECTIONS_MAX,
        *of_connections,
        limits.REQUESTS_IN_FLIGHT_MAX,
        *of_requests,
    ]
