"""A component of a chain on stdio, in Python without an SDK: it forwards everything, or has one fault.

``proxy.py [BEHAVIOUR] [FORM]``. FORM is how it speaks to its successor: ``new`` (``proxy/successor``), ``sdk``
(``_proxy/successor``) or ``old`` (``_proxy/successor/request``). The behaviours are the functions below, by name.
"""

import os
import signal
import sys

import wire

BEHAVIOUR, FORM = [*sys.argv[1:], *("plain", "new")[len(sys.argv) - 1 :]]
INITIALIZE = {"new": "proxy/initialize", "sdk": "_proxy/initialize", "old": "initialize"}[FORM]
OWN_SERVER = {
    "serves_tools": {"type": "acp", "id": "clock-1", "serverId": "clock-1"},
    "serves_tools_by_id": {"type": "acp", "id": "clock-1"},
    "serves_tools_by_server_id": {"type": "acp", "serverId": "clock-1"},
    "serves_tools_by_url": {"type": "http", "url": "acp:clock-1", "headers": []},
}
"""The forms in which it can declare its MCP server: of the text and the schema, of each alone, of the older draft."""
numbers = iter(range(1000, 10_000_000))
waiting = {}
kept = []
late = []
ENVELOPES = ("proxy/successor", "_proxy/successor", "_proxy/successor/request", "_proxy/successor/notification")


def down(message, done=None):
    """Sends *message* to the successor; *done* takes the answer."""
    name = {"new": "proxy/successor", "sdk": "_proxy/successor"}.get(FORM)
    name = name or f"_proxy/successor/{'request' if done else 'notification'}"
    inner = {"method": message["method"], "params": message.get("params", {})}
    send({"method": name, "params": inner}, done)


def send(message, done=None):
    if done is None:
        wire.send(message)
        return
    number = next(numbers)
    waiting[number] = done
    wire.send({**message, "id": number})


def reply(message, answer):
    """Answers *message* with the successor's answer."""
    if message["method"] == "session/prompt":
        dies("answer_to_prompt")
    answer = {"id": message["id"], **{key: answer[key] for key in ("result", "error") if key in answer}}
    CHANGES.get(BEHAVIOUR, wire.send)(answer) if message["method"] != INITIALIZE else wire.send(answer)


def out_of_order(answer):
    """Keeps answers until there are two, and sends the later one first."""
    kept.append(answer)
    if len(kept) == 2:
        wire.send(kept.pop())
        wire.send(kept.pop())


def twice(answer):
    wire.send(answer)
    wire.send(answer)


def never(answer):
    pass


def changes_ids(answer):
    wire.send({**answer, "id": 77_000_000})


def ids_as_text(answer):
    wire.send({**answer, "id": str(answer["id"])})


CHANGES = {each.__name__: each for each in (out_of_order, twice, never, changes_ids, ids_as_text)}


def dies(point):
    """Exits if it should die here: ``dies_at_initialize``, ``dies_at_session/new``, ``dies_at_answer``."""
    if BEHAVIOUR == f"dies_at_{point}":
        sys.stderr.write("out of patience\n")
        sys.stderr.flush()
        os._exit(9)


def initialize(message):
    request = {**message, "method": "initialize"}
    if BEHAVIOUR == "drops_initialize":
        return
    if BEHAVIOUR == "answers_initialize_itself":
        wire.answer(message, {"protocolVersion": 1})
    elif BEHAVIOUR == "sends_too_early":
        early = {"method": "session/new", "params": {"cwd": "/", "mcpServers": []}}
        down(early, lambda answer: wire.refuse(message, -32603, answer["error"]["message"]))
    else:
        down(request, lambda answer: (dies("answer"), reply(message, answer)))


def changed_prompt(message):
    """Returns the prompt to forward, after the behaviour's own action."""
    if BEHAVIOUR == "floods":
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "word "}}
        for _ in range(2_000):
            wire.send({"method": "session/update", "params": {"sessionId": wire.SESSION, "update": update}})
    elif BEHAVIOUR == "rubbish":
        wire.raw(b"no json\n[1]\n{}\n" + b'{"jsonrpc":"2.0","method":"proxy/successor","params":{}}\n')
    elif BEHAVIOUR == "shouts":
        blocks = [{**block, "text": block["text"].upper()} for block in message["params"]["prompt"]]
        return {**message, "params": {**message["params"], "prompt": blocks}}
    return message


def from_client(message):
    method = message["method"]
    dies(method.rpartition("proxy/")[2])
    if method == INITIALIZE:
        initialize(message)
        return
    if method in ("proxy/initialize", "_proxy/initialize", "initialize"):
        wire.refuse(message, -32601, "Method not found")
        return
    if method == "session/prompt":
        message = changed_prompt(message)
    elif method == "session/new" and BEHAVIOUR in OWN_SERVER:
        own = {"name": "clock", **OWN_SERVER[BEHAVIOUR]}
        params = {**message["params"], "mcpServers": [*message["params"]["mcpServers"], own]}
        message = {**message, "params": params}
    if "id" in message:
        down(message, lambda answer: reply(message, answer))
    else:
        down(message)


def works():
    """Takes as long as a component may need to inspect a message."""
    sum(number * number for number in range(20_000))


def from_successor(message):
    inner = {key: message["params"][key] for key in ("method", "params") if key in message["params"]}
    dies(inner["method"])
    if BEHAVIOUR == "slow":
        works()
    if BEHAVIOUR in OWN_SERVER and inner["method"].startswith(("mcp/", "_mcp/")) and "id" in message:
        serve(message, inner)
    elif "id" in message:
        send(inner, lambda answer: reply({"method": "", "id": message["id"]}, answer))
    else:
        wire.send(inner)


def serve(message, inner):
    """Answers as an MCP server with one tool."""
    params = inner["params"]
    if inner["method"].endswith("mcp/connect"):
        wire.answer(message, {"connectionId": "c1"})
    elif params.get("method") == "tools/call":
        text = f"{params['params']['name']} {params['params'].get('arguments')}"
        wire.answer(message, {"content": [{"type": "text", "text": text}]})
    elif params.get("method") == "tools/list":
        wire.answer(message, {"tools": [{"name": "now", "inputSchema": {"type": "object"}}]})
    else:
        info = {"name": "clock", "version": "1"}
        wire.answer(message, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info})


def is_told_late(message):
    """True for messages that it forwards only when its stdin ends: a turn's updates and the answer."""
    if BEHAVIOUR != "late":
        return False
    return bool(late) or message.get("params", {}).get("method") == "session/update"


def take(message):
    if "method" not in message:
        waiting.pop(message["id"])(message)
    elif message["method"] == "$/cancel_request":
        wire.send({"method": "$/cancel_request", "params": {"requestId": max(waiting, default=0)}})
    elif message["method"] in ENVELOPES:
        from_successor(message)
    else:
        from_client(message)


def end():
    """Runs when its stdin has ended."""
    for each in late:
        take(each)
    if BEHAVIOUR == "refuses_at_the_end":
        for done in [*waiting.values()]:
            done({"error": {"code": -32603, "message": "The successor is gone."}})
    if BEHAVIOUR == "stays":
        signal.pause()


dies("start")
try:
    while True:
        received = wire.receive()
        if is_told_late(received):
            late.append(received)
        else:
            take(received)
except SystemExit:
    end()
