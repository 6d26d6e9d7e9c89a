"""States of our own records: which there are, and which may follow which.

The database does not know them: a set of states in a ``CHECK`` would make each further state a rebuild of
the table. So whoever writes a state passes it through here. That a row has another one is a mistake in the
program: the command is refused as ``internal``, and leaves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

Lifecycle = Mapping[str, frozenset[str]]
"""By state, the states that may follow."""


def begin(lifecycle: Lifecycle, state: str) -> str:
    """The state of a new row. Raises AssertionError where it is none of the lifecycle's."""
    assert state in lifecycle, f"there is no state {state!r} among {sorted(lifecycle)}"
    return state


def change(lifecycle: Lifecycle, before: str, after: str) -> str:
    """The state that a row gets. Raises AssertionError where ``after`` may not follow ``before``."""
    assert after in lifecycle.get(before, ()), f"{before!r} may not become {after!r}"
    return begin(lifecycle, after)
