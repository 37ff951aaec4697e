"""What is wrong with an agent's description, with the line and the key that it is about."""

from __future__ import annotations

import re

_NAME, _INDEX = re.compile(r"[\w-]+"), re.compile(r"\[[^\[\]]*\]")
_LINE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_PATH = re.compile(r" - at `\$([^`]*)`$")
_UNKNOWN_FIELD = re.compile(r"unknown field `([^`]+)`")
_KEY_IN_LINE = re.compile(r"\A[\s\[]*[\"']?([\w.-]+)[\"']?\s*(?:=|\])")
_WORDS = {
    "array": "a list",
    "object": "a table",
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
}
_TYPE = re.compile(rf"`({'|'.join(_WORDS)})`")


def problem(text: str, error: Exception, key: str = "") -> str:
    r"""What *error* says of the TOML *text*, behind the line and the key."""
    said = str(error).removesuffix(".")
    if (syntax := _LINE.search(said)) is not None:
        lines = text.splitlines() or [""]
        number = int(syntax[1] or len(lines))
        found = _KEY_IN_LINE.match(lines[min(number, len(lines)) - 1])
        return f"{_place(number, found[1] if found else '')}{said[: syntax.start()]}"
    if (path := _PATH.search(said)) is not None:
        keys = _NAME.findall(_INDEX.sub("", path[1]))
        key, said = (keys[-1] if keys else key), said[: path.start()]
    if (unknown := _UNKNOWN_FIELD.search(said)) is not None:
        key, said = unknown[1], "there is no such key"
    said = _TYPE.sub(lambda match: _WORDS[match[1]], said.replace("Object missing required field", "it lacks"))
    return f"{_place(_line_of(text, key), key)}{said}"


def _place(line: int, key: str) -> str:
    words = [f"line {line}"] if line else []
    return ", ".join([*words, key] if key else words) + (": " if words or key else "")


def _line_of(text: str, key: str) -> int:
    if not key:
        return 0
    wanted = re.compile(rf"\s*(?:\[+\s*(?:[\w-]+\s*\.\s*)*)?[\"']?{re.escape(key)}[\"']?\s*(?:[=.\]])")
    return next((number for number, each in enumerate(text.splitlines(), 1) if wanted.match(each)), 0)
