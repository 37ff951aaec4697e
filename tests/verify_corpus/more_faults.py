"""More faults, of kinds that nothing was built for; each is of a kind of its own."""

import random
from collections.abc import Callable
from pathlib import Path

from tests.verify_corpus.clean import WORDS
from tests.verify_corpus.plan import Plan, Step, stream

Plant = Callable[[random.Random, Plan], Plan]


def _at(rng: random.Random, plan: Plan) -> int:
    return rng.randint(1, len(plan.cells))


def _again(plan: Plan, key: str) -> None:
    """A cell was run a second time, at once."""
    plan.steps.insert(plan.steps.index(plan.step(key)), Step(key, plan.cell(key).source))


def _delete(plan: Plan, key: str) -> None:
    plan.cells = [each for each in plan.cells if each.key != key]


def _exit(rng: random.Random, plan: Plan) -> Plan:
    """The notebook ends its own kernel."""
    at = _at(rng, plan)
    source = rng.choice(["exit()", "quit()", "print('bye')\nexit()", "if True:\n    quit()"])
    return plan.is_faulty("exit()", {"kernel-died"}, plan.add(source, at=at, pretended=[]))


def _sys_exit(rng: random.Random, plan: Plan) -> Plan:
    """A script's end was pasted into a cell."""
    key = plan.add("import sys\nsys.exit(0)", at=_at(rng, plan), pretended=[])
    return plan.is_faulty("sys.exit()", {"error"}, key)


def _stderr(rng: random.Random, plan: Plan) -> Plan:
    """What goes to stderr was another number."""
    at = _at(rng, plan)
    key = plan.add(f"import sys\nprint('dropped rows:', {rng.randint(1, 40)}, file=sys.stderr)", at=at)
    plan.cell(key).source = f"import sys\nprint('dropped rows:', {rng.randint(41, 90)}, file=sys.stderr)"
    return plan.is_faulty("stderr not run since changed", {"not-run"}, key)


def _import_gone(rng: random.Random, plan: Plan) -> Plan:
    """The cell with an import was deleted."""
    at = _at(rng, plan)
    first = plan.add(f"import statistics as {rng.choice(WORDS)}_stats", at=at)
    name = plan.cell(first).source.split()[-1]
    use = plan.add(f"print({name}.median({[rng.randint(1, 9) for _ in range(5)]}))", at=at + 1)
    _delete(plan, first)
    return plan.is_faulty("import of a deleted cell", {"deleted-cell"}, use)


def _redefined(rng: random.Random, plan: Plan) -> Plan:
    """A function is defined again further down, and that was run before its use above."""
    word, at = rng.choice(WORDS), _at(rng, plan)
    plan.add(f"def {word}_area(x):\n    return x * {rng.randint(2, 5)}", at=at)
    show = plan.add(f"print('area', {word}_area(10))", at=at + 1)
    later = plan.add(f"def {word}_area(x):\n    return x * {rng.randint(6, 9)} + 1", at=at + 2)
    i, j = plan.steps.index(plan.step(show)), plan.steps.index(plan.step(later))
    plan.steps[i], plan.steps[j] = plan.steps[j], plan.steps[i]
    return plan.is_faulty("function defined again below", {"cell-order"}, show)


def _generator(rng: random.Random, plan: Plan) -> Plan:
    """A cell that takes the next of a generator was run twice."""
    word, at = rng.choice(WORDS), _at(rng, plan)
    plan.add(f"{word}_ids = iter(range({rng.randint(1, 9)}, 90, {rng.randint(3, 7)}))", at=at)
    key = plan.add(f"print('next id', next({word}_ids))", at=at + 1)
    _again(plan, key)
    return plan.is_faulty("generator, run twice", {"run-twice"}, key)


def _sorted(rng: random.Random, plan: Plan) -> Plan:
    """A list was sorted in place below before the cell above was run again."""
    word, at = rng.choice(WORDS), _at(rng, plan)
    numbers = rng.sample(range(10, 99), 6)
    plan.add(f"{word}_rows = {[max(numbers) + 1, *numbers]}", at=at)
    show = plan.add(f"{word}_rows[0]", at=at + 1)
    later = plan.add(f"{word}_rows.sort()", at=at + 2)
    i, j = plan.steps.index(plan.step(show)), plan.steps.index(plan.step(later))
    plan.steps[i], plan.steps[j] = plan.steps[j], plan.steps[i]
    return plan.is_faulty("sorted below before", {"cell-order"}, show)


def _folder_gone(rng: random.Random, plan: Plan) -> Plan:
    """A cell that went into a folder was deleted."""
    word, at = rng.choice(WORDS), _at(rng, plan)
    plan.files["inside.txt"] = "one two three\n"
    plan.add(
        f"import os, shutil\nos.makedirs('{word}', exist_ok=True)\nshutil.copy('inside.txt', '{word}/in.txt')", at=at
    )
    first = plan.add(f"os.chdir('{word}')", at=at + 1)
    use = plan.add("print(len(open('in.txt').read().split()))", at=at + 2)
    plan.add("os.chdir('..')", at=at + 3)
    _delete(plan, first)
    return plan.is_faulty("folder of a deleted cell", {"file-missing"}, use)


def _environment(rng: random.Random, plan: Plan) -> Plan:
    """An environment variable that only a deleted cell sets."""
    word, at = rng.choice(WORDS).upper(), _at(rng, plan)
    first = plan.add(f"import os\nos.environ['{word}_REGION'] = 'north'", at=at)
    use = plan.add(f"import os\nprint(os.environ['{word}_REGION'])", at=at + 1)
    _delete(plan, first)
    return plan.is_faulty("environment variable of a deleted cell", {"deleted-cell", "error"}, use)


def _module_gone(rng: random.Random, plan: Plan) -> Plan:
    """A module beside the notebook is gone."""
    name = f"{rng.choice(WORDS)}_helpers"
    plan.files[f"{name}.py"] = "def double(x):\n    return 2 * x\n"
    key = plan.add(f"from {name} import double\ndouble({rng.randint(2, 40)})", at=_at(rng, plan))
    plan.after.append(lambda folder: (folder / f"{name}.py").unlink())
    return plan.is_faulty("own module missing", {"package-missing", "file-missing"}, key)


def _module_changed(rng: random.Random, plan: Plan) -> Plan:
    """A module beside the notebook was changed."""
    name = f"{rng.choice(WORDS)}_rules"
    plan.files[f"{name}.py"] = "RATE = 0.2\ndef tax(x):\n    return x * RATE\n"
    key = plan.add(f"from {name} import tax\nprint(tax({rng.randint(2, 40)}))", at=_at(rng, plan))
    plan.after.append(
        lambda folder: (folder / f"{name}.py").write_text("RATE = 0.5\ndef tax(x):\n    return x * RATE\n")
    )
    return plan.is_faulty("own module changed", {"file-changed"}, key)


def _table(rng: random.Random, plan: Plan) -> Plan:
    """A database is gone: sqlite makes an empty one."""
    plan.files["make.sql"] = "create table sales (n integer); insert into sales values (3), (4);"
    at = _at(rng, plan)
    plan.add("import pathlib, sqlite3", at=at)
    made = plan.add(
        "link = sqlite3.connect('shop.db')\nlink.executescript(pathlib.Path('make.sql').read_text())\nlink.close()",
        at=at + 1,
    )
    use = plan.add("print(sqlite3.connect('shop.db').execute('select sum(n) from sales').fetchone())", at=at + 2)
    _delete(plan, made)
    plan.after.append(lambda folder: (folder / "shop.db").unlink())
    return plan.is_faulty("database missing", {"file-missing"}, use)


def _server(rng: random.Random, plan: Plan) -> Plan:
    """A server on this machine that does not run."""
    port = rng.randint(20_000, 29_000)
    source = rng.choice(
        [
            f"import urllib.request\nprint(urllib.request.urlopen('http://localhost:{port}/v1').status)",
            f"import socket\nlink = socket.create_connection(('127.0.0.1', {port}), timeout=2)\nprint('up')",
        ]
    )
    key = plan.add(source, at=_at(rng, plan), pretended=stream("200\n"))
    return plan.is_faulty("no server here", {"unavailable"}, key)


def _option(rng: random.Random, plan: Plan) -> Plan:
    """The cell that sets how values print was deleted."""
    at = _at(rng, plan)
    first = plan.add("import decimal\ndecimal.getcontext().prec = 6", at=at)
    use = plan.add(f"import decimal\nprint(decimal.Decimal(1) / decimal.Decimal({rng.choice([3, 7, 11])}))", at=at + 1)
    _delete(plan, first)
    return plan.is_faulty("option of a deleted cell", {"not-run", "deleted-cell"}, use)


def _method(rng: random.Random, plan: Plan) -> Plan:
    """A method was renamed in the class, and not where it is called."""
    word, at = rng.choice(WORDS).title(), _at(rng, plan)
    first = plan.add(f"class {word}Box:\n    def area(self):\n        return {rng.randint(2, 90)}", at=at)
    use = plan.add(f"print({word}Box().area())", at=at + 1)
    plan.cell(first).source = plan.cell(first).source.replace("area", "surface")
    return plan.is_faulty("method of a changed cell", {"changed-cell", "error", "deleted-cell"}, use, first)


def _type(rng: random.Random, plan: Plan) -> Plan:
    """A value was made a text after the cell below was run."""
    word, at = rng.choice(WORDS), _at(rng, plan)
    first = plan.add(f"{word}_size = {rng.randint(2, 90)}", at=at)
    use = plan.add(f"print({word}_size + 1)", at=at + 1)
    plan.cell(first).source = f"{word}_size = 'large'"
    return plan.is_faulty("value of another type", {"changed-cell", "error", "not-run"}, use, first)


def _today(rng: random.Random, plan: Plan) -> Plan:
    """Days since a date."""
    key = plan.add("import datetime as dt\n(dt.date.today() - dt.date(2019, 5, 1)).days", at=_at(rng, plan))
    plan.step(key).pretended = [{"output_type": "execute_result", "data": {"text/plain": str(rng.randint(9, 999))}}]
    return plan.is_faulty("days until today", {"clock"}, key)


def _deadlock(rng: random.Random, plan: Plan) -> Plan:
    """Waits for itself."""
    source = rng.choice(
        [
            "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
            "import asyncio\nawait asyncio.Event().wait()",
            "import queue\nqueue.Queue().get()",
        ]
    )
    return plan.is_faulty("hang", {"time-limit"}, plan.add(source, at=_at(rng, plan), pretended=[]))


def _recursion(rng: random.Random, plan: Plan) -> Plan:
    """A function that calls itself for ever was changed into that."""
    word, at = rng.choice(WORDS), _at(rng, plan)
    key = plan.add(f"def {word}_deep(n):\n    return 1 if n == 0 else {word}_deep(n - 1)\n\n{word}_deep(9)", at=at)
    plan.cell(key).source = f"def {word}_deep(n):\n    return {word}_deep(n - 1)\n\n{word}_deep(9)"
    return plan.is_faulty("recursion", {"error"}, key)


def _program(rng: random.Random, plan: Plan) -> Plan:
    """A program that Python starts is not installed."""
    source = "import subprocess\nprint(subprocess.run(['plotdraw_x', '-v'], capture_output=True, text=True).stdout)"
    return plan.is_faulty(
        "program missing", {"command-missing"}, plan.add(source, at=_at(rng, plan), pretended=stream("plotdraw 2\n"))
    )


def _run_missing(rng: random.Random, plan: Plan) -> Plan:
    """`%run` of a script that is gone."""
    plan.files["prepare.py"] = "ready = 41\n"
    key = plan.add("%run prepare.py\nprint(ready + 1)", at=_at(rng, plan))
    plan.after.append(lambda folder: (folder / "prepare.py").unlink())
    return plan.is_faulty("script of %run missing", {"file-missing"}, key)


def _shell_script(rng: random.Random, plan: Plan) -> Plan:
    """A script that the shell runs is gone."""
    plan.files["count.py"] = "print(7)\n"
    key = plan.add("!python3 count.py", at=_at(rng, plan))
    plan.after.append(lambda folder: (folder / "count.py").unlink())
    return plan.is_faulty("script of the shell missing", {"file-missing", "not-run", "file-changed"}, key)


def _header(rng: random.Random, plan: Plan) -> Plan:
    """A column of a file was renamed in the file."""
    plan.files["people.csv"] = "name,age\nada,36\nalan,41\n"
    at = _at(rng, plan)
    read = plan.add("import csv\npeople = list(csv.DictReader(open('people.csv')))\nlen(people)", at=at)
    use = plan.add("print(sum(int(each['age']) for each in people))", at=at + 1)

    def rename(folder: Path) -> None:
        (folder / "people.csv").write_text("name,years\nada,36\nalan,41\n")

    plan.after.append(rename)
    return plan.is_faulty("column of a file renamed", {"file-changed"}, read, use)


def _frame_twice(rng: random.Random, plan: Plan) -> Plan:
    """A frame was changed in place twice."""
    word, at = rng.choice(WORDS), _at(rng, plan)
    plan.add(f"import pandas as pd\n{word}_df = pd.DataFrame({{'n': {[rng.randint(2, 9) for _ in range(4)]}}})", at=at)
    key = plan.add(f"{word}_df['n'] = {word}_df['n'] * {rng.randint(2, 5)}", at=at + 1)
    plan.add(f"{word}_df", at=at + 2)
    _again(plan, key)
    return plan.is_faulty("frame changed twice", {"run-twice"}, key)


def _picture(rng: random.Random, plan: Plan) -> Plan:
    """A figure was not drawn again since its cell was changed."""
    at = _at(rng, plan)
    source = "import matplotlib.pyplot as plt\nplt.figure(figsize=(2, 2))\nplt.plot([1, 5, {}])\nplt.show()"
    key = plan.add(source.format(2), at=at)
    plan.cell(key).source = source.format(9)
    return plan.is_faulty("figure not drawn again", {"not-run"}, key)


def _style(rng: random.Random, plan: Plan) -> Plan:
    """A style that matplotlib no longer has."""
    key = plan.add("import matplotlib.pyplot as plt\nplt.style.use('seaborn')", at=_at(rng, plan), pretended=[])
    return plan.is_faulty("style of another version", {"package-version"}, key)


def _unseeded_array(rng: random.Random, plan: Plan) -> Plan:
    """NumPy's old generator, and what a later cell makes of it."""
    word, at = rng.choice(WORDS), _at(rng, plan)
    key = plan.add(f"import numpy as np\n{word}_noise = np.random.RandomState().rand(50)", at=at)
    plan.add(f"print({word}_noise.mean().round(4))", at=at + 1)
    return plan.is_faulty("unseeded array", {"randomness"}, key)


def _slider(rng: random.Random, plan: Plan) -> Plan:
    """A widget's value was changed in the code, and the cell not run again."""
    at = _at(rng, plan)
    key = plan.add(f"import ipywidgets\nipywidgets.IntSlider(value={rng.randint(1, 40)})", at=at)
    plan.cell(key).source = f"import ipywidgets\nipywidgets.IntSlider(value={rng.randint(41, 90)})"
    return plan.is_faulty("widget not run since changed", {"not-run"}, key)


PLAIN: tuple[Plant, ...] = (
    *(_exit, _sys_exit, _stderr, _import_gone, _redefined, _generator, _sorted, _folder_gone, _environment),
    *(_module_gone, _module_changed, _table, _server, _option, _method, _type, _today, _deadlock, _recursion),
    *(_program, _run_missing, _shell_script, _header, _slider),
)
NEEDING: dict[str, tuple[Plant, ...]] = {
    "numpy": (_unseeded_array,),
    "pandas": (_frame_twice,),
    "matplotlib": (_picture, _style),
}
"""Faults that need a package."""
