"""The rules of the house, each as a function from sources to what breaks it.

A *source* is a file's path inside the repository and its text. Every function returns sentences of the form
``path:line: what is wrong``, and an empty list when the house is in order. None of them reads the disk or
knows where the repository is, so that each can be shown a bad example. `test_house_rules` runs them over the
real tree.

What they do not do: style that ruff and mypy see already.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final, NamedTuple


class Source(NamedTuple):
    """A file: `path` inside the repository with slashes, and its `text`."""

    path: str
    text: str


ROOTS: Final = {
    "sdk/tallystick/": "sdk/",
    "daemon/tallyd/": "daemon/",
    "client/tally_cli/": "client/",
}
"""What a product's file starts with, and what of it is no part of its module's name."""

PARTIES: Final = {
    "tallystick": {"tallystick", "msgspec"},
    "tally_cli": {"tally_cli", "tallystick", "msgspec", "click"},
    "tallyd": {"tallyd", "tallystick", "msgspec", "apsw", "cryptography"},
}
"""Which packages each part may import, beside the standard library. Trio is judged module by module."""

ROOMS: Final = {
    "admission": {"ledger"},
    "door": set(),
    "clerk": {"admission", "store", "ledger"},
    "families": {"admission", "ledger", "store", "vault"},
    "ledger": {"store"},
    "store": set(),
    "vault": {"store"},
    "readers": {"admission", "store", "ledger"},
    "service": {"admission", "door", "clerk", "families", "ledger", "store", "vault", "readers"},
    "__main__": {"service"},
}
"""The daemon's rooms, and the other rooms that each may use. Admission is one prelude, so whoever judges a
request by it may ask it."""

SHARED: Final = (
    "tallystick.protocol",
    "tallystick.paths",
    "tallystick.verifying",
    "tallystick.__version__",
)
"""What the daemon takes from the SDK: the wire, the places and the verifier, never a client."""

VERIFIER: Final = "tallystick.verifying"
"""Where the SDK uses cryptography. Everything else in it starts without."""

TRIO_MODULES: Final = ("tallyd.door", "tallyd.readers", "tallyd.service", "tallystick.trio_client")
"""Where trio lives. Everything else must start without it: it alone costs as much as a whole CLI call may."""

DOMAIN: Final = ("tallyd.clerk", "tallyd.families", "tallyd.ledger")
"""What a simulation runs with a seed: time, chance and sockets come from the transaction's context."""

NAMES_NO_FOREIGN_OPERATION: Final = ("sdk/tallystick/", "client/tally_cli/", "daemon/tallyd/")
"""Where operations are named by their family alone."""

FAMILY_ROOMS: Final = (
    "sdk/tallystick/protocol/families/",
    "sdk/tallystick/calls/",
    "client/tally_cli/verbs/",
    "daemon/tallyd/families/",
)
"""A family has one file in each of these, or a folder, of its own name."""

ALSO_A_VERB: Final = {("client/tally_cli/root.py", "diagnose")}
"""Where an operation's name is a verb of the command line as well, in the list of verbs."""

_PAGES: Final = "crashtests/expected/"

_FOR_TYPES: Final = {"TYPE_CHECKING", "typing.TYPE_CHECKING"}

_CLOCKS: Final = {"time", "random", "secrets", "uuid", "socket", "select", "selectors"}
_CLOCK_CALLS: Final = {"now", "utcnow", "today", "urandom", "getrandom", "randomness"}
_CLOCK_SQL: Final = re.compile(
    r"\b(?:random|randomblob|unixepoch|julianday)\s*\(|\bCURRENT_(?:TIMESTAMP|TIME|DATE)\b|'now'",
    re.IGNORECASE,
)

_UNITS: Final = {
    "BYTES", "CHARS", "SCALARS", "ITEMS", "NODES", "DEPTH", "INTEGER", "MS", "SECONDS", "MINUTE", "COMMANDS",
    "ROWS", "UPLOADS", "REQUESTS", "CONNECTIONS", "DESCRIPTORS", "PASSES",
    "ATTEMPTS", "LINES", "KEYS", "OPENINGS",
}  # fmt: skip
_OWN_NUMBERS: Final = {262_144, 1_048_576}
"""Numbers so particular to a limit that finding one elsewhere means that it was repeated."""

_PIN: Final = re.compile(r"[\w.-]+==[\w.]+")
_MACHINE_PATH: Final = re.compile(r"(?<![\w.:/~-])/(?:(?:work|root)/|(?:home|Users)/(?!ada\b))(?![.…<{$])")
"""Ada is the person of our examples; nobody else has a home here."""
_OUTSIDE_PAPER: Final = re.compile(r"\b(?:DESIGN|RULES|CASES|PHYSICS|STYLE|KCP)\.md\b|\bR[0-9]{1,2}\b(?!\w)")
_DESTROYS: Final = re.compile(
    r"\brm -r|--force\b|\bstart (?:afresh|from scratch)\b"
    r"|\b(?:delete|remove|erase|drop|wipe) (?:the|your|this|its) (?:database|store|data|record)\b",
    re.IGNORECASE,
)


# --- reading sources ----------------------------------------------------------------------------------------
def module_of(path: str) -> str | None:
    """The dotted name of a product's module at `path`; None for what is no module of the product."""
    for start, strip in ROOTS.items():
        if path.startswith(start) and path.endswith(".py"):
            return path.removeprefix(strip).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return None


def is_test(path: str) -> bool:
    """Whether `path` belongs to a test suite."""
    return path.endswith(".py") and (path.startswith("crashtests/") or "/tests/" in path)


def _within(module: str, parents: Iterable[str]) -> bool:
    return any(module == parent or module.startswith(parent + ".") for parent in parents)


def _package(module: str, source: Source) -> str:
    """What a relative import of `module` is relative to."""
    return module if source.path.endswith("/__init__.py") else module.rpartition(".")[0]


def _base(node: ast.ImportFrom, package: str) -> str:
    """The absolute name of ``a`` in ``from a import b``."""
    base = node.module or ""
    if not node.level:
        return base
    parts = package.split(".")
    return ".".join(parts[: len(parts) - node.level + 1] + ([base] if base else []))


def _imports(module: str, source: Source) -> Iterator[tuple[int, str]]:
    """Each module that `source` imports, with its line. ``from a import b`` is both ``a`` and ``a.b``."""
    package = _package(module, source)
    for node in ast.walk(ast.parse(source.text)):
        if isinstance(node, ast.ImportFrom):
            yield node.lineno, _base(node, package)
        yield from _names_imported(node, package)


def _names_imported(node: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """The names that one node imports, with its line. ``from a import b`` is ``a.b`` alone."""
    if isinstance(node, ast.Import):
        yield from ((node.lineno, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = _base(node, package)
        yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def _run_at_import(node: ast.AST, *, with_types: bool) -> Iterator[ast.AST]:
    """What runs of a module when it is imported: not its functions, and what is imported for types alone only
    `with_types`.
    """
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if isinstance(node, ast.If) and ast.unparse(node.test) in _FOR_TYPES and not with_types:
        children = node.orelse
    for child in children:
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _run_at_import(child, with_types=with_types)


def _modules(sources: Iterable[Source]) -> Iterator[tuple[str, Source]]:
    for source in sources:
        module = module_of(source.path)
        if module is not None:
            yield module, source


def _strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Each string of a program that is no docstring, with its line."""
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


# --- who may use whom ---------------------------------------------------------------------------------------
def _import_fault(module: str, imported: str) -> str | None:
    top = module.partition(".")[0]
    party = imported.partition(".")[0]
    if module == VERIFIER and party == "cryptography":
        return None
    if party == "trio":
        return None if _within(module, TRIO_MODULES) else "trio lives in " + ", ".join(TRIO_MODULES)
    if party not in sys.stdlib_module_names and party not in PARTIES[top]:
        return f"{top} may use {', '.join(sorted(PARTIES[top]))} and the standard library"
    if (top, party) == ("tallyd", "tallystick") and not _within(imported, SHARED) and imported != party:
        return "the daemon takes from the SDK only " + ", ".join(SHARED)
    if (top, party) == ("tallyd", "tallyd"):
        return _room_fault(module.split(".")[1:2], imported.split(".")[1:2])
    if _within(imported, ["tallystick.trio_client"]) and module != "tallystick.trio_client":
        return "whoever wants the trio client imports it by name: nothing does so for others"
    return None


def _room_fault(here: list[str], there: list[str]) -> str | None:
    if not here or not there or here == there:
        return None
    allowed = ROOMS.get(here[0], set())
    if there[0] in allowed:
        return None
    return f"{here[0]} may use {', '.join(sorted(allowed)) or 'no other room'}"


def wrong_imports(sources: Iterable[Source]) -> list[str]:
    """Imports against the direction: client → sdk ← daemon, and between the daemon's rooms."""
    faults = {
        (source.path, line): f"{source.path}:{line}: imports {imported}: {fault}"
        for module, source in _modules(sources)
        for line, imported in _imports(module, source)
        if (fault := _import_fault(module, imported)) is not None
    }
    return list(faults.values())


def import_circles(sources: Iterable[Source]) -> list[str]:
    """Modules that import each other, directly or through others: none can be loaded or read alone.

    What a function imports does not count, since it is loaded later. What is imported for types alone counts
    in the daemon, where all modules are loaded anyway; in the SDK and the client it does not, because there
    it keeps the start short. That Python runs a module's package first does not count either: a package's
    ``__init__`` may name what stands in it.
    """
    of_module = dict(_modules(sources))
    imported = {module: _imported_modules(module, source, of_module) for module, source in of_module.items()}
    reached = {module: _reached(module, imported) for module in of_module}
    circles = {
        tuple(sorted(other for other in others if module in reached[other]))
        for module, others in reached.items()
        if module in others
    }
    return [
        f"{of_module[circle[0]].path}:{line}: a circle of imports: {', '.join(circle)}"
        for circle in sorted(circles)
        for line in [min(line for name, line in imported[circle[0]].items() if name in circle)]
    ]


def _imported_modules(module: str, source: Source, known: Container[str]) -> dict[str, int]:
    """The product's modules that `module` loads when it is imported, each with the first line that does."""
    package = _package(module, source)
    found: dict[str, int] = {}
    for node in _run_at_import(ast.parse(source.text), with_types=_within(module, ["tallyd"])):
        for line, name in _names_imported(node, package):
            target = name if name in known else name.rpartition(".")[0]
            if target in known:
                found.setdefault(target, line)
    return found


def _reached(module: str, imported: Mapping[str, Iterable[str]]) -> set[str]:
    """What `module` imports, and what that imports, and so on."""
    reached: set[str] = set()
    waiting = [module]
    while waiting:
        new = set(imported[waiting.pop()]) - reached
        reached |= new
        waiting += new
    return reached


def operations_outside_their_family(
    sources: Iterable[Source], families: Mapping[str, Iterable[str]]
) -> list[str]:
    """Operations that are named outside the rooms of their family; `families` has the names of each one's
    operations. Docstrings may name them, and so may a longer text.
    """
    family_of = {operation: family for family, operations in families.items() for operation in operations}
    return [
        f"{source.path}:{line}: names {text}: only the rooms of the family {family_of[text]} do"
        for source in sources
        if source.path.startswith(NAMES_NO_FOREIGN_OPERATION) and source.path.endswith(".py")
        for line, text in _strings(ast.parse(source.text))
        if text in family_of
        and _family_room(source.path) != family_of[text]
        and (source.path, text) not in ALSO_A_VERB
    ]


def _family_room(path: str) -> str | None:
    """The family whose room a file is (in); None for what is no family's."""
    for room in FAMILY_ROOMS:
        if path.startswith(room):
            return path.removeprefix(room).partition("/")[0].removesuffix(".py")
    return None


def own_clocks(sources: Iterable[Source]) -> list[str]:
    """Clocks, chance and sockets in domain code, in Python and in SQL."""
    faults = []
    for module, source in _modules(sources):
        if not _within(module, DOMAIN):
            continue
        faults += [
            f"{source.path}:{line}: imports {name}: it comes from the context"
            for line, name in _imports(module, source)
            if name in _CLOCKS
        ]
        tree = ast.parse(source.text)
        faults += [
            f"{source.path}:{node.lineno}: calls {_called(node)}(): it comes from the context"
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and _called(node) in _CLOCK_CALLS
        ]
        faults += [
            f"{source.path}:{line}: {found[0]} in SQL: it comes from the context"
            for line, text in _strings(tree)
            if (found := _CLOCK_SQL.search(text))
        ]
    return faults + _clocks_in_migrations(sources)


def _clocks_in_migrations(sources: Iterable[Source]) -> list[str]:
    return [
        f"{source.path}:{number}: {found[0]} in SQL: it comes from the context"
        for source in sources
        if source.path.startswith("migrations/") and source.path.endswith(".sql")
        for number, line in enumerate(source.text.splitlines(), 1)
        if (found := _CLOCK_SQL.search(line.partition("--")[0]))
    ]


# --- what the product may say -------------------------------------------------------------------------------
def prints(sources: Iterable[Source]) -> list[str]:
    """`print` in the product: stdout is a protocol, and belongs to whoever owns it."""
    return [
        f"{source.path}:{node.lineno}: print()"
        for _, source in _modules(sources)
        for node in ast.walk(ast.parse(source.text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]


def hints_that_destroy(sources: Iterable[Source]) -> list[str]:
    """Texts of the product that tell somebody to destroy a record: an agent does what a hint says."""
    return [
        f"{source.path}:{line}: {found[0]!r}: no text may suggest what destroys data"
        for _, source in _modules(sources)
        for line, text in _strings(ast.parse(source.text))
        if (found := _DESTROYS.search(text))
    ]


def undocumented_modules(sources: Iterable[Source]) -> list[str]:
    """Modules of the product that do not say at their head what they are for."""
    return [
        f"{source.path}:1: no docstring"
        for _, source in _modules(sources)
        if not ast.get_docstring(ast.parse(source.text))
    ]


def loose_limits(source: Source) -> list[str]:
    """Constants of the limits' module without a unit in the name, or without a reason beside them."""
    body = ast.parse(source.text).body
    faults = []
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        name = node.target.id
        if not _UNITS & set(name.split("_")):
            faults.append(f"{source.path}:{node.lineno}: {name} has no unit in its name")
        if not (
            isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            faults.append(f"{source.path}:{node.lineno}: {name} has no reason beside it")
    return faults


def repeated_limits(sources: Iterable[Source]) -> list[str]:
    """A limit's number written down a second time."""
    return [
        f"{source.path}:{node.lineno}: {node.value} is a limit: take it from tallystick.protocol.limits"
        for module, source in _modules(sources)
        if module != "tallystick.protocol.limits"
        for node in ast.walk(ast.parse(source.text))
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value in _OWN_NUMBERS
    ]


# --- tests --------------------------------------------------------------------------------------------------
def sleeps_in_tests(sources: Iterable[Source]) -> list[str]:
    """Sleeping in tests: what waits is driven by an event, or by a clock that the test owns."""
    return [
        f"{source.path}:{node.lineno}: sleep()"
        for source in sources
        if is_test(source.path)
        for node in ast.walk(ast.parse(source.text))
        if isinstance(node, ast.Call) and _called(node) == "sleep"
    ]


def silent_tests(sources: Iterable[Source]) -> list[str]:
    """Tests that do not say in a docstring what must hold."""
    return [
        f"{source.path}:{node.lineno}: {node.name} does not say what must hold"
        for source in sources
        if is_test(source.path) and PurePosixPath(source.path).name.startswith("test_")
        for node in ast.walk(ast.parse(source.text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]


def entangled_tests(sources: Iterable[Source]) -> list[str]:
    """Test files that import each other, or that share a name: pytest imports each by its bare name. Pages of
    ``expected`` are found in their package, and have their family's name, as everything of a family has.
    """
    tests = [source for source in sources if is_test(source.path)]
    faults = [
        f"{source.path}:{line}: imports {name}"
        for source in tests
        for line, name in _imports("", source)
        if re.search(r"(?:^|\.)(?:conftest|test_\w+)$", name)
    ]
    special = {"conftest", "__init__"}
    bare = [source for source in tests if not source.path.startswith(_PAGES)]
    stems = Counter(PurePosixPath(source.path).stem for source in bare)
    return faults + [
        f"{source.path}:1: there is another {PurePosixPath(source.path).name}"
        for source in bare
        if (stem := PurePosixPath(source.path).stem) not in special and stems[stem] > 1
    ]


# --- the repository -----------------------------------------------------------------------------------------
def machine_paths(sources: Iterable[Source]) -> list[str]:
    """Places of somebody's machine, in any file."""
    return _lines(sources, _MACHINE_PATH, "a place of one machine")


def outside_papers(sources: Iterable[Source]) -> list[str]:
    """References to papers that a reader of the repository does not have: the reason itself belongs there."""
    return _lines(sources, _OUTSIDE_PAPER, "a paper that is not here")


def _lines(sources: Iterable[Source], pattern: re.Pattern[str], what: str) -> list[str]:
    return [
        f"{source.path}:{number}: {found[0]!r}: {what}"
        for source in sources
        for number, line in enumerate(source.text.splitlines(), 1)
        if (found := pattern.search(line))
    ]


def misnumbered_migrations(names: Iterable[str]) -> list[str]:
    """File names of migrations that are not ``0001_words.sql``, ``0002_…`` and so on without a gap."""
    faults = []
    for number, name in enumerate(sorted(names), 1):
        if not re.fullmatch(rf"{number:04d}_[a-z0-9_]+\.sql", name):
            faults.append(f"migrations/{name}:1: expected {number:04d}_<words>.sql")
    return faults


def readme_opening(text: str) -> list[str]:
    """A README that does not open, right under its title, with a block of exactly two commands."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or not lines[0].startswith("# "):
        return ["README.md:1: no title"]
    if len(lines) < 5 or not lines[1].startswith("```") or not lines[4].startswith("```"):
        return ["README.md:2: right under the title stands a block of two commands, and nothing else"]
    return []


def undocumented(names: Iterable[str], documents: Iterable[Source], where: str) -> list[str]:
    """Names that no document of `where` has as a heading's first word."""
    told = {
        word for source in documents for word in re.findall(r"^#+ `?([^\s`]+)", source.text, re.MULTILINE)
    }
    return [f"{where}:1: {name} is not described" for name in names if name not in told]


def unpinned(requirements: Iterable[str], lock: str) -> list[str]:
    """Requirements of pyproject.toml that the lock file does not pin, and pins that are not exact."""
    pins = [line.strip() for line in lock.splitlines() if line.strip() and not line.startswith("#")]
    named = {_distribution(pin) for pin in pins}
    return [
        *(f"requirements.lock:1: {pin} is no exact version" for pin in pins if not _PIN.fullmatch(pin)),
        *(f"requirements.lock:1: {it} is missing" for it in requirements if _distribution(it) not in named),
    ]


def _distribution(requirement: str) -> str:
    """The normalised name in a requirement (PEP 503)."""
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=!~;\[ ]", requirement, maxsplit=1)[0]).lower()


OVER_SOURCES: Final[dict[str, Callable[[list[Source]], list[str]]]] = {
    "imports go one way": wrong_imports,
    "imports make no circle": import_circles,
    "domain code has no clock, chance or socket of its own": own_clocks,
    "the product does not print": prints,
    "no text suggests what destroys data": hints_that_destroy,
    "every module says what it is for": undocumented_modules,
    "no limit is written down twice": repeated_limits,
    "tests do not sleep": sleeps_in_tests,
    "every test says what must hold": silent_tests,
    "tests stand alone": entangled_tests,
    "no file knows one machine's places": machine_paths,
    "no file refers to papers that are not here": outside_papers,
}
"""The rules that are judged over all sources at once, by the sentence that must hold."""
