#!/bin/sh
# SPDX-License-Identifier: MIT
# In a guest, in the place of the suite's run.sh: each known call tree as the library unwinds it from
# samples, then stopped; and the core of that moment, for the gdb of the host.
set -u
out='' tee=/dev/null what=''
while [ $# -gt 0 ]; do
	case $1 in
	--out) out=$2; shift ;;
	--tee) tee=$2; shift ;;
	--suite | --skip) shift ;;
	*) what="$what $1" ;;
	esac
	shift
done
for name in lib lib64 usr; do
	[ ! -e "/perfmodes/root/$name" ] || ln -s "/perfmodes/root/$name" "/$name"
done
count=0
send() {	# FILE: what is in it goes out
	[ -e "$out/$1" ] || return 0
	# shellcheck disable=SC2046	# two words
	set -- "$1" $(cksum < "$out/$1")
	{ echo "@@file $1 $3 $2"; cat "$out/$1"; echo; } >> "$tee"
	count=$((count + 1))
}
first_frame() { sed -n '1s/^[^ ]* //p' "$out/$1/stopped"; }

hold() {	# TREE PID: stops it in its innermost call, and unwinds it
	# shellcheck disable=SC2012	# numbers
	tid=$(ls "/proc/$2/task" | sort -n | tail -n 1)
	read -r _ _ want _ < "$out/$1/ready"
	turn=0
	while [ $turn -lt 100 ]; do
		kill -STOP "$2"
		/perfmodes/root/stopped "$2" "$tid" > "$out/$1/stopped" 2>&1
		case "$want $(first_frame "$1")" in
		"$want $want "* | "? "*"[vdso]"*) break ;;
		esac
		kill -CONT "$2"
		sleep 0.05
		turn=$((turn + 1))
	done
	echo "tid $tid" >> "$out/$1/stopped"
}

start() {	# PROGRAM TREE: until it is in its innermost call
	mkdir -p "$out/$2"
	"/perfmodes/root/$1" "$2" > "$out/$2/ready" 2>&1 &
	pid=$!
	turn=0
	while [ ! -s "$out/$2/ready" ] && [ -d /proc/$pid ] && [ $turn -lt 300 ]; do
		sleep 0.1
		turn=$((turn + 1))
	done
}

chains() {	# TREE, by chains of the kernel: what defers them says how many it deferred
	start pointers "$1"
	/perfmodes/root/folded_stacks $pid 3 chains > "$out/$1/folded" 2> "$out/$1/told"
	kill -KILL $pid
	for file in ready told folded; do send "$1/$file"; done
}

ask() {	# PROGRAM TREE
	name=$2
	start "$1" "$name"
	/perfmodes/root/sample $pid 3 50 16384 "$out/$name/folded" > "$out/$name/told" 2>&1
	hold "$name" $pid
	kill -ABRT $pid	# sh lets what it starts with & ignore QUIT
	kill -CONT $pid
	wait $pid
	echo "status $?" >> "$out/$name/stopped"
	gzip -c "/tmp/core.$pid" > "$out/$name/core.gz"
	rm -f "/tmp/core.$pid" "/tmp/perf-$pid.map"
	echo "$name: $(cut -d. -f1 /proc/uptime) s" >&2
	for file in ready told folded stopped core.gz; do send "$name/$file"; done
}

ln -s /perfmodes/root/late.so /late.so	# gdb looks for it in the root that it is told
export TREES_LIBRARY=/late.so TREES_NICE=19
echo 100000000 > /proc/sys/kernel/perf_event_max_sample_rate
echo /tmp/core.%p > /proc/sys/kernel/core_pattern
# shellcheck disable=SC3045	# busybox has it
ulimit -c unlimited
cd /tmp || exit 3
case $what in
" chains") chains recursion ;;
" signed "*) for tree in ${what# signed}; do ask signed "$tree"; done ;;	# addresses, by pointer authentication
*) for tree in $what; do ask trees "$tree"; done ;;
esac
echo "@@end $count" >> "$tee"
