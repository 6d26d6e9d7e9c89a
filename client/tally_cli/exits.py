"""How ``tally`` ends: one table, for people who write scripts and for the documentation.

`docs/cli.md` shows the same table, and a test compares the two.
"""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of ``tally``; 1 and 2 as most programs have them, signals as shells report them."""

    OK = 0
    PROBLEM = 1
    USAGE = 2
    UNREACHABLE = 3
    SANDBOX = 4
    OUTCOME_UNKNOWN = 5
    NOT_STARTED = 6
    ASSISTANT_FAILED = 7
    LOCAL_FILE = 8
    NOTHING_READY = 14
    FAULT = 70
    INTERRUPTED = 130
    PIPE_CLOSED = 141


MEANING: dict[Exit, str] = {
    Exit.OK: "Done, or already so.",
    Exit.PROBLEM: "The daemon refused, or a check of it failed. The step that was refused applied nothing.",
    Exit.USAGE: "The command line is wrong, or names what cannot be chosen for you. Nothing was sent.",
    Exit.UNREACHABLE: "No daemon answers this user, and none was started. Nothing was sent.",
    Exit.SANDBOX: "A sandbox stands between this process and the daemon, or forbids starting one here.",
    Exit.OUTCOME_UNKNOWN: "The command was sent, and no answer has told its fate. The same key asks again.",
    Exit.NOT_STARTED: "A daemon was started and refused to run. Its own words and exit code are shown.",
    Exit.ASSISTANT_FAILED: "The assistant could not be loaded, raised an error, or lost its lease.",
    Exit.LOCAL_FILE: "A file of this user cannot be used: keys, cursors, the log, one named here, or stdout.",
    Exit.NOTHING_READY: "No task can be claimed now. Nothing was claimed.",
    Exit.FAULT: "A fault of tally itself. TALLY_DEBUG=1 shows where.",
    Exit.INTERRUPTED: "Interrupted from the keyboard.",
    Exit.PIPE_CLOSED: "Whoever read the output has gone.",
}
"""What each code says, one sentence or two."""
