"""Writes the pages on magics and settings in `docs/reference` from the docstrings.

With `--check`, only says whether they are stale.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.configuration.table import GROUPS, SETTINGS

if TYPE_CHECKING:
    from agentnb.configuration.setting import Setting

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
NOTE = "<!-- Written by scripts/gen_api_docs.py from the docstrings: change those, then run `make types`. -->"
VARIABLES = """\
## Environment variables

| variable | read by | meaning |
|---|---|---|
| `AGENTNB_CASSETTE` | kernels, `agentnb.start` | the cassette to replay or record |
| `AGENTNB_CASSETTE_MODE` | the same | `auto`, `record`, `replay`, `off`, or `builtin`: the built-in agent only |
| `AGENTNB_CASSETTE_FILES` | the same, `agentnb replay` | `off`: leave out files that agents write by themselves |
| `AGENTNB_CASSETTE_PACE` | the same | `instant`, or `recorded`: at the agent's original speed |
| `AGENTNB_CASSETTE_REPORT` | `agentnb replay` | a folder for a report of what was replayed |
| `AGENTNB_NOTEBOOK` | kernels | the notebook being run; the pytest plug-in sets it |
| `AGENTNB_AUDIENCE` | kernels | `nobody`: no user is attached, whatever the client says |
| `AGENTNB_IDS` | kernels, `agentnb.start` | `counted`: the same ids in every run |
| `AGENTNB_PROGRESS_SECONDS` | kernels | seconds until a turn without a front end shows its progress; 5 |
| `AGENTNB_CHANGES` | kernels, `env=` | `off`: changes of turns are not tracked and cannot be undone |
| `AGENTNB_CONFIG_DIR` | kernels | the folder of `policy.toml` and `agents`; default: `~/.jupyter/agentnb` |
| `AGENTNB_DATA_DIR` | kernels | the folder for stored data; default: `agentnb` in Jupyter's data folder |
| `AGENTNB_HEADLESS` | kernels | `allow` or `deny` requests that nobody can answer; default: as the policy file says |
| `AGENTNB_CHANGES_MAX` | kernels | size limit of a workspace's undo history, such as `4G` (the default) |
| `AGENTNB_PLUGINS` | everywhere | the only [plug-ins](../how-to/plugins.md) to load; empty: none |
| `AGENTNB_EVENTS` | kernels, `agentnb record`, `replay` | a file for [events](events.md), one line of JSON each |
| `AGENTNB_EVENTS_TEXT` | the same | `1`: events also contain what was said |
| `AGENTNB_WIRE_LOG` | kernels | the file of the component [log](../how-to/components.md#shipped-components) |
| `AGENTNB_LOG` | kernels | the file of the session log, or `off`; default: `sessions.db` in the data folder |
| `AGENTNB_VERIFY` | kernels | as the setting `verify`: `each turn` or `until verified` |
| `AGENTNB_DATA_CHECKS` | kernels | as the setting `data_checks`: `required` or `off` |
| `AGENTNB_LOG_DAYS` | kernels | delete conversations without activity for this many days |
| `AGENTNB_LOG_MAX` | kernels | delete the oldest conversations beyond this size, such as `2G` |
| `AGENTNB_ELIZA_LOGIN` | `agentnb eliza` | ask for a login: [how](eliza.md) |
| `AGENTNB_ELIZA_STORE` | `agentnb eliza` | the folder of its sessions: [how](eliza.md) |
| `AGENTNB_LOCAL_URL` | `agentnb local` | the base URL of the model server: [how](../how-to/local-model.md) |
| `AGENTNB_LOCAL_MODEL` | `agentnb local` | the model that new conversations begin with |
| `AGENTNB_LOCAL_KEY_VARIABLE` | `agentnb local` | the name of the variable that holds the server's key |
| `AGENTNB_LOCAL_PORTS` | `agentnb local` | the ports of this machine to look at; `11434,1234,8000,8080` |
"""


def magics() -> str:
    """The page of the magics: their manual pages, as ``%agent?`` shows them."""
    from agentnb.ipython.magics import AgentMagics

    sections = [
        f"## `{title}`\n\n```text\n{inspect.getdoc(getattr(AgentMagics, name))}\n```\n"
        for title, name in (("%agent, %%agent", "agent"), ("%agents", "agents"))
    ]
    return "\n".join(["# Magics\n", NOTE, "", "After `%load_ext agentnb`.\n", *sections])


HOW = """\
`agentnb settings` in a shell, `agentnb.settings()` in Python and ⋯ → *Settings* in the chat show them all, with where
each value comes from, and change them: [how](../how-to/settings.md). The first of these that has a value counts:

1. `%config Agentnb.agent = "claude"`: this kernel, until it ends.
2. `c.Agentnb.agent = "claude"` in `ipython_config.py`.
3. The setting's environment variable, if it has one.
4. The project's file, `.agentnb/settings.toml` in the workspace. It can only choose a value that lets agents do less.
5. Your file: `settings.toml` in agentnb's settings folder (`agentnb` in `JUPYTER_CONFIG_DIR`, or
   `AGENTNB_CONFIG_DIR`), with a line such as `agent = "claude"`; for some settings another file of that folder.
6. The default.

Your file is read again when it changes. An error in it is reported with file and line, and that line is ignored.
"""


def _row(each: Setting) -> str:
    places = ["`%config`"] if each.trait else []
    places += [f"`{each.file}`: `{each.file_key}`"] if each.file else []
    places += [f"`{each.variable}`"] if each.variable else []
    about = f"**{each.title}.** {each.about} Applies {each.counts}."
    return f"| `{each.name}` | `{each.default!r}` | {about} | {', '.join(places)} |"


def settings() -> str:
    """The page of the settings."""
    head = ["# Settings\n", NOTE, "", HOW]
    for group, title in GROUPS.items():
        rows = [_row(each) for each in SETTINGS.values() if each.group == group]
        head += [f"## {title}", "", "| setting | default | meaning | where |", "|---|---|---|---|", *rows, ""]
    return "\n".join([*head, VARIABLES])


PAGES = {"magics.md": magics, "settings.md": settings}


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from scripts.generated import write_or_check

    sys.exit(write_or_check({FOLDER / name: make() for name, make in PAGES.items()}, __doc__))
