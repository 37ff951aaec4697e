"""Writes `docs/reference/agents.md` from what `make agent-matrix` found of real agents: `agent_matrix.py FILE`."""

from __future__ import annotations

import datetime as dt
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/agents.md"
HEAD = """\
# Tested agents

<!-- Written by `make agent-matrix`, which drives real agents offline with a scripted model. -->

Each agent was started with its own default settings, in the version shown. Descriptions of agents say
[how each one is made to ask](../how-to/own-agents.md#how-an-agent-is-made-to-ask).

| column | meaning |
|---|---|
| asks by default | in its initial mode, the agent asks before it writes a file; *no* if only a variable makes it ask |
| asks under Ask | with agentnb's permission *Ask*, the agent wrote and ran nothing without asking |
| confined by default | the agent starts [confined](../how-to/confine.md) unless you choose otherwise |
| own writes undone | agentnb undid files that the agent wrote with its own tools |
| tokens | the agent reports how many tokens it used |

| agent | version | asks by default | asks under Ask | confined by default | own writes undone | tokens | tested |
|---|---|---|---|---|---|---|---|
"""


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}.get(value, "not tested")


def page(rows: list[dict[str, Any]], day: str) -> str:
    """The whole page.

    Args:
        rows: What was found, an agent can have several.
        day: When, as ``2026-11-24``.
    """
    from agentnb.agent.catalog import catalogue
    from agentnb.agent.confinement import is_confined_unasked

    results: dict[str, dict[str, Any]] = {}
    for row in rows:
        results.setdefault(row["agent"], {}).update(row)
    lines = []
    for name, spec in sorted(catalogue().items(), key=lambda item: (item[1].rank, item[0])):
        if spec.origin != "built in":
            continue
        row = results.get(name, {})
        asks = row.get("asked")
        under = "not tested" if asks is None else "yes" if asks else "does nothing" if spec.asks is not None else "no"
        confined = _word(is_confined_unasked(spec.confinement))
        by_default = False if row and spec.asks is not None and spec.asks.env else row.get("asks_by_default")
        cells = (_word(by_default), under, confined, _word(row.get("undone")), _word(row.get("tokens")))
        lines.append(f"| {spec.title} | {row.get('version', '')} | {' | '.join(cells)} | {day if row else ''} |")
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    results = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    PAGE.write_text(page(results, dt.datetime.now(dt.timezone.utc).date().isoformat()), encoding="utf-8")
