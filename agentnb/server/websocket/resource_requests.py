"""Requests for resources: files, folders and contents.

A change needs the same permission as an agent's file write. It is a tool call of a conversation named after the client
(`agentnb.host.files.client_files`), so it is in the log of decisions, listed with the changes, and can be undone.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from agentnb.acp.files import write_request
from agentnb.errors import FileUnavailable, OutsideWorkspace, PermissionDenied, UsageError
from agentnb.host.files import workspace_files as files
from agentnb.policy.request import PolicyRequest
from agentnb.policy.sensitive import secret_pattern
from agentnb.policy.workspace import WorkspaceBoundary
from agentnb.rpc_message import INVALID_PARAMS
from agentnb.server.messages import OURS
from agentnb.server.request_table import Bytes
from agentnb.server.websocket import commands as c
from agentnb.server.websocket.commands import RequestFailed
from agentnb.server.window import RANGE, SCHEME
from agentnb.state import ToolTextContent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentnb.host.conversation import Conversation
    from agentnb.host.files.workspace_files import Authorize
    from agentnb.server.websocket.session_requests import RemoteAsker


LARGEST = 4 * 1024 * 1024
"""The largest file or content, in bytes, that is sent."""


async def _read(asker: RemoteAsker, uri: str) -> bytes:
    """Returns the whole file or content that *uri* names."""
    if uri.startswith(SCHEME):
        return await _content(asker, uri)
    conversation, path = _within(asker, uri)
    return await _pieces(asker, f"{OURS}readFile", {"channel": conversation.session.uri, "path": path})


def _within(asker: RemoteAsker, uri: str) -> tuple[Conversation, str]:
    """Returns the conversation whose workspace holds a file, and its path, which is checked again when it is opened."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"} or parts.query or parts.fragment:
        raise FileUnavailable(
            f"{uri[:200]!r} does not name anything that can be read here.", hint="Request a file: URI."
        )
    path = unquote(parts.path)
    if "\0" in path:
        raise FileUnavailable("A file name cannot contain NUL.", hint="Request another file.")
    for conversation in _seen(asker):
        root = str(conversation.cwd).rstrip("/")
        if path == root or path.startswith(f"{root}/"):
            return conversation, path
    raise OutsideWorkspace(f"{path[:200]} is in no workspace that this client may see.")


async def _content(asker: RemoteAsker, uri: str) -> bytes:
    for conversation in _seen(asker):
        try:
            return await _pieces(asker, f"{OURS}fetchContent", {"channel": conversation.chat.uri, "uri": uri})
        except UsageError:
            continue  # try the next chat
    raise FileUnavailable(f"No chat contains {uri[:200]!r} anymore.", hint="The agent has replaced it.")


async def _pieces(asker: RemoteAsker, method: str, params: dict[str, Any]) -> bytes:
    data = b""
    while True:
        answer = asker.service.ask(asker.client_id, method, {**params, "offset": len(data), "length": RANGE})
        content: Bytes = answer if isinstance(answer, Bytes) else await answer
        data += content.buffers[0]
        size = content.result["size"]
        if size > LARGEST:
            raise FileUnavailable(f"It is larger than {LARGEST // 1024 // 1024} MiB.", hint="Read it in the notebook.")
        if len(data) >= size or not content.buffers[0]:
            return data


TIMES = 5
"""The most permission requests for a change if the file changes meanwhile."""


# --- what is there ---


@c.command("resourceRead", c.ResourceReadCommand, "drive")
async def read_file(asker: RemoteAsker, params: c.ResourceReadCommand) -> dict[str, Any]:
    """Files of a workspace, within its boundary and the policy, and long content."""
    data = await _read(asker, params.uri)
    if params.encoding == "utf-8":
        with contextlib.suppress(UnicodeDecodeError):
            return {"data": data.decode(), "encoding": "utf-8"}
    return {"data": base64.b64encode(data).decode(), "encoding": "base64"}


@c.command("resourceList", c.ResourceListCommand, "drive")
async def list_files(asker: RemoteAsker, params: c.ResourceListCommand) -> dict[str, Any]:
    """Folders of a workspace, within its boundary."""
    conversation, path = _within(asker, params.uri)
    request = {"channel": conversation.session.uri, "path": path}
    answer = await asker.service.ask(asker.client_id, f"{OURS}listFiles", request)
    entries = [
        {"name": each["name"], "type": "directory" if each["kind"] == "folder" else "file"}
        for each in answer["entries"]
    ]
    return {"entries": entries}


@c.command("resourceResolve", c.ResourceResolveCommand, "drive")
async def resolve_file(asker: RemoteAsker, params: c.ResourceResolveCommand) -> dict[str, Any]:
    """Returns what is at a path of a workspace, with an `etag`."""
    _, place = _place(asker, params.uri, follow=params.follow_symlinks)
    entry = await asyncio.to_thread(_there, place)
    moment = datetime.fromtimestamp(entry.modified_ns / 1e9, timezone.utc)
    answer = {"uri": entry.path.as_uri(), "type": entry.kind, "etag": entry.version}
    size = {"size": entry.size} if entry.kind == "file" else {}
    return {**answer, **size, "mtime": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")}


@c.command("resourceRequest", c.ResourceRequestCommand, "drive")
def check_access(asker: RemoteAsker, params: c.ResourceRequestCommand) -> dict[str, Any]:
    """Says whether a path is in a workspace. What is written is decided when it is."""
    conversation, place = _place(asker, params.uri)
    if params.read or not params.write:
        _check_readable(conversation, place)
    return {}


# --- what it changes ---


@c.command("resourceWrite", c.ResourceWriteCommand, "drive")
async def write_file(asker: RemoteAsker, params: c.ResourceWriteCommand) -> dict[str, Any]:
    """Asks as a file write of an agent does. `ifMatch`, `createOnly` and all modes."""
    data = _decoded(params)

    def new(current: bytes | None) -> bytes:
        return placed(current or b"", data, params.mode, params.position)

    def check(place: files.WorkspacePath) -> None:
        entry = files.found_at(place)
        if entry is not None and params.create_only:
            raise RequestFailed(c.ALREADY_EXISTS, f"{place.path.name} already exists.")
        if params.if_match is not None and (entry is None or entry.version != params.if_match):
            raise RequestFailed(c.CONFLICT, f"{place.path.name} has changed. Read it again.")

    await _write(asker, params.uri, new, check)
    return {}


@c.command("resourceCopy", c.ResourceMoveCommand, "drive")
async def copy_file(asker: RemoteAsker, params: c.ResourceMoveCommand) -> dict[str, Any]:
    """Asks likewise. Files only, and none that may hold secrets."""
    conversation, source = _place(asker, params.source)
    _check_readable(conversation, source)
    data = await asyncio.to_thread(files.content_of, source)
    if data is None:
        raise _missing(source)
    await _write(asker, params.destination, lambda _: data, lambda place: _check_free(place, params.fail_if_exists))
    return {}


@c.command("resourceMkdir", c.ResourceMkdirCommand, "drive")
async def make_folder(asker: RemoteAsker, params: c.ResourceMkdirCommand) -> dict[str, Any]:
    """Asks likewise; a folder that is there is no change."""
    conversation, place = _place(asker, params.uri)
    entry = await asyncio.to_thread(files.found_at, place)
    if entry is not None and entry.kind != "directory":
        raise RequestFailed(c.ALREADY_EXISTS, f"{place.path.name} exists and is not a folder.")
    if entry is None:
        request = PolicyRequest(kind="write", title=f"Create the folder {place.path.name}", path=str(place.path))
        async with _change(asker, conversation) as authorize:
            await _ask(asker, authorize, request)
            await asyncio.to_thread(files.make_folder, place)
    return {}


@c.command("resourceDelete", c.ResourceDeleteCommand, "drive")
async def delete_file(asker: RemoteAsker, params: c.ResourceDeleteCommand) -> dict[str, Any]:
    """Asks likewise. A link goes, not what it leads to."""
    conversation, place = _place(asker, params.uri, follow=False)
    request, content = await asyncio.to_thread(_deletion, place, recursive=params.recursive)
    async with _change(asker, conversation) as authorize:
        await _ask(asker, authorize, request)
        if await asyncio.to_thread(_deletion, place, recursive=params.recursive) != (request, content):
            raise RequestFailed(c.CONFLICT, f"{place.path.name} changed while that was asked. Ask again.")
        await asyncio.to_thread(files.delete, place, recursive=params.recursive)
    return {}


@c.command("resourceMove", c.ResourceMoveCommand, "drive")
async def move_file(asker: RemoteAsker, params: c.ResourceMoveCommand) -> dict[str, Any]:
    """Asks likewise. A file is replaced, a folder never."""
    conversation, source = _place(asker, params.source, follow=False)
    _, destination = _place(asker, params.destination, follow=False)

    def current_files() -> tuple[files.FoundPath, files.FoundPath | None]:
        moved = _there(source)
        _check_free(destination, params.fail_if_exists)
        return moved, files.found_at(destination)

    await asyncio.to_thread(_check_folder, destination)
    before = await asyncio.to_thread(current_files)
    paths = (str(source.path), str(destination.path))
    replacement = "" if before[1] is None else ", which it replaces"
    title = f"Move {source.path.name} to {_relative(destination)}{replacement}"
    async with _change(asker, conversation) as authorize:
        await _ask(asker, authorize, PolicyRequest(kind="move", title=title, path=paths[0], paths=paths))
        if await asyncio.to_thread(current_files) != before:
            raise RequestFailed(c.CONFLICT, f"{source.path.name} changed while that was asked. Ask again.")
        await asyncio.to_thread(files.move, source, destination)
    return {}


# --- inside ---


async def _write(
    asker: RemoteAsker, uri: str, new: Callable[[bytes | None], bytes], check: Callable[[files.WorkspacePath], None]
) -> None:
    """Write a file after asking; if the file changes while the question is open, ask again."""
    conversation, place = _place(asker, uri)
    await asyncio.to_thread(_check_folder, place)
    await asyncio.to_thread(check, place)
    async with _change(asker, conversation) as authorize:
        for time in range(TIMES):
            content = await asyncio.to_thread(files.content_of, place)
            data = new(content)
            await _ask(asker, authorize, write_question(place.path, content, data, again=time > 0))
            if _place(asker, uri)[1] != place:
                raise OutsideWorkspace(f"{uri[:200]!r} no longer leads to the same file.", hint="Ask again.")
            await asyncio.to_thread(check, place)
            if await asyncio.to_thread(files.write, place, data, content):
                return
    raise RequestFailed(c.CONFLICT, f"{place.path.name} changed each of the {TIMES} times that this was tried.")


def _change(asker: RemoteAsker, conversation: Conversation) -> Any:
    return asker.host.client_files.change(asker.client.grant.name, conversation.cwd)


async def _ask(asker: RemoteAsker, authorize: Authorize, request: PolicyRequest) -> None:
    asking = asyncio.ensure_future(authorize(request))
    asker.asking.add(asking)
    try:
        await asking
    finally:
        asker.asking.discard(asking)


def _seen(asker: RemoteAsker) -> tuple[Conversation, ...]:
    return tuple(each for each in asker.host.conversations.values() if asker.client.sees(each.session.uri))


def _place(asker: RemoteAsker, uri: str, *, follow: bool = True) -> tuple[Conversation, files.WorkspacePath]:
    conversation, path = _within(asker, uri)
    return conversation, files.place_of(WorkspaceBoundary(conversation.cwd), path, follow=follow)


def placed(before: bytes, data: bytes, mode: str, position: int) -> bytes:
    """Returns a file's content after *data* is written to it (AHP ``ResourceWriteMode``)."""
    if mode == "truncate":
        return before[:position] + data
    at = max(0, len(before) - position) if mode == "append" else position
    return before[:at] + data + before[at:]


def write_question(path: Path, expected: bytes | None, data: bytes, *, again: bool) -> PolicyRequest:
    """Returns the request to replace *expected* in *path* by *data*; data that is not text is only described."""
    try:
        return write_request(path, expected, data.decode(), again=again)
    except UnicodeDecodeError:
        request = write_request(path, expected, "", again=again)
        was = "a new file" if expected is None else f"{len(expected):,} bytes"
        note = ToolTextContent(text=f"Writes {len(data):,} bytes that are not text, in the place of {was}.")
        return PolicyRequest(kind="write", title=request.title, path=request.path, preview=(note,), again=again)


def _decoded(params: c.ResourceWriteCommand) -> bytes:
    if params.encoding == "utf-8":
        return params.data.encode("utf-8", "replace")
    try:
        return base64.b64decode(params.data, validate=True)
    except ValueError as error:
        raise RequestFailed(INVALID_PARAMS, f"`data` is not valid base64: {error}.") from None


def _deletion(place: files.WorkspacePath, *, recursive: bool) -> tuple[PolicyRequest, str]:
    """Returns the request to delete what is at *place*, and which version of it that is."""
    entry = _there(place)
    title, preview = f"Delete {_relative(place)}", None
    if entry.kind == "directory":
        count = files.files_below(place)
        if not recursive and any(place.path.iterdir()):
            raise RequestFailed(INVALID_PARAMS, f"{place.path.name} is not empty. Set `recursive`.")
        title += " and everything in it" if count else ""
        preview = (ToolTextContent(text=f"A folder with {count:,} file{'' if count == 1 else 's'}."),)
    request = PolicyRequest(kind="delete", title=title, path=str(place.path), preview=preview)
    return request, entry.version


def _there(place: files.WorkspacePath) -> files.FoundPath:
    entry = files.found_at(place)
    if entry is None:
        raise _missing(place)
    return entry


def _missing(place: files.WorkspacePath) -> FileUnavailable:
    return FileUnavailable(f"There is no {_relative(place)!r} in the workspace.", hint="It may have been moved.")


def _check_free(place: files.WorkspacePath, fail_if_exists: bool) -> None:
    entry = files.found_at(place)
    if entry is not None and (fail_if_exists or entry.kind == "directory"):
        raise RequestFailed(c.ALREADY_EXISTS, f"{_relative(place)} already exists.")


def _check_folder(place: files.WorkspacePath) -> None:
    """Raise if the parent folder does not exist: AHP writes a file only to an existing folder."""
    parent = files.WorkspacePath(place.root, place.path.parent)
    if place.path == place.root or files.found_at(parent) is None:
        raise _missing(parent)


def _check_readable(conversation: Conversation, place: files.WorkspacePath) -> None:
    pattern = secret_pattern(_relative(place), conversation.policy.situation().patterns)
    if pattern is not None:
        message = f"{_relative(place)!r} may hold secrets: it matches {pattern}."
        raise PermissionDenied(message, hint="Clients cannot read such files.")


def _relative(place: files.WorkspacePath) -> str:
    return place.path.relative_to(place.root).as_posix()
