"""Relays messages between stdin and stdout and an agent on another machine, until either side ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from urllib.parse import urlsplit

from agentnb.acp.peer import Output, read_input
from agentnb.agent.elsewhere import is_here
from agentnb.command import OK, complain
from agentnb.credentials import HIDDEN
from agentnb.plugins.remote.http_link import Failures, HttpLink, LinkFailed, WebSocketLink
from agentnb.rpc_message import Lines

_CLOSE_SECONDS = 2.0
_NEWLINES = bytes.maketrans(b"\r\n", b"  ")  # JSON has them only between values


def main(url: str, token: str | None, variable: str | None) -> int:
    """Carry messages until stdin or the connection ends; returns the exit code."""
    logging.disable()  # libraries would write addresses and headers to stderr
    failures = Failures(url, variable)
    try:
        asyncio.run(_carry(_link(url, token, failures)))
    except KeyboardInterrupt:
        return OK
    except Exception as error:  # noqa: BLE001 - it is said in words
        failed = failures.of(error)
        words = f"{failed}\n{failed.hint}"
        return complain(words.replace(token, HIDDEN) if token else words)
    return OK


def _link(url: str, token: str | None, failures: Failures) -> WebSocketLink | HttpLink:
    parts = urlsplit(url)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    context = ssl.create_default_context() if parts.scheme in {"wss", "https"} else None
    at_home = is_here(parts.hostname or "")
    if parts.scheme in {"ws", "wss"}:
        return WebSocketLink(url, headers, context, is_here=at_home)
    return HttpLink(url, headers, context, failures, is_here=at_home)


async def _carry(link: WebSocketLink | HttpLink) -> None:
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()
    framing, has_room = Lines(), asyncio.Event()
    has_room.set()

    def take(data: bytes) -> None:
        for line in framing.feed(data) if data else framing.rest():
            lines.put_nowait(line)
        if not data:
            lines.put_nowait(None)

    output = Output(lambda is_full: has_room.clear() if is_full else has_room.set())

    async def send_all() -> None:
        while (line := await lines.get()) is not None:
            await link.send(line)

    async def receive_all() -> None:
        async for message in link.messages():
            output.write(message.translate(_NEWLINES) + b"\n")
            await has_room.wait()
        raise LinkFailed("The agent ended the connection.")

    await link.open()
    read_input(take)
    work = [asyncio.ensure_future(send_all()), asyncio.ensure_future(receive_all())]
    try:
        done, _ = await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        with contextlib.suppress(Exception):
            await asyncio.wait_for(link.close(), _CLOSE_SECONDS)
        output.finish()
    for task in done:
        task.result()
