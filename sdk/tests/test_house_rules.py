"""The house's own rules, over the real tree; and for each rule a bad example that it must find."""

import subprocess
import sys
import tomllib
from pathlib import Path

import house_rules as rules
import pytest
from house_rules import Source

ROOT = Path(__file__).resolve().parents[2]
TEXTS = {"", ".py", ".md", ".sql", ".toml", ".lock", ".json", ".txt", ".patch", ".service", ".plist", ".sh"}


@pytest.fixture(scope="module")
def tree() -> list[Source]:
    """Every text file of the repository, tracked or about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    paths = [ROOT / name for name in listed.stdout.splitlines()]
    return [
        Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in paths
        if path.suffix in TEXTS and path.is_file() and path.name != "LICENSE"
    ]


# --- the real tree ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rule", rules.OVER_SOURCES)
def test_the_tree_keeps_the_rule(rule: str, tree: list[Source]) -> None:
    """Each rule over sources holds for the whole repository."""
    faults = rules.OVER_SOURCES[rule](tree)
    assert not faults, "\n".join([rule, *faults])


def test_every_limit_has_unit_and_reason() -> None:
    """Each constant of the limits' module names its unit and has its reason beside it."""
    path = "sdk/tallystick/protocol/limits.py"
    assert rules.loose_limits(Source(path, (ROOT / path).read_text(encoding="utf-8"))) == []


def test_migrations_are_numbered_without_gaps() -> None:
    """Migrations are 0001, 0002 and so on, and there is one at least."""
    names = [path.name for path in (ROOT / "migrations").iterdir() if path.suffix == ".sql"]
    assert names
    assert rules.misnumbered_migrations(names) == []


def test_the_readme_opens_with_two_commands() -> None:
    """A newcomer sees first what to type."""
    assert rules.readme_opening((ROOT / "README.md").read_text(encoding="utf-8")) == []


def test_every_operation_is_in_the_reference(tree: list[Source]) -> None:
    """Each operation of the registry is described in docs/reference."""
    registry = pytest.importorskip("tallystick.protocol.registry")
    documents = [source for source in tree if source.path.startswith("docs/reference/")]
    if not documents:
        pytest.skip("docs/reference is not written yet")
    names = sorted({operation.name for operation in registry.OPERATIONS})
    assert rules.undocumented(names, documents, "docs/reference") == []


def test_no_operation_is_named_outside_its_family(tree: list[Source]) -> None:
    """A family's operations are named in its own rooms alone, so that a new one touches nobody else's."""
    registry = pytest.importorskip("tallystick.protocol.registry")
    families = {name: [each.name for each in operations] for name, operations in registry.BY_FAMILY.items()}
    faults = rules.operations_outside_their_family(tree, families)
    assert not faults, "\n".join(faults)


def test_the_lock_pins_every_requirement() -> None:
    """What pyproject.toml asks for, to run, build and test, stands in the lock at one exact version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [
        *project["project"]["dependencies"],
        *project["build-system"]["requires"],
        *project["dependency-groups"]["dev"],
    ]
    assert rules.unpinned(wanted, (ROOT / "requirements.lock").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("program", "banned"),
    [
        ("import tallystick as t; [getattr(t, name) for name in t.__all__]", ["trio", "tallyd", "click"]),
        ("import tally_cli.root as root; root.load_all()", ["trio", "tallyd"]),
    ],
    ids=["tallystick", "tally"],
)
def test_what_starts_without_trio_starts_without_it(program: str, banned: list[str]) -> None:
    """An interpreter that loaded the SDK, or every verb of the CLI, has loaded neither trio nor tallyd."""
    script = f"{program}\nimport sys\nprint(*(name for name in {banned!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stdout + done.stderr


# --- a bad example for each rule ----------------------------------------------------------------------------
BAD_IMPORTS = [
    ("client/tally_cli/x.py", "import tallyd.store"),
    ("client/tally_cli/x.py", "from tallyd import store"),
    ("client/tally_cli/x.py", "import trio"),
    ("client/tally_cli/x.py", "def f() -> None:\n    from trio import run"),
    ("client/tally_cli/x.py", "from tallystick import trio_client"),
    ("sdk/tallystick/client.py", "import trio"),
    ("sdk/tallystick/__init__.py", "from .trio_client import TrioClient"),
    ("sdk/tallystick/client.py", "from tally_cli import main"),
    ("sdk/tallystick/client.py", "import apsw"),
    ("sdk/tallystick/client.py", "import cryptography"),
    ("sdk/tallystick/protocol/statements.py", "from cryptography.hazmat.primitives import hashes"),
    ("daemon/tallyd/door/loop.py", "from tallyd.store import keys"),
    ("daemon/tallyd/door/loop.py", "from ..store import keys"),
    ("daemon/tallyd/store/opening.py", "from tallyd.ledger import ids"),
    ("daemon/tallyd/store/__init__.py", "from .. import ledger"),
    ("daemon/tallyd/families/projects/spaces.py", "from tallyd.clerk import clerk"),
    ("daemon/tallyd/clerk/batch.py", "import trio.lowlevel"),
    ("daemon/tallyd/service/main.py", "from tallystick.client import Client"),
    ("daemon/tallyd/service/main.py", "import requests"),
]
GOOD_IMPORTS = [
    ("client/tally_cli/x.py", "import click\nfrom tallystick import Client\nfrom tally_cli import exits"),
    ("sdk/tallystick/trio_client.py", "import trio"),
    ("sdk/tallystick/verifying.py", "from cryptography.hazmat.primitives.asymmetric import ec"),
    ("daemon/tallyd/families/projects/spaces.py", "from tallystick.verifying import verify_signature"),
    ("daemon/tallyd/door/loop.py", "import selectors\nimport trio\nfrom tallystick.protocol import limits"),
    ("daemon/tallyd/families/projects/spaces.py", "from . import shared\nfrom ..ledger import ids"),
    ("daemon/tallyd/service/main.py", "from tallyd.door import loop\nfrom tallystick import paths"),
    ("daemon/tests/test_x.py", "import tallyd.store, trio"),
]


@pytest.mark.parametrize(("path", "text"), BAD_IMPORTS)
def test_an_import_against_the_direction_is_found(path: str, text: str) -> None:
    """Each of these imports breaks the order of the house."""
    assert rules.wrong_imports([Source(path, text)])


@pytest.mark.parametrize(("path", "text"), GOOD_IMPORTS)
def test_an_import_along_the_direction_passes(path: str, text: str) -> None:
    """Each of these imports is in order."""
    assert rules.wrong_imports([Source(path, text)]) == []


@pytest.mark.parametrize(
    "text",
    [
        "import time",
        "from time import monotonic",
        "import random",
        "import secrets",
        "import uuid",
        "import socket",
        "import datetime\nx = datetime.datetime.now()",
        "from datetime import date\nx = date.today()",
        "import os\nx = os.urandom(16)",
        "import apsw\nx = apsw.randomness(16)",
        "x = 'INSERT INTO t VALUES (randomblob(16))'",
        "x = \"SELECT datetime('now')\"",
    ],
)
def test_a_clock_in_domain_code_is_found(text: str) -> None:
    """Time and chance that do not come from the context are found in each domain room, in SQL too."""
    for room in ("clerk", "families", "ledger"):
        assert rules.own_clocks([Source(f"daemon/tallyd/{room}/x.py", text)]), room
    assert rules.own_clocks([Source("daemon/tallyd/service/x.py", text)]) == []


def test_a_clock_in_a_migration_is_found() -> None:
    """A default of the current time is found in a schema, and in a comment it is not."""
    assert rules.own_clocks([Source("migrations/0001_x.sql", "at TEXT DEFAULT CURRENT_TIMESTAMP")])
    assert rules.own_clocks([Source("migrations/0001_x.sql", "at TEXT -- no CURRENT_TIMESTAMP here")]) == []


ROOM, SDK = "daemon/tallyd/door", "sdk/tallystick"
CIRCLES = [
    {f"{ROOM}/a.py": "from tallyd.door import b", f"{ROOM}/b.py": "import tallyd.door.a"},
    {
        f"{ROOM}/a.py": "from .b import B",
        f"{ROOM}/b.py": "from .c import C",
        f"{ROOM}/c.py": "from .a import A",
    },
    {f"{ROOM}/a.py": "try:\n    from . import b\nfinally:\n    x = 1", f"{ROOM}/b.py": "from . import a"},
    {f"{ROOM}/a.py": "class A:\n    from . import b", f"{ROOM}/b.py": "from . import a"},
    {f"{ROOM}/__init__.py": "from tallyd.door.a import A", f"{ROOM}/a.py": "from tallyd.door import B"},
    {f"{ROOM}/a.py": "from tallyd.door.a import A"},
    {f"{ROOM}/a.py": "if TYPE_CHECKING:\n    from . import b", f"{ROOM}/b.py": "from . import a"},
    {f"{SDK}/a.py": "if not TYPE_CHECKING:\n    from . import b", f"{SDK}/b.py": "from . import a"},
]
NO_CIRCLES = [
    {f"{ROOM}/a.py": "from . import b, c", f"{ROOM}/b.py": "from . import c", f"{ROOM}/c.py": ""},
    {f"{ROOM}/a.py": "def f() -> None:\n    from . import b", f"{ROOM}/b.py": "from . import a"},
    {f"{ROOM}/__init__.py": "from .a import A", f"{ROOM}/a.py": "from . import b", f"{ROOM}/b.py": ""},
    {f"{SDK}/a.py": "if TYPE_CHECKING:\n    from . import b", f"{SDK}/b.py": "from . import a"},
    {"sdk/tests/a.py": "import b", "sdk/tests/b.py": "import a"},
]


@pytest.mark.parametrize("files", CIRCLES)
def test_an_import_circle_is_found(files: dict[str, str]) -> None:
    """Modules of which each imports the next, and the last the first, are found, once for the circle."""
    faults = rules.import_circles([Source(path, text) for path, text in files.items()])
    assert len(faults) == 1
    assert all(str(rules.module_of(path)) in faults[0] for path in files)


@pytest.mark.parametrize("files", NO_CIRCLES)
def test_imports_without_a_circle_pass(files: dict[str, str]) -> None:
    """Two ways to one module are no circle, nor is what a function imports, or a type of the SDK's."""
    assert rules.import_circles([Source(path, text) for path, text in files.items()]) == []


def test_two_import_circles_are_told_apart() -> None:
    """Circles that share no module are found one by one, though a module of one imports one of the other."""
    pair = {
        f"{ROOM}/a.py": "from . import b\nfrom tallystick import c",
        f"{ROOM}/b.py": "\nfrom . import a",
        f"{SDK}/c.py": "from . import d",
        f"{SDK}/d.py": "from . import c",
    }
    assert rules.import_circles([Source(path, text) for path, text in pair.items()]) == [
        f"{ROOM}/a.py:1: a circle of imports: tallyd.door.a, tallyd.door.b",
        f"{SDK}/c.py:1: a circle of imports: tallystick.c, tallystick.d",
    ]


BAD_SOURCES = {
    rules.prints: Source("daemon/tallyd/x.py", "print('x')"),
    rules.hints_that_destroy: Source("sdk/tallystick/x.py", "x = 'remove the database and start again'"),
    rules.undocumented_modules: Source("daemon/tallyd/x.py", "x = 1"),
    rules.repeated_limits: Source("daemon/tallyd/x.py", "x = 262144"),
    rules.sleeps_in_tests: Source("sdk/tests/test_x.py", "import time\ntime.sleep(1)"),
    rules.silent_tests: Source("crashtests/test_x.py", "async def test_x() -> None:\n    pass"),
    rules.entangled_tests: Source("sdk/tests/test_x.py", "import test_y"),
    rules.machine_paths: Source("docs/x.md", "see " + "/".join(["", "home", "someone", "notes"])),
    rules.outside_papers: Source("docs/x.md", "as R" + "8 says"),
}


@pytest.mark.parametrize("rule", BAD_SOURCES, ids=lambda rule: rule.__name__)
def test_a_rule_finds_its_bad_example(rule: object) -> None:
    """Each rule over sources finds the one thing that it is for."""
    assert callable(rule)
    assert len(rule([BAD_SOURCES[rule]])) == 1


def test_every_rule_over_sources_has_a_bad_example() -> None:
    """No rule is in the table that was never seen to fail."""
    shown = {*BAD_SOURCES, rules.wrong_imports, rules.import_circles, rules.own_clocks}
    assert set(rules.OVER_SOURCES.values()) == shown


@pytest.mark.parametrize(
    ("path", "text", "count"),
    [
        ("sdk/tallystick/assistant.py", 'STEPS = {"lens_show": 1}', 1),
        ("sdk/tallystick/calls/context.py", 'def show(): return Read("lens_show", {}, "")', 1),
        ("client/tally_cli/root.py", 'VERBS = {"lens_show": 1}', 1),
        ("sdk/tallystick/calls/lenses.py", 'def show(): return Read("lens_show", {}, "")', 0),
        ("client/tally_cli/verbs/lenses.py", 'NAME = "lens_show"', 0),
        ("sdk/tallystick/client.py", '"""Calls lens_show."""\nWORDS = "as lens_show does"', 0),
        ("client/tally_cli/root.py", 'VERBS = {"diagnose": 1}', 0),
        ("client/tally_cli/verbs/showing.py", 'VERBS = {"diagnose": 1}', 1),
    ],
)
def test_an_operation_outside_its_family_is_found(path: str, text: str, count: int) -> None:
    """A string that is an operation's name, in any room but its family's; prose may name it."""
    families = {"lenses": ["lens_show"], "service": ["diagnose"]}
    assert len(rules.operations_outside_their_family([Source(path, text)], families)) == count


def test_two_test_files_of_one_name_are_found() -> None:
    """Two suites cannot both have a file of one name, conftest.py excepted."""
    pair = [Source("sdk/tests/test_x.py", ""), Source("daemon/tests/test_x.py", "")]
    both = [Source("sdk/tests/conftest.py", ""), Source("daemon/tests/conftest.py", "")]
    assert len(rules.entangled_tests(pair)) == 2
    assert rules.entangled_tests(both) == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('X_BYTES_MAX: Final = 1\n"""Why."""', 0),
        ("X_BYTES_MAX: Final = 1", 1),
        ('X_MAX: Final = 1\n"""Why."""', 1),
        ("X_MAX: Final = 1\nY_MAX: Final = 1", 4),
    ],
)
def test_a_loose_limit_is_found(text: str, count: int) -> None:
    """A limit without a unit, or without a reason, is found."""
    assert len(rules.loose_limits(Source("limits.py", text))) == count


@pytest.mark.parametrize(
    ("names", "count"),
    [
        (["0001_a.sql", "0002_b.sql"], 0),
        (["0001_a.sql", "0003_b.sql"], 1),
        (["0000_a.sql"], 1),
        (["1_a.sql"], 1),
    ],
)
def test_a_gap_between_migrations_is_found(names: list[str], count: int) -> None:
    """A migration out of its number is found."""
    assert len(rules.misnumbered_migrations(names)) == count


def test_a_readme_that_opens_with_words_is_found() -> None:
    """Two commands right under the title pass; words before them, or a third command, do not."""
    assert rules.readme_opening("# T\n\n```sh\nmake demo\nmake test\n```\nwords") == []
    assert rules.readme_opening("# T\n\nwords\n\n```sh\nmake demo\nmake test\n```")
    assert rules.readme_opening("# T\n```sh\na\nb\nc\n```")
    assert rules.readme_opening("")


def test_an_undescribed_name_is_found() -> None:
    """A name that heads no section is found, also where it is the beginning of another."""
    assert rules.undocumented(["hello"], [Source("d", "# d\n### hello (client)\nwords")], "d") == []
    assert rules.undocumented(["hello"], [Source("d", "## `hello`\nwords")], "d") == []
    assert rules.undocumented(["space_show"], [Source("d", "## space_show_all\n`space_show`")], "d")


def test_a_requirement_without_a_pin_is_found() -> None:
    """A requirement that the lock lacks is found, and so is a range; names are compared normalised."""
    assert rules.unpinned(["Foo_bar[x]>=1; python_version > '3'"], "foo-bar==1.2") == []
    assert len(rules.unpinned(["foo>=1"], "bar==1")) == 1
    assert len(rules.unpinned(["foo>=1"], "foo>=1")) == 1
