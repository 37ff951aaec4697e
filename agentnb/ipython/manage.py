"""Managing: what each command of ``%agents`` does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.api.agent_sessions import delete_session, logout, sessions_kept_by
from agentnb.api.agents import agents as known_agents
from agentnb.api.agents import doctor
from agentnb.api.history import history, resume
from agentnb.api.history_changes import forget
from agentnb.api.pairing import pair, unpair
from agentnb.api.policy import policy, trust, untrust
from agentnb.api.serving import serve, serving
from agentnb.errors import UsageError
from agentnb.host.changes.attribution import is_left_alone
from agentnb.host.environment import current_environment
from agentnb.ipython.sidebar import sidebar
from agentnb.ipython.tables import PolicyTable, Remark, tab_table
from agentnb.plugin_registry import plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.api.agent_sessions import AgentSessions
    from agentnb.api.changes import ChangeTable
    from agentnb.api.session import Turn
    from agentnb.ipython.tabs import Tabs
    from agentnb.ports import Magic


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


def _freedom(tabs: Tabs, words: str) -> Remark:
    freedom, _, name = words.partition(" ")
    session = tabs.find(name.strip() or None)
    if freedom:
        session.freedom = freedom  # type: ignore[assignment] # it says what there is
    return Remark(f"The tab {tabs.name_of(session)!r} has freedom={session.freedom!r}.")


def _permissions(tabs: Tabs, words: str) -> Remark:
    mode, _, name = words.partition(" ")
    session = tabs.find(name.strip() or None)
    if mode:
        session.permissions = mode  # type: ignore[assignment] # it says what the modes are
    return Remark(f"The tab {tabs.name_of(session)!r} has permissions={session.permissions!r}.")


def _policy(tabs: Tabs, name: str) -> PolicyTable:
    session = tabs.find(name) if name or tabs.current else None
    return PolicyTable(policy(session))


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


def _undo(tabs: Tabs, name: str) -> ChangeTable:
    return _turn(tabs, name, "open", "undo").undo()


def _redo(tabs: Tabs, name: str) -> ChangeTable:
    return _turn(tabs, name, "undone", "redo").redo()


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
    """The turn with that number, from 1 on or from -1 back; else those whose id begins with *name*.

    Ids are random, so a small number that no turn has must not find the turn whose id happens to begin so.
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
    wanted: Any = rights or ["watch"]  # it says what the rights are
    server.add_client(name, rights=wanted)
    return Remark(
        f"{name!r} may connect ({', '.join(wanted)}). `agentnb serve --list` in a terminal shows its address."
    )


COMMANDS: dict[str, Callable[[Tabs, str], Any]] = {
    "list": lambda tabs, _: tab_table(tabs),
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
    "undo": _undo,
    "redo": _redo,
    "health": lambda tabs, name: tabs.find(name or None).health(),
    "record": _record,
    "freedom": _freedom,
    "permissions": _permissions,
    "policy": _policy,
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
"""Commands behind which nothing stands."""

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
"""Other words that people use for these commands; a guess by spelling would be another one (`start`: `restart`)."""
