"""The table of settings: each is declared here, once, and nowhere else."""

from __future__ import annotations

from typing import Any

import msgspec

from agentnb.configuration.setting import Setting
from agentnb.errors import UsageError, did_you_mean
from agentnb.policy.keys import FILE_KEYS, Key

GROUPS: dict[str, str] = {
    "agents": "Agents",
    "permissions": "Permissions",
    "kernel": "Kernel",
    "changes": "Changes and undo",
    "turns": "Turns in cells",
    "local": "Local model",
    "look": "Look and keys",
    "storage": "Storage",
}
"""The groups, in the order in which they are shown."""
FIRST = (
    "agent",
    "agents_hidden",
    "local_url",
    "freedom",
    "grants",
    "confine",
    "language_server",
    "notifications",
    "font_size",
    "density",
    "send_key",
    "log_days",
    "log_max",
)
"""The first screen, in order; all others are under *Advanced*. `grants` lists what the user has allowed."""


def _policy_setting(key: Key) -> Setting:
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
    )


_TABLE: dict[str, tuple[Setting, ...]] = {
    "agents": (
        Setting(
            name="agent",
            title="Default agent",
            kind="agent",
            default="",
            about="The agent of a new chat and of `%agent`. Empty: the one used last, otherwise the first installed.",
        ),
        Setting(
            name="agents_hidden",
            title="Hidden agents",
            checks_title="Shown agents",
            kind="names",
            default=[],
            about="Agents that the chat doesn't list. `%agent -a` and Python still start them.",
        ),
        Setting(
            name="agents_order",
            title="Agent order",
            kind="names",
            default=[],
            about="The agents to list first, in this order. The others follow in their usual order.",
        ),
        Setting(
            name="models_hidden",
            title="Hidden models",
            checks_title="Shown models",
            kind="names",
            default=[],
            about="Models that the chat doesn't offer: a model's id, or `agent/id` for one agent's. The model in use "
            "is always listed.",
            is_look=True,
        ),
        Setting(
            name="confine",
            title="Confine agents",
            kind="choice",
            default="where possible",
            about="For new conversations: limit agents to the files they need (the system, their own program and "
            "settings, the workspace). Where possible: the agents that agentnb knows, on Linux 6.2 or with "
            "bubblewrap; the chat says when one starts unconfined. On: every agent; one that can't be confined "
            "doesn't start.",
            choices={"no network": "On, without network", "on": "On", "where possible": "Where possible", "off": "Off"},
            order=("no network", "on", "where possible", "off"),
            counts="to new conversations",
        ),
        Setting(
            name="cwd",
            title="Working folder",
            kind="folder",
            default="",
            empty="the kernel's folder",
            about="For new conversations: the folder that the agent works in.",
            widens=True,
            counts="to new conversations",
        ),
        Setting(
            name="mcp_servers",
            title="MCP servers",
            kind="servers",
            default={},
            empty="or the path of an mcp.json",
            about="For new conversations: MCP servers that agents may use. By hand: a mapping of names to servers, as "
            "in mcp.json, or the path of such a file.",
            widens=True,
            counts="to new conversations",
        ),
        Setting(
            name="components",
            title="Components",
            kind="names",
            default=[],
            about="For new conversations: programs that run between you and the agent, starting with the one "
            "closest to you. Use names of shipped components (`agentnb components` lists them), or commands.",
            widens=True,
            counts="to new conversations",
        ),
        Setting(
            name="warm",
            title="Preload agents",
            kind="names",
            default=[],
            about="Agents to start with the kernel, so that the first message doesn't wait. An unused one stops after "
            "ten minutes.",
            counts="when a kernel starts",
        ),
        Setting(
            name="plugins_off",
            title="Disabled plug-ins",
            kind="names",
            default=[],
            about="Plug-ins not to load. `agentnb plugins` lists them.",
            trait=False,
            counts="when a kernel starts",
        ),
    ),
    "permissions": (
        Setting(
            name="freedom",
            title="Freedom",
            kind="choice",
            default="ask",
            about="How freely agents work in new conversations: 'ask' (edits and commands ask), 'edit' (edits of files "
            "and cells are made at once, and can be undone) or 'auto' (commands and code run at once, too, where "
            "they are confined or previewed as harmless). Change it in each conversation at any time.",
            choices={"ask": "Ask", "edit": "Edit", "auto": "Auto"},
            order=("ask", "edit", "auto"),
            is_look=True,
            counts="to new conversations",
        ),
        Setting(
            name="permissions",
            title="Permissions",
            kind="choice",
            default="ask",
            about="For new conversations: how permission requests are answered. Ask: as Freedom says; if no page "
            "is open, the answer is no.",
            choices={"ask": "As Freedom says", "allow": "Allow", "deny": "Deny"},
            order=("deny", "ask", "allow"),
            counts="to new conversations",
        ),
        *(_policy_setting(key) for key in FILE_KEYS if key.title),
        Setting(
            name="cell_review",
            title="Review cell edits",
            kind="choice",
            default="first",
            about="When you review an agent's edit of a cell. Before: the cell shows the edit until you accept it. "
            "Afterwards: the edit is made at once, and you can undo it. 'policy' in a file: as `cell_review` in your "
            "policy file, otherwise 'first'.",
            choices={"policy": "As the policy file says", "first": "Before it is made", "after": "Afterwards"},
            file="policy.toml",
            unset="policy",
            order=("first", "after"),
        ),
        Setting(
            name="rehearse",
            title="Previews",
            kind="choice",
            default="on demand",
            about="Try code or a command in a sandbox before you allow it, to see what it would change. "
            "Automatic: if the preview is quick and the risk is below high. Requires Linux.",
            choices={"auto": "Automatic", "on demand": "On demand", "off": "Off"},
            order=("off", "on demand", "auto"),
            is_look=True,
        ),
        Setting(
            name="budget",
            title="Budget for a conversation",
            kind="text",
            default="",
            empty="no limit",
            about="A limit on the tokens, money, time or turns of each conversation, such as '200k tokens, $5, "
            "30 min, 20 turns'. The chat warns you at 80% and asks before it goes beyond the limit.",
        ),
        Setting(
            name="budget_day",
            title="Budget for a day",
            kind="text",
            default="",
            empty="no limit",
            about="The same limit for all conversations in all kernels together, counted from midnight. Requires "
            "the log.",
        ),
    ),
    "kernel": (
        Setting(
            name="kernel_tools",
            title="Kernel access",
            kind="switch",
            default=True,
            about="For new conversations: agents can look at this kernel's variables, run code in it, and read and "
            "edit the notebook's cells. Freedom decides what they ask about first.",
            order=(False, True),
            counts="to new conversations",
        ),
        Setting(
            name="language_server",
            title="Language server",
            kind="choice",
            default="off",
            about="Finds problems in the code of the notebook and the workspace, in addition to jedi; "
            "basedpyright and pyright also find uses. It runs with your permissions and reads the workspace.",
            choices={
                "off": "Off",
                "auto": "The first installed",
                "basedpyright": "basedpyright",
                "pyright": "pyright",
                "pylsp": "pylsp",
                "ruff": "ruff",
            },
        ),
    ),
    "changes": (
        Setting(
            name="changes",
            title="Track changes",
            kind="switch",
            default=True,
            about="For new conversations: record what each turn changes, so that you can review and undo it. "
            "AGENTNB_CHANGES=off turns it off everywhere.",
            variable="AGENTNB_CHANGES",
            variable_first=True,
            counts="to new conversations",
        ),
        Setting(
            name="undo_memory",
            title="Memory for undo (MB)",
            kind="number",
            default=512.0,
            about="How much memory the copies of variables may use in each conversation: arrays, tensors, and "
            "changed columns of data frames. The oldest are removed first.",
        ),
        Setting(
            name="store_sensitive",
            title="Record sensitive files",
            kind="switch",
            default=False,
            about="For new conversations: also record the contents of files that may hold secrets, so that their "
            "changes can be undone.",
            order=(False, True),
            counts="to new conversations",
        ),
        Setting(
            name="provenance_in_notebook",
            title="Save who wrote a cell",
            kind="switch",
            default=False,
            about="Also save in the notebook which lines of a cell an agent wrote: the agent, model, day and "
            "turn, in one line of the cell's metadata, and the prompt if the cell was written from a prompt "
            "in it. Nothing else from the conversation is saved.",
        ),
    ),
    "turns": (
        Setting(
            name="view",
            title="Output of %agent",
            kind="choice",
            default="auto",
            about="How a cell shows a running turn. Auto: live in a page, otherwise one output at the end. Text: "
            "growing Markdown, without a widget.",
            choices={"auto": "Live where possible", "live": "Always live", "text": "Text"},
        ),
        Setting(
            name="timeout",
            title="Turn time limit (seconds)",
            kind="number",
            default=0.0,
            empty="no limit",
            about="A turn in a cell is cancelled after this time. 0: no limit.",
        ),
        Setting(
            name="headless_timeout",
            title="Unattended time limit (seconds)",
            kind="number",
            default=1800.0,
            empty="no limit",
            about="The time limit for a turn in a cell when nobody can stop it (nbconvert, papermill, a pipe), "
            "unless --timeout or the turn time limit is set. 0: no limit.",
        ),
        Setting(
            name="verify",
            title="Verify notebooks",
            kind="choice",
            default="on demand",
            about="When to run a copy of the notebook from the top and compare the results: 'on demand', 'each "
            "turn' (at the end of an agent's turn), or 'until verified' (the findings go back to the agent, "
            "at most three times).",
            choices={"on demand": "On demand", "each turn": "After each turn", "until verified": "Until verified"},
            variable="AGENTNB_VERIFY",
            trait=False,
        ),
        Setting(
            name="verify_network",
            title="Hosts for verification",
            kind="names",
            default=[],
            about="Hosts that a notebook may reach during verification, such as `api.example.org` or "
            "`*.example.org:8443`. It has no network otherwise.",
            trait=False,
            widens=True,
        ),
        Setting(
            name="data_checks",
            title="Check tables",
            kind="choice",
            default="shown",
            about="Whether to compare changed tables with their earlier state: 'shown' below the turn and in "
            "previews, 'required' also in verified turns (the agent gets the causes, without values), or 'off'.",
            choices={"shown": "Show", "required": "Required in verified turns", "off": "Off"},
            variable="AGENTNB_DATA_CHECKS",
            trait=False,
        ),
    ),
    "local": (
        Setting(
            name="completion",
            title="Complete code",
            kind="choice",
            default="off",
            about="What completes the code that you type in a cell: the model on your model server, or the "
            "conversation's agent if it suggests edits (ACP). It gets the cells above and, if agents have "
            "kernel access, the names and types of variables. Anything that looks like a secret is masked.",
            choices={"off": "Off", "local": "Model server", "agent": "Agent"},
            trait=False,
        ),
        Setting(
            name="local_url",
            title="Model server",
            kind="text",
            default="",
            empty="found on this machine",
            about="For new conversations: the address of the model server for the local agent, such as "
            "http://127.0.0.1:11434/v1.",
            file="local.toml",
            key="url",
            variable="AGENTNB_LOCAL_URL",
            unset="",
            counts="to new conversations",
        ),
        Setting(
            name="local_model",
            title="Model of the server",
            kind="text",
            default="",
            empty="the first",
            about="For new conversations: the model that the local agent uses.",
            file="local.toml",
            key="model",
            variable="AGENTNB_LOCAL_MODEL",
            unset="",
            counts="to new conversations",
        ),
        Setting(
            name="local_key_variable",
            title="API key variable",
            kind="text",
            default="",
            empty="no key",
            about="For new conversations: the name of the environment variable that holds the server's API key, never "
            "the key itself.",
            file="local.toml",
            key="key_variable",
            variable="AGENTNB_LOCAL_KEY_VARIABLE",
            unset="",
            counts="to new conversations",
        ),
    ),
    "look": (
        Setting(
            name="font_size",
            title="Font size",
            kind="choice",
            default="normal",
            about="The size of the chat's text.",
            choices={"small": "Small", "normal": "Normal", "large": "Large"},
            is_look=True,
        ),
        Setting(
            name="density",
            title="Density",
            kind="choice",
            default="comfortable",
            about="The space between messages.",
            choices={"comfortable": "Comfortable", "compact": "Compact"},
            is_look=True,
        ),
        Setting(
            name="text_width",
            title="Text width",
            kind="choice",
            default="readable",
            about="The width of messages in a wide chat.",
            choices={"readable": "Readable lines", "full": "Full width"},
            is_look=True,
        ),
        Setting(
            name="send_key",
            title="Send with",
            kind="choice",
            default="enter",
            about="The key that sends a message. With Enter, Shift+Enter starts a new line.",
            choices={"enter": "Enter", "ctrl-enter": "Ctrl+Enter or ⌘+Enter"},
            is_look=True,
        ),
        Setting(
            name="notifications",
            title="Notifications",
            kind="switch",
            default=False,
            about="The browser notifies you when an agent needs you or has finished while you are looking elsewhere. "
            "The browser asks for permission when you turn this on in the chat.",
            is_look=True,
        ),
    ),
    "storage": (
        Setting(
            name="log_days",
            title="Keep history (days)",
            kind="number",
            default=0.0,
            empty="forever",
            about="Conversations without activity for this long are deleted. Pinned ones stay. 0: keep them.",
            variable="AGENTNB_LOG_DAYS",
            trait=False,
            counts="when a kernel starts",
        ),
        Setting(
            name="log_max",
            title="History size limit",
            kind="text",
            default="",
            empty="no limit; such as 2G",
            about="The oldest conversations beyond this size are deleted. Pinned ones stay.",
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
    if name in SETTINGS:
        return SETTINGS[name]
    hint = f"{did_you_mean(str(name), SETTINGS)}`agentnb settings` lists them."
    raise UsageError(f"There is no setting {str(name)!r:.100}.", hint=hint)


def is_wider(which: Setting, before: Any, after: Any) -> bool:
    """True if a change of *which* from one value to another may let agents do more."""
    if which.widens:
        return bool(after != before and after not in ("", [], {}))
    if not which.order or after not in which.order:
        return False
    return before not in which.order or which.order.index(after) > which.order.index(before)
