"""`python -m agentnb.plugins.eliza`: the program alone, without the command line that `agentnb eliza` loads."""

from __future__ import annotations

import sys

from agentnb.plugins.eliza.program import run

if __name__ == "__main__":
    sys.exit(run())
