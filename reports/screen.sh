#!/bin/sh
# SPDX-License-Identifier: MIT
# screen.sh RUN - what a run found, on a screen, and one file to hand over: for a bundle, where no Python is.
#
# Counts what the probes printed. A report judges the same text more strictly: a probe that contradicts itself or
# was stopped is believed here as far as it got. Needs grep, sed, sort and uniq; tar and gzip for the file.
set -eu
cd -P "$1"
read_env() { sed -n "s/[^ -~]//g; s/^$1=//p" env | cut -c1-"$2"; }
plain() { sed 's/[^ -~]//g' | cut -c1-"$1"; }
reasons() {	# each in at most two lines of 80 columns, so that what lifts it is not cut away
	plain 150 | sed '/.\{80\}/s/^\(.\{1,79\}\) \(.*\)$/\1\
         \2/'
}

# PERSONA AREA VERDICT PROBE.POINT REASON, a line a point. A failure without evidence says nothing.
told() {
	grep -E '^(ok|not ok) |^#:perfmodes: ' ./*/*.ktap /dev/null | sed -n '
		s|^\./\([a-z0-9_-]*\)/\([a-z0-9_]*\)\.\([a-z0-9_]*\)\.ktap:|\1 \2 \3 |
		/^[^ ]* [^ ]* [^ ]* #:perfmodes: observed=/{
			s/^[^=]*=//
			h
			d
		}
		s/^\([^ ]*\) \([^ ]*\) \([^ ]*\) #:perfmodes: \([^ =]*\)=\([a-z]*\):* *\(.*\)$/\1 \2 \5 \2.\3.\4 \6/p
		/ #:perfmodes: /d
		s/ not ok [0-9]* [^. ]*\.\([^ ]*\).*/ fail \1/
		/ fail /{
			G
			s/\n$/ unknown/
			s/^\([^ ]*\) \([^ ]*\) \([^ ]*\) fail \([^ ]*\) unknown$/\1 \2 unknown \2.\3.\4 failed without evidence/
			s/^\([^ ]*\) \([^ ]*\) \([^ ]*\) fail \([^ ]*\)\n/\1 \2 broken \2.\3.\4 /
			p
		}
		s/^\([^ ]*\) \([^ ]*\) \([^ ]*\) ok [0-9]* [^. ]*\.\([^ ]*\) *# SKIP \([a-z]*\): */\1 \2 \5 \2.\3.\4 /p
		s/^\([^ ]*\) \([^ ]*\) \([^ ]*\) ok [0-9]* [^. ]*\.\([^ ]*\)$/\1 \2 yes \2.\3.\4/p
		s/.*//
		x
	' |
		# lint: allow second-list: facts have other words, too
		grep -E '^[^ ]* [^ ]* ((yes|no|blocked|absent|hazard|broken) |unknown [^ ]* .)' || :
}

# The facts of a probe that was held back whole as a hazard: it says nothing of them itself.
held() {
	sed -n 's/^\([^ ]* [^ ]*\) hazard \([a-z0-9_]*\.[a-z0-9_]*\)\..*/\1 \2/p' .told | sort -u |
		while read -r persona area probe; do
			! grep "^$persona $area [a-z]* $probe\." .told | grep -qv "^$persona $area hazard " || continue
			sed -n "/^id=$probe\$/,/^\$/s/^fact=\([a-z0-9_]*\) verdict .*/$persona $area hazard $probe.\1/p" catalogue 2>/dev/null || :
		done
}
told >.told
trap 'rm -f .told .held .broken' EXIT
held >.held
cat .held >>.told

personas=$(cut -d' ' -f1 plan | uniq | sed 's/[^a-z0-9_-]//g')
row() { printf '%-12s' "$1"; shift; for cell; do printf '%8.8s' "$cell"; done; }
columns() {	# WORDS: how many lines have them, for each persona
	for persona in $personas; do printf '%s\n' "$(grep -c "^$persona $1 " .told || :)"; done
}

known() { read_env "$@" | grep . || echo '?'; }	# without /proc or /sys some of it is not
printf 'Linux %s %s | %s | %s CPUs | paranoid %s\n' "$(known release 40)" "$(known arch 12)" \
	"$(known cpu_model 40 | sed q)" "$(known cpus_online 5)" "$(known paranoid 6)"
# shellcheck disable=SC2086 # one a word
row verdict $personas
echo
# lint: allow second-list: what they mean to a reader, beside no table
while read -r verdict meaning; do
	# shellcheck disable=SC2046 # one a word
	row "$verdict" $(columns "[a-z0-9_]* $verdict")
	echo "   $meaning"
done <<END
yes done, and the effect was seen
no the kernel refuses
blocked policy refuses
absent not on this machine
hazard can hang a kernel: not run
broken accepted, and the effect is wrong
unknown could not tell
END

# shellcheck disable=SC2086 # one a word
echo yes, of all points of an area, as $personas:
left=''
# shellcheck disable=SC2013 # words
for area in $(cut -d' ' -f2 .told | sort -u); do
	# shellcheck disable=SC2046 # one a word
	cell=$(printf '%-10.10s' "$area" && printf '%5s' $(columns "$area yes") &&
		printf ' of%4s' "$(cut -d' ' -f1-4 .told | grep " $area " | cut -d' ' -f4 | sort -u | grep -c .)")
	case $left in
	'') left=$cell ;;
	*)	printf '  %-38s%s\n' "$left" "$cell"
		left='' ;;
	esac
done
[ -z "$left" ] || printf '  %s\n' "$left"

sed -n 's/^[^ ]* [^ ]* broken \([^ ]*\) /\1: /p' .told | sort -t: -u -k1,1 >.broken
number=$(grep -c . .broken || :)
if [ "$number" != 0 ]; then
	case $number in 1) echo 'broken:' ;; *) echo "broken: $number points, among them" ;; esac
	sed 's/^/  /; 5q' .broken | reasons
fi
if grep -q '^[^ ]* [^ ]* blocked ' .told; then
	echo 'blocked most often:'
	sed -n 's/^[^ ]* [^ ]* blocked [^ ]* //p' .told | sort | uniq -c | sort -rn | sed 4q | reasons
fi
ended=$(grep -h 'terminated unexpectedly by signal 31$' ./*/*.ktap | grep -c . || :)
[ "$ended" = 0 ] || { echo "A system call filter ended $ended tests (SIGSYS), which tell nothing of this kernel:" &&
	echo '  ./run.sh doctor names the line by which whoever set the filter lifts it.'; }
# shellcheck disable=SC2005,SC2046,SC2116 # one line of them
early=$(echo $(grep -lE '^#:launch: .*(signal=[1-9]|timeout=1)' ./*/*.ktap | sed 's|^\./||; s|\.ktap$||' | sed 5q))
[ -z "$early" ] || echo "ended early: $early" | plain 79

# ---------------------------------------------------------------------------------- the one file

name=perfmodes-$(read_env arch 20)-$(read_env release 60)
name=$(printf '%s' "$name" | sed 's/[^A-Za-z0-9._+-]//g').tar
there=''
for part in env catalogue plan ./*/; do [ ! -e "$part" ] || there="$there ${part#./}"; done
packed=$name
# shellcheck disable=SC2086 # one a word
if ! { tar -cf "$name" $there && { ! gzip -f "$name" || packed=$name.gz; }; } 2>/dev/null; then
	rm -f "$name" "$name.gz"
	echo "There is no tar here, or no room: the folder $PWD is what to hand over, by tar or as it is."
	exit
fi
cat <<END
To hand this over, there is one file, without the name of the host or of any user:
  $PWD/$packed
Attach it to an issue of the project (the form "A result"), or to whoever keeps a database, where
  ./run.sh report db add $packed
takes it, and report show makes the whole screen of this folder. Both are in the source tree.
END
