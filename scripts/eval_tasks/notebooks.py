"""Example tasks: questions with one answer, modules, and notebooks."""

from __future__ import annotations

import math
from datetime import date, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pandas as pd

from scripts.eval_tasks.example import Example, Made, Solution, notebook_of, table, vary_names, vary_number

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

# --- a rate over groups ---


def make_rate(chance: random.Random) -> Made:
    rows, right, all_ = [], 0, 0
    for week in range(1, 13):
        for channel, usual in (("mail", 0.3), ("ads", 0.05), ("shop", 0.6)):
            visits = chance.randint(20, 2500) if channel == "ads" else chance.randint(20, 300)
            bought = sum(chance.random() < usual for _ in range(visits))
            right, all_ = right + bought, all_ + visits
            rows.append((week, channel, visits, bought, f"{bought / visits:.4f}"))
    return Made({"weeks.csv": table("week channel visits bought rate", rows)}, {"expected.txt": repr(right / all_)})


def solve_rate(folder: Path, how: str = "overall") -> Solution:
    weeks = pd.read_csv(folder / "weeks.csv")
    by_channel = weeks.groupby("channel")[["visits", "bought"]].sum()
    rates = {
        "overall": weeks["bought"].sum() / weeks["visits"].sum(),
        "mean": weeks["rate"].mean(),
        "median": weeks["rate"].median(),
        "channels": (by_channel["bought"] / by_channel["visits"]).mean(),
        "last week": weeks.loc[weeks["week"] == 12, "rate"].mean(),  # noqa: PLR2004 - the last one
        "best": weeks["rate"].max(),
    }
    return Solution(f"ANSWER: {float(rates[how])!r}")


RATE = Example(
    name="rate-over-groups",
    title="The conversion rate over all weeks and channels",
    prompt="""
weeks.csv has visits and purchases by week and channel. Which part of all visits ended with a purchase? Give at least four
digits after the point, as a number between 0 and 1, on a last line `ANSWER: …`.
""",
    make=make_rate,
    solve=solve_rate,
    mistakes=tuple({"how": each} for each in ("mean", "median", "channels", "last week", "best")),
    check='''
"""A number that was calculated when the data were made."""


def check(run):
    wanted = float((run.task / "expected.txt").read_text())
    return True if abs(run.number - wanted) <= 6e-5 else f"{run.number:g} is not the rate."
''',
    vary=vary_number,
)

# --- columns that leak ---

COLUMNS = (
    *(("age", -30), ("region", -30), ("tenure", -1), ("visits_before", 0), ("plan", -7)),
    *(("refund", 3), ("exit_survey", 9), ("last_call", 1), ("final_bill", 12)),
)


def make_leakage(chance: random.Random) -> Made:
    names = [*COLUMNS]
    chance.shuffle(names)
    decided = date(2025, 6, 15)
    described = [(name, decided + timedelta(days=days), decided) for name, days in names]
    data = []
    for number in range(1, 81):
        churned = chance.random() < 0.3  # noqa: PLR2004 - a third
        noise = [chance.randint(1, 9) + 4 * (churned and (days > 0 or name == "visits_before")) for name, days in names]
        data.append((number, *noise, int(churned)))
    head = " ".join(["customer_id", *(name for name, _ in names), "churned"])
    return Made(
        {"customers.csv": table(head, data), "columns.csv": table("column known_from predicted_on", described)},
        {"expected.txt": ", ".join(sorted(name for name, days in COLUMNS if days > 0))},
    )


def solve_leakage(folder: Path, how: str = "after") -> Solution:
    columns = pd.read_csv(folder / "columns.csv")
    data = pd.read_csv(folder / "customers.csv")
    related = data[columns["column"]].corrwith(data["churned"]).abs()
    ways = {
        "after": columns.loc[columns["known_from"] > columns["predicted_on"], "column"],
        "from": columns.loc[columns["known_from"] >= columns["predicted_on"], "column"],
        "before": columns.loc[columns["known_from"] <= columns["predicted_on"], "column"],
        "related": related[related > related.median()].index.to_series(),
        "most related": related.nlargest(1).index.to_series(),
    }
    return Solution(f"ANSWER: {', '.join(sorted(ways[how]))}")


LEAKAGE = Example(
    name="columns-that-leak",
    title="Which columns are not known yet when the prediction is made?",
    prompt="""
A model is to predict `churned` in customers.csv. columns.csv says of each column from which day on it is known, and on which
day the prediction is made. Which columns must not be used, because they are only known after that day? A column that is known
from that very day may be used. End with a line `ANSWER: …` with their names, separated by commas.
""",
    make=make_leakage,
    solve=solve_leakage,
    mistakes=tuple({"how": each} for each in ("from", "before", "related", "most related")),
    check='''
"""The names must be exactly those; their order does not matter."""


def check(run):
    wanted = set((run.task / "expected.txt").read_text().split(", "))
    named = {each.strip(" `*.") for each in run.final.split(",")}
    if named == wanted:
        return True
    return f"Too many: {sorted(named - wanted)}; missing: {sorted(wanted - named)}."
''',
    vary=vary_names,
)

# --- a file that does not fit into memory ---


def make_memory(chance: random.Random) -> Made:
    rows = [(number, chance.choice("ab"), chance.randint(-500, 900) / 100) for number in range(1, 51)]
    text = table("number kind amount", rows).replace(",a,", ',"a, or b",', 1)
    return Made({"sample.csv": text})


STREAMING = """
import csv
import math


def total(path):
    with open(path, newline="") as file:
        return math.fsum(float(row["amount"]) for row in csv.DictReader(file))
"""
TOTALS = (
    STREAMING.replace("math.fsum(float", "sum(int(float").replace('["amount"])', '["amount"]))'),
    STREAMING.replace("math.fsum(float(", "math.fsum(abs(float(").replace('["amount"])', '["amount"]))'),
    STREAMING.replace("math.fsum(float(", "math.fsum(float(").replace('"amount"', '"number"'),
    STREAMING.replace("csv.DictReader(file)", "[*csv.DictReader(file)]"),
    STREAMING.replace("csv.DictReader(file)", "csv.DictReader(file.readlines())"),
    STREAMING.replace("csv.DictReader(file)", "csv.DictReader(file.read().splitlines())"),
    STREAMING.replace(" in csv.DictReader(file)", ' in csv.DictReader(file) if row["kind"] == "a"'),
    STREAMING.replace(" in csv.DictReader(file)", ' in csv.DictReader(file) if float(row["amount"]) > 0'),
    "def total(path):\n    return sum(float(line.split(',')[2]) for line in list(open(path))[1:])\n",
    "def total(path):\n    lines = iter(open(path))\n    next(lines)\n    return sum(float(line.split(',')[2]) for line in lines)\n",
    "def total(path):\n    return 0.0\n",
    "def total(path):\n    pass\n",
    "def sum_of(path):\n    return 1.0\n",
    "total = None\n",
    "def total(path)\n    return 1.0\n",
)
"""Wrong ones: other sums, all rows at once, commas within quotes, no module at all."""


def solve_memory(folder: Path, text: str = STREAMING) -> Solution:
    del folder
    return Solution(files={"totals.py": text})


def vary_memory(right: Solution) -> Iterator[Solution]:
    """Other modules."""
    del right
    yield Solution()


MEMORY = Example(
    name="larger-than-memory",
    title="The sum of a file that does not fit into memory",
    prompt="""
Write a module totals.py with a function `total(path)` that returns the sum of the column `amount` of a CSV file such as
sample.csv. The files have millions of rows, so it must not hold more than a few of them in memory. Use the standard library
only.
""",
    make=make_memory,
    solve=solve_memory,
    mistakes=tuple({"text": each} for each in TOTALS),
    check='''
"""Runs the module in a process of its own on a larger file, and measures its memory."""

CODE = """
import csv, json, random, tracemalloc
chance = random.Random(5)
wanted = 0
with open("large.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["number", "kind", "amount"])
    for number in range(10000):
        cents = chance.randint(-500, 900)
        wanted += cents
        writer.writerow([number, chance.choice(["a", "b", "a, or b"]), cents / 100])
from totals import total
tracemalloc.start()
found = total("large.csv")
print(json.dumps([found, wanted / 100, tracemalloc.get_traced_memory()[1]]))
"""


def check(run):
    import json

    run.path("totals.py")
    found, wanted, memory = json.loads(run.python(CODE).splitlines()[-1])
    assert isinstance(found, float) and abs(found - wanted) < 1e-6, f"total returned {found!r}, not {wanted!r}."
    return True if memory < 120_000 else f"It held {memory:,} bytes."
''',
    vary=vary_memory,
)

# --- notebooks ---

READ = 'import csv\n\nwith open("sales.csv", newline="") as file:\n    sales = list(csv.DictReader(file))'
CLEAN = 'known = [each for each in sales if each["amount"] not in ("", "n/a")]'
SUM = 'total = sum(float(each["amount"]) for each in known if each["state"] != "returned")'
SHOW = 'print(f"Total: {total:.2f}")'


def make_mend(chance: random.Random) -> Made:
    def rows(count: int) -> list[tuple[int, str, str]]:
        states = ("sold", "sold", "returned")
        amounts = (chance.choice(("", "n/a", *[f"{chance.randint(100, 9999) / 100}"] * 8)) for _ in range(count))
        return [(number, chance.choice(states), amount) for number, amount in enumerate(amounts, 1)]

    broken = notebook_of(READ, SUM, CLEAN.replace("sales if", "sale if"), SHOW)
    return Made(
        {"sales.csv": table("number state amount", rows(60)), "sales.ipynb": broken},
        {"other.csv": table("number state amount", rows(40))},
    )


def solve_mend(folder: Path, cells: tuple[str, ...] = (READ, CLEAN, SUM, SHOW)) -> Solution:
    printed = {"TOTAL": f"{_total(folder / 'sales.csv'):.2f}"}
    text = tuple(each.replace("TOTAL", printed["TOTAL"]) for each in cells)
    return Solution(files={"sales.ipynb": notebook_of(*text)})


def _total(path: Path) -> float:
    sales = pd.read_csv(path, na_values=["n/a"])
    return float(math.fsum(sales.loc[sales["state"] != "returned", "amount"].dropna()))


def vary_notebook(right: Solution) -> Iterator[Solution]:
    """The notebook as it was, or none."""
    del right
    yield Solution()
    yield Solution(files={"sales.ipynb": notebook_of("print('Total: 1.00')")})
    yield Solution("The total is 12.", {"sales.ipynb": notebook_of(READ, CLEAN, SUM)})


MEND = Example(
    name="mend-a-notebook",
    title="A notebook that fails, to be mended",
    prompt="""
sales.ipynb fails when it is run from the top. Mend it: in the end it must print `Total: …` with the sum of the amounts in
sales.csv that are known and were not returned, with two digits after the point. It must work for other files of that form,
too.
""",
    make=make_mend,
    solve=solve_mend,
    mistakes=(
        {"cells": (READ, 'print("Total: TOTAL")')},
        {"cells": (READ, CLEAN, SUM, 'print("Total: TOTAL")')},
        {"cells": (READ, CLEAN, SUM.replace(' if each["state"] != "returned"', ""), SHOW)},
        {"cells": (READ, CLEAN, SUM.replace("!=", "=="), SHOW)},
        {"cells": (READ, SUM, CLEAN, SHOW)},
        {"cells": (READ, CLEAN, SHOW)},
        {"cells": (READ, CLEAN.replace(', "n/a"', ""), SUM, SHOW)},
        {"cells": (READ, CLEAN, "total = 0\ntry:\n    total = sum(known)\nexcept TypeError:\n    pass", SHOW)},
        {"cells": (READ, CLEAN, SUM, SHOW.replace(".2f", ".0f"))},
        {"cells": (READ, CLEAN, SUM, SHOW.replace("Total", "Sum"))},
        {"cells": (READ, CLEAN.replace("sales if", "sales[1:] if"), SUM, SHOW)},
        {"cells": (READ, CLEAN, SUM.replace("in known", "in known[:-1]"), SHOW)},
    ),
    check=r'''
"""It must run from the top, and be right for data that it has never seen."""

import csv
import math
import re


def total(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return math.fsum(float(row["amount"]) for row in rows if row["amount"] not in ("", "n/a") and row["state"] == "sold")


def printed(text):
    found = re.findall(r"^Total: (\S+)$", text, re.MULTILINE)
    assert found, "It prints no line with the total."
    return found[-1]


def check(run):
    assert run.verified, "The notebook does not run from the top."
    own = total(run.folder / "sales.csv")
    assert printed(run.shown) == f"{own:.2f}", "The total is not right."
    (run.folder / "sales.csv").write_bytes((run.task / "other.csv").read_bytes())
    return printed(run.python(run.code)) == f"{total(run.task / 'other.csv'):.2f}"
''',
    vary=vary_notebook,
    notebook="sales.ipynb",
)

IMPORT = "import csv\nimport random"
LOAD = (
    'with open("people.csv", newline="") as file:\n    people = sorted({row["name"] for row in csv.DictReader(file)})'
)
CHOOSE = "chosen = random.Random(7).sample(people, 10)"
LIST = 'print("\\n".join(chosen))'


def make_reproducible(chance: random.Random) -> Made:
    first, last = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Fay"), ("Ito", "King", "Lund", "Moss", "Ng", "Oz", "Pym")
    names = [f"{one} {other}" for one in first for other in last]
    rows = [(number, f"{chance.choice(names)}") for number in range(1, 101)]
    loose = notebook_of(IMPORT, LOAD.replace("sorted({", "list({"), "chosen = random.sample(people, 10)", LIST)
    return Made({"people.csv": table("number name", rows), "sample.ipynb": loose})


def solve_reproducible(folder: Path, cells: tuple[str, ...] = (IMPORT, LOAD, CHOOSE, LIST)) -> Solution:
    del folder
    return Solution(files={"sample.ipynb": notebook_of(*cells)})


def vary_sample(right: Solution) -> Iterator[Solution]:
    """The notebook as it was, or none."""
    del right
    yield Solution()
    yield Solution(files={"sample.ipynb": notebook_of("print('Ada Ito')")})


REPRODUCIBLE = Example(
    name="same-sample-each-time",
    title="A random sample that must be the same each time",
    prompt="""
sample.ipynb chooses ten people of people.csv by chance, other ones each time. Change it so that it chooses the same ones each
time it is run, also in another process. It must still be a random sample of ten different people, printed one on a line.
""",
    make=make_reproducible,
    solve=solve_reproducible,
    mistakes=(
        {"cells": (IMPORT, LOAD, "chosen = random.sample(people, 10)", LIST)},
        {"cells": (IMPORT, LOAD.replace("sorted({", "list({"), CHOOSE, LIST)},
        {
            "cells": (
                IMPORT,
                f"random.seed(7)\n{LOAD.replace('sorted({', 'list({')}",
                "chosen = random.sample(people, 10)",
                LIST,
            )
        },
        {"cells": (IMPORT, LOAD, "random.seed()\nchosen = random.sample(people, 10)", LIST)},
        {"cells": (IMPORT, LOAD, "import time\nchosen = random.Random(time.time()).sample(people, 10)", LIST)},
        {"cells": (IMPORT, LOAD, "import os\nchosen = random.Random(os.getpid()).sample(people, 10)", LIST)},
        {"cells": (IMPORT, LOAD, "chosen = random.Random(hash('people')).sample(people, 10)", LIST)},
        {"cells": (IMPORT, LOAD, "chosen = random.SystemRandom(7).sample(people, 10)", LIST)},
        {"cells": (IMPORT, LOAD, "chosen = people[:10]", LIST)},
        {"cells": (IMPORT, LOAD, "chosen = people[-10:]", LIST)},
        {"cells": (IMPORT, LOAD, CHOOSE.replace("10", "9"), LIST)},
        {"cells": (IMPORT, LOAD, "chosen = random.Random(7).choices(people[:5], k=10)", LIST)},
        {"cells": (IMPORT, LOAD, CHOOSE)},
        {"cells": (IMPORT, LOAD, CHOOSE, "print(chosen)")},
    ),
    check=r'''
"""Runs it twice, with other hashes of strings: what it prints must be the same, and a sample."""

import csv
import random


def check(run):
    assert run.verified, "The notebook does not run from the top."
    with open(run.folder / "people.csv", newline="") as file:
        people = sorted({row["name"] for row in csv.DictReader(file)})
    prints = []
    for number in (1, 2):
        code = f"import os, sys; os.environ['PYTHONHASHSEED'] = '{number}'\n"
        code += "os.execv(sys.executable, [sys.executable, '-c', " + repr(run.code) + "])"
        prints.append(run.python(code).split("\n"))
    assert prints[0] == prints[1], "It chooses other people in another process."
    chosen = [each for each in prints[0] if each]
    assert len(chosen) == len(set(chosen)) == 10, "It does not choose ten different people."
    assert set(chosen) <= set(people), "It chooses people who are not in the file."
    return "It is no random sample." if sorted(chosen) in (people[:10], people[-10:]) else True
''',
    vary=vary_sample,
    notebook="sample.ipynb",
)

# --- the data of a plot ---

EDGES = (0, 10, 20, 30, 40, 50)


def make_plot(chance: random.Random) -> Made:
    ages = [chance.choice((*EDGES[1:], *range(1, 51), 60, 75)) for _ in range(240)]
    counts = [sum(low < each <= high for each in ages) for low, high in pairwise(EDGES)]
    labels = [f"{low}-{high}" for low, high in pairwise(EDGES)]
    expected = [*zip(labels, counts, strict=True), ("over 50", sum(each > EDGES[-1] for each in ages))]
    return Made(
        {"ages.csv": table("person age", enumerate(ages, 1))},
        {"expected.csv": table("bar people", expected)},
    )


def solve_plot(
    folder: Path, *, right: bool = True, over: bool = True, part: bool = False, added: bool = False
) -> Solution:
    ages = pd.read_csv(folder / "ages.csv")["age"]
    labels = [f"{low}-{high}" for low, high in pairwise(EDGES)]
    edges: list[float] = [*EDGES]
    if over:
        labels, edges = [*labels, "over 50"], [*edges, math.inf]
    bars = pd.cut(ages.clip(upper=50) if added else ages, edges, right=right, labels=labels)
    counts = bars.value_counts(normalize=part, sort=False)
    return Solution(files={"bars.csv": table("bar people", counts.items())})


def vary_bars(right: Solution) -> Iterator[Solution]:
    """Faults of tables."""
    from scripts.eval_tasks.example import vary_table

    return vary_table(right)


PLOT = Example(
    name="data-of-a-plot",
    title="The bars of a histogram",
    prompt="""
A histogram of the ages in ages.csv is to have the bars 0-10, 10-20, 20-30, 30-40, 40-50 and `over 50`. An age that is an upper
limit belongs to the bar that ends with it. Write its data to bars.csv with the columns bar and people.
""",
    make=make_plot,
    solve=solve_plot,
    mistakes=({"right": False}, {"over": False}, {"part": True}, {"added": True}),
    check='''
"""Compares the bars."""

import pandas as pd


def check(run):
    return run.compare("bars.csv", pd.read_csv(run.task / "expected.csv"), key=["bar"])
''',
    vary=vary_bars,
)

EXAMPLES = (RATE, LEAKAGE, MEMORY, MEND, REPRODUCIBLE, PLOT)
