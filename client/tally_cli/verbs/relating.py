"""The verb `relate`: how what was said bears on something else that was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

import click

from tally_cli.calling import Call, Record, key_option, keyed, text, verb
from tally_cli.choosing import choose_project, project_option
from tallystick import calls

if TYPE_CHECKING:
    from tallystick.protocol.families.contributions import ObjectRef

RELATIONS: Final = (
    "addresses", "supports", "challenges", "refines", "qualifies", "supersedes", "depends_on", "derived_from",
    "produced_by", "quotes", "evaluates",
)  # fmt: skip


class Pin(NamedTuple):
    """An object as a relation's end names it."""

    object_ref: str
    revision: int
    digest: str


@click.command()
@click.argument("from_ref", metavar="FROM")
@click.argument("kind", metavar="KIND", type=click.Choice(RELATIONS))
@click.argument("to_ref", metavar="TO")
@click.option("--rationale", metavar="ID", help="The contribution that says why.")
@project_option
@key_option
@verb
def relate(
    call: Call,
    from_ref: str,
    kind: str,
    to_ref: str,
    rationale: str | None,
    project: str | None,
    key: str | None,
) -> None:
    """Relate the contribution (or relation) FROM to TO, as in `relate contrib-1 addresses contrib-2`.

    KIND is addresses, supports, challenges, refines, qualifies, supersedes, depends_on, derived_from,
    produced_by, quotes or evaluates. Both ends are pinned as they are now.
    """
    project_id = choose_project(call, project)
    one, other = _find(call, project_id, from_ref), _find(call, project_id, to_ref)
    where = calls.SpaceRef(project_id, text(one, "space_id"), text(one, "origin_branch_id"))
    relation = call.ask(
        calls.contributions.relation_assert(
            where, kind, _pin(one), _pin(other), rationale_ref=rationale, **keyed(key)
        )
    )
    call.made(relation, "relation_id", text(relation, "kind"))


def _find(call: Call, project_id: str, ref: str) -> Record:
    """A contribution or a relation of a project, by its id."""
    if ref.startswith("rel-"):
        return cast(Record, call.ask(calls.contributions.relation_show(project_id, ref))["relation"])
    return call.ask(calls.contributions.contribution_show(project_id, ref))


def _pin(record: Record) -> ObjectRef:
    ref = text(record, "relation_id") or text(record, "contribution_id")
    revision = cast(int, record["revision"])
    digest = text(record, "content_digest") or text(record, "digest")
    return cast("ObjectRef", Pin(ref, revision, digest))
