"""A server that misbehaves: ``odd_server.py WAY`` listens on a free port of the loopback and prints it.

`silent` accepts connections and sends nothing; `mute` is a WebSocket that never answers; `redirects` sends to another
address, and prints the request; `http` is a web server without WebSockets; `rubbish` answers, with noise
around each message; `huge` sends a frame of more than 64 MiB; `goes` ends the connection with a reason.
"""

import asyncio
import json
import os
import sys

from websockets.asyncio.server import serve

WAY = sys.argv[1]
ANSWERS = {
    "initialize": {"protocolVersion": 1, "agentCapabilities": {}},
    "session/new": {"sessionId": "odd-1"},
    "session/prompt": {"stopReason": "end_turn"},
}
NOISE = ["", "no JSON", "[]", "null", "17", '{"jsonrpc": "2.0"', '"\\ud800"', b"\x00\xff binary", '{"id": {}}']


async def converse(connection):
    async for message in connection:
        request = json.loads(message)
        if WAY == "mute" or "id" not in request:
            continue
        if WAY == "goes":
            await connection.close(4001, "maintenance\x07 " + os.environ.get("ODD_TOKEN", ""))
            return
        if WAY == "huge":
            await connection.send(f'"{"x" * (64 << 20)}"')
            continue
        for noise in NOISE:
            await connection.send(noise)
        if request["method"] == "session/prompt":
            text = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "still here"}}
            update = {"method": "session/update", "params": {"sessionId": "odd-1", "update": text}}
            await connection.send(json.dumps({"jsonrpc": "2.0", **update}, indent=1))
        await connection.send(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": ANSWERS[request["method"]]}))


async def listen(reader, writer):
    if WAY != "silent":
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            (int(each[15:]) for each in request.lower().split("\r\n") if each.startswith("content-length:")), 0
        )
        await reader.readexactly(length)
        status = "307 Temporary Redirect\r\nLocation: /elsewhere?token=s3cret-99" if WAY == "redirects" else "200 OK"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()
    else:
        await reader.read()


async def main():
    if WAY in {"silent", "redirects", "http"}:
        server = await asyncio.start_server(listen, "127.0.0.1", 0)
    else:
        server = await serve(converse, "127.0.0.1", 0, max_size=None, compression=None)
    print(next(iter(server.sockets)).getsockname()[1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
