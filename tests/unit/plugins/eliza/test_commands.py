"""Commands, driven over real stdio with the official SDK's client; their bytes are held by the transcripts."""

from __future__ import annotations

import base64
import re
from typing import Any

import acp
import pytest
from acp.schema import (
    AgentMessageChunk,
    AudioContentBlock,
    BlobResourceContents,
    ImageContentBlock,
    ResourceContentBlock,
    TextResourceContents,
)

from agentnb.plugins.eliza.commands.every_command import COMMANDS, listed
from tests.unit.plugins.eliza.patient import Patient

pytestmark = pytest.mark.asyncio(loop_scope="module")

FAULTS = {"crash", "hang", "fail", "noise", "slow", "unknown"}
TEXT = "One  two\n three.\n\nFour"


def attached(uri: str, text: str, mime_type: str | None = None) -> Any:
    """Something that was sent along."""
    return acp.resource_block(TextResourceContents(uri=uri, text=text, mime_type=mime_type))


def blob(uri: str) -> Any:
    """Three bytes that were sent along."""
    return acp.resource_block(BlobResourceContents(uri=uri, blob="AAEC"))


def linked(**more: Any) -> Any:
    """The address of something."""
    return ResourceContentBlock(**{"type": "resource_link", "name": "a", "uri": "x:a", **more})


def image(data: str = "AAEC", **more: Any) -> Any:
    """A picture."""
    return ImageContentBlock(type="image", data=data, mime_type="image/png", **more)


async def test_help(patient: Patient) -> None:
    """Help lists every command, in order."""
    text = await patient.hear("/help")
    assert re.findall(r"^\| `/([a-z]+)", text, re.MULTILINE) == [command.name for command in listed()]


@pytest.mark.parametrize("name", list(COMMANDS))
async def test_help_on_a_command(patient: Patient, name: str) -> None:
    """Help explains each command with an example that calls it, and that the SDK can follow."""
    command = COMMANDS[name]
    assert await patient.hear(f"/help {name}") == (
        f"`{command.usage}`\n\n{command.help}\n\nFor example: `{command.example}`\n"
    )
    assert command.example.split()[0] == f"/{name}"
    if name not in FAULTS:
        assert await patient.hear(command.example)


@pytest.mark.parametrize("choice", ["allow_once", "allow_always", "reject_once", "reject_always"])
async def test_ask(patient: Patient, choice: str) -> None:
    """Ask offers all four kinds and tells what was chosen."""
    patient.choice = choice
    session = await patient.session()
    await patient.prompt(session, "/ask execute")
    ((call, options),) = patient.asked
    assert [option.kind for option in options] == ["allow_once", "allow_always", "reject_once", "reject_always"]
    assert (call.tool_call_id, call.kind) == ("t1-1", "execute")
    names = {option.kind: option.name for option in options}
    assert f"You chose **{names[choice]}**." in patient.text(session)
    assert patient.tools(session)[-1].status == ("completed" if choice.startswith("allow") else "failed")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/read a.txt", "I read `a.txt`: 3 lines, 14 characters."),
        ("/read /work/a.txt 2", "I read `/work/a.txt`: 2 lines, 10 characters."),
        ("/write 'my notes.txt' first\nsecond", "I wrote `my notes.txt`: 2 lines, 13 characters."),
    ],
)
async def test_files(patient: Patient, command: str, said: str) -> None:
    """Files are read and written through the client."""
    patient.files = {"/work/a.txt": "one\ntwo\nthree\n"}
    assert await patient.hear(command) == said
    assert patient.files.get("/work/my notes.txt") == ("first\nsecond\n" if "write" in command else None)


async def test_image(patient: Patient) -> None:
    """Image sends a PNG."""
    session = await patient.session()
    await patient.prompt(session, "/image")
    picture = patient.of(session, AgentMessageChunk)[-1].content
    assert picture.mime_type == "image/png"
    assert base64.b64decode(picture.data)[:8] == b"\x89PNG\r\n\x1a\n"


async def test_markdown(patient: Patient) -> None:
    """Markdown has everything."""
    parts = ["# ", "| left |", "```python", "- [x]", "> >", "$$", "<script>", "[^1]", "](data:image/"]
    text = await patient.hear("/markdown")
    assert [part for part in parts if part not in text] == []


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [("line", ["One  two\n", " three.\n", "\n", "Four"]), ("letter", list(TEXT)), ("whole", [TEXT])],
)
async def test_pieces(patient: Patient, pieces: str, expected: list[str]) -> None:
    """A text is cut as the option says, and nothing is lost."""
    session = await patient.session()
    await patient.connection.set_config_option(session_id=session, config_id="pieces", value=pieces)
    await patient.prompt(session, f"/say {TEXT}")
    assert [chunk.content.text for chunk in patient.chunks(session)] == expected


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        (attached("agentnb://variable/df", "é" * 156, "text/csv"), "`df`: text/csv, 312 B"),
        (attached("file:///work/my%20notes.txt", "x" * 2048), "`my notes.txt`: text, 2.0 KiB"),
        (attached("file:///work/nb.ipynb#cell-3", ""), "`cell-3`: text, 0 B"),
        (attached("x:/t", "y" * 500), f"\n{'y' * 159}…\n"),
        (attached("x:/t", "\n".join(map(str, range(1, 9)))), "\n5\n6\n… 2 more lines\n"),
        (blob("x:/a.bin"), "`a.bin`: bytes, 3 B"),
        (linked(name="README.md", size=3 * 2**20), "`README.md`: link, type unknown, 3.0 MiB"),
        (linked(mime_type="text/plain"), "`a`: link, text/plain, size unknown"),
        (image(), "`image`: image/png, 3 B"),
        (image("?", uri="x:/plot.png"), "`plot.png`: image/png, size unknown"),
        (AudioContentBlock(type="audio", data="AAEC", mime_type="audio/wav"), "`audio`: audio/wav, 3 B"),
    ],
)
async def test_context(patient: Patient, block: Any, shown: str) -> None:
    """Context tells what came with the prompt: names, kinds, sizes, first lines."""
    assert shown in await patient.hear("/context", block)


async def test_long_flood_and_big(patient: Patient) -> None:
    """Both arrive whole and in order."""
    assert await patient.hear("/flood 2000") == "".join(f"{number} " for number in range(1, 2001))
    assert len(await patient.hear("/big 256")) == 256 * 1024


WRONG = {
    "/say": "TEXT is missing.",
    "/think": "TEXT is missing.",
    "/plan": "N is missing.",
    "/plan three": "N must be a whole number, not `three`.",
    "/plan 51": "N must be from 1 to 50, not 51.",
    "/slow 3": "MS is missing.",
    "/slow 0 1": "N must be from 1 to 100000, not 0.",
    "/flood x": "N must be a whole number, not `x`.",
    "/big 1.5": "KIB must be a whole number, not `1.5`.",
    "/tool": "KIND is missing: ",
    "/tool hammer": "KIND must be one of ",
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
    "/title": "TEXT is missing.",
    "/stop cancelled": "REASON must be one of ",
    "/fail 7": "CODE must be from -32999 to -1, not 7.",
    "/noise loud": "`/noise` can be followed by `all` or nothing, not by `loud`.",
    "/help nothing": "There is no command `/nothing`.",
}


@pytest.mark.parametrize("prompt", list(WRONG))
async def test_misuse(patient: Patient, prompt: str) -> None:
    """A command written wrongly is answered with what is wrong and its usage."""
    session = await patient.session()
    ended = await patient.prompt(session, prompt)
    command = COMMANDS[prompt.split(maxsplit=1)[0][1:]]
    assert ended.stop_reason == "end_turn"
    assert patient.text(session).startswith(WRONG[prompt])
    assert patient.text(session).endswith(f" Usage: `{command.usage}`, for example `{command.example}`.")


async def test_path_at_the_beginning(patient: Patient) -> None:
    assert await patient.hear("/data/first.csv is empty") == "Where did the data come from, and who wanted it that way?"
