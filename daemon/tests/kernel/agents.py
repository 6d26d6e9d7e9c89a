"""An agent, as tests use one: added by the owner, speaking on its own sockets, let in by commands."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from world import AT_HEAD

from tallystick.protocol.operation import Socket

from .kernel import Json, Kernel


class Agent:
    """An agent, and requests that come by its sockets."""

    def __init__(self, kernel: Kernel, name: str, **more: Any) -> None:
        self.kernel = kernel
        self.credential = f"credential of {name}"
        hashed = hashlib.sha256(self.credential.encode()).hexdigest()
        self.record = kernel.ok("tallystick_agent_add", {"name": name, "credential_sha256": hashed, **more})
        self.id = str(self.record["agent_id"])

    def send(self, op: str, args: Json, socket: Socket = Socket.CLIENT, **how: Any) -> Json:
        line, _ = self.kernel.request(op, args, **how)
        answered: Json = json.loads(self.kernel.answer(line, socket, self.id))
        return answered

    def append(self, space: Json, text: str = "said", **how: Any) -> Json:
        args = {
            "space_id": space["space_id"],
            "branch_id": space["main_branch_id"],
            "kind": "claim",
            "body_parts": [{"media_type": "text/plain", "text": text}],
        }
        how.setdefault("key", f"agent-{text}")
        return self.send("contribution_append", args, project=space["project_id"], ext=AT_HEAD, **how)

    def join(self, space: Json, role: str = "contributor", status: str = "active") -> Json:
        """The participant that it is from now on, of that role and status."""
        self.part = self.kernel.take_part(space, self.id, role, status)
        return self.part

    def leave(self, space: Json) -> None:
        """It is removed by the owner from a space that it joined."""
        which = {"participant_id": self.part["participant_id"]}
        self.kernel.ok("space_participant_remove", which, project=space["project_id"])

    def grant(self, space: Json, *actions: str, **more: str) -> Json:
        """A grant of the owner's. ``more`` are its ceiling and expiry."""
        said = {"space_id": space["space_id"], "subject_ref": self.id, "allowed_actions": actions, **more}
        return self.kernel.ok("space_access_grant_create", said, project=space["project_id"])
