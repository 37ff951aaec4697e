"""The chat and a turn in marimo, which supports anywidget's widgets."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest
from playwright.sync_api import expect

from tests.browser.server import STOP_SECONDS, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import BrowserContext

NOTEBOOK = """\
import marimo

app = marimo.App()


@app.cell
def _():
    import agentnb

    session = agentnb.start("eliza")
    session
    return agentnb, session


@app.cell
def _(session):
    turn = session.prompt("/ask edit")
    turn
    return (turn,)


if __name__ == "__main__":
    app.run()
"""
AT_ONCE = "[runtime]\nauto_instantiate = true\n"
"""marimo's setting that runs a notebook when it is opened."""
COMMAND = [sys.executable, "-m", "marimo", "edit", "--headless", "--no-token", "--skip-update-check"]


@pytest.fixture
def marimo(home: Path, tmp_path: Path) -> Iterator[str]:
    """The address of a marimo with the notebook; all its processes end with it."""
    (tmp_path / "chat.py").write_text(NOTEBOOK, encoding="utf-8")
    (tmp_path / "config/marimo").mkdir(parents=True)
    (tmp_path / "config/marimo/marimo.toml").write_text(AT_ONCE, encoding="utf-8")
    port = free_port()
    process = subprocess.Popen(
        [*COMMAND, "--port", str(port), "chat.py"],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(tmp_path / "config")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    output = ""
    for line in process.stdout:
        output += line
        if match := re.search(r"http://\S+", line):
            break
    else:
        pytest.fail(f"marimo did not start:\n{output}")
    yield match[0]
    below = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    process.communicate(timeout=STOP_SECONDS)
    for left in psutil.wait_procs(below, timeout=STOP_SECONDS)[1]:
        left.kill()


def test_marimo_shows_the_chat_and_takes_clicks_and_prompts(marimo: str, profile: BrowserContext) -> None:
    """A turn's question in a cell's output is answered there; a prompt in the chat gets an answer."""
    page = profile.new_page()
    page.goto(marimo)
    outputs = page.locator(".output-area")
    turn, chat = outputs.nth(1), outputs.nth(0)
    turn.get_by_role("button", name="Allow once").click()
    expect(turn.get_by_text("You chose")).to_be_visible()
    box = chat.get_by_placeholder("Message Tour…")
    box.fill("/say typed in marimo")
    box.press("Enter")
    expect(chat.get_by_text("typed in marimo", exact=True)).to_be_visible()
    page.close()
