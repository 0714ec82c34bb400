# SPDX-License-Identifier: MIT
"""The verbs on result directories, good ones and those of strangers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import CATALOGUE, CLOCK, GOOD, MakeRun, ktap, skipped

from reports import schema, text, verbs

ROOT = Path(__file__).resolve().parents[2]
BROKEN = GOOD.replace("ok 2 global.plain", "#:perfmodes: observed=0\nnot ok 2 global.plain")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No expectations and no build of the tree around; a terminal of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def run(*args: object) -> int:
    return verbs.main([str(arg) for arg in args])


def load(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def test_result_writes_both_files_and_says_so(make_run: MakeRun, capsys) -> None:
    top = make_run({"root": {"ring.write_backward": ktap(GOOD), "sw.clock": ktap(CLOCK)},
                    "user": {"ring.write_backward": ktap(skipped(GOOD, "blocked: paranoid=3")),
                             "sw.clock": ktap(skipped(CLOCK, "absent: no PMU"))}})
    assert run("result", "--all", top) == 0
    made, profile = load(top / "result.json"), load(top / "profile.json")
    assert schema.problems("result", made) == [] == schema.problems("profile", profile)
    assert made["summary"]["user"]["blocked"] == 2 and made["summary"]["root"]["yes"] == 3
    assert profile["kernel"] == {"ring.write_backward.newest": "yes", "sw.clock.counts": "yes",
                                 "ring.write_backward.plain": "yes",
                                 "ring.write_backward.max_pages": 128}
    assert profile["personas"]["user"] == {"ring.write_backward.newest": "blocked",
                                           "ring.write_backward.plain": "blocked"}
    assert profile["evidence"] == [made["id"]]
    out = capsys.readouterr().out
    assert "2/2" in out and "0/2 blocked" in out and "paranoid=3" in out
    assert out.index("root") < out.index("user")
    assert sorted(file.name for file in top.iterdir()) == [
        "catalogue", "env", "plan", "profile.json", "result.json", "root", "user"]


def test_the_same_directory_gives_the_same_bytes(make_run: MakeRun) -> None:
    top = make_run()
    run("result", "--quiet", top)
    first = (top / "result.json").read_bytes()
    run("result", "--quiet", top)
    assert (top / "result.json").read_bytes() == first and first.endswith(b"}\n")


def test_result_exits_1_on_broken(make_run: MakeRun, capsys) -> None:
    top = make_run({"root": {"ring.write_backward": ktap(BROKEN, 1)}})
    assert run("result", top) == 1
    assert "  broken   ring.write_backward.plain: 0; expected yes" in capsys.readouterr().out
    assert run("result", "--all", top) == 1
    assert "unexpected: ring.write_backward.plain (root) is broken" in capsys.readouterr().out


def test_expectations_are_taken_from_the_tree(make_run: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "suites" / "expect").mkdir(parents=True)
    (tmp_path / "suites" / "expect" / "ring.write_backward.toml").write_text(
        'format = 1\n[[deviation]]\npoint = "plain"\nwhen = {arch = "x86_64"}\n'
        'verdict = "broken"\nreason = "known to lie there"\nlink = "https://example.org/issues/1"\n')
    top = make_run({"root": {"ring.write_backward": ktap(BROKEN, 1)}})
    assert run("result", "--quiet", top) == 0


def test_a_partial_run_is_valid(make_run: MakeRun) -> None:
    top = make_run({"root": {"ring.write_backward": ktap(GOOD), "sw.clock": ""}, "user": {}})
    (top / "plan").write_text("root ring.write_backward\nroot sw.clock\nuser sw.clock\n")
    (top / "root" / "sw.clock.ktap.part").write_text(CLOCK)
    assert run("result", "--quiet", top) == 0
    made = load(top / "result.json")
    for persona in ("root", "user"):
        probe = made["personas"][persona]["probes"]["sw.clock"]
        assert probe == {"status": "not_run", "facts": {},
                         "points": {"counts": {"verdict": "unknown", "reason": "not run"}}}


def test_without_plan_or_catalogue_there_is_still_a_result(make_run: MakeRun, capsys) -> None:
    top = make_run()
    (top / "plan").unlink()
    (top / "catalogue").unlink()
    assert run("result", "--quiet", top) == 0
    assert load(top / "profile.json")["kernel"] == {}
    said = capsys.readouterr().err
    assert "no plan" in said and "no catalogue" in said


@pytest.mark.parametrize("spoil", ["", "env", "release", "format", "empty"])
def test_an_unusable_directory_is_exit_3_and_one_line(make_run: MakeRun, capsys, tmp_path: Path,
                                                      spoil: str) -> None:
    top = make_run()
    if spoil == "env":
        (top / "env").unlink()
    elif spoil == "release":
        (top / "env").write_text("format=1\narch=x86_64\n")
    elif spoil == "format":
        (top / "env").write_text("format=2\narch=x86_64\nrelease=6.1\n")
    elif spoil == "empty":
        (top / "plan").write_text("")
        for file in (top / "root").iterdir():
            file.unlink()
    else:
        top = tmp_path / "nothing here"
    assert run("result", top) == 3
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("reports: ") and said.err.count("\n") == 1


def test_a_file_of_100_mb_is_read_to_its_bound_only(make_run: MakeRun) -> None:
    top = make_run({"root": {"ring.write_backward": ktap(GOOD), "sw.clock": ktap(CLOCK)}})
    with open(top / "root" / "sw.clock.ktap", "r+b") as file:
        file.truncate(100 << 20)
        file.seek(0, os.SEEK_END)
        file.write(b"\n#:launch: exit=0 signal=9 ms=7 timeout=0 truncated=1 leftover=0 bytes=1\n")
    before = time.process_time()
    assert run("result", "--quiet", top) == 0
    assert time.process_time() - before < 3
    probe = load(top / "result.json")["personas"]["root"]["probes"]["sw.clock"]
    assert (probe["status"], probe["signal"]) == ("truncated", 9)
    assert probe["points"]["counts"]["reason"] == "output larger than 4 MiB"


def test_full_files_and_long_lines_are_read_in_time(make_run: MakeRun) -> None:
    bodies = {"hashes": b"# " * (2 << 20), "results": b"ok 1 a\n" * 500_000,
              "spaces": (b"ok 1 a" + b" " * 8000 + b"x\n") * 500,
              "slashes": (b"# " + b"/a" * 4000 + b"\n") * 500,
              "facts": b"#:perfmodes: a=b\n" * 200_000, "names": b"".join(
                  b"ok %d a.b%d\n" % (n, n) for n in range(1, 200_000)),
              "deep": b"".join(b"  " * (n % 12) + b"ok 1 a\n" for n in range(100_000)),
              "escapes": b"\x1b" * (4 << 20)}
    for name, body in bodies.items():
        top = make_run({"root": {"sw.clock": "x\n"}}, name)
        (top / "root" / "sw.clock.ktap").write_bytes(body[:(4 << 20) - 100] + b"\n")
        before = time.process_time()
        assert run("result", "--quiet", top) == 0, name
        assert time.process_time() - before < 3, name


def test_a_short_plan_of_a_long_declaration_is_refused(make_run: MakeRun, capsys) -> None:
    """Two files of two megabytes would make ten thousand million points."""
    points = "".join(f"point=p{number} x\n" for number in range(5_000))
    top = make_run(catalogue=f"id=sw.clock\ntitle=t\nsince=4.7\n{points}")
    plan = [f"p{number} sw.clock\n" for number in range(40)]
    (top / "plan").write_text("".join(plan))
    assert run("result", "--quiet", top) == 3
    assert "205000 points, at most 50000" in capsys.readouterr().err
    (top / "plan").write_text("".join(plan[:2]))
    assert run("result", "--quiet", top) == 0


def test_more_than_10000_results_are_a_flood(make_run: MakeRun) -> None:
    for count, status in ((10_000, "done"), (10_001, "truncated")):
        body = f"TAP version 13\n1..{count}\n" + "".join(
            f"ok {number} f.p{number}\n" for number in range(1, count + 1))
        top = make_run({"root": {"sw.clock": ktap(body)}}, f"run{count}")
        assert run("result", "--quiet", top) == 0
        probe = load(top / "result.json")["personas"]["root"]["probes"]["sw.clock"]
        assert probe["status"] == status and len(probe["points"]) == 201
        assert probe["points"]["counts"]["verdict"] == "unknown"


def test_an_env_of_many_megabytes_is_cut_and_said(make_run: MakeRun, capsys) -> None:
    top = make_run(env="x" * (2 << 20) + "\n")
    assert run("result", "--quiet", top) == 0
    assert "env: larger than 1 MiB; cut" in capsys.readouterr().err


def test_links_devices_and_fifos_are_not_followed(make_run: MakeRun, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(ktap(CLOCK))
    top = make_run({"root": {"ring.write_backward": ktap(GOOD), "sw.clock": ""}})
    clock = top / "root" / "sw.clock.ktap"
    for make in (lambda: clock.symlink_to(secret), lambda: os.mkfifo(clock), clock.mkdir):
        make()
        assert run("result", "--quiet", top) == 0
        made = load(top / "result.json")["personas"]["root"]["probes"]["sw.clock"]
        assert made["status"] == "not_run" and made["points"]["counts"]["verdict"] == "unknown"
        clock.rmdir() if clock.is_dir() and not clock.is_symlink() else clock.unlink()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "env").write_text("secret=1\n")
    (tmp_path / "elsewhere" / "sw.clock.ktap").write_text(ktap(CLOCK))
    (top / "user").symlink_to(tmp_path / "elsewhere")
    (top / "plan").write_text("user sw.clock\n")
    assert run("result", "--quiet", top) == 0
    user = load(top / "result.json")["personas"]["user"]
    assert user["environment"] == {} and user["probes"]["sw.clock"]["status"] == "not_run"


def test_hostile_names_in_plan_and_folders_are_ignored(make_run: MakeRun, capsys) -> None:
    top = make_run()
    (top / "plan").write_bytes(b"root ring.write_backward\nroot ../../etc/passwd\nROOT a.b\n"
                               b"\xff \x1b[2J\nroot\n" + b"a b c\n")
    (top / "\x1b[2J").mkdir()
    (top / "root" / "..x.ktap").write_text("ok")
    assert run("result", top) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err and "5 lines are not" in said.err


def test_control_characters_never_reach_the_terminal(make_run: MakeRun, capsys) -> None:
    why = "no: \x1b[31m\x9b2J \u202e [bold]x[/bold] | `x` <b>"
    top = make_run({"root": {"sw.clock": ktap(skipped(CLOCK, why))}},
                   env="board=\x1b]0;title\x07\n")
    run("result", top)
    for options in ([], ["--all"], ["--markdown"], ["--all", "--width", "200"]):
        assert run("table", top, *options) == 0
    for options in ([], ["--all"], ["--width", "200"]):
        assert run("show", top, *options) == 0
    out = capsys.readouterr().out
    assert not any(char in out for char in "\x1b\x9b\x07\u202e")
    assert "[bold]x[/bold]" in out and "\\| \\`x\\` \\<b\\>" in out


@pytest.mark.parametrize("width", [40, 80, 200])
def test_tables_fit_the_width(make_run: MakeRun, capsys, width: int) -> None:
    why = "blocked: perf_event_paranoid=3 and a kernel that wants CAP_PERFMON for everything " * 2
    personas = {name: {"ring.write_backward": ktap(skipped(GOOD, why)), "sw.clock": ktap(CLOCK)}
                for name in ("root", "perfmon", "user", "seccomp")}
    top = make_run(personas)
    run("table", top, "--width", width)
    lines = capsys.readouterr().out.splitlines()
    assert any("write_" in line for line in lines)
    body = [line for line in lines if line.startswith(" ")]
    assert max(map(len, body)) <= max(width, 70)


def test_table_of_several_results(make_run: MakeRun, capsys) -> None:
    old = make_run({"root": {"ring.write_backward": ktap(skipped(GOOD, "no: EINVAL"))}}, "old",
                   "4.6.0")
    new = make_run(None, "new", "6.1.0")
    assert run("table", old, new) == 0
    out = capsys.readouterr().out
    assert [line.split() for line in out.splitlines()[:5]] == [
        ["4.6.0", "6.1.0"], ["point", "root", "root"], [],
        ["ring.write_backward.newest", "no", "yes"], ["EINVAL"]]
    assert "sw.clock" not in out     # yes where it was asked
    assert run("table", old, new, "--markdown") == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[0] == "| point | 4.6.0 root | 6.1.0 root | reason |"
    assert "| ring.write\\_backward.newest | no | yes | EINVAL |" in rows
    assert run("table", old, old, "--persona", "nobody") == 2


def test_diff_and_timing(make_run: MakeRun, capsys) -> None:
    a = make_run(name="a")
    b = make_run({"root": {"ring.write_backward": ktap(BROKEN, 1, ms=40),
                           "sw.clock": ktap(CLOCK)}}, "b")
    assert run("diff", a, a, "--exit-code") == 0 and capsys.readouterr().out == ""
    line = "REGRESSION root ring.write_backward.plain: yes -> broken: 0\n"
    assert run("diff", a, b) == 1 and capsys.readouterr().out == line
    assert run("diff", b, a) == 0 and run("diff", b, a, "--exit-code") == 1
    assert "REGRESSION" not in capsys.readouterr().out
    assert run("diff", b, a, "--regressions") == 0 and capsys.readouterr().out == ""
    assert run("diff", a, b, "--json") == 1
    assert json.loads(capsys.readouterr().out)[0]["regression"] is True
    assert run("timing", b) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["40", "ms", "root", "ring.write_backward", "(2", "points)"]
    assert lines[-1].startswith("     45 ms  in all: 2 probe runs, 3 points")


def test_profile_verb(make_run: MakeRun, capsys, tmp_path: Path) -> None:
    top = make_run()
    assert run("profile", top) == 0
    printed = json.loads(capsys.readouterr().out)
    assert run("profile", top, "-o", tmp_path / "p.json") == 0
    assert load(tmp_path / "p.json") == printed


def test_validate(make_run: MakeRun, capsys, tmp_path: Path) -> None:
    top = make_run()
    run("result", "--quiet", top)
    files = [top / name for name in ("result.json", "profile.json", "catalogue")]
    assert run("validate", *files) == 0
    assert run("validate", top) == 0 and capsys.readouterr().out.count(": valid\n") == 6
    profile = load(top / "profile.json")
    profile["kernel"]["a.b"] = None
    (tmp_path / "bad.json").write_text(json.dumps(profile))
    assert run("validate", tmp_path / "bad.json") == 1
    assert "never unknown, absent or null" in capsys.readouterr().out


def test_validate_goes_on_behind_a_file_that_is_none(make_run: MakeRun, capsys, tmp_path: Path) -> None:
    top = make_run()
    (tmp_path / "cut.json").write_text('{"format": 1, "ki')
    assert run("validate", tmp_path / "cut.json", top / "catalogue", tmp_path / "gone.json") == 3
    said = capsys.readouterr()
    assert said.out == f"{top / 'catalogue'}: valid\n" and said.err.count("\n") == 2
    assert "cut.json: not usable JSON" in said.err and "gone.json: No such file" in said.err


@pytest.mark.parametrize("content", [
    b"", b"{", b"[]", b"null", b"3", b'"x"', b"{}", b"\xff\xfe", b"[" * 200_000, b'{"a":' * 100_000,
    b'{"format": NaN}', b'{"format": 1, "kind": "result"}', b'{"kind": {}}', b"9" * 5000,
    b'{"\x1b[2J": 1}'])
def test_a_strangers_result_is_refused_in_one_line(tmp_path: Path, capsys,
                                                   content: bytes) -> None:
    (tmp_path / "result.json").write_bytes(content)
    assert run("table", tmp_path) == 3
    assert run("validate", tmp_path / "result.json") in (1, 3)
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err and "Traceback" not in said.err
    assert said.err.count("\n") <= 2


@pytest.mark.parametrize("spoil", [
    lambda made: made["identity"].update(release="6.1\n"),
    lambda made: made.update(suite="default\n"),
    lambda made: made["personas"].update({"user\n": made["personas"]["root"]}),
    lambda made: made["personas"]["root"]["probes"].update({"a.b\n": {
        "status": "done", "points": {}, "facts": {}}}),
    lambda made: made["personas"]["root"]["probes"]["sw.clock"]["points"].update(
        {"x\n": {"verdict": "yes"}})])
def test_no_line_break_hides_at_the_end_of_a_word(make_run: MakeRun, tmp_path: Path, capsys,
                                                  spoil) -> None:
    """Python's `$` lets one pass; a table would have a line that no cell is known to end."""
    top = make_run()
    run("result", "--quiet", top)
    made = load(top / "result.json")
    spoil(made)
    (tmp_path / "r.json").write_text(json.dumps(made))
    assert run("table", tmp_path / "r.json") == 3
    assert "not a result" in capsys.readouterr().err


def test_a_strangers_valid_result_is_escaped(make_run: MakeRun, tmp_path: Path, capsys) -> None:
    top = make_run()
    run("result", "--quiet", top)
    made = load(top / "result.json")
    made["identity"]["release"] = "6.1\u2028\u202e x"
    (tmp_path / "r.json").write_text(json.dumps(made))
    assert run("table", tmp_path / "r.json") == 0
    assert run("table", tmp_path / "r.json", tmp_path / "r.json") == 0
    out = capsys.readouterr().out
    assert "\\u202e" in out and "\u202e" not in out and "\u2028" not in out
    made["identity"]["board"] = "\U000e0041"
    (tmp_path / "r.json").write_text(json.dumps(made))
    assert run("profile", tmp_path / "r.json") == 0
    out = capsys.readouterr().out
    assert out.isascii() and json.loads(out)["identity"]["board"] == made["identity"]["board"]
    assert run("profile", tmp_path / "r.json", "-o", tmp_path / "p.json") == 0
    assert load(tmp_path / "p.json") == json.loads(out)
    made["identity"]["board"] = "\ud800"
    (tmp_path / "r.json").write_text(json.dumps(made))
    assert run("profile", tmp_path / "r.json") == 3 and "ud800 alone is no character" in capsys.readouterr().err


def test_catalogue_verb(make_run: MakeRun, capsys, tmp_path: Path) -> None:
    top = make_run()
    assert run("catalogue", top, "--count") == 0
    assert "     3 points\n" in capsys.readouterr().out
    for option in ([], ["--json"], ["--markdown"]):
        assert run("catalogue", top / "catalogue", *option) == 0
        assert "ring" in capsys.readouterr().out
    (tmp_path / "bad").write_text(CATALOGUE + "\nid=a.b\n")
    assert run("catalogue", tmp_path / "bad") == 1
    assert run("catalogue", tmp_path / "gone") == 3
    assert run("catalogue") == 3


def test_lint_verb(make_run: MakeRun, capsys, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    assert run("lint", "--tree", tree) == 0
    (tree / "a.c").write_text("int a;\n")
    assert run("lint", "--tree", tree) == 1
    assert "a.c:1: licence: no SPDX" in capsys.readouterr().out
    assert run("lint", "--result", make_run()) == 0
    assert run("lint", "--tree", tmp_path / "gone") == 3


def test_usage_is_exit_2() -> None:
    for args in ([], ["nonsense"], ["result"], ["table", "x", "--width", "3"], ["diff", "a"], ["timing", "x", "--top", "-3"],
                 ["timing", "x", "--top", "0"], ["catalogue", "--json", "--markdown"], ["coverage", "--count", "--markdown"]):
        with pytest.raises(SystemExit) as stop:
            run(*args)
        assert stop.value.code == 2


@pytest.mark.parametrize("width", ["abc", "\u00b2", "-1", "9" * 5000], ids=["abc", "square", "minus", "long"])
def test_what_a_width_is(width: str, capsys) -> None:
    with pytest.raises(SystemExit) as stop:
        run("show", "x", "--width", width)
    assert stop.value.code == 2 and "a width is 20 to 1000 columns\n" in capsys.readouterr().err


def test_every_verb_has_help(capsys) -> None:
    for verb in ("result", "table", "profile", "validate", "catalogue", "coverage", "lint", "diff",
                 "ship", "show", "timing"):
        with pytest.raises(SystemExit) as stop:
            run(verb, "--help")
        assert stop.value.code == 0 and len(capsys.readouterr().out) > 100


def test_an_unwritable_directory_is_exit_3(make_run: MakeRun, capsys, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(text.os, "fsync", full)
    top = make_run()
    assert run("result", "--quiet", top) == 3
    assert "No space left" in capsys.readouterr().err
    assert not any(file.name.startswith(".") or file.name == "result.json"
                   for file in top.iterdir())


def start(*args: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "reports", *args], cwd=ROOT, text=True,
                          capture_output=True, timeout=300, **more)


def test_the_entry_runs_and_a_closed_pipe_is_no_error(make_run: MakeRun) -> None:
    top = str(make_run())
    assert start("table", top, "--all").returncode == 0
    piped = subprocess.run(f"{sys.executable} -m reports table {top} --markdown | true; echo done",
                           shell=True, cwd=ROOT, text=True, capture_output=True, timeout=300)
    assert piped.stdout == "done\n" and piped.stderr == ""


def test_paths_are_of_the_folder_that_the_caller_is_in(make_run: MakeRun, tmp_path: Path) -> None:
    """Else of the tree, whose results are told of by such a path; a result is written where the caller is."""
    def called(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([ROOT / "run.sh", "report", *args], cwd=tmp_path, text=True, capture_output=True, timeout=300,
                              env={**os.environ, "NO_INSTALL": "1", **environment})
    run_folder = make_run()
    (tmp_path / "mine").symlink_to(run_folder)
    table = called("table", "mine", "--all")
    assert (table.returncode, table.stderr) == (0, "") and table.stdout
    assert called("export", "csv", "mine", "-o", "mine.csv").returncode == 0
    assert (tmp_path / "mine.csv").stat().st_size and not (ROOT / "mine.csv").exists()
    assert called("db", "--db", "mine.db", "add", "mine").returncode == 0
    assert (tmp_path / "mine.db").stat().st_size and not (ROOT / "mine.db").exists()
    assert called("db", "add", "mine", PERFMODES_DATABASE="ours.db").returncode == 0
    assert (tmp_path / "ours.db").stat().st_size and not (ROOT / "ours.db").exists()
    assert called("validate", "lib/profiles/amd64-6.12.json").returncode == 0
    assert called("table", "yours").returncode == 3


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nreal = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'rich' else real(name, *a)\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "REPORTS_REEXEC": "1"}
    said = start("table", "x", env=env)
    assert said.returncode == 3
    assert said.stderr == ("reports: no Python module 'rich'; "
                           "install the package python3-rich\n")


@pytest.mark.parametrize("kilobytes", [26000, 32000])   # with 20000, Python 3.13 itself falls
def test_a_limit_on_memory_is_a_sentence(kilobytes: int) -> None:
    done = subprocess.run(["sh", "-c", f'ulimit -v {kilobytes} && exec "$@"', "sh", sys.executable, "-m",
                           "reports", "show", "/nonexistent"], cwd=ROOT, capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == 3 and "Traceback" not in done.stderr
    assert done.stderr.startswith("reports: ") and done.stderr.count("\n") == 1
