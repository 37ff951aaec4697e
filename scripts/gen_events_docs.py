"""Writes `docs/reference/events.md` from `agentnb/events/kinds.py`; with `--check`, only says whether it is stale."""

from __future__ import annotations

import logging
import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "events.md"

INTRODUCTION = """\
# Events

<!-- Written by scripts/gen_events_docs.py: change agentnb/events/kinds.py, then run it. -->

What happens is told by name, through Python's `logging`: a record on the logger `agentnb.events.CATEGORY` whose
attributes `category`, `event` and `data` say what. `data` is plain JSON without credentials; a field that there is
nothing to say of is left out. What somebody said (marked *on request* below) is in it only with
`agentnb.testing.events(text=True)`, or where `AGENTNB_EVENTS_TEXT=1` is set.

Three ways to hear them:

- `agentnb.testing.events()` and the pytest fixture `agentnb_events` collect them
  ([in a test](../how-to/ci.md#assert-on-what-happened)).
- `AGENTNB_EVENTS=PATH` writes them to a file, a line of JSON each, with `time`, `level`, `event`, `data` and `process`.
  Kernels, `agentnb record` and the players of cassettes may share one file.
- Any handler of your own: `logging.getLogger("agentnb.events").setLevel("INFO")`, and add it there or above.

Nothing is printed unless a handler of yours does. Where nobody listens an event is not made at all, and none is told by
the piece of text.
"""


def page() -> str:
    """The whole page."""
    from agentnb.events import kinds
    from agentnb.events.kinds import KINDS

    assert kinds.TURN_ENDED.name in KINDS  # noqa: S101 - importing it fills KINDS
    lines = [INTRODUCTION]
    for category, members in groupby(KINDS.values(), key=lambda kind: kind.category):
        lines += [f"## {category}", ""]
        for kind in members:
            level = "" if kind.level == logging.INFO else f" Its level is `{logging.getLevelName(kind.level)}`."
            lines += [f"### `{kind.name}`", "", f"{kind.about}{level}", ""]
            lines += [f"- {_field(name, what)}" for name, what in kind.fields.items()]
            lines.append("")
    return "\n".join(lines)


def _field(name: str, what: str) -> str:
    request = ", on request" if name.startswith("_") else ""
    return f"`{name.lstrip('_')}`{request}: {what}"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    from scripts.generated import write_or_check

    sys.exit(write_or_check({PAGE: page()}, __doc__))
