"""Opens a session only if its service at example.org answers; otherwise it returns an error."""

import urllib.request

import wire


def new(request):
    try:
        urllib.request.urlopen("http://service.example.org/")
    except OSError as error:
        wire.refuse(request, -32603, f"service failure: {error}")
    else:
        wire.answer(request, {"sessionId": wire.SESSION})


def prompt(request):
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt, new)
