"""Requests that are wrong in one place, made from right ones: a member dropped or added, of another type, or
past its bound.

The right ones stand on the families' pages (``expected``), with what may be left out and where any text or
value may stand. So these mutants know nothing of the product's types.
"""

import copy
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from entries import Entry, Example
from expected import ENTRIES

from tallystick.protocol.operation import Socket

Path_: TypeAlias = tuple[str | int, ...]
_OTHERS: Final[tuple[Any, ...]] = (None, True, 7, 1.5, "text", [], {})
_TOO_LONG: Final = "a" * 174_765
"""Longer than the longest string of the protocol, which is a chunk of an artifact."""
_TOO_MANY: Final = 257


class Specimen(NamedTuple):
    """A right request: what may be left out, and where any text, an empty one, or any value may stand.

    `open` are objects of any members, `sets` lists whose items are distinct.
    """

    name: str
    socket: Socket
    request: dict[str, Any]
    optional: frozenset[str]
    texts: frozenset[str]
    empty: frozenset[str]
    free: frozenset[str]
    open: frozenset[str]
    sets: frozenset[str]


class Mutant(NamedTuple):
    """What was done to a specimen, and the request that came of it."""

    what: str
    request: dict[str, Any]


_META: Final = {
    "request_id": "req-1",
    "idempotency_key": "key-1",
    "expected_revision": 4,
    "causation_event_ref": "evt-1",
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
}
_OPTIONAL_META: Final = ("expected_revision", "causation_event_ref", "traceparent")
_BINDING: Final = {"invocation_id": "inv-1", "attempt_id": "att-1", "fence_epoch": 1}
_HINT: Final = "com.example.hint"
"""An extension of somebody's, which any request may have."""


def specimens() -> list[Specimen]:
    """The right requests, one at least for each operation on each of its sockets."""
    return [_specimen(entry, example) for entry in ENTRIES.values() for example in entry.examples]


def _specimen(entry: Entry, example: Example) -> Specimen:
    kind, _, realm, project, _ = entry.call.split()
    request: dict[str, Any] = {"version": "0.1", "op": entry.name}
    optional = [f"ext.{_HINT}"]
    if not example.needs_ext:
        optional += ["ext", *(f"ext.{name}" for name in example.ext or ())]
    if kind == "write":
        request["meta"] = _META
        optional += [f"meta.{name}" for name in _OPTIONAL_META]
    for member, value, placed in (("realm_id", "realm-personal", realm), ("project_id", "proj-1", project)):
        if placed != "F":
            request[member] = value
        if placed == "O":
            optional.append(member)
    request["args"] = {**{member: _BINDING[member] for member in entry.binding}, **example.args}
    request["ext"] = {**(example.ext or {}), _HINT: {"any": ["thing", None]}}
    named = f"{entry.name} {example.situation}," if example.situation else entry.name
    return Specimen(
        f"{named} on the {entry.socket} socket",
        entry.socket,
        request,
        _in_args(example.optional) | set(optional),
        _in_args(example.texts),
        _in_args(example.empty),
        _in_args(example.free) | {f"ext.{_HINT}"},
        _in_args(example.open),
        _in_args(example.sets),
    )


def _in_args(names: str) -> frozenset[str]:
    return frozenset(f"args.{name}" for name in names.split())


def shortened(specimen: Specimen) -> Iterator[Mutant]:
    """The specimen without one member that may be left out: still right."""
    for path in _members(specimen):
        if _named(path) in specimen.optional:
            yield Mutant(f"without {_named(path)}", _without(specimen.request, path))


def broken(specimen: Specimen) -> Iterator[Mutant]:
    """The specimen, wrong in one place."""
    for path in _members(specimen):
        if _named(path) not in specimen.optional:
            yield Mutant(f"without {_named(path)}", _without(specimen.request, path))
    for path, value in _nodes(specimen):
        name = _named(path) or "the request"
        if isinstance(value, dict):
            if name not in specimen.open:
                yield Mutant(
                    f"a member too many in {name}", _with(specimen.request, (*path, "unexpected"), 1)
                )
            if value:
                yield Mutant(
                    f"{name} as a list of its members", _with(specimen.request, path, [*value.values()])
                )
        for other in _OTHERS:
            if _json_type(other) != _json_type(value):
                yield Mutant(f"{name} as {other!r}", _with(specimen.request, path, other))
        for what, other in _past_bounds(specimen, name, value):
            yield Mutant(f"{name} {what}", _with(specimen.request, path, other))


def _past_bounds(specimen: Specimen, name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, str):
        yield "too long", _TOO_LONG
        if name not in specimen.empty:
            yield "empty", ""
        if name not in specimen.texts:
            yield "with a newline after it", value + "\n"
            yield "with a space in it", f"{value[:1]} {value[1:]}"
            yield "with a letter outside ASCII", f"{value[:1]}é{value[1:]}"
    elif isinstance(value, list) and value:
        yield "of too many items", [value[0]] * _TOO_MANY
        yield "with a null in it", [*value, None]
        if name in specimen.sets:
            yield "with an item twice", [*value, value[-1]]
    elif type(value) is int:
        yield "negative", -1
        yield "past the safe integers", 2**53
        if name.endswith(".limit"):
            yield "zero", 0
            yield "too large", 513
        if name.endswith(".max_output_tokens"):
            yield "zero", 0
        if name.endswith(".wait_ms"):
            yield "too large", 30_001
        if name.endswith(".term_seconds"):
            yield "too small", 9
            yield "too large", 86_401


def _nodes(specimen: Specimen) -> Iterator[tuple[Path_, Any]]:
    """Each value of the request and its path, the whole first; no free value, nothing inside an open one."""

    def walk(path: Path_, value: Any) -> Iterator[tuple[Path_, Any]]:
        if _named(path) in specimen.free:
            return
        yield path, value
        if _named(path) in specimen.open:
            return
        items = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, item in items:
            yield from walk((*path, key), item)

    yield from walk((), specimen.request)


def _members(specimen: Specimen) -> Iterator[Path_]:
    """The path of each member of each object that is neither free nor open."""
    for path, value in _nodes(specimen):
        if isinstance(value, dict) and _named(path) not in specimen.open:
            yield from ((*path, key) for key in value)


def _named(path: Path_) -> str:
    name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return name.removeprefix(".")


def _with(request: dict[str, Any], path: Path_, value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(request)
    inner: Any = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return changed


def _without(request: dict[str, Any], path: Path_) -> dict[str, Any]:
    changed = copy.deepcopy(request)
    inner: Any = changed
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return changed


def _json_type(value: Any) -> str:
    return type(value).__name__
