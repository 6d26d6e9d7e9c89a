"""How far a daemon is that takes long to start: it copies and migrates a large store.

Such a daemon writes what it does into a file of its runtime directory (``Paths.starting``), once a second at
most, and at least once in two minutes. Whoever waits for it looks at that file once a second, tells what is
new there, and goes on waiting while something is. Of a start that takes more than a second and has said
nothing, people are told that much. A file that does not change was left by a daemon that was
killed, and means nothing.
"""

import json
import os
import time
from collections.abc import Callable
from typing import Final

LOOK_SECONDS: Final = 1.0
"""Between two looks; who is told of each hears it once a second at most."""
SILENCE_SECONDS_MAX: Final = 120
"""While it commits or syncs gigabytes a daemon says nothing."""
STARTING: Final = "The daemon is starting."
_BYTES_MAX: Final = 4096

Tell = Callable[[str], None]


class Watch:
    """Looks at the file of one start. Made before the daemon is started, so that it knows what is old."""

    def __init__(self, path: str, tell: Tell | None = None) -> None:
        self._path = path
        self._tell = tell
        self._seen = self._read()
        self._told = ""
        self._began = time.monotonic()
        self._heard: float | None = None

    def look(self) -> None:
        """See whether there is something new, and tell it; once a second has passed, that it is starting."""
        found = self._read()
        if found and found != self._seen:
            self._heard = time.monotonic()
            words = _words(found)
            if self._tell is not None and words != self._told:
                self._tell(words)
            self._told = words
        elif not self._told and time.monotonic() - self._began >= LOOK_SECONDS:
            self._told = STARTING
            if self._tell is not None:
                self._tell(STARTING)
        self._seen = found

    def ends(self, began: float, seconds: float) -> float:
        """Until when (monotonic) to wait for a start that began then and usually takes so long at most."""
        usual = began + seconds
        return usual if self._heard is None else max(usual, self._heard + SILENCE_SECONDS_MAX)

    def _read(self) -> bytes:
        """The file's line; nothing where there is no such file to be read."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                return os.read(descriptor, _BYTES_MAX)
            finally:
                os.close(descriptor)
        except OSError:
            return b""


def _words(line: bytes) -> str:
    """What the file says, for people."""
    try:
        said = json.loads(line)
        step, percent = said["step"], said["percent"]
    except (ValueError, KeyError, TypeError):
        return STARTING
    return f"The daemon is starting: {step}" + (f", {percent} %." if percent is not None else ".")
