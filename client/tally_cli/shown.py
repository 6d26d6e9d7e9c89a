"""How `tally show` asks for an object.

Each family's module of verbs says in ``SHOWN`` how the ids of its objects begin (KCP 1.9), and how an object
of such an id is asked for.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from tally_cli.calling import Call, Record
from tally_cli.choosing import found_in

if TYPE_CHECKING:
    from tallystick.core import Call as Request

Shown: TypeAlias = Callable[[Call, str, str | None], Record]
"""Asks for the object of an id; beside it stands the project that was named, None where none was."""


def anywhere(request: "Callable[[str], Request[object]]") -> Shown:
    """An object that is asked for by its id alone."""
    return lambda call, ref, _project: call.ask(request(ref))


def in_project(request: "Callable[[str, str], Request[object]]") -> Shown:
    """An object that is asked for in its project, wherever that is."""
    return lambda call, ref, project: found_in(call, project, lambda place: request(place, ref))[1]
