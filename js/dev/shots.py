"""Takes pictures of the view's scripted states: `python dev/shots.py FOLDER [SCENE …]`, from js/.

JupyterLab sets its theme's variables on the page; here they are read from the installed themes, so that the pictures
show what JupyterLab shows. CHROMIUM names the browser.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
THEMES = Path(sys.prefix) / "share/jupyter/lab/themes/@jupyterlab"
LOOKS = {
    "light": "theme-light-extension",
    "dark": "theme-dark-extension",
    "contrast": "theme-dark-high-contrast-extension",
}
SIZES = {"300": (300, 720), "420": (420, 720), "1200": (1200, 720), "zoom": (600, 340)}
"""Page widths and chat heights, in CSS pixels; `zoom` is a laptop's window at 200 %."""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
]
PAGE = """<!doctype html><meta charset="utf-8"><title>agentnb</title><style>{theme}
html, body {{ margin: 0 }}
body {{ background: var(--jp-layout-color1); padding: 12px; width: {width}px; box-sizing: border-box }}
:root {{ --md-blue-100: #bbdefb; --md-blue-300: #64b5f6; --md-blue-400: #42a5f5; --md-blue-600: #1e88e5 }}
:root {{ --md-green-400: #66bb6a; --md-green-600: #43a047; --md-grey-300: #e0e0e0 }}
main {{ --agentnb-height: {height} }}</style>
<main></main><script type="module">{script}</script>"""


def bundle() -> str:
    """The development page's script, built as the product is."""
    code = """
        import {build} from 'esbuild';
        import {options} from './build.mjs';
        const r = await build({...options, entryPoints: ['dev/page.ts'], write: false});
        process.stdout.write(r.outputFiles[0].text)
    """
    command = ["node", "--input-type=module", "-e", code]
    return subprocess.run(command, cwd=HERE.parent, check=True, capture_output=True, text=True).stdout


def serve(page: Page, html: str) -> None:
    """Answers every request of *page* with *html*: there is no server."""
    page.route("**/*", lambda route: route.fulfill(body=html, content_type="text/html"))


def main(folder: Path, wanted: list[str]) -> None:
    """Takes the pictures of the *wanted* scenes (all of them by default) into *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    script = bundle().replace("</script", "<\\/script")
    with sync_playwright() as playwright:
        path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for look, theme in LOOKS.items():
            css = (THEMES / theme / "index.css").read_text()
            for size, (width, height) in SIZES.items():
                page = browser.new_page(viewport={"width": width, "height": height + 24})
                page.on("pageerror", lambda error: sys.stderr.write(f"page error: {error}\n"))
                serve(page, PAGE.format(theme=css, width=width, script=script, height=f"{height}px"))
                page.goto("http://dev/")
                for scene in wanted or page.evaluate("scenes"):
                    page.goto(f"http://dev/?scene={scene}")
                    page.wait_for_timeout(700)
                    page.screenshot(path=folder / f"{scene}-{look}-{size}.png", full_page=True)
                page.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
