# SPDX-License-Identifier: MIT
"""Kernels built from a git tree: a worktree and a build folder of our own, one commit after another.

The user's checkout is never touched. The worktree is registered with the user's repository while it is
in use; bisection refs belong to a worktree, so an own `git bisect` of the user is not disturbed either.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernels import program
from kernels.errors import Missing, Usage
from kernels.matrix import Arch

BUILD = 4 * 3600  # seconds for one kernel
REF = re.compile(r"[\w][\w./^~+-]{0,200}")
TINY = Path("tiny")  # --config tiny: tinyconfig, with SMALL and what init and run.sh need
# What init and run.sh need of a kernel; the user's --config is taken as it is.
NEEDED = """\
CONFIG_BLK_DEV_INITRD=y
CONFIG_DEVTMPFS=y
CONFIG_TMPFS=y
CONFIG_PROC_FS=y
CONFIG_SYSFS=y
CONFIG_PERF_EVENTS=y
CONFIG_FTRACE=y
CONFIG_KPROBES=y
CONFIG_UPROBE_EVENTS=y
CONFIG_BPF_SYSCALL=y
CONFIG_SERIAL_8250=y
CONFIG_SERIAL_8250_CONSOLE=y
CONFIG_SERIAL_AMBA_PL011=y
CONFIG_SERIAL_AMBA_PL011_CONSOLE=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_CONSOLE=y
CONFIG_PVH=y
"""
# What tinyconfig lacks beside: a 64-bit machine of two CPUs whose programs have sockets, signals and
# timers, and whose probes find cgroups, namespaces, tracepoints, BPF that is compiled, and kernel chains.
# What is "n" would come with these, and no probe needs it.
SMALL = """\
CONFIG_64BIT=y
CONFIG_ACPI=y
CONFIG_ACPI_AC=n
CONFIG_ACPI_BATTERY=n
CONFIG_ACPI_BUTTON=n
CONFIG_ACPI_FAN=n
CONFIG_ADVISE_SYSCALLS=y
CONFIG_AIO=y
CONFIG_BINFMT_ELF=y
CONFIG_BINFMT_SCRIPT=y
CONFIG_BPF_JIT=y
CONFIG_BUG=y
CONFIG_CGROUPS=y
CONFIG_CGROUP_PERF=y
CONFIG_EARLY_PRINTK=y
CONFIG_EPOLL=y
CONFIG_ETHTOOL_NETLINK=n
CONFIG_EVENTFD=y
CONFIG_FILE_LOCKING=y
CONFIG_FTRACE_SYSCALLS=y
CONFIG_FUTEX=y
CONFIG_HID_SUPPORT=n
CONFIG_HIGH_RES_TIMERS=y
CONFIG_HYPERVISOR_GUEST=y
CONFIG_INPUT=n
CONFIG_KALLSYMS=y
CONFIG_KERNEL_GZIP=y
CONFIG_MEMBARRIER=y
CONFIG_MEMFD_CREATE=y
CONFIG_MODULES=n
CONFIG_MULTIUSER=y
CONFIG_NAMESPACES=y
CONFIG_NET=y
CONFIG_NETWORK_FILESYSTEMS=n
CONFIG_PARAVIRT=y
CONFIG_PID_NS=y
CONFIG_POSIX_TIMERS=y
CONFIG_PRINTK=y
CONFIG_PROC_SYSCTL=y
CONFIG_RD_BZIP2=n
CONFIG_RD_GZIP=y
CONFIG_RD_LZ4=n
CONFIG_RD_LZMA=n
CONFIG_RD_LZO=n
CONFIG_RD_XZ=n
CONFIG_RD_ZSTD=n
CONFIG_SECCOMP=y
CONFIG_SERIO=n
CONFIG_SHMEM=y
CONFIG_SIGNALFD=y
CONFIG_SMP=y
CONFIG_TIMERFD=y
CONFIG_TTY=y
CONFIG_UNIX98_PTYS=y
CONFIG_UNIX=y
CONFIG_UNWINDER_FRAME_POINTER=y
CONFIG_USER_NS=y
CONFIG_VT=n
CONFIG_WIRELESS=n
"""


class NoBuild(Exception):
    """This commit gives no kernel; others may."""


def _run(argv: list[str], limit: int = program.LIMIT) -> subprocess.CompletedProcess[str]:
    return program.run(argv, limit, late=NoBuild)


@dataclass(frozen=True)
class Tree:
    """A repository with kernels, checked out at `folder`/source and built in `folder`/build."""

    repository: Path
    folder: Path
    arch: Arch
    config: Path | None = None
    jobs: int = os.cpu_count() or 1

    @property
    def source(self) -> Path:
        return self.folder / "source"

    @property
    def output(self) -> Path:
        return self.folder / "build"

    def commit(self, ref: str) -> str:
        """The commit that a tag, branch or hash names, or empty."""
        if not REF.fullmatch(ref):
            raise Usage(f"{ref!r} names no commit")
        argv = ["git", "-C", str(self.repository), "rev-parse", "-q", "--verify", f"{ref}^{{commit}}"]
        return _run(argv).stdout.strip()

    def git(self, *words: str) -> subprocess.CompletedProcess[str]:
        """git in the worktree, without the user's hooks, which may do anything."""
        place = ["git", "-C", str(self.source), "-c", "core.hooksPath=/dev/null"]
        return _run([*place, *words])

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep another search out of the folder: it would take away what this one builds from."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "lock", "w", encoding="ascii") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Missing(f"another search builds in {self.folder}") from None
            yield

    @contextmanager
    def opened(self, commit: str) -> Iterator[None]:
        """The worktree, at this commit; it is gone afterwards, and the build folder stays."""
        with self._alone():
            yield from self._worktree(commit)

    def _worktree(self, commit: str) -> Iterator[None]:
        base = ["git", "-C", str(self.repository), "-c", "core.hooksPath=/dev/null", "worktree"]
        self._close(base)
        self.output.mkdir(parents=True, exist_ok=True)
        made = _run([*base, "add", "--detach", "--force", str(self.source), commit])
        if made.returncode:
            raise Missing(f"{self.repository}: {_last(made.stderr) or 'git made no worktree'}")
        try:
            yield
        finally:
            self._close(base)

    def _close(self, base: list[str]) -> None:
        shutil.rmtree(self.source, ignore_errors=True)  # `remove` would compare all files first
        _run([*base, "prune"])

    def _make(self, *words: str) -> str:
        argv = ["make", "-C", str(self.source), f"O={self.output}", f"ARCH={self.arch.make}"]
        if self.arch.bundle != os.uname().machine:
            argv.append(f"CROSS_COMPILE={self.arch.triple}-")
        if shutil.which("ccache"):  # a commit shares most objects with the one before
            argv.append("CC=ccache $(CROSS_COMPILE)gcc")
        done = _run([*argv, *words], BUILD)
        (self.folder / "make.log").write_text(done.stdout + done.stderr, encoding="utf-8")
        if done.returncode:
            raise NoBuild(f"make {words[-1]}: {_last(done.stderr)}")
        return done.stdout

    def _configure(self) -> None:
        if self.config and self.config != TINY:
            shutil.copyfile(self.config, self.output / ".config")
        elif not (self.output / ".config").exists():
            self._make("-s", "tinyconfig" if self.config else "defconfig")
            with open(self.output / ".config", "a", encoding="ascii") as file:
                file.write(SMALL + NEEDED if self.config else NEEDED)
        self._make("-s", "olddefconfig")

    def build(self) -> Path:
        """The kernel of the commit that is checked out. Raises NoBuild with make's last error."""
        self._configure()
        name = self._make("-s", "--no-print-directory", "image_name").strip().splitlines()[-1:]
        image = self.output / (name[0] if name else "")
        self._make("-s", f"-j{self.jobs}", image.name)
        if not image.is_file():
            raise NoBuild(f"make left no {image.name}")
        return image


def _last(said: str) -> str:
    """The line of a compiler or git that tells what is wrong."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"error|fatal|No rule", line)]
    return (telling or lines or [""])[0][:200]
