"""Every verb, with the real daemon."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any, get_args

import pytest
from tally_program import TALLY, Tally, on_terminal

from tally_cli.exits import Exit
from tally_cli.verbs import contributions, showing
from tallystick.protocol import shapes


# --- places -------------------------------------------------------------------------------------------------
def test_init_makes_one_project_however_often(tally: Tally) -> None:
    """`init` can be repeated, also by a restarted daemon, and gives the same project each time."""
    first = tally.id("init")
    tally.ok("down")
    assert tally.id("init") == first
    (project,) = tally.ok("project", "list", "--json").objects
    assert (project["project_id"], project["name"]) == (first, "personal")


def test_paths_are_those_that_the_daemon_uses_case_013(tally: Tally) -> None:
    """What `paths` prints without a daemon is where the daemon then is, and where keys and log lie."""
    told = tally.ok("paths", "--json").object
    assert told.pop("copies") == []
    assert told.pop("repository") is None, "it is called outside of any"
    assert not tally.data_dir.exists()
    tally.ok("init")
    files = ("database", "marker", "client_socket", "worker_socket", "runtime_lock", "log", "keys")
    for name in ("data_dir", *files):
        assert os.path.exists(told[name]), name
    lines = dict(line.split("\t") for line in tally.ok("paths").out.splitlines())
    assert lines == told


def test_paths_shows_the_copies_of_upgrades(tally: Tally) -> None:
    """What stands beside the database under the name of a copy made before a migration is shown, with its
    size, whether or not a daemon runs.
    """
    tally.data_dir.mkdir(mode=0o700)
    copies = [tally.data_dir / f"tally.db.before-000{number}" for number in (2, 8)]
    for copy in copies:
        copy.write_bytes(b"x" * 4096)
    (tally.data_dir / "tally.db.before-0009.partial").write_bytes(b"")
    told = tally.ok("paths", "--json").object["copies"]
    assert told == [{"path": str(copy), "bytes": 4096} for copy in copies]
    lines = [line for line in tally.ok("paths").out.splitlines() if line.startswith("copy\t")]
    assert lines == [f"copy\t{copy} (4096 bytes)" for copy in copies]


def test_a_long_runtime_directory_is_replaced_and_said_case_016(tally: Tally) -> None:
    """Where the sockets' paths would be too long, `paths` says their length, the limit and the variable."""
    told = tally("paths", env={"TALLY_RUNTIME_DIR": f"/tmp/{'x' * 120}"}).out
    for words in ("bytes", "103", "TALLY_RUNTIME_DIR"):
        assert words in told


def test_the_only_project_and_space_need_no_name(tally: Tally, space: str) -> None:
    """Where there is one of each, a verb means those."""
    said = tally.ok("say", "hello", "--json").object
    assert said["space_id"] == space


def test_several_are_listed_and_none_is_guessed(tally: Tally, space: str) -> None:
    """Where there are several and none is named, nothing is sent, and the error lists them."""
    other = tally.id("space", "create", "another\x1b[2J")
    done = tally("say", "hello")
    assert done.code == Exit.USAGE
    for words in (space, other, "why does the tap drip", "--space", "TALLY_SPACE", "\\u{1b}"):
        assert words in done.err
    assert tally.ok("say", "hello", "--space", other, "--json").object["space_id"] == other
    by_title = tally.ok("say", "x", "--json", env={"TALLY_SPACE": "why does the tap drip"})
    assert by_title.object["space_id"] == space


def test_a_name_that_two_have_is_not_guessed(tally: Tally, space: str) -> None:
    """A title that two spaces have is refused, and their ids are shown."""
    twin = tally.id("space", "create", "why does the tap drip")
    done = tally("say", "hello", "--space", "why does the tap drip", "--json")
    assert (done.code, done.error["kind"]) == (Exit.USAGE, "which-space")
    assert space in done.error["message"]
    assert twin in done.error["message"]


def test_without_a_project_the_way_to_one_is_shown(tally: Tally) -> None:
    """Before there is a project, a verb that needs one says how it is made."""
    done = tally("say", "hello")
    assert done.code == Exit.USAGE
    assert "tally init" in done.err


def test_projects_and_spaces_are_listed_and_shown(tally: Tally, space: str) -> None:
    """Lists and shows print what was made, as lines and as JSON."""
    project = tally.id("project", "create", "kitchen")
    lines = tally.ok("project", "list").out.splitlines()
    assert [line.split("\t")[-1] for line in lines] == ["personal", "kitchen"]
    assert tally.ok("project", "show", "kitchen", "--json").object["project_id"] == project
    assert tally.ok("space", "list", "--project", "kitchen").out == ""
    inner = tally.id("space", "create", "sink", "--project", project, "--visibility", "restricted")
    (listed,) = tally.ok("space", "list", "-p", "kitchen", "--json").objects
    assert (listed["space_id"], listed["visibility"]) == (inner, "restricted")
    shown = tally.ok("space", "show", space, "-p", "personal", "--json").object
    assert shown["title"] == "why does the tap drip"


def test_the_same_key_is_the_same_command(tally: Tally, space: str) -> None:
    """A script that repeats a call under its key makes one thing; with other words it is refused."""
    first = tally.id("say", "once", "--key", "k1", "--space", space)
    assert tally.id("say", "once", "--key", "k1", "--space", space) == first
    refused = tally("say", "twice", "--key", "k1", "--space", space, "--json")
    assert (refused.code, refused.error["kind"]) == (Exit.PROBLEM, "idempotency-mismatch")
    assert tally.ok("space", "show", "--json").object["next_space_sequence"] == 2


# --- saying, relating, showing ------------------------------------------------------------------------------
@pytest.mark.parametrize("how", ["argument", "stdin", "file"])
def test_a_text_is_said_from_anywhere(tally: Tally, space: str, how: str) -> None:
    """Argument, stdin and file give the same contribution, byte for byte what was written."""
    body = "über\nzwei Zeilen\n"
    (tally.root / "text").write_text(body)
    ways: dict[str, dict[str, Any]] = {
        "argument": {"arguments": [body]},
        "stdin": {"arguments": ["-"], "stdin": body.encode()},
        "file": {"arguments": ["--file", "text"]},
    }
    arguments = ways[how].pop("arguments")
    options = ["--kind", "evidence", "--posture", "observed", "--media-type", "text/x-log"]
    ref = tally.id("say", *arguments, *options, "--space", space, **ways[how])
    shown = tally.ok("show", ref, "--json").object
    assert shown["body_parts"] == [{"media_type": "text/x-log", "text": body}]
    assert (shown["kind"], shown["epistemic_posture"]) == ("evidence", "observed")
    assert tally.ok("show", ref, "--raw").out == body


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        ((), b"", "--file"),
        (("x", "--file", "y"), b"", "--file"),
        (("-",), b"caf\xe9", "byte 3"),
        (("x" * 65_537,), b"", "65,536"),
        (("x", "--kind", "gossip"), b"", "gossip"),
        (("x", "--kind", "system_notice"), b"", "system_notice"),
    ],
)
def test_what_cannot_be_said_is_refused_before_it_is_sent(
    tally: Tally, arguments: tuple[str, ...], stdin: bytes, words: str
) -> None:
    """A wrong call ends with 2 and says what is wrong; no daemon is started for it."""
    done = tally("say", *arguments, stdin=stdin)
    assert done.code == Exit.USAGE
    assert words in done.err
    assert not tally.data_dir.exists()


def test_bytes_that_are_no_text_are_refused_with_their_place(tally: Tally, space: str) -> None:
    """An argument that is no UTF-8 is refused as such, and nothing is appended."""
    done = subprocess.run([TALLY, "say", b"caf\xe9"], env=tally.env, capture_output=True, check=False)
    assert done.returncode == Exit.USAGE
    assert b"Traceback" not in done.stderr
    assert b"body_parts" in done.stderr
    assert tally.ok("space", "show", space, "--json").object["next_space_sequence"] == 1


def test_a_missing_file_is_named(tally: Tally) -> None:
    """A file that cannot be read ends with 8, by name."""
    done = tally("say", "--file", "nowhere.txt")
    assert done.code == Exit.LOCAL_FILE
    assert "nowhere.txt" in done.err


def test_what_is_said_is_related_and_shown(tally: Tally, space: str) -> None:
    """A relation between two contributions, and a relation to that relation: each is shown by its id."""
    question = tally.id("say", "why?", "--kind", "question", "--space", space)
    about = ("--subject", question, "--source", question)
    answer = tally.id("say", "worn", "--kind", "claim", "--space", space, *about)
    relation = tally.id("relate", answer, "addresses", question)
    shown = tally.ok("show", relation, "--json").object
    assert (shown["kind"], shown["from_ref"]["object_ref"], shown["to_ref"]["object_ref"]) == (
        "addresses", answer, question,
    )  # fmt: skip
    doubt = tally.id("relate", question, "challenges", relation, "--rationale", answer)
    assert tally.ok("show", doubt, "--json").object["to_ref"]["digest"] == shown["digest"]
    assert tally.ok("show", answer, "--json").object["subject_refs"] == [question]


def test_every_kind_of_object_is_shown_by_its_id(tally: Tally, space: str) -> None:
    """Whatever an event names can be given to `show`, and so can the event and a frontier."""
    tally.id("ask", "why?", "--evidence", tally.id("say", "worn", "--kind", "evidence"))
    events = tally.ok("events", "--json").objects
    ids = {event["resource_ref"] for event in events} | {events[0]["event_id"], space}
    assembly = next(ref for ref in ids if ref.startswith("casm-"))
    ids.add(tally.ok("show", assembly, "--json").object["frontier_ref"])
    kinds = {ref.partition("-")[0] for ref in ids}
    assert kinds == {"proj", "space", "contrib", "casm", "inv", "front", "evt"}
    for ref in ids:
        assert ref in tally.ok("show", ref).out
        assert ref in tally.ok("show", ref, "--json").object.values()


def test_a_space_is_read_with_what_became_of_each(tally: Tally, space: str) -> None:
    """In its order, one line each; what was withdrawn says so, and what was redacted says that it is."""
    said = [tally.id("say", words, "--kind", "claim", "--space", space) for words in ("a\nb", "c", "d")]
    tally.ok("withdraw", said[0])
    tally.ok("redact", said[1])
    rows = [line.split("\t") for line in tally.ok("read").out.splitlines()]
    owner = "prin-owner"
    assert rows == [
        ["1", said[0], "claim", owner, "withdraw", "a"],
        ["2", said[1], "claim", owner, "redact", "[redacted]"],
        ["3", said[2], "claim", owner, "", "d"],
    ]
    assert tally.ok("show", said[1]).out.rstrip().endswith("[redacted]")
    items = tally.ok("read", "--json", "--kind", "claim").objects
    assert [item["contribution"]["contribution_id"] for item in items] == said
    assert tally.ok("read", "--kind", "question").out == ""


def test_a_space_and_a_project_change_their_names(tally: Tally, space: str) -> None:
    """The only one, or the one that is named; the new name is what is shown."""
    assert tally.ok("space", "rename", "the cold tap", "--json").object["title"] == "the cold tap"
    assert tally.id("space", "rename", "the hot tap", "--space", "the cold tap") == space
    project = tally.id("project", "rename", "kitchen")
    assert tally.ok("project", "show", "kitchen", "--json").object["project_id"] == project


def test_a_space_is_closed_and_opened(tally: Tally, space: str) -> None:
    """Each step is the daemon's, and what it refuses is refused."""
    for verb, shown in (
        ("freeze", ("frozen", "project")),
        ("reopen", ("open", "project")),
        ("restrict", ("open", "restricted")),
        ("archive", ("archived", "restricted")),
    ):
        changed = tally.ok("space", verb, space, "--json").object
        assert (changed["status"], changed["visibility"]) == shown
    refused = tally("space", "reopen", "--json")
    assert (refused.code, refused.error["kind"]) == (Exit.PROBLEM, "stale-revision")


def test_invocations_are_listed_and_canceled(tally: Tally, space: str) -> None:
    """In the order of asking, of one space or state alone; what waits is canceled; again is so already."""
    asked = tally.ok("ask", "why?", "--space", space, "--json").object["invocation"]["invocation_id"]
    project = tally.ok("project", "show", "--json").object["project_id"]
    arguments = json.dumps(
        {
            "assistant_deployment_id": "dep-local-dev",
            "assistant_deployment_revision": 1,
            "deadline": "2100-01-01T00:00:00Z",
        }
    )
    waits = tally.ok("call", "invocation_create", arguments, "--project", project).object["invocation_id"]
    listed = [line.split("\t")[:2] for line in tally.ok("invocation", "list").out.splitlines()]
    assert listed == [[asked, "queued"], [waits, "queued"]]
    canceled = tally.ok("invocation", "cancel", waits, "--reason", "not needed", "--json").object
    assert canceled["state"] == "canceled"
    for narrowed in (("--state", "queued"), ("--space", space)):
        (line,) = tally.ok("invocation", "list", *narrowed).out.splitlines()
        assert line.split("\t")[0] == asked
    assert tally.ok("invocation", "cancel", waits, "--json").object["already"] is True


def test_any_operation_is_called_by_its_name(tally: Tally, space: str) -> None:
    """From an argument or from stdin, in the only project; under a key, and at a revision."""
    shown = tally.ok("call", "space_show", json.dumps({"space_id": space})).object
    assert shown["space_id"] == space
    assert tally.ok("call", "project_list", "-", stdin=b'{"limit": 1}').object["items"]
    change = json.dumps({"space_id": space, "title": "the tap"})
    named = ("call", "space_update_metadata", change, "--revision", "1", "--key", "k")
    first = tally.ok(*named).out
    assert tally.ok(*named).out == first
    stale = tally("call", "space_freeze", json.dumps({"space_id": space}), "--revision", "1", "--json")
    assert (stale.code, stale.error["kind"]) == (Exit.PROBLEM, "stale-revision")


@pytest.mark.parametrize(
    "arguments",
    [("no_such_one",), ("project_list", "[]"), ("project_list", '{"a":1,"a":2}'), ("project_list", "{")],
    ids=["unknown", "no object", "twice", "no JSON"],
)
def test_what_is_no_call_is_not_sent(tally: Tally, space: str, arguments: tuple[str, ...]) -> None:
    """An operation that there is not, or arguments that no daemon would take."""
    assert tally("call", *arguments).code == Exit.USAGE, space


@pytest.mark.parametrize("ref", ["contrib-" + "0" * 32, "rel-" + "0" * 32, "inv-1", "evt-1", "proj-1"])
def test_what_is_not_there_is_not_found(tally: Tally, space: str, ref: str) -> None:
    """An id of nothing is the daemon's not-found, exit 1; it is not made up."""
    done = tally("show", ref, "--json")
    assert (done.code, done.error["kind"]) == (Exit.PROBLEM, "not-found"), space


def test_an_id_of_no_kind_is_a_usage_error(tally: Tally) -> None:
    """What is no id at all is refused without asking, with the kinds that there are."""
    done = tally("show", "something")
    assert done.code == Exit.USAGE
    assert "contrib-" in done.err
    assert not tally.data_dir.exists()


def test_a_terminal_is_never_obeyed(tally: Tally, space: str) -> None:
    """On a real terminal, what an agent wrote shows no escape and no reordering; --raw is refused."""
    ref = tally.id("say", "ok\x1b]0;owned\x07\u202egnp.exe", "--space", space)
    shown = on_terminal(tally, "show", ref)
    assert "\\u{1b}]0;owned\\u{7}\\u{202e}gnp.exe" in shown
    assert "CONTRIBUTION" not in shown
    for arguments in (("show", ref), ("events",), ("events", "--json"), ("show", ref, "--json")):
        text = on_terminal(tally, *arguments)
        assert not {"\x1b", "\x07", "\u202e"} & set(text), arguments
    assert "terminal would obey" in on_terminal(tally, "show", ref, "--raw")
    assert tally.ok("show", ref, "--raw").out == "ok\x1b]0;owned\x07\u202egnp.exe"


# --- the daemon itself --------------------------------------------------------------------------------------
def test_status_tells_of_a_running_daemon_and_of_none(tally: Tally) -> None:
    """`status` shows the daemon as it stands, starts none, and ends with 3 where none runs."""
    done = tally("status", "--json")
    assert (done.code, done.object["running"], done.err) == (Exit.UNREACHABLE, False, "")
    assert tally("status").code == Exit.UNREACHABLE
    tally.ok("up")
    told = tally.ok("status", "--json").object
    assert told["running"] is True
    assert told["epoch"]["number"] == 1
    assert f"pid\t{told['pid']}" in tally.ok("status").out
    assert not {"attempt_id", "secret", "key"} & set(told)


def test_limits_are_those_of_the_protocol(tally: Tally) -> None:
    """`limits` prints what the daemon serves."""
    told = tally.ok("limits", "--json").object
    assert told["limits"]["request_bytes_max"] == 262_144
    assert "request_bytes_max\t262144" in tally.ok("limits").out


def test_diagnose_checks_the_record(tally: Tally, space: str) -> None:
    """`diagnose` passes on a healthy store, all checks or one, and refuses a check that there is not."""
    told = tally.ok("diagnose", "--json").object
    assert told["status"] in ("pass", "warn"), space
    name = told["checks"][0]["check"]
    assert tally.ok("diagnose", name).out.startswith(f"{name}\t")
    assert tally("diagnose", "horoscope").code == Exit.PROBLEM


def test_what_was_never_answered_is_sent_again(tally: Tally, space: str) -> None:
    """What a killed call sent to a daemon that died is sent once more by `resume`, and was done once."""
    tally.ok("down")
    with tally.daemon(TALLYD_ABORT="after_commit:contribution_append") as daemon:
        killed = tally.start("say", "only once", "--no-start", "--space", space)
        assert daemon.wait(60) == -signal.SIGABRT
        killed.kill()
        killed.communicate()
    ((operation, key, ended),) = [line.split("\t") for line in tally.ok("resume").out.splitlines()]
    assert (operation, ended) == ("contribution_append", "applied")
    assert tally.ok("resume").out == ""
    said = [event for event in tally.ok("events", "--json").objects if "body_parts" in event["payload"]]
    assert [event["correlation_ref"] for event in said] == [f"req-{key}"]


# --- ends ---------------------------------------------------------------------------------------------------
def test_there_is_no_destructive_option_case_082() -> None:
    """No verb has an option that forces, deletes or resets anything. The two that erase, because that is what
    they are for, ask first, and have a word for who was asked already.
    """
    import click

    from tally_cli.root import VERBS, load

    def options(command: click.Command) -> list[str]:
        inner = command.commands.values() if isinstance(command, click.Group) else ()
        own = [name for param in command.params for name in param.opts]
        return own + [name for each in inner for name in options(each)]

    destructive = {"force", "yes", "delete", "purge", "reset", "destroy", "hard", "overwrite"}
    erasing = {"redact", "erase"}
    for verb in VERBS:
        names = {option.lstrip("-") for option in options(load(verb))}
        assert names & destructive == ({"yes"} if verb in erasing else set())


def test_a_fault_shows_no_traceback_unless_asked(tally: Tally) -> None:
    """An error is words; the traceback comes with TALLY_DEBUG=1 alone."""
    plain = tally("say", "--file", "nowhere.txt")
    debug = tally("say", "--file", "nowhere.txt", env={"TALLY_DEBUG": "1"})
    assert "Traceback" not in plain.err
    assert "Traceback" in debug.err
    assert debug.code == plain.code


def test_an_error_is_json_where_json_is_asked_for(tally: Tally) -> None:
    """With --json, stdout stays empty and stderr holds one object with exit code, kind and message."""
    done = tally("show", "something", "--json")
    assert done.out == ""
    assert (done.error["exit"], done.error["kind"]) == (Exit.USAGE, "usage")
    assert done.error["message"]


def test_a_reader_who_leaves_ends_it_quietly(tally: Tally, space: str) -> None:
    """Where the pipe's reader has gone, the program ends with 141 and says nothing."""
    for number in range(3):
        tally.ok("say", f"{number}", "--space", space)
    reads, writes = os.pipe()
    os.close(reads)
    called = subprocess.run(
        [TALLY, "events"], env=tally.env, stdout=writes, stderr=subprocess.PIPE, check=False
    )
    os.close(writes)
    assert (called.returncode, called.stderr) == (Exit.PIPE_CLOSED, b"")


def test_an_error_that_nobody_hears_still_has_its_code(tally: Tally) -> None:
    """Where stderr's reader has gone, the exit code is what it would be."""
    reads, writes = os.pipe()
    os.close(reads)
    called = subprocess.run([TALLY, "show", "x"], env=tally.env, stdout=writes, stderr=writes, check=False)
    os.close(writes)
    assert called.returncode == Exit.USAGE


def test_an_interrupt_ends_it_with_130(tally: Tally, space: str) -> None:
    """Ctrl-C while following ends with 130, without a traceback."""
    follower = tally.start("events", "--follow")
    assert follower.stdout is not None
    assert "project.created" in follower.stdout.readline(), space
    follower.send_signal(signal.SIGINT)
    _, err = follower.communicate(timeout=30)
    assert (follower.returncode, err) == (Exit.INTERRUPTED, "")


@pytest.mark.parametrize("verb", ["say hello", "status --json", "paths", "events"])
def test_a_call_loads_only_what_it_uses(tally: Tally, space: str, verb: str) -> None:
    """The common verbs load neither the types of records nor what only starting a daemon takes."""
    heavy = {"tallystick.protocol.records", "asyncio", "trio", "subprocess", "shutil", "importlib.metadata"}
    script = (
        "import sys\nfrom tally_cli.running import run\n"
        f"code = run({verb.split()!r})\nprint(code, *sorted({heavy!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=tally.env, cwd=tally.root, capture_output=True, check=True
    )
    assert done.stderr.decode().split() == ["0"], space


def test_the_words_of_the_command_line_are_those_of_the_protocol() -> None:
    """Kinds, postures and relations are the protocol's, without the notice that clients may not write."""
    assert {*contributions.KINDS, "system_notice"} == set(get_args(shapes.ContributionKind))
    assert set(contributions.POSTURES) == set(get_args(shapes.EpistemicPosture))
    assert set(contributions.RELATIONS) == set(get_args(shapes.RelationKind))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_completion(tally: Tally, shell: str) -> None:
    """The script for each shell is printed, and what it asks for lists verbs and options."""
    script = tally.ok("completion", shell).out
    assert "_TALLY_COMPLETE" in script
    word = "sp" if shell == "fish" else "1"
    asked = tally(env={"_TALLY_COMPLETE": f"{shell}_complete", "COMP_WORDS": "tally sp", "COMP_CWORD": word})
    assert "space" in asked.out
    assert "say" not in asked.out


def test_each_beginning_of_an_id_is_one_familys() -> None:
    """What `tally show` knows is said once, in the module of the family, and no two families share it."""
    known = [prefix for family in showing.shown_by_family() for prefix in family]
    assert len(known) == len(set(known)) > 15
