"""What a page asks about settings, policy, skills and the user's own agents, and the kernel's answers, as structs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from agentnb.comm.answers import Count
from agentnb.policy.rules import Rule
from agentnb.state.wire import Wire


class ListSettingsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``listSettings``: every setting, where its value comes from, the policy's rules and the trusted folders."""


class WatchSettingsParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``watchSettings``: tell this page when what `listSettings` answers changes, or tell it no more.

    While it is on, the kernel says `settingsChanged` a second, at most, after a file or `%config` has changed.

    Attributes:
        on: Whether to tell it.
    """

    on: bool


class ListFoldersParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``listFolders``: the folders in a folder of the home or the kernel's folder, to choose one.

    Attributes:
        path: The folder, absolute or with ``~/``; empty for the kernel's current one.
    """

    path: Annotated[str, msgspec.Meta(max_length=4_000)] = ""


class ChangeSettingParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``changeSetting``: the user changes a setting in the page.

    What would let agents do more is answered with a sentence to confirm, and changed when that comes back.

    Attributes:
        name: The setting's name.
        value: Its new value; null removes what is written in the user's file, or said in this kernel.
        here: Whether it holds in this kernel alone; else it is written into the user's file.
        was: What the file said when the user decided, with `checks`; null where it said nothing.
        checks: Whether `was` must still be so.
        confirmed: The sentence that the user confirmed.
    """

    name: str
    value: Any = None
    here: bool = False
    was: Any = None
    checks: bool = False
    confirmed: str = ""


class McpServerChange(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """An MCP server as the page's user types it.

    Attributes:
        line: Its command with its arguments, as one types it in a shell, or its address. No shell reads it.
        env: Variables for the command, by name.
    """

    line: Annotated[str, msgspec.Meta(max_length=4_000)]
    env: dict[str, str] = msgspec.field(default_factory=dict)


class ChangeMcpServerParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``changeMcpServer``: add one MCP server to those of the settings, or remove one; the others stay as they are.

    A new one is answered with a sentence to confirm, and added when that comes back.

    Attributes:
        name: What agents call it.
        server: The server; absent to remove the one of that name.
        here: Whether it holds in this kernel alone; else it is written into the user's file.
        confirmed: The sentence that the user confirmed.
    """

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    server: McpServerChange | None = None
    here: bool = False
    confirmed: str = ""


class OwnAgentChange(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """An agent as the page's user describes it.

    Attributes:
        line: Its command with its arguments, as one types it in a shell. No shell reads it.
        env: Variables for it, by name, all that it is to have; null keeps the value that it has, which no page is told.
    """

    line: Annotated[str, msgspec.Meta(max_length=4_000)]
    env: dict[str, str | None] = msgspec.field(default_factory=dict)


class ChangeOwnAgentParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``changeOwnAgent``: write an agent's description into the user's folder, or remove it from there.

    What runs another program is answered with a sentence to confirm, and written when that comes back.

    Attributes:
        name: The agent's name; one of the catalogue's is replaced by a description that is based on it.
        agent: The agent; absent to remove the user's description of that name.
        state: The `state` of the description that the user saw; empty where there was none.
        confirmed: The sentence that the user confirmed.
    """

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    agent: OwnAgentChange | None = None
    state: str = ""
    confirmed: str = ""


class ChangePolicyParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
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


class ChangeSkillTrustParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``changeSkillTrust``: the user trusts the skills of an installed package, refuses them, or trusts them no more.

    What was shown is what counts: where the skills say something else by now, nothing is chosen.

    Attributes:
        action: What to do; ``refuse`` and ``revoke`` are remembered, and not asked again for that version.
        package: The distribution's name.
        digest: The `digest` of the offer that the user saw; not needed to revoke.
    """

    action: Literal["trust", "refuse", "revoke"]
    package: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    digest: Annotated[str, msgspec.Meta(max_length=100)] = ""


class TestPolicyParams(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
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


class SettingLayer(Wire, frozen=True, kw_only=True):
    """What another place says of a setting, and does not count.

    Attributes:
        source: The place.
        value: The value there, without secrets.
    """

    source: str
    value: Any


class SettingInfo(Wire, frozen=True, kw_only=True):
    """A setting as it is now.

    Attributes:
        name: Its name.
        title: What it is called, for people.
        about: What it does.
        kind: The kind of its value: `switch`, `choice`, `number`, `text`, `folder`, `agent`, `names` or `servers`.
        value: The value that counts; of MCP servers their names alone.
        source: Where that comes from: `%config`, `startup`, `environment`, `project`, `user` or `default`.
        where: The file or the variable; may be empty.
        below: What other places say, the one that would count next first.
        file: The user's file that a change is written to; empty where none can hold it.
        is_trait: Whether it can be set in this kernel alone.
        counts: When a change counts.
        choices: The values of a `choice`, each with what it is called.
        in_file: What the user's file says; absent where it says nothing.
    """

    name: str
    title: str
    about: str
    kind: str
    value: Any
    source: str
    where: str
    below: tuple[SettingLayer, ...]
    file: str
    is_trait: bool
    counts: str
    choices: tuple[tuple[str, str], ...]
    in_file: Any = None


class SettingsGroup(Wire, frozen=True, kw_only=True):
    """Settings that are shown together.

    Attributes:
        title: What they are about.
        settings: The settings, in the order in which they are shown.
    """

    title: str
    settings: tuple[SettingInfo, ...]


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


class AgentCommand(Wire, frozen=True, kw_only=True):
    """How an agent of the catalogue, or one of the user's own, is started.

    Attributes:
        name: Its name.
        title: What people read.
        line: Its command as one types it.
        variables: The names of the variables that the user's description sets; their values may be secret.
        file: The user's description; absent for one of the catalogue that the user has not changed.
        state: Changes whenever that file does.
        problem: Why the file cannot be read.
    """

    name: str
    title: str
    line: str
    variables: tuple[str, ...] = ()
    file: str | None = None
    state: str | None = None
    problem: str | None = None


class OfferedModel(Wire, frozen=True, kw_only=True):
    """A model that an agent offers in a conversation that is open.

    Attributes:
        agent: The agent's name.
        id: The model's id.
        name: What the agent calls it.
    """

    agent: str
    id: str
    name: str


class ListSettingsResult(Wire, frozen=True, kw_only=True):
    """The settings.

    Attributes:
        groups: The settings by group.
        problems: What is wrong with files and variables; that does not count.
        rules: The rules of the user's policy file.
        project_rules: Those of the project's, on one line each.
        grants: What was answered on cards and still holds in open conversations. Absent from a kernel of an older
            version.
        trusted: The trusted folders.
        folder: The kernel's current folder.
        policy_file: The user's policy file.
        project_file: The project's.
        agents: How agents are started: the user's own first. Absent from a kernel of an older version.
        models: The models that can be hidden. Absent from a kernel of an older version.
    """

    groups: tuple[SettingsGroup, ...]
    problems: tuple[str, ...]
    rules: tuple[PolicyRule, ...]
    project_rules: tuple[str, ...]
    trusted: tuple[str, ...]
    folder: str
    policy_file: str
    project_file: str
    agents: tuple[AgentCommand, ...] | None = None
    models: tuple[OfferedModel, ...] | None = None
    grants: tuple[ConversationGrant, ...] | None = None


class ListFoldersResult(Wire, frozen=True, kw_only=True):
    """The folders in a folder.

    Attributes:
        path: The folder.
        folders: The names of those in it, without hidden ones.
        is_cut: Whether there are more.
        parent: The folder above it; absent where that is not listed.
    """

    path: str
    folders: tuple[str, ...]
    is_cut: bool
    parent: str | None = None


class ChangedResult(Wire, frozen=True, kw_only=True):
    """Whether it was changed.

    Attributes:
        confirm: The sentence that the user must confirm; nothing was changed then.
    """

    confirm: str | None = None


class TestPolicyResult(Wire, frozen=True, kw_only=True):
    """What would happen.

    Attributes:
        outcome: `allow`, `ask` or `deny`.
        message: That, and why, in sentences.
    """

    outcome: Literal["allow", "ask", "deny"]
    message: str


class SettingsChangedParams(Wire, frozen=True, kw_only=True):
    """``settingsChanged``: settings, rules or trusted folders have changed; the list is to be fetched.

    Only pages that asked for it are told (`watchSettings`).
    """
