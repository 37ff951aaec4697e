"""Which kernel tools the access Look covers.

The inside: every tool, also those of plug-ins, whatever arguments it takes.
"""

from __future__ import annotations

import pytest

from agentnb.errors import PermissionDenied
from agentnb.kernel.tools import demand_access, kernel_tools

READING = {"variables", "inspect", "notebooks", "cells", "look_up_code", "read_skill", "research"}


def test_look_access_covers_only_reading_tools() -> None:
    """No access covers no tool."""
    for name in kernel_tools():
        demand_access(name, "run")
        with pytest.raises(PermissionDenied, match="to Off"):
            demand_access(name, "off")
        if name in READING:
            demand_access(name, "look")
        else:
            with pytest.raises(PermissionDenied, match="to Look"):
                demand_access(name, "look")
