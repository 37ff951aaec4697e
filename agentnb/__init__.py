"""agentnb: AI coding agents in notebooks, over the Agent Client Protocol.

Importing this package starts nothing and loads nothing heavy; every public name is loaded at its first use.

Example:
    >>> import agentnb
    >>> turn = agentnb.start("eliza").prompt("Hello")  # doctest: +SKIP
    >>> turn.wait().text  # doctest: +SKIP
    'Hello. I am eliza. What are you working on?'
"""

from __future__ import annotations

import sys

# Not from typing: at the end of a package's `__init__`, Python's import removes it for a moment; a second thread that
# imports one of its modules then fails (KeyError). The less this file loads, the rarer that is. Not `False` either:
# jedi takes the code below `if False` for unreachable.
TYPE_CHECKING = bool()  # noqa: UP018
if TYPE_CHECKING:
    from typing import Any

    from agentnb import errors as errors
    from agentnb import testing as testing
    from agentnb.api.agents import agent_sessions as agent_sessions
    from agentnb.api.agents import agents as agents
    from agentnb.api.agents import delete_session as delete_session
    from agentnb.api.agents import doctor as doctor
    from agentnb.api.agents import logout as logout
    from agentnb.api.history import history as history
    from agentnb.api.history import resume as resume
    from agentnb.api.history import sessions as sessions
    from agentnb.api.history_rows import duplicate_session as duplicate_session
    from agentnb.api.history_rows import forget as forget
    from agentnb.api.history_rows import update_session as update_session
    from agentnb.api.questions import InputQuestion as InputQuestion
    from agentnb.api.questions import PermissionAnswer as PermissionAnswer
    from agentnb.api.questions import PermissionCallback as PermissionCallback
    from agentnb.api.questions import PermissionQuestion as PermissionQuestion
    from agentnb.api.questions import PermissionRequest as PermissionRequest
    from agentnb.api.rehearse import rehearse as rehearse
    from agentnb.api.serving import Server as Server
    from agentnb.api.serving import pair as pair
    from agentnb.api.serving import serve as serve
    from agentnb.api.serving import unpair as unpair
    from agentnb.api.session import Permissions as Permissions
    from agentnb.api.session import Session as Session
    from agentnb.api.session import Turn as Turn
    from agentnb.api.settings import settings as settings
    from agentnb.api.settings import trust as trust
    from agentnb.api.settings import untrust as untrust
    from agentnb.api.start import chat as chat
    from agentnb.api.start import start as start
    from agentnb.api.start import warm as warm
    from agentnb.api.storage import storage as storage
    from agentnb.api.turn_view import ToolCall as ToolCall
    from agentnb.api.turn_view import ToolCallStatus as ToolCallStatus
    from agentnb.api.turn_view import TurnState as TurnState
    from agentnb.api.usage import usage as usage
    from agentnb.errors import AgentDied as AgentDied
    from agentnb.errors import AgentError as AgentError
    from agentnb.errors import AgentnbError as AgentnbError
    from agentnb.errors import AgentNotFound as AgentNotFound
    from agentnb.errors import AgentRefused as AgentRefused
    from agentnb.errors import AgentStartFailed as AgentStartFailed
    from agentnb.errors import AuthenticationRequired as AuthenticationRequired
    from agentnb.errors import BatchFailed as BatchFailed
    from agentnb.errors import BudgetExceeded as BudgetExceeded
    from agentnb.errors import CassetteBroken as CassetteBroken
    from agentnb.errors import CassetteError as CassetteError
    from agentnb.errors import CassetteMismatch as CassetteMismatch
    from agentnb.errors import ChangesError as ChangesError
    from agentnb.errors import ChangesUnavailable as ChangesUnavailable
    from agentnb.errors import ContentNotStored as ContentNotStored
    from agentnb.errors import FilesConflict as FilesConflict
    from agentnb.errors import FileUnavailable as FileUnavailable
    from agentnb.errors import HostUnavailable as HostUnavailable
    from agentnb.errors import KernelBusy as KernelBusy
    from agentnb.errors import KernelChangesConflict as KernelChangesConflict
    from agentnb.errors import LogDamaged as LogDamaged
    from agentnb.errors import LogError as LogError
    from agentnb.errors import LogUnavailable as LogUnavailable
    from agentnb.errors import NotOffered as NotOffered
    from agentnb.errors import OutsideWorkspace as OutsideWorkspace
    from agentnb.errors import PermissionDenied as PermissionDenied
    from agentnb.errors import PluginFailed as PluginFailed
    from agentnb.errors import PolicyError as PolicyError
    from agentnb.errors import ProtocolError as ProtocolError
    from agentnb.errors import SessionClosed as SessionClosed
    from agentnb.errors import SessionError as SessionError
    from agentnb.errors import SettingsError as SettingsError
    from agentnb.errors import TurnCancelled as TurnCancelled
    from agentnb.errors import TurnError as TurnError
    from agentnb.errors import TurnFailed as TurnFailed
    from agentnb.errors import TurnRefused as TurnRefused
    from agentnb.errors import TurnTimeout as TurnTimeout
    from agentnb.errors import UnknownAgent as UnknownAgent
    from agentnb.errors import UnknownMention as UnknownMention
    from agentnb.errors import UnknownSession as UnknownSession
    from agentnb.errors import UnsupportedVersion as UnsupportedVersion
    from agentnb.errors import UsageError as UsageError
    from agentnb.ipython.sidebar import sidebar as sidebar
    from agentnb.kernel.data_checks import DataChecks as DataChecks
    from agentnb.kernel.rehearsal_result import Rehearsal as Rehearsal
    from agentnb.plugins.branches.branch import Branch as Branch
    from agentnb.plugins.branches.branches import Branches as Branches
    from agentnb.plugins.branches.branches import branches as branches
    from agentnb.plugins.checks.comparison import compare as compare
    from agentnb.plugins.connect.connecting import Remote as Remote
    from agentnb.plugins.connect.connecting import connect as connect
    from agentnb.plugins.knowledge.code_api import code as code
    from agentnb.plugins.knowledge.research_api import forget_research as forget_research
    from agentnb.plugins.knowledge.research_api import research as research
    from agentnb.plugins.knowledge.skills_api import skills as skills
    from agentnb.plugins.loop.loop import Loop as Loop
    from agentnb.plugins.loop.start import loop as loop
    from agentnb.plugins.map.batch import Batch as Batch
    from agentnb.plugins.map.batch import BatchResult as BatchResult
    from agentnb.plugins.map.comparison import Comparison as Comparison
    from agentnb.plugins.map.start import compare_agents as compare_agents
    from agentnb.plugins.map.start import map as map  # noqa: A004 - the public name
    from agentnb.plugins.provenance.provenance import provenance as provenance
    from agentnb.plugins.provenance.result import CellProvenance as CellProvenance
    from agentnb.plugins.provenance.result import Provenance as Provenance
    from agentnb.plugins.provenance.turns import ProvenanceTurn as ProvenanceTurn
    from agentnb.plugins.verify.result import Finding as Finding
    from agentnb.plugins.verify.result import Verification as Verification
    from agentnb.plugins.verify.verify import verify as verify

__version__ = "0.3.0"

_MODULES = ("errors", "testing")
_NAMES = {
    "api.agents": ("agent_sessions", "agents", "delete_session", "doctor", "logout"),
    "api.history": ("history", "resume", "sessions"),
    "api.history_rows": ("duplicate_session", "forget", "update_session"),
    "api.rehearse": ("rehearse",),
    "api.questions": (
        "InputQuestion", "PermissionAnswer", "PermissionCallback", "PermissionQuestion", "PermissionRequest",
    ),
    "api.serving": ("Server", "pair", "serve", "unpair"),
    "api.session": ("Permissions", "Session", "Turn"),
    "api.settings": ("settings", "trust", "untrust"),
    "api.start": ("chat", "start", "warm"),
    "api.storage": ("storage",),
    "api.turn_view": ("ToolCall", "ToolCallStatus", "TurnState"),
    "api.usage": ("usage",),
    "ipython.sidebar": ("sidebar",),
    "kernel.data_checks": ("DataChecks",),
    "kernel.rehearsal_result": ("Rehearsal",),
    "plugins.branches.branch": ("Branch",),
    "plugins.branches.branches": ("Branches", "branches"),
    "plugins.checks.comparison": ("compare",),
    "plugins.connect.connecting": ("Remote", "connect"),
    "plugins.knowledge.code_api": ("code",),
    "plugins.knowledge.research_api": ("forget_research", "research"),
    "plugins.knowledge.skills_api": ("skills",),
    "plugins.loop.loop": ("Loop",),
    "plugins.loop.start": ("loop",),
    "plugins.map.batch": ("Batch", "BatchResult"),
    "plugins.map.comparison": ("Comparison",),
    "plugins.map.start": ("compare_agents", "map"),
    "plugins.provenance.provenance": ("provenance",),
    "plugins.provenance.result": ("CellProvenance", "Provenance"),
    "plugins.provenance.turns": ("ProvenanceTurn",),
    "plugins.verify.result": ("Finding", "Verification"),
    "plugins.verify.verify": ("verify",),
    "errors": (
        "AgentDied", "AgentError", "AgentNotFound", "AgentRefused", "AgentStartFailed", "AgentnbError",
        "AuthenticationRequired", "BatchFailed", "BudgetExceeded", "CassetteBroken", "CassetteError",
        "CassetteMismatch", "ChangesError", "ChangesUnavailable", "ContentNotStored", "FileUnavailable",
        "FilesConflict", "HostUnavailable", "KernelBusy", "KernelChangesConflict", "LogDamaged", "LogError",
        "LogUnavailable", "NotOffered", "OutsideWorkspace", "PermissionDenied", "PluginFailed", "PolicyError",
        "ProtocolError", "SessionClosed", "SessionError", "SettingsError", "TurnCancelled", "TurnError", "TurnFailed",
        "TurnRefused", "TurnTimeout", "UnknownAgent", "UnknownMention", "UnknownSession", "UnsupportedVersion",
        "UsageError",
    ),
}  # fmt: skip
"""The public names, by the module that defines them."""
_HOMES = {name: f"agentnb.{module}" for module, names in _NAMES.items() for name in names}

# `import *` would hide the built-in `map`.
__all__ = sorted({*_HOMES, *_MODULES, "__version__"} - {"map"})  # noqa: PLE0605 - from the table


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module  # loads `warnings`, which small programs do not need

        return import_module(f"agentnb.{name}")
    if name in _HOMES:
        if name not in _NAMES["errors"]:
            _connect_shell()
        return getattr(_imported(_HOMES[name]), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*__all__, "map"})


def _imported(*modules: str) -> Any:
    """Import *modules* while no other thread does; give the last one."""
    from agentnb.one_at_a_time import imported

    return imported(*modules)


def _connect_shell() -> None:
    """Where an IPython shell runs, let the host use it: this module alone may know both, so no layer looks upwards."""
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get() if get is not None else None
    if shell is not None:
        _imported("agentnb.api.start", "agentnb.ipython.connected_shell").connect_shell(shell)


def load_ipython_extension(ip: Any) -> None:
    """Load the ``%agent`` magics (``%load_ext agentnb``)."""
    _imported("agentnb.ipython.extension").load(ip)


def unload_ipython_extension(ip: Any) -> None:
    """Take the ``%agent`` magics away (``%unload_ext agentnb``)."""
    _imported("agentnb.ipython.extension").unload(ip)
