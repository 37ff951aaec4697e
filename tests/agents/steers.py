"""Takes prompts into the running turn: answers the first only after a prompt ``done``."""

import wire

waiting = []

while True:
    asked = wire.receive()
    match asked.get("method"):
        case "initialize":
            offers = {"_meta": {"scripted": {"promptQueueing": True}}}
            wire.answer(asked, {"protocolVersion": 1, "agentCapabilities": offers})
        case "session/new":
            wire.answer(asked, {"sessionId": wire.SESSION})
        case "session/prompt":
            text = asked["params"]["prompt"][0]["text"]
            wire.say(f"[{text}]")
            waiting.append(asked)
            if text == "done":
                for request in waiting:
                    wire.answer(request, {"stopReason": "end_turn"})
                waiting = []
        case "session/cancel":
            for request in waiting:
                wire.answer(request, {"stopReason": "cancelled"})
            waiting = []
