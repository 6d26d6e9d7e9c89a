"""What all arguments share, and the two members that bind a worker's command to its attempt."""

from msgspec import UNSET, Struct, UnsetType

from tallystick.protocol.shapes import Cursor, Identifier, PageLimit, SafeInt


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
