"""The tables of the steps in ``independent.txt``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa


def shop(rng: np.random.Generator) -> dict[str, Any]:
    n = 9_000
    customers = pd.DataFrame(
        {
            "customer_id": [f"C{i:05d}" for i in range(1_500)],
            "email": [f"user{i}@example.org" for i in range(1_500)],
            "zip": [f"{z:05d}" for z in rng.integers(400, 99_000, 1_500)],
            "plan": rng.choice(["free", "basic", "pro"], 1_500),
            "region": rng.choice(
                np.array(["north", "south", "east", "west", None]), 1_500, p=[0.3, 0.3, 0.2, 0.15, 0.05]
            ),
            "since": pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 1_800, 1_500), unit="D"),
            "newsletter": rng.choice(["Yes", "No"], 1_500),
        }
    )
    products = pd.DataFrame(
        {
            "sku": [f"P-{i:03d}" for i in range(220)],
            "category": rng.choice(["garden", "kitchen", "toys", "books", "audio"], 220),
            "cost": rng.gamma(3, 6, 220).round(2),
            "weight_g": rng.integers(30, 8_000, 220),
            "tags": [
                list(rng.choice(["new", "sale", "eco", "gift"], rng.integers(1, 4), replace=False)) for _ in range(220)
            ],
        }
    )
    orders = pd.DataFrame(
        {
            "order_id": np.arange(70_000, 70_000 + n),
            "customer_id": rng.choice(customers["customer_id"], n),
            "sku": rng.choice(products["sku"], n),
            "ordered_at": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(np.sort(rng.integers(0, 366 * 86_400, n)), unit="s"),
            "quantity": rng.integers(1, 7, n),
            "price": (rng.gamma(3, 9, n) + 2).round(2),
            "discount": np.where(rng.random(n) < 0.7, np.nan, rng.choice([5.0, 10.0, 20.0], n)),
            "country": rng.choice(["DE", "FR", "GB", "IT", "ES", "PL", "NL"], n),
            "status": rng.choice(["paid", "open", "returned"], n, p=[0.8, 0.15, 0.05]),
        }
    )
    return {"orders": orders, "customers": customers, "products": products}


def sensors(rng: np.random.Generator) -> dict[str, Any]:
    times = pd.date_range("2023-03-01", periods=1_440, freq="h")
    names = ["attic", "cellar", "roof", "yard", "lab"]
    readings = pd.DataFrame(
        {
            "time": np.tile(times, len(names)),
            "sensor": np.repeat(names, len(times)),
            "temp": np.concatenate(
                [12 + k + 8 * np.sin(np.arange(1_440) / 24 * 2 * np.pi) + rng.normal(0, 1, 1_440) for k in range(5)]
            ),
            "humidity": rng.uniform(25, 95, 7_200).round(1),
            "battery": np.tile(np.linspace(100, 40, 1_440), 5).round(2),
            "code": rng.choice([0, 0, 0, 0, 1, 2], 7_200),
        }
    )
    readings.loc[rng.choice(7_200, 160, replace=False), "humidity"] = np.nan
    sites = pd.DataFrame({"sensor": names, "floor": [3, -1, 4, 0, 1], "owner": ["ann", "ben", "ann", "cyd", "dee"]})
    daily = pd.DataFrame(
        {"power_kwh": rng.gamma(9, 2, 366).round(2)}, index=pd.date_range("2023-01-01", periods=366, name="day")
    )
    return {"readings": readings, "sites": sites, "daily": daily}


def clinic(rng: np.random.Generator) -> dict[str, Any]:
    n = 800
    patients = pd.DataFrame(
        {
            "pid": np.arange(1_001, 1_001 + n),
            "sex": rng.choice(["f", "m"], n),
            "born": pd.Timestamp("1930-01-01") + pd.to_timedelta(rng.integers(0, 25_000, n), unit="D"),
            "height_cm": rng.normal(170, 9, n).round(0),
            "weight_kg": rng.normal(76, 13, n).round(1),
            "smoker": rng.choice([True, False], n),
            "site": rng.choice(["Ulm", "Bern", "Graz", "Lille"], n),
        }
    )
    m = 4_000
    visits = pd.DataFrame(
        {
            "visit_id": np.arange(m),
            "pid": rng.choice(patients["pid"], m),
            "visit_date": pd.Timestamp("2022-01-03") + pd.to_timedelta(rng.integers(0, 700, m), unit="D"),
            "systolic": rng.normal(128, 15, m).round(0),
            "glucose": rng.normal(5.4, 0.9, m).round(2),
            "arm": rng.choice(["drug", "placebo"], m),
            "note": rng.choice(np.array([None, "fasting", "late", "repeat"]), m, p=[0.7, 0.1, 0.1, 0.1]),
        }
    )
    visits.loc[rng.choice(m, 90, replace=False), "glucose"] = np.nan
    labs = pd.DataFrame(
        {
            "pid": rng.choice(patients["pid"], 2_500),
            "marker": rng.choice(["crp", "ldl", "hdl"], 2_500),
            "value": rng.gamma(2, 2, 2_500).round(3),
        }
    )
    return {"patients": patients, "visits": visits, "labs": labs}


def market(rng: np.random.Generator) -> dict[str, Any]:
    days = pd.bdate_range("2021-01-04", "2022-12-30")
    tickers = ["AAA", "BBB", "CCC", "DDD", "EEE", "FFF"]
    walks = {t: 40 * (k + 1) * np.exp(np.cumsum(rng.normal(0, 0.012, len(days)))) for k, t in enumerate(tickers)}
    quotes = pd.DataFrame(
        {
            "date": np.tile(days, 6),
            "ticker": np.repeat(tickers, len(days)),
            "close": np.concatenate(list(walks.values())).round(2),
            "volume": rng.integers(2_000_000_000, 9_000_000_000, 6 * len(days)),
            "currency": np.repeat(["USD", "EUR", "USD", "GBP", "EUR", "CHF"], len(days)),
        }
    )
    fx = pd.DataFrame(
        {
            "date": np.tile(days, 4),
            "currency": np.repeat(["USD", "EUR", "GBP", "CHF"], len(days)),
            "rate": np.concatenate(
                [
                    np.full(len(days), 1.0),
                    rng.normal(1.1, 0.02, len(days)),
                    rng.normal(1.3, 0.02, len(days)),
                    rng.normal(1.05, 0.01, len(days)),
                ]
            ).round(4),
        }
    )
    sectors = pd.DataFrame(
        {"ticker": tickers, "sector": ["tech", "energy", "tech", "retail", "energy", "bank"]}
    ).set_index("ticker")
    return {"quotes": quotes, "fx": fx, "sectors": sectors}


def houses(rng: np.random.Generator) -> dict[str, Any]:
    n = 1_600
    area = rng.normal(110, 35, n).clip(25).round(1)
    rooms = (area / 27 + rng.normal(0, 0.8, n)).clip(1).round(0).astype(int)
    df = pd.DataFrame(
        {
            "area": area,
            "rooms": rooms,
            "year": rng.integers(1890, 2021, n),
            "distance": rng.gamma(2, 4, n).round(2),
            "heating": rng.choice(["gas", "oil", "pump", "district"], n),
            "garden": rng.random(n) < 0.4,
            "price": (area * 3_100 + rooms * 9_000 + rng.normal(0, 30_000, n)).round(-2),
        }
    )
    df.loc[rng.choice(n, 120, replace=False), "distance"] = np.nan
    return {"df": df}


def survey(rng: np.random.Generator) -> dict[str, Any]:
    n = 1_200
    answers = pd.DataFrame(
        {
            "respondent": [f"r{i}" for i in range(n)],
            "age": rng.integers(18, 88, n),
            "city": rng.choice(["Oslo", "Bergen", "oslo ", "Tromsø"], n, p=[0.5, 0.3, 0.1, 0.1]),
        }
    )
    for k in range(1, 7):
        answers[f"q{k}"] = np.where(rng.random(n) < 0.05, np.nan, rng.integers(1, 6, n))
    answers["income"] = np.where(rng.random(n) < 0.08, -999, rng.gamma(4, 11_000, n).round(0))
    answers["submitted"] = (pd.Timestamp("2024-05-01") + pd.to_timedelta(rng.integers(0, 40, n), unit="D")).strftime(
        "%d/%m/%Y"
    )
    answers["spent"] = [f"{v:.2f}" for v in rng.gamma(2, 30, n)]
    answers["languages"] = [
        ";".join(rng.choice(["no", "en", "de", "fr"], rng.integers(1, 4), replace=False)) for _ in range(n)
    ]
    return {"answers": answers}


def web(rng: np.random.Generator) -> dict[str, Any]:
    n = 20_000
    stamps = pd.Timestamp("2024-09-01") + pd.to_timedelta(np.sort(rng.integers(0, 30 * 86_400, n)), unit="s")
    events = pl.DataFrame(
        {
            "event_id": np.arange(n),
            "user": rng.integers(0, 1_900, n),
            "at": stamps.to_numpy(),
            "page": rng.choice(["/", "/buy", "/help", "/blog"], n),
            "duration_ms": rng.gamma(2, 900, n).round(0),
            "device": rng.choice(["phone", "desktop", "tablet"], n, p=[0.5, 0.45, 0.05]),
        }
    )
    users = pl.DataFrame(
        {
            "user": np.arange(2_000),
            "country": rng.choice(["US", "CA", "MX", "BR"], 2_000),
            "age": rng.integers(16, 80, 2_000),
        }
    )
    return {"events": events, "users": users}


def taxi(rng: np.random.Generator) -> dict[str, Any]:
    n = 15_000
    start = pd.Timestamp("2022-06-01") + pd.to_timedelta(np.sort(rng.integers(0, 30 * 86_400, n)), unit="s")
    trips = pa.table(
        {
            "trip": np.arange(n),
            "pickup": start.to_numpy(),
            "zone": rng.integers(1, 61, n),
            "miles": rng.gamma(2, 1.6, n).round(2),
            "fare": (rng.gamma(3, 5, n) + 3).round(2),
            "payment": rng.choice(["card", "cash"], n),
        }
    )
    zones = pa.table({"zone": np.arange(1, 61), "borough": rng.choice(["Bronx", "Queens", "Kings"], 60)})
    return {"trips": trips, "zones": zones}


def arrays(rng: np.random.Generator) -> dict[str, Any]:
    features = rng.normal(0, 1, (1_000, 12)) * rng.gamma(2, 3, 12) + rng.normal(0, 5, 12)
    y = (features[:, 0] + rng.normal(0, 2, 1_000) > features[:, 0].mean()).astype(int)
    images = rng.integers(0, 256, (60, 16, 16)).astype(np.uint8)
    return {"X": features, "y": y, "images": images}


def ledger(rng: np.random.Generator) -> dict[str, Any]:
    def month(m: int, first: int, n: int) -> pd.DataFrame:
        days = pd.Period(f"2024-{m:02d}").days_in_month
        return pd.DataFrame(
            {
                "booking": np.arange(first, first + n),
                "date": pd.Timestamp(2024, m, 1) + pd.to_timedelta(np.sort(rng.integers(0, days, n)), unit="D"),
                "account": rng.choice(["4000", "4400", "6300", "0420"], n),
                "amount": rng.normal(0, 300, n).round(2),
                "tax": rng.choice([0.0, 7.0, 19.0], n),
            }
        )

    jan, feb, mar = month(1, 1, 700), month(2, 701, 640), month(3, 1_341, 720)
    budget = pd.DataFrame({"account": ["4000", "4400", "6300", "0420"], "planned": [12_000, 8_000, 21_000, 900]})
    return {"jan": jan, "feb": feb, "mar": mar, "book": pd.concat([jan, feb], ignore_index=True), "budget": budget}


WORLDS = (shop, sensors, clinic, market, houses, survey, web, taxi, arrays, ledger)
