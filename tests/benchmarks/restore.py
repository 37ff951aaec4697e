"""A session of 1,000 turns after a reload: how long until the transcript is painted again.

The clock begins with the page's ``initialize``, when our front end has been loaded; JupyterLab's time before that is
the same for any notebook, and shown beside. Painted means the animation frame after the one with the last answer.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.browser import a_lab
from tests.benchmarks.row import Row
from tests.browser.lab import Lab, notebook

TURNS = (10, 1_000)
RELOADS = 3
LIMIT_MS = 1_000.0
LIMIT_BESIDE = 4.0
WATCH = r"""
(() => {
  const marks = window.agentnbMarks = {};
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) {
    if (marks.initialize === undefined && !(data instanceof Blob)) {
      const text = typeof data === 'string' ? data : new TextDecoder().decode(data);
      if (text.includes('"initialize"') && text.includes('protocolVersions')) marks.initialize = performance.now();
    }
    return send.call(this, data);
  };
  const look = () => {
    for (const element of document.querySelectorAll('.jp-OutputArea-output *')) {
      if (!element.shadowRoot?.textContent.includes(window.agentnbAwaits)) continue;
      return requestAnimationFrame(() => { marks.painted = performance.now(); });
    }
    requestAnimationFrame(look);
  };
  window.agentnbAwaits = sessionStorage.getItem('agentnbAwaits') ?? '⟦';
  requestAnimationFrame(look);
})();
"""


@dataclass
class Restored:
    """Milliseconds since the navigation began."""

    initialize: float
    painted: float

    @property
    def took(self) -> float:
        """From ``initialize`` to the paint."""
        return self.painted - self.initialize


def measure() -> list[Row]:
    with a_lab() as lab:
        seconds = {turns: _best(lab, turns) for turns in TURNS}
    few, many = (seconds[turns] for turns in TURNS)
    what = f"a session of {TURNS[1]:,} turns after a reload: initialize to first paint"
    return [
        Row(what=what, value=many.took, unit="ms", at_most=LIMIT_MS),
        Row(
            what="the same, beside a short session",
            value=many.took,
            unit="ms",
            beside=few.took,
            beside_name=f"{TURNS[0]} turns",
            at_most=LIMIT_BESIDE,
        ),
        Row(
            what="the same, from the navigation on",
            value=many.painted,
            unit="ms",
            beside=few.painted,
            beside_name=f"{TURNS[0]} turns",
        ),
    ]


def _best(lab: Lab, turns: int) -> Restored:
    name = f"restore-{turns}.ipynb"
    shutil.copy(Path(__file__).with_name("long_session.py"), lab.server.folder)
    start = f"import agentnb, long_session\nsession = agentnb.start()\nlong_session.fill(session, {turns})\nsession"
    lab.open(name, notebook(start, kernel="python3"))
    lab.cell(0).run()
    lab.cell(0).expect_done(1)
    lab.cell(0).expect_text(f"⟦answer {turns}⟧")
    lab.save()
    lab.page.add_init_script(f"sessionStorage.setItem('agentnbAwaits', '⟦answer {turns}⟧');{WATCH}")
    return min((_reload(lab, name) for _ in range(RELOADS)), key=lambda restored: restored.took)


def _reload(lab: Lab, name: str) -> Restored:
    lab.open(name, workspace="restore")  # naming the workspace loads the whole page, not only the notebook
    lab.page.wait_for_function("window.agentnbMarks.painted !== undefined")
    marks = lab.page.evaluate("window.agentnbMarks")
    return Restored(initialize=marks["initialize"], painted=marks["painted"])
