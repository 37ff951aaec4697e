"""Commands that ask the user: for a permission, or to fill in a form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.plugins.acp_agent.client import PermissionOption
from agentnb.plugins.acp_agent.reply import NO_ANSWER, Trouble
from agentnb.plugins.eliza.commands.actions import TITLES, tool_kind
from agentnb.plugins.eliza.commands.registry import command
from agentnb.rpc_message import RpcError

if TYPE_CHECKING:
    from agentnb.plugins.acp_agent.client import FilledForm
    from agentnb.plugins.eliza.session import Reply

GROUP = "Asking"
OPTIONS = (
    PermissionOption(option_id="allow_once", name="Allow once", kind="allow_once"),
    PermissionOption(option_id="allow_always", name="Always allow", kind="allow_always"),
    PermissionOption(option_id="reject_once", name="Reject once", kind="reject_once"),
    PermissionOption(option_id="reject_always", name="Always reject", kind="reject_always"),
)

QUESTIONS: dict[str, Any] = {
    "title": "The fit",
    "properties": {
        "name": {"title": "Name", "minLength": 1, "maxLength": 40, "type": "string"},
        "method": {
            "title": "Method",
            "default": "least-squares",
            "oneOf": [
                {"const": "least-squares", "title": "Least squares"},
                {"const": "robust", "title": "Robust"},
            ],
            "type": "string",
        },
        "steps": {
            "title": "Steps",
            "description": "At most",
            "minimum": 1,
            "maximum": 1000,
            "default": 100,
            "type": "integer",
        },
        "plot": {"title": "Plot the residuals", "default": True, "type": "boolean"},
    },
    "required": ["name"],
}


@command("ask", "[KIND]", group=GROUP, example="/ask execute")
async def ask(reply: Reply, rest: str) -> None:
    """Asks for permission to use a tool of KIND, with options of all four kinds, then tells what was chosen.

    KIND is as for `/tool`; without it, `edit`. It never does what it asks for, and never remembers the choice.
    """
    kind = tool_kind(rest.strip() or "edit")
    call = await reply.start_tool(TITLES[kind], kind, raw_input={"kind": kind}, path=reply.path("fit.py"))
    async with reply.asking("session/request_permission", call):
        answer = await reply.client.request_permission(reply.session.session_id, call.described(), OPTIONS)
    chosen = _chosen(answer)
    if chosen is None:
        await call.update("failed")
        await reply.say("The question was cancelled, so I leave it.")
    elif chosen.kind.startswith("allow"):
        await call.update("in_progress")
        await call.update("completed")
        await reply.say(f"You chose **{chosen.name}**. Thank you; I would go on.")
    else:
        await call.update("failed")
        await reply.say(f"You chose **{chosen.name}**. I leave it.")


@command("form", group=GROUP)
async def form(reply: Reply, _: str) -> None:
    """Asks to fill in a form with a text, a choice, a number and a switch, then tells the answers."""
    if not reply.capabilities.shows_forms:
        raise Trouble("This client does not offer `elicitation/create` with forms.")
    try:
        answer = await reply.client.create_elicitation(
            reply.session.session_id, "Before I begin, tell me about the fit.", QUESTIONS
        )
    except RpcError as refused:
        raise Trouble(f"The client refused `elicitation/create`: {refused} ({refused.code}).") from None
    except msgspec.ValidationError:
        raise Trouble(f"The client refused `elicitation/create`: {NO_ANSWER}.") from None
    await reply.say(_answer_text(answer))


def _chosen(option_id: str | None) -> PermissionOption | None:
    if option_id is None:
        return None
    for option in OPTIONS:
        if option.option_id == option_id:
            return option
    raise Trouble(f"You chose `{option_id}`, which I did not offer.")


def _answer_text(answer: FilledForm) -> str:
    if answer.action == "accept":
        rows = [f"- {name}: `{value}`" for name, value in sorted((answer.content or {}).items())]
        return "You told me:\n\n" + "\n".join(rows) + "\n" if rows else "You accepted, and told me nothing."
    if answer.action == "decline":
        return "You would rather not say."
    return "You closed the form."
