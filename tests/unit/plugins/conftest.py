"""The hosts, sessions and kernel tools of the core, for the tests of plug-ins."""

from __future__ import annotations

from tests.unit.api.conftest import start
from tests.unit.host.conftest import host
from tests.unit.kernel.conftest import tools

__all__ = ["host", "start", "tools"]
