"""Who is this, and may they: one prelude for every channel and every operation.

Authority comes from the channel, the operation's named mode and what the actor may see, never from a member
of the request. It is judged before existence, revision, digest and idempotency. The prelude's result is what
the audit row says.

========================= ====================================================================================
mode                      admits
========================= ====================================================================================
public                    whoever may connect
read_realm, write_realm   the owner's channels
read_project …            the owner's channels, for a project that exists
operator, owner           the owner's channels
worker_claim              a worker's channel, for an invocation that exists
worker_fenced             the channel on which the attempt was claimed; the fence itself is state, and judged
later
========================= ====================================================================================

A project or invocation that is not there and one that the actor may not see are the same ``not-found``.
"""

from __future__ import annotations

from typing import Final, cast

import msgspec

from tallyd.ledger import attempts, ids
from tallyd.ledger.attempts import AttemptRow, InvocationRow
from tallyd.ledger.view import ProjectRow, SpaceRow, View
from tallystick.protocol.envelope import Request
from tallystick.protocol.problems import forbidden, not_found
from tallystick.protocol.registry import Mode, Socket

_OF_A_WORKER: Final = frozenset({Mode.WORKER_CLAIM, Mode.WORKER_FENCED})


class Speaker(msgspec.Struct, frozen=True):
    """What a channel says of whoever uses it."""

    actor: str
    strength: str
    socket: Socket


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """Who acts, under which mode, and what the prelude looked up on the way."""

    actor: str
    strength: str
    mode: str
    scope: str
    """Of the idempotency key: surface, actor or invocation, realm (KCP 3.1)."""
    author: str
    """The actor that events name."""
    project: ProjectRow | None = None
    invocation: InvocationRow | None = None
    attempt: AttemptRow | None = None

    def sees(self, _view: View, _space: SpaceRow) -> bool:
        """Whether a space, and what is in it, is there for this actor. The owner sees all of them."""
        return True


def admit(view: View, request: Request, speaker: Speaker) -> Admission:
    """Raises Refusal ``not-found`` or ``forbidden``."""
    operation = request.operation
    if operation.mode is Mode.PUBLIC:
        return _plain(request, speaker, None)
    if request.realm_id is not None and request.realm_id != ids.REALM_ID:
        raise not_found("realm", request.realm_id)
    if speaker.actor != ids.OWNER:
        raise forbidden(f"{operation.name} is the owner's; ask the owner, or use the owner's socket")
    project = None
    if request.project_id is not None and operation.name not in _PROJECT_NOT_LOOKED_AT:
        project = view.project(request.project_id)
        if project is None:
            raise not_found("project", request.project_id)
    if operation.mode in _OF_A_WORKER:
        return _worker(view, request, speaker, project)
    return _plain(request, speaker, project)


_PROJECT_NOT_LOOKED_AT: Final = frozenset({"invocation_claim", "invocation_complete"})
"""KCP compares their project with nothing; it is part of the request's digest."""


def _plain(request: Request, speaker: Speaker, project: ProjectRow | None) -> Admission:
    return Admission(
        actor=speaker.actor,
        strength=speaker.strength,
        mode=str(request.operation.mode),
        scope=f"external_client/{speaker.actor}/{ids.REALM_ID}",
        author=speaker.actor,
        project=project,
    )


def _worker(view: View, request: Request, speaker: Speaker, project: ProjectRow | None) -> Admission:
    attempt = None
    if request.operation.mode is Mode.WORKER_CLAIM:
        invocation = _named_invocation(view, request)
    else:
        attempt = _spoken_attempt(view, request, speaker)
        found = attempts.invocation_at(view, attempt.invocation)
        assert found is not None, "an attempt without its invocation"
        invocation = found
    if project is not None and project.position != invocation.project:
        raise not_found("project", cast(str, request.project_id))
    return Admission(
        actor=speaker.actor,
        strength=speaker.strength,
        mode=str(request.operation.mode),
        scope=f"worker/{invocation.invocation_id}/{ids.REALM_ID}",
        author=invocation.author,
        project=project,
        invocation=invocation,
        attempt=attempt,
    )


def _named_invocation(view: View, request: Request) -> InvocationRow:
    invocation_id = cast(str, getattr(request.args, "invocation_id"))  # noqa: B009
    invocation = attempts.invocation(view, invocation_id)
    if invocation is None:
        raise not_found("invocation", invocation_id)
    return invocation


def _spoken_attempt(view: View, request: Request, speaker: Speaker) -> AttemptRow:
    """The attempt that a worker's command names; on another channel than its own it is not there."""
    attempt = attempts.by_secret(view, cast(str, getattr(request.args, "attempt_id")))  # noqa: B009
    if attempt is None or attempt.channel_actor != speaker.actor:
        raise not_found("attempt", "the one that attempt_id names")
    named = getattr(request.args, "invocation_id", None)
    if named is not None and view.position_of("inv", cast(str, named)) != attempt.invocation:
        raise not_found("invocation", cast(str, named))
    return attempt
