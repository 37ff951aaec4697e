"""Commands that use what the client brought: MCP servers, and extension methods."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentnb.plugins.acp_agent.client_tools import call_tool
from agentnb.plugins.acp_agent.reply import Trouble
from agentnb.plugins.eliza.commands.registry import Misuse, command, counted, first_word, needed
from agentnb.rpc_message import RpcError
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from agentnb.plugins.acp_agent.client_requests import McpServer
    from agentnb.plugins.acp_agent.updates import ToolKind
    from agentnb.plugins.eliza.session import Reply

_VERBS = ("variables", "inspect", "run", "cells", "insert", "replace", "run-cell")
_READERS = frozenset({"variables", "inspect", "cells"})


@command("mcp", "[SERVER [TOOL [JSON]]]", group="Acting", example='/mcp files read {"path": "data.csv"}')
async def mcp(reply: Reply, rest: str) -> None:
    """Names the MCP servers that came with the session; starts SERVER and lists its tools, or calls TOOL.

    JSON is an object with the tool's arguments. A server on stdio runs in the session's folder and ends with the
    command; one that the client serves over ACP is connected to for as long. Others are not known to eliza.
    """
    name, rest = first_word(rest)
    if not name:
        await reply.say(_servers(reply))
        return
    tool, rest = first_word(rest)
    arguments = _object(rest)
    if tool:
        await _use(reply, name, tool, arguments)
        return
    async with reply.connected(_server(reply, name)) as client:
        about = " ".join(str(client.about[key]) for key in ("name", "version") if client.about.get(key))
        tools = [f"- `{each.get('name')}`: {each.get('description', '')}" for each in await client.tools()]
        await reply.say(f"`{name}` is {about or 'nameless'}, with {counted(len(tools), 'tool')}:\n\n")
        await reply.say("\n".join(tools) + "\n")


@command("kernel", "VERB [WORDS]", group="Acting", example="/kernel run total = df.price.sum(); total")
async def kernel(reply: Reply, rest: str) -> None:
    """Uses the kernel tools, if the client gives access to the kernel: the MCP server `kernel`.

    - `/kernel variables [FILTER]` lists the variables
    - `/kernel inspect PATH` shows one, or what is in it: `df.columns`, `runs[0]`
    - `/kernel run CODE` runs code, of one line or many
    - `/kernel cells [FIRST [LAST]]` reads the notebook, with its outputs
    - `/kernel insert SOURCE` puts a cell at the notebook's end
    - `/kernel replace CELL SOURCE` changes a cell's text; CELL is its id, or the n of its In [n]
    - `/kernel run-cell CELL` runs a cell
    """
    verb, *words = rest.strip().split(maxsplit=1) or [""]
    rest = words[0] if words else ""
    first, more = first_word(rest) if verb in {"replace", "cells"} else (rest.strip(), "")
    tool: str
    arguments: dict[str, Any]
    match verb:
        case "variables":
            tool, arguments = "variables", {"filter": first} if first else {}
        case "inspect":
            tool, arguments = "inspect", {"path": needed(first, "PATH")}
        case "run":
            tool, arguments = "run_code", {"code": needed(first, "CODE")}
        case "cells":
            named = f"{first} {more}".split()
            tool, arguments = "cells", {**dict(zip(("first", "last"), named, strict=False)), "outputs": True}
        case "insert":
            tool, arguments = "insert_cell", {"source": needed(first, "SOURCE")}
        case "replace":
            tool, arguments = "replace_cell", {"cell": needed(first, "CELL"), "source": needed(more, "SOURCE")}
        case "run-cell":
            tool, arguments = "run_cell", {"cell": needed(first, "CELL")}
        case _:
            raise Misuse(f"VERB must be one of {', '.join(_VERBS)}, not `{verb}`.")
    names = [server.name for server in reply.session.mcp_servers if server.name.endswith("kernel")]
    if not names:
        raise Trouble("This conversation can't access the kernel (in agentnb: `%agent -n --kernel`).")
    await _use(reply, names[-1], tool, arguments, kind="read" if tool in _READERS else "execute")


@command("extend", "METHOD [JSON]", group="Asking", example='/extend _zoo/feed {"animal": "otter"}')
async def extend(reply: Reply, rest: str) -> None:
    """Calls an extension method of the client, and says its answer.

    METHOD begins with an underscore; JSON is an object with its parameters.
    """
    method, rest = first_word(rest)
    if not needed(method, "METHOD").startswith("_"):
        raise Misuse(f"METHOD must begin with an underscore, not `{method}`.")
    params = {"sessionId": reply.session.session_id, **_object(rest)}
    try:
        answer = await reply.client.ask(method, params)
    except RpcError as refused:
        raise Trouble(f"The client refused `{method}`: {refused} ({refused.code}).") from None
    await reply.say(f"The client answered:\n\n```json\n{json.dumps(answer, indent=2)}\n```\n")


async def _use(reply: Reply, name: str, tool: str, arguments: dict[str, Any], kind: ToolKind = "other") -> None:
    async with reply.connected(_server(reply, name)) as client:
        call = await reply.start_tool(f"{name}: {tool}", kind, raw_input=arguments)
        blocks, failed = await call_tool(call, client, tool, arguments, is_raw_shown=True)
        texts = [block for block in blocks if isinstance(block, str)]
        answer = "\n".join(texts) or counted(len(blocks) - len(texts), "picture")
        # A fence opens a code block only at the beginning of a line.
        gap = "\n\n" if answer.startswith("```") else " "
        await reply.say(f"`{name}: {tool}` {'failed' if failed else 'said'}:{gap}{answer}")


def _server(reply: Reply, name: str) -> McpServer:
    server = next((each for each in reply.session.mcp_servers if each.name == name), None)
    if server is None:
        raise Trouble(f"There is no MCP server `{name}`. {_servers(reply)}")
    return server


def _servers(reply: Reply) -> str:
    names = ", ".join(f"`{server.name}`" for server in reply.session.mcp_servers)
    return f"These came with the session: {names}." if names else "None came with the session."


def _object(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        value = read_json(text)
    except ValueError as error:
        raise Misuse(f"JSON is not valid: {error}.") from None
    if not isinstance(value, dict):
        raise Misuse("JSON must be an object.")
    return value
