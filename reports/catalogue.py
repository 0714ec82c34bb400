# SPDX-License-Identifier: MIT
"""The declarations of all probes, read from ELF sections or from text."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from reports import text
from reports.declaration import NO_PMU_NEEDS, Declaration, Item, Probe
from reports.text import Unusable

TEXT_LIMIT = 2 << 20
PROBE_LIMIT = 10_000


@dataclass
class Catalogue:
    """All declarations, the text they come from, and what is wrong with them."""
    probes: dict[str, Probe] = field(default_factory=dict)
    text: str = ""
    problems: list[str] = field(default_factory=list)

    def digest(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def parse(source: str) -> Catalogue:
    """Declarations separated by empty lines."""
    result = Catalogue(text=source)
    for block in re.split(r"\n[ \t\r]*\n", source)[:PROBE_LIMIT]:
        lines = [line.rstrip("\r") for line in block.split("\n") if line.strip()]
        if not lines:
            continue
        probe = Declaration(lines, result.problems).build()
        if probe.id in result.probes:
            result.problems.append(f"{probe.id}: declared twice")
        elif probe.id:
            result.probes[probe.id] = probe
    return result


def parse_bytes(data: bytes) -> Catalogue:
    source, valid = text.decode(data)
    result = parse(source)
    if not valid:
        result.problems.append("catalogue: not valid UTF-8")
    return result


def read_text(path: Path) -> Catalogue:
    """A catalogue file of a result directory. Raises OSError."""
    data, more = text.read_bounded(path, TEXT_LIMIT)
    result = parse_bytes(data)
    if more:
        result.problems.append(f"{path.name}: larger than {TEXT_LIMIT >> 20} MiB; cut")
    return result


def section(path: Path, name: str = ".probeinfo") -> bytes:
    """The bytes of a section of an ELF file. Raises Unusable when there are none."""
    from elftools.elf.elffile import ELFFile
    try:
        with open(path, "rb") as file:
            found = ELFFile(file).get_section_by_name(name)
            data = b"" if found is None or found.data_size > TEXT_LIMIT else found.data()
    except OSError as error:
        raise Unusable(f"{path.name}: {error.strerror}") from error
    except Exception as error:  # pyelftools raises whatever its parser met in a damaged file
        raise Unusable(text.clean(f"{path.name}: not an ELF file: {error}", 200)) from error
    if not data:
        raise Unusable(f"{path.name}: no {name} section")
    return data


def _blocks(path: Path) -> Iterator[str]:
    """The declaration texts of one program or catalogue file. Raises Unusable."""
    text.require_file(path)
    with open(path, "rb") as file:
        magic = file.read(4)
    if magic == b"\x7fELF":
        yield text.decode(section(path).replace(b"\0", b"\n"))[0].strip("\n")
    else:
        data, _ = text.read_bounded(path, TEXT_LIMIT, follow=True)
        yield text.decode(data)[0].strip("\n")


def _programs(path: Path) -> Iterator[Path]:
    """The probe programs below a directory, or the catalogue text of a result directory."""
    if not path.is_dir():
        yield path
    elif (path / "catalogue").is_file():
        yield path / "catalogue"
    else:
        for file in sorted(path.rglob("*")):
            # A replay's points are those of a recording: it declares nothing.
            if file.is_file() and "." not in file.name and file.parent.name != "replay":
                yield file


def gather(paths: Iterable[Path]) -> Catalogue:
    """The catalogue of programs, folders of programs, catalogue texts and result directories."""
    blocks: list[str] = []
    problems: list[str] = []
    for path in paths:
        for program in _programs(path):
            try:
                blocks.extend(_blocks(program))
            except (OSError, Unusable) as error:
                problems.append(text.clean(str(error), 300))
    result = parse("\n\n".join(blocks) + "\n" if blocks else "")
    result.problems[:0] = problems
    return result


def built(tree: Path) -> Path:
    """The probes built for this machine, or else those built last; cross builds may be partial."""
    own = tree / "build" / os.uname().machine / "probes"
    if own.is_dir():
        return own
    found = sorted(tree.glob("build/*/probes"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise Unusable("no build/*/probes here; run make first, or name a folder")
    return found[-1]


def runs_without_pmu(probe: Probe, item: Item) -> bool:
    return not any(need in NO_PMU_NEEDS or need.startswith("arch:")
                   for need in probe.needs_of(item))


def as_json(catalogue: Catalogue) -> dict[str, Any]:
    """The catalogue as JSON; a key without a value is left out."""
    probes = {}
    for probe in catalogue.probes.values():
        entry = {key: value for key, value in asdict(probe).items() if value}
        entry["items"] = [{key: value for key, value in item.items() if value not in ("", [])}
                          for item in entry.get("items", [])]
        del entry["id"]
        probes[probe.id] = entry
    return {"format": 1, "kind": "catalogue", "catalogue": catalogue.digest(), "probes": probes}


def counts(catalogue: Catalogue) -> dict[str, int]:
    """The numbers of a catalogue; probes about the house itself (meta.*) are not counted."""
    probes = [probe for probe in catalogue.probes.values() if not probe.id.startswith("meta.")]
    pairs = [(probe, item) for probe in probes for item in probe.points()]
    return {
        "probes": len(probes),
        "points": len(pairs),
        "points without a PMU": sum(runs_without_pmu(*pair) for pair in pairs),
        "facts": sum(item.type != "verdict" for probe in probes for item in probe.items),
        "undocumented or ill-formed": len(catalogue.problems),
    }
