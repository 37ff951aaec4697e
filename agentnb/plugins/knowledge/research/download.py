"""Fetches a version of a package that is not installed: a wheel by pip, or the source distribution from pip's index.

It uses pip's own settings: its index, its proxy, its cache. pip fetches wheels only, because it would run a source
distribution to look at it. So a source distribution is read directly from the index (the simple API, PEP 503 and 691).
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import html
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit

import msgspec

from agentnb.credentials import Credentials
from agentnb.errors import UsageError
from agentnb.plugins.knowledge.distributions import normal_name
from agentnb.plugins.knowledge.research.source import PackageSource
from agentnb.plugins.knowledge.research.unpack import unpacked
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST = 200 * 1024 * 1024
"""Bytes of an archive that is fetched."""
PIP_SECONDS = 120.0
LARGEST_PAGE = 50 * 1024 * 1024
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.!+_-]{0,60})")
_LINK = re.compile(r"<a\b[^>]*\bhref\s*=\s*[\"']([^\"']{1,4000})[\"'][^>]*>", re.IGNORECASE)
_INDEX = (
    "from pip._internal.commands import create_command\n"
    "print(create_command('download').parser.parse_args([])[0].index_url)"
)
"""Prints the index that pip uses: the one from its configuration files and variables, or its default."""
_ARCHIVES = (".tar.gz", ".zip", ".tar.bz2", ".tar.xz")


class _Offer(msgspec.Struct, frozen=True):
    name: str
    url: str
    sha256: str = ""


def check_version(package: str, version: str) -> None:
    """Raise UsageError unless pip takes both as a name and a version, and as nothing else."""
    if not _NAME.fullmatch(package):
        raise UsageError(f"{package!r} is not a valid package name.", hint='For example: "polars".')
    if not _VERSION.fullmatch(version):
        raise UsageError(f"{version!r} is not a valid version.", hint='For example: "1.2.0".')


async def fetched_source(package: str, version: str, folder: Path) -> PackageSource:
    """Returns the source of *package* in *version*, downloaded if it is not there yet; none of it is run."""
    check_version(package, version)
    kept = folder / f"{normal_name(package)}-{version}"
    if not await asyncio.to_thread(kept.is_dir):
        scratch = await asyncio.to_thread(_scratch, folder)
        try:
            archive = await _wheel(package, version, scratch) or await _source_archive(package, version, scratch)
            await asyncio.to_thread(unpacked, archive, kept)
        finally:
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)
    root = await asyncio.to_thread(unpacked, kept, kept)  # unpacked already: only finds the folder in it
    note = f"This is version {version}, fetched from the package index; it is not the installed one."
    return PackageSource(package=package, version=version, root=root, places=(root,), notes=(note,))


def _scratch(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return Path(tempfile.mkdtemp(prefix=".fetching-", dir=folder))


def _fetched_wheel(folder: Path) -> Path | None:
    return next((each for each in folder.iterdir() if each.suffix == ".whl" and each.stat().st_size <= LARGEST), None)


async def _wheel(package: str, version: str, into: Path) -> Path | None:
    """Download the wheel with pip; returns None if the index has none for this Python."""
    quiet = ("--no-input", "--disable-pip-version-check", "-q")
    words = ("download", "--no-deps", "--only-binary=:all:", "--dest", str(into), "--", f"{package}=={version}")
    status, output = await _run([sys.executable, "-I", "-m", "pip", *quiet, *words], into)
    if status == 0:
        return await asyncio.to_thread(_fetched_wheel, into)
    if "No module named pip" in output:
        raise UsageError("pip is not installed here, so no version can be fetched.", hint="python -m ensurepip")
    if "No matching distribution" in output or "from versions" in output:
        return None
    reason = output.strip().splitlines()[-1][:500] if output.strip() else f"status {status}"
    raise UsageError(f"pip could not fetch {package} {version}: {Credentials(os.environ).hidden(reason)}")


async def _run(command: Sequence[str], cwd: Path) -> tuple[int, str]:
    """Run *command*; returns its status, and what it wrote to stdout and stderr."""
    running = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(running.communicate(), PIP_SECONDS)
    except asyncio.TimeoutError:
        raise UsageError(f"pip took more than {PIP_SECONDS:g} s.") from None
    finally:
        if running.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                running.kill()
            await running.wait()
    return running.returncode or 0, output.decode("utf-8", "replace")


async def _source_archive(package: str, version: str, into: Path) -> Path:
    """Download the source distribution from the index that pip uses."""
    status, output = await _run([sys.executable, "-I", "-c", _INDEX], into)
    if status or not output.strip().startswith(("http://", "https://")):
        raise UsageError("pip does not say where its index is.", hint="pip config debug")
    index = output.strip().splitlines()[-1]
    name = normal_name(package)
    import httpx

    try:
        async with httpx.AsyncClient(follow_redirects=True, timeout=30.0) as client:
            page = await _read(client, f"{index.rstrip('/')}/{name}/", LARGEST_PAGE)
            offer = chosen(offers(page, f"{index.rstrip('/')}/{name}/"), name, version)
            if offer is None:
                message = (
                    f"The package index has no wheel for this Python and no source distribution of {package} {version}."
                )
                raise UsageError(message, hint=f"`pip index versions {package}` lists the versions.")
            data = await _read(client, offer.url, LARGEST)
    except httpx.HTTPStatusError as error:
        message = f"The package index has no {package} {version} (status {error.response.status_code})."
        raise UsageError(message, hint="Check the name of the distribution.") from None
    except httpx.HTTPError as error:
        output = Credentials(os.environ).hidden(str(error) or type(error).__name__)
        raise UsageError(f"The package index could not be read: {output[:300]}") from None
    if offer.sha256 and hashlib.sha256(data).hexdigest() != offer.sha256:
        raise UsageError(f"{offer.name} is not the file that the index describes: its hash differs.")
    archive = into / "source.archive"
    await asyncio.to_thread(archive.write_bytes, data)
    return archive


async def _read(client: Any, url: str, largest: int) -> bytes:
    accept = "application/vnd.pypi.simple.v1+json, text/html;q=0.5, */*;q=0.1"
    parts: list[bytes] = []
    size = 0
    async with client.stream("GET", url, headers={"Accept": accept}) as answer:
        answer.raise_for_status()
        async for piece in answer.aiter_bytes():
            size += len(piece)
            if size > largest:
                raise UsageError(f"The package index sent more than {largest:,} bytes.")
            parts.append(piece)
    return b"".join(parts)


def offers(page: bytes, address: str) -> list[_Offer]:
    """Returns the files listed on a project's page, which is JSON (PEP 691) or HTML (PEP 503)."""
    text = page.decode("utf-8", "replace")
    if text.lstrip().startswith("{"):
        try:
            files = read_json(text)["files"]
            links = [(each["url"], (each.get("hashes") or {}).get("sha256", "")) for each in files]
        except (ValueError, LookupError, TypeError, AttributeError):
            return []
    else:
        links = []
        for link in _LINK.findall(text):
            url, _, fragment = html.unescape(link).partition("#")
            links.append((url, fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else ""))
    whole = [(urljoin(address, str(url)), str(digest)) for url, digest in links]
    return [
        _Offer(unquote(urlsplit(url).path.rpartition("/")[2]), url, digest)
        for url, digest in whole
        if urlsplit(url).scheme in {"http", "https"}
    ]


def chosen(files: list[_Offer], name: str, version: str) -> _Offer | None:
    """Returns the source distribution of *version*, else any wheel of it: it is only read, not installed."""
    normal = normal_name(f"{name}-{version}")
    for each in files:
        stem = next((each.name.removesuffix(end) for end in _ARCHIVES if each.name.endswith(end)), None)
        if stem is not None and normal_name(stem) == normal:
            return each
    for each in files:
        parts = each.name.split("-")
        if each.name.endswith(".whl") and normal_name("-".join(parts[:2])) == normal:
            return each
    return None
