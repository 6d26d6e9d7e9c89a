"""Each check of the demo sees what it is for: a real observation, one thing changed, fails it by name."""

from collections.abc import Callable
from typing import Final

import pytest
from docs.demo import run
from docs.demo.checks import CHECKS, Life, Observation, judge
from docs.demo.stage import Stage
from msgspec.structs import replace

from tallystick.protocol.families.context import AssemblyOmission
from tallystick.protocol.families.service import DiagnosticCheck
from tallystick.protocol.shapes import CheckStatus, InvocationState

Change = Callable[[Observation], Observation]
SYNTHESIS, RELATION, INVOCATION, ASSEMBLY, DIED, WENT_ON, DURABLE, SENT, ASSISTANT, DENSE, DIAGNOSIS = CHECKS


@pytest.fixture(scope="module")
def seen() -> Observation:
    """What a whole demo observed."""
    with Stage() as stage:
        return run.observe(run.play(stage, lambda _line: None))


# --- what is changed --------------------------------------------------------------------------------------
def nothing(seen: Observation) -> Observation:
    """As it was."""
    return seen


def without_synthesis(seen: Observation) -> Observation:
    """The synthesis is not in the space."""
    kept = tuple(each for each in seen.contributions if each.kind != "synthesis")
    return replace(seen, contributions=kept)


def two_syntheses(seen: Observation) -> Observation:
    """Another contribution is a synthesis as well, at a place of its own."""
    later = max(each.branch_sequence for each in seen.relations) + 1
    another = replace(seen.contributions[-1], contribution_id="ctr-another", origin_branch_sequence=later)
    return replace(seen, contributions=(*seen.contributions, another))


def without_relation(seen: Observation) -> Observation:
    """The synthesis is related to nothing."""
    return replace(seen, relations=())


def two_relations(seen: Observation) -> Observation:
    """The synthesis addresses the question twice."""
    relation = seen.relations[0]
    again = replace(relation, relation_id="rel-another", branch_sequence=relation.branch_sequence + 1)
    return replace(seen, relations=(relation, again))


def addressing_evidence(seen: Observation) -> Observation:
    """The synthesis addresses the evidence."""
    relation = seen.relations[0]
    to = replace(relation.to_ref, object_ref=seen.ids_of("evidence")[0])
    return replace(seen, relations=(replace(relation, to_ref=to),))


def supporting(seen: Observation) -> Observation:
    """The synthesis supports the question."""
    return replace(seen, relations=(replace(seen.relations[0], kind="supports"),))


def two_invocations(seen: Observation) -> Observation:
    """There was another invocation."""
    return replace(seen, invocations=seen.invocations * 2)


def in_state(state: InvocationState) -> Change:
    """The invocation ended otherwise."""
    return lambda seen: replace(seen, invocations=(replace(seen.invocations[0], state=state),))


def event_otherwise(number: int, **changes: object) -> Change:
    """The event at this place of the project is another one."""

    def change(seen: Observation) -> Observation:
        events = list(seen.events)
        events[number - 1] = replace(events[number - 1], **changes)
        return replace(seen, events=tuple(events))

    return change


def without_event(number: int) -> Change:
    """The event at this place of the project is missing."""
    return lambda seen: replace(seen, events=seen.events[: number - 1] + seen.events[number:])


def misplaced(seen: Observation) -> Observation:
    """A contribution's place in the branch does not follow the ones before."""
    *before, last = seen.contributions
    return replace(seen, contributions=(*before, replace(last, origin_branch_sequence=9)))


def two_assemblies(seen: Observation) -> Observation:
    """There was another assembly."""
    return replace(seen, assemblies=seen.assemblies * 2)


def without_item(seen: Observation) -> Observation:
    """The assistant was not given everything."""
    assembly = seen.assemblies[0]
    return replace(seen, assemblies=(replace(assembly, items=assembly.items[:1]),))


def with_omission(seen: Observation) -> Observation:
    """Something was left out of the assembly."""
    omission = AssemblyOmission(reason="too-large")
    return replace(seen, assemblies=(replace(seen.assemblies[0], omissions=(omission,)),))


def first_ended(by: str | None) -> Change:
    """The first daemon ended otherwise."""
    return lambda seen: replace(seen, daemons=(Life(seen.daemons[0].pid, by), *seen.daemons[1:]))


def same_pid(seen: Observation) -> Observation:
    """The second daemon says that it is the first."""
    first, second = seen.daemons
    return replace(seen, daemons=(first, Life(first.pid, second.ended_by)))


def second_ended(seen: Observation) -> Observation:
    """The second daemon has ended too."""
    first, second = seen.daemons
    return replace(seen, daemons=(first, Life(second.pid, "exit 1")))


def not_on_disk(seen: Observation) -> Observation:
    """The dead daemon's disk did not have the synthesis's event."""
    event = seen.answered()
    assert event is not None
    assert seen.events_on_disk is not None
    return replace(seen, events_on_disk=seen.events_on_disk - {event.event_id.rpartition("-")[2]})


def sent_once(seen: Observation) -> Observation:
    """No request was sent a second time."""
    return replace(seen, sent=tuple(each for each in seen.sent if each.number == 1))


def assistant_ended(by: str | None) -> Change:
    """The assistant ended otherwise."""
    return lambda seen: replace(seen, assistant=Life(seen.assistant.pid, by))


def diagnosed(check: str, status: CheckStatus) -> Change:
    """The daemon's diagnosis says something else of one thing."""

    def change(seen: Observation) -> Observation:
        others = tuple(each for each in seen.diagnosis.checks if each.check != check)
        row = DiagnosticCheck(check=check, status=status)
        return replace(seen, diagnosis=replace(seen.diagnosis, checks=(*others, row)))

    return change


CASES: Final[dict[str, tuple[Change, set[str]]]] = {
    "as it was": (nothing, set()),
    "a warning about the container": (diagnosed("container_layer", "warn"), set()),
    "no synthesis": (without_synthesis, {SYNTHESIS, RELATION, INVOCATION, DURABLE, SENT, DENSE}),
    "two syntheses": (two_syntheses, {SYNTHESIS}),
    "no relation": (without_relation, {RELATION}),
    "two relations": (two_relations, {RELATION}),
    "it addresses the evidence": (addressing_evidence, {RELATION}),
    "it supports the question": (supporting, {RELATION}),
    "two invocations": (two_invocations, {INVOCATION}),
    "a failed invocation": (in_state("failed"), {INVOCATION}),
    "another result": (event_otherwise(10, payload={"result_ref": "ctr-another"}), {INVOCATION}),
    "two assemblies": (two_assemblies, {ASSEMBLY}),
    "an item less": (without_item, {ASSEMBLY}),
    "an omission": (with_omission, {ASSEMBLY}),
    "the first died of SIGKILL": (first_ended("SIGKILL"), {DIED}),
    "the first did not die": (first_ended(None), {DIED, WENT_ON}),
    "the same pid": (same_pid, {WENT_ON}),
    "the second ended too": (second_ended, {WENT_ON}),
    "not on the disk": (not_on_disk, {DURABLE}),
    "sent once": (sent_once, {SENT}),
    "the assistant failed": (assistant_ended("exit 1"), {ASSISTANT}),
    "the assistant was killed": (assistant_ended("SIGKILL"), {ASSISTANT}),
    "the first event is missing": (without_event(1), {DENSE}),
    "a place in a stream twice": (event_otherwise(9, stream_sequence=5), {DENSE}),
    "a place in the branch is missing": (misplaced, {DENSE}),
    "the log does not verify": (diagnosed("audit_chain", "fail"), {DIAGNOSIS}),
    "another warning": (diagnosed("suppressed_refusals", "warn"), {DIAGNOSIS}),
}
"""What is changed, and the checks that must see it."""


@pytest.mark.parametrize("case", CASES)
def test_each_check_sees_what_it_is_for(case: str, seen: Observation) -> None:
    """One thing changed fails the checks that are about it, and no others."""
    change, fails = CASES[case]
    verdicts = judge(change(seen))
    assert {verdict.check for verdict in verdicts if not verdict.holds} == fails, verdicts


def test_each_check_can_fail_alone() -> None:
    """For every check there is something that it alone sees: none always holds, none is another's echo."""
    assert {check for _, fails in CASES.values() if len(fails) == 1 for check in fails} == set(CHECKS)
