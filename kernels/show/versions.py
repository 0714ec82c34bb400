# SPDX-License-Identifier: MIT
"""Which of Debian's versions changed an answer, where there is no tree: each of a series that the
archive has is booted as it is. What its changelog and its source package say of perf goes with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kernels.errors import Missing, Refused, Usage
from kernels.matrix import Row
from kernels.show.bisect import Answer, Search
from kernels.source import debian
from kernels.source.fetch import Fetcher
from reports.text import clean, write_whole

MOST = 40  # lines of one kind
PREFIX = "deb-"
SOURCES = {"x86_64": "x86", "i386": "x86"}  # ARCH= of a build, and the folder below arch/


def _named(row: Row, version: str) -> Row:
    """The row with another version of its package."""
    name = f"{PREFIX}{version.lower().replace(':', '.').replace('~', '-')}"
    return replace(row, name=name, version=version)


def search(fetcher: Fetcher, last: Row, first: Row, ask_row: Callable[[Row], Answer]) -> tuple[Search, dict[str, Row]]:
    """A search over the kernel of the last row that answers as before, if it is another, and the versions of
    the first that does not; and those rows by name."""
    for row in (last, first):
        if row.package or row.dtb or row.pmu or row.arch.runner != "qemu":
            raise Usage(f"{row.name} needs more than a kernel: --versions is for rows without board or PMU")
    rows = [_named(first, version) for version in debian.versions(fetcher.resolve(first))]
    if last.name != first.name:
        rows.insert(0, _named(last, fetcher.kernel(last).package.version))
    named = {row.name: row for row in rows}
    return Search(list(named), lambda name: ask_row(named[name])), named


def changes(fetcher: Fetcher, old: Row, new: Row, folder: Path) -> list[str]:
    """What the newer version says that it changed in perf, in lines. What cannot be had is told."""
    lines = []
    try:
        said = debian.subjects(debian.changelog(fetcher.kernel(new).path), old.version, new.version)
        lines += [f"its changelog says of perf, after {old.version}:" if said else "its changelog says nothing of perf"]
        lines += [f"  {clean(item, 200)}" for item in said[:MOST]]
        lines += [f"  and {len(said) - MOST} more"] * (len(said) > MOST)
    except (Missing, Refused) as error:
        lines.append(f"its changelog could not be read: {clean(str(error), 200)}")
    try:
        trees = [debian.source(fetcher, row.version, row.suites, row.arch.apt) for row in (old, new)]
    except (Missing, Refused) as error:
        return [*lines, f"the sources could not be compared: {clean(str(error), 200)}"]
    difference = debian.difference(*trees)
    path = folder / f"{old.version}..{new.version}.diff".replace(":", ".")
    write_whole(path, difference)
    touched = debian.functions(difference, SOURCES.get(new.arch.make, new.arch.make))
    lines.append(f"perf's source for this machine differs in {len(touched)} files, near these functions; all in {path}:")
    return lines + [f"  {clean(' '.join([f'{file}:', *names]), 300)}" for file, names in [*touched.items()][:MOST]]
