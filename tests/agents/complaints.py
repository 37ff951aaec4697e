"""Sorts complaints by topic, from their words; if JSON is requested, it adds if the writer is angry.

The notebook ``many_inputs`` was recorded with it instead of a real agent.
"""

import json

import wire

TOPICS = {"billing": ("charged", "invoice", "refund"), "delivery": ("parcel", "late", "courier")}
opened = 0


def topic(text):
    found = [name for name, words in TOPICS.items() if any(word in text.lower() for word in words)]
    return found[0] if found else "other"


def answer(text):
    complaint = text.partition("\n\n")[0].partition(": ")[2]
    if "JSON schema" in text:
        return json.dumps({"topic": topic(complaint), "angry": "!" in complaint})
    return topic(complaint)


while True:
    asked = wire.receive()
    match asked.get("method"):
        case "initialize":
            wire.initialize(asked)
        case "session/new":
            opened += 1
            wire.answer(asked, {"sessionId": f"session-{opened}"})
        case "session/prompt":
            said = "".join(each.get("text", "") for each in asked["params"]["prompt"])
            wire.say(answer(said), asked["params"]["sessionId"])
            wire.answer(asked, {"stopReason": "end_turn"})
        case _ if "id" in asked and "method" in asked:
            wire.answer(asked, {})
