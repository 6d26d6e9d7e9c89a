"""What is erased leaves this user's key stores too, where a request that was never answered stood."""

import glob
from pathlib import Path

import pytest
import trio
from tallyd_process import Tallyd

from tallystick import Client, OutcomeUnknown
from tallystick.protocol.families.projects import Space
from tallystick.trio_client import TrioClient

WORDS = "the key is under the mat \u00e9"


def said_and_unanswered(tallyd: Tallyd, key: str = "k-1") -> tuple[Space, str]:
    """A contribution that was appended while its reply was lost; its request stands in the key store."""
    with Client(tallyd.runtime_dir) as client:
        space = client.space_create(client.project_create("kitchen").value, "keys").value
    tallyd.kill()
    tallyd.start(abort="after_commit:contribution_append")
    with Client(tallyd.runtime_dir, deadline_seconds=1) as client, pytest.raises(OutcomeUnknown):
        client.append(space, "claim", WORDS, key=key)
    tallyd.wait_for_death()
    tallyd.start()
    with Client(tallyd.runtime_dir, key_store=None) as client:
        (said,) = client.contributions(space)
    return space, said.contribution_id


def stores(tmp_path: Path) -> str:
    """Everything in the key stores of this user."""
    return "".join(Path(path).read_text() for path in glob.glob(str(tmp_path / "state" / "keys-*")))


def test_a_redaction_clears_what_was_never_answered(tallyd: Tallyd, tmp_path: Path) -> None:
    """The words, and what guesses could be tested against, are gone; other requests stay."""
    space, ref = said_and_unanswered(tallyd)
    assert "under the mat" in stores(tmp_path)
    with Client(tallyd.runtime_dir) as client:
        reply = client.contribution_redact(space.project_id, ref, "mistake")
        assert reply.forgotten == (1, ())
        assert client.pending() == []
    assert "under the mat" not in stores(tmp_path)


def test_it_reaches_the_stores_of_other_actors_and_says_what_it_cannot(
    tallyd: Tallyd, tmp_path: Path
) -> None:
    """An agent's key store of the same user is cleared as well; one that cannot be used is named."""
    space, ref = said_and_unanswered(tallyd)
    broken = tmp_path / "state" / "keys-agent-0.log"
    broken.write_text("no key store\n")
    with Client(tallyd.runtime_dir, actor="prin-owner", key_store=None) as client:
        reply = client.contribution_redact(space.project_id, ref, "mistake")
    assert reply.forgotten is not None
    assert reply.forgotten.cleared == 1
    (unreached,) = reply.forgotten.unreached
    assert str(broken) in unreached
    assert "under the mat" not in stores(tmp_path)


@pytest.mark.trio
async def test_an_event_is_forgotten_on_trio_as_well(tallyd: Tallyd, tmp_path: Path) -> None:
    """The name of a project, erased in its event, leaves the pending request that gave it."""
    tallyd.kill()
    tallyd.start(abort="after_commit:project_create")
    with Client(tallyd.runtime_dir, deadline_seconds=1) as client, pytest.raises(OutcomeUnknown):
        client.project_create("a secret garden")
    await trio.to_thread.run_sync(tallyd.wait_for_death)
    tallyd.start()
    async with TrioClient(tallyd.runtime_dir) as on_trio:
        (project,) = [project async for project in on_trio.projects()]
        (made,) = (await on_trio.events_read(project)).events
        reply = await on_trio.erase("mistake", event_id=made.event_id)
    assert reply.forgotten == (1, ())
    assert "secret garden" not in stores(tmp_path)
