"""Tool calls: turns ACP's updates into actions.

The status drives the lifecycle, and everything else goes to ``details``.

A compaction is a call, too: one line of the answer that later updates change.
"""

from __future__ import annotations

import base64
import contextlib
import shlex
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.acp.fields import count, mapping, objects, text
from agentnb.state import (
    ChatToolCallComplete,
    ChatToolCallConfirmed,
    ChatToolCallReady,
    ChatToolCallStart,
    TerminalView,
    TerminalViews,
    ToolBlockContent,
    ToolCallDetails,
    ToolCallError,
    ToolCallLocation,
    ToolCallPendingConfirmationState,
    ToolCallResult,
    ToolCallRunningState,
    ToolCallStreamingState,
    ToolDiffContent,
    ToolRawContent,
    ToolTerminalContent,
    ToolTextContent,
    XTerminalData,
    XTerminalExited,
    XTerminalOpened,
    XToolCallDetailsChanged,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.acp.updates import UpdateTarget
    from agentnb.state import Action, ChatState, ToolCallState, ToolContent

_ERROR_CHARACTERS = 500
_FIELDS = ("kind", "locations", "raw_input", "raw_output", "content")
_SHELL_WORDS = 3


def tool_call_actions(
    update: dict[str, Any],
    call_id: str,
    call: ToolCallState | None,
    place: UpdateTarget,
    terminals: Sequence[TerminalView] = (),
) -> list[Action]:
    """The actions for ACP ``tool_call`` and ``tool_call_update``, before :meth:`UpdateTarget.act`."""
    call_details = details_of(update)
    actions: list[Action] = [*known(update, call_id, call, place, call_details)]
    details = merged(call, call_details)
    title = text(update.get("title")) or (call.display_name if call is not None else tool_name(update))
    status = update.get("status")
    if status == "in_progress" and (call is None or isinstance(call, ToolCallStreamingState)):
        actions.append(_ready(place, call_id, title, details))
    elif status in {"completed", "failed"}:
        failure = _failure(details, terminals) if status == "failed" else _failed_command(details, terminals)
        actions += _end(place, call_id, call, title, details, failure=failure)
    return actions


def known(
    update: dict[str, Any], call_id: str, call: ToolCallState | None, place: UpdateTarget, details: ToolCallDetails
) -> tuple[Action, ...]:
    """Announce the call if it is new, else apply what *update* changes (its *details* are already read)."""
    title, meta = text(update.get("title")), _meta(update)
    if call is None:
        name = tool_name(update)
        return (
            ChatToolCallStart(
                turn_id=place.turn_id,
                tool_call_id=call_id,
                tool_name=name,
                display_name=title or name,
                details=details if details != ToolCallDetails() else None,
                meta=meta,
                time=place.time,
            ),
        )
    renamed = title if title != call.display_name else None
    if renamed is None and meta in (None, call.meta) and merged(call, details) == (call.details or ToolCallDetails()):
        return ()
    return (
        XToolCallDetailsChanged(
            turn_id=place.turn_id,
            tool_call_id=call_id,
            display_name=renamed,
            details=details,
            meta=meta,
            time=place.time,
        ),
    )


def merged(call: ToolCallState | None, new: ToolCallDetails) -> ToolCallDetails:
    """Returns the details of *call* with those in *new* taking precedence."""
    if call is None or call.details is None:
        return new
    changed_fields = {name: value for name in _FIELDS if (value := getattr(new, name)) is not None}
    return msgspec.structs.replace(call.details, **changed_fields)


def details_of(update: dict[str, Any]) -> ToolCallDetails:
    """Returns the fields that ACP has and AHP lacks; those that cannot be parsed are kept raw or left out."""
    return ToolCallDetails(
        kind=text(update.get("kind")),
        locations=_locations(update.get("locations")),
        raw_input=update.get("rawInput"),
        raw_output=update.get("rawOutput"),
        content=_contents(update.get("content")),
    )


def tool_name(update: dict[str, Any]) -> str:
    """The tool's own name, if the agent says it somewhere, else its kind."""
    named = text(update.get("name"))
    if named is None:
        meta = mapping(update.get("_meta"))
        inside = (meta, *(value for value in meta.values() if isinstance(value, dict)))
        named = next((name for each in inside if (name := text(each.get("toolName")))), None)
    return named or text(update.get("kind")) or "other"


def tool_input(details: ToolCallDetails) -> str | None:
    """Returns the tool input as it is shown: the command, or the raw input as JSON."""
    raw = details.raw_input
    if details.kind == "execute" and isinstance(raw, dict):
        command = raw.get("command") or raw.get("cmd")
        if isinstance(command, str):
            return command
        if isinstance(command, list) and all(isinstance(word, str) for word in command):
            is_shell = len(command) == _SHELL_WORDS and command[1] in {"-c", "-lc"}
            return command[-1] if is_shell else shlex.join(command)
    if raw is None or raw in ({}, []):
        return None
    return raw if isinstance(raw, str) else _json(raw)


def _ready(place: UpdateTarget, call_id: str, title: str, details: ToolCallDetails) -> ChatToolCallReady:
    return ChatToolCallReady(
        turn_id=place.turn_id,
        tool_call_id=call_id,
        invocation_message=title,
        tool_input=tool_input(details),
        confirmed="not-needed",
        time=place.time,
    )


def _end(
    place: UpdateTarget,
    call_id: str,
    call: ToolCallState | None,
    title: str,
    details: ToolCallDetails,
    *,
    failure: str | None,
) -> list[Action]:
    success = failure is None
    error = None if failure is None else ToolCallError(message=failure)
    complete = ChatToolCallComplete(
        turn_id=place.turn_id,
        tool_call_id=call_id,
        result=ToolCallResult(success=success, past_tense_message=title, error=error),
        time=place.time,
    )
    if call is None or isinstance(call, ToolCallStreamingState):
        return [_ready(place, call_id, title, details), complete]
    if isinstance(call, ToolCallPendingConfirmationState):  # the agent did not wait for the answer
        went_on = ChatToolCallConfirmed(
            turn_id=place.turn_id,
            tool_call_id=call_id,
            approved=success,
            confirmed="not-needed" if success else None,
            reason=None if success else "skipped",
            time=place.time,
        )
        return [went_on, complete] if success else [went_on]
    return [complete] if isinstance(call, ToolCallRunningState) else []


def _failed_command(details: ToolCallDetails, terminals: Sequence[TerminalView]) -> str | None:
    """Returns how a call's command failed, by its terminals or its raw output's exit code; None if neither says."""
    terminal_ids = {item.terminal_id for item in details.content or () if isinstance(item, ToolTerminalContent)}
    for terminal in terminals:
        if terminal.id in terminal_ids and terminal.exited and (terminal.signal or terminal.exit_code):
            how = f"signal {terminal.signal}" if terminal.signal else f"exit code {terminal.exit_code}"
            return f"The command ended with {how}."
    output = mapping(details.raw_output) if details.kind == "execute" else {}
    exit_codes = (output.get("exit_code"), output.get("exitCode"), mapping(output.get("metadata")).get("exit"))
    code = next((each for each in exit_codes if type(each) is int), 0)
    return f"The command ended with exit code {code}." if code else None


def _failure(details: ToolCallDetails, terminals: Sequence[TerminalView]) -> str:
    """Returns why a call failed: its text, its raw output's error, how its command ended, or its raw output."""
    reason = next((item.text for item in details.content or () if isinstance(item, ToolTextContent)), None)
    if reason is None:
        reason = _named_error(details.raw_output) or _failed_command(details, terminals)
    if reason is None and details.raw_output is not None:
        reason = _json(details.raw_output)
    reason = _exception_line((reason or "").strip()) or "The tool call failed; the agent gave no reason."
    return reason if len(reason) <= _ERROR_CHARACTERS else f"{reason[: _ERROR_CHARACTERS - 1]}…"


def _named_error(raw: Any) -> str | None:
    if isinstance(raw, str):
        return raw
    output = mapping(raw)
    messages = (output.get("error"), mapping(output.get("error")).get("message"), output.get("message"))
    return next((each for each in messages if isinstance(each, str) and each.strip()), None)


def _exception_line(text: str) -> str:
    """Returns *text*, or if it ends with a code block (such as a traceback), that block's last line, the exception."""
    *lines, last = text.splitlines() or [""]
    if not last.startswith("```") or not any(line.startswith("```") for line in lines):
        return text
    return next((line.strip() for line in reversed(lines) if line.strip() and not line.startswith("```")), text)


def _locations(value: Any) -> tuple[ToolCallLocation, ...] | None:
    if not isinstance(value, list):
        return None
    places = [(text(each.get("path")), count(each.get("line"))) for each in objects(value)]
    return tuple(ToolCallLocation(path=path, line=line) for path, line in places if path is not None)


def _contents(value: Any) -> tuple[ToolContent, ...] | None:
    if value is None:
        return None
    if isinstance(value, str):
        return (ToolTextContent(text=value),)
    return tuple(map(_content, value)) if isinstance(value, list) else (ToolRawContent(raw=value),)


def _content(item: Any) -> ToolContent:
    match item:
        case {"type": "content", "content": {"type": "text", "text": str(words)}}:
            return ToolTextContent(text=words)
        case {"type": "content", "content": {"type": str()} as block}:
            return ToolBlockContent(block=block)
        case {"type": "diff", "path": str(path), "newText": str(new), **rest}:
            old = rest.get("oldText")
            return ToolDiffContent(path=path, old_text=old if isinstance(old, str) else None, new_text=new)
        case {"type": "terminal", "terminalId": str(terminal)}:
            return ToolTerminalContent(terminal_id=terminal)
        case _:
            return ToolRawContent(raw=item)


def with_content(call: ToolCallState | None, item: Any) -> list[Any]:
    """The content of *call* with *item* appended, in ACP's form; consecutive texts become one item."""
    known_items = (call.details.content if call is not None and call.details is not None else None) or ()
    listed = list(map(_item, known_items))
    added = _content(item)
    if listed and isinstance(added, ToolTextContent) and isinstance(last := known_items[-1], ToolTextContent):
        listed[-1] = _item(ToolTextContent(text=last.text + added.text))
        return listed
    return [*listed, item]


def _item(content: ToolContent) -> Any:
    match content:
        case ToolTextContent(text=words):
            return {"type": "content", "content": {"type": "text", "text": words}}
        case ToolBlockContent(block=block):
            return {"type": "content", "content": block}
        case ToolDiffContent(path=path, old_text=old, new_text=new):
            return {"type": "diff", "path": path, "oldText": old, "newText": new}
        case ToolTerminalContent(terminal_id=terminal):
            return {"type": "terminal", "terminalId": terminal}
        case _:
            return getattr(content, "raw", None)


def _meta(update: dict[str, Any]) -> dict[str, Any] | None:
    """The agent's ``_meta``, without the terminal output that is shown as a terminal."""
    meta = mapping(update.get("_meta"))
    return {name: value for name, value in meta.items() if not name.startswith("terminal_")} or None if meta else None


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError):
        return repr(value)


def terminal_actions(update: dict[str, Any], chat: ChatState, time: int) -> tuple[Action, ...]:
    """The actions for the terminals in a tool call's ``_meta``; usually none."""
    meta = mapping(update.get("_meta"))
    info, output, end = (mapping(meta.get(f"terminal_{name}")) for name in ("info", "output", "exit"))
    terminal_id = next((name for each in (info, output, end) if (name := text(each.get("terminal_id")))), None)
    if terminal_id is None:
        return ()
    actions: list[Action] = []
    if TerminalViews.of(chat.terminals).find(terminal_id) < 0:
        view = TerminalView(id=terminal_id, command=text(update.get("title")) or "", cwd=text(info.get("cwd")))
        actions.append(XTerminalOpened(terminal=view, time=time))
    if data := text(output.get("data")):
        actions.append(XTerminalData(terminal_id=terminal_id, data=data, time=time))
    if end:
        code, signal = count(end.get("exit_code")), text(end.get("signal"))
        actions.append(XTerminalExited(terminal_id=terminal_id, exit_code=code, signal=signal, time=time))
    return tuple(actions)


def agent_terminal(update: dict[str, Any], chat: ChatState, time: int) -> tuple[Action, ...]:
    """The actions for one of the agent's own terminals (version 2 of ACP); output already shown is not repeated."""
    terminal_id, data = update.get("terminalId"), update.get("data") or mapping(update.get("output")).get("data")
    at = TerminalViews.of(chat.terminals).find(str(terminal_id))
    is_snapshot = update.get("data") is None
    has_output = at >= 0 and bool((chat.terminals or ())[at].output)
    meta: dict[str, Any] = {"terminal_info": {"terminal_id": terminal_id, "cwd": update.get("cwd")}}
    if isinstance(data, str) and not (is_snapshot and has_output):
        with contextlib.suppress(ValueError):
            printed = base64.b64decode(data, validate=True).decode("utf-8", "replace")
            meta["terminal_output"] = {"terminal_id": terminal_id, "data": printed}
    if ended := mapping(update.get("exitStatus")):
        code, signal = ended.get("exitCode"), ended.get("signal")
        meta["terminal_exit"] = {"terminal_id": terminal_id, "exit_code": code, "signal": signal}
    return terminal_actions({"title": update.get("command"), "_meta": meta}, chat, time)


_TITLES = {
    "completed": "Compacted the conversation",
    "failed": "Could not compact the conversation",
    "cancelled": "Could not compact the conversation",
}
NAME = "compaction"


def compaction_id(update: dict[str, Any]) -> str | None:
    """The id of the call that represents the compaction of *update*; None if *update* names none."""
    compaction = text(update.get("compactionId"))
    return None if compaction is None else f"{NAME}:{compaction}"


def as_call(update: dict[str, Any], call: ToolCallState | None) -> dict[str, Any]:
    """*update* as an ACP ``tool_call_update`` of *call*, which represents the compaction."""
    status = update.get("status", "in_progress" if call is None else None)
    described: dict[str, Any] = {
        "name": NAME,
        "title": _TITLES.get(str(status), "Compacting the conversation" if call is None else None),
        "status": "failed" if status == "cancelled" else status,
    }
    if update.get("sessionUpdate") == "compaction_summary_chunk":
        return described | {"content": with_content(call, _block_item(update.get("content")))}
    if status in {"failed", "cancelled"}:
        error = text(update.get("error")) or ("It was cancelled." if status == "cancelled" else None)
        return described | ({"content": error} if error else {})
    if "summary" in update:
        summary = update["summary"]
        described["content"] = [_block_item(block) for block in summary] if isinstance(summary, list) else []
    return described


def _block_item(block: Any) -> dict[str, Any]:
    return {"type": "content", "content": block}
