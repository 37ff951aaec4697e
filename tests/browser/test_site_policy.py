"""An administrator's policy in the page: shown calmly, without a way around it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.lab import Lab, notebook
from tests.browser.side import Side

POLICY = """freedom_at_most = "ask"

[agents."*"]
confine = true

[site]
message = "Agents work here for the physics group. Questions: platform@example.org"
pair = false

[site.agents]
allow = ["eliza", "local"]

[site.settings]
log_days = 30
notifications = false
mcp_servers = { docs = { url = "https://mcp.example.org" } }
"""


@pytest.fixture(autouse=True)
def policy(home: Path) -> Iterator[Path]:
    """The site's policy file, deleted at the end."""
    path = home / "jupyter/site/agentnb/policy.toml"
    path.parent.mkdir(parents=True)
    path.write_text(POLICY, encoding="utf-8")
    yield path
    path.unlink()
    path.parent.rmdir()


def test_site_policy_shows_message_and_limits_settings_and_agents(lab: Lab, side: Side, policy: Path) -> None:
    lab.open("site.ipynb", notebook("1", kernel="ipykernel7"))
    side.open()
    side.expect_text("Agents work here for the physics group. Questions: platform@example.org")
    lab.picture("site-message-1280")
    side.pill.click()
    expect(side.agents.get_by_role("button", name="Tour").first).to_be_visible()
    expect(side.agents.get_by_text("Codex")).to_have_count(0)
    lab.page.keyboard.press("Escape")
    side.start()
    lab.command("agentnb:settings")
    panel = side.chat.get_by_role("region", name="Settings", exact=True)
    row = panel.locator(".setting[data-at=log_days]")
    expect(row.get_by_text("Set by your administrator")).to_be_visible()
    expect(row.get_by_text("Set by your administrator")).to_have_attribute("title", str(policy))
    expect(row.get_by_role("textbox")).to_be_disabled()
    expect(panel.get_by_role("combobox", name="Freedom")).to_have_value("ask")
    expect(panel.get_by_role("combobox", name="Confine agents")).to_have_value("on")
    assert serious(lab.page) == []
    lab.picture("site-settings-light")
    lab.theme("JupyterLab Dark")
    lab.picture("site-settings-dark")
    lab.page.set_viewport_size({"width": 900, "height": 900})
    side.resize(420)
    lab.picture("site-settings-dark-420")
    policy.write_text(POLICY.replace("log_days = 30", "log_days = 'x'"), encoding="utf-8")
    expect(panel.get_by_text("log_days cannot be 'x'").first).to_be_visible()
    panel.get_by_role("button", name="Close").first.click()
    side.say("hello?")
    side.expect_text("No agent can start.")
    lab.picture("site-broken")
