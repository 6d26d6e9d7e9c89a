"""What `tally show` knows of aliases of assistants; they have no verbs of their own."""

from typing import Final

from tally_cli.shown import in_project
from tallystick import calls

SHOWN: Final = {
    "alias": in_project(calls.aliases.assistant_alias_show),
}
"""How an object is shown, by the beginning of its id."""
