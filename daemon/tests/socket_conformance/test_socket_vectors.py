"""Each request of KCP's vectors and of our own, sent to the daemon: refused where its shape is wrong.

What a vector says of a shape is judged in process elsewhere. Here it goes through door, clerk and readers,
and the connection that it came over lives on.
"""

from __future__ import annotations

import pytest
from conformance.kcp_vectors import NO_DATA, RequestVector, iter_request_vectors, line_of
from conformance.mutations import Specimen, broken, shortened, specimens
from harness.wire import Reply

from tallystick.paths import Paths
from tallystick.protocol.problems import Kind as ProblemKind

from .talk import Note, Talk

SHAPE: frozenset[str | None] = frozenset(
    {
        ProblemKind.INVALID,
        ProblemKind.FORBIDDEN_SURFACE,
        ProblemKind.UNKNOWN_OP,
        ProblemKind.UNSUPPORTED_VERSION,
    }
)
"""What a wrong shape is refused as, and nothing that is right in its shape may be."""
SPECIMENS = [specimen for specimen in specimens() if specimen.request["op"] != "tallystick_shutdown"]
"""Ours, but for the one that would end the daemon under the others."""

MADE_UP = ("$.args.after", "$.args.snapshot", "$.args.checks")
"""Members whose values only a daemon can give; those of our requests are right in their shape alone."""


def kcps() -> pytest.MarkDecorator:
    """A parameter for each of KCP's request vectors, or one that is skipped with the reason."""
    found = list(iter_request_vectors())
    if not found:
        skipped = pytest.param(None, marks=pytest.mark.skip(reason=NO_DATA))
        return pytest.mark.parametrize("vector", [skipped], ids=["without data"])
    return pytest.mark.parametrize("vector", found, ids=[vector.name for vector in found])


def operation_in(vector: RequestVector) -> str:
    """The operation that a vector names; a text that no parser takes names none that matters."""
    return vector.name.removeprefix("ops/").split("-valid")[0].split("-invalid")[0].replace("-", "_")


@kcps()
def test_a_vector_over_the_socket(vector: RequestVector, paths: Paths, record_property: Note) -> None:
    """A wrong request is refused for its shape, a right one never, and the connection lives on."""
    with Talk(paths, vector.socket, record_property) as talk:
        reply = talk.ask(operation_in(vector), vector.raw)
        assert (reply.kind in SHAPE) != vector.valid, reply
        assert talk.lives_on()


@pytest.mark.parametrize("specimen", SPECIMENS, ids=[specimen.name for specimen in SPECIMENS])
def test_our_requests_over_the_socket(specimen: Specimen, paths: Paths, record_property: Note) -> None:
    """Each right request of ours, whole and without what may be left out, is answered for what it means."""
    operation = specimen.request["op"]
    requests = [specimen.request, *(mutant.request for mutant in shortened(specimen))]
    with Talk(paths, specimen.socket, record_property) as talk:
        talk.send(*map(line_of, requests))
        replies = [talk.receive(operation) for _ in requests]
        wrong = [reply.problem for reply in replies if reply.kind in SHAPE]
        assert [problem for problem in wrong if not problem["detail"].startswith(MADE_UP)] == []
        assert talk.lives_on()


@pytest.mark.parametrize("specimen", specimens(), ids=[specimen.name for specimen in specimens()])
def test_broken_requests_over_the_socket(specimen: Specimen, paths: Paths, record_property: Note) -> None:
    """A request wrong in one place is refused in its turn, among a flood of others on one connection."""
    mutants = list(broken(specimen))
    assert mutants
    with Talk(paths, specimen.socket, record_property) as talk:
        talk.send(*(line_of(mutant.request) for mutant in mutants))
        replies: list[Reply] = [talk.receive(specimen.request["op"]) for _ in mutants]
        taken = [m.what for m, reply in zip(mutants, replies, strict=True) if reply.kind not in SHAPE]
        assert taken == []
        assert talk.lives_on()
