"""What is expected of signers: the keys of persons, of the realm and the owner's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import persons
from cells import KEY, Cell
from effects import Place, Rows, command, content, insert, update
from entries import EVERYBODY, OWNER, Entry, Example, Page, listed
from harness.wire import request
from world import CLIENT, World

ENTRIES: Final = (
    Entry(
        CLIENT,
        "tallystick_signer_add",
        "write owner R F name",
        callers="ok invalid",
        agents=OWNER,
        events="dev.tallystick.signer.added.v1",
        right=lambda s: persons.add_another(s.owner.done)[0],
        examples=(
            Example(
                {
                    "public_key": "ssh-ed25519 AAAA",
                    "name": "Ada",
                    "signer": "signer-1",
                    "signature": "U1NIU0lH",
                    "endorsement": "U1NIU0lH",
                },
                optional="signer endorsement",
                texts="public_key name signature endorsement",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_signer_revoke",
        "write owner R F -",
        callers="ok invalid",
        agents=OWNER,
        events="dev.tallystick.signer.revoked.v1",
        right=lambda s: persons.revoke_another(s.owner.done),
        examples=(
            Example({"key_id": "skey-1", "reason": "lost", "endorsement": "U1NIU0lH"}, texts="endorsement"),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_signer_list",
        "read read_realm R F -",
        callers="ok invalid",
        agents=EVERYBODY,
        right=lambda _: {"limit": 9},
        examples=(listed({}),),
    ),
)


def _cell(
    operation: str,
    situation: str,
    args: Callable[[str, str, World], dict[str, Any]],
    other: dict[str, Any],
    rows: Rows,
) -> Cell:
    """A cell whose statement names what the prepared store has."""
    return Cell(
        Place(operation, CLIENT),
        situation,
        lambda w: request(CLIENT, operation, args(w.others["store"], w.others["keys' leaf"], w), key=KEY),
        lambda _: other,
        rows,
    )


_COUNTED: Final = update("signer_keys", "counter")
_REVOKED: Final = update("signer_keys", "state", "revision", "last_event")

CELLS: Final = (
    _cell(
        "tallystick_signer_add",
        "endorsed",
        lambda store, leaf, _: persons.adding(persons.ADDED, persons.FIRST, store, leaf),
        {"name": "Bob"},
        (*command(), *content(), insert("signer_keys")),
    ),
    _cell(
        "tallystick_signer_add",
        "endorsed by a touch",
        lambda store, leaf, _: persons.adding(persons.ADDED, persons.TOUCHED, store, leaf, 2),
        {"name": "Bob"},
        (*command(), *content(), insert("signer_keys"), _COUNTED),
    ),
    _cell(
        "tallystick_signer_revoke",
        "by a key",
        lambda store, leaf, w: persons.revoking(
            w.others["lost key"], persons.LOST, persons.FIRST, store, leaf
        ),
        {"reason": "stolen"},
        (*command(), _REVOKED),
    ),
    _cell(
        "tallystick_signer_revoke",
        "by a touch",
        lambda store, leaf, w: persons.revoking(
            w.others["lost key"], persons.LOST, persons.TOUCHED, store, leaf, 2
        ),
        {"reason": "stolen"},
        (*command(), _REVOKED, _COUNTED),
    ),
)

PAGE: Final = Page(ENTRIES, CELLS)
