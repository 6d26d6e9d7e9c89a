"""What is expected of deployments of assistants."""

from __future__ import annotations

from typing import Final

import pipelines
from cells import KEY, NOWHERE, Cell, client_cell
from effects import Place, command, content, insert, update
from entries import DIGEST, EVERYBODY, OWNER, Entry, Example, Page, listed
from harness.wire import Request
from world import CLIENT, DEPLOYMENT, World

ENTRIES: Final = (
    Entry(
        CLIENT,
        "deployment_create",
        "write operator R O rollout_policy",
        callers="ok invalid",
        agents=OWNER,
        events="dev.kovee.assistant.deployment-created.v1",
        right=lambda _: pipelines.deployment("asstrev-local-dev"),
        examples=(
            Example(
                {
                    "assistant_revision_id": "asstrev-1",
                    "config_ref": "config-1",
                    "config_digest": DIGEST,
                    "secret_binding_set_ref": "secrets-1",
                    "secret_binding_set_digest": DIGEST,
                    "policy_ref": "policy-default",
                    "pool_ref": "pool-local",
                    "security_profile": "confined",
                    "concurrency_policy": "parallel-independent",
                    "rollout_policy": {"share": 0.5, "then": None},
                },
                open="rollout_policy",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "deployment_show",
        "read read_realm R O -",
        callers="ok invalid",
        agents=EVERYBODY,
        right=lambda _: {"assistant_deployment_id": DEPLOYMENT},
        examples=(Example({"assistant_deployment_id": "dep-1"}),),
    ),
    Entry(
        CLIENT,
        "deployment_list",
        "read read_realm R O -",
        callers="ok invalid",
        agents=EVERYBODY,
        right=lambda _: {"limit": 9},
        examples=(listed({"assistant_revision_id": "asstrev-1"}, optional="assistant_revision_id"),),
    ),
    Entry(
        CLIENT,
        "deployment_activate",
        "write operator R O -",
        callers="ok invalid",
        agents=OWNER,
        events="dev.kovee.assistant.deployment-activated.v1",
        right=lambda s: {"assistant_deployment_id": s.deployment()["assistant_deployment_id"]},
        examples=(Example({"assistant_deployment_id": "dep-1"}),),
    ),
    Entry(
        CLIENT,
        "deployment_drain",
        "write operator R O -",
        callers="ok invalid",
        agents=OWNER,
        events="dev.kovee.assistant.deployment-drained.v1",
        right=lambda s: {"assistant_deployment_id": s.deployment(active=True)["assistant_deployment_id"]},
        examples=(Example({"assistant_deployment_id": "dep-1"}),),
    ),
)


def _create(world: World) -> Request:
    args = pipelines.deployment(world.others["deployment_create"])
    return pipelines.asked(KEY, "deployment_create", args)


def _cell(operation: str, *columns: str) -> Cell:
    """A cell of an operation on the deployment that the world has for it."""
    rows = (*command(), update("deployments", "revision", "status", *columns))
    other = {"assistant_deployment_id": f"dep-{NOWHERE}"}
    return client_cell(operation, rows, {}, other, names=("assistant_deployment_id", operation))


CELLS: Final = (
    Cell(
        Place("deployment_create", CLIENT),
        "",
        _create,
        lambda _: {"rollout_policy": {"percent": 1}},
        (*command(), *content(), insert("deployments")),
    ),
    _cell("deployment_activate", "activated_ms"),
    _cell("deployment_drain"),
)

PAGE: Final = Page(ENTRIES, CELLS)
