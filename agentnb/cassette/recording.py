"""The contents of a cassette: agents, their sessions, and the exchanges of each in order."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

VERSION = 1
"""The version of the format that is written, and the only one that is read."""

WRITER = "agentnb 0.2"
"""What a new cassette says wrote it; 0.1, which sorted the fields of objects, said ``agentnb``."""

PROMPT = "session/prompt"
OPENERS = ("session/new", "session/load", "session/resume", "session/fork")
"""The methods by which a session comes to be."""


class Event(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One thing that happened during or after an exchange.

    Args:
        kind: ``said``: the agent's notification. ``asked``: the agent's request number *id*. ``answered``: the client's
            answer to it. ``told``: the client's notification.
        method: Of a notification or a request.
        params: Its parameters.
        id: The request's number within the session.
        result: Of an answer.
        error: Of an answer that is an error.
        delay: Milliseconds since what came before it in the exchange.
    """

    kind: Literal["said", "asked", "answered", "told"]
    method: str = ""
    params: Any = None
    id: int = 0
    result: Any = None
    error: Any = None
    delay: int = 0


class FileState(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A file before or after a turn.

    Args:
        mode: What it is.
        text: Its content, or where a link leads to, with marks; None where it is no text, or not stored.
        base64: Its content where it is no text.
        digest: Of an earlier content that is not stored: the SHA-256 of a binary file, or of a text with marks.
        size: In bytes, where the content is not stored.
        missing: Why the content is not stored; empty where it is, or where a digest is enough.
    """

    mode: Literal["file", "executable", "link", "folder"] = "file"
    text: str | None = None
    base64: str | None = None
    digest: str = ""
    size: int = 0
    missing: Literal["", "large", "many", "sensitive", "credential", "link outside", "moved", "unknown"] = ""

    @property
    def stored(self) -> bool:
        """Whether the cassette has its content."""
        return self.text is not None or self.base64 is not None


class RecordedFile(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A file that a turn changed.

    Args:
        path: Relative to the workspace, in the form of :func:`agentnb.changes.path_to_json`.
        was: Its earlier path, where it was moved.
        before: What was there; None: nothing.
        after: What is there then; None: nothing.
    """

    path: str = msgspec.field(name="file")
    was: str | None = None
    before: FileState | None = None
    after: FileState | None = None

    @property
    def left(self) -> FileState | None:
        """What is there then; of a file that was moved as it was the content is that of *before*, the mode its own."""
        if self.after is None or self.after.missing != "moved" or self.before is None:
            return self.after
        return msgspec.structs.replace(self.before, mode=self.after.mode)


class Exchange(msgspec.Struct, kw_only=True):
    """A request of the client, what the agent did until it answered, and what it did after that.

    Args:
        method: The request's method.
        params: Its parameters.
        before: Events up to the answer.
        after: Events from the answer to the next exchange.
        result: The answer.
        error: The answer, where it is an error.
        answered: Whether there was one at all; False where the recording ended first, or the agent died.
        delay: Milliseconds between the last event and the answer.
        line: Where it begins in the file; 0 where it was not read from one.
        files: What the turn changed in files, by path, but for what its own requests to the client write.
    """

    method: str
    params: Any = None
    before: list[Event] = msgspec.field(default_factory=list)
    after: list[Event] = msgspec.field(default_factory=list)
    result: Any = None
    error: Any = None
    answered: bool = False
    delay: int = 0
    line: int = 0
    files: list[RecordedFile] = msgspec.field(default_factory=list)


class Section(msgspec.Struct, kw_only=True):
    """The exchanges of one session, or of an agent's process outside of any session.

    Args:
        agent: The agent's name.
        launch: Which process of that agent: 1 for the first that was started.
        session: Which session of the cassette, from 1; 0 for what belongs to none.
        exchanges: In the order of the client's requests.
        line: Where it begins in the file.
        description: What a replay needs to know of the agent, for a machine whose catalogue does not have it; None in
            a section that is a session's, and in cassettes of version 0.1.
    """

    agent: str
    launch: int = 1
    session: int = 0
    description: dict[str, Any] | None = None
    exchanges: list[Exchange] = msgspec.field(default_factory=list)
    line: int = 0

    @property
    def turns(self) -> list[Exchange]:
        """Its prompts."""
        return [exchange for exchange in self.exchanges if exchange.method == PROMPT]


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A difference that is allowed between a recorded prompt and today's.

    Args:
        name: What it is, a word.
        pattern: A regular expression (Python's); what it matches counts as equal.
    """

    name: str
    pattern: str


DEFAULT_RULES = (
    Rule("time", r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"),
    Rule("date", r"\b\d{4}-\d\d-\d\d\b"),
    Rule("uuid", r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"),
    Rule("address", r"\b0x[0-9a-f]{6,16}\b"),
    Rule("temporary folder", r"(?:/private)?/(?:tmp|var/tmp|var/folders/[\w+-]+/[\w+-]+/T)/[\w.+-]+"),
)
"""The rules of a new cassette."""

Strictness = Literal["content", "outcome"]


class Header(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The first line of the file.

    Args:
        cassette: The version of the format.
        by: What wrote it.
        rules: What may differ in prompts and answers.
        answers: What today's answers to the agent must have in common with the recorded ones: the ``outcome`` (allowed,
            worked, exit code), or the ``content`` of files that were read, too.
    """

    cassette: int = VERSION
    by: str = WRITER
    rules: tuple[Rule, ...] = DEFAULT_RULES
    answers: Strictness = "content"


class Cassette(msgspec.Struct, kw_only=True):
    """A whole recording.

    Args:
        header: Its first line.
        sections: By agent, launch and session, whatever happened first.
    """

    header: Header = msgspec.field(default_factory=Header)
    sections: list[Section] = msgspec.field(default_factory=list)

    @property
    def turns(self) -> int:
        """How many prompts it holds."""
        return sum(len(section.turns) for section in self.sections)
