"""Calls the client's kernel tools as the prompt says: a JSON list of steps, one key each; writes the tools' answers.

``say``: a text that the agent writes. ``update``: a session update. ``ask``: a permission request for a tool call.
``start``: a tool and its arguments, called over MCP. ``end``: waits for the answers of the last so many calls.
``write``: a file and its text, written without asking. ``fail``: refuses the prompt, with this reason. With an
argument the steps are in that file. Any other prompt it repeats.
"""

import json
import sys
from pathlib import Path

import wire

connection = None
numbers = iter(range(1, 1000))
answers = {}


def request(method, /, **params):
    number = next(numbers)
    wire.send({"id": number, "method": method, "params": params})
    return number


def answer(number):
    while number not in answers:
        message = wire.receive()
        if "method" not in message:
            answers[message["id"]] = message
    return answers[number]


def new(message):
    global connection  # noqa: PLW0603
    for server in message["params"]["mcpServers"]:
        connection = answer(request("mcp/connect", serverId=server["serverId"]))["result"]["connectionId"]
    wire.answer(message, {"sessionId": wire.SESSION})


OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]


def prompt(message):
    begun = []
    steps = Path(sys.argv[1]).read_text(encoding="utf-8") if sys.argv[1:] else message["params"]["prompt"][0]["text"]
    if not steps.startswith("["):
        wire.say(steps)
        return wire.answer(message, {"stopReason": "end_turn"})
    for step in json.loads(steps):
        match step:
            case {"update": update}:
                wire.update(update.pop("sessionUpdate", "tool_call"), **update)
            case {"ask": call}:
                number = request("session/request_permission", sessionId=wire.SESSION, toolCall=call, options=OPTIONS)
                wire.say(json.dumps(answer(number)["result"]["outcome"].get("optionId")) + "\n")
            case {"start": [tool, arguments]}:
                params = {"name": tool, "arguments": arguments}
                begun.append(request("mcp/message", connectionId=connection, method="tools/call", params=params))
            case {"say": text}:
                wire.say(text)
            case {"write": [path, text]}:
                Path(path).write_text(text, encoding="utf-8")
            case {"fail": why}:
                return wire.refuse(message, -32603, why)
            case {"end": count}:
                failed = [answer(number)["result"].get("isError", False) for number in begun[-count:]]
                wire.say(json.dumps(not any(failed)) + "\n")
    return wire.answer(message, {"stopReason": "end_turn"})


wire.run(prompt, new, mcpCapabilities={"acp": True})
