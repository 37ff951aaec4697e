"""Answers with a tool output of 300 KB, a change to a file of 100 KB, and a picture of 100 KB."""

import base64
import random
import struct
import zlib

import wire


def png(side):
    noise = random.Random(7)
    rows = b"".join(b"\0" + noise.randbytes(3 * side) for _ in range(side))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


LINES = "".join(f"line {number}\n" for number in range(25_000)) + "the very last line"
OLD = "".join(f"value {number}\n" for number in range(8_000))
PICTURE = base64.b64encode(png(180)).decode()


def prompt(request):
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Read data.csv", "kind": "read"}
    params = {"sessionId": wire.SESSION, "update": {**call, "status": "in_progress"}}
    wire.send({"method": "session/update", "params": params})
    text = {"type": "content", "content": {"type": "text", "text": LINES}}
    diff = {"type": "diff", "path": "data.txt", "oldText": OLD, "newText": OLD.replace("value 7999", "value 8000")}
    image = {"type": "content", "content": {"type": "image", "mimeType": "image/png", "data": PICTURE}}
    wire.update("tool_call_update", toolCallId="c", status="completed", content=[text, diff, image])
    wire.say("Read it.")
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt)
