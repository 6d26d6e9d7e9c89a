"""``python -m tally_cli``, for where the program is not in PATH."""

import sys

from tally_cli.main import main

sys.exit(main())
