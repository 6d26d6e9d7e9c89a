"""What `tally show` knows of registered assistants and their revisions; they have no verbs of their own."""

from typing import Final

from tally_cli.shown import anywhere
from tallystick import calls

SHOWN: Final = {
    "asst": anywhere(calls.assistants.assistant_show),
    "asstrev": anywhere(calls.assistants.assistant_revision_show),
}
"""How an object is shown, by the beginning of its id."""
