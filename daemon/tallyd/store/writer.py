"""The writer's connection: the rows of a batch are buffered, and written together.

While it is ``buffering``, a command's rows are only *noted*. When the command is complete they are kept, and
when it was refused they are dropped, and SQLite has heard of none of them. They are written before COMMIT
(``flush``), one statement for all rows of a table; or as soon as anything else is executed here: so nothing
is read that is older than what was noted.

Why: a statement for each row and a savepoint for each command are a quarter of what a command costs in a
large batch. And the log's rows go first, since everything refers to them: for each row that is inserted while
a reference to a missing row hangs in the air, SQLite looks through all tables that could hold it.

What it promises, whatever is executed when:

- A dropped command leaves nothing. One whose rows had to be written before it was complete (it executed
  something after it had noted rows, or something that is no SELECT) has a savepoint from there on.
- Rows of one table are written in the order in which they were noted.
- A row that SQLite refuses when its command is complete already is ``RowsRefused``: nobody can say whose it
  was, the transaction must be rolled back, and its commands be run again, each alone and not buffering.

What it does not do: know commands, tables or their meaning, or begin and end transactions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import apsw

_FIRST: Final = "log"
"""The table that all others refer to."""

Values = Sequence[int | str | bytes | float | None]


class RowsRefused(apsw.Error):
    """SQLite refused rows of commands that were complete; its own error is the cause."""


class Writer(apsw.Connection):
    """Used by one thread. Not buffering, which it is at first, it writes each row as it is noted."""

    def __init__(self, filename: str, flags: int, vfs: str | None, statementcachesize: int) -> None:
        super().__init__(filename, flags, vfs, statementcachesize)
        self.buffering = False
        self._buffered: dict[str, tuple[str, list[Values]]] = {}
        """By table: the one statement that its rows wait for."""
        self._own: list[tuple[str, str, Values]] = []
        """Rows of the command under way."""
        self._in_command = False
        self._saved = False
        """Whether the command under way has a savepoint."""

    # --- commands -------------------------------------------------------------------------------------------
    def open_command(self) -> None:
        """What is noted and executed from here on is the command's."""
        assert not self._in_command, "a command was opened inside another"
        self._in_command = True
        if not self.buffering:
            self._save()

    def keep_command(self) -> None:
        """The command is complete. Raises RowsRefused."""
        own, self._own = self._own, []
        for table, statement, values in own:
            self._buffer(table, statement, values)
        self._close_command()

    def drop_command(self) -> None:
        """The command was refused: it leaves nothing. Raises apsw.Error."""
        self._own = []
        if self._saved:
            super().execute("ROLLBACK TO command")
        self._close_command()

    def _save(self) -> None:
        super().execute("SAVEPOINT command")
        self._saved = True

    def _close_command(self) -> None:
        if self._saved:
            super().execute("RELEASE command")
        self._in_command = self._saved = False

    # --- rows -----------------------------------------------------------------------------------------------
    def note(self, table: str, statement: str, values: Values) -> None:
        """One row of a table, by a statement that inserts or updates exactly one. Raises apsw.Error."""
        if not self.buffering:
            self._write(statement, [values])
        elif self._in_command:
            self._own.append((table, statement, values))
        else:
            self._buffer(table, statement, values)

    def _buffer(self, table: str, statement: str, values: Values) -> None:
        waiting = self._buffered.get(table)
        if waiting is None or waiting[0] != statement:
            if waiting is not None:  # another statement could concern the same row
                self.flush()
            waiting = self._buffered[table] = (statement, [])
        waiting[1].append(values)

    def flush(self) -> None:
        """Writes the rows of the commands that are complete. Raises RowsRefused."""
        buffered, self._buffered = self._buffered, {}
        try:
            if (first := buffered.pop(_FIRST, None)) is not None:
                self._write(*first)
            for waiting in buffered.values():
                self._write(*waiting)
        except (apsw.Error, AssertionError) as failure:
            raise RowsRefused(f"{type(failure).__name__}: {failure}") from failure

    def _write(self, statement: str, rows: list[Values]) -> None:
        before = self.total_changes()
        super().executemany(statement, rows)
        changed = self.total_changes() - before
        assert changed == len(rows), f"{len(rows)} rows were noted, and {changed} met, by {statement}"

    def forget(self) -> None:
        """Before a ROLLBACK: whatever was noted is nothing."""
        self._buffered = {}
        self._own = []
        self._in_command = self._saved = False

    # --- everything else ------------------------------------------------------------------------------------
    def execute(
        self,
        statements: str,
        bindings: apsw.Bindings | None = None,
        *,
        can_cache: bool = True,
        prepare_flags: int = 0,
        explain: int = -1,
    ) -> apsw.Cursor:
        """As apsw's, after all that was noted is written. Raises RowsRefused and apsw.Error."""
        if self._buffered:
            self.flush()
        if self._in_command and not self._saved and (self._own or not statements.startswith("SELECT")):
            self._save()
        if self._own:
            own, self._own = self._own, []
            own.sort(key=lambda noted: noted[0] != _FIRST)
            for _, statement, values in own:
                self._write(statement, [values])
        return super().execute(
            statements, bindings, can_cache=can_cache, prepare_flags=prepare_flags, explain=explain
        )

    def look_up(self, statement: str, bindings: apsw.Bindings) -> apsw.Cursor:
        """A SELECT whose answer no noted row can change, because its caller remembers those that could."""
        return super().execute(statement, bindings)
