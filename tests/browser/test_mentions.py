"""*Add to Chat*, and mentions' attachments, in a real JupyterLab."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAkAAAAJCAIAAABv85FHAAAADElEQVR4nGNgGLkAAAD8AAEMLtaOAAAAAElFTkSuQmCC"
DRAW = f"from base64 import b64decode\nfrom IPython.display import Image\nImage(b64decode('{PNG}'), width=200)"
SHORTCUT = "Control+Alt+g"
HOSTILE = """<svg xmlns='http://www.w3.org/2000/svg' width='60' height='40' onload='{act}'>
<script>{act}</script><style>@import url({away}/style.css);</style><image href='{away}/a.png' width='9' height='9'/>
<foreignObject width='50' height='30'><body xmlns='http://www.w3.org/1999/xhtml'><iframe src='{away}/frame'/>
<img src='{away}/b.png' onerror='{act}'/></body></foreignObject>
<a href='javascript:{act}'><rect width='60' height='40' fill='red' onclick='{act}'/></a></svg>"""
"""A drawing that tries every way to run a script or load from elsewhere."""
COLOUR = """async (image) => {
  const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  return [...context.getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data];
}"""


def test_selection_and_output_are_mentioned_and_sent(lab: Lab, side: Side) -> None:
    drawing = HOSTILE.format(act="top.acted = true", away="http://elsewhere.invalid")
    svg = f"from IPython.display import SVG\nSVG({drawing!r})"
    lab.open("added.ipynb", notebook(DRAW, "threshold = 5", svg, kernel="ipykernel7"))
    lab.run_cells(1)
    lab.cell(0).output.locator(".jp-RenderedImage img").wait_for(timeout=PATIENCE_MS)
    side.open()
    side.start()
    lab.cell(1).focus()
    lab.page.keyboard.press("Control+a")
    lab.page.keyboard.press(SHORTCUT)
    expect(side.box).to_have_value("@selection:1 ", timeout=PATIENCE_MS)
    expect(side.box).to_be_focused(timeout=PATIENCE_MS)
    lab.cell(0).output.locator(".jp-RenderedImage img").click(button="right")
    lab.page.get_by_role("menuitem", name="Add Output to Chat").click()
    expect(side.box).to_have_value("@selection:1 @output:1 ", timeout=PATIENCE_MS)
    chips = side.chat.get_by_role("list", name="Attached by mentions").get_by_role("button")
    expect(chips).to_have_count(3, timeout=PATIENCE_MS)
    chips.nth(0).click()
    expect(side.chat.locator(".mention-preview pre")).to_contain_text("threshold = 5", timeout=PATIENCE_MS)
    chips.nth(2).click()
    side.chat.locator(".mention-preview img").wait_for(timeout=PATIENCE_MS)
    lab.picture("mentions-chips")
    assert serious(lab.page) == []
    side.box.press("Home")
    side.box.press_sequentially("/context ")
    side.box.press("Enter")
    side.expect_text("3 things came with this prompt.")
    side.expect_text("image/png")
    expect(chips).to_have_count(0, timeout=PATIENCE_MS)
    an_svg_with_scripts_goes_as_a_picture_and_nothing_of_it_acts(lab, side)


def an_svg_with_scripts_goes_as_a_picture_and_nothing_of_it_acts(lab: Lab, side: Side) -> None:
    """The page draws it as an image: no script runs, and no other server gets a request."""
    elsewhere: list[str] = []
    lab.page.on("request", lambda one: elsewhere.append(one.url) if "elsewhere.invalid" in one.url else None)
    lab.cell(2).run()
    lab.cell(2).expect_done(2)
    side.box.press_sequentially("/context @output:2 ")
    chips = side.chat.get_by_role("list", name="Attached by mentions").get_by_role("button")
    expect(chips.last).to_contain_text("output:2")
    chips.last.click()
    picture = side.chat.locator(".mention-preview img")
    expect(picture).to_be_visible()
    assert str(picture.get_attribute("src")).startswith("data:image/png;base64,")
    assert picture.evaluate(COLOUR) == [255, 0, 0, 255]
    lab.picture("mentions-hostile-svg")
    side.box.press("Enter")
    expect(side.chat.locator(".answer").last).to_contain_text("image/png")
    assert lab.page.evaluate("() => window.acted") is None
    assert elsewhere == []


def test_debugger_variable_is_added_to_the_chat(lab: Lab, side: Side, kernelspecs: Path) -> None:
    spec = json.loads((kernelspecs / "kernels/ipykernel7/kernel.json").read_text(encoding="utf-8"))
    (kernelspecs / "kernels/debugged").mkdir()
    described = json.dumps({**spec, "display_name": "debugged", "metadata": {"debugger": True}})
    (kernelspecs / "kernels/debugged/kernel.json").write_text(described, encoding="utf-8")
    lab.open("variables.ipynb", notebook("limits = {'upper': 5}", kernel="debugged"))
    lab.run_cells(1)
    side.open()
    side.start()
    lab.command("application:toggle-left-area")
    side.resize(420)  # an earlier test may have left too little room for the notebook's toolbar
    lab.panel.locator(".jp-DebuggerBugButton").first.click()
    variable = lab.page.locator(".jp-DebuggerVariables-body .jp-TreeItem", has_text="limits").first
    variable.click(button="right")
    lab.picture("variables-menu")
    lab.page.get_by_role("menuitem", name="Add to Chat").click()
    expect(side.box).to_have_value("@limits ")
    chip = side.chat.get_by_role("list", name="Attached by mentions").get_by_role("button").first
    chip.click()
    expect(side.chat.locator(".mention-preview pre")).to_contain_text("upper")
    lab.picture("variables-added")
    lab.command("application:toggle-left-area")
