"""Questions that wait for an answer: the agent's permission requests, and those that our own services ask."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace

from agentnb.errors import AgentnbError, PermissionDenied, PolicyError, SessionError
from agentnb.events.kinds import POLICY_ASKED
from agentnb.host.permissions import cards
from agentnb.host.permissions.asking import ran_unasked
from agentnb.host.permissions.cards import KernelCallCards
from agentnb.host.permissions.permission_request import asked_request, joined_request
from agentnb.host.permissions.session_policy import ChosenOption, PendingPermission, SessionGrants
from agentnb.kernel.cell_plans import proposed_cell
from agentnb.policy.commands.rating import rate_command
from agentnb.policy.engine import WORST_AT_ONCE, judge, opens
from agentnb.policy.keys import EDITS
from agentnb.policy.offers import offers, similar_rule
from agentnb.policy.request import Verdict
from agentnb.policy.rules import matches
from agentnb.policy.severity import rank
from agentnb.policy.subjects import seen
from agentnb.safe_json import read_json
from agentnb.state import ChatToolCallReady, Parts, ToolCallDetails, ToolCallPendingConfirmationState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence

    from agentnb.acp.questions import AcpPermissionRequest
    from agentnb.host.channels import SessionChannels
    from agentnb.host.environment import Environment
    from agentnb.host.permissions.rehearsals import Rehearsals
    from agentnb.host.permissions.session_policy import PermissionCallback, SessionPolicy
    from agentnb.kernel.rehearsal_result import Rehearsal
    from agentnb.policy.offers import Offer
    from agentnb.policy.request import PolicyRequest
    from agentnb.policy.rules import AccessRule, Outcome, Scope
    from agentnb.state import ActiveTurn, ConfirmationOption, ToolCallCell, ToolCallState


_LOOKS = frozenset({"read", "search", "fetch", "think"})
"""ACP's kinds of tools that change nothing."""


class UnattendedPermissions(Protocol):
    """The permissions of a conversation that nobody looks at."""

    def opens(self, path: str, tool: str) -> bool:
        """True if *path*, outside the workspace, may be opened for *tool*."""
        ...

    def verdict(self, request: PolicyRequest, verdict: Verdict) -> Verdict:
        """Returns the policy's *verdict* resolved to allowed or denied."""
        ...


class Permissions:
    def __init__(
        self,
        channels: SessionChannels,
        policy: SessionPolicy,
        environment: Environment,
        rehearsals: Rehearsals,
        *,
        spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]],
        has_kernel_tools: Callable[[], bool],
    ) -> None:
        self._channels = channels
        self._policy = policy
        self._environment = environment
        self._spawn = spawn
        self._has_kernel_tools = has_kernel_tools
        self._cwd = str(policy.cwd)
        self._waiting: dict[str, PendingPermission] = {}  # by call; the state has the open questions
        self.callback: PermissionCallback | None = None
        self.ran_unasked: Callable[[str], object] = lambda _turn_id: None
        self.limit: UnattendedPermissions | None = None
        self.look: Callable[[frozenset[str]], Awaitable[None]] | None = None
        self.grants: SessionGrants = SessionGrants(policy.keeps)
        self._warned: set[str] = set()
        self.kernel_calls: KernelCallCards = KernelCallCards(channels, self._waiting, self._cwd)
        self.rehearsals = rehearsals

    def runs_under(self, rule: AccessRule) -> bool:
        """True if something that *rule* allows is running now."""
        turn = self._channels.chat.state.active_turn
        running = Parts.of(turn.response_parts).begun_calls() if turn is not None else ()
        kernel, situation = self._has_kernel_tools(), self._policy.situation()
        requests = [asked_request(each, each.display_name, self._cwd, kernel=kernel) for each in running]
        return any(matches(rule, each) for request in requests for each in seen(request, situation).subjects)

    def reconsider(self) -> None:
        """Answer the open questions that the current policy and freedom no longer ask."""
        for call_id, question in [*self._waiting.items()]:
            verdict = self._judge(question.request)
            if verdict.outcome == "allow":
                del self._waiting[call_id]
                question.answer.set_result(self._decided(question, verdict))
            elif self._channels.mode == "auto":
                self._spawn(self._answer_at_once(question))

    async def request(self, question: AcpPermissionRequest) -> str | None:
        """Returns the id of the chosen option for the agent's request; None if the turn is over."""
        turn = self._speaking_turn()
        if turn is None:
            return None
        while (waiting := self._waiting.get(question.call_id)) is not None:
            await asyncio.wait([waiting.answer])
        self._warn()
        before = self._channels.tool_call(question.call_id)
        call_id, (*first, ready) = question.actions(self._channels.chat.state, turn.id)
        for action in first:
            self._channels.dispatch(action)
        call = self._channels.tool_call(call_id)
        if call is None or not isinstance(ready, ChatToolCallReady):
            return None
        request = self._request_of(call, question.title or call.display_name, before)
        if request.command is not None and request.asked in {"execute", "other"}:
            ready = replace(ready, tool_input=request.command)
        if (cell := await self._proposed_cell(request)) is not None:
            self._channels.dispatch(cards.show_details(turn.id, call_id, ToolCallDetails(cell=cell)))
        verdict = self._judge(request)
        chosen = cards.choose(ready.options or (), allow=True)
        if chosen is not None and self.grants.cover_kernel_call(call_id, request):
            self._policy.record(request, verdict, outcome="allow", by="covered")
            return chosen.id
        if request.tool == "kernel" and request.command is not None:  # the exact code, which is compared later
            self._channels.dispatch(cards.show_details(turn.id, call_id, ToolCallDetails(kind="kernel")))
            ready = replace(ready, tool_input=request.command)
        answer = await self._settle(self._put(ready, request, verdict, await self._unrestorable(request)))
        return None if answer is None else answer.option.id

    async def authorize(self, request: PolicyRequest) -> PolicyRequest:
        """Allow *request*, or raise."""
        turn = self._speaking_turn()
        if turn is None:
            message = f"{request.title}: refused, because no turn is running."
            raise PermissionDenied(message, hint="Ask again during a turn.")
        self._warn()
        verdict = self._judge(request)
        if verdict.outcome == "allow" and request.kind == "read":
            self._policy.record(request, verdict, outcome="allow", by=_by(verdict))
            return request
        if not request.again and self.grants.cover(request, verdict):
            self._policy.record(request, verdict, outcome="allow", by="covered")
            return request
        lost = await self._unrestorable(request)
        question = self._put(self.kernel_calls.question_card(turn, request), request, verdict, lost)
        self.kernel_calls.waits(question)
        answer = await self._settle(question)
        if answer is None or not answer.approved:
            reason = getattr(self._channels.tool_call(question.call_id), "reason_message", None)
            raise PermissionDenied(f"{request.title}: {reason if isinstance(reason, str) else 'the user denied it.'}")
        if request.call is not None and answer.edited is None:
            self.grants.approve_kernel_call(question.call_id, request)
        self.kernel_calls.allowed(turn.id, question)
        return request if answer.edited is None else self._edited(request, answer.edited)

    def rehearse(self, call_id: str, edited: str | None = None) -> asyncio.Task[Rehearsal]:
        """Begin the preview of the open question on the tool call *call_id*; see :meth:`Rehearsals.begin`."""
        question = self._waiting.get(call_id)
        if question is None:
            raise SessionError("That question was answered before, or is no longer open.")
        return self.rehearsals.begin(question, edited)

    def finished(self, call: tuple[str, str], failure: str | None, variables: Collection[str] | None = None) -> None:
        """The allowed kernel tool *call* has ended; see :meth:`KernelCallCards.finished`."""
        self.rehearsals.finished(call, failure, variables)
        self.kernel_calls.finished(call, failure)

    def join(self, call_id: str) -> None:
        turn = self._speaking_turn()
        if turn is not None:
            self.kernel_calls.join(turn.id, call_id, keep_open=self.callback is not None)

    def refused(self, request: PolicyRequest, error: AgentnbError) -> None:
        """Log that *request* was refused because it is outside the workspace."""
        verdict = Verdict(outcome="deny", reason=str(error), severity="high", floor="outside")
        self._policy.record(request, verdict, outcome="deny", by="workspace")

    def opens(self, path: str, tool: str) -> bool:
        """True if a rule of the user's allows *path*, which is outside the workspace."""
        if self.limit is not None:
            return self.limit.opens(path, tool)
        return opens(path, tool, self._policy.situation(self.grants.in_force))

    def answer(self, call_id: str, option: ConfirmationOption, edited: str | None = None, by: str = "user") -> None:
        """Settle the open question of tool call *call_id* with *option*, one of ours or of the agent's."""
        question = self._waiting.pop(call_id, None)
        if question is None or question.answer.done():
            return
        offer = question.offered.get(option.id)
        scope: Scope = "once" if offer is None else offer.scope
        outcome: Outcome = "allow" if option.kind == "approve" else "deny"
        self._policy.record(question.request, question.verdict, outcome=outcome, by=by, scope=scope, edited=edited)
        agent_option = option if offer is None else cards.choose(question.options, allow=True)
        question.answer.set_result(None if agent_option is None else ChosenOption(agent_option, edited, by_user=True))
        if offer is not None:
            self._grant(offer, call_id)

    def files_of(self, call_id: str) -> tuple[str, ...]:
        """The files that the open question of a tool call is about."""
        question = self._waiting.get(call_id)
        return () if question is None else question.request.files

    def cancel_all(self) -> None:
        """Answer every open question with ``cancelled`` (the turn is over, or about to be)."""
        waiting = [*self._waiting.values()]
        self._waiting.clear()
        for question in waiting:
            if isinstance(self._channels.tool_call(question.call_id), ToolCallPendingConfirmationState):
                self._channels.dispatch(cards.unanswered(question.turn_id, question.call_id, "cancelled"))
            if not question.answer.done():
                self._policy.record(question.request, question.verdict, outcome="deny", by="end")
                question.answer.set_result(None)

    def forget_grants(self) -> None:
        """A new turn begins: permissions given once or for a turn end."""
        self.grants.forget_turn()
        self.kernel_calls.forget()
        self.rehearsals.forget()

    def mark_unasked(self, call_id: str) -> None:
        """Mark the tool call *call_id* of the running turn if the agent ran it without asking under Ask or Deny."""
        if self._channels.mode == "allow":
            return
        turn, call = self._channels.chat.state.active_turn, self._channels.tool_call(call_id)
        if turn is None or call is None or not ran_unasked(turn, call):
            return
        request = asked_request(call, call.display_name, self._cwd)
        verdict = self._judge(request)
        if self._channels.mode in EDITS and verdict.outcome == "allow":
            return
        if self._channels.mode != "deny" and request.command and rate_command(request.command).severity == "none":
            return  # an agent that asks may still run read-only commands by itself
        marked = ToolCallDetails(ran_without_asking=True)
        self._channels.dispatch(cards.show_details(turn.id, call_id, marked))
        self._policy.record_unasked(request, verdict, call_id)
        self.ran_unasked(turn.id)

    def mark_unasked_at_end(self) -> None:
        """Mark tool calls that still run without having asked: the running turn is about to end."""
        turn = self._channels.chat.state.active_turn
        for call in [*Parts.of(turn.response_parts).begun_calls()] if turn is not None else ():
            self.mark_unasked(call.tool_call_id)

    # --- the question ---

    def _withdraw(self, question: PendingPermission) -> None:
        """Withdraw *question*: its caller has cancelled the call, or is gone."""
        self._waiting.pop(question.call_id, None)
        if isinstance(self._channels.tool_call(question.call_id), ToolCallPendingConfirmationState):
            self._channels.dispatch(cards.unanswered(question.turn_id, question.call_id, "withdrawn"))
            self._policy.record(question.request, question.verdict, outcome="deny", by="end")

    def _request_of(self, call: ToolCallState, title: str, before: ToolCallState | None) -> PolicyRequest:
        """Returns the agent's request in *call*; if that is vague, with the subjects of its unfinished tool calls."""
        request = asked_request(call, title, self._cwd, kernel=self._has_kernel_tools(), before=before)
        turn = self._channels.chat.state.active_turn
        if not request.vague or turn is None:
            return request
        begun = (each for each in Parts.of(turn.response_parts).begun_calls() if each.tool_call_id != call.tool_call_id)
        return joined_request(request, [asked_request(each, each.display_name, self._cwd) for each in begun])

    async def _proposed_cell(self, request: PolicyRequest) -> ToolCallCell | None:
        """Returns what the requested kernel tool would do to a cell of the open notebook."""
        runner = self._environment.code_runner()
        if request.call is None or request.tool != "cell" or runner is None:
            return None
        name, arguments = request.call[0], read_json(request.call[1])
        try:
            notebook = await asyncio.to_thread(runner.notebook, outputs=False, named=arguments.get("notebook"))
        except (AgentnbError, OSError):
            return None  # the tool call itself raises the error
        return proposed_cell(name, arguments, notebook)

    def _speaking_turn(self) -> ActiveTurn | None:
        """The running turn, if the agent works on it: after a cancel it may still be busy with the old one."""
        turn = self._channels.chat.state.active_turn
        return turn if turn is not None and turn.id == self._channels.speaking else None

    def _judge(self, request: PolicyRequest, *, attached: bool = True) -> Verdict:
        situation = self._policy.situation(self.grants.in_force, attached=attached)
        verdict = judge(request, replace(situation, cell_review=self._environment.cell_review()))
        return verdict if self.limit is None else self.limit.verdict(request, verdict)

    async def _unrestorable(self, request: PolicyRequest) -> Sequence[str]:
        """The variables that the code of *request* can reach and that undo could not restore."""
        runner = self._environment.code_runner()
        if request.tool != "kernel" or request.command is None or runner is None:
            return ()
        limit = self._environment.undo_memory()
        return await asyncio.to_thread(runner.namespace.unrestorable, request.command, limit)

    def _put(
        self, ready: ChatToolCallReady, request: PolicyRequest, verdict: Verdict, lost: Sequence[str]
    ) -> PendingPermission:
        """Returns the question, with its risk and our wider answers."""
        verdict = cards.warned(verdict, request, self._environment.unsaved)
        similar = similar_rule(request, verdict, self._channels.agent)
        options = ready.options or ()
        all_options, offered = cards.with_wider(options, offers(similar, self._policy.cwd))
        risk = cards.risk_of(verdict, similar, shows_effects=self.rehearsals.can(request), lost=lost)
        ready = replace(ready, options=all_options, risk=risk)
        return PendingPermission(ready.turn_id, ready.tool_call_id, request, verdict, options, offered, ready)

    async def _settle(self, question: PendingPermission) -> ChosenOption | None:
        """Get the answer to *question*: the policy's or the user's."""
        try:
            return await self._answer_to(question)
        except asyncio.CancelledError:
            self._withdraw(question)
            raise

    async def _answer_to(self, question: PendingPermission) -> ChosenOption | None:
        await self._try_at_once(question)
        if self._channels.is_active(question.turn_id):
            self._channels.dispatch(replace(question.ready, tool_call_id=question.call_id))
        verdict = question.verdict
        if verdict.outcome == "ask" and self.callback is None and not await self._environment.attended():
            verdict = self._judge(question.request, attached=False)
        if self._speaking_turn() is None:
            self._policy.record(question.request, verdict, outcome="deny", by="end")
            return None
        if verdict.outcome == "ask":
            self._waiting[question.call_id] = question
            POLICY_ASKED.tell(
                tab=self._channels.tab_id,
                turn=question.turn_id,
                call=question.call_id,
                severity=verdict.severity,
                _what=question.request.command or question.request.title,
            )
            if self.callback is not None:
                self._spawn(self._ask_callback(self.callback, question))
            self.rehearsals.begin_by_itself(question, others=len(self._waiting) > 1)
            answer = await question.answer
        else:
            answer = self._decided(question, verdict)
        if answer is not None and answer.approved:
            await self._look_before(question, answer.edited)
        if answer is not None and answer.approved and question.request.kind == "permission":
            self.grants.approve(question, by_user=answer.by_user)
        return answer

    async def _try_at_once(self, question: PendingPermission) -> bool:
        """Allow *question* if Auto may: its preview saw nothing that cannot be undone."""
        if not self._may_be_at_once(question.verdict, question.request):
            return False
        is_harmless = await self.rehearsals.harmless(question)
        if not is_harmless or not self._may_be_at_once(self._judge(question.request), question.request):
            return False
        reason = "allowed: its preview showed nothing that can't be undone"
        question.verdict = replace(question.verdict, outcome="allow", reason=reason, decided_by="preview")
        return True

    def _may_be_at_once(self, verdict: Verdict, request: PolicyRequest) -> bool:
        """True if Auto may run *request* without a question if its preview is harmless."""
        is_open = verdict.outcome == "ask" and verdict.rule is None and verdict.floor is None and self.limit is None
        is_mild = rank(verdict.severity) <= rank(WORST_AT_ONCE)
        is_auto = self._channels.mode == "auto" and self._policy.situation().here.mode == "auto"
        return is_open and is_mild and is_auto and request.tool in {"execute", "kernel"}

    async def _answer_at_once(self, question: PendingPermission) -> None:
        if await self._try_at_once(question) and self._waiting.get(question.call_id) is question:
            del self._waiting[question.call_id]
            question.answer.set_result(self._decided(question, question.verdict))

    async def _look_before(self, question: PendingPermission, edited: str | None) -> None:
        """*question* was allowed: look at the files that it names, or that its preview showed to change."""
        request = question.request
        named = {*self.rehearsals.named(question, edited)}
        if request.kind != "read" and request.asked not in _LOOKS:
            named |= {*request.files}
        if self.look is not None and named:
            await self.look(frozenset(named))
        await self.rehearsals.allowed(question, edited)

    def _decided(self, question: PendingPermission, verdict: Verdict) -> ChosenOption | None:
        """Answer without asking."""
        chosen = cards.choose(question.options, allow=verdict.outcome == "allow")
        by = "answer" if verdict.source in {"session", "turn"} else _by(verdict)
        self._channels.dispatch(cards.answered(question.turn_id, question.call_id, chosen, verdict.reason, by))
        approved = chosen is not None and chosen.kind == "approve"
        self._policy.record(question.request, verdict, outcome="allow" if approved else "deny", by=_by(verdict))
        return None if chosen is None else ChosenOption(chosen)

    async def _ask_callback(self, callback: PermissionCallback, question: PendingPermission) -> None:
        """Let *callback* answer the open *question*, unless the user answers first or the turn ends."""
        asking = asyncio.ensure_future(callback.answer(self._channels, question.call_id, question.request.files))
        either: list[asyncio.Future[Any]] = [asking, question.answer]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if question.answer.done():
            asking.cancel()
            return
        answer, verdict = asking.result(), question.verdict
        if answer.problem is not None:
            self._notify(answer.problem)
        if answer.outcome == "deny":
            option = answer.option or cards.choose(question.options, allow=False)
            self._answer_for_callback(question, option, answer.reason)
        elif answer.outcome == "allow" and verdict.floor is None and verdict.rule is None:
            self._answer_for_callback(question, answer.option or cards.choose(question.options, allow=True), "")
        elif not await self._environment.attended() and not question.answer.done():
            self._waiting.pop(question.call_id, None)
            question.answer.set_result(self._decided(question, self._judge(question.request, attached=False)))

    def _answer_for_callback(self, question: PendingPermission, option: ConfirmationOption | None, reason: str) -> None:
        self._channels.dispatch(cards.answered(question.turn_id, question.call_id, option, reason, "python"))
        if option is not None:
            self.answer(question.call_id, option, by="callback")
        else:
            self._waiting.pop(question.call_id, None)
            self._policy.record(question.request, question.verdict, outcome="deny", by="callback")
            question.answer.set_result(None)

    # --- the answer ---

    def _grant(self, offer: Offer, call_id: str) -> None:
        """Apply the wider answer, also to open questions that it covers."""
        scope = offer.scope
        if scope == "always":
            try:
                self._policy.files.remember(offer.rule)
            except PolicyError as error:
                self._notify(f"{error} Until then the answer holds for this session.")
                scope = "session"
        self.grants.take(offer.rule, scope, call_id)
        self.reconsider()

    def _edited(self, request: PolicyRequest, command: str) -> PolicyRequest:
        """The request with the command as the user edited it; raises if a rule denies that command."""
        request = cards.changed(request, command)
        verdict = self._judge(request)
        if verdict.outcome == "deny":
            self._policy.record(request, verdict, outcome="deny", by=_by(verdict))
            raise PermissionDenied(f"{request.title}: {verdict.reason}")
        return request

    # --- what is said about it ---

    def _warn(self) -> None:
        """Report problems with the policy files, once."""
        for warning in self._policy.warnings():
            if warning not in self._warned:
                self._warned.add(warning)
                self._notify(warning)

    def _notify(self, text: str) -> None:
        turn = self._speaking_turn()
        if turn is not None:
            self._channels.say(turn.id, text)


def _by(verdict: Verdict) -> str:
    """Returns who decided, if nobody was asked."""
    if verdict.decided_by in {"nobody", "mode", "freedom", "preview", "reading", "bypass", "review", "headless"}:
        return verdict.decided_by
    return "rule" if verdict.rule is not None else "mode"
