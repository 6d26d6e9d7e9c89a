"""Timestamps of the wire: RFC 3339, UTC, whole seconds, ``Z`` (KCP 1.3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_CYCLE: Final = timedelta(days=146_097)
"""After 400 years the calendar begins anew."""


def rfc3339(unix_ms: int) -> str:
    """1 700 000 000 123 → ``2023-11-14T22:13:20Z``."""
    return _rfc3339(unix_ms // 1000)


@lru_cache(maxsize=1024)
def _rfc3339(unix_seconds: int) -> str:
    """Cached: rows written within one second, or read together, have few different times."""
    return (_EPOCH + timedelta(seconds=unix_seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def unix_ms(timestamp: str) -> int:
    """A timestamp that passed the protocol's shape → Unix time in milliseconds. A leap second counts as the
    next second.
    """
    leap = timestamp[17:19] == "60"
    plain = timestamp[:17] + "59" + timestamp[19:] if leap else timestamp
    before = plain.startswith("0000")  # a year of RFC 3339, and none of datetime's: 400 years on is the same
    if before:
        plain = "0400" + plain[4:]
    moment = datetime.fromisoformat(plain.replace("Z", "+00:00"))
    counted = moment - _EPOCH - (_CYCLE if before else timedelta())
    return counted // _MILLISECOND + (1000 if leap else 0)
