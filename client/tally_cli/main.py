"""The program ``tally``: answers ``--version`` by itself, and hands everything else to `running`.

A call at a shell should feel like nothing, and most of what it takes is Python's own. So what can be said
without the parser of command lines is said here; nothing is collected while modules are loaded, which makes
no garbage; and the process ends without taking its modules apart, which takes a sixth of a call and serves
nobody.
"""

import gc
import os
import sys


def main() -> int:
    """Run ``tally`` with this process's arguments, to the end of the process.

    It returns, with the exit code (`exits`), only where code of somebody else ran: that may have left
    something to be done at exit.
    """
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        from tallystick import __version__

        sys.stdout.write(f"tally {__version__}\n")
        return 0
    gc.disable()  # until the verb begins (`calling`)
    from tally_cli.running import run

    code = run(arguments)
    if "tally_cli.local" in sys.modules:
        return code
    os._exit(code)
