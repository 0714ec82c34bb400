# SPDX-License-Identifier: MIT
"""Systems by the names that people use: which rows answer for them, and what no row can tell.

A name stands for the series of kernels that a system ships. Where a row is of that series, it answers;
where none is, the nearest older and the nearest newer one do, each for itself. None of them is the
system's own kernel, so what was backported or configured there is told by the machine alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from reports import answers, text
from reports.text import Unusable

TABLE = Path(__file__).resolve().parent / "data" / "systems.toml"
ASK_IT = "on the machine itself: ./run.sh doctor (now), ./run.sh (all of it)"
_FIELDS = {"name": str, "title": str, "arch": str, "series": list, "level": str, "source": str,
           "level_source": str, "beware": str, "also": list, "releases": list}
_ROW = re.compile(r"([a-z0-9]+)-(\d+)\.(\d+)")      # rows of a plain kernel: no variant behind the series
_RELEASE = re.compile(r"(?:linux-|v)?((\d{1,3}\.\d{1,4})(?:[.+-][\w.+~-]{0,120})?)", re.ASCII)

ARCHES = {"aarch64": "arm64", "-arm64": "arm64", "x86_64": "amd64", "-amd64": "amd64"}  # in releases, and as rows have them

Series = tuple[int, int]


@dataclass(frozen=True)
class System:
    """One entry of the table."""
    name: str
    title: str
    series: tuple[str, ...]
    source: str
    arch: str = "amd64"
    level: str = ""
    level_source: str = ""
    beware: str = ""
    also: tuple[str, ...] = ()      # other names, and systems with the same kernels
    releases: tuple[str, ...] = ()  # parts of what its kernels are called by uname(1)

    def names(self) -> list[str]:
        """As people write it, with spaces: "ubuntu 22.04", "jammy", "ubuntu jammy"."""
        plain = re.sub(r" *\(.*\)| LTS$|,.*", "", self.title).lower()
        codes = [name for name in self.also if name.isalpha()]
        return list(dict.fromkeys([plain, *(name.replace("-", " ") for name in (self.name, *self.also)),
                                   *(f"{plain.split()[0]} {code}" for code in codes)]))


def _entry(entry: Any) -> System:
    if not isinstance(entry, dict) or any(not isinstance(value, _FIELDS.get(key, ())) for key, value in entry.items()):
        raise Unusable(text.clean(f"{TABLE.name}: {entry}: not an entry", 300))
    try:
        return System(**entry | {"series": tuple(entry["series"]), "also": tuple(entry.get("also", ())), "releases": tuple(entry.get("releases", ()))})
    except (KeyError, TypeError) as error:
        raise Unusable(text.clean(f"{TABLE.name}: {entry.get('name')}: {error}", 300)) from error


@lru_cache(maxsize=4)
def read(path: Path = TABLE) -> dict[str, System]:
    """name -> system. Raises Unusable."""
    value = text.load_toml(path)
    if value.get("format") != 1 or not isinstance(value.get("system"), list):
        raise Unusable(f"{path.name}: format = 1 and [[system]] are missing")
    return {each.name: each for each in map(_entry, value["system"])}


def _key(name: str) -> str:
    """ubuntu-22.04, ubuntu2204 and the image ubuntu:22.04 are one name."""
    return re.sub(r"[-._: ]", "", name.lower())


def _pretty(name: str) -> Iterator[str]:
    """What /etc/os-release calls it may be: "Debian GNU/Linux 12 (bookworm)", "Ubuntu 24.04.1 LTS", "Rocky Linux 9.3"."""
    plain = re.sub(r" *\(.*\)$| LTS$", "", name.strip(), flags=re.IGNORECASE)
    for words in (plain, re.sub(r" (?:GNU/)?Linux\b", "", plain, flags=re.IGNORECASE)):
        yield words
        while "." in words:
            words = words.rpartition(".")[0]
            yield words


def _of_release(release: str, series: str) -> System:
    """A kernel by what uname(1) calls it: of the system that names its kernels so, where that is told by it."""
    named = [each for each in read().values() if any(part in release for part in each.releases)]
    fit = [each for each in named if series in each.series] or named
    arch = next((ours for theirs, ours in ARCHES.items() if theirs in release), fit[0].arch if fit else "amd64")
    if not fit:
        return System(release, f"a kernel of the series {series}", (series,), "by its number", arch)
    whose = fit[0].title if len(fit) == 1 else fit[0].title.split()[0]
    return replace(fit[0], name=release, title=f"a kernel that is named as those of {whose}", series=(series,),
                   source="by its name", arch=arch)


def known() -> list[str]:
    """The names of all systems, as one may type them."""
    return [name for each in read().values() for name in (each.name, *each.also)]


def find(name: str) -> tuple[System, str] | None:
    """The system of a name, and the architecture that is asked for: NAME or NAME:ARCH. A release as uname(1) has
    it, or "6.8", stands for its series."""
    found = {_key(key): each for each in read().values() for key in (*each.names(), each.name, *each.also)}
    for plain, _, arch in ((name, "", ""), name.partition(":"), name.rpartition(":")):     # or ubuntu:22.04:arm64
        for each in (plain, *_pretty(plain)):
            if system := found.get(_key(each)):
                return system, arch or system.arch
        if release := _RELEASE.fullmatch(plain):
            system = _of_release(release[1], release[2])
            return system, arch or system.arch
    return None


def _numbers(series: str) -> Series:
    major, _, minor = series.partition(".")
    return int(major), int(minor)


def _plain(arch: str, names: Iterable[str]) -> dict[Series, str]:
    """series -> the row of an architecture that is a plain kernel of it, the newest one by its release."""
    listed = list(names)
    found = ((match, name) for name in listed if (match := _ROW.fullmatch(name)) and match[1] == arch)
    rows_ = {(int(match[2]), int(match[3])): name for match, name in found}
    newest = f"{arch}-newest"
    if newest in listed and (release := _RELEASE.fullmatch(answers.release(newest))):
        rows_.setdefault(_numbers(release[2]), newest)
    return rows_


def rows(series: str, arch: str, names: Iterable[str]) -> list[str]:
    """The row of a series, or its neighbours: the nearest older one and the nearest newer one."""
    there, wanted = _plain(arch, names), _numbers(series)
    if wanted in there:
        return [there[wanted]]
    older = max((each for each in there if each < wanted), default=None)
    newer = min((each for each in there if each > wanted), default=None)
    return [there[each] for each in (older, newer) if each]


def asked(system: System, arch: str) -> list[str]:
    """The rows that answer for a system. Raises Unusable where none ships."""
    names = answers.names()
    found = list(dict.fromkeys(row for series in system.series for row in rows(series, arch, names)))
    if not found:
        known = sorted({match[1] for name in names if (match := _ROW.fullmatch(name))})
        raise Unusable(f"{system.name}: no answers of a plain kernel of {text.clean(arch, 40)} ship; of: {' '.join(known)}")
    return found


def about(system: System, arch: str, names: Iterable[str] = ()) -> Iterator[str]:
    """What is known of a system, what is not, and who knows it, by the rows of these names or those that ship."""
    names = [*names] or answers.names()
    yield f"{system.name}: {system.title}: Linux {' or '.join(system.series)} ({system.source})"
    for series in system.series:
        found = rows(series, arch, names)
        if found and _numbers(series) not in _plain(arch, found):
            yield f"  no {arch} kernel here is Linux {series}; the nearest that are answer for it: {', '.join(found)}"
    if system.level:
        yield f"  it starts with perf_event_paranoid={system.level} ({system.level_source})"
    else:
        yield "  with which perf_event_paranoid it starts is not known here"
    beware = f"; {system.beware}" if system.beware else ""
    yield f"  not known: what it has backported and how it was configured{beware}; {ASK_IT}"
