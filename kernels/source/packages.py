# SPDX-License-Identifier: MIT
"""From the text of a Packages index to the candidates of a row, best first."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import apt_pkg

from kernels.matrix import Row

apt_pkg.init_system()

# Over time Debian has used these names for the package with vmlinuz:
#   linux-image-V-FLAVOUR            signed by the distribution
#   linux-image-V-FLAVOUR-unsigned   the same kernel before signing
#   linux-binary-V-FLAVOUR           vmlinuz alone, modules in a package of their own
#   linux-binary-unsigned-V-FLAVOUR
# ABI parts after a dash begin with a digit (5.10.0-32, 6.1.0-0.deb11.52), so "cloud-" is never one.
ABI = r"\d[0-9A-Za-z.+~]*(?:-\d[0-9A-Za-z.+~]*)*"
SERIES = re.compile(r"(?:\d+:)?(\d+\.\d+)")
SHA256 = re.compile(r"[0-9a-f]{64}")
PLAIN = re.compile(r"[a-z0-9][a-z0-9.+-]*")
VERSION = re.compile(r"[0-9A-Za-z.+~:-]+")
# A smaller linux-image is an empty package that depends on a linux-binary.
SHELL_SIZE = 2 << 20


@dataclass(frozen=True)
class Package:
    """One stanza of a Packages index whose signature apt has checked."""

    name: str
    version: str
    architecture: str
    filename: str
    size: int
    sha256: str
    base_uri: str
    suite: str

    @property
    def uri(self) -> str:
        return f"{self.base_uri.rstrip('/')}/{self.filename}"

    @property
    def cache_name(self) -> str:
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.architecture}.deb"


def wanted(row: Row, name: str) -> bool:
    """True if a package of this name may contain the kernel of the row."""
    if row.package:
        return name == row.package
    flavour = re.escape(row.flavour)
    return bool(
        re.fullmatch(rf"linux-(?:image|binary)-(?:unsigned-)?{ABI}-{flavour}(?:-unsigned)?", name)
    )


def series(version: str) -> str:
    """'5.10' of '5.10.223-1', '7.3' of '7.3~rc7-1~exp1'."""
    match = SERIES.match(version)
    return match[1] if match else ""


def _stanza(text: str) -> dict[str, str]:
    pairs = (
        line.split(": ", 1) for line in text.splitlines() if line[:1].isalpha() and ": " in line
    )
    return {key: value for key, value in pairs}


def _stanzas(text: str, prefix: str) -> Iterator[str]:
    """Searches instead of parsing everything: an index has sixty thousand stanzas."""
    text = f"\n{text}"
    start = text.find(f"\nPackage: {prefix}")
    while start >= 0:
        end = text.find("\n\n", start + 1)
        end = len(text) if end < 0 else end
        yield text[start + 1 : end]
        start = text.find(f"\nPackage: {prefix}", end)


def _package(fields: dict[str, str], base_uri: str, suite: str) -> Package | None:
    filename, sha256, size = (
        fields.get("Filename", ""),
        fields.get("SHA256", ""),
        fields.get("Size", ""),
    )
    if (
        not SHA256.fullmatch(sha256)
        or not size.isdecimal()
        or not VERSION.fullmatch(fields.get("Version", ""))
    ):
        return None
    if (
        not PLAIN.fullmatch(fields["Package"])
        or not PLAIN.fullmatch(fields.get("Architecture", ""))
        or not filename
        or filename.startswith("/")
        or ".." in filename.split("/")
    ):
        return None
    return Package(
        fields["Package"],
        fields["Version"],
        fields.get("Architecture", ""),
        filename,
        int(size),
        sha256,
        base_uri,
        suite,
    )


def read_index(text: str, names: Iterable[str], base_uri: str, suite: str) -> Iterator[Package]:
    """Packages whose name starts with one of `names`. Malformed stanzas are skipped."""
    for prefix in names:
        for stanza in _stanzas(text, prefix):
            package = _package(_stanza(stanza), base_uri, suite)
            if package:
                yield package


def _order(one: Package, two: Package) -> int:
    newer = apt_pkg.version_compare(two.version, one.version)
    return newer or one.size - two.size or (one.name > two.name) - (one.name < two.name)


def newest(packages: Iterable[Package]) -> Package:
    return min(packages, key=functools.cmp_to_key(_order))


def candidates(row: Row, packages: Iterable[Package]) -> list[Package]:
    """Newest version first; of equal versions the smallest file (vmlinuz without modules) first."""
    fitting = {
        package.sha256: package
        for package in packages
        if wanted(row, package.name)
        and package.size >= SHELL_SIZE
        and row.version in ("", package.version)
        and (row.package or row.series in ("newest", series(package.version)))
    }
    return sorted(fitting.values(), key=functools.cmp_to_key(_order))
