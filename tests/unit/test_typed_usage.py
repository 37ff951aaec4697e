"""What users write is typed, strictly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT


def test_usage_of_the_public_names_is_strictly_typed(tmp_path: Path) -> None:
    """As by ``mypy --strict``, as a user's project has it: without the settings of this one."""
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nstrict = True\nfollow_imports = silent\n", encoding="utf-8")
    cache = os.environ.get("MYPY_CACHE_DIR", str(ROOT / ".mypy_cache" / "usage"))
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", cache]
    checked = subprocess.run(
        [*command, str(ROOT / "tests/typed/usage.py")], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout.strip()) == (0, "Success: no issues found in 1 source file")
