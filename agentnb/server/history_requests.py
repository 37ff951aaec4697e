"""The requests about the conversations that the log has kept."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from agentnb.errors import SessionError
from agentnb.host.history.arrangement import arrange, delete, duplicate
from agentnb.host.history.restore import (
    LOG_OFF,
    had_kernel_tools,
    had_mode,
    kept,
    read_back,
    recorder_of,
    restore,
    spec_of,
)
from agentnb.log.location import VARIABLE
from agentnb.log.record import SessionRecord
from agentnb.log.search_index import SearchHit
from agentnb.server.messages import LARGEST, Moment
from agentnb.server.notices import HistoryNotices
from agentnb.server.request_table import Asker, request
from agentnb.server.session_requests import TabChannels, channels_of
from agentnb.state.wire import Count, Wire

if TYPE_CHECKING:
    from agentnb.host.host import Host
    from agentnb.log.record import TurnText
    from agentnb.log.store import Which

MAX_LISTED = 200
EXPORT_SECONDS = 120.0
PREVIEWED_TURNS = 5
PREVIEWED_CHARACTERS = 4_000
"""Characters of each prompt and each answer."""


class ListSessionsParams(Wire, frozen=True, kw_only=True):
    """``listSessions``: list the sessions in the log, the latest first.

    A session must match everything that is given.

    Attributes:
        search: The text to find in titles, prompts, answers, agents or folders.
        here: True if only sessions begun in this notebook are listed, or in this folder if no notebook is known.
        folder: True if only sessions with the kernel's folder as workspace are listed.
        agent: The sessions' agent, by its name in the catalogue.
        since: The earliest time of the last activity, in milliseconds since 1970.
        until: The time that the last activity must precede, in milliseconds since 1970.
        state: The sessions' state: a turn runs, or waits for an answer, or the last turn failed.
        archived: True if only archived sessions are listed; otherwise only those that are not.
        limit: The maximum number of sessions; at most 200 are returned at once.
        offset: The number of sessions to skip.
    """

    search: str = ""
    here: bool = False
    folder: bool = False
    agent: str | None = None
    since: Moment | None = None
    until: Moment | None = None
    state: Literal["", "running", "needs-you", "failed"] = ""
    archived: bool = False
    limit: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)] = 50
    offset: Moment = 0


class ListSessionsResult(Wire, frozen=True, kw_only=True):
    """The sessions, the latest first.

    Attributes:
        sessions: The log's record of each session.
        elsewhere: The URIs of the sessions that another kernel has open.
        hits: A few places of the searched text in turns, for each session's URI, the latest first.
        left: The number of older sessions not searched yet; the next search continues. Absent if all are searched.
        note: The reason why some may be missing: the log is off, or has a problem.
    """

    sessions: tuple[SessionRecord, ...]
    elsewhere: tuple[str, ...] | None = None
    hits: dict[str, tuple[SearchHit, ...]] | None = None
    left: Count | None = None
    note: str | None = None


@request("listSessions", ListSessionsParams, ListSessionsResult)
async def list_sessions(asker: Asker[Host], params: ListSessionsParams) -> ListSessionsResult:
    """List the sessions that the log has kept."""
    if asker.host.recorder is None:
        return ListSessionsResult(sessions=(), note=LOG_OFF)
    return await asyncio.to_thread(_listed, asker.host, params)


def _listed(host: Host, params: ListSessionsParams) -> ListSessionsResult:
    recorder = recorder_of(host)
    which: Which = {"limit": min(params.limit, MAX_LISTED), "offset": params.offset}
    which |= {"agent": params.agent, "since": params.since, "until": params.until}
    which |= {"state": params.state, "archived": params.archived}
    which |= {"cwd": str(Path.cwd())} if params.folder else {}
    which |= recorder.here() if params.here else {}
    matches = recorder.store.find(params.search, **which)
    held = recorder.store.held(matches.sessions)
    return ListSessionsResult(
        sessions=tuple(matches.sessions),
        elsewhere=tuple(record.uri for record in matches.sessions if record.uri in held),
        hits=matches.hits if params.search else None,
        left=matches.left or None,
        note=recorder.note or None,
    )


@request("resumeSession")
async def resume_session(asker: Asker[Host], *, channel: str) -> TabChannels:
    """Open a session from the log again.

    Args:
        channel: The session's channel.
    """
    host = asker.host
    stored = await asyncio.to_thread(lambda: read_back(recorder_of(host), channel))
    options = host.environment.default_options(spec_of(stored.record), Path(stored.record.cwd))
    mode = had_mode(stored, host.environment.default_mode())
    options = msgspec.structs.replace(options, mode=mode, kernel_tools=had_kernel_tools(stored) or options.kernel_tools)
    return channels_of(restore(host, stored, options))


class TurnPreview(Wire, frozen=True, kw_only=True):
    """A turn as plain text.

    Attributes:
        number: The turn's number, 0 for the session's first.
        turn_id: The turn's id.
        prompt: The prompt, cut.
        answer: The agent's message text, cut.
        cut: True if one of the two texts is longer than shown.
    """

    number: Count
    turn_id: str
    prompt: str
    answer: str
    cut: bool


class PreviewSessionResult(Wire, frozen=True, kw_only=True):
    """The latest turns, oldest first.

    Attributes:
        title: The session's title.
        total: The number of the session's turns.
        turns: The last of them.
    """

    title: str
    total: Count
    turns: tuple[TurnPreview, ...]


@request("previewSession")
async def preview_session(asker: Asker[Host], *, channel: str) -> PreviewSessionResult:
    """Show the latest turns of a session in the log, as plain text.

    No session is opened and no agent starts, so a session that another kernel has open can be read, too.

    Args:
        channel: The session's channel.
    """
    return await asyncio.to_thread(_preview, asker.host, channel)


def _preview(host: Host, uri: str) -> PreviewSessionResult:
    recorder = recorder_of(host)
    record = kept(recorder, uri)
    turns = recorder.store.latest_turns(uri, PREVIEWED_TURNS)
    return PreviewSessionResult(title=record.title, total=record.turns, turns=tuple(map(_turn, turns)))


def _turn(turn: TurnText) -> TurnPreview:
    prompt, answer = turn.prompt[:PREVIEWED_CHARACTERS], turn.answer[:PREVIEWED_CHARACTERS]
    cut = (prompt, answer) != (turn.prompt, turn.answer)
    return TurnPreview(number=turn.number, turn_id=turn.turn_id, prompt=prompt, answer=answer, cut=cut)


@request("watchSessions")
async def watch_sessions(asker: Asker[Host], *, on: bool) -> None:
    """Start or stop telling this page when sessions in the log change.

    While it is on, the kernel sends `sessionsChanged` at most a second after any kernel has changed something.

    Args:
        on: True if the page wants notices.
    """
    await asker.service.notices(HistoryNotices, asker.host).watch(asker.client_id, on=on)


@request("updateSession")
async def update_session(
    asker: Asker[Host],
    *,
    channel: str,
    title: str | None = None,
    pinned: bool | None = None,
    archived: bool | None = None,
) -> None:
    """Rename, pin or archive a session in the log, or take that back.

    Absent values stay unchanged. A session that another kernel has open can only be renamed there.

    Args:
        channel: The session's channel.
        title: The new title: one line of at most 200 characters.
        pinned: True if lists show it before all others.
        archived: True if lists leave it out.
    """
    await arrange(asker.host, lambda recorder: kept(recorder, channel), title=title, pinned=pinned, archived=archived)


class DuplicateSessionResult(Wire, frozen=True, kw_only=True):
    """The copy.

    Attributes:
        channel: The copy's channel.
        open: True if the copy is open in a tab.
    """

    channel: str
    open: bool


@request("duplicateSession")
async def duplicate_session(asker: Asker[Host], *, channel: str) -> DuplicateSessionResult:
    """Copy a session in the log, so that the conversation can continue in two ways.

    The answer has the copy's `channel`, and whether it is `open` in a tab: it is if the session is open here and its
    agent can copy it with its memory.

    Args:
        channel: The session's channel.
    """
    copied, is_open = await duplicate(asker.host, lambda recorder: kept(recorder, channel))
    return DuplicateSessionResult(channel=copied, open=is_open)


class ExportSessionResult(Wire, frozen=True, kw_only=True):
    """The document, without the credentials that agentnb knows.

    Attributes:
        text: The document's text.
    """

    text: str


@request("exportSession")
async def export_session(
    asker: Asker[Host], *, channel: str, form: Literal["md", "html", "jsonl", "ipynb"] = "md"
) -> ExportSessionResult:
    """Export a session in the log as a document.

    Args:
        channel: The session's channel.
        form: Markdown, one HTML page, JSON lines or a notebook.
    """
    return ExportSessionResult(text=await asyncio.to_thread(_exported, asker.host, channel, form))


def _exported(host: Host, channel: str, form: str) -> str:
    """Made by the command that a shell uses: documents stand above this layer, and a long one takes a while."""
    recorder = recorder_of(host)
    tab_id = kept(recorder, channel).tab_id
    command = [sys.executable, "-m", "agentnb", "export", tab_id, "--to", form]
    env = {**os.environ, VARIABLE: str(recorder.store.path)}
    try:
        done = subprocess.run(command, env=env, capture_output=True, check=False, timeout=EXPORT_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"The conversation could not be exported: {error}"
        raise SessionError(message, hint=f"Try `agentnb export {tab_id[:8]}` in a terminal.") from error
    if done.returncode != 0:
        why = done.stderr.decode("utf-8", "replace").strip().removeprefix("agentnb: ")
        raise SessionError(f"The conversation could not be exported: {why[-500:]}")
    return done.stdout.decode("utf-8", "replace")


@request("deleteSession")
async def delete_session(asker: Asker[Host], *, channel: str) -> None:
    """Delete a session from the log permanently, with the stored changes of its turns.

    The session must not be open, here or in another kernel; a closed tab that can still be reopened is closed
    permanently. The agent's own data of the session stays.

    Args:
        channel: The session's channel.
    """
    await delete(asker.host, lambda recorder: kept(recorder, channel))
