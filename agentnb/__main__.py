"""`python -m agentnb`."""

from __future__ import annotations

import sys

from agentnb.cli import main

if __name__ == "__main__":
    sys.exit(main())
