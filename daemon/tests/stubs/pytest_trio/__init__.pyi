"""What we use of pytest-trio, which comes without types."""

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])

def trio_fixture(function: F) -> F: ...
