"""What is expected of assistants' definitions and revisions."""

from __future__ import annotations

from typing import Final

import pipelines
from cells import KEY, Cell, client_cell
from effects import Place, command, content, insert
from entries import DIGEST, EVERYBODY, OWNER, Entry, Example, Page, listed
from harness.wire import Request
from world import CLIENT, World

FREE_IN_A_MANIFEST: Final = "manifest.runtime,manifest.attention_proposals,manifest.network_policy"


ENTRIES: Final = (
    Entry(
        CLIENT,
        "assistant_create",
        "write operator R O name,description",
        callers="ok invalid",
        agents=OWNER,
        events="dev.kovee.assistant.created.v1",
        right=lambda _: {"name": "mine", "description": ""},
        examples=(
            Example(
                {"name": "kitchen", "description": "mends taps"},
                texts="name description",
                empty="description",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "assistant_show",
        "read read_realm R O -",
        callers="ok invalid",
        agents=EVERYBODY,
        right=lambda _: {"definition_id": "asst-local-dev"},
        examples=(Example({"definition_id": "asst-1"}),),
    ),
    Entry(
        CLIENT,
        "assistant_list",
        "read read_realm R O -",
        callers="ok invalid",
        agents=EVERYBODY,
        right=lambda _: {"limit": 9},
        examples=(listed({}),),
    ),
    Entry(
        CLIENT,
        "assistant_revision_register",
        "write operator R O " + FREE_IN_A_MANIFEST,
        callers="ok invalid",
        agents=OWNER,
        events="dev.kovee.assistant.revision-registered.v1",
        right=lambda s: pipelines.revision("asst-local-dev", s.key("version")),
        examples=(
            Example(
                {
                    "definition_id": "asst-1",
                    "version": "1.2.0",
                    "manifest": {
                        "schema_version": "manifest-1",
                        "definition_id": "asst-1",
                        "version": "1.2.0",
                        "entrypoint": "plumber:Plumber",
                        "package_digest": DIGEST,
                        "runtime": {"python": "3.11"},
                        "supported_worker_protocols": ["kcp-0.1"],
                        "input_schema_ref": "schema:question-v1",
                        "output_schema_ref": "schema:answer-v1",
                        "skills": ["taps", "pipes"],
                        "attention_proposals": [{"about": "taps"}],
                        "requested_capabilities": ["read"],
                        "model_profiles": ["profile-1"],
                        "tool_profiles": ["tool-1"],
                        "network_policy": {"hosts": []},
                        "resource_limits": {"cpu": 1, "memory": 256, "disk": 512, "output_bytes": 1024},
                        "default_timeout": 60,
                        "max_concurrency": 2,
                        "causal_concurrency_policy": "parallel-independent",
                        "checkpoint_support": True,
                        "cancellation_support": True,
                        "security_profiles": ["developer", "confined"],
                    },
                    "package_artifact_ref": "art-1",
                    "package_digest": DIGEST,
                    "config_schema_digest": DIGEST,
                    "sdk_protocol_range": "0.1",
                    "signature_refs": ["sig-1", "sig-2"],
                },
                optional="signature_refs",
                open="manifest.runtime manifest.attention_proposals[0] manifest.network_policy",
                sets=(
                    "manifest.supported_worker_protocols manifest.skills manifest.requested_capabilities "
                    "manifest.model_profiles manifest.tool_profiles manifest.security_profiles "
                    "signature_refs"
                ),
            ),
        ),
    ),
    Entry(
        CLIENT,
        "assistant_revision_show",
        "read read_realm R O -",
        callers="ok invalid",
        agents=EVERYBODY,
        right=lambda _: {"assistant_revision_id": "asstrev-local-dev"},
        examples=(Example({"assistant_revision_id": "asstrev-1"}),),
    ),
    Entry(
        CLIENT,
        "assistant_revision_list",
        "read read_realm R O -",
        callers="ok invalid",
        agents=EVERYBODY,
        right=lambda _: {"limit": 9},
        examples=(listed({"definition_id": "asst-1"}, optional="definition_id"),),
    ),
)


def _register(world: World) -> Request:
    args = pipelines.revision(world.others["assistant_revision_register"], "2")
    return pipelines.asked(KEY, "assistant_revision_register", args)


CELLS: Final = (
    client_cell(
        "assistant_create",
        (*command(), *content(2), insert("assistants")),
        pipelines.DEFINED,
        {"description": "Something else."},
    ),
    Cell(
        Place("assistant_revision_register", CLIENT),
        "",
        _register,
        lambda _: {"config_schema_digest": "e" * 64},
        (*command(), *content(3), insert("assistant_revisions")),
    ),
)

PAGE: Final = Page(ENTRIES, CELLS)
