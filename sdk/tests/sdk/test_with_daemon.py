"""The SDK and the real daemon: the journey of an agent loop, with either side dying in the middle of it."""

import io
import random
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tallyd_process import Tallyd

from tallystick import (
    Asked,
    Assistant,
    Client,
    InvocationContext,
    LeaseLost,
    NotFound,
    OutcomeUnknown,
    StaleLease,
    StaleRevision,
    Try,
    WorkerClient,
    ask,
    calls,
    errors,
    run_one,
    runner,
)
from tallystick.protocol import limits
from tallystick.protocol.families.context import Assembly
from tallystick.protocol.families.contributions import Contribution, ObjectRef
from tallystick.protocol.families.events import Event
from tallystick.protocol.families.invocations import Invocation
from tallystick.protocol.families.projects import Project, Space
from tallystick.protocol.families.work import InvocationClaim, LeaseTerm
from tallystick.trio_client import TrioClient, TrioWorkerClient

Run = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def client(tallyd: Tallyd) -> Iterator[Client]:
    with Client(tallyd.runtime_dir) as client:
        yield client


@pytest.fixture
def project(client: Client) -> Project:
    return client.project_create("kitchen").value


@pytest.fixture
def space(client: Client, project: Project) -> Space:
    return client.space_create(project, "why does the tap drip").value


@pytest.fixture
def asked(client: Client, project: Project, space: Space) -> Asked:
    """A question with one piece of evidence, and the invocation that is to answer it, in three attempts at
    most."""
    evidence = client.append(space, "evidence", "The washer is worn.").value
    return ask(client, project, space, "Why does the tap drip?", [evidence], max_attempts=3)


class Reviewer(Assistant):
    """Answers with given words, and relates the answer to the question."""

    def __init__(self, words: str = "A worn washer lets it drip.") -> None:
        self.words = words

    def run(self, ctx: InvocationContext) -> None:
        ctx.contribute("synthesis", self.words, addresses=ctx.question)


def syntheses(client: Client, space: Space) -> list[str]:
    """The texts of a space's syntheses."""
    found = client.contributions(space, kind="synthesis", limit=1)
    return [str(part.text) for each in found for part in each.body_parts]


def relations(client: Client, project: calls.AnyProject) -> list[Event]:
    """The events of a project's relations."""
    return list(client.events(project, type_prefixes=["dev.kovee.space.relation-asserted"]))


# --- the client's operations ------------------------------------------------------------------------------
def test_every_operation_is_answered_with_its_record(client: Client, tallyd: Tallyd) -> None:
    """Each method of the client gives the typed record of what the daemon holds."""
    assert client.hello().selected_version == "0.1"
    assert client.protocol_info().supported_versions == ("0.1",)
    assert client.diagnose().status == "pass"
    assert client.limits().limits["request_bytes_max"] == limits.REQUEST_BYTES_MAX
    assert client.status().pid == tallyd.pid
    assert client.realm_show().realm_id == "realm-personal"
    project = client.project_create("kitchen").value
    assert client.project_show(project) == project
    assert list(client.projects()) == [project]
    space = client.space_create(project, "why", visibility="project").value
    said = client.append(space, "question", "Why?", epistemic_posture="asserted")
    assert said.revision == space.revision + 1
    assert client.contribution_show(project, said.value.contribution_id) == said.value
    answer = client.append(space, "claim", parts=[{"schema_ref": "schema:x", "value": {"n": None}}]).value
    related = client.relation_assert(space, "addresses", answer, said.value).value
    assert related.to_ref.object_ref == said.value.contribution_id
    again = client.relation_assert(space, "supports", said.value, related).value
    assert again.to_ref == ObjectRef(object_ref=related.relation_id, revision=1, digest=related.digest)
    frontier = client.frontier_pin(space).value
    assert client.frontier_show(project, frontier.frontier_id) == frontier
    assembly = client.context_assembly_create(
        space, "answer", required_refs=[said.value, answer], trigger_refs=[said.value]
    ).value
    assert client.context_assembly_show(project, assembly.assembly_id) == assembly
    assert [item.object_ref for item in assembly.items] == [
        said.value.contribution_id,
        answer.contribution_id,
    ]
    invocation = client.invocation_create(
        project, space=space, assembly=assembly, deadline="2100-01-01T00:00:00Z"
    ).value
    assert client.invocation_show(project, invocation.invocation_id) == invocation
    canceled = client.invocation_cancel(project, invocation.invocation_id, reason="enough").value
    assert list(client.invocations(project, state="canceled")) == [canceled]
    first, *_ = client.events_read(project, limit=1).events
    assert client.event_payload(first.event_id).payload == first.payload
    assert client.pending() == []


def test_what_becomes_of_projects_and_spaces_is_answered_with_its_record(client: Client) -> None:
    """Each method gives the typed record, and what is shown afterwards is the same."""
    project = client.project_create("kitchen").value
    project = client.project_update_metadata(project, "cellar").value
    assert client.project_show(project) == project
    space = client.space_create(project, "why").value
    asked = client.append(space, "question", "Why?").value
    for changed in (
        client.space_update_metadata(space, title="why not", purpose=asked),
        client.space_policy_narrow(space, policy_set_ref="policy-strict"),
        client.space_freeze(space),
        client.space_reopen(space),
        client.space_restrict(space),
    ):
        space = changed.value
        assert changed.revision == space.revision
    assert client.space_show(project, space.space_id) == space
    widening = client.space_access_widen_prepare(space, proposed_visibility="project").value
    dropped = client.space_access_widen_prepare(space).value
    dropped = client.space_access_widen_cancel(project, dropped.widening_id).value
    widening = client.space_access_widen_confirm(project, widening.widening_id, "rcpt-1").value
    assert client.space_access_widen_show(project, widening.widening_id) == widening
    assert list(client.space_access_widenings(project, space_id=space.space_id)) == [widening, dropped]
    assert client.space_archive(client.space_show(project, space.space_id)).value.status == "archived"
    change = client.project_access_policy_change_prepare(project, proposed_policy_set_ref="policy-a").value
    other = client.project_access_policy_change_prepare(project).value
    dropped_change = client.project_access_policy_change_prepare(project).value
    change = client.project_access_policy_change_confirm(project, change.change_id, "rcpt-2").value
    dropped_change = client.project_access_policy_change_cancel(project, dropped_change.change_id).value
    with pytest.raises(StaleRevision) as found:
        client.project_access_policy_change_confirm(project, other.change_id, "rcpt-3")
    assert found.value.current_revision == 1
    other = client.project_access_policy_change_show(project, other.change_id)
    assert (other.state, dropped_change.state) == ("stale", "canceled")
    assert list(client.project_access_policy_changes(project)) == [change, other, dropped_change]


def test_an_order_that_the_owner_declared_is_held_to(client: Client, tallyd: Tallyd, space: Space) -> None:
    """By the settings file a policy is wider: narrowing to it is forbidden, and a widening is for it."""
    settings = Path(tallyd.data_dir, "tallyd.toml")
    settings.write_text('[orders]\npolicies = ["policy-open", "policy-default"]\n')
    tallyd.restart()
    with pytest.raises(errors.Forbidden):
        client.space_policy_narrow(space, policy_set_ref="policy-open")
    widening = client.space_access_widen_prepare(space, proposed_policy_set_ref="policy-open").value
    client.space_access_widen_confirm(space.project_id, widening.widening_id, "rcpt-1")
    assert client.space_show(space.project_id, space.space_id).policy_set_ref == "policy-open"
    change = client.project_access_policy_change_prepare(
        space.project_id, proposed_policy_set_ref="policy-open"
    ).value
    assert change.effective_change == "widening"


def test_lists_are_read_whole_over_one_snapshot(client: Client, space: Space) -> None:
    """All items come, in order and once, in pages of any size; what is added meanwhile does not shift them.
    """
    said = [client.append(space, "utterance", str(n)).value for n in range(7)]
    listing = client.contributions(space, limit=3)
    seen = [next(listing)]
    client.append(space, "utterance", "later")
    assert [*seen, *listing] == said
    assert client.space_show(space.project_id, space.space_id).next_space_sequence == 9


def test_a_stale_revision_tells_where_the_object_stands(client: Client, space: Space) -> None:
    """A compare-and-set that fails says what to compare with next."""
    said = client.append(space, "utterance", "one")
    with pytest.raises(StaleRevision) as caught:
        client.append(space, "utterance", "two", expected_revision=space.revision)
    assert caught.value.current_revision == said.revision
    with pytest.raises(StaleRevision) as head:
        client.append(space, "utterance", "two", expected_head_digest="0" * 64)
    assert head.value.head_sequence == 1
    client.append(space, "utterance", "two", expected_head_digest=head.value.head_digest)


def test_case_051_053_the_same_key_for_another_intent_is_refused(client: Client, space: Space) -> None:
    """The same key and arguments give the first reply; the same key with others is an error of its own."""
    first = client.append(space, "utterance", "one", key="mine")
    assert client.append(space, "utterance", "one", key="mine").value == first.value
    with pytest.raises(errors.IdempotencyMismatch, match="first used"):
        client.append(space, "utterance", "two", key="mine")
    assert len(list(client.contributions(space))) == 1


def at_once(count: int, act: Callable[[int], None]) -> None:
    """Runs so many threads that act at the same time."""
    ready = threading.Barrier(count)

    def run(number: int) -> None:
        ready.wait()
        act(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_case_052_one_key_from_many_clients_is_one_command(tallyd: Tallyd, space: Space) -> None:
    """Eight clients that send one command under one key at once get one and the same contribution."""
    got: list[Contribution] = []

    def say(_: int) -> None:
        with Client(tallyd.runtime_dir, key_store=None) as one:
            got.append(one.append(space, "utterance", "once", key="shared").value)

    at_once(8, say)
    with Client(tallyd.runtime_dir) as client:
        assert got == list(client.contributions(space)) * 8


def test_bad_input_says_where(client: Client, space: Space) -> None:
    """A refusal names the place, and the connection lives on."""
    with pytest.raises(errors.Invalid, match=r"\$\.args\.kind"):
        client.append(space, "shout", "hello")
    with pytest.raises(NotFound):
        client.space_show(space.project_id, "space-none")
    assert client.append(space, "utterance", "hello").tries == 1


# --- the daemon's death -----------------------------------------------------------------------------------
@pytest.mark.parametrize("phase", ["before_commit", "after_commit"])
def test_case_050_a_daemon_that_dies_in_a_command_is_not_noticed(
    tmp_path: Path, runtime_dir: str, phase: str
) -> None:
    """Killed before or after the command is durable, the daemon is found again, and the command is there
    once."""
    daemon = Tallyd(str(tmp_path / "data"), runtime_dir)
    tries: list[Try] = []
    try:
        daemon.start(abort=f"{phase}:contribution_append")
        with Client(runtime_dir, observer=tries.append) as client:
            project = client.project_create("kitchen").value
            space = client.space_create(project, "why").value
            replies = []
            saying = threading.Thread(
                target=lambda: replies.append(client.append(space, "claim", "once", key="the-key"))
            )
            saying.start()
            assert daemon.wait_for_death() < 0
            daemon.start()
            saying.join()
            assert [each.contribution_id for each in client.contributions(space)] == [
                replies[0].value.contribution_id
            ]
            assert sum(each.key == "the-key" for each in tries) >= 2
            assert client.pending() == []
    finally:
        daemon.kill()


def test_case_047_a_client_that_dies_before_the_reply_continues(
    tmp_path: Path, runtime_dir: str, run_python: Run
) -> None:
    """A client killed while its command's outcome is unknown finds it pending, resumes it, and it is there
    once."""
    daemon = Tallyd(str(tmp_path / "data"), runtime_dir)
    source = """
import sys
from tallystick import Client
with Client(sys.argv[1]) as tally:
    tally.project_create("kitchen")
"""
    try:
        daemon.start(abort="after_commit:project_create")
        process = run_python(source, runtime_dir)
        daemon.wait_for_death()
        process.kill()
        process.wait()
        daemon.start()
        with Client(runtime_dir) as client:
            (pending,) = client.pending()
            (resumed,) = client.resume()
            assert resumed.pending == pending
            (project,) = client.projects()
            assert resumed.reply is not None
            assert isinstance(resumed.reply.value, dict)
            assert resumed.reply.value["project_id"] == project.project_id
            assert client.pending() == []
    finally:
        daemon.kill()


def test_a_write_past_its_deadline_can_be_continued(client: Client, tallyd: Tallyd) -> None:
    """A daemon that stays away leaves an error with a key; the same call under that key goes on."""
    client.realm_show()
    tallyd.kill()
    with pytest.raises(errors.Unreachable) as never:
        client.project_create("never", deadline_seconds=0.1)
    assert never.value.outcome == "not_applied"
    tallyd.start()
    assert never.value.key is not None
    assert client.project_create("kitchen", key=never.value.key).value.name == "kitchen"


# --- following --------------------------------------------------------------------------------------------
def test_case_046_follow_gives_all_events_across_restarts(
    client: Client, tallyd: Tallyd, project: Project, space: Space, tmp_path: Path
) -> None:
    """Every event comes in order, past a restart of the daemon and one of the follower, the last one again.
    """
    cursor = tmp_path / "cursor"
    events = client.follow(project, cursor_store=cursor)
    seen = [next(events), next(events)]
    client.append(space, "utterance", "one")
    tallyd.restart()
    client.append(space, "utterance", "two")
    seen.append(next(events))
    events.close()
    with Client(tallyd.runtime_dir) as another:
        again = another.follow(project, cursor_store=cursor)
        seen += [next(again), next(again)]
        again.close()
    sequences = [each.project_sequence for each in seen if not isinstance(each, tuple)]
    assert sequences == [1, 2, 3, 3, 4]


def test_case_056_a_follower_misses_nothing_that_is_written_at_once(
    client: Client, tallyd: Tallyd, project: Project, space: Space
) -> None:
    """Beside four writers a follower is given every sequence once, dense and in order."""
    events = client.follow(project)
    seen = [next(events)]

    def write(number: int) -> None:
        with Client(tallyd.runtime_dir, key_store=None) as writer:
            for each in range(10):
                writer.append(space, "utterance", f"{number}.{each}")

    working = threading.Thread(target=at_once, args=(4, write))
    working.start()
    seen += [next(events) for _ in range(41)]
    working.join()
    events.close()
    sequences = [each.project_sequence for each in seen if not isinstance(each, tuple)]
    assert sequences == list(range(1, 43))


def test_follow_from_now_with_a_filter(client: Client, project: Project, space: Space) -> None:
    """From the head on, only what the filter lets through, while other calls go on beside it."""
    client.append(space, "utterance", "before")
    head = client.head_cursor(project)
    prefixes = ["dev.kovee.space.relation-asserted"]
    events = client.follow(project, after_cursor=head, type_prefixes=prefixes)
    one, two = (client.append(space, "utterance", str(n)).value for n in range(2))
    client.relation_assert(space, "supports", one, two)
    got = next(events)
    assert not isinstance(got, tuple)
    assert got.type == "dev.kovee.space.relation-asserted.v1"
    events.close()


def test_case_055_a_cursor_of_no_place_is_named(client: Client, project: Project) -> None:
    """A cursor that the daemon did not make is an error and not silence."""
    with pytest.raises(errors.Invalid):
        client.events_wait(project, "kc1.00.00", timeout_ms=0)


# --- assistants -------------------------------------------------------------------------------------------
def test_an_assistant_answers_from_its_claim(
    client: Client, tallyd: Tallyd, space: Space, asked: Asked
) -> None:
    """The assistant sees question and evidence, its answer and relation are there once, the invocation
    succeeded."""
    read: list[list[str]] = []

    class Reader(Assistant):
        def run(self, ctx: InvocationContext) -> None:
            assert ctx.question == asked.question
            read.append([str(part.text) for item in ctx.items for part in item.body_parts])
            ctx.contribute("synthesis", "A worn washer.", addresses=ctx.question)

    ended = run_one(Reader(), asked.invocation.invocation_id, runtime_dir=tallyd.runtime_dir)
    assert read == [["Why does the tap drip?", "The washer is worn."]]
    assert ended.state == "succeeded"
    assert syntheses(client, space) == ["A worn washer."]
    (related,) = relations(client, asked.invocation.project_id)
    assert isinstance(related.payload, dict)
    assert related.payload["to_ref"]["object_ref"] == asked.question.contribution_id
    (synthesis,) = client.contributions(space, kind="synthesis")
    (done,) = client.events(space.project_id, type_prefixes=["dev.kovee.invocation.succeeded"])
    assert isinstance(done.payload, dict)
    assert done.payload["result_ref"] == synthesis.contribution_id


def test_asking_again_under_one_key_is_the_same_question(
    client: Client, project: Project, space: Space
) -> None:
    """Who asks again with the same key gets the question, assembly and invocation of the first time."""
    first = ask(client, project, space, "Why?", key="why")
    assert ask(client, project, space, "Why?", key="why") == first
    assert len(list(client.invocations(project))) == 1


@pytest.mark.parametrize("operation", ["contribution_append", "relation_assert", "invocation_complete"])
def test_the_journey_with_a_daemon_that_dies(tmp_path: Path, runtime_dir: str, operation: str) -> None:
    """The daemon dies after a step is durable and before its reply; the assistant never notices."""
    daemon = Tallyd(str(tmp_path / "data"), runtime_dir)
    tries: list[Try] = []
    ended: list[Invocation] = []
    try:
        daemon.start(abort=f"after_commit:{operation}@worker")
        with Client(runtime_dir) as client:
            project = client.project_create("kitchen").value
            space = client.space_create(project, "why").value
            asked = ask(client, project, space, "Why?")
            identifier = asked.invocation.invocation_id

            def work() -> None:
                ended.append(run_one(Reviewer(), identifier, runtime_dir=runtime_dir, observer=tries.append))

            working = threading.Thread(target=work)
            working.start()
            assert daemon.wait_for_death() < 0
            daemon.start()
            working.join()
            assert ended[0].state == "succeeded"
            assert len(syntheses(client, space)) == 1
            assert len(relations(client, project)) == 1
            sent_twice = [each for each in tries if each.number > 1 and each.operation == operation]
            assert {str(each.key).startswith(identifier) for each in sent_twice} == {True}
    finally:
        daemon.kill()


def test_a_later_attempt_finds_the_steps_of_an_earlier_one_done(
    client: Client, tallyd: Tallyd, space: Space, asked: Asked
) -> None:
    """An attempt that failed after its answer is followed by one that asks first: the first words stand."""
    identifier = asked.invocation.invocation_id

    class Half(Assistant):
        def run(self, ctx: InvocationContext) -> None:
            assert ctx.done("answer") is None
            ctx.contribute("synthesis", "first words", operation_key="answer")
            raise ZeroDivisionError("in the middle")

    with pytest.raises(ZeroDivisionError):
        run_one(Half(), identifier, runtime_dir=tallyd.runtime_dir)
    assert client.invocation_show(asked.invocation.project_id, identifier).state == "queued"

    class Again(Assistant):
        def run(self, ctx: InvocationContext) -> None:
            done = ctx.done("answer") or ctx.contribute("synthesis", "other", operation_key="answer")
            assert isinstance(done, Contribution)
            ctx.relate("addresses", done, asked.question, operation_key="answer.addresses")

    assert run_one(Again(), identifier, runtime_dir=tallyd.runtime_dir).state == "succeeded"
    assert syntheses(client, space) == ["first words"]
    (said,) = client.contributions(space, kind="synthesis")
    (ended,) = client.events(asked.invocation.project_id, type_prefixes=["dev.kovee.invocation.succeeded"])
    assert isinstance(ended.payload, dict)
    assert ended.payload["result_ref"] == said.contribution_id
    assert len(relations(client, asked.invocation.project_id)) == 1


def test_a_final_failure_ends_the_invocation(client: Client, tallyd: Tallyd, asked: Asked) -> None:
    """What is not retryable is failed for good, and the caller gets its own exception."""

    class Broken(Assistant):
        def run(self, ctx: InvocationContext) -> None:
            raise ZeroDivisionError(ctx.invocation.invocation_id)

    identifier = asked.invocation.invocation_id
    with pytest.raises(ZeroDivisionError):
        run_one(Broken(), identifier, runtime_dir=tallyd.runtime_dir, retryable=False)
    assert client.invocation_show(asked.invocation.project_id, identifier).state == "failed"
    with pytest.raises(StaleLease):
        run_one(Broken(), identifier, runtime_dir=tallyd.runtime_dir, claim_seconds=0)


def test_a_fenced_worker_writes_nothing_more(
    client: Client, tallyd: Tallyd, space: Space, asked: Asked
) -> None:
    """A worker whose invocation was canceled under it loses its lease at its next step, and stops."""
    invocation = asked.invocation

    class Slow(Assistant):
        def run(self, ctx: InvocationContext) -> None:
            client.invocation_cancel(invocation.project_id, invocation.invocation_id)
            with pytest.raises(LeaseLost):
                ctx.contribute("synthesis", "too late")
            assert ctx.lost is not None
            ctx.relate("supports", ctx.items[0], ctx.items[1], operation_key="r")

    with pytest.raises(LeaseLost):
        run_one(Slow(), invocation.invocation_id, runtime_dir=tallyd.runtime_dir)
    assert syntheses(client, space) == []


def test_the_lease_is_renewed_while_the_assistant_thinks(
    tallyd: Tallyd, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread renews the lease at its pace and tells the assistant when it is lost; it ends with the run."""
    renewed = threading.Event()
    real = WorkerClient.renew

    def watched(self: WorkerClient, claim: InvocationClaim) -> LeaseTerm:
        term = real(self, claim)
        renewed.set()
        return term

    monkeypatch.setattr(WorkerClient, "renew", watched)
    monkeypatch.setattr(runner, "RENEWALS_PER_TERM", 1_000)

    class Thinker(Assistant):
        def run(self, ctx: InvocationContext) -> None:
            assert renewed.wait(30)
            ctx.contribute("synthesis", "thought")

    identifier = asked.invocation.invocation_id
    ended = run_one(Thinker(), identifier, runtime_dir=tallyd.runtime_dir, term_seconds=10)
    assert ended.state == "succeeded"
    assert not [each for each in threading.enumerate() if each.name == "tallystick-renewal"]


def test_a_live_lease_keeps_a_second_runner_out(client: Client, tallyd: Tallyd, asked: Asked) -> None:
    """While one attempt's lease lives another runner is refused, for as long as it was told to ask."""
    identifier = asked.invocation.invocation_id
    with WorkerClient(tallyd.runtime_dir) as worker:
        claim = worker.claim(identifier, term_seconds=60).value
        with pytest.raises(StaleLease):
            run_one(Reviewer(), identifier, runtime_dir=tallyd.runtime_dir, claim_seconds=0.05)
        assert 0 < worker.renew(claim).remaining_seconds <= worker.renew(claim).term_seconds == 60
        assert worker.progress(claim).steps == ()
        assert client.invocation_show(asked.invocation.project_id, identifier).state == "running"


def test_a_persons_append_does_not_strand_the_assistant(
    client: Client, tallyd: Tallyd, space: Space, asked: Asked
) -> None:
    """What a person says between an assistant's claim and its answer is not noticed by it."""

    class Interrupted(Assistant):
        def run(self, ctx: InvocationContext) -> None:
            client.append(space, "utterance", "while you think")
            ctx.contribute("synthesis", "still here", addresses=ctx.question)

    ended = run_one(Interrupted(), asked.invocation.invocation_id, runtime_dir=tallyd.runtime_dir)
    assert ended.state == "succeeded"
    assert syntheses(client, space) == ["still here"]


def test_an_assistant_reads_what_its_items_carry(
    client: Client, tallyd: Tallyd, project: Project, space: Space
) -> None:
    """On the workers' socket alone: a file byte for byte, what became of an item since, and nothing else."""
    content = random.Random(7).randbytes(2 * limits.ARTIFACT_READ_BYTES_MAX + 5)
    artifact = client.upload(io.BytesIO(content)).artifact_id
    evidence = client.append(space, "evidence", parts=[{"artifact_ref": artifact}]).value
    beside = client.append(space, "claim", "It is the pipe.").value
    asked = ask(client, project, space, "Why does the tap drip?", [evidence])
    seen: list[object] = []

    class Reader(Assistant):
        def run(self, ctx: InvocationContext) -> None:
            target = io.BytesIO()
            assert ctx.download(artifact, target) == len(content)
            seen.append(target.getvalue() == content)
            client.contribution_withdraw(project, evidence.contribution_id, "wrong")
            seen.append([each.kind for each in ctx.item(evidence).dispositions])
            with pytest.raises(NotFound):
                ctx.item(beside)

    run_one(Reader(), asked.invocation.invocation_id, runtime_dir=tallyd.runtime_dir)
    assert seen == [True, ["withdraw"]]


def test_an_assistant_can_assemble(tallyd: Tallyd, asked: Asked) -> None:
    """An assembly is a step like any other: done once under its key."""
    made: list[Assembly] = []

    class Assembler(Assistant):
        def run(self, ctx: InvocationContext) -> None:
            for _ in range(2):
                made.append(ctx.assemble("delegate", [ctx.items[0]], operation_key="hand-over"))

    run_one(Assembler(), asked.invocation.invocation_id, runtime_dir=tallyd.runtime_dir)
    assert made[0] == made[1]


@pytest.mark.parametrize("key", ["", "two words", "ü", "k" * 100])
def test_an_operation_key_is_an_identifier(tallyd: Tallyd, asked: Asked, key: str) -> None:
    """A step whose key the daemon would refuse is refused where it was written."""

    class Odd(Assistant):
        def run(self, ctx: InvocationContext) -> None:
            ctx.contribute("synthesis", "x", operation_key=key)

    with pytest.raises(ValueError, match="operation key"):
        run_one(Odd(), asked.invocation.invocation_id, runtime_dir=tallyd.runtime_dir)


def test_no_attempt_id_is_kept_on_disk(tmp_path: Path, tallyd: Tallyd, asked: Asked) -> None:
    """What a worker says is not in the SDK's files: an attempt id is a secret."""
    seen: list[str] = []

    class Leaky(Reviewer):
        def run(self, ctx: InvocationContext) -> None:
            seen.append(ctx._claim.attempt_id)
            super().run(ctx)

    run_one(Leaky(), asked.invocation.invocation_id, runtime_dir=tallyd.runtime_dir)
    files = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if seen[0].encode() in path.read_bytes()]


# --- trio -------------------------------------------------------------------------------------------------
@pytest.mark.trio
async def test_trio_does_the_same(tallyd: Tallyd, tmp_path: Path) -> None:
    """The journey on trio: the same operations, pages, workers, and a follower across a restart."""
    async with TrioClient(tallyd.runtime_dir) as client, TrioWorkerClient(tallyd.runtime_dir) as worker:
        project = (await client.project_create("kitchen")).value
        space = (await client.space_create(project, "why")).value
        said = [(await client.append(space, "question", f"Why {n}?")).value for n in range(3)]
        assert [each async for each in client.contributions(space, limit=2)] == said
        assembly = (await client.context_assembly_create(space, "answer", required_refs=said)).value
        invocation = (
            await client.invocation_create(
                project, space=space, assembly=assembly, deadline="2100-01-01T00:00:00Z"
            )
        ).value
        claim = (await worker.claim(invocation.invocation_id)).value
        place = calls.attempts.space_of(claim)
        assert place is not None
        answer = (await worker.append(claim, place, "synthesis", "Because.", key="answer")).value
        assert [step.operation_key for step in (await worker.progress(claim)).steps] == ["answer"]
        assert (await worker.complete(claim, result=answer)).value.state == "succeeded"
        events = client.follow(project, cursor_store=tmp_path / "cursor")
        first = await anext(events)
        tallyd.restart()
        rest = [await anext(events) for _ in range(len([e async for e in client.events(project)]) - 1)]
        await events.aclose()
    sequences = [each.project_sequence for each in (first, *rest) if not isinstance(each, tuple)]
    assert sequences == list(range(1, len(sequences) + 1))


@pytest.mark.trio
async def test_trio_raises_the_same_errors(tallyd: Tallyd) -> None:
    """One exception class a problem kind, with what it says."""
    async with TrioClient(tallyd.runtime_dir) as client:
        with pytest.raises(NotFound):
            await client.project_show("proj-none")
        tallyd.kill()
        with pytest.raises((errors.Unreachable, OutcomeUnknown)):
            await client.project_create("x", deadline_seconds=0.1)
