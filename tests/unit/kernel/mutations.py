"""Eighty changes in place, from the libraries' documentation: written before the code that undoes them."""

from __future__ import annotations

from typing import NamedTuple


class Mutation(NamedTuple):
    """A change in place.

    Attributes:
        before: The user's cell.
        code: The agent's.
        names: The names that must be as before, besides ``x``.
        needs: The library that it needs.
    """

    before: str
    code: str
    names: tuple[str, ...] = ()
    needs: str = ""


_FRAME = "import pandas as pd\nx = pd.DataFrame({'a': [3, 1, 2], 'b': ['p', None, 'q']}, index=[7, 8, 9])\ny = x"
_ARRAY = "import numpy as np\nx = np.arange(12.0).reshape(3, 4)\ny = x"
_NET = (
    "import torch\ntorch.manual_seed(0)\n"
    "x = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Dropout(), torch.nn.Linear(4, 1))\n"
    "optimizer = torch.optim.Adam(x.parameters())\ny = x[0].weight\ndata = torch.randn(5, 3)"
)
_XARRAY = (
    "import numpy as np, pandas as pd, xarray as xr\n"
    "x = xr.Dataset({'t': (('time', 'place'), np.arange(12.0).reshape(4, 3)), 'n': ('place', [1, 2, 3])},\n"
    "    coords={'time': pd.date_range('2024', periods=4), 'place': ['a', 'b', 'c']}, attrs={'source': ['model']})\n"
    "y = x['t']"
)
_POLARS = "import polars as pl\nx = pl.DataFrame({'a': [1, 2, 3], 'b': ['p', 'q', None]})\ny = x"
_POINTS = (
    "import numpy as np\nrng = np.random.default_rng(0)\nX = rng.normal(size=(40, 3))\nt = (X[:, 0] > 0).astype(int)\n"
)

MUTATIONS = {
    # pandas: user guide, "Indexing and selecting data", "Reshaping", "Essential basic functionality"
    "pandas: new column": Mutation(_FRAME, "x['c'] = x.a * 2", ("y",), "pandas"),
    "pandas: loc by mask": Mutation(_FRAME, "x.loc[x.a > 1, 'a'] = 0", ("y",), "pandas"),
    "pandas: iloc a row": Mutation(_FRAME, "x.iloc[0] = [9, 'z']", ("y",), "pandas"),
    "pandas: at": Mutation(_FRAME, "x.at[8, 'b'] = 'new'", ("y",), "pandas"),
    "pandas: enlargement": Mutation(_FRAME, "x.loc[99] = [5, 'r']", ("y",), "pandas"),
    "pandas: insert and pop": Mutation(_FRAME, "x.insert(0, 'first', x.pop('b'))", ("y",), "pandas"),
    "pandas: drop in place": Mutation(_FRAME, "x.drop(columns='a', inplace=True)", ("y",), "pandas"),
    "pandas: sort in place": Mutation(_FRAME, "x.sort_values('a', inplace=True, ignore_index=True)", ("y",), "pandas"),
    "pandas: fillna in place": Mutation(_FRAME, "x.fillna({'b': '?'}, inplace=True)", ("y",), "pandas"),
    "pandas: rename in place": Mutation(_FRAME, "x.rename(columns=str.upper, inplace=True)", ("y",), "pandas"),
    "pandas: set and name the index": Mutation(
        _FRAME, "x.set_index('a', inplace=True)\nx.index.name = 'key'", ("y",), "pandas"
    ),
    "pandas: index names": Mutation(_FRAME + "\nlabels = x.index", "x.index.name = 'key'", ("y", "labels"), "pandas"),
    "pandas: types": Mutation(
        _FRAME, "x['a'] = x['a'].astype('float32')\nx['b'] = x['b'].astype('category')", ("y",), "pandas"
    ),
    "pandas: update": Mutation(_FRAME, "x.update(pd.DataFrame({'a': [10, 20]}, index=[7, 9]))", ("y",), "pandas"),
    "pandas: attrs": Mutation(_FRAME + "\nx.attrs['unit'] = 'g'", "x.attrs['unit'] = 'kg'", ("y",), "pandas"),
    "pandas: series in a dict": Mutation(
        "import pandas as pd\ns = pd.Series([1, 2, 3], name='s')\nx = {'s': s}", "x['s'].iloc[0] = 9", ("s",), "pandas"
    ),
    "pandas: duplicate columns": Mutation(
        "import pandas as pd\nx = pd.DataFrame([[1, 2], [3, 4]], columns=['a', 'a'])\ny = x",
        "x.iloc[0, 1] = 9",
        ("y",),
        "pandas",
    ),
    "pandas: lists in cells": Mutation(
        "import pandas as pd\nx = pd.DataFrame({'l': pd.Series([[1], [2]], dtype=object)})\ny = x.l.iloc[0]",
        "x.loc[0, 'l'].append(5)",
        ("y",),
        "pandas",
    ),
    # NumPy: reference, "Array manipulation routines", "Indexing", "Masked arrays"
    "numpy: in-place operator": Mutation(_ARRAY, "x *= 2", ("y",), "numpy"),
    "numpy: through a view": Mutation(_ARRAY + "\nv = x[1:, ::2]\nw = v.T", "w[:] = -1", ("y", "v", "w"), "numpy"),
    "numpy: sort": Mutation(_ARRAY + "\nx[:] = x[::-1].copy()", "x.sort(axis=0)", ("y",), "numpy"),
    "numpy: put, place, fill_diagonal": Mutation(
        _ARRAY, "np.put(x, [0], 7)\nnp.place(x, x > 9, 0)\nnp.fill_diagonal(x, 5)", ("y",), "numpy"
    ),
    "numpy: fancy and boolean": Mutation(_ARRAY, "x[[0, 2]] += 1\nx[x > 5] = np.nan", ("y",), "numpy"),
    "numpy: resize": Mutation(
        "import numpy as np\nx = np.arange(4)\ny = x", "x.resize(9, refcheck=False)", ("y",), "numpy"
    ),
    "numpy: shape": Mutation(_ARRAY, "x.shape = (12,)", ("y",), "numpy"),
    "numpy: shuffle": Mutation(_ARRAY + "\nrng = np.random.default_rng(1)", "rng.shuffle(x)", ("y", "rng"), "numpy"),
    "numpy: masked": Mutation(
        "import numpy as np\nx = np.ma.array([1, 2, 3], mask=[0, 1, 0])\ny = x",
        "x[0] = np.ma.masked\nx[2] = 8",
        ("y",),
        "numpy",
    ),
    "numpy: structured": Mutation(
        "import numpy as np\nx = np.array([(1, 2.0), (3, 4.0)], dtype=[('i', int), ('f', float)])\ny = x['f']",
        "x['f'] = 0",
        ("y",),
        "numpy",
    ),
    "numpy: objects": Mutation(
        "import numpy as np\nx = np.array([[1], {'a': 2}], dtype=object)\ny = x",
        "x[1]['a'] = 3\nx[0] = 0",
        ("y",),
        "numpy",
    ),
    "numpy: flags": Mutation(_ARRAY, "x.setflags(write=False)", ("y",), "numpy"),
    "numpy: views of views": Mutation(
        "import numpy as np\nx = np.arange(20.0)\nv = x[2:18][::-2]\nw = v.reshape(2, 4).T",
        "w[1] = -1",
        ("v", "w"),
        "numpy",
    ),
    "numpy: foreign buffer": Mutation(
        "import numpy as np\ndata = bytearray(16)\nx = np.frombuffer(data, dtype='int32')", "x[1] = 5", (), "numpy"
    ),
    "numpy: no elements": Mutation("import numpy as np\nx = np.zeros((0, 3))", "x = x.reshape(3, 0)", (), "numpy"),
    "numpy: no dimension": Mutation("import numpy as np\nx = np.array(5.0)", "x[...] = 1", (), "numpy"),
    "numpy: texts of any length": Mutation(
        "import numpy as np\nx = np.array(['a', 'bb'], dtype=np.dtypes.StringDType())",
        "x[0] = 'long' * 20",
        (),
        "numpy",
    ),
    "numpy: records": Mutation(
        "import numpy as np\nx = np.rec.array([(1, b'a')], dtype=[('n', 'i4'), ('t', 'S9')])", "x.n = 7", (), "numpy"
    ),
    "numpy: mask": Mutation(
        "import numpy as np\nx = np.ma.masked_greater(np.arange(5), 3)", "x.mask[0] = True\nx[1] = 9", (), "numpy"
    ),
    "numpy: columns first": Mutation(
        "import numpy as np\nx = np.zeros((30, 40), order='F')[::2, ::3]", "x[3] = 1", (), "numpy"
    ),
    # xarray: user guide
    "xarray: new variable": Mutation(_XARRAY, "x['double'] = x['t'] * 2", ("y",), "xarray"),
    "xarray: delete a variable": Mutation(_XARRAY, "del x['n']", ("y",), "xarray"),
    "xarray: by position": Mutation(_XARRAY, "x['t'][dict(time=0)] = -1", ("y",), "xarray"),
    "xarray: by label": Mutation(_XARRAY, "x['t'].loc['2024-01-02', 'b'] = 99", ("y",), "xarray"),
    "xarray: values": Mutation(_XARRAY, "x['t'].values[1] = 7", ("y",), "xarray"),
    "xarray: in-place operator": Mutation(_XARRAY, "y *= 100", ("y",), "xarray"),
    "xarray: coordinate": Mutation(_XARRAY, "x.coords['month'] = ('time', [1, 1, 1, 1])", ("y",), "xarray"),
    "xarray: index": Mutation(_XARRAY, "x['place'] = ['p', 'q', 'r']", ("y",), "xarray"),
    "xarray: attributes": Mutation(
        _XARRAY, "x.attrs['source'].append('mine')\nx['t'].attrs['unit'] = 'K'", ("y",), "xarray"
    ),
    "xarray: name": Mutation(_XARRAY, "y.name = 'warm'\ny.attrs['long_name'] = 'warmth'", ("y",), "xarray"),
    "xarray: update": Mutation(_XARRAY, "x.update({'n': ('place', [0, 0, 0]), 'm': 5})", ("y",), "xarray"),
    "xarray: encoding": Mutation(_XARRAY, "x['t'].encoding['dtype'] = 'f4'", ("y",), "xarray"),
    # polars: reference, "DataFrame"
    "polars: set an item": Mutation(_POLARS, "x[0, 'a'] = 9", ("y",), "polars"),
    "polars: insert a column": Mutation(_POLARS, "x.insert_column(0, pl.Series('n', [1, 2, 3]))", ("y",), "polars"),
    "polars: drop in place": Mutation(_POLARS, "b = x.drop_in_place('b')", ("y",), "polars"),
    "polars: extend": Mutation(_POLARS, "x.extend(x.clone())", ("y",), "polars"),
    "polars: columns": Mutation(_POLARS, "x.columns = ['k', 'v']", ("y",), "polars"),
    "polars: series": Mutation(
        "import polars as pl\nx = pl.Series('s', [3, 1])\ny = x", "x[0] = 7\nx.append(pl.Series([1]))", ("y",), "polars"
    ),
    # scikit-learn: user guide
    "sklearn: fit": Mutation(
        _POINTS + "from sklearn.linear_model import LogisticRegression\nx = LogisticRegression()\ny = x",
        "x.fit(X, t)",
        ("y",),
        "sklearn",
    ),
    "sklearn: fit again": Mutation(
        _POINTS
        + "from sklearn.linear_model import LogisticRegression\nx = LogisticRegression().fit(X, t)\ny = x.coef_",
        "x.fit(X, 1 - t)",
        ("y",),
        "sklearn",
    ),
    "sklearn: partial_fit": Mutation(
        _POINTS + "from sklearn.linear_model import SGDClassifier\n"
        "x = SGDClassifier(random_state=0).partial_fit(X, t, [0, 1])\ny = x.coef_",
        "x.partial_fit(X, 1 - t)",
        ("y",),
        "sklearn",
    ),
    "sklearn: set_params of a pipeline": Mutation(
        "from sklearn.pipeline import make_pipeline\nfrom sklearn.preprocessing import StandardScaler\n"
        "from sklearn.svm import SVC\n"
        "x = make_pipeline(StandardScaler(), SVC())\ny = x[-1]",
        "x.set_params(svc__C=10)",
        ("y",),
        "sklearn",
    ),
    "sklearn: warm start": Mutation(
        _POINTS + "from sklearn.ensemble import RandomForestClassifier\n"
        "x = RandomForestClassifier(3, warm_start=True, random_state=0).fit(X, t)\ny = x.estimators_",
        "x.set_params(n_estimators=6).fit(X, t)",
        ("y",),
        "sklearn",
    ),
    "sklearn: attribute": Mutation(
        _POINTS + "from sklearn.preprocessing import StandardScaler\nx = StandardScaler().fit(X)\ny = x.mean_",
        "x.mean_ += 1\nx.with_std = False",
        ("y",),
        "sklearn",
    ),
    # PyTorch, tutorials
    "torch: in place": Mutation(
        "import torch\nx = torch.arange(6.0)\ny = x.view(2, 3)\nz = x.numpy()",
        "x.add_(1)\nx[0] = 9",
        ("y", "z"),
        "torch",
    ),
    "torch: training": Mutation(
        _NET,
        "for _ in range(3):\n    optimizer.zero_grad()\n    x(data).pow(2).mean().backward()\n    optimizer.step()",
        ("y", "optimizer"),
        "torch",
    ),
    "torch: load_state_dict": Mutation(
        _NET, "x.load_state_dict({k: v * 0 for k, v in x.state_dict().items()})", ("y",), "torch"
    ),
    "torch: eval and freeze": Mutation(
        _NET, "x.eval()\nfor p in x.parameters():\n    p.requires_grad_(False)", ("y",), "torch"
    ),
    "torch: replace a layer": Mutation(
        _NET, "x[3] = torch.nn.Linear(4, 2)\nx.append(torch.nn.Sigmoid())", ("y",), "torch"
    ),
    "torch: resize and transpose": Mutation(
        "import torch\nx = torch.ones(2, 3)\ny = x", "x.t_()\nx.unsqueeze_(0)", ("y",), "torch"
    ),
    # Python: library reference
    "python: list methods": Mutation(
        "x = [3, 1, 2]\ny = x", "x.sort()\nx.insert(0, 9)\nx.remove(2)\nx += [1]\ndel x[1]", ("y",)
    ),
    "python: nested": Mutation(
        "x = {'runs': [{'loss': [1.0]}]}\ny = x['runs'][0]",
        "x['runs'][0]['loss'].append(0.5)\nx['runs'].append({})",
        ("y",),
    ),
    "python: dict methods": Mutation(
        "from collections import OrderedDict, defaultdict\nx = OrderedDict(a=1, b=2)\ny = defaultdict(list, k=[1])",
        "x.move_to_end('a')\nx.pop('b')\ny['new'].append(1)\ny['k'].append(2)",
        ("y",),
    ),
    "python: sets and counters": Mutation(
        "from collections import Counter, deque\nx = {1, 2}\ny = Counter('aab')\nd = deque([1, 2], maxlen=2)",
        "x |= {5}\nx.discard(1)\ny.update('b')\nd.append(3)",
        ("y", "d"),
    ),
    "python: dataclass": Mutation(
        "from dataclasses import dataclass, field\n@dataclass\nclass Run:\n    loss: float = 1.0\n"
        "    log: list = field(default_factory=list)\nx = Run()\ny = [x]",
        "x.loss = 0.1\nx.log.append('a')\ny[0].extra = 5",
        ("y",),
    ),
    "python: slots": Mutation(
        "class P:\n    __slots__ = ('a', 'b')\nx = P()\nx.a = [1]\ny = x.a", "x.a.append(2)\nx.b = 3", ("y",)
    ),
    "python: class attribute and closure": Mutation(
        "class x:\n    rate = 1\n    seen = []\ndef make():\n    n = 0\n    def count():\n"
        "        nonlocal n\n        n += 1\n    return count\ny = make()",
        "x.rate = 2\nx.seen.append(1)\nx.more = 3\ny()\ny.calls = 1",
        ("y",),
    ),
    "python: by a function": Mutation("x = []\ny = {}\ndef note(v):\n    x.append(v)\n    y[v] = x", "note(1)", ("y",)),
    "python: bytes and files in memory": Mutation(
        "import array, io\nx = bytearray(b'abc')\ny = array.array('i', [1])\nf = io.StringIO('abc')",
        "x += b'd'\nx[0] = 0\ny.append(2)\nf.read(1)\nf.write('zzzz')",
        ("y", "f"),
    ),
    "python: recursive": Mutation("x = [1]\nx.append(x)\ny = {'x': x}", "y['x'][0] = 2\ny['y'] = y", ("y",)),
    "python: generator": Mutation("x = (i for i in range(9))\ny = x", "next(x)"),
    "python: open file": Mutation("import tempfile\nx = tempfile.TemporaryFile('w+')\ny = x", "x.write('a')"),
}
