"""Lines of reply, and who asks: what the modules of the service share."""

from __future__ import annotations

import logging

from tallyd.admission import Speaker
from tallyd.door import Channel
from tallyd.families.shared.results import FileIO, Served
from tallyd.store.lacks import lack_of
from tallystick.protocol import limits
from tallystick.protocol.envelope import encode_ok, encode_problem
from tallystick.protocol.problems import Refusal, internal

logger = logging.getLogger("tallyd.answers")


def speaker_of(channel: Channel) -> Speaker:
    """Who asks, by the channel."""
    return Speaker(channel.actor, channel.strength, channel.socket)


def refused(refusal: Refusal) -> bytes:
    """The line of a refusal."""
    return encode_problem(refusal.problem)


def failed() -> bytes:
    """The line of a request on which the daemon failed."""
    return refused(internal("the daemon failed on this request, which is a defect; its log says more"))


def served(found: Served) -> bytes:
    """The line of a read."""
    reply = encode_ok(found.result, found.revision, None)
    if len(reply) > limits.REPLY_BYTES_MAX:
        logger.error("a read of %d bytes does not fit a reply, which is a defect", len(reply))
        return refused(internal("the result does not fit a reply, which is a defect; ask for a smaller page"))
    return reply


def done(io: FileIO) -> bytes:
    """The line of a read whose file I/O is done here: on a thread. Raises what the system would not give."""
    try:
        return served(io())
    except Refusal as refusal:
        return refused(refusal)
    except Exception as error:
        if lack_of(error) is not None:
            raise
        logger.exception("reading or writing an artifact's file failed, which is a defect")
        return refused(internal("an artifact's file could not be used; the daemon's log says why"))
