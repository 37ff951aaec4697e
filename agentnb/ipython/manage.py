"""The `%agents` magic: its subcommands and their tables."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.api.agents import agents as known_agents
from agentnb.api.agents import delete_session, doctor, logout, sessions_kept_by
from agentnb.api.columns import MarkdownTable, lines, markdown, shortened
from agentnb.api.history import history, resume
from agentnb.api.history_rows import forget
from agentnb.api.serving import pair, serve, serving, unpair
from agentnb.api.settings import policy, trust, untrust
from agentnb.errors import UsageError
from agentnb.host.changes.items import is_left_alone
from agentnb.host.environment import current_environment
from agentnb.ipython.markdown import harmless_line
from agentnb.ipython.sidebar import sidebar
from agentnb.plugin_registry import plugins
from agentnb.policy.keys import FILE_KEYS
from agentnb.state import SessionStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.api.agents import AgentSessions
    from agentnb.api.session import Session, Turn
    from agentnb.api.settings import Policy
    from agentnb.ipython.tabs import Tabs
    from agentnb.ports import Magic


_ALWAYS = "critical commands, sensitive files, anything outside the workspace, commands that cannot be read"
_WIDEST = 80


class TabRow(NamedTuple):
    current: bool
    name: str
    agent: str
    state: str
    turns: int
    title: str


class TabTable(MarkdownTable, tuple[TabRow, ...]):
    """The open tabs; a table when displayed."""

    __slots__ = ()

    _head = ("", "tab", "agent", "state", "turns", "title")
    _none = "No tab is open. `%agent Hello` opens one."

    def _cells(self, row: TabRow) -> tuple[str, ...]:
        return ("*" if row.current else "", row.name, row.agent, row.state, str(row.turns), row.title)

    def _escaped(self, cell: str) -> str:
        return "\\*" if cell == "*" else escaped_cell(cell)


class Remark(str):
    """One line for people, shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _list(tabs: Tabs, _: str) -> TabTable:
    current = tabs.current
    return TabTable(
        TabRow(name == current, name, session.agent, _state(session), len(session.turns), session.title)
        for name, session in tabs.all().items()
    )


def _state(session: Session) -> str:
    status = session.chat.status
    if status & SessionStatus.INPUT_NEEDED == SessionStatus.INPUT_NEEDED:
        word = "needs you"
    elif status & SessionStatus.IN_PROGRESS:
        word = "working"
    else:
        word = "error" if status & SessionStatus.ERROR else "idle"
    waiting = len(session.queue)
    return f"{word}, {waiting} queued" if waiting else word


def _confined(item: tuple[str, Any]) -> str:
    agent, value = item
    if isinstance(value, bool):
        return agent if value else f"not {agent}"
    return f"{agent} ({value if isinstance(value, str) else ', '.join(value)})"


class PolicyTable:
    """The policy; two tables when displayed."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def __repr__(self) -> str:
        tables = (lines([*map(_short, rows)]) for rows in (self._rules(), self._decisions()))
        return "\n".join(self._facts()) + "".join("\n\n" + "\n".join(table) for table in tables)

    def _repr_markdown_(self) -> str:
        facts = [f"- {escaped_cell(fact)}" for fact in self._facts()]
        tables = (markdown(map(_short, rows), escaped_cell) for rows in (self._rules(), self._decisions()))
        return "\n".join(facts) + "".join(f"\n\n{table}" for table in tables)

    def _facts(self) -> list[str]:
        held = self.policy
        facts = [f"Warning: {warning}" for warning in held.warnings]
        facts += [f"This session has permissions={held.mode!r}."] if held.mode is not None else []
        facts += [f"Doesn't need to ask: {', '.join(held.bypass)}."] if held.bypass else []
        facts += [f"Confined: {', '.join(confined)}."] if (confined := [*map(_confined, held.confine.items())]) else []
        facts.append(self._trust())
        facts.append(f"Always asks: {_ALWAYS}.")
        values = ((key, getattr(held, key.name)) for key in reversed(FILE_KEYS))
        facts += [key.fact(value) for key, value in values if value is not None]
        facts.append(f"Yours: {held.user_file}. The project's: {held.project_file}. The log: {held.log_file}.")
        return facts

    def _trust(self) -> str:
        held = self.policy
        if held.trusted:
            return f"{held.folder} is trusted: your file's allow rules apply here."
        others = f" (Trusted: {', '.join(held.trusted_folders)}.)" if held.trusted_folders else ""
        return f"{held.folder} is not trusted: your file's allow rules ask here. `%agents trust` trusts it.{others}"

    def _rules(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("from", "rule", "where")]
        rows += [(each.source, each.rule.text, each.where or "answered on a card") for each in self.policy.rules]
        rows += [
            ("settings", f"{'sensitive' if is_ else 'not sensitive'} {pattern}", "[sensitive]")
            for pattern, is_ in self.policy.sensitive
        ]
        if len(rows) == 1:
            rows.append(("default", "reading in the workspace is allowed; the session's mode decides the rest", ""))
        return rows

    def _decisions(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("when", "agent", "what", "severity", "outcome", "by", "rule")]
        for each in self.policy.records:
            what = f"{each.tool} {each.edited or each.what}"
            scope = "" if each.scope == "once" else f" ({each.scope})"
            rule = f"{each.source}: {each.rule}" if each.rule else ""
            time = each.time[:19].replace("T", " ")
            rows.append((time, each.agent, what, each.severity, f"{each.outcome}{scope}", each.by, rule))
        return rows if len(rows) > 1 else [*rows, ("", "", "no decisions yet", "", "", "", "")]


def _short(row: Sequence[str]) -> list[str]:
    return [shortened(" ".join(cell.split()), _WIDEST) for cell in row]


def escaped_cell(cell: str) -> str:
    """Text for a cell of a Markdown table."""
    return harmless_line(cell).replace("|", "\\|")


def _use(tabs: Tabs, name: str) -> Remark:
    if not name:
        raise UsageError("%agents use needs a tab's name.", hint=f"Open tabs: {', '.join(tabs.all()) or 'none'}.")
    return Remark(f"%agent talks to {tabs.use(name).agent} in the tab {name!r} now.")


def _new(tabs: Tabs, words: str) -> Remark:
    options = words.split()
    kernel = "--kernel" in options
    agent, *name = [word for word in options if word != "--kernel"] or [""]
    session = tabs.open(agent or None, " ".join(name) or None, kernel=kernel)
    return Remark(f"Opened the tab {tabs.name_of(session)!r} with {session.agent}; %agent talks to it now.")


def _cancel(tabs: Tabs, name: str) -> Remark:
    session = tabs.find(name or None)
    running = session.chat.active_turn is not None
    session.cancel()
    what = "Cancelled the turn" if running else "No turn runs"
    return Remark(f"{what} in the tab {tabs.name_of(session)!r}.")


def _restart(tabs: Tabs, name: str) -> Remark:
    session = tabs.find(name or None)
    session.restart()
    process = session.state.agent_process
    message = f" {process.message}" if process is not None and process.message else ""
    return Remark(f"Restarted {session.agent} in the tab {tabs.name_of(session)!r}.{message}")


def _resume(tabs: Tabs, tab_id: str) -> Remark:
    session = tabs.adopt(resume(tab_id))
    return Remark(f"Opened {session.title!r} again in the tab {tabs.name_of(session)!r}; %agent talks to it now.")


def _record(tabs: Tabs, name: str) -> Remark:
    if name == "stop":
        recorder = current_environment().cassette.stop()
        if not recorder.written:
            return Remark(f"No agent was started: {recorder.path} was not written.")
        turns = recorder.cassette().turns
        word = f" {recorder.word}" if recorder.word else ""
        return Remark(f"Recorded {turns} turn{'s' if turns != 1 else ''} in {recorder.path}.{word}")
    if not name:
        raise UsageError("%agents record needs a path.", hint="`%agents record fit.cassette.jsonl`, and `stop` to end.")
    path = Path(name).expanduser().absolute()
    current_environment().cassette.record(path)
    open_before = f" Tabs that are open ({', '.join(tabs.all())}) are not in it." if tabs.all() else ""
    return Remark(f"Agents that start from now on are recorded in {path}.{open_before} `%agents record stop` ends it.")


def _shown_or_set(attribute: str, tabs: Tabs, words: str) -> Remark:
    """Show how a tab's agent may work, or change it: its ``freedom`` or its ``permissions``."""
    value, _, name = words.partition(" ")
    session = tabs.find(name.strip() or None)
    if value:
        setattr(session, attribute, value)  # its error says which values there are
    return Remark(f"The tab {tabs.name_of(session)!r} has {attribute}={getattr(session, attribute)!r}.")


def _folder(tabs: Tabs) -> Path:
    """The workspace that ``%agents policy`` speaks of."""
    return policy(tabs.find(None) if tabs.current else None, last=0).folder


def _trust(tabs: Tabs, folder: str) -> Remark:
    return Remark(f"{trust(folder or _folder(tabs))} is trusted now: your policy file's allow rules apply there.")


def _untrust(tabs: Tabs, folder: str) -> Remark:
    return Remark(f"{untrust(folder or _folder(tabs))} is not trusted: your policy file's allow rules ask there.")


def _delete(_: Tabs, tab_id: str) -> Remark:
    gone = forget(tab_id)
    return Remark(f"Deleted {gone.title!r} from the log: {gone.turns} turn{'s' if gone.turns != 1 else ''}.")


def _fork(tabs: Tabs, words: str) -> Remark:
    name, _, copied = f" {words} ".partition(" as ")
    session = tabs.copy(name.strip() or None, copied.strip() or None)
    return Remark(f"Copied into the tab {tabs.name_of(session)!r}; %agent talks to it now.")


def _kept(tabs: Tabs, words: str) -> AgentSessions:
    agent, _, cursor = words.partition(" ")
    return sessions_kept_by(tabs.agent_of(agent or None), cwd=tabs.cwd, cursor=cursor.strip() or None)


def _open(tabs: Tabs, words: str) -> Remark:
    session_id, _, agent = words.partition(" ")
    session = tabs.take_up(tabs.agent_of(agent.strip() or None), session_id)
    return Remark(f"Opened {session.title!r} in the tab {tabs.name_of(session)!r}; %agent talks to it now.")


def _erase(tabs: Tabs, words: str) -> Remark:
    session_id, _, agent = words.partition(" ")
    name = tabs.agent_of(agent.strip() or None)
    delete_session(session_id, name, cwd=tabs.cwd)
    return Remark(f"{name} deleted the session {session_id!r}.")


def _logout(_: Tabs, name: str) -> Remark:
    logout(name)
    return Remark(f"Logged out of {name}.")


def _turn(tabs: Tabs, name: str, state: str, command: str) -> Turn:
    """The turn of the current tab with that number or id; the last with changes in *state* where none is named."""
    turns = tabs.find(None).turns
    if name:
        matching = _turns_called(turns, name)
        if len(matching) != 1:
            hint = f"It has {len(turns)} turns: `%agents {command} 1` is its first, `%agents {command} -1` its last."
            raise UsageError(f"The tab has no turn {name!r}.", hint=hint)
        return matching[0]
    for turn in turns[::-1]:
        changes = [each for each in turn.changes if each.state == state and each.undoable]
        if any(state != "open" or not is_left_alone(each.by) for each in changes):
            return turn
    raise UsageError(f"No turn of the tab has changes to {command}.", hint="`%agents changes` shows what changed.")


def _turns_called(turns: Sequence[Turn], name: str) -> list[Turn]:
    """Returns the turn with that number, from 1 up or from -1 back; else those whose id begins with *name*.

    Ids are random: a small number that no turn has must not find a turn whose id happens to begin with it.
    """
    if not re.fullmatch(r"-?\d{1,7}", name):
        return [turn for turn in turns if turn.id.startswith(name)]
    number = int(name)
    return [turn for at, turn in enumerate(turns) if number in (at + 1, at - len(turns))]


def _serve(_: Tabs, words: str) -> Remark:
    name, *rights = words.split()[:4] or [""]
    server = serving()
    if name == "stop":
        if server is not None:
            server.close()
        return Remark("This kernel is no longer served.")
    if name.startswith("-"):
        hint = "From Python it has options: agentnb.serve(port=8765). `%agents serve NAME watch` lets a client connect."
        raise UsageError(f"%agents serve has no option {name!r}.", hint=hint)
    server = serve() if server is None else server
    if not name:
        return Remark(repr(server))
    wanted: Any = rights or ["watch"]  # the error for words that are not rights lists the rights
    server.add_client(name, rights=wanted)
    return Remark(
        f"{name!r} may connect ({', '.join(wanted)}). `agentnb serve --list` in a terminal shows its address."
    )


COMMANDS: dict[str, Callable[[Tabs, str], Any]] = {
    "list": _list,
    "known": lambda *_: known_agents(),
    "doctor": lambda _, names: doctor(*names.split()),
    "use": _use,
    "new": _new,
    "cancel": _cancel,
    "close": lambda tabs, name: Remark(f"Closed the tab {tabs.close(name or None)!r}."),
    "restart": _restart,
    "history": lambda _, words: history(words),
    "resume": _resume,
    "delete": _delete,
    "fork": _fork,
    "kept": _kept,
    "open": _open,
    "erase": _erase,
    "logout": _logout,
    "changes": lambda tabs, name: tabs.find(name or None).changes,
    "undo": lambda tabs, name: _turn(tabs, name, "open", "undo").undo(),
    "redo": lambda tabs, name: _turn(tabs, name, "undone", "redo").redo(),
    "health": lambda tabs, name: tabs.find(name or None).health(),
    "record": _record,
    "freedom": partial(_shown_or_set, "freedom"),
    "permissions": partial(_shown_or_set, "permissions"),
    "policy": lambda tabs, name: PolicyTable(policy(tabs.find(name) if name or tabs.current else None)),
    "pair": lambda *_: Remark(repr(pair())),
    "unpair": lambda *_: Remark(repr(unpair())),
    "serve": _serve,
    "trust": _trust,
    "untrust": _untrust,
    "sidebar": lambda *_: sidebar(),
}
"""The commands of `%agents`, by their word; each gets the tabs and the rest of the line."""


def commands() -> dict[str, Callable[[Tabs, str], Any]]:
    """The words of `%agents`, those of plug-ins too; agentnb's own names stay agentnb's."""
    offered = {magic.name: _of_plugin(plugin.name, magic) for plugin, magic in plugins().offers("magics")}
    return {**offered, **COMMANDS}


def _of_plugin(plugin: str, magic: Magic) -> Callable[[Tabs, str], Any]:
    def run(_: Tabs, words: str) -> Any:
        with plugins().guard(plugin, f"`%agents {magic.name}`"):
            return magic.run(words)

    return run


NEEDED = {
    "resume": ("a session's id", "`%agents history` lists them."),
    "delete": ("a session's id", "`%agents history` lists them."),
    "open": ("a session's id", "`%agents kept` lists those of the agent."),
    "erase": ("a session's id", "`%agents kept` lists those of the agent."),
    "logout": ("an agent's name", "`%agents known` lists them."),
}
"""The argument that a command needs, and how to get it."""

ALONE = frozenset({"known", "list", "pair", "sidebar", "unpair"})
"""Commands that take no argument."""

OTHER_WORDS = {
    "add": "new",
    "install": "known",
    "interrupt": "cancel",
    "ls": "list",
    "quit": "close",
    "start": "new",
    "status": "health",
    "stop": "cancel",
    "switch": "use",
}
"""Other words that people use for these commands; a guess by spelling would be a wrong one (`start`: `restart`)."""
