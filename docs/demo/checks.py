"""What must hold after the daemon has died and come back, as functions of what was observed.

``Observation`` holds what was read from outside: the record through the client's socket, the processes' ends
from the kernel, the SDK's sendings from its observer, the dead daemon's events from a copy of its disk. Each
check looks at an observation and nothing else, and says what it found, so that each can be shown a record in
which one thing is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from msgspec import Struct

from tallystick import Try
from tallystick.protocol.families.context import Assembly
from tallystick.protocol.families.contributions import Contribution, Relation
from tallystick.protocol.families.events import Event
from tallystick.protocol.families.invocations import Invocation
from tallystick.protocol.families.service import Diagnosis, DiagnosticCheck

APPENDED: Final = "dev.kovee.space.contribution-appended.v1"
RELATED: Final = "dev.kovee.space.relation-asserted.v1"
ASSEMBLED: Final = "dev.kovee.space.context-assembly-created.v1"
SUCCEEDED: Final = "dev.kovee.invocation.succeeded.v1"
DEADLY_SIGNAL: Final = "SIGABRT"
_MAY_WARN: Final = "container_layer"
"""A store in a container's own layer goes with the container; this one goes with the demo anyway."""


class Life(Struct, frozen=True):
    """A process: its pid, and what ended it ("SIGABRT", "exit 0"); None while it runs."""

    pid: int
    ended_by: str | None


class Observation(Struct, frozen=True, kw_only=True):
    """What was seen from outside, when all was over. Lists are in the record's order.

    ``daemons`` have the pids that they told for themselves. ``events_on_disk`` are the ids (32 hex digits) of
    the events that were on the first daemon's disk when it had died and no other had been started; None where
    it did not die. ``sent`` is each sending of a request by the assistant.
    """

    daemons: tuple[Life, ...]
    assistant: Life
    sent: tuple[Try, ...]
    events_on_disk: frozenset[str] | None
    contributions: tuple[Contribution, ...]
    relations: tuple[Relation, ...]
    assemblies: tuple[Assembly, ...]
    invocations: tuple[Invocation, ...]
    events: tuple[Event, ...]
    diagnosis: Diagnosis

    def of_kind(self, kind: str) -> list[Contribution]:
        """The contributions of a kind."""
        return [each for each in self.contributions if each.kind == kind]

    def ids_of(self, *kinds: str) -> list[str]:
        """The ids of the contributions of these kinds, kind by kind."""
        return [each.contribution_id for kind in kinds for each in self.of_kind(kind)]

    def answered(self) -> Event | None:
        """The event with which the first synthesis came into the record."""
        appended = [each for each in self.events if each.type == APPENDED]
        answers = self.ids_of("synthesis")[:1]
        return next((each for each in appended if each.resource_ref in answers), None)

    def sendings(self) -> int:
        """How often the assistant's SDK sent the key that the first synthesis went under.

        The record tells the key: the SDK makes a request's id from it, and each event names its request.
        """
        event = self.answered()
        return 0 if event is None else sum(f"req-{each.key}" == event.correlation_ref for each in self.sent)


class Verdict(NamedTuple):
    """A check, whether it holds, and what was found."""

    check: str
    holds: bool
    found: str


Found = tuple[bool, str]


def _one_synthesis(seen: Observation) -> Found:
    count = len(seen.of_kind("synthesis"))
    return count == 1, f"{count} in the space"


def _one_relation(seen: Observation) -> Found:
    related = [each for each in seen.relations if each.kind == "addresses"]
    ends = [(each.from_ref.object_ref, each.to_ref.object_ref) for each in related]
    wanted = [tuple(seen.ids_of("synthesis")[:1] + seen.ids_of("question")[:1])]
    kinds = {each.contribution_id: each.kind for each in seen.contributions}
    found = [" → ".join(kinds.get(ref, "something else") for ref in pair) for pair in ends]
    return ends == wanted, f"{len(ends)}: {', '.join(found)}" if ends else "0"


def _one_invocation(seen: Observation) -> Found:
    results = [_payload(each).get("result_ref") for each in seen.events if each.type == SUCCEEDED]
    answers: list[object] = [*seen.ids_of("synthesis")[:1]]
    states = [each.state for each in seen.invocations]
    result = "the synthesis" if results == answers else f"{len(results)} results"
    return states == ["succeeded"] and results == answers, f"{', '.join(states) or 'none'}; {result}"


def _one_assembly(seen: Observation) -> Found:
    items = [[item.object_ref for item in each.items] for each in seen.assemblies]
    omitted = sum(len(each.omissions) for each in seen.assemblies)
    kinds = {each.contribution_id: each.kind for each in seen.contributions}
    found = [" + ".join(kinds.get(ref, "something else") for ref in refs) for refs in items]
    wanted = [sorted(seen.ids_of("question", "evidence"))]
    holds = [sorted(refs) for refs in items] == wanted and len(wanted[0]) == 2 and omitted == 0
    return holds, f"{len(items)}: {'; '.join(found)}; {omitted} left out"


def _died_of_it(seen: Observation) -> Found:
    first = seen.daemons[0]
    return first.ended_by == DEADLY_SIGNAL, f"pid {first.pid}: {first.ended_by or 'still running'}"


def _another_went_on(seen: Observation) -> Found:
    pids = [each.pid for each in seen.daemons]
    running = [each.pid for each in seen.daemons if each.ended_by is None]
    holds = len(set(pids)) == 2 and running == pids[1:]
    return holds, f"pids {', '.join(map(str, pids))}; {len(running)} running"


def _durable_before(seen: Observation) -> Found:
    event = seen.answered()
    if event is None or seen.events_on_disk is None:
        return False, "no synthesis" if event is None else "it did not die"
    there = event.event_id.rpartition("-")[2] in seen.events_on_disk
    return there, f"{'among' if there else 'not among'} the {len(seen.events_on_disk)} events there"


def _sent_again(seen: Observation) -> Found:
    return seen.sendings() >= 2, f"sent {seen.sendings()} times"


def _assistant_ended_well(seen: Observation) -> Found:
    return seen.assistant.ended_by == "exit 0", f"pid {seen.assistant.pid}: {seen.assistant.ended_by}"


def _dense(seen: Observation) -> Found:
    series = {"the project's events": [each.project_sequence for each in seen.events]}
    for event in seen.events:
        series.setdefault(f"stream {event.stream_id}", []).append(event.stream_sequence)
    placed = [each.origin_branch_sequence for each in seen.contributions]
    series["the branch"] = [*sorted(placed + [each.branch_sequence for each in seen.relations])]
    for name, numbers in series.items():
        if numbers != list(range(1, len(numbers) + 1)):
            return False, f"{name}: {', '.join(map(str, numbers))}"
    return bool(seen.events), f"1 to {len(seen.events)}; {len(series) - 2} streams, 1 branch"


def _diagnosed(seen: Observation) -> Found:
    checks = seen.diagnosis.checks
    bad = [f"{each.check}: {each.status}, {each.detail}" for each in checks if not _is_well(each)]
    return bool(checks) and not bad, "; ".join(bad) or f"{len(checks)} of {len(checks)}"


def _is_well(check: DiagnosticCheck) -> bool:
    return check.status == "pass" or (check.check == _MAY_WARN and check.status == "warn")


def _payload(event: Event) -> dict[str, object]:
    return event.payload if isinstance(event.payload, dict) else {}


CHECKS: Final[dict[str, Callable[[Observation], Found]]] = {
    "exactly one synthesis": _one_synthesis,
    "exactly one `addresses` relation, from it to the question": _one_relation,
    "exactly one invocation: it succeeded, with the synthesis": _one_invocation,
    "one context assembly: question and evidence, no omission": _one_assembly,
    f"the first daemon died of {DEADLY_SIGNAL}": _died_of_it,
    "another daemon went on": _another_went_on,
    "the synthesis was on the disk when the first one died": _durable_before,
    "the SDK sent that key at least twice": _sent_again,
    "the assistant did not notice: one process, which ended well": _assistant_ended_well,
    "sequences are dense: none missing, none twice": _dense,
    "the daemon's own diagnosis passes": _diagnosed,
}
"""Every check by its sentence, in the order of telling."""


def judge(seen: Observation) -> list[Verdict]:
    """The verdict of each check."""
    return [Verdict(name, *check(seen)) for name, check in CHECKS.items()]


def all_hold(verdicts: Iterable[Verdict]) -> bool:
    """Whether each of them holds."""
    return all(verdict.holds for verdict in verdicts)
