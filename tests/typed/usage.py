"""How agentnb is used, as a type checker sees it. Never run: ``make check-python`` checks it."""

# mypy: disallow-untyped-calls, disallow-untyped-decorators, disallow-any-generics

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from typing_extensions import assert_type

import agentnb
from agentnb.api.agents import AgentSessions
from agentnb.api.history_rows import SessionTable


@dataclass
class Finding:
    column: str
    gaps: int


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


async def typed_answers(session: agentnb.Session) -> None:
    turn = session.prompt("Which column has gaps?", output=Finding)
    assert_type(turn, agentnb.Turn[Finding])
    assert_type(turn.wait().output.gaps, int)
    assert_type((await turn).output, Finding)
    assert_type(session.prompt("Which columns?", output=list[str]).output, "list[str]")
    assert_type(session.prompt("Good or bad?", output=Literal["good", "bad"]).output, Any)
    str(turn.output.name)  # type: ignore[attr-defined]  # a type checker finds what the type has not
    wrong: agentnb.Turn[int] = turn  # type: ignore[assignment]
    plain: agentnb.Turn = wrong
    session.edit(plain, "Which?")


def many_inputs(rows: list[str], schema: dict[str, Any]) -> None:
    assert_type(agentnb.map("Name {input}", rows)[0], str)
    assert_type(list(agentnb.map("Name {input}", rows, on_error="keep")), "list[str | None]")
    batch = agentnb.map("Check {input}", rows, output=Finding, concurrency=2)
    assert_type(batch, agentnb.Batch[Finding])
    assert_type(batch[0].gaps, int)
    assert_type([each.column for each in batch.wait()], "list[str]")
    assert_type([each.output for each in batch.results], "list[Finding | None]")
    assert_type(agentnb.map("Check {input}", rows, output=Finding, on_error="keep")[0], "Finding | None")
    assert_type(agentnb.map("Check {input}", rows, output=schema)[0], Any)
    str(batch[0].name)  # type: ignore[attr-defined]
    str(batch.result(0).output.gaps)  # type: ignore[union-attr]  # an input that failed has None
    agentnb.map("Check {input}", rows, concurency=2)  # type: ignore[call-overload]
    number, *_ = batch.result(0)
    assert_type(number, int)


def histories() -> None:
    assert_type(agentnb.history("residuals", since="2026-11-01"), SessionTable)
    assert_type(agentnb.history(kept_by="claude", everywhere=True), AgentSessions)
    agentnb.history(cursor="4")  # type: ignore[call-overload]
    agentnb.history("residuals", kept_by="claude")  # type: ignore[call-overload]
    assert_type(agentnb.start().changes[0].diff, str)


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
