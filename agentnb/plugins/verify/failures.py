"""Says why a cell failed, from its error and from what it did."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.plugins.verify.cell_names import magics_of
from agentnb.plugins.verify.static_check import MissingName, NameFinder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.plugins.verify.notebook_text import Cell
    from agentnb.plugins.verify.result import Finding, Kind
    from agentnb.plugins.verify.run import CellResult

NETWORK_ADVICE = "Allow the host (`network=`, `--network`), or keep what it downloads in a file beside the notebook."
NO_COMMAND = 127
"""A shell's exit code if the command does not exist."""
_NAME = re.compile(r"name '(?P<name>\w+)' is not defined")
_QUOTED = re.compile(r"['\"](?P<text>[^'\"]+)['\"]")
_NO_COMMAND = re.compile(r"(?<![\w./+-])(?P<name>[\w./+-]+): (?:command )?not found")
_NETWORK = re.compile(
    r"URLError|gaierror|Connect\w*Error|Connect\w*Timeout|MaxRetryError|NewConnectionError|SSLError|ProxyError"
    r"|HTTPError|RemoteDisconnected|ClientConnector\w*|ReadTimeout|EndpointConnectionError"
)
_NETWORK_WORDS = re.compile(
    r"name resolution|unreachable|Name or service not known|Max retries exceeded|getaddrinfo|nodename nor servname"
    r"|Failed to resolve"
)
_NO_HOST = re.compile(
    r"^.*(?:[Cc]ould not resolve host|unable to resolve host|failure in name resolution|Network is unreachable).*",
    re.MULTILINE,
)
_DEVICE = re.compile(
    r"CUDA|NVIDIA|\bGPU\b|cuda|no display|\$DISPLAY|cannot connect to X|Could not connect to display", re.IGNORECASE
)
_VERSION = re.compile(
    r"module '(?P<module>[\w.]+)' has no attribute|cannot import name '\w+' from '(?P<package>[\w.]+)'"
)
_REMOVED = re.compile(
    r"'(?P<kind>DataFrame|Series|Index|ndarray|Figure|Axes\w*|LazyFrame|GroupBy)' object has no attribute"
    r"|unexpected keyword argument|got an unexpected|has been removed|was removed|no longer supported|deprecated"
)
_MISUSES = frozenset({"AttributeError", "TypeError", "ImportError", "ValueError", "NotImplementedError"})
_LIBRARIES = {
    **dict.fromkeys(("DataFrame", "Series", "Index", "GroupBy"), "pandas"),
    **dict.fromkeys(("Figure", "Axes"), "matplotlib"),
    "ndarray": "numpy",
    "LazyFrame": "polars",
}


class Failure(NamedTuple):
    """One cell that failed, and its error: the name, the text and the line."""

    cell: Cell
    result: CellResult
    name: str
    text: str
    line: int

    @property
    def evidence(self) -> str:
        """Returns the error as in the last line of Jupyter's traceback, and the line of code."""
        text = "\n".join(self.text.splitlines()[:3])
        error = f"{self.name}: {text}".strip(": ")[:400]
        code = self.cell.line(self.line)
        return f"{code}\n{error}" if code else error

    def finding(self, kind: Kind, why: str, advice: str) -> Finding:
        return self.cell.finding(kind, f"would fail: {why}", evidence=self.evidence, advice=advice)


def failure_of(cell: Cell, result: CellResult) -> Failure:
    error: dict[str, Any] = result.error or {}
    return Failure(cell, result, str(error.get("ename", "")), str(error.get("evalue", "")), error.get("line", 0))


def explained(failure: Failure, names: NameFinder) -> Finding | None:
    """Returns the finding for a failure that the error itself explains; else None."""
    for explain in _EXPLANATIONS:
        finding = explain(failure)
        if finding is not None:
            return finding
    if failure.name == "NameError" and (match := _NAME.search(failure.text)):
        return names.finding(MissingName(match["name"], failure.cell, failure.line), failure.evidence)
    return None


def _module(failure: Failure) -> Finding | None:
    if failure.name not in {"ModuleNotFoundError", "PackageNotFoundError", "DistributionNotFound"}:
        return None
    quoted = _QUOTED.search(failure.text)
    name = quoted["text"] if quoted else failure.text.split()[-1]
    extension = next(
        (rest for sign, magic, rest in magics_of(failure.cell.source) if magic in {"load_ext", "reload_ext"}), ""
    )
    if extension and extension.split()[0].partition(".")[0] == name.partition(".")[0]:
        return failure.finding(
            "magic-missing", f"the extension {name!r} is not installed.", f"Install it: `pip install {name}`."
        )
    top = name.partition(".")[0]
    if top != name and _installed_version(top):
        why = f"{top} {_installed_version(top)} is installed, and has no {name!r}: the code is for another version."
        return failure.finding(
            "package-version", why, f"Pin the version of {top} that it was written for, or adapt it."
        )
    why = f"the package {name!r} is not installed here."
    return failure.finding(
        "package-missing", why, f"Install it (`pip install {name}`), or list what the notebook needs."
    )


def _version(failure: Failure) -> Finding | None:
    match = _VERSION.search(failure.text)
    module = (match["module"] or match["package"] or "").partition(".")[0] if match else ""
    if not module and failure.name in _MISUSES:
        removed = _REMOVED.search(failure.text)
        kind = removed["kind"] if removed else None
        module = _LIBRARIES.get(kind or "", "")
        if removed and not module and not (kind is None and failure.cell.has_run and "keyword" not in failure.text):
            module = _called_library(failure)
    is_check = failure.name in {"AssertionError", "RuntimeError", "ImportError", "VersionConflict", "SystemExit"}
    if not module and is_check and ("__version__" in failure.cell.source or "version" in failure.text.lower()):
        imported = [name for name in _imports(failure.cell.source) if _installed_version(name)]
        module = imported[0] if imported else "python"
    version = _installed_version(module) if module else ""
    if not version and module != "python":
        return None
    name = f"{module} {version}".strip()
    return failure.finding(
        "package-version",
        f"{name} is installed, but the code is written for another version.",
        f"Pin the version of {module} that it was written for, or adapt the code.",
    )


def _called_library(failure: Failure) -> str:
    """Returns the installed package in the failing line whose function got a wrong argument; '' if there is none."""
    line = failure.cell.line(failure.line) or failure.cell.source
    aliases = {"pd": "pandas", "np": "numpy", "plt": "matplotlib", "pl": "polars", "sns": "seaborn"}
    names = [aliases.get(each, each) for each in re.findall(r"\b(\w+)\.", line)]
    return next((each for each in names if _installed_version(each)), "")


def _imports(source: str) -> list[str]:
    names = re.findall(r"^[ \t]*(?:import|from)[ \t]+(\w+)", source, re.MULTILINE)
    aliases = {"pd": "pandas", "np": "numpy", "pl": "polars", "plt": "matplotlib", "sklearn": "scikit-learn"}
    return [*names, *(aliases.get(each, each) for each in re.findall(r"\b(\w+)\.__version__", source))]


def _installed_version(name: str) -> str:
    try:
        return metadata.version({"sklearn": "scikit-learn"}.get(name, name))
    except (metadata.PackageNotFoundError, ValueError):
        return ""


def _file(failure: Failure) -> Finding | None:
    is_missing = failure.name == "FileNotFoundError" or re.search(
        r"No such file or directory|^File .* not found|unable to open database file|no such table|does not exist",
        failure.text,
    )
    if not is_missing or failure.name == "CalledProcessError":
        return None
    names = [each["text"] for each in _QUOTED.finditer(failure.text)]
    name = names[-1] if names else ""
    is_program = name and not re.search(r"[/.]", name) and "subprocess" in failure.cell.source
    if failure.name == "FileNotFoundError" and is_program:
        return failure.finding(
            "command-missing", f"the program {name!r} is not installed here.", "Install it, or do without it."
        )
    why = f"the file {name!r} is not there." if name else "a file does not exist."
    advice = "Restore it, or create it in the notebook."
    if Path(name).is_absolute():
        advice = "Use a path that is relative to the notebook."
    return failure.finding("file-missing", why, advice)


def _network(failure: Failure) -> Finding | None:
    hosts = failure.result.trace.get("hosts", [])
    is_known = _NETWORK.fullmatch(failure.name) or _NETWORK_WORDS.search(failure.text)
    is_likely = (
        hosts and failure.name.endswith(("Error", "Timeout", "Exception")) and "onnect" in failure.name + failure.text
    )
    local = re.search(r"(?:localhost|127\.0\.0\.1)[^\n]{0,80}?(?:port |:)(\d+)|[Cc]onnection refused", failure.text)
    if local and not hosts:
        where = f" at port {local[1]}" if local[1] else ""
        why = f"it needs a server{where} that does not run here."
        return failure.finding("unavailable", why, "Start it where the notebook is run, or use stored data.")
    if not (is_known or is_likely):
        return None
    return failure.finding("network", f"{needs_network(hosts)}.", NETWORK_ADVICE)


def needs_network(hosts: Sequence[str]) -> str:
    return f"it needs the network{f' ({hosts[0]})' if hosts else ''}, which was not allowed"


def _magic(failure: Failure) -> Finding | None:
    match = re.search(r"(?:Line|Cell) magic(?: function)? `?(?P<name>%+\w+)`?", failure.text)
    if failure.name != "UsageError" or match is None:
        return None
    return failure.finding(
        "magic-missing", f"there is no magic `{match['name']}`.", "Load its extension with %load_ext first."
    )


def _command(failure: Failure) -> Finding | None:
    return missing_command(failure.cell, failure.result) if failure.name == "CalledProcessError" else None


def _device(failure: Failure) -> Finding | None:
    if not _DEVICE.search(failure.text) or failure.name in {"NameError", "KeyError"}:
        return None
    what = "a display" if re.search(r"display|to X", failure.text, re.IGNORECASE) else "a GPU"
    return failure.finding(
        "unavailable", f"it needs {what}, which is not available here.", "Make the code work without it."
    )


def missing_command(cell: Cell, result: CellResult) -> Finding | None:
    """Returns the finding for a shell command that is not installed, which does not make its cell fail."""
    if result.trace.get("exit_code") != NO_COMMAND and f"status {NO_COMMAND}" not in str(result.error):
        return None
    printed = "\n".join(str(each.get("text", "")) for each in result.outputs)
    match = _NO_COMMAND.search(printed)
    shell = next((rest for sign, _, rest in magics_of(cell.source) if sign == "!"), "")
    name = match["name"] if match else shell.split()[0] if shell else "?"
    return cell.finding(
        "command-missing",
        f"would fail: the command {name!r} is not installed here.",
        evidence=printed.strip()[:300],
        advice="Install it, or do it in Python.",
    )


def missing_network(cell: Cell, result: CellResult) -> Finding | None:
    """Returns the finding for a shell command that needs the network, which does not make its cell fail."""
    printed = "\n".join(str(each.get("text", "")) for each in result.outputs if each.get("output_type") == "stream")
    match = _NO_HOST.search(printed)
    stored = "\n".join(str(each.get("text", "")) for each in cell.outputs)
    if match is None or _NO_HOST.search(stored):
        return None
    return cell.finding(
        "network",
        f"would fail: {needs_network(result.trace.get('hosts', ()))}.",
        evidence=match[0][:300],
        advice=NETWORK_ADVICE,
    )


class _Known(NamedTuple):
    """Why a cell failed, as far as the error's name or text alone tells."""

    kind: Kind
    why: str
    advice: str
    names: str = "(?!)"
    text: str = "(?!)"


_KNOWN = (
    _Known(
        "input",
        "it waits for input from a person.",
        "Set the value in the code, or in a variable.",
        names="StdinNotImplementedError",
    ),
    _Known(
        "memory",
        "it needs more memory than there is.",
        "Use part of the data, or process it in chunks.",
        names=r"MemoryError|_ArrayMemoryError|OutOfMemory\w*",
        text="Unable to allocate",
    ),
    _Known(
        "processes",
        "it starts more processes than a verification allows.",
        "Start fewer at once.",
        text="Resource temporarily unavailable|can't start new thread",
    ),
    _Known(
        "disk",
        "it writes more than a verification allows (512 MB).",
        "Write less, or in parts.",
        text="No space left|File too large|Disk quota|database or disk is full",
    ),
    _Known(
        "package-version",
        "this matplotlib has no such style: the code is for another version.",
        "Use a style that `plt.style.available` lists.",
        text="is not a valid package style",
    ),
    _Known("syntax", "it is not valid Python.", "Fix the line.", names="SyntaxError|IndentationError|TabError"),
    _Known(
        "error",
        "it ends the run (`sys.exit()`, or a program that ends itself).",
        "Remove it; if the run should end here, tag the cell `raises-exception`.",
        names="SystemExit",
    ),
)


def _by_itself(failure: Failure) -> Finding | None:
    for each in _KNOWN:
        if re.fullmatch(each.names, failure.name) or re.search(each.text, failure.text):
            return failure.finding(each.kind, each.why, each.advice)
    return None


_EXPLANATIONS: tuple[Callable[[Failure], Finding | None], ...] = (
    *(_module, _magic, _command, _device, _file, _network, _version, _by_itself),
)
