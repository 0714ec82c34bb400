# SPDX-License-Identifier: MIT
"""Each row of the floor plan has a file that breaks it, and the table itself can be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports import floors

TREE = Path(__file__).resolve().parents[2]
TABLE = (TREE / floors.DATA).read_text(encoding="utf-8").partition("[circles]")[0]

HOUSE = {
    "lib/perfmodes.h": '#include "perfmodes_count.h"\n#include "errnos.def"\n',
    "lib/perfmodes_count.h": "",
    "lib/pm_sys.h": "#include <stdint.h>\n",
    "lib/errnos.def": "",
    "lib/sys.c": '#include "pm_sys.h"\n#include "errnos.def"\n',
    "lib/policy/spec/spec.h": '#include "../../perfmodes.h"\n',
    "lib/policy/diagnosis/diag.c": '#include "../spec/spec.h"\n',
    "lib/policy/profile/json.c": "#include <yajl/yajl_parse.h>\n",
    "lib/policy/plan/plan.h": '#include "../spec/spec.h"\n',
    "lib/policy/session/session.h": '#include "../plan/plan.h"\n',
    "lib/doctor/doctor.h": '#include "../policy/plan/plan.h"\n',
    "lib/examples/count.c": "#include <perfmodes.h>\n",
    "lib/test/a_test.c": '#include <cmocka.h>\n#include "../policy/plan/plan.h"\n',
    "probes/kit/probe.h": '#include <kselftest_harness.h>\n#include "../../lib/pm_sys.h"\n',
    "probes/launcher/persona.h": '#include "../../lib/errnos.def"\n',
    "probes/ring/backward.h": "",
    "probes/ring/wakeup.c": '#include "probe.h"\n#include "backward.h"\n#include <poll.h>\n',
    "suites/falsify/falsify.py": "import os\nfrom reports import text\n",
    "suites/falsify/fault.h": "",
    "suites/test/test_falsified.py": "import pytest\nimport falsify\n",
    "reports/text.py": "import json\n",
    "reports/table.py": "import rich\nfrom reports.text import clean\n",
    "kernels/__init__.py": "",
    "kernels/errors.py": "",
    "kernels/cli.py": "from kernels.place import run\nfrom kernels import errors\n",
    "kernels/place/__init__.py": "",
    "kernels/place/run.py": "from reports import text\n",
    "kernels/guest/__init__.py": "",
    "kernels/guest/boot.py": "from .. import errors\nfrom kernels.place import run\nfrom kernels.source.fetch import sha\n",
    "kernels/source/fetch.py": "def sha() -> None:\n    import apt\n",
    "kernels/show/summary.py": "from kernels.place.run import go\n",
}

BAD = [
    ("probes/ring/a.c", '#include "../../lib/policy/plan/plan.h"', "probes/* may not use lib/policy/plan/"),
    ("probes/ring/a.c", '#include "probe.h"\n#include <perfmodes.h>', "probes/* may not use lib/perfmodes.h"),
    ("probes/ring/a.c", '#include "../launcher/persona.h"', "probes/* may not use probes/launcher/persona.h"),
    ("probes/poll/a.c", '#include "../ring/backward.h"', "probes/* may not use probes/ring/backward.h"),
    ("probes/ring/a.c", "#include <kselftest_harness.h>", "probes/* does not use <kselftest_harness.h>"),
    ("probes/kit/a.c", '#include "../../lib/policy/spec/spec.h"', "probes/kit may not use lib/policy/spec/spec.h"),
    ("probes/kit/a.c", '#include "../ring/backward.h"', "probes/kit may not use probes/ring/backward.h"),
    ("probes/kit/a.c", "#include <perfmodes.h>", "probes/kit may not use lib/perfmodes.h"),
    ("probes/launcher/a.c", '#include "../kit/probe.h"', "probes/launcher may not use probes/kit/probe.h"),
    ("probes/launcher/a.c", '#include "../../suites/falsify/fault.h"', "probes/launcher may not use suites/falsify"),
    ("suites/falsify/a.c", '#include "../../lib/perfmodes.h"', "suites/falsify may not use lib/perfmodes.h"),
    ("lib/a.c", '#include "policy/plan/plan.h"', "lib may not use lib/policy/plan/plan.h"),
    ("lib/a.c", '#include "perfmodes.h"', "lib may not use lib/perfmodes.h"),
    ("lib/a.c", "#include <yajl/yajl_parse.h>", "lib does not use <yajl/yajl_parse.h>"),
    ("lib/a.c", '#  include "kselftest_harness.h"', "lib does not use <kselftest_harness.h>"),
    ("lib/a.c", '#include "../probes/launcher/persona.h"', "lib may not use probes/launcher/persona.h"),
    ("lib/a.c", '#include "probe.h"', "lib may not use probes/kit/probe.h"),
    ("lib/errnos.def", '#include "pm_sys.h"', "lib/*.def may not use lib/pm_sys.h"),
    ("lib/perfmodes_trace.h", '#include "pm_sys.h"', "lib/perfmodes*.h may not use lib/pm_sys.h"),
    ("lib/policy/spec/a.c", '#include "../plan/plan.h"', "lib/policy/spec may not use lib/policy/plan/plan.h"),
    ("lib/policy/plan/a.c", '#include "../session/session.h"', "lib/policy/plan may not use lib/policy/session"),
    ("lib/policy/plan/a.c", "#include <yajl/yajl_parse.h>", "lib/policy/plan does not use <yajl/yajl_parse.h>"),
    ("lib/policy/count/a.c", '#include "../session/session.h"', "lib/policy/count may not use lib/policy/session"),
    ("lib/policy/trace/a.c", '#include "../../doctor/doctor.h"', "lib/policy/trace may not use lib/doctor/"),
    ("lib/policy/new/a.c", '#include "../../pm_sys.h"', "lib/policy/new/a.c is in no room"),
    ("lib/doctor/a.c", '#include "../policy/session/session.h"', "lib/doctor may not use lib/policy/session"),
    ("lib/examples/a.c", '#include "../pm_sys.h"', "lib/examples may not use lib/pm_sys.h"),
    ("lib/sys.c", '#include "test/builder.h"\n#include "policy/spec/spec.h"', "lib may not use lib/policy/spec/spec.h"),
    ("reports/a.py", "from kernels import errors", "reports/** may not use kernels/errors.py"),
    ("reports/a.py", "def f():\n    import numpy", "reports/** does not use <numpy>"),
    ("reports/a.py", "import falsify", "reports/** may not use suites/falsify/falsify.py"),
    ("suites/a.py", "import kernels.errors", "suites may not use kernels/errors.py"),
    ("kernels/a.py", "from kernels import cli", "kernels may not use kernels/cli.py"),
    ("kernels/place/a.py", "from kernels.guest import boot", "kernels/place may not use kernels/guest/boot.py"),
    ("kernels/place/a.py", "from ..guest.boot import go", "kernels/place may not use kernels/guest/boot.py"),
    ("kernels/source/a.py", "from kernels.guest.boot import go", "kernels/source may not use kernels/guest/boot.py"),
    ("kernels/place/a.py", "from kernels.show import summary", "kernels/place may not use kernels/show/summary.py"),
    ("kernels/place/a.py", "import rich", "kernels/place does not use <rich>"),
    ("lib/man/a.py", "from reports import text", "lib/man may not use reports/text.py"),
]


def lay(top: Path, table: str = TABLE, **more: str) -> Path:
    for name, text in (HOUSE | {str(floors.DATA): table} | more).items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return top


def messages(top: Path) -> list[str]:
    return [message for _, _, message in floors.check(top)]


def test_this_tree_has_a_floor_plan_and_keeps_it() -> None:
    assert [*map(str, floors.check(TREE))] == []
    assert sum(1 for _ in floors.arrows(TREE)) > 1000


def test_a_house_that_keeps_it(tmp_path: Path) -> None:
    assert messages(lay(tmp_path)) == []


@pytest.mark.parametrize("path, text, said", BAD)
def test_an_arrow_that_points_up_is_found(tmp_path: Path, path: str, text: str, said: str) -> None:
    found = messages(lay(tmp_path, **{path: text + "\n"}))
    assert len(found) == 1 and found[0].startswith(said) and str(floors.DATA) in found[0], found


RING = {"lib/policy/plan/a.h": "", "lib/policy/plan/a.c": '#include "a.h"\n#include "b.h"\n',
        "lib/policy/plan/b.h": '#include "a.h"\n'}
RING_OF = "lib/policy/plan/a lib/policy/plan/b"


def test_a_circle_of_files_is_found(tmp_path: Path) -> None:
    """No header of it includes itself by way of the others: it is a circle of headers and their .c."""
    assert messages(lay(tmp_path, **RING)) == [
        f"a circle of files: {RING_OF}; those that may be stand in {floors.DATA}"]


@pytest.mark.parametrize("row, said", [
    (RING_OF, []), ("lib/policy/plan/[ab]", []),
    (f"{RING_OF} lib/policy/plan/c", ["stale: lib/policy/plan/c is in no such circle any more"])])
def test_a_named_circle_of_files_is_let_be(tmp_path: Path, row: str, said: list[str]) -> None:
    table = f"{TABLE}[files]\n{row}: a reason of some length\n"
    assert messages(lay(tmp_path, table, **RING)) == said
    (tmp_path / "lib/policy/plan/b.h").unlink()
    assert messages(tmp_path)[-1] == f"stale: no such circle of files: {row}"


def test_the_line_of_the_arrow_is_given(tmp_path: Path) -> None:
    lay(tmp_path, **{"lib/a.c": '/*\n * #include "perfmodes.h"\n */\n\n#include "perfmodes.h"\n'})
    assert [(where, line) for where, line, _ in floors.check(tmp_path)] == [("lib/a.c", 5)]


def test_a_named_circle_is_let_be_until_it_is_gone(tmp_path: Path) -> None:
    named = TABLE + "[circles]\nlib/policy/plan -> lib/policy/session: a reason of some length\n"
    up = {"lib/policy/plan/a.c": '#include "../session/session.h"\n'}
    assert messages(lay(tmp_path, named, **up)) == []
    (tmp_path / "lib/policy/plan/a.c").unlink()
    assert messages(tmp_path) == [
        "stale: no file needs lib/policy/plan -> lib/policy/session any more; remove the line"]


@pytest.mark.parametrize("table, said", [
    ("a: b\nb: c\nc: a\n", "a circle of rooms: a -> b -> c -> a"),
    ("a: b\n", "b is no room of the table"),
    ("a b\n", "floors.txt:1: neither ROOM: ROOMS"),
    ("[circles]\na -> b:\n", "floors.txt:2: neither ROOM: ROOMS"),
    ("[circles]\na: b c d e f g h\n", "floors.txt:2: neither ROOM: ROOMS")])
def test_a_table_can_be_wrong(tmp_path: Path, table: str, said: str) -> None:
    path = tmp_path / floors.DATA
    path.parent.mkdir(parents=True)
    path.write_text(table)
    assert any(said in message for message in messages(tmp_path))


def test_a_room_with_a_star_is_one_for_each_folder(tmp_path: Path) -> None:
    assert messages(lay(tmp_path, **{"probes/poll/a.c": '#include "b.h"\n', "probes/poll/b.h": ""})) == []
