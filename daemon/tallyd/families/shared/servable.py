"""Content that could not be shown alone in each read that shows it is refused when it comes, and not found
out later.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tallyd.ledger import pages
from tallystick.protocol import limits
from tallystick.protocol.problems import invalid

_BYTES_MAX: Final = limits.REPLY_BYTES_MAX - 16_384
_NODES_MAX: Final = limits.NODES_MAX - 256


def check_servable(content: bytes, containers_around: int, at: str) -> None:
    """Raises Refusal ``invalid`` for canonical JSON that is too large, too full or too deep to be served.

    ``containers_around`` is how many containers stand around it in the deepest read that shows it.
    """
    depth_max = limits.DEPTH_MAX - containers_around
    if len(content) > _BYTES_MAX:
        raise invalid(
            f"{at} is {len(content)} bytes in canonical form, and {_BYTES_MAX} can be served: split it"
        )
    if pages.nodes_at_most(content) > _NODES_MAX and _nodes(content) > _NODES_MAX:
        raise invalid(f"{at} holds more than {_NODES_MAX} values, which is what can be served: split it")
    if content.count(b"[") + content.count(b"{") > depth_max and _depth(content) > depth_max:
        raise invalid(
            f"{at} is more than {depth_max} containers deep, which is what every read can serve: flatten it"
        )


def _nodes(content: bytes) -> int:
    count, pending = 0, [msgspec.json.decode(content)]
    while pending:
        one = pending.pop()
        count += 1
        if isinstance(one, list):
            pending += one
        elif isinstance(one, dict):
            pending += one.values()
    return count


def _depth(content: bytes) -> int:
    """Containers around the innermost value."""
    deepest, pending = 0, [(msgspec.json.decode(content), 1)]
    while pending:
        one, depth = pending.pop()
        if isinstance(one, (list, dict)):
            deepest = max(deepest, depth)
            pending += [(inner, depth + 1) for inner in (one if isinstance(one, list) else one.values())]
    return deepest
