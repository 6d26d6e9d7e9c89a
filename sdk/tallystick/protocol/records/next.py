"""What a worker that waits for work is given."""

from tallystick.protocol.shapes import Identifier, SafeInt

from ._base import Record
from .context import Assembly, Frontier
from .contribution import Contribution
from .invocation import Invocation, InvocationClaim


class InvocationNext(Record, frozen=True, kw_only=True):
    """The result of `tallystick_invocation_next`: a claim's members, or, where nothing was to be claimed in
    time, null for each of them and no items.
    """

    invocation: Invocation | None
    attempt_id: Identifier | None
    fence_epoch: SafeInt | None
    assembly: Assembly | None
    frontier: Frontier | None
    items: tuple[Contribution, ...]

    @property
    def claim(self) -> InvocationClaim | None:
        """The claim, as `invocation_claim` gives it; None where there is none."""
        if self.invocation is None or self.attempt_id is None or self.fence_epoch is None:
            return None
        return InvocationClaim(
            invocation=self.invocation,
            attempt_id=self.attempt_id,
            fence_epoch=self.fence_epoch,
            assembly=self.assembly,
            frontier=self.frontier,
            items=self.items,
        )

    def __repr__(self) -> str:
        """Without the attempt's id, which is a secret, and without content."""
        return f"InvocationNext({self.claim!r})"
