# SPDX-License-Identifier: MIT
"""Each fault in each state of a device's run: what is told, what is kept, what is left behind, and what
--resume does. STATES.md of devices has the same as a table."""

from __future__ import annotations

import re
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from faulty import STATES, Command, Machine
from sshd import serving, wait_until

from kernels import ROOT

FAULTS = ("link cut", "device gone", "reboot", "hang", "disk full", "shells killed", "SIGTERM here", "SIGKILL here",
          "clock jump")  # fmt: skip
AWAY = "no connection for 3 s: "
DONE = (0, ": done;", 3)
DEAD = (-9, "", 0)
ENDED = (143, "", 0)

# Of a state and a fault: exit status, what is told, and how many of three answers are there. All others go well.
CELLS = {
    ("look", "device gone"): (3, "no result: ssh: connect to host 127.0.0.1 port 2222: Connection refused", 0),
    ("bring", "device gone"): (3, f"no result: {AWAY}", 0),
    ("run", "device gone"): (3, "no result: dropped: ", 0),
    ("follow", "device gone"): (1, f": dropped ({AWAY}", 1),
    ("fetch", "device gone"): (1, ": incomplete (run.sh ended with status 3", 1),
    ("look", "hang"): (3, "no result: no answer within 8 s", 0),
    ("bring", "hang"): (3, f"no result: {AWAY}", 0),
    ("run", "hang"): (3, "no result: dropped: no ", 0),
    ("follow", "hang"): (1, f": dropped ({AWAY}", 1),
    ("fetch", "hang"): (1, ": incomplete (run.sh ended with status 3", 1),
    ("look", "disk full"): (3, "no result: no folder to run programs from: ", 0),
    ("bring", "disk full"): (3, "no result: the bundle cannot be put there: ", 0),
    ("run", "disk full"): (3, "nothing can be written any more: the disk is full", 0),
    ("follow", "disk full"): (1, ": agent: nothing can be written any more: the disk is full", 1),
    ("fetch", "SIGKILL here"): (-9, "", 1),
    ("fetch", "SIGTERM here"): (143, "", 1),
    ("follow", "SIGKILL here"): (-9, "", 1),
    ("follow", "SIGTERM here"): (143, "", 1),
    ("remove", "SIGKILL here"): (-9, "", 3),
    ("remove", "SIGTERM here"): (143, "", 3),
}
OF_SIGNALS = {"SIGTERM here": ENDED, "SIGKILL here": DEAD}
UNSENT = (1, ": incomplete (run.sh ended with status 3", 2)  # the bundle of `fetch` does not send its last answer


def expected(state: str, fault: str) -> tuple[int, str, int]:
    return CELLS.get((state, fault)) or OF_SIGNALS.get(fault) or (UNSENT if state == "fetch" else DONE)


def strike(device: Machine, fault: str, first: subprocess.Popen[str]) -> None:
    """The fault comes. The device goes on, unless that is what it cannot."""
    faults = {"link cut": device.cut, "device gone": device.gone, "reboot": device.reboot, "hang": device.hang,
              "disk full": device.fill, "shells killed": device.kill_shells, "clock jump": device.jump}  # fmt: skip
    if fault in faults:
        faults[fault]()
    else:
        first.send_signal(getattr(signal, fault.split()[0]))
    if fault not in ("hang", "device gone"):
        device.go()


def answers(out: Path) -> dict[str, int]:
    """Those that are there, and when they came."""
    return {str(path.relative_to(path.parents[1])): path.stat().st_mtime_ns for path in out.glob("one*/*/*.ktap")}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("state", STATES)
def test_a_fault_in_a_state(state: str, fault: str, bundle: Path, tmp_path: Path) -> None:
    suite, out = tmp_path / ("unsent.txt" if state == "fetch" else "waits.txt"), tmp_path / "out"
    suite.touch()
    (bundle / "suites").mkdir()
    small = 20 if fault == "disk full" else 0
    with (
        tempfile.TemporaryDirectory(prefix="pm-here-") as home,
        serving(tmp_path / "server", type=Machine, state=state, small=small) as device,
    ):
        listed, command = tmp_path / "devices.toml", Command(Path(home), bundle)
        listed.write_text(
            f'format = 1\n[[device]]\nname = "one"\ntransport = "ssh"\naddress = "board"\nssh_config = "{device.config}"\n'
            f'[device.owner]\npatience = 3\nfolder = "{device.scratch}"\n'
        )
        words = ["one", "--inventory", str(listed), "--suite", str(suite), "--out", str(out)]
        device.hold()
        first = command.start(*words)
        wait_until(lambda: device.is_held() or first.poll() is not None)
        wait_until(lambda: state not in ("follow", "fetch", "remove") or answers(out) or first.poll() is not None)
        assert first.poll() is None, first.communicate()[0]
        strike(device, fault, first)
        said = " ".join(first.communicate(timeout=300)[0].split())
        status, told, count = expected(state, fault)
        kept = answers(out)
        assert first.returncode == status and told in said and len(kept) == count, (first.returncode, said, kept)
        if fault != "SIGKILL here":
            assert command.left() == []
            if fault not in ("hang", "device gone"):
                wait_until(lambda: not device.left())
        device.back()
        status, said = command.run(*words, "--resume")
        now = answers(out)
        assert status == 0 and ": done;" in said and len(now) == 3 and now.items() >= kept.items(), said
        if state == "remove" and fault in ("device gone", "hang"):  # all was answered: --resume had nothing to ask
            assert command.run("one", "--inventory", str(listed), "--clean")[0] == 0
        wait_until(lambda: not device.left())
        assert command.left() == [] and [path.name for path in out.glob("*.part")] == []


def test_the_table_says_what_the_test_does() -> None:
    """Each state and fault once, with the exit status and the count of answers that are expected here."""
    text = (ROOT / "kernels" / "device" / "STATES.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")]
    head = next(row for row in rows if row[0] == "fault")
    told = {(state, row[0]): cell for row in rows if row[0] in FAULTS and len(row) == len(head) for state, cell in zip(head[1:], row[1:], strict=True)}
    assert told.keys() == {(state, fault) for state in STATES for fault in FAULTS}
    for (state, fault), cell in told.items():
        status, _, count = expected(state, fault)
        match = re.fullmatch(r"(-|\d+), ([0123])", cell)
        assert match and (status == -9 if match[1] == "-" else int(match[1]) == status) and int(match[2]) == count, (state, fault)
