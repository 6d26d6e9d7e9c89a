"""The families of operations, a page each: records, arguments, operations. The page is the interface.

A family has one name, the same everywhere: here its interface, in ``tallystick.calls`` what clients call, in
``tallyd.families`` what the daemon does, in ``tally_cli.verbs`` what a person types, and in
``crashtests/expected`` what is expected of it, written by hand. No operation is named outside its family.
"""

from typing import Final

NAMES: Final = (
    "service",
    "agents",
    "projects",
    "access_changes",
    "participants",
    "grants",
    "contributions",
    "dispositions",
    "reactions",
    "lenses",
    "snapshots",
    "context",
    "invocations",
    "work",
    "assistants",
    "deployments",
    "aliases",
    "emissions",
    "events",
    "erasure",
    "artifacts",
    "signers",
    "gates",
    "decisions",
)
"""Every family, in the order in which operations are listed. Nothing is imported here: a client pays for what
it uses.
"""
