"""The verbs `show` and `read`: one object by its id, and what was said in a space."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, cast

import click

from tally_cli.calling import Call, Record, text, verb
from tally_cli.choosing import (
    choose_project,
    choose_space,
    project_option,
    space_option,
    space_ref,
    whole_pages,
)
from tally_cli.exits import Exit
from tally_cli.output import complain, cut, first_line, to_json
from tally_cli.trouble import Trouble
from tally_cli.verbs.saying import KINDS
from tallystick import calls

if TYPE_CHECKING:
    from tallystick.core import Call as Request

REDACTED: Final = "application/x.kovee.redacted"
"""The media type of what stands where a contribution was redacted (KCP section 9)."""
_HEADINGS: Final = ("#", "contribution", "kind", "author", "became", "what")
_WHAT_COLUMNS: Final = 60

_ANYWHERE: Final[Mapping[str, Callable[[str], Request[object]]]] = {
    "proj": calls.projects.project_show,
    "evt": calls.events.event_payload,
    "art": calls.artifacts.artifact_show,
    "upl": calls.artifacts.artifact_upload_show,
    "agent": calls.agents.agent_show,
    "asst": calls.assistants.assistant_show,
    "asstrev": calls.assistants.assistant_revision_show,
    "dep": calls.deployments.deployment_show,
}
_IN_PROJECT: Final[Mapping[str, Callable[[str, str], Request[object]]]] = {
    "contrib": calls.contributions.contribution_show,
    "rel": calls.contributions.relation_show,
    "space": calls.projects.space_show,
    "branch": calls.context.branch_show,
    "front": calls.context.frontier_show,
    "casm": calls.context.context_assembly_show,
    "lens": calls.lenses.lens_show,
    "inv": calls.invocations.invocation_show,
    "alias": calls.aliases.assistant_alias_show,
    "papc": calls.access_changes.project_access_policy_change_show,
    "widen": calls.access_changes.space_access_widen_show,
}
"""The call that shows an object, by the beginning of its id (KCP 1.9)."""


# --- one object ---------------------------------------------------------------------------------------------
@click.command()
@click.argument("ref", metavar="ID")
@click.option("--raw", is_flag=True, help="Only its texts, as they were written. Into a pipe or a file only.")
@project_option
@verb
def show(call: Call, ref: str, raw: bool, project: str | None) -> None:
    """Show the object with that ID: whatever its kind is, the beginning of the id tells it."""
    record = _shown(call, ref, project)
    if raw:
        if call.printer.as_json:
            raise click.UsageError("Give either --raw or --json: JSON loses nothing.")
        call.printer.raw("".join(_texts(record)))
    elif call.printer.as_json:
        call.printer.object(record)
    else:
        _tell(call, record)


def _shown(call: Call, ref: str, project: str | None) -> Record:
    prefix = ref.partition("-")[0]
    if prefix in _ANYWHERE:
        return call.ask(_ANYWHERE[prefix](ref))
    if prefix not in _IN_PROJECT:
        known = ", ".join(f"{each}-…" for each in (*_IN_PROJECT, *_ANYWHERE))
        raise Trouble(Exit.USAGE, "usage", f"{ref!r} is no id of an object that can be shown: {known}")
    found = call.ask(_IN_PROJECT[prefix](choose_project(call, project), ref))
    if prefix == "rel":
        return {**cast(Record, found["relation"]), "dispositions": found["dispositions"]}
    return found


def _tell(call: Call, record: Record) -> None:
    parts = record.get("body_parts")
    call.printer.fields(
        (name, value if isinstance(value, str) else to_json(value))
        for name, value in record.items()
        if name != "body_parts"
    )
    if isinstance(parts, list):
        call.printer.text("")
        for part in parts:
            call.printer.text(_part(cast(Record, part)))


def _part(part: Record) -> str:
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


def _texts(record: Record) -> Iterator[str]:
    parts = record.get("body_parts")
    if not isinstance(parts, list):
        raise Trouble(Exit.USAGE, "usage", "--raw shows texts, and this object is no contribution.")
    for part in parts:
        if isinstance(part, Mapping) and "text" in part:
            yield text(part, "text")


# --- a space ------------------------------------------------------------------------------------------------
@click.command()
@click.option("--kind", type=click.Choice(KINDS), help="Only contributions of that kind.")
@project_option
@space_option
@verb
def read(call: Call, kind: str | None, project: str | None, space: str | None) -> None:
    """Read what was said in a space, in its order, one line a contribution, and what became of each."""
    where = space_ref(choose_space(call, choose_project(call, project), space))
    withheld = 0
    items: list[Record] = []
    for page in whole_pages(
        call,
        lambda after, snapshot: calls.contributions.disposed_contribution_list(
            where, kind=kind, after=after, snapshot=snapshot
        ),
    ):
        items += cast(list[Record], page["items"])
        withheld += sum(cast(int, each["count"]) for each in cast(list[Record], page["withheld"]))
    if call.printer.as_json:
        for item in items:
            call.printer.object(item)
    else:
        call.printer.table(_HEADINGS, map(_line, items))
    if withheld:
        complain(f"{withheld} more are withheld from you.")


def _line(item: Record) -> list[str]:
    said = cast(Record, item["contribution"])
    became = " ".join(text(each, "kind") for each in cast(list[Record], item["dispositions"]))
    parts = (_part(part) for part in cast(list[Record], said["body_parts"]))
    what = cut(first_line(next(filter(None, parts), "")), _WHAT_COLUMNS)
    members = [text(said, name) for name in ("space_sequence", "contribution_id", "kind", "author_actor_ref")]
    return [*members, became, what]
