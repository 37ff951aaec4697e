"""The program that runs a task's check, isolated: see :mod:`agentnb.plugins.evaluate.checking`.

Its arguments are two file descriptors: it reads the input (JSON) from the first, and writes the result (JSON) to the
second. It needs only the standard library; the check itself may import more.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import resource
import subprocess
import sys
import traceback
from contextlib import suppress
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_REASON = 2_000
CODE_SECONDS = 60.0
MODULE = "check"
_FINAL = re.compile(r"^[ \t>*_`#-]*answer[ \t*_`]*:(.*)$", re.IGNORECASE | re.MULTILINE)
_NETWORK = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo")


class Run:
    """The input of a check: the agent's answer, and the files that it left.

    Attributes:
        answer: The agent's whole answer.
        folder: Its workspace after the run. The check may write there; its changes are discarded.
        task: The task's folder, which the agent never had: the check reads held-back data there.
        notebook: The notebook that the agent left, with the outputs of a run from the top (nbformat as a dict); None if
            it left none.
        verified: True if that notebook runs from the top and gives the outputs it shows; None if it left none.
        findings: Why it is not verified, a sentence each.
    """

    def __init__(self, order: dict[str, Any]) -> None:
        self.answer: str = order["answer"]
        self.folder: Path = Path(order["folder"])
        self.task: Path = Path(order["task"])
        self.notebook: dict[str, Any] | None = order["notebook"]
        self.verified: bool | None = order["verified"]
        self.findings: list[str] = order["findings"]

    @property
    def final(self) -> str:
        """The text after the last ``ANSWER:`` of the answer, on that line; the run is wrong if there is none."""
        answers = _FINAL.findall(self.answer)
        assert answers, "The answer has no line that starts with ANSWER:."  # noqa: S101 - how a check says wrong
        return str(answers[-1]).strip(" \t\r*_`")

    @property
    def number(self) -> float:
        """:attr:`final` as a number; the run is wrong if it is not one."""
        text = re.sub(r"[\s,_]", "", self.final.rstrip("."))
        try:
            return float(text)
        except ValueError:
            raise AssertionError(f"{self.final!r} is not a number.") from None

    def path(self, name: str) -> Path:
        """Returns a file that the agent was to leave; the run is wrong if it is missing."""
        path = self.folder / name
        assert path.is_file(), f"There is no file {name}."  # noqa: S101 - how a check says wrong
        return path

    def table(self, name: str, **options: Any) -> Any:
        """Returns a CSV file that the agent was to leave, as a pandas data frame; the run is wrong if that fails."""
        import pandas as pd

        path = self.path(name)
        try:
            return pd.read_csv(path, **options)
        except (ValueError, OSError) as error:
            raise AssertionError(f"{name} cannot be read: {error}") from None

    def compare(self, name: str, wanted: Any, key: list[str], *, tolerance: float = 1e-6) -> bool | str:
        """Returns True if a CSV file of the agent has the columns and rows of *wanted*, in any order.

        Args:
            name: The file.
            wanted: A pandas data frame.
            key: The columns whose values identify a row.
            tolerance: The allowed error of a number, relative to the wanted one; absolute for those below 1.

        Returns:
            True, or what is wrong.
        """
        got = self.table(name)
        if set(got.columns) != set(wanted.columns):
            return f"{name} has the columns {', '.join(map(str, got.columns))}, not {', '.join(wanted.columns)}."
        if len(got) != len(wanted):
            return f"{name} has {len(got)} rows, not {len(wanted)}."
        got, wanted = (each.sort_values(key).reset_index(drop=True) for each in (got, wanted))
        for column in wanted.columns:
            wrong = sum(not _is_same(*pair, tolerance) for pair in zip(got[column], wanted[column], strict=True))
            if wrong:
                return f"{name}: {column} is wrong in {wrong} of {len(wanted)} rows."
        return True

    @property
    def code(self) -> str:
        """The code of the notebook's cells, joined in order, without magics."""
        sources = (
            "".join(cell["source"]) for cell in (self.notebook or {}).get("cells", []) if cell["cell_type"] == "code"
        )
        lines = (line for source in sources for line in source.splitlines())
        return "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))

    @property
    def shown(self) -> str:
        """The text that the notebook's cells printed and showed when they were run from the top."""
        texts: list[str] = []
        for cell in (self.notebook or {}).get("cells", []):
            for output in cell.get("outputs", []):
                text = output.get("text", output.get("data", {}).get("text/plain", ""))
                texts.append("".join(text) if isinstance(text, list) else str(text))
        return "\n".join(texts)

    def python(self, code: str, seconds: float = CODE_SECONDS) -> str:
        """Returns what *code* prints in its own process, in the workspace: to test modules that the agent wrote.

        The run is wrong if the code fails. Never import what an agent wrote into the check itself: it could decide the
        outcome.
        """
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        command = [sys.executable, "-c", code]
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            raise AssertionError(f"The code ran longer than {seconds:g} s.") from None
        last = done.stderr.strip().rpartition("\n")[2]
        assert not done.returncode, f"The code fails: {last}"  # noqa: S101 - how a check says wrong
        return done.stdout


def _is_same(got: Any, wanted: Any, tolerance: float) -> bool:
    if isinstance(wanted, str) or isinstance(got, str):
        return str(got).strip() == str(wanted).strip()
    if got != got or wanted != wanted:  # noqa: PLR0124 - NaN
        return bool(got != got and wanted != wanted)  # noqa: PLR0124 - both
    return bool(abs(got - wanted) <= tolerance * max(1.0, abs(wanted)))


def outcome_of(check: Any, run: Run) -> tuple[str, str]:
    """Returns the verdict of *check* on *run*: ``"right"``, ``"wrong"`` or ``"broken"``, and the reason."""
    try:
        result = check(run)
    except AssertionError as error:
        return "wrong", str(error) or f"check.py, line {_line(error)}, failed."
    except MemoryError:
        return "broken", "check.py used more memory than a check may use."
    except BaseException as error:  # noqa: BLE001 - the check may raise anything, SystemExit as well
        return "broken", f"check.py, line {_line(error)}, raised {type(error).__name__}: {error}"
    if hasattr(result, "item") and not isinstance(result, str):
        with suppress(Exception):
            result = result.item()  # a NumPy scalar
    if isinstance(result, bool):
        return ("right", "") if result else ("wrong", "The check failed.")
    if isinstance(result, str) and result.strip():
        return "wrong", result
    wanted = "it must return True, False, or a text that says what is wrong"
    return "broken", f"check.py returned {result!r:.200}: {wanted}."


def _line(error: BaseException) -> int:
    own = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename.endswith("check.py")]
    return own[-1] or 0 if own else 0


def _checked(order: dict[str, Any]) -> tuple[str, str]:
    sys.path[0] = order["task"]  # import modules beside the check, and none of the agent's
    sys.dont_write_bytecode = True
    try:
        spec = importlib.util.spec_from_file_location(MODULE, os.path.join(order["task"], "check.py"))  # noqa: PTH118
        module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        spec.loader.exec_module(module)  # type: ignore[union-attr]
        check = module.check
    except BaseException as error:  # noqa: BLE001 - as the check itself
        return "broken", f"check.py cannot be loaded: {type(error).__name__}: {error}"
    return outcome_of(check, Run(order))


def _refuse_network(event: str, _arguments: object) -> None:
    if event in _NETWORK:
        raise PermissionError("A check has no network.")


def main(reading: int, report: int) -> None:
    for each in (reading, report):
        os.set_inheritable(each, False)
    with open(reading, encoding="utf-8") as file:
        order = json.load(file)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = order["memory"] if hard == resource.RLIM_INFINITY else min(order["memory"], hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    if order["block_network"]:
        sys.addaudithook(_refuse_network)
    os.chdir(order["folder"])
    outcome, why = _checked(order)
    os.write(report, json.dumps({"outcome": outcome, "why": why[:LONGEST_REASON]}).encode())
    os._exit(0)  # exit at once, without waiting for the check's threads


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
