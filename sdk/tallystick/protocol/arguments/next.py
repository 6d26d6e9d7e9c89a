"""Arguments of waiting for work: ours."""

from typing import Annotated

from msgspec import Meta

from tallystick.protocol import limits
from tallystick.protocol.shapes import Identifier, LeaseTermSeconds, WaitMs, refuse_repeats

from ._base import Args


class TallystickInvocationNextArgs(Args, frozen=True, kw_only=True):
    """Of which deployments, how long to wait for one, and how long a silent worker would keep it."""

    deployments: Annotated[tuple[Identifier, ...], Meta(min_length=1, max_length=limits.LIST_ITEMS_MAX)]
    wait_ms: WaitMs
    term_seconds: LeaseTermSeconds

    def __post_init__(self) -> None:
        refuse_repeats("deployments", self.deployments)
