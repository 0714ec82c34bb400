# SPDX-License-Identifier: MIT
"""Packages and releases: what is made of the tree, the same bytes each time, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
from fnmatch import fnmatch
from pathlib import Path

import pytest
from conftest import TREE, run

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree

PACKAGING = TREE / ".packaging"
LIBRARY = TREE / "build" / os.uname().machine / "libperfmodes.so.0"
VERSION = re.search(r"^Version: (.+)$", (TREE / "lib/perfmodes.pc.in").read_text(), re.M)[1]


def test_the_package_has_the_version_of_the_library() -> None:
    first = (PACKAGING / "debian" / "changelog").read_text().splitlines()[0]
    assert first.startswith(f"perfmodes ({VERSION}-")


def test_the_copyright_file_has_the_licence_of_each_file() -> None:
    """Of several paragraphs that name a file, the last one counts."""
    paragraphs = re.findall(r"^Files: ((?:.+\n)+?)Copyright: .+\nLicense: (\S+)", (PACKAGING / "debian/copyright").read_text(), re.M)
    names = [path for top in ("probes", "lib", "suites", "kernels", "reports", ".packaging", ".ci")
             for path in (TREE / top).rglob("*") if path.is_file() and path.suffix != ".pyc"]
    marks = {"GPL-2": "GPL-2.0-only"}
    seen = set()
    for path in names:
        head = path.read_bytes()[:300].decode(errors="replace")
        mark = re.search(r"\A(?:#!.*\n)?\W*SPDX-License-Identifier: ([\w.-]+)", head)
        if mark:
            name = str(path.relative_to(TREE))
            wanted = [licence for globs, licence in paragraphs if any(fnmatch(name, glob) for glob in globs.split())][-1]
            assert mark[1] == marks.get(wanted, wanted), name
            seen.add(mark[1])
    assert seen == {"MIT", "GPL-2.0-only"}


def test_no_page_is_taken_for_a_generated_one() -> None:
    """A page with a line of more than 512 bytes, says lintian, has its source elsewhere."""
    pages = [page for folder in ("lib", "reports") for kind in ("*.html", "*.js") for page in (TREE / folder).rglob(kind)]
    assert pages and not [str(page) for page in pages if max(map(len, page.read_bytes().split(b"\n"))) > 512]


# ----------------------------------------------------------------------------------- the archive

def tree_of(folder: Path, mode: int) -> Path:
    """Two files and a link, as a umask would leave them."""
    (folder / "bundle" / "bin").mkdir(parents=True)
    (folder / "bundle" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "bundle" / "run.sh").chmod(0o700 | mode)
    (folder / "bundle" / "bin" / "a").write_text("text")
    (folder / "bundle" / "bin" / "a").chmod(0o600 | mode & 0o044)
    (folder / "bundle" / "link").symlink_to("bin/a")
    return folder


def pack(folder: Path, **more: str) -> bytes:
    run(PACKAGING / "tar", folder / "out.tar", folder, "bundle", env={**os.environ, **more})
    return (folder / "out.tar").read_bytes()


def test_an_archive_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    one = pack(tree_of(tmp_path / "one", 0o055), LC_ALL="C", TZ="UTC")
    two = tree_of(tmp_path / "elsewhere", 0)
    os.utime(two / "bundle" / "bin" / "a", (1, 1))
    assert pack(two, LC_ALL="C.UTF-8", TZ="Asia/Tokyo") == one
    (two / "bundle" / "bin" / "a").write_text("other")
    assert pack(two) != one


def test_the_manifest_has_each_file(tmp_path: Path) -> None:
    pack(tree_of(tmp_path / "x", 0))
    with tarfile.open(tmp_path / "x" / "out.tar") as tar:
        tar.extractall(tmp_path / "back")
    back = tmp_path / "back" / "bundle"
    assert (back / "MANIFEST").read_text().count("\n") == 2
    assert run("sha256sum", "-c", "--quiet", "MANIFEST", cwd=back).returncode == 0
    (back / "run.sh").write_text("#!/bin/bash\n")
    assert run("sha256sum", "-c", "--quiet", "MANIFEST", cwd=back).returncode == 1


def test_a_bundle_has_nothing_that_a_device_does_not_use() -> None:
    bundle = TREE / "build" / os.uname().machine / "bundle"
    if not bundle.is_dir():
        pytest.skip("no bundle is built: make bundle")
    files = {str(path.relative_to(bundle)) for path in bundle.rglob("*")
             if path.is_file() and not path.is_symlink()}
    programs = {f"bin/{name}" for name in ("launch", "identify", "doctor", "explain", "replay", "probe", "screen")}
    rest = {name for name in files - programs
            if not re.fullmatch(r"suites/[a-z]+\.txt|bin/declared/[a-z_]+/[a-z0-9_]+\.txt", name)
            and not name.startswith("bin/probes/library/")}
    assert programs <= files and rest == {"run.sh", "MANIFEST"}


# ------------------------------------------------------------------------------------- the ABI

def abi(symbols: Path) -> subprocess.CompletedProcess[str]:
    if not LIBRARY.exists():
        pytest.skip("the library is not built: make library")
    done = run(PACKAGING / "abi", LIBRARY, symbols)
    if done.returncode == 2:
        pytest.skip(done.stderr)
    return done


def test_the_interface_is_the_one_that_is_written_down() -> None:
    done = abi(PACKAGING / "debian" / "libperfmodes0.symbols")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("arch, status", [("nowhere", 0), ("{here}", 1)])
def test_a_symbol_of_one_machine_counts_there_alone(tmp_path: Path, arch: str, status: int) -> None:
    here = run("dpkg", "--print-architecture").stdout.strip()
    text = (PACKAGING / "debian" / "libperfmodes0.symbols").read_text()
    (tmp_path / "symbols").write_text(
        text + f" (arch={arch.format(here=here)})pm_was_there@PERFMODES_0.1 0.1.0\n")
    assert abi(tmp_path / "symbols").returncode == status


@pytest.mark.parametrize("how", ["gone", "new"])
def test_a_changed_interface_is_told(tmp_path: Path, how: str) -> None:
    lines = (PACKAGING / "debian" / "libperfmodes0.symbols").read_text().splitlines(keepends=True)
    lines = (lines + [" pm_was_there@PERFMODES_0.1 0.1.0\n"] if how == "gone" else
             [line for line in lines if "pm_session_attach@" not in line])
    (tmp_path / "symbols").write_text("".join(lines))
    done = abi(tmp_path / "symbols")
    assert done.returncode == 1
    assert ("pm_was_there" if how == "gone" else "pm_session_attach") in done.stdout


# ------------------------------------------------------------------------------------- the SBOM

def test_the_sbom_names_the_files_and_their_parts(tmp_path: Path) -> None:
    (tmp_path / "b.tar").write_bytes(b"two")
    (tmp_path / "a.tar").write_bytes(b"one")
    words = (PACKAGING / "sbom.py", "1.2.3", tmp_path, tmp_path / "b.tar", tmp_path / "a.tar")
    env = {**os.environ, "SOURCE_DATE_EPOCH": "86400"}
    text = run(*words, env=env).stdout
    assert text == run(*words, env=env, cwd="/").stdout
    made = json.loads(text)
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.5")
    assert made["metadata"]["timestamp"] == "1970-01-02T00:00:00Z"
    assert made["metadata"]["component"]["version"] == "1.2.3"
    names = [part["name"] for part in made["components"]]
    assert names[:2] == ["a.tar", "b.tar"] and {"kselftest", "musl", "yajl"} <= set(names)
    assert len(made["components"][0]["hashes"][0]["content"]) == 64
    refs = {part["bom-ref"] for part in made["components"]}
    assert set(made["dependencies"][0]["dependsOn"]) <= refs


def test_the_sbom_knows_the_harness_by_its_bytes(tmp_path: Path) -> None:
    script = (TREE / "probes/kit/fetch-harness").read_text()
    (tmp_path / "kselftest_harness.h").write_text("mine\n")
    words = (tmp_path / ".packaging/sbom.py", "1.2.3", tmp_path)
    for name in (".packaging", "probes/kit"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(PACKAGING / "sbom.py", tmp_path / ".packaging")
    mine = hashlib.sha256(b"mine\n").hexdigest()
    for digest, version in (("0" * 64, None), (mine, "6.12")):
        (tmp_path / "probes/kit/fetch-harness").write_text(
            re.sub(r"\w{64} (?=linux-source-6\.12\n)", f"{digest} ", script))
        (part,) = [part for part in json.loads(run(*words).stdout)["components"] if part["name"] == "kselftest"]
        assert part.get("version") == version and part["hashes"][0]["content"] == mine


def test_a_package_url_has_no_plus_sign(tmp_path: Path) -> None:
    """A version like 12.2.0-14+deb12u1 is percent-encoded in it."""
    (tmp_path / "dpkg-query").write_text("#!/bin/sh\nprintf %s 1:2.0-1+deb12u1\n")
    (tmp_path / "dpkg-query").chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    made = json.loads(run(PACKAGING / "sbom.py", "1.2.3", tmp_path, env=env).stdout)
    urls = {part["name"]: part.get("purl") for part in made["components"]}
    assert urls["yajl"] == "pkg:deb/debian/libyajl-dev@1:2.0-1%2Bdeb12u1"


def test_the_compiler_s_library_is_that_of_the_compiler(tmp_path: Path) -> None:
    for name, text in (("gcc", "echo 14"), ("dpkg-query", '[ "$4" = libgcc-14-dev ] && echo 14.2.0-19')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    made = json.loads(run(PACKAGING / "sbom.py", "1.2.3", tmp_path, env=env).stdout)
    assert {part["name"]: part.get("version") for part in made["components"]}["libgcc"] == "14.2.0-19"


# ---------------------------------------------------------------------------------- the suite

def test_what_is_installed_of_the_suite_is_removed(tmp_path: Path) -> None:
    if not (TREE / "build" / os.uname().machine / "bundle").is_dir():
        pytest.skip("no bundle is built: make bundle")
    done = run("make", "-s", "NO_INSTALL=1", "-o", "bundle", f"DESTDIR={tmp_path}", "PREFIX=/usr", "install-suite")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "usr/bin/perfmodes").exists() and (tmp_path / "usr/lib/perfmodes/run.sh").exists()
    kept = tmp_path / "usr/lib/perfmodes/results/mine"
    kept.mkdir(parents=True)
    run("make", "-s", "NO_INSTALL=1", f"DESTDIR={tmp_path}", "PREFIX=/usr", "uninstall-suite")
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == []
    assert kept.is_dir()


# ----------------------------------------------------------------------------------- a release

def test_sums_and_sbom_have_each_bundle(tmp_path: Path) -> None:
    if not (TREE / "build/kselftest/kselftest_harness.h").exists():
        pytest.skip("no harness: make all")
    names = [f"perfmodes-{VERSION}{suffix}.tar.xz" for suffix in ("", "-x86_64", "-s390x", "-ppc64le")]
    for name in names:
        (tmp_path / name).write_text(name)
    (tmp_path / "perfmodes-0.0.1-old.tar.xz").write_text("of another release")
    done = run("make", "-s", "NO_INSTALL=1", f"RELEASE={tmp_path}", "release-sums")
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / f"perfmodes-{VERSION}.cdx.json").read_text())
    assert {part["name"] for part in made["components"]} >= set(names)
    assert "of another release" not in str(made) and "0.0.1-old" not in str(made)
    listed = {line.split()[1] for line in (tmp_path / "SHA256SUMS").read_text().splitlines()}
    assert listed == {*names, f"perfmodes-{VERSION}.cdx.json"}
    assert run("sha256sum", "-c", "--quiet", "SHA256SUMS", cwd=tmp_path).returncode == 0
    (tmp_path / names[2]).write_text("changed since")
    assert run("sha256sum", "-c", "--quiet", "SHA256SUMS", cwd=tmp_path).returncode == 1


@pytest.mark.parametrize("less, said", [("PYTHON=false", "make release: lacking: Python's apt_pkg"),
                                        ("RELEASE_ARCHES=", "no machine to make a bundle for")])
def test_a_release_without_bundles_is_none(tmp_path: Path, less: str, said: str) -> None:
    """The list of machines cannot be read, or has none."""
    done = run("make", "-s", "NO_INSTALL=1", "-o", "tarball", f"RELEASE={tmp_path}", less, "release")
    assert done.returncode != 0 and said in done.stderr
    assert not list(tmp_path.iterdir())


def numbers(library: Path) -> subprocess.CompletedProcess[str]:
    return run("/usr/bin/python3", PACKAGING / "numbers", library, TREE / "lib" / "perfmodes.numbers")


def headers_with(folder: Path, name: str, before: str, after: str) -> Path:
    """What the library's interface is read from, with one change."""
    for path in (TREE / "lib").glob("perfmodes*.*"):
        shutil.copy(path, folder)
    text = (folder / name).read_text()
    assert text.count(before) == 1
    (folder / name).write_text(text.replace(before, after))
    return folder


def test_the_numbers_are_those_that_are_written_down() -> None:
    done = numbers(TREE / "lib")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name, before, after, told", [
    ("perfmodes.h", "PM_STRATEGY_PER_CPU = 0,", "PM_STRATEGY_PER_CPU = 1,", "pm_strategy PM_STRATEGY_PER_CPU 1"),
    ("perfmodes.h", "PM_ALLOW_COUNT = 8,", "PM_ALLOW_COUNT = 16,", "pm_allow PM_ALLOW_COUNT 16"),
    ("perfmodes_event.def", "PM_SOFTWARE(CPU_CLOCK, 0,", "PM_SOFTWARE(CPU_CLOCK, 1,",
     "pm_software_event PM_SW_CPU_CLOCK 1"),
    ("perfmodes_stats.h", "uint64_t lost;", "uint64_t more, lost;", "pm_stats.lost offset 32 size 8"),
    ("perfmodes.h", "unsigned int rounds;", "uint64_t rounds;", "pm_session_opts.rounds offset 16 size 8"),
    ("perfmodes_ebb.h", "uint64_t sampled;", "uint32_t sampled;", "pm_ebb_branch.sampled offset 32 size 4"),
    ("perfmodes.h", "#define PM_SYSTEM (-2)", "#define PM_SYSTEM (-4)", "constant PM_SYSTEM -4"),
])
def test_another_number_or_place_is_told(tmp_path: Path, name: str, before: str, after: str, told: str) -> None:
    done = numbers(headers_with(tmp_path, name, before, after))
    assert done.returncode == 1, done.stderr
    assert f"+{told}" in done.stdout.splitlines()


def test_two_numbers_that_are_swapped_are_told(tmp_path: Path) -> None:
    headers_with(tmp_path, "perfmodes.h", "PM_STRATEGY_PER_CPU = 0,", "PM_STRATEGY_PER_CPU = 1,")
    text = (tmp_path / "perfmodes.h").read_text().replace("OWN_RINGS = 1,", "OWN_RINGS = 0,")
    (tmp_path / "perfmodes.h").write_text(text)
    done = numbers(tmp_path)
    assert done.returncode == 1, done.stderr
    assert {"+pm_strategy PM_STRATEGY_PER_CPU 1", "+pm_strategy PM_STRATEGY_OWN_RINGS 0"} <= set(
        done.stdout.splitlines())


def types(library: Path) -> subprocess.CompletedProcess[str]:
    if shutil.which("abidiff") is None:
        pytest.skip("no abidiff: .ci/install check")
    return run("/usr/bin/python3", PACKAGING / "types", library, TREE / "lib" / "perfmodes.types")


def test_the_types_are_those_that_are_written_down() -> None:
    done = types(TREE / "lib")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name, before, after, told", [
    ("perfmodes_session.h", "pm_session_poll(struct pm_session *session, int timeout_ms)",
     "pm_session_poll(struct pm_session *session, long timeout_ms)", "type name changed from 'int' to 'long int'"),
    ("perfmodes_sample.h", "const uint64_t *callchain;", "const uint32_t *callchain;", "'const uint64_t' changed to 'const uint32_t'"),
    ("perfmodes_stats.h", "uint64_t lost;", "uint64_t more, lost;", "'uint64_t lost' offset changed from 192 to 256"),
    ("perfmodes.h", "PM_STRATEGY_PER_CPU = 0,", "PM_STRATEGY_PER_CPU = 1,", "PER_CPU' from value '0' to '1'"),
])
def test_another_type_is_told_by_abidiff(tmp_path: Path, name: str, before: str, after: str, told: str) -> None:
    """A stranger's judge of the same interface, and of what functions take, which no number tells."""
    done = types(headers_with(tmp_path, name, before, after))
    assert done.returncode == 1, done.stdout + done.stderr
    assert told in done.stdout
