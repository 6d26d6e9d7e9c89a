"""What a command costs does not grow with the log."""

from __future__ import annotations

from typing import Any

import apsw

from tallystick.protocol.operation import Socket

from .kernel import Kernel

ENTRIES = 400
STEPS_MAX = 50
"""Of one statement through a table: a few commands' worth, and far fewer than the log has entries."""


def test_no_write_of_the_journey_walks_through_a_table(kernel: Kernel) -> None:
    """Beside a log of hundreds of entries, no statement of a command steps through that many rows."""
    project = kernel.project()
    filled = kernel.space(project, "filled")
    requests = [kernel.append_request(filled, f"number {n}", key=f"fill-{n}") for n in range(ENTRIES)]
    assert all(answer["outcome"] == "ok" for answer in kernel.batch(requests))
    while kernel.clerk.tidy():
        continue
    walked: dict[str, int] = {}

    def note(traced: dict[str, Any]) -> None:
        steps = traced["stmt_status"]["SQLITE_STMTSTATUS_FULLSCAN_STEP"]
        walked[traced["sql"]] = max(steps, walked.get(traced["sql"], 0))

    kernel.store.writer.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)
    for name in ("first", "second"):
        kernel.project(name)
        space = kernel.space(project, name)
        question = kernel.said(space, "why?", "question", key=f"q-{name}")
        named = {"space_id": space["space_id"], "branch_id": space["main_branch_id"]}
        kernel.ok("frontier_pin", named, project=project)
        invocation = kernel.invocation(space, question)
        claimed = kernel.claim(invocation)["result"]
        binding = {name: claimed[name] for name in ("attempt_id", "fence_epoch")}
        args = {"invocation_id": invocation["invocation_id"], **binding}
        kernel.ok("invocation_complete", args, socket=Socket.WORKER)
    kernel.store.writer.trace_v2(0, None)
    assert len(walked) > 20
    assert {sql: steps for sql, steps in walked.items() if steps > STEPS_MAX} == {}
