"""A worker's attempt, as tests use one: it has claimed an invocation, and sends commands under its fence."""

from __future__ import annotations

from typing import Any, Final

from world import AT_HEAD

from tallystick.protocol.operation import Socket

from .kernel import Json, Kernel

WORKER: Final = Socket.WORKER


class Worker:
    """One attempt, and the commands that it sends."""

    def __init__(self, kernel: Kernel, space: Json, invocation: Json, claimed: Json) -> None:
        assert claimed["outcome"] == "ok", claimed
        self.kernel, self.space, self.invocation = kernel, space, invocation
        self.binding = {
            "attempt_id": claimed["result"]["attempt_id"],
            "fence_epoch": claimed["result"]["fence_epoch"],
        }
        self.named = {"space_id": space["space_id"], "branch_id": space["main_branch_id"]}

    def append(self, text: str = "An answer.", key: str = "answer", **how: Any) -> Json:
        args = {
            **self.named,
            **self.binding,
            "kind": "synthesis",
            "body_parts": [{"media_type": "text/plain", "text": text}],
        }
        how.setdefault("project", self.space["project_id"])
        return self.kernel.write("contribution_append", args, key=key, ext=AT_HEAD, socket=WORKER, **how)

    def complete(self, key: str = "complete") -> Json:
        args = {"invocation_id": self.invocation["invocation_id"], **self.binding}
        return self.kernel.write("invocation_complete", args, key=key, socket=WORKER)

    def fail(self, key: str = "fail", retryable: bool = True, **more: Any) -> Json:
        args = {"invocation_id": self.invocation["invocation_id"], **self.binding}
        args |= {"reason_class": "tests_fail", "retryable": retryable, **more}
        return self.kernel.write("tallystick_invocation_fail", args, key=key, socket=WORKER)

    def progress(self) -> Json:
        args = {"invocation_id": self.invocation["invocation_id"], **self.binding}
        return self.kernel.read("tallystick_invocation_progress", args, socket=WORKER)

    def renew(self) -> Json:
        args = {"invocation_id": self.invocation["invocation_id"], **self.binding}
        return self.kernel.read("tallystick_invocation_renew", args, socket=WORKER)
