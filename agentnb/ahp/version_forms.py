"""What later versions of the Agent Host Protocol have another form for: one row for each change, for both directions.

The host's own form is that of 0.5 (`agentnb.ahp.projection`). A row says since which version something has another
form, how that is told (to a client, or to another host), and how it is read again. It is all JSON, changed in place.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from agentnb.ahp.versions import is_since
from agentnb.errors import ProtocolError
from agentnb.state.change import iso_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Json: TypeAlias = dict[str, Any]


class Question(NamedTuple):
    """What an agent asks, or has asked, in a turn."""

    at: int
    part: Json


def _nothing(_name: str) -> Any:
    return None


class Context(NamedTuple):
    """What a form needs and the value itself does not say."""

    began: Callable[[str], int | None] = _nothing
    questions: Callable[[str], tuple[Question, ...] | None] = _nothing
    cursor: str | None = None
    exit_of: Callable[[str], Json | None] = _nothing
    resource: str = ""


Step: TypeAlias = "Callable[[Json, Context], None]"


class Change(NamedTuple):
    """One row."""

    since: str
    about: str
    tell: dict[str, Step]
    read: dict[str, Step]


NESTED: dict[str, tuple[tuple[str, str], ...]] = {
    "root": (("terminals", "terminal"),),
    "session": (("summary", "summary"), ("customizations", "customization"), ("chats", "entry")),
    "chat": (("turns", "turn"), ("activeTurn", "turn")),
    "turn": (("responseParts", "part"),),
    "chat/responsePart": (("part", "part"),),
    "terminal": (("claim", "claim"),),
    "root/terminalsChanged": (("terminals", "terminal"),),
    "session/chatAdded": (("summary", "entry"),),
    "session/chatUpdated": (("changes", "entry"),),
    "session/customizationsChanged": (("customizations", "customization"),),
    "session/customizationUpdated": (("customization", "customization"),),
    "chat/turnsLoaded": (("turns", "turn"),),
    "terminal/claimed": (("claim", "claim"),),
}
"""Where values of a kind hold others: by field, and of which kind these are. The states of channels are ``root``,
``session``, ``chat``, ``terminal`` and ``changeset``; ``entry`` is a chat in its session's list."""


def tell(kind: str, value: Json, version: str, context: Context = Context()) -> Json:  # noqa: B008 - it is immutable
    """*value*, which is in our form, in that of *version*."""
    for inner_kind, inner in _inside(kind, value):
        tell(inner_kind, inner, version, context)
    for change in CHANGES:
        if kind in change.tell and is_since(version, change.since):
            change.tell[kind](value, context)
    return value


def read(kind: str, value: Any, version: str, context: Context = Context()) -> Json:  # noqa: B008
    """*value*, which another host has sent in the form of *version*, in ours."""
    try:
        return _read(kind, value, version, context)
    except (AttributeError, KeyError, IndexError, OverflowError, TypeError, ValueError) as error:
        message = f"The other host sent a {kind} that version {version} does not have: {type(error).__name__} {error}."
        raise ProtocolError(message) from error


def _read(kind: str, value: Json, version: str, context: Context) -> Json:
    for change in reversed(CHANGES):
        if kind in change.read and is_since(version, change.since):
            change.read[kind](value, context)
    for inner_kind, inner in _inside(kind, value):
        _read(inner_kind, inner, version, context)
    return value


def _inside(kind: str, value: Json) -> Iterator[tuple[str, Json]]:
    for name, inner_kind in NESTED.get(kind, ()):
        inner = value.get(name)
        for each in inner if isinstance(inner, list) else [inner]:
            if isinstance(each, dict):
                yield inner_kind, each


# --- 0.5.1: older turns ---


def _tell_cursor(chat: Json, context: Context) -> None:
    if context.cursor is not None:
        chat["turnsNextCursor"] = context.cursor


def _read_cursor(chat: Json, _context: Context) -> None:
    chat.pop("turnsNextCursor", None)


# --- 0.6: times ---


def _tell_turn_times(turn: Json, _context: Context) -> None:
    began, ended = turn.get("startedAt"), turn.pop("endedAt", None)
    if began is not None:
        turn["startedAt"] = iso_time(began)
    elif "state" not in turn:
        turn["startedAt"] = iso_time(0)  # of a running turn it must be said
    if began is not None and ended is not None:
        turn["duration"] = max(0, ended - began)


def _read_turn_times(turn: Json, _context: Context) -> None:
    took = turn.pop("duration", None)
    if turn.get("startedAt") is None:
        return
    turn["startedAt"] = milliseconds(turn["startedAt"])
    if took is not None:
        turn["endedAt"] = turn["startedAt"] + int(max(0, took))


def _tell_beginning(action: Json, context: Context) -> None:
    began = action.get("startedAt")
    action["startedAt"] = iso_time((context.began(action["turnId"]) or 0) if began is None else began)


def _read_beginning(action: Json, _context: Context) -> None:
    if action.get("startedAt") is not None:
        action["startedAt"] = milliseconds(action["startedAt"])


def _tell_end(action: Json, context: Context) -> None:
    began, ended = context.began(action["turnId"]), action.pop("endedAt", None)
    action["duration"] = 0 if began is None or ended is None else max(0, ended - began)


def _read_end(action: Json, context: Context) -> None:
    began, took = context.began(action["turnId"]), action.pop("duration", None)
    if began is not None and took is not None:
        action["endedAt"] = began + int(max(0, took))


_ENDS = ("chat/turnComplete", "chat/turnCancelled", "chat/error")


# --- 0.6: questions ---


def _tell_questions(turn: Json, context: Context) -> None:
    for question in reversed(context.questions(turn["id"]) or ()):
        turn["responseParts"].insert(question.at, question.part)


def _tell_no_requests(chat: Json, _context: Context) -> None:
    chat.pop("inputRequests", None)


def _read_requests(chat: Json, _context: Context) -> None:
    parts = (chat.get("activeTurn") or {}).get("responseParts", ())
    waiting = [part["request"] for part in parts if part["kind"] == "inputRequest" and part.get("response") is None]
    if waiting:
        chat["inputRequests"] = waiting


def _read_questions(turn: Json, _context: Context) -> None:
    turn["responseParts"] = [part for part in turn["responseParts"] if part["kind"] != "inputRequest"]


# --- 0.6: sessions ---

_METADATA = ("provider", "title", "status", "activity", "project", "annotations", "workingDirectories")


def _tell_session(session: Json, _context: Context) -> None:
    summary = session.pop("summary")
    session.update({name: summary[name] for name in (*_METADATA, "workingDirectory") if name in summary})


def _read_session(session: Json, context: Context) -> None:
    names = [name for name in (*_METADATA, "workingDirectory") if name in session]
    never = iso_time(0)  # the list of sessions says when
    said = {name: session.pop(name) for name in names}
    session["summary"] = {"resource": context.resource, "createdAt": never, "modifiedAt": never, **said}


def _tell_summary_times(summary: Json, _context: Context) -> None:
    for name in ("createdAt", "modifiedAt"):
        if name in summary:
            summary[name] = iso_time(summary[name])
    for name in ("model", "agent"):
        summary.pop(name, None)


def _read_summary_times(summary: Json, _context: Context) -> None:
    for name in ("createdAt", "modifiedAt"):
        if name in summary:
            summary[name] = milliseconds(summary[name])


# --- 0.7: tool calls ---


def _read_part(part: Json, _context: Context) -> None:
    """What a tool call waits for a login for runs, here; and input that is a reference is that reference."""
    call = part.get("toolCall")
    if not isinstance(call, dict):
        return
    if call.get("status") == "auth-required":
        call["status"] = "running"
    _read_input(call, _context)


def _read_input(value: Json, _context: Context) -> None:
    if isinstance(value.get("toolInput"), dict):
        value["toolInput"] = value["toolInput"]["uri"]


def _read_delta(action: Json, _context: Context) -> None:
    action.setdefault("content", "")


# --- 0.7: folders ---


def _tell_folders(value: Json, _context: Context) -> None:
    folder = value.pop("workingDirectory", None)
    if folder is not None:
        value["workingDirectories"] = [folder]


def _read_folders(value: Json, _context: Context) -> None:
    folders = value.pop("workingDirectories", None)
    if folders:
        value["workingDirectory"] = folders[0]


# --- 0.8: what is switched on ---

_WITH_ENABLEMENT = frozenset({"plugin", "mcpServer"})


def _tell_enablement(customization: Json, _context: Context) -> None:
    if customization.get("type") in _WITH_ENABLEMENT and customization.pop("enabled", True) is False:
        customization["enablement"] = [{"kind": "session", "enabled": False}]


def _read_enablement(customization: Json, _context: Context) -> None:
    if customization.get("type") in _WITH_ENABLEMENT:
        decisions = customization.pop("enablement", None) or [{}]
        customization["enabled"] = decisions[0].get("enabled", True)


# --- 0.9: errors, and how sessions and terminals do ---


def _tell_error(turn: Json, _context: Context) -> None:
    error = turn.pop("error", None)
    if error is not None:
        turn["responseParts"].append({"kind": "error", "error": error})


def _read_error(turn: Json, _context: Context) -> None:
    errors = [part["error"] for part in turn["responseParts"] if part["kind"] == "error"]
    turn["responseParts"] = [part for part in turn["responseParts"] if part["kind"] != "error"]
    if errors and turn.get("state") == "error":
        turn["error"] = errors[-1]


def _tell_failure(action: Json, _context: Context) -> None:
    action["part"] = {"kind": "error", "error": action.pop("error")}


def _read_failure(action: Json, _context: Context) -> None:
    action["error"] = action.pop("part")["error"]


def _tell_failed(session: Json, _context: Context) -> None:
    if session.get("lifecycle") == "creationFailed":
        session["lifecycle"] = "failed"


def _read_failed(session: Json, _context: Context) -> None:
    if session.get("lifecycle") == "failed":
        session["lifecycle"] = "creationFailed"


def _tell_terminal(terminal: Json, context: Context) -> None:
    code = terminal.pop("exitCode", None)
    ended = context.exit_of(terminal.get("resource", context.resource)) if code is None else {"exitCode": code}
    terminal["lifecycle"] = {"status": "running"} if ended is None else {"status": "exited", **ended}


def _read_terminal(terminal: Json, _context: Context) -> None:
    code = terminal.pop("lifecycle").get("exitCode")
    if code is not None:
        terminal["exitCode"] = code


def _tell_claim(claim: Json, _context: Context) -> None:
    if claim.get("kind") == "session":
        claim.setdefault("chat", claim["session"].replace("ahp-session:", "ahp-chat:", 1))


def _tell_content(action: Json, _context: Context) -> None:
    action.pop("error", None)


CHANGES: tuple[Change, ...] = (
    Change(
        "0.5.1",
        "older turns come as the action `chat/turnsLoaded`, not as `fetchTurns`' answer; sessions come in pages",
        {"chat": _tell_cursor},
        {"chat": _read_cursor},
    ),
    Change(
        "0.6.0",
        "turns carry when they began and how long they took",
        {"turn": _tell_turn_times, "chat/turnStarted": _tell_beginning, **dict.fromkeys(_ENDS, _tell_end)},
        {"turn": _read_turn_times, "chat/turnStarted": _read_beginning, **dict.fromkeys(_ENDS, _read_end)},
    ),
    Change(
        "0.6.0",
        "what an agent asks is a part of its answer, and stays there",
        {"chat": _tell_no_requests, "turn": _tell_questions},
        {"chat": _read_requests, "turn": _read_questions},
    ),
    Change(
        "0.6.0",
        "a session's title, status and so on stand in its state itself; lists say times as text, and no model",
        {"session": _tell_session, "summary": _tell_summary_times},
        {"session": _read_session, "summary": _read_summary_times},
    ),
    Change(
        "0.7.0",
        "a tool call can wait for a login, and its input be a reference; this host sends neither",
        {},
        {"part": _read_part, "chat/toolCallReady": _read_input, "chat/toolCallDelta": _read_delta},
    ),
    Change(
        "0.7.0",
        "sessions and chats have several folders: `workingDirectories`",
        dict.fromkeys(("session", "summary", "chat", "entry"), _tell_folders),
        dict.fromkeys(("session", "summary", "chat", "entry"), _read_folders),
    ),
    Change(
        "0.8.0",
        "plugins and MCP servers say who switched them off: `enablement`, not `enabled`",
        {"customization": _tell_enablement},
        {"customization": _read_enablement},
    ),
    Change(
        "0.9.0",
        "a turn's error is the last part of its answer; that of a change set comes with `changeset/statusChanged` only",
        {"turn": _tell_error, "chat/error": _tell_failure, "changeset/contentChanged": _tell_content},
        {"turn": _read_error, "chat/error": _read_failure},
    ),
    Change(
        "0.9.0",
        "a session that could not be created is `failed`; terminals say whether they run, and which chat owns them",
        {"session": _tell_failed, "terminal": _tell_terminal, "claim": _tell_claim},
        {"session": _read_failed, "terminal": _read_terminal},
    ),
)
"""Every change of form that matters here, oldest first."""


def milliseconds(text: str) -> int:
    """ISO 8601 text as milliseconds since 1970."""
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)
