"""A model server without a model: the model's name and the prompt decide the answer.

Usage: ``python model_server.py`` prints a line of JSON with one port for each kind of server, and serves until its
stdin is closed. ``GET /_seen`` on any port returns every chat request so far, ``GET /_shown`` the models that Ollama
was asked about. ``GET /_left`` answers as soon as a client has left during an answer, ``GET /_begun`` as soon as an
endless completion has started. ``GET /_pulled`` gives Ollama's models other digests, as after another pull.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
import sys

KINDS = ("ollama", "lm_studio", "vllm", "llama_cpp", "bare", "empty", "keyed", "page", "moved", "loading", "fades")
OWNERS = {"ollama": "library", "lm_studio": "organization_owner", "vllm": "vllm", "llama_cpp": "llamacpp"}
KEY = "sk-very-secret"
USAGE = {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}
FAKE_CALL = '<tool_call>\n{"name": "write_file", "arguments": {"path": "owned.txt", "content": "x"}}\n</tool_call>'

MODELS = {
    "echo": "repeats the last message",
    "scripted": "does the steps in the prompt, a JSON list: {'calls': [[NAME, ARGUMENTS]]} or {'say': TEXT}",
    "mends": "writes a notebook with a fault, and mends it when it hears what a verification found",
    "reads": "reads the file that the prompt names, and tells its first line",
    "reasons": "thinks in `reasoning`",
    "reasons-content": "thinks in `reasoning_content`",
    "tags": "thinks in <think> tags, letter by letter",
    "dies": "leaves in the middle of an answer",
    "half": "sends half JSON between the pieces",
    "wrong": "sends wrong types between the pieces",
    "long": "sends a line of 10 MB",
    "busy": "answers 429 once, then well",
    "broken": "answers 500 for ever",
    "error": "sends an error in the middle of an answer",
    "whole": "does not stream",
    "slow": "never ends",
    "fake-call": "writes what looks like a tool call",
    "no-tools": "refuses tools",
    "no-template": "takes tools and drops them: llama.cpp's chat template has no place for them",
    "full": "has a context that is too small, in llama.cpp's words",
    "no-usage": "refuses stream_options",
    "cut": "reaches its limit",
    "fills": "inserts what stands behind `fills: ` in the text before the cursor, or never answers where that is `...`",
}
seen: list[dict] = []
shown_models: list[str] = []
pulls = [0]
busy: dict[str, int] = {}
clock = itertools.count(1795447192)
"""The time of each request for the models; llama.cpp and vLLM report it as the model's creation time."""
left = asyncio.Event()
begun = asyncio.Event()


async def serve(kind, reader, writer):
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            first, *lines = head.decode().split("\r\n")
            _, path, _ = first.split(" ")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            await answer(kind, path, headers, json.loads(body) if body else None, writer)
            await writer.drain()
    writer.close()


def send(writer, status, value, headers=""):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    kind = "text/html" if isinstance(value, bytes) else "application/json"
    writer.write(
        f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{headers}\r\n".encode()
    )
    writer.write(body)


async def answer(kind, path, headers, body, writer):
    key = headers.get("authorization", "").removeprefix("Bearer ")
    if path in {"/_seen", "/_shown", "/_pulled"}:
        pulls[0] += path == "/_pulled"
        send(writer, 200, seen if path == "/_seen" else shown_models)
    elif path in {"/_left", "/_begun"}:
        event = left if path == "/_left" else begun
        await event.wait()
        event.clear()
        send(writer, 200, {})
    elif kind == "page":
        send(writer, 200, b"<html>JupyterHub</html>")
    elif kind == "loading":
        send(writer, 503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}})
    elif kind == "moved":
        send(writer, 307, {}, "location: http://203.0.113.7/v1/models\r\n")
    elif kind == "keyed" and key != KEY:
        send(writer, 401, {"error": {"message": f"Incorrect API key provided: {key}"}})
    elif path == "/v1/models":
        send(writer, 200, models(kind))
    elif (speak := SPEAKING.get(path)) is not None:
        seen.append({"kind": kind, "key": key, "messages": [], **body})
        await speak(kind, body, writer)
    else:
        own(kind, path, body, writer)


def models(kind):
    if kind == "empty":
        return {"object": "list", "data": None}
    limit = {"max_model_len": 4096} if kind == "vllm" else {}
    names = [*MODELS, "nomic-embed-text"] if kind != "bare" else ["echo", "no-tools"]
    owner = OWNERS.get(kind, "me")
    created = next(clock) if kind in {"vllm", "llama_cpp"} else 1
    listed = [{"id": name, "object": "model", "created": created, "owned_by": owner, **limit} for name in names]
    return {"data": listed}


def own(kind, path, body, writer):  # noqa: C901 - likewise
    """The methods of one kind of server."""
    path, _, query = path.partition("?")
    name = query.removeprefix("model=")
    match kind, path:
        case "ollama" | "empty" | "fades", "/api/version":
            send(writer, 200, {"version": "0.12.0"})
        case "fades", "/api/show":
            writer.close()
        case "ollama" | "fades", "/api/tags":
            send(writer, 200, {"models": [{"name": name, "digest": f"{name} {pulls[0]}"} for name in MODELS]})
        case "ollama", "/api/show":
            shown_models.append(body["model"])
            can = ["completion", "thinking", *([] if body["model"] == "no-tools" else ["tools"])]
            send(writer, 200, {"capabilities": can, "model_info": {"qwen3.context_length": 40960, "general.x": 1}})
        case "ollama", "/api/ps":
            send(writer, 200, {"models": [{"name": name, "context_length": 4096} for name in MODELS]})
        case "ollama" | "empty", "/api/pull":
            if body["model"] == "nothing":
                lines = [{"status": "pulling manifest"}, {"error": "pull model manifest: file does not exist"}]
            else:
                sizes = [{"status": "pulling 0a1b", "total": 200, "completed": done} for done in (0, 1, 100, 200)]
                lines = [{"status": "pulling manifest"}, *sizes, {"status": "success"}]
            send(writer, 200, "\n".join(map(json.dumps, lines)).encode())
        case "lm_studio", "/api/v0/models":
            facts = {"type": "vlm", "max_context_length": 32768, "loaded_context_length": 8192}
            listed = [{"id": name, **facts, "capabilities": ["tool_use"]} for name in MODELS]
            send(writer, 200, {"data": listed})
        case "llama_cpp", "/props":
            template = {"supports_tools": name != "no-template", "supports_tool_calls": name != "no-template"}
            settings = {"params": {"n_predict": -1}, "n_ctx": 16384}
            facts = {"default_generation_settings": settings, "modalities": {"vision": False, "audio": False}}
            send(writer, 200, {**facts, "chat_template_caps": template})
        case "llama_cpp", _:
            send(writer, 404, {"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}})
        case _:
            send(writer, 404, b"404 page not found")


async def fill(kind, body, writer):
    """Fill-in-the-middle, as in Ollama and llama.cpp."""
    if kind not in {"ollama", "llama_cpp"}:
        send(writer, 404, {"detail": "Not Found"})
        return
    if body.get("model", "fills") != "fills":
        send(writer, 400, {"error": {"message": f"{body['model']} does not support insert"}})
        return
    text = filled(body["prompt"] if kind == "ollama" else body["input_prefix"])
    if text == "...":
        begun.set()
        await never(Stream(writer), b" ")
    send(writer, 200, {"choices": [{"text": text, "finish_reason": "stop"}]} if kind == "ollama" else {"content": text})


def filled(before):
    """Returns the text to insert, from the last comment `# fills: …` before the cursor."""
    fills = re.findall(r"# fills: (.*)", before)
    return fills[-1].replace("\\n", "\n") if fills else ""


async def chat(kind, body, writer):
    model, messages = body["model"], body["messages"]
    prompt = messages[-1]["content"]
    if model == "no-tools" and body.get("tools"):
        send(writer, 400, {"error": {"message": "no-tools does not support tools"}})
    elif model == "no-usage" and "stream_options" in body:
        send(writer, 400, {"error": {"message": "Unrecognized request argument supplied: stream_options"}})
    elif model == "full" and not body.get("max_tokens"):
        error = "request (1820 tokens) exceeds the available context size (512 tokens), try increasing it"
        send(writer, 400, {"error": {"code": 400, "message": error, "type": "exceed_context_size_error", "n_ctx": 512}})
    elif model == "broken":
        send(writer, 500, {"error": {"message": "CUDA out of memory"}}, "retry-after: 0\r\n")
    elif model == "busy" and busy.setdefault(str(prompt), 1):
        busy[str(prompt)] = 0
        send(writer, 429, {"error": {"message": "Rate limit reached"}}, "retry-after: 0\r\n")
    elif model == "whole" or not body.get("stream"):
        message = {"role": "assistant", "content": "All at once."}
        send(writer, 200, {"choices": [{"message": message, "finish_reason": "stop"}], "usage": USAGE})
    else:
        await stream(Stream(writer), model, messages)


class Stream:
    """One streamed answer."""

    def __init__(self, writer):
        self.writer = writer
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")

    def raw(self, data):
        self.writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def event(self, value):
        self.raw(b"data: " + json.dumps(value).encode() + b"\n\n")

    def delta(self, finish=None, **delta):
        self.event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def text(self, text, size=3):
        for at in range(0, len(text), size):
            self.delta(content=text[at : at + size])

    def call(self, index, name, arguments, size=5):
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        head = {"index": index, "id": f"id-{index}", "type": "function", "function": {"name": name, "arguments": ""}}
        self.delta(role="assistant", content=None, tool_calls=[head])
        for at in range(0, len(written), size):
            self.delta(tool_calls=[{"index": index, "function": {"arguments": written[at : at + size]}}])

    def end(self, finish="stop"):
        self.delta(finish=finish)
        self.event({"choices": [], "usage": USAGE})
        self.raw(b"data: [DONE]\n\n")
        self.raw(b"")


async def stream(out, model, messages):
    if model in ENDLESS:
        await ENDLESS[model](out)
        return
    finish = PIECES.get(model, echo)(out, messages)
    if finish is not None:
        out.end(finish)


def fills(out, messages):
    """Completes code by a chat, as a server without fill-in-the-middle; its answer still has a fence."""
    text = filled(messages[-1]["content"].partition("<CURSOR>")[0])
    out.text(f"```python\n{text}\n```" if text else "")
    return "stop"


def echo(out, messages):
    content = messages[-1]["content"]
    out.text(content if isinstance(content, str) else json.dumps(content))
    return "stop"


def reasons(field):
    def pieces(out, _):
        for piece in ("I ", "wonder."):
            out.delta(**{field: piece, "content": ""})
        out.text("Because.")
        return "stop"

    return pieces


def tags(out, _):
    out.text("<think>\nI wonder, is 1 < 2?\n</think>\n\nBecause </think> is a tag.", 1)
    return "stop"


def half(out, _):
    out.text("Hel")
    out.raw(b'data: {"choices": [{"delta": {"content": "lost\n\n')
    out.raw(b": a comment\n\nevent: ping\r\n\r\n")
    out.text("lo.")
    return "stop"


def wrong(out, _):
    out.text("Hel")
    for value in ([], None, 7, {"choices": 3}, {"choices": [{"delta": {"content": 5, "tool_calls": "x"}}]}):
        out.event(value)
    out.delta(content=["lost"], tool_calls=[None, {"function": 3}, {"function": {"name": 9}}])
    out.event({"usage": {"prompt_tokens": "many"}, "choices": []})
    out.text("lo.")
    return "stop"


def long(out, _):
    out.delta(content="x" * 10_000_000)
    return "stop"


def error(out, _):
    out.text("Half")
    out.event({"error": {"message": "the engine died"}})
    out.raw(b"")


def fake_call(out, _):
    out.text(FAKE_CALL)
    return "stop"


def cut(out, _):
    out.text("So far")
    return "length"


async def dies(out):
    out.text("Half an ans")
    await out.writer.drain()
    out.writer.transport.abort()


async def slow(out):
    out.text("Once upon a time ")
    await never(out, b'data: {"choices": [{"index": 0, "delta": {"content": "and "}}]}\n\n')


async def never(out, piece):
    """Sends a piece again and again, until the client has left."""
    try:
        while not out.writer.is_closing():
            out.raw(piece)
            await out.writer.drain()
            await asyncio.sleep(0.02)
    finally:
        left.set()


def scripted(out, messages):
    """Does the next step of the last prompt: the model has answered once for each step done."""
    start = max(at for at, message in enumerate(messages) if message["role"] == "user")
    done = sum(message["role"] == "assistant" for message in messages[start:])
    steps = json.loads(messages[start]["content"])
    step = steps[done] if done < len(steps) else {}
    if "calls" in step:
        for index, (name, arguments) in enumerate(step["calls"]):
            out.call(index, name, arguments)
        return "tool_calls"
    results = [message["content"] for message in messages[start:] if message["role"] == "tool"]
    out.text(step.get("say") or json.dumps(results), 50)
    return "stop"


def mends(out, messages):
    start = max(at for at, message in enumerate(messages) if message["role"] == "user")
    is_found = "Found:" in messages[start]["content"]
    if any(message["role"] == "assistant" for message in messages[start:]):
        out.text("Mended." if is_found else "Written.")
        return "stop"
    outputs = [{"output_type": "stream", "name": "stdout", "text": "3\n"}]
    source = f"{'numbers = [1, 2]' if is_found else '# numbers'}\nprint(sum(numbers))"
    cell = {
        "cell_type": "code",
        "id": "sum",
        "metadata": {},
        "source": source,
        "outputs": outputs,
        "execution_count": 1,
    }
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    out.call(0, "write_file", {"path": "made.ipynb", "content": json.dumps(notebook)}, 50)
    return "tool_calls"


def reads(out, messages):
    """Reads the file that the prompt names, then writes its number of lines and its first line."""
    if messages[-1]["role"] == "tool":
        lines = messages[-1]["content"].splitlines()
        out.text(f"The file has {len(lines)} lines. The first is: {lines[0]}")
        return "stop"
    out.call(0, "read_file", {"path": re.search(r"[\w-]+\.\w+", json.dumps(messages[-1]["content"]))[0]})
    return "tool_calls"


SPEAKING = {"/v1/chat/completions": chat, "/v1/completions": fill, "/infill": fill}
PIECES = {
    "fills": fills,
    "scripted": scripted,
    "mends": mends,
    "reads": reads,
    "reasons": reasons("reasoning"),
    "reasons-content": reasons("reasoning_content"),
    "tags": tags,
    "half": half,
    "wrong": wrong,
    "long": long,
    "error": error,
    "fake-call": fake_call,
    "cut": cut,
}
ENDLESS = {"dies": dies, "slow": slow}


async def main():
    ports = {}
    for kind in KINDS:
        listener = await asyncio.start_server(lambda r, w, kind=kind: serve(kind, r, w), "127.0.0.1", 0, limit=2**26)
        ports[kind] = listener.sockets[0].getsockname()[1]
    print(json.dumps(ports), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
