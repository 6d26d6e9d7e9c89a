"""Gates: the rules by which something is let through. Stewards of a space define them (``Forbidden`` to
others); a gate whose verdicts are signed is weakened by a signature alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from tallystick.calls.descriptors import items, read, write
from tallystick.calls.values import AnySpace, ReadOptions, WriteOptions, page_arguments
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.gates import Gate, GatePage
    from tallystick.protocol.statements import Strength


def gate_define(
    space: AnySpace,
    name: str,
    minimum: Strength,
    *,
    quorum: int | None = None,
    deciders: Mapping[str, Any] | None = None,
    term_seconds: int | None = None,
    rounds_max: int | None = None,
    endorsement: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Gate]:
    """Define a gate, or change its rules: all of them are given, and what is left out has its default.

    ``minimum`` is the weakest verdict that counts. ``deciders`` has ``owner`` (true), ``agents`` and
    ``signers``. An opening lasts ``term_seconds`` (a day). ``endorsement`` is the signature of a
    ``GateStatement``, which a change needs that weakens a signed gate.
    """
    arguments = {
        "space_id": space.space_id,
        "name": name,
        "minimum": minimum,
        "quorum": quorum,
        "deciders": None if deciders is None else dict(deciders),
        "term_seconds": term_seconds,
        "rounds_max": rounds_max,
        "endorsement": endorsement,
    }
    return Write("tallystick_gate_define", arguments, "gates.Gate", project_id=space.project_id, **options)


def gate_retire(
    space: AnySpace, name: str, *, endorsement: str | None = None, **options: Unpack[WriteOptions]
) -> Write[Gate]:
    """Use a gate no more. Its name is not used again. Of a signed gate it needs an ``endorsement``."""
    arguments = {"space_id": space.space_id, "name": name, "endorsement": endorsement}
    return Write("tallystick_gate_retire", arguments, "gates.Gate", project_id=space.project_id, **options)


def gate_list(
    space: AnySpace,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[GatePage]:
    """A page of a space's gates, retired ones too."""
    arguments = {"space_id": space.space_id, **page_arguments(limit, after, snapshot)}
    return Read("tallystick_gate_list", arguments, "gates.GatePage", project_id=space.project_id, **options)


# --- methods ----------------------------------------------------------------------------------------------
class GatesMethods:
    """The methods of the clients."""

    gate_define = write(gate_define)
    gate_retire = write(gate_retire)
    gate_list = read(gate_list)
    gates = items(gate_list)
