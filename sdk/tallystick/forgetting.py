"""Erased words leave the key stores of this user too.

A request that was never answered stands in a key store with all that it says. When that is erased in the
daemon, it must not stay there. So whoever erases through the SDK first reads what is erased, and when the
daemon has erased it, every key store in the state directory is looked through: a request whose whole content
is among those words is overwritten, and is not sent again.

What this cannot do is told (``Forgotten.unreached``), and here: key stores of other users and of other state
directories are not looked for; words that could not be read any more, since they were erased before, are not
known; and a file system that writes copies, or a backup, may keep what was overwritten.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator
from typing import NamedTuple

from tallystick.errors import KeyStoreError
from tallystick.keystore import KeyStore, actor_of


class Forgotten(NamedTuple):
    """What of erased content was found in this user's key stores.

    ``cleared`` requests were overwritten. ``unreached`` says in a sentence each what could not be looked
    through.
    """

    cleared: int
    unreached: tuple[str, ...]


def forget(state_dir: str, words: frozenset[str], store: str | None) -> Forgotten:
    """Clear requests that say nothing but these words, in every key store of the directory. Touches the disk.
    """
    cleared = 0
    unreached = []
    for path in sorted(glob.glob(os.path.join(glob.escape(state_dir), "keys-*.log"))):
        try:
            with_actor = KeyStore(path, actor=actor_of(path))
            try:
                cleared += with_actor.forget(lambda line, of: of in ("", store) and says(line, words))
            finally:
                with_actor.close()
        except (KeyStoreError, OSError) as error:
            unreached.append(f"{path}: {getattr(error, 'strerror', None) or error}")
    return Forgotten(cleared, tuple(unreached))


def says(line: str, words: frozenset[str]) -> bool:
    """Whether a request has content, all of it among the words, as it is or with its secrets redacted."""
    from tallystick.protocol.operation import Socket
    from tallystick.protocol.registry import BY_SOCKET
    from tallystick.protocol.secrets import redact

    request = json.loads(line)
    operations = (BY_SOCKET.get((socket, request["op"])) for socket in Socket)
    names = {name for operation in operations if operation is not None for name in operation.content}
    said = {text for name in names for text in strings(request["args"].get(name))}
    return bool(said) and all(text in words or redact(text)[0] in words for text in said)


def strings(value: object) -> Iterator[str]:
    """All texts in a JSON value, at any depth, without the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from strings(member)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)
