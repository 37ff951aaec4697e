"""Built on the official SDK: reads and writes a file, asks for permission, answers in chunks.

A prompt is `copy SOURCE TARGET` or `wait`, which waits for a cancel.
"""

import asyncio

import acp
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    Implementation,
    PermissionOption,
    ToolCallLocation,
    ToolCallUpdate,
)

SESSION = "sdk-1"


class Copier:
    """An agent that copies files through its client."""

    def on_connect(self, conn):
        self.client = conn
        self.cancelled = asyncio.Event()

    async def initialize(self, protocol_version, **_):
        return acp.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_info=Implementation(name="sdk", title="On the SDK", version="1.0"),
            agent_capabilities=AgentCapabilities(),
        )

    async def new_session(self, cwd, **_):
        self.cwd = cwd
        return acp.NewSessionResponse(session_id=SESSION)

    async def prompt(self, session_id, prompt, **_):
        verb, *names = prompt[0].text.split()
        if verb == "wait":
            await self.say("Waiting.")
            await self.cancelled.wait()
            return acp.PromptResponse(stop_reason="cancelled")
        await self.copy(*(f"{self.cwd}/{name}" for name in names))
        return acp.PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id, **_):
        self.cancelled.set()

    async def copy(self, source, target):
        text = (await self.client.read_text_file(SESSION, source)).content
        place = [ToolCallLocation(path=target)]
        await self.tell(acp.start_tool_call("c1", "Copy", kind="edit", status="pending", locations=place))
        options = [
            PermissionOption(option_id="yes", name="Copy", kind="allow_once"),
            PermissionOption(option_id="no", name="Leave", kind="reject_once"),
        ]
        call = ToolCallUpdate(tool_call_id="c1", title="Copy", kind="edit", locations=place)
        answer = await self.client.request_permission(SESSION, call, options)
        if not (isinstance(answer.outcome, AllowedOutcome) and answer.outcome.option_id == "yes"):
            await self.tell(acp.update_tool_call("c1", status="failed"))
            await self.say("I leave it.")
            return
        await self.client.write_text_file(SESSION, target, text)
        content = [acp.tool_diff_content(target, text)]
        await self.tell(acp.update_tool_call("c1", status="completed", content=content))
        for word in ("Copied ", f"{len(text)} ", "characters."):
            await self.say(word)

    async def say(self, words):
        await self.tell(acp.update_agent_message_text(words))

    async def tell(self, update):
        await self.client.session_update(SESSION, update)


asyncio.run(acp.run_agent(Copier()))
