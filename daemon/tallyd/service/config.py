"""``tallyd.toml``: what the owner settles before the daemon runs. It stands in the data directory, and may be
absent.

``docs/tallyd.toml`` is the manual: every setting, its default and its cost. An unknown setting is refused: a
misspelled one would be a setting that the owner believes in and the daemon does not have.
"""

from __future__ import annotations

import os
import stat
import tomllib
from typing import Final, Literal

import msgspec

from tallyd.ledger.orders import Order, Orders
from tallyd.store.refusals import ExitCode, StartRefused
from tallystick.protocol import limits
from tallystick.protocol.secrets import Policy
from tallystick.protocol.shapes import DigestHex, Identifiers

FILE_NAME: Final = "tallyd.toml"


class OrderSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names from the widest policy to the narrowest, and from the lowest classification to the highest."""

    policies: Identifiers = ()
    classifications: Identifiers = ()


class SecretSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What becomes of secrets that are found in content."""

    write: Policy = "redact"


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    owner: Literal["peer-uid", "credential"] = "peer-uid"
    owner_credential_sha256: DigestHex | None = None
    secrets: SecretSettings = msgspec.field(default_factory=SecretSettings)
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
        # Windows' editors begin a text with a byte order mark, which "utf-8-sig" takes for what it is.
        return msgspec.convert(tomllib.loads(_read(path).decode("utf-8-sig")), Settings)
    except FileNotFoundError:
        return Settings()
    except UnicodeDecodeError as error:
        said = f"byte {error.start} of it is not UTF-8; save it as UTF-8"
    except RecursionError:
        said = "its lists or tables are nested too deeply"
    except OSError as error:
        said = error.strerror or str(error)
    except (ValueError, msgspec.MsgspecError) as error:  # tomllib raises plain ones too, as for long numbers
        said = str(error)
    raise StartRefused(
        ExitCode.BAD_CONFIGURATION, f"{path} cannot be used: {said}. docs/tallyd.toml explains every setting"
    )


def _read(path: str) -> bytes:
    """Raises OSError, also for what is no regular file or too long: a FIFO would hold the start up."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it is no regular file")
        data = file.read(limits.SETTINGS_BYTES_MAX + 1)
    if len(data) > limits.SETTINGS_BYTES_MAX:
        raise OSError(0, f"it is longer than {limits.SETTINGS_BYTES_MAX} bytes")
    return data
