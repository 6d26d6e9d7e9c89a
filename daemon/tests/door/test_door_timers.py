"""The heap of timers by itself."""

from __future__ import annotations

import math
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from tallyd.door.timers import COMPACT_CANCELLED_MIN, Timer, Timers


def drain(timers: Timers, now: float) -> None:
    """Run all that is due."""
    while (callback := timers.pop_due(now)) is not None:
        callback()


def test_nothing_is_due() -> None:
    """Without timers the next deadline is never, and nothing is due."""
    timers = Timers()
    assert timers.next_deadline() == math.inf
    assert timers.pop_due(1e9) is None


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=300))
def test_timers_run_once_in_order(wanted: list[tuple[int, bool]]) -> None:
    """Each timer that was not cancelled runs once, by time and then by when it was set; the next deadline
    is theirs."""
    timers = Timers()
    ran: list[int] = []

    def note(number: int) -> Callable[[], None]:
        return lambda: ran.append(number)

    made = [timers.call_at(deadline, note(number)) for number, (deadline, _) in enumerate(wanted)]
    for timer, (_, cancelled) in zip(made, wanted, strict=True):
        if cancelled:
            timer.cancel()
            timer.cancel()
    left = sorted((deadline, number) for number, (deadline, cancelled) in enumerate(wanted) if not cancelled)
    assert len(timers) == len(left)
    assert timers.next_deadline() == (left[0][0] if left else math.inf)
    drain(timers, 4)
    assert ran == [number for deadline, number in left if deadline <= 4]
    drain(timers, 9)
    assert ran == [number for _, number in left]
    for timer in made:
        timer.cancel()
    assert len(timers) == 0


def test_a_timer_set_by_a_timer() -> None:
    """A timer may set another that is due at once, and it runs in the same round."""
    timers = Timers()
    ran: list[str] = []

    def first() -> None:
        ran.append("first")
        timers.call_at(0, lambda: ran.append("second"))

    timers.call_at(1, first)
    drain(timers, 1)
    assert ran == ["first", "second"]


def test_cancelled_timers_do_not_pile_up() -> None:
    """However many timers are set and cancelled, the heap holds about as many as are alive."""
    timers = Timers()
    alive: list[Timer] = []
    for number in range(10_000):
        timer = timers.call_at(number, lambda: None)
        if number % 100 == 0:
            alive.append(timer)
        else:
            timer.cancel()
        assert timers.entries <= 2 * max(len(alive), COMPACT_CANCELLED_MIN) + 2
    assert len(timers) == len(alive)
