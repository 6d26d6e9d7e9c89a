"""The verbs `participants …`: who takes part in a space."""

from __future__ import annotations

from typing import Final

import click

from tally_cli.calling import Call, Record, key_option, keyed, text, verb
from tally_cli.choosing import choose_place, pages, project_option, space_option
from tally_cli.exits import Exit
from tally_cli.trouble import Trouble
from tally_cli.verbs.agents import subject_ref
from tallystick import calls

ROLES: Final = ("steward", "contributor", "observer")
KINDS: Final = ("principal", "assistant_deployment", "service", "peer_projection")
_PARTICIPANT: Final = ("participant_id", "status", "role", "kind", "subject_ref")


@click.group()
def participants() -> None:
    """List, propose, admit, change and remove who takes part in a space.

    A participant is named by its id, or by its subject: an agent (its name will do), a principal, a
    deployment.
    """


@participants.command("list")
@project_option
@space_option
@verb
def participants_list(call: Call, project: str | None, space: str | None) -> None:
    """List who takes part, whatever became of them, in the order in which they came."""
    where = choose_place(call, project, space)
    call.tell_all(_participants(call, where), _PARTICIPANT)


def _participants(call: Call, where: calls.SpaceRef) -> list[Record]:
    return list(
        pages(
            call,
            lambda after, snapshot: calls.participants.space_participant_list(
                where, after=after, snapshot=snapshot
            ),
        )
    )


def _participant(call: Call, where: calls.SpaceRef, name: str) -> Record:
    """Who takes part under that id, or as that subject, which an agent's name stands for too.

    Raises `Trouble` (exit 2) where the space has none.
    """
    wanted = name if name.startswith("part-") else subject_ref(call, name)
    for found in _participants(call, where):
        if wanted in (found["participant_id"], found["subject_ref"]):
            return found
    raise Trouble(
        Exit.USAGE,
        "no-participant",
        f"Nobody of the id or subject {name!r} takes part in that space; `tally participants list` shows"
        " who does.",
    )


@participants.command("propose")
@click.argument("subject")
@click.argument("role", type=click.Choice(ROLES))
@click.option(
    "--kind", type=click.Choice(KINDS), default="service", show_default=True, help="An agent is a service."
)
@project_option
@space_option
@key_option
@verb
def participants_propose(
    call: Call, subject: str, role: str, kind: str, project: str | None, space: str | None, key: str | None
) -> None:
    """Propose SUBJECT as ROLE: steward, contributor or observer.

    It has no rights before it is admitted. A subject takes part once: who was removed is not proposed again.
    """
    where = choose_place(call, project, space)
    found = subject_ref(call, subject)
    proposed = calls.participants.space_participant_add(where, found, role, kind=kind, **keyed(key))
    made = call.change(proposed, lambda: _now(call, where, found, status="proposed", role=role))
    call.made(made, "participant_id", text(made, "role"), text(made, "subject_ref"))


@participants.command("admit")
@click.argument("participant")
@click.argument("role", type=click.Choice(ROLES))
@project_option
@space_option
@key_option
@verb
def participants_admit(
    call: Call, participant: str, role: str, project: str | None, space: str | None, key: str | None
) -> None:
    """Let in who is proposed, in the ROLE that you say: refused where another one is proposed now."""
    where = choose_place(call, project, space)
    found = _participant(call, where, participant)
    digest = calls.participants.participant_digest(found, role=role)
    let_in = calls.participants.space_participant_activate(
        where.project_id, text(found, "participant_id"), digest, **keyed(key)
    )
    _tell(call, call.change(let_in, lambda: _now(call, where, participant, status="active", role=role)))


@participants.command("change")
@click.argument("participant")
@click.option("--role", type=click.Choice(ROLES), help="Another role.")
@click.option("--mute/--unmute", default=None, help="Let it read and no more, or let it write again.")
@project_option
@space_option
@key_option
@verb
def participants_change(
    call: Call,
    participant: str,
    role: str | None,
    mute: bool | None,
    project: str | None,
    space: str | None,
    key: str | None,
) -> None:
    """Give a participant another role, or mute it."""
    if role is None and mute is None:
        raise click.UsageError("Give --role, --mute or --unmute.")
    where = choose_place(call, project, space)
    found = _participant(call, where, participant)
    changed = calls.participants.space_participant_update(
        where.project_id,
        text(found, "participant_id"),
        role=role,
        status=None if mute is None else ("muted" if mute else "active"),
        **keyed(key),
    )
    _tell(call, call.ask(changed))


@participants.command("remove")
@click.argument("participant")
@project_option
@space_option
@key_option
@verb
def participants_remove(
    call: Call, participant: str, project: str | None, space: str | None, key: str | None
) -> None:
    """Take a participant's part from it, for good. What it wrote stands."""
    where = choose_place(call, project, space)
    found = text(_participant(call, where, participant), "participant_id")
    removed = calls.participants.space_participant_remove(where.project_id, found, **keyed(key))
    _tell(call, call.change(removed, lambda: _now(call, where, found, status="revoked")))


def _now(call: Call, where: calls.SpaceRef, participant: str, **wanted: str) -> Record | None:
    """The participant as it is, where its members have these values."""
    found = _participant(call, where, participant)
    return found if all(found[name] == value for name, value in wanted.items()) else None


def _tell(call: Call, participant: Record) -> None:
    beside = [text(participant, name) for name in ("status", "role", "subject_ref")]
    call.made(participant, "participant_id", *beside)
