"""Takes secrets out of what is written down."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = re.compile(r"(?i)(key|token|secret|passw|pwd|credential|auth|cookie|session_id|dsn)")
_PATH = re.compile(r"~?/[^/]*/|/\w*$")  # PWD is no password
_SHORTEST = 6
_KEYS = r"[\w.-]*(?:api[_-]?key|access[_-]?key|token|secret|passw(?:or)?d|pwd|credential|passphrase|auth)[\w.-]*"
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?i)\b(bearer|basic|digest|negotiate)\s+[A-Za-z0-9+/=._~-]{6,}"), r"\1 ***"),
    (re.compile(rf"(?i)({_KEYS}[\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s\"'&;|)]+)"), r"\1***"),
    (re.compile(rf"(?i)(--?{_KEYS}[ =])(\"[^\"]*\"|'[^']*'|[^\s\"'&;|)-][^\s\"'&;|)]*)"), r"\1***"),
    (re.compile(r"(\w[\w+.-]*://[^\s/:@]*:)[^\s/@]+@"), r"\1***@"),
    (re.compile(r"(?<!\S)(-u|--user|--proxy-user)([ =]?)([^\s:]+):\S+"), r"\1\2\3:***"),
    (re.compile(r"(?<!\S)(-p)([^\s-]\S{5,})(?=\s|$)"), r"\1***"),
    (
        re.compile(
            r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{12,}|\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
            r"|\bxox[abprs]-[\w-]{10,}|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}|\bhf_[A-Za-z0-9]{16,}|\bpypi-[\w-]{20,}"
            r"|\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?|\bnpm_[A-Za-z0-9]{20,}"
        ),
        "***",
    ),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"), "***"),
)


def scrubbed(text: str, environment: Mapping[str, str]) -> str:
    """*text* without what looks like a secret, nor the values of variables that are named like one.

    Args:
        text: What is to be written down.
        environment: Variables, such as ``os.environ``.

    Example:
        >>> scrubbed("curl -H 'Authorization: Bearer abcdef123456' x", {})
        "curl -H 'Authorization: *** ***' x"
    """
    for name, value in environment.items():
        if len(value) >= _SHORTEST and _NAME.search(name) and not _PATH.match(value):
            text = text.replace(value, "***")
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text
