# SPDX-License-Identifier: MIT
"""Real guests that are saved, resumed, ended by their probes, asked at levels, or not in the list."""

from __future__ import annotations

import gzip
import json
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from test_slow_boot import TREE, prepared

from kernels import matrix
from kernels.guest import snapshot
from kernels.guest.boot import boot
from kernels.guest.watch import Task
from kernels.place import work
from kernels.place.channel import Channel
from kernels.place.outcome import Outcome
from kernels.place.place import Order
from kernels.source import fetch, image

pytestmark = pytest.mark.slow
NAME = "amd64-5.10"


def kernels(out: Path, *args: object, status: tuple[int, ...] = (0,)) -> str:
    command = [TREE / "run.sh", "kernels", *args, "--no-build", "--no-install", "--out", out]
    done = subprocess.run(
        command, cwd=TREE, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400,
        check=False,
    )
    assert done.returncode in status, done.stdout + done.stderr
    return done.stdout


def points(folder: Path, persona: str = "root") -> dict[str, dict]:
    probes = json.loads((folder / "result.json").read_text())["personas"][persona]["probes"]
    return {
        f"{probe}.{name}": point
        for probe, record in probes.items()
        for name, point in record["points"].items()
    }


def test_a_saved_guest_is_resumed_and_a_spoilt_one_is_given_up(tmp_path: Path) -> None:
    row, kernel, initrd = prepared(NAME, "done", tmp_path)

    def start() -> tuple[Outcome, Channel]:
        task = Task(work.text(Order("x", levels=("-1",))), saved)
        channel = Channel(tmp_path / "out")
        return boot(row, kernel, initrd, channel, tmp_path / "log", task), channel

    # An emulated guest stops for ever now and then (1 of 13 seen); the engine boots it again, too.
    for attempt in ("first", "second"):
        saved = snapshot.place(row, kernel, initrd, False, tmp_path / attempt)
        cold, first = start()
        if cold.ended != "hang":
            break
    assert (cold.ended, cold.start) == ("done", "cold") and saved.exists, saved.refused
    warm, second = start()
    assert (warm.ended, warm.start) == ("done", "snapshot") and second.files == first.files
    assert warm.times["ready"] < cold.times["ready"] / 2 and warm.cpu < cold.cpu
    saved.state.write_bytes(saved.state.read_bytes()[: 20 << 20])
    spoilt, _ = start()
    assert spoilt.infra and spoilt.ended == "died", "a broken snapshot is no statement"


def test_guests_that_panic_and_hang_are_told_and_the_next_probe_runs(tmp_path: Path) -> None:
    said = kernels(
        tmp_path / "run", NAME, "--suite", "meta", "--probe", "meta.[pf][ar][ens]*",
        "--persona", "root", "--hazards", "--timeout", "30", status=(1,),
    )  # fmt: skip
    assert "went down: root meta.freeze: hang, 2 of 2 guests" in said
    assert "went down: root meta.panic: panic, 2 of 2 guests" in said
    folder = tmp_path / "run" / NAME
    found = points(folder)
    assert {key: point["verdict"] for key, point in found.items()} == {
        "meta.freeze.freezes": "broken",
        "meta.panic.panics": "broken",
        "meta.panic.never_reached": "broken",
        "meta.pass.counts": "yes",
    }
    assert "Kernel panic - not syncing: sysrq triggered crash" in found["meta.panic.panics"]["reason"]
    assert any("sysrq" in line for line in found["meta.panic.panics"]["evidence"])
    assert "2 of 2 guests hung" in found["meta.freeze.freezes"]["reason"]
    tail = (folder / "down" / "root.meta.panic.console.log").read_text(errors="replace")
    assert "Kernel panic" in tail and (folder / "down" / "root.meta.freeze.console.log").exists()


def test_levels_of_one_boot_have_a_result_each(tmp_path: Path) -> None:
    kernels(tmp_path / "run", NAME, "--paranoid=-1,2,3", "--probe", "perm.available", status=(0, 1))
    folder = tmp_path / "run" / NAME
    said = {
        level: {
            persona: points(folder / f"paranoid-{level}", persona) for persona in ("root", "user")
        }
        for level in (-1, 2, 3)
    }
    for level, personas in said.items():
        env = (folder / f"paranoid-{level}" / "env").read_text()
        assert f"\nparanoid={level}\n" in env
        blocked = {point["verdict"] for point in personas["user"].values()} >= {"blocked"}
        assert blocked == (level == 3), "Debian's kernels shut all users out at 3"
    assert json.loads((folder / "boot.json").read_text())["ended"] == "done"
    table = kernels(tmp_path / "x", "--matrix", tmp_path / "run", "--all", status=(0, 1))
    assert "user: 3 results" in table and table.count("perm.available") >= 3


def test_a_rate_that_the_kernel_lowered_breaks_no_point(tmp_path: Path) -> None:
    """As a late emulator has it: an event with many samples in a tick is throttled, and a frequency refused."""
    bundle, built = tmp_path / "bundle", TREE / "build" / "x86_64" / "bundle"
    if not built.is_dir():
        pytest.skip("no bundle is built: make bundle")
    shutil.copytree(built, bundle, symlinks=True)
    (bundle / "run.sh").rename(bundle / "run-it.sh")
    (bundle / "run.sh").write_text("#!/bin/sh\necho 500 >/proc/sys/kernel/perf_event_max_sample_rate\n"
                                   'exec "$(dirname "$0")/run-it.sh" "$@"\n')
    (bundle / "run.sh").chmod(0o755)
    kernels(tmp_path / "run", "amd64-6.18", "--bundle", bundle, "--probe", "ioctl.period", "--probe", "attr.field_limits",
            "--persona", "root", "--no-disturb")
    said = points(tmp_path / "run" / "amd64-6.18")
    assert said["ioctl.period.lasts"]["verdict"] in ("yes", "unknown")
    assert said["attr.field_limits.frequency_zero"]["verdict"] == "yes"
    assert {point["verdict"] for point in said.values()} <= {"yes", "unknown"}, said


@pytest.mark.parametrize("how", ["archive", "file"])
def test_a_kernel_that_is_not_in_the_list(how: str, tmp_path: Path) -> None:
    deb = fetch.fetcher().kernel(matrix.load().rows[NAME])
    name = f"deb:{deb.package.name}={deb.package.version}" if how == "archive" else deb.path
    kernels(
        tmp_path / "run", "--kernel", name, "--arch", "amd64", "--probe", "sw.dummy",
        "--persona", "root", "--suite", "quick", status=(0, 1),
    )  # fmt: skip
    (folder,) = [path for path in (tmp_path / "run").iterdir() if path.is_dir()]
    facts = json.loads((folder / "boot.json").read_text())
    assert facts["ended"] == "done" and facts["release"].startswith("5.10.")
    assert folder.name.startswith("deb-" if how == "archive" else "own-")
    assert {point["verdict"] for point in points(folder).values()} <= {"yes", "no"}


def packed_by_gzip(bzimage: bytes) -> bytes:
    """The same kernel in gzip, as kernels of the 4.4 series were mostly built. What unpacks it at boot is
    still of the other format, so that only a reader of the payload can start it."""
    payload = gzip.compress(image.vmlinux(bzimage), 1, mtime=0)
    setup = bytearray(bzimage[: bzimage.index(image.payload(bzimage))])
    struct.pack_into("<I", setup, 0x24C, len(payload))
    return bytes(setup) + payload + bytes(512)


@pytest.mark.parametrize("damage", [False, True])
def test_a_bzimage_in_gzip(damage: bool, tmp_path: Path) -> None:
    deb = fetch.fetcher().kernel(matrix.load().rows[NAME])
    made = packed_by_gzip(image.member(deb.path, image.KERNEL))
    (tmp_path / "bzImage").write_bytes(made[:-1000] if damage else made)
    said = kernels(
        tmp_path / "run", "--kernel", tmp_path / "bzImage", "--arch", "amd64", "--probe", "sw.dummy",
        "--persona", "root", "--suite", "quick", status=(3,) if damage else (0, 1),
    )  # fmt: skip
    if damage:
        assert "bzImage: its header points outside the file" in said, said
        return
    (folder,) = [path for path in (tmp_path / "run").iterdir() if path.is_dir()]
    facts = json.loads((folder / "boot.json").read_text())
    assert facts["ended"] == "done" and facts["release"].startswith("5.10.")
    assert {point["verdict"] for point in points(folder).values()} <= {"yes", "no"}
