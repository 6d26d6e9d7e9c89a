"""The limits of replies. A command's reply is judged inside its transaction, before it is kept: no result is
ever stored that is too large to be sent or read.
"""

from __future__ import annotations

from tallystick.protocol import limits
from tallystick.protocol.ijson import Cap, NotStrict, parse
from tallystick.protocol.problems import invalid


def judge_reply(reply: bytes) -> None:
    """Raises Refusal ``invalid`` where the reply of a command is over a limit of replies.

    A reply with few commas and few opening brackets cannot have long lists, many nodes or much depth. Only a
    reply with many of them is parsed.
    """
    if len(reply) > limits.REPLY_BYTES_MAX:
        raise invalid(
            f"the reply would be {len(reply)} bytes, and {limits.REPLY_BYTES_MAX} is the most that one may "
            f"be; "
            "nothing was applied: send less content, or fewer references"
        )
    opened = reply.count(b"[") + reply.count(b"{")
    if opened <= limits.DEPTH_MAX and reply.count(b",") < limits.LIST_ITEMS_MAX:
        return
    try:
        value = parse(reply, Cap.REPLY)
    except NotStrict as found:
        raise invalid(f"the reply could not be served: {found.detail}; nothing was applied") from None
    _judge_lists(value)


def _judge_lists(value: object) -> None:
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, list):
            if len(one) > limits.LIST_ITEMS_MAX:
                raise invalid(
                    f"a list of the reply would have {len(one)} items, and {limits.LIST_ITEMS_MAX} are the "
                    f"most; "
                    "nothing was applied"
                )
            pending += one
        elif isinstance(one, dict):
            pending += one.values()
