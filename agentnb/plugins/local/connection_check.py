"""Tests the connection to a model, and reports what was found, what is wrong, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentnb.plugins.local.abilities import effective_context, find_out, keep_abilities, kept_abilities
from agentnb.plugins.local.discovery import LARGER_CONTEXT, found_models
from agentnb.plugins.local.server import ServerTrouble
from agentnb.plugins.local.settings import is_loopback

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agentnb.plugins.local.discovery import FoundModels, Model
    from agentnb.plugins.local.server import ModelServer
    from agentnb.plugins.local.settings import LocalSettings


async def find_and_pull(settings: LocalSettings, name: str) -> AsyncIterator[str]:
    """Find the Ollama server that *settings* lead to, and download the model *name* with it."""
    async with found_models(settings) as found:
        if found.pulls is None:
            raise ServerTrouble("No Ollama was found.", "Only Ollama can download models from here: start it.")
        async for progress in pull(found.pulls, name):
            yield progress


async def pull(server: ModelServer, name: str) -> AsyncIterator[str]:
    """Download the model *name*; yields each step, and each further percent."""
    last, success = None, False
    async for line in server.lines(f"{server.root}/api/pull", {"model": name, "stream": True}):
        if isinstance(error := line.get("error"), str):
            raise ServerTrouble(f"Ollama cannot download {name}: {error}", "Look up its name on ollama.com/library.")
        status = line.get("status")
        progress = status[:200] if isinstance(status, str) else "working"
        success = success or progress == "success"
        done, total = line.get("completed"), line.get("total")
        if isinstance(done, int) and isinstance(total, int) and total > 0:
            progress += f": {min(100, done * 100 // total)} %"
        if progress != last:
            last = progress
            yield progress
    if not success:
        raise ServerTrouble(
            f"The download of {name} was interrupted.", "Start it again: it continues where it stopped."
        )


SMALL_CONTEXT = 8192
"""Tokens of context below which an agent with tools soon forgets its task."""
MOST_LISTED = 20


class ConnectionResult(NamedTuple):
    lines: list[str]
    works: bool


async def check_connection(settings: LocalSettings) -> ConnectionResult:
    """Look for servers, and ask the model that would be used to answer with one word."""
    async with found_models(settings) as found:
        lines = describe(found, settings)
        if found.problem() is not None:
            return ConnectionResult(lines, works=False)
        wanted = settings.model
        named = [each for each in found.models if wanted is None or each.model_id in {wanted, f"{wanted}:latest"}]
        if not named:
            return ConnectionResult(
                [*lines, f"There is no model {wanted}. Set AGENTNB_LOCAL_MODEL to one of these."], works=False
            )
        try:
            return ConnectionResult([*lines, *await _try(named[0])], works=True)
        except ServerTrouble as trouble:
            return ConnectionResult([*lines, f"{named[0].model_id} does not answer: {trouble}"], works=False)


def describe(servers: FoundModels, settings: LocalSettings) -> list[str]:
    """Returns the servers and models that were found, and what is wrong."""
    lines = []
    for each in servers.servers:
        count = len(each.models)
        lines.append(f"{each.kind} at {each.server.url}: {count} {'model' if count == 1 else 'models'}")
        for model in each.models[:MOST_LISTED]:
            known = kept_abilities(model)
            lines.append(f"- {model.model_id}{f' ({known})' if known is not None else ''}")
        if count > MOST_LISTED:
            lines.append(f"- and {count - MOST_LISTED} more")
    problem = servers.problem()
    if problem is not None:
        lines += [each for each in problem if each]
    elif servers.troubles:
        lines += [str(each) for each in servers.troubles]
    if settings.url is None and not servers.servers:
        lines.append(f"Checked these ports on this machine: {', '.join(map(str, settings.ports))}.")
    if settings.key and settings.url and settings.url.startswith("http:") and not is_loopback(settings.url):
        lines.append("The key is sent without encryption: use an address that begins with https.")
    return lines


async def _try(model: Model) -> list[str]:
    """Ask *model* to answer with one word, find out its abilities, and store them."""
    body = {
        "model": model.model_id,
        "messages": [{"role": "user", "content": "Answer with the word: ready"}],
        "max_tokens": 64,
        "stream": True,
    }
    await model.server.answer(body)
    abilities = await find_out(model)  # again: the server may have restarted with another template
    keep_abilities(model, abilities)
    lines = [f"{model.model_id} answers. {str(abilities).capitalize()}."]
    if abilities.tools is False:
        lines.append("It cannot use tools: it answers in text only. Choose another model to read and change files.")
    size = await effective_context(model) or abilities.context
    if size is not None and size < SMALL_CONTEXT:
        how = LARGER_CONTEXT.get(model.kind)
        lines.append(
            f"Its context is only {size:,} tokens, too few for long tasks."
            f" Start the server with a larger one{f', as in {how}' if how else ''}."
        )
    return lines
