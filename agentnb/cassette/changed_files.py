"""The files that a turn changed, as a cassette holds them: cleaned like everything else in it."""

from __future__ import annotations

import base64
import hashlib
import posixpath
from typing import TYPE_CHECKING, Literal

import msgspec

from agentnb.cassette.marks import escaped, shapes
from agentnb.cassette.recording import FileState, RecordedExchange, RecordedFile
from agentnb.changes.apply import check_path
from agentnb.changes.model import UNKNOWN, path_from_json, path_to_json
from agentnb.changes.text_diff import text_of
from agentnb.errors import AgentnbError, UsageError
from agentnb.policy.sensitive import secret_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agentnb.acp.peer import ChangedFile
    from agentnb.cassette.marks import SessionMarks
    from agentnb.changes.model import FileVersion

MOST_BYTES = 4 * 1024**2
"""The largest file, in bytes, whose content is stored."""
MOST_TURN_BYTES = 16 * 1024**2
"""The most bytes that are stored of all contents of one turn."""
MOST_FILES = 1_000
"""The most files of one turn whose contents are stored."""
MOST_BEFORE = 16 * 1024
"""Characters up to which an earlier text is stored, for the difference in an error; of a longer one, only a digest."""

FILES = "AGENTNB_CASSETTE_FILES"
"""Environment: ``off`` leaves the files that agents write by themselves out of recordings and replays."""
SWITCHES = ("on", "off")


def keeps_files(environment: Mapping[str, str]) -> bool:
    """True if the files that agents write directly are recorded, and written again in a replay."""
    chosen = environment.get(FILES, "") or "on"
    if chosen not in SWITCHES:
        raise UsageError(f"{FILES}={chosen!r} is not one of {', '.join(SWITCHES)}.", hint="Unset it.")
    return chosen == "on"


def recorded_files(changed: Iterable[ChangedFile], is_own: Callable[[str], bool]) -> list[RecordedFile]:
    """Returns the files that a turn changed, by path, not cleaned yet."""
    room = MOST_TURN_BYTES
    rows: list[RecordedFile] = []
    for each in sorted(changed, key=lambda each: path_to_json(each.change.path)):
        change = each.change
        paths = [change.path] if change.was is None else [change.path, change.was]
        if any(map(is_own, paths)):
            continue
        is_sensitive = each.is_sensitive or any(secret_pattern(path) is not None for path in paths)
        before = _state(change.before, each.before, is_sensitive=is_sensitive)
        after = _state(change.after, each.after, is_sensitive=is_sensitive)
        if change.was is not None and each.before == each.after and after is not None and not is_sensitive:
            after = FileState(mode=after.mode, missing="moved")
        elif after is not None and after.stored and len(rows) >= MOST_FILES:
            after = _not_stored(after, "many", len(each.after or b""))
        elif after is not None and after.stored:
            room -= len(each.after or b"")
            after = after if room >= 0 else _not_stored(after, "large", len(each.after or b""))
        was = None if change.was is None else path_to_json(change.was)
        rows.append(RecordedFile(path=path_to_json(change.path), was=was, before=before, after=after))
    return rows


def cleaned_files(exchange: RecordedExchange, marks: SessionMarks) -> list[RecordedFile]:
    """Returns the cleaned files of *exchange*, without those that a replay's own requests write."""
    written = written_by_requests(exchange)
    rows = []
    for each in exchange.files:
        row = msgspec.structs.replace(
            each, before=_earlier(_cleaned(each.before, each, marks)), after=_cleaned(each.after, each, marks)
        )
        if each.after is None or each.after.text is None or _written_text(written, each.path, marks) != each.after.text:
            rows.append(row)
    return rows


def written_by_requests(exchange: RecordedExchange) -> dict[str, str]:
    """Returns the last text that *exchange* wrote to each path (``fs/write_text_file``), by path as it named it."""
    return dict(event.write for event in exchange.before if event.write is not None)


def runs_again(exchange: RecordedExchange) -> bool:
    """True if *exchange* ran commands or code through the client: a replay reruns them, and they may write files."""
    return any(
        event.kind == "asked" and event.method in ("terminal/create", "mcp/message") for event in exchange.before
    )


def check_file(row: RecordedFile) -> None:
    """Raise if a path leads out of the workspace, or a content is one that no recording has."""
    states = [each for each in (row.before, row.after) if each is not None]
    for path in (row.path, row.path if row.was is None else row.was):
        real = path_from_json(path)
        check_path(real)
        _check_text(real, "surrogateescape")
        if any(each.stored for each in states) and secret_pattern(path) is not None:
            message = f"the cassette contains the contents of {path!r}, a sensitive file."
            raise AgentnbError(message, hint="Remove them: recordings never contain such contents.")
    for each in states:
        if each.base64 is not None:
            content_of(each, str)
        _check_text(each.text or "")


def _check_text(text: str, errors: str = "strict") -> None:
    try:
        text.encode("utf-8", errors)
    except UnicodeEncodeError as error:
        message = f"{text[:40]!r} is not valid text for a file or a name."
        raise AgentnbError(message, hint="Restore it from version control.") from error


def content_of(state: FileState, fill: Callable[[str], str]) -> bytes:
    """Returns the bytes of *state*, which must be stored; *fill* replaces marks with today's values."""
    if state.base64 is None:
        return fill(state.text or "").encode("utf-8")
    try:
        return base64.b64decode(state.base64, validate=True)
    except ValueError as error:
        raise AgentnbError("a file's content is not base64.", hint="Restore it from version control.") from error


def digest_of(content: bytes, marks: SessionMarks) -> str:
    """Returns the name of *content*: the digest of a cleaned text is the same in every workspace."""
    text = text_of(content) if len(content) <= MOST_BYTES else None
    data = content if text is None else marks.clean_text(escaped(text)).encode("utf-8")
    return hashlib.sha256(data).hexdigest()


def leads_outside(path: str, target: str, workspace: str) -> bool:
    """True if a link at *path*, relative to *workspace*, leads out of it."""
    absolute = posixpath.normpath(posixpath.join(workspace, posixpath.dirname(path), target))
    return not absolute.startswith(workspace.rstrip("/") + "/")


def _state(version: FileVersion | None, content: bytes | None, *, is_sensitive: bool) -> FileState | None:
    """Returns the state that is kept of a version until it is cleaned."""
    if version is None:
        return None
    if version.mode == "folder":
        return FileState(mode="folder")
    if is_sensitive:
        return FileState(mode=version.mode, missing="sensitive")
    if content is None:
        is_unknown = version.digest == UNKNOWN
        return FileState(mode=version.mode, missing="unknown" if is_unknown else "large", size=version.size)
    if len(content) > MOST_BYTES:
        digest = hashlib.sha256(content).hexdigest()
        return FileState(mode=version.mode, missing="large", size=len(content), digest=digest)
    text = text_of(content)
    if text is not None:
        return FileState(mode=version.mode, text=text)
    return FileState(mode=version.mode, base64=base64.b64encode(content).decode("ascii"))


def _not_stored(
    state: FileState, why: Literal["large", "many", "credential", "link outside"], size: int = 0
) -> FileState:
    return FileState(mode=state.mode, missing=why, size=size)


def _cleaned(state: FileState | None, row: RecordedFile, marks: SessionMarks) -> FileState | None:
    if state is None or not state.stored:
        return state
    if state.base64 is not None:
        data = base64.b64decode(state.base64)
        risky = marks.holds_secret(data.decode("latin-1")) or shapes(state.base64)
        return _not_stored(state, "credential") if risky else state
    if state.mode == "link" and leads_outside(row.path, state.text or "", marks.cwd or ""):
        return _not_stored(state, "link outside")
    return FileState(mode=state.mode, text=marks.clean_text(escaped(state.text or "")))


def _earlier(state: FileState | None) -> FileState | None:
    """Reduce an earlier version: a short text is kept for diffs, anything else is replaced by its digest."""
    if state is None or not state.stored or (state.text is not None and len(state.text) <= MOST_BEFORE):
        return state
    data = state.text.encode("utf-8") if state.text is not None else base64.b64decode(state.base64 or "")
    return FileState(mode=state.mode, digest=hashlib.sha256(data).hexdigest(), size=len(data))


def _written_text(written: dict[str, str], path: str, marks: SessionMarks) -> str | None:
    real = path_from_json(path)
    return next((text for name, text in written.items() if name in {real, f"{marks.cwd}/{real}"}), None)
