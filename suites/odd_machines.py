#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Ask the same kernel from odd machines: no answer may become false because of where it is asked.

The bundle runs in a root of its own, once as on a plain machine and then on each odd one: on btrfs, on
an overlay over two file systems, with one CPU, 24 descriptors, SCHED_IDLE, without /proc, in a rootless
container, behind a filter that answers ENOSYS. What the plain machine can do an odd one may be refused, or
lack, or fail to find out. A `no` or `broken` that the plain machine did not say is false, and so is that the
kernel lacks what did work on the plain machine.

usage: suites/odd_machines.py [--suite NAME] [--keep] [MACHINE]...    (as root)
Needs btrfs-progs, busybox-static and util-linux. A machine that cannot be had here is named with its
reason and left out. Exit: 0 nothing false, 1 something is, 3 could not run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

TREE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TREE))

from reports import wordlist  # noqa: E402

BUNDLE = TREE / "build" / platform.machine() / "bundle"
DENY = TREE / "build" / platform.machine() / "deny_calls"
LIMIT = 1800			# seconds for one machine
PLAIN = "plain"
FALSE = ("no", "broken")
ABOUT_THE_KERNEL = "this kernel has no"

Answers = dict[str, tuple[str, str]]	# persona and point -> verdict, reason


@dataclass(frozen=True)
class Machine:
    """How a machine is made. In `mounts` $work is a scratch folder and $root where the root shall be;
    `inside` is put before the chroot that runs the suite."""
    name: str
    mounts: str = ""
    inside: str = ""
    proc: bool = True
    needs: tuple[str, ...] = ()


IMAGE = "truncate -s 300M $work/image && mkfs.btrfs -q $work/image && mount -o loop $work/image $root"
OVERLAY = """mkdir $work/top && mount -t tmpfs none $work/top && mkdir $work/top/upper $work/top/work
mkdir $work/low && truncate -s 200M $work/image && mkfs.ext4 -q $work/image && mount -o loop $work/image $work/low
fill $work/low
mount -t overlay -o lowerdir=$work/low,upperdir=$work/top/upper,workdir=$work/top/work none $root"""
ROOTLESS = "setpriv --reuid 65534 --regid 65534 --clear-groups unshare --user --map-root-user --mount --pid --fork"

MACHINES = [
    Machine(PLAIN),
    Machine("btrfs", IMAGE, needs=("mkfs.btrfs",)),
    Machine("overlay", OVERLAY, needs=("mkfs.ext4",)),
    Machine("one-cpu", inside="taskset -c $first"),
    Machine("descriptors", inside="prlimit --nofile=24:24"),
    Machine("sched-idle", inside="chrt --idle 0"),
    Machine("no-proc", proc=False),
    Machine("rootless", inside=f"{ROOTLESS} --mount-proc=$root/proc"),
    Machine("container", inside=f"{ROOTLESS} --mount-proc=$root/proc $deny"),
    Machine("sandbox", inside="$deny --enosys"),
]

SCRIPT = """set -eu
fill() {
	mkdir -p "$1"/bin "$1"/etc "$1"/proc "$1"/sys "$1"/dev "$1"/tmp "$1"/results
	cp -r "$bundle" "$1/perfmodes"
	cp "$(command -v busybox)" "$1/bin/busybox"
	for applet in $(busybox --list); do ln -s busybox "$1/bin/$applet" 2>/dev/null || :; done
	printf 'root:x:0:0::/:/bin/sh\\nnobody:x:65534:65534::/:/bin/false\\n' > "$1/etc/passwd"
	printf 'root:x:0:\\nnogroup:x:65534:\\n' > "$1/etc/group"
}
mkdir "$root"
mount --bind "$root" "$root"	# the root of a machine is a mount point
@mounts@
[ -d "$root/perfmodes" ] || fill "$root"
chmod 1777 "$root/tmp" "$root/results" "$root"
[ @proc@ = no ] || mount --bind /proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
status=0
@inside@ chroot "$root" /bin/sh /perfmodes/run.sh --quiet --out /results/run "$@" || status=$?
cp -r "$root/results/run" "$out"
exit $status
"""


def stop(text: str) -> NoReturn:
    """End with status 3: 1 means that an answer is false."""
    print(f"odd_machines: {text}", file=sys.stderr)
    sys.exit(3)


def script_of(machine: Machine) -> str:
    text = SCRIPT.replace("@mounts@", machine.mounts).replace("@inside@", machine.inside)
    return text.replace("@proc@", "yes" if machine.proc else "no")


def run(machine: Machine, scratch: Path, arguments: list[str]) -> Path:
    """Run the suite on a machine. Returns its folder of answers."""
    work, out = scratch / f"{machine.name}.work", scratch / machine.name
    work.mkdir()
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "work": str(work), "root": str(work / "root"),
           "out": str(out), "bundle": str(BUNDLE), "deny": str(DENY), "first": str(min(os.sched_getaffinity(0)))}
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script_of(machine), "sh", *arguments]
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="backslashreplace", timeout=LIMIT, check=False)
    shutil.rmtree(work, ignore_errors=True)
    if not (out / "plan").exists():
        stop(f"{machine.name}: status {done.returncode}: {done.stderr.strip()[-600:]}")
    subprocess.run([sys.executable, "-m", "reports", "result", out], cwd=TREE, capture_output=True, check=False)
    return out


def answers(out: Path) -> Answers:
    result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    return {f"{persona} {probe}.{name}": (point["verdict"], point.get("reason", ""))
            for persona, body in result["personas"].items()
            for probe, outcome in body["probes"].items() for name, point in outcome["points"].items()}


def false_answers(plain: Answers, odd: Answers) -> Iterator[str]:
    """What an odd machine says against the kernel and the plain one does not."""
    for key, (verdict, reason) in sorted(odd.items()):
        before = plain.get(key, ("unknown", ""))[0]
        lacks = before == "yes" and verdict == "absent" and ABOUT_THE_KERNEL in reason
        if lacks or verdict in FALSE and before != verdict:
            yield f"{key}: {before} -> {verdict}: {reason}"


def changes(plain: Answers, odd: Answers) -> Counter[tuple[str, str, str]]:
    """How often which verdict became which, for which reason."""
    return Counter((plain[key][0], verdict, reason[:100]) for key, (verdict, reason) in odd.items()
                   if key in plain and plain[key][0] != verdict)


def why_not(machine: Machine) -> str:
    missing = [name for name in machine.needs if not shutil.which(name)]
    return f"no {', '.join(missing)}" if missing else ""


def table(found: dict[str, Answers], missing: dict[str, str]) -> list[str]:
    """A line for each machine: how its answers differ from the plain one's."""
    lines = [f"{'machine':12}" + "".join(f"{word:>9}" for word in wordlist.EVERY) + f"{'changed':>9}{'false':>7}"]
    for name, said in found.items():
        counts = Counter(verdict for verdict, _ in said.values())
        changed = sum(changes(found[PLAIN], said).values())
        wrong = len(list(false_answers(found[PLAIN], said)))
        lines.append(f"{name:12}" + "".join(f"{counts[word]:9}" for word in wordlist.EVERY) + f"{changed:9}{wrong:7}")
    return [*lines, *(f"{name:12} left out: {why}" for name, why in missing.items())]


def report(found: dict[str, Answers], missing: dict[str, str]) -> int:
    """Print everything; returns how many answers are false."""
    wrong = 0
    for name, said in found.items():
        for (before, after, reason), count in changes(found[PLAIN], said).most_common():
            print(textwrap.shorten(f"{name}: {count} {before} -> {after}: {reason}", 160))
        for line in false_answers(found[PLAIN], said):
            print(f"FALSE {name}: {line}")
            wrong += 1
    print(*table(found, missing), sep="\n")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine", nargs="*", choices=[[], *(machine.name for machine in MACHINES)], default=[])
    parser.add_argument("--suite", default="default", help="which probes (default: %(default)s)")
    parser.add_argument("--probe", action="append", default=[], help="only those, as globs over ids")
    parser.add_argument("--keep", action="store_true", help="keep the results in build/odd")
    options = parser.parse_args()
    if os.geteuid() != 0 or not BUNDLE.is_dir():
        stop("needs root, and make bundle")
    scratch = TREE / "build" / "odd"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    scratch.chmod(0o755)
    arguments = ["--suite", options.suite, *(word for glob in options.probe for word in ("--probe", glob))]
    found: dict[str, Answers] = {}
    missing: dict[str, str] = {}
    for machine in MACHINES:
        if options.machine and machine.name not in (PLAIN, *options.machine):
            continue
        if reason := why_not(machine):
            missing[machine.name] = reason
            continue
        found[machine.name] = answers(run(machine, scratch, arguments))
        print(f"odd_machines: {machine.name}: {len(found[machine.name])} answers", file=sys.stderr)
    wrong = report(found, missing)
    if not options.keep:
        shutil.rmtree(scratch)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
