"""The preview of a permission request in a real JupyterLab; the allowed action matches it."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side
from tests.conftest import ROOT
from tests.rehearsal_here import needs_namespaces

pytestmark = needs_namespaces
SETUP = f"""import sys, pathlib, agentnb
import matplotlib.font_manager, matplotlib.pyplot as plt  # it makes a file of the fonts, once
n, words, lines = 5, ["one", "two"], iter(["a", "b"])
agent = [sys.executable, {str(ROOT / "tests/agents/calls_kernel.py")!r}]
session = agentnb.start(command=agent, title="Preview", cwd=".", kernel_tools=True)"""
CODE = """n = 6
next(lines)
size = pathlib.Path("previewed.txt").write_text("two\\n")
print("<b>printed</b>")
plt.figure(figsize=(9, 3)); plt.plot([1, 3, 2]); plt.title("Preview"); plt.show()
len(words)"""
LOOKS = (("Light", 1_200), ("Dark", 320))


def test_permission_card_previews_what_the_code_will_do(lab: Lab, kernelspecs: Path) -> None:
    """The card shows variables, the file's diff and printed text, as text; nothing runs until the user allows it."""
    del kernelspecs
    file = lab.server.folder / "previewed.txt"
    file.write_text("one\n", encoding="utf-8")
    lab.open("preview.ipynb", notebook(SETUP, kernel="ipykernel7"))
    lab.run_cells(1)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    side.say(json.dumps([{"start": ["run_code", {"code": CODE}]}, {"end": 1}]))
    expect(side.chat.locator(".permission-risk")).to_contain_text("lines can't be restored.", timeout=PATIENCE_MS)
    lab.picture("unrestorable")
    side.chat.get_by_role("button", name="Preview", exact=True).click(timeout=PATIENCE_MS)
    preview = side.chat.locator(".preview-body")
    expect(preview.locator(".preview-summary")).to_have_text(
        "Would change previewed.txt, change the variable n, add the variable size.", timeout=PATIENCE_MS
    )
    expect(preview.locator(".line.added")).to_have_text("+two")
    expect(preview.locator(".preview-text")).to_have_text(["<b>printed</b>", "2"])
    picture = side.chat.locator(".preview .picture")
    expect(picture).to_have_count(1)
    for theme, width in LOOKS:
        lab.theme(f"JupyterLab {theme}")
        side.resize(width)
        picture.scroll_into_view_if_needed()
        box, card = picture.bounding_box(), side.chat.locator(".preview").bounding_box()
        assert box is not None
        assert card is not None
        assert box["width"] <= card["width"], (theme, width)
        assert (theme, width, serious(lab.page)) == (theme, width, [])
        lab.picture(f"preview-{theme.lower()}-{width}")
    lab.expect_in_kernel("n", 5)
    assert file.read_text(encoding="utf-8") == "one\n"
    side.allow()
    side.chat.get_by_text("As the preview showed").wait_for(timeout=PATIENCE_MS)
    assert file.read_text(encoding="utf-8") == "two\n"
    lab.expect_in_kernel("n", 6)
