"""JupyterLab in a browser, as a page object. Waits for visible changes, never for time.

``wait_for`` waits for new elements: while ``expect`` waits for them, Playwright describes the whole page repeatedly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from playwright.sync_api import Locator, Page, expect

if TYPE_CHECKING:
    from tests.browser.server import Server

PATIENCE_MS = 60_000
"""The general time limit, in milliseconds; a kernel's start on a busy machine takes longest."""

CONNECTED = """async () => {
  const context = window.jupyterapp.shell.currentWidget.sessionContext;
  await context.ready;
  await context.session.kernel.info;
}"""
"""Resolves once the notebook's kernel has answered: the indicator shows idle earlier, when a run would be lost."""


BECOMES = """async ([expression, wanted, patience]) => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  const content = { code: "", silent: true, store_history: false, user_expressions: { value: expression } };
  for (const end = Date.now() + patience; ; ) {
    const reply = (await kernel.requestExecute(content).done).content;
    const value = reply.user_expressions?.value; // none where an interrupt has aborted what was queued
    const found = value?.status === "ok" ? value.data["text/plain"] : value?.evalue ?? reply.status;
    if (found === wanted) return;
    if (Date.now() > end) throw new Error(`${expression} is ${found}, not ${wanted}`);
    await new Promise((later) => setTimeout(later, 50));
  }
}"""
"""Resolves once an expression in the kernel has the wanted value."""

IDLE = "window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
CLEARED = """async () => {
  const app = window.jupyterapp;
  if (app?.name !== "JupyterLab" || document.querySelector(".jp-Dialog")) return false;
  const gone = [...app.shell.widgets("main")].filter((widget) => widget.context).map((widget) => {
    widget.context.model.dirty = false;
    const disposed = new Promise((resolve) => widget.disposed.connect(resolve));
    widget.close();
    return disposed;
  });
  await Promise.all(gone);
  app.shell.collapseRight();
  const theme = "JupyterLab Light";
  if (document.body.dataset.jpThemeName !== theme) await app.commands.execute("apputils:change-theme", { theme });
  return document.querySelector("#jp-left-stack").offsetWidth < 320; // a test may have left it wide
}"""
"""Closes every notebook; returns true if the page then looks as it did when it was new."""

FORGOTTEN = "() => (localStorage.clear(), sessionStorage.clear())"

READY = "window.jupyterapp?.commands.hasCommand('docmanager:open')"
OPENED = """async (path) => {
  const { commands, restored, serviceManager, shell } = window.jupyterapp;
  await restored;
  await serviceManager.kernelspecs.refreshSpecs();
  await commands.execute("docmanager:open", { path });
  for (const widget of [...shell.widgets("main")]) if (widget.id.startsWith("launcher")) widget.close();
}"""


def notebook(*cells: str, kernel: str) -> Any:
    """Return a notebook of code cells for a kernel."""
    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    document.metadata["kernelspec"] = {"name": kernel, "display_name": kernel, "language": "python"}
    return document


class Cell:
    """One code cell."""

    def __init__(self, locator: Locator) -> None:
        self.locator = locator
        self.prompt = locator.locator(".jp-InputPrompt").first
        self.output = locator.locator(".jp-Cell-outputWrapper")
        self.markdown = self.output.locator(".jp-RenderedMarkdown")
        self.widget = self.output.locator(".jupyter-widgets-view, .jupyter-widgets").first

    def button(self, name: str) -> Locator:
        return self.output.get_by_role("button", name=name, exact=True)

    def focus(self) -> None:
        self.locator.locator(".jp-InputArea-editor .cm-content").click()

    def run(self) -> None:
        """Run only this cell, as Ctrl+Enter does."""
        self.focus()
        expect(self.locator).to_have_class(re.compile("jp-mod-active"))
        self.locator.page.keyboard.press("Control+Enter")

    def write(self, source: str) -> None:
        """Replace its source by keyboard."""
        self.focus()
        self.locator.page.keyboard.press("Control+a")
        self.locator.page.keyboard.insert_text(source)

    def expect_running(self) -> None:
        expect(self.prompt).to_have_text("[*]:", timeout=PATIENCE_MS)

    def expect_done(self, count: int | None = None) -> None:
        """Waits for its execution count: any, or *count*."""
        pattern = re.compile(r"^\[\d+\]:$") if count is None else re.compile(rf"^\[{count}\]:$")
        expect(self.prompt).to_have_text(pattern, timeout=PATIENCE_MS)

    def expect_text(self, text: str | re.Pattern[str]) -> None:
        """Waits for a text in output or live view."""
        self.output.get_by_text(text).first.wait_for(timeout=PATIENCE_MS)

    def expect_static(self, text: str | re.Pattern[str]) -> None:
        """Waits for a markdown text without a live view."""
        self.markdown.get_by_text(text).first.wait_for(timeout=PATIENCE_MS)
        expect(self.output.locator(".jupyter-widgets")).to_have_count(0, timeout=PATIENCE_MS)


class Lab:
    """A page with JupyterLab."""

    def __init__(self, page: Page, server: Server, pictures: Path) -> None:
        self.page = page
        self.server = server
        self.pictures = pictures
        self.panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        self.workspace = ""

    def open(self, name: str, document: Any = None, workspace: str | None = None) -> None:
        """Open a notebook and wait for its kernel."""
        if document is not None:
            nbformat.write(document, self.server.folder / name)
        if self.workspace and workspace is None:
            self.page.wait_for_function(READY)
            self.page.evaluate(OPENED, name)
        else:
            self.workspace = workspace or Path(name).stem
            self.page.goto(f"{self.server.url}/lab/workspaces/{self.workspace}/tree/{name}?token=browser-tests&reset")
        self.panel.locator(".jp-CodeCell").first.wait_for(timeout=PATIENCE_MS)
        self.page.evaluate(CONNECTED)
        self.expect_idle()

    def open_nothing(self) -> None:
        """Show JupyterLab without a notebook, like an emptied page."""
        if not self.workspace:
            self.workspace = "empty"
            self.page.goto(f"{self.server.url}/lab/workspaces/{self.workspace}?token=browser-tests&reset")

    def open_too(self, name: str, document: Any) -> None:
        """Open another notebook in the same page and wait for its kernel."""
        nbformat.write(document, self.server.folder / name)
        self.command("docmanager:open", path=name)
        self.page.evaluate(CONNECTED)
        self.expect_idle()

    @contextmanager
    def layout_saved(self, word: str) -> Iterator[None]:
        """The block ends when the page has saved a layout with *word* in it."""
        with self.page.expect_response(
            lambda answer: answer.request.method == "PUT" and word in (answer.request.post_data or "")
        ):
            yield

    def expect_in_kernel(self, expression: str, value: object) -> None:
        """Waits for a Python expression's value, by silent requests between the kernel's work."""
        as_json = f"__import__('json').dumps({expression})"
        self.page.evaluate(BECOMES, [as_json, repr(json.dumps(value)), PATIENCE_MS])

    def forget_other_pages(self) -> None:
        """Remove the browser's data of this server's pages, except the cache."""
        browser = self.page.context.new_cdp_session(self.page)
        browser.send("Storage.clearDataForOrigin", {"origin": self.server.url, "storageTypes": "local_storage"})
        browser.detach()

    def is_wide(self) -> bool:
        """True if the sidebar has a saved width."""
        return bool(self.page.evaluate("localStorage.getItem('agentnb sidebar width')"))

    def clear(self) -> bool:
        """Close everything for another test; returns True if the page is like new."""
        self.page.emulate_media(forced_colors="null", reduced_motion="reduce")
        self.page.keyboard.press("Escape")
        if not self.page.evaluate(CLEARED):
            return False
        self.page.evaluate(FORGOTTEN)
        return True

    def leave(self) -> bool:
        """Leave everything for an empty page, for another test; returns True if the page is like new."""
        self.page.emulate_media(forced_colors="null", reduced_motion="reduce")
        self._leave()
        return True

    def _leave(self) -> None:
        self.page.evaluate(FORGOTTEN)
        self.page.goto("about:blank")

    def reload(self, *, busy: bool = False) -> None:
        """Load the page again, with its saved layout."""
        self.page.goto(f"{self.server.url}/lab/workspaces/{self.workspace}")
        self.panel.locator(".jp-CodeCell").first.wait_for(timeout=PATIENCE_MS)
        if not busy:
            self.page.evaluate(CONNECTED)

    def load_again(self) -> None:
        """Load the page again with only its current notebook."""
        name = self.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.path")
        self.page.goto(f"{self.server.url}/lab/workspaces/{self.workspace}?reset")
        self.open(name)

    def reopen(self) -> None:
        """Save the notebook, leave the page and end the kernel; then open it in a new page with a new kernel."""
        name = self.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.path")
        self.save()
        self._leave()
        self.server.end_sessions()
        self.workspace = ""
        self.open(name)

    def expect_idle(self) -> None:
        """Wait until the kernel is idle; its indicator may be in the menu of a narrow toolbar."""
        self.page.wait_for_function(IDLE, timeout=PATIENCE_MS, polling=50)

    def cell(self, index: int) -> Cell:
        return Cell(self.panel.locator(".jp-CodeCell").nth(index))

    def run_cells(self, count: int) -> None:
        """Run the first *count* code cells of a new kernel, one after the other."""
        for index in range(count):
            self.cell(index).run()
            self.cell(index).expect_done(index + 1)

    def command(self, name: str, **arguments: Any) -> None:
        """Run a command of JupyterLab and wait until it ends."""
        script = "([name, args]) => window.jupyterapp.commands.execute(name, args).then(() => null)"
        self.page.evaluate(script, [name, arguments])

    def save(self) -> None:
        self.command("docmanager:save")

    def interrupt(self) -> None:
        """Press the toolbar's stop button."""
        self.panel.locator("[data-command='notebook:interrupt-kernel']").click()

    def restart(self) -> None:
        """Restart the kernel through the toolbar and its dialog."""
        self.panel.locator("[data-command='notebook:restart-kernel']").click()
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        self.expect_idle()

    def theme(self, name: str) -> None:
        """Set a theme and wait for it."""
        light = "true" if "Light" in name else "false"
        self.command("apputils:change-theme", theme=name)
        expect(self.page.locator("body")).to_have_attribute("data-jp-theme-light", light, timeout=PATIENCE_MS)
        expect(self.page.locator("#jupyterlab-splash")).to_have_count(0, timeout=PATIENCE_MS)

    def close_connection_errors(self) -> None:
        """From now on close JupyterLab's dialog about the connection whenever it appears."""
        dialog = self.page.locator(".jp-Dialog", has_text="Server Connection Error")
        self.page.add_locator_handler(dialog, lambda locator: locator.get_by_role("button", name="Close").click())

    def saved(self, name: str) -> Any:
        """Read a notebook's file."""
        return nbformat.read(self.server.folder / name, as_version=4)

    def picture(self, name: str, timeout: int = PATIENCE_MS) -> None:
        self.pictures.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=self.pictures / f"{name}.png", timeout=timeout)
