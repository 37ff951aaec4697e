"""eliza accepts and refuses the same parameters as the official SDK's models.

The inside: generated parameters, thousands of them.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from acp import schema as sdk
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from agentnb.plugins.acp_agent import client_requests as own
from agentnb.plugins.acp_agent.content import SessionParams, read_blocks, read_params
from agentnb.rpc_message import RpcError
from tests.thorough import examples

STDIO = {"name": "files", "command": "x", "args": ["y"], "env": [{"name": "A", "value": "b"}]}
SERVERS: list[dict[str, Any]] = [
    STDIO,
    {"type": "acp", "name": "own", "serverId": "s"},
    {"type": "http", "name": "h", "url": "u", "headers": []},
]
CAPABILITIES = {
    "fs": {"readTextFile": True, "writeTextFile": False},
    "terminal": True,
    "session": {"configOptions": {"boolean": {}}},
    "elicitation": {"form": {}},
}
OPEN = {"sessionId": "s", "cwd": "/", "mcpServers": SERVERS, "_meta": {"a": 1}}
VALUE = {"sessionId": "s", "configId": "c", "value": "v"}
REQUESTS: list[tuple[type[msgspec.Struct], type[BaseModel], dict[str, Any]]] = [
    (own.Initialize, sdk.InitializeRequest, {"protocolVersion": 1, "clientCapabilities": CAPABILITIES}),
    (own.Authenticate, sdk.AuthenticateRequest, {"methodId": "m", "unknown": 1}),
    (own.NewSession, sdk.NewSessionRequest, {"cwd": "/", "mcpServers": SERVERS}),
    (own.LoadSession, sdk.LoadSessionRequest, OPEN),
    (own.OpenSession, sdk.ResumeSessionRequest, OPEN),
    (own.OpenSession, sdk.ForkSessionRequest, OPEN),
    (own.ListSessions, sdk.ListSessionsRequest, {"cwd": "/", "cursor": "5"}),
    (own.SetMode, sdk.SetSessionModeRequest, {"sessionId": "s", "modeId": "m"}),
    (own.SetConfigOption, sdk.SetSessionConfigOptionSelectRequest, VALUE),
    (own.SetConfigOption, sdk.SetSessionConfigOptionBooleanRequest, {**VALUE, "type": "boolean", "value": True}),
    (own.Prompt, sdk.PromptRequest, {"sessionId": "s", "prompt": []}),
    (SessionParams, sdk.CancelNotification, {"sessionId": "s"}),
]
BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": "words", "annotations": {"priority": 0.5}, "_meta": {"a": None}, "unknown": 1},
    {"type": "image", "data": "AAEC", "mimeType": "image/png", "uri": "x:/a"},
    {"type": "audio", "data": "AAEC", "mimeType": "audio/wav", "_meta": {}},
    {"type": "resource_link", "name": "n", "uri": "x:/", "size": 5, "title": "t", "mimeType": "m", "description": "d"},
    {"type": "resource", "resource": {"uri": "x:/", "text": "words", "mimeType": "text/csv"}},
    {"type": "resource", "resource": {"uri": "x:/", "blob": "AAEC"}, "annotations": {}},
]
# Without text and numbers that the SDK converts to booleans or other numbers: eliza is stricter there.
JUNK = st.sampled_from([None, -7, 5.5, "junk", [], {}, ["junk"], {"junk": 1}])

FEW = settings(max_examples=examples(40))


@st.composite
def damaged(draw: st.DrawFn, value: dict[str, Any]) -> dict[str, Any]:
    """Returns *value* with a few fields removed or replaced, at any depth."""
    copy: dict[str, Any] = {}
    for name, item in value.items():
        fate = draw(st.sampled_from(["kept", "kept", "kept", "gone", "junk"])) if name != "type" else "kept"
        if fate == "junk":
            copy[name] = draw(JUNK)
        elif fate == "kept":
            copy[name] = draw(damaged(item)) if isinstance(item, dict) and name != "annotations" else item
    return copy


def accept(kind: type[msgspec.Struct], params: dict[str, Any]) -> None:
    request = read_params(kind, params)
    if isinstance(request, own.Prompt):
        read_blocks(request.prompt)


@pytest.mark.parametrize(("kind", "model", "example"), REQUESTS, ids=lambda value: getattr(value, "__name__", ""))
@FEW
@given(data=st.data())
def test_parameters_are_accepted_exactly_as_by_the_sdk(
    kind: type[msgspec.Struct], model: type[BaseModel], example: dict[str, Any], data: st.DataObject
) -> None:
    """Missing, wrong, unknown and optional fields; a refusal is `-32602` with details."""
    params = data.draw(damaged(example))
    try:
        model.model_validate(params)
    except ValidationError:
        with pytest.raises(RpcError, match="Invalid params") as refused:
            accept(kind, params)
        assert (refused.value.code, list(refused.value.data)) == (-32602, ["details"])
    else:
        accept(kind, params)


@FEW
@given(block=st.sampled_from(BLOCKS).flatmap(damaged))
def test_content_block_is_read_as_by_the_sdk(block: dict[str, Any]) -> None:
    """It has the same fields in the same order, for the replay, or is refused."""
    try:
        request = sdk.PromptRequest.model_validate({"sessionId": "s", "prompt": [block]})
    except ValidationError:
        with pytest.raises(RpcError, match="Invalid params"):
            read_blocks([block])
        return
    (theirs,) = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in request.prompt]
    (ours,) = msgspec.to_builtins(read_blocks([block]))
    assert list(map(repr, ours.items())) == list(map(repr, theirs.items()))


@FEW
@given(server=st.sampled_from(SERVERS).flatmap(damaged))
def test_invalid_mcp_servers_are_ignored(server: dict[str, Any]) -> None:
    """Servers over HTTP are left out, too: eliza cannot reach them."""
    request = sdk.NewSessionRequest.model_validate({"cwd": "/", "mcpServers": [server, STDIO]})
    reached = [each.name for each in request.mcp_servers if isinstance(each, (sdk.McpServerStdio, sdk.McpServerAcp))]
    assert [each.name for each in own.reachable([server, STDIO])] == reached
