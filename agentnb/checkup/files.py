"""The files that agentnb keeps or follows: the session log, the policy, a cassette. Looked at, never changed."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.agent.confinement import NEVER_CHECKED, TRIED, unchecked_here, way_here
from agentnb.cassette import file
from agentnb.cassette.switch import MODE, PATH
from agentnb.changes.git_program import find_git
from agentnb.checkup import site
from agentnb.checkup.packages import checkup
from agentnb.distribution import NAME, pip
from agentnb.errors import AgentnbError
from agentnb.host.changes.location import VARIABLE as CHANGES
from agentnb.host.changes.location import are_off, changes_folder
from agentnb.host.environment import current_environment
from agentnb.log.database import MIGRATIONS
from agentnb.log.location import VARIABLE, log_location
from agentnb.policy.store import PolicyFiles

if TYPE_CHECKING:
    from agentnb.acp.doctor import Checkup
    from agentnb.cassette.switch import CassetteSwitch


def examine() -> list[Checkup]:
    """Each of them, and whether agents are confined."""
    settings = current_environment().sources()
    return [
        kept(),
        policy(PolicyFiles()),
        site.examine(),
        cassette(current_environment().cassette),
        confinement(str(settings.values["confine"].value), *way_here(), unchecked_here()),
    ]


def kept() -> Checkup:
    """Returns what is kept of sessions: the log, and where that is well what their turns changed."""
    sessions = log(log_location())
    if sessions.state != "ready":
        return sessions
    stores = changes(changes_folder(), off=are_off())
    if stores.state == "broken":
        return replace(stores, name=sessions.name, title=sessions.title)
    return replace(sessions, message=f"{sessions.message} What turns changed: {stores.message}")


def log(path: Path | None) -> Checkup:
    """The session log: is it off, can it be read and written, is it whole?"""
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
    """The stores of what turns changed: are they off, how large are they, with what are snapshots taken?"""
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
    """The user's policy file: can it be read, and does it say something?"""
    settings, path = files.user, files.user_path
    if settings.problem is not None:
        return checkup("policy", "broken", None, settings.problem, todo=f'${{EDITOR:-vi}} "{path}"')
    if not path.exists():
        return checkup("policy", "ready", None, f"No policy file ({path}): the built-in policy applies.")
    return checkup("policy", "ready", None, f"{path}: {len(settings.rules)} rules.")


def confinement(chosen: str, way: str | None, why: str, unchecked: str = "") -> Checkup:
    """True if agents are confined: what is chosen, what can do it here, and what is not checked."""
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
    """A cassette in force: what is done with it, and can it be used?"""
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
