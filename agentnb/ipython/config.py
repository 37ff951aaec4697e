"""The settings: ``%config Agentnb`` and ``c.Agentnb`` in ``ipython_config.py``."""

from __future__ import annotations

from typing import Any

from traitlets import Bool, Dict, Enum, Float, List, TraitError, Unicode, Union
from traitlets.config import Config, Configurable

from agentnb.ipython.arguments import PERMISSIONS


class Agentnb(Configurable):
    """Settings of the ``%agent`` magic.

    Example:
        ``%config Agentnb.agent = "claude"`` in a cell, or ``c.Agentnb.agent = "claude"`` in ``ipython_config.py``.
    """

    agent = Unicode("eliza", help="The agent that `%agent` talks to without -a. `%agents known` lists them.").tag(
        config=True
    )
    permissions = Enum(
        PERMISSIONS,
        default_value="ask",
        help="What answers an agent's permission request in tabs opened from now on: 'ask' (you, in the notebook; "
        "denied where no front end is attached), 'allow' or 'deny'.",
    ).tag(config=True)
    cwd = Unicode(
        "", help="The workspace of tabs opened from now on: where the agent works. Empty: the kernel's current folder."
    ).tag(config=True)
    timeout = Float(0.0, min=0.0, help="Seconds after which a cell's turn is cancelled. 0 means no limit.").tag(
        config=True
    )
    headless_timeout = Float(
        1800.0,
        min=0.0,
        help="Seconds after which a cell's turn is cancelled if nobody can stop it (nbconvert, papermill, "
        "a pipe) and neither --timeout nor Agentnb.timeout is set. 0 means no limit.",
    ).tag(config=True)
    mcp_servers = Union(
        [Dict(), Unicode()],
        default_value={},
        help="MCP servers that agents in tabs opened from now on may use: a mapping of names to servers, as other "
        "tools keep it in mcp.json, or the path of such a file.",
    ).tag(config=True)
    kernel_tools = Bool(
        False,
        help="Whether agents in tabs opened from now on get tools for this kernel: look at its variables, run code in "
        "it, read and change the notebook's cells. What runs or changes something is asked for like everything else.",
    ).tag(config=True)
    cell_review = Enum(
        ("policy", "first", "after"),
        default_value="policy",
        help="When you review an agent's change of a notebook's cell: 'first' (it is shown in the cell until you "
        "accept it) or 'after' (it is made at once; Review and Undo stand below the turn). 'policy': as cell_review "
        "in your policy file says, else 'first'. Counts at once.",
    ).tag(config=True)
    changes = Bool(
        True,
        help="Whether tabs opened from now on follow what each turn changes, so that it can be shown and undone. "
        "AGENTNB_CHANGES=off switches it off for all.",
    ).tag(config=True)
    store_sensitive = Bool(
        False,
        help="Whether the contents of files that may hold secrets are stored, too, so that their changes can be shown "
        "and undone. Otherwise only that they changed is known.",
    ).tag(config=True)
    warm = List(
        Unicode(),
        help="Agents to start as soon as the extension is loaded, so that the first prompt need not wait; one that "
        "nobody uses is stopped after ten minutes.",
    ).tag(config=True)
    local_url = Unicode(
        "",
        help="The base URL of the model server that the agent `local` uses in tabs opened from now on, as "
        "http://127.0.0.1:11434/v1. Empty: AGENTNB_LOCAL_URL, local.toml, else this machine is searched.",
    ).tag(config=True)
    local_model = Unicode(
        "", help="The model that the agent `local` uses. Empty: AGENTNB_LOCAL_MODEL, local.toml, else the first."
    ).tag(config=True)
    local_key_variable = Unicode(
        "",
        help="The name of the environment variable that holds the key for that server; never the key itself. "
        "Empty: AGENTNB_LOCAL_KEY_VARIABLE, local.toml, else no key is sent.",
    ).tag(config=True)
    view = Enum(
        ("auto", "live", "text"),
        default_value="auto",
        help="How a running turn is shown in a notebook: 'auto' (live where a page is there, else one final output), "
        "'live' (always the live view), 'text' (Markdown that grows, no widget).",
    ).tag(config=True)


def settings_of(shell: Any) -> Agentnb:
    """The settings that *shell*'s configuration has; one that makes no sense is left out, and said.

    IPython keeps what ``%config`` refused among its own settings: it would be refused again at every load.
    """
    section = shell.config.get(Agentnb.__name__, {})
    for name, value in list(section.items()):
        try:
            Agentnb(config=Config({Agentnb.__name__: {name: value}}))
        except TraitError as error:
            from agentnb.ipython.notes import say

            del section[name]
            say(f"The setting Agentnb.{name} is left out. {error}")
    return Agentnb(parent=shell)
