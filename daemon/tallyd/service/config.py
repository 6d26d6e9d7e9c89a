"""``tallyd.toml``: what the owner settles before the daemon runs. It stands in the data directory, and may be
absent.

``docs/tallyd.toml`` is the manual: every setting, its default and its cost. An unknown setting is refused: a
misspelled one would be a setting that the owner believes in and the daemon does not have.
"""

from __future__ import annotations

import os
import tomllib
from typing import Final, Literal

import msgspec

from tallyd.ledger.orders import Order, Orders
from tallyd.store.refusals import ExitCode, StartRefused
from tallystick.protocol.shapes import DigestHex, Identifiers

FILE_NAME: Final = "tallyd.toml"


class OrderSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names from the widest policy to the narrowest, and from the lowest classification to the highest."""

    policies: Identifiers = ()
    classifications: Identifiers = ()


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    owner: Literal["peer-uid", "credential"] = "peer-uid"
    owner_credential_sha256: DigestHex | None = None
    orders: OrderSettings = msgspec.field(default_factory=OrderSettings)

    def __post_init__(self) -> None:
        if self.owner == "credential" and self.owner_credential_sha256 is None:
            raise ValueError('owner = "credential" needs owner_credential_sha256')

    def as_orders(self) -> Orders:
        """The orders that admission and narrowing compare by."""
        return Orders(Order(self.orders.policies), Order(self.orders.classifications))


def load(data_dir: str) -> Settings:
    """The settings of a data directory; the defaults where it has no file. Raises StartRefused."""
    path = os.path.join(data_dir, FILE_NAME)
    try:
        with open(path, "rb") as file:
            return msgspec.convert(tomllib.load(file), Settings)
    except FileNotFoundError:
        return Settings()
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, OSError) as error:
        raise StartRefused(
            ExitCode.BAD_CONFIGURATION,
            f"{path} cannot be used: {error}. docs/tallyd.toml explains every setting",
        ) from None
