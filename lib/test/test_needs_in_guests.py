# SPDX-License-Identifier: MIT
"""What programs need is told the same of the answers that ship and of a fresh result of that kernel, for each persona.
A guest that was late may leave a question unanswered that it told another time; a contradiction is never its doing."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from kernels import matrix
from reports import requirements

pytestmark = [pytest.mark.xdist_group("make"), pytest.mark.perf, pytest.mark.slow]
TREE = Path(__file__).resolve().parents[2]
PERSONAS = ("root", "perfmon", "user")
ROWS = ("amd64-5.10", "amd64-6.1", "amd64-6.12", "amd64-6.12-rt", "amd64-newest", "amd64-6.12-pmu", "amd64-newest-pmu",
        "i386-6.1", "arm64-6.1", "arm64-6.12")
UNKNOWN = "not known"
Answers = dict[tuple[str, str, str], str]


def answers(where: Path | str) -> Answers:
    """(program, persona, what it needs) -> the answer; of all that is required under an empty name."""
    found: Answers = {}
    for program in requirements.programs():
        for persona in PERSONAS:
            done = subprocess.run(["/usr/bin/python3", "-m", "reports", "check", "--for", program, "--as", str(where),
                                   "--persona", persona, "--level", "2", "--json"],
                                  cwd=TREE, capture_output=True, text=True, timeout=300, check=False)
            assert done.returncode in (0, 1, 4), done.stderr
            for told in json.loads(done.stdout):
                found[program, persona, ""] = told["answer"]
                found |= {(program, persona, need["what"]): f"{need['answer']} {need['used']}" for need in told["needs"]}
    return found


@pytest.mark.parametrize("row", ROWS)
def test_fresh_and_shipped(tmp_path: Path, row: str) -> None:
    arch = matrix.load().pick([row], [])[0].arch
    if not shutil.which(arch.qemu) or not shutil.which(f"{arch.triple}-gcc"):
        pytest.skip(f"no {arch.qemu}, or no {arch.triple}-gcc")
    done = subprocess.run(["./run.sh", "kernels", row, "--suite", "default", "--persona", ",".join(PERSONAS), "--out", tmp_path],
                          cwd=TREE, check=False, timeout=1800)
    assert done.returncode in (0, 1)    # 1: a broken point that nobody expected is another test's
    fresh, shipped = answers(tmp_path / row), answers(row)
    assert fresh.keys() == shipped.keys() and len({program for program, *_ in fresh}) == len(requirements.programs())
    differ = {key: (shipped[key], fresh[key]) for key in fresh if shipped[key] != fresh[key]}
    late = {key for key, pair in differ.items() if UNKNOWN in {word.strip() for word in pair}}
    whole = [key for key in fresh if not key[2]]
    print(f"{row}: {len(whole)} verdicts, {len([key for key in whole if key in differ])} differ; {len(fresh) - len(whole)} needs, "
          f"{len(differ)} answers differ, of {len(late)} one is not known")
    assert differ.keys() - late == set(), differ
