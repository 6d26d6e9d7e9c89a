"""What a benchmark is held against: a figure, the bar, and whether it is met."""

from __future__ import annotations


class Bars:
    """Collects them, prints each as it is known, and knows in the end whether all were met."""

    def __init__(self) -> None:
        self.missed = 0

    def hold(self, met: bool, words: str) -> None:
        """Prints one line: the figure with its bar, in words."""
        self.missed += not met
        print(f"  {'ok    ' if met else 'MISSED'}  {words}", flush=True)
