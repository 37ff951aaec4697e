"""The connection: order, repairs, requests, and its end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.errors import AgentDied, ProtocolError
from agentnb.rpc import ACP, AHP, LSP, MCP, Connection, Dialect
from tests.unit.api.conftest import PATIENCE


class End:
    """The other end: records the written messages and all events in order."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.events: list[Any] = []
        self.wrote = asyncio.Event()
        self.connection = Connection(
            self._write,
            ACP,
            on_notifications=self._notified,
            on_request=self._requested,
            on_closed=self._closed,
        )

    def _write(self, data: bytes) -> None:
        self.sent += [json.loads(line) for line in data.splitlines()]
        self.wrote.set()

    def _notified(self, batch: list[tuple[str, Any]]) -> None:
        self.events.append([method for method, _ in batch])

    async def _requested(self, method: str, params: dict[str, Any]) -> Any:
        self.events.append(f"asked {method}")
        match method:
            case "wait":
                await asyncio.Event().wait()
            case "bug":
                raise KeyError("inside")
            case "odd":
                return object()
        return params

    def _closed(self, reason: Exception | None) -> None:
        self.events.append(("closed", reason))

    def done(self, result: Any, error: Exception | None) -> None:
        self.events.append(("done", result, error))

    async def answer(self) -> dict[str, Any]:
        self.wrote.clear()
        await asyncio.wait_for(self.wrote.wait(), PATIENCE)
        return self.sent[-1]


def lines(*messages: dict[str, Any]) -> bytes:
    """Returns messages as lines."""
    return b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in messages)


async def test_responses_and_notifications_keep_their_order() -> None:
    """Each run of notifications between answers is one list."""
    end = End()
    end.connection.call("ask", {}, end.done)
    end.connection.feed(lines({"method": "a"}, {"method": "b"}, {"id": 1, "result": 7}, {"method": "c"}))
    assert end.events == [["a", "b"], ("done", 7, None), ["c"]]


async def test_log_line_with_an_id_is_not_a_response() -> None:
    """Some programs write JSON log lines among their messages, and some answer `"1"` to request `1`."""
    end = End()
    end.connection.call("ask", {}, end.done)
    end.connection.feed(lines({"id": 1, "level": "info", "msg": "started"}))
    assert (end.events, end.connection.stray) == ([], 1)
    end.connection.feed(lines({"id": "1", "result": None, "error": None}))
    assert end.events == [("done", None, None)]


async def test_stray_lines_are_counted_and_skipped() -> None:
    """Stray text, null, arrays, numbers, half JSON, bad UTF-8, unknown answers: the reader goes on."""
    end = End()
    end.connection.feed(b'Hello\n\n \nnull\n[1]\n42\n"x"\n{"a":\n\xff\xfe\n{}\n' + lines({"id": 9, "result": 1}))
    end.connection.feed(
        b'{"jsonrpc":"2.0","method":5}\n{"jsonrpc":"2.0","id":{"a":1},"result":1}\n' + lines({"method": "a"})
    )
    assert end.events == [["a"]]
    assert end.connection.stray == 11


@pytest.mark.parametrize(
    ("line", "params"),
    [
        (b'50% done {"jsonrpc": "2.0", "method": "m", "params": {"a": "b"}}', {"a": "b"}),
        (b'{"jsonrpc": "2.0", "method": "m", "params": {"a": "\xff"}}', {"a": "\ufffd"}),
        (b'{"jsonrpc": "2.0", "method": "m", "params": {"a": "\\ud83d"}}', {"a": "\ufffd"}),
        (b'{"jsonrpc": "2.0", "method": "m", "params": {"a": "\\ud83d\\ude00"}}', {"a": "\U0001f600"}),
        (b'{"jsonrpc": "2.0", "method": "m", "params": {"a": Infinity}}', {"a": float("inf")}),
        (b'{"jsonrpc": "2.0", "method": "m", "params": {"a": 1}}\r', {"a": 1}),
    ],
)
def test_message_with_repairable_faults_is_read(line: bytes, params: dict[str, Any]) -> None:
    """Despite text before it, bad UTF-8, lone surrogates, or invalid JSON numbers."""
    heard: list[Any] = []
    Connection(lambda _: None, ACP, on_notifications=heard.extend).feed(line + b"\n")
    assert heard == [("m", params)]


@given(st.lists(st.text(max_size=20), max_size=8), st.data())
def test_messages_do_not_depend_on_how_the_stream_is_cut(texts: list[str], data: st.DataObject) -> None:
    """Reads may end anywhere, even inside a character."""
    heard: list[Any] = []
    connection = Connection(lambda _: None, ACP, on_notifications=heard.extend)
    rest = lines(*({"method": "m", "params": [text]} for text in texts))
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        connection.feed(rest[:size])
        rest = rest[size:]
    assert heard == [("m", [text]) for text in texts]


async def test_last_line_is_read_without_its_newline() -> None:
    """A process that dies mid-line may have written a whole message."""
    end = End()
    end.connection.feed(lines({"method": "last"})[:-1])
    end.connection.close(None)
    assert end.events == [["last"], ("closed", None)]


async def test_too_long_line_closes_the_connection() -> None:
    """It limits the memory."""
    ends: list[Any] = []
    Connection(lambda _: None, ACP, on_closed=ends.append, longest=10).feed(b"x" * 11)
    assert [type(each) for each in ends] == [ProtocolError]


async def test_request_is_answered_with_its_id_or_the_reason() -> None:
    """The reader goes on after a failure."""
    end = End()
    end.connection.feed(lines({"id": "q-1", "method": "echo", "params": {"x": 1}}))
    assert await end.answer() == {"jsonrpc": "2.0", "id": "q-1", "result": {"x": 1}}
    for method, says in (("bug", "KeyError"), ("odd", "no JSON")):
        end.connection.feed(lines({"id": 1, "method": method}))
        error = (await end.answer())["error"]
        assert (error["code"], says in error["message"]) == (-32603, True)


async def test_request_that_waits_blocks_nothing_and_can_be_cancelled() -> None:
    """A request that waits for a person does not block updates; ACP `$/cancel_request`."""
    end = End()
    end.connection.feed(lines({"id": 5, "method": "wait"}, {"method": "a"}))
    assert end.events == [["a"]]
    await asyncio.sleep(0)
    end.connection.feed(lines({"method": "$/cancel_request", "params": {"requestId": 5}}))
    assert (await end.answer())["error"]["code"] == -32800


async def test_close_fails_waiting_calls_with_the_reason() -> None:
    """Once; later requests fail the same way."""
    end = End()
    end.connection.call("ask", {}, end.done)
    reason = AgentDied("gone")
    end.connection.close(reason)
    end.connection.close(None)
    end.connection.call("ask", {}, end.done)
    assert end.events == [("done", None, reason), ("closed", reason), ("done", None, reason)]


async def test_failing_callback_does_not_stop_the_reader(caplog: pytest.LogCaptureFixture) -> None:
    """The error is logged."""
    end = End()

    def broken(*_: object) -> None:
        raise RuntimeError("mine")

    end.connection.call("ask", {}, broken)
    end.connection.feed(lines({"id": 1, "result": 1}, {"method": "a"}))
    assert end.events == [["a"]]
    assert "a callback of the connection failed" in caplog.text


async def test_abandoned_request_is_cancelled_at_the_peer() -> None:
    """ACP `$/cancel_request` from agentnb: after a timeout or cancellation, but not after an answer."""
    end = End()
    with pytest.raises(TimeoutError, match="no answer to slow in 0"):
        await end.connection.request("slow", {}, 0.01)
    end.connection.feed(lines({"id": 1, "result": "too late"}))
    assert end.connection.stray == 1
    waiting = asyncio.ensure_future(end.connection.request("given up", {}))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    answered = asyncio.ensure_future(end.connection.request("answered", {}))
    await asyncio.sleep(0)
    end.connection.feed(lines({"id": 3, "result": 1}))
    assert await answered == 1
    taken_back = [message["params"] for message in end.sent if message["method"] == "$/cancel_request"]
    assert taken_back == [{"requestId": 1}, {"requestId": 2}]


DEEP = b'{"jsonrpc":"2.0","id":1,"method":"echo","params":' + b'{"a":' * 1_000 + b"1" + b"}" * 1_001
BAD: dict[bytes, int] = {
    b"no json": -32700,
    b"\xff\xfe": -32700,
    b"[" * 100_000: -32700,
    DEEP: -32700,
    b"7": -32600,
    b"null": -32600,
    b"{}": -32600,
    b'{"jsonrpc":"1.0","id":1,"method":"echo"}': -32600,
    b'{"jsonrpc":"2.0","id":{},"method":"echo"}': -32600,
    b'{"jsonrpc":"2.0","id":true,"method":"echo"}': -32600,
    b'{"jsonrpc":"2.0","id":1,"method":7}': -32600,
    b"[]": -32600,
}
"""Invalid messages, each with the error code of a protocol that repairs nothing."""


class Strict:
    """Records the answers of a connection whose protocol repairs nothing."""

    def __init__(self, dialect: Dialect) -> None:
        self.sent: list[Any] = []
        self.methods: list[str] = []
        self.answers: asyncio.Queue[Any] = asyncio.Queue()
        self.connection = Connection(self._write, dialect, on_request=self._answer)

    def _write(self, data: bytes) -> None:
        self.sent.append(json.loads(data))
        self.answers.put_nowait(self.sent[-1])

    def _answer(self, method: str, params: Any) -> Any:
        self.methods.append(method)
        return {"params": params} if method == "echo" else asyncio.sleep(0, {"later": True})


@pytest.mark.parametrize("dialect", [AHP, MCP])
@pytest.mark.parametrize("data", BAD, ids=lambda data: data[:40].decode("latin-1"))
async def test_strict_protocol_answers_a_bad_message_without_id(dialect: Dialect, data: bytes) -> None:
    """It has no effect, and the next message is answered."""
    strict = Strict(dialect)
    strict.connection.receive(data)
    strict.connection.receive(b'{"jsonrpc":"2.0","id":"next","method":"echo"}')
    refused, answered = strict.sent
    assert (refused["id"], refused["error"]["code"]) == (None, BAD[data])
    assert (answered["id"], strict.methods) == ("next", ["echo"])


async def test_batch_is_answered_with_one_array() -> None:
    """MCP 2025-03-26; other protocols have no batches."""
    strict = Strict(MCP)
    strict.connection.feed(
        b'[{"jsonrpc":"2.0","id":1,"method":"later"},{"jsonrpc":"2.0","method":"x"},7,'
        b'{"jsonrpc":"2.0","id":2,"method":"echo","params":[1]}]\n'
    )
    answers = await strict.answers.get()
    assert [(each["id"], "result" in each) for each in answers] == [(1, True), (None, False), (2, True)]


@given(st.lists(st.text(min_size=1, max_size=20), max_size=5), st.integers(1, 200))
def test_messages_with_headers_do_not_depend_on_stream_cuts(texts: list[str], size: int) -> None:
    """LSP: the length counts bytes."""
    bodies = [json.dumps({"jsonrpc": "2.0", "method": text}, ensure_ascii=False).encode() for text in texts]
    stream = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
    heard: list[Any] = []
    connection = Connection(lambda _: None, LSP, on_notifications=heard.extend)
    for at in range(0, len(stream), size):
        connection.feed(stream[at : at + size])
    assert [method for method, _ in heard] == texts


@pytest.mark.parametrize("head", [b"x" * 5_000, b"Content-Length: 9999999999\r\n\r\n", b"Content-Type: x\r\n\r\n{}"])
async def test_header_without_a_valid_length_closes_the_connection(head: bytes) -> None:
    """The next message cannot be found; waiting calls fail."""
    ends: list[Any] = []
    connection = Connection(lambda _: None, LSP, on_closed=ends.append)
    connection.call("ask", {}, lambda _result, error: ends.append(error))
    connection.feed(head)
    assert [type(each) for each in ends] == [ProtocolError, ProtocolError]
    assert connection.closed
