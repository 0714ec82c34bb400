# SPDX-License-Identifier: MIT
"""The kernel's Documentation/features text: a table of architectures for each probe, as measured."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from reports import wordlist
from reports.export.common import Options, Result, cells

SUFFIX = "txt"
# The kernel's names of architectures, as its folders are called.
ARCHES = ("alpha", "arc", "arm", "arm64", "csky", "hexagon", "loongarch", "m68k", "microblaze", "mips",
          "nios2", "openrisc", "parisc", "powerpc", "riscv", "s390", "sh", "sparc", "um", "x86", "xtensa")
_KNOWN = (("x86_64|i[3-6]86", "x86"), ("aarch64", "arm64"), ("arm.*", "arm"), ("ppc.*", "powerpc"),
          ("riscv.*", "riscv"), ("s390x?", "s390"), ("loongarch.*", "loongarch"), ("mips.*", "mips"))


def arch_of(result: Result) -> str:
    """The kernel's name of the architecture of a result."""
    if str(result["identity"].get("hypervisor", "")).startswith("uml"):
        return "um"
    machine = re.sub("[^A-Za-z0-9_.-]", "_", result["identity"]["arch"])[:40]
    return next((name for pattern, name in _KNOWN if re.fullmatch(pattern, machine)), machine)


def status(words: set[str]) -> str:
    """ok where all that could be told works, TODO where something does not, `..` where nobody could
    tell."""
    if words & set(wordlist.CONCLUSIVE) - {"yes"}:
        return "TODO"
    return "ok" if "yes" in words else ".."


def _block(name: str, title: str, said: dict[str, str]) -> Iterator[str]:
    yield "#"
    yield f"# Feature name:          {name}"
    yield "#         Kconfig:       PERF_EVENTS"
    yield f"#         description:   {title}"
    yield "#"
    yield "    -----------------------"
    yield "    |         arch |status|"
    yield "    -----------------------"
    for arch in sorted({*ARCHES, *said}):
        yield f"    | {arch[:11]:>11}: | {said.get(arch, '..'):>4} |"
    yield "    -----------------------"


def write(results: Sequence[Result], options: Options) -> str:
    """A table for each probe that was asked."""
    words: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for cell in cells(results, options.persona):
        words[cell.probe][arch_of(cell.result)].add(cell.verdict)
    lines: list[str] = []
    for probe, by_arch in sorted(words.items()):
        declared = options.declared.probes.get(probe)
        said = {arch: status(found) for arch, found in by_arch.items()}
        lines += [*_block(probe, declared.title if declared else "", said), ""]
    return "\n".join(lines)
