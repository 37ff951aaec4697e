"""Renders trusted Markdown as a page does: nbconvert, CommonMark, and JupyterLab's mathematics."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import mistune
from markdown_it import MarkdownIt
from nbconvert.filters.markdown_mistune import markdown2html_mistune

_MATHEMATICS = re.compile(r"(?<!\\)\$(?:[^$\n]|\n(?!\n))+?\$|\\begin\{(\w+)\}.*?\\end\{\1\}", re.DOTALL)
_CODE = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[^`\n]*\n.*?^(?P=fence)[`~]*$|(?<!`)(?P<ticks>`+)[^\n]*?[^`\n](?P=ticks)(?!`)",
    re.DOTALL | re.MULTILINE,
)


def pages(markdown: str) -> dict[str, str]:
    """Returns *markdown* as HTML by each renderer, with raw HTML, as for a trusted output."""
    commonmark = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    gfm = mistune.create_markdown(escape=False, plugins=["table", "url", "strikethrough", "task_lists", "footnotes"])
    return {
        "commonmark": str(commonmark.render(markdown)),
        "mistune": str(gfm(markdown)),
        "nbconvert": str(markdown2html_mistune(markdown)),
        "jupyterlab": _as_jupyterlab(markdown, gfm),
    }


def _as_jupyterlab(markdown: str, render: mistune.Markdown) -> str:
    """Removes formulas outside of code, renders the rest, and puts them back into the HTML as text."""
    code = [match.span() for match in _CODE.finditer(markdown)]
    formulas: list[str] = []

    def take(match: re.Match[str]) -> str:
        if any(start < match.end() and match.start() < end for start, end in code):
            return match.group()
        formulas.append(html.escape(match.group(), quote=False))
        return f"@@{len(formulas) - 1}@@"

    rendered = str(render(_MATHEMATICS.sub(take, markdown)))
    placeholder = re.compile(r"@@(\d+)@@")
    return placeholder.sub(
        lambda match: formulas[int(match[1])] if int(match[1]) < len(formulas) else match[0], rendered
    )


class Page(HTMLParser):
    """Collects the elements, attributes and text of a page."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.code: list[str] = []
        self.text: list[str] = []
        self.depth = 0
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "pre":
            self.code.append("")
            self.depth += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self.depth -= 1

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if self.depth:
            self.code[-1] += data
