# SPDX-License-Identifier: MIT
"""What ships with the library: cut down from full profiles, and compiled into a table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports import answers, facts, shipped, text
from reports.test.conftest import CLOCK, GOOD, MakeRun, ktap, make_library
from reports.text import Unusable
from reports.verbs import main

TREE = Path(__file__).resolve().parents[2]


def profile_of(release: str, arch: str = "x86_64", **kernel: Any) -> dict[str, Any]:
    facts = {key.replace("__", "."): value for key, value in kernel.items()}
    return {"format": 1, "kind": "profile", "tool": {"name": "perfmodes", "version": "0.1.0"},
            "identity": {"arch": arch, "release": release, "cpu_model": ["QEMU"],
                         "emulator": "qemu-tcg"},
            "evidence": ["0" * 16], "catalogue": "0" * 12, "kernel": facts,
            "personas": {"user": {"a.b.c": "blocked"}}}


def letters(*profiles: dict[str, Any]) -> list[str]:
    made = shipped.table({str(n): each for n, each in enumerate(profiles)})
    return [line.strip() for line in made.splitlines() if line.startswith("\t{")]


@pytest.mark.parametrize("words", [["--add"], ["--add", "--check", "run"]])
def test_levels_are_added_from_a_run(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ship", *words]) == 2 and "--add takes the levels of a run" in capsys.readouterr().err


def test_only_what_is_asked_and_holds_for_everybody_ships() -> None:
    full = profile_of("6.1.0-18", a__b__c="yes", a__b__d="no", hw__x__y="yes",
                      perm__x__y="yes", perm__level_file__file_agrees="yes")
    made = shipped.cut(full, ["a.b.c", "hw.x.y", "perm.x.y", "perm.level_file.file_agrees"],
                       {"hw.x.y"})
    assert made["kernel"] == {"a.b.c": "yes", "perm.level_file.file_agrees": "yes"}
    assert made["personas"] == {}
    assert made["identity"] == {"arch": "x86_64", "release": "6.1.0-18"}


def test_nothing_of_a_synthetic_pmu_or_of_no_perf_ships(tmp_path: Path,
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    for name, more in (("real", {}), ("made", {"pmu": "synthetic"}), ("uml", {"emulator": "uml"})):
        profile = profile_of("6.1.0", attach__self__counts="yes")
        profile["identity"] |= more
        (tmp_path / name).mkdir()
        text.write_whole(tmp_path / name / "profile.json", text.dump_json(profile))
        (tmp_path / name / "catalogue").write_text("")
    monkeypatch.setattr(shipped.facts, "keys", lambda library: ["attach.self.counts"])
    assert set(shipped.derive(tmp_path)) == {"real"}


def test_rows_with_a_synthetic_pmu_need_no_profile() -> None:
    assert "amd64-6.1" in shipped.row_series() and "amd64-6.1-pmu" not in shipped.row_series()


def test_a_letter_a_fact() -> None:
    assert letters(profile_of("6.1.0", a__b__1="yes", a__b__2="no", a__b__3="broken",
                              a__b__4="hazard", a__b__5=7)) == ['{ "x86_64", "6.1", "ynbh" },']


def test_kernels_of_a_series_share_a_line() -> None:
    one = profile_of("6.1.0-1", a__b__1="yes", a__b__2="no", a__b__3="yes")
    other = profile_of("6.1.0-2", a__b__1="no", a__b__2="hazard", a__b__4="yes")
    assert letters(one, other) == ['{ "x86_64", "6.1", ".hyy" },']


def test_lines_are_in_order_of_versions() -> None:
    facts = {"a__b__1": "yes"}
    assert letters(profile_of("6.12.1", **facts), profile_of("6.1.9", **facts),
                   profile_of("5.10.0", "aarch64", **facts)) == [
        '{ "aarch64", "5.10", "y" },', '{ "x86_64", "6.1", "y" },', '{ "x86_64", "6.12", "y" },']


@pytest.mark.parametrize("release", ["", "six", "6", 'x"'])
def test_a_release_that_is_none_is_refused(release: str) -> None:
    with pytest.raises(text.Unusable):
        shipped.table({"row": profile_of(release, a__b__1="yes")})


def test_an_architecture_that_is_none_is_refused() -> None:
    with pytest.raises(text.Unusable):
        shipped.table({"row": profile_of("6.1.0", 'x", "', a__b__1="yes")})


def test_differences_are_what_was_asked_and_came_out_otherwise() -> None:
    said = {"row": profile_of("6.1.0", a__b__1="yes", a__b__2="yes"), "old": profile_of("5.1.0")}
    now = {"row": profile_of("6.1.0", a__b__1="no", a__b__3="yes"), "new": profile_of("7.1.0")}
    assert list(shipped.differences(said, now)) == [
        "row: a.b.1: ships as yes, now no", "row: a.b.3: ships as unknown, now yes"]
    assert not list(shipped.differences(said, said))


def test_a_row_that_became_another_kernel_is_no_difference() -> None:
    said = {"newest": profile_of("7.3.4", a__b__1="yes")}
    later, same = profile_of("7.4.1", a__b__1="no"), profile_of("7.3.9", a__b__1="no")
    assert list(shipped.moved(said, {"newest": later})) == ["newest"]
    assert not shipped.moved(said, {"newest": same})
    beside = {"row": profile_of("6.1.0")}
    assert not list(shipped.differences(said | beside, {"newest": later} | beside))
    assert list(shipped.differences(said | beside, {"newest": same} | beside))


def test_from_a_run_to_files_and_back(make_run: MakeRun, tmp_path: Path) -> None:
    run = tmp_path / "matrix"
    run.mkdir()
    made = make_run()
    made.rename(run / "amd64-6.1")
    assert main(["result", "--quiet", str(run / "amd64-6.1")]) == 0
    library = make_library(tmp_path / "library", "ring.write_backward.newest", "sw.clock.counts")
    derived = shipped.derive(run, library)
    # sw.clock declares that it needs a PMU
    assert derived["amd64-6.1"]["kernel"] == {"ring.write_backward.newest": "yes"}
    shipped.write(derived, tmp_path / "profiles", tmp_path / "builtin.inc")
    assert shipped.load(tmp_path / "profiles") == derived
    assert '{ "x86_64", "6.1", "y" },' in (tmp_path / "builtin.inc").read_text()
    with pytest.raises(text.Unusable):
        shipped.derive(run, make_library(library, "no.such.key"))


MATRIX = """
[arch.amd64]
runner = "qemu"
[arch.uml]
runner = "uml"
""" + "".join(f'[[row]]\nname = "{name}"\narch = "{arch}"\n{more}\n' for name, arch, more in (
    ("amd64-6.1", "amd64", 'series = "6.1"'), ("amd64-newest", "amd64", ""), ("uml", "uml", ""),
    ("vax-newest", "amd64", 'unavailable = "no archive has it"')))
KEY = "ring.write_backward.newest"


@pytest.fixture
def tree(make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree that ships what its run `matrix` measured: two kernels."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "matrix.toml").write_text(MATRIX)
    (tmp_path / shipped.TABLE).parent.mkdir(parents=True)
    make_library(tmp_path / facts.LIBRARY, KEY, "ring.write_backward.plain")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matrix").mkdir()
    said = {"ring.write_backward": ktap(GOOD), "sw.clock": ktap(CLOCK)}
    for name, release in (("amd64-6.1", "6.1.0-18"), ("amd64-newest", "7.3.4")):
        make_run(dict.fromkeys(answers.wanted(), said), f"matrix/{name}", release)
        assert main(["result", "--quiet", f"matrix/{name}"]) == 0
    assert main(["ship", "matrix"]) == 0
    return tmp_path


def sheet_of(name: str) -> Path:
    return answers.FOLDER / f"{name}.txt"


def change(name: str, old: str, new: str) -> None:
    """A sheet, changed by hand."""
    was = sheet_of(name).read_text()
    assert old in was
    sheet_of(name).write_text(was.replace(old, new))


def by_hand(name: str, work: Callable[[dict[str, Any]], Any]) -> None:
    """A profile, changed by hand."""
    path = shipped.FOLDER / f"{name}.json"
    profile = json.loads(path.read_text())
    work(profile)
    path.write_text(json.dumps(profile))


def gone(name: str) -> None:
    (shipped.FOLDER / f"{name}.json").unlink()
    sheet_of(name).unlink()


def told(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main(["ship", "--check", *args])
    said = capsys.readouterr()
    return status, said.out, said.err


def shipped_again() -> None:
    assert main(["ship"]) == 0


STALE = "lib/policy/profile/builtin.inc: not what lib/profiles says; run the verb ship\n"
UNKNOWN = "u:0000"
DIFFERS: list[tuple[Callable[[], Any], str]] = [
    (lambda: change("amd64-6.1", f"{KEY} y", f"{KEY} n:0000"), f"amd64-6.1: {KEY}: ships as no, now yes\n"),
    (lambda: change("amd64-newest", f"{KEY} y", f"{KEY} {UNKNOWN}"),
     f"amd64-newest: {KEY}: ships as unknown, now yes\n"),
    (lambda: change("amd64-6.1", "arch=x86_64", "arch=aarch64"),
     "amd64-6.1: arch: ships as aarch64, now x86_64\n"),
    (lambda: change("amd64-6.1", "release=6.1.0-18", "release=6.2.0"),
     "amd64-6.1: ships as 6.2, the row is 6.1\n")]


@pytest.mark.parametrize(("mistake", "said"), DIFFERS)
def test_answers_that_a_run_contradicts_are_found(tree: Path, capsys: pytest.CaptureFixture[str],
                                                  mistake: Callable[[], Any], said: str) -> None:
    assert told(capsys, "matrix") == (0, "", "") == told(capsys)
    for name in ("amd64-6.1", "amd64-newest"):
        change(name, "[reasons]\n", "[reasons]\n0000 a reason\n")
    mistake()
    status, out, _ = told(capsys, "matrix")
    assert status == 1 and ".json: not what reports/data/answers says; run the verb ship\n" in out
    shipped_again()
    assert told(capsys, "matrix")[:2] == (1, said)


def test_a_row_that_is_gone_or_renamed_is_found(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone("amd64-6.1")
    shipped_again()
    assert told(capsys, "matrix")[1] == (
        "amd64-6.1: no profile of this row; run it, then the verb ship\n"
        "amd64-6.1: no answers of this row; run it, then the verb ship\n")
    sheet_of("amd64-newest").rename(sheet_of("vax-newer"))
    assert "vax-newer: answers of no row of the matrix\n" in told(capsys)[1]
    sheet_of("vax-newer").rename(sheet_of("amd64-6.1"))
    assert "amd64-6.1: these are the answers of amd64-newest\n" in told(capsys)[1]


def test_a_tree_without_answers_is_found(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in answers.names():
        sheet_of(name).unlink()
    status, out, _ = told(capsys)
    assert status == 1 and "amd64-6.1: no answers of this row; run it, then the verb ship\n" in out


def test_a_profile_changed_by_hand_is_found(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_hand("amd64-6.1", lambda made: made["kernel"].update({KEY: "no"}))
    said = "lib/profiles/amd64-6.1.json: not what reports/data/answers says; run the verb ship\n"
    assert told(capsys) == (1, said + STALE, "")
    shipped_again()
    assert told(capsys, "matrix") == (0, "", "")


def test_a_table_changed_by_hand_is_found(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    was = shipped.TABLE.read_text()
    shipped.TABLE.write_text(was.replace('"yy"', '"yn"', 1))
    assert shipped.TABLE.read_text() != was
    assert told(capsys) == (1, STALE, "") == told(capsys, "matrix")
    assert main(["ship"]) == 0 and shipped.TABLE.read_text() == was
    shipped.TABLE.unlink()
    assert told(capsys)[0] == 3


@pytest.mark.parametrize(("old", "new", "said"), [
    (f"{KEY} y\n", "", "root: 1 point without an answer or a reason: ring.write_backward.newest\n"),
    (f"{KEY} y\n", f"{KEY} y - y\n", "perfmon: 1 point without an answer or a reason: ring.write_backward.n"),
    ("personas root perfmon user", "personas root", "amd64-6.1 at perf_event_paranoid=2: not asked as perfmon user\n"),
    ("\ncatalogue ", "\ncatalogue 0", "amd64-6.1: no sheet of answers"),
])
def test_what_a_row_lacks_is_found(tree: Path, capsys: pytest.CaptureFixture[str], old: str, new: str,
                                   said: str) -> None:
    """A key or a persona that other rows have."""
    if new == "personas root":
        source = sheet_of("amd64-6.1").read_text()
        sheet_of("amd64-6.1").write_text("\n".join(
            line for line in source.split("\n") if not line.startswith(("as perfmon", "as user"))))
    change("amd64-6.1", old, new)
    status, out, err = told(capsys)
    assert (status == 1 and said in out) or (status == 3 and "tool/catalogue" in err), out + err


def test_rows_of_different_catalogues_are_found(tree: Path, make_run: MakeRun,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    digest = answers.load("amd64-6.1").catalogue
    change("amd64-6.1", f"catalogue {digest}", "catalogue 0123456789ab")
    assert f"amd64-6.1: was asked catalogue 0123456789ab, the others {digest}\n" in told(capsys)[1]
    for path in ("matrix", "other"):        # a run that is not of one catalogue, and one row of another
        Path(path).mkdir(exist_ok=True)
        row = make_run({"root": {"sw.clock": ktap(CLOCK)}}, f"{path}/amd64-new",
                       catalogue="id=sw.clock\ntitle=t\nsince=4.1\npoint=counts counts\n")
        assert main(["result", "--quiet", str(row)]) == 0
    assert main(["ship", "matrix"]) == 3
    assert "the rows come from different catalogues: " in capsys.readouterr().err
    assert main(["ship", "other"]) == 3
    assert "2 rows that stay (amd64-6.1, amd64-newest) catalogue" in capsys.readouterr().err
    assert not sheet_of("amd64-new").exists()


def test_a_key_the_library_asks_anew_is_found(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_library(tree / facts.LIBRARY, KEY)
    shipped_again()
    assert told(capsys, "matrix") == (0, "", "")
    make_library(tree / facts.LIBRARY, KEY, "ring.write_backward.plain")
    status, out, _ = told(capsys, "matrix")
    assert status == 1 and out.count("ring.write_backward.plain: ships as unknown, now yes") == 2
    assert out.count(".json: not what reports/data/answers says") == 2


def test_a_row_that_has_moved_on_is_told_and_the_others_are_compared(
        tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change("amd64-newest", "release=7.3.4", "release=7.2.1")
    change("amd64-6.1", "[reasons]\n", "[reasons]\n0000 a reason\n")
    shipped_again()
    moved = "reports: amd64-newest: ships as 7.2, is 7.3 now: not compared; the verb ship takes it in\n"
    assert told(capsys, "matrix") == (0, "", moved)
    change("amd64-6.1", f"{KEY} y", f"{KEY} n:0000")
    status, out, err = told(capsys, "matrix")
    assert (status, err) == (1, moved) and "amd64-6.1.json: not what" in out


def test_a_run_that_compares_nothing_shows_nothing(tree: Path,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    change("amd64-newest", "release=7.3.4", "release=7.2.1")
    shipped_again()
    (tree / "matrix" / "amd64-6.1").rename(tree / "elsewhere")
    status, out, _ = told(capsys, "matrix")
    assert status == 1 and out.startswith("nothing to compare")


def test_what_a_row_could_not_tell_and_others_could_is_named(
        tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change("amd64-6.1", "[reasons]\n", "[reasons]\n0000 it took too long\n")
    change("amd64-6.1", f"{KEY} y", f"{KEY} {UNKNOWN}")
    capsys.readouterr()
    shipped_again()
    assert capsys.readouterr().err == (
        f"reports: amd64-6.1: {KEY} is unknown: it took too long; 1 other row could tell\n")


@pytest.mark.parametrize("spoilt", ["", "[[row]]", "[arch]\nrow = 3", "=", '[arch]\n[[row]]\nname="a"'])
def test_without_a_list_of_kernels_nothing_is_fine(
        tree: Path, capsys: pytest.CaptureFixture[str], spoilt: str) -> None:
    shipped.MATRIX.write_text(spoilt)
    status, out, err = told(capsys)
    assert status == 3 and "no list of kernels" in err and not out


def test_the_compiled_table_is_that_of_the_profiles() -> None:
    profiles = shipped.load(TREE / shipped.FOLDER)
    assert profiles, "nothing ships"
    assert (TREE / shipped.TABLE).read_text(encoding="utf-8") == shipped.table(profiles)


def test_every_row_of_the_matrix_ships() -> None:
    wanted = shipped.row_series(TREE / shipped.MATRIX)
    assert not list(shipped.misplaced(shipped.load(TREE / shipped.FOLDER), wanted))


def test_every_row_of_the_matrix_answers_whole() -> None:
    """Every point, as every persona; and the profiles are what the answers say."""
    every = shipped.row_series(TREE / shipped.MATRIX, every=True)
    sheets, declared = answers.load_all(TREE / answers.FOLDER), answers.questions(TREE / answers.FOLDER)
    excused = answers.unanswered(TREE / answers.UNANSWERED)
    assert not list(answers.problems(sheets, declared, shipped.row_series(TREE / shipped.MATRIX), every, excused))
    derived, profiles = shipped.from_answers(sheets, declared, TREE / facts.LIBRARY), shipped.load(TREE / shipped.FOLDER)
    assert derived == {name: profile for name, profile in profiles.items() if name not in excused}


def test_a_row_without_answers_is_listed_with_a_reason(tmp_path: Path) -> None:
    """And no longer than it has none."""
    listed = tmp_path / "unanswered.toml"
    listed.write_text('[gone]\nreason = "its package list cannot be read"\n', encoding="utf-8")
    excused = answers.unanswered(listed)
    assert excused == {"gone": "its package list cannot be read"}
    declared = answers.questions(TREE / answers.FOLDER)
    assert [*answers.problems({}, declared, ["gone", "here"], ["gone", "here"], excused)] == [
        "here: no answers of this row; run it, then the verb ship"]
    sheets = {"amd64-6.1": answers.load("amd64-6.1", TREE / answers.FOLDER)}
    assert "amd64-6.1: has answers; take it out of reports/data/unanswered.toml" in answers.problems(
        sheets, declared, [], ["amd64-6.1"], ["amd64-6.1"])
    listed.write_text("[gone]\n", encoding="utf-8")
    with pytest.raises(Unusable, match="no list of rows and reasons"):
        answers.unanswered(listed)


def test_what_ships_is_asked_by_the_library() -> None:
    asked = set(facts.keys(TREE / facts.LIBRARY))
    for name, profile in shipped.load(TREE / shipped.FOLDER).items():
        assert set(profile["kernel"]) <= asked, f"{name}: the library asks this no longer"
        assert not profile["personas"] and "hypervisor" not in profile["identity"]


def test_what_the_library_asks_is_in_the_quick_suite() -> None:
    """Every row of the matrix runs at least that one, so each of them can ship."""
    lines = (TREE / "suites" / "quick.txt").read_text(encoding="utf-8").splitlines()
    quick = {line for line in lines if "." in line and not line.startswith("#")}
    missing = {key for key in facts.keys(TREE / facts.LIBRARY)
               if ".".join(key.split(".")[:2]) not in quick}
    assert not missing


# Debian builds the kernels of these without CPU hotplug.
CPUS_STAY = {("armv6l", "6.1"), ("armv6l", "6.12"), ("mips64", "6.1"), ("mips64", "6.12")}


def unanswered(profiles: dict[str, dict[str, Any]], asked: set[str]) -> dict[tuple[str, str], set[str]]:
    """What no row of an architecture and series answers, of what programs look up."""
    said: dict[tuple[str, str], set[str]] = {}
    for profile in profiles.values():
        release = ".".join(re.findall(r"\d+", profile["identity"]["release"])[:2])
        said.setdefault((profile["identity"]["arch"], release), set()).update(profile["kernel"])
    return {place: asked - keys for place, keys in said.items() if asked - keys}


def test_a_series_without_an_answer_is_seen() -> None:
    profiles = {"one": profile_of("5.10.1", **{"perm.level_file.file_agrees": "yes"}),
                "two": profile_of("5.10.2", **{"hotplug.cpus.reopened": "yes"}),
                "three": profile_of("6.1.0", **{"hotplug.cpus.reopened": "yes"})}
    missing = unanswered(profiles, {"hotplug.cpus.reopened", "perm.level_file.file_agrees"})
    assert missing == {("x86_64", "6.1"): {"perm.level_file.file_agrees"}}


def test_each_series_answers_what_programs_look_up() -> None:
    """Tracepoints' scope, DISABLE, hotplug and the file of the level ship for each of them."""
    deciding = facts.deciding(TREE / facts.LIBRARY)
    asked = {key for key, tables in deciding.items() if "programs" in tables}
    assert {key.split(".")[0] for key in asked} >= {"tracepoint", "poll", "hotplug", "perm"}
    missing = unanswered(shipped.load(TREE / shipped.FOLDER), asked)
    hotplug = {key for key in asked if key.startswith("hotplug.")}
    assert missing == {place: hotplug for place in CPUS_STAY}
