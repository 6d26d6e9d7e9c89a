"""Followers that sleep until their own source is committed to.

A follower is a task that sleeps in the parking lot of its project: it holds no lock and no transaction. When
a batch is durable, the followers of the projects that it touched are woken, once; no other is.
"""

from __future__ import annotations

from collections.abc import Iterable

import trio


class Waiters:
    """The followers that sleep, by the project that they follow. On the loop."""

    def __init__(self) -> None:
        self._lots: dict[int, trio.lowlevel.ParkingLot] = {}

    def __len__(self) -> int:
        return sum(len(lot) for lot in self._lots.values())

    async def sleep(self, project: int) -> None:
        """Until the project is committed to. Whoever looks at the store, and then calls this without letting
        another task run in between, misses no commit.
        """
        lot = self._lots.setdefault(project, trio.lowlevel.ParkingLot())
        try:
            await lot.park()
        finally:
            if not lot and self._lots.get(project) is lot:
                del self._lots[project]

    def committed(self, projects: Iterable[int]) -> None:
        """A batch that touched these projects is durable."""
        for project in projects:
            lot = self._lots.get(project)
            if lot is not None:
                lot.unpark_all()
