"""The registry against a table of authority written by hand, KCP's own registry, and KCP's schemas."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tallystick.protocol.arguments import Args
from tallystick.protocol.operation import AnyOperation, Emission, Kind, Mode, Placement, Socket
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.registry import BUNDLES, BY_SOCKET, FEATURES, OPERATIONS, OWN_BUNDLES
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
client invocation_create              write       invoke        R R -
client invocation_show                read        read_project  R R -
client invocation_list                read        read_project  R R -
client invocation_cancel              write       invoke        R R reason
worker invocation_cancel              write       worker_fenced R R reason
worker invocation_claim               write       worker_claim  R O -
worker invocation_complete            write       worker_fenced R O -
client events_read                    read        read_project  R O -
client events_wait                    wait        read_project  R O -
client event_payload                  read        read_project  R O -
client tallystick_contribution_list   read        read_space    R R -
client tallystick_relation_show       read        read_space    R R -
client tallystick_relation_list       read        read_space    R R -
client tallystick_disposition_list    read        read_space    R R -
client tallystick_frontier_list       read        read_space    R R -
client tallystick_assembly_list       read        read_space    R R -
client tallystick_branch_show         read        read_space    R R -
client tallystick_events_read         read        read_project  R F -
client tallystick_limits              read        public        F F -
client tallystick_status              read        owner         R F -
client tallystick_shutdown            control     owner         R F -
client tallystick_erase               write       steward       R O -
client tallystick_agent_add           write       owner         R F name
client tallystick_agent_list          read        owner         R F -
client tallystick_agent_show          read        owner         R F -
client tallystick_agent_revoke        write       owner         R F -
worker tallystick_invocation_progress fenced_read worker_fenced R F -
worker tallystick_invocation_item     read        worker_fenced R F -
worker tallystick_invocation_artifact read        worker_fenced R F -
worker tallystick_invocation_renew    fenced_read worker_fenced R F -
worker tallystick_invocation_fail     write       worker_fenced R F -
worker tallystick_invocation_next     write       worker_next   R F -
client project_update_metadata              write write_project R R name
client project_access_policy_change_prepare write owner         R R -
client project_access_policy_change_show    read  read_project  R R -
client project_access_policy_change_list    read  read_project  R R -
client project_access_policy_change_confirm write owner         R R -
client project_access_policy_change_cancel  write owner         R R -
client space_update_metadata                write steward       R R title
client space_freeze                         write steward       R R -
client space_reopen                         write steward       R R -
client space_archive                        write steward       R R -
client space_restrict                       write steward       R R -
client space_policy_narrow                  write steward       R R -
client space_access_widen_prepare           write steward       R R -
client space_access_widen_show              read  read_space    R R -
client space_access_widen_list              read  read_project  R R -
client space_access_widen_confirm           write steward       R R -
client space_access_widen_cancel            write steward       R R -
client space_participant_add                write steward       R R -
client space_participant_activate           write operator      R R -
client space_participant_update             write steward       R R -
client space_participant_remove             write steward       R R -
client space_participant_list               read  read_space    R R -
client space_access_grant_create            write operator      R R -
client space_access_grant_revoke            write operator      R R -
client space_access_grant_list              read  read_space    R R -
client contribution_withdraw                write write_space   R R -
client contribution_supersede               write write_space   R R -
client contribution_redact                  write steward       R R -
client relation_retract                     write write_space   R R -
client reaction_set                         write write_space   R R -
client lens_create                          write write_space   R R query_ast,sort_spec,presentation_options
client lens_show                            read  read_space    R R -
client lens_list                            read  read_space    R R -
client lens_update                          write write_space   R R query_ast,sort_spec,presentation_options
client lens_revoke                          write write_space   R R -
client lens_read                            read  read_space    R R -
client snapshot_read                        read  read_project  R O -
client tallystick_artifact_begin            write upload        R O declared_raw_sha256
client tallystick_artifact_put              control upload      R O data
client tallystick_artifact_list             read  read_realm    R F -
client tallystick_artifact_get              read  read_realm    R O -
client artifact_upload_begin                write upload        R O declared_raw_sha256
client artifact_upload_show                 read  upload        R O -
client artifact_upload_credential           read  upload        R O -
client artifact_upload_finalize             write upload        R O -
client artifact_upload_abort                write upload        R O reason
client artifact_show                        read  read_realm    R O -
client disclosure_manifest_show             read  read_realm    R O -
client assistant_create                     write operator      R O name,description
client assistant_show                       read  read_realm    R O -
client assistant_list                       read  read_realm    R O -
client assistant_revision_register          write operator      R O MANIFEST
client assistant_revision_show              read  read_realm    R O -
client assistant_revision_list              read  read_realm    R O -
client deployment_create                    write operator      R O rollout_policy
client deployment_show                      read  read_realm    R O -
client deployment_list                      read  read_realm    R O -
client deployment_activate                  write operator      R O -
client deployment_drain                     write operator      R O -
client assistant_alias_bind                 write operator      R R display_alias
client assistant_alias_show                 read  read_project  R R -
client assistant_alias_list                 read  read_project  R R -
client assistant_alias_update               write operator      R R -
client assistant_alias_revoke               write operator      R R -
worker application_event_emit               write worker_fenced R R payload
worker model_complete                       write worker_fenced R R prompt,system
"""
FREE_IN_A_MANIFEST = "manifest.runtime,manifest.attention_proposals,manifest.network_policy"
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
    "tallystick_invocation_next": "dev.kovee.invocation.claimed.v1",
    "tallystick_erase": "dev.tallystick.content.erasing.v1",
    "tallystick_agent_add": "dev.tallystick.agent.added.v1",
    "tallystick_agent_revoke": "dev.tallystick.agent.revoked.v1",
    "project_update_metadata": "dev.kovee.project.updated.v1",
    "project_access_policy_change_prepare": "dev.kovee.project.policy-change-prepared.v1",
    "project_access_policy_change_confirm": "dev.kovee.project.policy-change-confirmed.v1",
    "project_access_policy_change_cancel": "dev.kovee.project.policy-change-canceled.v1",
    "space_update_metadata": "dev.kovee.space.updated.v1",
    "space_freeze": "dev.kovee.space.frozen.v1",
    "space_reopen": "dev.kovee.space.reopened.v1",
    "space_archive": "dev.kovee.space.archived.v1",
    "space_restrict": "dev.kovee.space.restricted.v1",
    "space_policy_narrow": "dev.kovee.space.policy-narrowed.v1",
    "space_access_widen_prepare": "dev.kovee.space.access-widening-prepared.v1",
    "space_access_widen_confirm": "dev.kovee.space.access-widening-confirmed.v1",
    "space_access_widen_cancel": "dev.kovee.space.access-widening-canceled.v1",
    "space_participant_add": "dev.kovee.space.participant-added.v1",
    "space_participant_activate": "dev.kovee.space.participant-activated.v1",
    "space_participant_update": "dev.kovee.space.participant-updated.v1",
    "space_participant_remove": "dev.kovee.space.participant-removed.v1",
    "space_access_grant_create": "dev.kovee.space.access-grant-created.v1",
    "space_access_grant_revoke": "dev.kovee.space.access-grant-revoked.v1",
    "contribution_withdraw": "dev.kovee.space.contribution-withdrawn.v1",
    "contribution_supersede": "dev.kovee.space.contribution-superseded.v1",
    "contribution_redact": "dev.kovee.space.contribution-redacted.v1",
    "relation_retract": "dev.kovee.space.relation-retracted.v1",
    "reaction_set": "dev.kovee.space.reaction-set.v1",
    "lens_create": "dev.kovee.space.lens-created.v1",
    "lens_update": "dev.kovee.space.lens-updated.v1",
    "lens_revoke": "dev.kovee.space.lens-revoked.v1",
    "tallystick_artifact_begin": "dev.kovee.artifact.upload-began.v1",
    "artifact_upload_begin": "dev.kovee.artifact.upload-began.v1",
    "artifact_upload_finalize": "dev.kovee.artifact.available.v1 dev.kovee.artifact.rejected.v1",
    "artifact_upload_abort": "dev.kovee.artifact.upload-aborted.v1",
    "assistant_create": "dev.kovee.assistant.created.v1",
    "assistant_revision_register": "dev.kovee.assistant.revision-registered.v1",
    "deployment_create": "dev.kovee.assistant.deployment-created.v1",
    "deployment_activate": "dev.kovee.assistant.deployment-activated.v1",
    "deployment_drain": "dev.kovee.assistant.deployment-drained.v1",
    "assistant_alias_bind": "dev.kovee.assistant.alias-bound.v1",
    "assistant_alias_update": "dev.kovee.assistant.alias-updated.v1",
    "assistant_alias_revoke": "dev.kovee.assistant.alias-revoked.v1",
    "application_event_emit": "",
    "model_complete": "",
}
"""Each write tells of itself by one event, and nothing else does; but for `EMISSIONS`."""
EMISSIONS = {
    "artifact_upload_finalize": Emission.ONE_OF,
    "reaction_set": Emission.ON_CHANGE,
    "application_event_emit": Emission.OF_CALLER,
}
"""The writes that tell by one of several events, by none where nothing changed, or by one of their caller's
type. A call to a model tells nothing, for it is never made."""

each_operation = pytest.mark.parametrize(
    "operation", OPERATIONS, ids=[f"{o.name}@{o.socket}" for o in OPERATIONS]
)


def test_authority_is_as_written_by_hand() -> None:
    """Every operation has the socket, kind, mode, placement and content of the table; there is no other."""
    rows = [line.split() for line in AUTHORITY.strip().splitlines()]
    expected = {
        (socket, name): (
            kind,
            mode,
            PLACED[realm],
            PLACED[project],
            content.replace("MANIFEST", FREE_IN_A_MANIFEST),
        )
        for socket, name, kind, mode, realm, project, content in rows
    }
    found = {
        (str(o.socket), o.name): (str(o.kind), str(o.mode), o.realm, o.project, ",".join(o.content) or "-")
        for o in OPERATIONS
    }
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
    """Whether `shape` has a member at `path`, whose steps are set apart by dots."""
    name, _, inner = path.partition(".")
    found = [field for field in msgspec.structs.fields(shape) if field.encode_name == name]
    return bool(found) and (not inner or has_member(found[0].type, inner))


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
    """A write has meta and its events, of a right type; what is no write has neither."""
    expected = tuple(EVENTS[operation.name].split()) if operation.kind is Kind.WRITE else ()
    assert operation.events == expected
    assert operation.emission is EMISSIONS.get(operation.name, Emission.EACH)
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
    """The four operations of both sockets require it of workers and forbid it to clients."""
    found = {(o.name, o.socket): o.binding for o in OPERATIONS if o.binding is not Placement.OPTIONAL}
    names = ("contribution_append", "relation_assert", "context_assembly_create", "invocation_cancel")
    assert found == {
        **{(name, Socket.CLIENT): Placement.FORBIDDEN for name in names},
        **{(name, Socket.WORKER): Placement.REQUIRED for name in names},
    }


def test_bundles_are_told_apart() -> None:
    """Clients of KCP hear of its bundles that are whole; ours are named elsewhere."""
    assert FEATURES == ("core_v1", "shared_space_v1", "developer_assistant_v1")
    own = ("core", "worker", "agent", "erasure", "artifact", "space")
    assert tuple(f"tallystick_{name}_v1" for name in own) == OWN_BUNDLES
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
