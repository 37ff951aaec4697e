"""Finds the text in a pipeline, if it is known without running it: texts that are echoed, decoded, then run."""

from __future__ import annotations

import base64
import binascii
import posixpath
import re
from typing import TYPE_CHECKING

from agentnb.policy.commands.names import program_name
from agentnb.policy.severity import Risk
from agentnb.policy.shell.expand import fields
from agentnb.policy.shell.words import ESCAPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agentnb.policy.shell.expand import Field
    from agentnb.policy.shell.tree import Simple

DOWNLOADS = frozenset({"curl", "wget", "fetch", "http", "https", "aria2c", "lynx", "iwr", "nc", "ncat", "irm", "ssh"})
DECODES = frozenset(
    {"base64", "base32", "xxd", "openssl", "uudecode", "rev", "tr", "gunzip", "zcat", "gzip", "od", "sed"}
)


_PRINT_NOTHING = (["cat", "/dev/null"], ["echo", "-n"], ["echo", "-n", ""], ["printf", ""], ["printf", "%s", ""])


def fed_text(command: Simple, known: Mapping[str, str]) -> str | None:
    """The text of the last here-document or here-string, which *command* reads from stdin; None without one."""
    for redirect in reversed(command.redirects):
        if redirect.document or redirect.operator == "<<<":
            return " ".join(field.text for field in fields(redirect.word, known))
    return None


def emptied(command: Simple, words: Sequence[Field]) -> Iterator[Risk]:
    """The files that *command* empties: ``> file`` without anything that could be written to it."""
    texts = [word.text for word in words]
    program = program_name(texts[0]) if texts else ":"
    read = {posixpath.normpath(text) for text in texts[1:] if text}
    read |= {posixpath.normpath(each.target.source) for each in command.redirects if each.operator == "<"}
    from_nothing = "/dev/null" in read
    silent = program in {":", "true", "false"} or texts in _PRINT_NOTHING
    silent = silent or (from_nothing and program in {"cat", "head", "tail"})
    for redirect in command.redirects:
        path = redirect.target.source
        if redirect.operator in {">", ">|"} and posixpath.normpath(path) in read - {"/dev/null"}:
            yield Risk("critical", f"Empties {path} before it is read.")
        if silent and redirect.operator in {">", ">|", "&>"} and not path.startswith("/dev/"):
            yield Risk("critical", f"Empties {path}.")
    if from_nothing and program in {"tee", "dd"}:
        yield Risk("critical", f"Empties {texts[-1]}.")


def echoed(program: str, words: Sequence[Field], fed: str | None) -> str | None:
    """Returns what *program* prints when it is fed with *fed*, or None where that cannot be said."""
    if program not in {"cat", "tee"} and any(word.dynamic for word in words):
        return None
    texts = [word.text for word in words]
    match program:
        case "echo":
            options = [text for text in texts[:2] if text in {"-n", "-e", "-ne", "-en", "-E"}]
            said = " ".join(texts[len(options) :])
            return _escapes(said) if "e" in "".join(options) or "\\" in said else said
        case "printf":
            return _printed(texts)
        case "cat" | "tee" if not texts or texts == ["-"]:
            return fed
        case "base64" | "openssl" | "base32":
            return _decoded(program, texts, fed)
        case "xxd" if fed is not None and any("r" in text for text in texts):
            return _hex(fed)
        case "rev" if fed is not None and not texts:
            return "\n".join(line[::-1] for line in fed.split("\n"))
        case _:
            return None


_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|0?([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {**ESCAPES, "\\": "\\"}


def _escapes(text: str) -> str:
    """*text* with the escapes that ``echo -e`` and ``printf`` know, octal and hexadecimal ones too."""

    def meant(found: re.Match[str]) -> str:
        hexadecimal = found[1] or found[2] or found[3]
        if hexadecimal is not None:
            number = int(hexadecimal, 16)
            return chr(number) if number < 0x110000 else found[0]  # noqa: PLR2004 - the last code point
        return chr(int(found[4], 8) & 0xFF) if found[4] is not None else _LETTERS.get(found[5], found[0])

    return _ESCAPE.sub(meant, text)


def _printed(texts: list[str]) -> str | None:
    """Returns what ``printf`` prints, if that is known."""
    if not texts:
        return None
    form, values = _escapes(texts[0]), iter(texts[1:])
    out = form.replace("%%", "\0")
    while "%s" in out or "%b" in out:
        kind = min((kind for kind in ("%s", "%b") if kind in out), key=out.index)
        value = next(values, "")
        out = out.replace(kind, _escapes(value) if kind == "%b" else value, 1)
    return None if "%" in out else out.replace("\0", "%") + "".join(values)


def _decoded(program: str, texts: list[str], fed: str | None) -> str | None:
    if fed is None or not any(text in {"-d", "-D", "--decode", "-di"} for text in texts):
        return None
    decode = base64.b32decode if program == "base32" else base64.b64decode
    try:
        return decode("".join(fed.split()).encode()).decode()
    except (binascii.Error, ValueError):
        return None


def _hex(fed: str) -> str | None:
    try:
        return bytes.fromhex("".join(fed.split())).decode()
    except ValueError:
        return None
