"""Find the Chromium for the browser tests, installing one where that is possible.

``AGENTNB_CHROMIUM`` names one explicitly. Prints the path; exits with 1 and says what to type when there is none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")


def find() -> str | None:
    """Return the path of a Chromium, or None: the named one, one on PATH, or Playwright's own."""
    if named := os.environ.get("AGENTNB_CHROMIUM"):
        return named if Path(named).is_file() else None
    for name in NAMES:
        if path := shutil.which(name):
            return path
    if MAC.is_file():
        return str(MAC)
    return _playwright()


def _playwright() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).is_file() else None


def install() -> None:
    """Try the system's packages (as root), then Playwright's own download."""
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        _run(["apt-get", "update"], environment)
        _run(["apt-get", "install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core"], environment)
    if find() is None:
        _run([sys.executable, "-m", "playwright", "install", "chromium"], dict(os.environ))


def _run(command: list[str], environment: dict[str, str]) -> None:
    print("+", *command, file=sys.stderr, flush=True)
    subprocess.run(command, env=environment, stdout=sys.stderr, check=False)


def main() -> None:
    """Print where Chromium is, or what to type."""
    if named := os.environ.get("AGENTNB_CHROMIUM"):
        if find() is None:
            sys.exit(f"AGENTNB_CHROMIUM names {named}, which is not a file.")
    elif find() is None:
        install()
    path = find()
    if path is None:
        sys.exit(
            "The browser tests need Chromium and none could be installed. Type one of:\n"
            "  sudo apt-get install chromium          (Debian, Ubuntu)\n"
            "  sudo dnf install chromium              (Fedora)\n"
            "  .venv/bin/playwright install --with-deps chromium\n"
            "or name one: AGENTNB_CHROMIUM=/path/to/chrome make test-browser"
        )
    print(path)


if __name__ == "__main__":
    main()
