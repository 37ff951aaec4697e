"""Commands that only speak: text, thoughts, plans, pictures, in every size and speed."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.plugins.acp_agent.content import ImageContent
from agentnb.plugins.acp_agent.updates import update
from agentnb.plugins.eliza.commands.registry import COMMANDS, GROUPS, Misuse, command, counted, listed, needed, whole

if TYPE_CHECKING:
    from agentnb.plugins.eliza.session import Reply

GROUP = "Speaking"
_FOLDER = Path(__file__).parents[1]
STEPS = ("Listen", "Ask what happened before", "Find the smallest example", "Change one thing", "Run it again", "Tell")
_PRIORITIES = ("high", "medium", "low")
LINE = "All work and no play makes a dull notebook, so here is one more line of text.\n"


@command("help", "[COMMAND]", group=GROUP, example="/help plan")
async def help_(reply: Reply, rest: str) -> None:
    """Lists the commands, or explains one."""
    name = rest.strip().removeprefix("/")
    if not name:
        await reply.say("\n".join(map(_table, GROUPS)) + "\nAnything else, I listen to.\n")
    elif name in COMMANDS:
        entry = COMMANDS[name]
        await reply.say(f"`{entry.usage}`\n\n{entry.help}\n\nFor example: `{entry.example}`\n")
    else:
        raise Misuse(f"There is no command `/{name}`.")


@command("say", "TEXT", group=GROUP, example="/say The fit has *converged*.")
async def say(reply: Reply, rest: str) -> None:
    """Says TEXT, streamed word by word.

    The options `pieces` and `pace` change how it is cut and how fast it comes.
    """
    await reply.say(needed(rest, "TEXT"))


@command("think", "TEXT", group=GROUP, example="/think Is the mean the right summary?")
async def think(reply: Reply, rest: str) -> None:
    """Thinks TEXT, then says that it has thought."""
    await reply.think(needed(rest, "TEXT"))
    await reply.say("I have thought about it.")


@command("plan", "N", group=GROUP, example="/plan 3")
async def plan(reply: Reply, rest: str) -> None:
    """Makes a plan of N steps and works through it.

    Every change sends the whole plan: one step at a time is in progress, those before it are completed. N is from 1
    to 50.
    """
    count = whole(rest.strip(), "N", 1, 50)
    for done in range(count + 1):
        await reply.send(update("plan", entries=[_entry(number, done) for number in range(count)]))
    await reply.say(f"The plan had {counted(count, 'step')}; all are done.")


@command("image", group=GROUP)
async def image(reply: Reply, _: str) -> None:
    """Sends a small picture, a PNG of 120 × 72 pixels."""
    await reply.say("Here is a picture:\n\n")
    await reply.send(update("agent_message_chunk", content=ImageContent(data=_picture(), mime_type="image/png")))


@command("markdown", group=GROUP)
async def markdown(reply: Reply, _: str) -> None:
    """Says everything that markdown can be.

    Headings, lists, tables, code, quotes, links, math, images, HTML and a script that must never run.
    """
    sample = _FOLDER.joinpath("sample.md").read_text(encoding="utf-8")
    await reply.say(sample.replace("{picture}", f"data:image/png;base64,{_picture()}"))


@command("context", group=GROUP, example="/context @df")
async def context(reply: Reply, _: str) -> None:
    """Tells what came with the prompt: variables, files, cells and images, each with its first lines."""
    if not reply.attachments:
        await reply.say("Nothing came with this prompt.")
        return
    await reply.say(f"{counted(len(reply.attachments), 'thing')} came with this prompt.\n")
    for attachment in reply.attachments:
        await reply.say(f"\n- `{attachment.name}`: {attachment.detail}\n")
        if attachment.text is not None:
            await reply.say(_fenced(attachment.excerpt))


@command("slow", "N MS", group=GROUP, example="/slow 5 200")
async def slow(reply: Reply, rest: str) -> None:
    """Says N words, one every MS milliseconds."""
    count, _, pause = rest.strip().partition(" ")
    words, milliseconds = whole(count, "N", 1, 100_000), whole(pause.strip(), "MS", 0, 600_000)
    for number in range(1, words + 1):
        await asyncio.sleep(milliseconds / 1000)
        await reply.send_text(f"{number} ")


@command("flood", "N", group=GROUP, example="/flood 10000")
async def flood(reply: Reply, rest: str) -> None:
    """Sends N chunks as fast as it can, the numbers from 1 to N."""
    count = whole(rest.strip(), "N", 1, 10_000_000)
    for number in range(1, count + 1):
        await reply.send_text(f"{number} ")


@command("big", "KIB", group=GROUP, example="/big 64")
async def big(reply: Reply, rest: str) -> None:
    """Sends one chunk of KIB × 1,024 characters."""
    size = whole(rest.strip(), "KIB", 1, 64 * 1024) * 1024
    text = (LINE * (size // len(LINE) + 1))[:size]
    await reply.send_text(text)


def _picture() -> str:
    return base64.b64encode(_FOLDER.joinpath("chart.png").read_bytes()).decode("ascii")


def _table(group: str) -> str:
    rows = [f"| `{entry.usage}` | {entry.summary} |" for entry in listed() if entry.group == group]
    return "\n".join([f"**{group}**", "", "| command | what it does |", "|---|---|", *rows, ""])


def _entry(number: int, done: int) -> dict[str, str]:
    status = "completed" if number < done else "in_progress" if number == done else "pending"
    step = STEPS[number % len(STEPS)]
    again = f" (round {number // len(STEPS) + 1})" if number >= len(STEPS) else ""
    return {"content": step + again, "priority": _PRIORITIES[number % 3], "status": status}


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"\n{fence}text\n{text}\n{fence}\n"
