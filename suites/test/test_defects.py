# SPDX-License-Identifier: MIT
"""Defects of kernels: each reproducer says of this kernel what the probe says of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import TREE, run_suite

from reports import catalogue, defects, expect, result

DEFECTS = defects.read()
# What a program ends with, by what the probe says of its points.
STATUS = {"yes": defects.RIGHT, "no": defects.WRONG, "broken": defects.WRONG}


def test_each_file_is_whole(build: Path) -> None:
    found = catalogue.gather([catalogue.built(TREE)])
    points = {f"{probe.id}.{item.name}" for probe in found.probes.values() for item in probe.points()}
    assert len(DEFECTS) >= 5 and defects.problems(DEFECTS, points) == []
    expected = {(deviation.probe, deviation.point) for deviation in expect.read(expect.FOLDER).deviations}
    for defect in DEFECTS:
        for point in defect.points:
            probe, _, name = point.rpartition(".")
            assert (probe, name) in expected or (probe, "*") in expected, point


def test_a_file_that_is_not_whole_is_told(tmp_path: Path) -> None:
    path = tmp_path / "some.toml"
    for lines, said in (("", "format is 1"), ("format = 1\nkind = 2\n", "kind is unknown, title, hurts"),
                        ('format = 1\ntitle="a"\nhurts="b"\nsince="soon"\nworkaround="c"\npoints=["d"]\n', "since is a release")):
        path.write_text(lines, encoding="utf-8")
        with pytest.raises(Exception, match=said):
            defects.load(path)


@pytest.mark.perf
@pytest.mark.parametrize("defect", [defect for defect in DEFECTS if not defect.hazard], ids=lambda defect: defect.name)
def test_program_and_probe_agree(build: Path, tmp_path: Path, defect: defects.Defect) -> None:
    """Where the probe's points differ among themselves, with one of them; three times. What is a hazard is not run."""
    program = defects.build(defect, tmp_path)
    words = [word for probe in {point.rpartition(".")[0] for point in defect.points} for word in ("--probe", probe)]
    run_suite(tmp_path / "run", "--persona", "root,user", *words)
    made = result.load(tmp_path / "run")
    told = {point["verdict"] for persona, probe, name, point in expect.points(made) if f"{probe}.{name}" in defect.points}
    allowed = {STATUS.get(verdict, defects.UNTOLD) for verdict in told}
    for _ in range(3):
        done = subprocess.run([program], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode in allowed, (done, told)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_all_of_them_are_told() -> None:
    said = subprocess.run(["./run.sh", "report", "defects", "--markdown"], cwd=TREE, capture_output=True, text=True,
                          timeout=120, check=True).stdout
    for defect in DEFECTS:
        assert f"## {defect.title.split('`')[0][:20]}" in said and f"`suites/defects/{defect.name}.c`" in said
