"""Runs eliza until its client closes stdin."""

from __future__ import annotations

import os
import sys
from functools import partial

from agentnb import __version__
from agentnb.command import INTERRUPTED, OK, complain
from agentnb.plugins.acp_agent.session import open_store
from agentnb.plugins.acp_agent.stdio import serve
from agentnb.plugins.eliza.agent import Eliza

STORE_VARIABLE = "AGENTNB_ELIZA_STORE"
"""Environment: a folder that keeps the sessions; without it they live as long as the process."""
LOGIN_VARIABLE = "AGENTNB_ELIZA_LOGIN"
"""Environment: ``1`` makes eliza refuse new sessions until the client has called `authenticate`."""


def run() -> int:
    if sys.stdin.isatty():
        complain("eliza speaks ACP, not English, on stdin and stdout: start it from an ACP client. Ctrl+D ends it.")
    try:
        store = open_store(os.environ.get(STORE_VARIABLE))
        wants_login = os.environ.get(LOGIN_VARIABLE) == "1"
        serve("eliza", partial(Eliza, store, version=__version__, wants_login=wants_login))
    except (OSError, ValueError) as error:
        return complain(f"eliza cannot start: {error}. An ACP client starts it with pipes for stdin and stdout.")
    except KeyboardInterrupt:
        return INTERRUPTED
    return OK
