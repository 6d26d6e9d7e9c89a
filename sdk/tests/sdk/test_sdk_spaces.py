"""The clients' calls about who takes part in a space and what became of what was said, on the real daemon."""

from collections.abc import Iterator

import pytest
from tallyd_process import Tallyd

from tallystick import Client, Invalid, StaleRevision, calls
from tallystick.protocol.families.projects import Space
from tallystick.trio_client import TrioClient


@pytest.fixture
def client(tallyd: Tallyd) -> Iterator[Client]:
    with Client(tallyd.runtime_dir) as client:
        yield client


@pytest.fixture
def space(client: Client) -> Space:
    project = client.project_create("kitchen").value
    return client.space_create(project, "why does the tap drip", visibility="restricted").value


def test_a_participant_is_let_in_by_the_digest_of_what_was_seen(client: Client, space: Space) -> None:
    """The digest of the record, or of a role that is meant; a later change of the proposal makes it stale."""
    project = space.project_id
    seen = client.space_participant_add(space, "prin-ada", "observer", kind="principal").value
    digest = calls.participants.participant_digest(seen)
    assert digest == calls.participants.participant_digest(seen, role="observer")
    raised = client.space_participant_update(project, seen.participant_id, role="steward").value
    with pytest.raises(StaleRevision):
        client.space_participant_activate(project, seen.participant_id, digest)
    let_in = client.space_participant_activate(
        project, seen.participant_id, calls.participants.participant_digest(raised)
    )
    assert (let_in.value.status, let_in.value.role, let_in.revision) == ("active", "steward", 3)
    gone = client.space_participant_remove(project, seen.participant_id).value
    owner, listed = client.space_participants(space)
    assert (owner.subject_ref, listed) == ("prin-owner", gone)


def test_grants_are_given_and_taken_back(client: Client, space: Space) -> None:
    """As typed records, listed over one snapshot."""
    given = client.space_access_grant_create(
        space, "prin-ada", ["read"], expires_at="2999-01-01T00:00:00Z"
    ).value
    assert given.allowed_actions == ("read",)
    taken = client.space_access_grant_revoke(space.project_id, given.space_access_id).value
    assert list(client.space_access_grants(space)) == [taken]


def test_things_are_read_with_what_became_of_them(client: Client, space: Space) -> None:
    """Each list gives typed items, and relations those of an object."""
    project = space.project_id
    one, other = (client.append(space, "claim", text).value for text in ("It drips.", "It drips at night."))
    relation = client.relation_assert(space, "refines", other, one).value
    withdrawn = client.contribution_withdraw(project, one, "mistake").value
    superseded = client.contribution_supersede(project, one, other, "better").value
    retracted = client.relation_retract(project, relation, "wrong").value
    with pytest.raises(Invalid):
        client.contribution_withdraw(project, one.contribution_id, "again")

    listed = list(client.disposed_contributions(space))
    assert [item.contribution for item in listed] == [one, other]
    kinds = [disposition.kind for disposition in listed[0].dispositions]
    assert kinds == [withdrawn.kind, superseded.kind] == ["withdraw", "supersede"]
    shown = client.relation_show(project, relation.relation_id)
    assert (shown.relation, shown.dispositions[0].disposition_id) == (relation, retracted.disposition_id)
    assert list(client.relations(space, of=one)) == [shown]
    assert [disposition.kind for disposition in client.dispositions(space)] == [*kinds, "retract"]


def test_a_reaction_that_changes_nothing_has_no_cursor(client: Client, space: Space) -> None:
    """Set, set again, and taken back, pinned to what it is of."""
    said = client.append(space, "claim", "It drips.").value
    first, again = client.reaction_set(space, said, "seen"), client.reaction_set(space, said, "seen")
    assert first.event_cursor is not None
    assert (again.value, again.event_cursor) == (first.value, None)
    removed = client.reaction_set(space, said, "seen", "removed").value
    assert (removed.state, removed.revision) == ("removed", 2)


def test_branches_frontiers_assemblies_and_events_are_listed(client: Client, space: Space) -> None:
    """What a client had to fold from events is read at once; the realm's events too."""
    said = client.append(space, "question", "Why?").value
    branch = client.branch_show(space.project_id, space.main_branch_id)
    assert branch.branch_sequence == 1
    assert client.append(space, "claim", "So.", expected_head_digest=branch.branch_head_digest).value
    pinned = client.frontier_pin(space).value
    assembly = client.context_assembly_create(space, "answer", required_refs=[said]).value
    assert [item.frontier_id for item in client.frontiers(space)] == [
        pinned.frontier_id,
        assembly.frontier_ref,
    ]
    (summary,) = client.assemblies(space)
    assert (summary.assembly_id, summary.digest) == (assembly.assembly_id, assembly.digest)
    read = client.accounted_events_read(space.project_id)
    assert (read.events, read.withheld) == (client.events_read(space.project_id).events, ())
    realm = client.accounted_events_read()
    assert realm.events == (), "nothing has happened outside of projects"


@pytest.mark.trio
async def test_the_trio_client_has_the_same(client: Client, space: Space, tallyd: Tallyd) -> None:
    """One withdrawal and one list, read back by the other client."""
    said = client.append(space, "claim", "It drips.").value
    async with TrioClient(tallyd.runtime_dir) as tally:
        withdrawn = (await tally.contribution_withdraw(space.project_id, said, "mistake")).value
        (found,) = [item async for item in tally.dispositions(space)]
    assert found.disposition_id == withdrawn.disposition_id
