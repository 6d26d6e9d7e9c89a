"""The registry against a table of authority written by hand, KCP's own registry, and KCP's schemas."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tallystick.protocol.arguments import Args
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.registry import (
    BUNDLES,
    BY_SOCKET,
    FEATURES,
    OPERATIONS,
    OWN_BUNDLES,
    Kind,
    Mode,
    Operation,
    Placement,
    Socket,
)
from tallystick.protocol.shapes import EventType, Misshapen, convert

# Socket, kind, mode, realm, project (R required, F forbidden, O optional) and content: written from the
# protocol, not from the registry.
AUTHORITY = """
client hello                          read        public        F F -
worker hello                          read        public        F F -
client protocol_info                  read        public        F F -
client diagnose                       read        operator      R O -
client realm_show                     read        read_realm    R F -
client project_create                 write       write_realm   R F name
client project_show                   read        read_project  R R -
client project_list                   read        read_realm    R F -
client space_create                   write       write_project R R title
client space_show                     read        read_space    R R -
client space_list                     read        read_project  R R -
client contribution_append            write       write_space   R R body_parts
worker contribution_append            write       worker_fenced R R body_parts
client contribution_show              read        read_space    R R -
client contribution_list              read        read_space    R R -
client relation_assert                write       write_space   R R -
worker relation_assert                write       worker_fenced R R -
client frontier_pin                   write       write_space   R R -
client frontier_show                  read        read_space    R R -
client context_assembly_create        write       write_space   R R -
worker context_assembly_create        write       worker_fenced R R -
client context_assembly_show          read        read_space    R R -
client invocation_create              write       write_project R R -
client invocation_show                read        read_project  R R -
client invocation_list                read        read_project  R R -
client invocation_cancel              write       write_project R R reason
worker invocation_cancel              write       worker_fenced R R reason
worker invocation_claim               write       worker_claim  R O -
worker invocation_complete            write       worker_fenced R O -
client events_read                    read        read_project  R O -
client events_wait                    wait        read_project  R O -
client event_payload                  read        read_project  R O -
client tallystick_limits              read        public        F F -
client tallystick_status              read        owner         R F -
client tallystick_shutdown            control     owner         R F -
worker tallystick_invocation_progress fenced_read worker_fenced R F -
worker tallystick_invocation_renew    fenced_read worker_fenced R F -
worker tallystick_invocation_fail     write       worker_fenced R F -
"""
PLACED = {"R": Placement.REQUIRED, "F": Placement.FORBIDDEN, "O": Placement.OPTIONAL}
EVENTS = {
    "project_create": "dev.kovee.project.created.v1",
    "space_create": "dev.kovee.space.created.v1",
    "contribution_append": "dev.kovee.space.contribution-appended.v1",
    "relation_assert": "dev.kovee.space.relation-asserted.v1",
    "frontier_pin": "dev.kovee.space.frontier-pinned.v1",
    "context_assembly_create": "dev.kovee.space.context-assembly-created.v1",
    "invocation_create": "dev.kovee.invocation.created.v1",
    "invocation_claim": "dev.kovee.invocation.claimed.v1",
    "invocation_complete": "dev.kovee.invocation.succeeded.v1",
    "invocation_cancel": "dev.kovee.invocation.canceled.v1",
    "tallystick_invocation_fail": "dev.tallystick.invocation.failed.v1",
}
"""Each write tells of itself by one event, and nothing else does."""

each_operation = pytest.mark.parametrize(
    "operation", OPERATIONS, ids=[f"{o.name}@{o.socket}" for o in OPERATIONS]
)


def test_authority_is_as_written_by_hand() -> None:
    """Every operation has the socket, kind, mode, placement and content of the table; there is no other."""
    rows = [line.split() for line in AUTHORITY.strip().splitlines()]
    expected = {
        (socket, name): (kind, mode, PLACED[realm], PLACED[project], () if content == "-" else (content,))
        for socket, name, kind, mode, realm, project, content in rows
    }
    found = {
        (str(o.socket), o.name): (str(o.kind), str(o.mode), o.realm, o.project, o.content) for o in OPERATIONS
    }
    assert found == expected


def test_every_row_is_found_by_its_socket() -> None:
    """The table that the door asks has each operation once."""
    assert list(BY_SOCKET.values()) == list(OPERATIONS)
    assert all(key == (operation.socket, operation.name) for key, operation in BY_SOCKET.items())


@each_operation
def test_a_row_is_whole(operation: Operation) -> None:
    """Names, summary, content, problems and extensions are of the right form."""
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,127}", operation.name)
    assert re.fullmatch(r"[A-Z][^\n]*\.", operation.summary)
    members = {field.encode_name for field in msgspec.structs.fields(operation.arguments)}
    assert set(operation.content) <= members
    assert len(set(operation.problems)) == len(operation.problems)
    assert all(name.startswith("dev.tallystick.") for name in operation.extensions)
    assert operation.bundle in BUNDLES
    assert operation.name.startswith("tallystick_") == BUNDLES[operation.bundle].own


@each_operation
def test_a_row_names_every_problem_it_must(operation: Operation) -> None:
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
    if operation.mode in (Mode.OPERATOR, Mode.OWNER):
        must |= {ProblemKind.FORBIDDEN}
    if operation.binding is not Placement.OPTIONAL:
        must |= {ProblemKind.FORBIDDEN_SURFACE}
    assert must <= set(operation.problems)
    assert ProblemKind.UNKNOWN_OP not in operation.problems


@each_operation
def test_a_write_tells_and_carries_meta(operation: Operation) -> None:
    """A write has meta and one event of a right type; what is no write has neither."""
    expected = (EVENTS[operation.name],) if operation.kind is Kind.WRITE else ()
    assert operation.events == expected
    assert operation.meta is (Placement.REQUIRED if operation.kind is Kind.WRITE else Placement.FORBIDDEN)
    assert [convert(event, EventType) for event in operation.events] == list(expected)


def test_an_operation_on_both_sockets_is_one_operation() -> None:
    """Its arguments, result, content, events and extensions are the same; only who speaks differs."""
    both = [o for o in OPERATIONS if o.socket is Socket.WORKER and (Socket.CLIENT, o.name) in BY_SOCKET]
    assert {o.name for o in both} == {
        "hello",
        "contribution_append",
        "relation_assert",
        "context_assembly_create",
        "invocation_cancel",
    }
    for worker in both:
        client = BY_SOCKET[Socket.CLIENT, worker.name]
        for member in ("arguments", "result", "content", "events", "extensions", "kind", "bundle"):
            assert getattr(worker, member) == getattr(client, member), f"{worker.name}.{member}"


def test_the_binding_follows_the_socket() -> None:
    """The four operations of both sockets require it of workers and forbid it to clients; no other asks."""
    found = {(o.name, o.socket): o.binding for o in OPERATIONS if o.binding is not Placement.OPTIONAL}
    names = ("contribution_append", "relation_assert", "context_assembly_create", "invocation_cancel")
    assert found == {
        **{(name, Socket.CLIENT): Placement.FORBIDDEN for name in names},
        **{(name, Socket.WORKER): Placement.REQUIRED for name in names},
    }


def test_bundles_are_told_apart() -> None:
    """Clients of KCP hear of its bundles that are whole; ours are named elsewhere."""
    assert FEATURES == ("core_v1",)
    assert OWN_BUNDLES == ("tallystick_core_v1", "tallystick_worker_v1")
    assert {name for bundle in BUNDLES.values() for name in bundle.operations} == {o.name for o in OPERATIONS}


# --- KCP's own registry and schemas, where they are -------------------------------------------------------
NOT_IN_KCPS_REGISTRY = {("invocation_claim", "worker"), ("invocation_complete", "worker")}


def test_kcps_registry_agrees(kcp_data: Path) -> None:
    """Each operation of KCP's that is built stands in its registry on that surface, in that bundle."""
    entries = json.loads((kcp_data / "registry.json").read_text())["entries"]
    theirs = {(entry["operation"], entry["surface"]): entry["bundle"] for entry in entries}
    ours = {(o.name, o.surface): o.bundle for o in OPERATIONS if not BUNDLES[o.bundle].own}
    assert {key: theirs.get(key) for key in ours.keys() - NOT_IN_KCPS_REGISTRY} == {
        key: bundle for key, bundle in ours.items() if key not in NOT_IN_KCPS_REGISTRY
    }
    whole = {e["bundle"] for e in entries} - {
        e["bundle"] for e in entries if (e["operation"], e["surface"]) not in ours
    }
    assert whole == set(FEATURES)


BUILT_OF_KCP = sorted(
    {o.name for o in OPERATIONS if not BUNDLES[o.bundle].own} - {name for name, _ in NOT_IN_KCPS_REGISTRY}
)


def schema_of(kcp_data: Path, operation: str, end: str) -> dict[str, Any]:
    name = f"{operation.replace('_', '-')}-{end}.schema.json"
    loaded: dict[str, Any] = json.loads((kcp_data / "schemas" / "ops" / name).read_text())
    return loaded


def plain(node: dict[str, Any], defs: dict[str, Any]) -> Any:
    """A schema reduced to what it says, with references followed, so that two of them can be compared.

    Which members exclude each other is left out: the vectors judge that.
    """
    if "$ref" in node:
        return plain(defs[node["$ref"].rpartition("/")[2]], defs)
    if "allOf" in node and len(node["allOf"]) == 1:
        return plain({**node["allOf"][0], **{k: v for k, v in node.items() if k != "allOf"}}, defs)
    if "properties" not in node and ("anyOf" in node or "oneOf" in node):
        return {"one of": sorted((plain(n, defs) for n in node.get("anyOf") or node["oneOf"]), key=str)}
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


@pytest.mark.parametrize("name", BUILT_OF_KCP)
def test_arguments_are_kcps(name: str, kcp_data: Path) -> None:
    """Members, which are required, and every bound and pattern are those of KCP's schema."""
    schema = schema_of(kcp_data, name, "request")
    operation = BY_SOCKET[Socket.CLIENT, name]
    expected, found = theirs(schema, schema["properties"]["args"]), ours(operation.arguments)
    if name in ("contribution_append", "relation_assert"):
        expected["required"].remove("expected_head_digest")  # the append extension may stand in its place
    if name == "events_wait":
        expected["members"]["filters"] = found["members"][
            "filters"
        ]  # KCP's text closes it, its schema does not
    assert found == expected


@pytest.mark.parametrize("name", BUILT_OF_KCP)
def test_placement_is_kcps(name: str, kcp_data: Path) -> None:
    """Meta, realm and project are required, allowed and forbidden as KCP's schema has it."""
    schema = schema_of(kcp_data, name, "request")

    def placed(member: str) -> Placement:
        if member not in schema["properties"]:
            return Placement.FORBIDDEN
        return Placement.REQUIRED if member in schema["required"] else Placement.OPTIONAL

    operation = BY_SOCKET[Socket.CLIENT, name]
    assert operation.meta is placed("meta")
    assert operation.realm is placed("realm_id")
    assert operation.project is placed("project_id")


@pytest.mark.parametrize("name", BUILT_OF_KCP)
def test_results_are_kcps(name: str, kcp_data: Path) -> None:
    """A record has the members and bounds of KCP's schema for that result."""
    schema = schema_of(kcp_data, name, "result")
    assert ours(BY_SOCKET[Socket.CLIENT, name].result) == theirs(schema, schema)


@pytest.mark.parametrize("value", [{"surprise": 1}, []])
@each_operation
def test_arguments_are_closed(operation: Operation, value: object) -> None:
    """No operation takes a member that it does not know, or a list in place of its arguments."""
    assert issubclass(operation.arguments, Args)
    with pytest.raises(Misshapen):
        convert(value, operation.arguments)
