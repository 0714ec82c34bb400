# SPDX-License-Identifier: MIT
"""A bundle whose run.sh is a few lines: its suites are named after what they do."""

from __future__ import annotations

import os
from pathlib import Path

from fake_place import FIRST, KTAP

RUN = r"""#!/bin/sh
suite=good out='' tee=/dev/null
while [ $# -gt 0 ]; do
	case $1 in
	--suite) suite=$2; shift ;;
	--resume) suite=resumed ;;
	--out) out=$2; shift ;;
	--tee) tee=$2; shift ;;
	esac
	shift
done
mkdir -p "$out/root" "$out/user"
put() { cat > "$out/.$$" && mv "$out/.$$" "$out/$1"; }
send() {
	set -- "$1" $(cksum < "$out/$1")
	{ echo "@@file $1 $3 $2"; cat "$out/$1"; echo; } >> "$tee"
}
first() { cat "${0%/*}/$1" | put "$1"; send "$1"; }
probe() { cat "${0%/*}/ktap" | put "$1"; send "$1"; }
case $0 in /*) top=${0%/*}/.. ;; *) top=$PWD ;; esac
down() {	# this probe brings the machine down
	[ -e "$top/../down" ] || return 0
	echo uid=0 | put root/env
	send root/env
	touch "$TMPDIR/asked"
	sleep 77
}
if [ $suite = resumed ]; then
	count=3
	while read -r persona id; do
		case $id in c.d) down ;; esac
		probe "$persona/$id.ktap"; count=$((count + 1))
	done < "$out/plan"
	for name in env catalogue plan; do send $name; done
	echo "@@end $count" >> "$tee"
	exit 0
fi
for name in env catalogue plan; do first $name; done
probe root/a.b.ktap
case $suite in
tells) { echo "# $(uname -n) has 02:00:5e:10:20:30 in $PWD"; cat "${0%/*}/ktap"; } | put root/c.d.ktap
	send root/c.d.ktap; uname -n >&2; exit 3 ;;
restarts) down ;;
fills) cat /dev/zero >"$out/zero" || exit 3 ;;
waits) wait_here || exit; probe root/c.d.ktap; probe user/a.b.ktap; echo "@@end 6" >> "$tee" ;;
gaps) sleep 1; probe root/c.d.ktap; sleep 1; probe user/a.b.ktap; echo "@@end 6" >> "$tee" ;;
good) probe root/c.d.ktap; probe user/a.b.ktap; echo "@@end 6" >> "$tee" ;;
slow) echo "a word" >&2; (sleep 77) & sleep 77 ;;
quits) echo "no room" >&2; exit 3 ;;
short) echo "@@end 6" >> "$tee" ;;
unsent) cat "${0%/*}/ktap" | put root/c.d.ktap; exit 3 ;;
evil)
	for name in ../evil /tmp/evil root/../../evil .hidden boot.json a/b/c/d; do
		printf '@@file %s 1 1\nx\n' "$name"
	done >> "$tee"
	printf '@@file root/c.d.ktap 5 1\n12345\n' >> "$tee"
	ln -s /etc/passwd "$out/user/x.y.ktap"
	echo "@@end 4" >> "$tee" ;;
flood) while :; do echo 0123456789abcdef; done >> "$tee" ;;
esac
"""


# How long it sleeps, in digits of this process: tests run side by side look for what they left behind.
NAP = f"77.{os.getpid()}"


def tiny_bundle(folder: Path) -> Path:
    folder.mkdir()
    (folder / "run.sh").write_text(RUN.replace("sleep 77", f"sleep {NAP}"))
    (folder / "run.sh").chmod(0o755)
    (folder / "ktap").write_bytes(KTAP)
    for name, data in FIRST.items():
        (folder / name).write_bytes(data)
    return folder
