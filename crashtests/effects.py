"""Which rows a writing operation may touch: the words that the pages of ``expected`` are written in.

Each crash cell says exactly how many rows of which table the operation inserts or deletes in its situation,
and which columns of how many rows it updates. Nothing else of the store may differ after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from harness.dumps import Action, Effect

from tallystick.protocol.operation import Socket


class Place(NamedTuple):
    """An operation on a socket."""

    operation: str
    socket: Socket

    def __str__(self) -> str:
        return self.operation + ("@worker" if self.socket is Socket.WORKER else "")


Rows = tuple[Effect, ...]


def insert(table: str, number: int = 1) -> Effect:
    return Effect(table, "insert", number)


def update(table: str, *columns: str) -> Effect:
    return Effect(table, "update", 1, frozenset(columns))


def delete(table: str, number: int = 1) -> Effect:
    return Effect(table, "delete", number)


def command(further_objects: int = 0) -> Rows:
    """Of every command: its log row, the way from its key to it, its event's id and its event's outbox row.
    An object that it makes shares its id with the event; each further one has an id of its own.
    """
    return (insert("log"), insert("idempotency"), insert("ids", 1 + further_objects), insert("outbox"))


def told(events: int) -> Rows:
    """Of a command that tells so many events: a log row, an id and an outbox row of each."""
    return (insert("log", events), insert("idempotency"), insert("ids", events), insert("outbox", events))


def content(number: int = 1) -> Rows:
    """So many pieces of content, with their keys."""
    return (insert("bodies", number), insert("object_keys", number))


REFUSED: Final = (insert("log"),)
"""What a refused command leaves: the row that says so."""
STEP: Final = insert("invocation_steps")
"""By which a later attempt of the same invocation finds the command done."""
BRANCH_MOVED: Final = update("spaces", "revision", "branch_sequence", "branch_head")
ATTEMPT_ENDED: Final = update("attempts", "state", "ending")
DISPOSED: Final = (insert("dispositions"), update("spaces", "revision"))
POLICY: Final = ("policy_set_ref", "default_classification_ref")
"""The columns of a project's or a space's policy."""
ARTIFACT_ERASED: Final = (
    delete("object_keys", 2),  # of its bytes, and of their declared digest
    update(
        "artifacts",
        "state",
        "revision",
        "size",
        "media_type",
        "verification_digest",
        "content_digest",
        "keys",
        "available_ms",
        "retention_ms",
    ),
)
CONTENT_ERASED: Final = (insert("erasures"), delete("bodies"), delete("object_keys"))


class Merged(NamedTuple):
    """What an operation does to one table, over all its situations: ``number`` is None where they differ."""

    number: int | None
    columns: frozenset[str]


def merged(situations: Iterable[Rows]) -> dict[tuple[str, Action], Merged]:
    """All situations of an operation together."""
    all_of_them = list(situations)
    touched = {(effect.table, effect.action) for rows in all_of_them for effect in rows}
    return {at: _merged(at, all_of_them) for at in touched}


def _merged(at: tuple[str, Action], situations: list[Rows]) -> Merged:
    there = [[effect for effect in rows if (effect.table, effect.action) == at] for rows in situations]
    counts = {sum(effect.number for effect in effects) for effects in there}
    columns = frozenset[str]().union(*(effect.columns for effects in there for effect in effects))
    return Merged(counts.pop() if len(counts) == 1 else None, columns)
