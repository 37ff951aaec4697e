"""More blocks of clean notebooks: what is printed in other ways, displayed, logged, timed."""

import random


def _logging(rng: random.Random, n: str) -> list[str]:
    return [
        f"import logging\nlogging.basicConfig(level=logging.INFO, format='%(levelname)s %(message)s', force=True)\nlog{n} = logging.getLogger('fit{n}')",
        f"log{n}.info('rows %d', {rng.randint(1, 900)})\nlog{n}.warning('%d dropped', {rng.randint(1, 9)})",
        f"import logging\nlogging.basicConfig(format='%(asctime)s %(name)s %(message)s', force=True)\nlogging.getLogger('clock{n}').error('late by %d', {rng.randint(1, 9)})",
    ]


def _warnings(rng: random.Random, n: str) -> list[str]:
    return [
        f"import warnings\ndef old{n}(x):\n    warnings.warn('old{n} goes away', DeprecationWarning, stacklevel=2)\n    return x * {rng.randint(2, 9)}",
        f"old{n}(4)",
        f"with warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n    print(old{n}(5))",
    ]


def _displays(rng: random.Random, n: str) -> list[str]:
    return [
        "from IPython.display import HTML, Markdown, Math, display",
        f"display(Markdown('**{rng.randint(1, 99)}** rows'))\nHTML('<b>{rng.randint(1, 99)}</b>')",
        f"bar{n} = display(f'0 of {rng.randint(2, 5)}', display_id=True)",
        f"bar{n}.update('all done')\nMath('x^{rng.randint(2, 9)}')",
    ]


def _exact(rng: random.Random, n: str) -> list[str]:
    return [
        "from decimal import Decimal\nfrom fractions import Fraction\nimport enum, textwrap",
        f"Fraction({rng.randint(1, 20)}, {rng.randint(2, 20)}) + Fraction(1, 3)",
        f"class Level{n}(enum.Enum):\n    LOW = {rng.randint(1, 5)}\n    HIGH = 9\n\nlist(Level{n})",
        f"print(textwrap.fill('word ' * {rng.randint(20, 40)}, 30))\nDecimal('1.10') * {rng.randint(2, 9)}",
    ]


def _database(rng: random.Random, n: str) -> list[str]:
    rows = [(chr(97 + at), rng.randint(1, 90)) for at in range(5)]
    return [
        f"import sqlite3\ndb{n} = sqlite3.connect(':memory:')\ndb{n}.execute('create table t (k text, v int)')\ndb{n}.executemany('insert into t values (?, ?)', {rows}).rowcount",
        f"db{n}.execute('select k, v from t order by v desc').fetchall()",
        f"print(db{n}.execute('select count(*), avg(v) from t').fetchone())",
    ]


def _threads(rng: random.Random, n: str) -> list[str]:
    return [
        "from concurrent.futures import ThreadPoolExecutor\nimport subprocess, sys",
        f"with ThreadPoolExecutor(4) as pool{n}:\n    squares{n} = list(pool{n}.map(lambda x: x * x, range({rng.randint(5, 30)})))\nsum(squares{n})",
        f"subprocess.run([sys.executable, '-c', 'print({rng.randint(1, 99)})'], capture_output=True, text=True).stdout",
    ]


def _tests(_rng: random.Random, n: str) -> list[str]:
    return [
        f"import unittest\nclass Fine{n}(unittest.TestCase):\n    def test_length(self):\n        self.assertEqual(len('abc'), 3)",
        f"unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(Fine{n}))",
    ]


def _objects(rng: random.Random, n: str) -> list[str]:
    return [
        f"def made{n}():\n    yield {rng.randint(1, 9)}\n\nprint(made{n}, made{n}(), lambda: 0)",
        "import os, sys, platform\nprint(os.path.basename(os.getcwd()) != '', sys.version_info[0], platform.system())",
        f"import tempfile, pathlib\nwith tempfile.TemporaryDirectory() as folder{n}:\n    print(folder{n})\n    pathlib.Path(folder{n}, 'a').touch()\n    print(sorted(each.name for each in pathlib.Path(folder{n}).iterdir()))",
        f"import pprint\npprint.pprint({{'b': {list(range(rng.randint(20, 40)))}, 'a': 'x' * 60}})",
    ]


def _magics(rng: random.Random, n: str) -> list[str]:
    return [
        f"%%time\ntotal{n} = sum(range({rng.randint(1000, 9000)}))\nprint(total{n})",
        f"%%capture held{n}\nprint('not seen')",
        f"held{n}.stdout",
        f"%%writefile note{n}.txt\n{rng.randint(1, 99)} lines",
        f"!cat note{n}.txt\nfiles{n} = !ls note{n}.txt\nfiles{n}",
        f"%timeit -n 3 -r 2 sum(range({rng.randint(100, 300)}))",
        "%%html\n<i>set</i>",
    ]


def _progress(rng: random.Random, n: str) -> list[str]:
    return [
        "import sys, time",
        f"for step in range({rng.randint(3, 6)}):\n    sys.stderr.write(f'\\rstep {{step}}')\nsys.stderr.write('\\n');",
        f"from IPython.display import clear_output\nfor i in range({rng.randint(3, 6)}):\n    clear_output(wait=True)\n    print('round', i)",
        f"begun{n} = time.time()\ntime.sleep(0.01)\nprint(f'Ran {rng.randint(2, 9)} fits in {{time.time() - begun{n}:.2f}} seconds')",
    ]


def _widgets(rng: random.Random, n: str) -> list[str]:
    return [
        "import ipywidgets",
        f"slider{n} = ipywidgets.IntSlider(value={rng.randint(1, 90)}, description='k')\nslider{n}",
        f"ipywidgets.HBox([ipywidgets.Label('{n}'), ipywidgets.FloatText(value={rng.randint(1, 9)}.5)])",
        f"print(slider{n}.value)",
    ]


def _caught(rng: random.Random, n: str) -> list[str]:
    return [
        f"import traceback\ntry:\n    [][{rng.randint(1, 9)}]\nexcept IndexError:\n    traceback.print_exc(limit=0)",
        f"values{n} = {{}}\ntry:\n    values{n}['missing']\nexcept KeyError as error:\n    print(repr(error))",
        f"assert {rng.randint(1, 9)} > 0, 'never'\nNone",
    ]


def _pivot(rng: random.Random, n: str) -> list[str]:
    rows = [(rng.choice("xyz"), rng.choice("pq"), rng.randint(1, 90)) for _ in range(12)]
    return [
        "import pandas as pd",
        f"long{n} = pd.DataFrame({rows}, columns=['a', 'b', 'v'])\nlong{n}.pivot_table(index='a', columns='b', values='v', aggfunc='sum')",
        f"long{n}.info()",
        f"long{n}.head(3).style.format({{'v': '{{:.1f}}'}})",
        f"long{n}.b.value_counts().sort_index()",
    ]


def _random_seeded(rng: random.Random, n: str) -> list[str]:
    s = rng.randint(1, 99)
    return [
        f"import numpy as np\nnp.random.seed({s})\nwalk{n} = np.random.randn(200).cumsum()",
        f"walk{n}[-3:]",
        f"np.histogram(walk{n}, bins=4)[0]",
        f"rec{n} = np.array([(1, 2.5), (3, {s}.5)], dtype=[('k', 'i4'), ('v', 'f8')])\nrec{n}['v'].sum(), rec{n}",
    ]


def _images(rng: random.Random, n: str) -> list[str]:
    return [
        "%matplotlib inline\n%config InlineBackend.figure_format = 'retina'\nimport matplotlib.pyplot as plt\nimport numpy as np",
        f"fig{n}, axes{n} = plt.subplots(1, 2, figsize=(3, 1.5))\naxes{n}[0].imshow(np.arange(12).reshape(3, 4))\naxes{n}[1].hist(np.sin(np.arange({rng.randint(30, 60)})), bins=5)\nplt.tight_layout()",
        f"%config InlineBackend.figure_format = 'svg'\nplt.figure(figsize=(2, 1.5))\nplt.plot({[rng.randint(1, 9) for _ in range(6)]});",
        "%config InlineBackend.figure_format = 'png'",
    ]


MORE_PLAIN = (
    *(
        _logging,
        _warnings,
        _displays,
        _exact,
        _database,
        _threads,
        _objects,
        _magics,
        _progress,
        _widgets,
        _caught,
        _tests,
    ),
)
MORE = {"plain": MORE_PLAIN, "pandas": (_pivot,), "numpy": (_random_seeded,), "matplotlib": (_images,)}
