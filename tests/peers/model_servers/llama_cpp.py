"""llama.cpp's own server, from the package `xllamacpp`, with the tiny model.

Usage: ``python llama_cpp.py MODEL CONTEXT``, where CONTEXT is a number of tokens. Prints a line of JSON with its base
URL, and serves until its stdin closes. The system chooses the port.
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    """Serve until stdin ends."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = sys.argv[1], {"tiny"}
    params.n_ctx = int(sys.argv[2])
    params.n_parallel, params.cpuparams.n_threads = 2, 1
    params.port = 0
    server = xllamacpp.Server(params)
    print(json.dumps({"url": f"{server.listening_address}/v1"}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
