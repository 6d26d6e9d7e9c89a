"""What `diagnose` tells: the protocol's checks always, ours where they have something to say; names that the
owner's order does not know; and that others go on while it walks.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tallyd.admission import Speaker, admit
from tallyd.families.shared.family import SlicedHandler
from tallyd.ledger.orders import Order, Orders
from tallyd.ledger.verify import SLICE_ROWS
from tallyd.service.host import DaemonHost
from tallyd.service.wiring import WIRING
from tallyd.store.filesystem import FileSystem
from tallystick.protocol.envelope import decode_request
from tallystick.protocol.operation import Socket
from tallystick.protocol.problems import Refusal

from .kernel import Json, Kernel

KCPS = ["store_bootstrap", "journal_mode", "audit_chain", "artifact_store"]
OURS = ["integrity", "suppressed_refusals", "container_layer", "undeclared_names"]
CONTAINER = FileSystem("overlay", "/")
VOLUME = FileSystem("ext4", "/")


class HostAt(DaemonHost):
    """The kernel's host, as if the store lay elsewhere."""

    def __init__(self, kernel: Kernel, where: FileSystem) -> None:
        self.__dict__.update(kernel.host.__dict__)
        self._where = where

    @property
    def file_system(self) -> FileSystem:
        return self._where


def nothing() -> None:
    """Nobody does anything between two pieces."""


def diagnosed(
    kernel: Kernel,
    args: Json,
    where: FileSystem = VOLUME,
    between: Callable[[], object] = nothing,
    **how: Any,
) -> Json:
    """The result, as the service has it: each piece in a read transaction of its own."""

    def in_slice(piece: Callable[[], object]) -> object:
        found = kernel.reader.read(lambda _: (piece(),))[0]
        between()
        return found

    line, socket = kernel.request("diagnose", args, **how)
    request = decode_request(line, socket)
    speaker = Speaker("prin-owner", "peer-uid", Socket.CLIENT)
    admission = kernel.reader.read(lambda view: admit(view, request, speaker))
    handler = WIRING.handlers[socket, request.operation.name]
    assert isinstance(handler, SlicedHandler)
    host = HostAt(kernel, where)
    result: Json = json.loads(handler.run(host, kernel.view, request, admission, in_slice).result)
    return result


def told(result: Json) -> list[str]:
    """The checks that a diagnosis names."""
    return [check["check"] for check in result["checks"]]


@pytest.mark.parametrize("args", [{}, {"checks": []}])
def test_a_store_in_order_is_told_by_the_protocols_checks(kernel: Kernel, args: Json) -> None:
    """No checks named, or none in the list, means all; those of KCP are told, and all of them pass."""
    result = diagnosed(kernel, args)
    assert (told(result), result["status"]) == (KCPS, "pass")
    assert {check["status"] for check in result["checks"]} == {"pass"}


def test_what_does_not_pass_is_told_unasked(kernel: Kernel) -> None:
    """A warning of a check of ours stands behind the protocol's, and makes the whole a warning."""
    result = diagnosed(kernel, {}, CONTAINER)
    assert (told(result), result["status"]) == ([*KCPS, "container_layer"], "warn")


@pytest.mark.parametrize("name", [*KCPS, *OURS])
def test_a_check_that_is_named_is_told_alone(kernel: Kernel, name: str) -> None:
    """Whatever it finds, and whoever's it is."""
    result = diagnosed(kernel, {"checks": [name]})
    assert (told(result), result["status"]) == ([name], "pass")


def test_checks_are_told_in_the_order_in_which_they_are_named(kernel: Kernel) -> None:
    """The client's order, and not ours."""
    assert told(diagnosed(kernel, {"checks": KCPS[::-1]})) == KCPS[::-1]


@pytest.mark.parametrize(
    ("args", "how", "kind"),
    [
        ({}, {"project": "proj-unknown"}, "not-found"),
        ({}, {"realm": "realm-other"}, "not-found"),
        ({"checks": ["horoscope"]}, {}, "invalid"),
        ({"checks": ["integrity", "integrity"]}, {}, "invalid"),
        ({"checks": ["horoscope"]}, {"project": "proj-unknown"}, "not-found"),
    ],
)
def test_what_is_not_there_is_not_diagnosed(kernel: Kernel, args: Json, how: Json, kind: str) -> None:
    """An unknown project or realm is not found, before a check that there is not is invalid."""
    with pytest.raises(Refusal) as refused:
        diagnosed(kernel, args, **how)
    assert refused.value.kind == kind


def test_a_project_that_is_there_changes_nothing(kernel: Kernel) -> None:
    """A diagnosis is of the whole store, whichever project is named."""
    assert told(diagnosed(kernel, {}, project=kernel.project())) == KCPS


def test_names_that_no_order_knows_are_listed(kernel: Kernel) -> None:
    """Where the owner declared an order, names in use beside it are a warning; sensitive stands in each."""
    space = kernel.space(kernel.project())
    for name in ("class-odd", "class-secret", "class-sensitive"):
        kernel.said(space, name, more={"classification_ref": name})
    [check] = diagnosed(kernel, {"checks": ["undeclared_names"]})["checks"]
    assert check["status"] == "pass"
    for name in ("policy-default", "class-default", "class-odd", "class-secret"):
        assert name in check["detail"]
    kernel.view.orders = Orders(classifications=Order(("class-default", "class-secret")))
    result = diagnosed(kernel, {})
    assert (told(result), result["status"]) == ([*KCPS, "undeclared_names"], "warn")
    detail = result["checks"][-1]["detail"]
    assert "classifications: class-odd;" in detail
    assert "class-sensitive" not in detail
    kernel.view.orders = Orders(
        Order(("policy-default",)), Order(("class-default", "class-odd", "class-secret"))
    )
    assert told(diagnosed(kernel, {})) == KCPS


def test_a_ceiling_that_no_order_knows_is_listed(kernel: Kernel) -> None:
    """Nothing is kept back under it, so the owner has to hear of it as of what is classified."""
    space = kernel.space(kernel.project())
    granted = {"space_id": space["space_id"], "subject_ref": "prin-ann", "allowed_actions": ["read"]}
    granted["classification_ceiling_ref"] = "class-mistyped"
    kernel.ok("space_access_grant_create", granted, project=space["project_id"])
    kernel.view.orders = Orders(classifications=Order(("class-default",)))
    assert "class-mistyped" in diagnosed(kernel, {})["checks"][-1]["detail"]


def test_many_names_are_counted_and_not_listed(kernel: Kernel) -> None:
    """However many there are, the detail fits its bound."""
    space = kernel.space(kernel.project())
    for number in range(12):
        kernel.said(space, "x", more={"classification_ref": f"{'c' * 120}-{number:02}"})
    kernel.view.orders = Orders(classifications=Order(("class-default",)))
    detail = diagnosed(kernel, {})["checks"][-1]["detail"]
    assert "and 4 more" in detail
    assert len(detail) <= 4096


def test_others_write_and_read_while_the_chain_is_walked(kernel: Kernel) -> None:
    """The walk is made of pieces; between any two of them commands are made durable and reads answered, and
    it finds what it began with in order.
    """
    space = kernel.space(kernel.project())
    while kernel.view.number("SELECT max(position) FROM log") < 2 * SLICE_ROWS:
        kernel.batch([kernel.append_request(space, "x") for _ in range(64)])
    pieces: list[str] = []

    def between() -> None:
        pieces.append(kernel.said(space, f"piece {len(pieces)}")["contribution_id"])
        args = {"contribution_id": pieces[-1]}
        assert kernel.read("contribution_show", args, project=space["project_id"])["outcome"] == "ok"

    [check] = diagnosed(kernel, {"checks": ["audit_chain"]}, between=between)["checks"]
    assert check["status"] == "pass"
    assert len(pieces) > 3
    assert len(set(pieces)) == len(pieces)
