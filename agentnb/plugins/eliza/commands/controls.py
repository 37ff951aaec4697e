"""Commands about the session itself: mode, options, title, usage, and how a turn ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from agentnb.plugins.acp_agent.client_requests import StopReason
from agentnb.plugins.acp_agent.updates import update
from agentnb.plugins.eliza.commands.registry import Misuse, command, needed

if TYPE_CHECKING:
    from agentnb.plugins.eliza.session import ElizaSession, Reply

GROUP = "The session"
CONTEXT_SIZE = 8192
PRICE = 0.00001
"""US dollars per word. No one is billed."""
ENDINGS: tuple[StopReason, ...] = tuple(reason for reason in get_args(StopReason) if reason != "cancelled")


@command("mode", "ID", group=GROUP, example="/mode plain")
async def mode(reply: Reply, rest: str) -> None:
    """Changes the mode: `doctor` listens, `plain` gives back what it was told."""
    mode_id = needed(rest.strip(), "ID")
    reply.session.settings.set_mode(mode_id)
    await reply.tell(update("current_mode_update", current_mode_id=mode_id))
    await reply.say(f"The mode is now `{mode_id}`.")


@command("config", "ID VALUE", group=GROUP, example="/config thoughts on")
async def config(reply: Reply, rest: str) -> None:
    """Changes an option: `pace`, `pieces` or `thoughts`."""
    option_id, _, value = needed(rest.strip(), "ID").partition(" ")
    settings = reply.session.settings
    chosen = settings.set_option(option_id, needed(value.strip(), "VALUE"))
    options = settings.options(switches=reply.capabilities.knows_switches)
    await reply.tell(update("config_option_update", config_options=options))
    await reply.say(f"The option `{option_id}` is now `{chosen}`.")


@command("title", "TEXT", group=GROUP, example="/title Residuals of the first fit")
async def title(reply: Reply, rest: str) -> None:
    """Gives the session a title."""
    reply.session.title = needed(rest.strip(), "TEXT")
    await reply.tell(update("session_info_update", title=reply.session.title))
    await reply.say(f"This session is now called “{reply.session.title}”.")


@command("usage", group=GROUP)
async def usage(reply: Reply, _: str) -> None:
    """Reports how much was said so far, with its cost: a word counts as a token."""
    heard, spoken = _counts(reply.session)
    total = heard + spoken
    cost = {"amount": round(total * PRICE, 5), "currency": "USD"}
    await reply.tell(update("usage_update", used=min(total, CONTEXT_SIZE), size=CONTEXT_SIZE, cost=cost))
    reply.usage = {"totalTokens": total, "inputTokens": heard, "outputTokens": spoken}
    await reply.say(f"So far I heard {heard} words and said {spoken}, for {cost['amount']:.5f} {cost['currency']}.")


@command("stop", "REASON", group=GROUP, example="/stop refusal")
async def stop(reply: Reply, rest: str) -> None:
    """Ends the turn for REASON: end_turn, max_tokens, max_turn_requests or refusal."""
    for reason in ENDINGS:
        if reason == rest.strip():
            reply.stop_reason = reason
            await reply.say(f"I stop here: `{reason}`.")
            return
    offered = ", ".join(f"`{reason}`" for reason in ENDINGS)
    raise Misuse(f"REASON must be one of {offered}.")


def _counts(session: ElizaSession) -> tuple[int, int]:
    heard = spoken = 0
    for exchange in session.exchanges:
        exchange.flush()
        heard += sum(len(block.get("text", "").split()) for block in exchange.prompt)
        spoken += sum(len(str(update["content"]["text"]).split()) for update in exchange.updates if _is_text(update))
    return heard, spoken


def _is_text(update: dict[str, object]) -> bool:
    content = update.get("content")
    return isinstance(content, dict) and content.get("type") == "text"
