"""A cassette as a document: its turns are mapped and reduced as those of a running agent are."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.acp.mapper import map_permission, map_update
from agentnb.cassette import file
from agentnb.cassette.compare import described
from agentnb.cassette.marks import SessionMarks
from agentnb.errors import UnknownSession
from agentnb.ids import new_id
from agentnb.ipython.record import relative
from agentnb.ipython.transcript import transcript
from agentnb.log.location import log_location
from agentnb.log.store import LogStore
from agentnb.plugins.export.document import Document, DocumentEntry
from agentnb.state import (
    Action,
    ChatState,
    ChatToolCallConfirmed,
    ChatTurnComplete,
    ChatTurnStarted,
    ChatUsage,
    Message,
    MessageOrigin,
    SessionStatus,
    ToolCallPendingConfirmationState,
    ToolCallResponsePart,
    Turn,
    UsageInfo,
    find_finished_turn,
    reduce_chat,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentnb.cassette.recording import RecordedExchange, Section, WireEvent
    from agentnb.log.record import StoredSession


_ID = re.compile(r"[0-9a-fA-F-]{4,36}")


def of_session(name: str) -> Document | None:
    """Returns the document of the session whose id begins with *name*; None if the log has none."""
    path = log_location()
    if path is None or not path.exists() or not _ID.fullmatch(name):
        return None
    with closing(LogStore(path, new_id())) as store:
        sessions = store.named(name)
        if len(sessions) > 1:
            raise UnknownSession(f"Several sessions' ids begin with {name!r}.", hint="Enter more of the id.")
        stored = store.load(sessions[0].uri) if sessions else None
    return None if stored is None else document_of(stored)


def document_of(stored: StoredSession) -> Document:
    cwd, agent = Path(stored.record.cwd), stored.record.agent
    entries = []
    for turn in stored.chat.turns:
        answer = relative(transcript(turn, terminals=stored.chat.terminals or (), cwd=cwd), cwd)
        entries += [
            DocumentEntry(kind="prompt", source=turn.message.text, agent=agent),
            DocumentEntry(kind="answer", source=answer, agent=agent, stop_reason=turn.stop_reason),
        ]
    return Document(title=stored.record.title, entries=tuple(entries))


WORKSPACE = "/recorded/workspace"
"""Represents the workspace, which a cassette does not record; paths in it are shown relative to it."""


def of_cassette(path: Path) -> Document:
    cassette = file.read(path)
    entries = tuple(entry for section in cassette.sections if section.session for entry in _of_section(section))
    return Document(title=path.name.removesuffix(".jsonl").removesuffix(".cassette"), entries=entries)


def _of_section(section: Section) -> Iterator[DocumentEntry]:
    marks = SessionMarks(WORKSPACE, home="~", session_id="session")
    chat = Replayed()
    tab = f"session {section.session}"
    for number, exchange in enumerate(section.turns, 1):
        prompt = exchange.params.get("prompt") if isinstance(exchange.params, dict) else None
        yield DocumentEntry(
            kind="prompt", source="\n".join(described(marks.fill(prompt))), agent=section.agent, tab=tab
        )
        turn, stop_reason = chat.turn(f"turn-{number}", exchange, marks)
        markdown = relative(transcript(turn, cwd=WORKSPACE), Path(WORKSPACE))
        yield DocumentEntry(kind="answer", source=markdown, agent=section.agent, tab=tab, stop_reason=stop_reason)


class Replayed:
    """A chat that is filled from recorded exchanges."""

    def __init__(self) -> None:
        epoch = "1970-01-01T00:00:00.000Z"
        self.state: ChatState = ChatState(
            resource="cassette:/chat", title="", status=SessionStatus.IDLE, modified_at=epoch, turns=()
        )

    def turn(self, turn_id: str, exchange: RecordedExchange, marks: SessionMarks) -> tuple[Turn | None, str | None]:
        """Returns the final state of one turn, and why it ended."""
        message = Message(text="…", origin=MessageOrigin(kind="user"))
        self._take(ChatTurnStarted(turn_id=turn_id, message=message, time=0))
        calls: dict[int, str] = {}
        for event in (*exchange.before, *exchange.after):
            self._event(turn_id, event, marks, calls)
        result = exchange.result if isinstance(exchange.result, dict) else {}
        stop_reason = result.get("stopReason") if isinstance(result.get("stopReason"), str) else None
        usage = result.get("usage")
        if isinstance(usage, dict):
            counts = UsageInfo(
                input_tokens=_count(usage.get("inputTokens")), output_tokens=_count(usage.get("outputTokens"))
            )
            self._take(ChatUsage(turn_id=turn_id, usage=counts, time=0))
        self._take(ChatTurnComplete(turn_id=turn_id, stop_reason=stop_reason, time=0))
        return find_finished_turn(self.state, turn_id), stop_reason

    def _event(self, turn_id: str, event: WireEvent, marks: SessionMarks, calls: dict[int, str]) -> None:
        params = marks.fill(event.params)
        update = params.get("update") if isinstance(params, dict) else None
        if event.kind == "said" and isinstance(update, dict):
            for action in map_update(update, self.state, turn_id, 0):
                self._take(action)
        elif event.method == "session/request_permission" and isinstance(params, dict):
            calls[event.id], actions = map_permission(params, self.state, turn_id, 0)
            for action in actions:
                self._take(action)
        elif event.kind == "answered" and event.id in calls:
            self._answered(turn_id, calls[event.id], event.result)

    def _answered(self, turn_id: str, call_id: str, result: Any) -> None:
        outcome = result.get("outcome") if isinstance(result, dict) else None
        chosen = outcome.get("optionId") if isinstance(outcome, dict) else None
        call = self._call(call_id)
        options = call.options or () if isinstance(call, ToolCallPendingConfirmationState) else ()
        option = next((option for option in options if option.id == chosen), None)
        approved = option is not None and option.kind == "approve"
        self._take(
            ChatToolCallConfirmed(
                turn_id=turn_id,
                tool_call_id=call_id,
                approved=approved,
                confirmed="setting" if approved else None,
                reason=None if approved else "denied",
                selected_option_id=chosen if isinstance(chosen, str) else None,
                time=0,
            )
        )

    def _call(self, call_id: str) -> Any:
        active = self.state.active_turn
        parts = active.response_parts if active is not None else ()
        calls = (part.tool_call for part in parts if isinstance(part, ToolCallResponsePart))
        return next((call for call in calls if call.tool_call_id == call_id), None)

    def _take(self, action: Action) -> None:
        self.state = reduce_chat(self.state, action)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
