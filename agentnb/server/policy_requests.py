"""The requests about policy rules and trusted folders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agentnb.configuration.what_if import in_words, what_if
from agentnb.errors import UsageError
from agentnb.policy.rules import AccessRule
from agentnb.policy.trust import shown
from agentnb.server.request_table import Asker, ChangedResult, request
from agentnb.state.wire import Count, Wire

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
    """The user changes a rule or a trusted folder of the own policy file in the page.

    What would let agents do more is answered with a sentence to confirm, and changed when that comes back.

    Args:
        action: What to do: ``add`` or ``remove`` a rule, ``trust`` or ``untrust`` a folder.
        rule: The rule to add, with the keys of a policy file.
        number: The number of the rule to remove, 1 for the first.
        text: That rule on one line as it was listed.
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
            question = f"Trust {shown(path)} and everything in it? Your allow rules apply there."
            if action == "trust" and not path.is_dir():
                raise UsageError(f"{folder!r} is not a folder.", hint="Choose an existing one.")
            if action == "trust" and confirmed != question:
                return ChangedResult(confirm=question)
            (files.trust if action == "trust" else files.untrust)(path)
        case _:
            raise UsageError(f"{action} needs a rule, a number or a folder.")
    return ChangedResult()


class TestPolicyResult(Wire, frozen=True, kw_only=True):
    """What would happen.

    Attributes:
        outcome: `allow`, `ask` or `deny`.
        message: That, and why, in sentences.
    """

    outcome: Literal["allow", "ask", "deny"]
    message: str


@request("testPolicy")
def try_policy(
    asker: Asker[Host], *, command: str = "", path: str = "", tool: str = "edit", agent: str = ""
) -> TestPolicyResult:
    """Say what would happen if an agent wanted to run a command, or to use a file; nothing is run.

    Args:
        command: A command line; empty for none.
        path: A file, relative to the workspace or absolute.
        tool: What the agent would do with that file.
        agent: The agent; the default one where empty.
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
