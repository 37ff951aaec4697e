"""A try on its way to a worker and back: files stay in the workspace, variables are as in the user's kernel.

The inside: hostile paths and links, and variables that only some workers lack.
"""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agentnb.errors import UsageError
from agentnb.plugins.loop.sent_try import (
    SentFile,
    TablesDiffer,
    VariablesMissing,
    pack,
    read_files,
    unpack,
    workspace_files,
    write_files,
)


def test_files_and_links_arrive_unchanged(tmp_path: Path) -> None:
    """Git's own folder is left out and, where others may read the files, secrets."""
    home, there = tmp_path / "home", tmp_path / "there"
    for name in ("a.txt", "sub/run.sh", ".git/HEAD", ".env"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    (home / "sub/run.sh").chmod(0o755)
    (home / "link").symlink_to("a.txt")
    there.mkdir()
    write_files(there, workspace_files(home, with_secrets=False))
    assert sorted(each.name for each in there.rglob("*")) == ["a.txt", "link", "run.sh", "sub"]
    assert ((there / "link").readlink(), (there / "sub/run.sh").stat().st_mode & 0o777) == (Path("a.txt"), 0o755)
    assert [each.path for each in workspace_files(home, with_secrets=True)] == [".env", "a.txt", "link", "sub/run.sh"]
    (home / "a.txt").unlink()
    write_files(there, read_files(home, ["a.txt"]))
    assert not (there / "a.txt").exists()


@pytest.mark.parametrize("path", ["../out.txt", "/etc/out.txt", "away/out.txt", "", "."])
def test_file_outside_the_workspace_is_refused(tmp_path: Path, path: str) -> None:
    """Its path or a link that the try made before leads out."""
    there, away = tmp_path / "there", tmp_path / "outside"
    there.mkdir()
    away.mkdir()
    with pytest.raises(UsageError, match="is not in the workspace"):
        write_files(there, [SentFile(path="away", link=str(away)), SentFile(path=path, content=b"x")])
    assert list(away.iterdir()) == []


def test_file_replaces_a_link_instead_of_writing_through_it(tmp_path: Path) -> None:
    there, secret = tmp_path / "there", tmp_path / "secret"
    there.mkdir()
    secret.write_text("mine")
    write_files(there, [SentFile(path="a", link=str(secret)), SentFile(path="a", content=b"x")])
    assert (secret.read_text(), (there / "a").read_text()) == ("mine", "x")


def names(**values: Any) -> dict[str, Any]:
    """Returns the parts of a notebook's namespace that matter here."""
    return {"get_ipython": lambda: SimpleNamespace(user_ns_hidden={"get_ipython": None}), **values}


def test_variables_are_restored_around_existing_large_tables(tmp_path: Path) -> None:
    """Extra names are removed; a reference to a large table leads to the existing one."""
    large, box = np.arange(300_000), tmp_path / "state"
    home = names(x=1, large=large, pair=[large], small=np.array([1]))
    home.pop("get_ipython")
    packed = pack(str(box), home, home, set())
    assert (list(packed.digests), box.stat().st_size < 10_000) == (["large"], True)
    there = names(x=5, large=np.arange(300_000), extra=1)
    unpack(str(box), packed.names, packed.digests, there)
    assert (there["x"], there["small"].tolist(), "extra" in there) == (1, [1], False)
    assert there["pair"][0] is there["large"]
    with pytest.raises(TablesDiffer, match="large"):
        unpack(str(box), packed.names, packed.digests, names(large=large[::-1]))
    packed = pack(str(box), home, home, {"large"})
    unpack(str(box), packed.names, packed.digests, there := names())
    assert there["pair"][0] is there["large"]


def test_variables_that_cannot_be_pickled_come_from_cells(tmp_path: Path) -> None:
    box, home = str(tmp_path / "state"), {"lock": threading.Lock(), "key": "sk-ant-api03-" + "a1B2" * 24}
    packed = pack(box, home, home, set())
    assert packed.secrets == ("key",)
    unpack(box, packed.names, packed.digests, names(lock=threading.Lock()))
    with pytest.raises(VariablesMissing, match="lock"):
        unpack(box, packed.names, packed.digests, names())
