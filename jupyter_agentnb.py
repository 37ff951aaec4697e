"""The program `agentnb`: it runs this distribution's commands, or says why another package answers to the name.

A module of its own, since another project on the package index is called ``agentnb``, too: where that comes first on
the path, no module of this distribution's package can be imported.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec


def main() -> int:
    """Run a command."""
    found = find_spec("agentnb")
    place = os.path.dirname(found.origin) if found is not None and found.origin else "nowhere"  # noqa: PTH120
    ours = os.path.join(os.path.dirname(os.path.abspath(__file__)), "agentnb")  # noqa: PTH118, PTH120, PTH100
    if os.path.realpath(place) != os.path.realpath(ours):
        sys.stderr.write(
            f"agentnb  broken  `import agentnb` finds another project, in {place}, before jupyter-agentnb, which is in "
            f'{ours}. Remove the other one: "{sys.executable}" -m pip uninstall --yes agentnb\n'
        )
        return 1
    from agentnb.cli import main as run

    return run()
