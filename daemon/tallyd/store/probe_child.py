"""The second process of the probe: run by its path, isolated, with nothing but apsw beside the standard
library.

It is told step by step what to try, a word a line, and answers each with ``ok`` or with what went wrong.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable

import apsw


def main(directory: str) -> None:
    connection = apsw.Connection(os.path.join(directory, "probe.db"), apsw.SQLITE_OPEN_READWRITE)
    steps: dict[str, Callable[[], str]] = {
        "sees-the-log": lambda: _expect(connection, "SELECT value FROM probe", [(1,)]),
        "is-kept-from-writing": lambda: _refused(connection),
        "is-kept-from-the-lock": lambda: _locked_out(os.path.join(directory, "lock")),
        "writes": lambda: _expect(connection, "UPDATE probe SET value = 2 RETURNING value", [(2,)]),
    }
    for line in sys.stdin:
        sys.stdout.write(steps[line.strip()]() + "\n")
        sys.stdout.flush()
    connection.close()


def _expect(connection: apsw.Connection, statement: str, expected: list[tuple[int]]) -> str:
    found = connection.execute(statement).fetchall()
    return "ok" if found == expected else f"{statement}: {found} instead of {expected}"


def _refused(connection: apsw.Connection) -> str:
    try:
        connection.execute("BEGIN IMMEDIATE").fetchall()
    except apsw.BusyError:
        return "ok"
    connection.execute("ROLLBACK").fetchall()
    return "a second writer was let in"


def _locked_out(path: str) -> str:
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "ok"
    finally:
        os.close(descriptor)
    return "a second owner got the lock"


if __name__ == "__main__":
    main(sys.argv[1])
