"""A hostile agent sends every attack of ``tests/cases/attacks`` to one page: nothing runs, it stays usable."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.lab import PATIENCE_MS, Cell, Lab, notebook
from tests.conftest import ROOT

FOLDER = ROOT / "tests" / "cases" / "attacks"
COUNT = sum(len(json.loads(path.read_text(encoding="utf-8"))["messages"]) for path in Path(FOLDER).glob("*.json"))
TURNS = 10
START = f"""import agentnb
session = agentnb.start(command={[sys.executable, str(ROOT / "tests/agents/hostile.py")]!r})
for start in range(0, {COUNT}, {COUNT // TURNS + 1}):
    await session.prompt(f"{{start}} {{start + {COUNT // TURNS + 1}}}").wait_async(check=False)
agentnb.chat(session)"""
ELEMENTS = "script, iframe, object, embed, link, meta, base, style, video, source, template, svg:not(.icon)"
FORBIDDEN = f"{ELEMENTS}, math:not(.math > math), math a, math [href], math [id], math semantics, math annotation-xml"
LOOK = """async ([selector]) => {
  const roots = [...document.querySelectorAll('.agentnb-view')].map((host) => host.shadowRoot);
  const found = [];
  for (const root of roots) {
    const box = root.querySelector('.transcript');
    for (let pass = 0; pass < 40; pass += 1) {
      for (const fold of root.querySelectorAll('.fold-head[aria-expanded=false]')) fold.click();
      box.scrollTop = box.scrollHeight * (pass / 40);
      await new Promise(requestAnimationFrame);
    }
    found.push(...[...root.querySelectorAll(selector)].map((one) => one.outerHTML.slice(0, 200)));
    for (const element of root.querySelectorAll('.root *')) {
      for (const { name, value } of element.attributes) {
        const place = /^(https?:\\/\\/|mailto:|(?![a-z][a-z0-9+.-]*:|\\/\\/|\\\\)[^\\\\]*$)/i;
        const href = name === 'href' && !place.test(value);
        const src = name === 'src' && !value.startsWith('data:image/');
        if (name.startsWith('on') || href || src) found.push(`${element.localName} ${name}=${value}`);
      }
    }
  }
  return found;
}"""


def opened(lab: Lab) -> tuple[Cell, list[str]]:
    """Returns the chat full of attacks, and every request of the page to other servers."""
    elsewhere: list[str] = []
    lab.page.on(
        "request", lambda request: None if request.url.startswith(_ours(lab)) else elsewhere.append(request.url)
    )
    lab.open("attacks.ipynb", notebook(START, "6 * 7", kernel="ipykernel7"))
    cell = lab.cell(0)
    cell.run()
    cell.expect_done(1)
    cell.output.get_by_role("log").wait_for(timeout=PATIENCE_MS)
    return cell, elsewhere


def _ours(lab: Lab) -> tuple[str, ...]:
    return lab.server.url, lab.server.url.replace("http", "ws", 1), "data:", "blob:"


def test_attacks_run_nothing_and_the_page_stays_usable(lab: Lab, kernelspecs: object) -> None:
    """Message, thought, tool title, command, path, diff, output, plan, option, error, command names, session title."""
    cell, elsewhere = opened(lab)
    assert lab.page.evaluate(LOOK, [FORBIDDEN]) == []
    box = cell.output.get_by_role("textbox").first
    box.fill("ask")
    box.press("Enter")
    yes = cell.output.get_by_role("button", name="Yes <img")
    expect(yes).to_contain_text("⟨U+202E⟩", timeout=PATIENCE_MS)
    yes.click()
    expect(yes).to_have_count(0, timeout=PATIENCE_MS)
    lab.cell(1).run()
    lab.cell(1).expect_text("42")
    assert lab.page.evaluate("window.pwned") is None
    assert lab.page.evaluate("({}).pwned") is None
    assert elsewhere == []
    lab.picture("attacks")
