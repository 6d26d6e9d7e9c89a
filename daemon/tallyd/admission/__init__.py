"""Who is this, and may they: judged first, from the channel, and never from a member of the request.

**Its job.** ``admit`` names the actor and the mode of a request, and looks up the project, invocation and
attempt that it is about. ``access`` says what an actor may do in a space, ``visibility`` which events it is
shown, and ``replays`` whether it may have a stored reply again.

**What holds.** Authority is judged before existence, revision, digest and idempotency. It is judged anew for
each request, each replay and each look of a waiter: a connection may outlive the revocation of its agent, but
the agent's authority does not.

======================= ====================================================================================
mode                    admits
======================= ====================================================================================
public                  whoever may connect
read_realm              whoever is known; lists show what they see
read_project            the owner; agents with rights in any space of the project
read_space              the owner; agents that read the space
write_space             the owner; active contributors and stewards; grants of contribution or of the
                        operation
steward                 the owner; active stewards, and grants of stewardship
upload                  whoever is known, for uploads of their own
invoke                  as write_space, for the invocation's space
write_realm,            the owner
write_project,
operator, owner
holder                  the actor that made the claim which the arguments show, while it may write in the
                        task's space; whether the claim is still current is state, and judged later
worker_claim            the owner; agents that are bound to the deployment and write in the space
worker_next             the owner; agents that are bound to every deployment named
worker_fenced           the channel on which the attempt was claimed, while it might still claim it; its fence
                        is state, and judged later
======================= ====================================================================================

**What it does not do.** It keeps nothing, writes nothing, opens no socket, and knows no operation or family:
what a family adds to the rules comes with the view (``View.event_checks``).
"""

from tallyd.admission.prelude import (
    UNKNOWN,
    Admission,
    Speaker,
    admit,
    check_rights,
    check_space,
    may_claim,
    may_steward,
    may_write,
    refuse_stale,
)

__all__ = [
    "UNKNOWN",
    "Admission",
    "Speaker",
    "admit",
    "check_rights",
    "check_space",
    "may_claim",
    "may_steward",
    "may_write",
    "refuse_stale",
]
