"""Turns code completion on for a page of JupyterLab, as a user does with `agentnb settings`, and off again."""

from __future__ import annotations

from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side

SETTINGS = """(() => {
  const { baseUrl, token } = JSON.parse(document.getElementById("jupyter-config-data").textContent);
  return [`${baseUrl}lab/api/settings/agentnb:plugin`, { Authorization: `token ${token}` }];
})()"""
STORED = f"""async (patience) => {{
  const [url, headers] = {SETTINGS};
  for (const end = Date.now() + patience; Date.now() < end; await new Promise(requestAnimationFrame)) {{
    const answer = await fetch(`${{url}}?${{Date.now()}}`, {{ headers }});
    if (/"completion": *"local"/.test((await answer.json()).raw)) return true;
  }}
  return false;
}}"""
"""True once JupyterLab has the setting made in the kernel; the chat passes it on, and the page reads it there."""
FORGOTTEN = f"""async () => {{
  const [url, headers] = {SETTINGS};
  const body = JSON.stringify({{ raw: "{{}}" }});
  const how = {{ method: "PUT", headers: {{ ...headers, "Content-Type": "application/json" }}, body }};
  return (await fetch(url, how)).ok;
}}"""


def begin(lab: Lab, name: str, url: str, *cells: str, kernel: str) -> Side:
    """Opens a notebook whose first cell names the model server, then reloads the page with completion on."""
    wanted = {"local_url": url, "local_model": "fills", "completion": "local"}
    first = "import agentnb\n" + "\n".join(f"agentnb.settings().set({each!r}, {wanted[each]!r})" for each in wanted)
    lab.open(name, notebook(first, *cells, kernel=kernel))
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    lab.run_cells(1)
    assert lab.page.evaluate(STORED, PATIENCE_MS)
    lab.reload()
    side.expect_chat()
    return side


def end(lab: Lab) -> None:
    """Resets the settings in the kernel's files and in JupyterLab, so that other tests do not get them."""
    names = ("completion", "local_url", "local_model")
    lab.cell(0).write("\n".join(f"agentnb.settings().reset({name!r})" for name in names))
    lab.cell(0).run()
    lab.cell(0).expect_done()
    assert lab.page.evaluate(FORGOTTEN)
