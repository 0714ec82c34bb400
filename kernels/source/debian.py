# SPDX-License-Identifier: MIT
"""Debian's versions of a kernel: what they changed in perf, by changelog and by source package."""

from __future__ import annotations

import gzip
import re
import subprocess
import zlib
from pathlib import Path

import apt_pkg

from kernels.errors import Missing, Refused
from kernels.source import apt
from kernels.source.fetch import Deb, Fetcher
from kernels.source.packages import Package, series

apt_pkg.init_system()

# Where perf is in a kernel, as patterns of tar.
PLACES = ("kernel/events/*", "include/*/perf_event.h", "arch/*/events/*",
          "arch/*/perf/*", "arch/*/kernel/*perf*", "arch/*/kernel/hw_breakpoint.c", "drivers/perf/*",
          "kernel/trace/trace_event_perf.c", "kernel/trace/trace_*probe*", "kernel/trace/bpf_trace.c")  # fmt: skip
CHANGELOG_LIMIT = 64 << 20
ENTRY = re.compile(r"^linux(?P<signed>-signed)?\S* \((?P<version>[^)\s]+)\) ", re.MULTILINE)
ITEM = re.compile(r"^ +(?:-|\*) (?P<text>.+(?:\n {6,}(?![-*] ).+)*)", re.MULTILINE)
# A version of bookworm's or of a backport: what it changed is told by the entry without that end.
REBUILT = re.compile(r"~(?:bpo|deb)\d[\w.+]*$")
# Of the kernel's perf, not of the program: "perf: ", "perf/core: ".
ABOUT = re.compile(r"\bperf[:/]|\bperf_\w|breakpoint|uprobe", re.IGNORECASE)


def versions(packages: list[Package]) -> list[str]:
    """Each version once, the oldest first, of candidates of which the newest comes first."""
    return list(dict.fromkeys(package.version for package in reversed(packages)))


def _piped(*commands: list[str]) -> bytes:
    """What the last of these says; each reads what the one before says. Missing where one fails."""
    running: list[subprocess.Popen[bytes]] = []
    for argv in commands:
        source = running[-1].stdout if running else subprocess.DEVNULL
        running.append(subprocess.Popen(argv, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        if len(running) > 1 and running[-2].stdout:
            running[-2].stdout.close()  # so that it ends when its reader does
    said, error = running[-1].communicate()
    for process in running[:-1]:
        error = error or (process.stderr.read() if process.stderr else b"")
        process.wait()
        if process.stderr:
            process.stderr.close()
    if any(process.returncode for process in running):
        first = (error.decode(errors="replace").splitlines() or ["it ended early"])[0]
        raise Missing(f"{commands[-1][0]}: {first[:200]}")
    return said


def changelog(deb: Path) -> str:
    """Debian's changelog in a package of a kernel, or empty where it has none."""
    listed = _piped(["dpkg-deb", "--fsys-tarfile", str(deb)], ["tar", "-t"]).decode(errors="replace")
    found = [name for name in listed.splitlines() if re.fullmatch(r"\./usr/share/doc/[^/]+/changelog(\.Debian)?\.gz", name)]
    if not found:
        return ""
    packed = _piped(["dpkg-deb", "--fsys-tarfile", str(deb)], ["tar", "-xO", found[0]])
    try:
        plain = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(packed, CHANGELOG_LIMIT)
    except (zlib.error, gzip.BadGzipFile) as error:
        raise Refused(f"{deb.name}: its changelog is not readable: {error}") from None
    return plain.decode(errors="replace")


def _within(version: str, after: str, upto: str) -> bool:
    """Whether an entry tells of a version after one, up to and with the other."""
    if not REBUILT.search(version):
        after, upto = REBUILT.sub("", after), REBUILT.sub("", upto)
    return apt_pkg.version_compare(version, after) > 0 >= apt_pkg.version_compare(version, upto)


def subjects(log: str, after: str, upto: str) -> list[str]:
    """What a changelog says of perf in the versions after one, up to and with the other."""
    starts = [*ENTRY.finditer(log)]
    found: list[str] = []
    for number, entry in enumerate(starts):
        version = entry["version"].replace("+", "-", 1) if entry["signed"] else entry["version"]
        if not _within(version, after, upto):
            continue
        end = starts[number + 1].start() if number + 1 < len(starts) else len(log)
        items = (" ".join(item["text"].split()) for item in ITEM.finditer(log, entry.end(), end))
        found += [item for item in items if ABOUT.search(item) and not item.startswith("http")]
    return list(dict.fromkeys(found))


def source(fetcher: Fetcher, version: str, suites: tuple[str, ...], architecture: str) -> Path:
    """The parts of perf out of the source package of a version, unpacked once into the cache."""
    deb = fetcher.exactly(f"linux-source-{series(version)}", version, suites, architecture)
    place = fetcher.cache / "sources"
    target = place / deb.package.sha256[:16]
    with apt.locked(place):
        if not target.exists():
            _unpack(deb, place / f"{target.name}.part").rename(target)
    return target


def _unpack(deb: Deb, part: Path) -> Path:
    part.mkdir(parents=True, exist_ok=True)
    name = f"linux-source-{series(deb.package.version)}.tar.xz"
    wanted = [f"{name.removesuffix('.tar.xz')}/{place}" for place in PLACES]
    _piped(["dpkg-deb", "--fsys-tarfile", str(deb.path)], ["tar", "-xO", f"./usr/src/{name}"],
           ["tar", "-xJ", "-C", str(part), "--strip-components=1", "--no-same-owner", "--wildcards", *wanted])  # fmt: skip
    return part


def difference(old: Path, new: Path) -> str:
    """What differs between two of these, as diff(1) says it, with the function of each place."""
    argv = ["diff", "-r", "-u", "-p", "-N", old.name, new.name]
    done = subprocess.run(argv, cwd=old.parent, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode > 1:
        raise Missing(f"diff: {done.stderr.strip()[:200]}")
    return done.stdout


def functions(difference_: str, architecture: str) -> dict[str, list[str]]:
    """Of each file in a difference, but for other architectures', near which functions it differs; what all
    machines share comes first."""
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in difference_.splitlines():
        if line.startswith("+++ "):
            path = line.split("\t")[0].split("/", 1)[-1]
            names = []
            if not path.startswith("arch/") or path.startswith(f"arch/{architecture}/"):
                found[path] = names
        elif place := re.match(r"@@ [-+,\d ]+ @@ .*?(\w+)\s*\(", line):
            names.append(f"{place[1]}()")
    order = sorted(found, key=lambda path: (not path.startswith(("kernel/", "include/")), path))
    return {path: list(dict.fromkeys(found[path])) for path in order}
