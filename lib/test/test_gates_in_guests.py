# SPDX-License-Identifier: MIT
"""Gates that take a kernel of one's own: lockdown, a security module with a hook for perf events, a rate that was
lowered for all. Each is closed for real, the doctor's sentence is done, and the wish is met."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("make"),
              pytest.mark.skipif(not shutil.which("qemu-system-x86_64"), reason="no QEMU")]
TREE = Path(__file__).resolve().parents[2]
ROWS = os.environ.get("GATE_ROWS", "amd64-6.12").split()
HYBRID = os.environ.get("GATE_HYBRID_ROWS", "amd64-6.12-hybrid").split()
ASK = r"""#!/bin/sh
here=$(dirname "$0")
mount -t securityfs none /sys/kernel/security 2>/dev/null
said() {	# what the doctor says now, under a label, as a persona
	"$here/bin/launch" --out /tmp/told --persona "$2" --personas "$here/suites/personas.txt" -- "$here/bin/doctor" --json
	echo "@doctor $1"
	cat /tmp/told
	echo "@end"
}
%s
exec "$here/run-it.sh" "$@"
"""
# The doctor's own command is done, and the line that it gives is read as at the next boot, by systemd's program.
RATE = r"""rate=/proc/sys/kernel/perf_event_max_sample_rate
said before root
echo 20 >$rate
said lowered root
sed -n 's/.*\(sysctl -w kernel.perf_event_max_sample_rate=[0-9]*\) .*/\1/p' /tmp/told | sh >/dev/null
said raised root
"""
LEVEL = r"""level=/proc/sys/kernel/perf_event_paranoid
cp -R "$here/root" /tmp/root
mkdir -p /tmp/root/proc /tmp/root/etc/sysctl.d
mount -t proc proc /tmp/root/proc
booted() {	# the level that the kernel starts with, and the files that are read at a boot
	echo 2 >$level
	chroot /tmp/root /lib/systemd/systemd-sysctl
}
advised() { grep -A 8 '"wish": "own-switches"' /tmp/advice | sed -n "s/.*$1.*/\1/p" | head -n 1; }
said before user
cp /tmp/told /tmp/advice
advised '\(sysctl -w [a-z_.]*=[-0-9]*\) until the next boot' | sh >/dev/null
said lowered user
booted
said forgotten user
advised 'and the line \([a-z_.]*=[-0-9]*\) in \/etc\/sysctl.d\/' >/tmp/root/etc/sysctl.d/perf.conf
booted
said kept user
"""
SELINUX = """mount -t selinuxfs none /sys/fs/selinux || echo '@no SELinux'
said before root
for policy in refuses allows; do
	cat "$here/$policy.policy" >/sys/fs/selinux/load && echo 1 >/sys/fs/selinux/enforce || echo '@no policy'
	said $policy root
done
"""
# The first SIDs by their numbers (security/selinux/include/initial_sid_to_string.h); the kernel asks for a class process.
SIDS = ("kernel security unlabeled fs file file_labels init any_socket port netif netmsg node igmp_packet icmp_socket "
        "tcp_socket sysctl_modprobe sysctl sysctl_fs sysctl_kernel sysctl_net sysctl_net_unix sysctl_vm sysctl_dev kmod "
        "policy scmp_packet devnull").split()
ALL = "open cpu kernel tracepoint read write"
POLICY = """class perf_event
class process
{sids}
class perf_event {{ open cpu kernel tracepoint read write }}
class process {{ transition dyntransition }}
type base_t;
role base_r;
role base_r types {{ base_t }};
allow base_t base_t:perf_event {{ {allowed} }};
allow base_t base_t:process {{ transition dyntransition }};
user base_u roles {{ base_r }};
{contexts}
"""
# systemd as the first process of a namespace: it ends itself, and with it the namespace, after all units.
SYSTEMD = r"""cp -R "$here/root" /tmp/root
for name in proc sys dev run tmp told bin; do mkdir -p /tmp/root/$name; done
cp "$here/bin/doctor" /tmp/root/bin/
unshare -m -p -f sh -c 'mount -t proc proc /tmp/root/proc && mount --rbind /sys /tmp/root/sys &&
	mount --rbind /dev /tmp/root/dev && exec chroot /tmp/root /lib/systemd/systemd --unit=ask.target --log-target=console'
for unit in /tmp/root/told/*; do
	echo "@doctor ${unit##*/}"
	cat "$unit"
	echo "@end"
done
"""
# unit -> its lines, the wish that they stand in the way of, and where the advised line begins
UNITS = {
    "plain": ("User=65534", "system", "AmbientCapabilities=CAP_PERFMON"),
    "bounded": ("User=65534\nCapabilityBoundingSet=CAP_CHOWN", "system", "AmbientCapabilities=CAP_PERFMON CapabilityBoundingSet="),
    "denied": ("SystemCallFilter=~perf_event_open\nSystemCallErrorNumber=EPERM", "own-faults", "SystemCallFilter=perf_event_open"),
    "services": ("SystemCallFilter=@system-service\nSystemCallErrorNumber=EPERM", "own-faults", "SystemCallFilter=perf_event_open"),
    "killed": ("SystemCallFilter=~perf_event_open", "own-faults", "SystemCallFilter=perf_event_open"),
    "locked": ("User=65534\nLimitMEMLOCK=0", "rings", "LimitMEMLOCK="),
}
Told = dict[str, Any]


@lru_cache(maxsize=None)
def bundle() -> Path:
    subprocess.run(["make", "-s", "--no-print-directory", "ARCH=x86_64", "bundle"], cwd=TREE, check=True,
                   capture_output=True, timeout=1800)
    return TREE / "build" / "x86_64" / "bundle"


def in_a_guest(place: Path, row: str, script: str, append: str = "", more: dict[str, Path] | None = None,
               pmu: str = "") -> dict[str, Told]:
    """label -> wish -> what the doctor says of it, of a script that ran in a guest; what explain says is left as it is."""
    asking = place / "bundle"
    shutil.copytree(bundle(), asking, symlinks=True)
    (asking / "run.sh").rename(asking / "run-it.sh")
    (asking / "run.sh").write_text(ASK % script, encoding="utf-8")
    (asking / "run.sh").chmod(0o755)
    for name, path in (more or {}).items():
        (shutil.copytree if path.is_dir() else shutil.copy)(path, asking / name)
    subprocess.run(["./run.sh", "kernels", row, "--bundle", asking, "--probe", "perm.available", "--persona", "root",
                    "--no-disturb", *(["--append", append] if append else []), *(["--pmu", pmu] if pmu else []), "--out", place / "out"], cwd=TREE,
                   stdin=subprocess.DEVNULL, timeout=900, check=False)
    log = (place / "out" / row / "console.log").read_text(encoding="utf-8", errors="replace")
    if found := re.search(r"@no (\w+)", log):
        pytest.skip(f"no {found[1]} there")
    told = {}
    for part in log.split("@doctor ")[1:]:
        label, text = part.split("@end")[0].split(None, 1)
        said = json.loads(text[text.index('{"format"'):text.rindex("}") + 1])
        told[label] = {wish["wish"]: wish for wish in said["wishes"]} if "wishes" in said else said
    return told


def words(wish: Told) -> str:
    return "; ".join(f"{one['gate']}; {one['change']}" for one in wish["refusals"])


@pytest.mark.parametrize("row", ROWS)
def test_lockdown(row: str, tmp_path: Path) -> None:
    """At confidentiality tracefs is empty, and to boot without it is what helps: at integrity all wishes are met as
    without lockdown, and nobody speaks of it."""
    told = {}
    for level in ("confidentiality", "integrity", "none"):
        place = tmp_path / level
        place.mkdir()
        told[level], = in_a_guest(place, row, f"said {level} root", "" if level == "none" else f"lockdown={level}").values()
    closed, less, free = told["confidentiality"], told["integrity"], told["none"]
    assert "kernel lockdown is at confidentiality" in words(closed["tracepoints"])
    assert "boot without lockdown=confidentiality" in words(closed["tracepoints"])
    assert "mount -t" not in words(closed["tracepoints"])
    assert less["tracepoints"]["verdict"] == free["tracepoints"]["verdict"] == "works"
    assert {name: wish["verdict"] for name, wish in less.items()} == {name: wish["verdict"] for name, wish in free.items()}
    assert not any("lockdown" in words(wish) for wish in (*less.values(), *free.values()))
    lost = {name for name, wish in closed.items() if wish["verdict"] != free[name]["verdict"]}
    assert all("lockdown" in words(closed[name]) for name in lost), {name: words(closed[name]) for name in lost}


@pytest.mark.parametrize("row", ROWS)
def test_a_security_module(row: str, tmp_path: Path) -> None:
    """SELinux has a class perf_event. A policy that allows none of it to open is named; one that does meets the wish."""
    if not shutil.which("checkpolicy"):
        pytest.skip("package checkpolicy")
    policies = {}
    for name, allowed in {"refuses": "read write", "allows": ALL}.items():
        source, made = tmp_path / f"{name}.conf", tmp_path / f"{name}.policy"
        source.write_text(POLICY.format(allowed=allowed, sids="\n".join(f"sid {sid}" for sid in SIDS),
                                        contexts="\n".join(f"sid {sid} base_u:base_r:base_t" for sid in SIDS)), encoding="utf-8")
        subprocess.run(["checkpolicy", "-U", "allow", "-c", "31", "-o", made, source], check=True, capture_output=True)
        policies[made.name] = made
    told = in_a_guest(tmp_path, row, SELINUX, "security=selinux selinux=1 enforcing=0", policies)
    before, refused, allowed_ = told["before"], told["refuses"], told["allows"]
    assert before["own-faults"]["verdict"] == "works"
    for name in ("own-faults", "own-switches", "kernel-chains", "system"):
        assert refused[name]["verdict"] != "works", name
        assert "security module" in words(refused[name]) and "ausearch -m avc" in words(refused[name]), words(refused[name])
        assert "paranoid=" not in "".join(one["change"] for one in refused[name]["refusals"])
        assert allowed_[name]["verdict"] == before[name]["verdict"], name
    assert not any("security module" in words(wish) for wish in (*before.values(), *allowed_.values()))


@pytest.mark.parametrize("row", ROWS)
def test_a_rate_that_was_lowered_for_all(row: str, tmp_path: Path) -> None:
    """What samples by frequency gets what is left, and is told the limit; to raise it, as is said, meets the wish."""
    told = in_a_guest(tmp_path, row, RATE)
    before, lowered, raised = told["before"], told["lowered"], told["raised"]
    assert not any("max_sample_rate" in words(wish) for wish in (*before.values(), *raised.values()))
    for name, wish in lowered.items():
        assert wish["verdict"] == before[name]["verdict"] or "max_sample_rate" in words(wish), (name, wish)
    time = lowered["own-time"]
    assert time["used"] == "fewer samples a second" and "20 samples a second instead of 1000" in time["how"]
    first, = time["refusals"]
    assert first["change"].startswith("ask for 20 samples a second, or fewer; for all users of this machine, as root: sysctl -w ")
    assert before["own-time"]["verdict"] == raised["own-time"]["verdict"] == "works"


@pytest.mark.parametrize("row", ROWS)
def test_a_level_is_lowered_and_kept(row: str, tmp_path: Path) -> None:
    """By the command until the next boot, by the line for later ones; the level that is said is enough."""
    program = Path("/lib/systemd/systemd-sysctl")
    if not program.exists():
        pytest.skip("no systemd")
    copy_program(program, tmp_path / "root")
    told = in_a_guest(tmp_path, row, LEVEL, "", {"root": tmp_path / "root"})
    assert {label: wishes["own-switches"]["verdict"] for label, wishes in told.items()} == {
        "before": "instead", "lowered": "works", "forgotten": "instead", "kept": "works"}
    said = told["before"]["own-switches"]["refusals"][0]["change"]
    assert "for all users of this machine, as root" in said and "until the next boot" in said
    assert not any("paranoid" in words(told["lowered"][name]) for name in ("own-switches", "own-faults", "kernel-chains"))
    assert "perf_event_paranoid=0" in words(told["lowered"]["system"])      # which takes more


@pytest.mark.parametrize("row", HYBRID)
def test_cores_of_several_kinds(row: str, tmp_path: Path) -> None:
    """An event of one kind counts nothing on the others: nobody else holds the counters, and nothing is broken."""
    told, = in_a_guest(tmp_path, row, "said it root").values()
    assert told["own-instructions"]["verdict"] == told["own-counter"]["verdict"] == "works", told["own-counter"]
    assert told["rdpmc"]["used"] in ("rdpmc", "read(2) of instructions")
    assert not any("end other profilers" in words(wish) or "nothing came" in words(wish) for wish in told.values())


def copy_program(program: Path, root: Path) -> None:
    """With what it is linked to."""
    libraries = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout)
    for path in (str(program), *libraries):
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(path), root / path[1:])


def root_with_systemd(place: Path, extra: dict[str, str]) -> Path:
    """A root with this machine's systemd, the units above, and what is edited into them."""
    root, programs = place / "root", ["/lib/systemd/systemd", "/lib/systemd/systemd-executor"]
    (root / "etc" / "systemd" / "system").mkdir(parents=True)
    for program in filter(os.path.exists, programs):
        copy_program(Path(program), root)
    (root / "etc" / "passwd").write_text("root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n", encoding="utf-8")
    (root / "etc" / "machine-id").write_text(f"{1:032x}\n", encoding="utf-8")
    units = root / "etc" / "systemd" / "system"
    plain = "[Unit]\nDefaultDependencies=no\n"
    wanted = " ".join(f"{name}.service" for name in UNITS)
    (units / "ask.target").write_text(f"{plain}Requires=end.service\n", encoding="utf-8")
    (units / "end.service").write_text(f"{plain}Wants={wanted}\nAfter={wanted}\nSuccessAction=poweroff-immediate\n"
                                       "FailureAction=poweroff-immediate\n[Service]\n"
                                       "Type=oneshot\nExecStart=/bin/doctor --version\n", encoding="utf-8")
    for name, (lines, *_) in UNITS.items():
        (units / f"{name}.service").write_text(f"{plain}[Service]\nType=oneshot\nExecStart=/bin/doctor --json\n"
                                               f"StandardOutput=file:/told/{name}\n{lines}\n", encoding="utf-8")
        if name in extra:
            (units / f"{name}.service.d").mkdir()
            (units / f"{name}.service.d" / "override.conf").write_text(f"[Service]\n{extra[name]}\n", encoding="utf-8")
    return root


def edits(told: dict[str, Told]) -> dict[str, str]:
    """unit -> the lines that the doctor says to edit into it, of the wish that it stands in the way of."""
    found = {}
    for name, (_, wish, _) in UNITS.items():
        match = re.search(rf"systemctl edit {name}.service: \[Service\] ([^;]*)", words(told[name][wish]))
        found[name] = re.sub(r" (?=\w+=)", "\n", match[1]) if match else words(told[name][wish])
    return found


@pytest.mark.parametrize("row", ROWS[-1:])
def test_a_unit_of_systemd(row: str, tmp_path: Path) -> None:
    """Each with something in the way of a wish; what the doctor says is edited in, and it is met."""
    if not Path("/lib/systemd/systemd").exists():
        pytest.skip("no systemd")
    turns = []
    for turn in ("before", "after"):
        place = tmp_path / turn
        place.mkdir()
        turns.append(in_a_guest(place, row, SYSTEMD, "", {"root": root_with_systemd(place, edits(turns[0]) if turns else {})}))
    before, after = turns
    assert before.keys() == after.keys() == UNITS.keys()
    told = edits(before)
    for name, (_, wish, line) in UNITS.items():
        assert before[name][wish]["verdict"] != "works", name
        assert told[name].replace("\n", " ").startswith(line), (name, told[name])
        assert after[name][wish]["verdict"] == "works", (name, after[name][wish])


EXPLAINED = """for event in 0:1:u 0:1 0:1:u:sample; do
	"$here/bin/explain" --quiet --json /tmp/told "$here/asks" $event >/dev/null
	echo "@doctor $event"
	cat /tmp/told
	echo "@end"
done
said wishes root
"""


@pytest.mark.parametrize("error", ["EPERM", "EOPNOTSUPP", "EINVAL"])
def test_a_pmu_that_leaves_no_mode_out(tmp_path: Path, error: str) -> None:
    """As old ones of 32-bit Arm, which say EPERM: the bit is named, and no security module is."""
    subprocess.run(["gcc", "-static", "-pthread", "-o", tmp_path / "asks", TREE / "lib/test/explain/asks.c"], check=True, timeout=300)
    told = in_a_guest(tmp_path, "amd64-6.1-pmu", EXPLAINED, more={"asks": tmp_path / "asks"},
                      pmu=f"excludes=0 exclude_error={getattr(errno, error)}")
    for event in ("0:1:u", "0:1:u:sample"):
        assert told[event]["asked"][0]["errors"] == {error: 1}
        gate = told[event]["gates"][0]
        assert gate["gate"].startswith("leaving any mode out ") and gate["change"].startswith("leave it out")
    assert told["0:1"]["asked"][0]["opened"] == 1
    assert told["wishes"]["own-instructions"]["verdict"] == "works"


KPROBES = """for name in vfs_read no_function_of_this_name; do
	"$here/bin/explain" --quiet --json /tmp/told "$here/asks" kprobe=$name >/dev/null
	echo "@doctor $name"
	cat /tmp/told
	echo "@end"
done
"""


@pytest.mark.parametrize("row", ROWS)
def test_a_function_that_this_kernel_does_not_have(row: str, tmp_path: Path) -> None:
    """As one of a module that is not loaded: the name is told, and one that is there opens."""
    subprocess.run(["gcc", "-static", "-pthread", "-o", tmp_path / "asks", TREE / "lib/test/explain/asks.c"], check=True, timeout=300)
    told = in_a_guest(tmp_path, row, KPROBES, more={"asks": tmp_path / "asks"})
    assert told["vfs_read"]["asked"][0]["opened"] == 1
    gate = told["no_function_of_this_name"]["gates"][0]
    assert gate["gate"] == "this kernel has no function no_function_of_this_name that a probe can be set at"
    assert "a module that is not loaded" in gate["change"]
