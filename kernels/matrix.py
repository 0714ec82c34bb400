# SPDX-License-Identifier: MIT
"""matrix.toml as checked, frozen rows. A misspelt field is an error and not ignored."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from kernels.errors import Usage
from reports import speak
from reports.text import Unusable, load_text

FILE = Path(__file__).with_name("matrix.toml")
NAME = re.compile(r"[a-z0-9][a-z0-9.+_-]{0,60}")
SYNTHETIC = "synthetic"
SKIPPED = re.compile(r"[a-z0-9_]+\.[a-z0-9_]+=[^\n\r]{1,300}")
SERIES = re.compile(r"\d+\.\d+|newest")


@dataclass(frozen=True)
class Arch:
    """What every row of one architecture shares."""

    name: str
    runner: str
    apt: str
    bundle: str
    console: str
    append: str = ""
    qemu: str = ""
    qemu_package: str = ""
    machine: str = ""
    cpu: str = ""
    accel: str = "tcg"
    results: tuple[str, ...] = ()
    results_tty: str = ""
    unpack: str = ""
    triple: str = ""
    cflags: str = ""
    make: str = ""
    musl: tuple[str, ...] = ("bookworm", "trixie", "sid")
    skip: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """One kernel in one emulator. `arch` is the table of that architecture."""

    name: str
    arch: Arch
    why: str
    suites: tuple[str, ...] = ()
    series: str = "newest"
    flavour: str = ""
    package: str = ""
    version: str = ""
    kernel: str = ""
    limits: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    qemu_args: tuple[str, ...] = ()
    append: str = ""
    machine: str = ""
    cpu: str = ""
    accel: str = ""
    cpus: int = 2
    memory: int = 512
    results: tuple[str, ...] = ()
    results_tty: str = ""
    dtb: str = ""
    timeout: int = 900
    boot_timeout: int = 90
    stall: int = 150
    busybox: tuple[str, ...] = ()
    pmu: str = ""
    skip: tuple[str, ...] = ()
    unavailable: str = ""
    unfit: str = ""
    emulator: tuple[str, ...] = ()
    pvr: int = 0

    def all_tags(self) -> frozenset[str]:
        return frozenset(self.tags) | {"all", self.arch.name}

    def here(self, cpuinfo: Path = Path("/proc/cpuinfo")) -> Row:
        """The row as it is on this machine, whose CPU may have what its emulator cannot live with."""
        flag, _, reason = self.unfit.partition("=")
        has = set(cpuinfo.read_text(encoding="ascii", errors="replace").split()) if flag else set()
        return replace(self, unavailable=f"this CPU has {flag}: {reason}") if flag in has else self


@dataclass(frozen=True)
class Matrix:
    arches: dict[str, Arch]
    rows: dict[str, Row]
    defaults: dict[str, Any]

    def pick(self, names: list[str], tags: list[str]) -> list[Row]:
        """Rows by name, glob or tag, each once, in the order of the list."""
        wanted = {name for pattern in names for name in self._match(pattern)}
        wanted |= {row.name for row in self.rows.values() for tag in tags if tag in row.all_tags()}
        for tag in tags:
            if not any(tag in row.all_tags() for row in self.rows.values()):
                known = sorted({one for row in self.rows.values() for one in row.all_tags()})
                raise Usage(speak.among("tag", tag, known))
        return [row for row in self.rows.values() if row.name in wanted]

    def _match(self, pattern: str) -> list[str]:
        glob = re.escape(pattern).replace(r"\*", ".*")
        found = [name for name in self.rows if re.fullmatch(glob, name)]
        if not found:
            raise Usage(speak.among("kernel", pattern, self.rows))
        return found

    def own(self, kernel: Path, arch: str) -> Row:
        """A row for the user's own kernel file."""
        if arch not in self.arches:
            raise Usage(speak.among("architecture", arch, self.arches))
        table = {
            "name": f"own-{_stem(kernel.name)}",
            "arch": arch,
            "why": "your own kernel",
            "kernel": str(kernel),
        }
        return _row(table, self.arches, self.defaults)

    def from_archive(self, spec: str, arch: str) -> Row:
        """A row for PACKAGE or PACKAGE=VERSION out of any suite that the list names."""
        if arch not in self.arches:
            raise Usage(speak.among("architecture", arch, self.arches))
        package, _, version = spec.partition("=")
        if not package.startswith(("linux-image-", "linux-binary-", "user-mode-linux")):
            raise Usage(f"{package!r} holds no kernel: linux-image-..., linux-binary-...")
        alike = [row for row in self.rows.values() if row.arch.apt == self.arches[arch].apt]
        table = {
            "name": f"deb-{_stem(spec)}",
            "arch": arch,
            "why": "a kernel of the archive",
            "package": package,
            "version": version,
            "suites": list(dict.fromkeys(suite for row in alike for suite in row.suites)),
        }
        return _row(table, self.arches, self.defaults)


def _stem(name: str) -> str:
    return re.sub(r"[^a-z0-9.+_-]", "-", name.lower())[:56].strip("-.") or "kernel"


def _build(kind: type, where: str, table: dict[str, Any]) -> Any:
    known = {field.name: str(field.type) for field in fields(kind)}
    for key, value in table.items():
        if key not in known:
            raise Usage(f"{where}: unknown field {key!r}")
        if known[key].startswith("tuple"):
            if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
                raise Usage(f"{where}: {key} is not a list of strings")
        elif known[key] in ("str", "int") and type(value).__name__ != known[key]:
            raise Usage(f"{where}: {key} is not of type {known[key]}")
    lists = {key: tuple(value) for key, value in table.items() if isinstance(value, list)}
    try:
        return kind(**{**table, **lists})
    except TypeError as error:
        raise Usage(f"{where}: {error}") from None


def _arch(name: str, table: dict[str, Any]) -> Arch:
    arch: Arch = _build(Arch, f"[arch.{name}]", {**table, "name": name})
    if arch.runner not in ("qemu", "uml"):
        raise Usage(f"[arch.{name}]: runner is qemu or uml")
    if arch.runner == "qemu" and not (
        arch.qemu and arch.qemu_package and arch.machine and arch.cpu
    ):
        raise Usage(f"[arch.{name}]: qemu, qemu_package, machine and cpu are needed")
    if bool(arch.results) and not arch.results_tty:
        raise Usage(f"[arch.{name}]: results without results_tty")
    return arch


def _row(table: dict[str, Any], arches: dict[str, Arch], defaults: dict[str, Any]) -> Row:
    where = f"row {table.get('name', '?')!r}"
    arch = table.get("arch")
    if not isinstance(arch, str) or arch not in arches:
        raise Usage(f"{where}: no [arch.{arch}]")
    row: Row = _build(Row, where, {**defaults, **table, "arch": arches[arch]})
    if not NAME.fullmatch(row.name):
        raise Usage(f"{where}: names are [a-z0-9.+_-]")
    if not row.kernel and (not row.suites or bool(row.flavour) == bool(row.package)):
        raise Usage(f"{where}: suites and either flavour or package are needed")
    if not SERIES.fullmatch(row.series) or not row.why:
        raise Usage(f"{where}: series is X.Y or newest, and why is needed")
    if row.pmu and not any(SYNTHETIC in limit for limit in row.limits):
        raise Usage(f"{where}: limits must say that its PMU is {SYNTHETIC}")
    if row.emulator and (len(row.emulator) != 2 or row.arch.runner != "qemu"):
        raise Usage(f"{where}: emulator is the suite and the package of another QEMU")
    base = row.arch
    for known in (*base.skip, *row.skip):
        if not SKIPPED.fullmatch(known):
            raise Usage(f"{where}: skip is a list of PROBE=REASON, not {known!r}")
    return replace(
        row,
        machine=row.machine or base.machine,
        cpu=row.cpu or base.cpu,
        accel=row.accel or base.accel,
        results=row.results or base.results,
        results_tty=row.results_tty or base.results_tty,
        skip=base.skip + row.skip,
        append=f"{base.append} {row.append}".strip(),
    )


def _table(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Usage(f"matrix.toml: {where} is not a table")
    return value


def _rows(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise Usage("matrix.toml: rows begin with [[row]]")
    return [_table("row", table) for table in value]


def parse(text: str) -> Matrix:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Usage(f"matrix.toml: {error}") from None
    unknown = set(data) - {"defaults", "arch", "row"}
    if unknown:
        raise Usage(f"matrix.toml: unknown table {sorted(unknown)[0]!r}")
    defaults = _table("defaults", data.get("defaults", {}))
    arches = {
        name: _arch(name, _table(f"arch.{name}", table))
        for name, table in _table("arch", data.get("arch", {})).items()
    }
    rows: dict[str, Row] = {}
    for table in _rows(data.get("row", [])):
        row = _row(table, arches, defaults)
        if row.name in rows:
            raise Usage(f"row {row.name!r} is there twice")
        rows[row.name] = row
    return Matrix(arches, rows, defaults)


def load(path: Path = FILE) -> Matrix:
    try:
        return parse(load_text(path))
    except Unusable as error:
        raise Usage(str(error)) from None
