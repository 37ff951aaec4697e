"""Receives a cancel, writes two more words, and only then answers."""

import wire


def prompt(request):
    wire.say("before ")
    while wire.receive().get("method") != "session/cancel":
        pass
    wire.say("after ")
    wire.update("tool_call", toolCallId="late", title="late", kind="other", status="completed")
    wire.say("more")
    wire.answer(request, {"stopReason": "cancelled"})


wire.run(prompt)
