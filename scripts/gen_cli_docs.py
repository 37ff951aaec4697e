"""Writes `docs/reference/cli.md` from the commands in `agentnb.cli`; with `--check`, only says whether it is stale."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentnb.command import Command

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "cli.md"

INTRODUCTION = """\
# The command line

<!-- Written by scripts/gen_cli_docs.py: change agentnb/cli, then run it. -->

```
agentnb COMMAND
```

`python -m agentnb` is the same. `agentnb --version` prints the version, `agentnb COMMAND --help` explains a command.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | failed; stderr says why and what to do |
| 2 | wrong arguments |
| 130 | interrupted |
"""


def page() -> str:
    """The whole page."""
    from agentnb.cli.command_line import COMMANDS, plugin_commands

    return "\n".join(
        [
            INTRODUCTION,
            *(
                _section(command)
                for command in sorted({**COMMANDS, **plugin_commands()}.values(), key=lambda command: command.name)
            ),
        ]
    )


def _section(command: Command) -> str:
    usage = " ".join(["agentnb", command.name, *(option.usage for option in command.options)])
    if command.words is not None:
        usage += f" [{command.words[0]} …]"
    lines = [f"## `{usage}`", "", command.summary, "", command.details, ""]
    lines += [f"- `{option.flag}`: {option.help}" for option in command.options]
    if command.words is not None:
        lines.append(f"- `{command.words[0]}`: {command.words[1]}")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from scripts.generated import write_or_check

    sys.exit(write_or_check({PAGE: page()}, __doc__))
