# SPDX-License-Identifier: MIT
"""What a guest is started from, where the kernel is the user's own file or none that an emulator boots."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from debs import make_deb

from kernels import matrix
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
