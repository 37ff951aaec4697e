"""Find the Chromium for the browser tests, installing one where that is possible.

Chromium's headless shell comes first: it has no windows, and the same tests take less processor time.
With ``--light`` it is installed beside a Chromium that is there. ``AGENTNB_CHROMIUM`` names a browser explicitly.
Prints the path; exits with 1 and says what to type when there is none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SHELL = Path("/usr/lib/chromium/chromium-headless-shell")
"""Where Debian has the headless shell; what is on PATH there is a script that starts it."""
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")


def find() -> str | None:
    """Return the path of a Chromium, or None: the named one, one on PATH, or Playwright's own."""
    if named := os.environ.get("AGENTNB_CHROMIUM"):
        return named if Path(named).is_file() else None
    if SHELL.is_file():
        return str(SHELL)
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
    if _may_install_packages():
        _apt("update")
        _apt("install", "chromium-headless-shell", "fonts-dejavu-core")
        if find() is None:  # Ubuntu has no such package
            _apt("install", "chromium", "fonts-dejavu-core")
    if find() is None:
        _run([sys.executable, "-m", "playwright", "install", "chromium"], dict(os.environ))


def install_shell() -> None:
    """Try to install the headless shell of the very version of the Chromium that is there, which is left as it is."""
    version = _installed_version()
    if version is None or not _may_install_packages():
        return
    package = f"chromium-headless-shell={version}"
    if not _apt("install", "--no-upgrade", "--no-remove", package):
        _apt("update")
        _apt("install", "--no-upgrade", "--no-remove", package)


def _installed_version() -> str | None:
    """The version of Debian's Chromium; None where it is not installed, or is another one's."""
    if not shutil.which("dpkg-query"):
        return None
    command = ["dpkg-query", "--show", "--showformat=${Version}", "chromium-common"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None if done.returncode == 0 else None


def _may_install_packages() -> bool:
    return shutil.which("apt-get") is not None and hasattr(os, "geteuid") and os.geteuid() == 0


def _apt(command: str, *words: str) -> bool:
    """Run apt-get; says whether it did what it was asked."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    options = ["--yes", "--no-install-recommends"] if command == "install" else []
    return _run(["apt-get", command, *options, *words], environment)


def _run(command: list[str], environment: dict[str, str]) -> bool:
    print("+", *command, file=sys.stderr, flush=True)
    return subprocess.run(command, env=environment, stdout=sys.stderr, check=False).returncode == 0


def main() -> None:
    """Print where Chromium is, or what to type."""
    if named := os.environ.get("AGENTNB_CHROMIUM"):
        if find() is None:
            sys.exit(f"AGENTNB_CHROMIUM names {named}, which is not a file.")
    elif find() is None:
        install()
    elif "--light" in sys.argv[1:] and not SHELL.is_file():
        install_shell()
    path = find()
    if path is None:
        sys.exit(
            "The browser tests need Chromium and none could be installed. Type one of:\n"
            "  sudo apt-get install chromium-headless-shell          (Debian)\n"
            "  sudo apt-get install chromium          (Ubuntu)\n"
            "  sudo dnf install chromium              (Fedora)\n"
            "  .venv/bin/playwright install --with-deps chromium\n"
            "or name one: AGENTNB_CHROMIUM=/path/to/chrome make test-browser"
        )
    print(path)


if __name__ == "__main__":
    main()
