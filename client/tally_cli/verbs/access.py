"""Verbs about who takes part in a space, and who may do what there without it."""

from __future__ import annotations

from typing import Final

import click

from tally_cli.calling import Call, Record, key_option, keyed, text, verb
from tally_cli.choosing import choose_project, choose_space, pages, project_option, space_option, space_ref
from tally_cli.exits import Exit
from tally_cli.trouble import Trouble
from tallystick import calls

ROLES: Final = ("steward", "contributor", "observer")
KINDS: Final = ("principal", "assistant_deployment", "service", "peer_projection")
_PARTICIPANT: Final = ("participant_id", "status", "role", "kind", "subject_ref")
_GRANT: Final = ("space_access_id", "status", "expires_at", "subject_ref", "allowed_actions")


def _where(call: Call, project: str | None, space: str | None) -> calls.SpaceRef:
    return space_ref(choose_space(call, choose_project(call, project), space))


# --- participants -------------------------------------------------------------------------------------------
@click.group()
def participants() -> None:
    """List, propose, admit, change and remove who takes part in a space.

    A participant is named by its id, or by its subject: an agent, a principal, a deployment.
    """


@participants.command("list")
@project_option
@space_option
@verb
def participants_list(call: Call, project: str | None, space: str | None) -> None:
    """List who takes part, whatever became of them, in the order in which they came."""
    where = _where(call, project, space)
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
    """Raises `Trouble` (exit 2) where the space has none of that id or subject."""
    for found in _participants(call, where):
        if name in (found["participant_id"], found["subject_ref"]):
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
    where = _where(call, project, space)
    made = call.ask(calls.participants.space_participant_add(where, subject, role, kind=kind, **keyed(key)))
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
    where = _where(call, project, space)
    found = _participant(call, where, participant)
    digest = calls.participants.participant_digest(found, role=role)
    let_in = calls.participants.space_participant_activate(
        where.project_id, text(found, "participant_id"), digest, **keyed(key)
    )
    _tell(call, call.ask(let_in))


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
    where = _where(call, project, space)
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
    where = _where(call, project, space)
    found = text(_participant(call, where, participant), "participant_id")
    _tell(call, call.ask(calls.participants.space_participant_remove(where.project_id, found, **keyed(key))))


def _tell(call: Call, participant: Record) -> None:
    beside = [text(participant, name) for name in ("status", "role", "subject_ref")]
    call.made(participant, "participant_id", *beside)


# --- grants -------------------------------------------------------------------------------------------------
@click.group()
def grant() -> None:
    """Give, list and take back grants: what somebody may do in a space without taking part in it."""


@grant.command("give")
@click.argument("subject")
@click.argument("actions", metavar="ACTION...", nargs=-1, required=True)
@click.option("--ceiling", metavar="CLASS", help="The highest classification that it reaches.")
@click.option("--until", metavar="TIME", help="When it ends, as 2031-01-31T09:00:00Z.")
@project_option
@space_option
@key_option
@verb
def grant_give(
    call: Call,
    subject: str,
    actions: tuple[str, ...],
    ceiling: str | None,
    until: str | None,
    project: str | None,
    space: str | None,
    key: str | None,
) -> None:
    """Let SUBJECT do each ACTION: read, contribute, steward, or an operation such as reaction_set.

    Each implies reading.
    """
    given = calls.grants.space_access_grant_create(
        _where(call, project, space),
        subject,
        actions,
        classification_ceiling_ref=ceiling,
        expires_at=until,
        **keyed(key),
    )
    made = call.ask(given)
    call.made(made, "space_access_id", text(made, "subject_ref"), " ".join(actions))


@grant.command("list")
@project_option
@space_option
@verb
def grant_list(call: Call, project: str | None, space: str | None) -> None:
    """List a space's grants, those that ended too, in the order in which they were given."""
    where = _where(call, project, space)
    given = pages(
        call,
        lambda after, snapshot: calls.grants.space_access_grant_list(
            where, after=after, snapshot=snapshot
        ),
    )
    call.tell_all(given, _GRANT)


@grant.command("revoke")
@click.argument("grant")
@project_option
@key_option
@verb
def grant_revoke(call: Call, grant: str, project: str | None, key: str | None) -> None:
    """Take the GRANT with that id back."""
    project_id = choose_project(call, project)
    ended = call.ask(calls.grants.space_access_grant_revoke(project_id, grant, **keyed(key)))
    call.made(ended, "space_access_id", text(ended, "status"))
