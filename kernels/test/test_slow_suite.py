# SPDX-License-Identifier: MIT
"""The decisive probes in real kernels: the profiles must differ where the kernels do."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from kernels import matrix

TREE = Path(__file__).resolve().parents[2]
NAMES = ("amd64-5.10", "amd64-newest", "uml")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if "KERNELS_RUN" in os.environ:     # these rows have just been run
        return TREE / os.environ["KERNELS_RUN"]
    folder = tmp_path_factory.mktemp("suite") / "run"
    command = [TREE / "run.sh", "kernels", *NAMES, "--suite", "quick", "--persona", "root,user",
               "--no-build", "--no-install", "--out", folder]
    done = subprocess.run(command, cwd=TREE, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=900, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return folder


def read(out: Path, name: str, kind: str) -> dict:
    return json.loads((out / name / f"{kind}.json").read_text(encoding="utf-8"))


def unfit(name: str) -> str:
    """Why this machine's CPU cannot run the row."""
    return matrix.load().rows[name].here().unavailable


def test_every_row_ends_with_a_valid_result(out: Path) -> None:
    for name in (name for name in NAMES if not unfit(name)):
        assert read(out, name, "boot")["ended"] == "done"
        assert subprocess.run(["/usr/bin/python3", "-m", "reports", "validate", out / name / "result.json",
                               out / name / "profile.json"], cwd=TREE, check=False).returncode == 0


def test_profiles_differ_where_the_kernels_do(out: Path) -> None:
    """Known from the kernel's history: v5.12 weight_struct and build_id, v5.13 remove_on_exec."""
    old, new = read(out, "amd64-5.10", "profile")["kernel"], read(out, "amd64-newest", "profile")["kernel"]
    for key in ("attr.flag_bits.remove_on_exec", "attr.flag_bits.build_id",
                "attr.sample_type_bits.weight_struct"):
        assert (old[key], new[key]) == ("no", "yes"), key
    assert old["attr.size.kernel"] == 120, "PERF_ATTR_SIZE_VER6, v5.5 to v5.12"
    assert new["attr.size.kernel"] > old["attr.size.kernel"]


def test_no_perf_is_absent_and_never_no(out: Path) -> None:
    if unfit("uml"):
        pytest.skip(unfit("uml"))
    result = read(out, "uml", "result")
    found = {(point["verdict"], "ENOSYS" in point.get("reason", ""))
             for name, probe in result["personas"]["root"]["probes"].items()
             if not name.startswith("perm.")	# whose question is what of perf is there
             for point in probe["points"].values()}
    assert ("absent", True) in found
    assert not {verdict for verdict, _ in found} & {"yes", "no", "broken", "unknown"}
    assert "attr.flag_bits.mmap" not in read(out, "uml", "profile")["kernel"]


def test_personas_answer_for_themselves(out: Path) -> None:
    points = {persona: read(out, "amd64-newest", "result")["personas"][persona]["probes"]
              ["attach.cpu_wide"]["points"]["sees_other_tasks"]["verdict"] for persona in ("root", "user")}
    assert points == {"root": "yes", "user": "blocked"}
