"""What cells do besides using names: they draw random numbers, look at the clock, change values in place."""

from __future__ import annotations

import ast
import functools
import re
from typing import TYPE_CHECKING

import msgspec

from agentnb.plugins.verify.cell_names import BIND, CALL, USE, cell_names, magics_of, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentnb.plugins.verify.notebook_text import Cell

_CLOCKS = re.compile(
    r"time\.(?:time|time_ns|perf_counter|perf_counter_ns|monotonic|monotonic_ns|process_time|ctime|localtime|gmtime"
    r"|strftime|asctime)"
    r"|(?:datetime\.)?datetime\.(?:now|utcnow|today)|(?:datetime\.)?date\.today"
    r"|(?:pandas\.)?Timestamp\.(?:now|today|utcnow)|pandas\.Timestamp\.(?:now|today|utcnow)|timeit\..*|.*\.default_timer"
    r"|(?:pendulum|arrow)\.(?:now|utcnow|today)"
)
_RANDOM = re.compile(
    r"random\.(?!seed$|setstate$).*|numpy\.random\.(?!seed$|set_state$).*|secrets\..*|uuid\.uuid[14]|os\.urandom"
    r"|torch\.(?:rand|randn|randint|randperm|normal)|(?:tensorflow|tf)\.random\..*|hash|.*\.sample|.*\.shuffle"
    r"|.*\b(?:train_test_split|KMeans|MiniBatchKMeans|RandomForest\w*|ExtraTrees\w*|MLP\w+|SGD\w+|TSNE|ShuffleSplit"
    r"|GradientBoosting\w*|StratifiedShuffleSplit|make_\w+|GaussianMixture|IsolationForest|shuffle|resample"
    r"|DecisionTree\w*|faker\.\w+|Faker)"
)
_SEEDS = re.compile(r"numpy\.random\.(?:default_rng|RandomState|Generator|PCG64|SeedSequence)|random\.Random")
_IDENTITIES = frozenset(
    {"id", "os.getpid", "os.getppid", "threading.get_ident", "tempfile.mkdtemp", "tempfile.mkstemp"}
)
_LOGGED_IDS = ("%(process)", "%(thread)")
_TIMING = frozenset({"time", "timeit", "prun", "memit", "lprun"})
_MUTATORS = frozenset(
    {
        *("append", "extend", "insert", "pop", "remove", "add", "update", "clear", "sort", "reverse", "setdefault"),
        *("popitem", "discard", "appendleft", "popleft", "write", "writelines", "next", "send", "put", "push"),
        *("drop", "fillna", "rename", "dropna", "sort_values", "set_index", "reset_index", "replace", "fit"),
        *("partial_fit", "step", "execute", "executemany", "commit", "normal", "random", "integers", "choice"),
        *("standard_normal", "uniform", "shuffle", "randint", "gauss", "sample", "most_common", "subtract"),
        "insert_one",
    }
)
_ORDERLESS = re.compile(
    r"set|frozenset|os\.listdir|os\.scandir|os\.walk|glob\.i?glob|.*\.(?:iterdir|r?glob|as_completed)|threading\.Thread"
)
_DURATIONS = re.compile(r"\(\)\s*-\s*\w|perf_counter|monotonic|process_time|timeit|default_timer")


class CellFacts(msgspec.Struct):
    clock: list[str] = []
    random: list[str] = []
    identity: list[str] = []
    orderless: list[str] = []
    changes: set[str] = set()
    repeats_differ: bool = False
    takes_time: bool = False
    names_version: bool = False
    texts: set[str] = set()
    stored_keys: set[str] = set()


class NotebookFacts:
    """The facts of a notebook's cells, and the dependencies between them."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = cells
        self._aliases = dict(alias for cell in cells for alias in _aliases(cell.source))

    @functools.cache  # noqa: B019 - lives as long as one verification
    def of(self, cell_source: str) -> CellFacts:
        return _facts(cell_source, self._aliases)

    def upstream(self, cell: Cell) -> list[Cell]:
        """Returns the cells above that *cell* depends on, the nearest first."""
        wanted, seen = {*cell_names(cell.source).used}, []
        for each in reversed([each for each in self._cells if each.index < cell.index]):
            makes = cell_names(each.source).bound | self.of(each.source).changes
            if makes & wanted:
                seen.append(each)
                wanted |= cell_names(each.source).used
        return seen


def _aliases(source: str) -> Iterator[tuple[str, str]]:
    tree = parsed(source)[0]
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Import):
            for each in node.names:
                yield (each.asname, each.name) if each.asname else (each.name.partition(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom):
            for each in node.names:
                yield each.asname or each.name, f"{node.module or ''}.{each.name}"


def _facts(source: str, aliases: dict[str, str]) -> CellFacts:
    tree = parsed(source)[0]
    facts = CellFacts(takes_time=any(name in _TIMING for _, name, _ in magics_of(source)))
    if tree is None:
        return facts
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = dotted(node.func, aliases)
            _sort_call(node, name, facts)
            facts.identity += [name] * (name in _IDENTITIES)
            facts.orderless += [name] * bool(_ORDERLESS.fullmatch(name))
            facts.changes.update(_changed_by_call(node))
        elif isinstance(node, (ast.Assign, ast.AugAssign, ast.Delete, ast.AnnAssign)):
            for each in getattr(node, "targets", None) or [getattr(node, "target", None)]:
                facts.changes.update(_stored_in(each))
                facts.stored_keys.update(_stored_key(each))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            facts.texts.add(node.value)
            facts.identity += [each for each in _LOGGED_IDS if each in node.value]
        elif isinstance(node, ast.Set):
            facts.orderless.append("{…}")
    facts.repeats_differ = _repeats_differ(source, facts.changes)
    facts.takes_time = facts.takes_time or bool(facts.clock and _DURATIONS.search(source))
    facts.names_version = "version" in source.lower()
    return facts


def dotted(node: ast.expr, aliases: dict[str, str]) -> str:
    """Returns a function's dotted name with aliases resolved; a method of an expression begins with a dot."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(aliases.get(node.id, node.id) if isinstance(node, ast.Name) else "")
    return ".".join(reversed(parts))


def _sort_call(node: ast.Call, name: str, facts: CellFacts) -> None:
    short = name.removeprefix("datetime.") if name.startswith("datetime.datetime.") else name
    if _CLOCKS.fullmatch(name) or _CLOCKS.fullmatch(short):
        facts.clock.append(name)
        return
    if any(isinstance(each, ast.Constant) and each.value in {"now", "today"} for each in node.args):
        facts.clock.append(name)
    keywords = {each.arg: each.value for each in node.keywords}
    seed = next((keywords[each] for each in ("random_state", "seed") if each in keywords), None)
    if seed is not None and not _is_none(seed):
        return
    if _SEEDS.fullmatch(name) and node.args and not _is_none(node.args[0]):
        return
    if _RANDOM.fullmatch(name):
        facts.random.append(name)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _changed_by_call(node: ast.Call) -> Iterable[str]:
    if isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
        return _roots(node.func.value)
    if isinstance(node.func, ast.Name) and node.func.id in {"next", "setattr", "delattr"} and node.args:
        return _roots(node.args[0])
    return ()


def _stored_in(target: ast.expr | None) -> Iterable[str]:
    if isinstance(target, (ast.Subscript, ast.Attribute)):
        return _roots(target.value)
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for each in target.elts for name in _stored_in(each)]
    return ()


def _stored_key(target: ast.expr | None) -> Iterable[str]:
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        return [str(target.slice.value)]
    return [target.attr] if isinstance(target, ast.Attribute) else ()


def _roots(node: ast.expr) -> list[str]:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return [node.id] if isinstance(node, ast.Name) else []


def _repeats_differ(source: str, changes: set[str]) -> bool:
    """True if the cell changes something that it did not create, so that running it again may give another result."""
    bound: set[str] = set()
    used: set[str] = set()
    for each in cell_names(source).events:
        if each.what == BIND:
            if each.name in used:
                return True
            bound.add(each.name)
        elif each.what in {USE, CALL} and each.name not in bound:
            used.add(each.name)
    return bool(changes - bound)
