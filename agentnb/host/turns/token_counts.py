"""What a turn used, of what its agent said: ACP's ``usage`` is the session's total, many agents say the turn's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec.structs import replace

from agentnb.acp.fields import count, mapping

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.state import ChatState, UsageInfo

Counts: TypeAlias = Literal["turn", "session"]
_FIELDS = ("input_tokens", "output_tokens", "cache_read_tokens")


def turn_tokens(reported: UsageInfo, before: UsageInfo | None, counts: Counts | None) -> UsageInfo:
    """Returns what one turn used.

    Where the catalogue does not say how an agent counts, it counts as ACP words it, for the session, until a number
    falls: a total never does.
    """
    if counts == "turn":
        return reported
    kept = mapping(mapping(before.meta if before is not None else None).get("agentnb"))
    earlier = {name: count(mapping(kept.get("said")).get(name)) or 0 for name in _FIELDS}
    now = {name: getattr(reported, name) or 0 for name in _FIELDS}
    fell = any(now[name] < earlier[name] for name in _FIELDS)
    if counts is None and (fell or kept.get("counts") == "turn"):
        return _noted(reported, now, "turn")
    used = {
        name: None if getattr(reported, name) is None else now[name] - (0 if fell else earlier[name])
        for name in _FIELDS
    }
    return _noted(replace(reported, **used), now, "session")


def counted_before(chat: ChatState, turn_id: str) -> UsageInfo | None:
    """The tokens of the last turn before *turn_id* whose agent said any."""
    known: UsageInfo | None = None
    for turn in chat.turns:
        if turn.id == turn_id:
            break
        known = turn.usage or known
    return known


def added(before: UsageInfo | None, usage: UsageInfo) -> UsageInfo:
    """What a turn of several prompts used: *usage* is what the last one did."""
    if before is None:
        return usage
    sums = {}
    for name in _FIELDS:
        known = [each for each in (getattr(before, name), getattr(usage, name)) if each is not None]
        sums[name] = sum(known) if known else None
    return replace(usage, **sums)


def _noted(usage: UsageInfo, reported: Mapping[str, int], counts: Counts) -> UsageInfo:
    return replace(usage, meta={**(usage.meta or {}), "agentnb": {"said": dict(reported), "counts": counts}})
