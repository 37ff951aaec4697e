"""The contents of a cassette: agents, their sessions, and the exchanges of each in order."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from agentnb.acp.fields import mapping

VERSION = 1
"""The version of the format that is written, and the only one that is read."""

WRITER = "agentnb 0.3"
"""The writer that a new cassette names; version 0.1, which sorted the fields of objects, wrote ``agentnb``."""

OLDEST_READER = "0.3"
"""The oldest agentnb that can read this version's recordings."""

PROMPT = "session/prompt"
OPENERS = ("session/new", "session/load", "session/resume", "session/fork")
"""The methods that open a session."""


class WireEvent(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One thing that happened during or after an exchange."""

    kind: Literal["said", "asked", "answered", "told"]
    method: str = ""
    params: Any = None
    id: int = 0
    result: Any = None
    error: Any = None
    delay: int = 0

    @property
    def update(self) -> dict[str, Any]:
        """Returns the update in this event (ACP ``session/update``); empty if there is none."""
        return mapping(mapping(self.params).get("update"))

    @property
    def write(self) -> tuple[str, str] | None:
        """The path and the text of a file that the agent writes through the client; None for anything else."""
        if self.method != "fs/write_text_file" or not isinstance(self.params, dict):
            return None
        return str(self.params.get("path")), str(self.params.get("content"))


class FileState(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A file before or after a turn."""

    mode: Literal["file", "executable", "link", "folder"] = "file"
    text: str | None = None
    base64: str | None = None
    digest: str = ""
    size: int = 0
    missing: Literal["", "large", "many", "sensitive", "credential", "link outside", "moved", "unknown"] = ""

    @property
    def stored(self) -> bool:
        return self.text is not None or self.base64 is not None


class RecordedFile(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A file that a turn changed."""

    path: str = msgspec.field(name="file")
    was: str | None = None
    before: FileState | None = None
    after: FileState | None = None

    @property
    def left(self) -> FileState | None:
        if self.after is None or self.after.missing != "moved" or self.before is None:
            return self.after
        return msgspec.structs.replace(self.before, mode=self.after.mode)


class RecordedExchange(msgspec.Struct, kw_only=True):
    """A request of the client, what the agent did until it answered, and what it did after that."""

    method: str
    params: Any = None
    before: list[WireEvent] = msgspec.field(default_factory=list)
    after: list[WireEvent] = msgspec.field(default_factory=list)
    result: Any = None
    error: Any = None
    answered: bool = False
    delay: int = 0
    line: int = 0
    files: list[RecordedFile] = msgspec.field(default_factory=list)

    @property
    def events(self) -> list[WireEvent]:
        return [*self.before, *self.after]


class Section(msgspec.Struct, kw_only=True):
    """The exchanges of one session, or of an agent's process outside of any session."""

    agent: str
    launch: int = 1
    session: int = 0
    description: dict[str, Any] | None = None
    exchanges: list[RecordedExchange] = msgspec.field(default_factory=list)

    @property
    def turns(self) -> list[RecordedExchange]:
        return [exchange for exchange in self.exchanges if exchange.method == PROMPT]


class ComparisonRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A difference that is allowed between a recorded prompt and the current one."""

    name: str
    pattern: str


DEFAULT_RULES = (
    ComparisonRule("time", r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"),
    ComparisonRule("date", r"\b\d{4}-\d\d-\d\d\b"),
    ComparisonRule("uuid", r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"),
    ComparisonRule("address", r"\b0x[0-9a-f]{6,16}\b"),
    ComparisonRule("temporary folder", r"(?:/private)?/(?:tmp|var/tmp|var/folders/[\w+-]+/[\w+-]+/T)/[\w.+-]+"),
)
"""The rules of a new cassette."""

Strictness = Literal["content", "outcome"]


class Header(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The first line of the file."""

    cassette: int = VERSION
    by: str = WRITER
    oldest_agentnb: str = ""
    rules: tuple[ComparisonRule, ...] = DEFAULT_RULES
    answers: Strictness = "content"


class Cassette(msgspec.Struct, kw_only=True):
    header: Header = msgspec.field(default_factory=Header)
    sections: list[Section] = msgspec.field(default_factory=list)

    @property
    def turns(self) -> int:
        return sum(len(section.turns) for section in self.sections)
