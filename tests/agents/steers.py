"""Takes prompts into the running turn: answers the first only after a prompt ``done``."""

import wire

waiting = []

while True:
    message = wire.receive()
    match message.get("method"):
        case "initialize":
            offers = {"_meta": {"scripted": {"promptQueueing": True}}}
            wire.answer(message, {"protocolVersion": 1, "agentCapabilities": offers})
        case "session/new":
            wire.answer(message, {"sessionId": wire.SESSION})
        case "session/prompt":
            text = message["params"]["prompt"][0]["text"]
            wire.say(f"[{text}]")
            waiting.append(message)
            if text == "done":
                for request in waiting:
                    wire.answer(request, {"stopReason": "end_turn"})
                waiting = []
        case "session/cancel":
            for request in waiting:
                wire.answer(request, {"stopReason": "cancelled"})
            waiting = []
