"""Assistants of the prepared store, their revisions, deployments and aliases: one for each cell that changes
one.
"""

from __future__ import annotations

from typing import Any, Final

from harness.wire import Request, Wire, request

from tallystick.protocol.operation import Socket

PACKAGE: Final = "a" * 64
BUILT_IN: Final = {"assistant_deployment_id": "dep-local-dev", "deployment_revision": 1}
ACTIVE: Final = ("deployment_drain", "next queued", "next lapsed")
"""What active deployments are there for; each is at revision 2."""
DEFINED: Final = {"name": "Reviewer", "description": "Reads evidence, and says what follows."}

JsonObject = dict[str, Any]


def asked(key: str, operation: str, args: JsonObject, project: str | None = None) -> Request:
    return request(Socket.CLIENT, operation, args, key=key, project=project)


def manifest(definition_id: str, version: str) -> JsonObject:
    """A manifest as the schema wants it: each free-form member is content of its own."""
    return {
        "schema_version": "1",
        "definition_id": definition_id,
        "version": version,
        "entrypoint": "reviewer:Reviewer",
        "package_digest": PACKAGE,
        "runtime": {"python": "3.11"},
        "supported_worker_protocols": ["0.1"],
        "input_schema_ref": "schema:context-assembly-v1",
        "output_schema_ref": "schema:contribution-body-v1",
        "skills": [],
        "attention_proposals": [],
        "requested_capabilities": [],
        "model_profiles": [],
        "tool_profiles": [],
        "network_policy": {},
        "resource_limits": {"cpu": 1, "memory": 1, "disk": 1, "output_bytes": 1},
        "default_timeout": 60,
        "max_concurrency": 1,
        "causal_concurrency_policy": "serial-branch",
        "checkpoint_support": False,
        "cancellation_support": True,
        "security_profiles": ["developer"],
    }


def revision(definition_id: str, version: str) -> JsonObject:
    """What registers a revision."""
    return {
        "definition_id": definition_id,
        "version": version,
        "manifest": manifest(definition_id, version),
        "package_artifact_ref": "art-package",
        "package_digest": PACKAGE,
        "config_schema_digest": "b" * 64,
        "sdk_protocol_range": "0.1",
    }


def deployment(revision_id: str) -> JsonObject:
    """What deploys a revision."""
    return {
        "assistant_revision_id": revision_id,
        "config_ref": "cfg-1",
        "config_digest": "c" * 64,
        "secret_binding_set_ref": "secrets-1",
        "secret_binding_set_digest": "d" * 64,
        "policy_ref": "policy-1",
        "pool_ref": "pool-1",
        "security_profile": "developer",
        "concurrency_policy": "serial-branch",
        "rollout_policy": {"percent": 100},
    }


def made(client: Wire, project: str) -> dict[str, str]:
    """By the operation of the cell that uses it: a definition, a revision, deployments, two aliases."""
    definition = client.ask(asked("w-definition", "assistant_create", DEFINED)).result["definition_id"]
    registered = asked("w-revision", "assistant_revision_register", revision(definition, "1"))
    revision_id = client.ask(registered).result["assistant_revision_id"]
    found = {"assistant_revision_register": definition, "deployment_create": revision_id}
    for name in ("deployment_activate", *ACTIVE):
        key = "w-" + name.replace(" ", "-")
        created = client.ask(asked(key, "deployment_create", deployment(revision_id))).result
        found[name] = created["assistant_deployment_id"]
        if name in ACTIVE:
            named = {"assistant_deployment_id": found[name]}
            assert client.ask(asked(f"{key}-active", "deployment_activate", named)).ok
    for operation in ("assistant_alias_update", "assistant_alias_revoke"):
        bound = {"display_alias": operation, **BUILT_IN}
        alias = client.ask(asked(f"w-{operation}", "assistant_alias_bind", bound, project)).result
        found[operation] = alias["alias_binding_id"]
    return found
