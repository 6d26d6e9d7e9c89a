"""The prelude: ``admit``, one function for every channel and every operation.

What a mode admits is a row of ``MODES``; an operation without a mode cannot be in the registry. The audit row
says what the prelude found. A realm, project, space, invocation or attempt that the actor may not see is
answered ``not-found``, as if it did not exist; ``forbidden`` is the answer where the actor sees the thing but
may not do that with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from tallyd.admission.access import CONTRIBUTE, EVERYTHING, Rights, is_member, rights, writes_somewhere
from tallyd.ledger import agents, attempts, claims, ids
from tallyd.ledger.agents import AgentRow
from tallyd.ledger.attempts import AttemptRow, InvocationRow
from tallyd.ledger.claims import ClaimRow, TaskRow
from tallyd.ledger.view import ProjectRow, SpaceRow, View
from tallystick.protocol.arguments import AttemptArgs
from tallystick.protocol.envelope import AnyRequest
from tallystick.protocol.operation import Mode, Socket
from tallystick.protocol.problems import Refusal, forbidden, not_found, stale_lease, unauthenticated

UNKNOWN: Final = "unknown"
"""The actor of a channel that has not shown a credential yet. Only public operations are open to it."""


class Speaker(msgspec.Struct, frozen=True):
    """What a channel tells about whoever uses it."""

    actor: str
    strength: str
    socket: Socket


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """Who acts, under which mode, and what the prelude looked up on the way."""

    actor: str
    strength: str
    mode: str
    scope: str
    """The scope of its idempotency keys: surface, actor or invocation, realm (KCP 3.1)."""
    author: str
    """The actor that events name."""
    project: ProjectRow | None = None
    invocation: InvocationRow | None = None
    attempt: AttemptRow | None = None
    task: TaskRow | None = None
    claim: ClaimRow | None = None
    """The claim that speaks, whether it is current or not, and its task."""
    agent: AgentRow | None = None
    """None for the owner, who may do everything."""

    def rights(self, view: View, space: SpaceRow) -> Rights:
        """What the actor may see and do in a space."""
        if self.agent is None:
            return EVERYTHING
        return rights(view, self.actor, self.agent.ceiling_ref, space)

    def sees(self, view: View, space: SpaceRow) -> bool:
        """Whether this actor sees a space and what is in it."""
        return self.agent is None or self.rights(view, space).reads

    def member(self, view: View, project: int) -> bool:
        """Whether this actor sees a project."""
        return self.agent is None or is_member(view, self.actor, project)

    def writes_somewhere(self, view: View, operation: str, project: int | None = None) -> bool:
        """Whether the actor may do an operation that writes in some space, of a project or of any."""
        if self.agent is None:
            return True
        return writes_somewhere(view, self.actor, self.agent.ceiling_ref, operation, project)


def admit(view: View, request: AnyRequest, speaker: Speaker) -> Admission:
    """Raises Refusal ``not-found``, ``forbidden`` or ``unauthenticated``."""
    mode = request.operation.mode
    if mode is Mode.PUBLIC:
        return _admission(request, speaker, None)
    if request.realm_id is not None and request.realm_id != ids.REALM_ID:
        raise not_found("realm", request.realm_id)
    agent = _who(view, speaker)
    admission = _admission(request, speaker, agent)
    if mode is not Mode.WORKER_FENCED:  # there the attempt that speaks comes first
        admission = _with_project(view, request, admission)
    return MODES[mode](view, request, speaker, admission)


def _with_project(view: View, request: AnyRequest, admission: Admission) -> Admission:
    """With the project that the request names, where it names one that is compared. Raises Refusal
    ``not-found``.
    """
    if request.project_id is None or not request.operation.compares_project:
        return admission
    project = view.project(request.project_id)
    if project is None or not admission.member(view, project.position):
        raise not_found("project", request.project_id)
    return msgspec.structs.replace(admission, project=project)


def _who(view: View, speaker: Speaker) -> AgentRow | None:
    """The agent that speaks, as it is now; None for the owner. A revoked agent may still be connected, but it
    may do nothing. Raises Refusal ``unauthenticated``.
    """
    if speaker.actor == ids.OWNER:
        return None
    if speaker.actor == UNKNOWN:
        raise unauthenticated(
            "this socket admits whoever shows a credential first; send tallystick_authenticate"
        )
    agent = agents.agent(view, speaker.actor)
    if agent is None or not agent.active(view.wall_ms()):
        raise unauthenticated("this agent was revoked, or has expired; ask the owner to add it again")
    return agent


def _admission(request: AnyRequest, speaker: Speaker, agent: AgentRow | None) -> Admission:
    return Admission(
        actor=speaker.actor,
        strength=speaker.strength,
        mode=str(request.operation.mode),
        scope=f"external_client/{speaker.actor}/{ids.REALM_ID}",
        author=speaker.actor,
        agent=agent,
    )


# --- modes --------------------------------------------------------------------------------------------------
ModeCheck = Callable[[View, AnyRequest, Speaker, Admission], Admission]


def _anybody(_view: View, _request: AnyRequest, _speaker: Speaker, admission: Admission) -> Admission:
    """Whoever is known. The operation looks up what they see of realm, project or space."""
    return admission


def _owner(_view: View, request: AnyRequest, _speaker: Speaker, admission: Admission) -> Admission:
    if admission.agent is not None:
        raise forbidden(f"{request.operation.name} is the owner's; ask the owner to do it")
    return admission


def _in_space(view: View, request: AnyRequest, _speaker: Speaker, admission: Admission) -> Admission:
    """An actor with the rights that the mode asks for in the space that the arguments name. A space that the
    actor does not see is ``not-found``.
    """
    space_id = getattr(request.args, "space_id", None)
    if admission.agent is None or not isinstance(space_id, str):
        return admission  # the space is named through another object: the operation looks up both
    space = view.space(space_id)
    if space is None or admission.project is None or space.project != admission.project.position:
        raise not_found("space", space_id)
    check_space(view, request, admission, space)
    return admission


def check_space(view: View, request: AnyRequest, admission: Admission, space: SpaceRow) -> None:
    """Checks the rights that the mode of a command asks for in a space. Raises as ``check_rights`` does."""
    if request.operation.mode not in _SPACE_MODES:
        return
    allowed, whom = _SPACE_MODES[request.operation.mode]
    name = request.operation.name
    check_rights(view, admission, space, allowed(name), f"{name} is for {whom} of space {space.space_id}")


def check_rights(
    view: View, admission: Admission, space: SpaceRow, allowed: Callable[[Rights], bool], otherwise: str
) -> None:
    """Raises Refusal ``not-found`` where the actor does not see the space, ``forbidden`` where the rights are
    not enough.
    """
    held = admission.rights(view, space)
    if not held.reads:
        raise not_found("space", space.space_id)
    if not allowed(held):
        raise forbidden(f"{otherwise}; ask a steward to be added, or for a grant")


def may_write(operation: str) -> Callable[[Rights], bool]:
    """Contributors, stewards, and whoever has a grant for the operation."""
    return lambda held: held.may(operation)


def may_steward(held: Rights) -> bool:
    """Only stewards."""
    return held.stewards


_SPACE_MODES: Final[dict[Mode, tuple[Callable[[str], Callable[[Rights], bool]], str]]] = {
    Mode.WRITE_SPACE: (may_write, "active contributors"),
    Mode.STEWARD: (lambda _: may_steward, "stewards"),
}
"""Which rights these modes ask for, and who has them, in words."""


def _holder(view: View, request: AnyRequest, speaker: Speaker, admission: Admission) -> Admission:
    """The actor that made the claim that the arguments name, while it may write where the task stands; for
    anybody else the claim is not there. Whether it is still current is seen later: what it did is answered to
    it afterwards too.
    """
    missing = not_found("claim", "the one that claim_id names")
    claim = claims.by_secret(view, str(getattr(request.args, "claim_id")))  # noqa: B009
    if claim is None or claim.actor != speaker.actor:
        raise missing
    task = claims.task_at(view, claim.task)
    assert task is not None, "a claim without its task"
    space = view.space_at(task.space)
    assert space is not None, "a task without its space"
    if admission.project is None or space.project != admission.project.position:
        raise missing
    named = getattr(request.args, "task_id")  # noqa: B009
    if named != task.task_id or not admission.rights(view, space).may(request.operation.name):
        raise missing
    return msgspec.structs.replace(admission, task=task, claim=claim)


def _claim(view: View, request: AnyRequest, _speaker: Speaker, admission: Admission) -> Admission:
    """The owner, and an agent for the deployments that are bound to it, in spaces where it may write. For
    anybody else the invocation is ``not-found``.
    """
    invocation_id = str(getattr(request.args, "invocation_id"))  # noqa: B009
    invocation = attempts.invocation(view, invocation_id)
    if invocation is None or not may_claim(view, admission, invocation):
        raise not_found("invocation", invocation_id)
    return _of_invocation(admission, invocation, None)


def may_claim(view: View, admission: Admission, invocation: InvocationRow) -> bool:
    """Whether the actor may take an invocation, whatever its state, and go on with it: it writes where the
    invocation is about something, and, where that is no space, in some space of its project.
    """
    if admission.agent is None:
        return True
    if invocation.deployment_id not in admission.agent.bound_deployments():
        return False
    space = attempts.space_of(view, invocation)
    if space is None:
        return admission.writes_somewhere(view, CONTRIBUTE, invocation.project)
    return admission.rights(view, space).writes


def _next(_view: View, request: AnyRequest, speaker: Speaker, admission: Admission) -> Admission:
    """The owner, and an agent for the deployments that are bound to it; any other is ``not-found``. Which of
    their invocations the agent may claim is judged one by one, later.
    """
    bound = None if admission.agent is None else admission.agent.bound_deployments()
    for deployment_id in getattr(request.args, "deployments"):  # noqa: B009
        if bound is not None and deployment_id not in bound:
            raise not_found("deployment", deployment_id)
    return msgspec.structs.replace(admission, scope=f"worker/{speaker.actor}/{ids.REALM_ID}")


def _fenced(view: View, request: AnyRequest, speaker: Speaker, admission: Admission) -> Admission:
    """The attempt that the arguments name, on the channel that claimed it and while that might claim it:
    elsewhere it is not there. Whatever else is wrong with the request, an attempt that is known and may not
    act is told so first: ``stale-lease``.
    """
    attempt = attempts.by_secret(view, str(getattr(request.args, "attempt_id")))  # noqa: B009
    if attempt is None or attempt.channel_actor != speaker.actor:
        raise not_found("attempt", "the one that attempt_id names")
    invocation = attempts.invocation_at(view, attempt.invocation)
    assert invocation is not None, "an attempt without its invocation"
    if not may_claim(view, admission, invocation):
        raise not_found("attempt", "the one that attempt_id names")
    if isinstance(request.args, AttemptArgs) and request.args.invocation_id != invocation.invocation_id:
        raise stale_lease("attempt_id is not an attempt of the invocation that invocation_id names")
    try:
        admission = _with_project(view, request, admission)
        if admission.project is not None and admission.project.position != invocation.project:
            raise not_found("project", str(request.project_id))
    except Refusal:
        refuse_stale(view, request, attempt, invocation)
        raise
    return _of_invocation(admission, invocation, attempt)


def refuse_stale(view: View, request: AnyRequest, attempt: AttemptRow, invocation: InvocationRow) -> None:
    """Raises Refusal ``stale-lease`` unless the attempt that speaks is the current one."""
    fence = getattr(request.args, "fence_epoch")  # noqa: B009
    if invocation.state != "running" or not attempts.is_current(view, attempt, fence):
        raise stale_lease(
            f"this attempt no longer holds invocation {invocation.invocation_id}; stop, and claim again if "
            f"it is queued"
        )


def _of_invocation(admission: Admission, invocation: InvocationRow, attempt: AttemptRow | None) -> Admission:
    return msgspec.structs.replace(
        admission,
        scope=f"worker/{invocation.invocation_id}/{ids.REALM_ID}",
        author=invocation.author,
        invocation=invocation,
        attempt=attempt,
    )


MODES: Final[dict[Mode, ModeCheck]] = {
    Mode.READ_REALM: _anybody,
    Mode.READ_PROJECT: _anybody,
    Mode.READ_SPACE: _anybody,
    Mode.UPLOAD: _anybody,  # an upload is its owner's, which the operation sees to
    Mode.INVOKE: _anybody,  # the operation asks for rights in the invocation's space
    Mode.WRITE_SPACE: _in_space,
    Mode.STEWARD: _in_space,
    Mode.WRITE_REALM: _owner,
    Mode.WRITE_PROJECT: _owner,
    Mode.OPERATOR: _owner,
    Mode.OWNER: _owner,
    Mode.HOLDER: _holder,
    Mode.WORKER_CLAIM: _claim,
    Mode.WORKER_NEXT: _next,
    Mode.WORKER_FENCED: _fenced,
}
"""What each mode admits; ``public`` admits whoever may connect, before any of these."""
