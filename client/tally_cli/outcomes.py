"""What became of an invocation, from its events: its attempts, why they failed, and what answered it."""

from __future__ import annotations

from collections.abc import Iterator

from tally_cli.calling import Call, Record, text
from tallystick import calls

_TYPES = ("dev.kovee.invocation", "dev.tallystick.invocation")


def events_of(
    call: Call, project_id: str, invocation_id: str, after: str | None = None
) -> Iterator[Record]:
    """The invocation's events, oldest first; ``after`` is a cursor before its first, where one is known."""
    while True:
        asked = calls.events.events_read(project_id, after_cursor=after, type_prefixes=_TYPES)
        page = call.ask(asked)
        found = page["events"]
        assert isinstance(found, list)
        for event in found:
            if isinstance(event, dict) and event.get("resource_ref") == invocation_id:
                yield event
        following = text(page, "next_cursor")
        if not found or following == after:
            return
        after = following


def payload_of(event: Record) -> Record:
    """What an event tells; nothing where its content is kept elsewhere or was erased."""
    payload = event.get("payload")
    return payload if isinstance(payload, dict) else {}


def result_of(call: Call, project_id: str, invocation_id: str, after: str | None = None) -> str | None:
    """The id of what an invocation that succeeded came to; None where it named nothing."""
    for event in events_of(call, project_id, invocation_id, after):
        if text(event, "type").startswith("dev.kovee.invocation.succeeded"):
            return text(payload_of(event), "result_ref") or None
    return None


def failure_of(call: Call, project_id: str, invocation_id: str, after: str | None = None) -> str:
    """Why the invocation's last attempt failed, in words; empty where none did."""
    words = ""
    for event in events_of(call, project_id, invocation_id, after):
        if text(event, "type").startswith("dev.tallystick.invocation.failed"):
            payload = payload_of(event)
            words = ": ".join(filter(None, (text(payload, "reason_class"), text(payload, "reason"))))
    return words


def story(events: Iterator[Record]) -> Iterator[tuple[str, str, str]]:
    """What happened, one row an event: when, what, and the details for a person."""
    for event in events:
        payload = payload_of(event)
        what = text(event, "type").split(".")[3]
        details = [f"attempt {text(payload, 'fence_epoch')}"] if "fence_epoch" in payload else []
        details += filter(None, (text(payload, name) for name in ("reason_class", "reason", "result_ref")))
        yield text(event, "occurred_at"), what, ": ".join(details)
