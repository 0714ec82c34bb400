# SPDX-License-Identifier: MIT
"""The Debian packages, built twice as a stranger builds them, in other folders and at other times than the
tree was; looked at by lintian; installed and tried: minutes."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TREE, needs_mounts, needs_root

pytestmark = pytest.mark.slow
CONTROL = TREE / ".packaging/debian/control"
TESTS = re.findall(r"^Tests: (.+)$", (TREE / ".packaging/debian/tests/control").read_text(), re.M)
PACKAGES = {"perfmodes", "libperfmodes0", "libperfmodes-dev", "libperfmodes-extras-dev",
            "perfmodes-doctor", "perfmodes-sampler", "python3-perfmodes"}
# A program for each file of pkg-config: three lines, and what they print.
PROGRAMS = {
    "perfmodes": ("perfmodes.h", "puts(pm_strategy_name(PM_STRATEGY_PER_CPU));"),
    "perfmodes-stacks": ("perfmodes_stacks.h", "pm_unwinder_destroy(NULL); puts(\"closed\");"),
    "perfmodes-sampler": ("perfmodes_sampler.h", "pm_sampler_destroy(NULL); puts(\"closed\");"),
    "perfmodes-willing": ("perfmodes_willing.h", "pm_willing_stop(); puts(\"stopped\");"),
    "perfmodes-pfm": ("perfmodes_pfm.h", "char n[9]; puts(pm_pfm_name(\"\", n, 9) < 0 ? \"no name\" : n);"),
    "perfmodes-topology": ("perfmodes_topology.h", "pm_topology_destroy(NULL); puts(\"closed\");"),
}


def files_of(bundle: Path) -> str:
    return (bundle / "MANIFEST").read_text()


def build(place: Path, mask: str, **differs: str) -> Path:
    """The packages and their source, of a copy of the tree in `place` made with another umask and environment.
    All that control names is there, and nothing is fetched."""
    if not shutil.which("lintian") or not shutil.which("dpkg-checkbuilddeps"):
        pytest.skip("needs the packages lintian and dpkg-dev: .ci/install package")
    lacking = subprocess.run(["dpkg-checkbuilddeps", CONTROL], capture_output=True, text=True, check=False)
    if lacking.returncode != 0:
        pytest.skip(f"{lacking.stderr.strip()}: .ci/install package")
    script = (f'umask {mask}; files=$(git ls-files 2>/dev/null); cp -P --parents $files "$0"; cd "$0"; '
              'alone="unshare --net --map-root-user"; $alone true 2>/dev/null || alone=; exec $alone make -j2 NO_INSTALL=1 deb')
    env = {**os.environ, "HOME": str(place), "DEB_BUILD_OPTIONS": "parallel=2 nocheck", **differs}
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "KSELFTEST_DIR"):
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
    """In the packages, and in the source that the .changes names, too."""
    changes = next(built.glob("*.changes"))
    assert {".dsc", ".deb"} <= set(re.findall(r"\.[a-z]+$", changes.read_text(), re.M))
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", str(changes)],
                          capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0 and not done.stdout.strip(), done.stdout + done.stderr


def test_there_are_these_packages(built: Path) -> None:
    names = {path.name.split("_")[0] for path in built.glob("*.deb")}
    assert {name for name in names if not name.endswith("-dbgsym")} == PACKAGES


def test_what_is_in_the_programs_is_named(built: Path) -> None:
    """Works of others that are linked statically, and the source of what is under the GPL."""
    path = next(built.glob("perfmodes_*.deb"))
    assert run("dpkg-deb", "-f", path, "Built-Using").startswith("linux (= ")
    told = run("sh", "-c", 'dpkg-deb --fsys-tarfile "$0" | tar -xO ./usr/share/doc/perfmodes/copyright', path)
    assert "musl" in told and "kselftest_harness.h" in told
    for name in ("perfmodes-doctor", "perfmodes-sampler"):
        assert "libyajl2" in run("dpkg-deb", "-f", next(built.glob(f"{name}_*.deb")), "Depends")


# -------------------------------------------------------------------------------- installed and tried

# The machine's own files below, what is written above; the packages are installed there alone.
INSTALLED = """set -eu
work=$1 debs=$2
shift 2
mount -t tmpfs none "$work"
mkdir "$work/upper" "$work/work" "$work/root"
mount -t overlay none -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$work/root"
for name in proc sys dev; do mount --rbind "/$name" "$work/root/$name"; done
mkdir -p "$work/root/tmp/debs" "$work/root/tmp/tests" "$work/root/tmp/here"
cp "$debs"/*.deb "$work/root/tmp/debs/"
cp "$debs"/perfmodes-*/debian/tests/* "$work/root/tmp/tests/"
exec chroot "$work/root" sh -euc '
dpkg -i /tmp/debs/*.deb >/tmp/dpkg.log 2>&1 || { tail -n 20 /tmp/dpkg.log; exit 1; }
cd / && AUTOPKGTEST_TMP=/tmp/here "/tmp/tests/$0"' "$@"
"""


@needs_root
@needs_mounts
@pytest.mark.parametrize("name", TESTS)
def test_the_packages_pass_their_own_tests(built: Path, tmp_path: Path, name: str) -> None:
    """debian/tests, as autopkgtest runs them."""
    done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", INSTALLED, "sh", tmp_path, built,
                           name], capture_output=True, text=True, timeout=600, check=False)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr


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
    """The programs in it, byte by byte: MANIFEST has their checksums. With the harness of that build."""
    machine, other = os.uname().machine, next(built.glob("perfmodes-*/")) / "build"
    subprocess.run(["make", "-s", "NO_INSTALL=1", "bundle"], cwd=TREE, check=True, timeout=1800)
    for name in ("kselftest.h", "kselftest_harness.h"):
        if (other / "kselftest" / name).read_bytes() != (TREE / "build/kselftest" / name).read_bytes():
            pytest.skip("this tree is built with the harness of another kernel")
    assert files_of(other / machine / "bundle") == files_of(TREE / "build" / machine / "bundle")
