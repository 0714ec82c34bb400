#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh - find out which modes of perf_event_open(2) work on this kernel.
#
# usage: ./run.sh [options]             probe this machine: build, run, print one screen
#        ./run.sh kernels NAME...       probe kernels in QEMU (./run.sh kernels --help)
#        ./run.sh device TAG...|ssh:HOST   probe devices (./run.sh device --help)
#        ./run.sh doctor [--json]       what works here, and who refuses the rest (doctor --help);
#                                       --as debian-12 [WISH]: what one could do there, --for rr: what rr
#        ./run.sh explain PROGRAM ...   why that program's perf events fail here (explain --help)
#        ./run.sh report VERB ...       tables, diffs, catalogue (./run.sh report --help)
#
#   --suite NAME      which probes: a file in suites/ or a path (default: default)
#   --replay FILE     in place of probes the calls that `explain --record FILE` has seen, made again
#   --probe GLOB      probes whose id matches, in place of those of the suite; may be repeated
#   --persona LIST    of suites/personas.txt, with commas (default: the suite's, if allowed here)
#   --list            print the probes of the suite and stop
#   --out DIR         result directory (default: results/<time>; results/latest points to it)
#   --resume          go on with the run in --out or results/latest
#   --jobs N          probes side by side (default: two for each CPU; in an emulator one)
#   --may-disturb     let probes change sysctls, CPUs and the like; all of it is put back
#   --hazards         run probes known to hang or crash some kernels. Never on a machine you need
#   --skip ID=REASON  do not run that probe: its answer is unknown, for this reason
#   --no-install      install no packages (as NO_INSTALL=1)     --no-build   build nothing
#   --old-kernel      system calls newer than Linux 3.10 answer ENOSYS to the probes, and
#   --fault NAME      let the kernel lie to the probes: to test them, in a source tree only
#   --env KEY=VALUE   one more line for the result's env     --tee FILE   copy finished files there
#   --all             print a line for each probe in place of one screen
#   --quiet           no progress, no screen   --help      this
#
# Exit: 0 done and nothing unexpected, 1 broken or unexpected verdicts, 2 usage, 3 could not run or
# no probe could be executed, 130 or 143 interrupted (what is finished is kept; --resume goes on).
set -eu
mask=$(umask) set_locale=${LC_ALL+yes} locale=${LC_ALL:-${LC_CTYPE:-${LANG:-C}}} LC_ALL=C
export LC_ALL
unset CDPATH
umask go-w

# With fewer a shell ends without a word, at its next redirection.
# shellcheck disable=SC3045
case $(ulimit -n) in
? | 1[0-9])
	echo 'run.sh: fewer than 20 open files are allowed; ulimit -n 256, or more, helps' >&2
	exit 3 ;;
esac

# A descriptor that is closed would become a file of the run, and its output.
{ true 9<&0; } 2>/dev/null || exec </dev/null
{ true 9>&1; } 2>/dev/null || exec >/dev/null
true 9>&2 || exec 2>/dev/null

# Some shells look in a PATH of their own where there is none; what they start does not.
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH
for tool in dirname sed; do	# the first of them, in place of a line from the shell for each
	command -v $tool >/dev/null || { printf 'run.sh: %s is not in PATH (%s)\n' $tool "$PATH" >&2; exit 3; }
done
here=$(cd "$(dirname "$0")" && pwd)
newline='
'
suite='' replay='' only='' personas='' out='' extra_env='' tee_file='' lies='' jobs='' interrupted=''
faults='' latest='' all='' like='' verb=''
list=no resume=no quiet=no build=yes

say() { [ "$quiet" = yes ] || printf '%s\n' "$*" >&2 || :; }
die() { printf 'run.sh: %s\n' "$2" >&2; exit "$1"; }
near() {	# WORD NAME...: which name it was meant for: a letter is missing, too many, wrong, or two are swapped
	left='' right=$1
	shift
	while :; do
		one=${right#?}
		two=${one#?}
		swapped=$left${one%"$two"}${right%"$one"}$two
		for name; do case $name in "$left"?"$right" | "$left$one" | "$left"?"$one" | "$swapped")
			printf '; did you mean %s?' "$name"
			return ;;
		esac; done
		[ -n "$right" ] || return 0
		left=$left${right%"$one"} right=$one
	done
}
none() {	# WHAT WORD NAMES
	# shellcheck disable=SC2086 # one a word
	die 2 "no $1 '$2'; there are: $3$(near "$2" $3)"
}
absolute() { case $1 in '' | /*) printf '%s' "$1" ;; *) printf '%s/%s' "$PWD" "$1" ;; esac; }
help() { sed -n '4,/^set -eu/{/^# \{0,1\}/s///p;}' "$here/run.sh"; }

install_hint() { printf 'on Debian: apt-get install'; "$here/.ci/install" --list "$@" 2>/dev/null | while read -r package; do printf ' %s' "$package"; done; }
need_tools() {	# what the build lacks, in one sentence
	command -v make >/dev/null || die 3 "no make to build with; $(install_hint build reports)"
	lacking=$(make -s --no-print-directory -C "$here" "build/${ARCH:-$(uname -m)}/compiles" 2>&1) ||
		{ lacking=${lacking%%"$newline"*} && die 3 "${lacking#make: }"; }
}

python() {	# hand over to a Python package of this tree
	[ -d "$here/reports" ] || die 3 "'$1' needs the source tree; this is only a bundle"
	[ ! -x "$here/.ci/install" ] || "$here/.ci/install" reports ${packages:+"$packages"} || exit 3	# none in a package
	interpreter=/usr/bin/python3
	[ -x $interpreter ] || interpreter=python3
	command -v $interpreter >/dev/null || die 3 "no Python 3 for $1; $(install_hint reports)"
	# Paths are of the caller's folder, from which nothing is imported; blocks may be drawn where its locale has them.
	export PYTHONPATH="$here" PYTHONSAFEPATH=1 PERFMODES_COMMAND="./run.sh${verb:+ $verb}"
	[ "$1" != reports ] || { export PERFMODES_CALLER="$PWD" && cd "$here" && LC_ALL=$locale; }
	exec "$interpreter" -m "$@"	# signals are its own
}

built() {	# NAME: of the tree or of a bundle, in $program; in a tree of somebody else's as it was built last
	program=$here/bin/$1
	if [ -f "$here/Makefile" ]; then
		program=$here/build/${ARCH:-$(uname -m)}/$1
		{ "$here/.ci/install" build && { [ -x "$program" ] || need_tools; } && command -v make >/dev/null &&
			make -s --no-print-directory -C "$here" "${program#"$here/"}" >&2; } || [ -x "$program" ] || exit 3
	fi
}

doctor() {	# --as: what a program could do on another machine, by its profile or result
	case " $* " in *" --as "* | *" --as="*) python reports doctor "$@"; exit ;; esac
	built doctor && exec "$program" "$@"
}

forbid_install() { NO_INSTALL=1; export NO_INSTALL; }	# heard by .ci/install and by make

case ${1:-} in
explain)	# its program finds what the caller has set
	[ "${2:-}" != --no-install ] || { forbid_install; shift; }
	shift && built explain && umask "$mask"
	if [ "$set_locale" = yes ]; then LC_ALL=$locale; else unset LC_ALL; fi
	exec "$program" "$@" ;;
doctor | kernels | device | report)
	verb=$1
	shift
	for word; do
		shift
		case $word in --no-install) forbid_install ;; *) set -- "$@" "$word" ;; esac
	done
	case $verb in
	doctor) doctor "$@" ;; report) python reports "$@" ;;
	kernels) packages=deb:python3-apt && python kernels run "$@" ;; device) python kernels device "$@" ;;
	esac; exit ;;
esac

want() {
	[ $# -ge 2 ] || die 2 "$1 needs a value (see --help)"
}
pair() {
	case $2 in ?*=*) ;; *) die 2 "$1 needs $3, not '$2'" ;; esac
}
while [ $# -gt 0 ]; do
	case $1 in
	--suite) want "$@"; suite=$2; shift ;;
	--replay) want "$@"; replay=$(absolute "$2") all=--all; shift ;;
	--probe) want "$@"; only="$only$2$newline"; shift ;;
	--persona) want "$@"; case $2 in *[!,\ ]*) ;; *) die 2 '--persona needs a name of suites/personas.txt' ;; esac
		personas="$personas $(echo "$2" | sed 's/,/ /g')"; shift ;;
	--out) want "$@"; out=$(absolute "$2"); shift ;;
	--env) want "$@"; pair "$1" "$2" KEY=VALUE; extra_env="$extra_env$2$newline"; shift ;;
	--tee) want "$@"; tee_file=$(absolute "$2"); shift ;;
	--list) list=yes ;; --resume) resume=yes ;;
	--jobs) want "$@"; jobs=$2; shift ;;
	--may-disturb) export PERFMODES_MAY_DISTURB=1 ;; --hazards) export PERFMODES_HAZARDS=1 ;;
	--skip) want "$@"; pair "$1" "$2" ID=REASON; PERFMODES_SKIP="${PERFMODES_SKIP:-}$2$newline"; export PERFMODES_SKIP; shift ;;
	--no-install) forbid_install ;; --no-build) build=no ;;
	--old-kernel) lies="$lies --old-kernel" ;;
	--fault) want "$@"; faults="$faults$2$newline" lies="$lies --fault $2"; shift ;;
	--all) all=--all ;; --quiet) quiet=yes ;; -h | --help) help || exit 3; exit 0 ;;
	-*)	# shellcheck disable=SC2046 # one a word
		die 2 "unknown option '$1' (see --help)$(near "$1" $(set -f; for word in $(help); do case $word in --?*) echo "$word" ;; esac; done))" ;;
	explain | doctor | kernels | device | report) die 2 "'$1' comes before all options: ./run.sh $1 ..." ;;
	*) none verb "$1" 'kernels device doctor explain report' ;;
	esac
	shift
done
[ -z "$tee_file" ] || [ -c "$tee_file" ] || [ -p "$tee_file" ] || (true >>"$tee_file") 2>/dev/null ||
	die 2 "--tee: cannot write to $tee_file"
# The CPUs of an emulated machine are threads of one process that wait for each other, often a
# single one: two probes at a time took 65 s there, one after the other 37.
case $extra_env in *emulator=qemu-tcg*) jobs=${jobs:-1} ;; esac
case $jobs in *[!0-9]* | ?????*) die 2 "--jobs needs a number up to 9999, not '$jobs'" ;; esac

# ------------------------------------------------------------------------------ the probes

if [ -f "$here/Makefile" ]; then
	bin=$here/build/${ARCH:-$(uname -m)}
	if [ $build = yes ]; then
		"$here/.ci/install" build reports || exit 3
		silent=-s
		if ! make -C "$here" -q all >/dev/null 2>&1; then
			need_tools
			say "perfmodes: building (a few minutes the first time)"
			if [ "$quiet" = no ] && [ -t 2 ]; then silent=''; fi
		fi
		# shellcheck disable=SC2086 # one flag or none
		make -C "$here" --no-print-directory $silent -j "$(nproc 2>/dev/null || echo 1)" all >&2 ||
			die 3 "the build failed; V=1 make shows how"
	fi
else
	bin=$here/bin
	[ -z "$lies" ] || die 2 "${lies# }: fake kernels are for the tests of a source tree; this is only a bundle"
fi
launch=$bin/launch table=$here/suites/personas.txt
[ -z "$lies" ] || launch=$bin/falsify/launch
if [ ! -x "$launch" ] || [ ! -d "$bin/probes" ]; then die 3 "no probes in $bin; run make first"; fi
trap 'exit 130' INT; trap 'exit 143' TERM HUP
[ -z "$faults" ] || printf '%s' "$faults" | while read -r fault; do
	"$launch" --fault list | grep -qxF -- "$fault" || die 2 "no fault '$fault' ($launch --fault list)"
done

# A suite file: "timeout N", "personas A B", "only hazard" for probes that declare one, globs to
# take, !globs to leave out, # comments.
read_suite() {
	case $1 in
	*/*) file=$1 ;;
	personas) file='' ;;	# their table, no suite
	*) file=$here/suites/$1.txt ;;
	esac
	# What is no file may never end, or not let itself be opened.
	if [ ! -f "$file" ] || [ ! -r "$file" ]; then
		case $1 in */*) die 2 "$1: no suite: no such file, or none that can be read" ;; esac
		none suite "$1" "$(cd "$here/suites" && echo *.txt | sed 's/personas\.txt *//; s/\.txt//g')"
	fi
	timeout=60 suite_personas='' declared='' take='' leave='' number=0
	while read -r word rest || [ -n "$word" ]; do
		number=$((number + 1))
		case $word in
		'' | '#'*) ;;
		timeout)
			case $rest in
			*[!0-9.]* | *.*.* | ???????*) timeout='' ;;
			*[1-9]*) timeout=$rest ;;
			*) timeout='' ;;
			esac
			[ -n "$timeout" ] ||
				die 2 "$file:$number: timeout needs a number of seconds, not '$rest'"
			;;
		personas) suite_personas=$rest ;;
		only) declared=$rest ;;
		'!'*) leave="$leave${word#!}$newline" ;;
		*) take="$take$word$newline" ;;
		esac
	done <"$file"
	[ -n "$suite_personas" ] || suite_personas=$(sed -n 's/^personas //p' "$here/suites/default.txt")
}

matches() {	# ID GLOBS, one a line; the caller has set -f
	for glob in $2; do
		# shellcheck disable=SC2254 # a glob is meant to match as one
		case $1 in $glob) return 0 ;; esac
	done
	return 1
}

select_probes() {
	set -- "$bin"/probes/*/*
	set -f
	for file; do
		[ -x "$file" ] || continue
		area=${file%/*}
		id=${area##*/}.${file##*/}
		case $id in replay.*) [ -n "$replay" ] || continue ;; esac
		matches "$id" "$take" || continue
		if [ -n "$only" ]; then
			matches "$id" "$only" || continue
		elif matches "$id" "$leave"; then
			continue
		fi
		if [ -n "$declared" ]; then "$file" --describe | grep -q "^$declared=" || continue; fi
		printf '%s\n' "$id"
	done
	set +f
}

program_of() { program=$bin/probes/${1%%.*}/${1#*.}; }

# -------------------------------------------------------------------- the result directory

# Go into the result directory: what is written there by name is then written there, wherever others
# move or link its path to. It is locked until this shell and launch have ended, however they end.
enter() {
	cd -P "$out" || die 3 "cannot enter $out"
	exec 8<.
	status=0
	"$launch" --lock 0 <&8 || status=$?
	case $status in
	0) ;;
	3) say "perfmodes: this file system has no locks: start no second run in $out" ;;
	*) die 2 "another run is at work in $out" ;;
	esac
	[ "$(id -u)" = 0 ] || return 0
	# shellcheck disable=SC2046 # mode, links, user and more
	set -- $(ls -ldn .)
	case $1:$3 in
	?????w* | ????????w*) die 2 "others may write in $out: as root, name a directory of root's own" ;;
	*:0) ;;
	*) die 2 "$out belongs to another user: as root, name a directory of root's own" ;;
	esac
}

quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }	# as it can be pasted into a shell
hint() {	# the command that goes on with this run
	case $0 in *[!A-Za-z0-9._/-]*) quoted "$0" ;; *) printf '%s' "$0" ;; esac
	printf '%s --resume --out %s' "$lies" "$(quoted "$out")"
}

if [ $resume = yes ]; then
	out=${out:-$here/results/latest}
	[ -r "$out/plan" ] || die 2 "nothing to resume in $out"
	enter
	for file in plan env catalogue; do
		if [ -L $file ] || { [ -e $file ] && [ ! -f $file ]; }; then
			die 2 "$out/$file is no regular file: not of a run of this program"
		fi
	done
	recorded() { sed -n "s/[^ -~]//g; s/^$1=//p" env; }
	suite=$(recorded suite); [ ! -f recording ] || replay=$PWD/recording
	begun=$(recorded launch_flags)
	if [ "$begun" != "${lies# }" ]; then	# one result must not mix lies and the truth
		[ -z "$begun" ] || die 2 "the run was begun with $begun: it goes on with that alone"
		printf 'launch_flags=%s\n' "${lies# }" >>./env
	fi
fi
suite=${suite:-${replay:+replay}} suite=${suite:-default}
read_suite "$suite"
if [ "$suite:$replay" = replay: ]; then replay=$here/suites/replay.json; fi	# of kernels or device
[ -z "$replay" ] || { why=$("$bin/replay" --describe "$replay" 2>&1 >/dev/null) && export PERFMODES_REPLAY="$replay"; } || die 2 "${why#replay: }"
[ -z "$only" ] || take="$take*$newline"
if [ $resume = yes ]; then
	# Selecting takes an emulator seconds. What is no id is not to be made a path of.
	probes=$(sed -n 's/^[^ ]* \([a-z0-9_]*\.[a-z0-9_]*\)$/\1/p' plan | sort -u)
else
	probes=$(select_probes)
	set -f
	printf '%s' "$only" | while read -r glob; do
		for id in $probes; do ! matches "$id" "$glob" || continue 2; done
		# shellcheck disable=SC2046 # ids have no blanks
		die 2 "no probe of suite '$suite' is called '$glob' (--list names them)$(near "$glob" $(set +f; only=''; select_probes))"
	done
	set +f
fi
[ -n "$probes" ] || die 2 "suite '$suite' selects no probe here"

# The declarations, one after the other. The build has laid them out as text, which saves starting
# every probe; where that is missing, each probe tells its own.
describe_probes() {
	if (cd "$bin/declared" && for id in $probes; do
		[ -r "${id%%.*}/${id#*.}.txt" ] || exit 1
	done) 2>/dev/null; then
		(cd "$bin/declared" && printf '%s\n' "$probes" | sed 's|\.|/|; s|$|.txt|' | xargs cat)
		return
	fi
	for id in $probes; do
		program_of "$id"
		"$program" --describe 2>/dev/null || printf 'id=%s\n' "$id"	# a broken binary
		echo
	done
}

if [ $list = yes ]; then
	# xargs has a word for a reader that is gone.
	describe_probes 2>/dev/null | sed -n 's/^id=//p; s/^title=//p' | while read -r id && read -r title; do
		printf '%-32s %s\n' "$id" "$title" || exit 3
	done
	exit 0
fi

write() {	# a file, whole or not at all, and never through a link
	{ rm -f "$1.part" && (set -C; cat >"$1.part") && mv "$1.part" "$1"; } || die 3 "cannot write $out/$1 (disk full?)"
}

describe_kernel() {
	printf 'format=1\nsuite=%s\nstarted=%s\n' "$suite" "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
	"$bin/identify"
	if [ -r /proc/config.gz ] && command -v sha256sum >/dev/null; then
		printf 'config_sha256=%s\n' "$(gunzip -c /proc/config.gz | sha256sum | cut -d' ' -f1)"
	elif [ -r "/boot/config-$(uname -r)" ] && command -v sha256sum >/dev/null; then
		printf 'config_sha256=%s\n' "$(sha256sum <"/boot/config-$(uname -r)" | cut -d' ' -f1)"
	fi
	! command -v getprop >/dev/null || printf 'fingerprint=%s\n' "$(getprop ro.build.fingerprint)"
	[ -z "$lies" ] || printf 'launch_flags=%s\n' "${lies# }"
	printf '%s' "$extra_env"
}

check_personas() {	# who of those asked for may be assumed here
	allowed=''
	set -f
	for persona in ${personas:-$suite_personas}; do
		status=0
		why=$("$bin/launch" --personas "$table" --check "$persona" 2>&1) || status=$?
		case $status in
		0) allowed="$allowed $persona" ;;
		2)	# shellcheck disable=SC2046 # the first column
			die 2 "${why#launch: }$(near "$persona" $(sed -n 's/^\([a-z][^ ]*\) .*/\1/p' "$table"))" ;;
		*) say "perfmodes: not as persona '$persona': ${why#launch: }" ;;
		esac
	done
	set +f
	[ -n "$allowed" ] || die 3 "no persona can be assumed here; the last one: ${why#launch: }"
}

plan_run() { for persona in $allowed; do printf '%s\n' "$probes" | sed "s/^/$persona /"; done; }

new_folder() {	# PREFIX: a folder that was not there, named by the time; not that of another run of this second
	stamp=$(date -u +%Y%m%dT%H%M%SZ) again=1
	mkdir -p "${1%/*}" 2>/dev/null || return 1
	until out=$1$stamp && mkdir "$out" 2>/dev/null; do
		[ -e "$out" ] || return 1
		again=$((again + 1)) stamp=${stamp%-*}-$again
	done
}
if [ -d "$here/results/latest/" ]; then like=$(cd "$here/results/latest" && pwd -P); fi
if [ $resume = no ]; then
	check_personas
	if [ -z "$out" ]; then
		if new_folder "$here/results/"; then
			latest=$stamp
		elif [ -f "$here/Makefile" ] || ! { new_folder "${PWD%/}/perfmodes-" || new_folder "${TMPDIR:-/tmp}/perfmodes-"; }; then
			die 3 "cannot make a folder in $here/results; --out DIR takes another"
		else	# a bundle on a read-only file system
			say "perfmodes: $here/results cannot be written: results go to $out (--out DIR takes another folder)"
		fi
	fi
	why=$(mkdir -p "$out" 2>&1) || die 3 "cannot make $out: ${why##*: }"
	enter
	if [ -L plan ] || { [ -e plan ] && [ ! -f plan ]; }; then
		die 2 "$out/plan is no regular file: not of a run of this program; take another folder"
	fi
	[ ! -e plan ] || die 2 "$out holds a run already; $(hint) goes on with it"
	describe_kernel | write env
	describe_probes | write catalogue
	plan_run | write plan; [ -z "$replay" ] || write recording <"$replay"
	[ -z "$latest" ] || { rm -f "$here/results/latest" && ln -s "$latest" "$here/results/latest"; }
fi

# ---------------------------------------------------------------------------------- the run

# launch does it, in one process for all; here is only what a signal needs. It must not end this
# shell before what is finished has become a report. A signal that is ignored from the start, as nohup
# has it, stays so here and in launch, so launch is stopped by one of its own.
launcher=''
stop_launcher() { [ -z "$launcher" ] || kill -USR1 "$launcher" 2>/dev/null || true; }
# shellcheck disable=SC2317 # called by the traps below
interrupt() { interrupted=$1; stop_launcher; }
trap 'interrupt 130' INT; trap 'interrupt 143' TERM HUP

# A file of run.sh's own, framed, to the side channel; launch sends the others by itself.
# shellcheck disable=SC2094 # under the name of what is read, to another file
send() { "$launch" --frame "$1" --tee "$tee_file" <"$1" || die 3 "cannot send $1"; }

[ -z "$tee_file" ] || for file in env catalogue plan; do send $file; done
say "perfmodes: $(printf '%s\n' "$probes" | wc -l | sed 's/ //g') probes, results in ${out#"$here/"}"
progress='' finished=/dev/null
[ -z "$tee_file" ] || finished=.finished
rm -f .finished
if [ "$quiet" = no ] && [ -t 2 ]; then progress=--progress; fi
began=$(date +%s)
status=0
if [ -z "$interrupted" ]; then
	# shellcheck disable=SC2086 # flags, split on purpose
	"$launch" --queue . --personas "$table" --programs "$bin" --timeout "$timeout" $lies $progress \
		${like:+--like "$like"} ${jobs:+--jobs "$jobs"} ${tee_file:+--tee "$tee_file"} >$finished &
	launcher=$!
	[ -z "$interrupted" ] || stop_launcher	# it came before the line above
	# A signal ends the first wait; the second one then hears how launch took it.
	wait "$launcher" || status=$?
	if [ -n "$interrupted" ]; then
		stop_launcher
		wait "$launcher" 2>/dev/null || true
	elif [ $status != 0 ]; then
		die 3 "cannot go on (see above); $(hint) goes on from here"
	fi
fi
{ printf 'seconds=%d\n' $(($(date +%s) - began)) >>./env; } 2>/dev/null || true
if [ -n "$tee_file" ]; then
	read -r finished <.finished || finished=0
	rm -f .finished
	printf '@@end %d\n' $((finished + 3)) >>"$tee_file"
fi

# ------------------------------------------------------------------------------- the report

# A footer that does not say "cannot become the persona" (126) or "cannot be executed" (127).
executed() { [ -n "$(cat ./*/*.ktap 2>/dev/null | sed -n '/^#:launch: exit=12[67] /d; /^#:launch: /{p;q;}')" ]; }

status=0
[ -z "$interrupted" ] || trap '' INT TERM HUP	# the result is made in any case
if [ -d "$here/reports" ]; then
	flags=$all
	[ $quiet = no ] || flags=--quiet
	# shellcheck disable=SC2086 # one flag or none
	(python reports result $flags "$out") || status=$?
elif [ "$quiet$interrupted$tee_file" = no ]; then
	# shellcheck disable=SC1091 # reports/screen.sh: what is found, and the file to hand over
	(set -- . && . "$bin/screen") || :
fi
if [ -n "$interrupted" ]; then
	say "perfmodes: interrupted; $(hint) goes on"
	exit "$interrupted"
fi
executed || die 3 "no probe could be executed: $(cat ./*/*.ktap 2>/dev/null | sed -n 's/^# launch: //p' | sed 1q)"
exit $status
