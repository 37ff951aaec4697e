"""A turn as a display bundle: Markdown for notebooks, plain text for everything else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from agentnb.ipython.fences import html_text
from agentnb.ipython.plain import plain_text
from agentnb.ipython.transcript import transcript

if TYPE_CHECKING:
    from agentnb.api.session import Session, Turn

_PARTS = 3  # a folder right below the root is too short a word to be looked for


def record(turn: Turn) -> dict[str, str]:
    """The turn as it is now, as ``text/markdown`` (safe when trusted) and ``text/plain``."""
    snapshot, terminals, cwd = turn.snapshot, turn.session.chat.terminals or (), workspace(turn.session)
    return {
        "text/markdown": relative(transcript(snapshot, terminals=terminals, cwd=cwd), cwd),
        "text/plain": relative(plain_text(snapshot), cwd),
    }


def relative(text: str, cwd: Path) -> str:
    """*text* with the paths in the workspace *cwd* relative to it: a notebook says the same wherever it is.

    Example:
        >>> relative("In /w/fits/a.csv, of /w/fits2", Path("/w/fits"))
        'In a.csv, of /w/fits2'
    """
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
    """The folder that *session*'s agent works in."""
    uri = session.state.summary.working_directory
    return Path(url2pathname(urlsplit(uri).path)) if uri else Path.cwd()
