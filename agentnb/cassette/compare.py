"""Compares the current run with the recording: prompts, other requests, and the client's answers to the agent."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import mapping, objects
from agentnb.cassette import mcp
from agentnb.cassette.marks import each_text, mark
from agentnb.errors import CassetteMismatch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from agentnb.cassette.recording import ComparisonRule, Header, WireEvent

AGAIN = (
    "If today's is right, record again: AGENTNB_CASSETTE_MODE=record for a kernel, --agentnb-record for pytest, "
    "`agentnb record` elsewhere."
)
_LONGEST_DIFF = 60
_CLASS = re.compile(r"(.*: [A-Za-z_]\w*)\.(?:\w+\.)*(\w+)((?:, (?:shape|length) .*)?)")
"""The first line of a described value: its name, its class, and its size (:mod:`agentnb.api.attachments`)."""
_TEXT = re.compile(r"((?:  .*: |.*\bdtype:? ))(?:object|str|string)")
_TIME = re.compile(r"\bdatetime64\[(?:s|ms|us|ns)(?=[],])")
_UNNAMED = ("sessionId", "cwd", "_meta", "mcpServers")


def mismatch(what: str) -> CassetteMismatch:
    return CassetteMismatch(f"{what}\n{AGAIN}")


def ruled(rules: Iterable[ComparisonRule]) -> Callable[[Any], Any]:
    """Returns a function that makes JSON comparable: everything that a rule matches becomes the rule's mark."""
    compiled = [(re.compile(rule.pattern), mark(rule.name)) for rule in rules]

    def text(value: str) -> str:
        for pattern, word in compiled:
            value = pattern.sub(lambda _, word=word: word, value)  # type: ignore[misc]
        return value

    return lambda value: each_text(value, text)


def described(prompt: Any) -> list[str]:
    """Returns a prompt's blocks (ACP ``ContentBlock``) as lines: its text, then attachments, each after its name."""
    lines: list[str] = []
    for block in prompt if isinstance(prompt, list) else [prompt]:
        match block:
            case {"type": "text", "text": str(text)}:
                lines += text.split("\n")
            case {"type": "resource_link", "uri": str(uri)}:
                lines.append(f"@ {block.get('name', '')} ({uri})")
            case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
                lines += [f"@ {uri}", *(f"  {line}" for line in text.split("\n"))]
            case {"type": str(kind), "data": str(data)}:
                lines.append(f"@ {kind} {block.get('mimeType', '')}, {len(data)} characters, {hash_of(data)}")
            case _:
                lines.append(json.dumps(block, ensure_ascii=False, sort_keys=True))
    return lines


def comparable(lines: list[str]) -> list[str]:
    """Returns *lines* of a prompt with one name for each class and type that libraries name in several ways.

    pandas 2 has ``pandas.core.frame.DataFrame`` and columns of ``object`` and ``datetime64[ns]`` where pandas 3 has
    ``pandas.DataFrame``, ``str`` and ``datetime64[us]``.
    """
    return [_comparable(line) for line in lines]


def _comparable(line: str) -> str:
    if (named := _CLASS.fullmatch(line)) is not None:
        return f"{named[1]}.{named[2]}{named[3]}"
    if (typed := _TEXT.fullmatch(line)) is not None:
        return f"{typed[1]}str"
    return _TIME.sub("datetime64[us", line)


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def diff(recorded: list[str], today: list[str]) -> str:
    lines = list(difflib.unified_diff(recorded, today, "recorded", "today", n=2, lineterm=""))
    more = [f"… {len(lines) - _LONGEST_DIFF} more lines"] if len(lines) > _LONGEST_DIFF else []
    return "\n".join([*lines[:_LONGEST_DIFF], *more])


def same_request(recorded: Any, today: Any) -> bool:
    """True if the parameters of two requests other than prompts are equal."""
    return bool(_named(recorded) == _named(today))


def json_lines(params: Any) -> list[str]:
    return json.dumps(_named(params), ensure_ascii=False, indent=1, sort_keys=True).split("\n")


def _named(params: Any) -> Any:
    return {name: item for name, item in params.items() if name not in _UNNAMED} if isinstance(params, dict) else params


def difference(
    ask: WireEvent, recorded: WireEvent, result: Any, error: Any, *, header: Header, written: Collection[str] = ()
) -> str | None:
    """Returns how today's answer to the agent's request differs from the recorded one, if that matters; else None."""
    if ask.method == "fs/read_text_file" and error is None and _content(result) in written:
        return None
    then, now = _outcome(ask, recorded.result, recorded.error), _outcome(ask, result, error)
    if then != now:
        return f"{_what(ask)}: recorded: `{then}`, now: `{now}`."
    if ask.method == "fs/read_text_file" and header.answers == "content" and error is None:
        before, after = _content(recorded.result), _content(result)
        if before != after:
            return f"{_what(ask)}: the file has changed.\n{diff(before.split(chr(10)), after.split(chr(10)))}"
    if ask.method == mcp.MESSAGE and header.answers == "content" and error is None:
        ran, runs = _ran(recorded.result), _ran(result)
        if ran is not None and ran != runs:
            return f"{_what(ask)}: the code had a different result.\n{diff(ran, runs or [])}"
    return None


def _outcome(ask: WireEvent, result: Any, error: Any) -> str:
    if error is not None:
        return "refused"
    answer = mapping(result)
    match ask.method:
        case "session/request_permission":
            return _permission(ask.params, answer.get("outcome"))
        case "terminal/wait_for_exit":
            return _exit(answer)
        case "terminal/output":
            status = answer.get("exitStatus")
            return _exit(status) if isinstance(status, dict) else "it runs"
        case "elicitation/create" | "session/elicitation":
            content = json.dumps(answer.get("content"), ensure_ascii=False, sort_keys=True)
            return f"{answer.get('action')} {content}"
        case mcp.MESSAGE:
            return "failed" if answer.get("isError") else "done"
    return "done"


def _exit(status: dict[str, Any]) -> str:
    return f"signal {status['signal']}" if status.get("signal") else f"exit code {status.get('exitCode')}"


def _permission(params: Any, outcome: Any) -> str:
    chosen = mapping(outcome)
    if chosen.get("outcome") != "selected":
        return str(chosen.get("outcome"))
    for option in objects(mapping(params).get("options")):
        if option.get("optionId") == chosen.get("optionId"):
            kind = str(option.get("kind"))
            return {"allow": "allowed", "reject": "rejected"}.get(kind.partition("_")[0], str(option.get("optionId")))
    return str(chosen.get("optionId"))


def _content(result: Any) -> str:
    return str(mapping(result).get("content", ""))


def _what(ask: WireEvent) -> str:
    params = mapping(ask.params)
    if ask.method == mcp.MESSAGE:
        return mcp_title(params)
    title = mapping(params.get("toolCall")).get("title")
    about = title or next(filter(None, map(params.get, ("path", "command", "serverId", "message"))), None)
    return f"{ask.method} ({about})" if about else ask.method


def mcp_title(params: dict[str, Any]) -> str:
    inner, title = mapping(params.get("params")), f"MCP {params.get('method')}"
    about = inner.get("name") or inner.get("uri")
    return f"{title} ({about})" if about else title


def _ran(result: Any) -> list[str] | None:
    """Returns the result of code in the kernel as lines: text, images by their hash, and the variables it changed."""
    changed = mapping(mapping(result).get("_meta")).get(mcp.CHANGED)
    if not isinstance(changed, list):
        return None
    return [*described(result.get("content") or []), *(f"@ variable {each}" for each in changed)]
