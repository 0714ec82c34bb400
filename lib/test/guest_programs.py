# SPDX-License-Identifier: MIT
"""Real programs of this machine in a guest: each as three personas under strace and under explain, and its recording asked
again. All of it is one boot of a row of the matrix, and what the console said is read afterwards."""

from __future__ import annotations

import base64
import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest
from test_gates_in_guests import bundle
from test_slow_explain_programs import APP, OTHER_TRACERS, programs

TREE = Path(__file__).resolve().parents[2]
# gdb takes Python's library, and sysprof a service that asks for it.
NAMES = os.environ.get("EXPLAIN_NAMES", "").split() or [name for name in programs() if name not in ("gdb-btrace", "sysprof")]
PERSONAS = os.environ.get("EXPLAIN_PERSONAS", "root perfmon user").split()
MEMORY = 2560       # MiB: the programs, and three versions of LLVM
RUN = r"""#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
from=$(pwd)
mkdir -p /lib && ln -s "$here/root/lib64" /lib64 && ln -s "$here/root/lib" /lib/x86_64-linux-gnu
mkdir -p /usr/share && ln -s "$here/root/terminfo" /usr/share/terminfo
cp -R "$here/root/tree/." /
for name in passwd nsswitch.conf; do [ -e /etc/$name ] || cp "$here/root/etc/$name" /etc; done
[ ! -d /var/lib/pcp ] || chmod 1777 /var/lib/pcp/pmdas/perfevent	# where its lock is
rm -f /bin/true && cp "$here/root/bin/true" /bin/true
mkdir -p /tmp/made && chmod 1777 /tmp/made /tmp
mount -t tracefs none /sys/kernel/tracing 2>/dev/null
cd /tmp/made && ip link set lo up 2>/dev/null
PATH=$here/root/bin:$PATH HOME=/tmp/made _RR_TRACE_DIR=/tmp/made TERM=linux
export PATH HOME _RR_TRACE_DIR TERM
as() {	# PERSONA WORDS...
	persona=$1
	shift
	"$here/bin/launch" --out /tmp/told --persona "$persona" --personas "$here/suites/personas.txt" --timeout 100 -- "$@"
}
give() {	# KIND NAME PERSONA FILE
	echo "@part $1 $2 $3"; gzip -c "$4" | base64; echo "@end"
}
clean() {
	rm -rf /tmp/made/* /tmp/told /tmp/rr && cp "$here/root/bin/app" "$here/root/app.c" /tmp/made
}
alone() {	# NAME PERSONA WORDS...
	name=$1 persona=$2
	shift 2
	clean
	as "$persona" /bin/sh -c 'exec "$@"' sh "$@"
	give says "$name" "$persona" /tmp/told
}
traced() {	# NAME PERSONA WORDS...
	name=$1 persona=$2
	shift 2
	clean
	as "$persona" "$here/root/bin/strace" -f -v -X raw -e trace=perf_event_open -o /tmp/made/log -- "$@"
	give says "$name" "$persona" /tmp/told
	give strace "$name" "$persona" /tmp/made/log
}
explained() {	# NAME PERSONA WORDS...
	name=$1 persona=$2
	shift 2
	clean
	as "$persona" "$here/bin/explain" --json /tmp/made/told --record /tmp/made/real -- "$@"
	give text "$name" "$persona" /tmp/told
	give told "$name" "$persona" /tmp/made/told
	give real "$name" "$persona" /tmp/made/real
	echo "$name $persona: $(cut -d ' ' -f 1 /proc/uptime) s"
}
replay() {	# NAME PERSONA
	as "$2" "$here/bin/replay" "$here/recordings/$1.$2.json"
	give replay "$1" "$2" /tmp/told
}
advised() {	# NAME WORDS...: tracefs was opened to the user as explain advises, and the program may have capabilities
	name=$1
	shift
	for persona in user perfmon bpfmon; do
		clean
		"$here/bin/launch" --out /tmp/told --persona $persona --personas /tmp/personas --timeout 100 -- \
			"$here/bin/explain" --json /tmp/made/told "$@"
		give advised-text "$name" $persona /tmp/told
		give advised "$name" $persona /tmp/made/told
	done
}
ls /sys/bus/event_source/devices >/tmp/pmus
give pmus - - /tmp/pmus
cat /proc/sys/kernel/perf_event_paranoid >/tmp/level
give level - - /tmp/level
%s
give finished - - /tmp/level
cd "$from" && exec "$here/run-it.sh" "$@"
"""
# All of it is one probe to who watches the guest, and takes minutes: it is not to be taken for hung.
PATIENT = ("import pathlib, runpy, sys; from kernels import matrix; matrix.load.__defaults__ = (pathlib.Path(sys.argv.pop(1)),); "
           "runpy.run_module('kernels', run_name='__main__')")
NEED_TRACEFS = ["perf-trace", "perf-sched", "opensnoop", "llcstat"]
OPEN_TRACEFS = """mount -o remount,gid=65534,mode=750 /sys/kernel/tracing
{ cat "$here/suites/personas.txt"; echo 'bpfmon 65534 perfmon,bpf none and may load programs of BPF'; } >/tmp/personas"""
# What programs load or start by its path, or do not do without.
ALSO = {
    "coz": ["/usr/lib/coz-profiler/libcoz.so"],
    "gprofng": ["/usr/bin/gp-collect-app", "/etc/gprofng.rc", "/usr/lib/x86_64-linux-gnu/gprofng"],
    "pcp-perfevent": ["/etc/pcp.conf", "/var/lib/pcp/pmdas/perfevent/perfevent.conf"],
    "rr": ["/usr/lib/rr"],
    "uftrace": ["/usr/lib/x86_64-linux-gnu/uftrace"],
}
COZ = """#!/bin/sh
# As coz(1), which takes Python: `coz run --- PROGRAM`.
shift 2
LD_PRELOAD=/usr/lib/coz-profiler/libcoz.so COZ_BINARY_SCOPE=MAIN COZ_SOURCE_SCOPE=% COZ_FILTER_SYSTEM=1 \
COZ_OUTPUT=profile.coz exec "$@"
"""
Parts = dict[tuple[str, str, str], str]


def program_of(words: list[str]) -> str:
    return shutil.which(next(word for word in words if word not in ("timeout", "3", "4"))) or ""


def words_of(name: str) -> list[str]:
    """What ends after some seconds here may not have begun by then in a guest, or not end for a minute (perf top).

    The program is in the path there, wherever it is here.
    """
    words = [Path(word).name if word == program_of(programs()[name]) else word for word in programs()[name]]
    return ["timeout", "-k", "10", os.environ.get("EXPLAIN_SECONDS", "30"), *words[2:]] if words[0] == "timeout" else words


def recording(name: str, persona: str) -> Path:
    return TREE / "reports/data/recordings" / f"{name}.{persona}.json"


def copy_libraries(program: str | Path, place: Path) -> None:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    for path in re.findall(r"(/\S+) \(0x", listed):
        into = place / ("root/lib64" if "ld-linux" in path else "root/lib") / Path(path).name
        if not into.exists():
            shutil.copy(os.path.realpath(path), into)


def copy_tree(path: Path, place: Path) -> None:
    into = place / ("root/bin" if path.parent == Path("/usr/bin") else f"root/tree{path.parent}") / path.name
    into.parent.mkdir(parents=True, exist_ok=True)
    (shutil.copytree if path.is_dir() else shutil.copy)(path, into)
    for file in [path] if path.is_file() else [file for file in path.iterdir() if ".so" in file.name]:
        copy_libraries(file, place)


def fill(place: Path, wanted: list[str]) -> None:
    """The programs, and what they are linked with."""
    for folder in ("root/bin", "root/lib", "root/lib64", "root/terminfo/l", "root/tree/run", "root/etc", "recordings"):
        (place / folder).mkdir(parents=True)
    for program in ["/usr/bin/strace", "/usr/bin/true", *(program_of(programs()[name]) for name in wanted)]:
        shutil.copy(os.path.realpath(program), place / "root/bin" / Path(program).name)
        (place / "root/bin" / Path(program).name).chmod(0o755)
        copy_libraries(program, place)
    if "coz" in wanted:
        (place / "root/bin/coz").write_text(COZ, encoding="utf-8")
    (place / "root/app.c").write_text(APP, encoding="utf-8")
    subprocess.run(["gcc", "-g", "-gdwarf-4", "-o", place / "root/bin/app", place / "root/app.c"], check=True, timeout=120)
    for path in [Path(path) for name in wanted for path in ALSO.get(name, [])]:
        copy_tree(path, place)
    for name in "passwd", "nsswitch.conf":
        shutil.copy(Path("/etc", name), place / "root/etc")
    for path in (TREE / "reports/data/recordings").glob("*.json"):
        shutil.copy(path, place / "recordings")
    if Path("/lib/terminfo/l/linux").exists():
        shutil.copy("/lib/terminfo/l/linux", place / "root/terminfo/l")


def lines_of(wanted: list[str]) -> list[str]:
    """What is done in the guest: each program as each persona, and its recording."""
    lines = []
    for name in wanted:
        looks = ("alone" if name in OTHER_TRACERS else "traced"), "explained"
        lines += [f"{look} {name} {persona} {shlex.join(words_of(name))}" for persona in PERSONAS for look in looks]
        lines += [f"replay {name} {persona}" for persona in PERSONAS if recording(name, persona).exists()]
    return [*lines, OPEN_TRACEFS, *(f"advised {name} {shlex.join(words_of(name))}" for name in NEED_TRACEFS if name in wanted)]


def ask(row: str, place: Path, wanted: list[str], lines: list[str], pmu: str = "") -> str:
    """What the guest's console said."""
    asking = place / "bundle"
    shutil.copytree(bundle(), asking, symlinks=True)
    fill(asking, wanted)
    (asking / "run.sh").rename(asking / "run-it.sh")
    (asking / "run.sh").write_text(RUN % "\n".join(lines), encoding="utf-8")
    (asking / "run.sh").chmod(0o755)
    rows = (TREE / "kernels/matrix.toml").read_text(encoding="utf-8")
    rows = re.sub(r"^memory = 512\b", f"memory = {MEMORY}", re.sub(r"^stall = \d+", "stall = 3000", rows, flags=re.M), flags=re.M)
    (place / "matrix.toml").write_text(rows, encoding="utf-8")
    subprocess.run([sys.executable, "-c", PATIENT, place / "matrix.toml", "run", row, "--bundle", asking, "--probe",
                    "perm.available", "--persona", "root", "--no-disturb", "--cold", "--timeout", "3000", "--out",
                    place / "out", *(["--pmu", pmu] if pmu else [])], cwd=TREE, stdin=subprocess.DEVNULL, timeout=3600, check=False)
    return (place / "out" / row / "console.log").read_text(encoding="utf-8", errors="replace")


def read_parts(log: str) -> Parts:
    found = re.findall(r"^@part (\S+) (\S+) (\S+)\n([A-Za-z0-9+/=\n]*)^@end", log.replace("\r", ""), re.M)
    return {(kind, name, persona): gzip.decompress(base64.b64decode(text)).decode(errors="replace")
            for kind, name, persona, text in found}


@lru_cache(maxsize=None)
def parts(row: str, place: Path) -> Parts:
    wanted = [name for name in NAMES if program_of(programs()[name])]
    if len(wanted) < 2 or not shutil.which("strace"):
        pytest.skip("two of the programs, or strace, are not installed")
    logs = os.environ.get("EXPLAIN_LOGS")
    kept = Path(logs, row + ".log") if logs else None
    log = kept.read_text(encoding="utf-8") if kept and kept.exists() else ask(row, place, wanted, lines_of(wanted))
    if kept and "@part finished" in log:
        kept.write_text(log, encoding="utf-8")
    return read_parts(log)
