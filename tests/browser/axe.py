"""axe-core, the accessibility checker, for our parts of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conftest import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Page

SCRIPT = ROOT / "js" / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async () => {
  const hosts = [...document.querySelectorAll('.agentnb-view, .agentnb-verify')];
  const results = await axe.run({ include: hosts }, {
    resultTypes: ['violations'],
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    rules: { region: { enabled: false } },
  });
  return results.violations.map(({ id, impact, nodes }) => ({
    id, impact, nodes: nodes.map(({ html, failureSummary }) => `${html.slice(0, 200)} — ${failureSummary}`),
  }));
}"""
SERIOUS = frozenset({"serious", "critical"})


def serious(page: Page) -> list[dict[str, Any]]:
    """Returns axe-core's serious and critical findings in our views."""
    if not page.evaluate("typeof axe !== 'undefined'"):
        page.evaluate(SCRIPT.read_text(encoding="utf-8"))
    return [violation for violation in page.evaluate(RUN) if violation["impact"] in SERIOUS]
