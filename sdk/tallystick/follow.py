"""Following a project's events: at least once, from a stored cursor, across restarts of either side.

What is promised. Every event that the source has after the starting point is given to the consumer, in the
order of its sequence. When the consumer asks for the next one, the one before is taken as done, and the
place is noted; so an event that was being worked on when the process died is given again. The place never
goes back within one epoch of the store.

What is not promised: exactly once. A consumer that must not do a thing twice writes the event's id where it
writes its effect.

After the store was restored from a backup, or adopted, an old cursor names a place that no longer exists.
The follower then says so with a ``Gap`` in the place of an event, and goes on from the oldest event there
is: what the consumer has seen may come again under other sequences, and what it saw may be gone. A consumer
that keeps state of its own rebuilds it there.

The cursor file. Checked lines (``journal``): a header with source and filter, then the place where following
began, then a line whenever the consumer took a step. It is synced where a page ends; a power cut costs at
most the page. One follower may use a file at a time. A file is made whole, with its first place in it, or not
at all; so a file that is empty, or has no place, or another first line, is none of ours or was cut. It is
refused and left as it is: to begin again from the first event because a file was emptied would do everything
twice. A torn last line is what a crash leaves: it is said in the log, and following goes on from the line
before.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from tallystick import calls, journal
from tallystick.calls.values import project_id
from tallystick.core import Read
from tallystick.errors import CursorExpired, CursorStoreError

if TYPE_CHECKING:
    from tallystick.protocol.families.events import Event, EventBatch, EventPage
    from tallystick.protocol.ijson import JsonValue

_FORMAT: Final = "tallystick-cursor"
_REWRITE_BYTES: Final = 1 << 16
"""A cursor file that is larger is rewritten at the end of a page: only its last line counts."""


class Gap(NamedTuple):
    """The events between two places cannot be read any more, or are no longer the same.

    ``expired_cursor`` is where the follower stood, ``resumed_at`` where it goes on, and ``epoch`` what the
    daemon says of the store's present epoch.
    """

    expired_cursor: str
    resumed_at: str
    epoch: dict[str, JsonValue]


class Place(NamedTuple):
    """After this cursor (None: from the first event), and of the events behind it, after this sequence.

    ``epoch`` is the store's epoch in which the sequence counts, ``store`` the store's id, as far as they are
    known.
    """

    cursor: str | None
    sequence: int
    epoch: str | None
    store: str | None = None


class Follower:
    """The decisions of following, without a connection: which call comes next, which events of a page are
    new, and up to where the consumer has taken them.

    The driver makes ``next_call``, gives its page to ``news`` (or the problem to ``gap``), gives each item
    to the consumer and tells ``took`` when the consumer is back, and ``page_done`` at the end.
    """

    def __init__(
        self,
        source: calls.AnyProject,
        *,
        after_cursor: str | None = None,
        type_prefixes: Sequence[str] = (),
        store: CursorStore | None = None,
    ) -> None:
        self._source = project_id(source)
        self._type_prefixes = tuple(type_prefixes)
        self._store = store
        self._place = Place(after_cursor, 0, None)
        if store is not None:
            self._place = store.open(self._source, self._type_prefixes, self._place)
        self._next_cursor = self._place.cursor
        self._is_noted = True

    @property
    def store(self) -> str | None:
        """The id of the store whose events are followed, once it is known: a cursor is good in it alone."""
        return self._place.store

    @store.setter
    def store(self, store: str | None) -> None:
        if self._place.store is None:
            self._place = self._place._replace(store=store)

    def next_call(self) -> Read[EventPage | EventBatch]:
        """A read where there is no cursor yet, a wait from then on."""
        if self._place.cursor is None:
            return calls.events.events_read(self._source, type_prefixes=self._type_prefixes)
        return calls.events.events_wait(self._source, self._place.cursor, type_prefixes=self._type_prefixes)

    def news(self, page: EventPage | EventBatch) -> list[Event]:
        """The page's events that the consumer has not taken yet."""
        self._next_cursor = page.next_cursor
        epoch = getattr(page, "snapshot_epoch", self._place.epoch)
        if self._place.cursor is None and self._place.epoch != epoch:
            # no cursor could expire, so the sequence must
            self._place = Place(None, 0, epoch, self._place.store)
        behind = self._place.sequence
        return [event for event in page.events if (event.project_sequence or behind + 1) > behind]

    def gap(self, problem: CursorExpired) -> Gap:
        """The gap that an expired cursor makes. Raises the problem where it does not say how to go on."""
        if problem.oldest_cursor is None or self._place.cursor is None:
            raise problem
        self._next_cursor = problem.oldest_cursor
        return Gap(self._place.cursor, problem.oldest_cursor, problem.epoch)

    def took(self, item: Event | Gap) -> None:
        """The consumer has asked for what comes after this item."""
        place = self._place
        if isinstance(item, Gap):
            self._move(Place(item.resumed_at, 0, None, place.store))
        elif item.project_sequence:
            self._move(place._replace(sequence=max(place.sequence, item.project_sequence)))

    def page_done(self) -> None:
        """All of the page was taken: go on behind it. Touches the disk."""
        if self._next_cursor != self._place.cursor:
            self._move(self._place._replace(cursor=self._next_cursor))
        if self._store is not None and not self._is_noted:
            self._store.sync()
            self._is_noted = True

    def _move(self, place: Place) -> None:
        self._place = place
        if self._store is not None:
            self._store.note(place)
            self._is_noted = False

    def close(self) -> None:
        """Let go of the cursor file."""
        if self._store is not None:
            self._store.close()


class CursorStore:
    """The file in which one follower keeps its place."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(os.fspath(path))
        self._descriptor = -1
        self._header = b""

    def open(self, source: str, type_prefixes: Sequence[str], begin: Place) -> Place:
        """The place where the last follower stood; ``begin`` where there is no file yet, which is then made.
        Raises ``CursorStoreError``.
        """
        header = {
            "format": _FORMAT,
            "version": 1,
            "source": source,
            "type_prefixes": sorted(type_prefixes),
        }
        self._header = journal.encode(header)
        try:
            journal.create(self.path, self._header + journal.encode(begin._asdict()))
            self._descriptor = journal.open_private(self.path)
            self._lock()
            return self._last_place(header)
        except OSError as error:
            self.close()
            raise CursorStoreError(
                f"the cursor file {self.path} cannot be used: {error.strerror or error}"
            ) from error
        except CursorStoreError:
            self.close()
            raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CursorStoreError(
                f"the cursor file {self.path} is in use by another follower; give each follower its own"
            ) from None

    def _last_place(self, header: dict[str, object]) -> Place:
        self._check_first_line(header)
        data = journal.read(self._descriptor)
        found = list(journal.lines(data))
        if len(found) < 2:  # the header, and where following began
            raise CursorStoreError(self._cut("it holds no place any more"))
        if found[-1].offset + found[-1].length != len(data):
            logging.getLogger("tallystick.follow").warning(
                "the end of the cursor file %s is torn: following goes on from the place before", self.path
            )
        place = found[-1].members
        cursor, sequence, epoch, store = (place.get(name) for name in Place._fields)
        assert isinstance(sequence, int)
        assert isinstance(cursor, str | None)
        assert isinstance(epoch, str | None)
        assert isinstance(store, str | None)
        return Place(cursor, sequence, epoch, store)

    def _check_first_line(self, header: dict[str, object]) -> None:
        """Reads no more of a file than its first line before it is known for one of ours."""
        data = os.pread(self._descriptor, journal.LINE_BYTES_MAX, 0)
        if not data:
            raise CursorStoreError(self._cut("it is empty"))
        first = next(journal.lines(data), None)
        if first is None or first.offset or first.members.get("format") != _FORMAT:
            raise CursorStoreError(
                f"{self.path} is no cursor file: its first line does not say that it is one. It was left as"
                " it is; name a file that does not exist yet, or a follower's own"
            )
        known = first.members
        if known != header:
            raise CursorStoreError(
                f"the cursor file {self.path} belongs to source {known.get('source')} with the prefixes"
                f" {known.get('type_prefixes')}, and a cursor is good for its own source and filter only;"
                " give this follower another file"
            )

    def _cut(self, what: str) -> str:
        return (
            f"the cursor file {self.path} was cut: {what}, so where to go on is not known. It was left as it"
            " is; put its content back, or name a file that does not exist yet and say where to begin"
        )

    def note(self, place: Place) -> None:
        """Write down the place, so that it outlives this process."""
        journal.append(self._descriptor, journal.encode(place._asdict()))

    def sync(self) -> None:
        """Make the place outlive a power cut, and keep the file small."""
        data = journal.read(self._descriptor)
        if len(data) <= _REWRITE_BYTES:
            journal.sync(self._descriptor)
            return
        if not journal.is_at(self._descriptor, self.path):
            raise CursorStoreError(
                f"the cursor file {self.path} was replaced while it was in use; the place is kept no more"
            )
        last = list(journal.lines(data))[-1]
        old, content = self._descriptor, self._header + journal.encode(last.members)
        self._descriptor = journal.replace(self.path, content)
        os.close(old)

    def close(self) -> None:
        """Let go of the file and its lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
