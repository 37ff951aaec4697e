"""A turn as a display bundle: Markdown for notebooks, plain text for everything else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from msgspec.structs import replace

from agentnb.host.environment import current_environment
from agentnb.ipython.markdown import html_text
from agentnb.ipython.transcript import plain_text, transcript
from agentnb.state import ActiveTurn, ToolCallResponsePart

if TYPE_CHECKING:
    from agentnb.api.session import Session, Turn
    from agentnb.state import ResponsePart
    from agentnb.state import Turn as EndedTurn

_PARTS = 3  # a folder directly below the root has too short a path to search for

_MORE = "The turn is still running. Show it again to see more."


def record(turn: Turn) -> dict[str, str]:
    """The turn as it is now, as ``text/markdown`` (safe when trusted) and ``text/plain``."""
    return _bundle(turn, turn.snapshot)


def record_in_its_cell(turn: Turn) -> dict[str, str]:
    """Like :func:`record`, for a cell whose exception already says that the turn was cancelled."""
    return _bundle(turn, without_cancelled(turn.snapshot))


def without_cancelled(snapshot: EndedTurn | ActiveTurn | None) -> EndedTurn | ActiveTurn | None:
    """The turn without the statement that it was cancelled."""
    if isinstance(snapshot, ActiveTurn) or snapshot is None or snapshot.state != "cancelled":
        return snapshot
    return replace(snapshot, state="complete", stop_reason=None)


def value_record(turn: Turn) -> dict[str, str]:
    """The record of the turn as a cell's value, which is not updated; it says so if the turn is still running."""
    snapshot = turn.snapshot
    bundle = _bundle(turn, snapshot)
    if not isinstance(snapshot, ActiveTurn) or not snapshot.response_parts:
        return bundle
    return {
        "text/markdown": f"{bundle['text/markdown']}\n\n*{_MORE}*",
        "text/plain": f"{bundle['text/plain']}\n\n({_MORE})",
    }


def _bundle(turn: Turn, snapshot: EndedTurn | ActiveTurn | None) -> dict[str, str]:
    terminals, cwd = turn.session.chat.terminals or (), workspace(turn.session)
    if snapshot is not None and current_environment().cassette.path() is not None:
        snapshot = _without_times(snapshot)
    return {
        "text/markdown": relative(transcript(snapshot, terminals=terminals, cwd=cwd), cwd),
        "text/plain": relative(plain_text(snapshot), cwd),
    }


def _without_times(turn: EndedTurn | ActiveTurn) -> EndedTurn | ActiveTurn:
    """*turn* without code run times, so that a recorded and replayed notebook is the same in each run."""
    return replace(turn, response_parts=tuple(_without_time(part) for part in turn.response_parts))


def _without_time(part: ResponsePart) -> ResponsePart:
    details = part.tool_call.details if isinstance(part, ToolCallResponsePart) else None
    if not isinstance(part, ToolCallResponsePart) or details is None or details.run is None:
        return part
    timeless = replace(details, run=replace(details.run, ended_at=None))
    return replace(part, tool_call=replace(part.tool_call, details=timeless))


def relative(text: str, cwd: Path) -> str:
    """*text* with paths in the workspace *cwd* made relative, so that a notebook reads the same wherever it is."""
    if len(cwd.parts) < _PARTS:
        return text
    spelled = {str(cwd), html_text(str(cwd))}
    rooted = "|".join(re.escape(path) for path in spelled)
    rootless = "|".join(re.escape(path.removeprefix("/").removeprefix(html_text("/"))) for path in spelled)
    begin = rf"(?:(?<![\w.-])(?:{rooted})|(?<![\w./;-])(?:{rootless}))"
    slash = f"(?:/|{html_text('/')})"
    pattern = rf"{begin}(?:(?P<slash>{slash})(?=[\w.&])|(?![\w-]|\.\w|&#45;|&#95;))"
    return re.sub(pattern, lambda match: "" if match["slash"] else ".", text)


def workspace(session: Session) -> Path:
    uris = session.state.working_directories
    return Path(url2pathname(urlsplit(uris[0]).path)) if uris else Path.cwd()
