"""Sends an update for a session before it has answered the request for it."""

import wire


def new(request):
    wire.update("available_commands_update", availableCommands=[{"name": "early", "description": "came first"}])
    wire.answer(request, {"sessionId": wire.SESSION, "modes": {"currentModeId": "ask", "availableModes": []}})
    wire.update("current_mode_update", currentModeId="code")


def prompt(request):
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt, new)
