# SPDX-License-Identifier: MIT
"""What is said of a recording that is asked again, held against what the kernel must answer.

The wrong calls are made by hand, each beside its right twin; what a probe concludes of such a pair is
written down here. That nothing is yes because it opened is seen with events that nothing causes.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Iterator

import pytest

pytestmark = pytest.mark.xdist_group("make")  # make runs in the tree
TREE = Path(__file__).resolve().parents[2]
ARCH = os.environ.get("ARCH", platform.machine())
FAULTS = {"type": "software", "config": "0x2", "fields": {}, "size": 112,
          "flags": {"disabled": 1, "exclude_kernel": 1, "exclude_hv": 1}}
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="opens what takes privileges")


@pytest.fixture(scope="session", name="replay")
def _replay() -> Iterator[Path]:
    """The program, where every user can run it."""
    built = f"build/{ARCH}/replay"
    subprocess.run(["make", "-s", "--no-print-directory", f"ARCH={ARCH}", built], cwd=TREE, check=True,
                   capture_output=True, timeout=300)
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(shutil.copy(TREE / built, Path(name, "replay")))


def call(attr: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A count of this thread's page faults in user mode, or what differs from it."""
    return {"attr": {**FAULTS, **(attr or {})}, "target": "self", "cpus": 0, "on_cpu": False, "group": False,
            "open_flags": 0, "narrow": False, "calls": 1, "opened": 1, "unseen": 0, "errors": {}, "rings": 0,
            "pages": 0, "requests": {}, **more}


def recording(*calls: dict[str, Any]) -> bytes:
    return json.dumps({"format": 1, "kind": "recording", "machine": {"cpus_online": 2, "page_size": 4096},
                       "caller": {}, "beyond": 0, "calls": list(calls)}).encode()


def ask(replay: Path, *calls: dict[str, Any], before: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """The verdict and the reason of each call."""
    done = subprocess.run([*before, str(replay)], input=recording(*calls), capture_output=True, timeout=120, check=False)
    lines = done.stdout.decode().splitlines()
    assert lines[1] == f"1..{len(calls)}", done
    found, evidence = [], ""
    for line in lines[2:]:
        if line.startswith("#:perfmodes: observed="):
            evidence = line.partition("=")[2]
        elif match := re.fullmatch(r"(ok|not ok) (\d+) replay\.\S+(?: # SKIP (\w+): (.*))?", line):
            assert int(match[2]) == len(found) + 1
            found.append((match[3] or {"ok": "yes", "not ok": "broken"}[match[1]], match[4] or evidence))
    assert len(found) == len(calls) and done.returncode == any(word == "broken" for word, _ in found), done
    return found


def allowed() -> bool:
    """Whether perf events of this user's own are allowed."""
    level = Path("/proc/sys/kernel/perf_event_paranoid")
    return level.exists() and (os.geteuid() == 0 or int(level.read_text(encoding="ascii")) <= 2)


needs_perf = pytest.mark.skipif(not allowed(), reason="perf_event_paranoid is above 2")

# What a probe says of such a pair: the errno that the kernel documents, and what was asked too much.
WRONG = {
    "bytes of a later attr": (call({"beyond": 200, "size": 200}), "no", "E2BIG with bytes set behind"),
    "an attr too small": (call({"size": 32}), "no", "E2BIG with attr.size 32"),
    "an attr beyond a page": (call({"size": 1 << 20}), "no", "E2BIG with attr.size 1048576"),
    "a reserved flag": (call({"reserved_flags": "0x1000000000000000"}), "no", "EINVAL with the reserved flags"),
    "an unknown field of samples": (call({"fields": {"sample_type": "0x80000000"}}), "no", "EINVAL with the unknown bits"),
    "an unknown read format": (call({"fields": {"read_format": "0x100"}}), "no", "EINVAL with the unknown bits"),
    "a software event of no release": (call({"config": "0x63"}), "no", "ENOENT with the software event 99"),
    "an unknown flag of the call": (call(open_flags=1 << 20), "no", "EINVAL with the open flags 0x100000"),
    "weights that exclude each other": (call({"fields": {"sample_type": "0x1004000"}}), "no", "EINVAL with PERF_SAMPLE_WEIGHT"),
    "two faults at once": (call({"beyond": 200, "size": 200, "reserved_flags": "0x1000000000000000"}), "no", "and the reserved flags"),
    "a PMU that is not there": (call({"type": "never_was"}), "absent", "no PMU never_was"),
    "a field that nobody knows": (call({"fields": {"config99": "0x1"}}), "unknown", "config99"),
}


@needs_perf
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_is_refused_by_what_is_wrong(replay: Path, name: str) -> None:
    asked, word, reason = WRONG[name]
    (right, wrong) = ask(replay, call(), asked)
    assert right == ("yes", "")
    assert wrong[0] == word and reason in wrong[1]


@needs_perf
def test_what_is_silent_is_no_yes(replay: Path) -> None:
    major, switches, alone = ask(replay, call({"config": "0x6"}), call({"config": "0x3"}), call(group=True, target="child"))
    assert major[0] == "unknown" and "nothing came" in major[1]
    assert switches[0] == "broken" and "exclude_kernel" in switches[1]
    assert alone[0] == "unknown" and "leader" in alone[1]


@needs_perf
def test_whoever_is_watched_works(replay: Path) -> None:
    clock = {"config": "0x1", "fields": {"sample_period": "0xf4240", "sample_type": "0x3"}}
    targets = [call(target=name) for name in ("self", "thread", "child", "other")]
    executed = call({"flags": {**FAULTS["flags"], "enable_on_exec": 1}}, target="child")
    ring = call(clock, target="child", rings=1, pages=3, requests={"ENABLE": {"calls": 1, "failed": 0}})
    member = call({**clock, "fields": {}}, group=True)
    found = ask(replay, *targets, executed, ring, call(), member)
    assert [word for word, _ in found] == ["yes"] * 8, found


@as_root
def test_names_are_found_on_the_machine(replay: Path) -> None:
    there = any(Path(root, "events/sched/sched_switch/id").exists()
                for root in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"))
    if not there:
        pytest.skip("tracefs is not mounted")
    flags = {"disabled": 1}
    at = {"type": "tracepoint", "fields": {}, "flags": flags}
    real, never, planted = ask(replay, *(call({**at, "tracepoint": name}) for name in
                                         ("sched:sched_switch", "sched:never_was", "planted")))
    assert (real[0], never[0], planted[0]) == ("yes", "absent", "unknown"), (real, never, planted)


@as_root
def test_a_user_is_blocked_by_the_level(replay: Path) -> None:
    level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii"))
    if level < 1:
        pytest.skip("perf_event_paranoid lets everybody watch a CPU")
    user = ("setpriv", "--reuid=64321", "--regid=64321", "--clear-groups", "--inh-caps=-all")
    asked = call(target="cpu", on_cpu=True, cpus=1)
    (mine,), (theirs,) = ask(replay, asked), ask(replay, asked, before=user)
    assert mine[0] == "yes" and theirs[0] == "blocked"
    assert f"perf_event_paranoid={level}" in theirs[1]


def test_what_is_no_recording_is_refused(replay: Path) -> None:
    whole = recording(call())
    texts = [whole[:size] for size in range(0, len(whole), 7)] + [b"{}", b"[" * 10000, b'{"calls":' + b"[" * 9999,
             whole.replace(b'"format": 1', b'"format": 2'), whole.replace(b"recording", b"result"), b"\0" * 100,
             recording(*[call()] * 1025), recording(), whole + b"x"]
    for text in texts:
        done = subprocess.run([replay], input=text, capture_output=True, timeout=120, check=False)
        assert done.returncode == 2 and done.stderr.startswith(b"replay: the recording: ") and not done.stdout, text[:80]


@needs_perf
def test_a_run_has_a_point_for_each_call(replay: Path, tmp_path: Path) -> None:
    """./run.sh --replay: the launcher hands the recording over, personas and result are as of probes."""
    subprocess.run(["make", "-s", "--no-print-directory", f"ARCH={ARCH}", "shipped"], cwd=TREE, check=True,
                   capture_output=True, timeout=1200)
    file, out = tmp_path / "mine.json", tmp_path / "out"
    file.write_bytes(recording(call(), call({"size": 32})))
    run = [str(TREE / "run.sh"), "--quiet", "--no-build", "--no-install", "--persona", "same", "--out", str(out)]
    subprocess.run([*run, "--replay", str(file)], check=True, capture_output=True, timeout=300)
    result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    points = result["personas"]["same"]["probes"]["replay.recorded"]["points"]
    assert {name: point["verdict"] for name, point in points.items()} == {
        "01_page_faults_self": "yes", "02_page_faults_self": "no"}
    assert not any("undeclared" in point for point in points.values())
    # what is finished is kept, and what was asked goes with it
    (out / "same" / "replay.recorded.ktap").unlink()
    file.unlink()
    subprocess.run([*run[:-4], "--out", str(out), "--resume"], check=True, capture_output=True, timeout=300)
    assert json.loads((out / "result.json").read_text(encoding="utf-8"))["personas"]["same"]["probes"] == \
        result["personas"]["same"]["probes"] or (out / "same" / "replay.recorded.ktap").exists()
    wrong = subprocess.run([*run, "--replay", str(replay)], capture_output=True, text=True, timeout=120, check=False)
    assert wrong.returncode == 2 and wrong.stderr.startswith("run.sh: ")
