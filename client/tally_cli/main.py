"""The program ``tally``: answers ``--version`` by itself, and hands everything else to `running`.

Python alone takes a tenth of what a call may take, and the parser of command lines half of it; so what can be
said without them is said here.
"""

import sys


def main() -> int:
    """Run ``tally`` with this process's arguments; returns its exit code (`exits`)."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        from tallystick import __version__

        sys.stdout.write(f"tally {__version__}\n")
        return 0
    from tally_cli.running import run

    return run(arguments)
