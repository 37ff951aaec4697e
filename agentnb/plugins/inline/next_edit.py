"""Completions by the conversation's agent, if it suggests next edits (ACP ``nes/…``, unstable in v1).

Only suggestions of the kind ``edit`` that insert at the cursor are used: JupyterLab's inline completer shows nothing
else. A suggestion's document is one cell: the notebook's address with the cell's id after ``#``.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from agentnb.errors import NotOffered, UsageError
from agentnb.plugins.inline.completion import CodeContext, Stopwatch

if TYPE_CHECKING:
    from pathlib import Path

    from agentnb.acp.agent import Agent
    from agentnb.host.conversation import Conversation
    from agentnb.plugins.inline.completion import CompleteParams


class _Suggestion(NamedTuple):
    id: str
    uri: str
    text: str
    """The text before the cursor after it is accepted."""


class _EditSession:
    """The session in which one agent suggests edits."""

    def __init__(self, agent: Agent, session_id: str) -> None:
        self.agent = agent
        self.session_id = session_id
        self.versions: dict[str, int] = {}
        self.open_suggestion: _Suggestion | None = None

    def tell(self, uri: str, text: str) -> int:
        """Notify the agent of the document's current text, if it wants that; returns the document's version."""
        version = self.versions.get(uri, 0) + 1
        self.versions[uri] = version
        wanted = _fields(_fields(_fields(self.agent.capabilities.get("nes")).get("events")).get("document"))
        document = {"sessionId": self.session_id, "uri": uri, "version": version}
        if version == 1 and wanted.get("didOpen") is not None:
            self.agent.notify("document/didOpen", {**document, "languageId": "python", "text": text})
        elif version > 1 and wanted.get("didChange") is not None:
            self.agent.notify("document/didChange", {**document, "contentChanges": [{"text": text}]})
        return version

    def settle(self, uri: str, before: str) -> None:
        """Report whether the last suggestion was accepted, judged by the text before the cursor now."""
        last, self.open_suggestion = self.open_suggestion, None
        if last is None:
            return
        named = {"sessionId": self.session_id, "id": last.id}
        if last.uri == uri and before.startswith(last.text):
            self.agent.notify("nes/accept", named)
        else:
            self.agent.notify("nes/reject", {**named, "reason": "ignored"})


_sessions: weakref.WeakKeyDictionary[Agent, _EditSession] = weakref.WeakKeyDictionary()


async def complete_with_agent(params: CompleteParams) -> tuple[str, float]:
    """Returns what the agent inserts at the cursor, and how long it took, in seconds."""
    from agentnb.host import current_host
    from agentnb.plugins.inline.edit_requests import last_used

    conversation = last_used(current_host())
    agent = None if conversation is None else conversation.agent
    if conversation is None or agent is None or agent.closed:
        raise UsageError("No running agent can complete code.", hint="Open the agent chat and write to one.")
    if not isinstance(agent.capabilities.get("nes"), dict):
        message = f"{agent.name} suggests no edits."
        raise NotOffered(message, hint="Use the model server for completion: the setting *Complete code*.")
    watch = Stopwatch()
    text = await _suggest(conversation, agent, params, watch)
    return text, watch.took


async def _suggest(conversation: Conversation, agent: Agent, params: CompleteParams, watch: Stopwatch) -> str:
    context = CodeContext(params)
    with watch.running():
        session = _sessions.get(agent) or await _start(agent, conversation.cwd)
    uri = f"{(conversation.cwd / params.path).as_uri()}#{quote(params.cell_id)}"
    document = context.before + context.behind
    session.settle(uri, context.before)
    version = session.tell(uri, document)
    lines = context.before.split("\n")
    request: dict[str, Any] = {
        "sessionId": session.session_id,
        "uri": uri,
        "version": version,
        "position": {"line": len(lines) - 1, "character": _utf16(lines[-1])},
        "triggerKind": "automatic",
    }
    if snippets := _related(agent, context, conversation.cwd / params.path):
        request["context"] = {"relatedSnippets": snippets}
    with watch.running():
        answer = await agent.request("nes/suggest", request)
    for suggestion in _fields(answer).get("suggestions") or ():
        inserted = insertion(_fields(suggestion), uri, context.before, context.behind)
        if inserted:
            identifier = str(_fields(suggestion).get("id", ""))
            session.open_suggestion = _Suggestion(identifier, uri, context.before + inserted)
            return inserted
    return ""


async def _start(agent: Agent, cwd: Path) -> _EditSession:
    folder = {"uri": cwd.as_uri(), "name": cwd.name}
    answer = await agent.request("nes/start", {"workspaceUri": cwd.as_uri(), "workspaceFolders": [folder]})
    session_id = _fields(answer).get("sessionId")
    if not isinstance(session_id, str):
        raise UsageError(f"{agent.name} began no session for suggestions.", hint="Restart the agent.")
    return _sessions.setdefault(agent, _EditSession(agent, session_id))


def _related(agent: Agent, context: CodeContext, path: Path) -> list[dict[str, Any]]:
    """Returns the code above in the form that the agent wants; empty if it does not want it."""
    wanted = _fields(_fields(agent.capabilities.get("nes")).get("context"))
    if wanted.get("relatedSnippets") is None or not context.preamble:
        return []
    text = context.preamble.rstrip()
    return [{"uri": path.as_uri(), "excerpts": [{"startLine": 0, "endLine": text.count("\n"), "text": text}]}]


def insertion(suggestion: dict[str, Any], uri: str, before: str, behind: str) -> str:
    """Returns what an edit inserts between *before* and *behind*; '' if it does something else."""
    edits = suggestion.get("edits")
    if suggestion.get("kind") != "edit" or suggestion.get("uri") != uri or not isinstance(edits, list):
        return ""
    text = before + behind
    for edit in reversed(edits):
        where, new = _fields(_fields(edit).get("range")), _fields(edit).get("newText")
        start, end = (_offset(text, where.get(each)) for each in ("start", "end"))
        if start is None or end is None or start > end or not isinstance(new, str):
            return ""
        text = text[:start] + new + text[end:]
    is_insertion = text.startswith(before) and text.endswith(behind) and len(text) > len(before) + len(behind)
    return text[len(before) : len(text) - len(behind)] if is_insertion else ""


def _offset(text: str, position: object) -> int | None:
    """Returns the offset in *text* of a position (a line, and UTF-16 units in it); None if there is none."""
    line, character = _fields(position).get("line"), _fields(position).get("character")
    lines = text.split("\n")
    if not isinstance(line, int) or not isinstance(character, int) or not 0 <= line < len(lines):
        return None
    units = lines[line].encode("utf-16-le")[: 2 * max(0, character)]
    return sum(len(each) + 1 for each in lines[:line]) + len(units.decode("utf-16-le", "ignore"))


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _fields(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
