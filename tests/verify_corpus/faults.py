"""Faults that are planted into clean notebooks: what goes wrong, and in which cell."""

import random
from collections.abc import Callable
from pathlib import Path

from tests.verify_corpus.clean import WORDS
from tests.verify_corpus.plan import Plan, Step, stream

Plant = Callable[[random.Random, Plan], Plan]


def _place(rng: random.Random, plan: Plan, least: int = 1) -> int:
    return rng.randint(least, len(plan.cells))


def _undefined(rng: random.Random, plan: Plan) -> Plan:
    """Somebody typed a name that there never was, and has not run the cell."""
    at = _place(rng, plan)
    key = plan.add(f"print({rng.choice(WORDS)}_result + 1)", at=at)
    plan.steps = [each for each in plan.steps if each.key != key]
    return plan.is_faulty("undefined name", {"undefined-name"}, key)


def _deleted(rng: random.Random, plan: Plan) -> Plan:
    """The cell that defines a name was deleted after it ran."""
    word, at = rng.choice(WORDS), _place(rng, plan)
    first = plan.add(f"{word}_limit = {rng.randint(3, 99)}", at=at)
    use = plan.add(f"print('limit', {word}_limit * 2)", at=_place(rng, plan, at + 1))
    plan.cells = [each for each in plan.cells if each.key != first]
    return plan.is_faulty("name of a deleted cell", {"deleted-cell"}, use)


def _deleted_function(rng: random.Random, plan: Plan) -> Plan:
    """As above, with a function that is called by another."""
    word, at = rng.choice(WORDS), _place(rng, plan)
    first = plan.add(f"def {word}_inner(x):\n    return x * {rng.randint(2, 9)}", at=at)
    plan.add(f"def {word}_outer(x):\n    return {word}_inner(x) + 1", at=at + 1)
    use = plan.add(f"{word}_outer({rng.randint(2, 9)})", at=_place(rng, plan, at + 2))
    plan.cells = [each for each in plan.cells if each.key != first]
    return plan.is_faulty("function of a deleted cell", {"deleted-cell"}, use)


def _renamed(rng: random.Random, plan: Plan) -> Plan:
    """The defining cell was changed after it ran: the name is another one now."""
    word, at = rng.choice(WORDS), _place(rng, plan)
    first = plan.add(f"{word}_rate = 0.{rng.randint(1, 9)}", at=at)
    use = plan.add(f"print(round(100 * {word}_rate, 2))", at=_place(rng, plan, at + 1))
    cell = plan.cell(first)
    cell.source = cell.source.replace(
        f"{word}_rate", rng.choice([f"{word}_rates", f"the_{word}_rate", f"{word}_rate_new"])
    )
    return plan.is_faulty("name of a changed cell", {"changed-cell"}, use, first)


def _order(rng: random.Random, plan: Plan) -> Plan:
    """The cell that uses a name was dragged above the one that defines it."""
    word, at = rng.choice(WORDS), _place(rng, plan)
    plan.add(f"{word}_base = {_list(rng)}", at=at)
    use = plan.add(f"print(max({word}_base))", at=at + 1)
    cell = plan.cells.pop(plan.index(use))
    plan.cells.insert(at, cell)
    return plan.is_faulty("order of execution", {"cell-order"}, use)


def _order_of_values(rng: random.Random, plan: Plan) -> Plan:
    """A cell further down was run first, and then one above."""
    word, at = rng.choice(WORDS), _place(rng, plan)
    plan.add(f"{word}_step = {rng.randint(1, 9)}", at=at)
    show = plan.add(f"print('step', {word}_step)", at=at + 1)
    later = plan.add(f"{word}_step = {rng.randint(20, 99)}", at=at + 2)
    one, two = plan.step(show), plan.step(later)
    i, j = plan.steps.index(one), plan.steps.index(two)
    plan.steps[i], plan.steps[j] = two, one
    return plan.is_faulty("order of execution, other value", {"cell-order"}, show)


def _twice(rng: random.Random, plan: Plan) -> Plan:
    """A cell that adds to a number was run twice."""
    word, at = rng.choice(WORDS), _place(rng, plan)
    plan.add(f"{word}_count = {rng.randint(1, 9)}", at=at)
    change = plan.add(f"{word}_count += {rng.randint(1, 9)}", at=at + 1)
    plan.add(f"print('count', {word}_count)", at=at + 2)
    plan.steps.insert(plan.steps.index(plan.step(change)), Step(change, plan.cell(change).source))
    return plan.is_faulty("cell run twice", {"run-twice"}, change)


def _twice_in_list(rng: random.Random, plan: Plan) -> Plan:
    """A cell that appends to a list was run twice."""
    word, at = rng.choice(WORDS), _place(rng, plan)
    plan.add(f"{word}_log = []", at=at)
    change = plan.add(f"{word}_log.append('{rng.choice(WORDS)}')\n{word}_log", at=at + 1)
    plan.steps.insert(plan.steps.index(plan.step(change)), Step(change, plan.cell(change).source))
    return plan.is_faulty("cell run twice, list", {"run-twice"}, change)


def _not_rerun(rng: random.Random, plan: Plan) -> Plan:
    """A cell was changed and not run again."""
    word, at = rng.choice(WORDS), _place(rng, plan)
    key = plan.add(f"print('{word}', {rng.randint(1, 40)} * 3)", at=at)
    plan.cell(key).source = f"print('{word}', {rng.randint(41, 90)} * 3)"
    return plan.is_faulty("not run since changed", {"not-run"}, key)


def _not_rerun_below(rng: random.Random, plan: Plan) -> Plan:
    """A value was changed, and the cell that shows what comes of it was not run again."""
    word, at = rng.choice(WORDS), _place(rng, plan)
    first = plan.add(f"{word}_size = {rng.randint(1, 40)}", at=at)
    show = plan.add(f"{word}_size ** 2", at=at + 1)
    plan.cell(first).source = f"{word}_size = {rng.randint(41, 90)}"
    return plan.is_faulty("not run since changed, below", {"not-run"}, show, first)


def _never_run(rng: random.Random, plan: Plan) -> Plan:
    """A new cell was never run."""
    key = plan.add(f"print('new', {rng.randint(1, 99)})", at=_place(rng, plan))
    plan.steps = [each for each in plan.steps if each.key != key]
    return plan.is_faulty("never run", {"not-run"}, key)


def _random(rng: random.Random, plan: Plan) -> Plan:
    """Random numbers without a seed."""
    sources = [
        f"import random as rnd\nprint([{_drawer(plan)}.random() for _ in range(3)])",
        "import secrets\nprint(secrets.randbelow(10**9))",
        "import uuid\nprint('key', uuid.uuid4().int % 1000003)",
        "import random as rnd\ndeck = list(range(52))\nrnd.SystemRandom().shuffle(deck)\ndeck[:6]",
        "print(hash('a text that has no number of its own'))",
    ]
    if plan.topic in {"numpy", "matplotlib"}:
        sources += ["import numpy as np\nnp.random.default_rng().normal(size=4)"] * 3
    if plan.topic == "pandas":
        sources += ["import pandas as pd\npd.DataFrame({'q': range(500)}).sample(4)"] * 3
    key = plan.add(rng.choice(sources), at=_place(rng, plan))
    return plan.is_faulty("unseeded randomness", {"randomness"}, key)


def _random_below(rng: random.Random, plan: Plan) -> Plan:
    """Random numbers without a seed, which a cell below shows."""
    word, at = rng.choice(WORDS), _place(rng, plan)
    key = plan.add(f"import random as rnd\n{word}_noise = [{_drawer(plan)}.gauss(0, 1) for _ in range(5)]", at=at)
    plan.add(f"print(sum({word}_noise))", at=at + 1)
    return plan.is_faulty("unseeded randomness, below", {"randomness"}, key)


def _clock(rng: random.Random, plan: Plan) -> Plan:
    """What is shown depends on the time."""
    sources = [
        "import datetime as dtm\nprint(dtm.datetime.now())",
        "import time as tm\nprint(int(tm.time() * 1000))",
        "from datetime import datetime as DT\n(DT.now() - DT(2020, 1, 1)).total_seconds()",
        "import time as tm\nstamp = tm.time_ns()\nstamp % 1000003",
    ]
    key = plan.add(rng.choice(sources), at=_place(rng, plan))
    return plan.is_faulty("clock", {"clock"}, key)


def _file_missing(rng: random.Random, plan: Plan) -> Plan:
    """A file that was read is gone."""
    name = f"{rng.choice(WORDS)}.txt"
    plan.files[name] = "".join(f"{each}\n" for each in _list(rng))
    key = plan.add(f"print(len(open('{name}').read().split()))", at=_place(rng, plan))
    plan.after.append(lambda folder: (folder / name).unlink())
    return plan.is_faulty("file missing", {"file-missing"}, key)


def _file_changed(rng: random.Random, plan: Plan) -> Plan:
    """A file that was read has been changed since."""
    name = f"{rng.choice(WORDS)}.txt"
    plan.files[name] = "".join(f"{each}\n" for each in _list(rng))
    key = plan.add(f"numbers = [int(line) for line in open('{name}')]\nprint(sum(numbers))", at=_place(rng, plan))
    extra = rng.randint(1000, 9000)

    def change(folder: Path) -> None:
        with (folder / name).open("a") as file:
            file.write(f"{extra}\n")

    plan.after.append(change)
    return plan.is_faulty("file changed", {"file-changed"}, key)


def _file_differs(rng: random.Random, plan: Plan) -> Plan:
    """Somebody edited a file that the notebook writes."""
    name = f"{rng.choice(WORDS)}_out.csv"
    key = plan.add(
        f"with open('{name}', 'w') as out:\n    out.write('a,b\\n{rng.randint(1, 99)},2\\n')", at=_place(rng, plan)
    )
    plan.after.append(lambda folder: (folder / name).write_text("a,b\n777,2\n"))
    return plan.is_faulty("written file differs", {"file-differs"}, key)


def _package(rng: random.Random, plan: Plan) -> Plan:
    """A package that is not installed."""
    name = rng.choice(["quantile_tools_x", "fastcharts_q", "sklego_missing", "geo_frames_z"])
    key = plan.add(f"import {name}\nprint('ready')", at=_place(rng, plan), pretended=stream("ready\n"))
    return plan.is_faulty("package missing", {"package-missing"}, key)


def _version(rng: random.Random, plan: Plan) -> Plan:
    """A package of another version."""
    choices = [
        ("import msgspec\nprint(msgspec.__version__)", stream("0.1.9\n")),
        (
            "import IPython\nassert IPython.__version__.startswith('5.'), 'needs IPython 5'\nprint('fine')",
            stream("fine\n"),
        ),
    ]
    if plan.topic in {"numpy", "matplotlib"}:
        choices += [("import numpy as np\nprint(np.float(3))", stream("3.0\n"))] * 2
    if plan.topic == "pandas":
        old = "import pandas as pd\nprint(len(pd.DataFrame({'a': [1]}).append({'a': 2}, ignore_index=True)))"
        choices += [(old, stream("2\n"))] * 2
    source, outputs = rng.choice(choices)
    key = plan.add(source, at=_place(rng, plan), pretended=outputs)
    return plan.is_faulty("package of another version", {"package-version"}, key)


def _network(rng: random.Random, plan: Plan) -> Plan:
    """Something is downloaded."""
    host = rng.choice(["example.com", "data.example.org", "api.example.net"])
    source = rng.choice(
        [
            f"import urllib.request\npage = urllib.request.urlopen('http://{host}/a.csv', timeout=4).read()\nprint(len(page))",
            f"import socket\nwith socket.create_connection(('{host}', 80), timeout=4) as link:\n    print('open')",
            f"import httpx\nprint(httpx.get('https://{host}/', timeout=4).status_code)",
        ]
    )
    key = plan.add(source, at=_place(rng, plan), pretended=stream("1256\n"))
    return plan.is_faulty("network", {"network"}, key)


def _input(rng: random.Random, plan: Plan) -> Plan:
    """A person is asked."""
    source = rng.choice(["name = input('Your name: ')\nprint(name)", "import getpass\nsecret = getpass.getpass()"])
    key = plan.add(source, at=_place(rng, plan), pretended=stream("Your name: Ada\nAda\n"))
    return plan.is_faulty("input()", {"input"}, key)


def _hang(rng: random.Random, plan: Plan) -> Plan:
    """A cell that never ends."""
    source = rng.choice(
        ["while True:\n    pass", "import time as tm\ntm.sleep(100000)", "import threading\nthreading.Event().wait()"]
    )
    key = plan.add(source, at=_place(rng, plan), pretended=[])
    return plan.is_faulty("hang", {"time-limit"}, key)


def _memory(rng: random.Random, plan: Plan) -> Plan:
    """More memory than there is."""
    source = rng.choice(["block = bytearray(10 ** 13)\nlen(block)", "rows = [0] * (10 ** 13)\nlen(rows)"])
    key = plan.add(source, at=_place(rng, plan), pretended=[])
    return plan.is_faulty("memory", {"memory"}, key)


def _processes(rng: random.Random, plan: Plan) -> Plan:
    """A thousand processes."""
    source = "import os, time as tm\nfor _ in range(1000):\n    if os.fork() == 0:\n        tm.sleep(60)\n        os._exit(0)\nprint('started')"
    key = plan.add(source, at=_place(rng, plan), pretended=stream("started\n"))
    return plan.is_faulty("processes", {"processes"}, key)


def _disk(rng: random.Random, plan: Plan) -> Plan:
    """Ten gigabytes."""
    source = "with open('big.bin', 'wb') as big:\n    for _ in range(10_000):\n        big.write(bytes(1_000_000))\nprint('written')"
    key = plan.add(source, at=_place(rng, plan), pretended=stream("written\n"))
    return plan.is_faulty("disk", {"disk"}, key)


def _magic(rng: random.Random, plan: Plan) -> Plan:
    """A magic or an extension that is not there."""
    source = rng.choice(["%load_ext blackcellmagic_x", "%snakeviz_x 1 + 1", "%%sparksql_x\nselect 1"])
    key = plan.add(source, at=_place(rng, plan), pretended=[])
    return plan.is_faulty("magic missing", {"magic-missing"}, key)


def _command(rng: random.Random, plan: Plan) -> Plan:
    """A command of the shell that is not there."""
    source = rng.choice(
        ["!graphdraw_x --version", "%%bash\ngraphdraw_x --version", "out = !graphdraw_x --version\nprint(out)"]
    )
    key = plan.add(source, at=_place(rng, plan), pretended=stream("graphdraw 1.2\n"))
    return plan.is_faulty("command missing", {"command-missing"}, key)


def _died(rng: random.Random, plan: Plan) -> Plan:
    """A crash."""
    source = rng.choice(
        [
            "import os\nos._exit(3)",
            "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
            "import ctypes\nctypes.string_at(0)",
        ]
    )
    key = plan.add(source, at=_place(rng, plan), pretended=[])
    return plan.is_faulty("the kernel dies", {"kernel-died"}, key)


def _column(rng: random.Random, plan: Plan) -> Plan:
    """A column that a deleted cell made."""
    word, at = rng.choice(WORDS), _place(rng, plan)
    plan.add(f"{word}_row = {{'a': {rng.randint(1, 9)}}}", at=at)
    made = plan.add(f"{word}_row['extra'] = {rng.randint(1, 9)}", at=at + 1)
    use = plan.add(f"print({word}_row['extra'] + {word}_row['a'])", at=at + 2)
    plan.cells = [each for each in plan.cells if each.key != made]
    return plan.is_faulty("key of a deleted cell", {"deleted-cell"}, use)


def _drawer(plan: Plan) -> str:
    """What draws without a seed: the module, unless a cell of the notebook seeds it."""
    return "rnd.Random()" if any("random.seed(" in each.source for each in plan.cells) else "rnd"


def _list(rng: random.Random) -> list[int]:
    return [rng.randint(1, 99) for _ in range(6)]


FAULTS: tuple[Plant, ...] = (
    *(_undefined, _deleted, _deleted_function, _renamed, _order, _order_of_values, _twice, _twice_in_list),
    *(_not_rerun, _not_rerun_below, _never_run, _random, _random_below, _clock, _file_missing, _file_changed),
    *(_file_differs, _package, _version, _network, _input, _hang, _memory, _processes, _disk, _magic, _command),
    *(_died, _column),
)
