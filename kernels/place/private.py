# SPDX-License-Identifier: MIT
"""Keeps what names a device or its owner out of results: host names, accounts, serial numbers, MAC
addresses, home folders and the folder of the run.

A device tells its names when it is looked at; they are known to this process alone. In every file
that comes from there, and in every reason that is written down, `<withheld>` stands in their place,
in as many bytes: a file that is shorter than its last line says would be taken for damaged.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

SHOWN = "<withheld>"
MAC = re.compile(rb"(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:])")
# Words that name nobody. A device may well be called so, and results are full of them.
COMMON = frozenset(
    """android busybox debian default device fedora generic guest host linux local localhost
    localdomain machine nobody none null perf perfmodes phone qemu raspberrypi root shell system test
    ubuntu unknown user users virtual x86_64 aarch64 armv7l data sdcard 0123456789abcdef
    00000000-0000-0000-0000-000000000000 00:00:00:00:00:00""".split()
)
FOLDERS = frozenset({"/", "/root", "/home", "/data", "/tmp", "/var/tmp", "/data/local/tmp", "/dev/shm"})


class Private:
    """The names of one device. `withheld` counts what was replaced, by kind."""

    def __init__(self, names: Iterable[str] = (), keep: bool = False) -> None:
        self.keep = keep
        self.withheld: Counter[str] = Counter()
        self._names: list[str] = []
        self._spared: frozenset[str] = frozenset()
        self._told: dict[str, str] = {}
        self.given = frozenset(name.strip() for name in names)  # by the operator, who may see them
        self.add(self.given)

    def add(self, names: Iterable[str]) -> None:
        found = {*self._names, *(name.strip() for name in names)}
        telling = (name for name in found if _telling(name) and name.lower() not in self._spared)
        self._names = sorted(telling, key=len, reverse=True)

    def add_known(self, names: Iterable[str]) -> None:
        """Names that the operator may see on the screen, and nobody in what is written down."""
        known = [name.strip() for name in names]
        self.given |= frozenset(known)
        self.add(known)

    def spare(self, words: frozenset[str]) -> None:
        """Words that results are written in. A host that is called so keeps its name."""
        self._spared = words
        self.add([])

    def clean(self, data: bytes) -> bytes:
        """The data without those names, and as long as before."""
        return self._cleaned(data, _instead, self._names)

    def text(self, said: str) -> str:
        """A reason without those names."""
        made = self._without(said, self._names)
        if made != said:
            self._told[made] = self._without(said, [name for name in self._names if name not in self.given])
        return made

    def spoken(self, said: str) -> str:
        """What was made of reasons, for the operator: with the words that came from him."""
        for made, plain in list(self._told.items()):
            said = said.replace(made, plain)
        return said

    def _without(self, said: str, names: list[str]) -> str:
        return self._cleaned(said.encode(), lambda size: SHOWN.encode(), names).decode("utf-8", "backslashreplace")

    def _cleaned(self, data: bytes, instead: Callable[[int], bytes], names: list[str]) -> bytes:
        if self.keep:
            return data
        for name in names:
            whole = rb"(?<![\w])" + re.escape(name.encode()) + rb"(?![\w])"
            found = re.compile(whole, re.IGNORECASE)
            data, count = found.subn(lambda match: instead(len(match[0])), data)
            self.withheld["names"] += count
        data, count = MAC.subn(lambda match: instead(len(match[0])), data)
        self.withheld["MAC addresses"] += count
        return data


@lru_cache(maxsize=8)
def words_of(bundle: Path) -> frozenset[str]:
    """The words in which the probes of a bundle declare themselves."""
    found: set[str] = set()
    for path in (bundle / "bin" / "declared").glob("*/*.txt"):
        text = path.read_text(encoding="utf-8", errors="replace").lower()
        found |= {path.parent.name, *re.findall(r"\w+", text)}
    return frozenset(found)


def _instead(size: int) -> bytes:
    return SHOWN.ljust(size, "_").encode() if size >= len(SHOWN) else b"_" * size


def _telling(name: str) -> bool:
    """Does it name one device or person? Short and common words do not."""
    if name in FOLDERS or name.lower() in COMMON or len(set(name)) < 3:
        return False
    return len(name) >= 4 and len(name) <= 200
