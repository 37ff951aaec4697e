"""`agentnb export`: every form of a notebook, a cassette and a session; and a page without active content."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.conftest import ROOT
from tests.unit.forked import run_agentnb, run_script

FORMS = ("md", "html", "jsonl", "ipynb")
NOTEBOOK = ROOT / "notebooks/quickstart.ipynb"
CASSETTE = ROOT / "tests/cassettes/opencode.cassette.jsonl"
PROSE = {
    "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "h4", "h5", "h6", "section", "p", "pre",
    "code", "details", "summary", "ul", "ol", "li", "blockquote", "strong", "em", "s", "a", "img", "table", "thead",
    "tbody", "tr", "th", "td", "hr", "br", "b", "i", "sub", "sup", "kbd",
}  # fmt: skip
MATHEMATICS = {
    "math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle", "mpadded", "mphantom",
    "msub", "msup", "msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd",
}  # fmt: skip
MATHEMATICAL = {
    "display", "displaystyle", "scriptlevel", "mathvariant", "form", "fence", "separator", "stretchy", "symmetric",
    "largeop", "movablelimits", "accent", "accentunder", "lspace", "rspace", "minsize", "maxsize", "width", "height",
    "depth", "voffset", "linethickness", "mathcolor", "mathbackground", "mathsize", "class",
}  # fmt: skip
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<details open ontoggle=alert(1)><summary>x</summary></details>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java%0ascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "![x](https://tracker.example/pixel.png)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "<a href='javascript:alert(1)'>x</a>",
    "</main></body><script>alert(1)</script>",
    "</details></details></section><form action=//evil><button>x",
    "<style>@import '//evil'</style>",
    "<meta http-equiv=refresh content='0;url=//evil'>",
    "<base href=//evil>",
    "<!-- --><script>alert(1)</script><!-- -->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<details\n><script\n>alert(1)</script\n></details>",
    "```html\n</code></pre><script>alert(1)</script>\n```",
    "`</code><script>alert(1)</script>`",
    "| a |\n|---|\n| <script>alert(1)</script> |",
    "<p/onclick=alert(1)>x",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "[x]: javascript:alert(1)\n\n[x]",
    '[x](https://a "\\" onmouseover=\\"alert(1)")',
    "\x00<scr\x00ipt>alert(1)</scr\x00ipt>",
    "$\\href{javascript:alert(1)}{x}$",
    "$\\text{<script>alert(1)</script>}$ and $\\text{<img src=x onerror=alert(1)>}$",
    "$\\text{&lt;script&gt;alert(1)&lt;/script&gt;} \\text{&#x3c;script&#x3e;}$",
    "$$\n<script>alert(1)</script>\n$$",
    '$\\color{red" onclick="alert(1)}{x}$ and $\\textcolor{url(//evil)}{x}$',
    "$\\mathbb{</mi></math><script>alert(1)</script>}$",
)


class Inspector(HTMLParser):
    """Notes the active content of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.wrong: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in PROSE | MATHEMATICS | {"span"}:
            self.wrong.append(f"<{tag}>")
        for name, value in attrs:
            if not self._is_harmless(tag, name, value or ""):
                self.wrong.append(f"<{tag} {name}={value!r}>")
        if tag not in ("meta", "img", "br", "hr"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Browsers ignore the slash."""
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> out of place")

    @staticmethod
    def _is_harmless(tag: str, name: str, value: str) -> bool:
        if tag == "a":
            return (name == "href" and value.startswith(("http://", "https://", "mailto:"))) or name == "title"
        if tag == "img":
            return name in ("alt", "title") or (name == "src" and value.startswith("data:image/png;base64,"))
        if tag == "meta":
            return name in ("charset", "http-equiv", "content", "name")
        if tag in MATHEMATICS:
            return name in MATHEMATICAL and re.fullmatch(r"#?[a-zA-Z0-9.\s-]{1,40}", value) is not None
        return name in ("class", "lang", "start")


def inspect(html: str) -> list[str]:
    inspector = Inspector()
    inspector.feed(html)
    inspector.close()
    return inspector.wrong + [f"<{tag}> left open" for tag in inspector.open]


def exported(source: object, form: str) -> str:
    done = run_agentnb("export", str(source), "--to", form)
    assert done.returncode == 0, done.stderr
    return done.stdout


def saved(folder: Path, *cells: dict[str, Any]) -> Path:
    path = folder / "a.ipynb"
    content = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "outputs": outputs, "metadata": {}, "execution_count": 1}


def display(data: dict[str, str]) -> dict[str, Any]:
    return {"output_type": "display_data", "data": data, "metadata": {}}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (NOTEBOOK, ("%agent", "eliza")),
        (CASSETTE, ("Just talk.", "hello from the fake model", "done · allowed")),
    ],
    ids=["notebook", "cassette"],
)
def test_every_form_has_prompts_and_answers(source: Path, words: tuple[str, ...]) -> None:
    texts = {form: exported(source, form) for form in FORMS}
    assert [(form, word) for form in FORMS for word in words if word not in texts[form]] == []
    title = "opencode" if source == CASSETTE else "Your first ten minutes with agentnb"
    assert (texts["html"].count("<h1>"), f"<h1>{title}</h1>" in texts["html"]) == (1, True)
    assert texts["md"].count(f"# {title}\n") == 1
    policy = texts["html"].partition('Content-Security-Policy" content="')[2].partition('"')[0]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert [each for each in ("script-src", "unsafe") if each in policy] == []
    assert "<link" not in texts["html"]
    if source == NOTEBOOK:
        assert json.loads(texts["ipynb"]) == json.loads(NOTEBOOK.read_text(encoding="utf-8"))


def test_cassette_exports_permissions_and_stop_reasons() -> None:
    rows = [json.loads(line) for line in exported(CASSETTE, "jsonl").splitlines()]
    assert [(row["kind"], row["tab"], row.get("stop_reason")) for row in rows] == [
        *[("prompt", "session 1", None), ("answer", "session 1", "end_turn")] * 2,
        *[("prompt", "session 2", None), ("answer", "session 2", "end_turn")],
    ]
    assert " · denied" in rows[-1]["source"]
    assert "/recorded/workspace" not in "".join(row["source"] for row in rows)


def test_cassette_exports_as_a_valid_notebook() -> None:
    """Each prompt has a cell with its answer stored."""
    document = nbformat.reads(exported(CASSETTE, "ipynb"), as_version=4)
    nbformat.validate(document)
    assert [cell.source.split("\n")[0] for cell in document.cells] == [
        *['%%agent -a "opencode" -t "session 1"'] * 2,
        '%%agent -a "opencode" -t "session 2"',
    ]
    assert all("text/markdown" in cell.outputs[0].data for cell in document.cells)


def hostile_cells(hostile: str) -> list[dict[str, Any]]:
    """Returns cells with this text at each place: heading, prose, prompt, names, code, outputs, errors, pictures."""
    text = f"Before\n\n{hostile}\n\nAfter"
    outputs = (
        {"output_type": "stream", "name": "stdout", "text": text},
        {"output_type": "error", "ename": hostile, "evalue": text, "traceback": []},
        display({"text/plain": text}),
        display({"text/markdown": text, "image/png": hostile}),
    )
    prompt = f"%%agent -a \"{hostile}\" -t '{hostile}'\n{text}"
    prose = {"cell_type": "markdown", "metadata": {}, "source": f"# {hostile}\n\n{text}"}
    return [prose, code(text, *outputs), code(prompt, *outputs)]


def test_exported_page_has_no_active_content(tmp_path: Path) -> None:
    """Only prose is left of it, and open elements are closed."""
    cells = [cell for hostile in HOSTILE for cell in hostile_cells(hostile)]
    html = exported(saved(tmp_path, *cells), "html")
    assert inspect(html) == []
    assert html.count("After") == 11 * len(HOSTILE)


def test_output_that_cannot_be_shown_is_named(tmp_path: Path) -> None:
    """HTML or SVG alone leaves a line; beside a picture or equivalent text they leave none."""
    outputs = (
        display({"text/html": "<b>bold</b>"}),
        display({"image/svg+xml": "<svg/>", "text/plain": "<Figure>"}),
        display({"image/png": "aaaa", "text/html": "<img>"}),
        display({"text/plain": "   a  b\n0  1  2", "text/html": "<table>"}),
    )
    rows = [json.loads(line) for line in exported(saved(tmp_path, code("x", *outputs)), "jsonl").splitlines()]
    assert [row["source"] for row in rows if row["kind"] == "output"] == [
        "[Shown in the notebook only: text/html]",
        "<Figure>\n[Shown in the notebook only: image/svg+xml]",
        "",
        "   a  b\n0  1  2",
    ]


def test_invalid_source_is_refused_with_a_reason(tmp_path: Path) -> None:
    """An unknown name, another kind of file, a broken file."""
    cases = {
        "nothing-of-that-name": (None, "There is no file and no session called 'nothing-of-that-name'."),
        "a.txt": (b"x", "neither a notebook nor a cassette"),
        "a.ipynb": (b'{"cells": 7}', "is not a notebook: it has no cells that can be read"),
        "a.cassette.jsonl": (CASSETTE.read_bytes()[:999], "truncated"),
    }
    for name, (content, message) in cases.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        failed = run_agentnb("export", name, cwd=tmp_path)
        assert (failed.returncode, failed.stdout, message in failed.stderr) == (1, "", True), failed.stderr


TALK = """
import sys, agentnb
session = agentnb.start(cwd=sys.argv[1], permissions="allow", title="Kept")
for prompt in ("/write kept.txt Words.", *sys.argv[2:]):
    session.prompt(prompt).wait(60)
print(session.tab_id)
session.close()
"""


def test_stored_session_exports_without_active_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process finds it by the beginning of its id; hostile words are text in any form."""
    monkeypatch.setenv("AGENTNB_LOG", str(tmp_path / "log.db"))
    text = "\n\n".join(line for line in HOSTILE if "\x00" not in line)
    tab = run_script(TALK, str(tmp_path), f"/say {text}").stdout.strip()
    forms = {form: exported(tab[:8], form) for form in FORMS}
    assert forms["md"].startswith("# Kept\n")
    assert [each for each in ("/write kept.txt Words.", "I wrote `kept.txt`") if each not in forms["md"]] == []
    assert str(tmp_path) not in forms["md"]
    assert inspect(forms["html"]) == []
    answer = json.loads(forms["jsonl"].splitlines()[-1])["source"]
    assert "alert(1)" in answer
    assert answer in forms["md"]
    for tag in ("<script", "<img", "<svg", "<iframe", "<form", "<meta", "<base", "<style", "<a "):
        assert tag not in answer.replace("```html\n</code></pre><script>", "")
    assert answer in nbformat.reads(forms["ipynb"], as_version=4).cells[-1].outputs[0].data["text/markdown"]


def test_export_command_writes_to_a_file_or_stdout(tmp_path: Path) -> None:
    run_agentnb("export", str(CASSETTE), "--to", "html", "--output", str(tmp_path / "a.html"))
    assert (tmp_path / "a.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run_agentnb("export", str(CASSETTE)).stdout.startswith("# opencode\n")
