"""Commands over real stdio with the official SDK's client; the transcripts check their bytes."""

from __future__ import annotations

import re
from typing import Any

import acp
import pytest
from acp.schema import (
    AvailableCommandsUpdate,
    ImageContentBlock,
    ResourceContentBlock,
    TextResourceContents,
)

from tests.unit.plugins.eliza.patient import Patient
from tests.unit.plugins.eliza.transcripts import TRANSCRIPTS, lines_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

METHODS = """
initialize authenticate logout session/new session/load session/resume session/fork session/list session/close
session/delete session/set_mode session/set_config_option session/prompt session/cancel _eliza/echo $/cancel_request
"""


def attached(uri: str, text: str, mime_type: str | None = None) -> Any:
    return acp.resource_block(TextResourceContents(uri=uri, text=text, mime_type=mime_type))


def image(data: str) -> Any:
    return ImageContentBlock(type="image", data=data, mime_type="image/png")


async def test_help_command_lists_every_command(patient: Patient) -> None:
    """They are those that the client gets at the beginning; the transcripts contain each, and each method."""
    session = await patient.session()
    await patient.prompt(session, "/help")
    (update,) = patient.of(session, AvailableCommandsUpdate)
    offered = [each.name for each in update.available_commands]
    assert re.findall(r"^\| `/([a-z]+)", patient.text(session), re.MULTILINE) == offered
    sent = [line for name in TRANSCRIPTS for line in lines_of(name) if line.startswith("> ")]
    missing = {name for name in offered if not any(f'"text":"/{name}' in line for line in sent)}
    assert missing == {"markdown"}  # it is one long text
    methods = {match[1] for line in sent if (match := re.search(r'"method":"([^"]*)"', line))}
    assert set(METHODS.split()) - methods == set()


async def test_markdown_command_shows_each_kind_of_markup(patient: Patient) -> None:
    parts = ["# ", "| left |", "```python", "- [x]", "> >", "$$", "<script>", "[^1]", "](data:image/"]
    text = await patient.hear("/markdown")
    assert [part for part in parts if part not in text] == []


@pytest.mark.parametrize(
    ("block", "description"),
    [
        (attached("agentnb://variable/df", "é" * 156, "text/csv"), "`df`: text/csv, 312 B"),
        (attached("file:///work/my%20notes.txt", "x" * 2048), "`my notes.txt`: text, 2.0 KiB"),
        (attached("file:///work/nb.ipynb#cell-3", ""), "`cell-3`: text, 0 B"),
        (attached("x:/t", "y" * 500), f"\n{'y' * 159}…\n"),
        (attached("x:/t", "\n".join(map(str, range(1, 9)))), "\n5\n6\n… 2 more lines\n"),
        (
            ResourceContentBlock(type="resource_link", name="a", uri="x:a", mime_type="text/plain"),
            "`a`: link, text/plain, size unknown",
        ),
        (image("AAEC"), "`image`: image/png, 3 B"),
        (image("?"), "`image`: image/png, size unknown"),
    ],
)
async def test_context_command_describes_attachments(patient: Patient, block: Any, description: str) -> None:
    """The answer has names, kinds, sizes and first lines; the transcripts have other kinds."""
    assert description in await patient.hear("/context", block)


WRONG = {
    "/say": "TEXT is missing.",
    "/plan": "N is missing.",
    "/plan three": "N must be a whole number, not `three`.",
    "/slow 3": "MS is missing.",
    "/slow 0 1": "N must be from 1 to 100000, not 0.",
    "/flood x": "N must be a whole number, not `x`.",
    "/big 1.5": "KIB must be a whole number, not `1.5`.",
    "/tool": "KIND is missing: ",
    "/tool read twice": "KIND can be followed by `failed` or nothing, not by `twice`.",
    "/ask hammer": "KIND must be one of ",
    "/read": "PATH is missing.",
    "/read 'a": "A quote is never closed.",
    "/read a b": "LINE must be a whole number, not `b`.",
    "/write a.txt": "TEXT is missing.",
    "/run": "COMMAND is missing.",
    "/mode nap": "There is no mode `nap`; it can be `doctor`, `plain`.",
    "/config": "ID is missing.",
    "/config pace": "VALUE is missing.",
    "/config pace never": "`pace` has no value `never`; it can be `instant`, `natural`.",
    "/stop cancelled": "REASON must be one of ",
    "/fail 7": "CODE must be from -32999 to -1, not 7.",
    "/noise loud": "`/noise` can be followed by `all` or nothing, not by `loud`.",
    "/help nothing": "There is no command `/nothing`.",
}


async def test_misused_command_answers_with_its_usage(patient: Patient) -> None:
    for prompt, message in WRONG.items():
        session = await patient.session()
        ended = await patient.prompt(session, prompt)
        name = prompt.split(maxsplit=1)[0]
        assert ended.stop_reason == "end_turn", prompt
        usage = rf"{re.escape(message)}.* Usage: `{name}[^`]*`, for example `{name}[^`]*`\."
        assert re.fullmatch(usage, patient.text(session), re.DOTALL), prompt


async def test_prompt_that_begins_with_a_path_is_no_command(patient: Patient) -> None:
    assert await patient.hear("/data/first.csv is empty") == "Where did the data come from, and who wanted it that way?"
