"""Answers a prompt: a slash command is carried out, anything else is a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.plugins.acp_agent.reply import Trouble
from agentnb.plugins.eliza.commands.every_command import Misuse, find
from agentnb.plugins.eliza.research import research, research_server
from agentnb.plugins.eliza.settings import UnknownSetting

if TYPE_CHECKING:
    from agentnb.plugins.eliza.session import Reply


async def answer(reply: Reply, text: str) -> None:
    """Do what a prompt says: a command, or a conversation."""
    try:
        if (server := research_server(reply)) is not None:
            await research(reply, server, text)
            return
        named = find(text)
        if named is None:
            await _converse(reply, text)
            return
        command, rest = named
        try:
            await command.run(reply, rest)
        except (Misuse, UnknownSetting) as misuse:
            raise Trouble(f"{misuse} Usage: `{command.usage}`, for example `{command.example}`.") from None
    except Trouble as trouble:
        await reply.say(str(trouble))


async def _converse(reply: Reply, text: str) -> None:
    from agentnb.plugins.eliza.tour import answer_of  # costs start-up time

    plain = reply.session.settings.mode_id == "plain"
    if not plain and (toured := answer_of(text)) is not None:
        await toured(reply)
        return
    if reply.attachments:
        names = ", ".join(f"`{item.name}` ({item.detail})" for item in reply.attachments)
        await reply.say(f"I was given: {names}.\n\n")
    if plain:
        if reply.session.settings["thoughts"]:
            await reply.think("I am to give back what I was told.")
        await reply.say(text or "(nothing)")
        return
    answer = reply.session.doctor.answer(text)
    if reply.session.settings["thoughts"]:
        await reply.think(answer.reason)
    await reply.say(answer.text)
