# SPDX-License-Identifier: MIT
"""Find the package of a row and download it; the archive's signature covers its hash."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kernels.errors import Missing, Refused
from kernels.matrix import Row
from kernels.source import apt
from kernels.source.mirror import Mirror, codename, find_mirror, system_sources
from kernels.source.packages import Package, candidates, newest

TRIES = 16  # a security suite lists every version it had but no longer serves all of them


EARLIER = "an earlier run"  # in place of the address of an archive


def _none(what: str, architecture: str, suites: tuple[str, ...], unread: list[str]) -> Missing:
    """Nothing is there; or that cannot be told, as a list could not be read."""
    if unread:
        return apt.Unread("; ".join(unread))
    return Missing(f"no {what} for {architecture} in {' '.join(suites)}")


def cache_home() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "perfmodes"


def sha256_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Deb:
    """A package file that has been checked."""

    path: Path
    package: Package


@dataclass
class Fetcher:
    """Resolves and downloads; indexes and files are kept in `cache`."""

    mirror: Mirror
    cache: Path
    refresh: bool = False
    say: Callable[[str], None] = lambda text: None
    _suites: dict[tuple[str, str], apt.Suite] = field(default_factory=dict)
    _packages: dict[tuple[str, str], list[Package]] = field(default_factory=dict)

    def index(self, suite: str, architecture: str) -> list[Package]:
        key = (suite, architecture)
        if key not in self._packages:
            place = hashlib.sha256(self.mirror.base(suite).encode()).hexdigest()[:8]
            folder = self.cache / "apt" / f"{suite}-{architecture}-{place}"
            with apt.locked(folder):
                self._suites[key] = apt.Suite(suite, architecture, self.mirror, folder)
                self.say(f"index of {suite} ({architecture})")
                self._suites[key].update(self.refresh)
                self._packages[key] = self._suites[key].packages()
            for note in self._suites[key].notes:
                self.say(note)
        return self._packages[key]

    def _lists(
        self, suites: tuple[str, ...], architecture: str, unread: list[str]
    ) -> Iterator[list[Package]]:
        """The packages of each suite that can be read; why others cannot goes to `unread`. An
        untrusted one is fatal."""
        for suite in suites:
            try:
                yield self.index(suite, architecture)
            except Missing as error:
                self.say(str(error))
                unread += [str(error)] * isinstance(error, apt.Unread)

    def resolve(self, row: Row) -> list[Package]:
        unread: list[str] = []
        listed = itertools.chain.from_iterable(self._lists(row.suites, row.arch.apt, unread))
        found = candidates(row, listed)
        if not found and unread:
            found = candidates(row, self._earlier(row.suites[0], row.arch.apt))
        if not found:
            what = row.package or f"{row.flavour} kernel of series {row.series}"
            raise _none(what, row.arch.apt, row.suites, unread)
        if unread and found[0].base_uri == EARLIER:
            self.say(f"using {found[0].name} {found[0].version}, which an earlier run has fetched")
        return found

    def _earlier(self, suite: str, architecture: str) -> Iterator[Package]:
        """Packages in the cache: what was in a signed list when it was fetched, whatever is listed now."""
        for path in (self.cache / "debs").glob(f"*_*_{architecture}.deb"):
            name, version, _ = path.stem.split("_", 2)
            yield Package(
                name, version.replace("%3a", ":"), architecture, path.name, path.stat().st_size,
                sha256_of(path), EARLIER, suite,
            )  # fmt: skip

    def kernel(self, row: Row) -> Deb:
        """The best candidate that the archive still serves."""
        return self._first(self._cached_first(self.resolve(row)), row.arch.apt)

    def _cached_first(self, packages: list[Package]) -> list[Package]:
        """Equal versions: the one already downloaded first, as others may be no longer served."""
        groups = itertools.groupby(packages, key=lambda package: package.version)
        return [
            package
            for _, group in groups
            for package in sorted(
                group, key=lambda p: not (self.cache / "debs" / p.cache_name).exists()
            )
        ]

    def busybox(self, row: Row) -> Deb:
        return self.tool("busybox-static", row.busybox, row.arch.apt)

    def tool(self, name: str, suites: tuple[str, ...], architecture: str) -> Deb:
        """The package of exactly this name, from the first suite that has one."""
        unread: list[str] = []
        for listed in self._lists(suites, architecture, unread):
            found = [package for package in listed if package.name == name]
            if found:
                return self._first(found, architecture)
        here = [p for p in self._earlier(suites[0], architecture) if unread and p.name == name]
        if not here:
            raise _none(name, architecture, suites, unread)
        package = newest(here)
        self.say(f"using {name} {package.version}, which an earlier run has fetched")
        return self._first([package], architecture)

    def exactly(self, name: str, version: str, suites: tuple[str, ...], architecture: str) -> Deb:
        """The package of this name and version, from whichever suite still serves it."""
        unread: list[str] = []
        listed = itertools.chain.from_iterable(self._lists(suites, architecture, unread))
        found = [package for package in listed if (package.name, package.version) == (name, version)]
        if not found:
            raise _none(f"{name} {version}", architecture, suites, unread)
        return self._first(self._cached_first(found), architecture)

    def _first(self, packages: list[Package], architecture: str) -> Deb:
        reasons = []
        for package in packages[:TRIES]:
            try:
                return self.download(package, architecture)
            except Missing as error:
                reasons.append(str(error))
                self.say(f"{error}; trying the next candidate")
        raise Missing(reasons[0] if reasons else "no candidate")

    def download(self, package: Package, architecture: str) -> Deb:
        path = self.cache / "debs" / package.cache_name
        with apt.locked(path.parent):
            if path.exists():
                if sha256_of(path) == package.sha256:
                    return Deb(path, package)
                self.say(f"{path.name}: not what the signed index says; fetching it again")
                path.unlink()
            self.say(f"download {package.name} {package.version} ({package.size / 1e6:.1f} MB)")
            self._fetch(package, self._suites[package.suite, architecture], path)
        return Deb(path, package)

    def _fetch(self, package: Package, suite: apt.Suite, path: Path) -> None:
        part = path.with_suffix(".part")
        part.unlink(missing_ok=True)
        why = suite.download(package, part)
        if re.search(r"Hash Sum mismatch|unexpected size", why):
            part.unlink(missing_ok=True)
            raise Refused(
                f"{package.name} {package.version}: the file does not match the signed index"
            )
        if why:
            raise Missing(f"{package.name} {package.version}: {why}")
        if sha256_of(part) != package.sha256:
            part.unlink()
            raise Refused(f"{package.name} {package.version}: sha256 differs from the signed index")
        part.rename(path)


def fetcher(
    mirror: str = "", refresh: bool = False, say: Callable[[str], None] = lambda text: None
) -> Fetcher:
    found = find_mirror(codename(), system_sources(), mirror)
    return Fetcher(found, cache_home(), refresh, say)
