"""Waiters: followers that sleep until their own source is committed to.

A waiter holds no lock, no transaction and no task: a row in a table, and a timer in the door's heap. When a
batch is durable, the waiters of the projects that it touched are looked after, once; all others are not
touched. One whose events its filter skipped moves its cursor and sleeps on. Authority is judged at each look:
one that lost it is answered with the refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from tallyd.ledger.view import View
from tallyd.readers.reads import Reader
from tallystick.protocol.problems import Refusal


class Cancelable(Protocol):
    """A timer."""

    def cancel(self) -> None: ...


class Waiter(msgspec.Struct, eq=False):
    """One wait: what it looks at, and whom it tells."""

    project: int
    look: Callable[[View], tuple[bool, bytes]]
    """Whether there is anything, and the result as it would be now. Raises Refusal."""
    answer: Callable[[bytes], None]
    refuse: Callable[[Refusal], None]
    record: Callable[[tuple[str, ...]], None]
    """Sensitive objects were found: their reading is recorded first, and ``Waiters.recorded`` called then."""
    timer: Cancelable | None = None
    last: bool = False
    """Whether the next look is its last: its time is up, or a request stands behind it."""
    recording: bool = False
    recorded: frozenset[str] = frozenset()


class Waiters:
    """All waiters, by the project they follow. On the loop."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._by_project: dict[int, dict[int, Waiter]] = {}
        self._due: dict[int, Waiter] = {}

    def __len__(self) -> int:
        return sum(len(waiters) for waiters in self._by_project.values())

    def add(self, waiter: Waiter) -> None:
        """Looks at once; sleeps where there is nothing and the look was not its last."""
        self._by_project.setdefault(waiter.project, {})[id(waiter)] = waiter
        self._look(waiter)

    def remove(self, waiter: Waiter) -> None:
        """Lets go of a waiter; harmless the second time."""
        waiters = self._by_project.get(waiter.project)
        if waiters is not None:
            waiters.pop(id(waiter), None)
            if not waiters:
                del self._by_project[waiter.project]
        self._due.pop(id(waiter), None)
        if waiter.timer is not None:
            waiter.timer.cancel()

    def committed(self, projects: Iterable[int]) -> None:
        """A batch that touched these projects is durable."""
        for project in projects:
            for waiter in list(self._by_project.get(project, {}).values()):
                self._look(waiter)

    def finish(self, waiter: Waiter) -> None:
        """One look more, and then its answer, whatever was found."""
        waiter.last = True
        self._look(waiter)

    def recorded(self, waiter: Waiter, objects: tuple[str, ...]) -> None:
        """The reading of these objects is on record."""
        waiter.recording = False
        waiter.recorded |= frozenset(objects)
        self._look(waiter)

    def reopened(self) -> None:
        """The gate is open again: looks that it kept back are made now."""
        due, self._due = self._due, {}
        for waiter in due.values():
            self._look(waiter)

    def _look(self, waiter: Waiter) -> None:
        if waiter.recording:
            return
        try:
            seen = self._reader.try_read(waiter.look)
        except Refusal as refusal:
            self.remove(waiter)
            waiter.refuse(refusal)
            return
        if seen is None:
            self._due[id(waiter)] = waiter
            return
        found, result = seen
        accessed = self._reader.accessed
        if not accessed <= waiter.recorded:
            waiter.recording = True
            waiter.record(tuple(accessed))
        elif found or waiter.last:
            self.remove(waiter)
            waiter.answer(result)
