"""The registry against the pages written by hand (``expected``), KCP's own registry, and KCP's schemas."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from expected import ENTRIES, PAGES

from tallystick.protocol.arguments import Args
from tallystick.protocol.families import NAMES
from tallystick.protocol.operation import AnyOperation, Emission, Kind, Mode, Placement, Socket
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.registry import BUNDLES, BY_FAMILY, BY_SOCKET, FEATURES, OPERATIONS, OWN_BUNDLES
from tallystick.protocol.shapes import EventType, Misshapen, convert

PLACED = {"R": Placement.REQUIRED, "F": Placement.FORBIDDEN, "O": Placement.OPTIONAL}
"""How the pages say where a member of the envelope stands."""

each_operation = pytest.mark.parametrize(
    "operation", OPERATIONS, ids=[f"{o.name}@{o.socket}" for o in OPERATIONS]
)


def test_each_family_has_its_page() -> None:
    """The pages that were found are the families, and each has its family's operations, once."""
    assert PAGES.keys() == set(NAMES)
    for family, operations in BY_FAMILY.items():
        names = [(entry.socket, entry.name) for entry in PAGES[family].entries]
        assert sorted(names) == sorted((o.socket, o.name) for o in operations), family


def test_authority_is_as_written_by_hand() -> None:
    """Every operation has the kind, mode, placement and content of its entry; there is no other."""
    found = {
        (o.socket, o.name): (str(o.kind), str(o.mode), o.realm, o.project, ",".join(o.content) or "-")
        for o in OPERATIONS
    }
    expected = {}
    for entry in ENTRIES.values():
        kind, mode, realm, project, content = entry.call.split()
        expected[entry.socket, entry.name] = (kind, mode, PLACED[realm], PLACED[project], content)
    assert found == expected


def test_every_row_is_found_by_its_socket() -> None:
    """The table that the door asks has each operation once."""
    assert list(BY_SOCKET.values()) == list(OPERATIONS)
    assert all(key == (operation.socket, operation.name) for key, operation in BY_SOCKET.items())


def test_nobody_but_an_operator_does_what_is_an_operators() -> None:
    """KCP's operator surface and the mode that admits operators go together; only the owner's is stricter."""
    assert {
        o.name for o in OPERATIONS if o.surface == "operator" and o.mode not in (Mode.OPERATOR, Mode.OWNER)
    } == set()
    assert {o.name for o in OPERATIONS if o.mode is Mode.OPERATOR and o.surface != "operator"} == set()


def has_member(shape: type[msgspec.Struct], path: str) -> bool:
    """Whether `shape` has a member at `path`, whose steps are set apart by dots, and go into lists."""
    name, _, inner = path.partition(".")
    found = [field for field in msgspec.structs.fields(shape) if field.encode_name == name]
    return bool(found) and (not inner or any(has_member(each, inner) for each in structs_in(found[0].type)))


def structs_in(type_: Any) -> list[type[msgspec.Struct]]:
    """The structs that a type is made of."""
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        return [type_]
    return [found for part in get_args(type_) for found in structs_in(part)]


@each_operation
def test_a_row_is_whole(operation: AnyOperation) -> None:
    """Names, summary, content, problems and extensions are of the right form."""
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,127}", operation.name)
    assert re.fullmatch(r"[A-Z][^\n]*\.", operation.summary)
    assert [path for path in operation.content if not has_member(operation.arguments, path)] == []
    assert len(set(operation.problems)) == len(operation.problems)
    assert all(name.startswith("dev.tallystick.") for name in operation.extensions)
    assert operation.bundle in BUNDLES
    assert operation.name.startswith("tallystick_") == BUNDLES[operation.bundle].own


@each_operation
def test_a_row_names_every_problem_it_must(operation: AnyOperation) -> None:
    """What follows from its kind and mode: invalid always, mismatch for a key, stale-lease for a fence."""
    must = {
        ProblemKind.INVALID,
        ProblemKind.UNSUPPORTED_VERSION,
        ProblemKind.UNAVAILABLE,
        ProblemKind.INTERNAL,
    }
    if operation.kind is Kind.WRITE:
        must |= {ProblemKind.IDEMPOTENCY_MISMATCH, ProblemKind.IDEMPOTENCY_RESULT_EXPIRED}
    if operation.realm is Placement.REQUIRED:
        must |= {ProblemKind.NOT_FOUND}
    if operation.mode in (Mode.WORKER_FENCED, Mode.WORKER_CLAIM):
        must |= {ProblemKind.STALE_LEASE, ProblemKind.DEADLINE_EXCEEDED}
    if operation.mode is Mode.WORKER_NEXT:
        must |= {ProblemKind.STALE_LEASE}  # a replay of a claim that is no longer current
    if operation.mode in (Mode.OPERATOR, Mode.OWNER, Mode.STEWARD):
        must |= {ProblemKind.FORBIDDEN}
    if operation.binding is not Placement.OPTIONAL:
        must |= {ProblemKind.FORBIDDEN_SURFACE}
    assert must <= set(operation.problems)
    assert ProblemKind.UNKNOWN_OP not in operation.problems


@each_operation
def test_a_write_tells_and_carries_meta(operation: AnyOperation) -> None:
    """A write has meta, and the events of its entry, of a right type; what is no write has neither. One write
    tells by one event, unless its entry says otherwise.
    """
    entry = ENTRIES[operation.socket, operation.name]
    expected = tuple(entry.events.split())
    assert operation.events == expected
    assert operation.emission is entry.emission
    if operation.kind is not Kind.WRITE:
        assert not expected
    elif operation.emission is Emission.EACH:
        assert len(expected) == 1 or operation.rows == (), "a write tells nothing, or too much"
    assert operation.meta is (Placement.REQUIRED if operation.kind is Kind.WRITE else Placement.FORBIDDEN)
    assert [convert(event, EventType) for event in operation.events] == list(expected)


def test_an_operation_on_both_sockets_is_one_operation() -> None:
    """Its arguments, result, content, events and extensions are the same; only who speaks differs."""
    both = [o for o in OPERATIONS if o.socket is Socket.WORKER and (Socket.CLIENT, o.name) in BY_SOCKET]
    assert both
    for worker in both:
        client = BY_SOCKET[Socket.CLIENT, worker.name]
        for member in ("arguments", "result", "content", "events", "extensions", "kind", "bundle"):
            assert getattr(worker, member) == getattr(client, member), f"{worker.name}.{member}"


def test_the_binding_follows_the_socket() -> None:
    """Where an entry says that whoever names an attempt on the client socket, or none on the worker socket,
    speaks on the wrong surface, the binding is forbidden there, and required here.
    """
    found = {(o.socket, o.name): o.binding for o in OPERATIONS if o.binding is not Placement.OPTIONAL}
    of_socket = {Socket.CLIENT: Placement.FORBIDDEN, Socket.WORKER: Placement.REQUIRED}
    on_a_surface = [entry for entry in ENTRIES.values() if entry.callers.endswith(" surface")]
    assert on_a_surface
    assert found == {(entry.socket, entry.name): of_socket[entry.socket] for entry in on_a_surface}


def test_bundles_are_told_apart() -> None:
    """Clients of KCP hear of its bundles that are whole; ours are named elsewhere."""
    assert FEATURES == ("core_v1", "shared_space_v1", "developer_assistant_v1")
    assert all(re.fullmatch(r"tallystick_[a-z]+_v[0-9]+", name) for name in OWN_BUNDLES)
    assert set(OWN_BUNDLES) == {o.bundle for o in OPERATIONS} - set(FEATURES)
    assert {name for bundle in BUNDLES.values() for name in bundle.operations} == {o.name for o in OPERATIONS}


# --- KCP's own registry and schemas, where they are -------------------------------------------------------
NOT_IN_KCPS_REGISTRY = {("invocation_claim", "worker"), ("invocation_complete", "worker")}


OUR_BUNDLES = {bundle.name for bundle in BUNDLES.values() if not bundle.own}


def bundles_by_entry(operations: Iterable[AnyOperation]) -> dict[tuple[str, str], str]:
    """The entries that KCP's registry should have: the bundle of each operation on each surface."""
    return {
        (o.name, o.surface): o.bundle
        for o in operations
        if o.bundle in OUR_BUNDLES and (o.name, o.surface) not in NOT_IN_KCPS_REGISTRY
    }


def test_kcps_registry_agrees(kcp_data: Path) -> None:
    """What is served is what KCP's registry has in our bundles, whole."""
    entries = json.loads((kcp_data / "registry.json").read_text())["entries"]
    theirs = {(e["operation"], e["surface"]): e["bundle"] for e in entries if e["bundle"] in OUR_BUNDLES}
    assert bundles_by_entry(OPERATIONS) == theirs
    assert set(FEATURES) == set(theirs.values())


OF_KCP = {
    o.name: BY_SOCKET.get((Socket.CLIENT, o.name), o)
    for o in OPERATIONS
    if o.bundle in OUR_BUNDLES and (o.name, o.surface) not in NOT_IN_KCPS_REGISTRY
}
each_of_kcp = pytest.mark.parametrize("name", sorted(OF_KCP))


def schema_of(kcp_data: Path, operation: str, end: str) -> dict[str, Any]:
    name = f"{operation.replace('_', '-')}-{end}.schema.json"
    loaded: dict[str, Any] = json.loads((kcp_data / "schemas" / "ops" / name).read_text())
    return loaded


def dumped(node: Any) -> str:
    """`node` as text, whatever the order of its members."""
    return json.dumps(node, sort_keys=True)


def plain(node: dict[str, Any], defs: dict[str, Any]) -> Any:
    """A schema reduced to what it says, with references followed, so that two of them can be compared.

    Which members exclude each other is left out: the vectors judge that.
    """
    if "$ref" in node:
        return plain(defs[node["$ref"].rpartition("/")[2]], defs)
    if "allOf" in node and len(node["allOf"]) == 1:
        return plain({**node["allOf"][0], **{k: v for k, v in node.items() if k != "allOf"}}, defs)
    if "properties" not in node and ("anyOf" in node or "oneOf" in node):
        return {"one of": sorted((plain(n, defs) for n in node.get("anyOf") or node["oneOf"]), key=dumped)}
    if node.get("type") == "object" and ("properties" in node or node.get("additionalProperties") is False):
        members = {name: plain(member, defs) for name, member in node.get("properties", {}).items()}
        if {"media_type", "artifact_ref"} <= members.keys():
            return "a part"  # one struct of ours, five shapes of KCP's: judged on its own
        return {"members": members, "required": sorted(node.get("required", ()))}
    if node.get("type") == "array":
        bounds = {key: node[key] for key in ("minItems", "maxItems") if node.get(key)}
        return {"list": plain(node.get("items", {}), defs), **bounds}
    if "enum" in node or "const" in node:
        return {"enum": sorted(map(str, node.get("enum", [node.get("const")])))}
    kept = ("type", "minLength", "maxLength", "minimum", "maximum", "pattern")
    rest = {key: node[key] for key in kept if key in node}
    if "pattern" in rest:
        rest["pattern"] = rest["pattern"].removesuffix("$").removesuffix(r"\Z")
        if "T(?:[01]" in rest["pattern"] or "T([01]" in rest["pattern"]:
            rest["pattern"] = "a time"  # ours has the calendar in it: judged on its own
    if rest.get("minLength") == 0:
        del rest["minLength"]
    return rest


def theirs(schema: dict[str, Any], node: dict[str, Any]) -> Any:
    """KCP's schema, plain; its contribution part is named and not unfolded."""
    defs = {
        name: ({"const": "a part"} if name == "contributionPart" else d)
        for name, d in schema["$defs"].items()
    }
    return json.loads(json.dumps(plain(node, defs)).replace('{"enum": ["a part"]}', '"a part"'))


def ours(shape: type[msgspec.Struct]) -> Any:
    """The schema of one of our structs, plain."""
    schema = msgspec.json.schema(shape)
    return plain(schema, schema.get("$defs", {}))


@each_of_kcp
def test_arguments_are_kcps(name: str, kcp_data: Path) -> None:
    """Members, which are required, and every bound and pattern are those of KCP's schema."""
    schema = schema_of(kcp_data, name, "request")
    operation = OF_KCP[name]
    expected, found = theirs(schema, schema["properties"]["args"]), ours(operation.arguments)
    if name in ("contribution_append", "relation_assert"):
        expected["required"].remove("expected_head_digest")  # the append extension may stand in its place
    if name == "events_wait":
        expected["members"]["filters"] = found["members"][
            "filters"
        ]  # KCP's text closes it, its schema does not
    assert found == expected


@each_of_kcp
def test_placement_is_kcps(name: str, kcp_data: Path) -> None:
    """Meta, realm and project are required, allowed and forbidden as KCP's schema has it."""
    schema = schema_of(kcp_data, name, "request")

    def placed(member: str) -> Placement:
        if member not in schema["properties"]:
            return Placement.FORBIDDEN
        return Placement.REQUIRED if member in schema["required"] else Placement.OPTIONAL

    operation = OF_KCP[name]
    assert operation.meta is placed("meta")
    assert operation.realm is placed("realm_id")
    assert operation.project is placed("project_id")


@each_of_kcp
def test_results_are_kcps(name: str, kcp_data: Path) -> None:
    """A record has the members and bounds of KCP's schema for that result."""
    schema = schema_of(kcp_data, name, "result")
    assert ours(OF_KCP[name].result) == theirs(schema, schema)


@pytest.mark.parametrize("value", [{"surprise": 1}, []])
@each_operation
def test_arguments_are_closed(operation: AnyOperation, value: object) -> None:
    """No operation takes a member that it does not know, or a list in place of its arguments."""
    assert issubclass(operation.arguments, Args)
    with pytest.raises(Misshapen):
        convert(value, operation.arguments)
