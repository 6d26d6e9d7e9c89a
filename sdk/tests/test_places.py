"""Places: which paths there are, and that overlap, inside and reaches agree with sets of files."""

import sqlite3
import sys
from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.protocol import limits, places
from tallystick.protocol.places import NoPlace, Place, place

# --- the model: a place is the set of files in it -----------------------------------------------------------
REPOSITORIES = ("x", "y", "another")
"""Places name the first two; the third is there so that any repository is more than those two."""
NAMES = ("a", "b", "other")
"""Places name the first two, so that no set of paths covers the path above them."""
DEPTH = 3
NODES = [segments for depth in range(DEPTH + 1) for segments in product(NAMES, repeat=depth)]

paths = st.lists(st.sampled_from(NAMES[:2]), max_size=DEPTH - 1).map(lambda each: "/".join(each) or ".")
made = st.builds(place, st.sampled_from(["", *REPOSITORIES[:2]]), st.lists(paths, max_size=3))


def files(where: Place) -> frozenset[tuple[str, tuple[str, ...]]]:
    """Every repository and node of the small world that lies in a place."""
    tops = [tuple(node.split("/")) for node in where.nodes] or [()]
    return frozenset(
        (repository, node)
        for repository in REPOSITORIES
        for node in NODES
        if where.repository in ("", repository) and any(node[: len(top)] == top for top in tops)
    )


@given(made, made)
def test_overlap_is_a_file_in_both(one: Place, other: Place) -> None:
    """Two places overlap exactly where some file lies in both, whichever is asked first."""
    assert places.overlap(one, other) == places.overlap(other, one) == bool(files(one) & files(other))


@given(made, made)
def test_inside_is_a_subset_of_files(one: Place, other: Place) -> None:
    """One place is inside another exactly where each of its files is in the other, and then they overlap."""
    assert places.inside(one, other) == (files(one) <= files(other))
    assert places.overlap(one, other) or not places.inside(one, other)


@given(made, made, made)
def test_inside_is_an_order(one: Place, two: Place, three: Place) -> None:
    """A place is inside itself; each inside the other are equal; what is inside an inside is inside."""
    assert places.inside(one, one)
    assert (places.inside(one, two) and places.inside(two, one)) == (one == two)
    assert places.inside(one, three) or not (places.inside(one, two) and places.inside(two, three))


@given(made, st.sampled_from(["", *REPOSITORIES]), paths)
def test_a_place_reaches_what_lies_in_it(where: Place, repository: str, path: str) -> None:
    """A place reaches a node exactly where all of it lies in the place, of the one repository or of some."""
    asked = place(repository, [path])
    here = place(where.repository or repository, [path]) if repository in ("", where.repository) else asked
    assert places.reaches(where, repository, places.node_of(path)) == places.inside(here, where)
    assert places.reaches(where, repository) == places.overlap(where, place(repository, []))


@given(made)
def test_a_stored_region_gives_the_place(where: Place) -> None:
    """A row's repository and region are the place again: sorted lines, "" for everywhere."""
    assert places.stored(where.repository, where.region) == where
    assert where.region.split("\n") == sorted(where.nodes or ("",))


@given(st.lists(paths, max_size=4))
def test_the_order_of_paths_means_nothing(given_paths: list[str]) -> None:
    """Paths in another order, twice, or with a slash at the end are the same place."""
    again = [f"{path}/" for path in reversed(given_paths)] * 2
    assert place("x", again) == place("x", given_paths)


# --- forms of one path --------------------------------------------------------------------------------------
def test_what_lies_under_another_path_is_left_out() -> None:
    """A path under another of the same place says nothing more, and the root says everywhere."""
    assert place("x", ["a/b", "a", "ab", "c/d"]).nodes == ("a", "ab", "c/d")
    assert place("x", ["a", "."]) == place("x", ["./"]) == place("x", []) == Place("x", ())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("services/ledger", "services/ledger/"),
        ("Services/LEDGER", "services/ledger"),
        ("caf\u00e9/a", "cafe\u0301/a"),
        ("STRASSE", "straße"),
        ("\u212a", "k"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
    ],
)
def test_forms_of_one_path_are_one_node(one: str, other: str) -> None:
    """What a file system may take for one path is one node."""
    assert places.node_of(one) == places.node_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("src/*", "src/a"), ("a?", "ab"), ("[ab]", "a"), ("src", "src2"), ("a/b", "a.b"), ("cafe", "café")],
)
def test_other_paths_do_not_meet(one: str, other: str) -> None:
    """Globs are ordinary characters, a prefix of a name is no ancestor, and an accent makes another name."""
    assert not places.overlap(place("x", [one]), place("x", [other]))


@pytest.mark.parametrize(
    "path", ["..a", "a/...", ".git", "a b", " a", "~", "a\\b", "C:", "\u2028", "目录/文件"]
)
def test_an_unusual_path_is_a_path(path: str) -> None:
    """Only what the rule names is refused."""
    assert place("x", [path]).nodes == (path.casefold(),)


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("", "is empty"),
        ("/", "begins with /"),
        ("/etc", "begins with /"),
        ("a//b", "segment ''"),
        ("a//", "segment ''"),
        ("./a", "segment '.'"),
        ("a/.", "segment '.'"),
        ("..", "segment '..'"),
        ("a/../b", "segment '..'"),
        ("a\nb", "control character"),
        ("a\0", "control character"),
        ("a\x7f", "control character"),
        ("a\x85", "control character"),
        ("a\ud800", "control character"),
        ("é" * 257, "514 bytes"),
    ],
)
def test_what_is_no_path_is_refused_by_name(path: str, fault: str) -> None:
    """The error names the path, or its beginning, and what is wrong with it."""
    with pytest.raises(NoPlace) as raised:
        place("x", ["a", path])
    assert fault in str(raised.value)
    assert repr(path[:64]).strip("'") in str(raised.value)


@pytest.mark.parametrize("repository", [" x", "x\n", "a\tb", "a\0b", "a\ud800"])
def test_what_is_no_repository_is_refused_by_name(repository: str) -> None:
    """A label with a control character or white space at an end is refused, and named."""
    with pytest.raises(NoPlace) as raised:
        place(repository, [])
    assert repr(repository) in str(raised.value)


def test_the_longest_path_is_a_path() -> None:
    """The limit is in bytes, and reached by it."""
    assert place("x", ["é" * (limits.PATH_BYTES_MAX // 2)]).nodes


@given(st.text(st.characters(codec=None), max_size=20))
def test_any_text_is_a_path_or_refused(path: str) -> None:
    """Whatever is given is one node, whose folding changes nothing more, or the named refusal."""
    try:
        node = places.node_of(path)
    except NoPlace:
        return
    assert places.fold(node) == node
    assert places.node_of(node or ".") == node


def test_no_character_folds_into_another_path() -> None:
    """No character's folded form holds a slash, a dot or a newline, or changes when folded again."""
    for code in range(0x80, sys.maxunicode + 1):
        folded = places.fold(chr(code))
        assert not {"/", ".", "\n"} & {*folded}
        assert places.fold(folded) == folded


# --- reservations -------------------------------------------------------------------------------------------
SCHEMA = """
CREATE TABLE held (node TEXT NOT NULL, whole INTEGER NOT NULL, reservation INTEGER NOT NULL);
CREATE TRIGGER refuse BEFORE INSERT ON held
WHEN EXISTS (SELECT 1 FROM held WHERE (node, whole) = (NEW.node, 1) AND reservation <> NEW.reservation)
  OR (NEW.whole = 1 AND EXISTS (SELECT 1 FROM held WHERE node = NEW.node AND reservation <> NEW.reservation))
BEGIN SELECT RAISE(ABORT, 'held'); END;
"""


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    """A table of nodes with the trigger that keeps reservations of one repository apart."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(SCHEMA)
    yield connection
    connection.close()


@given(one=st.lists(paths, max_size=3), other=st.lists(paths, max_size=3))
def test_nodes_keep_apart_what_overlaps(
    database: sqlite3.Connection, one: list[str], other: list[str]
) -> None:
    """The trigger refuses a second reservation of a repository exactly where its place overlaps the first."""
    first, second = place("x", one), place("x", other)
    database.execute("DELETE FROM held")
    refused = False
    try:
        for reservation, where in enumerate((first, second)):
            for node, whole in places.held_nodes(where).items():
                database.execute("INSERT INTO held VALUES (?, ?, ?)", (node, whole, reservation))
    except sqlite3.IntegrityError:
        refused = True
    assert refused == places.overlap(first, second)


def test_a_path_takes_its_node_whole_and_those_above_in_part() -> None:
    """The root is one of those above, and the whole of a place that is everywhere."""
    assert places.held_nodes(place("x", ["a/b", "C"])) == {"a/b": True, "a": False, "": False, "c": True}
    assert places.held_nodes(place("x", ["."])) == {"": True}
