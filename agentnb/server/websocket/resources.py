"""What ``resource*`` requests may read: files within a workspace's boundary and policy, and content by reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from agentnb.errors import FileUnavailable, OutsideWorkspace, UsageError
from agentnb.server.content_refs import RANGE, SCHEME
from agentnb.server.messages import OURS
from agentnb.server.request_table import Bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.host.conversation import Conversation
    from agentnb.server.service import Service

LARGEST = 4 * 1024 * 1024
"""Bytes of a file or a content that are given."""


async def read_resource(seen: Sequence[Conversation], service: Service, client_id: str, uri: str) -> bytes:
    """All of the file or content that *uri* names."""
    if uri.startswith(SCHEME):
        return await _content(seen, service, client_id, uri)
    conversation, path = within(seen, uri)
    return await _pieces(service, client_id, f"{OURS}readFile", {"channel": conversation.session.uri, "path": path})


async def list_folder(seen: Sequence[Conversation], service: Service, client_id: str, uri: str) -> dict[str, Any]:
    """The entries of a folder (AHP ``ResourceListResult``); see :func:`read_resource`."""
    conversation, path = within(seen, uri)
    answer = await service.ask(client_id, f"{OURS}listFiles", {"channel": conversation.session.uri, "path": path})
    entries = [
        {"name": each["name"], "type": "directory" if each["kind"] == "folder" else "file"}
        for each in answer["entries"]
    ]
    return {"entries": entries}


def within(seen: Sequence[Conversation], uri: str) -> tuple[Conversation, str]:
    """The conversation in whose workspace a file is, and its path; that is checked again where it is opened."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"} or parts.query or parts.fragment:
        raise FileUnavailable(
            f"{uri[:200]!r} does not name anything that can be read here.", hint="Request a file: URI."
        )
    path = unquote(parts.path)
    if "\0" in path:
        raise FileUnavailable("A file name cannot contain NUL.", hint="Request another file.")
    for conversation in seen:
        root = str(conversation.cwd).rstrip("/")
        if path == root or path.startswith(f"{root}/"):
            return conversation, path
    raise OutsideWorkspace(f"{path[:200]} is in no workspace that this client may see.")


async def _content(seen: Sequence[Conversation], service: Service, client_id: str, uri: str) -> bytes:
    for conversation in seen:
        try:
            return await _pieces(
                service, client_id, f"{OURS}fetchContent", {"channel": conversation.chat.uri, "uri": uri}
            )
        except UsageError:
            continue  # it is in another chat
    raise FileUnavailable(f"No chat contains {uri[:200]!r} anymore.", hint="The agent has replaced it.")


async def _pieces(service: Service, client_id: str, method: str, params: dict[str, Any]) -> bytes:
    data = b""
    while True:
        answer = service.ask(client_id, method, {**params, "offset": len(data), "length": RANGE})
        content: Bytes = answer if isinstance(answer, Bytes) else await answer
        data += content.buffers[0]
        size = content.result["size"]
        if size > LARGEST:
            raise FileUnavailable(f"It is larger than {LARGEST // 1024 // 1024} MiB.", hint="Read it in the notebook.")
        if len(data) >= size or not content.buffers[0]:
            return data
