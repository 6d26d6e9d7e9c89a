"""What a contribution says, as text for people: each part of its body on its own."""

from typing import Final

from tally_cli.calling import Record, text
from tally_cli.output import to_json

REDACTED: Final = "application/x.kovee.redacted"
"""The media type of what stands where a contribution was redacted (KCP section 9)."""


def part_text(part: Record) -> str:
    """One part of a body as text: five shapes, told apart by their members (KCP section 9)."""
    if part.get("media_type") == REDACTED:
        return "[redacted]"
    if "text" in part:
        return text(part, "text")
    if "value" in part:
        return to_json(part["value"])
    if "target_ref" in part:
        return f"@{text(part, 'display_text')} ({text(part, 'target_ref')})"
    if "artifact_ref" in part:
        return f"[{text(part, 'artifact_ref')}] {text(part, 'title')}"
    return f"[{text(part, 'object_ref')}]"
