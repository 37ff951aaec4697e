"""Refuses a session until the user has logged in."""

import wire

METHODS = [
    {"id": "browser", "name": "Log in with a browser"},
    {"id": "key", "name": "API key", "type": "env_var", "vars": [{"name": "SCRIPTED_KEY"}]},
]


def new(request):
    wire.refuse(request, -32000, "Authentication required", {"authMethods": METHODS})


wire.run(None, new)
