"""Tries to read and write the file outside the workspace that the prompt names; writes the answers."""

import wire


def prompt(request):
    path = request["params"]["prompt"][0]["text"]
    for number, (method, more) in enumerate((("fs/read_text_file", {}), ("fs/write_text_file", {"content": "x"}))):
        reply = wire.ask(number, method, path=path, **more)
        wire.say(reply["error"]["message"] + "\n" if "error" in reply else "it was let through\n")
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt)
