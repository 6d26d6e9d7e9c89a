"""What `tally show` knows of branches, frontiers and context assemblies; they have no verbs of their own."""

from typing import Final

from tally_cli.shown import in_project
from tallystick import calls

SHOWN: Final = {
    "branch": in_project(calls.context.branch_show),
    "front": in_project(calls.context.frontier_show),
    "casm": in_project(calls.context.context_assembly_show),
}
"""How an object is shown, by the beginning of its id."""
