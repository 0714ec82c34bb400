# SPDX-License-Identifier: MIT
"""The Debian packages, built twice, in other folders and at other times than the tree was: minutes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TREE

pytestmark = pytest.mark.slow
NEEDED = {"dpkg-buildpackage": "dpkg-dev", "dh": "debhelper", "dh_python3": "dh-python", "g++": "g++", "lintian": "lintian",
          "musl-gcc": "musl-tools", "pkg-config": "pkgconf"}
PACKAGES = {"perfmodes", "libperfmodes0", "libperfmodes-dev", "libperfmodes-extras-dev",
            "perfmodes-doctor", "perfmodes-sampler", "python3-perfmodes"}
# A program for each file of pkg-config: three lines, and what they print.
PROGRAMS = {
    "perfmodes": ("perfmodes.h", "puts(pm_strategy_name(PM_STRATEGY_PER_CPU));"),
    "perfmodes-stacks": ("perfmodes_stacks.h", "pm_unwinder_close(NULL); puts(\"closed\");"),
    "perfmodes-sampler": ("perfmodes_sampler.h", "pm_sampler_close(NULL); puts(\"closed\");"),
    "perfmodes-willing": ("perfmodes_willing.h", "pm_willing_stop(); puts(\"stopped\");"),
    "perfmodes-pfm": ("perfmodes_pfm.h", "char n[9]; puts(pm_pfm_name(\"\", n, 9) < 0 ? \"no name\" : n);"),
    "perfmodes-topology": ("perfmodes_topology.h", "pm_topology_close(NULL); puts(\"closed\");"),
}
HARNESS = TREE / "build" / "kselftest"


def files_of(bundle: Path) -> str:
    return (bundle / "MANIFEST").read_text()


def build(place: Path, mask: str, **differs: str) -> Path:
    """The packages of a copy of the tree in `place`, made with another umask and environment."""
    lacking = [package for program, package in NEEDED.items() if not shutil.which(program)]
    if lacking:
        pytest.skip(f"needs the packages {' '.join(lacking)}")
    if not (HARNESS / "kselftest_harness.h").exists():
        pytest.skip("no harness: make all")
    script = (f'umask {mask}; files=$(git ls-files 2>/dev/null); cp -P --parents $files "$0"; cd "$0"; '
              'exec make -j2 NO_INSTALL=1 deb DEB_FLAGS="-us -uc -d -b"')
    env = {**os.environ, "KSELFTEST_DIR": str(HARNESS), "HOME": str(place),
           "DEB_BUILD_OPTIONS": "parallel=2 nocheck", **differs}
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        env.pop(name, None)
    place.mkdir(exist_ok=True)
    done = subprocess.run(["sh", "-ec", script, str(place)], cwd=TREE, capture_output=True, text=True,
                          env=env, timeout=1800, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return place / "build" / "deb"


@pytest.fixture(scope="module", name="built")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("elsewhere"), "077", LC_ALL="C.UTF-8", TZ="Asia/Tokyo")


@pytest.fixture(scope="module", name="again")
def _again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("in-a-folder-with-a-longer-name") / "tree"
    return build(place, "022", LC_ALL="C", TZ="America/Caracas")


def sums_of(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.glob("*.deb"))}


def test_two_builds_give_the_same_packages(built: Path, again: Path) -> None:
    """Byte by byte, with what debuggers want."""
    assert len(sums_of(built)) >= len(PACKAGES)
    assert sums_of(built) == sums_of(again)


def test_lintian_finds_nothing(built: Path) -> None:
    changes = next(built.glob("*.changes"))
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", str(changes)],
                          capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0 and not done.stdout.strip(), done.stdout + done.stderr


def test_there_are_these_packages(built: Path) -> None:
    names = {path.name.split("_")[0] for path in built.glob("*.deb")}
    assert {name for name in names if not name.endswith("-dbgsym")} == PACKAGES


# ---------------------------------------------------------------------- what lies in them, unpacked

def run(*command: str | Path, **more: str) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **more}, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module", name="root")
def _root(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("root")
    for path in sorted(built.glob("*.deb")):
        run("dpkg-deb", "-x", path, root)
    return root


def library_folder(root: Path) -> Path:
    return next((root / "usr/lib").glob("*/libperfmodes.so.0")).parent


def test_each_file_is_in_one_package(built: Path) -> None:
    where: dict[str, str] = {}
    for path in sorted(built.glob("*.deb")):
        for line in run("dpkg-deb", "-c", path).splitlines():
            name = line.split()[5]
            if not name.endswith("/"):
                assert where.setdefault(name, path.name) == path.name
    owner = {name.removeprefix("./usr/"): package.split("_")[0] for name, package in where.items()}
    for name, package in {
            "bin/perfmodes-sampler": "perfmodes-sampler",
            "share/man/man1/perfmodes-sampler.1.gz": "perfmodes-sampler",
            "share/doc/perfmodes-sampler/examples/example.json": "perfmodes-sampler",
            "share/doc/libperfmodes-dev/examples/perfmodes-broker.c": "libperfmodes-dev",
            "include/perfmodes.hpp": "libperfmodes-dev",
            "include/perfmodes_topology.h": "libperfmodes-extras-dev",
            "share/man/man3/pm_sampler_poll.3.gz": "libperfmodes-extras-dev",
            "lib/python3/dist-packages/perfmodes/abi.py": "python3-perfmodes"}.items():
        assert owner.get(name) == package, name


def test_the_packaged_sampler_runs(root: Path) -> None:
    sampler = root / "usr/bin/perfmodes-sampler"
    assert run(sampler, "--help").startswith("usage: perfmodes-sampler")
    example = root / "usr/share/doc/perfmodes-sampler/examples/example.json"
    assert "1 sources, 2 outputs" in run(sampler, "--check", example)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_built_with_the_packages(root: Path, tmp_path: Path, name: str) -> None:
    """By what pkg-config tells; prefix and libdir are where the packages are unpacked."""
    header, call = PROGRAMS[name]
    libraries = library_folder(root)
    (tmp_path / "three.c").write_text(
        f"#include <stdio.h>\n#include <{header}>\nint main(void) {{ {call} return 0; }}\n")
    flags = run("pkg-config", "--cflags", "--libs", f"--define-variable=prefix={root}/usr",
                f"--define-variable=libdir={libraries}", name,
                PKG_CONFIG_PATH=str(libraries / "pkgconfig")).split()
    assert f"-I{root}/usr/include" in flags
    run("gcc", "-Wall", "-Werror", tmp_path / "three.c", "-o", tmp_path / "three", *flags)
    assert run(tmp_path / "three", LD_LIBRARY_PATH=str(libraries)).strip()


def test_the_packaged_header_for_cpp_compiles(root: Path, tmp_path: Path) -> None:
    (tmp_path / "one.cc").write_text("#include <perfmodes.hpp>\nint main() { perfmodes::profile p; }\n")
    run("g++", "-std=c++11", "-fsyntax-only", f"-I{root}/usr/include", tmp_path / "one.cc")


def test_python_imports_the_packaged_module(root: Path, tmp_path: Path) -> None:
    """From nowhere else, and the library takes a name of an event from it."""
    told = run("/usr/bin/python3", "-c", "import perfmodes; perfmodes.Event('page-faults'); "
               "print(perfmodes.__file__)", HOME=str(tmp_path),
               PYTHONPATH=str(root / "usr/lib/python3/dist-packages"), PYTHONDONTWRITEBYTECODE="1",
               PERFMODES_LIBRARY=str(library_folder(root) / "libperfmodes.so.0"))
    assert told.startswith(str(root))


def test_a_build_elsewhere_gives_the_same_bundle(built: Path) -> None:
    """The programs in it, byte by byte: MANIFEST has their checksums."""
    machine = os.uname().machine
    subprocess.run(["make", "-s", "NO_INSTALL=1", "bundle"], cwd=TREE, check=True, timeout=1800)
    other = next(built.glob("perfmodes-*/")) / "build" / machine / "bundle"
    assert files_of(other) == files_of(TREE / "build" / machine / "bundle")
