"""The place of a package's source: installed in any way, or unpacked from an archive.

The inside: hostile archives and answers of an index, and the limits of what an agent may read.
"""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.research.download import check_version, chosen, offers
from agentnb.plugins.knowledge.research.findings import read_findings
from agentnb.plugins.knowledge.research.source import PackageSource, installed_source
from agentnb.plugins.knowledge.research.unpack import unpacked


def installed(site: Path, name: str, files: Iterable[str], **more: str) -> None:
    """Installs a distribution into *site* as pip does: its files and their list."""
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n\nThe README.")
    for file in files:
        path = site / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\ny = 2\n")
    listed = [*files, f"{info.name}/METADATA", f"{info.name}/RECORD", "../../../bin/tool"]
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in listed))
    for file, text in more.items():
        (info / f"{file}.{'json' if text.startswith('{') else 'txt'}").write_text(text)


def source_of(site: Path, package: str) -> PackageSource:
    return installed_source(package, [str(site)], unpack_to=site.parent / "unpacked")


def names(source: PackageSource) -> list[str]:
    return [place.relative_to(source.root).as_posix() for place in source.places if place.name != "METADATA"]


@pytest.mark.parametrize(
    ("files", "package", "expected"),
    [
        (["tidy/__init__.py", "tidy/frame.py", "tidy/data/table.csv"], "tidy-tables", ["tidy"]),
        (["tidy/__init__.py"], "tidy", ["tidy"]),
        (["one.py"], "tidy-tables", ["one.py"]),
        (["a/__init__.py", "b/__init__.py", "b/c/__init__.py"], "tidy-tables", ["a", "b"]),
        (["space/part/__init__.py", "space/part/x.py"], "tidy-tables", ["space/part"]),
        (["space/alone.py"], "tidy-tables", ["space"]),
        (["tidy-stubs/__init__.pyi"], "tidy-tables", ["tidy-stubs"]),
        (["tidy/__init__.py", "tidy.libs/libx.so"], "Tidy_Tables", ["tidy"]),
    ],
)
def test_source_of_a_package_follows_its_list_of_files(
    tmp_path: Path, files: list[str], package: str, expected: list[str]
) -> None:
    """A namespace package has only its part; the distribution's or a module's name finds it."""
    site = tmp_path / "site"
    installed(site, "tidy-tables", files)
    installed(site, "other", ["space/other/__init__.py"])
    assert names(source_of(site, package)) == expected


def test_source_notes_stubs_and_compiled_modules(tmp_path: Path) -> None:
    """The note explains why there is no source."""
    site = tmp_path / "site"
    installed(site, "types-tidy", ["tidy-stubs/__init__.pyi"])
    installed(site, "fast", ["fast/__init__.py", "fast/_core.abi3.so", "fast/known.abi3.so", "fast/known.pyx"])
    assert [note.partition(":")[0] for note in source_of(site, "types-tidy").notes] == ["It has stubs only"]
    assert [note.partition(";")[0] for note in source_of(site, "fast").notes] == [
        "1 compiled module has no source here"
    ]


def test_source_includes_stubs_of_another_distribution(tmp_path: Path) -> None:
    """A folder ``tidy-stubs`` beside it (PEP 561)."""
    site = tmp_path / "site"
    installed(site, "tidy", ["tidy/__init__.py"])
    installed(site, "types-tidy", ["tidy-stubs/__init__.pyi"])
    assert sorted(names(source_of(site, "tidy"))) == ["tidy", "tidy-stubs"]


@pytest.mark.parametrize("within", ["src", "."])
def test_source_of_an_editable_install_excludes_other_files(tmp_path: Path, within: str) -> None:
    """It has its package and its documentation, without the keys beside them."""
    project, site = tmp_path / "project", tmp_path / "site"
    package = project / within / "tidy"
    package.mkdir(parents=True)
    for file in (package / "__init__.py", project / "README.md", project / ".env"):
        file.write_text("KEY=1")
    direct = json.dumps({"url": project.as_uri(), "dir_info": {"editable": True}})
    installed(site, "tidy", ["__editable___tidy_finder.py"], direct_url=direct)
    source = source_of(site, "tidy")
    assert sorted(names(source)) == sorted(["README.md", (Path(within) / "tidy").as_posix()])
    assert not source.holds(project / ".env")


def test_source_of_a_zipped_egg_or_standard_module_is_found(tmp_path: Path) -> None:
    """An egg's files are only in its archive."""
    egg = tmp_path / "tidy-1.0-py3.egg"
    with zipfile.ZipFile(egg, "w") as archive:
        archive.writestr("tidy/__init__.py", "x = 1")
        archive.writestr("EGG-INFO/PKG-INFO", "Metadata-Version: 1.0\nName: tidy\nVersion: 1.0\n")
    source = source_of(egg, "tidy")
    assert (source.places[0] / "tidy" / "__init__.py").read_text() == "x = 1"
    assert source_of(tmp_path, "json").places[0].name == "json"


@pytest.mark.parametrize("package", ["nothing-of-that-name", "../etc", "-r", "a b", "", "sys"])
def test_source_of_a_missing_package_raises_an_error(tmp_path: Path, package: str) -> None:
    """Invalid names and modules built into Python are named, too."""
    with pytest.raises(UsageError):
        source_of(tmp_path, package)


def tar_of(path: Path, members: list[tarfile.TarInfo]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, link, size
    return made


@pytest.mark.parametrize(
    "name", ["../out.py", "/out.py", "a/../../out.py", "..\\out.py", "C:\\out.py", "a" * 1_001, "."]
)
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_archive_with_a_path_outside_its_folder_is_rejected(tmp_path: Path, name: str, kind: str) -> None:
    """Nothing is written outside, and nothing is kept."""
    archive = tmp_path / "a"
    if kind == "zip":
        with zipfile.ZipFile(archive, "w") as opened:
            opened.writestr("good.py", "")
            opened.writestr(zipfile.ZipInfo(name), "x")
    else:
        tar_of(archive, [member("good.py"), member(name)])
    with pytest.raises(UsageError, match=r"outside its folder"):
        unpacked(archive, tmp_path / "to" / "folder")
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["a", "to"]


def test_unpacking_skips_links_and_limits_the_size(tmp_path: Path) -> None:
    """A link's target is not the package's; a small archive can unpack to terabytes."""
    members = [
        member("p/x.py", size=5),
        member("p/passwd", tarfile.SYMTYPE, "/etc/passwd"),
        member("p/hard", tarfile.LNKTYPE, "p/x.py"),
        member("p/pipe", tarfile.FIFOTYPE),
    ]
    folder = unpacked(tar_of(tmp_path / "a.tar.gz", members), tmp_path / "good")
    assert [each.name for each in folder.iterdir()] == ["x.py"]
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.py", b"0" * 3_000_000)
    with pytest.raises(UsageError, match=r"unpacks to more than 1,000,000 bytes"):
        unpacked(tmp_path / "bomb.zip", tmp_path / "bad", largest=1_000_000)
    assert not (tmp_path / "bad").exists()


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 broken", b"\x1f\x8b\x08 broken", b"<html>"])
def test_file_that_is_not_an_archive_is_rejected(tmp_path: Path, data: bytes) -> None:
    """An index can answer anything."""
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(UsageError):
        unpacked(tmp_path / "a", tmp_path / "folder")


@pytest.mark.parametrize(
    ("package", "version"), [("-r", "1"), ("a", "--index-url=x"), ("a", "1 b"), ("a/b", "1"), ("a", ""), ("a", "1;b")]
)
def test_names_with_another_meaning_for_pip_are_rejected(package: str, version: str) -> None:
    with pytest.raises(UsageError):
        check_version(package, version)


def test_package_index_is_read_as_json_and_as_html() -> None:
    """JSON (PEP 691) and HTML (PEP 503); a source distribution precedes a wheel for another Python."""
    files = ["Tidy_Tables-1.0-cp39-none-any.whl", "tidy-tables-1.0.tar.gz", "tidy-tables-1.0.1.tar.gz"]
    listed = {"files": [{"url": f"../files/{name}", "hashes": {"sha256": "ab"}} for name in files]}
    page = "".join(f'<a class="x" href="../files/{name}#sha256=ab">{name}</a>' for name in files)
    for each in (json.dumps(listed).encode(), page.encode()):
        found_files = offers(each, "https://index.example/simple/tidy-tables/")
        offer = chosen(found_files, "tidy-tables", "1.0")
        assert offer is not None
        assert (offer.url, offer.sha256) == ("https://index.example/simple/files/tidy-tables-1.0.tar.gz", "ab")
        wheel = chosen([one for one in found_files if one.name.endswith(".whl")], "tidy-tables", "1.0")
        assert wheel is not None
    assert offers(b'{"files": 7}', "https://index.example/") == offers(b"<a href='file:///etc/passwd'>", "file:///")


def test_read_findings_rejects_places_that_do_not_exist(tmp_path: Path) -> None:
    """Each is checked, so that the agent can correct it before the user sees it."""
    site = tmp_path / "site"
    installed(site, "tidy", ["tidy/__init__.py"])
    installed(site, "other", ["other.py"])
    sources = [source_of(site, "tidy")]
    findings = [{"text": "It is one.", "file": "tidy/__init__.py", "line": 1, "last_line": 2}, {"text": " All. "}]
    first, second = read_findings(findings, sources)
    assert (first.place, first.excerpt, second.place, second.text) == ("tidy/__init__.py:1", "x = 1", "", "All.")
    assert read_findings([{"text": "a", "file": str(site / "tidy" / "__init__.py")}], sources)[0].line == 1
    for wrong in (
        None,
        [],
        [7],
        [{"text": ""}],
        [{"text": "a", "file": "other.py"}],
        [{"text": "a", "file": "../other.py"}],
        [{"text": "a", "file": "tidy"}],
        [{"text": "a", "file": "tidy/__init__.py", "line": 3}],
        [{"text": "a", "file": "tidy/__init__.py", "line": 2, "last_line": 1}],
        [{"text": "a", "file": "tidy/__init__.py", "line": True}],
        [{"text": "a", "file": "x\0y"}],
    ):
        with pytest.raises(UsageError):
            read_findings(wrong, sources)
