"""``make bench``: runs the benchmarks from wherever it is called; ``--help`` says which there are."""

from __future__ import annotations

import os
import runpy
import sys

if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    runpy.run_module("benchmarks", run_name="__main__", alter_sys=True)
