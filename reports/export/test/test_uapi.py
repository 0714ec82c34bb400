# SPDX-License-Identifier: MIT
"""The library's numbers of the ABI held against kernel headers: one of our own, and the installed one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reports import verbs
from reports.export import uapi
from reports.text import Unusable

OURS = Path(__file__).resolve().parents[3] / "lib/pm_abi.h"
INSTALLED = Path("/usr/include/linux/perf_event.h")
HEADER = """#include <linux/types.h>
#ifndef GUARD
#define GUARD
#define PERF_EMPTY
#define PERF_FUNCTION(x) (x)
#define PERF_NO_NUMBER "text"
#define PERF_NO_CONSTANT (*(int *)0)
#define OTHER_NAME 3
enum perf_type_id { /* , PERF_COMMENT = 1, */
	PERF_TYPE_HARDWARE = 0, PERF_TYPE_SOFTWARE,
	PERF_TYPE_MAX,	/* non-ABI */
};
#define PERF_FLAG_FD_CLOEXEC (1UL << 3)
#define PERF_EVENT_IOC_ID _IOR('$', 7, __u64 *)
#define PERF_CONTEXT_USER (__u64)-512
#define PERF_CONTEXT_MAX (__u64)-4095
#define PERF_FROM_TOMORROW (PERF_TYPE_SOFTWARE + 40ULL)
#include <linux/ioctl.h>
#endif
"""


def ioctl_number() -> int:
    """_IOR('$', 7, a pointer), which differs between machines."""
    return uapi.constants([OURS])["PERF_EVENT_IOC_ID"]


def test_the_constants_of_a_header(tmp_path: Path) -> None:
    (tmp_path / "perf_event.h").write_text(HEADER, encoding="utf-8")
    found = uapi.constants([tmp_path / "perf_event.h"])
    assert found == {
        "PERF_TYPE_HARDWARE": 0, "PERF_TYPE_SOFTWARE": 1, "PERF_TYPE_MAX": 2, "PERF_FLAG_FD_CLOEXEC": 8,
        "PERF_EVENT_IOC_ID": ioctl_number(), "PERF_CONTEXT_USER": -512,
        "PERF_CONTEXT_MAX": -4095, "PERF_FROM_TOMORROW": 41}


@pytest.mark.parametrize("was, now, differs", [
    ("", "", None), ("1UL << 3", "1UL << 4", "PERF_FLAG_FD_CLOEXEC: here 0x8, there 0x10"),
    ("'$', 7", "'$', 8", "PERF_EVENT_IOC_ID"), ("-4095", "-4094", "PERF_CONTEXT_MAX"),
    ("HARDWARE = 0", "HARDWARE = 1", "PERF_TYPE_HARDWARE: here 0x0, there 0x1")])
def test_a_number_that_differs_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                           was: str, now: str, differs: str | None) -> None:
    folder = tmp_path / "include/uapi/linux"
    folder.mkdir(parents=True)
    (folder / "perf_event.h").write_text(HEADER.replace(was, now, 1) if was else HEADER, encoding="utf-8")
    assert verbs.main(["uapi", str(OURS), str(tmp_path)]) == (1 if differs else 0)
    said = capsys.readouterr().out
    assert (f"differs: {differs}" in said) if differs else "differs:" not in said
    assert "only there: PERF_FROM_TOMORROW" in said and "only here: PERF_SAMPLE_IP\n" in said
    assert "the list ends elsewhere: PERF_TYPE_MAX" in said
    assert "HW_BREAKPOINT_R" not in said    # the header of those is not there


def test_each_list_of_ours_is_seen() -> None:
    ours = uapi.constants([OURS])
    rows = re.findall(r"FIELD\((\d+), ([A-Z_]+),", (OURS.parent / "abi.def").read_text(encoding="utf-8"))
    assert len(rows) > 20
    assert all(ours[f"PERF_SAMPLE_{name}"] == 1 << int(bit) for bit, name in rows)
    assert {"PERF_RECORD_SAMPLE", "PERF_MEM_LVL_L1", "HW_BREAKPOINT_W", "PERF_TXN_SYNC"} <= ours.keys()


@pytest.mark.skipif(not INSTALLED.is_file(), reason="no <linux/perf_event.h>: package linux-libc-dev")
def test_the_installed_header_has_our_numbers() -> None:
    found = uapi.compare(uapi.constants([OURS]), uapi.constants(uapi.headers_of(Path("/usr/include"))))
    assert not found.differ and found.compared > 250


@pytest.mark.parametrize("source", ["", "#error no\n", "int PERF_A;\n", '#define PERF_A "text"\n'])
def test_a_header_without_constants_is_refused(tmp_path: Path, source: str) -> None:
    (tmp_path / "perf_event.h").write_text(source, encoding="utf-8")
    with pytest.raises(Unusable):
        uapi.constants([tmp_path / "perf_event.h"])


def test_what_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verbs.main(["uapi", str(OURS), str(tmp_path)]) == 3
    (tmp_path / 'a"b').write_text(HEADER, encoding="utf-8")
    assert verbs.main(["uapi", str(OURS), str(tmp_path / 'a"b')]) == 3
    monkeypatch.setenv("CC", "/nonexistent/cc")
    with pytest.raises(Unusable, match="needs a C compiler"):
        uapi.constants([OURS])
