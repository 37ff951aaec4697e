"""Asks permission for a tool call that it never announced, and writes the chosen option."""

import wire

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def prompt(request):
    reply = wire.ask("question-1", "session/request_permission", toolCall={"toolCallId": "call-9"}, options=OPTIONS)
    if "method" in reply:  # session/cancel comes first
        reply = wire.receive()
    outcome = reply["result"]["outcome"]
    wire.say(outcome.get("optionId", outcome["outcome"]))
    wire.answer(request, {"stopReason": "cancelled" if outcome["outcome"] == "cancelled" else "end_turn"})


wire.run(prompt)
