"""Which events an actor is shown.

An agent is not shown an event of a stream that it does not see, nor one of an object that is hidden from it,
nor one that is classified above its ceiling. What a space is called, and what its lenses say, is classified
as the space classifies by default now, and as it did when the event was told. Of the events that stand in no
project an agent is shown its own. The owner is shown every event.

Whether an object is hidden is known to the family that it belongs to. So each family that hides objects gives
a function of the form ``tallyd.ledger.view.EventCheck``; the view carries all of them (``event_checks``).
"""

from __future__ import annotations

from typing import Final

from tallyd.admission.access import EVERYTHING, Rights
from tallyd.admission.prelude import Admission
from tallyd.ledger import attempts
from tallyd.ledger.log import LogRow
from tallyd.ledger.view import View
from tallyd.ledger.withheld import ABOVE_CEILING, NOT_VISIBLE

_AS_ITS_SPACE: Final = ("space-", "lens-")
"""Ids of what is as secret as its space is now: its names, and its lenses."""


class EventVisibility:
    """Why an event is withheld from one agent. It remembers the agent's rights in each stream, so it is made
    anew for each look.
    """

    def __init__(self, view: View, admission: Admission) -> None:
        assert view.event_checks is not None, "whoever made this view did not set its event checks"
        self._view = view
        self._admission = admission
        self._checks = view.event_checks
        self._streams: dict[int, tuple[Rights | None, str | None]] = {}

    def __call__(self, row: LogRow) -> str | None:
        """The reason, ``NOT_VISIBLE`` or ``ABOVE_CEILING``; None for an event that is shown."""
        assert row.stream is not None
        if row.project is None:
            return None if row.actor == self._admission.actor else NOT_VISIBLE
        if row.stream not in self._streams:
            self._streams[row.stream] = self._rights(row.stream, row.project)
        held, default = self._streams[row.stream]
        if held is None or not all(shown(self._view, self._admission, row) for shown in self._checks):
            return NOT_VISIBLE
        if held is EVERYTHING:
            return None
        classes = [str(row.classification)]
        if default is not None and str(row.resource).startswith(_AS_ITS_SPACE):
            classes.append(default)
        return None if all(held.reaches(self._view, each) for each in classes) else ABOVE_CEILING

    def _rights(self, stream: int, project: int) -> tuple[Rights | None, str | None]:
        """The rights in a stream, None where its space is not seen, and how the space classifies by default.
        A stream of no space is seen by whoever sees its project.
        """
        invocation = attempts.invocation_at(self._view, stream)
        if invocation is not None:
            space = attempts.space_of(self._view, invocation)
        else:
            space = self._view.space_at(stream)
        if space is None:
            return (EVERYTHING if self._admission.member(self._view, project) else None), None
        held = self._admission.rights(self._view, space)
        return (held if held.reads else None), space.default_classification_ref


def event_visibility(view: View, admission: Admission) -> EventVisibility | None:
    """None for the owner, who is shown every event."""
    return None if admission.agent is None else EventVisibility(view, admission)


def shows(view: View, admission: Admission, row: LogRow) -> bool:
    """Whether an actor is shown one event."""
    visibility = event_visibility(view, admission)
    return visibility is None or visibility(row) is None
