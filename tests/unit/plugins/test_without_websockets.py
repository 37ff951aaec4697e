"""Serving and connecting without the package websockets, which only the extra `serve` installs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

WITHOUT = """import sys
sys.modules["websockets"] = None
import agentnb
for what in (agentnb.serve, lambda: agentnb.connect("ws://127.0.0.1:1", token="t")):
    try:
        what()
    except agentnb.AgentnbError as error:
        print(type(error).__name__, error.hint)"""


def test_serve_and_connect_say_how_to_install_websockets(tmp_path: Path) -> None:
    environment = {**os.environ, "AGENTNB_DATA_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", WITHOUT], env=environment, capture_output=True, text=True, check=False)
    expected = ["NotOffered Install it: pip install 'jupyter-agentnb[serve]'."] * 2
    assert done.stdout.splitlines() == expected, done.stderr
