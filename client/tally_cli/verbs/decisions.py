"""The verbs `decide` and `decisions …`: what was decided, what contradicts it, and which of it holds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, cast

import click

from tally_cli.calling import Call, Record, key_option, keyed, text, verb
from tally_cli.choosing import choose_place, choose_project, found_in, pages, project_option, space_option
from tally_cli.output import complain
from tally_cli.repository import repository
from tally_cli.shown import in_project
from tallystick import calls

REVERSIBILITY: Final = ("easy", "medium", "hard")
SETTLED: Final = "settled"
_DECISION: Final = ("decision", "state", "what", "where", "by", "at", "notes")
SHOWN: Final = {"dec": in_project(calls.decisions.decision_show)}
"""How an object is shown, by the beginning of its id."""

any_repository_option = click.option(
    "--any-repository", is_flag=True, help="In every repository, and not in that of the working directory."
)


# --- recording ----------------------------------------------------------------------------------------------
@click.command()
@click.argument("what", metavar="KEY=VALUE")
@click.option("--reason", required=True, metavar="TEXT", help="Why; `-` takes it from stdin.")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Where it holds; repeatable.")
@click.option("--repository", "label", metavar="LABEL", help="In which repository; else the one around you.")
@any_repository_option
@click.option("--proposed", is_flag=True, help="Only propose it; `tally decisions adopt` lets it stand.")
@click.option("--quoted", is_flag=True, help="These are somebody else's words: propose them.")
@click.option("--supersedes", multiple=True, metavar="ID", help="A decision that falls to it; repeatable.")
@click.option("--narrows", multiple=True, metavar="ID", help="One that it narrows in its place; repeatable.")
@click.option("--depends-on", "depends_on", multiple=True, metavar="ID", help="What it rests on; repeatable.")
@click.option("--excludes", multiple=True, metavar="KEY[=VALUE]", help="What it rules out; repeatable.")
@click.option("--tag", "tags", multiple=True, metavar="TEXT", help="Repeatable.")
@click.option("--reversibility", type=click.Choice(REVERSIBILITY), help="How hard it is to take back.")
@click.option("--review-after", "review_after", metavar="TIME", help="When to look at it again, RFC 3339.")
@project_option
@space_option
@key_option
@verb
def decide(
    call: Call,
    what: str,
    reason: str,
    paths: tuple[str, ...],
    label: str | None,
    any_repository: bool,
    proposed: bool,
    quoted: bool,
    supersedes: tuple[str, ...],
    narrows: tuple[str, ...],
    depends_on: tuple[str, ...],
    excludes: tuple[str, ...],
    tags: tuple[str, ...],
    reversibility: str | None,
    review_after: str | None,
    project: str | None,
    space: str | None,
    key: str | None,
) -> None:
    """Record that KEY is VALUE, why, and where that holds.

    Nothing is refused because it contradicts something: it is recorded, and said to be contested until one
    of the two is gone. Inside a git repository it holds in that repository. Into a pipe its id is printed.
    """
    name, equals, value = what.partition("=")
    if not equals or not value.strip():
        raise click.UsageError("Give the decision as KEY=VALUE, such as db.engine=sqlite.")
    if label is not None and any_repository:
        raise click.UsageError("Give either --repository or --any-repository.")
    given = calls.decisions.decision_record(
        choose_place(call, project, space),
        name,
        value,
        sys.stdin.read() if reason == "-" else reason,
        repository=None if any_repository else label or _around(),
        paths=paths or None,
        proposed=True if proposed else None,
        origin="quoted" if quoted else None,
        supersedes=supersedes or None,
        narrows=narrows or None,
        depends_on=depends_on or None,
        excludes=[_exclusion(each) for each in excludes] or None,
        tags=tags or None,
        reversibility=reversibility,
        review_after=review_after,
        **keyed(key),
    )
    tell(call, call.ask(given))


def _around() -> str | None:
    found = repository()
    return None if found is None else found.label


def _exclusion(said: str) -> dict[str, str]:
    name, equals, value = said.partition("=")
    return {"key": name, "value": value} if equals else {"key": name}


def tell(call: Call, made: Record) -> None:
    """Print a decision, and what contests it, or would."""
    call.made(made, "decision_id", _said(made), _where(made), *_state(made))
    if call.printer.as_json:
        return
    project_id = text(made, "project_id")
    for verb_, members in (("contested", "contested_by"), ("it would meet", "would_meet")):
        for ref in cast(Sequence[str], made.get(members) or ()):
            other = call.ask(calls.decisions.decision_show(project_id, ref))
            complain(f"{verb_}: {ref} says {_said(other)}{_near(other)}, by {text(other, 'by')}")
    if made.get("contested_by"):
        complain(f"  one of them has to go:  tally decisions settle {text(made, 'decision_id')}")


def _said(record: Record) -> str:
    return f"{text(record, 'key')} = {text(record, 'value')}"


def _where(record: Record) -> str:
    paths = ", ".join(cast(Sequence[str], record.get("paths") or ()))
    inside = text(record, "repository") if record.get("repository") else ""
    return (
        " ".join(filter(None, ("in", paths or "all", "of" if inside else "", inside)))
        if paths or inside
        else ""
    )


def _near(record: Record) -> str:
    where = _where(record)
    return f" {where}" if where else ""


def _state(record: Record) -> tuple[str, ...]:
    return () if record["state"] == "standing" else (text(record, "state"),)


# --- decisions … --------------------------------------------------------------------------------------------
class _Listing(click.Group):
    """A group whose verb `list` needs no name: `tally decisions db` lists."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """See click."""
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Listing)
def decisions() -> None:
    """List decisions; show, adopt and settle them. `tally decisions KEY` says what holds for a key."""


@decisions.command("list")
@click.argument("key", required=False)
@click.option("--path", metavar="PATH", help="Only what reaches this path.")
@click.option("--repository", "label", metavar="LABEL", help="In which repository; else the one around you.")
@any_repository_option
@click.option("--all", "all_", is_flag=True, help="Those that no longer stand, and proposals, too.")
@click.option("--contested", is_flag=True, help="Only what is contested.")
@click.option("--unratified", is_flag=True, help="Only what nobody has ratified.")
@project_option
@verb
def decisions_list(
    call: Call,
    key: str | None,
    path: str | None,
    label: str | None,
    any_repository: bool,
    all_: bool,
    contested: bool,
    unratified: bool,
    project: str | None,
) -> None:
    """List decisions that stand, of KEY and of keys below it, in the order in which they were recorded."""
    place = None if any_repository else label or _around()
    found = pages(
        call,
        lambda after, snapshot: calls.decisions.decision_list(
            choose_project(call, project),
            key_prefix=key,
            repository=place,
            paths=None if path is None else [path],
            include=("proposed", "superseded", "withdrawn") if all_ else None,
            contested=True if contested else None,
            unratified=True if unratified else None,
            after=after,
            snapshot=snapshot,
        ),
    )
    if call.printer.as_json:
        for record in found:
            call.printer.object(record)
        return
    call.printer.table(_DECISION, map(_cells, found))


def _cells(record: Record) -> list[str]:
    return [
        text(record, "decision_id"),
        text(record, "state"),
        _said(record),
        _where(record),
        text(record, "by"),
        text(record, "at"),
        ", ".join(_notes(record)),
    ]


def _notes(record: Record) -> list[str]:
    """What bears on a decision, in words."""
    told = [
        (record.get("ratified"), "ratified"),
        (record.get("contested_by"), "contested"),
        (record.get("challenged_by"), "challenged"),
        (record.get("basis_changed"), "its basis changed"),
        (record.get("review_due"), "to be looked at again"),
        (record.get("superseded_by"), f"superseded by {record.get('superseded_by')}"),
        (record.get("erased"), "erased"),
    ]
    return [words for is_so, words in told if is_so]


@decisions.command("show")
@click.argument("decision", metavar="ID")
@project_option
@verb
def decisions_show(call: Call, decision: str, project: str | None) -> None:
    """Show a decision, whatever became of it, with all that bears on it."""
    record = _find(call, project, decision)[1]
    if call.printer.as_json:
        call.printer.object(record)
        return
    members = ("decision_id", "state", "by", "at", "contribution_ref", "proposed_because", "superseded_by")
    told = [
        ("what", _said(record)),
        ("why", text(record, "reason")),
        ("where", _where(record) or "everywhere"),
    ]
    told += [(name, text(record, name)) for name in members if record.get(name)]
    for name in (
        "supersedes",
        "narrows",
        "narrowed_by",
        "contested_by",
        "challenged_by",
        "depends_on",
        "tags",
    ):
        told += [(name, each) for each in cast(Sequence[str], record.get(name) or ())]
    call.printer.fields([*told, ("notes", ", ".join(_notes(record)))])


@decisions.command("adopt")
@click.argument("decision", metavar="ID")
@project_option
@key_option
@verb
def decisions_adopt(call: Call, decision: str, project: str | None, key: str | None) -> None:
    """Let a proposal stand: its author or a steward, and of quoted words a steward alone."""
    project_id, _ = _find(call, project, decision)

    def done() -> Record | None:
        found = call.ask(calls.decisions.decision_show(project_id, decision))
        return found if found["state"] == "standing" else None

    tell(call, call.change(calls.decisions.decision_adopt(project_id, decision, **keyed(key)), done))


@decisions.command("settle")
@click.argument("winner", metavar="ID")
@project_option
@verb
def decisions_settle(call: Call, winner: str, project: str | None) -> None:
    """Let every decision that ID is in conflict with fall to it: their authors, stewards, the owner."""
    project_id, record = _find(call, project, winner)
    others = cast(Sequence[str], record["contested_by"])
    for ref in others:
        other = call.ask(calls.decisions.decision_show(project_id, ref))
        call.ask(
            calls.dispositions.contribution_supersede(
                project_id, text(other, "contribution_ref"), text(record, "contribution_ref"), SETTLED
            )
        )
        if not call.printer.as_json:
            complain(f"superseded: {ref}, {_said(other)}{_near(other)}")
    if not others and not call.printer.as_json:
        complain(f"{winner} is in conflict with none; nothing was changed.")
    call.made(call.ask(calls.decisions.decision_show(project_id, winner)), "decision_id", _said(record))


def _find(call: Call, project: str | None, decision: str) -> tuple[str, Record]:
    """In which project a decision is, and what it is; its id needs no project."""
    return found_in(call, project, lambda place: calls.decisions.decision_show(place, decision))
