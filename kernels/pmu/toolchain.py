# SPDX-License-Identifier: MIT
"""A compiler as new as the kernel's own: this system's, or one unpacked privately from a newer suite.

Programs of a newer suite need its C library. They are started through its own loader, each behind a
small script of its name, so that nothing is installed and no root is needed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernels.errors import Missing
from kernels.pmu.headers import Tree
from kernels.source.fetch import Fetcher
from kernels.source.unpacked import unpacked

SUITES = ("trixie",)
GCC = 14
PACKAGES = (
    f"gcc-{GCC}-x86-64-linux-gnu",
    f"cpp-{GCC}-x86-64-linux-gnu",
    f"libgcc-{GCC}-dev",
    "libc6",
    "libgcc-s1",
    "libstdc++6",
    "libcc1-0",
    "libgmp10",
    "libmpfr6",
    "libmpc3",
    "libisl23",
    "libzstd1",
    "zlib1g",
    "libelf1t64",
)
LIBRARIES = "usr/lib/x86_64-linux-gnu"
LOADER = f"{LIBRARIES}/ld-linux-x86-64.so.2"
PROGRAMS = f"usr/libexec/gcc/x86_64-linux-gnu/{GCC}"
BEHIND = ".elf"  # what a program is called behind its script
SCRIPT = """\
#!/bin/sh
exec {loader} --argv0 "$0" --library-path {libraries} "$0{behind}" "$@"
"""


@dataclass(frozen=True)
class Tools:
    """What make is told, and a word that tells one compiler from another."""

    variables: tuple[str, ...]
    key: str


def is_dynamic(path: Path) -> bool:
    """Is it a program that names a loader? Those have a PT_INTERP with its path near the front."""
    if path.is_symlink() or not path.is_file() or not os.access(path, os.X_OK):
        return False
    with open(path, "rb") as file:
        head = file.read(4096)
    return head.startswith(b"\x7fELF") and b"/ld-linux" in head


def _behind_script(program: Path, root: Path) -> None:
    real = program.with_name(program.name + BEHIND)
    text = SCRIPT.format(loader=root / LOADER, libraries=root / LIBRARIES, behind=BEHIND)
    program.rename(real)
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)


def _programs(folder: Path) -> Iterator[Path]:
    yield from [path for path in sorted(folder.rglob("*")) if is_dynamic(path)]


def wrap(folder: Path, root: Path) -> int:
    """Put every program below `folder` behind a script, if it is not yet. Returns how many."""
    found = [path for path in _programs(folder) if not path.name.endswith(BEHIND)]
    for path in found:
        _behind_script(path, root)
    return len(found)


def _starts(program: Path) -> bool:
    """Does a program of the kernel's build run on this system's C library?"""
    try:
        done = subprocess.run(
            [str(program)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=20,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return not re.search(r"GLIBC_|error while loading shared", done.stderr)


def system_gcc(wanted: int) -> str:
    """This system's compiler that is no older than that, or empty."""
    for name in (f"gcc-{wanted}", "gcc"):
        if shutil.which(name):
            argv = [name, "-dumpversion"]
            said = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
            if said.strip().split(".")[0].isdecimal() and int(said.split(".")[0]) >= wanted:
                return name
    return ""


def private_gcc(fetcher: Fetcher) -> Path:
    """The compiler of the newer suite, unpacked."""
    debs = [fetcher.tool(name, SUITES, "amd64") for name in PACKAGES]
    root = unpacked(debs, fetcher.cache / "toolchain")
    if not (root / LOADER).exists():
        raise Missing(f"{debs[3].path.name}: no {LOADER} in it")
    compiler = root / f"usr/bin/x86_64-linux-gnu-gcc-{GCC}"
    if is_dynamic(compiler):
        _behind_script(compiler, root)
    wrap(root / PROGRAMS, root)
    return root


def tools(tree: Tree, fetcher: Fetcher) -> Tools:
    """A compiler for a kernel, and its build programs made to run."""
    for name in ("make", "ld", "as"):
        if not shutil.which(name):
            raise Missing(f"no {name}: apt-get install make gcc binutils")
    gcc = system_gcc(tree.gcc)
    if gcc and _starts(tree.kbuild / "scripts/basic/fixdep"):
        return Tools((f"CC={gcc}",), gcc)
    if tree.gcc > GCC:
        raise Missing(f"the kernel was built by gcc {tree.gcc}, and there is only {GCC} for it")
    root = private_gcc(fetcher)
    wrap(tree.kbuild, root)
    return Tools((f"CC={root}/usr/bin/x86_64-linux-gnu-gcc-{GCC}",), root.name)
