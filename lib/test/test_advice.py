# SPDX-License-Identifier: MIT
"""What the doctor advises is tried: in surroundings that are really built, the advice is applied and the
wish is met. Advice that would not help there is not given; that it would not is tried, too."""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from surroundings import PERF, lower, refuse_perf

pytestmark = [pytest.mark.xdist_group("make"), pytest.mark.perf,
              pytest.mark.skipif(os.geteuid() != 0, reason="sets user ids and capabilities")]
TREE = Path(__file__).resolve().parents[2]
ARCH = os.environ.get("ARCH", platform.machine())
STRANGER = 64322
SYSCTL = Path("/proc/sys/kernel")
LEVEL = int((SYSCTL / "perf_event_paranoid").read_text(encoding="utf-8"))
at_two = pytest.mark.skipif(LEVEL != 2, reason="says what happens at kernel.perf_event_paranoid=2")
USER = [f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups"]
NO_NEW = ["--no-new-privs", "sh", "-c", 'exec "$@"', "sh"]      # setpriv itself holds more
NAMES = ("container", "KUBERNETES_SERVICE_HOST")        # which container engines set
Told = dict[str, Any]


@pytest.fixture(scope="module", name="doctor")
def _doctor() -> Iterator[Path]:
    """A copy that every user can run."""
    subprocess.run(["make", "-s", "--no-print-directory", f"ARCH={ARCH}", "doctor"], cwd=TREE,
                   check=True, capture_output=True, timeout=300)
    # not below pytest's folder, which each session of pytest closes to others
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield Path(shutil.copy(TREE / "build" / ARCH / "doctor", Path(place, "doctor")))


def start(*command: str | Path, limit: Callable[[], None] | None = None,
          **names: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in NAMES} | names
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300,
                          check=False, preexec_fn=limit, env=environment)


def ask(*command: str | Path, limit: Callable[[], None] | None = None, **names: str) -> Told:
    """The one wish that the command asks the doctor for."""
    done = start(*command, limit=limit, **names)
    assert done.stdout.startswith("{"), done
    told: Told = json.loads(done.stdout)["wishes"][0]
    return told


def change(wish: Told, attempt: int = 0) -> str:
    assert wish["verdict"] != "works", wish
    said: str = wish["refusals"][attempt]["change"]
    return said


@pytest.fixture(name="trusted")
def _trusted(doctor: Path) -> Path:
    """As `setcap cap_perfmon=ep PROGRAM` leaves it."""
    copy = Path(shutil.copy(doctor, doctor.parent / "trusted"))
    done = start("setcap", "cap_perfmon=ep", copy)
    if done.returncode:
        pytest.skip(f"no file capabilities: {done.stderr.strip()}")
    return copy


# ------------------------------------------------------------------------------- capabilities

@at_two
def test_an_ordinary_user(doctor: Path, trusted: Path) -> None:
    said = change(ask("setpriv", *USER, doctor, "--json", "own-time"))
    clauses = said.split("; ")
    assert clauses[0] == "watch user mode only, which takes no privilege"
    assert clauses[1] == "for one program, as root: setcap cap_perfmon=ep PROGRAM"
    # lint: allow second-list: a test says what it expects
    assert re.match(r"for all users of this machine, as root: sysctl -w kernel.perf_event_paranoid=1 until .* "
                    r"/etc/sysctl.d/", clauses[2]) and len(clauses) == 3
    assert ask("setpriv", *USER, trusted, "--json", "own-time")["verdict"] == "works"
    assert "user mode" in ask("setpriv", *USER, doctor, "--json", "own-time")["how"]


@at_two
def test_user_mode_is_no_advice_for_what_happens_in_the_kernel(doctor: Path) -> None:
    assert "user mode" not in change(ask("setpriv", *USER, doctor, "--json", "own-switches"))


@at_two
def test_no_new_privs(doctor: Path, trusted: Path) -> None:
    """setcap would not help, which is tried; the line that is given does."""
    said = change(ask("setpriv", *USER, *NO_NEW, doctor, "--json", "own-time"))
    assert "setcap cap" not in said and "--cap-add" not in said
    assert ask("setpriv", *USER, *NO_NEW, trusted, "--json", "own-time")["verdict"] != "works"
    line = re.search(r"setpriv --reuid=USER .* PROGRAM", said)
    assert line, said
    words = line[0].replace("USER", str(STRANGER)).replace("GROUP", str(STRANGER)).replace(
        "--init-groups", "--clear-groups").split()[:-1]
    assert ask(*words, *NO_NEW, doctor, "--json", "own-time")["verdict"] == "works"


@at_two
def test_a_bounding_set_without_it(doctor: Path, trusted: Path) -> None:
    """A program with the file capability cannot even be started there."""
    bounded = ["setpriv", "--bounding-set=-perfmon", *USER]
    said = change(ask(*bounded, doctor, "--json", "own-time"))
    assert "setcap" not in said and "bounding set" in said
    assert start(*bounded, trusted, "--json", "own-time").returncode in (126, 127)


@at_two
def test_a_user_namespace(doctor: Path) -> None:
    inside = ["setpriv", *USER, "unshare", "-Ur"]
    if start(*inside, "true").returncode:
        pytest.skip("no user namespaces for strangers")
    said = change(ask(*inside, doctor, "--json", "own-time"))
    assert "setcap" not in said and "--cap-add" not in said and "outside of it" in said
    assert "owner of the host" in said and "as root" not in said
    ambient = ["setpriv", *USER, "--inh-caps=+perfmon", "--ambient-caps=+perfmon"]
    assert ask(*ambient, *inside[4:], doctor, "--json", "own-time")["verdict"] != "works"
    assert ask(*ambient, doctor, "--json", "own-time")["verdict"] == "works"


# --------------------------------------------------------------------------------- containers

BARE = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
GIVEN = ["setpriv", "--bounding-set=-all,+perfmon", "--inh-caps=-all"]


@at_two
@pytest.mark.parametrize("names, line", [
    ({"container": "docker"}, "docker run --cap-add PERFMON"),
    ({"container": "podman"}, "podman run --cap-add PERFMON"),
    ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "securityContext: {capabilities: {add: [PERFMON]}}"),
    ({"container": "systemd-nspawn"}, "systemd-nspawn --capability=CAP_PERFMON"),
    ({"container": "lxc"}, "take perfmon out of lxc.cap.drop"),
    ({"container": "oci"}, "--cap-add PERFMON"), ({}, "")])
def test_root_of_a_container(doctor: Path, names: dict[str, str], line: str) -> None:
    """uid 0 with the bounding set of the container, which an engine fills by --cap-add."""
    said = change(ask(*BARE, doctor, "--json", "system", **names))
    assert line in said and "setcap" not in said
    assert "owner of the host" in said and "as root" not in said and "/etc/sysctl.d" not in said
    assert ask(*GIVEN, doctor, "--json", "system", **names)["verdict"] == "works"


@at_two
def test_another_user_of_a_container(doctor: Path, trusted: Path) -> None:
    """What an engine gives goes to uid 0; others need a file capability, unless no_new_privs is set."""
    said = change(ask(*BARE, *USER, doctor, "--json", "system", container="docker"))
    assert "docker run --cap-add PERFMON, and in its image setcap cap_perfmon=ep PROGRAM" in said
    said = change(ask(*GIVEN, *USER, doctor, "--json", "system", container="docker"))
    assert "--cap-add" not in said and "in its image setcap cap_perfmon=ep PROGRAM" in said
    assert ask(*GIVEN, *USER, trusted, "--json", "system", container="docker")["verdict"] == "works"
    said = change(ask(*GIVEN, *USER, *NO_NEW, doctor, "--json", "system", container="docker"))
    assert "setcap cap" not in said and "uid 0 for the program" in said
    assert ask(*GIVEN, *USER, *NO_NEW, trusted, "--json", "system")["verdict"] != "works"
    assert ask(*GIVEN, *NO_NEW, doctor, "--json", "system")["verdict"] == "works"


@pytest.mark.skipif(platform.machine() not in PERF, reason="its number is not known here")
@pytest.mark.parametrize("names", [{"container": "docker"}, {"container": "podman"}, {},
                                   {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}])
def test_a_filter_though_the_capability_is_held(doctor: Path, names: dict[str, str]) -> None:
    """What is held is not to be added."""
    without = change(ask(*BARE, doctor, "--json", "system", limit=lambda: refuse_perf(1), **names))
    with_it = change(ask(*GIVEN, doctor, "--json", "system", limit=lambda: refuse_perf(1), **names))
    add = r"--cap-add PERFMON|add: \[PERFMON\]"
    assert re.search(add, without) and not re.search(add, with_it)
    for said in (without, with_it):
        assert "perf_event_open" in said and ("seccomp=PROFILE" in said or "seccompProfile" in said)


@pytest.mark.parametrize("value, needed", [(2, "kernel.kptr_restrict=1 or less (2 hides them from everybody)"),
                                           (1, "CAP_SYSLOG, or kernel.kptr_restrict=0 with"),
                                           (0, "CAP_SYSLOG, or kernel.perf_event_paranoid=1")])
def test_names_of_kernel_addresses(doctor: Path, tmp_path: Path, value: int, needed: str) -> None:
    """At 2 no capability helps."""
    (tmp_path / "kptr").write_text(f"{value}\n")
    (tmp_path / "kallsyms").write_text("0000000000000000 T startup_64\n")
    before = (f"mount --bind {tmp_path}/kptr /proc/sys/kernel/kptr_restrict\n"
              f'mount --bind {tmp_path}/kallsyms /proc/kallsyms\nexec "$@"')
    done = start("unshare", "-m", "sh", "-ec", before, "sh", doctor, "--json", "kernel-chains")
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip(f"no mounts of its own: {done.stderr.strip()}")
    how = json.loads(done.stdout)["wishes"][0]["how"]
    assert f"names need {needed}" in how and ("SYSLOG" in how) == (value < 2)


HIDE = "mount -t tmpfs none /sys/kernel/tracing; mount -t tmpfs none /sys/kernel/debug\n"


@at_two
@pytest.mark.skipif(not Path("/sys/kernel/tracing").is_dir(), reason="this kernel has no tracefs")
@pytest.mark.parametrize("who, names", [([], ["trace_unmounted"]), (["setpriv", *USER], ["trace_unmounted", "level"])])
def test_all_gates_of_a_wish_at_once(doctor: Path, who: list[str], names: list[str]) -> None:
    """Tracefs, and behind it the level that its data take; root has the first alone."""
    done = start("unshare", "-m", "sh", "-ec", HIDE + 'exec "$@"', "sh", *who, doctor, "--json", "tracepoints")
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip(f"no mounts of its own: {done.stderr.strip()}")
    refusals = json.loads(done.stdout)["wishes"][0]["refusals"]
    first = [one for one in refusals if one["attempt"] == refusals[0]["attempt"]]
    assert [one["name"] for one in first] == names
    assert len(first) == 1 or "kernel.perf_event_paranoid=-1" in first[1]["change"]


@at_two
def test_a_level_is_one_gate(doctor: Path) -> None:
    """However much of it the wishes take."""
    text = " ".join(start("setpriv", *USER, doctor, "own-time", "system").stdout.split())
    assert text.count("CAP_PERFMON is missing") == 1 and text.count("refused by [1]") == 2 and "[2]" not in text
    assert "also kernel.perf_event_paranoid=0 or less, or the same capability, for system" in text


def test_no_word_of_the_library_to_users_of_a_program(doctor: Path) -> None:
    for limit in (3, 8):
        told = start(doctor, "--json", "own-time", "rings", limit=lower(resource.RLIMIT_NOFILE, limit)).stdout
        assert "PM_ALLOW" not in told and '"call": "plan"' not in told and told.startswith("{")


# ------------------------------------------------------------------------------------ limits

HOLD = r"""
import ctypes, mmap, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
held = []
pages, cpus, number = map(int, sys.argv[1:])
for cpu in range(cpus):
    # task-clock, disabled, without the kernel
    attr = ctypes.create_string_buffer(struct.pack("IIQQQQQ", 1, 64, 1, 0, 0, 0, 1 | 1 << 5 | 1 << 6) + bytes(16))
    fd = libc.syscall(number, attr, 0, cpu, -1, 0)
    held.append(mmap.mmap(fd, (pages + 1) * mmap.PAGESIZE))
print("held", flush=True)
sys.stdin.read()
"""


def memory(soft: int, hard: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (soft * 1024, hard * 1024))


@pytest.fixture(name="holder")
def _holder() -> Iterator[int]:
    """Another process of the user holds all that kernel.perf_event_mlock_kb gives."""
    cpus, kb = os.cpu_count() or 1, int((SYSCTL / "perf_event_mlock_kb").read_text(encoding="utf-8"))
    page = resource.getpagesize() // 1024
    if platform.machine() not in PERF or kb != 512 + page:
        pytest.skip("kernel.perf_event_mlock_kb is not the default")
    with subprocess.Popen(["setpriv", *USER, "/usr/bin/python3", "-c", HOLD, str(512 // page), str(cpus),
                           str(PERF[platform.machine()])], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          preexec_fn=memory(0, 0)) as process:
        assert process.stdin and process.stdout and process.stdout.readline() == b"held\n"
        yield process.pid
        process.stdin.close()


def test_memory_that_another_process_holds(doctor: Path, holder: int) -> None:
    cpus, page = os.cpu_count() or 1, resource.getpagesize() // 1024
    least = cpus * 2 * page         # of the smallest rings
    asked = ["setpriv", *USER, doctor, "--json", "rings"]
    last = ask(*asked, limit=memory(0, 1024))["refusals"][-1]
    assert f"hold {cpus * (512 + page)} kB (process {holder})" in last["gate"]
    said = re.search(r"ulimit -l (\d+)", last["change"])
    assert said and ask(*asked, limit=memory(int(said[1]), 1024))["verdict"] == "instead"
    assert ask(*asked, limit=memory(least - 1, least - 1))["verdict"] == "refused"
    # at the hard limit ulimit(1) helps nobody but root
    last = ask(*asked, limit=memory(page, page))["refusals"][-1]
    assert "ulimit" not in last["change"]
    said = re.search(r"--memlock=(\d+):\1 ", last["change"])
    assert said and int(said[1]) > page * 1024
    assert ask(*asked, limit=memory(int(said[1]) // 1024, int(said[1]) // 1024))["verdict"] == "instead"
    said = re.search(r"kernel.perf_event_mlock_kb=(\d+)", last["change"])
    assert said and int(said[1]) > 512 + page


def test_memory_that_nobody_else_holds(doctor: Path) -> None:
    first = ask("setpriv", *USER, doctor, "--json", "rings", limit=memory(0, 1024))["refusals"][0]
    assert "other process" not in first["gate"]


def test_descriptors_at_the_hard_limit(doctor: Path) -> None:
    said = change(ask(doctor, "--json", "rings", limit=lower(resource.RLIMIT_NOFILE, 3)))
    assert "ulimit" not in said and "PM_ALLOW" not in said
    found = re.search(r"--nofile=(\d+):\1 ", said)
    assert found and ask(doctor, "--json", "rings",
                         limit=lower(resource.RLIMIT_NOFILE, int(found[1])))["verdict"] == "works"
    said = change(ask(doctor, "--json", "rings", limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (3, 99))))
    assert said == "ulimit -n 99"
