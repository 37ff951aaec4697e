"""Mathematics in exported pages: the formulas are the chat's, and their markup is harmless.

The inside: one page for each of these formulas, many of them hostile or generated, would take minutes.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agentnb.ipython.markdown import harmless
from agentnb.plugins.export.formulas import LONGEST, mathml
from agentnb.plugins.export.mathematics import read_formulas
from agentnb.plugins.export.page import markdown
from tests.conftest import ROOT
from tests.unit.forked import run_script
from tests.unit.plugins.export.test_export import inspect

CASES = ROOT / "tests/cases/mathematics"
TEXTS = json.loads((CASES / "texts.json").read_text(encoding="utf-8"))
LINES = (CASES / "formulas.txt").read_text(encoding="utf-8").split("\n")
FORMULAS = [line for line in LINES if line and not line.startswith("#")]
FORBIDDEN = ("\\href", "\\url", "\\includegraphics", "\\html")
LONG = 60
"""Seconds of processor time; only an endless loop takes so long."""


def formulas(text: str) -> list[dict[str, Any]]:
    """Returns the formulas of a Markdown text in the form of the chat's tests."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    read_formulas(parser)
    tokens = [token for block in parser.parse(text) for token in block.children or ()]
    return [{"source": token.content, "display": token.meta["display"]} for token in tokens if token.type == "math"]


@pytest.mark.parametrize("case", TEXTS["formulas"], ids=lambda case: case["text"])
def test_formulas_are_recognized_as_in_the_chat(case: dict[str, Any]) -> None:
    """The front end's tests use the same table."""
    assert formulas(case["text"]) == case["formulas"]
    drawn = markdown(case["text"])
    assert drawn.count("<math") == drawn.count("</math>") == len(case["formulas"])
    displayed = [one for one in case["formulas"] if one["display"]]
    assert drawn.count('<span class="display"><math display="block">') == len(displayed)


@pytest.mark.parametrize("text", [*TEXTS["none"], f"${'x' * 6000}$"])
def test_money_and_code_are_not_formulas(text: str) -> None:
    """Unclosed formulas and those that cross a blank line stay, too."""
    assert formulas(text) == []
    assert "<math" not in markdown(text)


def test_most_of_300_formulas_are_drawn_without_links_or_html() -> None:
    """The front end's 300; the others stay source text."""
    drawn = [source for source in FORMULAS if mathml(source, is_display=True)]
    assert len(FORMULAS) == 300
    assert len(drawn) >= 268
    assert [source for source in drawn if source.startswith(FORBIDDEN)] == []
    assert inspect("".join(mathml(source, is_display=False) or "" for source in FORMULAS)) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x < y", "<mi>x</mi><mo>&lt;</mo><mi>y</mi>"),
        (r"\mathcal{B}\boldsymbol{\alpha}", "<mi>\u212c</mi><mrow><mi>\U0001d736</mi></mrow>"),
        (
            r"\text{if $x$}",
            '<mstyle displaystyle="false" scriptlevel="0"><mtext>if\xa0</mtext><mrow><mi>x</mi></mrow></mstyle>',
        ),
        (r"\kern-9999em x", '<mspace width="-40em"></mspace><mi>x</mi>'),
        (r"\mathop{a}", "<mrow><mrow><mi>a</mi></mrow></mrow>"),
    ],
)
def test_formula_becomes_mathml_core(source: str, expected: str) -> None:
    """Elements without styles; lengths up to 40 em."""
    assert mathml(source, is_display=False) == f"<math><mrow>{expected}</mrow></math>"


@pytest.mark.parametrize(
    "source",
    [
        r"\nosuch{x}", r"\frac{1}", r"x & y", r"\begin{nosuch} x \end{nosuch}", r"\begin{matrix} x", r"\left( x",
        r"a \\ b", r"\href{javascript:alert(1)}{x}", r"\unicode{x202e}", r"\def\a{\a\a}\a", r"\newcommand{\a}{\a}\a",
        r"\let\a=\frac", r"\sideset{_1}{_2}{\sideset{_1}{_2}\sum}", r"\class{tab}{x}", r"\style{position:fixed}{x}",
        r"\htmlId{a}{x}", r"\DeclareMathOperator{\a}{b}\a", r"\newenvironment{a}{b}{c}", r"\text{\textbf{x} y}",
        r"\cancel{5}", "x^y^z", "{" * 100_000, "{" * 60 + "x" + "}" * 60, r"\sqrt{" * 60 + "x" + "}" * 60,
        r"\sqrt" * 300, r"\left(" * 60 + "x", "x" * (LONGEST + 1), "x+" * 500_000, r"\skew{" + "9" * 1000 + "}{x}",
        "^", "_",
    ],
    ids=lambda source: source[:30],
)  # fmt: skip
def test_unknown_or_too_large_formulas_are_not_drawn(source: str) -> None:
    """The decision takes only a moment."""
    start = time.process_time()
    assert mathml(source, is_display=True) is None
    assert time.process_time() - start < LONG


def test_formula_that_is_not_drawn_shows_its_source() -> None:
    """Backslashes and stars stay."""
    assert markdown(r"See \(a_1*b*\nosuch<c\).") == "<p>See \\(a_1*b*\\nosuch&lt;c\\).</p>\n"
    assert markdown("$$\n\\nosuch\n- b\n$$") == "<p>$$\n\\nosuch\n- b\n$$</p>\n"


@pytest.mark.parametrize("source", ["$$a<b$$", "$a<b$", r"\(a<b\)", "$$\na\n< b\n$$"])
def test_formula_in_a_stored_answer_is_drawn(source: str) -> None:
    """A stored answer has references and other characters in place of some."""
    drawn = markdown(harmless(f"So\n\n{source}\n\nis"))
    assert "<mi>a</mi><mo>&lt;</mo><mi>b</mi>" in drawn
    assert markdown("$\\nosuch&lt;x$") == "<p>$\\nosuch&lt;x$</p>\n"


def test_formulas_show_their_source_without_latex2mathml(tmp_path: Path) -> None:
    """Nothing fails, and the page does not mention it."""
    cell = {"cell_type": "markdown", "metadata": {}, "source": "So $a_1*b*c_1$."}
    (tmp_path / "a.ipynb").write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}))
    code = (
        "import runpy, sys\nsys.modules['latex2mathml'] = None\nsys.argv[1:] = ['export', 'a.ipynb', '--to', 'html']\n"
        "runpy.run_module('agentnb', run_name='__main__', alter_sys=True)"
    )
    done = run_script(code, cwd=tmp_path)
    assert '<section class="text"><p>So $a_1*b*c_1$.</p>' in done.stdout, done.stderr


@pytest.mark.parametrize(
    "piece",
    [
        *("{", "$", "$$", "$$\n", "$x$ ", "\\(", "\\[\n", "\\(x\\)\n", "$1"),
        *("$" + "1" * 4000 + " $ ", "\\" * 99 + "(", "> \\[\n"),
    ],
    ids=lambda piece: piece[:9].encode("unicode_escape").decode(),
)
def test_text_with_many_formula_signs_is_parsed_quickly(piece: str) -> None:
    """The search for a formula's end is short for each character."""
    start = time.process_time()
    text = piece * (200_000 // len(piece))
    formulas(f"{text}\n\n\\]\\)$")
    assert time.process_time() - start < LONG


def test_megabyte_of_macros_stays_text() -> None:
    """Built-in macros that become more than one character."""
    start = time.process_time()
    source = r"\dots\implies" * 80_000
    assert "<math" not in markdown(f"$${source}$$")
    assert time.process_time() - start < LONG


PIECES = (
    r"\href{javascript:alert(1)}{x}", r"\url{//a.b}", r"\text{<img src=x onerror=alert(1)>}",
    "<script>alert(1)</script>", r"\color{url(//a.b)}x", r'\textcolor{red" onclick="x}{x}', r"\colorbox{red}{<b>}",
    r"\fcolorbox{a}{b}{c}", r"\rule{9999em}{9em}", r"\hspace{-9999px}", r"\raise{1em}{x}", r"\begin{matrix}",
    r"\end{matrix}", r"\begin{array}{c|c}", r"\end{array}", r"\\", "&", r"\left(", r"\right)", r"\frac", r"\sqrt[",
    r"\sqrt", "]", "{", "}", "^", "_", "'", "x", "1", "&lt;", "&#x3c;", "\u202e", "`", r"\text{", r"\mathbb{",
    r"\mathbf", r"\operatorname{", r"\not", r"\lim_", r"\sum", r"\xrightarrow[", r"\boxed{", r"\cancel{", r"\limits",
    r"\big", r"\middle|", r"\unicode{3c}", r"\def\a{", r"\a", "%", "#1", "~", '"', "</math>", "<math href='x'>",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.sampled_from(["$", "$$", "$$\n"]))
def test_random_formulas_become_only_harmless_mathematics(pieces: list[str], sign: str) -> None:
    """Drawn or not, they fetch and run nothing and leave nothing open."""
    source = "".join(pieces)
    for is_display in (False, True):
        assert inspect(mathml(source, is_display=is_display) or "") == []
    assert inspect(markdown(f"a {sign}{source}{sign[::-1]} b")) == []


@given(st.text(alphabet="<>&\"'`$\\()[]{}^_%#~! \nabdefiumlrcstxy/=:;01-*|", max_size=80))
@example("\\\n")
def test_any_text_with_formulas_becomes_harmless_html(text: str) -> None:
    """Characters in any order, with and without dollar signs."""
    assert inspect(markdown(text)) == []
    assert inspect(markdown(f"${text}$")) == []
    assert inspect(mathml(text, is_display=True) or "") == []
