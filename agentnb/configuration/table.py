"""The table of settings: each is declared here, once, and nowhere else."""

from __future__ import annotations

import difflib
import re
from typing import Any, Literal, TypeAlias

import msgspec

from agentnb.errors import UsageError
from agentnb.policy.keys import FILE_KEYS, Key

Kind: TypeAlias = Literal["switch", "choice", "number", "text", "folder", "agent", "names", "servers"]
"""The kind of a value: true or false; one of several texts; a number from 0; a text; a folder's path; an agent's name;
a list of names; MCP servers (a mapping by name, or the path of a file that has one)."""
File: TypeAlias = Literal["settings.toml", "policy.toml", "local.toml", ""]
Counts: TypeAlias = Literal["at once", "to new conversations", "when a kernel starts"]

GROUPS: dict[str, str] = {
    "agents": "Agents",
    "permissions": "Permissions",
    "kernel": "Kernel access",
    "changes": "Changes and undo",
    "turns": "Turns in cells",
    "local": "Local model",
    "look": "Look and keys",
    "storage": "Storage",
}
"""The groups, in the order in which they are shown."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting; ``choices`` are its values, each with what it is called."""

    name: str
    title: str
    kind: Kind
    default: Any
    about: str
    choices: dict[str, str] = {}
    group: str = ""
    file: File = "settings.toml"
    key: str = ""
    variable: str = ""
    variable_first: bool = False
    trait: bool = True
    unset: Any = None
    order: tuple[Any, ...] = ()
    widens: bool = False
    counts: Counts = "to new conversations"
    is_look: bool = False

    @property
    def file_key(self) -> str:
        """Its key in its file."""
        return self.key or self.name

    def check(self, value: Any) -> Any:
        """*value* as this setting takes it."""
        wanted = _wrong(self, value)
        if wanted is not None:
            shown = repr(value) if self.kind != "servers" else f"a {type(value).__name__}"
            raise UsageError(f"{self.name} cannot be {shown:.200}.", hint=wanted)
        if self.kind == "number":
            return float(value)
        return list(value) if self.kind == "names" else value

    def read(self, text: str) -> Any:
        """The value that is typed as *text* in a shell or an environment variable."""
        value: Any = text.strip()
        if self.kind == "switch":
            value = {**dict.fromkeys(_ON, True), **dict.fromkeys(_OFF, False)}.get(value.lower(), value)
        elif self.kind == "number":
            try:
                value = float(value)
            except ValueError:
                value = text
        elif self.kind == "names":
            value = [name for each in value.split(",") if (name := each.strip())]
        return self.check(value)


def _policy_setting(key: Key) -> Setting:
    """The setting that a key of the policy file is."""
    return Setting(
        name=key.name,
        title=key.title,
        kind="choice",
        default=key.default,
        choices=dict(zip(key.choices, key.labels, strict=True)),
        about=key.about,
        file="policy.toml",
        variable=key.variable,
        trait=False,
        order=key.choices,
        counts="at once",
    )


_ON = ("on", "1", "yes", "true")
_OFF = ("off", "0", "no", "false")
_LONGEST = 4_000
_SIZE = re.compile(r"\d+\s*[KMG]?B?", re.IGNORECASE)


def _wrong(setting: Setting, value: Any) -> str | None:
    """Returns what *setting* takes, where it is not *value*."""
    kind = setting.kind
    if kind == "switch":
        return None if isinstance(value, bool) else "It is true or false."
    if kind == "number":
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return None if is_number and 0 <= value < float("inf") else "It is a number from 0."
    if kind == "choice":
        if isinstance(value, str) and value in setting.choices:
            return None
        close = difflib.get_close_matches(str(value), setting.choices, n=1)
        guess = f"Did you mean {close[0]!r}? " if close else ""
        return f"{guess}It is one of {', '.join(map(repr, setting.choices))}."
    if kind == "names":
        is_list = isinstance(value, (list, tuple)) and all(_is_line(each) and each.strip() for each in value)
        return None if is_list else "It is a list of names."
    if kind == "servers":
        is_mapping = isinstance(value, dict) and all(isinstance(each, dict) for each in value.values())
        return None if is_mapping or _is_line(value) else "It maps names to servers, or is the path of a file."
    return _wrong_text(setting, value) if _is_line(value) else "It is a text on one line."


def _wrong_text(setting: Setting, value: str) -> str | None:
    if setting.kind == "agent" and not value.strip():
        return "It is the name of an agent."
    is_wrong = setting.name == "log_max" and value.strip() and not is_size(value)
    return "It is a size, as 500M or 2G." if is_wrong else None


def is_size(text: str) -> bool:
    """True if *text* is a number of bytes, or one with K, M or G behind."""
    return _SIZE.fullmatch(text.strip()) is not None


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST and all(char.isprintable() for char in value)


_TABLE: dict[str, tuple[Setting, ...]] = {
    "agents": (
        Setting(
            name="agent",
            title="Default agent",
            kind="agent",
            default="eliza",
            about="The agent that `%agent` talks to without -a, and the first in the chat. `%agents known` lists them.",
            counts="at once",
        ),
        Setting(
            name="agents_order",
            title="Order of agents",
            kind="names",
            default=[],
            about="The agents that are listed first, in this order; the others follow as usual.",
            counts="at once",
        ),
        Setting(
            name="agents_hidden",
            title="Hidden agents",
            kind="names",
            default=[],
            about="Agents that the chat does not list. `%agent -a` and Python start them all the same.",
            counts="at once",
        ),
        Setting(
            name="models_hidden",
            title="Hidden models",
            kind="names",
            default=[],
            about="Models that selectors do not list, so that these stay short: the model's id, or `agent/id` for one"
            " agent's. The one that is in use is always listed.",
            counts="at once",
            is_look=True,
        ),
        Setting(
            name="cwd",
            title="Working folder",
            kind="folder",
            default="",
            about="The workspace of tabs opened from now on: where the agent works. Empty: the kernel's current "
            "folder.",
            widens=True,
        ),
        Setting(
            name="mcp_servers",
            title="MCP servers",
            kind="servers",
            default={},
            about="MCP servers that agents in tabs opened from now on may use: a mapping of names to servers, as "
            "other tools keep it in mcp.json, or the path of such a file.",
            widens=True,
        ),
        Setting(
            name="components",
            title="Components",
            kind="names",
            default=[],
            about="What stands between you and the agent in tabs opened from now on, the first one next to you: names"
            " of shipped components (`agentnb components` lists them), or commands.",
            widens=True,
        ),
        Setting(
            name="plugins_off",
            title="Plug-ins switched off",
            kind="names",
            default=[],
            about="Plug-ins that are not loaded, by name; `agentnb plugins` lists them.",
            trait=False,
            counts="when a kernel starts",
        ),
        Setting(
            name="confine",
            title="Confine agents",
            kind="choice",
            default="where possible",
            about="Whether agents in tabs opened from now on can read and change only what they need: the system, "
            "their install, the workspace, their own settings. Where possible: agents whose needs agentnb "
            "knows, on Linux 6.2 or with bubblewrap; others start unconfined, and the chat says so. On: every "
            "agent, with the network; no network: without; an agent that cannot be confined does not start.",
            choices={"no network": "On, without network", "on": "On", "where possible": "Where possible", "off": "Off"},
            order=("no network", "on", "where possible", "off"),
        ),
        Setting(
            name="warm",
            title="Start early",
            kind="names",
            default=[],
            about="Agents to start as soon as the extension is loaded, so that the first prompt need not wait; one "
            "that nobody uses is stopped after ten minutes.",
            widens=True,
            counts="when a kernel starts",
        ),
    ),
    "permissions": (
        Setting(
            name="permissions",
            title="Permissions",
            kind="choice",
            default="ask",
            about="What answers an agent's permission request in tabs opened from now on: 'ask' (you, in the "
            "notebook; denied where no front end is attached), 'allow' or 'deny'.",
            choices={"ask": "Ask", "allow": "Allow", "deny": "Deny"},
            order=("deny", "ask", "allow"),
        ),
        *(_policy_setting(key) for key in FILE_KEYS if key.title),
        Setting(
            name="cell_review",
            title="Review of cell edits",
            kind="choice",
            default="first",
            about="When you review an agent's change of a notebook's cell: 'first' (it is shown in the cell until you"
            " accept it) or 'after' (it is made at once; Review and Undo stand below the turn). 'policy': as "
            "cell_review in your policy file says, else 'first'.",
            choices={"policy": "As the policy file says", "first": "Review first", "after": "Review afterwards"},
            file="policy.toml",
            unset="policy",
            order=("first", "after"),
            counts="at once",
        ),
        Setting(
            name="rehearse",
            title="Previews",
            kind="choice",
            default="on demand",
            about="Whether a permission request can show what the code or command would do, from a run in a closed-in"
            " copy that changes nothing: 'on demand' (Preview on the card), 'auto' (by itself where that is "
            "quick and nothing else waits; commands that are rated high or worse only on demand) or 'off'. It "
            "needs Linux.",
            choices={"auto": "By themselves", "on demand": "On demand", "off": "Off"},
            order=("off", "on demand", "auto"),
            counts="at once",
            is_look=True,
        ),
    ),
    "kernel": (
        Setting(
            name="kernel_tools",
            title="Kernel access",
            kind="switch",
            default=False,
            about="Whether agents in tabs opened from now on get tools for this kernel: look at its variables, run "
            "code in it, read and change the notebook's cells. What runs or changes something is asked for like"
            " everything else.",
            order=(False, True),
        ),
        Setting(
            name="language_server",
            title="Language server",
            kind="choice",
            default="off",
            about="The language server that finds problems in the notebook's and the workspace's code, beside jedi; "
            "basedpyright and pyright find uses, too. It is a program that runs with your rights and reads the "
            "workspace; it starts at the first question and ends with the kernel.",
            choices={
                "off": "Off",
                "auto": "The first that is installed",
                "basedpyright": "basedpyright",
                "pyright": "pyright",
                "pylsp": "pylsp",
                "ruff": "ruff",
            },
            widens=True,
            counts="at once",
        ),
    ),
    "changes": (
        Setting(
            name="changes",
            title="Follow changes",
            kind="switch",
            default=True,
            about="Whether tabs opened from now on follow what each turn changes, so that it can be shown and undone."
            " AGENTNB_CHANGES=off switches it off for all.",
            variable="AGENTNB_CHANGES",
            variable_first=True,
        ),
        Setting(
            name="store_sensitive",
            title="Store sensitive files",
            kind="switch",
            default=False,
            about="Whether the contents of files that may hold secrets are stored, too, so that their changes can be "
            "shown and undone. Otherwise only that they changed is known.",
            order=(False, True),
        ),
    ),
    "turns": (
        Setting(
            name="view",
            title="Turns in a notebook",
            kind="choice",
            default="auto",
            about="How a running turn is shown in a notebook: 'auto' (live where a page is there, else one final "
            "output), 'live' (always the live view), 'text' (Markdown that grows, no widget).",
            choices={"auto": "Live where possible", "live": "Always live", "text": "Text"},
            counts="at once",
        ),
        Setting(
            name="timeout",
            title="Time limit of a turn",
            kind="number",
            default=0.0,
            about="Seconds after which a cell's turn is cancelled. 0 means no limit.",
            counts="at once",
        ),
        Setting(
            name="headless_timeout",
            title="Time limit where nobody can stop it",
            kind="number",
            default=1800.0,
            about="Seconds after which a cell's turn is cancelled if nobody can stop it (nbconvert, papermill, a "
            "pipe) and neither --timeout nor Agentnb.timeout is set. 0 means no limit.",
            counts="at once",
        ),
        Setting(
            name="verify",
            title="Verify notebooks",
            kind="choice",
            default="on demand",
            about="When the notebook is run from the top in a copy and compared: 'on demand', 'each turn' (at the end "
            "of an agent's turn), 'until verified' (the agent gets what was found, three times at most).",
            choices={"on demand": "On demand", "each turn": "After each turn", "until verified": "Until verified"},
            variable="AGENTNB_VERIFY",
            trait=False,
            counts="at once",
        ),
    ),
    "local": (
        Setting(
            name="local_url",
            title="Model server",
            kind="text",
            default="",
            about="The base URL of the model server that the agent `local` uses in tabs opened from now on, as "
            "http://127.0.0.1:11434/v1. Empty: AGENTNB_LOCAL_URL, local.toml, else this machine is searched.",
            file="local.toml",
            key="url",
            variable="AGENTNB_LOCAL_URL",
            unset="",
            widens=True,
        ),
        Setting(
            name="local_model",
            title="Model",
            kind="text",
            default="",
            about="The model that the agent `local` uses. Empty: AGENTNB_LOCAL_MODEL, local.toml, else the first.",
            file="local.toml",
            key="model",
            variable="AGENTNB_LOCAL_MODEL",
            unset="",
        ),
        Setting(
            name="local_key_variable",
            title="Variable with the key",
            kind="text",
            default="",
            about="The name of the environment variable that holds the key for that server; never the key itself. "
            "Empty: AGENTNB_LOCAL_KEY_VARIABLE, local.toml, else no key is sent.",
            file="local.toml",
            key="key_variable",
            variable="AGENTNB_LOCAL_KEY_VARIABLE",
            unset="",
            widens=True,
        ),
    ),
    "look": (
        Setting(
            name="density",
            title="Density",
            kind="choice",
            default="comfortable",
            about="How much room the chat leaves between things.",
            choices={"comfortable": "Comfortable", "compact": "Compact"},
            counts="at once",
            is_look=True,
        ),
        Setting(
            name="text_width",
            title="Width of text",
            kind="choice",
            default="readable",
            about="How wide messages are in a wide chat: 'readable' (lines that the eye can follow), or 'full'.",
            choices={"readable": "Readable lines", "full": "The whole chat"},
            counts="at once",
            is_look=True,
        ),
        Setting(
            name="font_size",
            title="Size of letters",
            kind="choice",
            default="normal",
            about="How large the chat's letters are.",
            choices={"small": "Small", "normal": "Normal", "large": "Large"},
            counts="at once",
            is_look=True,
        ),
        Setting(
            name="send_key",
            title="Key that sends",
            kind="choice",
            default="enter",
            about="The key that sends a message: 'enter' (Shift+Enter for a new line), or 'ctrl-enter' (Enter for a "
            "new line).",
            choices={"enter": "Enter", "ctrl-enter": "Ctrl+Enter, or ⌘+Enter"},
            counts="at once",
            is_look=True,
        ),
        Setting(
            name="notifications",
            title="Notifications of the browser",
            kind="switch",
            default=False,
            about="Whether the browser notifies you when an agent needs your answer or has ended while you look "
            "elsewhere. The browser must allow it, too: it asks when you switch this on in the chat.",
            counts="at once",
            is_look=True,
        ),
    ),
    "storage": (
        Setting(
            name="log_days",
            title="Keep quiet conversations for (days)",
            kind="number",
            default=0.0,
            about="Delete conversations in which nothing has happened for so many days; 0: none. Pinned ones stay.",
            variable="AGENTNB_LOG_DAYS",
            trait=False,
            counts="when a kernel starts",
        ),
        Setting(
            name="log_max",
            title="Largest size of what is kept",
            kind="text",
            default="",
            about="Delete the oldest conversations beyond this size, as 2G; empty: none. Pinned ones stay.",
            variable="AGENTNB_LOG_MAX",
            trait=False,
            counts="when a kernel starts",
        ),
    ),
}

SETTINGS: dict[str, Setting] = {
    each.name: msgspec.structs.replace(each, group=group) for group, settings in _TABLE.items() for each in settings
}
"""Every setting, by name."""


def setting(name: str) -> Setting:
    """The setting called *name*."""
    if name in SETTINGS:
        return SETTINGS[name]
    close = difflib.get_close_matches(str(name), SETTINGS, n=1)
    guess = f"Did you mean {close[0]!r}? " if close else ""
    raise UsageError(f"There is no setting {str(name)!r:.100}.", hint=f"{guess}`agentnb settings` lists them.")


def is_wider(which: Setting, before: Any, after: Any) -> bool:
    """True if a change of *which* from one value to another may let agents do more."""
    if which.widens:
        return bool(after != before and after not in ("", [], {}))
    if not which.order or after not in which.order:
        return False
    return before not in which.order or which.order.index(after) > which.order.index(before)
