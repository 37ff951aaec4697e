"""The kernel's tools over MCP's streamable HTTP, for agents that take no other MCP servers."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.unit.kernel.shell_tools import Tools, waited_for
from tests.unit.kernel.test_server import INITIALIZE

Server = tuple[str, dict[str, str]]
"""An address, and the headers of each request."""


@pytest.fixture
def server(tools: Tools) -> Iterator[Server]:
    """Starts a server for the tools."""
    with tools.served_over_http() as served:
        yield served


def sent(
    server: Server, message: Any, method: str = "POST", **headers: str | None
) -> tuple[int, http.client.HTTPMessage, Any]:
    """Returns the status, the headers and the body of an answer."""
    url, own = server
    named = {**own, **{name.replace("_", "-"): value for name, value in headers.items()}}
    with closing(http.client.HTTPConnection(str(urlsplit(url).netloc), timeout=30)) as connection:
        body = json.dumps(message) if method == "POST" else None
        connection.request(method, "/mcp", body, {name: value for name, value in named.items() if value is not None})
        answer = connection.getresponse()
        return answer.status, answer.headers, json.loads(answer.read() or "null")


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def greeted(server: Server) -> str:
    _, headers, _ = sent(server, request("initialize", **INITIALIZE))
    return str(headers["Mcp-Session-Id"])


def test_http_client_initializes_lists_and_calls_tools(tools: Tools, server: Server) -> None:
    """Each message is a POST; a notification has no answer; an ended session is unknown."""
    tools.shell.user_ns["xs"] = [1, 2]
    status, headers, hello = sent(server, request("initialize", **INITIALIZE))
    session = headers["Mcp-Session-Id"]
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert hello["result"]["serverInfo"]["name"] == "agentnb-kernel"
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert sent(server, note, Mcp_Session_Id=session)[0] == 202
    listed = sent(server, request("tools/list"), Mcp_Session_Id=session)[2]["result"]["tools"]
    assert [tool["name"] for tool in listed] == [*tools.offered()]
    call = request("tools/call", name="inspect", arguments={"path": "xs"})
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(sent, server, call, Mcp_Session_Id=session)
        result = waited_for(tools.job_queue, answer)[2]["result"]
    assert result["content"][0]["text"] == "xs: list, length 2\n[1, 2]"
    assert sent(server, None, "DELETE", Mcp_Session_Id=session)[0] == 200
    assert sent(server, request("ping"), Mcp_Session_Id=session)[0] == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer x"}, 401),
        ({"Origin": "https://example.org"}, 403),
        ({"Host": "example.org"}, 403),
        ({"Mcp_Session_Id": None}, 400),
        ({"Mcp_Session_Id": "x"}, 404),
        ({"Content_Length": "99999999"}, 413),
    ],
)
def test_http_request_is_refused_without_token_or_session(server: Server, headers: dict[str, Any], status: int) -> None:
    """A page in a browser gets nothing, even if its host name leads to this machine."""
    assert sent(server, request("ping"), **{"Mcp_Session_Id": greeted(server), **headers})[0] == status


def test_http_server_refuses_invalid_messages(server: Server) -> None:
    session = greeted(server)
    assert [sent(server, each, Mcp_Session_Id=session)[0] for each in (7, [], [request("ping")])] == [400] * 3
    assert sent(server, None, "PUT", Mcp_Session_Id=session)[0] == 405
    assert sent(server, request("resources/list"), Mcp_Session_Id=session)[2]["error"]["code"] == -32601


def test_cancelled_http_call_gets_an_empty_answer(tools: Tools, server: Server) -> None:
    """MCP `notifications/cancelled` ends the call's POST."""
    session = greeted(server)
    begun = threading.Event()
    tools.while_asked = begun.set
    with ThreadPoolExecutor(1) as thread:
        call = {**request("tools/call", name="run_code", arguments={"code": "1"}), "id": "c"}
        answer = thread.submit(sent, server, call, Mcp_Session_Id=session)
        assert begun.wait(30)
        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c"}}
        assert sent(server, note, Mcp_Session_Id=session)[0] == 202
        assert answer.result(30)[0] == 202
