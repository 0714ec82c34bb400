# SPDX-License-Identifier: MIT
"""Profiles merged, and requirements held against them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reports import answers, asked, merge, requirements, schema, text, verbs
from reports.export import needs, versions
from reports.plain import Said
from reports.test.conftest import MakeRun
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


def screen(found: list[requirements.Finding]) -> list[str]:
    return list(needs.screen((), "w", "", found, 80, lambda said, points: ["another kernel"] if said.word == "no" else []))


def checked(tmp_path: Path, profile: Profile) -> list[requirements.Finding]:
    (tmp_path / "need.toml").write_text(REQUIREMENTS, encoding="utf-8")
    wanted = requirements.read(tmp_path / "need.toml")
    source = asked.of_profile("p", profile)
    return requirements.check(wanted, lambda key: source.said(key, wanted.persona, source.level()))


def test_the_first_way_that_holds_is_taken(tmp_path: Path) -> None:
    assert checked(tmp_path, make({"a.best": "yes"}))[0].way == 0
    assert checked(tmp_path, make({"a.second": "yes", "a.pages": 128}))[0].way == 1
    found = checked(tmp_path, make({"a.second": "yes", "a.pages": 64}))
    assert found[0].missing == ("way 1: a.best: not known: nobody asked",
                                "way 2: a.pages=128: no: is 64, wanted 128")
    assert found[0].answer.word == "not known"
    assert "\n".join(screen(found)).split("\n\n")[1:] == [
        "not known samples, because of [1], or [2]\nnot known a recorder (optional), because of [1]\n          "
        "instead: a plain ring",
        "Why:\n[1] not known: nobody asked\n  points  a.best, a.recorder\n[2] no: is 64, wanted 128\n"
        "  points  a.pages=128\n  change  another kernel"]


YES, WRONG = {"verdict": "yes"}, {"verdict": "broken", "reason": "seen 3"}
REFUSED, BARRED = {"verdict": "no", "reason": "EINVAL"}, {"verdict": "blocked", "reason": "EACCES: paranoid"}
ABSENT, LOST = {"verdict": "absent", "reason": "no PMU"}, {"verdict": "unknown", "reason": "a time-out"}
LEFT_OUT = {"verdict": "blocked", "reason": "would disturb all; runs only with --may-disturb"}
HAZARD = {"verdict": "hazard", "reason": "may hang; runs only with --hazards"}


def result_of(points: dict[str, Any], level: str = "2", persona: str = "user") -> dict[str, Any]:
    return {"identity": {"arch": "x86_64", "release": "6.1"}, "environment": {"paranoid": level}, "personas": {
        persona: {"environment": {}, "probes": {"a.b": {"status": "done", "points": points, "facts": {"n": 3}}}}}}


@pytest.mark.parametrize(("point", "word", "why"), [
    (YES, "yes", ""), (REFUSED, "no", "EINVAL"), (WRONG, "no", "broken: seen 3"),
    (BARRED, "blocked", "EACCES: paranoid"), (ABSENT, "not known", "was not there: no PMU"),
    (LOST, "not known", "nobody could tell: a time-out"), (HAZARD, "not known", "nobody asked: may hang; "
     "runs only with --hazards"), (LEFT_OUT, "not known", "nobody asked: would disturb all; runs only with "
                                   "--may-disturb"), (None, "not known", "nobody asked")])
def test_an_answer_has_one_of_four_words(point: Any, word: str, why: str) -> None:
    source = asked.of_results("r", [result_of({"c": point} if point else {})])
    assert source.said("a.b.c", "user", "2") == Said(word, why, absent=point == ABSENT)
    assert source.said("a.b.c", "root", "2") == Said("not known", "nobody asked as root")
    assert source.said("a.b.c", "user", "1") == Said(
        "not known", "nobody asked at perf_event_paranoid=1; asked at 2")


def test_a_fact_that_has_another_value_is_no_and_one_that_is_not_there_not_known() -> None:
    source = asked.of_results("r", [result_of({})])
    assert [source.said(key, "user", "2").word for key in ("a.b.n=3", "a.b.n=4", "a.b.m=1")] == [
        "yes", "no", "not known"]
    assert [source.said(f"a.b.{least}", "user", "2").word for least in ("n>=3", "n>=2", "n>=4", "m>=1")] == [
        "yes", "yes", "no", "not known"]


@pytest.mark.parametrize(("told", "word"), [
    ({"nobody_at_3": "EACCES", "nobody_at_4": "EACCES", "perfmon_at_3": "opens", "perfmon_at_4": "opens"}, "yes"),
    ({"nobody_at_3": "opens", "nobody_at_4": "EACCES", "perfmon_at_3": "opens", "perfmon_at_4": "opens"}, "blocked"),
    ({"nobody_at_3": "opens", "nobody_at_4": "opens", "perfmon_at_3": "opens"}, "not known"), ({}, "not known")])
def test_a_level_that_a_kernel_does_not_tell_from_another(told: dict[str, str], word: str) -> None:
    """Where its points of the levels, asked at 2, answer 3 and 4 alike; what compares levels keeps them apart."""
    at_two = result_of({})
    at_two["personas"]["user"]["probes"]["perm.levels"] = {"status": "done", "points": {}, "facts": told}
    source = asked.of_results("r", [at_two, result_of({"c": YES}, "3")])
    assert source.said("a.b.c", "user", "4").word == word
    assert source.said("level<=3", "user", "4").word == ("not known" if word == "not known" else "blocked")
    assert source.alike("4").startswith("asked at perf_event_paranoid=3") == (word == "yes")
    assert not source.alike("3") and source.levels == ["2", "3"]
    asked_there = asked.of_results("r", [at_two, result_of({"c": YES}, "3"), result_of({"c": REFUSED}, "4")])
    assert asked_there.said("a.b.c", "user", "4").word == "no"


@pytest.mark.parametrize(("level", "caps", "memlock", "fits", "not_fits"), [
    ("2", "0", "8388608", "4MiB", "8MiB"), ("2", "0", "0", "512KiB", "1MiB"), ("2", "0", "unlimited", "64MiB", ""),
    ("-1", "0", "0", "64MiB", ""), ("2", f"{1 << 14:x}", "0", "64MiB", "")])
def test_the_room_for_rings(level: str, caps: str, memlock: str, fits: str, not_fits: str) -> None:
    """Two CPUs at the default of 516 kB each, and half of RLIMIT_MEMLOCK each, less a page for the head."""
    made = result_of({}, level)
    made["identity"]["page_size"] = "4096"
    made["environment"] |= {"mlock_kb": "516", "cpus_online": "2"}
    made["personas"]["user"]["environment"] = {"caps": caps, "rlimit_memlock": memlock}
    source = asked.of_results("r", [made])
    assert source.said(f"ring={fits}", "user", level).word == "yes"
    assert not not_fits or source.said(f"ring={not_fits}", "user", level).word == "blocked"
    assert asked.of_results("r", [result_of({})]).said("ring=4KiB", "user", "2").word == "not known"


@pytest.mark.parametrize(("points", "any_", "word"), [
    ((YES, REFUSED), [["a.b.c"], ["a.b.d"]], "yes"), ((YES, REFUSED), [["a.b.c", "a.b.d"]], "no"),
    ((BARRED, REFUSED), [["a.b.c"], ["a.b.d"]], "blocked"), ((BARRED, ABSENT), [["a.b.c"], ["a.b.d"]], "not known"),
    ((BARRED, ABSENT), [["a.b.c", "a.b.d"]], "blocked"), ((YES, LOST), [["a.b.c", "a.b.d"]], "not known")])
def test_ways_are_the_best_and_their_keys_the_worst(points: tuple[Any, Any], any_: Any, word: str) -> None:
    source = asked.of_results("r", [result_of(dict(zip("cd", points)))])
    need = requirements.Need("x", tuple(map(tuple, any_)))
    wanted = requirements.Requirements("w", "user", (need,))
    found = requirements.check(wanted, lambda key: source.said(key, "user", "2"))
    assert found[0].answer.word == requirements.status(found) == word
    assert [*screen(found)][2].startswith(f"{word:10}x")


def test_what_stands_in_is_told_and_makes_no_yes() -> None:
    source = asked.of_results("r", [result_of({"c": BARRED, "d": YES})])
    need = requirements.Need("x", (("a.b.c",),), otherwise="a sum",
                             instead=(requirements.StandIn("", (("a.b.d",),)),))
    found = requirements.check(requirements.Requirements("w", "user", (need,)),
                               lambda key: source.said(key, "user", "2"))
    assert (found[0].answer.word, found[0].word, found[0].instead) == ("blocked", "blocked", "a sum; yes there: a.b.d")


@pytest.mark.parametrize(("points", "used"), [
    ({"c": BARRED, "d": YES}, "second"), ({"c": REFUSED, "d": REFUSED}, "third"), ({"c": ABSENT, "d": ABSENT}, "third"),
    ({"c": YES, "d": YES}, ""), ({"c": LOST, "d": YES}, ""), ({"c": BARRED, "d": LOST}, ""), ({"d": YES}, "")])
def test_a_named_one_is_used_where_nothing_better_is_left(tmp_path: Path, points: dict[str, Any], used: str) -> None:
    """What nobody asked might have been better."""
    (tmp_path / "need.toml").write_text("""format = 1
[[need]]
what = 'x'
any = [['a.b.c']]
[[need.instead]]
what = 'second'
any = [['a.b.d']]
[[need.instead]]
what = 'third'
""", encoding="utf-8")
    source = asked.of_results("r", [result_of(points)])
    found, = requirements.check(requirements.read(tmp_path / "need.toml"), lambda key: source.said(key, "user", "2"))
    assert found.used == used and (found.word == "instead") == bool(used)
    shown = [*screen([found])][2:]
    assert shown[0].startswith("instead   x, because of [1]" if used else f"{found.answer.word:10}x")
    assert not used or shown[1].strip() == used
    assert found.answer.word == source.said("a.b.c", "user", "2").word


def test_a_profile_without_the_persona_knows_nothing_of_it(tmp_path: Path) -> None:
    """What root was told is no answer to a user."""
    bare = make({"a.best": "yes"}) | {"personas": {}}
    found = checked(tmp_path, bare)[0]
    assert (found.answer.word, found.missing[0]) == ("not known", "way 1: a.best: not known: nobody asked as user")


@pytest.mark.parametrize("source", [
    "", "format = 2\n[[need]]\n", "format = 1\n[[need]]\nwhat = 'x'\n", "format = [",
    "format = 1\n[[need]]\nwhat = 'x'\nany = []\n", "format = 1\n[[need]]\nwhat = 'x'\nany = [['A B']]\n",
    "format = 1\n[[need]]\nwhat = 'x'\nany = [['a.b']]\nmore = 1\n",
    "format = 1\n[[need]]\nwhat = 'x'\nany = [['a.b']]\ninstead = [3]\n",
    "format = 1\n[[need]]\nwhat = 'x'\nany = [['a.b']]\ninstead = [{what = 'y', any = []}]\n",
    "format = 1\n[[need]]\nwhat = 'x'\nany = [['a.b']]\ninstead = [{any = [['a.b']]}]\n", "format = 1\npersona = 3\nneed = []\n"])
def test_wrong_requirements_are_refused(tmp_path: Path, source: str) -> None:
    (tmp_path / "need.toml").write_text(source, encoding="utf-8")
    with pytest.raises(Unusable):
        requirements.read(tmp_path / "need.toml")


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kernels = {"a": {"a.best": "yes", "a.b": "yes", "perm.level_file.paranoid": 2}, "b": {"a.b": "no"},
               "c": {"a.best": "no", "a.second": "no"}}
    names = [f"{name}.json" for name in kernels]
    for name, kernel in kernels.items():
        Path(f"{name}.json").write_text(text.dump_json(make(kernel)), encoding="utf-8")
    Path("need.toml").write_text(REQUIREMENTS, encoding="utf-8")
    assert verbs.main(["profile", "check", "need.toml", names[0]]) == 0
    said = capsys.readouterr().out
    assert said.startswith("profiler, as user at perf_event_paranoid=2, on a.json (Linux 6.1, x86_64):")
    assert "\nyes       samples\n" in said and "\nnot known a recorder (optional), because of [1]\n" in said
    statuses = {name: verbs.main(["profile", "check", "need.toml", name]) for name in names}
    assert list(statuses.values()) == [0, 4, 1]
    assert verbs.main(["profile", "check", "need.toml", *names[:2]]) == 4
    capsys.readouterr()
    assert verbs.main(["profile", "check", "need.toml", *names, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [each["needs"][0]["met"] for each in told] == [True, False, False]
    assert [(each["answer"], each["persona"], each["level"]) for each in told] == [
        ("yes", "user", "2"), ("not known", "user", "none"), ("no", "user", "none")]
    assert verbs.main(["profile", "merge", *names[:2]]) == 0
    said_ = capsys.readouterr()
    assert json.loads(said_.out)["kernel"] == {} and "left out: user a.b: " in said_.err


@pytest.fixture
def row(tmp_path: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree with one row that ships."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matrix").mkdir()
    made = make_run(name="matrix/amd64-6.1")
    assert verbs.main(["result", "--quiet", str(made)]) == 0
    answers.write([tmp_path / "matrix"])
    Path("need.toml").write_text('format = 1\npersona = "root"\n[[need]]\nwhat = "x"\nany = '
                                 '[["ring.write_backward.newest", "ring.write_backward.max_pages=128"]]\n')


@pytest.mark.parametrize(("more", "status", "said"), [
    ([], 0, ""), (["--persona", "rot"], 2, "there are: root perfmon user seccomp same; did you mean root?"),
    (["--persona", "seccomp"], 4, ""), (["--level", "1"], 4, ""), (["--level", "two"], 2, "no level of perf_event"),
    (["--level", "22"], 2, "did you mean 2?")])
def test_words_that_nobody_knows_are_misuse(row: None, more: list[str], status: int, said: str,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    assert verbs.main(["check", "need.toml", "amd64-6.1", *more]) == status
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("old", "new", "said"), [
    ("newest", "newset", "no point or fact 'ring.write_backward.newset'; did you mean ring.write_backward.newest?"),
    ('"root"', '"usr"', "did you mean user?")])
def test_a_misspelt_requirement_is_misuse(row: None, old: str, new: str, said: str,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    need = Path("need.toml")
    need.write_text(need.read_text().replace(old, new))
    assert verbs.main(["check", "need.toml", "amd64-6.1"]) == 2
    assert said in capsys.readouterr().err


def test_a_misspelt_row_is_named(row: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert verbs.main(["check", "need.toml", "amd64-6.2"]) == 3
    assert "no answers of that name ship; did you mean amd64-6.1?" in capsys.readouterr().err


def test_a_row_that_nobody_asked_says_why(row: None, capsys: pytest.CaptureFixture[str]) -> None:
    answers.UNANSWERED.write_text('["amd64-6.2"]\nreason = "its list cannot be read"\n', encoding="utf-8")
    assert verbs.main(["check", "need.toml", "amd64-6.2"]) == 3
    assert "amd64-6.2: not known, its answers do not ship: its list cannot be read" in capsys.readouterr().err


def test_the_help_tells_the_exit_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        verbs.main(["profile", "check", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "0 all of it is yes; 4 all of it is yes or not known; 1 some is neither; 2 a point" in said


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
