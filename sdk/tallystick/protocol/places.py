"""Places: a repository and paths in it, where a decision holds or work is done.

Paths are kept as they are given, and compared folded (NFC, then case-folded): nobody should have two places
that a file system takes for one. A path means its node and all that lies under it. Characters of globs are
ordinary ones. Nothing here looks at any file.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple
from unicodedata import category, normalize

from tallystick.protocol import limits

ANY_REPOSITORY: Final = ""
ROOT: Final = ""
"""The node of a repository's root. As a path it is written ``.``."""


class NoPlace(ValueError):
    """A repository or path that cannot be one; the text says which, and what is wrong with it."""


class Place(NamedTuple):
    """Where something holds. `repository` is "" for any; `nodes` are folded paths, none for everywhere."""

    repository: str
    nodes: tuple[str, ...]

    @property
    def region(self) -> str:
        """The nodes as they are stored: one a line, "" for everywhere."""
        return "\n".join(node or "." for node in self.nodes)


def place(repository: str, paths: Iterable[str]) -> Place:
    """A place from what was given. A path under another one of it says nothing more, and is left out.
    Raises `NoPlace`.
    """
    check_repository(repository)
    folded = {node_of(path) for path in paths}
    kept = {node for node in folded if not any(above in folded for above in _ancestors(node))}
    return Place(repository, tuple(sorted(kept)))


def stored(repository: str, region: str) -> Place:
    """A place from its row."""
    nodes = tuple("" if node == "." else node for node in region.split("\n")) if region else ()
    return Place(repository, nodes)


def check_repository(repository: str) -> None:
    """Raises `NoPlace` for a label that holds a control character, or white space at an end."""
    if repository != repository.strip() or any(category(each) == "Cc" for each in repository):
        raise NoPlace("a repository's label has no control character, and no white space at its ends")


def node_of(path: str) -> str:
    """The folded node of a path that is relative to its repository's root. Raises `NoPlace`."""
    if len(path.encode(errors="surrogatepass")) > limits.PATH_BYTES_MAX:
        raise NoPlace(f"a path has at most {limits.PATH_BYTES_MAX} bytes of UTF-8")
    if path in (".", "./"):
        return ROOT
    segments = path.removesuffix("/").split("/")
    if path.startswith("/"):
        raise NoPlace(f"the path {path!r} begins with /; paths are relative to the repository's root")
    for segment in segments:
        if segment in ("", ".", ".."):
            raise NoPlace(f"the path {path!r} has a segment {segment!r}; write it without, or . for the root")
        if any(category(each) in ("Cc", "Cs") for each in segment):
            raise NoPlace(f"the path {path!r} has a control character")
    return fold("/".join(segments))


def fold(path: str) -> str:
    """A path as it is compared."""
    return normalize("NFC", normalize("NFC", path).casefold())


def overlap(one: Place, other: Place) -> bool:
    """Whether something may lie in both."""
    if one.repository != other.repository and ANY_REPOSITORY not in (one.repository, other.repository):
        return False
    if not one.nodes or not other.nodes:
        return True
    return any(_under(a, b) or _under(b, a) for a in one.nodes for b in other.nodes)


def inside(one: Place, other: Place) -> bool:
    """Whether all that lies in the one lies in the other."""
    if other.repository not in (ANY_REPOSITORY, one.repository):
        return False
    if not other.nodes or ROOT in other.nodes:
        return True
    return bool(one.nodes) and all(any(_under(a, b) for b in other.nodes) for a in one.nodes)


def _under(node: str, above: str) -> bool:
    return above in (ROOT, node) or node.startswith(above + "/")


def _ancestors(node: str) -> Iterable[str]:
    """All nodes above one, the root last."""
    while node != ROOT:
        node = node.rpartition("/")[0]
        yield node
