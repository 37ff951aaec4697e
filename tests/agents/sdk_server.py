"""An agent on the official SDK, served over HTTP and WebSocket by the SDK's own server.

``sdk_server.py [--certificate CERT --key KEY]`` serves on a free port of the loopback and prints it. If
``SDK_SERVER_TOKEN`` is set, it requires that token. Sessions outlive connections. A prompt is ``note WORD``,
``recall``, ``large BYTES``, ``wait``, ``file PATH``, ``run COMMAND`` or ``meet`` (writes the session's parameters).
"""

import argparse
import asyncio
import itertools
import json
import os
import socket

import acp
import uvicorn
from acp.http.asgi import create_asgi_app
from acp.schema import AgentCapabilities, Implementation

sessions = {}
numbers = itertools.count(1)
token = os.environ.get("SDK_SERVER_TOKEN")


class Notes:
    """Keeps noted words, by session."""

    def __init__(self, client):
        self.client = client

    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, client_capabilities=None, **_):
        return acp.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_info=Implementation(name="notes", title="Notes", version="1.0"),
            agent_capabilities=AgentCapabilities(load_session=True),
        )

    async def new_session(self, cwd, mcp_servers=None, **_):
        session = f"notes-{next(numbers)}"
        sessions[session] = {"cwd": cwd, "servers": [each.name for each in mcp_servers or ()], "words": []}
        return acp.NewSessionResponse(session_id=session)

    async def load_session(self, cwd, session_id, **_):
        if session_id not in sessions:
            raise acp.RequestError.invalid_params({"sessionId": session_id})
        for word in sessions[session_id]["words"]:
            await self.say(session_id, f"noted {word}")
        return acp.LoadSessionResponse()

    async def prompt(self, session_id, prompt, **_):
        verb, _, rest = prompt[0].text.partition(" ")
        words = sessions[session_id]["words"]
        match verb:
            case "note":
                words.append(rest)
                await self.say(session_id, f"noted {rest}")
            case "recall":
                await self.say(session_id, f"{session_id} knows {' '.join(words)}")
            case "large":
                await self.say(session_id, "x" * int(rest))
            case "wait":
                await self.say(session_id, "Waiting.")
                await asyncio.Event().wait()
            case "file":
                await self.say(session_id, (await self.client.read_text_file(session_id, rest)).content)
            case "run":
                terminal = await self.client.create_terminal(session_id, rest)
                await terminal.wait_for_exit()
                await self.say(session_id, (await terminal.current_output()).output)
            case _:
                await self.say(session_id, json.dumps(sessions[session_id]))
        return acp.PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id, **_):
        pass

    async def say(self, session, words):
        await self.client.session_update(session, acp.update_agent_message_text(words))


def guarded(app):
    """Returns *app* behind a check of the token."""

    async def guard(scope, receive, send):
        sent = dict(scope.get("headers") or ()).get(b"authorization", b"").decode()
        if scope["type"] == "lifespan" or token is None or sent == f"Bearer {token}":
            await app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})
        else:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": f"no {sent}".encode()})

    return guard


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    options = parser.parse_args()
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(
        guarded(create_asgi_app(Notes)),
        ssl_certfile=options.certificate,
        ssl_keyfile=options.key,
        log_level="critical",
        ws_max_size=1 << 27,
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[listening])


main()
