"""The plug-in: requests of the page."""

from __future__ import annotations

from agentnb.plugins.inline.completion import REQUESTS as COMPLETION
from agentnb.plugins.inline.edit_requests import REQUESTS as EDITS
from agentnb.ports import Plugin

PLUGIN = Plugin(
    name="inline",
    summary="Edits a cell from a prompt, and completes code while you type.",
    requests=(*EDITS, *COMPLETION),
)
