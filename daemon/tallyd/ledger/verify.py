"""The log's verifier: walks rows, derives each leaf again, and names the first that breaks the chain, and
every one whose content is damaged, by position and cause.

It reads in slices, each in a short read transaction of its own, so it can run beside a writer. It does not
look at rows that are appended while it runs. ``docs/log-format.md`` says the same for whoever writes a
verifier.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from typing import Final

import msgspec

from tallyd.ledger import log, skeleton
from tallyd.ledger.log import LogRow
from tallyd.ledger.view import View
from tallyd.store.bodies import BODIES_PER_COMMAND_MAX, BodyDamaged

SLICE_ROWS: Final = 512
"""Rows of one read transaction."""


class Fault(msgspec.Struct, frozen=True):
    """A row that is wrong, and why."""

    position: int
    cause: str


class Walk:
    """One walk over the log from its beginning to the head at the time of making.

    A row that breaks the chain ends it. Content that is damaged breaks nothing of the chain: ``damaged`` has
    the rows, so far, whose content is not what came.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._end = view.number("SELECT max(position) FROM log")
        self._next = 0
        self._previous = log.FIRST_PREVIOUS
        self._streams: dict[int, int] = {}
        self._projects: dict[int, int] = {}
        self.rows = 0
        self.damaged: list[Fault] = []

    def slices(self) -> Iterator[Fault | None]:
        """Checks a slice at each step; a fault of the chain ends it."""
        while self._next <= self._end:
            fault = self._slice()
            yield fault
            if fault is not None:
                return

    def _slice(self) -> Fault | None:
        rows = self._view.db.execute(
            log.SELECT + "WHERE position >= ? AND position <= ? ORDER BY position LIMIT ?",
            (self._next, self._end, SLICE_ROWS),
        )
        before = self.rows
        for values in rows:
            row = LogRow(*values)
            cause = self._check(row)
            if cause is not None:
                return Fault(row.position, cause)
            damage = self._check_content(row)
            if damage is not None:
                self.damaged.append(Fault(row.position, damage))
            self._previous, self._next = row.leaf, row.position + 1
            self.rows += 1
        return Fault(self._next, "the row is missing") if self.rows == before else None

    def _check(self, row: LogRow) -> str | None:
        if row.position != self._next:
            return f"rows {self._next} to {row.position - 1} are missing before it"
        if log.leaf_hash(log.entry(row, self._previous)) != row.leaf:
            return "the row does not match its leaf: a field, or the row before it, was changed"
        if log.result_commitment(row) != row.result_commitment:
            return "payload, stored result or key do not match their commitment"
        return self._check_sequences(row)

    def _check_sequences(self, row: LogRow) -> str | None:
        for name, key, sequence, last in (
            ("stream", row.stream, row.stream_sequence, self._streams),
            ("project", row.project, row.project_sequence, self._projects),
        ):
            if key is None:
                continue
            expected = last.get(key, 0) + 1
            if sequence != expected:
                return f"its {name} sequence is {sequence}, and {expected} was due"
            last[key] = expected
        return None

    def _check_content(self, row: LogRow) -> str | None:
        """The content still there is the content that came; what was erased has no key to compare it by."""
        of = f"the content of {row.resource}" if row.resource else "its content"
        try:
            commitment = commitment_of_content(self._view, row)
        except BodyDamaged:
            return f"{of} cannot be opened: its bytes or its key were changed on the disk"
        if commitment is None or row.content_commitment is None:
            return None
        if not hmac.compare_digest(commitment, row.content_commitment):
            return f"{of} does not match its commitment"
        return None


def commitment_of_content(view: View, row: LogRow) -> bytes | None:
    """The commitment derived again from a row's bodies; None where one of them was erased. Opens all of them,
    and raises BodyDamaged where one of them, or the keys of an object without a body, cannot be opened.
    """
    first = row.position * BODIES_PER_COMMAND_MAX
    named = {*skeleton.bodies(row.payload or b""), *skeleton.bodies(row.result or b"")}
    numbers = sorted(body for body in named if first <= body < first + BODIES_PER_COMMAND_MAX)
    keys = view.bodies.keys(view.db, first)
    contents = [view.bodies.get(view.db, body) for body in numbers]
    if keys is None or any(content is None for content in contents):
        return None
    return log.content_commitment(keys.digest, [content for content in contents if content is not None])
