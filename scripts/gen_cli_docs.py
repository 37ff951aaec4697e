"""Writes `docs/reference/cli.md` from the commands in `agentnb.cli`; with `--check`, only says whether it is stale."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentnb.command import Command

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "cli.md"

INTRODUCTION = """\
# The command line

<!-- Written by scripts/gen_cli_docs.py: change agentnb/cli.py, then run it. -->

```
agentnb COMMAND
```

`python -m agentnb` is the same. `agentnb --version` prints the version, `agentnb COMMAND --help` explains a command.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | it failed; stderr says why and what to do |
| 2 | typed wrongly |
| 130 | interrupted |
"""


def page() -> str:
    """The whole page."""
    from agentnb.cli import COMMANDS

    return "\n".join([INTRODUCTION, *(_section(command) for command in COMMANDS.values())])


def _section(command: Command) -> str:
    usage = " ".join(["agentnb", command.name, *(option.usage for option in command.options)])
    if command.words is not None:
        usage += f" [{command.words[0]} …]"
    lines = [f"## `{usage}`", "", command.summary, "", command.details, ""]
    lines += [f"- `{option.flag}`: {option.help}" for option in command.options]
    if command.words is not None:
        lines.append(f"- `{command.words[0]}`: {command.words[1]}")
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    """Write the page, or check it.

    Returns:
        1 if the page was to be checked and is stale, otherwise 0.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is stale")
    arguments = parser.parse_args()
    if not arguments.check:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(page(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        print(f"{PAGE.relative_to(ROOT)} is stale: run python {Path(__file__).relative_to(ROOT)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
