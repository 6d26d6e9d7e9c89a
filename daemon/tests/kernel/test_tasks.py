"""Tasks: created with what they need, claimed behind a fence under a lease, ended with a receipt."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import apsw
import pytest

from tallyd.admission import Speaker
from tallyd.clerk import Answer, Command
from tallyd.families.tasks.rows import CLAIM_LIFECYCLE, LIFECYCLE
from tallyd.ledger.orders import Order, Orders
from tallyd.ledger.transaction import Idle
from tallyd.ledger.verify import Walk
from tallystick.protocol import limits
from tallystick.protocol.envelope import decode_request
from tallystick.protocol.families import tasks as page
from tallystick.protocol.operation import Socket
from tallystick.protocol.shapes import convert

from .agents import Agent
from .kernel import Json, Kernel

TERM = limits.TASK_TERM_SECONDS
_NUMBERS = count()
"""Of idempotency keys."""


class Tasks:
    """One actor's way to the tasks of a project."""

    def __init__(self, kernel: Kernel, project: str, space: Json, actor: str = "prin-owner") -> None:
        self.kernel, self.project, self.home, self.actor = kernel, project, space, actor

    def reply(self, op: str, args: Json, **how: Any) -> Json:
        """The whole reply to an operation on tasks."""
        if op not in ("show", "list", "ready", "renew"):
            how.setdefault("key", f"key-{next(_NUMBERS)}-{op}")
        line, socket = self.kernel.request(f"tallystick_task_{op}", args, project=self.project, **how)
        answered: Json = json.loads(self.kernel.answer(line, socket, self.actor))
        return answered

    def ok(self, op: str, args: Json, **how: Any) -> Json:
        answered = self.reply(op, args, **how)
        assert answered["outcome"] == "ok", answered
        result: Json = answered["result"]
        return result

    def refused(self, op: str, args: Json, **how: Any) -> Json:
        answered = self.reply(op, args, **how)
        assert answered["outcome"] != "ok", answered
        problem: Json = answered["problem"]
        return problem

    def create(self, title: str = "round the totals", **args: Any) -> Json:
        made = self.ok("create", {"space_id": self.home["space_id"], "title": title, **args})
        convert(made, page.Task)
        return made

    def claim(self, task: Json, **args: Any) -> Json:
        taken = self.ok("claim", {"task_id": task["task_id"], **args})
        convert(taken, page.TaskClaim)
        return taken

    def next(self, **args: Any) -> Json:
        taken = self.ok("next", {"wait_ms": 0, **args})
        convert(taken, page.TaskClaim)
        return taken

    def end(self, op: str, taken: Json, **args: Any) -> Json:
        return self.ok(op, {**held(taken), **args})

    def done(self, taken: Json, receipt: str = "rounded, and tested") -> Json:
        ended = self.end("done", taken, receipt=receipt)
        convert(ended, page.TaskDone)
        return ended

    def show(self, task: Json) -> Json:
        shown = self.ok("show", {"task_id": task["task_id"]})
        convert(shown, page.Task)
        return shown

    def listed(self, **args: Any) -> list[str]:
        return [each["task_id"] for each in self.ok("list", {"limit": 100, **args})["items"]]

    def ready(self, **args: Any) -> list[str]:
        found = self.ok("ready", {"limit": 100, **args})
        convert(found, page.TasksReady)
        return [each["task_id"] for each in found["items"]]

    def another(self, name: str, role: str = "contributor") -> Tasks:
        """The same, of an agent in the space."""
        return Tasks(self.kernel, self.project, self.home, self.kernel.agent_in(self.home, name, role))


def held(taken: Json) -> Json:
    """What a holder shows."""
    return {"task_id": taken["task"]["task_id"], "claim_id": taken["claim_id"]}


def kind(problem: Json) -> str:
    return str(problem["type"]).rpartition("/")[2].rpartition(":")[2]


@pytest.fixture
def tasks(kernel: Kernel) -> Tasks:
    project = kernel.project()
    space = kernel.ok("space_create", {"title": "the tap", "visibility": "restricted"}, project=project)
    return Tasks(kernel, project, space)


# --- create -------------------------------------------------------------------------------------------------
def test_a_task_says_what_was_sent(tasks: Tasks) -> None:
    """All that was given is shown, and the contribution that says it repeats it."""
    given: Json = {
        "brief": "half to even",
        "priority": 1,
        "labels": ["money"],
        "assignee": "prin-owner",
        "repository": "example.com/shop",
        "paths": ["services/ledger/"],
        "attempts_max": 2,
    }
    made = tasks.create(**given)
    shown = tasks.show(made)
    assert {name: shown[name] for name in given} == given
    assert (shown["title"], shown["state"], shown["by"]) == ("round the totals", "ready", "prin-owner")
    assert {**made, "revision": 1} == shown, "the reply is the record"
    said = tasks.kernel.read(
        "contribution_show", {"contribution_id": made["contribution_ref"]}, project=tasks.project
    )["result"]
    assert said["kind"] == "goal"
    assert said["body_parts"][0]["value"]["title"] == "round the totals"
    assert said["body_parts"][1]["text"] == "round the totals\n\nhalf to even"


def test_two_tasks_of_one_title_are_two(tasks: Tasks) -> None:
    """B17."""
    assert tasks.create()["task_id"] != tasks.create()["task_id"]


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ({"title": " \n"}, "title"),
        ({"paths": ["../x"]}, ".."),
        ({"reserve": True, "repository": "r", "paths": ["a"]}, "reserve"),
        ({"needs": ["task-" + "0" * 32]}, "task-"),
        ({"assignee": "agent-" + "0" * 32}, "agent-"),
    ],
)
def test_what_cannot_be_made_is_refused(tasks: Tasks, args: Json, word: str) -> None:
    """With words that name it; and nothing is made."""
    sent = {"space_id": tasks.home["space_id"], "title": "round", **args}
    assert word in tasks.refused("create", sent)["detail"]
    assert tasks.listed() == []


def test_a_task_that_is_made_has_no_revision_yet(tasks: Tasks) -> None:
    """An expected revision is invalid where nothing is to be compared."""
    problem = tasks.refused("create", {"space_id": tasks.home["space_id"], "title": "round"}, rev=1)
    assert kind(problem) == "invalid"


# --- needs --------------------------------------------------------------------------------------------------
def test_a_task_waits_for_all_that_it_needs(tasks: Tasks) -> None:
    """Blocked until the last of them is done, which says that it unlocked it."""
    first, second = tasks.create("first"), tasks.create("second")
    last = tasks.create("last", needs=[first["task_id"], second["task_id"]])
    assert last["state"] == "blocked"
    assert tasks.done(tasks.claim(first))["unlocked"] == []
    assert tasks.show(last)["blocked_by"] == [{"ref": second["task_id"], "state": "ready"}]
    assert tasks.show(second)["unlocks"] == [last["task_id"]]
    ended = tasks.done(tasks.claim(second))
    assert (ended["unlocked"], ended["unlocked_count"]) == ([last["task_id"]], 1)
    assert tasks.show(last)["state"] == "ready"
    assert tasks.ready() == [last["task_id"]]


def test_a_need_that_failed_is_not_met(tasks: Tasks) -> None:
    """Its dependents stay blocked, and say by what; dropping the need makes them ready."""
    needed = tasks.create("needed", attempts_max=1)
    task = tasks.create("task", needs=[needed["task_id"]])
    tasks.end("fail", tasks.claim(needed), text="no compiler", retryable=True)
    assert tasks.show(task)["blocked_by"] == [{"ref": needed["task_id"], "state": "failed"}]
    changed = tasks.ok("update", {"task_id": task["task_id"], "drop_needs": [needed["task_id"]]})
    assert (changed["state"], changed["blocked_by"]) == ("ready", [])


def test_a_circle_is_refused(tasks: Tasks) -> None:
    """Over however many tasks; and a task does not need itself."""
    a = tasks.create("a")
    b = tasks.create("b", needs=[a["task_id"]])
    c = tasks.create("c", needs=[b["task_id"]])
    for needs in (c, a):
        problem = tasks.refused("update", {"task_id": a["task_id"], "add_needs": [needs["task_id"]]})
        assert kind(problem) == "cycle"
    assert tasks.show(a)["needs"] == []


def test_a_need_that_is_added_blocks(tasks: Tasks) -> None:
    """A ready task becomes blocked, and cannot be claimed."""
    a, b = tasks.create("a"), tasks.create("b")
    changed = tasks.ok("update", {"task_id": a["task_id"], "add_needs": [b["task_id"]]})
    assert (changed["state"], changed["revision"]) == ("blocked", 2)
    assert "claimed" in tasks.refused("claim", {"task_id": a["task_id"]})["detail"]


def test_what_its_reader_does_not_see_is_counted(tasks: Tasks) -> None:
    """A need in a space that an agent does not see is one that is hidden, and has no name."""
    away = tasks.kernel.ok(
        "space_create", {"title": "elsewhere", "visibility": "restricted"}, project=tasks.project
    )
    needed = Tasks(tasks.kernel, tasks.project, away).create("secret")
    task = tasks.create("task", needs=[needed["task_id"]])
    agent = tasks.another("builder")
    shown = agent.show(task)
    assert (shown["needs"], shown["blocked_by"], shown["hidden"]) == ([], [], 1)
    assert needed["task_id"] not in json.dumps(shown)
    assert tasks.show(task)["hidden"] == 0
    assert kind(agent.refused("show", {"task_id": needed["task_id"]})) == "not-found"


# --- claim --------------------------------------------------------------------------------------------------
def test_a_claim_holds_its_task(tasks: Tasks) -> None:
    """Another is told who holds it and for how long, and so is the same actor."""
    task, agent = tasks.create(), tasks.another("builder")
    taken = agent.claim(task, label="ci-4")
    assert (taken["fence"], taken["term_seconds"], taken["taken_over"]) == (1, TERM, None)
    assert taken["claim_id"].startswith("claim-")
    for other in (tasks, agent):
        problem = other.refused("claim", {"task_id": task["task_id"]})
        assert kind(problem) == "stale-lease"
        holder = problem["ext"]["dev.tallystick.holder"]
        assert (holder["actor"], holder["label"], holder["fence"]) == (agent.actor, "ci-4", 1)
        assert holder["remaining_seconds"] == TERM
    shown = tasks.show(task)["claim"]
    assert (shown["actor"], shown["remaining_seconds"]) == (agent.actor, TERM)
    assert taken["claim_id"] not in json.dumps([shown, problem])


def test_next_takes_the_first_by_priority_and_age(tasks: Tasks) -> None:
    """As `ready` lists them; in vain every member is null."""
    made = [tasks.create(str(number), priority=priority) for number, priority in enumerate((2, 1, 2, 0))]
    order = [made[index]["task_id"] for index in (3, 1, 0, 2)]
    assert tasks.ready() == order
    assert [tasks.next()["task"]["task_id"] for _ in made] == order
    assert tasks.next() == json.loads(json.dumps(dict.fromkeys(page.TaskClaim.__struct_fields__)))


def test_only_the_assignee_may_claim(tasks: Tasks) -> None:
    """The owner too is only somebody else."""
    agent = tasks.another("builder")
    task = tasks.create(assignee=agent.actor)
    assert tasks.ready() == []
    assert kind(tasks.refused("claim", {"task_id": task["task_id"]})) == "forbidden"
    assert agent.next()["task"]["task_id"] == task["task_id"]


def test_a_task_can_be_anybodys_again(tasks: Tasks) -> None:
    """An empty assignee is nobody; labels and priority change too, and the event says so."""
    agent = tasks.another("builder")
    task = tasks.create(assignee=agent.actor)
    changed = tasks.ok(
        "update", {"task_id": task["task_id"], "assignee": "", "priority": 0, "labels": ["urgent"]}
    )
    assert ("assignee" in changed, changed["priority"], changed["labels"]) == (False, 0, ["urgent"])
    assert tasks.next()["task"]["task_id"] == task["task_id"]
    problem = agent.refused("update", {"task_id": task["task_id"], "priority": 1})
    assert kind(problem) == "forbidden"
    assert kind(tasks.refused("update", {"task_id": task["task_id"]})) == "invalid"


def test_an_observer_claims_nothing(tasks: Tasks) -> None:
    """It sees the task, and is refused it; `next` finds it nothing."""
    task, agent = tasks.create(), tasks.another("watcher", "observer")
    assert agent.show(task)["state"] == "ready"
    assert kind(agent.refused("claim", {"task_id": task["task_id"]})) == "forbidden"
    assert agent.ready() == []
    assert agent.next()["task"] is None


def test_a_claim_is_replayed_while_it_is_current(tasks: Tasks) -> None:
    """The same key gives the same claim; once it ended, ``stale-lease``."""
    task = tasks.create()
    args = {"task_id": task["task_id"]}
    taken = tasks.ok("claim", args, key="again")
    assert tasks.ok("claim", args, key="again") == taken
    tasks.end("release", taken)
    assert kind(tasks.refused("claim", args, key="again")) == "stale-lease"


def test_a_claims_id_stands_nowhere(tasks: Tasks) -> None:
    """Neither in the database nor in its write-ahead log."""
    taken = tasks.claim(tasks.create())
    for path in (tasks.kernel.paths.database, tasks.kernel.paths.database + "-wal"):
        with open(path, "rb") as file:
            assert taken["claim_id"].removeprefix("claim-").encode() not in file.read()


def test_an_actor_holds_so_many(tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit it is told to end some."""
    monkeypatch.setattr(limits, "CLAIMS_OF_ACTOR_MAX", 1)
    tasks.claim(tasks.create())
    assert kind(tasks.refused("claim", {"task_id": tasks.create()["task_id"]})) == "rate-limited"


# --- holders ------------------------------------------------------------------------------------------------
ENDS = [
    ("done", {"receipt": "it is"}),
    ("fail", {"text": "no", "retryable": True}),
    ("release", {}),
    ("renew", {}),
]


@pytest.mark.parametrize(("op", "args"), ENDS)
def test_another_actor_has_no_such_claim(tasks: Tasks, op: str, args: Json) -> None:
    """Showing the id is not enough, and neither is being its actor."""
    agent = tasks.another("builder")
    taken, other = agent.claim(tasks.create()), tasks.create("other")
    for who, shown in (
        (tasks, held(taken)),
        (agent, {**held(taken), "claim_id": "claim-" + "0" * 32}),
        (agent, {**held(taken), "task_id": other["task_id"]}),
    ):
        assert kind(who.refused(op, {**shown, **args})) == "not-found"


@pytest.mark.parametrize(("op", "args"), ENDS)
def test_an_ended_claim_is_told_who_holds_the_task_now(tasks: Tasks, op: str, args: Json) -> None:
    """B14."""
    task, agent = tasks.create(), tasks.another("builder")
    taken = tasks.claim(task)
    tasks.end("release", taken)
    agent.claim(task)
    problem = tasks.refused(op, {**held(taken), **args})
    assert kind(problem) == "stale-lease"
    assert problem["ext"]["dev.tallystick.holder"]["actor"] == agent.actor


def test_a_done_that_is_sent_again_gets_its_reply(tasks: Tasks) -> None:
    """Under the same key; another key finds the claim ended."""
    taken = tasks.claim(tasks.create())
    args = {**held(taken), "receipt": "rounded"}
    first = tasks.ok("done", args, key="done")
    assert tasks.ok("done", args, key="done") == first
    assert kind(tasks.refused("done", args, key="another")) == "stale-lease"


def test_whoever_may_write_no_more_holds_nothing(tasks: Tasks) -> None:
    """A muted agent's claim is not there for it; it can be freed."""
    agent = tasks.another("builder")
    task = tasks.create()
    taken = agent.claim(task)
    participants = tasks.kernel.read(
        "space_participant_list", {"space_id": tasks.home["space_id"], "limit": 50}, project=tasks.project
    )["result"]["items"]
    which = next(each["participant_id"] for each in participants if each["subject_ref"] == agent.actor)
    tasks.kernel.ok(
        "space_participant_update", {"participant_id": which, "status": "muted"}, project=tasks.project
    )
    assert kind(agent.refused("done", {**held(taken), "receipt": "it is"})) == "not-found"
    assert tasks.ok("free", {"task_id": task["task_id"], "reason_class": "muted"})["state"] == "ready"


def test_a_receipt_is_a_note_and_says_what_was_done(tasks: Tasks) -> None:
    """It is the newest note, and none may be blank."""
    task = tasks.create()
    ended = tasks.done(tasks.claim(task))["task"]
    assert ended["notes"] == [ended["receipt_ref"]]
    assert tasks.show(task) == ended
    assert kind(tasks.refused("done", {**held(tasks.claim(tasks.create())), "receipt": " "})) == "invalid"


def test_a_failure_counts_and_a_release_does_not(tasks: Tasks) -> None:
    """Ready again while attempts remain; then failed, and reopened with all of them."""
    task = tasks.create(attempts_max=2)
    assert tasks.end("fail", tasks.claim(task), text="red", retryable=True)["state"] == "ready"
    assert tasks.end("release", tasks.claim(task), note="half done")["failed_attempts"] == 1
    failed = tasks.end("fail", tasks.claim(task), text="red", retryable=True)
    assert (failed["state"], failed["failed_attempts"], len(failed["notes"])) == ("failed", 2, 3)
    reopened = tasks.ok("reopen", {"task_id": task["task_id"], "reason_class": "fixed"})
    assert (reopened["state"], reopened["failed_attempts"]) == ("ready", 0)
    assert tasks.end("fail", tasks.claim(task), text="never", retryable=False)["state"] == "failed"


def test_cancel_ends_the_holder(tasks: Tasks) -> None:
    """For the creator and stewards; the holder is stale, and nothing is left to free."""
    task, agent = tasks.create(), tasks.another("builder")
    taken = agent.claim(task)
    assert kind(agent.refused("cancel", {"task_id": task["task_id"], "reason_class": "no"})) == "forbidden"
    canceled = tasks.ok("cancel", {"task_id": task["task_id"], "reason_class": "no"})
    assert (canceled["state"], "claim" in canceled) == ("canceled", False)
    assert kind(agent.refused("done", {**held(taken), "receipt": "x"})) == "stale-lease"
    assert kind(tasks.refused("free", {"task_id": task["task_id"], "reason_class": "no"})) == "stale-revision"


# --- leases -------------------------------------------------------------------------------------------------
def test_a_lapsed_task_is_taken_over_with_its_notes(tasks: Tasks) -> None:
    """Whoever takes it over is told from whom, since when silent, and what was noted; the first is fenced."""
    task, agent = tasks.create(), tasks.another("builder")
    taken = agent.claim(task, label="ci-4", term_seconds=60)
    for number in range(18):
        agent.ok("note", {"task_id": task["task_id"], "text": f"note {number}"})
    tasks.kernel.ambient.advance(60)
    shown = tasks.show(task)
    assert shown["state"] == "claimed"
    assert "remaining_seconds" not in shown["claim"]
    assert shown["claim"]["silent_since"]
    over = tasks.next()
    assert (over["fence"], over["task"]["lapses"]) == (2, 1)
    assert (over["taken_over"]["actor"], over["taken_over"]["label"]) == (agent.actor, "ci-4")
    assert [note["text"] for note in over["taken_over"]["notes"]] == [f"note {n}" for n in range(2, 18)]
    assert over["task"]["notes_more"] == 2
    problem = agent.refused("done", {**held(taken), "receipt": "late"})
    assert problem["ext"]["dev.tallystick.holder"]["fence"] == 2
    assert tasks.done(over)["task"]["lapses"] == 0


def test_a_lapsed_claim_that_nobody_took_over_is_current(tasks: Tasks) -> None:
    """It may still end its task, however late."""
    taken = tasks.claim(tasks.create(), term_seconds=10)
    tasks.kernel.ambient.advance(1000)
    assert tasks.done(taken)["task"]["state"] == "done"


def test_who_renews_stays(tasks: Tasks) -> None:
    """For ninety minutes, and nobody takes it over."""
    taken, agent = tasks.claim(tasks.create(), term_seconds=60), tasks.another("builder")
    for _ in range(270):
        tasks.kernel.ambient.advance(20)
        assert tasks.ok("renew", held(taken)) == {"term_seconds": 60, "remaining_seconds": 60}
        assert agent.next()["task"] is None
    tasks.done(taken)


def test_after_five_takeovers_a_steward_frees_it(tasks: Tasks) -> None:
    """Until then nobody claims it, and `ready` does not list it."""
    task = tasks.create()
    for lapses in range(limits.TASK_TAKEOVERS_MAX + 1):
        assert tasks.claim(task, term_seconds=10)["task"]["lapses"] == lapses
        tasks.kernel.ambient.advance(10)
    assert "steward" in tasks.refused("claim", {"task_id": task["task_id"]})["detail"]
    assert tasks.ready() == []
    freed = tasks.ok("free", {"task_id": task["task_id"], "reason_class": "seen_to"})
    assert (freed["state"], freed["lapses"]) == ("ready", 0)
    assert tasks.ready() == [task["task_id"]]


def test_a_restart_gives_the_full_term_anew(tasks: Tasks) -> None:
    """Nobody could renew while the daemon was down."""
    task = tasks.create()
    taken = tasks.claim(task, term_seconds=60)
    tasks.kernel.ambient.advance(59)
    tasks.kernel.reopen()
    assert tasks.show(task)["claim"]["remaining_seconds"] == 60
    tasks.done(taken)


def test_a_new_epoch_fences_every_claim(tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    """In steps: their tasks are ready, and their holders are told."""
    monkeypatch.setattr(limits, "CLAIMS_FENCED_AT_ONCE_MAX", 2)
    made = [tasks.create(str(number)) for number in range(5)]
    taken = [tasks.claim(each) for each in made]
    kernel = tasks.kernel
    kernel.close()
    with open(kernel.paths.marker, encoding="utf-8") as file:
        known = json.load(file)
    known["position"] += 5
    for path in (kernel.paths.marker, kernel.paths.marker_copy(known["store_id"])):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(known, file)
    kernel.open(adopt=known["store_id"])
    assert sorted(tasks.ready()) == sorted(each["task_id"] for each in made)
    for each in taken:
        assert kind(tasks.refused("done", {**held(each), "receipt": "x"})) == "stale-lease"
    steps = kernel.view.number(
        "SELECT count(*) FROM log WHERE operation = 'tallystick_task_new_epoch' AND command IS NULL"
    )
    assert steps == 3
    assert tasks.claim(made[0])["fence"] == 2


# --- waiting ------------------------------------------------------------------------------------------------
def asked(tasks: Tasks, op: str, args: Json, key: str) -> Answer:
    """The clerk's whole answer, with what it wakes and when to look again."""
    line, socket = tasks.kernel.request(f"tallystick_task_{op}", args, project=tasks.project, key=key)
    command = Command(decode_request(line, Socket.CLIENT), Speaker(tasks.actor, "peer-uid", socket))
    return tasks.kernel.clerk.run([command])[0]


def test_what_makes_a_task_ready_wakes(tasks: Tasks) -> None:
    """Under the names of its space and its project."""
    names = {tasks.home["space_id"], tasks.project}
    args = {"space_id": tasks.home["space_id"], "title": "round"}
    assert asked(tasks, "create", args, "a").wakes == names
    first = tasks.next()
    assert asked(tasks, "create", {**args, "needs": [first["task"]["task_id"]]}, "b").wakes == frozenset()
    assert asked(tasks, "done", {**held(first), "receipt": "it is"}, "c").wakes == names
    assert asked(tasks, "release", held(tasks.next()), "d").wakes == names


def test_in_vain_it_looks_again_when_a_lease_runs_out(tasks: Tasks) -> None:
    """After as many seconds as the next lease has; never where there is none."""
    assert asked(tasks, "next", {"wait_ms": 1000}, "a").idle == Idle(holding_nothing(), None)
    tasks.claim(tasks.create(), term_seconds=60)
    tasks.kernel.ambient.advance(20)
    found = asked(tasks, "next", {"wait_ms": 1000}, "a").idle
    assert found is not None
    assert found.again_seconds == pytest.approx(40)


def holding_nothing() -> bytes:
    return json.dumps(dict.fromkeys(sorted(page.TaskClaim.__struct_fields__)), separators=(",", ":")).encode()


# --- reads --------------------------------------------------------------------------------------------------
def test_the_list_is_narrowed(tasks: Tasks) -> None:
    """By space, state, assignee, holder and label, over pages."""
    agent = tasks.another("builder")
    a, b = tasks.create("a", labels=["x"]), tasks.create("b", assignee=agent.actor)
    agent.claim(b)
    ids = [a["task_id"], b["task_id"]]
    assert tasks.listed() == ids
    assert tasks.listed(space_id=tasks.home["space_id"]) == ids
    assert tasks.listed(label="x") == ids[:1]
    assert tasks.listed(state="claimed") == tasks.listed(actor=agent.actor) == ids[1:]
    assert tasks.listed(assignee=agent.actor) == ids[1:]
    first = tasks.ok("list", {"limit": 1})
    assert tasks.listed(after=first["next"], snapshot=first["snapshot"]) == ids[1:]


def test_what_is_above_a_readers_ceiling_is_withheld(tasks: Tasks) -> None:
    """Not shown, not claimed, not needed; and counted in a list, before that is narrowed."""
    kernel = tasks.kernel
    kernel.view.orders = kernel.tx.orders = Orders(classifications=Order(("class-default", "class-secret")))
    made = Agent(kernel, "builder")
    made.grant(tasks.home, "contribute", classification_ceiling_ref="class-default")
    agent = Tasks(kernel, tasks.project, tasks.home, made.id)
    task = tasks.create(classification_ref="class-secret")
    for op in ("show", "claim"):
        assert kind(agent.refused(op, {"task_id": task["task_id"]})) == "forbidden"
    assert agent.next()["task"] is None
    assert agent.ready() == []
    listed = agent.ok("list", {"limit": 10, "state": "done"})
    assert [(each["count"], each["reason"]) for each in listed["withheld"]] == [(1, "above_ceiling")]
    sent = {"space_id": tasks.home["space_id"], "title": "needs it", "needs": [task["task_id"]]}
    assert kind(agent.refused("create", sent)) == "forbidden"
    assert tasks.next()["task"]["task_id"] == task["task_id"]


def test_a_sensitive_task_is_read_on_record(tasks: Tasks) -> None:
    """The record of the read is there before it is shown."""
    task = tasks.create(classification_ref="class-sensitive")
    tasks.show(task)
    row = tasks.kernel.view.log_row(tasks.kernel.view.number("SELECT max(position) FROM log"))
    assert (row.operation, row.outcome) == ("tallystick_task_show", "read")
    assert task["task_id"] in row.detail


def test_an_erased_task_says_so_and_can_be_done(tasks: Tasks) -> None:
    """Its state stays, its words are gone from every reply."""
    task = tasks.create("the secret name", brief="of the thing")
    taken = tasks.claim(task)
    redacted = {"contribution_ref": task["contribution_ref"], "reason_class": "asked"}
    tasks.kernel.ok("contribution_redact", redacted, project=tasks.project)
    shown = tasks.show(task)
    assert (shown["title"], shown["brief"], shown["erased"]) == ("[erased]", "[erased]", True)
    assert shown["disposed"] == ["redacted"]
    assert "secret" not in json.dumps(tasks.done(taken))


def test_the_log_verifies(tasks: Tasks) -> None:
    """After all that a task goes through."""
    tasks.done(tasks.claim(tasks.create()))
    assert [fault for fault in Walk(tasks.kernel.view).slices() if fault is not None] == []


# --- constraints --------------------------------------------------------------------------------------------
def test_the_steps_in_the_store_are_those_of_the_code(tasks: Tasks) -> None:
    """C8: rows and code agree."""
    for aggregate, lifecycle in (("task", LIFECYCLE), ("claim", CLAIM_LIFECYCLE)):
        stored = tasks.kernel.view.all(
            "SELECT was, becomes FROM lifecycle_steps WHERE aggregate = ?", aggregate
        )
        assert set(stored) == {(was, becomes) for was, after in lifecycle.items() for becomes in after}


REFUSED = [
    "UPDATE tasks SET id = x'00' WHERE position = {ready}",
    "UPDATE tasks SET unmet = -1 WHERE position = {ready}",
    "UPDATE tasks SET unmet = 1 WHERE position = {ready}",
    "UPDATE tasks SET unmet = 1 WHERE position = {claimed}",
    "UPDATE tasks SET unmet = 1 WHERE position = {done}",
    "UPDATE tasks SET unmet = 0 WHERE position = {blocked}",
    "UPDATE tasks SET unmet = NULL WHERE position = {blocked}",
    "UPDATE tasks SET priority = 5 WHERE position = {ready}",
    "UPDATE tasks SET priority = -1 WHERE position = {ready}",
    "UPDATE tasks SET priority = NULL WHERE position = {ready}",
    "UPDATE tasks SET priority = 'x' WHERE position = {ready}",
    "UPDATE tasks SET claim = 1 WHERE position = {ready}",
    "UPDATE tasks SET claim = NULL WHERE position = {claimed}",
    "UPDATE tasks SET claim = 7 WHERE position = {claimed}",
    "UPDATE tasks SET state = 'claimed' WHERE position = {ready}",
    "UPDATE tasks SET state = 'done' WHERE position = {claimed}",
    "UPDATE tasks SET receipt = position WHERE position = {ready}",
    "UPDATE tasks SET receipt = NULL WHERE position = {done}",
    "UPDATE tasks SET receipt = 999999 WHERE position = {done}",
    "UPDATE tasks SET failed_attempts = attempts_max + 1 WHERE position = {ready}",
    "UPDATE tasks SET failed_attempts = NULL WHERE position = {ready}",
    "UPDATE tasks SET lapses = 6 WHERE position = {claimed}",
    "UPDATE tasks SET lapses = NULL WHERE position = {claimed}",
    "UPDATE tasks SET state = NULL WHERE position = {ready}",
    "UPDATE tasks SET state = 'open' WHERE position = {ready}",
    "UPDATE tasks SET state = 'failed' WHERE position = {ready}",
    "UPDATE tasks SET state = 'ready', receipt = NULL WHERE position = {done}",
    "UPDATE tasks SET state = 'canceled', receipt = NULL WHERE position = {done}",
    "UPDATE tasks SET position = 999999 WHERE position = {ready}",
    "INSERT INTO tasks SELECT 999999, id, space, creator, 'claimed', 1, 0, 2, '', '', '[]', 0, '[]', 3, 0, "
    "0, 1, NULL FROM tasks WHERE position = {ready}",
    "INSERT INTO tasks SELECT 999999, id, space, creator, 'ready', 1, 0, 2, '', '', '[]', 0, '[]', 3, 0, "
    "0, NULL, NULL FROM tasks WHERE position = {ready}",
    "INSERT INTO task_needs VALUES ({ready}, {ready})",
    "INSERT INTO task_needs VALUES ({blocked}, {ready})",
    "INSERT INTO task_needs VALUES ({ready}, NULL)",
    "INSERT INTO task_notes VALUES ({ready}, {ready})",
    "INSERT INTO task_notes VALUES ({ready}, {ready} - 1)",
    "INSERT INTO task_notes VALUES ({ready}, NULL)",
    "UPDATE task_claims SET state = 'done' WHERE task = {claimed}",
    "UPDATE task_claims SET ending = 1 WHERE task = {claimed}",
    "UPDATE task_claims SET state = 'running', ending = NULL WHERE task = {done}",
    "UPDATE task_claims SET state = 'failed' WHERE task = {done}",
    "UPDATE task_claims SET state = 'open', ending = 1 WHERE task = {claimed}",
    "UPDATE task_claims SET state = NULL WHERE task = {claimed}",
    "UPDATE task_claims SET ending = NULL WHERE task = {done}",
    "UPDATE task_claims SET id_hash = x'00' WHERE task = {claimed}",
    "UPDATE task_claims SET id_hash = (SELECT id_hash FROM task_claims WHERE task = {done}) "
    "WHERE task = {claimed}",
    "UPDATE task_claims SET reference = x'00' WHERE task = {claimed}",
    "UPDATE task_claims SET task = 999999 WHERE task = {done}",
    "INSERT INTO task_claims SELECT task, 2, randomblob(32), reference, 'running', actor, NULL, 1, 60, 1, "
    "NULL FROM task_claims WHERE task = {claimed}",
    "INSERT INTO task_claims SELECT task, 2, randomblob(32), reference, 'done', actor, NULL, 1, 60, 1, 2"
    " FROM task_claims WHERE task = {done}",
    "INSERT INTO task_claims SELECT task, 1, randomblob(32), reference, 'running', actor, NULL, 1, 60, 1, "
    "NULL FROM task_claims WHERE task = {done}",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_the_store_refuses(tasks: Tasks, statement: str) -> None:
    """On a live store, whoever writes: each CHECK, unique index, reference and lifecycle."""
    ready, claimed, done = tasks.create("ready"), tasks.create("claimed"), tasks.create("done")
    blocked = tasks.create("blocked", needs=[ready["task_id"]])
    tasks.claim(claimed)
    tasks.done(tasks.claim(done))
    at = {
        name: tasks.kernel.view.position_of("task", each["task_id"])
        for name, each in (("ready", ready), ("claimed", claimed), ("done", done), ("blocked", blocked))
    }
    db = tasks.kernel.store.writer
    db.execute("BEGIN IMMEDIATE")
    with pytest.raises(apsw.ConstraintError):
        db.execute(statement.format(**at) + "; COMMIT")
    db.execute("ROLLBACK")
