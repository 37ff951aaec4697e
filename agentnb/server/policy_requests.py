"""Requests about the policy, and about what was granted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from agentnb.agent.catalog import find
from agentnb.configuration.what_if import in_words, what_if
from agentnb.errors import AgentnbError, UsageError
from agentnb.host import intents
from agentnb.host.conversation import Conversation
from agentnb.kernel.rehearsal_result import can_preview
from agentnb.policy.rules import AccessRule, rule_words
from agentnb.policy.workspace import for_display
from agentnb.server.request_table import Asker, ChangedResult, request
from agentnb.state.wire import Count, Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentnb.host.host import Host
    from agentnb.host.permissions.session_policy import HostPolicy


class PolicyRule(Wire, frozen=True, kw_only=True):
    """A rule of the user's policy file.

    Attributes:
        number: Its number in that file, 1 for the first.
        text: The rule on one line.
    """

    number: Count
    text: str


@request("changePolicy")
def change_policy(
    asker: Asker[Host],
    *,
    action: Literal["add", "remove", "trust", "untrust"],
    rule: AccessRule | None = None,
    number: int | None = None,
    text: str = "",
    folder: str = "",
    confirmed: str = "",
) -> ChangedResult:
    """Change a rule or a trusted folder in the user's own policy file.

    If this would let agents do more, the kernel first answers with a sentence to confirm, and makes the change when the
    page sends that sentence back.

    Args:
        action: The change: ``add`` or ``remove`` a rule, ``trust`` or ``untrust`` a folder.
        rule: The rule to add, with the keys of a policy file.
        number: The number of the rule to remove, 1 for the first.
        text: That rule on one line, as listed.
        folder: The folder, absolute or with ``~/``.
        confirmed: The sentence that the user confirmed.
    """
    files = asker.host.policy.files
    match action:
        case "add" if rule is not None:
            question = f"Add the rule “{rule.text}”? Agents can then do this without asking, in folders that you trust."
            if rule.action == "allow" and confirmed != question:
                return ChangedResult(confirm=question)
            files.remember(rule)
        case "remove" if number is not None:
            question = f"Remove the rule “{text}”? What it denied, or asked about, may then be allowed."
            if not text.startswith("allow") and confirmed != question:
                return ChangedResult(confirm=question)
            files.forget(number, text)
        case "trust" | "untrust" if folder.strip():
            path = Path(folder).expanduser()
            if not path.is_absolute():
                raise UsageError(f"{folder!r} is not an absolute path.", hint="Start it with / or ~/.")
            question = f"Trust {for_display(path)} and everything in it? Your allow rules apply there."
            if action == "trust" and not path.is_dir():
                raise UsageError(f"{folder!r} is not a folder.", hint="Choose an existing one.")
            if action == "trust" and confirmed != question:
                return ChangedResult(confirm=question)
            (files.trust if action == "trust" else files.untrust)(path)
        case _:
            raise UsageError(f"{action} needs a rule, a number or a folder.")
    return ChangedResult()


class TestPolicyResult(Wire, frozen=True, kw_only=True):
    """The policy's decision.

    Attributes:
        outcome: `allow`, `ask` or `deny`.
        message: The decision and the reason, in sentences.
    """

    outcome: Literal["allow", "ask", "deny"]
    message: str


@request("testPolicy")
def try_policy(
    asker: Asker[Host], *, command: str = "", path: str = "", tool: str = "edit", agent: str = ""
) -> TestPolicyResult:
    """Test how the policy decides if an agent wants to run a command, or to use a file; nothing is run.

    Args:
        command: A command line; empty for none.
        path: A file, relative to the workspace or absolute.
        tool: The agent's operation on that file.
        agent: The agent; the default one if empty.
    """
    environment = asker.host.environment
    sources = environment.sources()
    verdict = what_if(
        asker.host.policy.files,
        environment.default_workspace(),
        command=command,
        path=path,
        tool=tool,
        agent=agent or sources["agent"].value,
        mode=environment.default_mode(),
    )
    return TestPolicyResult(outcome=verdict.outcome, message=in_words(verdict))


EVERYTHING = "{} may do everything without asking, except what always asks"


AUTO = {
    (True, True): "Edits at once. Runs commands in a sandbox at once, and code that a preview shows to be harmless.",
    (True, False): "Edits at once. Runs commands in a sandbox at once; code still asks: nothing here can preview it.",
    (False, True): "Edits at once. Runs what a preview shows to be harmless at once; the rest asks.",
    (False, False): "Edits at once. Running still asks: nothing here can confine or preview it.",
}
"""The effect of Auto, by whether the agent is confined and whether previews work."""


class Grant(Wire, frozen=True, kw_only=True):
    """A permission of an agent to act without asking, because the user said so.

    Attributes:
        id: The id for `revokeGrant`.
        scope: Its extent: `turn`, `conversation`, `folder` (conversations in these folders), or `user` (all
            conversations in trusted folders).
        text: A sentence that says what it permits.
        rule: The rule on one line; empty if it is none.
        session: The channel of its conversation; empty for a grant in the policy file.
        title: That conversation's title.
    """

    id: str
    scope: Literal["turn", "conversation", "folder", "user"]
    text: str
    rule: str = ""
    session: str = ""
    title: str = ""


class _Held(NamedTuple):
    grant: Grant
    rule: AccessRule | None = None
    agent: str = ""
    conversation: Conversation | None = None


def grants_of(host: Host) -> tuple[Grant, ...]:
    """Every grant: of open conversations, then those that are kept in the user's policy file."""
    return tuple(each.grant for each in _held(host))


def _held(host: Host) -> Iterator[_Held]:
    for uri, conversation in host.conversations.items():
        title = conversation.channels.title
        if conversation.mode == "allow":
            text = EVERYTHING.format(conversation.spec.title)
            grant = Grant(id=f"{uri} permissions", scope="conversation", text=text, session=uri, title=title)
            yield _Held(grant, agent=conversation.spec.name, conversation=conversation)
        for each in conversation.permissions.grants.in_force:
            if conversation.policy.keeps(each.rule):  # the policy file lists it
                continue
            grant = Grant(
                id=f"{uri} {each.rule.text}",
                scope="turn" if each.source == "turn" else "conversation",
                text=rule_words(each.rule, title_of),
                rule=each.rule.text,
                session=uri,
                title=title,
            )
            yield _Held(grant, each.rule, conversation=conversation)
    user = host.policy.files.user
    for rule in dict.fromkeys(each.rule for each in user.rules if each.rule.action == "allow"):
        words = rule_words(rule, title_of)
        grant = Grant(id=f"policy {rule.text}", scope="folder" if rule.folder else "user", text=words, rule=rule.text)
        yield _Held(grant, rule)
    for agent in sorted(user.bypass):
        yield _Held(Grant(id=f"bypass {agent}", scope="user", text=EVERYTHING.format(title_of(agent))), agent=agent)


def title_of(agent: str) -> str:
    """What people call *agent*; its name where the catalogue has no such agent."""
    try:
        return find(agent).title
    except AgentnbError:
        return agent


class ListGrantsResult(Wire, frozen=True, kw_only=True):
    """The grants.

    Attributes:
        grants: The grants, those of open conversations first.
    """

    grants: tuple[Grant, ...]


class DescribeFreedomResult(Wire, frozen=True, kw_only=True):
    """The effect of the freedom Auto.

    Attributes:
        auto: The actions that it runs at once, in a sentence or two.
    """

    auto: str


@request("describeFreedom")
async def describe_freedom(asker: Asker[Host], *, channel: str = "") -> DescribeFreedomResult:
    """Describe what the freedom Auto runs at once; that depends on whether a sandbox and previews are available here.

    Args:
        channel: The session's channel; empty for a conversation that has not begun.
    """
    environment = asker.host.environment
    conversation = asker.host.conversations.get(channel)
    is_confined = conversation is not None and conversation.policy.is_confined()
    previews = environment.sources()["rehearse"].value != "off" and await asyncio.to_thread(can_preview)
    return DescribeFreedomResult(auto=AUTO[is_confined, previews])


@request("listGrants")
def list_grants(asker: Asker[Host]) -> ListGrantsResult:
    """List what agents may do without asking because the user said so: in conversations, folders, and everywhere."""
    return ListGrantsResult(grants=grants_of(asker.host))


class RevokeGrantResult(Wire, frozen=True, kw_only=True):
    """The grant is revoked.

    Attributes:
        message: The result, in a sentence or two.
    """

    message: str


@request("revokeGrant")
def revoke_grant(asker: Asker[Host], *, id: str = "", channel: str = "", tool_call_id: str = "") -> RevokeGrantResult:
    """Revoke a grant: the agent asks again from its next request on, in every open conversation.

    Running work continues. A grant that was revoked before is no error: another window may have been first.

    Args:
        id: The grant's id from `listGrants`; without it, the next two:
        channel: The session's or the chat's channel in which an answer on a card gave it.
        tool_call_id: The tool call of that card.
    """
    host = asker.host
    if channel and tool_call_id:
        conversation = host.find(channel)
        rule = conversation.permissions.grants.rules_by_call.get(tool_call_id)
        own = (each for each in _held(host) if each.conversation in (None, conversation))
        held = next((each for each in own if each.rule is not None and each.rule == rule), None)
    elif id:
        held = next((each for each in _held(host) if each.grant.id == id), None)
    else:
        raise UsageError("revokeGrant lacks what it is about.")
    if held is None:
        return RevokeGrantResult(message="Already revoked.")
    rule = held.rule or AccessRule(action="allow", agent=(held.agent,))
    runs = any(each.permissions.runs_under(rule) for each in host.conversations.values())
    _revoke(host.policy, held)
    return RevokeGrantResult(message="Revoked. Running work continues; the next request asks." if runs else "Revoked.")


def _revoke(policy: HostPolicy, held: _Held) -> None:
    match held:
        case _Held(conversation=None, rule=None):
            policy.files.revoke_bypass(held.agent)
            _record(policy, f"bypass {held.agent}")
        case _Held(conversation=None, rule=AccessRule() as rule):
            policy.files.revoke(rule.text)
            _record(policy, rule.text)
        case _Held(conversation=Conversation() as conversation, rule=None):
            intents.set_permissions(conversation, "ask", None, "user")
        case _Held(conversation=Conversation() as conversation, rule=AccessRule() as rule):
            conversation.permissions.grants.revoke(rule.text)
            conversation.policy.record_setting("grant", rule.text, "revoked", "ask", "user")


def _record(policy: HostPolicy, what: str) -> None:
    policy.record(kind="policy", tool="grant", what=f"{what} → revoked", outcome="ask", by="user")
