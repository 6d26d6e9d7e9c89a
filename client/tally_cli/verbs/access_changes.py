"""What `tally show` knows of prepared changes of who may see something; they have no verbs of their own."""

from typing import Final

from tally_cli.shown import in_project
from tallystick import calls

SHOWN: Final = {
    "papc": in_project(calls.access_changes.project_access_policy_change_show),
    "widen": in_project(calls.access_changes.space_access_widen_show),
}
"""How an object is shown, by the beginning of its id."""
