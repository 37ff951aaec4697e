"""Merging: consecutive chunks of one text become one chunk before anything looks at them.

An agent can send a hundred thousand chunks a second; everything behind this point is paid per read, not per chunk.
"""

from __future__ import annotations

from typing import Any

_KINDS = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})


def merge(updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join neighbours that are plain text of the same message; leave everything else as it is.

    Args:
        updates: ACP updates in order; not changed.

    Returns:
        The same conversation in as few updates as possible.

    Example:
        >>> chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a"}}
        >>> merge([chunk, chunk])[0]["content"]["text"]
        'aa'
    """
    if len(updates) == 1:
        return updates
    merged: list[dict[str, Any]] = []
    texts: list[str] = []
    key: tuple[Any, Any] | None = None
    for update in updates:
        this = _key(update)
        if this is not None and this == key:
            texts.append(update["content"]["text"])
            continue
        _close(merged, texts)
        merged.append(update)
        key = this
        texts = [] if this is None else [update["content"]["text"]]
    _close(merged, texts)
    return merged


def _close(merged: list[dict[str, Any]], texts: list[str]) -> None:
    if len(texts) > 1:
        merged[-1] = {**merged[-1], "content": {"type": "text", "text": "".join(texts)}}


def _key(update: dict[str, Any]) -> tuple[Any, Any] | None:
    """What two updates must share to be one; None when an update stands for itself."""
    content = update.get("content")
    message = update.get("messageId")
    if (
        update.get("sessionUpdate") in _KINDS
        and type(content) is dict
        and len(content) == 2  # noqa: PLR2004 - type and text, nothing more
        and content.get("type") == "text"
        and type(content.get("text")) is str
        and len(update) == (2 if message is None and "messageId" not in update else 3)
        and (message is None or type(message) is str)
    ):
        return update["sessionUpdate"], message
    return None
