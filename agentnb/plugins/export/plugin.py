"""The plug-in: the commands `agentnb export` and `agentnb changes`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.command import OK, Command, Option, complain
from agentnb.ports import Plugin

if TYPE_CHECKING:
    import argparse


def _changes(arguments: argparse.Namespace) -> int:
    from agentnb.errors import AgentnbError
    from agentnb.plugins.export.sources import conversation, conversations

    try:
        words = arguments.words
        text = "\n\n".join(conversation(word, diffs=arguments.diff) for word in words) if words else conversations()
        sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "replace"))
    except AgentnbError as error:
        return complain(str(error))
    return OK


def _export(arguments: argparse.Namespace) -> int:
    from agentnb.errors import AgentnbError
    from agentnb.plugins.export.documents import exported
    from agentnb.plugins.export.sources import find

    try:
        text = exported(find(arguments.source), arguments.to or "md")
        if arguments.output:
            Path(arguments.output).write_text(text, encoding="utf-8", newline="\n")
        else:
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    except (AgentnbError, OSError) as error:
        return complain(str(error))
    return OK


COMMANDS = (
    Command(
        "changes",
        "Shows what the turns of conversations changed: files, cells and variables.",
        "Without a session, it lists the saved conversations whose turns changed something. To undo something, resume"
        " the conversation: %agents resume ID, then %agents undo.",
        _changes,
        (Option("--diff", "also show file diffs"),),
        ("SESSION", "the beginning of a session's id"),
    ),
    Command(
        "export",
        "Writes a conversation as Markdown, one HTML page, JSON lines or a notebook.",
        "The HTML page is self-contained and never runs any scripts, whatever the agent wrote.",
        _export,
        (
            Option("SOURCE", "a notebook, a cassette, or the id of a session"),
            Option("--to", "md (by default), html, jsonl, ipynb, or a format that a plug-in adds", "FORM"),
            Option("--output", "where to write it; stdout by default", "FILE"),
        ),
    ),
)
PLUGIN = Plugin(name="export", summary="Exports conversations and lists what they changed.", commands=COMMANDS)
