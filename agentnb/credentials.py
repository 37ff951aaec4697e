"""Credentials: finds them, and removes them from everything that is written down or shown.

Three searches complement each other: the values of environment variables that have names like secrets, the known shapes
of services' keys, and the fields and assignments that have names like secrets. Two rules keep them linear in time: a
repetition that something must follow starts only where a run of its characters starts, and a name is read from the
keyword in it, once per run.
"""

from __future__ import annotations

import logging
import os
import re
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Span: TypeAlias = tuple[int, int, str]
HIDDEN = "***"
SHORTEST = 6
"""The shortest value of a secret variable, in characters; a shorter one would be found in any word."""
_WINDOW = 60_000
_LONGEST_CREDENTIAL = 4_096
_NAME_END = 64
_OPEN, _CLOSE = "⟦", "⟧"  # marks of values that a cassette has already replaced

SHAPES: dict[str, tuple[str, ...]] = {
    "private key": (
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*-----|\Z)",
        "PRIVATE KEY",
    ),
    "AWS key id": (r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b", "AKIA", "ASIA", "ABIA", "ACCA"),
    "GitHub token": (r"\bgh[pousr]_[A-Za-z0-9]{30,255}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    "GitHub fine-grained token": (r"\bgithub_pat_[A-Za-z0-9_]{22,255}", "github_pat_"),
    "GitLab token": (r"\bgl(?:pat|dt|rt|ptt|oas|cbt|soat|ft|imt|agent)-[A-Za-z0-9_-]{20,}", "gl"),
    "Slack token": (r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}", "xox"),
    "Slack app token": (r"\bxapp-\d-[A-Za-z0-9-]{10,}", "xapp-"),
    "Slack webhook": (r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}", "hooks.slack.com"),
    "Discord webhook": (r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d+/[\w-]{20,}", "/api/webhooks/"),
    "Anthropic key": (r"\bsk-ant-[A-Za-z0-9_-]{16,}", "sk-ant-"),
    "OpenRouter key": (r"\bsk-or-[A-Za-z0-9_-]{16,}", "sk-or-"),
    "OpenAI key": (r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}", "sk-"),
    "Stripe key": (r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}", "k_live_", "k_test_"),
    "Stripe webhook secret": (r"\bwhsec_[A-Za-z0-9+/=]{16,}", "whsec_"),
    "Google API key": (r"\bAIza[0-9A-Za-z_-]{35}", "AIza"),
    "Google OAuth token": (r"\bya29\.[0-9A-Za-z_-]{20,}", "ya29."),
    "Google OAuth secret": (r"\bGOCSPX-[0-9A-Za-z_-]{20,}", "GOCSPX-"),
    "Google refresh token": (r"\b1//0[0-9A-Za-z_-]{30,}", "1//0"),
    "Hugging Face token": (r"\b(?:hf|api_org)_[A-Za-z]{30,}", "hf_", "api_org_"),
    "npm token": (r"\bnpm_[A-Za-z0-9]{36}", "npm_"),
    "PyPI token": (r"\bpypi-[A-Za-z0-9_-]{50,}", "pypi-"),
    "JSON web token": (
        (
            r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})(?:[A-Za-z0-9_-]*?-)??"
            r"(?P<key>eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})"
        ),
        "eyJ",
    ),
    "SendGrid key": (r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}", "SG."),
    "Twilio key": (r"\b(?:SK|AC)[0-9a-f]{32}\b", "SK", "AC"),
    "Mailgun key": (r"\bkey-[0-9a-f]{32}\b", "key-"),
    "Mailchimp key": (r"\b[0-9a-f]{32}-us\d{1,2}\b", "-us"),
    "Telegram bot token": (r"\b\d{8,10}:AA[A-Za-z0-9_-]{32,}", ":AA"),
    "Discord bot token": (r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}", "M", "N", "O"),
    "DigitalOcean token": (r"\bdo[opr]_v1_[0-9a-f]{64}", "_v1_"),
    "Databricks token": (r"\bdapi[0-9a-f]{32}(?:-\d)?\b", "dapi"),
    "Azure storage key": (r"\bAccountKey=[A-Za-z0-9+/]{80,}={0,2}", "AccountKey="),
    "Azure signature": (r"(?<=[?&])sig=[A-Za-z0-9%+/]{30,}=*", "sig="),
    "Shopify token": (r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}", "shp"),
    "Square token": (r"\b(?:sq0[a-z]{3}-[A-Za-z0-9_-]{22,}|EAAA[A-Za-z0-9_-]{56,})", "sq0", "EAAA"),
    "Linear key": (r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}", "lin_"),
    "Notion token": (r"\b(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})", "ntn_", "secret_"),
    "Vault token": (r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}", "hvs.", "hvb.", "hvr."),
    "Doppler token": (r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{20,}", "dp."),
    "Docker token": (r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}", "dckr_"),
    "New Relic key": (r"\bNR(?:AK|JS|AA|RA)-[A-Z0-9a-f-]{19,}", "NR"),
    "Grafana token": (r"\b(?:glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_[A-Za-z0-9+/=]{32,})", "glsa_", "glc_"),
    "Sentry token": (r"\bsntry[su]_[A-Za-z0-9+/=_-]{30,}", "sntry"),
    "Atlassian token": (r"\bATATT3[A-Za-z0-9_=-]{50,}", "ATATT3"),
    "Figma token": (r"\bfig[dour]_[A-Za-z0-9_-]{30,}", "fig"),
    "Groq key": (r"\bgsk_[A-Za-z0-9]{40,}", "gsk_"),
    "xAI key": (r"\bxai-[A-Za-z0-9]{40,}", "xai-"),
    "Replicate token": (r"\br8_[A-Za-z0-9]{30,}", "r8_"),
    "Perplexity key": (r"\bpplx-[A-Za-z0-9]{32,}", "pplx-"),
    "Age key": (r"\bAGE-SECRET-KEY-1[A-Z0-9]{50,}", "AGE-SECRET-KEY-1"),
    "password in an address": (r"(?<=://)[^\s/:@⟦]*:[^\s/@⟦]{3,}(?=@)", "://"),
    "authorization": (r"(?i)\b(?:bearer|basic|token)\s+(?=[A-Za-z0-9._~+/=-]*\d)[A-Za-z0-9._~+/-]{16,}=*",),
}
"""The forms of credentials, by kind; the group ``key``, if there is one, is the credential. The expression is tried
only if one of the following texts occurs: most texts contain none, and that check is cheap. Without such texts, it is
always tried."""

_KINDS = ("api", "access", "secret", "private", "auth", "signing", "encryption", "account", "session", "client")
_NAME = (
    rf"(?:{'|'.join(_KINDS)})[_-]?(?:key|secret|token)"
    r"|secret|passw(?:or)?d|passphrase|credentials?|(?<![a-z])token(?!s|iz)"
)
ASSIGNMENT = re.compile(
    rf"""(?<![\w.-])(?P<name>[\w.-]{{0,60}}?(?:{_NAME})[\w-]{{0,20}})(?P<sign>["']?\s*(?:=>|:=|[=:])\s*["']?)"""
    r"""(?P<value>(?=[^\s"',;]{0,200}?[\d+/_-])[^\s"',;(){}\[\]<>⟦⟧]{12,2000})""",
    re.IGNORECASE,
)
_NAMING = re.compile(
    r"[kKsStTpPcC\u017f\u212a](?i:ey|ecret|oken|assw|assphrase|redential)"
)  # U+017F and U+212A fold to s and k
_FURTHEST = 80  # most characters from a name's beginning to the `_NAMING` word in it, with a margin


def any_case(*words: str) -> str:
    """Returns an expression for *words* in any case that is tried only at a first letter of one of them."""
    folded = {"k": "\u212a", "s": "\u017f"}  # other letters that re.IGNORECASE matches with these
    spellings = {word[0]: word[0] + word[0].upper() + folded.get(word[0], "") for word in words}
    branches = (
        f"(?<=[{spelling}])(?i:{'|'.join(word[1:] for word in words if word[0] == letter)})"
        for letter, spelling in spellings.items()
    )
    return f"[{''.join(spellings.values())}](?:{'|'.join(branches)})"


_FIELD = re.compile(
    any_case(
        *(f"{kind}[_-]?(?:key|secret|token)$" for kind in _KINDS),
        *("secret$", "passw(?:or)?d$", "passphrase$", "credentials?$", "authorization$", "cookie$"),
        "t(?<![a-z]t)oken$",
    )
)
_VARIABLE = re.compile(
    any_case("key", "token", "secret", "passw", "pwd", "credential", "auth", "cookie", "session_id", "dsn")
)
_FOLDER = re.compile(r"~?/[^/]*/|/\w*$")  # a folder's path, such as the value of PWD, is not a password
_KEYWORD = re.compile(
    any_case(
        "api[_-]?key", "access[_-]?key", "token", "secret", "passw(?:or)?d", "pwd", "credential", "passphrase", "auth"
    )
)
_RUN = re.compile(r"[\w.-]*")
_SIGN = re.compile(r"[\"']?\s*[=:]\s*(?!(?<=\.jsonl:)\d+:)")
_VALUE = re.compile(r"\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|[^\s\"'&;|)]+")
_OPTION_VALUE = re.compile(r"\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|[^\s\"'&;|)-][^\s\"'&;|)]*")
_SCHEME = re.compile(r"\b(bearer|basic|digest|negotiate)\s+[A-Za-z0-9+/=._~-]{6,}", re.IGNORECASE)
_IN_COMMANDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(://[^\s/:@]*:)[^\s/@]+@"), r"\1***@"),
    (re.compile(r"(?<!\S)(-u|--user|--proxy-user)([ =]?)([^\s:]+):\S+"), r"\1\2\3:***"),
    (re.compile(r"(?<!\S)(-p)([^\s-]\S{5,})(?=\s|$)"), r"\1***"),
    (
        re.compile(
            r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{12,}|\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
            r"|\bxox[abprs]-[\w-]{10,}|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}|\bhf_[A-Za-z0-9]{16,}|\bpypi-[\w-]{20,}"
            r"|\bnpm_[A-Za-z0-9]{20,}"
        ),
        HIDDEN,
    ),
    (
        re.compile(r"(?<![\w-])(?=[\w-]+\.[\w-]{8,})((?:[\w-]*?-)??)eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"),
        r"\1***",
    ),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"), HIDDEN),
)
_SHAPES = {name: (re.compile(shape), literals or ("",)) for name, (shape, *literals) in SHAPES.items()}
_HARMLESS = frozenset({"", "none", "null", "fake", "***"})


class Credentials:
    """The credentials that must not be written anywhere."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        named = ((name, value) for name, value in (environment or {}).items() if _VARIABLE.search(name))
        held = {value: name for name, value in named if len(value) >= SHORTEST and not _is_known(value)}
        self._names = held
        longest_first = sorted(held, key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, longest_first))) if held else None

    def spans(self, text: str) -> list[Span]:
        """Returns the credentials in *text* as (start, end, what it is), in order and without overlap."""
        matches: list[Span] = []
        if self._values is not None:
            matches += [(*match.span(), self._names[match[0]]) for match in self._values.finditer(text)]
        return apart(matches + shapes(text))

    def hidden(self, text: str) -> str:
        """Returns *text*, any prose, with ``***`` in place of each credential."""
        return replaced(text, [(start, end, HIDDEN) for start, end, _ in self.spans(text)])

    def hidden_in_command(self, text: str) -> str:
        """As :meth:`hidden`, for command lines and messages of programs, where a false positive costs nothing."""
        text = _SCHEME.sub(r"\1 ***", self.hidden(text))
        text = replaced(text, _named_values(text))
        for pattern, replacement in _IN_COMMANDS:
            text = pattern.sub(replacement, text)
        return text

    def beginning_of_command(self, text: str, length: int) -> str:
        """Returns the first *length* characters of :meth:`hidden_in_command`, without scanning all of a long *text*."""
        window = text[: length + _WINDOW]
        hidden = self.hidden_in_command(window)
        whole = len(window) == len(text)
        return hidden[:length] if whole else hidden[: max(0, len(hidden) - _LONGEST_CREDENTIAL)][:length]


class _Filter(logging.Filter):
    """Takes credentials out of records, their tracebacks too."""

    def filter(self, record: logging.LogRecord) -> bool:
        credentials = Credentials(os.environ)
        record.msg, record.args = credentials.hidden_in_command(record.getMessage()), ()
        if record.exc_info and record.exc_info[0] is not None:
            record.exc_text = credentials.hidden_in_command(logging.Formatter().formatException(record.exc_info))
        return True


def logger(name: str) -> logging.Logger:
    """Returns the logger *name*; credentials are removed from what is written to it, whoever reads it."""
    package = logging.getLogger(name.partition(".")[0])
    if not package.handlers:  # without a handler, Python prints warnings into the running cell
        package.addHandler(logging.NullHandler())
    named_logger = logging.getLogger(name)
    if not any(isinstance(each, _Filter) for each in named_logger.filters):
        named_logger.addFilter(_Filter())
    return named_logger


def shapes(text: str) -> list[Span]:
    """Returns what looks like a credential in *text*, as (start, end, what it is)."""
    matches: list[Span] = [
        (*match.span("key" if "key" in shape.groupindex else 0), name)
        for name, (shape, literals) in _SHAPES.items()
        if any(literal in text for literal in literals)
        for match in shape.finditer(text)
        if _OPEN not in match[0]
    ]
    matches += [
        (*match.span("value"), plain_name(match["name"]))
        for match in assignments(text)
        if not is_ordinary(match["value"])
    ]
    return apart(matches)


def assignments(text: str) -> Iterator[re.Match[str]]:
    """Yields what ``ASSIGNMENT.finditer(text)`` does, but faster: tries only names that contain one of its words."""
    after, run_end = 0, 0
    for word in _NAMING.finditer(text):
        if word.start() < run_end:  # a name begins with its run, so the first word in the run decides
            continue
        start, run_end = word.start(), _RUN.match(text, word.start()).end()  # type: ignore[union-attr] # matches always
        lowest = max(0, start - _FURTHEST)
        while start > lowest and (text[start - 1].isalnum() or text[start - 1] in "_.-"):
            start -= 1
        if start < after:
            continue
        if match := ASSIGNMENT.match(text, start):
            yield match
            after = match.end()


def _named_values(text: str) -> Iterator[Span]:
    """Yields the values with names like secrets in a command line: ``KEY=…``, ``"token": …``, ``--password …``.

    The search goes from keyword to keyword and skips the rest of a run after its first keyword, so that no character is
    read twice.
    """
    run_end = 0
    for keyword in _KEYWORD.finditer(text):
        if keyword.start() < run_end:
            continue
        before, run_end = run_end, _RUN.match(text, keyword.end()).end()  # type: ignore[union-attr] # matches always
        sign = _SIGN.match(text, run_end)
        value = None if sign is None else _VALUE.match(text, sign.end())
        if value is None and text.startswith(" ", run_end) and _is_option(text, before, keyword, run_end):
            value = _OPTION_VALUE.match(text, run_end + 1)
        if value is not None:
            yield (*value.span(), HIDDEN)
            run_end = value.end()


def _is_option(text: str, before: int, keyword: re.Match[str], end: int) -> bool:
    """True if a dash stands before a keyword of the run that ends at *end*; the run starts at *before* or later."""
    dash = text.rfind("-", before, keyword.start())
    if dash >= 0 and _RUN.fullmatch(text, dash, keyword.start()):
        return True
    dash = text.find("-", keyword.start(), end)
    return dash >= 0 and _KEYWORD.search(text, dash + 1, end) is not None


def apart(spans: Iterable[Span]) -> list[Span]:
    """Returns *spans* in order; overlapping ones become one that covers them all, named like the first."""
    kept: list[Span] = []
    for start, end, word in sorted(spans, key=lambda span: (span[0], -span[1])):
        if kept and start < kept[-1][1]:
            kept[-1] = (kept[-1][0], max(end, kept[-1][1]), kept[-1][2])
        else:
            kept.append((start, end, word))
    return kept


def replaced(text: str, spans: Iterable[Span]) -> str:
    pieces, at = [], 0
    for start, end, word in spans:
        pieces += [text[at:start], word]
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def is_secret_name(name: str) -> bool:
    return bool(_FIELD.search(name[-_NAME_END:])) or (name.isupper() and bool(_VARIABLE.search(name)))


def _is_known(value: str) -> bool:
    """True if a variable's value is not a secret, whatever its name says: a folder, or a harmless word."""
    return value.lower() in _HARMLESS or _OPEN in value or _FOLDER.match(value) is not None


def is_ordinary(value: str) -> bool:
    """True if *value* is not a secret: empty, a mark, a reference to a variable, or a path."""
    return (
        value.lower() in _HARMLESS
        or _OPEN in value
        or _CLOSE in value
        or value.startswith(("$", "%", "/", "./", "~", "os.", "env.", "file://", "process.env"))
        or set(value) <= set("*.x-")
    )


def plain_name(name: str) -> str:
    """Reduce *name* to letters, digits, ``_``, ``.`` and ``-``, for use in a mark."""
    return re.sub(r"[^\w.-]", "", name)[:40] or "value"
