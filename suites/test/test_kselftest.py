# SPDX-License-Identifier: MIT
"""A bundle as installed kselftests, run by the kernel's own runner as it is."""

from __future__ import annotations

import re
import shlex
import shutil
import textwrap
from pathlib import Path

import pytest
from conftest import BUILD, TREE, run

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree

KERNEL = TREE / "build/kselftest"
MAKE = TREE / ".packaging/kselftest"


@pytest.fixture(scope="module", name="installed")
def _installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (BUILD / "bundle/bin/launch").exists():
        pytest.skip("no bundle is built: make bundle")
    if not (KERNEL / "run_kselftest.sh").exists():
        pytest.skip(f"{KERNEL} has no runner of linux-source: run probes/kit/fetch-harness build/kselftest")
    folder = tmp_path_factory.mktemp("kselftest")
    shutil.copy(KERNEL / "run_kselftest.sh", folder)
    shutil.copytree(KERNEL / "kselftest", folder / "kselftest")
    (folder / "kselftest-list.txt").write_text("timers:posix_timers\n")
    done = run(MAKE, BUILD / "bundle", folder, "meta")
    assert done.returncode == 0, done.stderr
    return folder


def runner(folder: Path, *words: str) -> str:
    return run("sh", folder / "run_kselftest.sh", *words).stdout


def line_of(folder: Path, probe: str) -> str:
    """What the runner says of one test, after its number."""
    (line,) = re.findall(r"^((?:not )?ok) 1 selftests: perfmodes: \S+(.*)$",
                         runner(folder, "-t", f"perfmodes:{probe}"), re.M)
    return "".join(line)


def test_the_list_keeps_other_collections(installed: Path) -> None:
    for _ in range(2):
        listed = (installed / "kselftest-list.txt").read_text().splitlines()
        assert listed[0] == "timers:posix_timers" and len(set(listed)) == len(listed)
        assert runner(installed, "-l").split() == listed
        named = {line.partition(":")[2] for line in listed[1:]}
        assert named == {path.name for path in (installed / "perfmodes").iterdir() if path.is_symlink()}
        assert run(MAKE, BUILD / "bundle", installed, "meta").returncode == 0


@pytest.mark.parametrize(("probe", "said"), [
    ("meta.no", "ok # SKIP"), ("meta.blocked", "ok # SKIP"), ("meta.absent", "ok # SKIP"),
    ("meta.broken", "not ok # exit=1"), ("meta.crash", "not ok # exit=1"),
    ("meta.crash_all", "not ok # exit=1"), ("meta.exit_one", "not ok # exit=1"),
    ("meta.lie", "not ok # exit=1"), ("meta.two_plans", "not ok # exit=1"),
])
def test_the_runner_says_what_the_probe_found(installed: Path, probe: str, said: str) -> None:
    assert line_of(installed, probe) == said


@pytest.mark.perf
def test_a_probe_that_finds_its_point_passes(installed: Path) -> None:
    assert line_of(installed, "meta.pass") == "ok"


@pytest.mark.perf
def test_a_kernel_that_lies_fails(installed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lying"
    shutil.copytree(installed, folder, symlinks=True)
    assert run(MAKE, BUILD / "bundle", folder, "quick").returncode == 0
    assert line_of(folder, "attr.size") == "ok"
    launch = folder / "perfmodes/bundle/bin/launch"
    launch.write_text(f'#!/bin/sh\nexec "{BUILD}/falsify/launch" --fault open-accepts "$@"\n')
    assert line_of(folder, "attr.size") == "not ok # exit=1"


def test_a_probe_that_hangs_is_ended_by_the_launcher(installed: Path) -> None:
    place = installed / "perfmodes"
    (place / "limit").write_text("1\n")
    probe = place / "bundle/bin/probes/meta/pass"
    probe.unlink()
    probe.write_text("#!/bin/sh\necho 1..1\necho ok 1 a.b\nexec sleep 100\n")
    probe.chmod(0o755)
    assert line_of(installed, "meta.pass") == "not ok # exit=1"


def test_what_is_somebody_elses_is_refused(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "perfmodes").mkdir()
    (tmp_path / "perfmodes/theirs").touch()
    done = run(MAKE, BUILD / "bundle", tmp_path)
    assert done.returncode == 2 and "name another folder" in done.stderr
    assert (tmp_path / "perfmodes/theirs").exists() and installed.exists()
    assert run(MAKE, tmp_path, tmp_path / "new").returncode == 2


def test_the_task_of_the_readme_calls_the_command_as_it_is() -> None:
    yaml = pytest.importorskip("yaml", reason="no yaml: package python3-yaml")
    readme = (TREE / "suites/README.md").read_text()
    (text,) = re.findall(r"^    apiVersion:.*?(?=^\S)", readme, re.M | re.S)
    task = yaml.safe_load(textwrap.dedent(text))
    assert (task["apiVersion"], task["kind"]) == ("tekton.dev/v1", "Task")
    (step,) = task["spec"]["steps"]
    named = {f"params.{param['name']}" for param in task["spec"]["params"]}
    named |= {f"workspaces.{space['name']}.path" for space in task["spec"]["workspaces"]}
    assert set(re.findall(r"\$\(([^)]+)\)", str(task["spec"]["steps"]))) <= named
    words = shlex.split(step["script"].splitlines()[-1])[1:]
    assert words[:2] == ["./run.sh", "device"]
    known = run(*words[:2], "--help").stdout
    assert all(word in known for word in words if word.startswith("--"))
