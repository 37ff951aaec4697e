"""Clean notebooks of several kinds, made from a seed."""

import random
from collections.abc import Callable

from tests.verify_corpus.more_clean import MORE
from tests.verify_corpus.plan import Plan, planned

Block = Callable[[random.Random, str], list[str]]
WORDS = [
    "red",
    "green",
    "blue",
    "amber",
    "violet",
    "teal",
    "coral",
    "olive",
    "navy",
    "plum",
    "rust",
    "sand",
    "mint",
    "rose",
    "gold",
    "iron",
]


def _numbers(rng: random.Random, count: int = 8, top: int = 90) -> list[int]:
    return [rng.randint(1, top) for _ in range(count)]


# --- plain Python ---


def _sums(rng: random.Random, n: str) -> list[str]:
    return [
        f"values{n} = {_numbers(rng)}",
        f"total{n} = sum(values{n})\nmean{n} = total{n} / len(values{n})\nprint(f'total {{total{n}}}, mean {{mean{n}:.3f}}')",
        f"sorted(values{n}, reverse=True)[:3]",
    ]


def _functions(rng: random.Random, n: str) -> list[str]:
    k = rng.randint(2, 9)
    return [
        f'def scaled{n}(xs, factor={k}):\n    """Multiply."""\n    return [helper{n}(x) * factor for x in xs]\n\ndef helper{n}(x):\n    return x + 1',
        f"out{n} = scaled{n}({_numbers(rng, 5)})\nout{n}",
        f"[scaled{n}([i]) for i in range(3) if i % 2 == 0]",
    ]


def _classes(rng: random.Random, n: str) -> list[str]:
    return [
        "from dataclasses import dataclass, field",
        f"@dataclass\nclass Item{n}:\n    name: str\n    price: float = {rng.randint(1, 50)}.5\n    tags: list = field(default_factory=list)\n\n    def discounted(self, rate):\n        return round(self.price * (1 - rate), 2)",
        f"items{n} = [Item{n}(w, p) for w, p in zip({rng.sample(WORDS, 4)}, {_numbers(rng, 4)})]\nfor item in items{n}:\n    print(item.name, item.discounted(0.{rng.randint(1, 9)}))",
        f"items{n}[0]",
    ]


def _words(rng: random.Random, n: str) -> list[str]:
    text = " ".join(rng.choices(WORDS, k=40))
    return [
        f"from collections import Counter\ntext{n} = {text!r}",
        f"counts{n} = Counter(text{n}.split())\ncounts{n}.most_common(4)",
        f"unique{n} = set(text{n}.split())\nprint(len(unique{n}), sorted(unique{n})[:3])\nunique{n}",
    ]


def _generators(rng: random.Random, n: str) -> list[str]:
    return [
        "import itertools, functools",
        f"def fib{n}():\n    a, b = 0, 1\n    while True:\n        yield a\n        a, b = b, a + b",
        f"first{n} = list(itertools.islice(fib{n}(), {rng.randint(6, 14)}))\nprint(first{n})",
        f"@functools.lru_cache(None)\ndef paths{n}(x, y):\n    return 1 if x == 0 or y == 0 else paths{n}(x - 1, y) + paths{n}(x, y - 1)\n\npaths{n}({rng.randint(3, 9)}, {rng.randint(3, 9)})",
    ]


def _async(rng: random.Random, n: str) -> list[str]:
    return [
        "import asyncio",
        f"async def work{n}(x):\n    await asyncio.sleep(0)\n    return x ** 2",
        f"results{n} = await asyncio.gather(*(work{n}(x) for x in {_numbers(rng, 5, 20)}))\nresults{n}",
    ]


def _timing(rng: random.Random, n: str) -> list[str]:
    return [
        f"import time\nbegun{n} = time.perf_counter()\nsquares{n} = [x * x for x in range({rng.randint(100, 900)})]\nprint(f'took {{time.perf_counter() - begun{n}:.6f}} s')",
        f"%time sum(squares{n})",
        f"print('objects:', object(), len(squares{n}))",
    ]


def _seeded(rng: random.Random, n: str) -> list[str]:
    return [
        f"import random\nrandom.seed({rng.randint(1, 99)})\ndraws{n} = [random.randint(1, 6) for _ in range(10)]",
        f"print(draws{n}, sum(draws{n}))",
        f"try:\n    1 / 0\nexcept ZeroDivisionError as error{n}:\n    print('caught', error{n})",
    ]


def _files(rng: random.Random, n: str) -> list[str]:
    rows = "\\n".join(f"{w},{k}" for w, k in zip(rng.sample(WORDS, 5), _numbers(rng, 5), strict=True))
    return [
        "import csv, json, pathlib",
        f"pathlib.Path('table{n}.csv').write_text('name,n\\n{rows}\\n')\nrows{n} = list(csv.DictReader(open('table{n}.csv')))\nlen(rows{n})",
        f"best{n} = max(rows{n}, key=lambda row: int(row['n']))\njson.dump(best{n}, open('best{n}.json', 'w'))\nprint(best{n})",
    ]


def _strings(rng: random.Random, n: str) -> list[str]:
    return [
        f"import re, datetime\nlines{n} = {[f'{w}={k}' for w, k in zip(rng.sample(WORDS, 4), _numbers(rng, 4), strict=True)]}",
        f"parsed{n} = {{m[1]: int(m[2]) for line in lines{n} if (m := re.match(r'(\\w+)=(\\d+)', line))}}\nparsed{n}",
        f"start{n} = datetime.date({rng.randint(1990, 2020)}, {rng.randint(1, 12)}, {rng.randint(1, 28)})\nprint(start{n} + datetime.timedelta(days={rng.randint(5, 300)}))",
        f"!echo shell {n}",
    ]


# --- NumPy ---


def _arrays(rng: random.Random, n: str) -> list[str]:
    return [
        "import numpy as np",
        f"a{n} = np.arange({rng.randint(10, 20)}, dtype=float)\nb{n} = np.sin(a{n}) + {rng.randint(1, 9)}\nb{n}",
        f"print(b{n}.mean(), b{n}.std(), b{n}.argmax())",
        f"np.linalg.solve([[2.0, 1.0], [1.0, {rng.randint(2, 9)}.0]], [1.0, 2.0])",
    ]


def _random_arrays(rng: random.Random, n: str) -> list[str]:
    return [
        f"import numpy as np\nrng{n} = np.random.default_rng({rng.randint(1, 99)})",
        f"sample{n} = rng{n}.normal(size=({rng.randint(20, 60)}, 3))\nsample{n}[:2]",
        f"cov{n} = np.cov(sample{n}.T)\nprint(np.round(cov{n}, 4))",
        f"np.random.seed({rng.randint(1, 99)})\nnp.random.rand(3)",
    ]


def _matrices(rng: random.Random, n: str) -> list[str]:
    return [
        "import numpy as np",
        f"m{n} = np.array({[_numbers(rng, 3, 9) for _ in range(3)]})\nm{n} @ m{n}.T",
        f"eig{n} = np.linalg.eigvalsh(m{n} @ m{n}.T)\nprint(eig{n})",
        f"m{n}[m{n} > 4] = 0\nm{n}",
    ]


# --- pandas ---


def _frames(rng: random.Random, n: str) -> list[str]:
    k = rng.randint(6, 12)
    return [
        "import pandas as pd",
        f"df{n} = pd.DataFrame({{'name': {rng.choices(WORDS, k=k)}, 'n': {_numbers(rng, k)}, 'x': {[round(rng.random(), 3) for _ in range(k)]}}})\ndf{n}.head()",
        f"df{n}['double'] = df{n}['n'] * 2\ndf{n}.groupby('name')['double'].sum()",
        f"df{n}.describe()",
    ]


def _joins(rng: random.Random, n: str) -> list[str]:
    names = rng.sample(WORDS, 5)
    return [
        "import pandas as pd",
        f"left{n} = pd.DataFrame({{'k': {names}, 'a': {_numbers(rng, 5)}}})\nright{n} = pd.DataFrame({{'k': {names[::-1]}, 'b': {_numbers(rng, 5)}}})",
        f"both{n} = left{n}.merge(right{n}, on='k')\nboth{n}['ratio'] = both{n}.a / both{n}.b\nboth{n}",
        f"print(both{n}.ratio.mean(), both{n}.shape)",
    ]


def _dates(rng: random.Random, n: str) -> list[str]:
    return [
        "import pandas as pd",
        f"days{n} = pd.date_range('20{rng.randint(10, 24)}-0{rng.randint(1, 9)}-01', periods=10, freq='D')\nseries{n} = pd.Series({_numbers(rng, 10)}, index=days{n})\nseries{n}",
        f"series{n}.rolling(3).mean().dropna()",
        f"series{n}.to_csv('series{n}.csv')\npd.read_csv('series{n}.csv').tail(3)",
    ]


def _csv(rng: random.Random, n: str) -> list[str]:
    return [
        "import pandas as pd",
        "data = pd.read_csv('data.csv')\ndata.head(3)",
        f"by{n} = data.groupby('group').value.agg(['mean', 'max'])\nby{n}",
        "print(len(data), data.value.sum())",
    ]


# --- matplotlib ---


def _plot(rng: random.Random, n: str) -> list[str]:
    return [
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nimport numpy as np",
        f"x{n} = np.linspace(0, {rng.randint(3, 12)}, 60)\nfig{n}, ax{n} = plt.subplots(figsize=(3, 2))\nax{n}.plot(x{n}, np.sin(x{n} * {rng.randint(1, 4)}))\nax{n}.set_title('{rng.choice(WORDS)}')\nplt.show()",
        f"plt.figure(figsize=(3, 2))\nplt.bar({rng.sample(WORDS, 4)}, {_numbers(rng, 4)});",
    ]


def _scatter(rng: random.Random, n: str) -> list[str]:
    return [
        "import matplotlib.pyplot as plt\nimport numpy as np",
        f"g{n} = np.random.default_rng({rng.randint(1, 99)})\npoints{n} = g{n}.random((30, 2))",
        f"plt.figure(figsize=(3, 2))\nplt.scatter(points{n}[:, 0], points{n}[:, 1])\nplt.savefig('points{n}.png')\nplt.show()",
        f"print(points{n}.mean(axis=0))",
    ]


# --- polars, scikit-learn ---


def _polars(rng: random.Random, n: str) -> list[str]:
    k = rng.randint(5, 9)
    return [
        "import polars as pl",
        f"pf{n} = pl.DataFrame({{'name': {rng.choices(WORDS, k=k)}, 'n': {_numbers(rng, k)}}})\npf{n}",
        f"pf{n}.group_by('name').agg(pl.col('n').sum()).sort('name')",
        f"print(pf{n}.select((pl.col('n') * 2).alias('double')).sum())",
    ]


def _learning(rng: random.Random, n: str) -> list[str]:
    s = rng.randint(1, 99)
    return [
        "from sklearn.datasets import make_classification\nfrom sklearn.linear_model import LogisticRegression\nfrom sklearn.model_selection import train_test_split",
        f"X{n}, y{n} = make_classification(n_samples=120, n_features=5, random_state={s})\ntrain{n}, test{n}, ytrain{n}, ytest{n} = train_test_split(X{n}, y{n}, random_state={s})",
        f"model{n} = LogisticRegression().fit(train{n}, ytrain{n})\nprint(f'accuracy {{model{n}.score(test{n}, ytest{n}):.3f}}')",
        f"model{n}.coef_.round(3)",
    ]


def _clusters(rng: random.Random, n: str) -> list[str]:
    s = rng.randint(1, 99)
    return [
        "import numpy as np\nfrom sklearn.cluster import KMeans",
        f"cloud{n} = np.random.default_rng({s}).normal(size=(60, 2))",
        f"km{n} = KMeans(n_clusters=3, n_init=3, random_state={s}).fit(cloud{n})\nkm{n}",
        f"print(np.sort(np.bincount(km{n}.labels_)))",
    ]


TOPICS: dict[str, tuple[Block, ...]] = {
    "plain": (_sums, _functions, _classes, _words, _generators, _async, _timing, _seeded, _files, _strings),
    "numpy": (_arrays, _random_arrays, _matrices),
    "pandas": (_frames, _joins, _dates, _csv),
    "matplotlib": (_plot, _scatter, _arrays),
    "polars": (_polars, _sums),
    "sklearn": (_learning, _clusters),
}
TOPICS = {topic: (*blocks, *MORE.get(topic, ())) for topic, blocks in TOPICS.items()}
NEEDS = {"numpy": "numpy", "pandas": "pandas", "matplotlib": "matplotlib", "polars": "polars", "sklearn": "sklearn"}


def clean(rng: random.Random, name: str, topics: list[str]) -> Plan:
    """A clean notebook about one of *topics*, with some plain Python in it."""
    topic = rng.choice(topics)
    blocks = [*rng.sample(TOPICS[topic], min(len(TOPICS[topic]), rng.randint(1, 3)))]
    if topic != "plain":
        blocks.insert(rng.randint(0, len(blocks)), rng.choice(TOPICS["plain"]))
    sources = [f"#md # {rng.choice(WORDS).title()} {name}"]
    for at, block in enumerate(blocks):
        sources += block(rng, str(at))
    rows = "\n".join(f"{rng.choice('abc')},{rng.randint(1, 900) / 10}" for _ in range(30))
    return planned(name, topic, sources, {"data.csv": f"group,value\n{rows}\n"})
