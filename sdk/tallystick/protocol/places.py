"""Places: a repository and paths in it, where a decision holds or work is done.

Paths are kept as they are given, and compared folded (NFC, then case-folded): nobody should have two places
that a file system takes for one. A path means its node and all that lies under it. Characters of globs are
ordinary ones. Nothing here looks at any file.

A `Place` has one form for what it covers: its paths are folded and sorted, none of them lies under another,
and whoever names the root names everywhere. So two places cover the same exactly where they are equal, each
is inside the other only then, and a unique index over repository and region means what it says.
"""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple
from unicodedata import category, normalize

from tallystick.protocol import limits

ANY_REPOSITORY: Final = ""
ROOT: Final = ""
"""The node of a repository's root. As a path it is written ``.``."""

_SHOWN_CHARS: Final = 64
"""So much of a path that is too long stands in the error."""


class NoPlace(ValueError):
    """A repository or path that cannot be one; the text says which, and what is wrong with it."""


class Place(NamedTuple):
    """Where something holds. `repository` is "" for any; `nodes` are folded paths, none for everywhere."""

    repository: str
    nodes: tuple[str, ...]

    @property
    def region(self) -> str:
        """The nodes as they are stored: one a line, "" for everywhere."""
        return "\n".join(self.nodes)


def place(repository: str, paths: Iterable[str]) -> Place:
    """A place from what was given. A path under another one of it says nothing more, and is left out; with
    the root among them the place is everywhere. Raises `NoPlace`.
    """
    check_repository(repository)
    folded = {node_of(path) for path in paths}
    if ROOT in folded:
        return Place(repository, ())
    kept = (node for node in folded if folded.isdisjoint(ancestors(node)))
    return Place(repository, tuple(sorted(kept)))


def stored(repository: str, region: str) -> Place:
    """A place from its row."""
    return Place(repository, tuple(region.split("\n")) if region else ())


def check_repository(repository: str) -> None:
    """Raises `NoPlace` for a label that holds a control character, or white space at an end."""
    if repository != repository.strip() or not _is_plain(repository):
        raise NoPlace(
            f"the repository {repository!r} has a control character, or white space at an end; "
            "a label has neither"
        )


def node_of(path: str) -> str:
    """The folded node of a path that is relative to its repository's root. Raises `NoPlace`."""
    size = len(path.encode(errors="surrogatepass"))
    if size > limits.PATH_BYTES_MAX:
        raise NoPlace(
            f"the path {path[:_SHOWN_CHARS]!r}… has {size} bytes of UTF-8; at most {limits.PATH_BYTES_MAX}"
        )
    if path in (".", "./"):
        return ROOT
    if not path:
        raise NoPlace("the path '' is empty; write . for the repository's root")
    if path.startswith("/"):
        raise NoPlace(f"the path {path!r} begins with /; paths are relative to the repository's root")
    for segment in path.removesuffix("/").split("/"):
        if segment in ("", ".", ".."):
            raise NoPlace(f"the path {path!r} has a segment {segment!r}; write it without, or . for the root")
    if not _is_plain(path):
        raise NoPlace(f"the path {path!r} has a control character or half a surrogate pair")
    return fold(path.removesuffix("/"))


def fold(path: str) -> str:
    """A path as it is compared."""
    return normalize("NFC", normalize("NFC", path).casefold())


def ancestors(node: str) -> list[str]:
    """All nodes above one, the root last; the root has none."""
    found = []
    while node != ROOT:
        node = node.rpartition("/")[0]
        found.append(node)
    return found


def overlap(one: Place, other: Place) -> bool:
    """Whether something may lie in both."""
    if one.repository != other.repository and ANY_REPOSITORY not in (one.repository, other.repository):
        return False
    if not one.nodes or not other.nodes:
        return True
    return _touches(one, other) or _touches(other, one)


def inside(one: Place, other: Place) -> bool:
    """Whether all that lies in the one lies in the other. A place is inside itself."""
    if other.repository not in (ANY_REPOSITORY, one.repository):
        return False
    if not other.nodes:
        return True
    nodes = frozenset(other.nodes)
    return bool(one.nodes) and all(_covers(nodes, node) for node in one.nodes)


def reaches(where: Place, repository: str, node: str | None = None) -> bool:
    """Whether what holds at a place holds at this node, with all that lies under it. `repository` is "" where
    none was asked for, and `node` (of `node_of`) is None: then nothing is ruled out by it.
    """
    if repository != where.repository and ANY_REPOSITORY not in (repository, where.repository):
        return False
    return node is None or not where.nodes or _covers(where.nodes, node)


def held_nodes(where: Place) -> dict[str, bool]:
    """What a reservation of a place takes: each of its nodes whole (True), each above those in part (False).

    Two places of one repository overlap exactly where one takes a node whole that the other takes, whole or
    in part; so a trigger that compares single nodes keeps them apart.
    """
    whole = where.nodes or (ROOT,)
    return {above: False for node in whole for above in ancestors(node)} | dict.fromkeys(whole, True)


def _is_plain(text: str) -> bool:
    """Whether a label holds no control character and no lone surrogate."""
    return text.isprintable() or all(category(each) not in ("Cc", "Cs") for each in text)


def _touches(one: Place, other: Place) -> bool:
    """Whether a node of the one is, or lies under, a node of the other."""
    nodes = frozenset(other.nodes)
    return any(_covers(nodes, node) for node in one.nodes)


def _covers(nodes: Collection[str], node: str) -> bool:
    return node in nodes or any(above in nodes for above in ancestors(node))
