"""The program that rehearses a command: started by :mod:`agentnb.plugins.rehearsal.command` under ``python -I -S``.

Its argument is a JSON object; it reads nothing else.
"""

from __future__ import annotations

import os
import sys

sys.path.append(__file__.rpartition("/agentnb/")[0])

from agentnb.plugins.rehearsal.supervisor import Scene, supervise
from agentnb.safe_json import read_json


def main(text: str) -> None:
    request = read_json(text)
    report = request.pop("report")
    command = request.pop("command")
    os.set_inheritable(report, False)

    def play() -> int:
        os.set_inheritable(0, True)
        os.execv("/bin/sh", ["/bin/sh", "-c", command])  # noqa: S606 - what is rehearsed

    supervise(Scene(**request), report, lambda *_: None, play)


if __name__ == "__main__":
    main(sys.argv[1])
