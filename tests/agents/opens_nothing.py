"""Opens no session: its own program has ended, reported as Claude's adapter does; stderr has the reason."""

import sys

import wire


def new(request):
    sys.stderr.write("node: cannot find module 'zod'\n")
    sys.stderr.flush()
    wire.refuse(request, -32603, "Internal error", {"details": "Claude Code process exited with code 1"})


wire.run(lambda _: None, new)
