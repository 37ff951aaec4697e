"""Example tasks: units, balances, nearest rows, nested records, a database, a split."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pandas as pd

from scripts.eval_tasks.example import Example, Made, Solution, csv_of, table, vary_table
from scripts.eval_tasks.tables import check_of

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

# --- units ---

KILOGRAMS = {"kg": 1.0, "g": 0.001, "lb": 0.45359237, "oz": 0.028349523125}


def make_units(chance: random.Random) -> Made:
    rows: list[tuple[int, str, str]] = []
    sums: defaultdict[str, float] = defaultdict(float)
    for number in range(1, 201):
        unit, parcel = chance.choice([*KILOGRAMS]), chance.choice("WXYZ")
        weight = round(chance.uniform(1, 9) / KILOGRAMS[unit], 1)
        sums[parcel] += weight * KILOGRAMS[unit]
        space = chance.choice(("", " "))
        rows.append((number, parcel, f"{weight}{space}{chance.choice((unit, unit.upper()))}"))
    return Made(
        {"weights.csv": table("number depot weight", rows)},
        {"expected.csv": table("depot kilograms", sorted(sums.items()))},
    )


def solve_units(folder: Path, ignored: str = "", factor: float = 1.0, *, case: bool = True) -> Solution:
    weights = pd.read_csv(folder / "weights.csv")
    parts = weights["weight"].str.extract(r"([\d.]+)\s*(\w+)")
    unit = parts[1].str.lower() if case else parts[1]
    factors = {**KILOGRAMS, **({ignored: 1.0} if ignored else {})}
    kilograms = parts[0].astype(float) * unit.map(factors) * factor
    sums = kilograms.groupby(weights["depot"]).sum().rename("kilograms").reset_index()
    return Solution(files={"depots.csv": csv_of(sums)})


UNITS = Example(
    name="units",
    title="Weights in kilograms, grams, pounds and ounces",
    prompt="""
weights.csv has weights with their units: kg, g, lb (0.45359237 kg) and oz (a sixteenth of a pound), in whatever case. Write
depots.csv with the columns depot and kilograms: the sum of each depot. Do not round.
""",
    make=make_units,
    solve=solve_units,
    mistakes=({"ignored": "g"}, {"ignored": "lb"}, {"ignored": "oz"}, {"case": False}, {"factor": 2.2046}),
    check=check_of("depots.csv", "depot"),
    vary=vary_table,
)

# --- balances ---


def make_balances(chance: random.Random) -> Made:
    balances: defaultdict[str, int] = defaultdict(int)
    entries = []
    for number in range(1, 181):
        day = f"2025-{chance.randint(1, 3):02d}-{chance.randint(1, 28):02d}"
        entries.append((day, number, chance.choice("PQR"), chance.randint(-400, 500)))
    lowest: dict[str, tuple[int, str]] = {}
    for day, _, account, amount in sorted(entries):
        balances[account] += amount
        lowest[account] = min(lowest.get(account, (balances[account], day)), (balances[account], day))
    chance.shuffle(entries)
    rows = [(number, day, account, amount) for day, number, account, amount in entries]
    expected = [(account, balances[account], *lowest[account]) for account in sorted(balances)]
    return Made(
        {"entries.csv": table("number day account amount", rows)},
        {"expected.csv": table("account final lowest day", expected)},
    )


def solve_balances(folder: Path, how: str = "min", *, ordered: bool = True, apart: bool = True) -> Solution:
    entries = pd.read_csv(folder / "entries.csv")
    entries = entries.sort_values(["day", "number"]) if ordered else entries
    running = entries.groupby("account")["amount"].cumsum() if apart else entries["amount"].cumsum()
    entries = entries.assign(balance=running)
    rows = []
    for account, own in entries.groupby("account"):
        lowest = own["balance"].agg(how) if how != "amount" else own["amount"].min()
        day = own.loc[(own["amount"] if how == "amount" else own["balance"]) == lowest, "day"].iloc[0]
        rows.append((account, own["balance"].iloc[-1], lowest, day))
    return Solution(files={"accounts.csv": table("account final lowest day", rows)})


def vary_days(right: Solution) -> Iterator[Solution]:
    """Wrong days, besides faults of tables."""
    name, text = next(iter(right.files.items()))
    yield Solution(files={name: str(text).replace("2025-", "2024-")})
    yield from vary_table(right)


BALANCES = Example(
    name="running-balances",
    title="The final and the lowest balance of each account",
    prompt="""
entries.csv has the entries of accounts, in no order. All begin with a balance of 0; an account's entries count by day, those
of one day by their number. Write accounts.csv with the columns account, final (the balance after the last entry), lowest
(the lowest balance after any entry) and day (the first day on which it was that low).
""",
    make=make_balances,
    solve=solve_balances,
    mistakes=({"ordered": False}, {"apart": False}, {"how": "max"}, {"how": "amount"}),
    check=check_of("accounts.csv", "account"),
    vary=vary_days,
)

# --- the latest quote before a trade ---


def make_quotes(chance: random.Random) -> Made:
    quotes = []
    for symbol in ("AA", "BB", "CC"):
        quotes += [
            (moment, symbol, chance.randint(900, 1100) / 10) for moment in sorted(chance.sample(range(50, 3000), 60))
        ]
    trades = [(number, chance.randint(1, 3000), chance.choice(("AA", "BB", "CC"))) for number in range(1, 91)]
    trades[:9] = [(number, *chance.choice(quotes)[:2]) for number in range(1, 10)]  # at the moment of a quote
    expected = []
    for number, moment, symbol in trades:
        before = [each for each in quotes if each[1] == symbol and moment - 120 <= each[0] <= moment]
        expected.append((number, max(before)[2] if before else ""))
    return Made(
        {
            "quotes.csv": table("second symbol price", sorted(quotes)),
            "trades.csv": table("trade second symbol", trades),
        },
        {"expected.csv": table("trade price", expected)},
    )


def solve_quotes(
    folder: Path, direction: Any = "backward", old: int = 120, *, same: bool = True, by_symbol: bool = True
) -> Solution:
    quotes, trades = (pd.read_csv(folder / f"{each}.csv").sort_values("second") for each in ("quotes", "trades"))
    if not by_symbol:
        quotes = quotes.drop(columns="symbol")
    joined = pd.merge_asof(
        trades,
        quotes,
        on="second",
        by="symbol" if by_symbol else None,
        direction=direction,
        tolerance=old,
        allow_exact_matches=same,
    )
    return Solution(files={"prices.csv": csv_of(joined.sort_values("trade")[["trade", "price"]])})


QUOTES = Example(
    name="latest-quote",
    title="The latest quote before each trade",
    prompt="""
trades.csv has trades and quotes.csv has quotes, each with its second. Write prices.csv with the columns trade and price: the
price of the latest quote of the trade's symbol that is not after the trade and at most 120 seconds older. A quote in the same
second counts. Trades without such a quote have an empty price.
""",
    make=make_quotes,
    solve=solve_quotes,
    mistakes=(
        {"direction": "nearest"},
        {"direction": "forward"},
        {"old": 100_000},
        {"old": 60},
        {"same": False},
        {"by_symbol": False},
    ),
    check=check_of("prices.csv", "trade"),
    vary=vary_table,
)

# --- nested records ---


def make_nested(chance: random.Random) -> Made:
    lines: list[dict[str, Any]] = []
    sums: defaultdict[str, float] = defaultdict(float)
    orders: defaultdict[str, set[int]] = defaultdict(set)
    for number in range(1, 121):
        items: list[dict[str, Any]] = []
        for _ in range(chance.randint(0, 4)):
            item: dict[str, Any] = {
                "sku": chance.choice(("pen", "ink", "pad")),
                "price": chance.randint(100, 999) / 100,
            }
            count = chance.choice((None, 1, 2, 5))
            items.append(item if count is None else {**item, "count": count})
        record: dict[str, Any] = {"order": number, "state": chance.choice(("paid", "paid", "cancelled"))}
        lines.append(record if not items and chance.random() < 0.5 else {**record, "items": items or None})  # noqa: PLR2004
        for item in items if record["state"] == "paid" else ():
            sums[item["sku"]] += item["price"] * item.get("count", 1)
            orders[item["sku"]].add(number)
    expected = [(sku, len(orders[sku]), sums[sku]) for sku in sorted(sums)]
    return Made(
        {"orders.jsonl": "".join(f"{json.dumps(each)}\n" for each in lines)},
        {"expected.csv": table("sku orders amount", expected)},
    )


def solve_nested(
    folder: Path, missing: int = 1, *, paid: bool = True, counted: bool = True, distinct: bool = True
) -> Solution:
    orders: defaultdict[str, list[int]] = defaultdict(list)
    sums: defaultdict[str, float] = defaultdict(float)
    for line in (folder / "orders.jsonl").read_text().splitlines():
        record = json.loads(line)
        if paid and record["state"] != "paid":
            continue
        for item in record.get("items") or ():
            orders[item["sku"]].append(record["order"])
            sums[item["sku"]] += item["price"] * (item.get("count", missing) if counted else 1)
    rows = [(sku, len(set(own) if distinct else own), sums[sku]) for sku, own in sorted(orders.items())]
    return Solution(files={"skus.csv": table("sku orders amount", rows)})


NESTED = Example(
    name="nested-records",
    title="What was paid for each article, from nested JSON",
    prompt="""
orders.jsonl has an order on each line. Its `items` may be missing, null or empty; an item without `count` is one piece. Write
skus.csv with the columns sku, orders (in how many paid orders it is) and amount (price times count, over the paid orders).
Do not round.
""",
    make=make_nested,
    solve=solve_nested,
    mistakes=({"missing": 0}, {"paid": False}, {"counted": False}, {"distinct": False}, {"paid": False, "missing": 0}),
    check=check_of("skus.csv", "sku"),
    vary=vary_table,
)

# --- a database ---


def make_database(chance: random.Random) -> Made:
    products = [(number, f"product {number}", chance.choice(("toys", "tools", "tea"))) for number in range(1, 25)]
    sales = [(each, chance.randint(1, 24), chance.randint(1, 9), chance.randint(3, 60)) for each in range(1, 401)]
    returned = sorted(chance.sample(range(1, 401), 60))
    notes = [(sale, f"note {number}") for sale in returned for number in range(chance.choice((1, 1, 2)))]
    totals: defaultdict[int, int] = defaultdict(int)
    for number, product, count, price in sales:
        totals[product] += 0 if number in returned else count * price
    expected = []
    for kind in ("tea", "tools", "toys"):
        own = sorted(((-totals[number], name) for number, name, of in products if of == kind))[:3]
        expected += [(kind, name, -total) for total, name in own]
    script = "\n".join(
        [
            "CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, kind TEXT);",
            "CREATE TABLE sales (id INTEGER PRIMARY KEY, product INTEGER, count INTEGER, price INTEGER);",
            "CREATE TABLE returns (sale INTEGER, note TEXT);",
            *(f"INSERT INTO products VALUES {each};" for each in products),
            *(f"INSERT INTO sales VALUES {each};" for each in sales),
            *(f"INSERT INTO returns VALUES {each};" for each in notes),
        ]
    )
    return Made({"shop.sql": f"{script}\n"}, {"expected.csv": table("kind name revenue", expected)})


QUERY = """
WITH totals AS (
    SELECT kind, name, {value} AS revenue FROM sales JOIN products ON products.id = product {returns}
    GROUP BY products.id
), ranked AS (
    SELECT *, row_number() OVER ({partition} ORDER BY revenue DESC, name) AS place FROM totals
)
SELECT kind, name, revenue FROM ranked WHERE place <= {most} ORDER BY kind, place
"""
WITHOUT_RETURNS = "WHERE sales.id NOT IN (SELECT sale FROM returns)"


def solve_database(
    folder: Path,
    value: str = "sum(count * price)",
    returns: str = WITHOUT_RETURNS,
    partition: str = "PARTITION BY kind",
    most: int = 3,
) -> Solution:
    connection = sqlite3.connect(":memory:")
    connection.executescript((folder / "shop.sql").read_text())
    query = QUERY.format(value=value, returns=returns, partition=partition, most=most)
    rows = connection.execute(query).fetchall()
    connection.close()
    return Solution(files={"best.csv": table("kind name revenue", rows)})


DATABASE = Example(
    name="sql-best-of-each",
    title="The three best products of each kind, without what was returned",
    prompt="""
shop.sql makes the tables of a shop (SQLite). Write best.csv with the columns kind, name and revenue: for each kind the three
products with the most revenue (count times price). Sales that are in `returns`, once or several times, do not count. Of
products with the same revenue the first by name counts.
""",
    make=make_database,
    solve=solve_database,
    mistakes=(
        {"value": "sum(count)"},
        {"value": "max(count * price)"},
        {"value": "sum(price)"},
        {"returns": ""},
        {"returns": "LEFT JOIN returns ON sale = sales.id"},
        {"returns": "JOIN returns ON sale = sales.id"},
        {"partition": ""},
        {"most": 4},
    ),
    check=check_of("best.csv", "kind", "name"),
    vary=vary_table,
)

# --- a split that keeps patients apart ---


def make_split(chance: random.Random) -> Made:
    rows = []
    for patient in range(1, 61):
        rows += [(patient, chance.randint(30, 90)) for _ in range(chance.randint(1, 9))]
    chance.shuffle(rows)
    visits = [(number, *each) for number, each in enumerate(rows, 1)]
    return Made({"visits.csv": table("visit patient age", visits)})


def solve_split(
    folder: Path, by: str = "patient", part: float = 0.25, names: tuple[str, str] = ("train", "test")
) -> Solution:
    visits = pd.read_csv(folder / "visits.csv")
    sizes = visits[by].value_counts().sort_index().sample(frac=1, random_state=1)
    tested = sizes.index[sizes.cumsum() <= part * len(visits)]
    split = visits[by].isin(tested).map({True: names[1], False: names[0]})
    return Solution(files={"split.csv": csv_of(pd.DataFrame({"visit": visits["visit"], "split": split}))})


def vary_split(right: Solution) -> Iterator[Solution]:
    """Visits that are missing, are there twice, or have other words."""
    head, *rows = str(right.files["split.csv"]).splitlines()
    for lines in (rows[:-1], [*rows, rows[0]], rows[: len(rows) // 2], [], [f"9{each}" for each in rows]):
        yield Solution(files={"split.csv": "\n".join([head, *lines, ""])})
    turned = [each.replace("train", "x").replace("test", "train").replace("x", "test") for each in rows]
    yield Solution(files={"split.csv": "\n".join([head, *turned, ""])})
    yield Solution(files={"split.csv": "\n".join(["id,part", *rows, ""])})
    yield Solution()


SPLIT = Example(
    name="split-without-leaking",
    title="A split into training and test that keeps patients apart",
    prompt="""
visits.csv has several visits for most patients. Write split.csv with the columns visit and split (`train` or `test`): each
visit once, no patient in both parts, and between 20 % and 30 % of the visits in `test`.
""",
    make=make_split,
    solve=solve_split,
    mistakes=(
        {"by": "visit"},
        {"by": "age"},
        {"part": 0.1},
        {"part": 0.5},
        {"part": 0.0},
        {"names": ("Train", "Test")},
        {"names": ("0", "1")},
    ),
    check='''
"""Any split will do that keeps patients apart and has the right size."""

import pandas as pd


def check(run):
    visits = pd.read_csv(run.task / "workspace/visits.csv")
    split = run.table("split.csv")
    assert list(split.columns) == ["visit", "split"], f"The columns are {list(split.columns)}."
    assert set(split["split"]) <= {"train", "test"}, "There are other words than train and test."
    assert sorted(split["visit"]) == sorted(visits["visit"]), "Not each visit is there once."
    both = visits.merge(split, on="visit").groupby("patient")["split"].nunique()
    assert both.max() == 1, f"{(both > 1).sum()} patients are in both parts."
    part = (split["split"] == "test").mean()
    return True if 0.2 <= part <= 0.3 else f"{part:.0%} of the visits are in test."
''',
    vary=vary_split,
)

EXAMPLES = (UNITS, BALANCES, QUOTES, NESTED, DATABASE, SPLIT)
