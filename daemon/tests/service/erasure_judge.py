"""A reader who has a whole data directory, with its key files, and looks for what was erased.

All that can be decrypted is decrypted: bodies and sealed files under the keys that the database still has.
Then everything is searched, as it is and in disguise. Canaries are made of a few letters that nothing else
holds in a row, so that every fragment of 12 of them is found, whichever canary it came from and wherever in
it; those that are shorter are looked for whole.
"""

from __future__ import annotations

import base64
import os
import random
import re
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import apsw
from harness.files import contents

from tallyd.ledger import ids
from tallyd.store.bodies import BodyStore
from tallyd.vault.sealed import name_of
from tallyd.vault.stream import HEADER_BYTES, SEALED_CHUNK_BYTES, Stream, prefix_of
from tallystick.paths import Paths

LETTERS: Final = "QXZJKVWY"
FRAGMENT: Final = 12
SHORTEST: Final = 5

_ANY: Final = LETTERS.encode()
_HEX: Final = b"|".join(b"%02x" % letter for letter in _ANY)
_RUNS: Final = {
    "plain": rb"[%b]{12,}" % _ANY,
    "utf-16": rb"(?:[%b]\x00){12,}" % _ANY,
    "escapes": rb"(?i:(?:\\u00(?:%b)){12,})" % _HEX,
    "hex": rb"(?i:(?:%b){12,})" % _HEX,
}
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/_-]{16,}")


class Canaries:
    """Words that are to be forgotten, each different."""

    def __init__(self, seed: int = 4) -> None:
        self._random = random.Random(seed)
        self.made: list[str] = []

    def new(self, length: int) -> str:
        """The next one, of so many bytes."""
        while (word := "".join(self._random.choices(LETTERS, k=length))) in self.made:
            continue
        self.made.append(word)
        return word

    def length(self) -> int:
        """5 to 20,000, with as many short ones as long ones."""
        return round(SHORTEST * float((20_000 / SHORTEST) ** self._random.random()))


def everything(paths: Paths) -> dict[str, bytes]:
    """Each file of the directories, and each thing that can be decrypted with what is in them."""
    found = dict(contents(paths.data_dir, paths.state_dir))
    key = (Path(paths.keys_dir) / "objects.key").read_bytes()
    assert key in found.values()
    names = [name for name in os.listdir(paths.data_dir) if re.fullmatch(r".*\.db(\.before-\d+)?", name)]
    for name in names:
        found |= {f"{name}: {what}": plain for what, plain in _decrypted(paths, name, BodyStore(key)).items()}
    return found


def _decrypted(paths: Paths, name: str, bodies: BodyStore) -> dict[str, bytes]:
    copy = paths.data_dir + ".read"
    shutil.copytree(paths.data_dir, copy, ignore=shutil.ignore_patterns("*.new"))
    try:
        with closing(apsw.Connection(os.path.join(copy, name))) as db:
            rows: list[Any] = db.execute("SELECT body FROM object_keys JOIN bodies USING (body)").fetchall()
            numbers = [int(row[0]) for row in rows]
            found = {f"body {number}": bodies.get(db, number) or b"" for number in numbers}
            columns = "id, sealed_storage_version, keys"
            query = f"SELECT {columns} FROM artifacts WHERE keys IS NOT NULL"
            sealed_ones: list[Any] = db.execute(query).fetchall()
            for identity, version, number in sealed_ones:
                keys = bodies.keys(db, int(number))
                if keys is not None:
                    sealed = Path(copy, "artifacts", "sealed")
                    found[f"artifact {number}"] = _opened(sealed, bytes(identity), str(version), keys.seal)
            return found
    finally:
        shutil.rmtree(copy)


def _opened(sealed: Path, identity: bytes, version: str, key: bytes) -> bytes:
    data = (sealed / name_of(ids.text("art", identity), version)).read_bytes()
    stream = Stream(key, prefix_of(data[:HEADER_BYTES]), identity)
    body = data[HEADER_BYTES:]
    chunks = [body[at : at + SEALED_CHUNK_BYTES] for at in range(0, len(body), SEALED_CHUNK_BYTES)]
    return b"".join(
        stream.open(number, chunk, last=number == len(chunks) - 1) for number, chunk in enumerate(chunks)
    )


def found_in(places: dict[str, bytes], canaries: list[str]) -> dict[str, set[str]]:
    """What is there: by place the runs of letters, and the short canaries, in every form."""
    short = [word for word in canaries if len(word) < FRAGMENT]
    found: dict[str, set[str]] = {}
    for place, data in places.items():
        runs = _runs(data)
        for piece in _base64_decoded(data):
            runs |= _runs(piece)
        runs |= {word for word in short if _stands(word, data)}
        if runs:
            found[place] = runs
    return found


def _stands(word: str, data: bytes) -> bool:
    """A short one stands as JSON text or as hex; every other three bytes in a row may be chance."""
    raw = word.encode()
    return b'"%b"' % raw in data or raw.hex().encode() in data


def _runs(data: bytes) -> set[str]:
    found = set()
    for form, pattern in _RUNS.items():
        for match in re.finditer(pattern, data):
            found.add(_letters(form, match.group()))
    return found


def _letters(form: str, run: bytes) -> str:
    if form == "utf-16":
        return run.decode("utf-16-le")
    if form == "escapes":
        return re.sub(rb"\\u00(..)", lambda match: bytes.fromhex(match[1].decode()), run).decode()
    return bytes.fromhex(run.decode()).decode() if form == "hex" else run.decode()


def _base64_decoded(data: bytes) -> list[bytes]:
    """Each run of its letters, decoded from each of the four places where a group may begin."""
    pieces = []
    for match in _BASE64.finditer(data):
        run = match.group().replace(b"-", b"+").replace(b"_", b"/")
        for start in range(4):
            part = run[start : start + (len(run) - start) // 4 * 4]
            if len(part) >= 16:
                pieces.append(base64.b64decode(part))
    return pieces
