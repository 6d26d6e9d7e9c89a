"""Right requests are taken, and each of them that is wrong in one place is refused, with the place."""

import pytest

from tallystick.protocol.envelope import decode_request
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.problems import Refusal
from tallystick.protocol.registry import BY_SOCKET

from .kcp_vectors import line_of
from .mutations import Mutant, Specimen, broken, shortened, specimens

SPECIMENS = specimens()
REFUSALS = {
    ProblemKind.INVALID,
    ProblemKind.FORBIDDEN_SURFACE,
    ProblemKind.UNKNOWN_OP,
    ProblemKind.UNSUPPORTED_VERSION,
}
each_specimen = pytest.mark.parametrize("specimen", SPECIMENS, ids=[s.name for s in SPECIMENS])


def refusal_of(specimen: Specimen, mutant: Mutant) -> Refusal | None:
    try:
        decode_request(line_of(mutant.request), specimen.socket)
    except Refusal as refusal:
        return refusal
    return None


def test_there_is_one_of_each_operation() -> None:
    """Every operation has a right request here, on each of its sockets."""
    assert {(s.socket, s.request["op"]) for s in SPECIMENS} == set(BY_SOCKET)


@each_specimen
def test_a_right_request_is_taken(specimen: Specimen) -> None:
    """The request with every member, and without each that may be left out, is taken."""
    assert refusal_of(specimen, Mutant("as it is", specimen.request)) is None
    assert [m.what for m in shortened(specimen) if refusal_of(specimen, m) is not None] == []


@each_specimen
def test_a_request_wrong_in_one_place_is_refused(specimen: Specimen) -> None:
    """No mutant is taken."""
    mutants = list(broken(specimen))
    assert len(mutants) >= 20
    assert [m.what for m in mutants if refusal_of(specimen, m) is None] == []


@each_specimen
def test_a_refusal_is_for_the_shape_and_says_where(specimen: Specimen) -> None:
    """A mutant is refused with a kind of the envelope, and the detail leads to a place in the request."""
    refusals = [(m.what, refusal_of(specimen, m)) for m in broken(specimen)]
    silent = [
        what
        for what, refusal in refusals
        if refusal is not None and (refusal.kind not in REFUSALS or "$" not in str(refusal.problem.detail))
    ]
    assert silent == []
