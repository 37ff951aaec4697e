"""Asks as OpenHands and Kimi do; a prompt is ``WORD JSON``, with a list of tool calls.

``confirm`` announces them, and asks without naming any; ``text`` sends the command of one as JSON in its text,
and asks in words. It writes the outcome.
"""

import json

import wire

OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]


def prompt(request):
    word, _, rest = request["params"]["prompt"][0]["text"].partition(" ")
    for number, call in enumerate(json.loads(rest)):
        if word == "text":
            content = [{"type": "content", "content": {"type": "text", "text": json.dumps(call.pop("rawInput"))}}]
            wire.update("tool_call", toolCallId="text", status="pending", content=content, **call)
        else:
            wire.update("tool_call", toolCallId=f"call-{number}", status="pending", **call)
    tool_call = {"toolCallId": "confirm", "title": "Confirm Agent Actions", "kind": "other"}
    if word == "text":
        parts = [{"type": "content", "content": {"type": "text", "text": "Requesting approval to run it"}}]
        tool_call = {"toolCallId": "text", "title": "Bash", "content": parts}
    answer = wire.ask("q", "session/request_permission", toolCall=tool_call, options=OPTIONS)
    wire.say(answer["result"]["outcome"].get("optionId", "cancelled"))
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt)
