"""An assistant as a program of its own: reads its claim, says its words, relates them to the question.

``python reviewer.py --runtime-dir R INVOCATION WORDS``. Each try of each request is a line of JSON on stdout.
``--pause`` stops after the claim until a line comes on stdin, and says ``claimed``; ``--die`` kills the
process with SIGKILL when its synthesis is in. Exit code 0: completed; ``STALE_LEASE``: the invocation cannot
be claimed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from typing import Final

from tallystick import Assistant, InvocationContext, StaleLease, Try, run_one
from tallystick.protocol.families.contributions import Contribution

STALE_LEASE: Final = 3
TERM_SECONDS: Final = 60


class Reviewer(Assistant):
    """Answers with the words that it was given, and what it was given to read."""

    def __init__(self, words: str, *, pause: bool, die: bool) -> None:
        self._words = words
        self._pause = pause
        self._die = die

    def run(self, ctx: InvocationContext) -> None:
        if self._pause:
            say("claimed")
            sys.stdin.readline()
        read = ", ".join(item.kind for item in ctx.items)
        words = f"{self._words} (having read: {read})"
        synthesis = ctx.done("answer")
        if not isinstance(synthesis, Contribution):
            synthesis = ctx.contribute("synthesis", words, operation_key="answer")
        if self._die:
            os.kill(os.getpid(), signal.SIGKILL)
        assert ctx.question is not None
        ctx.relate("addresses", synthesis, ctx.question, operation_key="addresses")


def say(what: object) -> None:
    """A line on stdout, at once."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def tell(sent: Try) -> None:
    """What is sent, and for the how-manieth time."""
    say(sent._asdict())


def main() -> int:
    """Runs one invocation."""
    parser = argparse.ArgumentParser(description="Answers one invocation.")
    parser.add_argument("--runtime-dir", required=True)
    parser.add_argument("--pause", action="store_true")
    parser.add_argument("--die", action="store_true")
    parser.add_argument("invocation")
    parser.add_argument("words")
    given = parser.parse_args()
    reviewer = Reviewer(given.words, pause=given.pause, die=given.die)
    try:
        run_one(
            reviewer,
            given.invocation,
            runtime_dir=given.runtime_dir,
            claim_seconds=0,
            term_seconds=TERM_SECONDS,
            observer=tell,
        )
    except StaleLease as refused:
        say(str(refused))
        return STALE_LEASE
    return 0


if __name__ == "__main__":
    sys.exit(main())
