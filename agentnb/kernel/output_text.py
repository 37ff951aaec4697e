"""Outputs of cells as text for an agent, bounded in size."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import struct
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.credentials import HIDDEN, Credentials, is_secret_name, replaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


MOST_CHARACTERS = 20_000  # characters of one answer's text
_LITERAL = re.compile(
    r"""(?P<name>\b[A-Za-z_]\w{0,63})["']?[ \t]{0,4}[=:][ \t]{0,4}[rbfuRBFU]{0,2}"""
    r"""(?P<value>"[^"\n]{1,500}"|'[^'\n]{1,500}')"""
)
PICTURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8", "image/gif": b"GIF8", "image/webp": b"RIFF"}
"""The types of pictures that agents accept, and the first bytes of each."""
CHARTS = re.compile(r"application/vnd\.(?:plotly|vega|vegalite)\.v\d+[.+]json")
FIGURES = (*PICTURES, "image/svg+xml")
LARGEST_PICTURE = 3 * 1024 * 1024  # bytes of one picture
LONGEST_CHART = 2_000_000  # characters of a chart's JSON that is kept and drawn
LOOKED_AT = 200_000
"""Characters of one output's text that are read, half from its beginning and half from its end."""
LONGEST_SPECIFICATION = 4_000  # characters of an SVG or of a chart's JSON
ALTAIR_HTML = re.compile(r"\}\)\(\s*(?=\{)")
PLOTLY_HTML = re.compile(r'Plotly\.newPlot\(\s*"[^"]{0,100}",\s*')
"""Patterns for what comes before a chart's JSON in the HTML that each library gives."""
LEFT_OUT = "agentnb/leftOut"  # the key in an attachment's `_meta` of the sentences that say what was cut
LONGEST = 20_000  # characters of the text of all outputs that are read together
LONGEST_OUTPUT = 10_000  # characters of one output
MOST_PICTURES = 5
LARGEST_PICTURES = 5 * 1024 * 1024  # bytes of all pictures that are read together
MOST_ROWS = 60
MOST_COLUMNS = 40
_OBJECT = re.compile(r"<[\w.]+(?: [\w.]+)* (?:object|at 0x)[^\n]{0,200}>\Z")
_SHAPES = (
    re.compile(r"(\d[\d,]{0,15}) rows × (\d[\d,]{0,9}) columns"),  # pandas
    re.compile(r"shape: \((\d[\d_,]{0,15}), (\d[\d_,]{0,9})\)"),  # polars
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


def masked(text: str, credentials: Credentials) -> str:
    """*text* with credentials, and the literals that are given to names of secrets, replaced by ``***``."""
    text = credentials.hidden(text)
    literals = (each for each in _LITERAL.finditer(text) if is_secret_name(each["name"]))
    return replaced(text, [(each.start("value") + 1, each.end("value") - 1, HIDDEN) for each in literals])


def cut(text: str, most: int) -> str:
    """*text*, without its middle if it is longer than *most* characters."""
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail]}… ({len(text) - most:,} characters left out) …{text[-tail:]}"


def clipped(text: str, most: int = MOST_CHARACTERS) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… ({len(text) - 2 * half:,} characters left out) …\n{text[-half:]}"


def fenced(text: str) -> str:
    """*text* as a Markdown code block whose fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def ends(text: str) -> str:
    """The beginning and end of a very long *text*; the middle would be cut anyway."""
    half = LOOKED_AT // 2
    return text if len(text) <= LOOKED_AT else f"{text[:half]}\n{text[-half:]}"


def without_colours(text: str) -> str:
    """*text* without terminal escape sequences, such as colours."""
    return _ESCAPES.sub("", text)


class OutputPicture(msgspec.Struct, frozen=True, kw_only=True):
    data: str
    content_type: str
    text: str = ""


class OutputText(msgspec.Struct, frozen=True, kw_only=True):
    """Outputs as an agent gets them."""

    text: str
    pictures: tuple[OutputPicture, ...] = ()
    left_out: tuple[str, ...] = ()


def read_outputs(outputs: Iterable[Mapping[str, Any]], *, error: str | None = None) -> OutputText:
    return _Reading(error).read(outputs)


def picture_size(data: str) -> int:
    """The size in bytes of a picture in base64."""
    return len(data) * 3 // 4


def _chart_in(html: str) -> str:
    """The chart in the HTML that Altair and Plotly emit if they know no renderer; '' for other HTML."""
    match = PLOTLY_HTML.search(html) or (ALTAIR_HTML.search(html) if "vegaEmbed" in html else None)
    return "" if match is None else html[match.end() :].partition("</script>")[0].strip()


class _Reading:
    """One reading of outputs, which keeps count of what is left out."""

    def __init__(self, error: str | None) -> None:
        self._error = error
        self._credentials = Credentials(os.environ)
        self._pictures: list[OutputPicture] = []
        self._size = 0
        self._left_out: list[str] = []

    def read(self, outputs: Iterable[Mapping[str, Any]]) -> OutputText:
        pieces: list[str] = []
        printed = ""
        for output in outputs:
            if output.get("output_type") == "stream":
                printed += _joined(output.get("text"))
                if len(printed) > 2 * LOOKED_AT:
                    printed = ends(printed)
                continue
            pieces += self._printed(printed)
            printed = ""
            pieces.append(self._other(output))
        pieces += self._printed(printed)
        return OutputText(
            text=self._within("\n".join(piece for piece in pieces if piece), LONGEST, "The outputs are"),
            pictures=tuple(self._pictures),
            left_out=tuple(dict.fromkeys(self._left_out)),
        )

    def _printed(self, text: str) -> list[str]:
        lines = (line.rstrip("\r").rpartition("\r")[2] for line in without_colours(text).split("\n"))
        return [self._safe("\n".join(lines).strip("\n"), LONGEST_OUTPUT, "What was printed is")] if text else []

    def _other(self, output: Mapping[str, Any]) -> str:
        if output.get("output_type") == "error":
            return self._failure(output)
        data = output.get("data")
        bundle = {str(kind): value for kind, value in data.items()} if isinstance(data, dict) else {}
        plain = _joined(bundle.get("text/plain"))
        for kind in PICTURES:
            if (encoded := bundle.get(kind)) is not None:
                return self._picture(kind, encoded, plain)
        if svg := _joined(bundle.get("image/svg+xml")):
            return "An SVG picture, as text:\n" + self._safe(fenced(svg), LONGEST_SPECIFICATION, "An SVG picture is")
        if chart := next((kind for kind in bundle if CHARTS.fullmatch(kind)), None):
            specification = bundle[chart] if isinstance(bundle[chart], str) else json.dumps(bundle[chart], default=str)
            return f"A chart ({chart}):\n" + self._safe(specification, LONGEST_SPECIFICATION, "A chart's JSON is")
        return self._text(bundle, plain)

    def _text(self, bundle: Mapping[str, Any], plain: str) -> str:
        html = _joined(bundle.get("text/html"))
        if chart := _chart_in(html):
            return "A chart, in HTML:\n" + self._safe(chart, LONGEST_SPECIFICATION, "A chart's JSON is")
        read = _Html(html) if html else None
        if read is not None and read.rows:
            return self._table(read)
        text = plain if plain and not _OBJECT.match(plain) else ""
        text = text or _joined(bundle.get("text/markdown")) or (read.text if read is not None else "")
        text = text or _joined(bundle.get("text/latex")) or plain
        if not text:
            return f"(shows {', '.join(sorted(bundle)[:5])[:200]})" if bundle else ""
        return self._safe(without_colours(ends(text)), LONGEST_OUTPUT, "An output is")

    def _table(self, table: _Html) -> str:
        width = max(len(row) for row in table.rows)
        body = len(table.rows) - table.headers
        shape = next((match for pattern in _SHAPES if (match := pattern.search(table.text))), None)
        rows, columns = shape.groups() if shape else (f"{body:,}", f"{width - table.index_columns:,}")
        rows_shown = [" | ".join(row[:MOST_COLUMNS]) for row in table.rows[: table.headers + MOST_ROWS]]
        lines = [f"Table, {rows} rows × {columns} columns:", *rows_shown]
        if body > MOST_ROWS or width > MOST_COLUMNS:
            note = f"A table is cut to {min(body, MOST_ROWS)} rows and {min(width, MOST_COLUMNS)} columns."
            self._left_out.append(note)
            lines.append(f"… ({note})")
        return self._safe("\n".join(lines), LONGEST_OUTPUT, "A table is")

    def _failure(self, output: Mapping[str, Any]) -> str:
        if self._error is not None:
            return self._error
        name, message = _joined(output.get("ename")), _joined(output.get("evalue"))
        lines = output.get("traceback")
        traceback = "\n".join(map(str, lines)) if isinstance(lines, list) else ""
        summary = f"{name}: {message}" if name else "An error"
        text = self._safe(without_colours(ends(traceback)), LONGEST_OUTPUT, "A traceback is")
        return f"{self._safe(ends(summary), 2_000, 'An error is')}\n{fenced(text)}" if text else summary[:2_000]

    def _picture(self, kind: str, encoded: Any, plain: str) -> str:
        data = _joined(encoded)
        data = "".join(data.split()) if "\n" in data else data
        size = encoded if isinstance(encoded, int) else picture_size(data)
        room = min(LARGEST_PICTURE, LARGEST_PICTURES - self._size)
        if size > room or len(self._pictures) >= MOST_PICTURES:
            note = f"A picture of {_size(size)} is left out: an agent gets at most {MOST_PICTURES} pictures, "
            note += f"{_size(LARGEST_PICTURE)} each and {_size(LARGEST_PICTURES)} in all."
        elif not is_picture(data, kind):
            note = f"A picture is left out: it is not a {kind.partition('/')[2].upper()}."
        else:
            caption = "" if _OBJECT.match(plain) else plain.partition("\n")[0][:100]
            text = self._safe(caption, 100, "")
            self._pictures.append(OutputPicture(data=data, content_type=kind, text=text))
            self._size += size
            return f"[picture {len(self._pictures)}{': ' if text else ''}{text}]"
        self._left_out.append(note)
        return f"[{note}]"

    def _safe(self, text: str, most: int, what: str) -> str:
        return self._within(masked(ends(text), self._credentials), most, what)

    def _within(self, text: str, most: int, what: str) -> str:
        if len(text) > most and what:
            self._left_out.append(f"{what} cut to {most:,} characters.")
        return clipped(text, most)


def is_picture(data: str, kind: str) -> bool:
    """True if base64 *data* begins as a picture of that *kind* does."""
    try:
        start = base64.b64decode(data[:32], validate=True)
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return start.startswith(PICTURES[kind])


def picture_tokens(data: str, kind: str) -> int:
    """About how many tokens a picture costs: its area over 750, at most 1,600; 1,500 if unknown."""
    if kind != "image/png" or not is_picture(data[:64], kind):
        return 1_500
    width, height = struct.unpack(">II", base64.b64decode(data[:64])[16:24])
    return int(max(1, min(1_600, width * height // 750)))


class _Html(HTMLParser):
    """The text of HTML, and the rows of its first table."""

    _SKIPPED = frozenset({"script", "style", "template", "head", "title", "noscript", "svg"})
    _BREAKS = frozenset({"p", "div", "br", "tr", "li", "table", "h1", "h2", "h3", "h4", "h5", "h6", "pre"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.headers = 0
        self.index_columns = 0
        self._tables = 0
        self._skipped = 0
        self._pieces: list[str] = []
        self._row: list[str] | None = None
        self._cell: list[str] | None = None
        self._span = 1
        self._has_data = False
        self._labels = 0  # header cells at the beginning of the row
        self._in_head = self._head_ended = False
        self.feed(html[:LOOKED_AT])
        self.close()

    @property
    def text(self) -> str:
        lines = (" ".join(line.split()) for line in "".join(self._pieces).split("\n"))
        return "\n".join(line for line in lines if line)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._SKIPPED:
            self._skipped += 1
        if tag in self._BREAKS:
            self._pieces.append("\n")
        if tag == "table":
            self._tables += 1
        if self._tables != 1:
            return
        self._in_head = self._in_head or tag == "thead"
        if tag == "tr":
            self._end_row()
            self._row, self._has_data, self._labels = [], False, 0
        elif tag in {"td", "th"} and self._row is not None:
            self._end_cell()
            span = re.fullmatch(r"\d{1,3}", dict(attrs).get("colspan") or "", re.ASCII)
            self._cell, self._span = [], min(int(span[0]), MOST_COLUMNS) if span else 1
            self._has_data = self._has_data or tag == "td"
            self._labels += not self._has_data

    def handle_endtag(self, tag: str) -> None:
        if tag in self._SKIPPED:
            self._skipped = max(0, self._skipped - 1)
        if tag in {"td", "th"}:
            self._end_cell()
        if tag in {"tr", "table", "thead"}:
            self._end_row()
        if tag == "thead":
            self._in_head, self._head_ended = False, True

    def handle_data(self, data: str) -> None:
        if self._skipped:
            return
        self._pieces.append(data)
        if self._cell is not None:
            self._cell.append(data)

    def close(self) -> None:
        super().close()
        self._end_row()

    def _end_cell(self) -> None:
        if self._cell is not None and self._row is not None:
            self._pieces.append(" ")
            self._row += [" ".join("".join(self._cell).split())[:500], *[""] * (self._span - 1)]
        self._cell = None

    def _end_row(self) -> None:
        self._end_cell()
        if self._row:
            self.rows.append(self._row)
            if self._head_ended or (self._has_data and not self._in_head):
                self.index_columns = max(self.index_columns, self._labels)
            elif self.headers == len(self.rows) - 1:
                self.headers += 1
                if self.headers == 1:  # the index has no name here, and a frame without rows has only this row
                    self.index_columns = next((at for at, name in enumerate(self._row) if name), len(self._row))
        self._row = None


def _joined(value: Any) -> str:
    """A text of a notebook file as one string; the file holds a string or a list of strings."""
    if isinstance(value, str):
        return value
    return "".join(part for part in value if isinstance(part, str)) if isinstance(value, (list, tuple)) else ""


def _size(size: int) -> str:
    return f"{max(1, round(size / 1024)):,} KB" if size < 1024**2 else f"{size / 1024**2:,.0f} MB"
