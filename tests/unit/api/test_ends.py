"""How turns and sessions end: raised failures, waits that time out, and `with`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from agentnb import Session, Turn, TurnFailed, TurnRefused
from tests.unit.api.conftest import PATIENCE
from tests.unit.running import run

Start = Callable[..., Session]


async def read(turn: Turn) -> None:
    async for _ in turn:
        pass


async def awaited(turn: Turn) -> None:
    await turn


async def awaited_with_timeout(turn: Turn) -> None:
    await turn.wait_async(PATIENCE)


WAYS: dict[str, Callable[[Turn], object]] = {
    "wait": lambda turn: turn.wait(PATIENCE),
    "await": lambda turn: run(awaited(turn)),
    "wait_async": lambda turn: run(awaited_with_timeout(turn)),
    "for": list,
    "async for": lambda turn: run(read(turn)),
    "raise_for_error": lambda turn: turn.wait(PATIENCE, check=False).raise_for_error(),
}


@pytest.mark.parametrize(("way", "prompt"), [*((way, "/fail") for way in WAYS), ("wait", "/crash")])
def test_waiting_for_a_failed_turn_raises_an_error_with_the_turn(start: Start, way: str, prompt: str) -> None:
    """For every way to wait, the exception has the turn, and the turn has the error."""
    turn = start().prompt(prompt)
    with pytest.raises(TurnFailed) as raised:
        WAYS[way](turn)
    assert raised.value.turn is turn
    assert turn.error is not None
    assert (turn.state, str(raised.value)) == ("error", turn.error.message)


@pytest.mark.parametrize(("prompt", "reason"), [("/stop refusal", "refusal"), ("/stop max_tokens", "max_tokens")])
def test_wait_returns_a_turn_that_was_refused_or_cut_off(start: Start, prompt: str, reason: str) -> None:
    """A refusal or cut-off is not an agent failure; raise_for_error raises on refusals."""
    turn = start().prompt(prompt).wait(PATIENCE)
    assert turn.stop_reason == reason
    if reason == "refusal":
        with pytest.raises(TurnRefused) as raised:
            turn.raise_for_error()
        assert raised.value.turn is turn
    else:
        assert turn.raise_for_error() is turn


async def wait_for(turn: Turn) -> None:
    await asyncio.wait_for(turn, 0.1)


async def wait_for_reading(turn: Turn) -> None:
    await asyncio.wait_for(read(turn), 0.1)


@pytest.mark.parametrize("wait", [wait_for, wait_for_reading])
def test_asyncio_timeout_cancels_the_turn(start: Start, wait: Callable[[Turn], Awaitable[None]]) -> None:
    turn = start().prompt("/hang")

    async def waits() -> None:
        await wait(turn)

    with pytest.raises(asyncio.TimeoutError):
        run(waits())
    assert turn.wait(PATIENCE).state == "cancelled"


def test_shielded_turn_continues_after_an_asyncio_timeout(start: Start) -> None:
    turn = start().prompt("/slow 3 5")

    async def shielded() -> str:
        inner = asyncio.ensure_future(awaited(turn))
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(inner), 0.001)
        await inner
        return turn.state

    assert run(shielded()) == "complete"


def test_with_block_closes_the_session_at_its_end(start: Start) -> None:
    """Also after an exception; the running turn is cancelled."""
    session = start()

    def fail_inside() -> None:
        with session:
            session.prompt("/hang")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()
    (turn,) = session.turns
    assert (session.closed, turn.wait(PATIENCE).state) == (True, "cancelled")

    async def block() -> Session:
        async with start() as inner:
            await inner.prompt("/say x")
        await inner.aclose()
        return inner

    assert run(block()).closed
