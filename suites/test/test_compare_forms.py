# SPDX-License-Identifier: MIT
"""The comparison of single programs and bundle finds a probe that answers differently in one of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import TREE

sys.path.insert(0, str(TREE / "suites"))

import compare_forms  # noqa: E402
from compare_forms import HERE, differing  # noqa: E402

pytestmark = pytest.mark.xdist_group("forms")  # one run serves them all
KEY = ("root", "ring.size", "powers_of_two")
WORDS = ["--suite", "default", "--persona", "same", "--probe", "ring.closed_fd"]


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (compare_forms.BUILD / "bundle/bin/probe").is_file():
        pytest.skip("no bundle is built: make bundle")
    top = tmp_path_factory.mktemp("forms")
    compare_forms.make_forms(top)
    return top


@pytest.mark.parametrize("one, other, count", [
    ("yes", "yes", 0), ("yes", "broken", 1), ("absent", "no", 1), ("blocked", "yes", 1), ("unknown", "broken", 0),
    ("yes", "unknown", 0)])
def test_what_both_could_tell_has_to_be_alike(one: str, other: str, count: int) -> None:
    assert len(differing({KEY: one}, {KEY: other})) == count


def test_what_one_form_alone_has_differs() -> None:
    assert differing({KEY: "yes"}, {}) == {KEY} == differing({}, {KEY: "unknown"})


def test_each_probe_is_a_program_of_its_own_in_one_form_and_a_link_in_the_other(forms: Path) -> None:
    single, bundle = (sorted(path for path in (forms / form / "bin/probes").glob("*/*") if path.parent.name != "replay")
                      for form in ("single", "bundle"))
    assert len(single) == len(bundle) > 300
    assert all(path.is_symlink() for path in bundle) and not any(path.is_symlink() for path in single)


def test_the_same_answers_are_no_difference(forms: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not compare_forms.compare(HERE, forms, WORDS)
    assert "0 differ" in capsys.readouterr().out


def test_a_probe_that_answers_otherwise_as_one_form_is_found(forms: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another probe stands in its place, as none of ours does so any more."""
    said = compare_forms.ask(HERE, forms / "bundle", WORDS)
    names = {name for (_, _, name), verdict in said.items() if verdict == "yes"}
    if not names:
        pytest.skip("says yes nowhere here: ring.closed_fd")
    place = forms / "single/bin/probes/ring/closed_fd"
    lines = "\n".join(f"ok {number} global.{name} # SKIP absent: not in this form" for number, name in enumerate(names, 1))
    program = place.parent / "otherwise.c"
    text = json.dumps(f"TAP version 13\n1..{len(names)}\n{lines}")	# as C writes it, too
    program.write_text("#include <stdio.h>\nint main(void)\n{\n\treturn puts(" + text + ") < 0;\n}\n")
    subprocess.run(["cc", "-o", place, program], check=True)
    program.unlink()
    assert {name for _, _, name in compare_forms.compare(HERE, forms, WORDS)} == names
    told = capsys.readouterr().out
    assert all(f"ring.closed_fd.{name}: absent of a program of its own, yes of the bundle" in told for name in names), told
