"""Branches of a real kernel: tries run in copies, one is kept, and the others leave nothing behind."""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
from ast import literal_eval
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tests.kernel.running_kernel import RunningKernel
from tests.rehearsal_here import HERE, needs_namespaces

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.skipif(not HERE.available, reason=HERE.reason),
    pytest.mark.parametrize("kernel_name", ["ipykernel7"], indirect=True),  # the same on any kernel
]

FIRST, LAST = map(int, os.environ.get("AGENTNB_KEEP_SEEDS", "2026-2031").split("-"))
"""The seeds of the generated programs: each is tried, kept and compared with a direct run."""
AGENTS = Path(__file__).parents[1] / "agents"
SETUP = f"""
import agentnb, json, os, tempfile, numpy as np, pandas as pd
tempfile.tempdir = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="agentnb-test-")
AGENT = {{"command": [{sys.executable!r}, {str(AGENTS / "calls_kernel.py")!r}], "directories": [{str(AGENTS)!r}]}}
def runs(*codes, say="done"):
    calls = [step for code in codes for step in ({{"start": ["run_code", {{"code": code}}]}}, {{"end": 1}})]
    return json.dumps([*calls, {{"say": say}}])
def tries(*codes, n=1, **options):
    return agentnb.branches(runs(*codes), n, agents=[AGENT], **options).wait()
def files():
    found = {{}}
    for folder, _, names in os.walk("."):
        for name in names:
            path = os.path.join(folder, name)
            link = os.path.islink(path)
            found[path] = os.readlink(path) if link else (open(path, "rb").read(), os.stat(path).st_mode & 0o777)
    return dict(sorted(found.items()))
def shape(value, seen):
    if isinstance(value, (int, float, str)): return [type(value).__name__, repr(value)]  # nobody can tell two of them
    if id(value) in seen: return ["again", seen[id(value)]]
    seen[id(value)] = len(seen)
    if isinstance(value, list): return ["list", *[shape(each, seen) for each in value]]
    if isinstance(value, dict): return ["dict", *[[key, shape(each, seen)] for key, each in value.items()]]
    if isinstance(value, pd.DataFrame): return ["frame", value.to_json(), str(dict(value.dtypes)), vars(value).get("v")]
    if isinstance(value, np.ndarray): return ["array", value.tolist(), str(value.dtype)]
    if callable(value): return ["callable", called(value)]
    if type(value).__module__ == "__main__": return [type(value).__name__, shape(vars(value), seen)]
    return [type(value).__name__, repr(value)]
def called(value):
    try: return shape(value(2), {{}})
    except Exception as error: return repr(error)
NAMES = list("abcdefgh")
def facts():
    seen = {{}}
    return json.dumps([[name, shape(globals()[name], seen)] for name in NAMES if name in globals()]), repr(files())
class Thing:
    def __init__(self, v): self.v = v
xs = [1]
"""
STEPS = (
    "{0}.append({n})", "{1} = {0}", "{1} = [{0}, {n}]", "{2} = pd.DataFrame({{'x': range({n})}})", "{2}['y'] = {n}",
    "{2}.loc[0, 'x'] = {n}", "{3} = np.arange({n})", "{3}[:2] = {n}", "{1} = {{'k': {0}, 'n': {n}}}", "del {0}",
    "def {4}(k, g={n}): return k * g + len({0})", "{5} = Thing({0})", "{5}.v = {n}", "{4} = lambda k: (k, {n})",
    "open('made-{n}.bin', 'wb').write(bytes(range(256)) * {n})", "open('kept.txt', 'a').write('{n}\\n')",
    "os.makedirs('sub/{n}', exist_ok=True); open('sub/{n}/x', 'w').write('x')", "os.remove('gone.txt')",
    "open('run.sh', 'w').write('#'); os.chmod('run.sh', 0o755)", "os.symlink('kept.txt', 'link-{n}')",
    "class {6}:\n    v = {n}\n    def __init__(self, w): self.w = w", "{1} = {6}({n}).v",
    "{2} = {2}.copy(); {2}['z'] = 1", "{0} = {n}", "{1} = {n} / 2",
)  # fmt: skip


CLEAN = """
for each in [each for each in globals().values() if isinstance(each, agentnb.Branches)]: each.discard()
for each in [each for each in globals() if not each.startswith("_") and each not in OURS]: del globals()[each]
import os, shutil
for each in os.listdir():
    shutil.rmtree(each) if os.path.isdir(each) and not os.path.islink(each) else os.remove(each)
"""


@pytest.fixture(scope="module")
def shared(kernelspecs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningKernel]:
    """One kernel for tests that leave it unchanged."""
    with RunningKernel.started("ipykernel7", tmp_path_factory.mktemp("branches")) as kernel:
        value(kernel, "%load_ext agentnb\nOURS = {*globals(), 'OURS'}")
        yield kernel


def set_up(kernel: RunningKernel) -> RunningKernel:
    """Adds the tests' files and variables."""
    for name in ("kept.txt", "gone.txt"):
        (kernel.folder / name).write_text(f"{name}\n")
    value(kernel, f"exec({SETUP!r}, globals())")
    return kernel


@pytest.fixture
def loaded(shared: RunningKernel, kernel_name: str) -> Iterator[RunningKernel]:
    """The shared kernel without other tests' data."""
    del kernel_name
    yield set_up(shared)
    value(shared, CLEAN)


@pytest.fixture
def alone(kernel: RunningKernel) -> RunningKernel:
    """A kernel for this test only."""
    return set_up(kernel)


def value(kernel: RunningKernel, code: str) -> Any:
    """Returns the value of the last line of *code*."""
    result = kernel.run(code)
    assert result.status == "ok", result.traceback or result.error
    with contextlib.suppress(SyntaxError, ValueError):  # the value is not a literal
        return literal_eval(result.values[-1]) if result.values else None
    return None


def program(seed: int) -> str:
    """Returns code that changes variables and files; a step that fails changes nothing."""
    chance = random.Random(seed)
    lines = []
    for _ in range(chance.randint(4, 14)):
        names = chance.sample("abcdefgh", 7)
        step = chance.choice(STEPS).format(*names, n=chance.randint(3, 9))
        lines.append("try:\n" + "".join(f"    {line}\n" for line in step.split("\n")) + "except Exception: pass")
    return "\n".join(lines)


def test_kept_try_equals_a_direct_run_and_can_be_undone(loaded: RunningKernel) -> None:
    """Compares values, object identity, and files with their modes and links, for generated programs."""
    value(loaded, "a = [1]; b = a; c = pd.DataFrame({'x': [1, 2]}); d = np.arange(3); e = Thing(a)")
    for seed in range(FIRST, LAST + 1):
        code = program(seed)
        value(loaded, f"code = {code!r}\nbefore = facts()\nmade = tries(code)")
        assert value(loaded, "facts() == before")
        value(loaded, "turn = made.keep(1)\nkept = facts()\nturn.undo()\nundone = facts()")
        value(loaded, "exec(code, globals())\ndirect = facts()")
        assert value(loaded, "kept == direct") or explained(loaded, seed, "kept", "direct")
        assert value(loaded, "undone == before") or explained(loaded, seed, "undone", "before")


def explained(kernel: RunningKernel, seed: int, one: str, other: str) -> bool:
    """Fails and shows both."""
    pytest.fail(f"seed {seed}:\n{program(seed)}\n{one}: {value(kernel, one)}\n{other}: {value(kernel, other)}")


def test_kept_variables_still_share_objects_with_others(loaded: RunningKernel) -> None:
    """Also for objects that the try does not name: a list with the frame, a view of the array."""
    value(loaded, "df = pd.DataFrame({'x': [1, 2]}); frames = [df]; deep = {0: frames}; row = np.arange(3)")
    value(loaded, "def f(): return n\nn, g, part = 1, [f], row[:2]")
    code = "df.v = 7; df.loc[0, 'x'] = 5; row[:] = 9; xs.append(frames); f.also = xs\ndef h(): return n"
    value(loaded, f"turn = tries({code!r}).keep(1)")
    shared = "[frames[0] is df, deep[0] is frames, xs[1] is frames, g[0].also is xs, part.tolist(), h()]"
    assert value(loaded, shared) == [True, True, True, True, [9, 9], 1]
    assert value(loaded, "[frames[0].v, df.x.tolist()]") == [7, [5, 2]]
    value(loaded, "turn.undo()")
    undone = value(loaded, "(hasattr(df, 'v'), df.x.tolist(), part.tolist(), xs, vars(f), frames[0] is df)")
    assert undone == (False, [1, 2], [0, 1], [1], {}, True)


def test_new_function_is_kept_with_the_new_variable_it_uses(loaded: RunningKernel) -> None:
    """Unpickling the function sets the variable before the user's are compared."""
    value(loaded, "turn = tries('def size(): return len(parts)\\nparts = [size]').keep(1)")
    assert value(loaded, "(size(), parts[0] is size)") == (1, True)
    assert value(loaded, "turn.undo()\n('size' in globals(), 'parts' in globals())") == (False, False)


def test_best_try_is_kept_and_others_leave_nothing(loaded: RunningKernel) -> None:
    before = value(loaded, "sorted(os.listdir(tempfile.tempdir))")
    pids = {each.pid for each in psutil.Process(loaded.pid).children(recursive=True)}
    value(
        loaded,
        "known = {each.id for each in agentnb.history(limit=999)}\n"
        'code = \'score = {n}; xs.append({n}); open("s", "w").write("{n}")\'\n'
        "scores = [tries(code.format(n=n), measure='score') for n in (2, 5, 3)]\nmade = scores[1]",
    )
    assert value(loaded, "[each.best.measure for each in scores]") == [2.0, 5.0, 3.0]
    assert value(loaded, "(xs, os.path.exists('s'))") == ([1], False)
    assert "score" in value(loaded, "repr(made[0].variables)")
    value(loaded, "scores[0].discard(); scores[2].discard(); turn = made.keep(1)")
    assert value(loaded, "(xs, score, open('s').read(), turn.text)") == (
        [1, 5],
        5,
        "5",
        "Kept 1 file, 2 variables of try 1 (python).",
    )
    assert value(loaded, "sorted(os.listdir(tempfile.tempdir))") == before
    below = psutil.Process(loaded.pid).children(recursive=True)
    left = [each for each in below if each.pid not in pids and not any("watchdog" in word for word in each.cmdline())]
    assert psutil.wait_procs(left, timeout=20)[1] == []
    new = "[each.title[:9] for each in agentnb.history(limit=999) if each.id not in known]"
    assert sorted(value(loaded, new)) == ["Keep try ", "Try 1: [{"]


def test_keep_conflicts_when_the_user_changed_the_same_parts(loaded: RunningKernel) -> None:
    value(loaded, 'made = tries(\'xs.append(9); new = 7; open("kept.txt", "w").write("try"); open("n", "w").close()\')')
    value(loaded, "open('kept.txt', 'w').write('mine')")
    conflict = loaded.run("made.keep(1)")
    assert "FilesConflict" in conflict.error
    assert "kept.txt" in conflict.error
    value(loaded, "xs = [8]")
    conflict = loaded.run("made.keep(1, only=['xs', 'new'])")
    assert "KernelChangesConflict" in conflict.error
    assert value(loaded, "(xs, 'new' in globals(), open('kept.txt').read(), os.path.exists('n'))") == (
        [8],
        False,
        "mine",
        False,
    )
    value(loaded, "made.keep(1, only=['new']); made.keep(1, only=['n'])")
    assert value(loaded, "(xs, new, open('kept.txt').read(), os.path.exists('n'))") == ([8], 7, "mine", True)
    value(loaded, "made.discard(); made = tries('xs.append(1); n2 = 1')\nys = [xs]; xs.append(2)")
    conflict = loaded.run("made.keep(1)")
    assert "You have changed xs since" in conflict.error
    assert value(loaded, "(xs, 'n2' in globals())") == ([8, 2], False)
    value(loaded, "made.keep(1, only=['n2']); xs.pop(); made.keep(1).undo()")  # xs is restored: the rest can be kept
    assert value(loaded, "(xs, ys[0] is xs, n2)") == ([8], True, 1)
    value(loaded, "made = tries('n2 = 2')")
    assert "changed no 'nothing'" in loaded.run("made.keep(1, only=['nothing'])").error


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import os; os._exit(3)", "ended"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended"),
        ("big = [bytes(2**30) for _ in range(64)]", "false"),
        ("with open('big', 'wb') as file:\n    for _ in range(600): file.write(bytes(2**20))", "false"),
        ("raise SystemExit", "false"),
    ],
    ids=["exit", "killed", "memory", "disk", "SystemExit"],
)
def test_broken_try_leaves_the_notebook_unchanged(loaded: RunningKernel, code: str, says: str) -> None:
    made = value(loaded, f"before = facts()\nmade = tries({code!r}, n=2)\nrepr(made)")
    assert value(loaded, "facts() == before")
    assert says in made
    value(loaded, "made.discard()")
    assert value(loaded, "xs") == [1]


def test_hanging_try_is_cancelled_without_affecting_others(loaded: RunningKernel) -> None:
    value(
        loaded,
        "hangs = agentnb.branches(runs('while True: pass'), 1, agents=[AGENT])\nmade = tries('xs.append(2)')\n"
        "hangs.cancel(); hangs.wait()",
    )
    assert value(loaded, "(hangs[0].state, made[0].state)") == ("failed", "done")
    value(loaded, "hangs.discard(); made.keep(1)")
    assert value(loaded, "xs") == [1, 2]


def test_invalid_measure_is_reported_and_does_not_count(loaded: RunningKernel) -> None:
    for measure, says in (("1 / 0", "ZeroDivisionError"), ("'high'", "not a number"), ("float('nan')", "NaN")):
        value(loaded, f"made = tries('y = 1', measure={measure!r})")
        assert says in value(loaded, "made[0].error")
        assert value(loaded, "(made.best, made[0].state)") == (None, "done")
        value(loaded, "made.discard()")
    assert "not an expression" in loaded.run("agentnb.branches('x', measure='a =')").error


def test_magic_budget_applies_to_each_try(loaded: RunningKernel) -> None:
    assert "budget" in loaded.run("%agent --budget much try 2 Improve it").error
    loaded.run("%agent -a eliza -o spent --budget '1 turns' try 1 hello")
    assert value(loaded, "[each.session.budget for each in spent.wait()]") == ["1 turns"]
    value(loaded, "spent.discard()")


def test_variables_that_cannot_be_pickled_are_named(loaded: RunningKernel) -> None:
    value(loaded, "made = tries('import threading; lock = threading.Lock(); good = 3'); turn = made.keep(1)")
    assert value(loaded, "(good, 'lock' in globals())") == (3, False)
    assert "lock: TypeError" in value(loaded, "turn.text")


NO_FILE_ABOVE = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, ({}, r.getrlimit(r.RLIMIT_FSIZE)[1]))"


def test_full_disk_is_an_error_and_changes_nothing(loaded: RunningKernel) -> None:
    """The disk is full while the workspace is copied and while a try is kept."""
    value(loaded, "open('large.bin', 'wb').write(b'1' * 2 ** 24); n = 1")
    code = "n = 2; open('a.txt', 'w').write('a'); open('kept.txt', 'a').write('b'); open('large.bin', 'ab').write(b'2')"
    value(loaded, f"made = tries({code!r}); before = files()")
    copies = value(loaded, "sorted(os.listdir(tempfile.tempdir))")
    value(loaded, NO_FILE_ABOVE.format(2**23))
    full = loaded.run("tries('1')")
    assert "could not be copied: File too large" in full.error
    assert "Free up space there" in full.error
    assert value(loaded, "sorted(os.listdir(tempfile.tempdir))") == copies
    full = loaded.run("made.keep(1)")
    assert "Try 1 was not kept. [Errno 27] File too large" in full.error
    assert value(loaded, "(files() == before, n, made[0].state)") == (True, 1, "done")
    value(loaded, f"{NO_FILE_ABOVE.format('r.RLIM_INFINITY')}\nmade.keep(1)")
    assert value(loaded, "(open('a.txt').read(), n, os.path.getsize('large.bin'))") == ("a", 2, 2**24 + 1)


def test_kernel_that_cannot_fork_is_replayed(alone: RunningKernel) -> None:
    """Polars' threads do not survive a fork."""
    value(alone, "import polars as pl\nframe = pl.DataFrame({'a': [1, 2]})")
    value(alone, "made = tries('total = frame[\"a\"].sum(); xs.append(3)')")
    assert "Polars cannot calculate in a copy" in value(alone, "repr(made)")
    value(alone, "made.keep(1)")
    assert value(alone, "(total, xs, made[0].way)") == (3, [1, 3], "replay")


def test_magic_starts_tries(loaded: RunningKernel) -> None:
    prompt = json.dumps([{"say": "tried"}])
    (loaded.folder / "agentnb-agent.toml").write_text("")
    result = loaded.run(f"%agent -o made try 2 --measure len(xs) {prompt}")
    assert "ok" in result.status, result.error
    assert value(loaded, "(len(made), [each.measure for each in made])") == (2, [1.0, 1.0])
    value(loaded, "made.discard()")


@needs_namespaces
def test_killing_the_kernel_ends_its_tries(alone: RunningKernel) -> None:
    code = "made = agentnb.branches(runs('while True: pass'), 2, agents=[AGENT])"
    begun = alone.run(code, clickable=True)  # without a page, the last cell waits for all work
    assert begun.status == "ok", begun.error
    below = alone.descendants()
    alone.manager.provisioner.process.kill()  # type: ignore[union-attr]
    assert psutil.wait_procs(below, timeout=30)[1] == []


def test_invalid_arguments_are_reported(loaded: RunningKernel) -> None:
    for call, says in (
        ("agentnb.branches('')", "prompt"),
        ("agentnb.branches('x', 0)", "from 1"),
        ("agentnb.branches('x', agents='claude')", "not a list"),
        ("agentnb.branches('x', agents=['no-such-agent'])", "no-such-agent"),
        ("tries('1').keep(5)", "no try 5"),
    ):
        assert says in loaded.run(call).error
