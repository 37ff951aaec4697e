"""A research's citations and an agent's *Uses* line in JupyterLab: light, dark and in 320 px."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side

SKILL = """---
name: graphs-basics
description: Draw and search graphs with graphs. Use it when the user's code imports graphs.
---
Prefer `search_many` to a loop over `search`.
"""
SETUP = """import sys, agentnb
sys.path.append("site")
agentnb.skills().trust("graphs")
session = agentnb.start("eliza", kernel_tools=True, permissions="allow", components=["rules", "context"])"""
QUESTION = {"question": "Where is JSONDecodeError defined?", "package": "json"}


def install(site: Path) -> None:
    """Installs a package with a skill, as pip does."""
    files = {
        "graphs/__init__.py": "",
        "graphs/skills/graphs-basics/SKILL.md": SKILL,
        "graphs-1.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: graphs\nVersion: 1.2\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, "graphs-1.2.dist-info/RECORD"])
    for name, text in {**files, "graphs-1.2.dist-info/RECORD": record}.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")


def test_citations_show_their_lines_and_uses_show_token_cost(lab: Lab, kernelspecs: Path) -> None:
    """A citation opens its lines and marks its own; the line *Uses* opens components, packages and skills."""
    install(lab.server.folder / "site")
    lab.open("cited.ipynb", notebook(SETUP, kernel="ipykernel7"))
    lab.run_cells(1)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    uses = side.chat.locator(".uses")
    expect(uses).to_contain_text("Uses rules → context · graphs 1.2: 1 skill", timeout=PATIENCE_MS)
    uses.locator("summary, button").first.click()
    expect(uses).to_contain_text("graphs-basics")
    expect(uses).to_contain_text(re.compile(r"about [\d,]+ tokens"))
    lab.picture("uses-light")

    side.say(f"/mcp kernel research {json.dumps(QUESTION)}")
    cited = side.chat.locator(".citations")
    expect(cited).to_contain_text("Found in the source of json", timeout=PATIENCE_MS)
    place = cited.locator(".citation").first
    place.locator("summary, button").first.click()
    expect(place).to_contain_text("class JSONDecodeError(ValueError):")
    assert place.evaluate(
        "card => card.querySelector('pre').getBoundingClientRect().right <= card.getBoundingClientRect().right"
    )
    place.scroll_into_view_if_needed()
    lab.picture("citations-light")
    assert serious(lab.page) == []
    lab.theme("JupyterLab Dark")
    lab.picture("citations-dark")
    side.resize(320)
    place.scroll_into_view_if_needed()
    lab.picture("citations-dark-narrow")
    assert side.chat.evaluate("chat => chat.scrollWidth <= chat.clientWidth")
    uses.scroll_into_view_if_needed()
    lab.picture("uses-dark-narrow")
