"""The demo is a program of the clone, and no part of what is installed: it is found from the clone's root."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
