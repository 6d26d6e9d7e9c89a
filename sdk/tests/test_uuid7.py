"""UUIDs of version 7: the bits of RFC 9562, and an order that neither the clock nor threads can break."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from tallystick.protocol.uuid7 import NS_A_MS, Uuid7

EXAMPLE = UUID("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
"""RFC 9562, appendix A.6."""
EXAMPLE_MS = 1_645_557_742_000
"""Its time: 22 February 2022, 19:22:22 UTC."""
MOMENTS_A_MS = 4_096

moments = st.integers(1, 1 << 59)
"""Of the clock: until the year 6429."""


def nanoseconds(moment: int) -> int:
    """The first nanosecond of a moment, of which a millisecond has 4096."""
    return -(-moment * NS_A_MS // MOMENTS_A_MS)


def maker(*clock_ns: int, random: bytes = bytes(8)) -> Uuid7:
    """A maker whose clock reads these times, one after the other, and whose random bytes are always these."""
    readings = iter(clock_ns)
    return Uuid7(lambda: next(readings), lambda _: random)


def test_the_example_of_the_rfc() -> None:
    """The time, the fraction and the random bits of the RFC's example give the RFC's example."""
    clock_ns = nanoseconds(EXAMPLE_MS * MOMENTS_A_MS + 0xCC3)
    assert maker(clock_ns, random=bytes.fromhex("18c4dc0c0c07398f"))() == EXAMPLE.bytes


def test_a_clock_of_whole_milliseconds() -> None:
    """On a clock that knows only milliseconds the 12 bits are a counter from 0, and carry when used up."""
    make = maker(*[EXAMPLE_MS * NS_A_MS] * 4_098)
    made = [make() for _ in range(4_098)]
    times = [int.from_bytes(digits[:6], "big") - EXAMPLE_MS for digits in made]
    counters = [int.from_bytes(digits[6:8], "big") & 0xFFF for digits in made]
    assert (times, counters) == ([0] * 4_096 + [1] * 2, [*range(4_096), 0, 1])


@given(st.lists(moments, min_size=1), st.binary(min_size=8, max_size=8))
def test_each_is_greater_than_the_one_before(clock: list[int], random: bytes) -> None:
    """Whatever clock and random bytes do, the UUIDs rise, and each has the version and variant of the RFC."""
    make = maker(*map(nanoseconds, clock), random=random)
    made = [make() for _ in clock]
    assert made == sorted(set(made))
    assert all(len(digits) == 16 and digits[6] >> 4 == 7 and digits[8] >> 6 == 0b10 for digits in made)


@given(moments)
def test_a_clock_that_goes_forward_is_told_to_a_4096th_of_a_millisecond(moment: int) -> None:
    """The first UUID of a maker carries the clock's time: whole milliseconds, and the fraction below them."""
    digits = maker(nanoseconds(moment))()
    fraction = int.from_bytes(digits[6:8], "big") & 0xFFF
    assert int.from_bytes(digits[:6], "big") << 12 | fraction == moment


def test_threads_share_one_maker() -> None:
    """Threads that ask one maker at a time never get the same UUID, and each gets its own in rising order."""
    make = Uuid7(time.time_ns, os.urandom)
    with ThreadPoolExecutor(8) as pool:
        by_thread = list(pool.map(lambda _: [make() for _ in range(2_000)], range(8)))
    moments_made = [digits[:8] for made in by_thread for digits in made]
    assert len(set(moments_made)) == 16_000
    assert all(made == sorted(made) for made in by_thread)


def test_importing_it_costs_a_command_line_nothing() -> None:
    """The module brings neither msgspec nor trio with it."""
    script = "import sys, tallystick.protocol.uuid7; print(*{'msgspec', 'trio', 'uuid'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
