"""A permission request, or a call of a kernel tool, as a request for the policy."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from agentnb.errors import UsageError
from agentnb.kernel.cell_plans import PLANS
from agentnb.kernel.tools import call_words, checked
from agentnb.policy.commands.rating import rate_command
from agentnb.policy.request import PolicyRequest, diffs
from agentnb.policy.workspace import real_path
from agentnb.safe_json import read_json
from agentnb.state import ToolCallDetails, ToolTextContent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentnb.state import ToolCallState


_TOOLS = ("run_code", "run_cell", "research", *PLANS)
_NAME = re.compile(rf"(?<![a-z])(?:{'|'.join(_TOOLS)})(?![a-z_])")
_WRAPPERS = ("arguments", "args", "input", "params", "parameters")
_KINDS = {None, "other", "execute", "kernel"}
_FENCE = re.compile(r"\A```\w*\n(.*)\n```\Z", re.DOTALL)
_LONGEST_NAME = 500


def kernel_call(call: ToolCallState, title: str) -> tuple[str, dict[str, Any]] | None:
    """The kernel tool that *call* calls, and its arguments; None if it shows none, or more than one."""
    details = call.details
    raw = details.raw_input if details is not None else None
    call_text = " ".join(text[:_LONGEST_NAME] for text in (call.tool_call_id, call.tool_name, call.display_name, title))
    if isinstance(raw, dict):
        call_text += "".join(
            f" {raw[key]}"[:_LONGEST_NAME] for key in ("tool", "name") if isinstance(raw.get(key), str)
        )
    names = {*_NAME.findall(call_text.lower())}
    if (called := _one(_arguments(raw), names)) is not None or details is None or details.kind not in _KINDS:
        return called
    texts = [item.text for item in details.content or () if isinstance(item, ToolTextContent)]
    return _one([each for text in (*texts, title, call.display_name) for each in _arguments(text)], names)


def _one(candidates: Iterable[dict[str, Any]], names: set[str]) -> tuple[str, dict[str, Any]] | None:
    """The only valid kernel call in *candidates*; None if there is none, or more than one."""
    calls = {}
    for arguments in candidates:
        for name in _TOOLS:
            if name != "run_code" and name not in names:
                continue
            try:
                checked_arguments = checked(name, arguments)
            except UsageError:
                continue
            calls[call_words(name, checked_arguments)] = name, checked_arguments
    return next(iter(calls.values())) if len(calls) == 1 else None


def _arguments(value: Any) -> Iterator[dict[str, Any]]:
    """The objects in *value* that may be arguments: itself, JSON text, or what it wraps."""
    value = _read(value)
    if not isinstance(value, dict):
        return
    yield value
    for key in _WRAPPERS:
        inner = _read(value.get(key))
        if isinstance(inner, dict):
            yield inner


def _read(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.strip()
    fenced = _FENCE.match(text)
    text = fenced.group(1).strip() if fenced is not None else text
    if not text.startswith("{"):
        return None
    try:
        return read_json(text)
    except ValueError:
        return None


_FILES = (
    *("path", "paths", "file", "files", "filename", "file_name", "filepath", "file_path", "file_paths", "abs_path"),
    *("absolute_path", "notebook_path", "target_file", "relative_path", "relative_workspace_path", "directory"),
    *("dir_path", "dir", "folder", "source", "destination", "old_path", "new_path", "target_path", "output_path"),
    *("target", "uri", "file_uri", "from", "to"),
)
_CHANGES = frozenset({"edit", "delete", "move"})
_NAMELESS = frozenset({"read", "search", "fetch", "think"})
"""Kinds of tools that need not name a target."""
_KEYS = frozenset(key.replace("_", "") for key in _FILES)
_FOLDERS = ("cwd", "workdir", "working_directory", "workingDirectory", "dir_path", "directory")


def asked_request(
    call: ToolCallState, title: str, cwd: str, *, kernel: bool = False, before: ToolCallState | None = None
) -> PolicyRequest:
    if kernel and (called := kernel_call(call, title)) is not None:
        return _kernel_request(*called, title)
    details = call.details or ToolCallDetails()
    raw = _input_of(call) or _input_of(before)
    command = _command(raw)
    if command is None and details.kind == "execute" and not raw:
        bare_title = title.strip().strip("`")
        command = bare_title if rate_command(bare_title).readable else None
    folder = _real(cwd, _folder(raw)) if command is not None else _real(cwd, "")
    changes = tuple(
        replace(each, path=_real(cwd, each.path)) for each in diffs(details.content) if "\0" not in each.path
    )
    named = [*(place.path for place in details.locations or ()), *(each.path for each in changes), *_files(raw)]
    paths = tuple(dict.fromkeys(_real(cwd, path) for path in named if path and "\0" not in path))
    return PolicyRequest(
        kind="permission",
        title=title,
        path=folder,
        asked=details.kind or "other",
        command=command,
        env=_variables(raw.get("env")) if command is not None else (),
        preview=changes or None,
        paths=paths,
        vague=not (raw or command or paths or changes or _has_input(call, before)) and details.kind not in _NAMELESS,
    )


def joined_request(request: PolicyRequest, others: Sequence[PolicyRequest]) -> PolicyRequest:
    """*request*, which does not name its subject, with the subjects of the agent's unfinished tool calls."""
    commands = [other.command for other in others if other.command is not None]
    paths = dict.fromkeys(path for other in others for path in other.paths)
    kinds = [other.asked for other in others if other.asked in _CHANGES]
    runs = any(other.command is not None and other.asked not in _CHANGES for other in others)
    tool_kind = "execute" if runs else next(iter(kinds), request.asked)
    preview = tuple(each for other in others for each in other.preview or ())
    return replace(
        request,
        asked=tool_kind,
        command="\n".join(commands) or None,
        paths=tuple(paths),
        preview=preview or request.preview,
        vague=not (commands or paths or preview),
    )


def _has_input(*calls: ToolCallState | None) -> bool:
    """True if the agent reports its tool's input, even ``{}`` for a tool without arguments."""
    return any(call is not None and call.details is not None and call.details.raw_input is not None for call in calls)


def _input_of(call: ToolCallState | None) -> dict[Any, Any]:
    """The input of *call*: as it was sent, or as JSON in its text (Kimi)."""
    details = call.details if call is not None else None
    if details is None:
        return {}
    if isinstance(details.raw_input, dict):
        return details.raw_input
    for each in details.content or ():
        if isinstance(each, ToolTextContent) and each.text.lstrip().startswith("{"):
            with contextlib.suppress(ValueError):
                tool_input = read_json(each.text)
                if isinstance(tool_input, dict):
                    return tool_input
    return {}


def _kernel_request(name: str, arguments: dict[str, Any], title: str) -> PolicyRequest:
    return PolicyRequest(
        kind="permission",
        title=title,
        asked="cell" if name in PLANS else "kernel",
        command=arguments.get("code"),
        call=call_words(name, arguments),
    )


def _real(cwd: str, path: str) -> str:
    if path.startswith("file://"):
        path = unquote(urlsplit(path).path)
    return real_path(cwd, os.path.expanduser(path))  # noqa: PTH111 - as text


def _command(raw: dict[Any, Any]) -> str | None:
    command = raw.get("command") or raw.get("cmd")
    if isinstance(command, str):
        return command
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        return shlex.join(command)
    return None


def _folder(raw: dict[Any, Any]) -> str:
    return next((folder for key in _FOLDERS if isinstance(folder := raw.get(key), str) and "\0" not in folder), "")


def _variables(env: object) -> tuple[tuple[str, str], ...]:
    pairs = env.items() if isinstance(env, dict) else ()
    return tuple((name, value) for name, value in pairs if isinstance(name, str) and isinstance(value, str))


def _files(raw: dict[Any, Any]) -> Iterator[str]:
    """The values of the usual keys for paths, in any spelling (``file_path``, ``filePath``)."""
    for key, value in raw.items():
        if not isinstance(key, str) or key.replace("_", "").lower() not in _KEYS:
            continue
        for each in value if isinstance(value, list) else [value]:
            path = each.get("path") if isinstance(each, dict) else each
            if isinstance(path, str) and ("://" not in path or path.startswith("file://")):
                yield path
