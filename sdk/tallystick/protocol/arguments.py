"""What the arguments of operations share; each family's page has its own (``families``).

Closed structs like the records. Rules that need the socket or the request's ext (the attempt binding, the
expected head) are ``envelope``'s.
"""

from typing import Annotated, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

from tallystick.protocol.shapes import Cursor, DigestHex, Identifier, PageLimit, SafeInt, member_fault

T = TypeVar("T")

Content = Annotated[T, Meta(extra={"content": True})]
"""An argument that holds content: it is sealed, and can be erased. All others are identifiers and labels."""
ExactContent = Annotated[T, Meta(extra={"content": True, "exact": True})]
"""Content that is taken as it comes: bytes, digests, nonces, signatures. No secret is looked for in it."""


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The arguments of one operation: closed, immutable, members by name, what is left out stays left out."""


class NoArgs(Args, frozen=True, kw_only=True):
    """The closed empty object."""


class PageArgs(Args, frozen=True, kw_only=True):
    """What every list takes: a page's size, where to go on, and the snapshot that the first page fixed."""

    after: Cursor | UnsetType = UNSET
    limit: PageLimit
    snapshot: Cursor | UnsetType = UNSET


class DualArgs(Args, frozen=True, kw_only=True):
    """An operation of both sockets: a worker must name its attempt, a client must not."""

    attempt_id: Identifier | UnsetType = UNSET
    fence_epoch: SafeInt | UnsetType = UNSET


class FencedArgs(Args, frozen=True, kw_only=True):
    """An operation of the worker socket alone: which attempt speaks."""

    attempt_id: Identifier
    fence_epoch: SafeInt


class AttemptArgs(FencedArgs, frozen=True, kw_only=True):
    """An operation of the worker socket about the invocation of the attempt that speaks."""

    invocation_id: Identifier


APPEND_EXTENSION = "dev.tallystick.append"


class AppendExtension(Args, frozen=True, kw_only=True):
    """`ext` ``dev.tallystick.append``: land at the head, wherever it is, in place of a compare-and-set."""

    at_head: bool

    def __post_init__(self) -> None:
        if not self.at_head:
            raise member_fault("at_head", "it must be true; to compare the head leave the extension out")


class HeadArgs(DualArgs, frozen=True, kw_only=True):
    """What appends to a branch: where, and the head that it expects there.

    `expected_head_digest` is required, unless the request carries `AppendExtension`, which forbids it.
    """

    space_id: Identifier
    branch_id: Identifier
    expected_head_digest: DigestHex | UnsetType = UNSET
