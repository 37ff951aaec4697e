"""An MCP client on the official SDK (`mcp` on PyPI), for `agentnb mcp`: each stdin line is a tool and its arguments.

Each stdout line is an answer: first the server's name and tools, then for each call if it failed, and its text.
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    """Uses the server of the command line until stdin ends."""
    # By default the SDK passes on only a few variables, without the test's data folder.
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        about = (await session.initialize()).model_dump(mode="json", by_alias=True)
        listed = (await session.list_tools()).model_dump(mode="json", by_alias=True)
        answer([about["serverInfo"]["name"], [tool["name"] for tool in listed["tools"]]])
        while line := await asyncio.to_thread(sys.stdin.readline):
            name, arguments = json.loads(line)
            reply = (await session.call_tool(name, arguments)).model_dump(mode="json", by_alias=True)
            answer([reply["isError"], "\n".join(block.get("text", "") for block in reply["content"])])


def answer(reply: object) -> None:
    """Writes and flushes the answer."""
    print(json.dumps(reply), flush=True)


asyncio.run(main())
