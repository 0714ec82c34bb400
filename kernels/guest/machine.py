# SPDX-License-Identifier: MIT
"""The command line of an emulator: QEMU, or user-mode Linux as a plain process."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kernels.errors import Missing
from kernels.guest import pvr
from kernels.matrix import Row


TOKEN = "perfmodes.guest"
FILE_LIMIT = 256 << 20


@dataclass(frozen=True)
class Wires:
    """File descriptors that the emulator inherits; -1 where there is none.

    QEMU's standard input and output are the results line: it reads work from a pipe and writes
    results to a file. A virtio console drops output when its pipe or socket is full; a file takes
    everything, and FILE_LIMIT bounds it.
    """

    console: int
    results: int = -1
    qmp: int = -1


def channel_name(row: Row) -> str:
    """The guest's tty for results: a line of its own, or the console with frames among messages."""
    return row.results_tty or row.arch.console


def emulator(row: Row, kvm: bool) -> str:
    if row.arch.runner == "uml":
        return "uml"
    return "qemu-kvm" if kvm and row.arch.name == "amd64" else "qemu-tcg"


def program(row: Row) -> str:
    """The path of the emulator; Missing names the package to install."""
    found = shutil.which(row.arch.qemu)
    if not found:
        raise Missing(f"no {row.arch.qemu}: apt-get install {row.arch.qemu_package}")
    return found


def qemu_version(row: Row) -> str:
    """'7.2.22 (Debian 1:7.2+dfsg-7)' or empty for user-mode Linux."""
    if row.arch.runner != "qemu":
        return ""
    try:
        text = subprocess.run(
            [program(row), "--version"], capture_output=True, text=True, timeout=60, check=False
        ).stdout
    except subprocess.TimeoutExpired:
        raise Missing(f"{row.arch.qemu} --version does not answer") from None
    match = re.search(r"version (.*)", text)
    return match[1].strip() if match else "unknown"


def cmdline(row: Row) -> str:
    """TOKEN tells probes that can bring a machine down that this one is disposable."""
    return f"console={row.arch.console} quiet panic=-1 {TOKEN} {row.append}".strip()


def board(row: Row, kvm: bool) -> list[str]:
    """The emulator with the machine of a row, to which lines are added."""
    fast = emulator(row, kvm) == "qemu-kvm"
    return [
        program(row),
        "-M",
        row.machine,
        "-accel",
        "kvm" if fast else row.accel,
        "-cpu",
        "host" if fast else row.cpu,
        "-smp",
        str(row.cpus),
        "-m",
        str(row.memory),
        "-nodefaults",
        "-display",
        "none",
        "-no-reboot",
    ]


def booted(row: Row, kernel: Path, initrd: Path) -> list[str]:
    """What the machine starts."""
    files = ["-kernel", str(kernel), "-initrd", str(initrd)]
    return [*row.qemu_args, *files, "-append", cmdline(row)]


def _qemu(row: Row, kernel: Path, initrd: Path, wires: Wires, kvm: bool) -> list[str]:
    argv = [
        *board(row, kvm),
        "-chardev",
        f"file,id=console,path=/dev/fd/{wires.console}",
        "-serial",
        "chardev:console",
        "-chardev",
        f"socket,id=qmp,fd={wires.qmp}",
        "-mon",
        "chardev=qmp,mode=control",
    ]
    if row.results:
        argv += ["-chardev", "stdio,id=results,signal=off", *row.results]
    return [*argv, *booted(row, kernel, initrd)]


def _uml(row: Row, kernel: Path, initrd: Path, wires: Wires, scratch: Path) -> list[str]:
    return [
        str(kernel),
        f"mem={row.memory}M",
        f"initrd={initrd}",
        f"uml_dir={scratch}/",
        "umid=guest",
        "con=null",
        f"con0=null,fd:{wires.console}",
        f"ssl0=null,fd:{wires.results}",
        f"console={row.arch.console}",
        "quiet",
        TOKEN,
        *row.append.split(),
    ]


def command(
    row: Row,
    kernel: Path,
    initrd: Path,
    wires: Wires,
    scratch: Path,
    kvm: bool,
    state: Path | None = None,
) -> list[str]:
    """The whole command. setpriv kills the guest when this program is killed."""
    guard = ["setpriv", "--pdeathsig", "KILL", "--"]
    if row.arch.runner == "uml":
        return [*guard, *_uml(row, kernel, initrd, wires, scratch)]
    bound = ["prlimit", f"--fsize={FILE_LIMIT}", "--"]
    resume = ["-incoming", f"exec:cat {shlex.quote(str(state))}"] if state else []
    stopped = pvr.options(scratch) if row.pvr else []
    return [*guard, *bound, *_qemu(row, kernel, initrd, wires, kvm), *stopped, *resume]
