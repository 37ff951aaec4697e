"""The chat in another language: a pseudo-locale made of the catalogue, with every message marked and longer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from scripts.gen_catalogue import Message, messages
from tests.browser import server as jupyter
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.server import Server
from tests.browser.side import Side

LANGUAGE = "eo"
PACK = "jupyterlab_language_pack_eo"
LONGER = 0.4
MARKS = "⟦⟧"
BEGIN = "import agentnb\nsession = agentnb.start('eliza', title='Own title')"
OURS = re.compile(
    r"^(needs you|Explain .*|Write a cell .*|Plot a .*|Allow once|Reject once|Tour: Own title"
    r"|Own title|Tour|Ask|Edit|Auto|eliza|/ask execute|/say .*|[\W\d_]+|language\.ipynb|agentnb.*|\$ ?.*"
    r"|[A-Z][\w+]*\+[\w+]*|Ctrl.*|Alt.*|F2|Del|\d.*|@\w+.*)$"
)
"""Texts that are not messages: of the user and the agent, names, keys, code, numbers; and one state."""
VISIBLE_TEXTS = """() => {
  const found = [];
  const isSeen = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  for (const host of document.querySelectorAll("#agentnb-sidebar .agentnb-view")) {
    const walker = document.createTreeWalker(host.shadowRoot, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.nodeType === Node.TEXT_NODE) {
        const { parentElement } = node;
        if (!parentElement || parentElement.closest("style, code, pre, .answer, .user, textarea")) continue;
        if (/\\p{L}{2}/u.test(node.data) && isSeen(parentElement)) found.push(node.data.trim());
      } else if (isSeen(node) && !node.closest(".answer, .user")) {
        for (const name of ["aria-label", "title", "placeholder"]) {
          const text = node.getAttribute(name);
          if (text && /\\p{L}{2}/u.test(text)) found.push(text.trim());
        }
      }
    }
  }
  return [...new Set(found)];
}"""
CUT = """() => [...document.querySelectorAll("#agentnb-sidebar .agentnb-view")].flatMap((host) =>
  [...host.shadowRoot.querySelectorAll("button, label, h2, h3, strong, p")].filter((one) => {
    if (!one.checkVisibility() || one.closest(".cut, .sr-only, .unseen, .tab")) return false;
    const { overflowX, textOverflow } = getComputedStyle(one);
    return one.scrollWidth > one.clientWidth + 2 && overflowX !== "visible" && textOverflow !== "ellipsis";
  }).map((one) => `${one.className}: ${one.textContent.slice(0, 60)}`))"""


def pseudo(text: str) -> str:
    """The text, longer, between marks; its placeholders stay."""
    return f"{MARKS[0]}{text}{'~' * round(LONGER * len(text))}{MARKS[1]}"


def entries(messages: dict[Message, set[str]]) -> dict[str, Any]:
    """The catalogue in JupyterLab's form."""
    head = {"domain": "agentnb", "language": LANGUAGE, "plural_forms": "nplurals=2; plural=(n != 1);"}
    texts = {each.id: [pseudo(each.id)] for each in messages if not each.plural}
    plurals = {each.id: [pseudo(each.id), pseudo(each.plural)] for each in messages if each.plural}
    return {"": head, **texts, **plurals}


@pytest.fixture
def foreign(tmp_path: Path, kernelspecs: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A JupyterLab with another language and its language pack."""
    site, home, folder = (tmp_path / name for name in ("site", "home", "notebooks"))
    locale = site / PACK / "locale" / LANGUAGE / "LC_MESSAGES"
    info = site / f"{PACK}-1.dist-info"
    for each in (locale, info, folder, home / "lab-settings/@jupyterlab/translation-extension"):
        each.mkdir(parents=True)
    (site / PACK / "__init__.py").write_text("")
    (locale / "agentnb.json").write_text(json.dumps(entries(messages())), encoding="utf-8")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PACK}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[jupyterlab.languagepack]\n{LANGUAGE} = {PACK}\n")
    settings = home / "lab-settings/@jupyterlab/translation-extension/plugin.jupyterlab-settings"
    settings.write_text(json.dumps({"locale": LANGUAGE}))
    monkeypatch.setenv("PYTHONPATH", str(site))
    server = jupyter.start(home, folder)
    yield server
    server.stop()


def untranslated(lab: Lab) -> list[str]:
    """Returns our visible texts without a mark."""
    texts: list[str] = lab.page.evaluate(VISIBLE_TEXTS)
    return [each for each in texts if not any(mark in each for mark in MARKS) and not OURS.match(each)]


def test_main_screens_are_fully_translated_and_nothing_is_cut(foreign: Server, lab_on: Callable[[Server], Lab]) -> None:
    """The box, the menu, a question, the history and all settings, 420 pixels wide, with texts 40 % longer."""
    lab = lab_on(foreign)
    lab.open("language.ipynb", notebook(BEGIN, kernel="ipykernel7"))
    lab.cell(0).run()
    lab.cell(0).expect_done()
    lab.page.locator(".jp-SideBar.jp-mod-right [data-id='agentnb-sidebar']").click()
    side = Side(lab.page)
    side.expect_chat()
    side.resize(420)
    wrong: dict[str, list[str]] = {}

    def look(name: str) -> None:
        lab.picture(f"language-{name}")
        problems = untranslated(lab) + lab.page.evaluate(CUT)
        if problems:
            wrong[name] = problems

    side.chat.get_by_text(MARKS[0]).first.wait_for(timeout=PATIENCE_MS)
    look("box")
    menu = side.chat.get_by_role("button", name=pseudo("Conversation"), exact=True)
    menu.click()
    look("menu")
    lab.page.keyboard.press("Escape")
    side.say("/ask execute")
    side.question.wait_for(timeout=PATIENCE_MS)
    look("question")
    for panel in ("History", "Settings"):
        menu.click()
        side.chat.get_by_role("menuitem", name=re.compile(re.escape(pseudo(panel)))).click()
        side.chat.get_by_role("searchbox").or_(side.chat.get_by_role("textbox")).first.wait_for(timeout=PATIENCE_MS)
        if panel == "Settings":
            side.chat.locator(".settings-advanced > summary").click()
            expect(side.chat.get_by_role("combobox", name=pseudo("Font size"))).to_contain_text(pseudo("Large"))
        look(panel.lower())
    assert wrong == {}
