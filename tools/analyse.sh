#!/bin/bash
# analyse.sh [clang|gcc] [FILE…]: clang's static analyser and gcc's -fanalyzer over src.
#
# Each file is analysed once and again only when it or a header changed.  A finding
# is a line of the analyser (FILE:LINE: message).  Those that tools/analyse.known
# explains are left out; the others are shown, and the exit status is 1.  An
# explanation that no finding needs any more is shown, too.  A file that takes an analyser
# longer than LIMIT seconds (900 unless told) is a finding as well.

. "$(dirname "$0")/common.sh"
find_postgres || { "$(dirname "$0")/setup.sh" && find_postgres; } || exit 1

KNOWN=$ROOT/tools/analyse.known
OUT=$ROOT/build/analyse
LIMIT=${LIMIT:-900}
# With PostgreSQL's assertions, which tell the analysers what holds.
FLAGS=(-std=gnu11 -O1 -DUSE_ASSERT_CHECKING=1 -D_GNU_SOURCE -I"$ROOT/src" -isystem "$("$PG_CONFIG" --includedir-server)")
# Checkers that judge style, or that know nothing of PostgreSQL's memory contexts.
GCC_OFF=(-Wno-analyzer-malloc-leak -Wno-analyzer-file-leak -Wno-analyzer-too-complex)

analyse_clang()
{
	timeout "$LIMIT" clang --analyze --analyzer-output text -Xclang -analyzer-config -Xclang suppress-c++-stdlib=true \
		"${FLAGS[@]}" -o /dev/null "$1" 2>&1
}

# The unrolled kernels of bit packing would take it hours: the unit tests check them.
analyse_gcc()
{
	[[ "$1" == */kernel/bitpack_*.c ]] && return
	timeout "$LIMIT" gcc -fanalyzer -fdiagnostics-plain-output "${GCC_OFF[@]}" "${FLAGS[@]}" -c -o /dev/null "$1" 2>&1
}

# analyse TOOL FILE: into a file of its own, unless that is newer than all sources.
analyse()
{
	local tool=$1 file=$2 out=$OUT/$1/${2//\//_}.txt

	[ "$out" -nt "$file" ] && [ -z "$(find "$ROOT/src" -name '*.h' -newer "$out" -print -quit)" ] && return
	echo "# $file" >"$out.new"
	"analyse_$tool" "$ROOT/$file" >>"$out.new" || case $? in
		124) echo "$file: error: $tool did not end within $LIMIT s" >>"$out.new" ;;
		*) echo "$file: error: $tool could not analyse it" >>"$out.new" ;;
	esac
	mv "$out.new" "$out"
}

# Forget what was said of files that are gone.
forget_others()
{
	local out name

	for out in "$OUT/$1"/*.txt; do
		name=$(basename "$out" .txt)
		[ ! -e "$out" ] || [[ " ${all[*]//\//_} " == *" $name "* ]] || rm "$out"
	done
}

# The lines of findings, as FILE:LINE: message; what lies in a header of PostgreSQL is
# the file's that uses it.
findings()
{
	awk -v root="$ROOT/" '
		FNR == 1 && /^# / { file = substr($0, 3) }
		/^[^ ]+:[0-9]+:[0-9]+: (warning|error): |: error: / {
			sub(root, ""); sub(/:[0-9]+: (warning|error): /, ": ")
			if (index($0, "src/") != 1) { sub(/^.*\//, ""); $0 = file ": " $0 }
			print }' "$OUT/$1"/*.txt 2>/dev/null | sort -u || true
}

# What analyse.known has: lines of FILE TAB part of a message TAB reason.
explanations() { grep -vE '^#|^$' "$KNOWN" | cut -f1,2; }

# unexplained TOOL: its findings without those; used TOOL: the explanations that it needs.
unexplained() { match "$1" findings; }
used() { match "$1" explanations; }

match()
{
	awk -F'\t' -v show="$2" '
		NR == FNR { n++; file[n] = $1; part[n] = $2; next }
		{ found = 0
		  for (i = 1; i <= n; i++)
			if (index($0, file[i] ":") == 1 && index($0, part[i])) { found = 1; needed[i] = 1 }
		  if (!found && show == "findings") print }
		END { for (i in needed) if (show == "explanations") print file[i] "\t" part[i] }
	' <(explanations) <(findings "$1")
}

main()
{
	local tools=(clang gcc) tool file status=0 all files bad

	case ${1:-} in clang | gcc) tools=("$1"); shift ;; esac
	mapfile -t all < <(cd "$ROOT" && find src -name '*.c' | sort)
	[ $# -gt 0 ] && files=("$@") || files=("${all[@]}")
	for tool in "${tools[@]}"; do
		command -v "$tool" >/dev/null || { say "$tool is not installed: left out"; continue; }
		mkdir -p "$OUT/$tool"
		forget_others "$tool"
		say "$tool over ${#files[@]} files"
		for file in "${files[@]}"; do analyse "$tool" "$file"; done
		bad=$(unexplained "$tool")
		[ -z "$bad" ] || { echo "$bad"; status=1; }
		echo "$tool: $(findings "$tool" | wc -l) findings, $(grep -c . <<<"$bad" || true) not explained"
	done
	if [ $# -eq 0 ] && [ ${#tools[@]} = 2 ] && command -v clang gcc >/dev/null; then
		bad=$({ used clang; used gcc; } | sort -u | comm -13 - <(explanations | sort -u))
		[ -z "$bad" ] || { echo "explanations that nothing needs:"; echo "$bad"; status=1; }
	fi
	exit $status
}

main "$@"
