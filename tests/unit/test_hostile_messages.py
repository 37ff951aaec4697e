"""Unreadable messages from an agent: each costs only its line."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.rpc import ACP, Connection
from tests.unit.hostile_lines import hostile_lines
from tests.unit.linear import is_linear
from tests.unit.running import run

NESTING_LIMIT = 200
"""Values deeper than this become null."""


class Heard:
    """A connection that keeps notifications and answers."""

    def __init__(self) -> None:
        self.notes: list[Any] = []
        self.answers: list[Any] = []
        self.requests: list[Any] = []
        self.connection = Connection(lambda _: None, ACP, on_notifications=self._noted, on_request=self._record_request)

    def _noted(self, batch: list[tuple[str, Any]]) -> None:
        self.notes += [params["n"] for method, params in batch if method == "good"]

    async def _record_request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.requests.append((method, params))
        return {}


@given(lines=st.lists(hostile_lines(), min_size=1, max_size=6), cut=st.integers(1, 5_000))
def test_unreadable_line_does_not_affect_other_messages(lines: list[bytes], cut: int) -> None:
    """Every other notification and answer arrives in order, however the stream is cut into reads."""

    async def conversation() -> Heard:
        heard = Heard()
        stream = b""
        for number, line in enumerate(lines):
            heard.connection.call("ask", {}, lambda result, error: heard.answers.append((result, error)))
            note = {"jsonrpc": "2.0", "method": "good", "params": {"n": number}}
            answer = {"jsonrpc": "2.0", "id": number + 1, "result": number}
            stream += json.dumps(note).encode() + b"\n" + line + b"\n" + json.dumps(answer).encode() + b"\n"
        for begin in range(0, len(stream), cut * 40):
            heard.connection.feed(stream[begin : begin + cut * 40])
        heard.connection.close()
        await asyncio.sleep(0)
        return heard

    heard = run(conversation())
    assert heard.notes == [*range(len(lines))]
    assert heard.answers == [(number, None) for number in range(len(lines))]


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize("levels", [NESTING_LIMIT * 2, 10_000, 200_000])
async def test_too_deep_response_arrives_with_null_for_deep_values(levels: int) -> None:
    """The waiting call ends; values that are too deep become null."""
    heard = Heard()
    heard.connection.call("ask", {}, lambda result, error: heard.answers.append((result, error)))
    heard.connection.feed(
        f'{{"jsonrpc":"2.0","id":1,"result":{{"text":"all of it","deep":{nested(levels)}}}}}\n'.encode()
    )
    ((result, error),) = heard.answers
    assert (result["text"], error) == ("all of it", None)
    assert json.dumps(result).count("{") == NESTING_LIMIT - 1
    assert '"a": null' in json.dumps(result)


async def test_too_deep_request_is_served() -> None:
    """Otherwise an agent that requests permission with absurd input would wait forever."""
    heard = Heard()
    heard.connection.feed(f'{{"jsonrpc":"2.0","id":"q","method":"ask","params":{nested(5_000)}}}\n'.encode())
    await asyncio.sleep(0)
    assert [method for method, _ in heard.requests] == ["ask"]


@given(st.integers(0, NESTING_LIMIT - 3), st.text(alphabet='[]{}"\\x', max_size=300))
def test_message_within_the_nesting_limit_is_unchanged(levels: int, text: str) -> None:
    """Brackets and quotes inside strings are not nesting."""
    message = f'{{"jsonrpc":"2.0","method":"m","params":{{"deep":{nested(levels)},"text":{json.dumps(text)}}}}}'
    heard: list[Any] = []
    Connection(lambda _: None, ACP, on_notifications=heard.extend).feed(f"{message}\n".encode())
    assert heard == [("m", json.loads(message)["params"])]


@pytest.mark.parametrize("piece", [b"[", b'{"a":', b'"', b'\\"', b'"\\', b"[]", b"x", b"{", b"]"])
def test_reading_a_message_takes_linear_time(piece: bytes) -> None:
    connection = Connection(lambda _: None, ACP)
    assert is_linear(lambda length: connection.feed(b'{"jsonrpc":' + piece * (length // len(piece)) + b"\n"), 150_000)
