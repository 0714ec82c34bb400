# SPDX-License-Identifier: MIT
"""What pages say is true, and what they name is there."""

from __future__ import annotations

import html
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("sqlalchemy", reason="python3-sqlalchemy is not installed")

from reports import answers, asked, defects, plain, verbs
from reports.database import connect, matrix, ship
from reports.database.test.conftest import sealed
from reports.defects import Defect
from reports.export import programs as recorded
from reports.site import bundle, model, places, programs, start
from reports.site.test.conftest import HOSTILE, build_into, make

pytestmark = pytest.mark.xdist_group("site")
TREE = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("meaning, refusal", [
    ("without privilege it is refused with EACCES or EPERM", True),
    ("a kernel thread may not be watched without privilege: EACCES", True),
    ("reserved flag bit 44 is refused with EINVAL", True),
    ("EXIT comes when a member ends, and not when a task beside does", False),
    ("CAP_PERFMON opens a user-mode event; above level 2 it may be EACCES", False),
    ("a filter that says EACCES is told from perf's own refusal", False),
    ("newest record found at data_head", False)])
def test_a_yes_that_is_a_refusal_is_told(meaning: str, refusal: bool) -> None:
    assert model.is_refusal(meaning) is refusal


def test_pages_of_refusals_say_so(built: Path) -> None:
    """Of the made-up points none refuses; of those that ship, the ones named so do."""
    assert "A refusal:" not in (built / "point/alpha.probe1.point0.html").read_text(encoding="utf-8")
    declared = answers.questions(TREE / answers.FOLDER)
    named = {f"{probe.id}.{item.name}": item.meaning for probe in declared.probes.values() for item in probe.points()
             if item.name.endswith("refused")}
    assert len(named) > 20 and all(model.Point(key, None, None).refuses for key in named)


def test_keys_in_manuals_are_points() -> None:
    """What a README tells to type is a point that is asked."""
    declared = answers.questions(TREE / answers.FOLDER)
    known = {f"{probe.id}.{item.name}" for probe in declared.probes.values() for item in probe.points()}
    typed = {key for path in TREE.glob("**/README.md") if "build" not in path.parts
             for key in re.findall(r"report db (?:point|history|lacking) (\S+\.\S+)", path.read_text(encoding="utf-8"))}
    assert typed and typed <= known


def test_what_nobody_asks_is_asked_by_nobody(built: Path) -> None:
    said = (built / "about.html").read_text(encoding="utf-8").partition('id="unasked"')[2].partition("</p>")[0]
    probes = "".join(path.read_text(encoding="utf-8", errors="replace") for path in (TREE / "probes").glob("**/*.c"))
    names = re.findall("<code>([A-Z_]+)</code>", said)
    assert len(names) == 4 and not [name for name in names if name in probes]


def test_why_stands_beside_each_kernel(built: Path) -> None:
    """A verdict that is no yes has a number, and the list of reasons has it."""
    said = (built / "point/alpha.probe0.point0.html").read_text(encoding="utf-8")
    numbers = re.findall(r'<a class="v (?!yes)[a-z]+" href="#r(\d+)">[a-z]+</a> (\d+)', said.partition("</table>")[0])
    assert numbers and all(one == other for one, other in numbers)
    for number, _other in numbers:
        assert re.search(rf'<section class="reason" id="r{number}">\s*<h3>{number}\. <span', said)
    assert said.index('id="reasons"') < said.index('id="history"')


def test_a_share_says_of_whom() -> None:
    """"works on 2 of 2" must not stand above a persona who gets nothing."""
    from reports.database.query import Covered
    from reports.site import story

    class Some:
        coverage = {"a.b.c": Covered()}
        usage = None
    Some.coverage["a.b.c"].other["yes"] += 2
    said = story._devices(Some(), model.Point("a.b.c", None, None))  # type: ignore[arg-type]
    assert said == "works for one persona at least, such as root, on 2 of 2 devices that could tell (virtual, emulated or synthetic)"


def test_pages_say_at_which_level_they_answer(built: Path) -> None:
    """Most of what a user may do depends on it, and systems start with other levels than kernels do."""
    levels = "perf_event_paranoid=2, which kernels have from 4.6 on unless somebody changes it"
    assert f"Each kernel at {levels}" in (built / "index.html").read_text(encoding="utf-8")
    for path in (built / "feature").glob("*.html"):
        assert f"Each at {levels}" in path.read_text(encoding="utf-8")
    for path in [*(built / "area").glob("*.html"), *(built / "point").glob("*.html")]:
        assert "A kernel is at perf_event_paranoid=2 unless its name says another level" in path.read_text(encoding="utf-8")
    for path in (built / "kernel").glob("*.html"):
        said = path.read_text(encoding="utf-8")
        assert re.search('<dt>perf_event_paranoid</dt><dd class="mono">-?[0-9]', said) and "By area <small>as " in said


def test_a_program_is_judged_once_where_kernels_answer_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels answer much alike; each other answer, also one that differs in its verdict alone, is judged."""
    judged: list[str] = []
    wanted = next(filter(None, (recorded.of(name, "user") for name in recorded.names())))
    monkeypatch.setattr(programs, "_told", lambda _wanted, arch, ask, _why: judged.append(arch) or programs.Told(str(ask("a.b.c")), "yes", (len(judged),)))     # type: ignore[func-returns-value]
    known = programs.Known(wanted, "x86_64", start.Why())
    said = [plain.Said("no", "EINVAL", verdict="no"), plain.Said("no", "EINVAL", verdict="no"), plain.Said("no", "EINVAL", verdict="broken"),
            plain.Said("yes"), plain.Said("no", "EINVAL", verdict="no")]
    told = [known.told(lambda _key, each=each: each) for each in said]     # type: ignore[misc]
    assert [each.why for each in told] == [(1,), (1,), (2,), (3,), (1,)] and len(judged) == 3
    looks: list[str] = []
    for number in range(40):        # where no two kernels answer alike, not all that came before are looked at
        known.told(lambda key, number=number: looks.append(key) or plain.Said("no", f"case {number}", verdict="no"))     # type: ignore[misc]
    assert len(judged) == 3 + 40 and len(looks) <= 40 * (programs.KEPT + 1)


def test_programs_are_what_the_command_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of programs and `report programs` are of one mind, here about a row that ships."""
    monkeypatch.chdir(TREE)
    monkeypatch.setattr(answers, "names", lambda *_folder: ["amd64-6.1"])
    with ship.engine() as engine, connect.reading(engine) as connection:
        (place,) = places.read(model.load(connection, matrix.Filter()))
        told = {each.name: next(iter(each.rows))[1] for each in programs.read([place], ["user", "root"])}
    source = asked.of_sheet("amd64-6.1", answers.load("amd64-6.1"))
    for at, persona in enumerate(("user", "root")):
        wanted = recorded._answers(recorded.Column(source, persona, "2"), recorded.FOLDER)
        assert [told[name][at].word for name in recorded.names()] == list(wanted)
    bpftrace = told["bpftrace-profile"][0]
    assert (bpftrace.word, bpftrace.colour) == ("refused", "blocked") and bpftrace.why


def test_an_error_is_reported_in_a_form_that_is_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: Path) -> None:
    """The form knows the field, the field says which answer; without an address there is no link."""
    build_into(tmp_path, [make(3, HOSTILE[5])], monkeypatch)
    monkeypatch.setattr(bundle.shutil, "which", lambda _name: None)
    where = ["site", str(tmp_path / "out"), "--db", str(tmp_path / "site.db"), "--issues"]
    assert verbs.main([*where, "https://git.example/some/one/issues/"]) == 0
    said = html.unescape((tmp_path / "out/point/alpha.probe0.point0.html").read_text(encoding="utf-8"))
    (link, *_others) = re.findall(r'href="(https://git\.example/some/one/issues/new\?[^" ]+)"', said)
    asked_for = parse_qs(urlsplit(link).query)
    form = (TREE / ".github/ISSUE_TEMPLATE" / asked_for["template"][0]).read_text(encoding="utf-8")
    assert "id: cell\n" in form and asked_for["title"] == ["wrong: alpha.probe0.point0"]
    assert re.fullmatch("alpha.probe0.point0, blocked, aarch64 6.3.0, root, [0-9a-f]{16}", asked_for["cell"][0])
    assert "Report an error" not in (built / "point/alpha.probe0.point0.html").read_text(encoding="utf-8")
    for bad in ("http://git.example/x/issues", "https://git.example/x\"onclick=", "javascript:alert(1)"):
        assert verbs.main([*where, bad]) == 3


def test_a_defect_says_which_kernels_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken for somebody in a result of the site; the program is text, whatever is in it."""
    program = tmp_path / "made-up.c"
    program.write_text("int main(void)\n{\n\treturn 1 < 2 && !\"</code><script>\";\n}\n", encoding="utf-8")
    made = Defect("made-up", "counts <b>twice</b>", "who counts", "6.2", "count once",
                  ("alpha.probe0.point0", "no.such.point"), until="6.5", cause="a race", mended_by="d06bf78e55d5")
    monkeypatch.setattr(Defect, "program", property(lambda _self: program))
    monkeypatch.setattr(defects, "read", lambda: [made])
    results = [make(number) for number in range(4)]
    levels = [sealed(each | {"environment": {"paranoid": level}}) for each in results for level in ("-1", "3")]
    site = build_into(tmp_path, levels + results, monkeypatch)
    said = (site / "defects.html").read_text(encoding="utf-8")
    have = {each["identity"]["release"] for each in results if any(
        part["probes"]["alpha.probe0"]["points"]["point0"]["verdict"] == "broken" for part in each["personas"].values())}
    assert len(have) == 1 and "<td>1 kernel</td>" in said
    listed = said.partition('<ul class="points">')[2].partition("</ul>")[0]
    assert re.findall(r'href="kernel/[^"]+">([^<]+)<', listed) == [f"x86_64 {release.removesuffix('-test')}" for release in have]
    assert "<code>no.such.point</code>, not asked by any result here" in listed
    assert "6.2 to before 6.5" in said and "counts &lt;b&gt;twice&lt;/b&gt;" in said and "<script>" not in said
    assert "return 1 &lt; 2 &amp;&amp; !" in said and "https://git.kernel.org/linus/d06bf78e55d5" in said


def test_defects_of_the_tree_have_their_page(built: Path) -> None:
    said = (built / "defects.html").read_text(encoding="utf-8")
    found = defects.read()
    assert found and all(f'<h2 id="{each.name}">' in said and f"{each.name}.c, " in said for each in found)
    rest = said.partition('<h2 id="others">')[2]
    for other in defects.others(found):
        assert html.escape(defects.FAULTS[other.fault]) in rest and all(f"<code>{name}</code>" in rest for name in other.points)
        assert other.source.startswith("commit ") or f'href="{html.escape(other.source)}"' in rest or not other.source


def test_a_kernel_names_what_is_wrong_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reason may have numbers of each run: three personas with one each are one point that is wrong."""
    result = make(1)
    for persona, part in result["personas"].items():
        for probe, name, said in (("alpha.probe1", "point1", f"stamp of {persona}"), ("alpha.probe1", "point2", "the same")):
            part["probes"][probe]["points"][name] = {"verdict": "broken", "reason": said, "evidence": ["seen=1"]}
    site = build_into(tmp_path, [sealed(result)], monkeypatch)
    page = next((site / "kernel").glob("*.html")).read_text(encoding="utf-8")
    listed = page.partition('id="lies"')[2].partition("</ul>")[0]
    assert listed.count("/alpha.probe1.point1.html") == listed.count("/alpha.probe1.point2.html") == 1
    assert all(f'<span class="because">{persona}: stamp of {persona}</span>' in listed for persona in ("root", "perfmon", "user"))
    assert listed.count("the same</span>") == 1 and "<small>root, perfmon, user</small>" in listed
    assert int(re.findall(r"<small>(\d+)</small>", listed)[0]) == listed.count("<li>")
