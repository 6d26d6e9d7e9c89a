"""Whole uploads and downloads, with the real daemon: resumable by either side, and of files of any size."""

import io
import random
from collections.abc import Iterator
from typing import BinaryIO

import pytest
from tallyd_process import Tallyd

from tallystick import Client, Try
from tallystick.errors import IdempotencyMismatch, NotFound, UploadRejected
from tallystick.protocol import limits
from tallystick.trio_client import TrioClient

CHUNK = limits.ARTIFACT_CHUNK_BYTES_MAX
CONTENT = random.Random(3).randbytes(5 * CHUNK + 17)


@pytest.fixture
def client(tallyd: Tallyd) -> Iterator[Client]:
    with Client(tallyd.runtime_dir) as client:
        yield client


def test_a_file_goes_up_and_comes_down(client: Client) -> None:
    """What is downloaded is what was uploaded, from any offset on; its record says what it is."""
    artifact = client.upload(io.BytesIO(CONTENT), "image/png", classification_ref="class-internal")
    assert (artifact.state, artifact.size, artifact.media_type) == ("available", len(CONTENT), "image/png")
    assert artifact.classification_ref == "class-internal"
    target = io.BytesIO()
    assert client.download(artifact.artifact_id, target) == len(CONTENT)
    assert target.getvalue() == CONTENT
    rest = io.BytesIO()
    assert client.download(artifact.artifact_id, rest, offset=CHUNK + 5) == len(CONTENT)
    assert rest.getvalue() == CONTENT[CHUNK + 5 :]


def test_an_empty_file_is_one(client: Client) -> None:
    """Nothing goes up, and nothing comes down."""
    artifact = client.upload(io.BytesIO(b""))
    assert artifact.size == 0
    target = io.BytesIO()
    assert client.download(artifact.artifact_id, target) == 0
    assert target.getvalue() == b""


class Failing(io.BytesIO):
    """A file whose reader dies at the n-th chunk that it sends."""

    def __init__(self, content: bytes, chunk: int) -> None:
        super().__init__(content)
        self._left = chunk

    def read(self, size: int | None = -1, /) -> bytes:
        if size == CHUNK:
            self._left -= 1
            if self._left < 0:
                raise KeyboardInterrupt
        return super().read(size)


def test_another_process_goes_on_under_the_key(tallyd: Tallyd) -> None:
    """A client that died in the middle, and a daemon that was restarted: what is there is not sent again."""
    sent: list[str] = []

    def watch(one: Try) -> None:
        sent.append(one.operation)

    with Client(tallyd.runtime_dir, key_store=None) as client, pytest.raises(KeyboardInterrupt):
        client.upload(Failing(CONTENT, 3), key="photo")
    tallyd.restart()
    with Client(tallyd.runtime_dir, key_store=None, observer=watch) as client:
        artifact = client.upload(io.BytesIO(CONTENT), key="photo")
        assert sent.count("tallystick_artifact_put") == 1 + 3, "the question, and three chunks of six"
        again = client.upload(io.BytesIO(CONTENT), key="photo")
        assert again == artifact, "the same call once more is the same artifact"
        with pytest.raises(IdempotencyMismatch):
            client.upload(io.BytesIO(CONTENT[:-1] + b"?"), key="photo")
        target = io.BytesIO()
        client.download(artifact.artifact_id, target)
        assert target.getvalue() == CONTENT


class Changing(io.BytesIO):
    """A file that is written to between its measuring and its sending."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        if self.tell() == len(self.getvalue()):
            self.getbuffer()[-1] ^= 1
        return super().seek(offset, whence)


class Shrinking(io.BytesIO):
    """A file that is cut between its measuring and its sending."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        if self.tell() == len(self.getvalue()):
            self.truncate(CHUNK)
        return super().seek(offset, whence)


@pytest.mark.parametrize("source", [Changing(CONTENT), Shrinking(CONTENT)], ids=["changed", "cut"])
def test_a_file_that_changes_on_the_way_is_rejected(client: Client, source: BinaryIO) -> None:
    """Nothing becomes available, and the caller is told so."""
    with pytest.raises(UploadRejected, match="upl-"):
        client.upload(source)


def test_an_unknown_artifact_is_not_found(client: Client) -> None:
    """A download of nothing writes nothing."""
    target = io.BytesIO()
    with pytest.raises(NotFound):
        client.download("art-" + "0" * 32, target)
    assert target.getvalue() == b""


@pytest.mark.trio
async def test_trio_does_the_same(tallyd: Tallyd) -> None:
    """Upload and download, async."""
    async with TrioClient(tallyd.runtime_dir) as client:
        artifact = await client.upload(io.BytesIO(CONTENT), "image/png")
        target = io.BytesIO()
        assert await client.download(artifact.artifact_id, target) == len(CONTENT)
        assert target.getvalue() == CONTENT
        with pytest.raises(UploadRejected):
            await client.upload(Changing(CONTENT))
