"""The requests about policy rules, trusted folders and answers that still hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agentnb.comm.answers import Count
from agentnb.comm.request_table import Asker, ChangedResult, request
from agentnb.configuration.what_if import in_words, what_if
from agentnb.errors import UsageError
from agentnb.policy.rules import Rule
from agentnb.policy.trust import shown
from agentnb.state.wire import Wire

if TYPE_CHECKING:
    from agentnb.host.host import Host


class PolicyRule(Wire, frozen=True, kw_only=True):
    """A rule of the user's policy file.

    Attributes:
        number: Its number there, 1 for the first.
        text: The rule on one line.
    """

    number: Count
    text: str


class ConversationGrant(Wire, frozen=True, kw_only=True):
    """What the user allowed on a card for the rest of a turn or a conversation.

    Attributes:
        session: The channel of the conversation.
        title: The conversation's title.
        scope: How long it holds.
        text: The rule on one line.
    """

    session: str
    title: str
    scope: Literal["turn", "session"]
    text: str


def grants_of(host: Host) -> tuple[ConversationGrant, ...]:
    """What was answered on cards and still holds in open conversations."""
    return tuple(
        ConversationGrant(
            session=uri,
            title=conversation.channels.title,
            scope="turn" if each.source == "turn" else "session",
            text=each.rule.text,
        )
        for uri, conversation in host.conversations.items()
        for each in conversation.permissions.grants
    )


class ChangePolicyParams(Wire, frozen=True, kw_only=True):
    """``changePolicy``: the user changes a rule or a trusted folder of the own policy file in the page.

    What would let agents do more is answered with a sentence to confirm, and changed when that comes back.

    Attributes:
        action: What to do: ``add`` or ``remove`` a rule, ``trust`` or ``untrust`` a folder, ``revoke`` an answer that
            holds in a conversation.
        rule: The rule to add, with the keys of a policy file.
        number: The number of the rule to remove, 1 for the first.
        text: That rule, or the answer's, on one line as it was listed.
        session: The channel of the conversation whose answer it is.
        folder: The folder, absolute or with ``~/``.
        confirmed: The sentence that the user confirmed.
    """

    action: Literal["add", "remove", "trust", "untrust", "revoke"]
    rule: Rule | None = None
    number: int | None = None
    text: str = ""
    session: str = ""
    folder: str = ""
    confirmed: str = ""


@request("changePolicy", ChangePolicyParams, ChangedResult)
def change_policy(asker: Asker[Host], params: ChangePolicyParams) -> ChangedResult:
    """Change a rule or a trusted folder of the user's policy file."""
    files = asker.host.policy.files
    match params.action:
        case "add" if params.rule is not None:
            rule = params.rule
            question = f"Add the rule “{rule.text}”? Agents may do this without asking, in folders that you trust."
            if rule.action == "allow" and params.confirmed != question:
                return ChangedResult(confirm=question)
            files.remember(rule)
        case "remove" if params.number is not None:
            question = f"Remove the rule “{params.text}”? What it denied or asked may be allowed then."
            if not params.text.startswith("allow") and params.confirmed != question:
                return ChangedResult(confirm=question)
            files.forget(params.number, params.text)
        case "revoke" if (conversation := asker.host.conversations.get(params.session)) is not None:
            conversation.permissions.revoke(params.text)
        case "trust" | "untrust" if params.folder.strip():
            folder = Path(params.folder).expanduser()
            if not folder.is_absolute():
                raise UsageError(f"{params.folder!r} is not an absolute path.", hint="Begin it with / or ~/.")
            question = f"Trust {shown(folder)} and everything in it? Your allow rules apply there."
            if params.action == "trust" and not folder.is_dir():
                raise UsageError(f"{params.folder!r} is not a folder.", hint="Name one that is there.")
            if params.action == "trust" and params.confirmed != question:
                return ChangedResult(confirm=question)
            (files.trust if params.action == "trust" else files.untrust)(folder)
        case _:
            raise UsageError(f"{params.action} lacks what it is about.")
    return ChangedResult()


class TestPolicyParams(Wire, frozen=True, kw_only=True):
    """``testPolicy``: what would happen if an agent wanted to run a command, or to use a file; nothing is run.

    Attributes:
        command: A command line; empty for none.
        path: A file, relative to the workspace or absolute.
        tool: What the agent would do with that file.
        agent: The agent; the default one where empty.
    """

    command: str = ""
    path: str = ""
    tool: str = "edit"
    agent: str = ""


class TestPolicyResult(Wire, frozen=True, kw_only=True):
    """What would happen.

    Attributes:
        outcome: `allow`, `ask` or `deny`.
        message: That, and why, in sentences.
    """

    outcome: Literal["allow", "ask", "deny"]
    message: str


@request("testPolicy", TestPolicyParams, TestPolicyResult)
def test_policy(asker: Asker[Host], params: TestPolicyParams) -> TestPolicyResult:
    """Say what would happen if an agent wanted to run a command, or to use a file."""
    environment = asker.host.environment
    sources = environment.sources()
    verdict = what_if(
        asker.host.policy.files,
        environment.default_workspace(),
        command=params.command,
        path=params.path,
        tool=params.tool,
        agent=params.agent or sources["agent"].value,
        mode=sources["permissions"].value,
    )
    return TestPolicyResult(outcome=verdict.outcome, message=in_words(verdict))
