# SPDX-License-Identifier: MIT
"""Features name points that there are, never say "no" of what nobody knows, and their samples compile."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reports import answers, features, plain, requirements
from reports.features import Feature
from reports.plain import Said
from reports.text import Unusable

TREE = Path(__file__).resolve().parents[2]
FOUND = features.read()
GOOD = """format = 1
name = "chains"
group = "sample"
about = "Chains."
[[need]]
what = "chains"
any = [["a.b.one", "a.b.two"], ["a.b.other"]]
"""


def test_each_point_is_in_the_catalogue() -> None:
    known = answers.keys(answers.questions(TREE / answers.FOLDER))
    strange = {each.id: lost for each in FOUND if (lost := set(each.points) - known)}
    assert len(FOUND) >= 40 and known and not strange


def test_evidence_is_made_of_points_alone() -> None:
    """A limit or a fact has no page that a reader could follow."""
    for each in FOUND:
        ways = [key for way in each.wanted.needs[0].ways for key in way]
        assert set(ways) == set(each.points), each.id
        assert not each.wanted.needs[0].instead and each.wanted.needs[0].what == each.name, each.id


def test_samples_are_short_and_compile() -> None:
    compiler = shutil.which("gcc")
    samples = [each for each in FOUND if each.sample]
    assert len(samples) > 10
    for each in samples:
        lines = each.sample.splitlines()
        assert len(lines) <= features.SAMPLE_LINES and max(map(len, lines)) <= 95, each.id
        if compiler:
            said = subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c", "-"],
                                  input=each.sample, text=True, capture_output=True, check=False)
            assert said.returncode == 0, f"{each.id}: {said.stderr}"
    if not compiler:
        pytest.skip("gcc is not installed")


def made(tmp_path: Path, content: str = GOOD, name: str = "chains") -> Feature:
    (tmp_path / f"{name}.toml").write_text(content, encoding="utf-8")
    return features.read(tmp_path)[0]


@pytest.mark.parametrize("old, new, why", [
    ('group = "sample"', 'group = "other"', "`group`"),
    ('about = "Chains."', "", "`about`"),
    ('about = "Chains."', 'about = "Chains."\nwords = [1]', "lists of texts"),
    ('about = "Chains."', 'about = "Chains."\nmanual = ["<b>"]', "no manual page"),
    ('about = "Chains."', 'about = "Chains."\nalternatives = ["none"]', "no other feature is called none"),
    ('about = "Chains."', 'about = "Chains."\nalternatives = ["chains"]', "no other feature is called chains"),
    ("[[need]]", '[[need]]\nwhat = "x"\nany = [["a.b.c"]]\n[[need]]', r"one \[\[need\]\]"),
])
def test_a_wrong_file_is_refused(tmp_path: Path, old: str, new: str, why: str) -> None:
    with pytest.raises(Unusable, match=why):
        made(tmp_path, GOOD.replace(old, new))


def point(word: str) -> Said:
    return plain.of_point({"verdict": word, "reason": "so"}) if word else Said(plain.UNKNOWN, "nobody asked")


def ask(**words: str) -> Callable[[str], Said]:
    return lambda key: point(words.get(key.rpartition(".")[2], ""))


@pytest.mark.parametrize("words, want", [
    ({"one": "yes", "two": "yes"}, "yes"),
    ({"other": "yes", "one": "no", "two": "yes"}, "yes"),
    ({"one": "yes", "two": "blocked", "other": "no"}, "blocked"),
    ({"one": "no", "two": "yes", "other": "broken"}, "no"),
    ({"one": "broken", "two": "yes", "other": "broken"}, "broken"),
    ({"one": "no", "two": "yes", "other": "unknown"}, "unknown"),
    ({"one": "no", "two": "yes"}, ""),
    ({"one": "no", "two": "yes", "other": "absent"}, "absent"),
    ({"one": "absent", "two": "absent", "other": "absent"}, "absent"),
    ({"one": "hazard", "two": "yes", "other": "hazard"}, ""),
    ({}, ""),
])
def test_the_verdict_of_a_feature(tmp_path: Path, words: dict[str, str], want: str) -> None:
    (found,) = requirements.check(made(tmp_path).wanted, ask(**words))
    assert features.verdict(found) == want


@pytest.mark.parametrize("word", ["blocked", "absent", "unknown", "hazard", ""])
@pytest.mark.parametrize("each", FOUND, ids=lambda each: each.id)
def test_what_nobody_knows_is_never_no(each: Feature, word: str) -> None:
    (found,) = requirements.check(each.wanted, lambda _key: point(word))
    assert features.verdict(found) == ("" if word == "hazard" else word)


def test_since_is_that_of_the_earliest_way(tmp_path: Path) -> None:
    chains = made(tmp_path)
    assert features.since(chains, {"a.b.one": "2.6.31", "a.b.two": "4.10", "a.b.other": "4.9"}) == "4.9"
    assert features.since(chains, {"a.b.one": "2.6.31", "a.b.two": "2.6.32"}) == "2.6.32"
    assert features.since(chains, {"a.b.one": "2.6.31"}) == ""


def test_a_gate_is_named(tmp_path: Path) -> None:
    (found,) = requirements.check(made(tmp_path).wanted, lambda _key: plain.of_point(
        {"verdict": "blocked", "reason": "kernel.perf_event_paranoid=2, 1 or less is needed"}))
    assert features.blocked_by([found]) == ["perf_event_paranoid"]
