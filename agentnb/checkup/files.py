"""Examines the files that agentnb keeps or follows, including the site's policy, and changes none."""

from __future__ import annotations

import difflib
import os
import sqlite3
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.agent.catalog import every_name
from agentnb.agent.confinement import EVERY, NEVER_CHECKED, TRIED, tighter, unchecked_here, way_here
from agentnb.cassette import file
from agentnb.cassette.switch import MODE, PATH
from agentnb.changes.git_program import find_git
from agentnb.checkup.packages import checkup
from agentnb.configuration.site_settings import is_tighter, settings_of
from agentnb.configuration.table import setting
from agentnb.configuration.write import shown_value
from agentnb.distribution import NAME, pip
from agentnb.errors import AgentnbError
from agentnb.host.changes.location import VARIABLE as CHANGES
from agentnb.host.changes.location import are_off, changes_folder
from agentnb.host.environment import current_environment
from agentnb.log.database import MIGRATIONS
from agentnb.log.location import VARIABLE, log_location
from agentnb.plugin_registry import plugins
from agentnb.policy.keys import FREEDOMS, TITLES
from agentnb.policy.settings import load
from agentnb.policy.store import PolicyFiles
from agentnb.site_policy import KINDS, SWITCHES, Entry, Kind, SiteFile, read_file, site_files, site_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentnb.acp.doctor import Checkup
    from agentnb.cassette.switch import CassetteSwitch
    from agentnb.policy.settings import PolicySettings


def examine_site() -> Checkup:
    paths = [path for path in site_files() if os.path.lexists(path)]
    if not paths:
        message = f"There is none ({', '.join(map(str, site_files()))})."
        return checkup("site policy", "absent", None, message)
    wrong = [each for path in paths for each in problems(path)]
    if wrong:
        return checkup("site policy", "broken", None, " ".join(dict.fromkeys(wrong)), todo="agentnb site-policy")
    return checkup("site policy", "ready", None, " ".join([*holding(), *changeable(paths)]))


def holding() -> list[str]:
    """Returns what applies on this machine, one sentence each, with the file that sets it."""
    facts = []
    for path in site_files():
        file, policy = read_file(path), load(path, "site")
        if file is None:
            continue
        if policy.problem is not None:
            facts.append(policy.problem)
            continue
        facts += [f"{path}: {each}" for each in (*_of_table(file), *_of_policy(policy))] or [f"{path} sets nothing."]
    return facts


def _of_table(file: SiteFile) -> Iterator[str]:
    if file.message:
        yield f"Message: {file.message}"
    for kind, listed in file.lists.items():
        name = KINDS[kind]
        if listed.allow is not None:
            yield f"Only these {name}s are allowed: {_values(listed.allow) or 'none'} (line {listed.line})."
        if listed.deny:
            yield f"Not allowed, {name}s: {_values(listed.deny)} (line {listed.deny[0].line})."
    for switch, line in file.off.items():
        yield f"{SWITCHES[switch]} (line {line})."
    for name, entry in file.settings.items():
        yield f"{name} is {shown_value(name, entry.value)} (line {entry.line})."
    if file.audit:
        yield f"Decisions are written to {file.audit}."


def _of_policy(policy: PolicySettings) -> Iterator[str]:
    if policy.freedom_at_most is not None:
        yield f"The freedom of conversations is at most {TITLES[policy.freedom_at_most]}."
    if policy.cell_review == "first":
        yield "Cell changes are reviewed before they are made."
    for agent, confine in policy.confine.items():
        who = "Every agent" if agent == EVERY else agent
        hosts = f", with these hosts only: {', '.join(confine)}" if isinstance(confine, tuple) else ""
        yield f"{who} is confined{', without network' if confine == 'no network' else hosts}."
    for each in policy.rules:
        yield f"Rule: {each.rule.text}."
    if policy.sensitive:
        yield f"Sensitive, too: {', '.join(pattern for pattern, _ in policy.sensitive)}."


def problems(path: Path) -> list[str]:
    """Returns what is wrong with a site's file *path*, by itself and in combination with the others."""
    policy = load(path, "site")
    if policy.problem is not None:
        return [policy.problem]
    file = read_file(path)
    if file is None:
        return [f"There is no file {path}."]
    wrong = settings_of([file])[1]
    others = [each for each in site_policy().files if each.path != path and each.problem is None]
    return [
        *policy.warnings,
        *([wrong] if wrong else []),
        *_contradictions(file),
        *_unknown_names(file),
        *_unavailable(file, policy),
        *(() if wrong else _disagreements([file, *others])),
    ]


def changeable(paths: list[Path]) -> list[str]:
    """Returns a sentence for each of *paths* that the user who runs this can change or replace; none for root."""
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        return []
    sentences = []
    for path in paths:
        real = path.resolve()
        if any(os.access(each, os.W_OK) for each in (real, real.parent, path.parent)):
            link = f" (a link to {real})" if path.is_symlink() else ""
            sentences.append(f"You can change {path}{link} yourself, so it does not bind you.")
    return sentences


def _contradictions(file: SiteFile) -> Iterator[str]:
    for kind, listed in file.lists.items():
        for allowed in listed.allow or ():
            denied = next((each for each in listed.deny if _covers(each.value, allowed.value)), None)
            if denied is not None:
                yield (
                    f"{file.place(allowed.line)}: the {KINDS[kind]} {allowed.value!r} is allowed, and line "
                    f"{denied.line} denies it ({denied.value!r}): it is denied. Remove one of the two."
                )


def _covers(pattern: str, other: str) -> bool:
    parts = pattern.split("*")
    return pattern == other or (len(parts) > 1 and other.startswith(parts[0]) and other.endswith(parts[-1]))


def _unknown_names(file: SiteFile) -> Iterator[str]:
    known: dict[Any, Callable[[], tuple[str, ...]]] = {"agents": every_name, "plugins": lambda: plugins().names}
    for kind in known.keys() & file.lists.keys():
        names = known[kind]()
        listed = file.lists[kind]
        for each in (*(listed.allow or ()), *listed.deny):
            if each.value in names or any(char in each.value for char in "*/ "):
                continue
            close = difflib.get_close_matches(each.value, names, n=1)
            guess = f" Did you mean {close[0]!r}?" if close else ""
            yield f"{file.place(each.line)}: agentnb knows no {KINDS[kind]} {each.value!r}.{guess}"


def _unavailable(file: SiteFile, policy: PolicySettings) -> Iterator[str]:
    confined = [agent for agent, confining in policy.confine.items() if confining is not False]
    if not confined:
        return
    who = "agents" if EVERY in confined else ", ".join(confined)
    way, why = way_here()
    if way is None:
        cannot = f"{file.path}: {who} must be confined, but cannot be confined here, so they do not start: {why}."
        auto = ' freedom_at_most = "auto" then runs nothing without asking.' if policy.freedom_at_most == "auto" else ""
        yield f"{cannot}{auto}"


def _disagreements(files: list[SiteFile]) -> Iterator[str]:
    """Yields a sentence wherever two files say different things; the tighter value applies."""
    for one, other in combinations(files, 2):
        for name in one.settings.keys() & other.settings.keys():
            here, there = one.settings[name], other.settings[name]
            if here.value != there.value:
                holds = there if is_tighter(setting(name), there.value, here.value) else here
                yield _disagreement(name, (one, here), (other, there), holds.value)
        yield from _of_policies(one, other)
        for kind in one.lists.keys() & other.lists.keys():
            yield from _denied_elsewhere(kind, one, other)
            yield from _denied_elsewhere(kind, other, one)


def _of_policies(one: SiteFile, other: SiteFile) -> Iterator[str]:
    here, there = load(one.path, "site"), load(other.path, "site")
    first, second = here.freedom_at_most, there.freedom_at_most
    if first is not None and second is not None and first != second:
        lowest = min(first, second, key=FREEDOMS.index)
        yield _disagreement("freedom_at_most", (one, Entry(first, 0)), (other, Entry(second, 0)), lowest)
    for agent in here.confine.keys() & there.confine.keys():
        mine, theirs = here.confine[agent], there.confine[agent]
        if mine != theirs:
            entries = (one, Entry(mine, 0)), (other, Entry(theirs, 0))
            yield _disagreement(f"confine of {agent}", *entries, tighter(mine, theirs))


def _denied_elsewhere(kind: Kind, one: SiteFile, other: SiteFile) -> Iterator[str]:
    for allowed in one.lists[kind].allow or ():
        denied = next((each for each in other.lists[kind].deny if _covers(each.value, allowed.value)), None)
        if denied is not None:
            yield (
                f"{one.place(allowed.line)} allows the {KINDS[kind]} {allowed.value!r}, and "
                f"{other.place(denied.line)} denies it: it is denied."
            )


def _disagreement(name: str, one: tuple[SiteFile, Entry], other: tuple[SiteFile, Entry], holds: Any) -> str:
    values = " and ".join(f"{entry.value!r} in {file.place(entry.line)}" for file, entry in (one, other))
    return f"{name} is {values}: {holds!r} holds."


def _values(entries: tuple[Entry, ...]) -> str:
    return ", ".join(str(each.value) for each in entries)


def examine_files() -> list[Checkup]:
    settings = current_environment().sources()
    return [
        kept(),
        policy(PolicyFiles()),
        examine_site(),
        cassette(current_environment().cassette),
        confinement(str(settings.values["confine"].value), *way_here(), unchecked_here()),
    ]


def kept() -> Checkup:
    """Examine what is kept of sessions: the log and, if that is in order, what their turns changed."""
    sessions = log(log_location())
    if sessions.state != "ready":
        return sessions
    stores = changes(changes_folder(), off=are_off())
    if stores.state == "broken":
        return replace(stores, name=sessions.name, title=sessions.title)
    return replace(sessions, message=f"{sessions.message} What turns changed: {stores.message}")


def log(path: Path | None) -> Checkup:
    """Check the session log: whether it is off, can be read and written, and is undamaged."""
    if path is None:
        message = f"It is off ({VARIABLE}): sessions are not saved."
        return checkup("log", "absent", None, message, todo=f"unset {VARIABLE}")
    if not path.exists():
        folder = next(parent for parent in path.parents if parent.exists())
        if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
            return checkup("log", "ready", None, f"{path} is created with the first session.")
        message = f"{path} cannot be created: {folder} is not writable."
        return checkup("log", "broken", None, message, todo=f"export {VARIABLE}=PATH")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            sound = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            count = connection.execute("SELECT count(*) FROM sessions").fetchone()[0] if version else 0
    except sqlite3.Error as error:
        message = f"{path} cannot be read: {error}. It is moved aside at the next start, and a new one is created."
        return checkup("log", "broken", None, message, todo=f'mv "{path}" "{path}.damaged"')
    if sound != "ok":
        message = f"{path} is damaged: {sound}. It is moved aside at the next start, and a new one is created."
        return checkup("log", "broken", str(version), message, todo=f'mv "{path}" "{path}.damaged"')
    if version > len(MIGRATIONS):
        message = f"{path} was written by a newer agentnb, so sessions are not saved."
        return checkup("log", "old", str(version), message, todo=pip("install", "--upgrade", NAME))
    if not os.access(path, os.W_OK):
        message = f"{path} is not writable, so sessions are not saved."
        return checkup("log", "broken", str(version), message, todo=f'chmod u+w "{path}"')
    aside = sorted(each.name for each in path.parent.glob(f"{path.name}.damaged-*[0-9]"))
    damaged = f" It was damaged before. The unreadable parts were moved to {', '.join(aside)}." if aside else ""
    return checkup("log", "ready", str(version), f"{path}: {count} sessions.{damaged}")


def changes(folder: Path, *, off: bool = False) -> Checkup:
    """Check the stores of what turns changed: whether they are off, their size, and what takes snapshots."""
    if off:
        message = f"They are off ({CHANGES}): changes of turns are not tracked and cannot be undone."
        return checkup("changes", "absent", None, message, todo=f"unset {CHANGES}")
    has_git = find_git(Path.cwd()) is not None
    how = " Snapshots are taken with git." if has_git else " git 2.30 or later was not found: snapshots are copies."
    stores = [each for each in folder.glob("*") if each.is_dir()] if folder.is_dir() else []
    if not stores:
        return checkup("changes", "ready", None, f"{folder} is created with the first turn.{how}")
    if not os.access(folder, os.W_OK | os.X_OK):
        message = f"{folder} is not writable, so turns cannot be undone."
        return checkup("changes", "broken", None, message, todo=f'chmod u+rwx "{folder}"')
    size = sum(each.lstat().st_blocks * 512 for each in folder.rglob("*"))
    conversations = sum(1 for _ in folder.glob("*/records/*.json"))
    message = (
        f"{folder}: {size / 1e6:,.1f} MB, {len(stores)} workspace{'s' if len(stores) != 1 else ''}, "
        f"{conversations} conversation{'s' if conversations != 1 else ''}.{how}"
    )
    return checkup("changes", "ready", None, message)


def policy(files: PolicyFiles) -> Checkup:
    settings, path = files.user, files.user_path
    if settings.problem is not None:
        return checkup("policy", "broken", None, settings.problem, todo=f'${{EDITOR:-vi}} "{path}"')
    if not path.exists():
        return checkup("policy", "ready", None, f"No policy file ({path}): the built-in policy applies.")
    return checkup("policy", "ready", None, f"{path}: {len(settings.rules)} rules.")


def confinement(chosen: str, way: str | None, why: str, unchecked: str = "") -> Checkup:
    """Check confinement of agents: what is chosen, what can enforce it here, and what is not checked."""
    if chosen in ("on", "no network") and way is None:
        message = f"Agents do not start: they must be confined ({chosen}), but cannot be: {why}."
        return checkup("confinement", "broken", None, message, todo="agentnb settings confine off")
    if way is None:
        message = f"Agents run with all your permissions. They cannot be confined here: {why}."
        return checkup("confinement", "absent", None, message)
    if chosen == "off":
        message = "Agents run with all your permissions, unless they are started with confine=True."
        words = f"{message} {way} can keep them in their workspace."
        return checkup("confinement", "absent", None, words, todo="agentnb settings confine on")
    if chosen != "where possible" or way in TRIED:
        which = "the agents that agentnb knows" if chosen == "where possible" else "agents"
        message = f"{way} keeps {which} in their workspace ({chosen})."
        message += f" Not checked on this system: {unchecked}." if unchecked else ""
        message += f" Never checked: {NEVER_CHECKED}." if way == "Landlock" else ""
        return checkup("confinement", "ready", None, message)
    message = f"Agents run with all your permissions. {way} can keep them in their workspace, but has not been tested."
    return checkup("confinement", "absent", None, message, todo="agentnb settings confine on")


def cassette(switch: CassetteSwitch) -> Checkup:
    """Check the cassette in force, if any: what it is used for, and whether it can be used."""
    try:
        state, path = switch.state()
        if path is None or state == "off":
            return checkup("cassette", "absent", None, "No cassette is in use: agents run as usual.")
        if state == "record":
            return checkup("cassette", "ready", None, f"{path} is being recorded ({PATH}).")
        turns = file.read(path).turns
    except AgentnbError as error:
        return checkup("cassette", "broken", None, str(error), todo=f"export {MODE}=record")
    message = f"{path} stands in for every agent: {turns} turns are replayed ({PATH})."
    return checkup("cassette", "ready", None, message, todo=f"unset {PATH}")
