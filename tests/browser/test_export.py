"""The exported page in a browser: it runs nothing, and on paper nothing is folded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser

from agentnb.plugins.export.document import Document, DocumentEntry
from agentnb.plugins.export.page import page as exported
from tests.browser.conftest import FLAGS, PICTURES
from tests.browser.pdf import words
from tests.conftest import ROOT
from tests.unit.plugins.export.test_export import HOSTILE

FOLDED = "<details><summary>Read a.csv</summary>\n\n```\nwhat was read\n```\n\n</details>"

TEXTS = (
    "%agent --permissions allow /plan 3",
    "The plan had 3 steps; all are done.",
    "+The residuals are small.",  # collapsed on the screen
    "Hello. I am eliza. What are you working on?",
)


def test_exported_page_runs_nothing_and_prints_in_full(browser: Browser, tmp_path: Path) -> None:
    """No dialog, no request, no console message; folded on the screen, open in print."""
    file = tmp_path / "said.html"
    hostile = tuple(DocumentEntry(kind="answer", source=source) for source in HOSTILE)
    file.write_text(
        exported(Document(title="Said", entries=(*hostile, DocumentEntry(kind="answer", source=FOLDED)))), "utf-8"
    )
    context = browser.new_context()
    try:
        page = context.new_page()
        events: list[str] = []
        page.on("dialog", lambda dialog: events.append(dialog.message))
        page.on("console", lambda message: events.append(message.text))
        page.on("pageerror", lambda error: events.append(error.message))
        page.on("request", lambda request: events.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_load_state("networkidle")
        assert events == [file.as_uri()]
        inside = page.get_by_text("what was read")
        assert not inside.is_visible()
        page.emulate_media(media="print")
        assert inside.is_visible()
    finally:
        context.close()


MATHEMATICS = r"""An amount of $5 or $10, and $E = mc^2$ with \(\alpha_i \in \mathbb{R}\) in a line.

$$\sum_{i=1}^{n} \frac{(x_i - \bar{x})^2}{n - 1} = s^2, \quad \lim_{h \to 0} \frac{f(x+h) - f(x)}{h}$$

$$
\begin{aligned}
\nabla \times \vec{E} &= -\frac{\partial \vec{B}}{\partial t} \\
- \hat{\theta} &= \left( X^\top X \right)^{-1} X^\top y
\end{aligned}
$$

\[ A = \begin{pmatrix} 1 & 0 \\ 0 & 1 \end{pmatrix}, \quad \begin{array}{c|c} a & b \\ \hline c & d \end{array},
\quad |x| = \begin{cases} x & \text{if $x \ge 0$} \\ -x & \text{otherwise} \end{cases}, \quad \boxed{x} \]

$$WIDE$$

| a | b |
|---|---|
| $\sqrt[3]{x}$ | \(\binom{n}{k}\) |

One with a command that is not known: $\nosuch{x}$.
""".replace("WIDE", " + ".join(f"x_{{{at}}}^2" for at in range(60)))


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1200, "dark")])
def test_exported_formulas_render_and_wide_ones_scroll(
    browser: Browser, tmp_path: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    file = tmp_path / "maths.html"
    file.write_text(
        exported(Document(title="Maths", entries=(DocumentEntry(kind="answer", source=MATHEMATICS),))), "utf-8"
    )
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    try:
        page = context.new_page()
        messages: list[str] = []
        page.on("console", lambda message: messages.append(message.text))
        page.goto(file.as_uri())
        page.screenshot(path=PICTURES / f"export-mathematics-{scheme}-{width}.png", full_page=True)
        assert page.locator("math").count() == 8
        assert page.locator(".display > math").count() == 4
        assert page.get_by_text(r"not known: $\nosuch{x}$.").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        wide = page.locator(".display").last
        assert wide.evaluate("(box) => box.scrollWidth > box.clientWidth")
        assert wide.evaluate("(box) => (box.scrollLeft = 1e6, box.scrollLeft > 0)")
        left, right = wide.evaluate(
            """(box) => {
              const seen = box.getBoundingClientRect();
              const signs = [...box.querySelectorAll("mi")].map((sign) => sign.getBoundingClientRect());
              box.scrollLeft = 0;
              return [Math.min(...signs.map((sign) => sign.left)) < seen.left, signs.at(-1).right <= seen.right];
            }"""
        )
        assert (left, right) == (True, True)
        first = page.locator(".display > math > mrow").first
        assert first.evaluate(
            """(row) => {
              const [inside, outside] = [row, row.closest(".display")].map((one) => one.getBoundingClientRect());
              return outside.width < inside.width ||
                Math.abs(inside.left - outside.left - (outside.right - inside.right)) < 4;
            }"""
        )
        ends = page.locator("math .aligned .right > :last-child").evaluate_all(
            "(signs) => signs.map((sign) => Math.round(sign.getBoundingClientRect().right))"
        )
        assert (len(ends), len(set(ends))) == (2, 1)
        assert messages == []
    finally:
        context.close()


def test_documented_command_prints_prompts_and_answers(chromium: str, tmp_path: Path) -> None:
    """`agentnb export`, then only Chromium: the PDF has prompts, answers, and the folded parts."""
    source = ROOT / "tests/cassettes/eliza.ipynb"
    command = [sys.executable, "-m", "agentnb", "export", str(source), "--to", "html", "--output", "fit.html"]
    subprocess.run(command, cwd=tmp_path, check=True)
    printing = [chromium, *FLAGS, "--headless", "--no-pdf-header-footer", "--print-to-pdf=fit.pdf", "fit.html"]
    subprocess.run(
        [*printing, f"--user-data-dir={tmp_path / 'profile'}"],
        cwd=tmp_path, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    printed = words((tmp_path / "fit.pdf").read_bytes())
    html = (tmp_path / "fit.html").read_text(encoding="utf-8")
    for text in TEXTS:
        assert text in html
        assert "".join(text.split()) in printed
