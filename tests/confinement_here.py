"""Checks how agents can be confined on this machine, once in each process."""

from __future__ import annotations

import pytest

from agentnb.plugins.sandbox.confinement import way_here

WAY, WHY = way_here()
can_confine = pytest.mark.skipif(WAY is None, reason=WHY)
needs_landlock = pytest.mark.skipif(WAY != "Landlock", reason=WHY or f"{WAY} confines here")
