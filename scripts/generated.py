"""What is written from the code: put in its place, or, with ``--check``, only compared with what is there."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[1]


def write_or_check(texts: Mapping[Path, str], about: str | None) -> int:
    """Write each file that is not as it should be; with ``--check`` on the command line only name it.

    Args:
        texts: What each file should hold.
        about: What the script does, for ``--help``.

    Returns:
        1 if something was to be checked and is stale, otherwise 0.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    check = parser.parse_args().check
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if check:
            print(f"{path.relative_to(ROOT)} is stale: run `make types`.", file=sys.stderr)
        else:
            path.write_text(texts[path], encoding="utf-8")
    return int(check and bool(stale))
