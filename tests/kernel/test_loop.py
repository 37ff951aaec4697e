"""A loop in a real kernel: it keeps better tries, leaves nothing of the others, and ends at each limit."""

from __future__ import annotations

import contextlib
import os
import random
import threading
from ast import literal_eval
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.kernel.loops import AGENTS, CELLS, SETUP, is_watchdog, loop, run_of, started, value
from tests.kernel.running_kernel import RunningKernel
from tests.notebooks.recorded import execute_here, notebook, without_agents
from tests.notebooks.recorded import run as run_notebook
from tests.rehearsal_here import HERE

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not HERE.available, reason=HERE.reason)

TRIES = int(os.environ.get("AGENTNB_LOOP_TRIES", "6"))
KILLS = int(os.environ.get("AGENTNB_LOOP_KILLS", "1"))


@pytest.fixture(scope="module")
def shared(kernelspecs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningKernel]:
    """One kernel for the tests of this file."""
    with started(tmp_path_factory.mktemp("loop")) as kernel:
        yield kernel


@pytest.fixture
def loaded(shared: RunningKernel) -> RunningKernel:
    """The kernel with a model and a scoring function, without other tests' data."""
    value(shared, CELLS)
    return shared


def test_improving_tries_are_kept_and_others_leave_nothing(loaded: RunningKernel) -> None:
    made = value(loaded, "known = {each.id for each in agentnb.history()}; sorted(os.listdir(tempfile.tempdir))")
    before = {each.pid for each in loaded.descendants()}
    steps = (
        {"run": "model.x = 2; extra = 1", "write": ["kept.txt", "2"], "say": "I doubled it.\nIdea: **double it**"},
        {"run": "model.x = 1.5; other = 1", "write": ["worse.txt", "1"]},
        {"run": "1 / 0"},
        {"run": "model.x = 7", "write": ["kept.txt", "7"]},
    )
    states = ["start", "kept", "not better", "unchanged", "kept"]
    assert value(loaded, loop(*steps, tries=4)) == (states, 7.0, "4 tries are done.")
    assert value(loaded, "(model.x, extra, 'other' in globals(), open('kept.txt').read())") == (7, 1, False, "7")
    assert value(loaded, "sorted(os.listdir())") == ["kept.txt", "test.csv"]
    assert value(loaded, "[made.tries[1].idea, made.tries[1].changes]") == ["double it", "1 file, 2 variables"]
    assert "+2" in value(loaded, "made.difference(1)")
    assert value(loaded, "sorted(os.listdir(tempfile.tempdir))") == made
    titles = value(loaded, "sorted({each.title.split(':')[0] for each in agentnb.history() if each.id not in known})")
    assert titles == ["Keep try 1", "Keep try 4", "Try 1", "Try 4"]
    left = [each for each in loaded.descendants() if each.pid not in before]
    assert psutil.wait_procs([each for each in left if not is_watchdog(each)], timeout=20)[1] == []


def test_try_cannot_change_what_the_metric_depends_on(loaded: RunningKernel) -> None:
    """Tries change data, a file and the notebook's code; a patched library is not kept."""
    steps = (
        {"run": "y_test[:] = 9; model.x = 5"},
        {"run": "y_test = np.ones(99)"},
        {"run": "model.x = 9", "write": ["test.csv", "mine"]},
        {"run": "def score(): return 99"},
        {"run": "y_test = np.array([1, 2, 3]); model.x = 2"},
        {"run": "np.size = lambda _: 99; new = 1"},
    )
    states = ["start", "failed", "failed", "failed", "failed", "kept", "not better"]
    assert value(loaded, loop(*steps, tries=6)) == (states, 2.0, "6 tries are done.")
    whys = value(loaded, "[each.why for each in made.tries][1:5]")
    assert [name for name, why in zip(["y_test", "y_test", "test.csv", "score"], whys, strict=True) if name in why] == [
        "y_test",
        "y_test",
        "test.csv",
        "score",
    ]
    assert value(loaded, "made.held") == ("score", "y_test", "test.csv")
    assert value(loaded, "(score(), y_test.tolist(), open('test.csv').read())") == (2.0, [1, 2, 3], "truth")


def test_held_option_protects_only_the_named_items(loaded: RunningKernel) -> None:
    step = {"run": "y_test = np.ones(30)", "write": ["test.csv", "truth"]}
    assert value(loaded, loop(step, tries=1, held=["test.csv"]))[:2] == (["start", "kept"], 10.0)
    assert "neither a variable nor a file" in loaded.run(loop(step, tries=1, held=["gone"])).error


@pytest.mark.parametrize(
    ("metric", "says"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("float('nan')", "NaN"),
        ("'high'", "not a number"),
        ("True", "not a number"),
        ("scroe()", "The metric needs scroe, which this kernel does not have."),
        ("score(", "not an expression"),
        ("__import__('threading').Event().wait()", "longer than 2 s"),
        ("__import__('os')._exit(3)", "has ended"),
    ],
    ids=["raises", "NaN", "text", "bool", "missing", "syntax", "hangs", "exits"],
)
def test_invalid_metric_is_reported_at_the_start(loaded: RunningKernel, metric: str, says: str) -> None:
    assert says in loaded.run(loop({}, metric=metric, tries=1, metric_timeout=2)).error


def test_a_metric_that_fails_in_a_try_fails_that_try(loaded: RunningKernel) -> None:
    """It raises, is NaN or no number, hangs or exits; five failures in a row end the loop."""
    hangs = "class Slow:\n    def __mul__(self, _):\n        while True: pass\nmodel.x = Slow()"
    ends = "class Ends:\n    def __mul__(self, _): import os; os._exit(1)\nmodel.x = Ends()"
    codes = ("model.x = None", "model.x = float('nan')", "model.x = 1j", hangs, ends)
    result = loaded.run(loop(*({"run": each} for each in codes), tries=9, metric_timeout=2))
    assert "5 tries in a row failed" in result.error
    whys = value(loaded, "made = None; [each.why for each in agentnb.loop.resume(tries=5).wait().tries][1:6]")
    for words, why in zip(("TypeError", "NaN", "not a number", "longer than 2 s", "has ended"), whys, strict=True):
        assert words in why


def test_gain_is_confirmed_by_evaluating_again(loaded: RunningKernel) -> None:
    """The function is lucky only at its first call in a copy."""
    value(
        loaded, "calls = []\ndef lucky():\n    calls.append(1)\n    return model.x + (len(calls) == 1) * gift\ngift = 0"
    )
    steps = ({"run": "gift = 5"}, {"run": "gift = 5; model.x = 3"})
    options = {"metric": "lucky", "tries": 2, "held": ["lucky"]}
    assert value(loaded, loop(*steps, **options, again=2))[0] == ["start", "not better", "kept"]
    assert value(loaded, "[each.values for each in made.tries]") == [(1.0, 1.0, 1.0), (6.0, 1.0), (8.0, 3.0, 3.0)]
    assert "not confirmed" in value(loaded, "made.tries[1].why")


def test_loop_ends_at_each_limit(loaded: RunningKernel) -> None:
    """A try that runs when the time or the budget ends is stopped, and nothing of it is kept."""
    waits = {"run": "model.x = 9", "wait": True}
    value(loaded, "from datetime import datetime, timedelta")
    soon = "datetime.now() + timedelta(seconds=3)"
    states, _, why = value(loaded, loop(waits, until="soon").replace("'soon'", soon))
    assert (states, "the loop's end" in why) == (["start", "stopped"], True)
    states, _, why = value(loaded, loop({**waits, "cost": 6}, budget=5))
    assert (states, why) == (["start", "stopped"], "The loop's budget of $5.00 is used up ($6.00).")
    states, _, why = value(loaded, loop({"run": "model.x = 0", "tokens": 60}, budget="100 tokens"))
    assert (states, "100 tokens is used up (120 tokens)" in why) == (["start", "not better", "not better"], True)
    assert value(loaded, loop(run_of(0), patience=2))[::2] == (
        ["start", *["not better"] * 2],
        "2 tries in a row without improvement.",
    )
    assert value(loaded, loop(run_of(2), run_of(4), target=3.5, tries=9))[:2] == (["start", "kept", "kept"], 4.0)
    assert value(loaded, "made.why") == "The target of 3.5 is reached: 4."
    assert value(loaded, loop(run_of(3), higher_is_better=False, tries=1))[:2] == (["start", "kept"], 3.0)
    assert value(loaded, "model.x") == 3


def _is_agent(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return any("improves.py" in word for word in process.cmdline())
    return False


def test_cancel_and_interrupt_stop_the_loop(loaded: RunningKernel) -> None:
    waits = {"run": "model.x = 9", "wait": True}
    value(loaded, f"made = loop({waits!r}, tries=3)\nmade.cancel(); made.wait()", clickable=True)
    assert value(loaded, "made.why, model.x") == ("It was stopped.", 1)
    before = {each.pid for each in loaded.descendants()}
    request = loaded.send(f"made = loop({waits!r}, tries=3); made.wait()", clickable=True)
    loaded.until(lambda: any(each.pid not in before and _is_agent(each) for each in loaded.descendants()))
    loaded.interrupt()  # an earlier interrupt would end the copying of the kernel, and the loop would repeat it
    assert "KeyboardInterrupt" in loaded.finish(request).error
    assert value(loaded, "made.wait(); (made.why, model.x)", clickable=True) == ("It was stopped.", 1)


INTERRUPTS = """
import signal
KERNEL = os.getpid()
def interrupt(frame, event, argument):
    if os.path.basename(frame.f_code.co_filename) == WHERE and os.getpid() == KERNEL:
        sys.setprofile(None)
        os.kill(KERNEL, signal.SIGINT)
"""
"""Interrupts at the first call or return of a function in the file WHERE."""


@pytest.mark.parametrize("where", ["at_fork.py", "judge.py"], ids=["copied", "measured"])
def test_interrupt_during_copying_or_measuring_stops_the_loop(loaded: RunningKernel, where: str) -> None:
    value(loaded, f"{INTERRUPTS}\nWHERE = {where!r}")
    begun = f"made = loop(*{[run_of(2), run_of(3)]!r}, tries=2)\nsys.setprofile(interrupt)"
    assert "KeyboardInterrupt" in loaded.run(f"{begun}\nmade.wait()").error
    assert value(loaded, "made.state, made.why, made.tries[-1].state") == ("ended", "It was stopped.", "stopped")


def test_loop_asks_an_attached_user_at_a_limit(loaded: RunningKernel) -> None:
    """The user answers a card or in Python; until then the loop waits."""
    steps = [run_of(2), run_of(3), run_of(4), run_of(5)]
    value(loaded, "host = agentnb.host.current_host(); host.environment.connect(attached=lambda: True)")
    # The page answers the card: Python has no session for a conversation that the host opened.
    loops = "[each for each in host.conversations.values() if (each.channels.session.state.title or '')[:4] == 'Loop']"
    cards = f"[each for loop in {loops} for each in agentnb.Session(loop).questions]"
    try:
        value(loaded, f"made = loop(*{steps!r}, tries=1)", clickable=True)
        _until(loaded, f"[each.message for each in {cards}]", ["1 try is done."])
        value(loaded, f"{cards}[0].answer({{'loop': 'go on'}})", clickable=True)
        _until(loaded, "[made.state, made.why]", ["paused", "2 tries are done."])
        value(loaded, "made.go_on()", clickable=True)
        _until(loaded, f"[each.message for each in {cards}]", ["3 tries are done."])
        value(loaded, f"{cards}[0].answer({{'loop': 'stop'}}); made.wait()", clickable=True)
        states = [each for each in value(loaded, "outcome(made)[0]") if each != "start"]
        assert (states, value(loaded, "made.why")) == (["kept"] * 3, "3 tries are done.")
        assert "not paused" in loaded.run("made.go_on()").error
    finally:
        value(loaded, "host.environment.connect(attached=lambda: False)")


def _until(kernel: RunningKernel, code: str, wanted: object) -> None:
    """Waits until *code* gives *wanted*; the kernel is free between checks."""
    for _ in range(600):
        if value(kernel, code, clickable=True) == wanted:
            return
        threading.Event().wait(0.05)
    pytest.fail(f"not {wanted}: {value(kernel, code)} {value(kernel, 'made.state, made.why, made.tries')}")


def test_loop_keeps_user_changes_and_continues_from_them(loaded: RunningKernel) -> None:
    """A variable, then a file, both while the loop keeps the try; data of the metric may change too."""
    steps = [{"run": "model = Model(model.x + 1)", "write": ["kept.txt", "try"]}]
    code = f"""
mine = [lambda: globals().update(model=Model(5)), lambda: open("kept.txt", "w").write("mine")]
def meddle():
    if made.tries[-1].state == "keeping" and mine: mine.pop(0)()
made = loop(*{steps!r}, tries=3)
made.listen(meddle)
made.wait(); outcome(made)
"""
    assert value(loaded, code)[0] == ["start", "conflict", "start", "conflict", "kept"]
    assert value(loaded, "(model.x, [each.metric for each in made.tries])") == (6, [1.0, 2.0, 5.0, 6.0, 6.0])
    whys = value(loaded, "[each.why for each in made.tries]")
    assert ("model" in whys[1], "kept.txt" in whys[3], whys[2]) == (True, True, "After the conflict.")
    value(loaded, "made = loop({'run': 'model.x += 1'}, tries=2)\nmade.listen(meddle)", clickable=True)
    value(loaded, "mine = [lambda: y_test.resize(2, refcheck=False)]; made.wait()", clickable=True)
    assert value(loaded, "open('kept.txt').read()") == "try"


def test_magic_starts_a_loop(loaded: RunningKernel) -> None:
    assert "The loop has no limit" in loaded.run("%agent loop --metric score() Improve it").error
    wrong = loaded.run("%%agent loop --metric score() --tries 1 --untill 7\nImprove it")
    assert "no option --untill" in wrong.error
    code = '%%agent -a eliza -o made loop --metric "score() + 0" --tries 1 --budget 5 --held test.csv\nImprove it'
    reply = loaded.run(code, clickable=True)
    assert reply.status == "ok", reply.error
    assert value(loaded, "(outcome(made)[0], made.held)") == (["start", "unchanged"], ("test.csv",))
    ledger = reply.displayed("text/html")
    assert "score() + 0: 1 → 1 · 1 try, 0 kept · ended: 1 try is done." in "".join(ledger)


def test_notebook_run_by_papermill_waits_for_its_loop(tmp_path: Path) -> None:
    steps = [run_of(2), {"run": "model.x = 3", "write": ["kept.txt", "3"]}]
    cells = (f"%load_ext agentnb\n{SETUP}", CELLS.partition("os.remove(name)")[2], f"made = loop(*{steps!r}, tries=2)")
    notebook(tmp_path / "loop.ipynb", *cells)
    ran = run_notebook("papermill", "--no-progress-bar", "loop.ipynb", "out.ipynb", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "kept.txt").read_text() == "3"


def test_replayed_loop_is_identical_without_its_agent(tmp_path: Path) -> None:
    """Better, worse, failing and writing tries give the same ledger, without its times, and results.

    Also for tries meant for a cluster: a recorded notebook makes them here.
    """
    agent = tmp_path / "agent"
    agent.mkdir()
    for name in ("improves.py", "wire.py"):
        (agent / name).write_bytes((AGENTS / name).read_bytes())
    steps = [run_of(2), run_of(1), {"run": "1 / 0"}, {"run": "model.x = 3; open('kept.txt', 'w').write('3')"}]
    ledger = "[(each.number, each.state, each.values, each.why, each.changes, each.idea) for each in made.tries]"
    cells = (
        f"%load_ext agentnb\n{SETUP.replace(str(AGENTS), str(agent))}",
        CELLS.partition("os.remove(name)")[2],
        f"made = loop(*{steps!r}, tries=4, patience=3, executor='tcp://127.0.0.1:1').wait()",
        f"({ledger}, outcome(made), made.notes, model.x, open('kept.txt').read(), made.difference(4))",
    )
    path = notebook(tmp_path / "loop.ipynb", *cells)
    cassette = tmp_path / "loop.cassette.jsonl"
    seen = []
    for mode in ("record", "replay", "replay"):
        (tmp_path / "kept.txt").unlink(missing_ok=True)
        execute_here(path, {**without_agents(), "AGENTNB_CASSETTE": str(cassette), "AGENTNB_CASSETTE_MODE": mode})
        seen.append((path.read_bytes(), cassette.read_bytes()))
        for script in agent.glob("*.py"):
            script.unlink()
    assert b"'kept', (3.0,)" in seen[0][0]
    assert seen[1:] == seen[:1] * 2


RESUMED = """
class Best:
    def __repr__(self): return open("best.txt").read()
def score(): return float(repr(best))
best = Best()
"""
STEP = {"run": "n = int(float(open('best.txt').read())) + 1\nif n % 2: open('best.txt', 'w').write(str(n))\nn = 0"}
GAIN = {"run": "n = float(open('best.txt').read()) + 1\nopen('best.txt', 'w').write(str(n)); del n"}
LOSS = {"run": "open('best.txt', 'w').write('0')", "write": ["worse.txt", "0"]}


def test_killed_loop_resumes_where_it_was(kernelspecs: Path, tmp_path: Path) -> None:
    """Killed at random points: the kept tries are there, nothing of the others, and the loop continues."""
    chance, work = random.Random(33), tmp_path / "work"
    work.mkdir()
    (work / "best.txt").write_text("1.0")
    begun = f"loop(*{[GAIN, LOSS]!r}, held=['score'], tries=999)"
    with started(tmp_path) as kernel:
        value(kernel, RESUMED)
        _killed_after(kernel, begun, chance)
    for _ in range(KILLS):
        with started(tmp_path) as kernel:
            missing = kernel.run("agentnb.loop.resume()")
            assert "needs score" in missing.error
            assert "Run the notebook's cells first" in missing.error
            value(kernel, RESUMED)
            _killed_after(kernel, "agentnb.loop.resume()", chance)
    with started(tmp_path) as kernel:
        value(kernel, f"{RESUMED}\nmade = agentnb.loop.resume(tries=1).wait()")
        value(kernel, "made = agentnb.loop.resume(made.id, tries=made.spent.turns + 2).wait()")
        rows = value(kernel, "[[each.number, each.state, each.metric] for each in made.tries]")
        kept = sum(state == "kept" for _, state, _ in rows)
        unsure = sum(state == "lost" for _, state, _ in rows)
        assert [number for number, _, _ in rows if number] == list(range(1, value(kernel, "made.spent.turns") + 1))
        assert kept + 1 <= float((work / "best.txt").read_text()) <= kept + 1 + unsure
        assert sorted(each.name for each in work.iterdir()) == ["best.txt"]
        assert list((tmp_path / "temporary").glob("*/work")) == []  # no copies of the workspace
        assert "no loop 'x'" in kernel.run("agentnb.loop.resume('x')").error
        value(kernel, "score = lambda: 5")
        assert "metric's code has changed" in kernel.run(f"agentnb.loop.resume({value(kernel, 'made.id')!r})").error


def _killed_after(kernel: RunningKernel, code: str, chance: random.Random) -> None:
    result = kernel.run(f"made = {code}", clickable=True)
    assert result.status == "ok", result.error
    below = kernel.descendants()
    threading.Event().wait(chance.uniform(0.1, 4))
    below += kernel.descendants()
    kernel.manager.provisioner.process.kill()  # type: ignore[union-attr]
    assert psutil.wait_procs(below, timeout=30)[1] == []


def test_many_tries_leave_no_trace_and_take_no_memory(loaded: RunningKernel) -> None:
    """AGENTNB_LOOP_TRIES sets the number; most are rejected for different reasons."""
    steps = (
        {"run": "model.x = 0; junk = 1", "write": ["junk.txt", "junk"]},
        {"run": "import subprocess; subprocess.Popen(['sleep', '1000']); model.x = -1"},
        {"run": "y_test[:] = 7"},
        {"run": "model.x += 1"},
        {"run": "import os; os._exit(3)"},
        {"run": "open('/tmp/agentnb-loop-trace', 'w').write('x'); big = np.ones(10_000_000)"},
    )
    for tries in (len(steps), 1):  # SQLite closes the file of the first ledger when the second is closed
        value(loaded, f"made = loop(*{steps!r}, tries={tries}).wait()")
    value(loaded, "import gc; OURS |= {'gc'}")
    opened = "sorted(os.path.realpath(f'/proc/self/fd/{each}').split(':[')[0] for each in os.listdir('/proc/self/fd'))"
    # Leaves out IPython's history, written at times, and bare numbers: descriptors that closed during the listing.
    files = f"[each for each in {opened} if 'history.sqlite' not in each and not os.path.basename(each).isdigit()]"
    threads = "sum(not each.name.startswith('asyncio_') for each in threading.enumerate())"  # a pool grows to its size
    facts = f"(gc.collect() * 0, {files}, {threads}, os.listdir(tempfile.tempdir))"
    before, names = value(loaded, facts), value(loaded, "sorted(globals())")
    below = [each for each in loaded.descendants() if each.is_running()]
    memory = psutil.Process(loaded.pid).memory_info().rss
    request = loaded.send(f"made = loop(*{steps!r}, tries={TRIES}).wait(); outcome(made)[0].count('kept')")
    kept = literal_eval(loaded.finish(request, timeout=3600).values[-1])
    assert kept == sum(number % len(steps) == 3 for number in range(TRIES))
    _until(loaded, facts, before)
    assert value(loaded, "sorted(os.listdir()), model.x") == (["test.csv"], kept + 2)
    assert [each for each in value(loaded, "sorted(globals())") if each not in names and not each.startswith("_")] == []
    left = [each for each in loaded.descendants() if each not in below]
    assert psutil.wait_procs(left, timeout=20)[1] == []
    assert not Path("/tmp/agentnb-loop-trace").exists()  # noqa: S108 - where nothing may be
    grown = (psutil.Process(loaded.pid).memory_info().rss - memory) / TRIES
    assert grown < 2_000_000, f"{grown / 1e6:.2f} MB for each try"
