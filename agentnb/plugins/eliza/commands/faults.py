"""Commands that misbehave on purpose, so that clients can show what they do then."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from agentnb.plugins.eliza.commands.registry import Misuse, command, whole
from agentnb.rpc_message import RpcError

if TYPE_CHECKING:
    from agentnb.plugins.eliza.session import Reply

GROUP = "Misbehaving"
CRASH_CODE = 3
"""The exit code of a process that died of `/crash`."""

_STRAY_TEXT = b"eliza: this line is no message\n\nDeprecationWarning: neither is this one\n"
_STRAY_JSON = (
    b'null\n[1, 2]\n42\n"text"\n{}\n{"jsonrpc": "2.0", "id": "nobody", "result": null}\n{"jsonrpc": "2.0", "me\n'
)
_STRAY_BYTES = b"\xff\xfe\x80 not UTF-8\n" + b"\x1b[31mred\x1b[0m\r\n"


@command("fail", "[CODE]", group=GROUP, example="/fail -32000")
async def fail(_: Reply, rest: str) -> None:
    """Answers the prompt with a JSON-RPC error, -32603 or CODE.

    `-32000` says that a login is needed.
    """
    code = whole(rest.strip() or "-32603", "CODE", -32999, -1)
    raise RpcError(code, "eliza failed on purpose", {"command": "/fail"})


@command("crash", group=GROUP)
async def crash(reply: Reply, _: str) -> None:
    """Says a few words, then its process dies, with exit code 3 and a last line on stderr."""
    await reply.say("It was nice to meet you.")
    sys.stderr.write("eliza: died on purpose (/crash)\n")
    sys.stderr.flush()
    os._exit(CRASH_CODE)


@command("hang", group=GROUP)
async def hang(reply: Reply, _: str) -> None:
    """Says a few words, then nothing more until it is cancelled."""
    await reply.say("I am silent until you cancel.")
    await asyncio.Event().wait()


@command("noise", "[all]", group=GROUP, example="/noise all")
async def noise(reply: Reply, rest: str) -> None:
    """Prints stray lines to stdout, between its messages, and to stderr.

    With `all` also stray JSON (null, arrays, numbers, half a message), bytes that are no UTF-8, and 256 KiB on stderr.
    Not every client survives that.
    """
    if rest.strip() not in {"", "all"}:
        raise Misuse(f"`/noise` can be followed by `all` or nothing, not by `{rest.strip()}`.")
    await reply.say("Noise: ")
    reply.client.write(_STRAY_TEXT)
    sys.stderr.write("eliza: a stray line on stderr\n")
    if rest.strip():
        reply.client.write(_STRAY_JSON + _STRAY_BYTES)
        sys.stderr.write(("eliza: " + "z" * 120 + "\n") * 2048)
    sys.stderr.flush()
    await reply.say("survived.")


@command("unknown", group=GROUP)
async def unknown(reply: Reply, _: str) -> None:
    """Sends an update of a kind that no client knows."""
    update = {"sessionUpdate": "eliza_mood", "mood": "patient", "level": 3}
    params = {"sessionId": reply.session.session_id, "update": update}
    await reply.say("I sent an update that you can not know.")
    await reply.client.tell("session/update", params)
