"""Who is this, and may they: judged first, from the channel, and never from a member of the request.

**Its job.** ``admit`` names the actor and the mode of a request, and looks up what it stands in: project,
invocation, attempt. ``access`` says what an actor may in a space.

**What holds.** Authority is judged before existence, revision, digest and idempotency. It is judged anew for
each request, each replay and each look of a waiter: a connection outlives a revocation, its authority does
not.

======================= ====================================================================================
mode                    admits
======================= ====================================================================================
public                  whoever may connect
read_realm              whoever is known; lists show what they see
read_project            the owner; agents with rights in any space of the project
read_space              the owner; agents that read the space
write_space             the owner; active contributors and stewards; grants of contribution or of the
operation steward                 the owner; active stewards, and grants of stewardship
upload                  whoever is known, for uploads of their own
invoke                  as write_space, for the space that the invocation stands in
write_realm,            the owner
write_project,
operator, owner
worker_claim            the owner; agents that are bound to the deployment and write in the space
worker_next             the owner; agents that are bound to every deployment named
worker_fenced           the channel on which the attempt was claimed, while it might still claim it; its fence
                        is state, and judged later
======================= ====================================================================================

**What it does not do.** It keeps nothing, writes nothing, and knows no socket.
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
]
