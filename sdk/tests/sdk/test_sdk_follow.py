"""Following: the place that is kept, what is given again, and what a new epoch means."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tallystick import journal
from tallystick.errors import CursorExpired, CursorStoreError
from tallystick.follow import CursorStore, Follower, Gap
from tallystick.protocol.families.events import Event, EventBatch, EventPage
from tallystick.protocol.problems import cursor_expired

SOURCE = "proj-1"


def event(sequence: int) -> Event:
    """An event of the source with that project sequence."""
    return Event(
        event_id=f"evt-{sequence}",
        installation_id="inst-1",
        realm_id="realm-personal",
        stream_id="space-1",
        stream_sequence=sequence,
        project_sequence=sequence,
        type="dev.kovee.space.updated.v1",
        schema_ref="schema:space-v1",
        resource_ref="space-1",
        actor_ref="prin-owner",
        correlation_ref="req-1",
        occurred_at="2030-01-01T00:00:00Z",
        classification_ref="class-default",
        payload_digest="0" * 64,
        payload={},
    )


def batch(first: int, last: int) -> EventBatch:
    """A page of a wait, up to the cursor behind its last event."""
    return EventBatch(events=tuple(event(n) for n in range(first, last + 1)), next_cursor=f"cursor-{last}")


def page(first: int, last: int, epoch: str = "epoch-1") -> EventPage:
    """A page of a read."""
    return EventPage(events=batch(first, last).events, next_cursor=f"cursor-{last}", snapshot_epoch=epoch)


def expired() -> CursorExpired:
    """What the daemon says of a cursor of an old epoch."""
    problem = cursor_expired("cursor-0", "cursor-9", {"number": 2}).problem
    return CursorExpired(problem, operation="events_wait")


def arguments(follower: Follower) -> tuple[str, object]:
    """What would be asked next: the operation, and after which cursor."""
    call = follower.next_call()
    return call.operation, call.arguments["after_cursor"]


def take(follower: Follower, got: EventPage | EventBatch, count: int = 999) -> list[int]:
    """The sequences of what the consumer is given of a page, who then takes so many of them."""
    items = follower.news(got)
    for item in items[:count]:
        follower.took(item)
    if count >= len(items):
        follower.page_done()
    return [item.project_sequence or 0 for item in items]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "cursor")


@pytest.fixture
def opened(path: str) -> Callable[[], Follower]:
    """Opens a follower on the cursor file, as a process that starts again does."""
    last: list[Follower] = []

    def open_one() -> Follower:
        for each in last:
            each.close()
        last.append(Follower(SOURCE, store=CursorStore(path)))
        return last[-1]

    return open_one


def test_the_first_call_reads_and_the_others_wait() -> None:
    """Without a cursor the events are read from the first; from then on they are waited for behind the
    last."""
    follower = Follower(SOURCE)
    assert arguments(follower) == ("events_read", None)
    assert take(follower, page(1, 3)) == [1, 2, 3]
    assert arguments(follower) == ("events_wait", "cursor-3")
    assert take(follower, EventBatch(events=(), next_cursor="cursor-3")) == []
    assert arguments(follower) == ("events_wait", "cursor-3")


def test_following_begins_where_it_is_told() -> None:
    """A cursor that the caller has is where it begins."""
    assert arguments(Follower(SOURCE, after_cursor="cursor-7")) == ("events_wait", "cursor-7")


def test_case_049_the_place_is_noted_when_the_consumer_comes_back(opened: Callable[[], Follower]) -> None:
    """What the consumer has not come back from is given again, and what it has come back from is not."""
    follower = opened()
    take(follower, page(1, 5), count=2)
    assert take(opened(), page(1, 5)) == [3, 4, 5]
    follower = opened()
    assert arguments(follower) == ("events_wait", "cursor-5")
    take(follower, batch(6, 9), count=1)
    follower = opened()
    assert arguments(follower) == ("events_wait", "cursor-5")
    assert take(follower, batch(6, 9)) == [7, 8, 9]


def test_a_page_that_a_filter_emptied_still_moves_the_place(opened: Callable[[], Follower]) -> None:
    """The cursor goes on over what a filter left out, so that it is not looked through again."""
    follower = opened()
    take(follower, page(1, 2))
    take(follower, EventBatch(events=(), next_cursor="cursor-900"))
    assert arguments(opened()) == ("events_wait", "cursor-900")


def test_case_059_the_place_never_goes_back(opened: Callable[[], Follower]) -> None:
    """Events at or before the last one taken are not given again, wherever a page begins."""
    follower = opened()
    take(follower, page(1, 5))
    assert take(follower, batch(3, 7)) == [6, 7]
    assert take(opened(), batch(1, 8)) == [8]


def test_case_059_a_new_epoch_is_a_gap_and_not_silence(opened: Callable[[], Follower]) -> None:
    """After a restore the consumer is told, and all that there is now comes from the oldest event on."""
    follower = opened()
    take(follower, page(1, 9))
    gap = follower.gap(expired())
    assert gap == Gap("cursor-9", "cursor-0", {"number": 2})
    follower.took(gap)
    follower.page_done()
    assert arguments(follower) == ("events_wait", "cursor-0")
    assert take(follower, batch(1, 4)) == [1, 2, 3, 4]
    assert arguments(opened()) == ("events_wait", "cursor-4")


def test_a_gap_that_was_not_taken_comes_again(opened: Callable[[], Follower]) -> None:
    """A consumer that died while it rebuilt its state is told of the gap once more."""
    follower = opened()
    take(follower, page(1, 9))
    follower.gap(expired())
    assert arguments(opened()) == ("events_wait", "cursor-9")


def test_a_new_epoch_in_the_middle_of_the_first_page(opened: Callable[[], Follower]) -> None:
    """Where there is no cursor yet that could expire, the sequences of another epoch count from the first."""
    take(opened(), page(1, 5), count=4)
    assert take(opened(), page(1, 3, "epoch-2")) == [1, 2, 3]


def test_events_without_a_project_sequence_are_given() -> None:
    """What has no sequence in its project is never taken for something seen before."""
    follower = Follower(SOURCE)
    take(follower, page(1, 5))
    bare = msgspec.structs.replace(event(1), project_sequence=msgspec.UNSET)
    assert follower.news(EventBatch(events=(bare,), next_cursor="cursor-6")) == [bare]


def test_a_torn_cursor_file_goes_on_from_the_line_before(path: str, opened: Callable[[], Follower]) -> None:
    """Wherever the last line was cut, following goes on, a step earlier at most."""
    follower = opened()
    take(follower, page(1, 5))
    take(follower, batch(6, 6))
    follower.close()
    whole = Path(path).read_bytes()
    last = len(whole.rstrip(b"\n").rpartition(b"\n")[0]) + 1
    for size in range(last, len(whole)):
        Path(path).write_bytes(whole[:size])
        assert arguments(opened()) == ("events_wait", "cursor-5")


def test_a_cursor_file_stays_small(path: str, opened: Callable[[], Follower]) -> None:
    """A follower that runs for years does not fill the disk."""
    follower = opened()
    sizes = []
    for n in range(0, 5_000, 100):
        take(follower, batch(n + 1, n + 100))
        sizes.append(os.stat(path).st_size)
    assert max(sizes) < 100_000
    assert min(sizes[1:]) < max(sizes[1:]) / 2
    assert arguments(opened()) == ("events_wait", "cursor-5000")


def test_one_follower_a_file(path: str, opened: Callable[[], Follower]) -> None:
    """Two followers of one file would move each other's place."""
    opened()
    with pytest.raises(CursorStoreError, match="in use by another follower"):
        Follower(SOURCE, store=CursorStore(path))


@pytest.mark.parametrize(("source", "prefixes"), [("proj-2", ()), (SOURCE, ("dev.kovee",))])
def test_a_cursor_is_good_for_its_source_and_filter(
    path: str, opened: Callable[[], Follower], source: str, prefixes: tuple[str, ...]
) -> None:
    """A file of another source or filter is refused by name, and keeps its place."""
    take(opened(), page(1, 5))
    opened().close()
    with pytest.raises(CursorStoreError, match="belongs to source proj-1"):
        Follower(source, type_prefixes=prefixes, store=CursorStore(path))
    with open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the refusal has let go of it
    assert len(list(journal.lines(Path(path).read_bytes()))) > 1


def test_a_cursor_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """The error says which file, and why."""
    with pytest.raises(CursorStoreError, match="absent/cursor"):
        Follower(SOURCE, store=CursorStore(tmp_path / "absent" / "cursor"))


@pytest.mark.parametrize("content", [b"dear diary\n", b"\x00" * 10_000, b"no end", b"deadbeef {}\n"])
def test_a_file_that_is_no_cursor_file_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    """Whatever file is named by mistake, not a byte of it changes, and the error says what it is not."""
    notes = tmp_path / "notes.txt"
    notes.write_bytes(content)
    notes.chmod(0o600)
    with pytest.raises(CursorStoreError, match="is no cursor file"):
        Follower(SOURCE, store=CursorStore(notes))
    assert notes.read_bytes() == content


@pytest.mark.parametrize("kept_lines", [0, 1])
def test_a_cursor_file_that_lost_its_place_is_said_so(
    path: str, opened: Callable[[], Follower], kept_lines: int
) -> None:
    """Emptied, or cut to its first line: nothing is followed from the beginning because of it."""
    take(opened(), page(1, 5))
    opened().close()
    Path(path).write_bytes(b"".join(Path(path).read_bytes().splitlines(keepends=True)[:kept_lines]))
    with pytest.raises(CursorStoreError, match="was cut"):
        Follower(SOURCE, store=CursorStore(path))


def test_a_torn_end_is_said_in_the_log(
    path: str, opened: Callable[[], Follower], caplog: pytest.LogCaptureFixture
) -> None:
    """Following goes on from the line before, and not without a word."""
    take(opened(), page(1, 5))
    opened().close()
    assert caplog.text == ""
    Path(path).write_bytes(Path(path).read_bytes()[:-5])
    opened()
    assert "torn" in caplog.text


def test_a_new_cursor_file_keeps_where_following_begins(path: str) -> None:
    """A follower that dies before its first step goes on where it was told to begin, not at the first event.
    """
    Follower(SOURCE, after_cursor="cursor-7", store=CursorStore(path)).close()
    assert arguments(Follower(SOURCE, store=CursorStore(path))) == ("events_wait", "cursor-7")
    assert [entry.name for entry in Path(path).parent.iterdir() if entry.name.endswith(".new")] == []
