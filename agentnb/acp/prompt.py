"""Builds the prompt for one message to suit what the agent supports, and reads the answer (ACP ``session/prompt``)."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.acp.fields import mapping
from agentnb.state import (
    MessageEmbeddedResourceAttachment,
    MessageResourceAttachment,
    SimpleMessageAttachment,
    UsageInfo,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.errors import AgentnbError
    from agentnb.state import Message

Block = dict[str, Any]

CANNOT = "which this agent cannot take in a prompt"


class PromptResult(NamedTuple):
    """The end of a prompt: why it stopped, and its usage."""

    stop_reason: str = "end_turn"
    usage: UsageInfo | None = None
    error: AgentnbError | None = None


def prompt_blocks(message: Message, capabilities: Mapping[str, Any]) -> list[Block]:
    blocks: list[Block] = [{"type": "text", "text": message.text}]
    blocks += [_attachment(attachment, capabilities) for attachment in message.attachments or ()]
    return blocks


def left_out(blocks: list[Block], message: Message) -> list[str]:
    """The labels of *message*'s attachments that *blocks* only name, because the agent cannot take them."""
    sent = [block for block in blocks if block["type"] == "text" and CANNOT in block["text"]]
    labels = [attachment.label for attachment in message.attachments or ()]
    return [label for label in labels if any(block["text"].startswith(f"[{label}: ") for block in sent)]


def read_answer(result: Any, error: AgentnbError | None = None) -> PromptResult:
    """Read a prompt's answer (ACP ``PromptResponse``); odd fields are ignored."""
    answer = mapping(result)
    stop_reason = answer.get("stopReason")
    tokens = _usage(answer.get("usage")) or _quota(mapping(answer.get("_meta")).get("quota"))
    return PromptResult(stop_reason if isinstance(stop_reason, str) else "end_turn", tokens, error)


def _usage(usage: object) -> UsageInfo | None:
    if not isinstance(usage, dict):
        return None
    return UsageInfo(
        input_tokens=_number(usage.get("inputTokens")),
        output_tokens=_number(usage.get("outputTokens")),
        cache_read_tokens=_number(usage.get("cachedReadTokens")),
    )


def _quota(quota: object) -> UsageInfo | None:
    """The turn's token usage, as Gemini CLI reports it."""
    counted = mapping(mapping(quota).get("token_count"))
    read, written = _number(counted.get("input_tokens")), _number(counted.get("output_tokens"))
    if read is None and written is None:
        return None
    return UsageInfo(input_tokens=read, output_tokens=written)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _attachment(attachment: object, capabilities: Mapping[str, Any]) -> Block:
    match attachment:
        case SimpleMessageAttachment(label=label, model_representation=text):
            return _context(label, text or "", capabilities)
        case MessageResourceAttachment(label=label, uri=uri, content_type=mime):
            link: Block = {"type": "resource_link", "name": label, "uri": uri}
            return {**link, "mimeType": mime} if mime else link
        case MessageEmbeddedResourceAttachment(label=label, data=data, content_type=mime):
            return _embedded(label, data, mime, capabilities)
        case _:
            return {"type": "text", "text": f"[attachment: {getattr(attachment, 'label', 'unnamed')}]"}


def _context(label: str, text: str, capabilities: Mapping[str, Any]) -> Block:
    if capabilities.get("embeddedContext"):
        resource = {"uri": f"agentnb://context/{label}", "mimeType": "text/plain", "text": text}
        return {"type": "resource", "resource": resource}
    return {"type": "text", "text": f"\n<context name={label!r}>\n{text}\n</context>\n"}


def _embedded(label: str, data: str, mime: str, capabilities: Mapping[str, Any]) -> Block:
    for kind in ("image", "audio"):
        if mime.startswith(f"{kind}/") and capabilities.get(kind):
            return {"type": kind, "data": data, "mimeType": mime}
    if mime.startswith("image/"):  # not as bytes: an agent without pictures would read base64 as text
        return {"type": "text", "text": f"[{label}: a picture ({mime}), {CANNOT}; it was left out.]"}
    if capabilities.get("embeddedContext"):
        resource = {"uri": f"agentnb://context/{label}", "mimeType": mime, "blob": data}
        return {"type": "resource", "resource": resource}
    if mime.startswith("text/") and (embedded_text := _text(data)) is not None:
        return _context(label, embedded_text, capabilities)
    return {"type": "text", "text": f"[{label}: {mime}, {CANNOT}]"}


def _text(data: str) -> str | None:
    try:
        return base64.b64decode(data, validate=True).decode("utf-8")
    except ValueError:
        return None
