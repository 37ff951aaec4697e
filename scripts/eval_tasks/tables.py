"""Example tasks: tables that are joined, cleaned, grouped and put into other forms."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pandas as pd

from scripts.eval_tasks.example import Example, Made, Solution, csv_of, table, vary_table

if TYPE_CHECKING:
    import random
    from pathlib import Path

CHECK = '''
"""Compares the table that the agent wrote with the one that is held back."""

import pandas as pd


def check(run):
    wanted = pd.read_csv(run.task / "expected.csv")
    return run.compare({name!r}, wanted, key={key!r})
'''


def check_of(name: str, *key: str) -> str:
    """A check that compares a table."""
    return CHECK.format(name=name, key=[*key])


# --- a join that repeats rows ---

COUNTRIES = ("France", "Japan", "Kenya", "Peru")


def make_join(chance: random.Random) -> Made:
    customers, country_of = [], {}
    for number in range(1, 41):
        versions = sorted(chance.sample(range(1, 28), chance.choice((1, 1, 2, 3))))
        for day in versions:
            country_of[number] = chance.choice(COUNTRIES)
            customers.append((number, country_of[number], f"2025-03-{day:02d}"))
    chance.shuffle(customers)
    revenue: defaultdict[str, float] = defaultdict(float)
    orders = []
    for number in range(1, 301):
        customer, amount = chance.randint(1, 44), chance.randint(500, 90_000) / 100  # some are not known
        orders.append((number, customer, amount))
        revenue[country_of.get(customer, "unknown")] += amount
    return Made(
        {
            "orders.csv": table("order customer amount", orders),
            "customers.csv": table("customer country updated", customers),
        },
        {"expected.csv": table("country revenue", sorted(revenue.items()))},
    )


def solve_join(folder: Path, keep: str = "last", how: str = "left", by: str = "updated") -> Solution:
    orders, customers = (pd.read_csv(folder / f"{each}.csv") for each in ("orders", "customers"))
    customers = customers.sort_values(["customer", by])
    if keep != "all":
        customers = customers.drop_duplicates("customer", keep=keep)
    joined = orders.merge(customers, on="customer", how=how)
    joined["country"] = joined["country"].fillna("unknown")
    revenue = joined.groupby("country", as_index=False)["amount"].sum().rename(columns={"amount": "revenue"})
    return Solution(files={"revenue.csv": csv_of(revenue)})


JOIN = Example(
    name="join-repeats-rows",
    title="Revenue by country, with several versions of each customer",
    prompt="""
orders.csv has a row for each order, customers.csv a row for each version of a customer: the one with the latest `updated`
counts. Write revenue.csv with the columns country and revenue: the sum of the amounts of all orders by the country of their
customer. Customers that are not in customers.csv count as the country `unknown`. Do not round.
""",
    make=make_join,
    solve=solve_join,
    mistakes=({"keep": "all"}, {"keep": "first"}, {"how": "inner"}, {"by": "country"}),
    check=check_of("revenue.csv", "country"),
    vary=vary_table,
)

# --- days of a time zone ---


def make_zones(chance: random.Random) -> Made:
    start = datetime(2025, 3, 27, 12, tzinfo=timezone.utc)
    moments = [start + timedelta(minutes=chance.randint(0, 6 * 24 * 60)) for _ in range(400)]
    berlin = ZoneInfo("Europe/Berlin")
    quiet = date(2025, 3, 31)
    moments = [each for each in moments if each.astimezone(berlin).date() != quiet]
    counts = {date(2025, 3, 27) + timedelta(days=each): 0 for each in range(7)}
    for each in moments:
        counts[each.astimezone(berlin).date()] += 1
    rows = [(each.strftime("%Y-%m-%dT%H:%M:%SZ"), chance.choice("abc")) for each in moments]
    return Made(
        {"events.csv": table("at kind", rows)},
        {"expected.csv": table("day events", counts.items())},
    )


def solve_zones(folder: Path, zone: str = "Europe/Berlin", shift: int = 0, *, gaps: bool = True) -> Solution:
    events = pd.read_csv(folder / "events.csv", parse_dates=["at"])
    local = events["at"].dt.tz_convert(zone) + pd.Timedelta(hours=shift)
    counts = local.dt.strftime("%Y-%m-%d").value_counts()
    if gaps:
        days = pd.date_range("2025-03-27", "2025-04-02").strftime("%Y-%m-%d")
        counts = counts.reindex(days, fill_value=0)
    days = counts.rename_axis("day").reset_index(name="events").sort_values("day")
    return Solution(files={"days.csv": csv_of(days)})


ZONES = Example(
    name="days-of-a-time-zone",
    title="Events by the day in Berlin, over the change to summer time",
    prompt="""
events.csv has the moments of events in UTC. Write days.csv with the columns day (YYYY-MM-DD) and events: how many events
there were on each day in Berlin, from 2025-03-27 to 2025-04-02. Days without events have 0.
""",
    make=make_zones,
    solve=solve_zones,
    mistakes=(
        {"zone": "UTC"},
        {"zone": "UTC", "shift": 1},
        {"zone": "UTC", "shift": 2},
        {"zone": "Europe/London"},
        {"gaps": False},
        {"shift": -2},
    ),
    check=check_of("days.csv", "day"),
    vary=vary_table,
)

# --- values that are missing ---


def make_missing(chance: random.Random) -> Made:
    rows, values = [], defaultdict(list)
    for hour in range(240):
        for sensor in ("north", "south", "roof"):
            value = round(chance.gauss(4, 6), 1) if chance.random() > 0.1 else 0.0  # noqa: PLR2004 - zeros are values
            written = str(value)
            if chance.random() < 0.15:  # noqa: PLR2004 - what is missing
                written = chance.choice(("-999", "n/a", "", "err"))
            else:
                values[sensor].append(value)
            rows.append((hour, sensor, written))
    expected = [(name, len(own), statistics.fmean(own)) for name, own in sorted(values.items())]
    return Made(
        {"readings.csv": table("hour sensor value", rows)},
        {"expected.csv": table("sensor readings mean", expected)},
    )


def solve_missing(folder: Path, sentinel: float | None = -999, fill: str = "", *, zeros: bool = True) -> Solution:
    readings = pd.read_csv(folder / "readings.csv", dtype={"value": str})
    values = pd.to_numeric(readings["value"], errors="coerce")
    values = values.mask(values == sentinel) if sentinel is not None else values
    values = values if zeros else values.mask(values == 0)
    values = {"": values, "zero": values.fillna(0), "forward": values.ffill(), "mean": values.fillna(values.mean())}[
        fill
    ]
    grouped = values.groupby(readings["sensor"]).agg(["count", "mean"]).reset_index()
    grouped.columns = ["sensor", "readings", "mean"]
    return Solution(files={"sensors.csv": csv_of(grouped)})


MISSING = Example(
    name="missing-values",
    title="The mean of sensors that mark what is missing in several ways",
    prompt="""
readings.csv has a value of each sensor for each hour. -999, n/a, err and an empty field mean that there is none; 0 is a
value. Write sensors.csv with the columns sensor, readings (how many values there are) and mean (of these). Do not round.
""",
    make=make_missing,
    solve=solve_missing,
    mistakes=(
        {"sentinel": None},
        {"fill": "zero"},
        {"fill": "forward"},
        {"fill": "mean"},
        {"zeros": False},
        {"sentinel": None, "fill": "zero"},
    ),
    check=check_of("sensors.csv", "sensor"),
    vary=vary_table,
)

# --- statistics of groups ---


def make_groups(chance: random.Random) -> Made:
    rows, prices = [], defaultdict(list)
    for _ in range(260):
        kind = chance.choice(("apple", "pear", "plum", "fig"))
        price, quantity = chance.randint(80, 900) / 100, chance.randint(1, 30)
        prices[kind].append((price, quantity))
        rows.append((chance.choice((kind, f" {kind}", f"{kind} ", kind.capitalize())), price, quantity))
    expected = []
    for kind, own in sorted(prices.items()):
        weighted = sum(price * count for price, count in own) / sum(count for _, count in own)
        only = [price for price, _ in own]
        expected.append((kind, weighted, statistics.median(only), statistics.stdev(only)))
    return Made(
        {"sales.csv": table("kind price quantity", rows)},
        {"expected.csv": table("kind average median deviation", expected)},
    )


def solve_groups(
    folder: Path, ddof: int = 1, *, weighted: bool = True, cleaned: bool = True, middle: str = "median"
) -> Solution:
    sales = pd.read_csv(folder / "sales.csv")
    sales["kind"] = sales["kind"].str.strip().str.lower() if cleaned else sales["kind"].str.strip()
    sales["value"] = sales["price"] * sales["quantity"]
    groups = sales.groupby("kind")
    average = groups["value"].sum() / groups["quantity"].sum() if weighted else groups["price"].mean()
    result = pd.DataFrame(
        {"average": average, "median": groups["price"].agg(middle), "deviation": groups["price"].std(ddof=ddof)}
    )
    return Solution(files={"kinds.csv": csv_of(result.reset_index())})


GROUPS = Example(
    name="statistics-of-groups",
    title="Weighted average, median and standard deviation by kind",
    prompt="""
sales.csv has a kind, a price for one, and a quantity in each row. Kinds that differ only in case and in spaces around them
are one; write them in lower case. Write kinds.csv with the columns kind, average (the price for one over all that was sold,
so weighted by the quantity), median (of the price over the rows) and deviation (the sample standard deviation of the price
over the rows, with n − 1). Do not round.
""",
    make=make_groups,
    solve=solve_groups,
    mistakes=({"ddof": 0}, {"weighted": False}, {"cleaned": False}, {"middle": "mean"}, {"middle": "max"}),
    check=check_of("kinds.csv", "kind"),
    vary=vary_table,
)

# --- dates of several countries ---

FORMS = {"eu": "%d/%m/%Y", "us": "%m/%d/%Y", "iso": "%Y-%m-%d"}


def make_dates(chance: random.Random) -> Made:
    rows, expected = [], []
    for number in range(1, 161):
        day = date(2024, 1, 1) + timedelta(days=chance.randint(0, 365))
        source = chance.choice([*FORMS])
        rows.append((number, source, day.strftime(FORMS[source])))
        expected.append((number, day.isoformat(), (day.month + 2) // 3))
    return Made(
        {"orders.csv": table("order source ordered", rows)},
        {"expected.csv": table("order day quarter", expected)},
    )


def solve_dates(folder: Path, first: str = "by source", quarter: int = 3) -> Solution:
    orders = pd.read_csv(folder / "orders.csv")
    rows = []
    for order, source, text in orders.itertuples(index=False):
        forms = (FORMS[source],) if first == "by source" or source == "iso" else (FORMS[first], FORMS[source])
        day = next(filter(None, (_day(text, form) for form in forms)))
        rows.append((order, day.isoformat(), (day.month + quarter - 1) // quarter))
    return Solution(files={"days.csv": table("order day quarter", rows)})


def _day(text: str, form: str) -> date | None:
    with suppress(ValueError):
        return datetime.strptime(text, form).replace(tzinfo=timezone.utc).date()
    return None


def vary_dates(right: Solution) -> Any:
    """Wrong days, besides faults of tables."""
    text = str(right.files["days.csv"])
    yield Solution(files={"days.csv": text.replace("2024-", "2023-")})
    yield Solution(files={"days.csv": text.replace("-", "/")})
    yield from vary_table(right)


DATES = Example(
    name="dates-of-several-forms",
    title="Days and quarters from dates in European, American and ISO form",
    prompt="""
orders.csv has the date of each order as its source writes it: `eu` day/month/year, `us` month/day/year, `iso`
year-month-day. Write days.csv with the columns order, day (YYYY-MM-DD) and quarter (1 to 4 of the year).
""",
    make=make_dates,
    solve=solve_dates,
    mistakes=({"first": "eu"}, {"first": "us"}, {"quarter": 4}),
    check=check_of("days.csv", "order"),
    vary=vary_dates,
)

# --- an encoding, and commas for decimals ---

CITIES = ("Köln", "Zürich", "Málaga", "Århus")


def make_encoding(chance: random.Random) -> Made:
    rows, sums = [], Counter[str]()
    for number in range(1, 181):
        city, cents = chance.choice(CITIES), chance.randint(500, 900_000)
        sums[city] += cents
        whole = f"{cents // 100:,}".replace(",", ".")
        rows.append((number, city, f"{whole},{cents % 100:02d}", "Café – 5 €"))
    text = table("number city amount note", rows, delimiter=";").replace("\n", "\r\n")
    return Made(
        {"export.csv": text.encode("cp1252")},
        {"expected.csv": table("city amount", [(city, cents / 100) for city, cents in sorted(sums.items())])},
    )


def solve_encoding(
    folder: Path, encoding: str = "cp1252", decimal: str = ",", thousands: str | None = ".", written: str = "utf-8"
) -> Solution:
    export = pd.read_csv(
        folder / "export.csv",
        sep=";",
        encoding=encoding,
        encoding_errors="replace",
        decimal=decimal,
        thousands=thousands,
        dtype={"amount": str} if thousands is None else None,
    )
    if thousands is None:
        export["amount"] = pd.to_numeric(export["amount"].str.replace(",", ""), errors="coerce")
    sums = export.groupby("city", as_index=False)["amount"].sum()
    return Solution(files={"cities.csv": csv_of(sums).encode(written, "replace")})


ENCODING = Example(
    name="encoding-and-decimals",
    title="An export of Windows with semicolons and commas for decimals",
    prompt="""
export.csv was exported by a program for Windows (code page 1252): semicolons between fields, commas for decimals, full stops
between thousands. Write cities.csv in UTF-8, with commas between fields, with the columns city and amount: the sum for each
city. Do not round.
""",
    make=make_encoding,
    solve=solve_encoding,
    mistakes=(
        {"encoding": "utf-8"},
        {"encoding": "mac-roman"},
        {"encoding": "cp437"},
        {"thousands": None},
        {"written": "cp1252"},
        {"written": "ascii"},
    ),
    check=check_of("cities.csv", "city"),
    vary=vary_table,
)

# --- a pivot ---

MONTHS = ("Jan", "Feb", "Mar", "Apr")


def make_pivot(chance: random.Random) -> Made:
    rows, sums = [], Counter[tuple[str, str]]()
    for _ in range(60):
        shop, month, sold = chance.choice(("A", "B", "C", "D", "E")), chance.choice(MONTHS), chance.randint(1, 99)
        if (shop, month) in {("B", "Mar"), ("E", "Jan")}:
            continue
        sums[shop, month] += sold
        rows.append((shop, month, sold))
    expected = [(shop, *(sums[shop, month] for month in MONTHS)) for shop in "ABCDE"]
    return Made(
        {"sold.csv": table("shop month sold", rows)},
        {"expected.csv": table("shop Jan Feb Mar Apr", expected)},
    )


def solve_pivot(folder: Path, how: str = "sum", fill: float | None = 0, *, total: bool = False) -> Solution:
    sold = pd.read_csv(folder / "sold.csv")
    wide = sold.pivot_table(index="shop", columns="month", values="sold", aggfunc=how, fill_value=fill, margins=total)
    columns = [*MONTHS, *(["All"] if total else [])]
    return Solution(files={"wide.csv": csv_of(wide[columns].reset_index())})


PIVOT = Example(
    name="pivot",
    title="What each shop sold by month, from long to wide",
    prompt="""
sold.csv has several rows for some shops and months, and none for others. Write wide.csv with a row for each shop and the
columns shop, Jan, Feb, Mar, Apr: how many were sold in all; 0 where there is no row.
""",
    make=make_pivot,
    solve=solve_pivot,
    mistakes=({"how": "mean"}, {"how": "first"}, {"how": "max"}, {"how": "count"}, {"fill": None}, {"total": True}),
    check=check_of("wide.csv", "shop"),
    vary=vary_table,
)

# --- duplicates ---


def make_duplicates(chance: random.Random) -> Made:
    rows = []
    names = [
        f"{first}.{last}" for first in ("ada", "ben", "cleo", "dan") for last in ("ito", "king", "lund", "moss", "ng")
    ]
    earliest: dict[str, tuple[str, int]] = {}
    for number in range(1, 61):
        name = chance.choice(names)
        day = f"2025-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d}"
        email = f"{name}@{'mail.example'}"
        written = chance.choice((email, email.upper(), f" {email} ", email.replace("@", "+news@"), email.title()))
        rows.append((number, written, day))
        earliest[email] = min(earliest.get(email, (day, number)), (day, number))
    expected = sorted((number, email) for email, (_, number) in earliest.items())
    return Made(
        {"people.csv": table("id email joined", rows)},
        {"expected.csv": table("id email", expected)},
    )


def solve_duplicates(
    folder: Path,
    keep: str = "first",
    order: str = "joined",
    *,
    tags: bool = True,
    case: bool = True,
    spaces: bool = True,
) -> Solution:
    people = pd.read_csv(folder / "people.csv")
    email = people["email"]
    email = email.str.strip() if spaces else email
    email = email.str.lower() if case else email
    people["email"] = email.str.replace(r"\+[^@]*@", "@", regex=True) if tags else email
    people = people.sort_values([order, "id"]).drop_duplicates("email", keep=keep).sort_values("id")
    return Solution(files={"unique.csv": csv_of(people[["id", "email"]])})


def vary_duplicates(right: Solution) -> Any:
    """Wrong people, besides faults of tables."""
    text = str(right.files["unique.csv"])
    yield Solution(files={"unique.csv": text.upper().replace("ID,EMAIL", "id,email")})
    yield Solution(files={"unique.csv": text.replace("mail.example", "mail.example.com")})
    yield from vary_table(right)


DUPLICATES = Example(
    name="duplicates",
    title="One row for each person, whose addresses are written in several ways",
    prompt="""
people.csv has people several times. Two rows are one person if their addresses are equal without regard to case, spaces
around them, and a tag (`+` and what follows it before the `@`). Write unique.csv with the columns id and email: for each
person the row that joined first (of several on one day that with the lowest id), with the address in lower case, without
spaces and tag.
""",
    make=make_duplicates,
    solve=solve_duplicates,
    mistakes=({"keep": "last"}, {"order": "id"}, {"tags": False}, {"case": False}, {"spaces": False}),
    check=check_of("unique.csv", "id"),
    vary=vary_duplicates,
)

EXAMPLES = (JOIN, ZONES, MISSING, GROUPS, DATES, ENCODING, PIVOT, DUPLICATES)
