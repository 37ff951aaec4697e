"""A turn as a display bundle: Markdown for notebooks, plain text for everything else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from agentnb.ipython.plain import plain_text
from agentnb.ipython.transcript import transcript

if TYPE_CHECKING:
    from agentnb.api.session import Session
    from agentnb.api.turn import Turn


def record(turn: Turn) -> dict[str, str]:
    """The turn as it is now, as ``text/markdown`` (safe when trusted) and ``text/plain``."""
    snapshot, terminals = turn.snapshot, turn.session.chat.terminals or ()
    return {
        "text/markdown": transcript(snapshot, terminals=terminals, cwd=workspace(turn.session)),
        "text/plain": plain_text(snapshot),
    }


def workspace(session: Session) -> Path:
    """The folder that *session*'s agent works in."""
    uri = session.state.summary.working_directory
    return Path(url2pathname(urlsplit(uri).path)) if uri else Path.cwd()
