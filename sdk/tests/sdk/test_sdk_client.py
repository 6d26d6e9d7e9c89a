"""The blocking client against a line server: connections, retries, deadlines, forks, threads, interrupts."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable

import pytest
from line_server import (
    NOT_APPLIED,
    UNKNOWN,
    Act,
    LineServer,
    after,
    drop,
    echo,
    half,
    limited,
    ok,
    problem,
    say,
    silence,
)

from tallystick import errors
from tallystick.client import Client
from tallystick.core import Call, Read, Reply, Try, Write
from tallystick.protocol.ijson import JsonValue

Run = Callable[..., "subprocess.Popen[str]"]


def ask(client: Client, number: int, **options: object) -> Reply[JsonValue]:
    """A read that the server echoes."""
    call: Call[JsonValue] = Read("realm_show", {"number": number}, "", **options)  # type: ignore[arg-type]
    return client.reply(call)


def do(client: Client, number: int, **options: object) -> Reply[JsonValue]:
    """A write that the server echoes."""
    call: Call[JsonValue] = Write("project_create", {"number": number}, "", **options)  # type: ignore[arg-type]
    return client.reply(call)


def ask_in_vain(client: Client, raised: list[errors.TallyError]) -> None:
    """A read that gets no answer, and what it raises."""
    try:
        ask(client, 1)
    except errors.TallyError as error:
        raised.append(error)


def number(reply: Reply[JsonValue]) -> object:
    """Which request the echo in a reply is of."""
    assert isinstance(reply.value, dict)
    echoed = reply.value["args"]
    assert isinstance(echoed, dict)
    return echoed["number"]


@pytest.fixture
def client(runtime_dir: str) -> Client:
    return Client(runtime_dir, deadline_seconds=10)


# --- connections ------------------------------------------------------------------------------------------
def test_one_connection_serves_many_requests(client: Client, socket_path: str) -> None:
    """The connection is kept, and each reply belongs to its request."""
    with LineServer(socket_path) as server, client:
        assert [number(ask(client, n)) for n in range(50)] == list(range(50))
        assert server.connections == 1


def test_a_reply_has_its_revision_and_cursor(client: Client, socket_path: str) -> None:
    """What stands beside the result comes through, with the key and the number of tries."""
    with LineServer(socket_path, [say(ok(1, revision=4, event_cursor="kc1.a.b"))]), client:
        assert do(client, 0, key="k1") == Reply(1, 4, "kc1.a.b", "k1", 1)


def test_waits_have_a_connection_of_their_own(client: Client, socket_path: str) -> None:
    """A wait that lasts does not hold up what else the client asks."""
    answered = threading.Event()
    with LineServer(socket_path, [after(answered, echo)]) as server, client:
        waiting = threading.Thread(target=ask, args=(client, 1), kwargs={"wait_seconds": 30.0})
        waiting.start()
        server.wait_for(lambda s: len(s.heard) == 1)
        assert number(ask(client, 2)) == 2
        answered.set()
        waiting.join()
        assert {each.connection for each in server.heard} == {0, 1}


def test_a_connection_that_the_daemon_closed_is_not_used(client: Client, socket_path: str) -> None:
    """An idle connection that was closed meanwhile costs no try: the request goes out once, on a new one."""
    with LineServer(socket_path) as server, client:
        ask(client, 1)
        server.stop()
        with LineServer(socket_path) as another:
            assert do(client, 2).tries == 1
            assert len(another.heard) == 1


def test_what_came_unasked_answers_nothing(client: Client, socket_path: str) -> None:
    """A line that the daemon sent between two requests is not taken for the reply to the second."""
    both = ok({"args": {"number": 1}}) + ok({"args": {"number": "farewell"}})
    with LineServer(socket_path, [say(both)]) as server, client:
        assert number(ask(client, 1)) == 1
        assert number(ask(client, 2)) == 2
        assert {each.connection for each in server.heard} == {0, 1}


def test_a_refusal_at_the_door_is_heard(client: Client, socket_path: str) -> None:
    """A daemon at its cap answers a connection before it reads, and closes it: the client learns why."""
    with LineServer(socket_path, greeting=limited(3600)), client, pytest.raises(errors.RateLimited) as caught:
        do(client, 1)
    assert caught.value.retry_after_seconds == 3600
    assert caught.value.outcome == "not_applied"
    assert client.pending() == []


# --- retries ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "act",
    [drop, half, say(UNKNOWN), say(NOT_APPLIED), say(limited(0))],
    ids=["dropped", "cut", "unknown", "not applied", "rate limited"],
)
def test_case_098_the_same_bytes_are_sent_again(client: Client, socket_path: str, act: Act) -> None:
    """A lost, cut or unknown reply means the same key and the same bytes again, and the caller does not
    notice."""
    with LineServer(socket_path, [act, act]) as server, client:
        reply = do(client, 7)
        assert number(reply) == 7
        assert reply.tries == 3
        assert len(server.heard) == 3
        assert len(set(server.lines)) == 1
    assert client.pending() == []


def test_case_098_a_daemon_that_starts_again_is_found(client: Client, socket_path: str) -> None:
    """A daemon that died with the request in its hands, and one that is not there yet, are both waited for.
    """
    with client:
        with LineServer(socket_path, [echo, silence]) as first:
            ask(client, 1)
            replies: list[Reply[JsonValue]] = []
            calling = threading.Thread(target=lambda: replies.append(do(client, 2)))
            calling.start()
            first.wait_for(lambda s: len(s.heard) == 2)
        os.unlink(socket_path)
        with LineServer(socket_path) as second:
            calling.join()
            assert number(replies[0]) == 2
            assert second.lines == first.lines[1:]


@pytest.mark.parametrize("kind", ["invalid", "forbidden", "internal", "unavailable"])
def test_other_problems_are_raised_after_one_try(client: Client, socket_path: str, kind: str) -> None:
    """What would be answered the same again is not asked again."""
    status = {"invalid": 422, "forbidden": 403, "internal": 500, "unavailable": 503}[kind]
    with LineServer(socket_path, [say(problem(kind, status))]) as server, client:
        with pytest.raises(errors.BY_KIND[kind]):
            do(client, 1)
        assert len(server.heard) == 1
        assert number(do(client, 2)) == 2
    assert client.pending() == []


def test_tries_can_be_watched(runtime_dir: str, socket_path: str) -> None:
    """An observer counts how often each key was sent."""
    seen: list[Try] = []
    with LineServer(socket_path, [drop]), Client(runtime_dir, observer=seen.append) as client:
        do(client, 1, key="k1")
    assert seen == [Try("project_create", "k1", 1), Try("project_create", "k1", 2)]


# --- deadlines --------------------------------------------------------------------------------------------
def test_nobody_there_is_said_with_path_and_advice(runtime_dir: str, socket_path: str) -> None:
    """Where no daemon comes until the deadline, the error names the path and what to do, and nothing is
    pending."""
    with Client(runtime_dir, deadline_seconds=0.05) as client:
        with pytest.raises(errors.Unreachable, match="tally up") as caught:
            do(client, 1)
        assert socket_path in str(caught.value)
        assert client.pending() == []


def test_an_unknown_outcome_holds_its_key(client: Client, socket_path: str) -> None:
    """A write without a reply ends as unknown; the same key and arguments go on with the very same bytes."""
    with LineServer(socket_path, [silence]) as server, client:
        with pytest.raises(errors.OutcomeUnknown) as caught:
            do(client, 1, deadline_seconds=0.05)
        key = caught.value.key
        assert key is not None
        assert [pending.key for pending in client.pending()] == [key]
        assert number(do(client, 1, key=key)) == 1
        assert len(set(server.lines)) == 1
        assert client.pending() == []


def test_a_late_reply_answers_no_other_call(client: Client, socket_path: str) -> None:
    """The reply to a call that timed out is never taken for the next one's."""
    late = threading.Event()
    with LineServer(socket_path, [after(late, echo)]) as server, client:
        with pytest.raises(errors.TimedOut):
            ask(client, 1, deadline_seconds=0.05)
        late.set()
        assert number(ask(client, 2)) == 2
        assert {each.connection for each in server.heard} == {0, 1}


def test_a_turn_that_does_not_come_is_a_timeout(client: Client, socket_path: str) -> None:
    """A thread that waits for its turn keeps its own deadline, and has sent nothing."""
    with LineServer(socket_path, [silence]) as server, client:
        holding = threading.Thread(target=ask_in_vain, args=(client, []))
        holding.start()
        server.wait_for(lambda s: len(s.heard) == 1)
        with pytest.raises(errors.TimedOut) as caught:
            do(client, 2, deadline_seconds=0.05)
        assert caught.value.outcome == "not_applied"
        assert len(server.heard) == 1
        assert client.pending() == []
        client.close()
        holding.join()


def test_case_020_a_blocked_socket_is_called_blocked(
    runtime_dir: str, socket_path: str, run_python: Run
) -> None:
    """A process that may not connect is told so at once, with the sandbox's settings, and not that none
    runs."""
    source = """
import os, sys
from tallystick import Client, SandboxBlocked
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)
try:
    Client(sys.argv[1], key_store=None).realm_show()
except SandboxBlocked as error:
    print(error)
"""
    with LineServer(socket_path):
        os.chmod(socket_path, 0o600 if os.getuid() == 0 else 0)
        os.chmod(runtime_dir, 0o711 if os.getuid() == 0 else 0o700)
        process = run_python(source, runtime_dir)
        out, _ = process.communicate(timeout=30)
    assert f"the sandbox blocks this socket: {socket_path}" in out


# --- a client's death -------------------------------------------------------------------------------------
def test_case_047_a_killed_clients_request_is_resumed(
    runtime_dir: str, socket_path: str, run_python: Run
) -> None:
    """A client killed before its reply leaves a request that the next one sends: same key, same bytes."""
    source = """
import sys
from tallystick import Client
Client(sys.argv[1]).project_create("kitchen")
"""
    with LineServer(socket_path, [silence]) as server:
        process = run_python(source, runtime_dir)
        server.wait_for(lambda s: len(s.heard) == 1)
        process.kill()
        process.wait()
        with Client(runtime_dir) as client:
            (pending,) = client.pending()
            assert pending.operation == "project_create"
            server.then(say(problem("forbidden", 403)))
            (resumed,) = client.resume()
            assert server.lines[0] == server.lines[1]
            assert resumed.pending == pending
            assert isinstance(resumed.error, errors.Forbidden)
            assert resumed.error.outcome == "unknown"


def test_resume_leaves_what_was_answered_meanwhile(client: Client, socket_path: str) -> None:
    """What is answered once is not sent again, and what is not answered stays."""
    with LineServer(socket_path, [silence]) as server, client:
        with pytest.raises(errors.OutcomeUnknown):
            do(client, 1, deadline_seconds=0.05)
        server.stop()
        with pytest.raises(errors.OutcomeUnknown):
            Client(client.paths.runtime_dir, deadline_seconds=0.05).resume()
        assert len(client.pending()) == 1
        client.abandon(client.pending()[0])
        assert client.resume() == []


def test_another_actor_resumes_nothing_of_ours(client: Client, runtime_dir: str, socket_path: str) -> None:
    """A request is only ever sent again as the actor who made it."""
    with LineServer(socket_path, [silence]), client:
        with pytest.raises(errors.OutcomeUnknown):
            do(client, 1, deadline_seconds=0.05)
        with Client(runtime_dir, actor="agent-7") as other:
            assert other.pending() == []
            assert other.resume() == []


def test_without_a_key_store_nothing_is_written(
    runtime_dir: str, socket_path: str, tmp_path: os.PathLike[str]
) -> None:
    """A caller who owns its keys pays for no store."""
    with LineServer(socket_path), Client(runtime_dir, key_store=None) as client:
        do(client, 1, key="k1")
        assert client.pending() == []
    assert not os.path.exists(os.path.join(tmp_path, "state"))


# --- interrupts, forks, threads ---------------------------------------------------------------------------
def test_an_interrupt_leaves_no_reply_behind(client: Client, socket_path: str) -> None:
    """A KeyboardInterrupt in the middle of a call closes the connection; the write stays pending."""

    def interrupt(connected: object, line: bytes) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        echo(connected, line)  # type: ignore[arg-type]

    with LineServer(socket_path, [interrupt]) as server, client:
        with pytest.raises(KeyboardInterrupt):
            do(client, 1)
        assert len(client.pending()) == 1
        assert number(ask(client, 2)) == 2
        assert {each.connection for each in server.heard} == {0, 1}


def test_case_043_a_forked_child_makes_its_own_connection(client: Client, socket_path: str) -> None:
    """After a fork the child lets go of the parent's connection without ending it, and uses another."""
    with LineServer(socket_path) as server, client:
        ask(client, 1)
        if (pid := os.fork()) == 0:
            os._exit(0 if number(do(client, 2)) == 2 else 1)
        assert os.waitpid(pid, 0)[1] == 0
        assert number(do(client, 3)) == 3
        assert [each.connection for each in server.heard] == [0, 1, 0]
        server.wait_for(lambda s: s.ended == {1})


def test_case_043_a_fork_while_another_thread_is_calling(client: Client, socket_path: str) -> None:
    """The child is not held up by a lock that a thread of its parent held when it was copied."""
    go_on = threading.Event()
    with LineServer(socket_path, [after(go_on, echo)]) as server, client:
        calling = threading.Thread(target=ask, args=(client, 1))
        calling.start()
        server.wait_for(lambda s: len(s.heard) == 1)
        if (pid := os.fork()) == 0:
            os._exit(0 if number(ask(client, 2, deadline_seconds=5.0)) == 2 else 1)
        assert os.waitpid(pid, 0)[1] == 0
        go_on.set()
        calling.join()


def test_threads_share_a_client(client: Client, socket_path: str) -> None:
    """Each of eight threads gets the replies to its own requests."""
    wrong: list[int] = []

    def work(base: int) -> None:
        wrong.extend(n for n in range(base, base + 25) if number(do(client, n)) != n)

    with LineServer(socket_path) as server, client:
        threads = [threading.Thread(target=work, args=(base,)) for base in range(0, 800, 100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert (len(server.heard), server.connections) == (200, 1)


def test_close_ends_another_threads_wait(client: Client, socket_path: str) -> None:
    """Closing a client does not wait for a reply that a thread is waiting for."""
    raised: list[errors.TallyError] = []
    with LineServer(socket_path, [silence]) as server:
        waiting = threading.Thread(target=ask_in_vain, args=(client, raised))
        waiting.start()
        server.wait_for(lambda s: len(s.heard) == 1)
        client.close()
        waiting.join(timeout=10)
        assert not waiting.is_alive()
        assert isinstance(raised[0], errors.TimedOut)
        with pytest.raises(errors.ClientClosed):
            ask(client, 2)


def test_a_closed_client_leaves_nothing_pending(client: Client, socket_path: str) -> None:
    """A write that could not even be begun is not resumed later."""
    with LineServer(socket_path):
        client.close()
        with pytest.raises(errors.ClientClosed):
            do(client, 1)
        assert client.pending() == []


# --- content ----------------------------------------------------------------------------------------------
def test_case_071_lone_surrogates_by_policy(runtime_dir: str, socket_path: str) -> None:
    """A client refuses half a character with its place, or replaces it, as it was opened to."""
    with LineServer(socket_path) as server:
        with Client(runtime_dir) as strict, pytest.raises(errors.NotSendable, match=r"\$\.args\.name"):
            strict.project_create("\ud800")
        with Client(runtime_dir, text_policy="replace") as lenient:
            lenient.call("project_create", {"name": "\ud800"})
        (heard,) = server.heard
        assert heard.request["args"] == {"name": "\ufffd"}


def test_a_result_of_another_shape_was_still_applied(client: Client, socket_path: str) -> None:
    """A reply whose result this version cannot read says that the command was done."""
    with LineServer(socket_path, [say(ok({"new": 1}))]), client, pytest.raises(errors.BadReply) as caught:
        client.project_create("kitchen")
    assert caught.value.outcome == "applied"
    assert client.pending() == []


def test_another_protocol_at_the_socket_is_named(client: Client, socket_path: str) -> None:
    """What is no reply of ours ends the call, and the write's outcome is unknown."""
    with LineServer(socket_path, [say(b"HTTP/1.1 400 Bad Request\r\n")]), client:
        with pytest.raises(errors.BadReply) as caught:
            do(client, 1)
        assert caught.value.outcome == "unknown"
        assert len(client.pending()) == 1


def test_any_operation_by_name(client: Client, socket_path: str) -> None:
    """The generic call sends what the registry says: meta for a write, none for a read, no realm for hello.
    """
    with LineServer(socket_path) as server, client:
        client.call("project_create", {"name": "x"}, key="k1", expected_revision=0)
        client.call("space_show", {"space_id": "s"}, project_id="p")
        client.call("protocol_info", {})
        write, read, bare = (each.request for each in server.heard)
        assert write["meta"] == {"request_id": "req-k1", "idempotency_key": "k1", "expected_revision": 0}
        assert read == {
            "version": "0.1",
            "op": "space_show",
            "realm_id": "realm-personal",
            "project_id": "p",
            "args": {"space_id": "s"},
        }
        assert "realm_id" not in bare
        assert json.loads(json.dumps(bare)) == bare
