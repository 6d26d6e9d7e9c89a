"""KCP's digests: our own vectors, KCP's, and what another implementation recorded."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tallystick.protocol import digests

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "vectors" / "digests.json").read_text())


def test_canonical_object_digests() -> None:
    """A canonical object digest covers kind, schema and value: all differ, all are as computed elsewhere."""
    vectors = VECTORS["canonical_objects"]
    found = [digests.cod(vector["kind"], vector["schema_ref"], vector["projection"]) for vector in vectors]
    assert found == [vector["hex"] for vector in vectors]
    assert len(set(found)) == len(found)


def test_typed_byte_digests() -> None:
    """A typed byte digest covers domain, reference and bytes with their lengths: no split is like another."""
    vectors = VECTORS["typed_bytes"]
    found = [
        digests.tbd(vector["domain"], vector["ref"], bytes.fromhex(vector["data"])) for vector in vectors
    ]
    assert found == [vector["hex"] for vector in vectors]
    assert len(set(found)) == len(found)


def test_keyed_digests() -> None:
    """A keyed digest depends on secret, tag and object."""
    vectors = VECTORS["keyed"]
    found = [
        digests.keyed(bytes.fromhex(vector["secret"]), vector["tag"], vector["object"]) for vector in vectors
    ]
    assert found == [vector["hex"] for vector in vectors]
    assert len(set(found)) == len(found)


def test_tagging() -> None:
    """The tag is a member of the canonical object; one that is already there is refused, the object kept."""
    subject = {"b": 1, "a": 2}
    assert digests.tagged("tag", subject) == b'{"$domain":"tag","a":2,"b":1}'
    assert subject == {"b": 1, "a": 2}
    with pytest.raises(ValueError, match=r"\$domain"):
        digests.tagged("tag", {"$domain": "tag"})


def test_a_branch_of_ours() -> None:
    """The head of a branch goes from its id over each object in turn."""
    branch = VECTORS["branch"]
    heads = [digests.branch_genesis(branch["branch_id"])]
    for sequence, object_digest in enumerate(branch["object_digests"], start=1):
        heads.append(digests.branch_next(heads[-1], sequence, object_digest))
    assert heads == branch["heads"]


def test_limits() -> None:
    """The limits' digest covers the seven limits that KCP names, at our values."""
    assert digests.limits_digest() == VECTORS["limits_hex"]


@pytest.mark.parametrize("case", VECTORS["requests"]["cases"], ids=lambda case: case["name"])
def test_what_a_request_means(case: dict[str, Any]) -> None:
    """The projection holds what is meant, not who asks and how; its digest is as computed elsewhere."""
    envelope = VECTORS["requests"]["envelope"]
    before = json.dumps(envelope)
    projection = digests.request_projection(
        envelope, surface=case["surface"], leave_out=case["leave_out"], blank=case["blank"]
    )
    assert projection == case["projection"]
    assert digests.request_digest(projection) == case["hex"]
    assert json.dumps(envelope) == before


def test_a_request_without_optional_members() -> None:
    """Absent ext counts as empty; realm, project and expected revision stay absent where not sent."""
    bare = {"version": "0.1", "op": "hello", "args": {}}
    assert digests.request_projection(bare, surface="external_client") == {
        "version": "0.1", "authority_surface": "external_client", "op": "hello", "args": {}, "ext": {},
    }  # fmt: skip
    keyed_only = {**bare, "ext": {}, "meta": {"request_id": "r", "idempotency_key": "k"}}
    assert digests.request_projection(keyed_only, surface="external_client") == digests.request_projection(
        bare, surface="external_client"
    )


@pytest.mark.parametrize(
    ("blank", "expected"),
    [
        (["manifest.runtime"], {"name": "a", "manifest": {"runtime": None, "skills": ["b"]}}),
        (
            ["manifest.runtime", "name", "manifest.skills"],
            {"name": None, "manifest": {"runtime": None, "skills": None}},
        ),
        (["manifest.absent"], {"name": "a", "manifest": {"runtime": {"x": 1}, "skills": ["b"]}}),
        (["absent.runtime"], {"name": "a", "manifest": {"runtime": {"x": 1}, "skills": ["b"]}}),
        (["name.runtime"], {"name": "a", "manifest": {"runtime": {"x": 1}, "skills": ["b"]}}),
        (["manifest.runtime.x"], {"name": "a", "manifest": {"runtime": {"x": None}, "skills": ["b"]}}),
    ],
)
def test_content_inside_an_argument(blank: list[str], expected: dict[str, Any]) -> None:
    """A dotted name blanks that member and nothing beside it, and what is not there stays absent."""
    arguments = {"name": "a", "manifest": {"runtime": {"x": 1}, "skills": ["b"]}}
    before = json.dumps(arguments)
    envelope = {"version": "0.1", "op": "x", "args": arguments}
    projection = digests.request_projection(envelope, surface="external_client", blank=blank)
    assert projection["args"] == expected
    assert json.dumps(arguments) == before


# --- KCP's own data -----------------------------------------------------------------------------------------
def derived(derivation: dict[str, Any]) -> str:
    """The digest that one of KCP's vectors asks for."""
    if "raw_command" in derivation:
        command = dict(derivation["raw_command"])
        meta = {
            name: command.pop(name)
            for name in ("request_id", "traceparent", "expected_revision")
            if name in command
        }
        surface = command.pop("authority_surface")
        return digests.request_digest(digests.request_projection({**command, "meta": meta}, surface=surface))
    if "projection" in derivation:
        return digests.cod(derivation["object_kind"], derivation["schema_ref"], derivation["projection"])
    data = derivation["bytes_utf8"].encode()
    return digests.tbd(derivation["domain"], derivation["media_or_schema_ref"], data)


def test_kcps_digests(kcp_data: Path) -> None:
    """Each derivation in KCP's digest vectors gives the digest that it names."""
    judged, wrong = 0, []
    for path in sorted((kcp_data / "vectors" / "envelope").glob("digest-*.json")):
        vector = json.loads(path.read_text())
        pairs = zip(vector["input"]["derivations"], vector["expected"]["results"], strict=True)
        for derivation, result in pairs:
            judged += 1
            if derived(derivation) != result.get("sha256_hex", result.get("digest_hex")):
                wrong.append((path.name, derivation))
    assert wrong == []
    assert judged >= 13


def recorded(kcp_data: Path) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Step, request and result of each command that the other implementation served."""
    for path in sorted((kcp_data / "transcripts").glob("*.transcript.json")):
        for step in json.loads(path.read_text()):
            request, reply = step.get("request"), step.get("reply")
            if isinstance(request, dict) and isinstance(reply, dict) and reply.get("outcome") == "ok":
                yield step["name"], request, reply["result"]


def test_recorded_branch_heads(kcp_data: Path) -> None:
    """Every head that a client had to name, and every head that was pinned, is what we compute."""
    heads: dict[str, tuple[str, int]] = {}
    appended, pinned = 0, 0
    for name, request, result in recorded(kcp_data):
        branch = str(result.get("origin_branch_id", result.get("branch_id")))
        head, length = heads.get(branch, (digests.branch_genesis(branch), 0))
        if request["op"] == "frontier_pin":
            assert (result["branch_head_digest"], result["branch_sequence"]) == (head, length), name
            pinned += 1
        if request["op"] not in ("contribution_append", "relation_assert"):
            continue
        sequence = int(result.get("origin_branch_sequence", result.get("branch_sequence", 0)))
        if sequence <= length:
            continue  # a replay, or a read-back
        assert (request["args"]["expected_head_digest"], sequence) == (head, length + 1), name
        object_digest = str(result.get("content_digest", result.get("digest")))
        heads[branch] = (digests.branch_next(head, sequence, object_digest), sequence)
        appended += 1
    assert appended >= 40
    assert pinned >= 5


def test_recorded_digests_of_records(kcp_data: Path) -> None:
    """Recorded digests of assemblies, of events' payloads and of the limits are what we compute."""
    assemblies, payloads, limits = 0, 0, 0
    for name, request, result in recorded(kcp_data):
        if request["op"] == "context_assembly_create":
            record = {member: value for member, value in result.items() if member != "digest"}
            found = digests.cod("kovee-context-assembly", "schema:context-assembly-v1", record)
            assert found == result["digest"], name
            assemblies += 1
        for event in result.get("events", ()):
            # Long texts are recorded by their beginning, length and checksum.
            if "payload" in event and " characters, crc " not in json.dumps(event["payload"]):
                found = digests.cod("kcp-event-payload", event["schema_ref"], event["payload"])
                assert found == event["payload_digest"], (name, event["type"])
                payloads += 1
        if "limits_digest" in result:
            assert result["limits_digest"] == digests.limits_digest(), name
            limits += 1
    assert assemblies >= 5
    assert payloads >= 20
    assert limits >= 2
