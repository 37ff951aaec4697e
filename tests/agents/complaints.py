"""Sorts complaints by topic, from their words; if JSON is requested, it adds if the writer is angry.

The notebook ``many_inputs`` was recorded with it instead of a real agent.
"""

import json

import wire

TOPICS = {"billing": ("charged", "invoice", "refund"), "delivery": ("parcel", "late", "courier")}
opened = 0


def topic(text):
    topics = [name for name, words in TOPICS.items() if any(word in text.lower() for word in words)]
    return topics[0] if topics else "other"


def answer(text):
    complaint = text.partition("\n\n")[0].partition(": ")[2]
    if "JSON schema" in text:
        return json.dumps({"topic": topic(complaint), "angry": "!" in complaint})
    return topic(complaint)


while True:
    message = wire.receive()
    match message.get("method"):
        case "initialize":
            wire.initialize(message)
        case "session/new":
            opened += 1
            wire.answer(message, {"sessionId": f"session-{opened}"})
        case "session/prompt":
            text = "".join(each.get("text", "") for each in message["params"]["prompt"])
            wire.say(answer(text), message["params"]["sessionId"])
            wire.answer(message, {"stopReason": "end_turn"})
        case _ if "id" in message and "method" in message:
            wire.answer(message, {})
