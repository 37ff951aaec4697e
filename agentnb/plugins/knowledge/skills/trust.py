"""Which packages' skills the user trusts or refuses: by distribution, version and contents; revocable."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from agentnb.atomic_write import write_atomically
from agentnb.errors import UsageError
from agentnb.folders import config_folder
from agentnb.safe_json import read_record

if TYPE_CHECKING:
    from pathlib import Path

FILE = "skills.json"
LARGEST = 5_000_000


class TrustedPackage(msgspec.Struct, frozen=True, kw_only=True):
    """A package whose skills the user trusts, or does not want."""

    package: str
    version: str
    digests: dict[str, str]
    refused: dict[str, str] = {}
    trusted_at: int = 0


class SkillTrust:
    """The user's choices, in a file of theirs that every kernel reads."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path

    @property
    def path(self) -> Path:
        """The file."""
        return self._path or config_folder() / FILE

    def trusted(self) -> list[TrustedPackage]:
        """The packages that are trusted, in the order in which they were."""
        return [each for each in self.choices() if not each.refused]

    def choices(self) -> list[TrustedPackage]:
        """The packages that the user trusts or refuses."""
        try:
            with self.path.open("rb") as file:
                return read_record(file.read(LARGEST), list[TrustedPackage])
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            message = f"{self.path} cannot be read, so no skill is trusted: {error}."
            raise UsageError(message, hint="Fix or delete the file.") from None

    def of_version(self, package: str, version: str) -> list[TrustedPackage]:
        """The choices about a package of one version."""
        return [each for each in self.choices() if (each.package, each.version) == (package, version)]

    def trust(self, package: str, version: str, digests: dict[str, str]) -> None:
        """Trust a package as it is now, instead of its other versions."""
        made = TrustedPackage(package=package, version=version, digests=digests, trusted_at=int(time.time()))
        others = [each for each in self.choices() if each.package != package or each.refused]
        self._put(made, others)

    def refuse(self, package: str, version: str, digests: dict[str, str]) -> None:
        """Trust a package of one version no more, and remember that the user does not want it as it is now."""
        self._put(TrustedPackage(package=package, version=version, digests={}, refused=digests), self.choices())

    def revoke(self, package: str) -> bool:
        """Trust a package no more, and remember that; False where it was not trusted."""
        was = next((each for each in self.trusted() if each.package == package), None)
        if was is not None:
            self.refuse(package, was.version, was.digests)
        return was is not None

    def _put(self, choice: TrustedPackage, others: list[TrustedPackage]) -> None:
        """Write *choice* instead of the one about the same version; without any contents it says nothing."""
        about = (choice.package, choice.version)
        kept = [each for each in others if (each.package, each.version) != about]
        self._write([*kept, choice] if choice.digests or choice.refused else kept)

    def _write(self, choices: list[TrustedPackage]) -> None:
        data = msgspec.json.format(msgspec.json.encode(choices))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(self.path, data, mode=0o600, sync=True)
        except OSError as error:
            raise UsageError(f"{self.path} cannot be written: {error.strerror}.") from None
