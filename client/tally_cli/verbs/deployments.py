"""What `tally show` knows of deployments; they have no verbs of their own."""

from typing import Final

from tally_cli.shown import anywhere
from tallystick import calls

SHOWN: Final = {
    "dep": anywhere(calls.deployments.deployment_show),
}
"""How an object is shown, by the beginning of its id."""
