"""Suggests the next prompts to a client that can show them: a prompt is the suggestions, as JSON.

It sends them as the ``suggestions`` of a ``prompt_suggestions_update``, between its words and its answer; if the
prompt begins with ``after``, after the answer. ``fail`` makes a failing tool call and suggests four prompts, one of
them long. It echoes any other prompt. A session that it loads gets old suggestions again.
"""

import json

import wire

LONG = "Plot the residuals of both fits beside each other, with one colour for each species, and say which is better"
offered = False


def suggest(*prompts):
    texts = [{"prompt": [{"type": "text", "text": prompt}]} for prompt in prompts]
    send(texts)


def send(suggestions):
    if offered:
        wire.update("prompt_suggestions_update", suggestions=suggestions)


def fail():
    call = {"toolCallId": "tests", "title": "Run the tests", "kind": "execute"}
    wire.update("tool_call", **call, status="in_progress")
    wire.update("tool_call_update", toolCallId="tests", status="failed")
    suggest("Run the failed test alone", LONG, "Show what the fit returns", "A fourth")


def prompt(request):
    text = request["params"]["prompt"][0]["text"]
    first, _, rest = text.partition(" ")
    wire.say(f"heard {text[:100]}")
    if first == "fail":
        fail()
    elif text.startswith("["):
        send(json.loads(text))
    elif text.startswith("{"):
        wire.update("prompt_suggestions_update", **json.loads(text))
    wire.answer(request, {"stopReason": "end_turn"})
    if first == "after":
        send(json.loads(rest))


while True:
    message = wire.receive()
    match message.get("method"):
        case "initialize":
            session = message["params"]["clientCapabilities"].get("session") or {}
            offered = "promptSuggestions" in session
            wire.initialize(message, loadSession=True)
        case "session/new":
            wire.answer(message, {"sessionId": wire.SESSION})
        case "session/load":
            suggest("What was suggested long ago")
            wire.answer(message, {})
        case "session/prompt":
            prompt(message)
        case _ if "id" in message and "method" in message:
            wire.refuse(message, -32601, "Method not found")
