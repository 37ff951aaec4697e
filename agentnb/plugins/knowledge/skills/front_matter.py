"""The front matter of a ``SKILL.md``: the part of YAML that the format needs, and nothing that can grow when read."""

from __future__ import annotations

import re

from agentnb.safe_json import read_json

MOST_LINES = 200
LONGEST_LINE = 4_000

_KEY = re.compile(r"(?P<key>[A-Za-z][\w-]*)\s*:(?:\s+(?P<value>.*))?$")
_BLOCK = re.compile(r"(?P<style>[|>])[+-]?\s*(?:#.*)?$")
_FORBIDDEN = ("&", "*", "!", "{", "[", "%", "@", "`")


def split_front_matter(text: str) -> tuple[dict[str, str | dict[str, str]], str]:
    r"""The front matter and the body of a ``SKILL.md``."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != "---":
        raise ValueError("It does not start with the line ---.")
    end = next((at for at, line in enumerate(lines[1 : MOST_LINES + 2], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise ValueError(f"Its front matter does not end with the line --- within {MOST_LINES} lines.")
    return _mapping(lines[1:end]), "\n".join(lines[end + 1 :]).strip("\n")


def _mapping(lines: list[str]) -> dict[str, str | dict[str, str]]:
    fields: dict[str, str | dict[str, str]] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if (match := _KEY.match(line)) is None or len(line) > LONGEST_LINE:
            raise ValueError(f"A line of its front matter does not have the form KEY: VALUE: {line[:60]!r}.")
        inner = _indented(lines, at)
        at += len(inner)
        key, value = match["key"], (match["value"] or "").strip()
        if key in fields:
            raise ValueError(f"Its front matter has {key!r} twice.")
        if (block := _BLOCK.match(value)) is not None:
            fields[key] = _block(inner, block["style"])
        elif not value and any(map(_KEY.match, (each.strip() for each in inner if each.strip()))):
            fields[key] = {name: str(text) for name, text in _mapping([each.strip() for each in inner]).items()}
        else:
            fields[key] = _text(" ".join([value, *(each.strip() for each in inner)]).strip())
    return fields


def _indented(lines: list[str], start: int) -> list[str]:
    end = start
    while end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t"):
        end += 1
    return lines[start:end]


def _block(lines: list[str], style: str) -> str:
    texts = [line.strip() for line in lines]
    return ("\n" if style == "|" else " ").join(texts).strip()


def _text(value: str) -> str:
    if value.startswith('"'):
        try:
            text = read_json(value)
        except ValueError:
            raise ValueError(f"Its front matter has an unclosed quote: {value[:60]!r}.") from None
        return str(text)
    if value.startswith("'"):
        if len(value) == 1 or not value.endswith("'"):
            raise ValueError(f"Its front matter has an unclosed quote: {value[:60]!r}.")
        return value[1:-1].replace("''", "'")
    if value.startswith(_FORBIDDEN):
        raise ValueError(f"Its front matter has a value that is not plain text: {value[:60]!r}.")
    return value.partition(" #")[0].rstrip()
