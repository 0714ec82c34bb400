# SPDX-License-Identifier: MIT
"""Programs that names.py watches, made in a folder of their own: their sources are in loads/."""

from __future__ import annotations

import lzma
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "loads"
TREE = Path(__file__).resolve().parents[2]
C = ["gcc", "-O2", "-g", "-pthread"]


@dataclass(frozen=True)
class Load:
    """`prepare` makes the program in a folder and gives the command that runs it for so many
    seconds, there. `below`: the process to watch is the last one under it. `tell_names`: a command
    that makes it write a list of the functions it compiled, so far, for {pid}."""

    name: str
    needs: tuple[str, ...]
    prepare: Callable[[Path, float], list[str]]
    inlines: bool = False
    below: bool = False
    tell_names: tuple[str, ...] = ()


def run(*command: str | Path, cwd: Path | None = None) -> None:
    subprocess.run([str(part) for part in command], cwd=cwd, check=True, capture_output=True)


def compiled(compiler: list[str], source: str) -> Callable[[Path, float], list[str]]:
    def prepare(folder: Path, seconds: float) -> list[str]:
        run(*compiler, SOURCES / source, "-o", folder / "load")
        return [str(folder / "load"), f"{seconds:.0f}"]
    return prepare


def functions(threads: int, *flags: str) -> Callable[[Path, float], list[str]]:
    def prepare(folder: Path, seconds: float) -> list[str]:
        run(*C, *flags, SOURCES / "functions.c", "-o", folder / "load")
        return [str(folder / "load"), str(threads), f"{seconds:.0f}"]
    return prepare


def interpreted(*command: str, source: str) -> Callable[[Path, float], list[str]]:
    return lambda folder, seconds: [*command, str(SOURCES / source), f"{seconds:.0f}"]


def shell(text: str) -> Callable[[Path, float], list[str]]:
    return lambda folder, seconds: ["sh", "-c", text]


def stripped(folder: Path, seconds: float) -> list[str]:
    """The program as Fedora ships it: function names in .gnu_debugdata alone."""
    command = functions(1)(folder, seconds)
    program, names = folder / "load", folder / "names"
    run("objcopy", "--only-keep-debug", program, names)
    run("objcopy", "-S", "--wildcard", "--keep-symbol=*", "--remove-section=.debug*", names)
    names.with_suffix(".xz").write_bytes(lzma.compress(names.read_bytes()))
    run("strip", "-s", program)
    run("objcopy", f"--add-section=.gnu_debugdata={names.with_suffix('.xz')}", program)
    return command


def build(folder: Path, seconds: float) -> list[str]:
    """Builds the library of this tree, again and again."""
    for name in ("lib", "Makefile", "probes", "suites", "run.sh"):
        source = TREE / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name)
    return shell("while :; do make -j2 clean library; done")(folder, seconds)


def container(folder: Path, seconds: float) -> list[str]:
    """In a mount and a process namespace, with a root of its own."""
    command = functions(1)(folder, seconds)
    root = folder / "root"
    listed = subprocess.run(["ldd", command[0]], capture_output=True, text=True, check=True).stdout
    files = [word for word in listed.split() if word.startswith("/")]
    for file in [*files, command[0]]:
        place = root / ("load" if file == command[0] else file.lstrip("/"))
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    return ["unshare", "--mount", "--pid", "--fork", "chroot", str(root), "/load", *command[1:]]


LOADS = (
    Load("c", ("gcc",), functions(1)),
    Load("c-8-threads", ("gcc",), functions(8)),
    Load("c-without-frame-pointers", ("gcc",), functions(1, "-fomit-frame-pointer", "-static")),
    Load("c-minidebuginfo", ("gcc", "objcopy"), stripped),
    Load("c-in-container", ("gcc", "unshare", "ldd"), container, below=True),
    Load("c++", ("g++",), compiled(["g++", "-O2", "-g"], "inlined.cc")),
    Load("c++-inlined", ("g++",), compiled(["g++", "-O2", "-g"], "inlined.cc"), inlines=True),
    Load("rust", ("rustc",), compiled(["rustc", "-O", "-g"], "inlined.rs")),
    Load("rust-inlined", ("rustc",), compiled(["rustc", "-O", "-g"], "inlined.rs"), inlines=True),
    Load("go", ("go",), lambda folder, seconds: (
        run("go", "build", "-o", folder / "load", SOURCES / "work.go"),
        [str(folder / "load"), f"{seconds:.0f}"])[1]),
    Load("java", ("java", "jcmd"),
         interpreted("java", "-XX:+PreserveFramePointer", source="Work.java"),
         tell_names=("jcmd", "{pid}", "Compiler.perfmap")),
    Load("node", ("node",), interpreted("node", "--perf-basic-prof", source="work.js")),
    Load("python", ("python3",), interpreted("/usr/bin/python3", source="work.py")),
    Load("perl", ("perl",), interpreted("perl", source="work.pl")),
    Load("gzip", ("gzip",), shell("while :; do gzip -9 -c /usr/bin/perl; done")),
    Load("dd", ("dd",), shell("exec dd if=/dev/zero of=/dev/null bs=512")),
    Load("forks", ("perl",), shell(
        "while :; do perl -e 'my %h; $h{$_ % 300} .= \"x$_\" for 1 .. 20000'; done")),
    Load("compile", ("gcc", "make"), build),
)
