"""How agentnb is used, as a type checker sees it. Never run: ``make check-python`` checks it."""

# mypy: disallow-untyped-calls, disallow-untyped-decorators, disallow-any-generics

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from typing_extensions import assert_type

import agentnb


def turns() -> None:
    with agentnb.start("eliza", permissions="deny") as session:
        assert_type(session, agentnb.Session)
        turn = session.prompt("Hello")
        assert_type(turn, agentnb.Turn)
        assert_type(turn.state, Literal["queued", "running", "complete", "cancelled", "error"])
        assert_type(turn.wait(timeout=3, check=False), agentnb.Turn)
        assert_type(turn.session.prompt("Again").text, str)
        assert_type(turn.stop_reason, "str | None")
        for piece in turn:
            assert_type(piece, str)
        for call in turn.tool_calls:
            assert_type(call.status, Literal["pending", "in_progress", "completed", "failed", "cancelled"])
            assert_type(call.output, str)
            assert_type(call.exit_code, "int | None")
    try:
        turn.wait()
    except agentnb.TurnFailed as error:
        assert_type(error.message, str)
    except (agentnb.TurnTimeout, agentnb.errors.AgentError):
        pass


async def awaits() -> None:
    async with agentnb.start() as session:
        turn = await session.prompt("Hello")
        assert_type(turn, agentnb.Turn)
        assert_type(await asyncio.wait_for(session.prompt("Hello"), 60), agentnb.Turn)
        assert_type(await turn.wait_async(60, check=False), agentnb.Turn)
        async for piece in turn:
            assert_type(piece, str)
        await session.aclose()


def only_looks(request: agentnb.PermissionRequest) -> Literal["allow", "deny"]:
    assert_type(request.command, "str | None")
    assert_type(request.paths, "tuple[str, ...]")
    return "allow" if request.kind == "read" else "deny"


async def asks_elsewhere(request: agentnb.PermissionRequest) -> str:
    await asyncio.sleep(1)
    return request.options[0].id


def permissions() -> None:
    session = agentnb.start(permissions=only_looks)
    agentnb.start(permissions=asks_elsewhere, permission_timeout=5)
    agentnb.start(permissions=lambda _: "deny")
    session.permissions = "ask"
    session.permissions = asks_elsewhere
    questions: Sequence[agentnb.PermissionQuestion | agentnb.InputQuestion] = session.questions
    for question in questions:
        if isinstance(question, agentnb.PermissionQuestion):
            question.allow()
            question.deny()
            question.answer(question.options[0])
        else:
            question.answer({"name": "ada"})
            question.decline()


def tests() -> None:
    with agentnb.testing.events("turn") as heard:
        assert_type(heard.names, "list[str]")
    agentnb.testing.assert_text(agentnb.start().prompt("Hello").wait(), contains="Hello")
