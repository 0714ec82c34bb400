# SPDX-License-Identifier: MIT
"""perfmodes_pmu.ko for one kernel: built once, kept in the cache by what it was made of."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from kernels import program
from kernels.errors import Missing
from kernels.pmu import headers, toolchain
from kernels.source.fetch import Fetcher
from kernels.source.image import write_once
from kernels.source.packages import Package

SOURCE = Path(__file__).with_name("module")
NAME = "perfmodes_pmu.ko"
LIE = re.compile(r'\[LIE_\w+\] = "(\w+)"')


def sources(folder: Path = SOURCE) -> dict[str, bytes]:
    """What the module is made of."""
    paths = sorted(path for path in folder.iterdir() if path.suffix in (".c", ".h"))
    return {path.name: path.read_bytes() for path in (*paths, folder / "Kbuild")}


def _key(tree: headers.Tree, tools: toolchain.Tools, files: dict[str, bytes]) -> str:
    digest = hashlib.sha256(f"{tree.key} {tools.key}".encode())
    for name, data in files.items():
        digest.update(f"\0{name}\0".encode() + hashlib.sha256(data).digest())
    return digest.hexdigest()[:20]


def _telling(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no message"]
    return next((line for line in lines if re.search(r"rror|not found|No rule", line)), lines[-1])


def command(tree: headers.Tree, tools: toolchain.Tools, folder: Path) -> list[str]:
    """BTF of a module wants pahole and the kernel's own; perf does not look at it."""
    return [
        "make",
        "-s",
        f"-j{os.cpu_count() or 1}",
        "-C",
        str(tree.folder),
        f"M={folder}",
        *tools.variables,
        "CONFIG_DEBUG_INFO_BTF_MODULES=",
        "modules",
    ]


def _make(tree: headers.Tree, tools: toolchain.Tools, files: dict[str, bytes]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="perfmodes-pmu-") as name:
        folder = Path(name)
        for file, data in files.items():
            (folder / file).write_bytes(data)
        done = program.run(command(tree, tools, folder))
        module = folder / NAME
        if done.returncode or not module.exists():
            said = _telling(f"{done.stderr}\n{done.stdout}").replace(f"{folder}/", "")
            raise Missing(f"{NAME} for {tree.folder.name}: {said[:300]}")
        if shutil.which("strip"):
            subprocess.run(["strip", "--strip-debug", str(module)], check=False)
        return module.read_bytes()


def module(kernel: Package, flavour: str, architecture: str, fetcher: Fetcher) -> bytes:
    """The module for the kernel in this package."""
    if architecture != "amd64":
        raise Missing(f"the synthetic PMU is for amd64, not for {architecture}")
    tree = headers.tree(kernel, flavour, architecture, fetcher)
    tools = toolchain.tools(tree, fetcher)
    files = sources()
    target = fetcher.cache / "modules" / f"{_key(tree, tools, files)}.ko"
    if not target.exists():
        fetcher.say(f"build {NAME} for {headers.release(kernel)}")
    return write_once(target, lambda: _make(tree, tools, files)).read_bytes()



def lies(folder: Path = SOURCE) -> list[str]:
    """What the module can be told to lie about, in the order of its table."""
    return LIE.findall((folder / "parameters.c").read_text(encoding="utf-8"))
