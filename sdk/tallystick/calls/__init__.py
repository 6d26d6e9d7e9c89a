"""Every operation as a call: which arguments it takes, as which JSON it is sent, and what it gives back.

One module a family of operations; in it one function an operation, named as the operation is, or shorter
where that says enough (``append`` for ``contribution_append``, ``status`` for ``tallystick_status``)::

    call = calls.spaces.space_create(project, "why does the tap drip")

``Client`` and ``TrioClient`` have a method of the same arguments for each; what a function here returns as
``Write[T]`` their method gives as ``Reply[T]``, and what it returns as ``Read[T]`` it gives as ``T``. What
``workers`` has is a method of the workers' clients. ``any_operation`` builds a call by the operation's name.

Where an object is wanted, its record or its identifier can be given (``values``): a project, a space's
branch, an end of a relation. Nothing here does input or output, and no type of a record is imported.
"""

from tallystick.calls import (
    agents,
    any_operation,
    artifacts,
    assistants,
    context,
    contributions,
    dispositions,
    events,
    invocations,
    lenses,
    participants,
    projects,
    service,
    spaces,
    workers,
)
from tallystick.calls.values import (
    DEPLOYMENT,
    AnyProject,
    AnySpace,
    Linkable,
    Named,
    ReadOptions,
    SpaceRef,
    WriteOptions,
)

__all__ = [
    "DEPLOYMENT",
    "AnyProject",
    "AnySpace",
    "Linkable",
    "Named",
    "ReadOptions",
    "SpaceRef",
    "WriteOptions",
    "agents",
    "any_operation",
    "artifacts",
    "assistants",
    "context",
    "contributions",
    "dispositions",
    "events",
    "invocations",
    "lenses",
    "participants",
    "projects",
    "service",
    "spaces",
    "workers",
]
