"""Decides whether this process's agents are recorded, replayed, or left alone.

``AGENTNB_CASSETTE`` names the file; ``AGENTNB_CASSETTE_MODE`` sets the mode: ``auto`` (the default) replays it if it
exists and otherwise records it, ``record`` records it again, ``replay`` requires that it exists, ``off`` ignores it.
``builtin`` needs no file: only the built-in eliza starts.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agentnb.agent.catalog import AgentSpec
from agentnb.cassette import file
from agentnb.cassette.changed_files import FILES, keeps_files
from agentnb.cassette.file import AGAIN
from agentnb.cassette.large_content import belongs_to, notebook_of
from agentnb.cassette.recorder import check_place
from agentnb.cassette.report import REPORTS, ExitReport, reports
from agentnb.errors import CassetteBroken, UsageError
from agentnb.events.kinds import CASSETTE_OPENED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentnb.acp.peer import Tap
    from agentnb.cassette.recorder import CassetteRecorder

PATH, MODE, PACE = "AGENTNB_CASSETTE", "AGENTNB_CASSETTE_MODE", "AGENTNB_CASSETTE_PACE"
TURNED = "AGENTNB_RECORDING"
BUILTIN = "builtin"
MODES = ("auto", "record", "replay", "off", BUILTIN)
PACES = ("instant", "recorded")
_KEPT = ("title", "login", "logout", "capabilities", "steering")
"""The fields of an agent's description that a replay needs: none depends on the machine, as the command does."""

State = Literal["record", "replay", "off"]


class CassetteSwitch:
    """Records or replays the agents of one process; safe from any thread."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._folder = _begun_in()
        self.turned: int = 0
        self._lock = threading.Lock()
        self._settled: dict[str, State] = {}
        self._launches: dict[str, int] = {}
        self._recorder: CassetteRecorder | None = None
        self._exit_reports: dict[Path, ExitReport] = {}

    def state(self) -> tuple[State, Path | None]:
        """Returns the state, and the cassette to record or replay, if any."""
        if self._recorder is not None:
            return "record", self._recorder.path
        name, mode = self._environment.get(PATH, ""), self._environment.get(MODE, "") or "auto"
        if mode not in MODES:
            raise UsageError(f"{MODE}={mode!r} is not one of {', '.join(MODES)}.", hint=f"Set it, or unset {PATH}.")
        if not name and mode in ("record", "replay"):
            hint = f"Name it, {PATH}=fit.cassette.jsonl, or unset {MODE}."
            raise UsageError(f"{MODE}={mode} is set, and {PATH} does not name a cassette.", hint=hint)
        if not name or mode in ("off", BUILTIN):
            return "off", None
        path = self._path_of(name)
        return self._settle(path, mode), path

    def agents(self) -> dict[str, AgentSpec | None]:
        """Returns the agents of the replayed cassette, by name, as it describes them; None if it does not (0.1).

        A replay must not depend on the agents that this machine knows.
        """
        recorded = file.read_agents(path) if (path := self._replayed()) is not None else {}
        return {name: _recorded_spec(name, about) if about else None for name, about in recorded.items()}

    def standing_in(self, spec: AgentSpec) -> AgentSpec:
        """Returns the agent to check for instead of *spec*: the replayer, if a cassette is replayed."""
        state, path = self.state()
        if self._environment.get(MODE) == BUILTIN and not (spec.name == "eliza" and spec.origin == "built in"):
            hint = (
                "Record one with the agent installed: pytest --agentnb-record. "
                f"To talk to the real agent in each run, set {MODE}=off."
            )
            raise UsageError(
                f"There is no cassette for this notebook, and it starts the agent {spec.name!r}.", hint=hint
            )
        return _replayer(spec, path, 0, "instant", {}) if state == "replay" and path is not None else spec

    def expected(self) -> None:
        """Prepare to run a notebook: turns of its cassette that it never requests are reported at the end."""
        if (path := self._replayed()) is not None:
            self._reports(path)

    def wanted(self) -> tuple[State, Path | None]:
        """As :meth:`state`, but a cassette to replay need not exist: a batch's answers are in a file beside it."""
        try:
            return self.state()
        except CassetteBroken:
            return "replay", self._path_of(self._environment.get(PATH, ""))

    @property
    def is_replaying(self) -> bool:
        """True if agents are replayed, so that nothing they say now is paid for."""
        with contextlib.suppress(UsageError):
            return self.wanted()[0] == "replay"
        return False

    @property
    def stands_in(self) -> bool:
        """True if agents are recorded or replayed, or only the built-in ones may be started."""
        return self.path() is not None or self._environment.get(MODE) == BUILTIN

    def path(self) -> Path | None:
        """Returns the cassette that is recorded or replayed; None if there is none, or the settings are invalid."""
        with contextlib.suppress(UsageError, CassetteBroken):  # opening a session reports the error
            return self.state()[1]
        return None

    def owns(self, path: Path) -> bool:
        """True if *path* is the cassette, or a file beside it that belongs to it: no agent wrote that."""
        cassette = self.path()
        return cassette is not None and belongs_to(path, cassette)

    def is_notebook(self, path: Path) -> bool:
        """True if *path* is the notebook beside the cassette, which the user and Jupyter also write."""
        cassette = self.path()
        return cassette is not None and path == notebook_of(cassette)

    def matched_prompts(self) -> int | None:
        """Returns how many prompts the replay has found in the cassette so far; None if nothing is replayed."""
        if (path := self._replayed()) is None:
            return None
        folder = self._environment.get(REPORTS) or (path in self._exit_reports and self._exit_reports[path].folder)
        return sum(len(report["turns"]) for report in reports(Path(folder))) if folder else None

    def apart(self) -> dict[str, str]:
        """Environment that keeps agents started now apart from those that ran before recording started or stopped."""
        return {TURNED: str(self.turned)} if self.turned else {}

    def launching(self, spec: AgentSpec, env: Mapping[str, str]) -> tuple[AgentSpec, Tap | None]:
        """Returns what to launch instead of *spec*, and the tap that listens, if any."""
        with self._lock:
            state, path = self.state()
            if state == "off" or path is None or env.get(MODE) == "off":  # "off": a batch records its answers itself
                return spec, None
            if state == "replay":
                self._launches[spec.name] = number = self._launches.get(spec.name, 0) + 1
                CASSETTE_OPENED.tell(path=str(path), mode=state, agent=spec.name)
                files = {FILES: "on" if keeps_files(self._environment) else "off"}
                return _replayer(spec, path, number, self._pace(), {**files, **self._reports(path)}), None
            takes_files = keeps_files(self._environment)
            recorder = self._recorder or self._record(path)
            CASSETTE_OPENED.tell(path=str(path), mode=state, agent=spec.name)
            return spec, recorder.tap(spec.name, {**spec.env, **env}, _description_of(spec), takes_files=takes_files)

    @contextlib.contextmanager
    def scope(self, path: Path | None, mode: str) -> Iterator[None]:
        """Apply *mode* to *path* inside the block, counting launches anew and ignoring the environment."""
        before = self._environment, self._settled, self._launches, self._recorder
        variables = {**self._environment, PATH: str(path or ""), MODE: mode if path is not None else "off"}
        self._environment, self._settled, self._launches, self._recorder = variables, {}, {}, None
        try:
            yield
        finally:
            try:
                self._end()
            finally:
                self._environment, self._settled, self._launches, self._recorder = before

    def record(self, path: Path) -> None:
        """From now on record the agents that are launched."""
        with self._lock:
            state, known = self.state()
            if state != "off":
                doing = "recorded" if state == "record" else "replayed"
                raise UsageError(f"{known} is being {doing} already.", hint="`%agents record stop` ends a recording.")
            if not path.parent.is_dir():
                raise UsageError(f"{path.parent} is not a folder.", hint="Create it, or specify another one.")
            check_place(path)
            self._record(path)
            self.turned += 1

    def stop(self) -> CassetteRecorder:
        with self._lock:
            if self._recorder is None:
                raise UsageError("Nothing is being recorded.", hint="`%agents record PATH` begins.")
            self.turned += 1
            recorder = self._recorder
            self._end()
        return recorder

    def _replayed(self) -> Path | None:
        """Returns the cassette that is replayed; None if there is none, or the settings are invalid."""
        with contextlib.suppress(UsageError, CassetteBroken):  # opening a session reports the error
            state, path = self.state()
            return path if state == "replay" else None
        return None

    def _path_of(self, name: str) -> Path:
        return Path(os.path.abspath(self._folder / Path(name).expanduser()))  # noqa: PTH100 - links are kept

    def _end(self) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            atexit.unregister(_close)
            _close_with_word(recorder)

    def _record(self, path: Path) -> CassetteRecorder:
        from agentnb.cassette.recorder import CassetteRecorder

        recorder = self._recorder = CassetteRecorder(path, self._environment)
        atexit.register(_close, recorder)
        return recorder

    def _settle(self, path: Path, mode: str) -> State:
        """Returns what *mode* means for *path*; decided once, since recording creates the file."""
        key = f"{mode}:{path}"
        if key not in self._settled:
            is_new = mode == "record" or not path.exists()
            if is_new and mode == "replay":
                raise CassetteBroken(f"{path}: there is no cassette, and {MODE}=replay requires one.", hint=AGAIN)
            if is_new:
                check_place(path)
            self._settled[key] = "record" if is_new else "replay"
        return self._settled[key]

    def _reports(self, path: Path) -> dict[str, str]:
        """Returns the environment that tells the replayers of *path* where to report; empty if they know."""
        if self._environment.get(REPORTS):
            return {}
        if path not in self._exit_reports:
            self._exit_reports[path] = ExitReport(path)
        return {REPORTS: self._exit_reports[path].folder}

    def _pace(self) -> str:
        pace = self._environment.get(PACE, "") or PACES[0]
        if pace not in PACES:
            raise UsageError(f"{PACE}={pace!r} is not one of {', '.join(PACES)}.", hint="Unset it.")
        return pace


def _begun_in() -> Path:
    """Returns the folder this process started in, so that relative paths stay the same if a cell changes folders."""
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get() if get is not None else None
    with contextlib.suppress(FileNotFoundError):
        return Path(getattr(shell, "starting_dir", None) or os.getcwd())  # noqa: PTH109 - as the kernel has it
    return Path()


def _replayer(spec: AgentSpec, path: Path, launch: int, pace: str, env: Mapping[str, str]) -> AgentSpec:
    words = ("replay", str(path), "--agent", spec.name, "--launch", str(launch), "--pace", pace)
    return msgspec.structs.replace(spec, command=(sys.executable, "-m", "agentnb", *words), env=dict(env))


def _close(recorder: CassetteRecorder) -> None:
    """Close at the end of the process; an error is printed to the original stderr, which may be a terminal."""
    try:
        _close_with_word(recorder)
    except (CassetteBroken, OSError) as error:
        print(f"agentnb: the cassette was not written: {error}", file=sys.__stderr__)


def _close_with_word(recorder: CassetteRecorder) -> None:
    recorder.close()
    if recorder.word is not None:
        print(f"agentnb: {recorder.word}", file=sys.__stderr__)


def _description_of(spec: AgentSpec) -> dict[str, Any]:
    """The fields of *spec* that a replay needs, as JSON; those with their default value are left out."""
    every = msgspec.to_builtins(spec)
    usual = msgspec.to_builtins(AgentSpec(name="", title="", command=()))
    kept = {name: every[name] for name in _KEPT if every[name] != usual[name]}
    if isinstance(offered := kept.get("capabilities"), dict):
        kept["capabilities"] = {name: is_on for name, is_on in offered.items() if is_on != usual["capabilities"][name]}
    return kept


def _recorded_spec(name: str, description: dict[str, Any]) -> AgentSpec | None:
    """Returns the agent *name* as a cassette describes it; None if this version does not understand the description."""
    kept = {field: value for field, value in description.items() if field in _KEPT}
    try:
        return msgspec.convert({"title": name, **kept, "name": name, "command": [name]}, AgentSpec)
    except msgspec.ValidationError:
        return None
