"""What is expected of each family of operations, a page each, and each found by its file's name alone.

A page says who may call an operation and how, what it sends, tells and changes, and how it is killed. Every
suite that needs one of these asks here: a new family adds its page, and no suite changes.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from cells import Cell, Refusal
from entries import Entry, Page

from tallystick.protocol.operation import Socket


def _page(family: str) -> Page:
    page: Page = import_module(f"{__name__}.{family}").PAGE
    return page


PAGES: Final = {module.name: _page(module.name) for module in iter_modules(__path__)}
"""By family: a file, or a folder where it is more than a page."""
ENTRIES: Final[dict[tuple[Socket, str], Entry]] = {
    (entry.socket, entry.name): entry for page in PAGES.values() for entry in page.entries
}
CELLS: Final[tuple[Cell, ...]] = tuple(cell for page in PAGES.values() for cell in page.cells)
REFUSALS: Final[tuple[Refusal, ...]] = tuple(each for page in PAGES.values() for each in page.refusals)


def entry_of(operation: str) -> Entry:
    """The entry of an operation, of the client socket's where both sockets have one."""
    return ENTRIES.get((Socket.CLIENT, operation)) or ENTRIES[Socket.WORKER, operation]


def find_cell(name: str) -> Cell:
    """The cell of that name, as it is printed."""
    return next(cell for cell in CELLS if str(cell) == name)
