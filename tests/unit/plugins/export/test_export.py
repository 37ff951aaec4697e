"""Export: every form of a notebook and of a cassette; and a page without active content, whatever its source."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.errors import CassetteBroken, UnknownSession, UsageError
from agentnb.plugins.export.document import Document, DocumentEntry
from agentnb.plugins.export.documents import FORMS, exported
from agentnb.plugins.export.page import markdown, page
from agentnb.plugins.export.sources import find
from tests.conftest import ROOT
from tests.unit.forked import run_agentnb, run_script

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


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("source", [NOTEBOOK, CASSETTE], ids=["notebook", "cassette"])
def test_every_form_has_prompts_and_answers(source: Path, form: str) -> None:
    text = exported(find(str(source)), form)
    assert ("Just talk." if source == CASSETTE else "%agent") in text
    assert ("hello from the fake model" if source == CASSETTE else "eliza") in text
    assert "done · allowed" in text or source == NOTEBOOK


def test_cassette_export_shows_permissions_and_stop_reasons(tmp_path: Path) -> None:
    document = find(str(CASSETTE))
    answers = [entry for entry in document.entries if entry.kind == "answer"]
    assert [entry.stop_reason for entry in answers] == ["end_turn"] * 3
    assert " · denied" in answers[2].source
    assert [entry.tab for entry in answers] == ["session 1", "session 1", "session 2"]
    assert "/recorded/workspace" not in "".join(entry.source for entry in document.entries)


def test_cassette_exports_as_a_valid_notebook() -> None:
    """Each prompt has a cell with its answer stored."""
    document = nbformat.reads(exported(find(str(CASSETTE)), "ipynb"), as_version=4)
    nbformat.validate(document)
    assert [cell.source.split("\n")[0] for cell in document.cells] == [
        '%%agent -a "opencode" -t "session 1"', '%%agent -a "opencode" -t "session 1"',
        '%%agent -a "opencode" -t "session 2"',
    ]  # fmt: skip
    assert all("text/markdown" in cell.outputs[0].data for cell in document.cells)


def test_notebook_exports_unchanged_as_a_notebook() -> None:
    assert json.loads(exported(find(str(NOTEBOOK)), "ipynb")) == json.loads(NOTEBOOK.read_text(encoding="utf-8"))


def test_json_lines_contain_each_prompt_and_answer() -> None:
    rows = [json.loads(line) for line in exported(find(str(CASSETTE)), "jsonl").splitlines()]
    assert [row["kind"] for row in rows] == ["prompt", "answer"] * 3


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("kind", ["text", "answer", "prompt", "code", "output", "error"])
def test_exported_page_has_no_active_content(hostile: str, kind: str) -> None:
    """Only prose is left of it, and open elements are closed."""
    entry = DocumentEntry(
        kind=kind,  # type: ignore[arg-type]
        source=f"Before\n\n{hostile}\n\nAfter",
        agent=hostile,
        tab=hostile,
        images=(hostile,),
    )
    html = page(Document(title=hostile, entries=(entry, entry)))
    assert inspect(html) == []
    assert html.count("After") == 2


@given(st.text(alphabet="<>&\"'`/=[](){}!#|-~* \nadeistumry:;0x\\", max_size=60))
def test_any_text_becomes_harmless_html(text: str) -> None:
    assert inspect(markdown(text)) == []


def test_page_policy_allows_only_its_own_style() -> None:
    """It contains no address."""
    html = page(find(str(NOTEBOOK)))
    policy = html.partition('Content-Security-Policy" content="')[2].partition('"')[0]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "script-src" not in policy
    assert "unsafe" not in policy
    assert "<link" not in html


def test_output_that_cannot_be_shown_is_named(tmp_path: Path) -> None:
    """HTML or SVG alone leaves a line; beside a picture or equivalent text they leave none."""
    mime_bundles = [
        {"text/html": "<b>bold</b>"},
        {"image/svg+xml": "<svg/>", "text/plain": "<Figure>"},
        {"image/png": "aaaa", "text/html": "<img>"},
        {"text/plain": "   a  b\n0  1  2", "text/html": "<table>"},
    ]
    outputs = [{"output_type": "display_data", "data": data, "metadata": {}} for data in mime_bundles]
    cell = {"cell_type": "code", "source": "x", "outputs": outputs, "metadata": {}, "execution_count": 1}
    path = tmp_path / "a.ipynb"
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    path.write_text(json.dumps(notebook), encoding="utf-8")
    sources = [entry.source for entry in find(str(path)).entries if entry.kind == "output"]
    assert sources == [
        "[Shown in the notebook only: text/html]",
        "<Figure>\n[Shown in the notebook only: image/svg+xml]",
        "",
        "   a  b\n0  1  2",
    ]


def test_heading_of_a_notebook_is_its_title() -> None:
    """The title appears once."""
    document = find(str(NOTEBOOK))
    assert document.title == "Your first ten minutes with agentnb"
    assert page(document).count("<h1>") == 1
    assert exported(document, "md").count("# Your first ten minutes") == 1
    assert page(find(str(CASSETTE))).count("<h1>opencode</h1>") == 1


def test_invalid_source_is_refused_with_a_reason(tmp_path: Path) -> None:
    """An unknown name, another kind of file, a broken file."""
    with pytest.raises(UnknownSession, match="no file and no session"):
        find("nothing-of-that-name")
    other = tmp_path / "a.txt"
    other.write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="neither a notebook nor a cassette"):
        find(str(other))
    broken = tmp_path / "a.ipynb"
    broken.write_text('{"cells": 7}', encoding="utf-8")
    with pytest.raises(UsageError, match="is not a notebook: it has no cells that can be read"):
        find(str(broken))
    cut = tmp_path / "a.cassette.jsonl"
    cut.write_bytes(CASSETTE.read_bytes()[:999])
    with pytest.raises(CassetteBroken, match="truncated"):
        find(str(cut))


TALK = """
import sys, agentnb
session = agentnb.start(cwd=sys.argv[1], permissions="allow", title="Kept")
for prompt in ("/write kept.txt Words.", *sys.argv[2:]):
    session.prompt(prompt).wait(60)
print(session.tab_id)
session.close()
"""


def test_stored_session_is_exported_by_its_id_prefix(tmp_path: Path) -> None:
    """Another process finds it by the beginning of its id."""
    log = str(tmp_path / "log.db")
    tab = run_script(TALK, str(tmp_path), AGENTNB_LOG=log).stdout.strip()
    done = run_agentnb("export", tab[:8], AGENTNB_LOG=log)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# Kept\n")
    assert "/write kept.txt Words." in done.stdout
    assert "I wrote `kept.txt`" in done.stdout
    assert str(tmp_path) not in done.stdout


def test_hostile_session_exports_without_active_content(tmp_path: Path) -> None:
    """Its words are text in any form."""
    log = str(tmp_path / "log.db")
    text = "\n\n".join(line for line in HOSTILE if "\x00" not in line)
    tab = run_script(TALK, str(tmp_path), f"/say {text}", AGENTNB_LOG=log).stdout.strip()
    forms = {form: run_agentnb("export", tab, "--to", form, AGENTNB_LOG=log).stdout for form in FORMS}
    assert inspect(forms["html"]) == []
    answer = json.loads(forms["jsonl"].splitlines()[-1])["source"]
    assert "alert(1)" in answer
    assert answer in forms["md"]
    assert inspect(markdown(answer)) == []
    for tag in ("<script", "<img", "<svg", "<iframe", "<form", "<meta", "<base", "<style", "<a "):
        assert tag not in answer.replace("```html\n</code></pre><script>", "")
    assert answer in nbformat.reads(forms["ipynb"], as_version=4).cells[-1].outputs[0].data["text/markdown"]


def test_export_command_writes_to_a_file_or_stdout(tmp_path: Path) -> None:
    """It writes to a file or stdout, and exits with 1 on failure."""
    run_agentnb("export", str(CASSETTE), "--to", "html", "--output", str(tmp_path / "a.html"))
    assert (tmp_path / "a.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run_agentnb("export", str(CASSETTE)).stdout.startswith("# opencode\n")
    failed = run_agentnb("export", "nothing")
    assert failed.returncode == 1
    assert failed.stderr.startswith("agentnb: There is no file and no session called 'nothing'.")
