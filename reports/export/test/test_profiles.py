# SPDX-License-Identifier: MIT
"""Profiles merged, and requirements held against them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reports import merge, requirements, schema, text, verbs
from reports.export import versions
from reports.text import Unusable

Profile = dict[str, Any]


def make(kernel: dict[str, Any], user: dict[str, Any] | None = None, **identity: str) -> Profile:
    return {"format": 1, "kind": "profile", "tool": {"name": "perfmodes", "version": "0.1"},
            "identity": {"arch": "x86_64", "release": "6.1"} | identity, "evidence": ["0" * 16],
            "catalogue": "0" * 12, "kernel": kernel, "personas": {"root": {}, "user": user or {}}}


def merged(*profiles: Profile, union: bool = False) -> tuple[Profile, list[str]]:
    made, conflicts = merge.merge([(f"p{at}", each) for at, each in enumerate(profiles)], union)
    assert not schema.problems("profile", made)
    return made, [conflict.key for conflict in conflicts]


@pytest.mark.parametrize("a, b, shared, either", [
    ("yes", "yes", "yes", "yes"), ("yes", "no", None, None), ("hazard", "yes", "hazard", "hazard"),
    ("hazard", None, "hazard", "hazard"), ("yes", None, None, "yes"), (3, 3, 3, 3), (3, 4, None, None),
    (True, 1, None, None), ("blocked", "blocked", "blocked", "blocked")])
def test_each_pair_of_answers(a: Any, b: Any, shared: Any, either: Any) -> None:
    profiles = [make({} if value is None else {"a.b": value}) for value in (a, b)]
    for first, second in (profiles, profiles[::-1]):
        assert merge.view(merged(first, second)[0], "user").get("a.b") == shared
        assert merge.view(merged(first, second, union=True)[0], "user").get("a.b") == either


def test_blocked_on_one_device_is_blocked_on_all_of_them() -> None:
    """An intersection promises what holds everywhere; a union knows that the kernel can."""
    profiles = make({"a.b": "yes"}), make({}, {"a.b": "blocked"})
    assert merge.view(merged(*profiles)[0], "user")["a.b"] == "blocked"
    assert merge.view(merged(*profiles, union=True)[0], "user")["a.b"] == "yes"


def test_contradictions_are_told() -> None:
    made, conflicts = merged(make({"a.b": "yes"}), make({"a.b": "no"}))
    assert conflicts == ["a.b", "a.b"] and "a.b" not in made["kernel"]


def test_the_identity_is_what_they_share() -> None:
    made, _ = merged(make({}, board="one"), make({}, release="6.2", board="one"))
    assert made["identity"] == {"arch": "x86_64", "release": "any", "board": "one"}


def test_one_profile_stays_as_it_is() -> None:
    one = make({"a.b": "yes", "a.c": 3}, {"a.d": "blocked"})
    assert merged(one)[0] == one


REQUIREMENTS = """format = 1
name = "profiler"
[[need]]
what = "samples"
any = [["a.best"], ["a.second", "a.pages=128"]]
[[need]]
what = "a recorder"
optional = true
otherwise = "a plain ring"
any = [["a.recorder"]]
"""


def checked(tmp_path: Path, profile: Profile) -> list[requirements.Finding]:
    (tmp_path / "need.toml").write_text(REQUIREMENTS, encoding="utf-8")
    wanted = requirements.read(tmp_path / "need.toml")
    return requirements.check(wanted, merge.view(profile, wanted.persona), {"a.best": "blocked: policy"})


def test_the_first_way_that_holds_is_taken(tmp_path: Path) -> None:
    assert checked(tmp_path, make({"a.best": "yes"}))[0].way == 0
    assert checked(tmp_path, make({"a.second": "yes", "a.pages": 128}))[0].way == 1
    found = checked(tmp_path, make({"a.second": "yes", "a.pages": 64}))
    assert found[0].missing == ("way 1: a.best is unknown: blocked: policy",
                                "way 2: a.pages is 64, wanted 128")
    assert list(found[1].lines())[-1].strip() == "instead: a plain ring"


@pytest.mark.parametrize("source", [
    "", "format = 2\n[[need]]\n", "format = 1\n[[need]]\nwhat = 'x'\n", "format = [",
    "format = 1\n[[need]]\nwhat = 'x'\nany = []\n", "format = 1\n[[need]]\nwhat = 'x'\nany = [['A B']]\n",
    "format = 1\n[[need]]\nwhat = 'x'\nany = [['a.b']]\nmore = 1\n", "format = 1\npersona = 3\nneed = []\n"])
def test_wrong_requirements_are_refused(tmp_path: Path, source: str) -> None:
    (tmp_path / "need.toml").write_text(source, encoding="utf-8")
    with pytest.raises(Unusable):
        requirements.read(tmp_path / "need.toml")


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = []
    for name, profile in (("a", make({"a.best": "yes", "a.b": "yes"})), ("b", make({"a.b": "no"}))):
        names.append(str(tmp_path / f"{name}.json"))
        Path(names[-1]).write_text(text.dump_json(profile), encoding="utf-8")
    (tmp_path / "need.toml").write_text(REQUIREMENTS, encoding="utf-8")
    need = str(tmp_path / "need.toml")
    assert verbs.main(["profile", "check", need, names[0]]) == 0
    assert "yes      samples: a.best" in capsys.readouterr().out
    assert verbs.main(["profile", "check", need, *names, "--json"]) == 1
    assert [each["needs"][0]["met"] for each in json.loads(capsys.readouterr().out)] == [True, False]
    assert verbs.main(["profile", "merge", *names]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["kernel"] == {} and "left out: user a.b: " in said.err


def test_versions_tell_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(86400 * 365))
    first = make({"a.b": "yes", "a.c": 1, "a.gone": "no"})
    for old, dates in ((first, [None, "1971-01-01"]), (versions.update(None, first), ["1971-01-01"] * 2)):
        made = versions.update(old, make({"a.b": "no", "a.c": True, "a.new": "x"}, {"a.b": "blocked"}))
        assert not schema.problems("profile", made)
        assert [each.get("date") for each in made["history"]] == dates
        last = made["history"][-1]
        assert (made["version"], last["added"], last["removed"], last["changed"]) == (2, 2, 1, 2)
        assert last["changes"] == [
            {"key": "a.b", "was": "yes", "now": "no"}, {"key": "a.b", "persona": "user", "now": "blocked"},
            {"key": "a.c", "was": 1, "now": True}, {"key": "a.gone", "was": "no"},
            {"key": "a.new", "now": "x"}]
    assert versions.update(made, made) == made
    other = versions.update(made, made | {"evidence": ["1" * 16]})
    assert other["version"] == 3 and other["history"][-1]["changes"] == []


def test_a_history_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    made = versions.update(None, make({}))
    for number in range(40):
        made = versions.update(made, make({f"a.k{at}": f"{number}" + "x" * 9000 for at in range(501)}))
    last = made["history"][-1]
    assert made["version"] == 41 and last["changed"] == 501 and len(last["changes"]) == 500
    assert not schema.problems("profile", made)
    assert 1 < len(made["history"]) < 32 and "and 1 more" in "\n".join(versions.lines(made))
    assert len(text.dump_json(made["history"]).encode()) < versions.BYTES_LIMIT + 100_000
    monkeypatch.setattr(versions, "BYTES_LIMIT", 1)
    assert [each["version"] for each in versions.update(made, make({}))["history"]] == [42]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "never")
    with pytest.raises(Unusable):
        versions.today()


@pytest.mark.parametrize("wrong", [
    {"version": 0}, {"version": True}, {"history": []}, {"history": [{"version": 1}]}])
def test_a_wrong_history_is_refused(wrong: Profile) -> None:
    assert schema.problems("profile", make({}) | wrong)


def test_merge_updates_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base, one = tmp_path / "base.json", tmp_path / "one.json"
    for answer in ("yes", "no", "no"):
        one.write_text(text.dump_json(make({"a.b": answer})), encoding="utf-8")
        assert verbs.main(["profile", "merge", "--update", str(base), str(one)]) == 0
    assert "version 2" in capsys.readouterr().err
    assert text.load_json(base)["kernel"] == {"a.b": "no"}
    assert verbs.main(["profile", "history", str(base)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert "1 changed" in said[0] and said[1].strip() == "a.b: yes -> no" and said[2].startswith("version 1")
    assert verbs.main(["profile", "history", str(one)]) == 3
    base.write_text("{}", encoding="utf-8")
    assert verbs.main(["profile", "merge", "--update", str(base), str(one)]) == 3
    assert base.read_text(encoding="utf-8") == "{}"
