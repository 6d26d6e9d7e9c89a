"""What a type checker says of the clients' methods, which are written once for both: tried by mypy itself."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

PROGRAM: Final = """
from tallystick.client import Client, WorkerClient
from tallystick.protocol.families.work import InvocationClaim
from tallystick.trio_client import TrioClient, TrioWorkerClient

def blocking(tally: Client, worker: WorkerClient, claim: InvocationClaim) -> None:
    reveal_type(tally.project_create("kitchen").value)      # write
    reveal_type(tally.project_show("proj-1"))               # read
    reveal_type(next(iter(tally.contributions(tally.space_show("p", "s")))))  # items
    reveal_type(next(iter(tally.events("proj-1"))))         # pages
    reveal_type(tally.head_cursor("proj-1"))                # conversation
    reveal_type(worker.invocation_cancel(claim, "p", "i").value)  # worker
    tally.project_create("kitchen", colour="red")           # no such option
    tally.project_create("kitchen", expected_revision="1")  # wrong option
    tally.project_show("proj-1", space="more")              # no such argument
    tally.project_show("proj-1", key="k")                   # not a read's option
    tally.contributions(space=1)                            # wrong argument
    worker.complete("claim")                                # no claim
    tally.claim("inv-1")                                    # the worker's alone

async def on_trio(tally: TrioClient, worker: TrioWorkerClient, claim: InvocationClaim) -> None:
    reveal_type((await tally.project_create("kitchen")).value)  # write
    reveal_type(await tally.project_show("proj-1"))         # read
    reveal_type(await anext(aiter(tally.contributions(await tally.space_show("p", "s")))))  # items
    reveal_type(await anext(aiter(tally.events("proj-1"))))  # pages
    reveal_type(await tally.head_cursor("proj-1"))          # conversation
    reveal_type((await worker.invocation_cancel(claim, "p", "i")).value)  # worker
    await tally.project_create("kitchen", colour="red")     # no such option
    await tally.project_create("kitchen", expected_revision="1")  # wrong option
    await tally.project_show("proj-1", space="more")        # no such argument
    await tally.project_show("proj-1", key="k")             # not a read's option
    tally.contributions(space=1)                            # wrong argument
    await worker.complete("claim")                          # no claim
    await tally.claim("inv-1")                              # the worker's alone
    tally.project_show("proj-1").name                       # not awaited
"""
"""A comment says what a line is for; both functions have the same lines, and the second one more."""

FAMILIES: Final = "tallystick.protocol.families"
RESULTS: Final = {
    "write": f"{FAMILIES}.projects.Project",
    "read": f"{FAMILIES}.projects.Project",
    "items": f"{FAMILIES}.contributions.Contribution",
    "pages": f"{FAMILIES}.events.Event",
    "conversation": "str",
    "worker": f"{FAMILIES}.invocations.Invocation",
}
MISUSES: Final = {
    "no such option": "call-arg",
    "wrong option": "arg-type",
    "no such argument": "call-arg",
    "not a read's option": "call-arg",
    "wrong argument": "arg-type",
    "no claim": "arg-type",
    "the worker's alone": "attr-defined",
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[str, str]]]:
    """What mypy says of the program: for each of its functions, the comment of each line with what is said of
    it, a revealed type or the code of an error.
    """
    folder = tmp_path_factory.mktemp("types")
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    source = Path(__file__).resolve().parents[2]
    run = subprocess.run(
        [
            sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary",
            f"--cache-dir={folder / 'cache'}", "program.py",
        ],
        cwd=folder, env={"MYPYPATH": str(source)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not run.stderr, run.stderr
    lines = PROGRAM.splitlines()
    second = lines.index(next(line for line in lines if line.startswith("async def")))
    found: dict[str, list[tuple[str, str]]] = {"blocking": [], "on trio": []}
    for place, kind, words in re.findall(r"^program\.py:(\d+): (\w+): (.*)$", run.stdout, re.MULTILINE):
        number = int(place) - 1
        told = re.search(r'Revealed type is "([^"]*)"' if kind == "note" else r"\[([\w-]+)\]$", words)
        if told is not None:
            comment = lines[number].rpartition("# ")[2]
            found["blocking" if number < second else "on trio"].append((comment, told[1]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("client", ["blocking", "on trio"])
def test_results_have_the_types_of_their_records(said: dict[str, list[tuple[str, str]]], client: str) -> None:
    """Writes, reads, items, pages and conversations give the same types on both clients."""
    assert {comment: told for comment, told in said[client] if comment in RESULTS} == RESULTS


@pytest.mark.slow
@pytest.mark.parametrize("client", ["blocking", "on trio"])
def test_a_misuse_is_a_type_error(said: dict[str, list[tuple[str, str]]], client: str) -> None:
    """A wrong option, an argument that does not exist, another socket's method: each is found on both."""
    assert {comment: told for comment, told in said[client] if comment in MISUSES} == MISUSES


@pytest.mark.slow
def test_a_result_that_was_not_awaited_is_a_type_error(said: dict[str, list[tuple[str, str]]]) -> None:
    """On trio a method gives a coroutine, and never the record itself."""
    assert ("not awaited", "attr-defined") in said["on trio"]
