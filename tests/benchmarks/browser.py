"""A real JupyterLab in a real Chromium for the benchmarks that need one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser import server as jupyter
from tests.browser.conftest import FLAGS, VIEWPORT
from tests.browser.lab import Lab

ROOT = Path(__file__).parents[2]


@contextmanager
def a_lab(notebooks: Path | None = None) -> Iterator[Lab]:
    """Opens a page with its own server, folders and profile.

    Args:
        notebooks: The served folder, if it needs a certain name.
    """
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder)
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
            os.environ[name] = str(home / name.lower())
        notebooks = notebooks or home / "notebooks"
        notebooks.mkdir()
        server = jupyter.start(home, notebooks)
        browser = playwright.chromium.launch(executable_path=_chromium(), args=FLAGS)
        try:
            yield Lab(browser.new_page(viewport=VIEWPORT), server, ROOT / "test-results")
        finally:
            browser.close()
            server.end_sessions()
            server.stop()


def _chromium() -> str:
    search = subprocess.run([sys.executable, ROOT / "scripts/chromium.py"], capture_output=True, text=True, check=True)
    return search.stdout.strip()
