"""Writes `docs/reference/eliza.md` from eliza's own registries; with `--check`, only says whether it is stale."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "eliza.md"

INTRODUCTION = """\
# eliza, the built-in agent

<!-- Written by scripts/gen_eliza_docs.py: change agentnb/plugins/eliza, then run it. -->

`eliza` is an agent that needs no key and no network. It comes with agentnb, speaks ACP over stdio, and is
deterministic: in a new session, the same prompts get the same answers. Use it to try agentnb, to test notebooks, and to
see how a client takes everything that an agent can do.

```
%agent -a eliza My loop is slow.
```

Any ACP client can start it: the command is `agentnb eliza`.

## Conversation

What is no slash command is answered by a listener in the manner of the DOCTOR of 1966: it looks for keywords, takes
the sentence apart and turns it into a question. All it knows to say stands in `agentnb/plugins/eliza/script.toml`.
What comes with a prompt (variables, files, images) is named first, with kind and size; `/context` shows it.

A command that can not do what was asked says why, as an answer. `session/cancel` ends every command at once, with the
stop reason `cancelled`.
"""


def page() -> str:
    """The whole page."""
    return f"{INTRODUCTION}\n{_commands()}\n{_settings()}\n{_sessions()}"


def _commands() -> str:
    from agentnb.plugins.eliza.commands.every_command import GROUPS, listed

    lines = ["## Commands", ""]
    for group in GROUPS:
        lines += [f"### {group}", ""]
        for command in listed():
            if command.group == group:
                lines += [f"#### `{command.usage}`", "", command.help, "", "```", command.example, "```", ""]
    return "\n".join(lines)


def _settings() -> str:
    from agentnb.plugins.eliza.settings import MODES, OPTIONS

    lines = ["## Modes", "", "| mode | what it does |", "|---|---|"]
    lines += [f"| `{mode['id']}` | {mode['description']} |" for mode in MODES]
    lines += ["", "## Options", "", "| option | what it is | values, the default first |", "|---|---|---|"]
    for option in OPTIONS:
        values = [choice.value for choice in option.choices] or ["off", "on"]
        lines.append(f"| `{option.id}` | {option.description} | {', '.join(f'`{value}`' for value in values)} |")
    lines += ["", "Clients that know no options of type boolean are offered `on` and `off` to choose from.", ""]
    return "\n".join(lines)


def _sessions() -> str:
    from agentnb.plugins.eliza.program import LOGIN_VARIABLE, STORE_VARIABLE

    return f"""\
## Sessions

It offers `session/new`, `session/load` (replays the conversation), `session/resume` (does not), `session/fork`,
`session/list`, `session/close` and `session/delete`. Sessions are called `sess-1`, `sess-2` …, tool calls `t1-1`
(turn 1, first call).

Two environment variables change that:

- `{STORE_VARIABLE}` names a folder in which sessions outlive the process, one JSON file each. Several processes can
  share it: a session id is given only once. Without it sessions live as long as the process.
- `{LOGIN_VARIABLE}=1` refuses new sessions with error -32000 until the client has called `authenticate` with the method
  `couch`; then `logout` is offered, too.

MCP servers on stdio that come with a session are started by `/mcp`. The extension method `_eliza/echo` gives back its
parameters; `/extend` calls one of the client's.
"""


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from scripts.generated import write_or_check

    sys.exit(write_or_check({PAGE: page()}, __doc__))
