"""What `tally show` knows of lenses; they have no verbs of their own."""

from typing import Final

from tally_cli.shown import in_project
from tallystick import calls

SHOWN: Final = {
    "lens": in_project(calls.lenses.lens_show),
}
"""How an object is shown, by the beginning of its id."""
