# SPDX-License-Identifier: MIT
from __future__ import annotations

import fcntl
import io
import platform
import subprocess
import sys
import tarfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from kernels import ROOT, matrix
from kernels.errors import Missing, Usage
from kernels.place import bundle
from kernels.source import cross

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree

LISTED = matrix.load()


def deb(folder: Path, names: list[str]) -> Path:
    """A .deb with these files and a link that leads outside."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as tar:
        for name in names:
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(name)
            tar.addfile(info, io.BytesIO(name.encode()))
        link = tarfile.TarInfo("./usr/lib/s390x-linux-musl/out")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    (folder / "data.tar.xz").write_bytes(data.getvalue())
    (folder / "debian-binary").write_text("2.0\n")
    with tarfile.open(folder / "control.tar.xz", "w:xz"):
        pass
    parts = ["debian-binary", "control.tar.xz", "data.tar.xz"]
    subprocess.run(["ar", "rc", "x.deb", *parts], cwd=folder, check=True)
    return folder / "x.deb"


def test_every_machine_of_the_matrix_can_be_built_for() -> None:
    assert {"x86_64", "aarch64", "riscv64", "s390x"} <= set(cross.bundles(LISTED))
    for name in cross.bundles(LISTED):
        assert cross.target(LISTED, name).bundle == name
    with pytest.raises(Usage, match="no tool chain for 'vax'; there are: x86_64"):
        cross.target(LISTED, "vax")


def test_what_cannot_be_built_here_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def require(arch: matrix.Arch) -> None:
        if arch.bundle == "s390x":
            raise Missing(f"no {arch.triple}-gcc: apt-get install {cross.packages(arch)[0]}")

    monkeypatch.setattr(cross, "require", require)
    found, lacking = cross.buildable(LISTED)
    assert found == [name for name in cross.bundles(LISTED) if name != "s390x"]
    assert lacking == [
        "s390x: no s390x-linux-gnu-gcc: apt-get install gcc-s390x-linux-gnu"
    ]
    monkeypatch.setattr(cross.platform, "machine", lambda: "s390x")
    assert cross.buildable(LISTED) == (cross.bundles(LISTED), []), "this machine needs no other compiler"


def test_the_install_script_knows_what_the_matrix_needs() -> None:
    argv = [str(ROOT / ".ci" / "install"), "--list", "kernels", "kernels-all"]
    listed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    for arch in LISTED.arches.values():
        wanted = {arch.qemu_package} if arch.qemu_package else set()
        if arch.triple and arch.bundle != "x86_64":
            wanted |= set(cross.packages(arch))
        assert wanted <= set(listed), arch.name


def test_only_include_and_lib_are_unpacked(tmp_path: Path) -> None:
    musl = "s390x-linux-musl"
    names = [f"usr/include/{musl}/sys/time.h", f"usr/lib/{musl}/libc.a", "etc/x"]
    source = tmp_path / "deb"
    source.mkdir()
    path = deb(source, [*names, f"usr/lib/{musl}/../../../evil"])
    cross.unpack(path, tmp_path / "out")
    found = sorted(str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*.*"))
    assert found == ["include/sys/time.h", "lib/libc.a"]
    assert not (tmp_path / "out" / "lib" / "out").exists()


def test_a_package_without_a_static_library_is_no_musl(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no static musl"):
        cross.unpack(deb(tmp_path, ["usr/lib/s390x-linux-musl/crt1.o"]), tmp_path / "out")


def test_what_is_missing_is_named() -> None:
    arch = replace(LISTED.arches["s390x"], triple="vax-dec-ultrix")
    said = "no vax-dec-ultrix-gcc: apt-get install gcc-vax-dec-ultrix linux-libc-dev-s390x-cross"
    with pytest.raises(Missing, match=f"^{said}$"):
        cross.require(arch)


def test_nothing_is_fetched_for_a_compiler_that_is_missing(tmp_path: Path) -> None:
    """No fetcher is there that could."""
    arch = replace(LISTED.arches["s390x"], triple="vax-dec-ultrix")
    with pytest.raises(Missing, match="^no vax-dec-ultrix-gcc: "):
        cross.make_tools(arch, tmp_path / "out", None)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_the_compiler_is_a_shell_script_that_parses(tmp_path: Path) -> None:
    text = cross.COMPILER.format(triple="s390x-linux-gnu", cflags="-mlong-double-64")
    assert subprocess.run(["sh", "-n"], input=text, text=True, check=False).returncode == 0
    assert "${libgcc%.a}_eh.a" in text and text.count("-mlong-double-64") == 2


@pytest.mark.parametrize(
    ("name", "said"),
    [("ppc64el", "ppc64el is called ppc64le here"), ("foo", "no tool chain for 'foo'; there are:")],
)
def test_make_refuses_a_machine_it_has_no_compiler_for(name: str, said: str) -> None:
    """ARCH is as uname -m has it. Another name must not build for this machine in silence."""
    argv = ["make", "-n", f"ARCH={name}", "NO_INSTALL=1", "bundle"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode and said in done.stderr
    assert not (ROOT / "build" / name).exists()


@pytest.mark.parametrize("compiler", [["CC=gcc"], []])
def test_make_leaves_other_names_of_this_machine_alone(compiler: list[str]) -> None:
    """ARCH=x86_64-mine is somebody's second build folder, not another machine."""
    name = f"{platform.machine()}-mine"
    argv = ["make", "-n", f"ARCH={name}", *compiler, f"build/{name}/launch"]
    said = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "kernels cross" not in said and "gcc" in said


@pytest.mark.parametrize("install", [True, False])
def test_a_bundle_is_made_without_packages_for_who_wants_none(
    install: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And by one process at a time."""
    asked: list[list[str]] = []

    def make(argv: list[str], **more: object) -> subprocess.CompletedProcess[str]:
        asked.append(argv)
        with (tmp_path / "build/.making").open() as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (tmp_path / "build/s390x/bundle").mkdir(parents=True)
        (tmp_path / "build/s390x/bundle/run.sh").touch()
        return subprocess.CompletedProcess(argv, 0, "", "")

    monkeypatch.setattr(bundle, "ROOT", tmp_path)
    monkeypatch.setattr(bundle.subprocess, "run", make)
    assert bundle.find_bundle("s390x", True, install) == tmp_path / "build/s390x/bundle"
    assert len(asked) == 1 and "ARCH=s390x" in asked[0] and ("NO_INSTALL=1" in asked[0]) is not install


@pytest.mark.parametrize("takes_long", [True, False])
def test_a_build_that_takes_long_is_told(takes_long: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on here until its line is there."""
    said, told = io.StringIO(), threading.Event()

    def write(text: str) -> int:
        length = io.StringIO.write(said, text)
        if text.endswith("\n"):
            told.set()
        return length

    def make(argv: list[str], **more: object) -> subprocess.CompletedProcess[str]:
        assert not takes_long or told.wait(300)
        return subprocess.CompletedProcess(argv, 2, "", "error: no")

    monkeypatch.setattr(said, "write", write)
    monkeypatch.setattr(sys, "stderr", said)
    monkeypatch.setattr(bundle, "ROOT", tmp_path)
    monkeypatch.setattr(bundle, "QUIET", 0.1 if takes_long else 3600)
    monkeypatch.setattr(bundle.subprocess, "run", make)
    with pytest.raises(Missing, match="bundle failed: error: no"):
        bundle.find_bundle("s390x", True, True)
    assert said.getvalue() == "perfmodes: building for s390x (minutes the first time)\n" * takes_long
