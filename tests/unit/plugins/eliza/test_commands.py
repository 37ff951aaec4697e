"""Every command, driven over real stdio with the official SDK's client."""

from __future__ import annotations

import base64
import re
from typing import Any

import acp
import pytest
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    SessionInfoUpdate,
    TextResourceContents,
    ToolCallStart,
    UsageUpdate,
)

from agentnb.plugins.eliza.commands.actions import KINDS
from agentnb.plugins.eliza.commands.every_command import COMMANDS, listed
from tests.unit.plugins.eliza.patient import Patient

pytestmark = pytest.mark.asyncio(loop_scope="module")


def attached(name: str, text: str) -> Any:
    """A variable that was sent along."""
    return acp.resource_block(TextResourceContents(uri=f"agentnb://variable/{name}", text=text, mime_type="text/csv"))


async def test_help(patient: Patient) -> None:
    """Help lists every command, in order."""
    text = await patient.hear("/help")
    assert re.findall(r"^\| `/([a-z]+)", text, re.MULTILINE) == [command.name for command in listed()]


@pytest.mark.parametrize("name", list(COMMANDS))
async def test_help_on_a_command(patient: Patient, name: str) -> None:
    """Help explains each command with an example that calls it."""
    command = COMMANDS[name]
    assert await patient.hear(f"/help {name}") == (
        f"`{command.usage}`\n\n{command.help}\n\nFor example: `{command.example}`\n"
    )
    assert command.example.split()[0] == f"/{name}"


async def test_say(patient: Patient) -> None:
    """Say streams word by word and nothing is lost."""
    session = await patient.session()
    await patient.prompt(session, "/say One  two\nthree")
    assert [chunk.content.text for chunk in patient.chunks(session)] == ["One  ", "two\n", "three"]


async def test_think(patient: Patient) -> None:
    """Think thinks and then speaks."""
    session = await patient.session()
    await patient.prompt(session, "/think Is it so?")
    assert (patient.thoughts(session), patient.text(session)) == ("Is it so?", "I have thought about it.")


async def test_plan(patient: Patient) -> None:
    """Plan sends the whole plan with every change."""
    session = await patient.session()
    await patient.prompt(session, "/plan 2")
    statuses = [[entry.status for entry in plan.entries] for plan in patient.of(session, AgentPlanUpdate)]
    assert statuses == [["in_progress", "pending"], ["completed", "in_progress"], ["completed", "completed"]]
    assert patient.text(session) == "The plan had 2 steps; all are done."


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["completed", "failed"])
async def test_tool(patient: Patient, kind: str, ending: str) -> None:
    """A tool call goes through all its states."""
    session = await patient.session()
    await patient.prompt(session, f"/tool {kind} {'failed' if ending == 'failed' else ''}")
    start, running, end = patient.tools(session)
    assert [start.status, running.status, end.status] == ["pending", "in_progress", ending]
    assert {call.tool_call_id for call in (start, running, end)} == {"t1-1"}
    assert (start.kind, start.raw_input["kind"]) == (kind, kind)
    assert (start.locations[0].path, start.locations[0].line) == ("/work/fit.py", 2)
    assert end.raw_output == ({"found": 3} if ending == "completed" else {"error": "empty"})


async def test_diff(patient: Patient) -> None:
    """Diff shows two files and writes none."""
    session = await patient.session()
    await patient.prompt(session, "/diff")
    edit, new = patient.tools(session)[-1].content
    assert (edit.path, new.path, new.old_text) == ("/work/fit.py", "/work/test_fit.py", None)
    assert edit.old_text != edit.new_text
    assert patient.files == {}


@pytest.mark.parametrize("choice", ["allow_once", "allow_always", "reject_once", "reject_always"])
async def test_ask(patient: Patient, choice: str) -> None:
    """Ask offers all four kinds and tells what was chosen."""
    patient.choice = choice
    session = await patient.session()
    await patient.prompt(session, "/ask execute")
    ((call, options),) = patient.asked
    assert [option.kind for option in options] == ["allow_once", "allow_always", "reject_once", "reject_always"]
    assert (call.tool_call_id, call.kind) == ("t1-1", "execute")
    assert f"(`{choice}`)" in patient.text(session)
    assert patient.tools(session)[-1].status == ("completed" if choice.startswith("allow") else "failed")


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (None, "The question was cancelled, so I leave it."),
        ("maybe", "You chose `maybe`, which I did not offer."),
    ],
)
async def test_ask_answered_oddly(patient: Patient, choice: str | None, said: str) -> None:
    """Ask takes a cancelled question and an option it never offered."""
    patient.choice = choice
    assert await patient.hear("/ask") == said


async def test_form(patient: Patient) -> None:
    """Form asks for each kind of value and tells the answers."""
    patient.answers = {"name": "Ada", "plot": True}
    assert await patient.hear("/form") == "You told me:\n\n- name: `Ada`\n- plot: `True`\n"
    ((_, mode),) = patient.asked
    kinds = {name: field.type for name, field in mode.requested_schema.properties.items()}
    assert kinds == {"name": "string", "method": "string", "steps": "integer", "plot": "boolean"}


@pytest.mark.parametrize(
    ("command", "content", "said"),
    [
        ("/read a.txt", "one\ntwo\nthree\n", "I read `a.txt`: 3 lines, 14 characters."),
        ("/read /work/a.txt 2", "two\nthree\n", "I read `/work/a.txt`: 2 lines, 10 characters."),
        ("/read 'a.txt' 2 1", "two\n", "I read `a.txt`: 1 line, 4 characters."),
    ],
)
async def test_read(patient: Patient, command: str, content: str, said: str) -> None:
    """Read asks the client for a file or some of its lines."""
    patient.files = {"/work/a.txt": "one\ntwo\nthree\n"}
    session = await patient.session()
    await patient.prompt(session, command)
    end = patient.tools(session)[-1]
    assert (end.status, end.content[0].content.text) == ("completed", content)
    assert patient.text(session) == said


async def test_read_refused(patient: Patient) -> None:
    """Read tells why the client refused."""
    session = await patient.session()
    await patient.prompt(session, "/read gone.txt")
    assert patient.text(session) == (
        "The client refused `fs/read_text_file`: Resource not found: no /work/gone.txt (-32002)."
    )
    assert patient.tools(session)[-1].status == "failed"


@pytest.mark.parametrize("before", [None, "old\n"])
async def test_write(patient: Patient, before: str | None) -> None:
    """Write writes through the client and shows the change."""
    patient.files = {} if before is None else {"/work/my notes.txt": before}
    session = await patient.session()
    await patient.prompt(session, "/write 'my notes.txt' first\nsecond")
    _, running, end = patient.tools(session)
    assert patient.files == {"/work/my notes.txt": "first\nsecond\n"}
    assert (running.content[0].old_text, running.content[0].new_text) == (before, "first\nsecond\n")
    assert end.status == "completed"
    assert patient.text(session) == "I wrote `my notes.txt`: 2 lines, 13 characters."


async def test_write_refused(patient: Patient) -> None:
    """Write tells why the client refused."""
    session = await patient.session()
    await patient.prompt(session, "/write locked.txt x")
    assert patient.text(session) == "The client refused `fs/write_text_file`: Permission denied (-32000)."
    assert patient.tools(session)[-1].status == "failed"


@pytest.mark.parametrize(("exit_code", "status"), [(0, "completed"), (2, "failed")])
async def test_run(patient: Patient, exit_code: int, status: str) -> None:
    """Run shows a terminal of the client waits and releases it."""
    patient.exit_code = exit_code
    session = await patient.session()
    await patient.prompt(session, "/run echo hello && exit")
    assert patient.calls == [
        ("create", "/bin/sh", "-c", "echo hello && exit"),
        ("wait", "term-1"),
        ("release", "term-1"),
    ]
    end = patient.tools(session)[-1]
    assert (end.status, end.content[0].terminal_id) == (status, "term-1")
    assert end.raw_output == {"exitCode": exit_code, "output": "hello\n"}
    assert patient.text(session) == f"`echo hello && exit` ended with exit code {exit_code}; it printed 1 line."


@pytest.mark.parametrize(
    ("command", "method"),
    [
        ("/read a.txt", "`fs/read_text_file`"),
        ("/write a.txt x", "`fs/write_text_file`"),
        ("/run ls", "`terminal/create`"),
        ("/form", "`elicitation/create` with forms"),
    ],
)
async def test_missing_capabilities(bare: Patient, command: str, method: str) -> None:
    """What the client cannot do is said and not tried."""
    session = await bare.session()
    await bare.prompt(session, command)
    assert bare.text(session) == f"This client does not offer {method}."
    assert bare.of(session, ToolCallStart) == []


async def test_image(patient: Patient) -> None:
    """Image sends a PNG."""
    session = await patient.session()
    await patient.prompt(session, "/image")
    image = patient.of(session, AgentMessageChunk)[-1].content
    assert image.mime_type == "image/png"
    assert base64.b64decode(image.data)[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    "part", ["# ", "| left |", "```python", "- [x]", "> >", "$$", "<script>", "[^1]", "](data:image/"]
)
async def test_markdown(patient: Patient, part: str) -> None:
    """Markdown has everything."""
    assert part in await patient.hear("/markdown")


async def test_context(patient: Patient) -> None:
    """Context tells what came with the prompt."""
    assert await patient.hear("/context @df", attached("df", "a,b\n1,2")) == (
        "1 thing came with this prompt.\n\n- `df`: text/csv, 7 B\n\n```text\na,b\n1,2\n```\n"
    )
    assert await patient.hear("/context") == "Nothing came with this prompt."


async def test_attachments_in_conversation(patient: Patient) -> None:
    """A conversation names what came with the prompt."""
    assert await patient.hear("Summarise @df", attached("df", "a,b\n" * 78)) == (
        "I was given: `df` (text/csv, 312 B).\n\nBefore I say a word about @df: what do you already suspect?"
    )


async def test_slow_and_flood(patient: Patient) -> None:
    """Slow and flood send one chunk a number."""
    for command in ("/slow 3 1", "/flood 3"):
        session = await patient.session()
        await patient.prompt(session, command)
        assert [chunk.content.text for chunk in patient.chunks(session)] == ["1 ", "2 ", "3 "]


async def test_long_flood(patient: Patient) -> None:
    """A flood arrives whole and in order."""
    expected = "".join(f"{number} " for number in range(1, 2001))
    assert await patient.hear("/flood 2000") == expected


async def test_big(patient: Patient) -> None:
    """Big sends one chunk of that size."""
    session = await patient.session()
    await patient.prompt(session, "/big 256")
    (chunk,) = patient.chunks(session)
    assert len(chunk.content.text) == 256 * 1024


async def test_usage(patient: Patient) -> None:
    """Usage counts words and tells them with the end of the turn."""
    session = await patient.session()
    await patient.prompt(session, "/say one two three")
    ended = await patient.prompt(session, "/usage")
    (usage,) = patient.of(session, UsageUpdate)
    assert ended.usage is not None
    assert (ended.usage.input_tokens, ended.usage.output_tokens, ended.usage.total_tokens) == (5, 3, 8)
    assert (usage.used, usage.size, usage.cost.amount, usage.cost.currency) == (8, 8192, 0.00008, "USD")


async def test_mode(patient: Patient) -> None:
    """Mode changes how it answers."""
    session = await patient.session()
    await patient.prompt(session, "/mode plain")
    await patient.prompt(session, "My loop is slow.")
    assert [update.current_mode_id for update in patient.of(session, CurrentModeUpdate)] == ["plain"]
    assert patient.text(session) == "The mode is now `plain`.My loop is slow."


async def test_config(patient: Patient) -> None:
    """Config changes an option and tells them all."""
    session = await patient.session()
    await patient.prompt(session, "/config thoughts on")
    await patient.prompt(session, "bla")
    (update,) = patient.of(session, ConfigOptionUpdate)
    values = {option.id: option.current_value for option in update.config_options}
    assert values == {"pace": "instant", "pieces": "word", "thoughts": True}
    assert patient.thoughts(session) == "No keyword, and nothing remembered."


async def test_title(patient: Patient) -> None:
    """Title names the session."""
    session = await patient.session()
    await patient.prompt(session, "/title My residuals")
    assert [update.title for update in patient.of(session, SessionInfoUpdate)] == ["My residuals"]


@pytest.mark.parametrize("reason", ["end_turn", "max_tokens", "max_turn_requests", "refusal"])
async def test_stop(patient: Patient, reason: str) -> None:
    """Stop ends the turn for that reason."""
    ended = await patient.prompt(await patient.session(), f"/stop {reason}")
    assert ended.stop_reason == reason


@pytest.mark.parametrize(("command", "code"), [("/fail", -32603), ("/fail -32000", -32000)])
async def test_fail(patient: Patient, command: str, code: int) -> None:
    """Fail answers with an error and the session goes on."""
    session = await patient.session()
    with pytest.raises(acp.RequestError, match="eliza failed on purpose") as failed:
        await patient.prompt(session, command)
    assert failed.value.code == code
    assert (await patient.prompt(session, "/say on")).stop_reason == "end_turn"


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
    "/tool read twice": "After KIND comes `failed` or nothing, not `twice`.",
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
    "/noise loud": "After `/noise` comes `all` or nothing, not `loud`.",
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


async def test_unknown_command(patient: Patient) -> None:
    """An unknown command names the one that may be meant."""
    assert await patient.hear("/flod 3") == (
        "There is no command `/flod`. Did you mean `/flood`? `/help` lists them all."
    )
    assert await patient.hear("/xyzzy") == "There is no command `/xyzzy`. `/help` lists them all."


async def test_path_at_the_beginning(patient: Patient) -> None:
    """A path at the beginning is no command."""
    assert await patient.hear("/data/first.csv is empty") == "Where did the data come from, and who wanted it that way?"
