# SPDX-License-Identifier: MIT
"""The numbers of the front pages are those of what probes printed, as a second program counts them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="python3-sqlalchemy is not installed")

from reports import expect
from reports.database import connect, matrix, store
from reports.site import build, bundle, model
from reports.test.conftest import MakeRun, ktap

pytestmark = pytest.mark.xdist_group("site")
COUNT = Path(__file__).with_name("recount.py")
CATALOGUE = """id=sample.callchain
title=chains
since=2.6.31
point=user of user code
point=depth is limited
fact=deferred verdict - they are known

id=sample.stack
title=stacks
since=3.7
needs=root
point=content what is there
point=begins_at_sp where it begins

id=sample.registers
title=registers
since=3.7
point=user of user code

id=pmu.kprobe
title=kprobes
since=4.17
point=counts hits are counted
"""
RUN = "#  RUN           global.{name} ...\n"
CHAINS = ("TAP version 13\n1..2\n" + RUN.format(name="user") + "ok 1 global.user\n" + RUN.format(name="depth")
          + "ok 2 global.depth\n#:perfmodes: deferred=blocked: a level is in the way\n")
WRONG = ("TAP version 13\n1..2\n" + RUN.format(name="user") + "#:perfmodes: observed=3 of 4\nnot ok 1 global.user\n"
         + RUN.format(name="depth") + "not ok 2 global.depth\n#:perfmodes: deferred=no: EINVAL\n")
REFUSED = "TAP version 13\n1..2\n" + "".join(
    RUN.format(name=name) + f"ok {at} global.{name} # SKIP blocked: EACCES: paranoid\n" for at, name in enumerate(("user", "depth"), 1))
STACK = "TAP version 13\n1..2\nok 1 global.content\nok 2 global.begins_at_sp # SKIP absent: nothing is there\n"
GOOD_STACK = "TAP version 13\n1..2\nok 1 global.content\nok 2 global.begins_at_sp\n"
REGISTERS = "TAP version 13\n1..1\nok 1 global.user\n"
KPROBE = "TAP version 13\n1..1\nok 1 global.counts\n"
HELD = "TAP version 13\n1..0 # SKIP blocked: runs only with --may-disturb\n"
LYING = "TAP version 13\n1..3\nok 1 global.content\nok 2 global.begins_at_sp\n"


def told(callchain: str, stack: str, registers: str, kprobe: str) -> dict[str, str]:
    return {"sample.callchain": callchain, "sample.stack": stack, "sample.registers": registers, "pmu.kprobe": kprobe}


RUNS = {
    "amd64-6.1": {"root": told(ktap(CHAINS), ktap(GOOD_STACK), ktap(REGISTERS), ktap(KPROBE)),
                  "user": told(ktap(REFUSED), ktap(STACK, code=0), ktap(REGISTERS), ktap(HELD, code=4))},
    "amd64-6.12": {"root": told(ktap(WRONG, code=1), ktap(LYING), "", ktap(KPROBE)),
                   "user": told(ktap(CHAINS).replace("ok 2", "ok 7"), ktap(GOOD_STACK), ktap(REGISTERS), ktap(KPROBE, code=1))},
    "arm64-6.1": {"root": told(ktap(CHAINS).rpartition("#:launch")[0], ktap(GOOD_STACK), ktap(REGISTERS), ktap(KPROBE)),
                  "user": told(ktap(CHAINS), ktap(STACK), ktap(REGISTERS), ktap(KPROBE))},
}
# Of the start page, worked out by hand.
CHAINS_AS_USER = {"amd64-6.1": "blocked", "amd64-6.12": "unknown", "arm64-6.1": "yes"}


@pytest.fixture
def site(tmp_path: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of three kernels, without scripts."""
    monkeypatch.setattr(bundle, "install", lambda: "not asked for")
    engine = connect.open_engine(str(tmp_path / "site.db"), create=True)
    adder = store.Store(engine, expect.Expectations())
    runs = [make_run(outputs, name, f"{name.partition('-')[2]}.0", CATALOGUE, f"kernel_row={name}\n") for name, outputs in RUNS.items()]
    assert {each.what for each in adder.add(runs)} == {store.ADDED}
    with connect.reading(engine) as connection:
        build.build(model.load(connection, matrix.Filter()), tmp_path / "site", lambda _said: None)
    return tmp_path / "site"


def count(site: Path) -> tuple[int, list[str]]:
    """What the second program says of a site and the runs beside it; it reads no other module of ours."""
    ended = subprocess.run([sys.executable, "-I", COUNT, site, *(site.parent / name for name in RUNS)], text=True, capture_output=True, check=False)
    assert ended.stderr == ""
    return ended.returncode, ended.stdout.splitlines()


def change(file: Path, old: str, new: str) -> None:
    said = file.read_text(encoding="utf-8")
    assert old in said
    file.write_text(said.replace(old, new, 1), encoding="utf-8")


def test_they_agree(site: Path) -> None:
    code, said = count(site)
    assert (code, said[:-1]) == (0, []) and said[-1].endswith("numbers of 3 kernels, 0 differ")
    user = (site / "index.html").read_text(encoding="utf-8").partition('data-persona="user"')[2]
    names = re.findall('<a href="kernel/[^>]*><span>([^<]*)</span>', user)
    row = user.partition(">sample call chains of user code</a>")[2].partition("</tr>")[0]
    assert dict(zip(names, re.findall('<td class="c[^>]*>([^<]*)', row))) == CHAINS_AS_USER
    assert "reports" not in [line.split()[1].partition(".")[0] for line in COUNT.read_text(encoding="utf-8").splitlines()
                             if line.startswith(("import ", "from "))]


@pytest.mark.parametrize("page,old,new,named", [
    ("index.html", '<td class="c blocked">blocked', '<td class="c no">no', "the page says 'no', the probes 'blocked'"),
    ("index.html", " points behind them", "0 points behind them", "index.html: features, points"),
    ("areas.html", '<td class="h h', '<td class="h h1">1</td><td class="h h', "areas.html: "),
    ("kernels.html", '<td class="n">7</td>', '<td class="n">9</td>', "kernels.html: amd64-6.1"),
])
def test_a_number_that_is_not_theirs_is_told(site: Path, page: str, old: str, new: str, named: str) -> None:
    change(site / page, old, new)
    code, said = count(site)
    assert code == 1 and any(named in line for line in said[:-1]), said


def test_another_answer_of_a_probe_is_told(site: Path) -> None:
    change(site.parent / "amd64-6.1/user/sample.registers.ktap", "ok 1 global.user", "ok 1 global.user # SKIP no: EINVAL")
    code, said = count(site)
    assert code == 1 and len(said) > 1
