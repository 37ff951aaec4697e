"""Services get what they need: few reach through a whole conversation."""

from __future__ import annotations

import re

from tests.conftest import ROOT

MOST = {"api": 41, "host": 7}
"""How often each package may reach through ``self._conversation`` (158 times in 0.1): never more than today."""


def test_services_when_they_need_something_seldom_reach_through_the_conversation() -> None:
    """In ``host`` only what makes its own conversations does; ``api`` is the thin front of one."""
    found: dict[str, int] = {}
    for path in sorted((ROOT / "agentnb").rglob("*.py")):
        times = len(re.findall(r"\b_conversation\.", path.read_text(encoding="utf-8")))
        package = path.relative_to(ROOT / "agentnb").parts[0]
        found[package] = found.get(package, 0) + times
    assert {package: times for package, times in found.items() if times > MOST.get(package, 0)} == {}
