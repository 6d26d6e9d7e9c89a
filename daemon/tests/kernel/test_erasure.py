"""Erasure: content and keys go at once, the log still verifies, and what was erased reads as erased
everywhere.
"""

from __future__ import annotations

import json
from functools import partial

import pytest

from tallyd.clerk import SystemCommand
from tallyd.families import erasure
from tallyd.ledger.verify import Walk
from tallystick.protocol.operation import Socket

from .kernel import Json, Kernel
from .uploads import begin, finalize, stage

REDACTED = [{"media_type": "application/x.kovee.redacted", "text": ""}]


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space."""
    return kernel.space(kernel.project("canary's project"), "canary's space")


def redact(kernel: Kernel, space: Json, made: Json, **how: object) -> Json:
    """A contribution's redaction."""
    args = {"contribution_ref": made["contribution_id"], "reason_class": "privacy"}
    return kernel.write("contribution_redact", args, project=space["project_id"], **how)


def finish(kernel: Kernel) -> None:
    """The system command that ends what was begun."""
    rows = erasure.in_progress(kernel.view)
    until = rows[-1].position if rows else 0
    clean(kernel, until)


def clean(kernel: Kernel, until: int) -> None:
    """The system command behind a cleaning of what was erased up to that position."""
    finish = partial(erasure.finish, erasure.Cleaned(until, ()))
    kernel.clerk.run([SystemCommand(erasure.FINISH, finish)])


def test_a_redacted_body_is_gone_from_every_read(kernel: Kernel, space: Json) -> None:
    """Show, list, events, payload and the replay of the append serve the redaction; neighbours are
    untouched.
    """
    line, socket = kernel.append_request(space, "canary", key="k")
    made = json.loads(kernel.answer(line, socket))["result"]
    kernel.said(space, "neighbour")
    assert redact(kernel, space, made)["result"]["kind"] == "redact"
    project = space["project_id"]
    shown = kernel.read("contribution_show", {"contribution_id": made["contribution_id"]}, project=project)
    assert shown["result"]["body_parts"] == REDACTED
    assert shown["result"]["content_digest"] == made["content_digest"]
    listed = kernel.read("contribution_list", {"space_id": space["space_id"], "limit": 9}, project=project)
    texts = [item["body_parts"][0]["text"] for item in listed["result"]["items"]]
    assert texts == ["", "neighbour"]
    events = json.dumps(kernel.read("events_read", {"source": project, "limit": 100}))
    assert '"canary"' not in events
    assert json.loads(kernel.answer(line, socket))["result"]["body_parts"] == REDACTED


def test_the_log_verifies_after_erasure(kernel: Kernel, space: Json) -> None:
    """Leaves hold commitments whose keys are gone: nothing is linked again."""
    leaves = None
    for n in range(5):
        made = kernel.said(space, f"canary {n}")
        if n == 2:
            leaves = kernel.view.all("SELECT leaf FROM log ORDER BY position")
            redact(kernel, space, made)
    finish(kernel)
    assert leaves is not None
    assert kernel.view.all("SELECT leaf FROM log ORDER BY position")[: len(leaves)] == leaves
    assert list(Walk(kernel.view).slices()) == [None]


def test_a_redaction_is_once_and_in_any_status(kernel: Kernel, space: Json) -> None:
    """A second one is invalid; a frozen space forgets as well."""
    made = kernel.said(space, "canary")
    kernel.ok("space_freeze", {"space_id": space["space_id"]}, project=space["project_id"])
    assert redact(kernel, space, made, key="a")["outcome"] == "ok"
    assert kernel.problem(redact(kernel, space, made, key="b")) == "invalid"


def test_an_erasure_ends_with_an_event_of_the_realm(kernel: Kernel, space: Json) -> None:
    """It is ``erasing`` until the files are clean, and then ``erased``."""
    made = kernel.said(space, "canary")
    redact(kernel, space, made)
    assert [row.state for row in erasure.in_progress(kernel.view)] == ["erasing"]
    finish(kernel)
    assert erasure.in_progress(kernel.view) == []
    row = kernel.view.log_row(kernel.view.number("SELECT max(position) FROM log"))
    assert (row.type, row.project, row.stream) == ("dev.tallystick.content.erased.v1", None, 0)
    before = kernel.fingerprint()
    finish(kernel)
    assert kernel.fingerprint() == before


def test_a_name_reads_erased_in_every_event_that_had_it(kernel: Kernel, space: Json) -> None:
    """Also names that were changed since."""
    project = space["project_id"]
    kernel.ok("project_update_metadata", {"name": "canary renamed"}, project=project)
    args = {"object_ref": project, "reason_class": "privacy"}
    erased = kernel.ok("tallystick_erase", args, project=project)
    assert (erased["bodies"], erased["state"]) == (2, "erasing")
    assert kernel.read("project_show", {}, project=project)["result"]["name"] == "[erased]"
    events = kernel.read("events_read", {"source": project, "limit": 100})["result"]["events"]
    names = [event["payload"]["name"] for event in events if "project" in event["type"].split(".")[2]]
    assert set(names) == {"[erased]"}
    named = {"space_id": space["space_id"]}
    space_title = kernel.read("space_show", named, project=project)["result"]["title"]
    assert space_title == "canary's space"


def test_an_application_payload_is_erased_by_its_event(kernel: Kernel, space: Json) -> None:
    """It reads as an empty object from then on."""
    claimed = kernel.claim(kernel.invocation(space, kernel.said(space, "why?", "question")))["result"]
    args = {
        "type": "org.example.noted.v1",
        "payload": {"note": "canary"},
        "attempt_id": claimed["attempt_id"],
        "fence_epoch": 1,
    }
    project = space["project_id"]
    event = kernel.ok("application_event_emit", args, project=project, socket=Socket.WORKER)["event_id"]
    kernel.ok("tallystick_erase", {"event_id": event, "reason_class": "privacy"})
    assert kernel.read("event_payload", {"event_id": event})["result"]["payload"] == {}
    again = kernel.write("tallystick_erase", {"event_id": event, "reason_class": "privacy"}, key="again")
    assert kernel.problem(again) == "invalid"


def test_a_contribution_is_redacted_and_not_erased(kernel: Kernel, space: Json) -> None:
    """Redaction leaves a disposition; the other way is refused with that advice."""
    made = kernel.said(space, "canary")
    refused = kernel.write("tallystick_erase", {"object_ref": made["contribution_id"], "reason_class": "x"})
    assert kernel.problem(refused) == "invalid"
    assert "contribution_redact" in refused["problem"]["detail"]


def test_an_artifact_is_erased_by_itself(kernel: Kernel) -> None:
    """Carried by nothing, it can still be forgotten; before its upload has ended it is aborted instead."""
    upload = begin(kernel)
    args = {"object_ref": upload["artifact_id"], "reason_class": "privacy"}
    refused = kernel.write("tallystick_erase", args, key="early")
    assert kernel.problem(refused) == "invalid"
    assert "artifact_upload_abort" in refused["problem"]["detail"]
    stage(kernel, upload)
    assert finalize(kernel, upload)["result"]["state"] == "completed"
    assert kernel.ok("tallystick_erase", args)["state"] == "erasing"
    shown = kernel.read("artifact_show", {"artifact_id": upload["artifact_id"]})["result"]
    assert shown["state"] == "erased"
    assert kernel.problem(kernel.write("tallystick_erase", args, key="again")) == "invalid"


def test_what_was_erased_during_the_cleaning_is_not_said_to_be_gone(kernel: Kernel, space: Json) -> None:
    """Files are cleaned of what was being erased before; what came meanwhile waits for the next round."""
    redact(kernel, space, kernel.said(space, "first"), key="a")
    until = erasure.in_progress(kernel.view)[-1].position
    redact(kernel, space, kernel.said(space, "second"), key="b")
    clean(kernel, until)
    assert [row.state for row in erasure.in_progress(kernel.view)] == ["erasing"]
    finish(kernel)
    assert erasure.in_progress(kernel.view) == []
