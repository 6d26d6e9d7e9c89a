"""Listening sockets as files: modes, links, stale and lost files, and channels that come and go."""

from __future__ import annotations

import contextlib
import os
import socket
import stat

import msgspec
import pytest
from door.desk import Open, Opener

from tallyd.door import Channel, ListenRefused
from tallyd.door.listeners import Listener
from tallystick.paths import SOCKET_PATH_BYTES_MAX
from tallystick.protocol.operation import Socket


def mode_of(path: str) -> int:
    """Permission bits of a file."""
    return stat.S_IMODE(os.lstat(path).st_mode)


def beside(channel: Channel, name: str) -> Channel:
    """Another channel in the same directory."""
    return msgspec.structs.replace(channel, path=os.path.join(os.path.dirname(channel.path), name))


def test_case_088_the_socket_is_never_open_to_others(channel: Channel) -> None:
    """The socket has mode 0600, whatever the umask is, and the umask is as before."""
    umask = os.umask(0)
    try:
        listener = Listener(channel)
        assert os.umask(0) == 0
        assert mode_of(channel.path) == 0o600
        listener.close_and_remove()
    finally:
        os.umask(umask)


@pytest.mark.parametrize(
    ("name", "alias"), [("tally.sock", "kovee.sock"), ("tally-worker.sock", "kovee-worker.sock")]
)
def test_a_link_under_kcp_name(channel: Channel, name: str, alias: str) -> None:
    """Each socket has a relative link under the name that KCP clients know, which goes when it goes."""
    listener = Listener(beside(channel, name))
    link = os.path.join(os.path.dirname(channel.path), alias)
    assert os.readlink(link) == name
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(link)
    listener.close_and_remove()
    assert os.listdir(os.path.dirname(channel.path)) == []


def test_a_socket_of_another_name_has_no_link(channel: Channel) -> None:
    """Only the two names of the protocol are linked."""
    Listener(beside(channel, "other.sock")).close()
    assert os.listdir(os.path.dirname(channel.path)) == ["other.sock"]


def test_a_stale_socket_and_a_stale_link_are_replaced(channel: Channel) -> None:
    """What a killed process left at our names is replaced without asking (we hold the directory's lock)."""
    Listener(channel).close()
    link = os.path.join(os.path.dirname(channel.path), "kovee.sock")
    os.unlink(link)
    os.symlink("elsewhere.sock", link)
    listener = Listener(channel)
    assert os.readlink(link) == "tally.sock"
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(channel.path)
    listener.close_and_remove()


def test_what_is_no_socket_is_left_alone(channel: Channel, caplog: pytest.LogCaptureFixture) -> None:
    """A file at the socket's name is refused by name; one at the link's name is kept, and said."""
    with open(channel.path, "x"):
        pass
    with pytest.raises(ListenRefused, match=r"tally\.sock is there and is no socket: move it elsewhere"):
        Listener(channel)
    os.unlink(channel.path)
    link = os.path.join(os.path.dirname(channel.path), "kovee.sock")
    with open(link, "x"):
        pass
    Listener(channel).close_and_remove()
    assert os.path.isfile(link)
    assert "kovee.sock is there and is no link" in caplog.text


def test_case_014_case_015_case_016_a_path_too_long(channel: Channel) -> None:
    """A path over the limit is refused with its length, the limit and the variable to set; one of the limit
    is bound."""
    directory = os.path.dirname(channel.path)
    name = "s" * (SOCKET_PATH_BYTES_MAX - len(directory) - 1)
    Listener(beside(channel, name)).close_and_remove()
    with pytest.raises(ListenRefused, match=r"has 104 bytes, and 103 .* TALLY_RUNTIME_DIR"):
        Listener(beside(channel, name + "s"))


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o1777])
def test_a_directory_that_others_may_list_or_change(channel: Channel, mode: int) -> None:
    """A directory that is not private is refused, with the command that makes it so."""
    directory = os.path.dirname(channel.path)
    os.chmod(directory, mode)
    with pytest.raises(ListenRefused, match=rf"mode {mode:04o}.*chmod 0700 {directory}"):
        Listener(channel)


def test_a_directory_through_which_others_may_pass(channel: Channel) -> None:
    """For an agent with a uid of its own the directory may be searched, its socket is open, and no other
    is."""
    os.chmod(os.path.dirname(channel.path), 0o711)
    agent = msgspec.structs.replace(beside(channel, "agent.sock"), mode=0o666)
    listeners = [Listener(channel), Listener(agent)]
    assert (mode_of(channel.path), mode_of(agent.path)) == (0o600, 0o666)
    for listener in listeners:
        listener.close()


def test_a_directory_that_is_a_link(channel: Channel, runtime_dir: str) -> None:
    """A symbolic link in the directory's place is refused: whoever owns it could turn it."""
    real = os.path.join(runtime_dir, "real")
    os.mkdir(real, 0o700)
    os.symlink("real", os.path.join(runtime_dir, "link"))
    with pytest.raises(ListenRefused, match="is a symbolic link"):
        Listener(msgspec.structs.replace(channel, path=os.path.join(runtime_dir, "link", "tally.sock")))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a directory to another uid")
def test_a_directory_of_another(channel: Channel) -> None:
    """A directory that belongs to another uid is refused, with both uids."""
    os.chown(os.path.dirname(channel.path), 12_345, -1)
    with pytest.raises(ListenRefused, match=f"belongs to uid 12345 and not to uid {os.geteuid()}"):
        Listener(channel)


def test_a_directory_that_is_not_there(channel: Channel) -> None:
    """A missing directory is a refusal in words."""
    path = os.path.join(os.path.dirname(channel.path), "gone", "tally.sock")
    with pytest.raises(ListenRefused, match="cannot be bound: No such file or directory"):
        Listener(msgspec.structs.replace(channel, path=path))


def test_case_019_a_mode_that_cannot_be_set(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where a socket does not get its mode (the umask stands for a file system without modes), a private
    directory is enough, with a warning; an open one not."""
    set_umask = os.umask
    umask = set_umask(0)
    monkeypatch.setattr(os, "umask", lambda _: 0)
    try:
        listener = Listener(channel)
        listener.close_and_remove()
        assert "has mode 0777 and not 0600" in caplog.text
        os.chmod(os.path.dirname(channel.path), 0o711)
        with pytest.raises(ListenRefused, match="cannot be bound"):
            Listener(channel)
    finally:
        set_umask(umask)
    assert os.listdir(os.path.dirname(channel.path)) == []


@pytest.mark.parametrize("mode", [0o600, 0o666])
def test_no_link_in_the_place_of_a_socket_opens_another_file(
    channel: Channel, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write in the directory puts a link there as soon as the socket is bound: the file that it
    leads to keeps its mode.
    """
    secret = os.path.join(os.path.dirname(channel.path), "secret")
    with open(secret, "w", opener=lambda path, flags: os.open(path, flags, 0o400)):
        pass
    set_umask = os.umask

    def race(value: int) -> int:
        before = set_umask(value)
        if os.path.exists(channel.path):
            os.unlink(channel.path)
            os.symlink(secret, channel.path)
        return before

    monkeypatch.setattr(os, "umask", race)
    with contextlib.suppress(ListenRefused):
        Listener(msgspec.structs.replace(channel, mode=mode)).close()
    assert mode_of(secret) == 0o400


@pytest.mark.trio
@pytest.mark.parametrize("loss", ["removed", "replaced", "linked"])
async def test_case_018_a_lost_socket_is_bound_anew(house: Open, loss: str) -> None:
    """A socket whose file was removed or replaced is bound anew; who is connected, or has connected just
    before, notices nothing; without a loss nothing is done."""
    path = house.channel.path
    inside = await house.caller()
    await inside.ask("echo in")
    assert house.door.rebind_lost() == []
    waiting = house.caller_at_once(b"echo waiting\n")
    if loss == "removed":
        os.unlink(path)
    else:
        os.rename(path, path + ".old")
        if loss == "replaced":
            with socket.socket(socket.AF_UNIX) as other:
                other.bind(path)
    if loss == "linked":
        os.unlink(os.path.join(os.path.dirname(path), "kovee.sock"))
    assert house.door.rebind_lost() == [path]
    assert await (await house.caller()).ask("echo new") == "new"
    assert await (await house.caller(path.replace("tally.sock", "kovee.sock"))).ask("echo link") == "link"
    assert await waiting.line() == "waiting"
    assert await inside.ask("echo in") == "in"
    assert house.door.rebind_lost() == []


@pytest.mark.trio
async def test_a_lost_link_is_made_anew(house: Open) -> None:
    """A link that went away alone comes back, and the socket stays as it is."""
    link = house.channel.path.replace("tally.sock", "kovee.sock")
    os.unlink(link)
    assert house.door.rebind_lost() == []
    assert await (await house.caller(link)).ask("echo link") == "link"


@pytest.mark.trio
async def test_a_socket_that_cannot_be_bound_anew(house: Open, caplog: pytest.LogCaptureFixture) -> None:
    """Where binding anew fails it is said, what is open goes on, and the next try may work."""
    path = house.channel.path
    inside = await house.caller()
    await inside.ask("echo in")
    os.unlink(path)
    with open(path, "x"):
        pass
    assert house.door.rebind_lost() == []
    assert "nobody can connect" in caplog.text
    assert await inside.ask("echo still") == "still"
    os.unlink(path)
    assert house.door.rebind_lost() == [path]
    assert await (await house.caller()).ask("echo new") == "new"


@pytest.mark.trio
async def test_case_007_a_probe_does_not_unlink(house: Open) -> None:
    """Connecting and going leaves the socket's file alone."""
    before = os.lstat(house.channel.path).st_ino
    (await house.caller()).close()
    await house.settled()
    assert os.lstat(house.channel.path).st_ino == before


@pytest.mark.trio
async def test_channels_come_and_go(house: Open, runtime_dir: str) -> None:
    """A channel added while the door runs is served as its actor; removed, its file goes and its
    connections stay; disconnected, they end, and no other does."""
    directory = os.path.join(runtime_dir, "agent-7")
    os.mkdir(directory, 0o700)
    agent = Channel(
        socket=Socket.WORKER,
        actor="agent-7",
        strength="peer-uid",
        path=os.path.join(directory, "tally-worker.sock"),
        allowed_uid=os.geteuid(),
    )
    owner = await house.caller()
    assert await owner.ask("who") == "prin-owner"
    house.door.listen(agent)
    with pytest.raises(ListenRefused, match="listened on already"):
        house.door.listen(agent)
    caller = await house.caller(agent.path)
    assert await caller.ask("who") == "agent-7"
    house.door.unlisten(agent)
    assert os.listdir(directory) == []
    assert await caller.ask("who") == "agent-7"
    await caller.say("wait a 30")
    await house.desk.heard("start wait a")
    house.door.disconnect(agent)
    assert await caller.ended()
    assert "abandon a" in house.desk.log
    assert await owner.ask("who") == "prin-owner"


@pytest.mark.trio
async def test_a_connection_that_adopted_a_channel_ends_with_it(house: Open) -> None:
    """Disconnecting a channel ends those who came in by another one and speak as its actor, and nobody else.
    """
    caller, owner = await house.caller(), await house.caller()
    await caller.say("adopt agent-7", "wait a 30")
    await house.desk.heard("start wait a")
    house.door.disconnect(msgspec.structs.replace(house.channel, actor="agent-7", path="/elsewhere"))
    assert await caller.line() == "adopted"
    assert await caller.ended()
    assert await owner.ask("who") == "prin-owner"


@pytest.mark.trio
async def test_what_is_not_ours_is_not_removed(open_door: Opener) -> None:
    """A door that stops removes its own file and link, and leaves what another put in their place."""
    house = open_door()
    path = house.channel.path
    os.unlink(path)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(path)
        house.door.stop_accepting()
        assert os.path.exists(path)
