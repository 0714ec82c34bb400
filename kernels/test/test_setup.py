# SPDX-License-Identifier: MIT
"""What a guest is started from, where the kernel is the user's own file or none that an emulator boots."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from debs import make_deb

from kernels import matrix
from kernels.errors import Missing
from kernels.guest import machine, setup


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="no dpkg-deb: dpkg")
@pytest.mark.parametrize("packed", [True, False])
def test_an_own_kernel_is_started_and_named_by_its_hash(tmp_path: Path, packed: bool) -> None:
    own = tmp_path / "vmlinuz-own"
    own.write_bytes(b"an own kernel")
    if packed:
        own = make_deb(tmp_path, {"boot/vmlinuz-6.1": b"an own kernel"})
    fetcher: Any = SimpleNamespace(cache=tmp_path / "cache")
    kernel = setup.find_kernel(matrix.load().own(own, "amd64"), fetcher)
    assert kernel.path.read_bytes() == b"an own kernel" and kernel.path != own
    assert kernel.facts["kernel_file_sha256"] == hashlib.sha256(own.read_bytes()).hexdigest()


def test_what_runs_without_an_emulator_has_no_version_of_one() -> None:
    row = matrix.load().pick(["uml"], [])[0]
    assert machine.qemu_version(row) == "" and machine.emulator(row, kvm=True) == "uml"


def test_command_lines() -> None:
    row = matrix.load().rows["amd64-5.10"]
    wires = machine.Wires(5, 6, 7)
    try:
        argv = machine.command(row, Path("/k"), Path("/i"), wires, Path("/s"), kvm=False)
    except Missing:
        pytest.skip("no qemu")
    assert (
        argv[:4] == ["setpriv", "--pdeathsig", "KILL", "--"]
        and "-no-reboot" in argv
        and "-nodefaults" in argv
    )
    assert argv[argv.index("-append") + 1].startswith("console=ttyS0 quiet panic=-1")
    assert "kvm" in machine.command(row, Path("/k"), Path("/i"), wires, Path("/s"), kvm=True)
    with pytest.raises(Missing, match="apt-get install qemu-system-vax"):
        machine.program(
            replace(row, arch=replace(row.arch, qemu="qemu-none", qemu_package="qemu-system-vax"))
        )
