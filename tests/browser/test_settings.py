"""The settings: the page in the chat, JupyterLab's editor and the user's file have the same values."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from agentnb.configuration.sources import USER
from agentnb.folders import config_folder
from agentnb.toml_file import parsed
from tests.browser.axe import serious
from tests.browser.lab import Lab, notebook
from tests.browser.side import Side

BEFORE_ADVANCED = """(panel) => {
  const list = panel.querySelector(".settings-list");
  const end = list.querySelector(".settings-advanced").getBoundingClientRect().top;
  return end - panel.getBoundingClientRect().top + list.scrollTop;
}"""
"""The height of the settings above *Advanced*, in pixels."""


def advanced(panel: Locator) -> None:
    panel.get_by_text("Advanced", exact=True).click()


@pytest.fixture(autouse=True)
def _no_settings_left(home: Path) -> Iterator[None]:
    """A test that fails half-way leaves no settings file for the others."""
    yield
    for name in (USER, "local.toml"):
        (config_folder() / name).unlink(missing_ok=True)


def test_settings_page_editor_and_file_show_the_same_values(lab: Lab, side: Side) -> None:
    """A change in one shows in the others; more freedom for agents needs a yes, and a no resets the editor."""
    lab.open("settings.ipynb", notebook("1", kernel="ipykernel7"))
    side.open()
    side.expect_chat()
    lab.command("agentnb:settings")
    panel = side.chat.get_by_role("region", name="Settings", exact=True)
    density = panel.get_by_role("combobox", name="Density")
    expect(density).to_have_value("comfortable")
    file = config_folder() / USER
    assert serious(lab.page) == []
    lab.command("settingeditor:open", query="agentnb")
    expect(in_editor(lab, "density")).to_have_value("0")
    density.select_option("compact")
    expect(in_editor(lab, "density")).to_have_value("1")
    assert parsed(file.read_text(encoding="utf-8")).items() >= {"density": "compact"}.items()
    in_editor(lab, "density").select_option("0")
    expect(density).to_have_value("comfortable")
    in_editor(lab, "permissions").select_option("1")
    dialog = lab.page.locator(".jp-Dialog")
    expect(dialog).to_contain_text("Permissions: Allow. This lets agents do more. Change it?")
    dialog.get_by_role("button", name="Cancel").click()
    expect(in_editor(lab, "permissions")).to_have_value("0")
    file.write_text('# mine\nfont_size = "large"\n', encoding="utf-8")
    expect(panel.get_by_role("combobox", name="Font size")).to_have_value("large")
    expect(in_editor(lab, "font_size")).to_have_value("2")
    lab.picture("settings")
    what_is_half_typed_in_the_editor_reaches_no_file(lab, panel, file)


def in_editor(lab: Lab, name: str) -> Locator:
    return lab.page.locator(f"[id='jp-SettingsEditor-agentnb:plugin_{name}']")


def what_is_half_typed_in_the_editor_reaches_no_file(lab: Lab, panel: Locator, file: Path) -> None:
    """Another change syncs both ways meanwhile; the typed text is saved once the field loses focus."""
    file.write_text('agent = "claude"\n', encoding="utf-8")
    expect(in_editor(lab, "agent")).to_have_value("claude")
    expect(in_editor(lab, "font_size")).to_have_value("1")
    in_editor(lab, "agent").press("Control+a")
    in_editor(lab, "agent").press_sequentially("co")
    expect(in_editor(lab, "agent")).to_be_focused()
    file.write_text('agent = "claude"\nfont_size = "large"\n', encoding="utf-8")
    expect(in_editor(lab, "font_size")).to_have_value("2")
    assert parsed(file.read_text(encoding="utf-8"))["agent"] == "claude"
    expect(lab.page.locator(".jp-Dialog, .Toastify__toast--error")).to_have_count(0)
    in_editor(lab, "agent").press_sequentially("dex")
    in_editor(lab, "agent").blur()
    expect(panel.get_by_role("combobox", name="Default agent")).to_have_value("codex")
    assert parsed(file.read_text(encoding="utf-8"))["agent"] == "codex"
    file.unlink()
    expect(in_editor(lab, "agent")).not_to_have_value("codex")  # otherwise the editor would write it again
    lab.command("application:close")
    expect(lab.page.locator(".jp-SettingsPanel")).to_have_count(0)


def test_custom_agent_is_added_answers_and_is_removed(lab: Lab, side: Side) -> None:
    """In the settings, by command and variable; the file has the value, the page hides it."""
    lab.open("own-agent.ipynb", notebook("1", kernel="ipykernel7"))
    side.open()
    side.expect_chat()
    lab.command("agentnb:settings")
    panel = side.chat.get_by_role("region", name="Settings", exact=True)
    expect(panel.get_by_role("searchbox", name="Find a setting")).to_be_focused()
    advanced(panel)
    panel.get_by_text("Custom launch command", exact=True).click()
    panel.get_by_role("combobox", name="Agent of the command").select_option(label="A new agent")
    panel.get_by_role("textbox", name="Name of the agent").fill("mine")
    panel.get_by_role("textbox", name="Command of the agent").fill(f"{sys.executable} -m agentnb eliza")
    panel.get_by_role("textbox", name="Variables to set").fill("MY_KEY=s3cret")
    assert serious(lab.page) == []
    lab.picture("own-agent")
    panel.get_by_role("button", name="Save", exact=True).click()
    expect(panel.get_by_text("New conversations run this program with your permissions.")).to_be_visible()
    panel.get_by_role("button", name="Change it").click()
    expect(panel.get_by_text("Agent mine saved.")).to_be_visible()
    expect(panel.get_by_role("textbox", name="Command of the agent")).to_have_count(0)
    expect(panel.get_by_text("with MY_KEY")).to_be_visible()
    assert "s3cret" not in lab.page.content()
    expect(panel.get_by_role("combobox", name="Default agent")).to_contain_text("mine", ignore_case=True)
    lab.page.keyboard.press("Escape")
    side.start("mine")
    side.say("/say I am yours.")
    expect(side.chat.get_by_text("I am yours.", exact=True)).to_be_visible()
    lab.picture("own-agent-answers")
    lab.command("agentnb:settings")
    panel.get_by_role("searchbox", name="Find a setting").fill("launch")
    panel.get_by_text("Custom launch command", exact=True).click()
    panel.get_by_role("button", name="Remove the agent mine").click()
    panel.get_by_role("button", name="Change it").click()
    expect(panel.get_by_text("Agent mine removed.")).to_be_visible()
    lab.page.keyboard.press("Escape")
    side.say("/say Still here.")
    expect(side.chat.get_by_text("Still here.", exact=True)).to_be_visible()


def test_settings_screen_is_short_and_works_by_keyboard(lab: Lab, side: Side) -> None:
    """A tooltip names a value's source; the dot resets; a pasted megabyte is refused at once."""
    lab.open("calm-settings.ipynb", notebook("1", kernel="ipykernel7"))
    side.open()
    side.expect_chat()
    side.resize(420)
    lab.command("agentnb:settings")
    panel = side.chat.get_by_role("region", name="Settings", exact=True)
    search = panel.get_by_role("searchbox", name="Find a setting")
    expect(search).to_be_focused()
    assert panel.evaluate(BEFORE_ADVANCED) <= 1_400
    size = panel.get_by_role("combobox", name="Font size")
    size.focus()
    size.press("ArrowDown")
    expect(size).to_have_value("large")
    reset = panel.get_by_role("button", name="Reset Font size")
    size.press("Shift+Tab")
    expect(reset).to_be_focused()
    tip = panel.get_by_text("From your file", exact=False)
    expect(tip.filter(visible=True)).to_contain_text(str(config_folder() / USER))
    assert serious(lab.page) == []
    lab.picture("settings-tip")
    reset.press("Enter")
    expect(size).to_have_value("normal")
    expect(reset).to_have_count(0)
    address = panel.get_by_role("textbox", name="Model server")
    address.focus()
    lab.page.keyboard.insert_text("x" * 1_000_000)
    expect(panel.get_by_text("This text is too long: 1,000,000 characters")).to_be_visible()
    expect(address).to_have_value("")
    address.fill("http://127.0.0.1:9/v1")
    address.press("Enter")
    expect(panel.get_by_role("button", name="Reset Model server")).to_be_visible()
    expect(panel.get_by_role("group", name="Confirm the change")).to_have_count(0)  # an address needs no confirmation
    search.fill("time limit")
    expect(panel.get_by_role("textbox")).to_have_count(2)
    search.fill("")
    search.press("Escape")
    expect(panel).to_have_count(0)
    what_is_typed_when_the_settings_are_closed_is_set_or_the_chat_says_why_not(lab, side, panel)


def what_is_typed_when_the_settings_are_closed_is_set_or_the_chat_says_why_not(
    lab: Lab, side: Side, panel: Locator
) -> None:
    box = panel.get_by_role("textbox", name="Turn time limit (seconds)")
    for typed in ("90", "soon"):
        lab.command("agentnb:settings")
        advanced(panel)
        box.fill(typed)
        box.press("Escape")
        expect(panel).to_have_count(0)
    expect(side.chat.get_by_text("A setting was not changed")).to_be_visible()
    expect(side.chat.get_by_text("Turn time limit (seconds) (soon)")).to_be_visible()
    lab.picture("settings-refused")
    lab.command("agentnb:settings")
    advanced(panel)
    expect(box).to_have_value("90")
