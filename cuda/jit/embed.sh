#!/bin/sh
# embed.sh FILE...: the kernels' sources as C++ text, for run-time compilation:
# the FILEs and all that they include, by the names by which they include it
# (cuda/... or what is below src/), and jit_std.h in the place of the standard headers.
cd "$(dirname "$0")/../.." || exit 1

# The file that a name stands for.
file_of()
{
	case $1 in cuda/*) echo "$1" ;; *) echo "src/$1" ;; esac
}

# Names that a file includes.
included()
{
	sed -n 's/^#include "\(.*\)"$/\1/p' "$(file_of "$1")"
}

one()
{
	printf '{"%s", R"~~~~(' "$1"
	cat "$2" || exit 1
	printf ')~~~~"},\n'
}

echo '#include "cuda/jit/jit.cuh"'
echo 'const JitHeader gpucol_jit_headers[] = {'
done=' '
while [ $# -gt 0 ]; do
	name=$1
	shift
	case $done in *" $name "*) continue ;; esac
	done="$done$name "
	one "$name" "$(file_of "$name")"
	# shellcheck disable=SC2046
	set -- "$@" $(included "$name")
done
for name in cstddef cstdint stdbool.h stddef.h stdint.h string.h; do
	one $name cuda/jit/jit_std.h
done
echo '{nullptr, nullptr}};'
