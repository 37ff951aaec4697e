"""Asks two permissions at once under ids of different kinds, and one of them twice; sends `null`; answers twice."""

import wire

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def ask(number, call):
    params = {"sessionId": wire.SESSION, "toolCall": {"toolCallId": call, "title": f"do {call}"}, "options": OPTIONS}
    wire.send({"id": number, "method": "session/request_permission", "params": params})


def prompt(request):
    wire.raw(b"null\n[]\n17\n")
    ask("one", "c1")
    ask(2, "c2")
    ask("one", "c3")
    answers = sorted(
        f"{received['id']}={received['result']['outcome']['optionId']}" for received in map(next, [replies] * 3)
    )
    wire.say(" ".join(answers))
    wire.answer(request, {"stopReason": "end_turn"})
    wire.answer(request, {"stopReason": "refusal"})


replies = (received for received in iter(wire.receive, None) if "method" not in received)
wire.run(prompt)
