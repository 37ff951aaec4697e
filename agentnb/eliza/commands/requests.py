"""Commands that ask the user: for a permission, or to fill in a form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp import RequestError
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    DeclineElicitationResponse,
    ElicitationBooleanPropertySchema,
    ElicitationFormSessionMode,
    ElicitationIntegerPropertySchema,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    EnumOption,
    PermissionOption,
)

from agentnb.eliza.commands.actions import TITLES, tool_kind
from agentnb.eliza.commands.registry import command
from agentnb.eliza.reply import Trouble

if TYPE_CHECKING:
    from acp.schema import CreateElicitationResponse, RequestPermissionResponse

    from agentnb.eliza.reply import Reply

GROUP = "Asking"
OPTIONS = (
    PermissionOption(option_id="allow_once", name="Allow once", kind="allow_once"),
    PermissionOption(option_id="allow_always", name="Always allow", kind="allow_always"),
    PermissionOption(option_id="reject_once", name="Reject once", kind="reject_once"),
    PermissionOption(option_id="reject_always", name="Always reject", kind="reject_always"),
)


@command("ask", "[KIND]", group=GROUP, example="/ask execute")
async def ask(reply: Reply, rest: str) -> None:
    """Asks for permission to use a tool of KIND, with options of all four kinds, then tells what was chosen.

    KIND is as for `/tool`; without it, `edit`. It never does what it asks for, and never remembers the choice.
    """
    kind = tool_kind(rest.strip() or "edit")
    call = await reply.start_tool(TITLES[kind], kind, raw_input={"kind": kind}, path=reply.path("fit.py"))
    async with reply.asking("session/request_permission", call):
        answer = await reply.client.request_permission(reply.session.session_id, call.described(), list(OPTIONS))
    chosen = _chosen(answer)
    if chosen is None:
        await call.update("failed")
        await reply.say("The question was cancelled, so I leave it.")
    elif chosen.kind.startswith("allow"):
        await call.update("in_progress")
        await call.update("completed")
        await reply.say(f"You chose **{chosen.name}** (`{chosen.kind}`). Thank you; I would go on.")
    else:
        await call.update("failed")
        await reply.say(f"You chose **{chosen.name}** (`{chosen.kind}`). I leave it.")


@command("form", group=GROUP)
async def form(reply: Reply, _: str) -> None:
    """Asks to fill in a form with a text, a choice, a number and a switch, then tells the answers."""
    offered = reply.capabilities.elicitation
    if offered is None or offered.form is None:
        raise Trouble("This client does not offer `elicitation/create` with forms.")
    mode = ElicitationFormSessionMode(session_id=reply.session.session_id, requested_schema=_questions())
    try:
        answer = await reply.client.create_elicitation("Before I begin, tell me about the fit.", mode)
    except RequestError as refused:
        raise Trouble(f"The client refused `elicitation/create`: {refused} ({refused.code}).") from None
    await reply.say(_told(answer))


def _chosen(answer: RequestPermissionResponse) -> PermissionOption | None:
    if not isinstance(answer.outcome, AllowedOutcome):
        return None
    for option in OPTIONS:
        if option.option_id == answer.outcome.option_id:
            return option
    raise Trouble(f"You chose `{answer.outcome.option_id}`, which I did not offer.")


def _questions() -> ElicitationSchema:
    methods = [EnumOption(const="least-squares", title="Least squares"), EnumOption(const="robust", title="Robust")]
    return ElicitationSchema(
        title="The fit",
        properties={
            "name": ElicitationStringPropertySchema(type="string", title="Name", min_length=1, max_length=40),
            "method": ElicitationStringPropertySchema(
                type="string", title="Method", one_of=methods, default="least-squares"
            ),
            "steps": ElicitationIntegerPropertySchema(
                type="integer", title="Steps", description="At most", minimum=1, maximum=1000, default=100
            ),
            "plot": ElicitationBooleanPropertySchema(type="boolean", title="Plot the residuals", default=True),
        },
        required=["name"],
    )


def _told(answer: CreateElicitationResponse) -> str:
    if isinstance(answer, AcceptElicitationResponse):
        rows = [f"- {name}: `{value}`" for name, value in sorted((answer.content or {}).items())]
        return "You told me:\n\n" + "\n".join(rows) + "\n" if rows else "You accepted, and told me nothing."
    if isinstance(answer, DeclineElicitationResponse):
        return "You would rather not say."
    return "You closed the form."
