"""The cards on which a user allows or denies commands, file accesses and calls of the kernel tools.

A question appears on the agent's tool call if that is known, otherwise on a card of our own. An agent can call a kernel
tool over MCP before it announces the call over ACP: the agent's tool call then replaces our card.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.host.permissions.permission_request import asked_request
from agentnb.kernel.tools import TURN_IS_OVER
from agentnb.kernel.variables.kinds import lost_words
from agentnb.policy.request import choose_option, diffs
from agentnb.policy.subjects import READING
from agentnb.policy.workspace import real_path
from agentnb.state import (
    Answerer,
    ChatToolCallComplete,
    ChatToolCallConfirmed,
    ChatToolCallReady,
    ChatToolCallStart,
    ConfirmationOption,
    Parts,
    ToolCallCancelledState,
    ToolCallDetails,
    ToolCallError,
    ToolCallLocation,
    ToolCallPendingConfirmationState,
    ToolCallResult,
    ToolCallRisk,
    ToolCallRunningState,
    ToolCallStreamingState,
    ToolDiffContent,
    XPartRemoved,
    XToolCallDetailsChanged,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agentnb.acp.peer import Unsaved
    from agentnb.host.channels import SessionChannels
    from agentnb.host.permissions.session_policy import PendingPermission
    from agentnb.policy.offers import Offer, SimilarRule
    from agentnb.policy.request import PolicyRequest, Verdict
    from agentnb.state import Action, ActiveTurn, ToolCallRun, ToolCallState


OURS = "agentnb:"
"""The prefix of the ids of agentnb's own wider answers."""

OWN = "agentnb-"
"""The prefix of the ids of agentnb's own cards."""

ALLOW = ConfirmationOption(id="allow", label="Allow", kind="approve", option_kind="allow_once")
REJECT = ConfirmationOption(id="reject", label="Reject", kind="deny", option_kind="reject_once")
UNKNOWN = "its effects aren't known."
_WIDER = 1  # the group of agentnb's own wider answers
_SENTENCE = re.compile(r"^.+?[.!?](?=\s+[A-Z“]|$)")
_KINDS = {"terminal": "execute", "write": "edit", "cell": "edit"}


def belongs(request: PolicyRequest, call: ToolCallState) -> bool:
    """True if *request* belongs on the agent's tool call *call*, since both are about the same thing."""
    call_request = asked_request(call, call.display_name, request.path or "", kernel=request.kind in {"kernel", "cell"})
    if request.kind in {"kernel", "cell"}:
        return (request.call is not None and request.call == call_request.call) or request.covered_by(call_request)
    if request.command is not None:
        return request.command in {call_request.command, getattr(call, "tool_input", None)}
    if request.path is None or real_path("/", request.path) not in call_request.paths:
        return False
    if request.kind == "read":
        return True
    changes = any(each.path == request.path for each in diffs(call_request.preview))
    return call_request.tool not in READING and (
        not changes or request.preview is None or request.covered_by(call_request)
    )


def with_wider(
    options: tuple[ConfirmationOption, ...], offered: tuple[Offer, ...]
) -> tuple[tuple[ConfirmationOption, ...], dict[str, Offer]]:
    """Returns *options* followed by our wider answers, and the offer behind each of ours."""
    if any(option.id.startswith(OURS) for option in options) or choose_option(options, allow=True) is None:
        return options, {}
    wider = {f"{OURS}{offer.scope}": offer for offer in offered}
    added = tuple(
        ConfirmationOption(id=name, label=offer.label, kind="approve", group=_WIDER, option_kind=f"allow_{offer.scope}")
        for name, offer in wider.items()
    )
    return (*options, *added), wider


def warned(verdict: Verdict, request: PolicyRequest, unsaved: Callable[[str], Unsaved | None]) -> Verdict:
    """*verdict*, with a warning if a file to be written has unsaved changes in an editor."""
    if request.tool in READING or request.kind == "cell":
        return verdict
    open_in = {path: held.editor for path in request.files if (held := unsaved(path)) is not None}
    warnings = (f"{os.path.basename(path)} has unsaved changes in {editor}." for path, editor in open_in.items())  # noqa: PTH119
    return replace(verdict, risk=" ".join([verdict.risk, *warnings]).strip()) if open_in else verdict


def risk_of(
    verdict: Verdict, similar: SimilarRule | None, *, shows_effects: bool = False, lost: Sequence[str] = ()
) -> ToolCallRisk:
    """Returns the risk that the card shows.

    *shows_effects*: a preview can be made. *lost*: the variables that could not be restored; the card names them after
    the worst reason.
    """
    reason = verdict.risk or ("" if verdict.decided_by == "user" else verdict.reason)
    if shows_effects:
        reason = reason.replace(UNKNOWN, f"{UNKNOWN.removesuffix('.')} — Preview shows them.")
    if lost:
        worst = first_sentence(reason)
        reason = f"{worst} {lost_words(lost)}{reason.removeprefix(worst)}".strip()
    return ToolCallRisk(severity=verdict.severity, reason=reason, like=None if similar is None else similar.words)


def first_sentence(text: str) -> str:
    """The first sentence of *text*, which is the worst reason."""
    return next(iter(_SENTENCE.findall(text)), text)


def own_call(turn_id: str, call_id: str, request: PolicyRequest) -> ChatToolCallStart:
    """A tool call of our own, for a request that belongs to none of the agent's tool calls."""
    kind = _KINDS.get(request.kind, request.kind)
    paths = request.files if request.kind == "move" else (request.path,) if request.path else ()
    locations = tuple(ToolCallLocation(path=path) for path in paths) or None
    details = ToolCallDetails(kind=kind, locations=locations, content=request.preview, cell=request.cell)
    return ChatToolCallStart(
        turn_id=turn_id,
        tool_call_id=call_id,
        tool_name=kind,
        display_name=request.title,
        details=details,
        time=now_ms(),
    )


def show_details(turn_id: str, call_id: str, details: ToolCallDetails) -> XToolCallDetailsChanged:
    return XToolCallDetailsChanged(turn_id=turn_id, tool_call_id=call_id, details=details, time=now_ms())


def moved(turn_id: str, call_id: str, card: ToolCallState, request: PolicyRequest) -> Iterator[Action]:
    """The actions that move *card*, a question of ours, and its answer to the agent's tool call *call_id*."""
    yield XPartRemoved(turn_id=turn_id, part_id=card.tool_call_id, time=now_ms())
    details = card.details
    if details is not None and (details.run is not None or details.rehearsal is not None):
        kept = ToolCallDetails(run=details.run, rehearsal=details.rehearsal, differences=details.differences)
        yield show_details(turn_id, call_id, kept)
    option = getattr(card, "selected_option", None)
    options = getattr(card, "options", None) or (() if option is None else (option,))
    yield replace(question(turn_id, call_id, request), options=options, risk=getattr(card, "risk", None))
    if isinstance(card, ToolCallPendingConfirmationState):
        return
    denied = isinstance(card, ToolCallCancelledState)
    tool_input = getattr(card, "tool_input", None)
    yield ChatToolCallConfirmed(
        turn_id=turn_id,
        tool_call_id=call_id,
        approved=not denied,
        confirmed=getattr(card, "confirmed", None),
        edited_tool_input=None if denied else tool_input,
        reason=getattr(card, "reason", None),
        reason_message=getattr(card, "reason_message", None),
        selected_option_id=None if option is None else option.id,
        answered_by=getattr(card, "answered_by", None),
        time=now_ms(),
    )


def preview(turn_id: str, call: ToolCallState, request: PolicyRequest) -> XToolCallDetailsChanged | None:
    """Returns the action that shows the change on the agent's own tool call; None if it already shows it."""
    if request.kind == "kernel":
        return show_details(turn_id, call.tool_call_id, ToolCallDetails(kind="kernel"))
    content = (call.details.content if call.details is not None else None) or ()
    paths = {item.path for item in content if isinstance(item, ToolDiffContent)}
    missing = tuple(item for item in request.preview or () if getattr(item, "path", None) not in paths)
    if not missing and request.cell is None:
        return None
    details = ToolCallDetails(content=(*content, *missing) if missing else None, cell=request.cell)
    return show_details(turn_id, call.tool_call_id, details)


def question(turn_id: str, call_id: str, request: PolicyRequest) -> ChatToolCallReady:
    """The question for one of our own services."""
    return ChatToolCallReady(
        turn_id=turn_id,
        tool_call_id=call_id,
        invocation_message=request.title,
        confirmation_title=request.title,
        tool_input=request.line,
        editable=True if request.kind == "terminal" else None,
        options=(ALLOW, REJECT),
        time=now_ms(),
    )


def choose(options: tuple[ConfirmationOption, ...], *, allow: bool) -> ConfirmationOption | None:
    """The agent's option for allow or deny; if none allows, the one that denies."""
    own = tuple(option for option in options if not option.id.startswith(OURS))
    chosen = choose_option(own, allow=allow)
    return choose_option(own, allow=False) if chosen is None and allow else chosen


def answered(
    turn_id: str, call_id: str, chosen: ConfirmationOption | None, reason: str, by: str
) -> ChatToolCallConfirmed:
    """The policy's answer, given *by* a rule, an earlier answer, the mode, or because nobody was there."""
    approved = chosen is not None and chosen.kind == "approve"
    return ChatToolCallConfirmed(
        turn_id=turn_id,
        tool_call_id=call_id,
        approved=approved,
        confirmed="setting" if approved else None,
        reason=None if approved else "denied",
        reason_message=None if approved else reason,
        selected_option_id=chosen.id if chosen is not None else None,
        answered_by=Answerer(kind=by),
        time=now_ms(),
    )


def unanswered(turn_id: str, call_id: str, why: Literal["cancelled", "withdrawn"]) -> ChatToolCallConfirmed:
    """The action for a question that gets no answer: the turn is over, or the agent has withdrawn it."""
    return ChatToolCallConfirmed(
        turn_id=turn_id,
        tool_call_id=call_id,
        approved=False,
        reason="skipped",
        answered_by=Answerer(kind=why),
        time=now_ms(),
    )


def ended(turn_id: str, call_id: str, failure: str | None) -> ChatToolCallComplete:
    """The end of tool call *call_id*; *failure*: why it failed, or None."""
    result = ToolCallResult(success=True, past_tense_message="Allowed")
    if failure is not None:
        result = ToolCallResult(success=False, past_tense_message="Failed", error=ToolCallError(message=failure))
    return ChatToolCallComplete(turn_id=turn_id, tool_call_id=call_id, result=result, time=now_ms())


def failed(turn_id: str, call: ToolCallState, failure: str) -> Iterator[Action]:
    """Yields the actions that fail *call*, a tool call of the agent's that is streaming or running."""
    if isinstance(call, ToolCallStreamingState):
        yield ChatToolCallReady(
            turn_id=turn_id,
            tool_call_id=call.tool_call_id,
            invocation_message=call.display_name,
            confirmed="not-needed",
            time=now_ms(),
        )
    yield ended(turn_id, call.tool_call_id, failure)


def changed(request: PolicyRequest, command: str) -> PolicyRequest:
    """*request* with the command that the user wrote, and with its variables if the user left them in."""
    env = request.env if command.startswith(request.prefix) else ()
    return replace(request, command=command.removeprefix(request.prefix), env=env, title=f"Run {command}")


class KernelCallCards:
    def __init__(self, channels: SessionChannels, waiting: dict[str, PendingPermission], cwd: str) -> None:
        self._channels = channels
        self._waiting = waiting
        self._cwd = cwd
        self._own_count = 0
        self._own: dict[str, PendingPermission] = {}
        self._running: dict[tuple[str, str], list[tuple[str, str]]] = {}

    # --- the question ---

    def question_card(self, turn: ActiveTurn, request: PolicyRequest) -> ChatToolCallReady:
        """The question, on the tool call that it belongs to, else on one of our own."""
        begun = Parts.of(turn.response_parts).begun_calls()
        call = next((call for call in begun if not request.again and belongs(request, call)), None)
        if call is None:
            self._own_count += 1
            call_id = f"{OWN}{request.kind}-{self._own_count}"
            self._channels.dispatch(own_call(turn.id, call_id, request))
            return question(turn.id, call_id, request)
        preview_action = preview(turn.id, call, request)
        if preview_action is not None:
            self._channels.dispatch(preview_action)
        return question(turn.id, call.tool_call_id, request)

    def waits(self, question: PendingPermission) -> None:
        """*question* is being asked; if it is about a kernel tool, the agent may still announce its tool call."""
        if question.request.call is not None and question.call_id.startswith(OWN):
            self._own[question.call_id] = question

    def allowed(self, turn_id: str, question: PendingPermission) -> None:
        """*question* was allowed: a kernel tool runs now; anything else is done by the caller."""
        call = question.request.call
        if call is None:
            self._close(turn_id, question.call_id)
        elif question.call_id.startswith(OWN):
            self._running.setdefault(call, []).append((turn_id, question.call_id))

    def join(self, turn_id: str, call_id: str, *, keep_open: bool) -> None:
        """Show the agent's tool call *call_id* and the card of the kernel tool that it called as one."""
        if not self._own:
            return
        call = self._channels.tool_call(call_id)
        begun = isinstance(call, ToolCallStreamingState | ToolCallRunningState)
        if call is None or not begun or call_id in self._own:
            return
        own_id = next((each for each, own in self._own.items() if belongs(own.request, call)), None)
        card = None if own_id is None else self._channels.tool_call(own_id)
        if isinstance(card, ToolCallStreamingState):  # still a preview: the agent may never ask
            return
        if own_id is None or card is None or (keep_open and isinstance(card, ToolCallPendingConfirmationState)):
            return
        question = self._own.pop(own_id)
        if (preview_action := preview(turn_id, call, question.request)) is not None:
            self._channels.dispatch(preview_action)
        question.call_id = call_id
        if self._waiting.pop(own_id, None) is not None:
            self._waiting[call_id] = question
        for action in moved(turn_id, call_id, card, question.request):
            self._channels.dispatch(action)

    # --- while it runs ---

    def progressed(self, call: tuple[str, str], run: ToolCallRun) -> None:
        self.show(call, ToolCallDetails(run=run))

    def show(self, call: tuple[str, str], details: ToolCallDetails) -> None:
        if (card := self._card_of(call)) is not None:
            turn_id, call_id = card
            self._channels.dispatch(show_details(turn_id, call_id, details))

    def call_of(self, call_id: str) -> tuple[str, str] | None:
        """Returns the kernel tool and arguments of the tool call *call_id*; None if it has none."""
        own = next((call for call, cards in self._running.items() if any(each[1] == call_id for each in cards)), None)
        tool_call = self._channels.tool_call(call_id)
        if own is not None or tool_call is None:
            return own
        return asked_request(tool_call, tool_call.display_name, self._cwd, kernel=True).call

    # --- the end ---

    def finished(self, call: tuple[str, str], failure: str | None) -> None:
        """Complete our own card of an allowed kernel tool call; mark a failure on the agent's tool call, too.

        Some agents report code that raised as completed, because they got a result: this comes first, and it counts.
        """
        if cards_of_call := self._running.get(call):
            self._close(*cards_of_call.pop(0), failure)
        turn = self._channels.chat.state.active_turn
        if turn is None or failure is None or failure == TURN_IS_OVER:
            return
        if same := self._begun(turn, call):
            for action in failed(turn.id, same[-1], failure):
                self._channels.dispatch(action)

    def forget(self) -> None:
        self._own.clear()
        self._running.clear()

    def _card_of(self, call: tuple[str, str]) -> tuple[str, str] | None:
        """Returns the turn and the id of the tool call that shows the running kernel tool *call*."""
        for turn_id, call_id in self._running.get(call, ()):
            if self._channels.tool_call(call_id) is not None:
                return turn_id, call_id
        turn = self._channels.chat.state.active_turn
        same = self._begun(turn, call) if turn is not None else []
        return (turn.id, same[-1].tool_call_id) if turn is not None and same else None

    def _begun(self, turn: ActiveTurn, call: tuple[str, str]) -> list[ToolCallState]:
        """Returns the agent's tool calls that are *call*, latest first: kernel calls end in the order they began."""
        begun = Parts.of(turn.response_parts).begun_calls()
        return [each for each in begun if asked_request(each, each.display_name, self._cwd, kernel=True).call == call]

    def _close(self, turn_id: str, call_id: str, failure: str | None = None) -> None:
        """Complete one of our own cards, once it is answered or the kernel tool has ended."""
        if call_id.startswith(OWN):
            self._channels.dispatch(ended(turn_id, call_id, failure))
