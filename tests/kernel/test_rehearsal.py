"""Rehearsals in a copy of a real kernel: whatever the code does, the kernel is unharmed, and nothing remains."""

from __future__ import annotations

from ast import literal_eval
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tests.rehearsal_here import HERE, needs_namespaces

if TYPE_CHECKING:
    from tests.kernel.running_kernel import RunningKernel

pytestmark = [
    pytest.mark.skipif(not HERE.available, reason=HERE.reason),
    pytest.mark.parametrize("kernel_name", ["ipykernel7"], indirect=True),  # the same on any kernel
]

SETUP = """
import asyncio, atexit, faulthandler, logging, mmap, os, random, signal, socket, sqlite3, sys, tempfile, threading
import agentnb
xs, n = [1, 2], 5
idle = threading.Event()
threads = [threading.Thread(target=idle.wait, daemon=True) for _ in range(200)]
for each in threads: each.start()
database = sqlite3.connect("data.sqlite")
database.execute("create table t (x)"); database.commit()
log = open("app.log", "w"); log.write("begun\\n"); log.flush()
reading = open("keep.txt"); reading.read(2)
logging.getLogger("mine").addHandler(logging.FileHandler("logged.txt"))
mine, theirs = socket.socketpair()
theirs.setblocking(False)
file = open("mapped", "wb+"); file.write(b"a" * 4096); file.flush()
mapped, shared = mmap.mmap(file.fileno(), 4096), mmap.mmap(-1, 4096)
faulthandler.enable()
task = asyncio.ensure_future(asyncio.Event().wait())
atexit.register(lambda: open("exited", "w").close())
def facts():
    try: received = theirs.recv(10)
    except BlockingIOError: received = b""
    return (xs, n, sorted(os.listdir()), database.execute("select count(*) from t").fetchone()[0],
            open("app.log").read(), open("logged.txt").read(), received, mapped[:2], shared[:2], reading.tell(),
            random.getstate() == state, len([t for t in threads if t.is_alive()]), task.done(), "json" in sys.modules,
            signal.getsignal(signal.SIGTERM) == handler, pipes())
def pipes():
    return len([each for each in os.listdir("/proc/self/fd") if target(each).startswith("pipe:")])
def target(descriptor):
    try: return os.readlink(f"/proc/self/fd/{descriptor}")
    except FileNotFoundError: return "" # closed since it was listed
def told(code, seconds=60):
    found = agentnb.rehearse(code, seconds=seconds)
    return {"error": found.error, "stdout": found.stdout, "result": found.result, "available": found.available,
            "variables": {each.name: each.status for each in found.variables},
            "files": {each.path: each.status for each in found.files}, "processes": found.processes,
            "connections": found.connections, "pictures": len(found.pictures), "reason": found.reason}
state, handler = random.getstate(), signal.getsignal(signal.SIGTERM)
"""

LATE = "It took longer than the limit of 1 s"
BAD = {
    "os.fork(); n = 6": None,
    "import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True); n = 7": None,
    "import time; time.sleep(1000)": LATE,
    "while True: pass": LATE,
    "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32)); threading.Lock().acquire(); idle.wait()": LATE,
    "bytearray(100 * 1024**3)": "MemoryError",
    "os.closerange(0, 4096); n = 8": "OSError: [Errno 9] Bad file descriptor",
    "os.kill(os.getppid(), 9)": ...,
    "os.kill(os.getpid(), 9)": "It was stopped by SIGKILL",
    "os.kill(os.getpid(), 15)": "It was stopped by SIGTERM",
    "import ctypes; ctypes.string_at(0)": "It was stopped by SIGSEGV",
    "os.abort()": "It was stopped by SIGABRT",
    "os._exit(3)": "It ended the process (exit code 3)",
    "raise SystemExit(3)": "SystemExit: 3",
    "mine.send(b'reached')": ...,
    "atexit.register(print); sys.modules.clear(); n = 9": ...,
    "for each in os.listdir('/proc/self/fd'): os.remove(os.path.realpath(f'/proc/self/fd/{each}'))": ...,
    "mapped[:2] = shared[:2] = b'zz'; mapped.flush(); random.seed(0); reading.read()": None,
    "signal.signal(signal.SIGTERM, signal.SIG_IGN); xs.append(3); logging.getLogger('mine').error('said')": None,
    "task.cancel(); await asyncio.sleep(0); idle.set()": None,
    "from IPython.display import display; display('shown')": None,
    # SQLite's locks are copied, too: if the history is being written, it stays locked in the copy.
    "get_ipython().history_manager.reset()": ...,
    "input('name')": "RuntimeError: This code was started by an agent, so it cannot ask for input.",
    "x = = 1": ...,
}


def test_rehearsal_of_bad_code_leaves_the_kernel_unharmed(kernel: RunningKernel) -> None:
    """After each bad input, variables, files, sockets, threads and descriptors are as before."""
    (kernel.folder / "keep.txt").write_text("kept\n")
    assert kernel.run(SETUP).status == "ok"
    before = kernel.run("facts()").values
    children = psutil.Process(kernel.pid).children(recursive=True)
    mounts = Path(f"/proc/{kernel.pid}/mountinfo").read_bytes()
    wrong = {}
    for code, expected in BAD.items():
        seconds = 1 if expected == LATE else 30  # code that ends by itself gets time for a busy machine
        rehearsal: dict[str, Any] = literal_eval(kernel.run(f"told({code!r}, {seconds})").values[0])
        if not rehearsal["available"] or (expected is not ... and rehearsal["error"] != expected):
            wrong[code] = rehearsal
        after = kernel.run("facts()")
        assert (after.values, after.traceback) == (before, []), code
    assert wrong == {}
    assert psutil.Process(kernel.pid).children(recursive=True) == children
    assert Path(f"/proc/{kernel.pid}/mountinfo").read_bytes() == mounts
    assert kernel.run("_ih[-1]").values  # the history still works


@needs_namespaces
def test_rehearsal_shows_what_the_code_would_do(kernel: RunningKernel) -> None:
    """Variables, files, programs, addresses, printed text, the last value, and pictures; also as a magic."""
    (kernel.folder / "keep.txt").write_text("kept\n")
    assert kernel.run(SETUP).status == "ok"
    code = """
    import subprocess, json
    n = 6; xs.append(3); new = {'a': 1}
    print('printed')
    os.remove('keep.txt'); open('out.csv', 'w').write('1,2\\n')
    log.write('more\\n'); log.flush()
    subprocess.run('echo child', shell=True)
    !echo typed
    await asyncio.sleep(0)
    class Picture:
        def _repr_png_(self): return b'\\x89PNG'
    display(Picture())
    mine.close()
    try: socket.create_connection(('192.0.2.1', 80), 1)
    except OSError: pass
    len(xs)
    """
    rehearsal: dict[str, Any] = literal_eval(kernel.run(f"import textwrap; told(textwrap.dedent({code!r}))").values[0])
    assert rehearsal["error"] is None
    assert rehearsal["stdout"] == "printed\nchild\ntyped\n"
    assert rehearsal["result"] == "3"
    assert rehearsal["variables"] == {"n": "changed", "new": "added", "xs": "changed", "Picture": "added"}
    assert rehearsal["files"] == {"keep.txt": "deleted", "out.csv": "created", "app.log": "changed"}
    assert [each.partition(" -c ")[2] for each in rehearsal["processes"]] == ["echo child", "echo typed"]
    assert rehearsal["connections"] == ("192.0.2.1:80",)
    assert rehearsal["pictures"] == 1
    assert kernel.run("n, xs, 'new' in globals(), mine.fileno() > 0").values == ["(5, [1, 2], False, True)"]
    reply = kernel.run("%%rehearse\nn = 1 / 0")
    assert reply.values[0].startswith("Fails: ZeroDivisionError: division by zero.")
    assert "seconds, not 'x'" in kernel.run("%%rehearse x\n1").error


DATA = """
import matplotlib, mmap, os, sys, threading
import numpy as np, pandas as pd, matplotlib.pyplot as plt
import agentnb, coverage, debugpy
df = pd.DataFrame({"a": [1, 2, 3], "b": [1.0, 2.0, 4.0]})
some = np.ones((600, 600)); product = some @ some  # the threads of BLAS run now
large = np.ones(8_000_000)
os.makedirs("build"); open("build/x.o", "w").close()
figure = plt.figure(); plt.plot([1, 2])
none = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # no memory is set aside
huge = np.frombuffer(mmap.mmap(-1, 20 * 1024**3, flags=none), dtype="u1")
frame = pd.DataFrame({"x": huge}, copy=False)
measured = coverage.Coverage(data_file=None); measured.start()
debugpy.listen(("127.0.0.1", 0), in_process_debug_adapter=True); debugpy.trace_this_thread(True)
def facts():
    return (list(df.columns), large.sum(), os.path.exists("build/x.o"), plt.get_fignums(), len(figure.axes), len(frame),
            sys.gettrace() is not None, debugpy.is_client_connected(), sorted(os.listdir()),
            [(len(each), sum(map(int, each))) for each in (np.random.get_state()[1], np.random.get_state()[2:3])])
def told(code):
    found = agentnb.rehearse(code, seconds=60)
    assert found.available and found.way == "namespaces", found
    return {"error": found.error, "result": found.result, "variables": {v.name: v.detail for v in found.variables},
            "files": {file.path: file.status for file in found.files}, "processes": found.processes,
            "connections": found.connections, "pictures": len(found.pictures),
            "took": (found.seconds > 0, found.memory > 150e6)}
"""
ROWS: dict[str, dict[str, Any]] = {
    "df['c'] = df.a * 2": {
        "variables": {"df": "DataFrame (3, 2) → DataFrame (3, 3); column added: 'c', changed in place"}
    },
    "os.remove('build/x.o')": {"files": {"build/x.o": "deleted"}},
    "import subprocess; subprocess.run(['rm', '-rf', 'build']).returncode": {
        "result": "0",
        "processes": ("rm -rf build",),
    },
    "plt.figure(); plt.plot([3, 1, 2]); plt.show()": {"pictures": 1},
    "plt.close('all')": {},
    "slope = float(np.linalg.lstsq(np.vander([1.0, 2, 3], 2), df.a, rcond=None)[0][0])": {},
    "float((some @ some)[0, 0])": {"result": "600.0"},
    "float(large @ large)": {"result": "8000000.0"},
    "import urllib.request; urllib.request.urlopen('http://192.0.2.1/')": {
        "error": "URLError: <urlopen error [Errno 101] Network is unreachable>",
        "connections": ("192.0.2.1:80",),
    },
    "from concurrent.futures import ProcessPoolExecutor as Pool; list(Pool(2).map(abs, [-1, -2]))": {
        "result": "[1, 2]"
    },
    "frame.loc[0, 'x'] = 7; int(frame.x[0])": {"result": "7"},
    "measured.stop(); sys.settrace(None)": {},
    "grown = np.random.rand(25_000_000)": {"took": (True, True)},
}


@needs_namespaces
def test_rehearsal_works_with_large_data_plots_and_a_debugger(kernel: RunningKernel) -> None:
    """The first trials' table, in a kernel with 20 GB of data, a figure, coverage and a debugger."""
    setup = kernel.run(DATA)
    assert setup.status == "ok", setup.traceback
    before = kernel.run("facts()").values
    wrong = {}
    for code, expected in ROWS.items():
        rehearsal: dict[str, Any] = literal_eval(kernel.run(f"told({code!r})").values[0])
        if any(rehearsal[key] != value for key, value in {"error": None, **expected}.items()):
            wrong[code] = rehearsal
        after = kernel.run("facts()")
        assert (after.values, after.traceback) == (before, []), code
    assert wrong == {}


GROWING = """
long = open("long.log", "w"); long.write("line\\n" * 100_000); long.flush()
begun, stopped = threading.Event(), threading.Event()
def write():
    while not stopped.wait(.001):
        for each in (log, long): each.write("more\\n"); each.flush()
        begun.set()
writer = threading.Thread(target=write); writer.start(); begun.wait()
"""


@needs_namespaces
def test_rehearsal_ignores_files_written_by_the_kernel(kernel: RunningKernel) -> None:
    """For example agentnb's log; the diff of a log shows only the line that the code adds."""
    (kernel.folder / "keep.txt").write_text("kept\n")
    assert kernel.run(SETUP + GROWING).status == "ok"
    slow = "total = sum(range(2_000_000))"
    files = [kernel.run(f"told({slow!r})['files']").values[0] for _ in range(5)]
    code = f"{slow}; log.write('mine\\n'); log.flush(); long.write('mine\\n'); long.flush()"
    kernel.run(f"found = agentnb.rehearse({code!r}, seconds=60); stopped.set(); writer.join()")
    assert files == ["{}"] * 5
    added_lines = (
        "{each.path: [line for line in each.diff.splitlines() if line[0] in '+-'][2:] for each in found.files}"
    )
    assert kernel.run(added_lines).values == ["{'app.log': ['+mine'], 'long.log': []}"]


@needs_namespaces
def test_rehearsal_ignores_compiled_python_files(kernel: RunningKernel) -> None:
    (kernel.folder / "module.py").write_text("n = 1\n")
    code = "import module, subprocess, sys; subprocess.run([sys.executable, '-c', 'import module'], check=True)"
    begin = "import agentnb, os, sys; sys.dont_write_bytecode = False; os.environ.pop('PYTHONDONTWRITEBYTECODE', None)"
    kernel.run(begin)
    reply = kernel.run(f"found = agentnb.rehearse({code!r}, seconds=30); (found.error, found.files)")
    assert reply.values == ["(None, ())"]
