"""The plug-in: the requests of the chat's *Phone*."""

from __future__ import annotations

from agentnb.plugins.phone.requests import REQUESTS
from agentnb.ports import Plugin

PLUGIN = Plugin(name="phone", summary="Answers permission requests from a phone.", requests=REQUESTS)
