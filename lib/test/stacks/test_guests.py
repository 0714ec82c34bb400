# SPDX-License-Identifier: MIT
"""Known call trees on other machines, unwound as gdb does; chains that a new kernel defers."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import guests  # noqa: E402
import known  # noqa: E402

pytestmark = pytest.mark.slow
MACHINES = {
    "aarch64": ("arm64-6.1", "aarch64-linux-gnu-gcc", "qemu-system-aarch64"),
    # Return addresses are signed there. With cortex-a57 this kernel copies less of the stack in some runs.
    "aarch64 signed": ("arm64-newest", "aarch64-linux-gnu-gcc", "qemu-system-aarch64"),
    "ppc64le": ("ppc64el-6.1-power9", "powerpc64le-linux-gnu-gcc", "qemu-system-ppc64"),
}


def read(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module", params=MACHINES, name="came")
def _came(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
          ) -> tuple[Path, Path]:
    """What a guest sent back, and the program in the root that it had."""
    row, compiler, emulator = MACHINES[request.param]
    for program in (compiler, emulator):
        if shutil.which(program) is None:
            pytest.skip(f"no {program}: .ci/install kernels-all")
    machine, *program = request.param.split()
    bundle = guests.build(machine)
    folder = tmp_path_factory.mktemp("guest") / "run"
    cpu = guests.SIGNING if program else ""
    guests.run(row, bundle, folder, [*program, *known.TREES], cpu)
    return folder, bundle / "root" / (program or ["trees"])[0]


def stopped(folder: Path) -> tuple[list[known.Frame], str, int]:
    """Frames, why there are no more, and the thread."""
    told = read(folder, "stopped").splitlines()
    end = next(i for i, line in enumerate(told) if line.startswith("end: "))
    assert told[end + 2].split()[1] in ("134", "262"), told   # SIGABRT, and by some shells more
    return *known.parsed("\n".join(told[:end + 1])), int(told[end + 1].split()[1])


@pytest.mark.parametrize("which", known.TREES)
def test_tree(came: tuple[Path, Path], which: str) -> None:
    folder = came[0] / which
    frames, end, _ = stopped(folder)
    known.check_calls(which, read(folder, "ready").split()[2:], frames, end)


@pytest.mark.parametrize("which", known.BY_GDB)
def test_tree_as_gdb(came: tuple[Path, Path], which: str, tmp_path: Path) -> None:
    """Address by address, from the core of the moment at which the library unwound it."""
    if shutil.which("gdb-multiarch") is None:
        pytest.skip("no gdb-multiarch: apt-get install gdb-multiarch")
    folder, program = came[0] / which, came[1]
    frames, _, tid = stopped(folder)
    script = tmp_path / "frames.py"
    script.write_text(known.GDB.replace("TID", str(tid)), encoding="utf-8")
    command = ["gdb-multiarch", "-q", "-nx", "-batch", "-ex", f"set sysroot {program.parent}",
               "-ex", f"file {program}", "-ex", f"core-file {folder}/core", *known.PAST_MAIN,
               "-x", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    theirs = known.gdb_frames(done.stdout)
    assert theirs, done.stdout + done.stderr
    assert [address for address, _, _ in frames] == theirs


@pytest.mark.parametrize("which", known.SAMPLED)
def test_tree_from_samples(came: tuple[Path, Path], which: str) -> None:
    """The same trees from registers and a copy of the stack."""
    folder = came[0] / which
    told = {line.split()[0]: int(line.split()[1]) for line in read(folder, "told").splitlines()}
    assert told["stacks"] >= 3 and told["complete"] == told["stacks"], told
    known.check_folded(read(folder, "folded"), read(folder, "ready").split()[2:])


def test_samples_in_the_vdso(came: tuple[Path, Path]) -> None:
    """All to their end, also those of the stub that leads to the C library's function."""
    folder = came[0] / "vdso"
    told = read(folder, "told")
    assert re.search(r"^complete [1-9]", told, re.M) and told.count("\nend_") == 1, told
    known.check_in_vdso(read(folder, "folded"))


def test_samples_that_are_cut(came: tuple[Path, Path]) -> None:
    """On an alternate stack: what was interrupted is known, its callers are on a stack that no sample
    copied. That is said, and nothing is made up."""
    folder = came[0] / "altstack"
    told = read(folder, "told")
    assert "\ncomplete 0\n" in told and told.count("\nend_") == 1, told
    assert "interrupted;" in read(folder, "folded")
    known.check_cut(read(folder, "folded"), read(folder, "ready").split()[2:])


@pytest.mark.skipif(shutil.which("qemu-system-x86_64") is None,
                    reason="no emulator: apt-get install qemu-system-x86")
def test_chains_that_are_deferred(tmp_path: Path) -> None:
    """The newest kernel tells user parts later, and they are joined; an older one has no such flag,
    and the same program gets the same stacks at once."""
    bundle = guests.build("x86_64")
    for row, deferred in (("amd64-newest", True), ("amd64-6.1", False)):
        folder = guests.run(row, bundle, tmp_path / row, ["chains"]) / "recursion"
        told = re.fullmatch(r"(\d+) stacks, (\d+) cut off, (\d+) dropped, (\d+) deferred\n",
                            read(folder, "told"))
        assert told, read(folder, "told")
        stacks, cut, dropped, later = (int(word) for word in told.groups())
        assert stacks >= 20 and cut <= 0.1 * stacks and dropped == 0, told[0]
        # Samples of one stay in the kernel share a record.
        assert later >= 0.8 * stacks if deferred else later == 0, told[0]
        whole = [line for line in read(folder, "folded").splitlines() if "[truncated]" not in line]
        known.check_folded("\n".join(whole), read(folder, "ready").split()[2:])
