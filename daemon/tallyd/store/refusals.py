"""How ``tallyd`` ends when it cannot start or must not go on: one exit code a cause, and one table of all.

A supervisor needs to know whether starting again can help, and a person needs to know what to do. Codes are
between 64 and 113: clear of 1 and 2 (Python's and a shell's own), of 126 and above (shells and signals).
No sentence here, or given to :class:`StartRefused`, ever suggests destroying anything.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple


class ExitCode(IntEnum):
    """Exit codes of ``tallyd``. They are part of its interface: a number is never given another meaning."""

    BAD_CONFIGURATION = 64
    TEST_HOOKS_WITHOUT_FLAG = 65
    BAD_DIRECTORY = 66
    NETWORK_FILE_SYSTEM = 67
    PROBE_FAILED = 68
    OLD_SQLITE = 69
    NEWER_SCHEMA = 70
    STORAGE_FAILED = 71
    CORRUPT = 72
    DATABASE_BUSY = 73
    DATA_DIRECTORY_HELD = 74
    RUNTIME_DIRECTORY_HELD = 75
    MISSING_DATABASE = 76
    LOST_KEY = 77
    WRONG_KEY = 78
    STORE_PUT_BACK = 79
    ADOPTION_REFUSED = 80
    UNREADABLE_MARKER = 81
    FOREIGN_DATABASE = 82
    MIGRATION_FAILED = 83
    SETTING_NOT_TAKEN = 84
    LOCK_LOST = 85
    CLOCK_OUT_OF_RANGE = 86
    RESOURCES_LACKING = 87
    DEFECT = 88


class Meaning(NamedTuple):
    """A row of the table of exit codes."""

    what: str
    """What is wrong."""
    do: str
    """What a person does next."""
    restart: bool
    """Whether a supervisor may start the daemon again by itself: the cause can pass without a person."""


MEANINGS: Final[dict[ExitCode, Meaning]] = {
    ExitCode.BAD_CONFIGURATION: Meaning(
        "An argument, a variable or the configuration cannot be used.",
        "Correct what the message names.",
        restart=False,
    ),
    ExitCode.TEST_HOOKS_WITHOUT_FLAG: Meaning(
        "A variable of the test hooks is set, and --test-hooks is not given.",
        "Unset the variable: it would end the process in the middle of a command.",
        restart=False,
    ),
    ExitCode.BAD_DIRECTORY: Meaning(
        "A directory or file has the wrong owner, mode or kind.",
        "Run the chmod or chown that the message gives, or name another directory.",
        restart=False,
    ),
    ExitCode.NETWORK_FILE_SYSTEM: Meaning(
        "The data directory is on a file system that cannot keep a write-ahead log safe.",
        "Choose a data directory on a local disk (--data-dir).",
        restart=False,
    ),
    ExitCode.PROBE_FAILED: Meaning(
        "Two processes could not share a database, its memory and its locks in the data directory.",
        "Choose a data directory on a local disk (--data-dir).",
        restart=False,
    ),
    ExitCode.OLD_SQLITE: Meaning(
        "SQLite is older than 3.51.3, which could lose an acknowledged commit.",
        "Upgrade the package apsw.",
        restart=False,
    ),
    ExitCode.NEWER_SCHEMA: Meaning(
        "The store was written by a newer tallyd.",
        "Use the newer program.",
        restart=False,
    ),
    ExitCode.STORAGE_FAILED: Meaning(
        "The disk is full, read-only, unreachable or failed.",
        "Free space or repair the disk, then start again.",
        restart=True,
    ),
    ExitCode.CORRUPT: Meaning(
        "SQLite's integrity check found damage. Nothing was changed.",
        "Keep all files as they are, and restore a backup into another directory.",
        restart=False,
    ),
    ExitCode.DATABASE_BUSY: Meaning(
        "Another program has the database open and locked.",
        "End that program (a sqlite3 shell, a copying tool), then start again.",
        restart=True,
    ),
    ExitCode.DATA_DIRECTORY_HELD: Meaning(
        "Another tallyd owns the data directory.",
        "Use the one that runs, or name another data directory.",
        restart=False,
    ),
    ExitCode.RUNTIME_DIRECTORY_HELD: Meaning(
        "Another tallyd owns the runtime directory.",
        "Use the one that runs, or name another runtime directory.",
        restart=False,
    ),
    ExitCode.MISSING_DATABASE: Meaning(
        "There was a store here, and its database is not there any more.",
        "Mount its disk or restore a backup. It is never made anew, empty.",
        restart=False,
    ),
    ExitCode.LOST_KEY: Meaning(
        "A key file that the store was made with is missing.",
        "Put the file back from a backup of the keys.",
        restart=False,
    ),
    ExitCode.WRONG_KEY: Meaning(
        "A key file is not the one that the store was made with.",
        "Put the right file back from a backup of the keys.",
        restart=False,
    ),
    ExitCode.STORE_PUT_BACK: Meaning(
        "The store is older than what was acknowledged: a copy was put back, or its write-ahead log was"
        " lost.",
        "Put the newer files back, or go on from here with tallyd --adopt <store id>.",
        restart=False,
    ),
    ExitCode.ADOPTION_REFUSED: Meaning(
        "--adopt names another store, or a store that needs no adoption.",
        "Start without --adopt.",
        restart=False,
    ),
    ExitCode.UNREADABLE_MARKER: Meaning(
        "The marker store.json, or its copy in the state directory, cannot be read.",
        "Put the file back from its other copy, or go on with tallyd --adopt <store id>.",
        restart=False,
    ),
    ExitCode.FOREIGN_DATABASE: Meaning(
        "tally.db is a database of another program.",
        "Name another data directory.",
        restart=False,
    ),
    ExitCode.MIGRATION_FAILED: Meaning(
        "A step to the newer schema failed and was rolled back.",
        "Use the program that wrote the store, and report the message.",
        restart=False,
    ),
    ExitCode.SETTING_NOT_TAKEN: Meaning(
        "SQLite did not take a setting that durability or erasure rests on.",
        "Use the packages that tallystick was installed with, on a local disk.",
        restart=False,
    ),
    ExitCode.LOCK_LOST: Meaning(
        "The lock file was replaced while the daemon ran, so another could have taken its place.",
        "Find out what tidied the directory up, then start again.",
        restart=True,
    ),
    ExitCode.CLOCK_OUT_OF_RANGE: Meaning(
        "The machine's clock says a time that no timestamp of the record can hold.",
        "Set the clock right, then start again.",
        restart=True,
    ),
    ExitCode.RESOURCES_LACKING: Meaning(
        "The system gave the daemon no descriptor, thread or memory to start with.",
        "Raise the limit that the message names, or end other programs, then start again.",
        restart=True,
    ),
    ExitCode.DEFECT: Meaning(
        "The daemon met a fault of its own that it could not go on from.",
        "Start again, and report what the log says.",
        restart=True,
    ),
}


class StartRefused(Exception):
    """``tallyd`` must not start, or must not go on. The sentence is for a person, the code for a
    supervisor."""

    def __init__(self, exit_code: ExitCode, sentence: str) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code
        self.sentence = sentence
