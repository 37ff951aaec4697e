"""Writes `docs/reference/ahp.md` from the code; with `--check`, only says whether it is stale.

Which actions are sent is read from the source: an action is sent where a module beside `agentnb/state` makes one.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "ahp.md"

HEAD = """\
# The Agent Host Protocol

<!-- Written by scripts/gen_ahp_docs.py from agentnb/server/websocket: change that, then run `make types`. -->

What a kernel that is served (`agentnb.serve`, [how to](../how-to/serve.md)) speaks of the
[Agent Host Protocol](https://microsoft.github.io/agent-host-protocol/) (AHP), over WebSocket. The same service answers
the page and these clients; the page's own protocol is [another page](protocol.md).
"""

NOTES = """\
## Where it differs

- States and actions of ours (`x-agentnb/…`: plans, modes, commands, context usage, a turn's changes in numbers) are not
  sent: a client could not keep them up to date with AHP's reducers.
- What an agent says after its turn has ended is in the next snapshot of the chat; AHP has no action for it.
- A tool call's `displayName` is its tool's name, since AHP has no action that changes it; what it does is in
  `invocationMessage`.
- `terminal/data` goes on without end, a terminal's snapshot has the last 65,536 characters.
- A field of more than 64 KiB is sent as its beginning with a reference beside it (`text` and `textRef`); `resourceRead`
  gives all of it, by the reference's `uri`.
- A chat's snapshot has its latest 30 turns; `fetchTurns` gives the others. `chat/turnsLoaded` goes to the client that
  asked only, since others may know other turns.
- The times of turns are the host's; those that clients say are passed over.
- A question that an agent asks outside of a turn has no place in the protocol: it is answered in the notebook.
- `SessionSummary.chats`, background work, canvases and per-chat changesets of 1.0 are optional, and not sent.
- An approval without `selectedOptionId` chooses the narrowest option that says the same.
- A client that is too far behind is disconnected with the WebSocket code 1013. It reconnects, and gets snapshots.
- A client that says `_meta: {"agentnb": 2}` in `initialize` or `reconnect` (another kernel, `agentnb.connect`) is given
  our states and actions, too, with long content whole.
- A client is disconnected with 4001 when the kernel ends or is not served any more: its next address is another one.
- A client may name a new session `<agent>:/<id>`, as VS Code does. It is told of it by that name, others as
  `ahp-session:/<id>`.
- A kernel that was restarted knows no client's version. It refuses `reconnect` (`InvalidRequest`, -32600), and
  clients send `initialize` on the same connection. To another kernel of ours it answers with snapshots.
"""

MISSING = {
    "authenticate": "no agent asks a client for credentials",
    "completions": "mentions are completed in the notebook's chat only",
    "createChat": "a conversation has one chat",
    "createResourceWatch": "files are not watched",
    "createTerminal": "terminals belong to agents",
    "disposeChat": "a conversation has one chat",
    "disposeTerminal": "terminals belong to agents",
    "sessionConfigCompletions": "no setting has completions",
}
OTHER_ACTIONS = (
    "annotations/entryRemoved",
    "annotations/entrySet",
    "annotations/removed",
    "annotations/set",
    "annotations/updated",
    "canvas/stateChanged",
    "changeset/filesReviewChanged",
    "chat/activityChanged",
    "chat/backgroundWorkRemoved",
    "chat/backgroundWorkSet",
    "chat/canvasesChanged",
    "chat/changesetsChanged",
    "chat/draftChanged",
    "chat/isArchivedChanged",
    "chat/isReadChanged",
    "chat/movableChanged",
    "chat/toolCallAuthRequired",
    "chat/toolCallAuthResolved",
    "chat/turnResume",
    "chat/turnsLoaded",
    "chat/workingDirectoryRemoved",
    "chat/workingDirectorySet",
    "resourceWatch/changed",
    "session/chatsReordered",
    "session/inputNeededRemoved",
    "session/inputNeededSet",
    "session/mcpServerBackgroundRequested",
    "session/mcpServerStartRequested",
    "session/mcpServerStopRequested",
    "session/workingDirectoryRemoved",
    "session/workingDirectoryReplaced",
    "session/workingDirectorySet",
)
"""Actions of the protocol that our states do not have."""
SENT_TO_ONE = {"chat/turnsLoaded"}
"""The actions that are made only for the client that requested them."""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_versions(), *_commands(), *_notifications(), *_actions(), NOTES])


def _versions() -> list[str]:
    from agentnb.server.websocket.commands import SPOKEN

    spoken = ", ".join(f"`{version}`" for version in SPOKEN)
    text = (
        f"Spoken: {spoken}; `1.0.0` stands for all 1.x, `0.9.0` for all 0.9.x. Of the versions that a client offers the"
        " highest of these is chosen; where there is none the answer is `UnsupportedProtocolVersion` (-32005), with"
        " these in its data. What came with 1.1 is not sent. States inside the kernel have the form of 1.0, too, with"
        " fields of ours beside it."
    )
    return ["## Versions", "", text, ""]


def _commands() -> list[str]:
    from agentnb.server.messages import OURS
    from agentnb.server.websocket.connection import COMMANDS

    lines = ["## Commands", "", "| command | right | |", "|---|---|---|"]
    rows = sorted(COMMANDS.items(), key=lambda row: row[1].right or "")
    for name, command in (row for row in rows if not row[0].startswith(OURS)):
        about = f"{'Notification. ' if command.is_notification else ''}{command.about}".strip()
        lines.append(f"| `{name}` | {command.right or '–'} | {about} |")
    lines += [
        "",
        "Ours, for the pages of another kernel (`agentnb.connect`): [the same as a page's](protocol.md), about",
    ]
    lines += ["one channel; bytes that travel beside an answer are its `_buffers`, in base64.", ""]
    lines += ["| request | right | |", "|---|---|---|"]
    for name, command in (row for row in rows if row[0].startswith(OURS)):
        about = command.about.replace("``", "`")
        lines.append(f"| `{name}` | {command.right} | {about[:1].upper()}{about[1:]} |")
    lines += ["", "Answered with `MethodNotFound` (-32601):", "", "| command | why |", "|---|---|"]
    return [*lines, *(f"| `{name}` | {why} |" for name, why in MISSING.items()), ""]


def _notifications() -> list[str]:
    return [
        "## Notifications",
        "",
        "| notification | |",
        "|---|---|",
        "| `action` | sent |",
        "| `root/sessionAdded`, `root/sessionRemoved`, `root/sessionSummaryChanged` | sent: who follows the root |",
        "| `auth/required`, `otlp/…`, `root/progress` | not sent |",
        "",
    ]


def _actions() -> list[str]:
    from agentnb.host.intents import DISPATCHABLE
    from agentnb.server.websocket.commands import APPROVALS
    from agentnb.state.codec import ACTIONS

    kinds: tuple[Any, ...] = DISPATCHABLE
    received = {str(kind.__struct_config__.tag) for kind in kinds}
    made = set(re.findall(r"\b([A-Z]\w+)\(", _source()))
    about = (
        "*Sent*: the host makes it. *Received*: a client with that right may dispatch it; any other action of a client"
        " is rejected. An action that a client does not know is to be passed over."
    )
    lines = ["## Actions", "", about, "", "| action | sent | received |", "|---|---|---|"]
    for name, kind in sorted(ACTIONS.items()):
        if name.startswith("x-agentnb/"):
            continue
        sent = "yes" if kind.__name__ in made or name in received else "no"
        right = ("approve" if name in APPROVALS else "drive") if name in received else "no"
        lines.append(f"| `{name}` | {sent} | {right} |")
    lines += [f"| `{name}` | {'yes' if name in SENT_TO_ONE else 'no'} | no |" for name in sorted(OTHER_ACTIONS)]
    return [*lines, ""]


def _source() -> str:
    """The source of all that is not the state itself."""
    package = ROOT / "agentnb"
    paths = sorted(path for path in package.rglob("*.py") if path.parent != package / "state")
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from scripts.generated import write_or_check

    sys.exit(write_or_check({PAGE: page()}, __doc__))
