"""Every operation as a call: which arguments it takes, as which JSON it is sent, and what it gives back.

One module a family of operations; in it one function an operation, named as the operation is, or shorter
where that says enough (``append`` for ``contribution_append``, ``status`` for ``tallystick_status``)::

    call = calls.projects.space_create(project, "why does the tap drip")

At the end of a module stands which of its functions are methods of the clients, and of which kind
(``descriptors``); ``methods`` brings the families together. What a function here returns as ``Write[T]`` a
client's method gives as ``Reply[T]``, and what it returns as ``Read[T]`` it gives as ``T``.
``any_operation`` builds a call by the operation's name.

Where an object is wanted, its record or its identifier can be given (``values``): a project, a space's
branch, an end of a relation. Nothing here does input or output, and no type of a record is imported. A
module is loaded when it is first used: a call at the shell needs few of them.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

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
from tallystick.protocol import families

if TYPE_CHECKING:
    from tallystick.calls import access_changes as access_changes
    from tallystick.calls import agents as agents
    from tallystick.calls import aliases as aliases
    from tallystick.calls import any_operation as any_operation
    from tallystick.calls import artifacts as artifacts
    from tallystick.calls import assistants as assistants
    from tallystick.calls import attempts as attempts
    from tallystick.calls import context as context
    from tallystick.calls import contributions as contributions
    from tallystick.calls import decisions as decisions
    from tallystick.calls import deployments as deployments
    from tallystick.calls import dispositions as dispositions
    from tallystick.calls import emissions as emissions
    from tallystick.calls import erasure as erasure
    from tallystick.calls import events as events
    from tallystick.calls import gates as gates
    from tallystick.calls import grants as grants
    from tallystick.calls import invocations as invocations
    from tallystick.calls import lenses as lenses
    from tallystick.calls import participants as participants
    from tallystick.calls import projects as projects
    from tallystick.calls import reactions as reactions
    from tallystick.calls import service as service
    from tallystick.calls import signers as signers
    from tallystick.calls import snapshots as snapshots
    from tallystick.calls import work as work

__all__ = [
    "DEPLOYMENT",
    "AnyProject",
    "AnySpace",
    "Linkable",
    "Named",
    "ReadOptions",
    "SpaceRef",
    "WriteOptions",
]

_MODULES: Final = (*families.NAMES, "any_operation", "attempts")

if not TYPE_CHECKING:  # a type checker knows the modules by the imports above, and finds a wrong name

    def __getattr__(name: str) -> ModuleType:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module(f"{__name__}.{name}")
