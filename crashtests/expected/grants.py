"""What is expected of grants: what somebody may do in a space beside taking part in it."""

from __future__ import annotations

from typing import Final

from cells import NOWHERE, client_cell
from effects import command, insert, update
from entries import MEMBERS, OWNER_IN_PROJECT, Entry, Example, Page, listed
from world import CLIENT, GRANTED

ENTRIES: Final = (
    Entry(
        CLIENT,
        "space_access_grant_create",
        "write operator R R -",
        callers="ok invalid",
        agents=OWNER_IN_PROJECT,
        events="dev.kovee.space.access-grant-created.v1",
        right=lambda s: {**s.here, "subject_ref": "prin-x", "allowed_actions": ["contribute"]},
        examples=(
            Example(
                {
                    "space_id": "space-1",
                    "subject_ref": "agent-1",
                    "allowed_actions": ["read", "contribute"],
                    "classification_ceiling_ref": "class-internal",
                    "expires_at": "2026-12-31T09:00:00Z",
                },
                optional="classification_ceiling_ref expires_at",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "space_access_grant_revoke",
        "write operator R R -",
        callers="ok invalid",
        agents=OWNER_IN_PROJECT,
        events="dev.kovee.space.access-grant-revoked.v1",
        right=lambda s: {"space_access_id": s.grant()["space_access_id"]},
        examples=(Example({"space_access_id": "sgrant-1"}),),
    ),
    Entry(
        CLIENT,
        "space_access_grant_list",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: s.page,
        examples=(listed({"space_id": "space-1"}),),
    ),
)


CELLS: Final = (
    client_cell(
        "space_access_grant_create",
        (*command(), insert("grants")),
        {**GRANTED, "subject_ref": "prin-new"},
        {"allowed_actions": ["contribute"]},
        at="project",
        names=("space_id", "access"),
    ),
    client_cell(
        "space_access_grant_revoke",
        (*command(), update("grants", "revision", "status")),
        {},
        {"space_access_id": f"sgrant-{NOWHERE}"},
        at="project",
        names=("space_access_id", "space_access_grant_revoke"),
    ),
)

PAGE: Final = Page(ENTRIES, CELLS)
