"""One self-contained, inert HTML page: it has no scripts and no forms, and fetches nothing."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from agentnb.plugins.export.formulas import mathml
from agentnb.plugins.export.mathematics import read_formulas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from agentnb.plugins.export.document import Document, DocumentEntry

_ALLOWED = re.compile(
    r"</?(?:details|summary|code|pre|b|i|em|strong|sub|sup|kbd|br|hr|table|thead|tbody|tr|th|td|p)\s*/?>"
)
_TAG = re.compile(r"<[^<>]*>|[^<]+|<")
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_REFERENCE = re.compile(r"&lt;|&#[0-9]{1,7};")
_VOID = ("br", "hr")


def page(document: Document) -> str:
    title = text(document.title)
    head = "" if document.is_headed else f"<h1>{title}</h1>\n"
    body = "\n".join(entry_html(entry) for entry in document.entries)
    return page_of(document.title, f"{head}{body}")


def page_of(title: str, body: str, more_style: str = "") -> str:
    """Returns a page with this body, which is our own HTML; *more_style* follows the style of all pages."""
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8") + more_style
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="referrer" content="no-referrer">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        f"{body}\n</main>\n</body>\n</html>\n"
    )


def text(words: str) -> str:
    return escape(_CONTROLS.sub("", words), quote=True)


def entry_html(entry: DocumentEntry) -> str:
    """Returns an entry as inert HTML."""
    head = f'<p class="head">{text(entry.head)}</p>' if entry.head else ""
    is_prose = entry.kind in ("text", "answer")
    body = (
        markdown(entry.source) if is_prose else f"<pre><code>{text(entry.source)}</code></pre>" if entry.source else ""
    )
    images = "".join(f'<p><img alt="" src="{uri}"></p>' for uri in entry.images if _PICTURE.fullmatch(uri))
    return f'<section class="{entry.kind}">{head}{body}{images}</section>'


def markdown(source: str) -> str:
    """Returns Markdown as inert HTML."""
    parser = _parser()
    rendered: str = parser.render(_CONTROLS.sub("", source))
    return _closed(rendered)


def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.validateLink = _is_safe  # type: ignore[method-assign]
    parser.normalizeLink = _address  # type: ignore[method-assign]
    for rule in ("html_block", "html_inline"):
        parser.add_render_rule(rule, _html)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("image", _image)
    read_formulas(parser)
    parser.add_render_rule("math", _math)
    return parser


def _html(_: Any, tokens: Sequence[Token], index: int, *__: Any) -> str:
    """Returns the source's HTML: a few elements as they are, everything else as text."""
    pieces = _TAG.findall(tokens[index].content)
    return "".join(piece if _ALLOWED.fullmatch(piece) else _escaped_once(piece) for piece in pieces)


def _escaped_once(piece: str) -> str:
    """Returns *piece* as text; character references, which are harmless, stay."""
    return re.sub(r"&amp;(#\d{1,7};|#x[0-9a-fA-F]{1,6};|[a-zA-Z]{2,10};)", r"&\1", escape(piece, quote=True))


def _fence(_: Any, tokens: Sequence[Token], index: int, *__: Any) -> str:
    return f"<pre><code>{text(tokens[index].content)}</code></pre>\n"


def _image(_: Any, tokens: Sequence[Token], index: int, *__: Any) -> str:
    source = str(tokens[index].attrs.get("src", ""))
    alt = text(tokens[index].content)
    return f'<img alt="{alt}" src="{source}">' if _PICTURE.fullmatch(source) else f"[{alt or 'picture'}]"


def _math(_: Any, tokens: Sequence[Token], index: int, *__: Any) -> str:
    """Returns a formula; one that cannot be drawn is shown as it was written."""
    token = tokens[index]
    is_display = bool(token.meta["display"])
    drawn = mathml(_REFERENCE.sub(lambda reference: unescape(reference.group()), token.content), is_display=is_display)
    if drawn is None:
        return _escaped_once(token.markup)
    return f'<span class="display">{drawn}</span>' if is_display else drawn


def _is_safe(url: str) -> bool:
    parts = urlsplit(unquote(url).strip())
    return _PICTURE.fullmatch(url) is not None or parts.scheme.lower() in ("http", "https", "mailto")


def _address(url: str) -> str:
    return url if _PICTURE.fullmatch(url) else quote(url, safe="/:?#@!$&*+,;=%~()")


def _closed(rendered: str) -> str:
    """Returns *rendered* with every opened element closed, and none closed that was not opened."""
    out, opened = [], []
    at = 0
    for match in re.finditer(r"<(/?)([a-z][a-z0-9]*)(?![a-z0-9])([^<>]*)>", rendered):
        out.append(rendered[at : match.start()])
        at = match.end()
        closes, name = match[1], match[2]
        if not closes:
            out.append(match[0])
            if name not in (*_VOID, "img"):
                opened.append(name)
        elif name in opened:
            while opened:
                last = opened.pop()
                out.append(f"</{last}>")
                if last == name:
                    break
    return "".join([*out, rendered[at:], *(f"</{name}>" for name in reversed(opened))])
