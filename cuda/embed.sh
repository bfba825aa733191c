#!/bin/sh
# embed.sh FILE...: the kernels' sources as C++ text, for run-time compilation.
# A FILE of src/ keeps its path below it as its name, one of cuda/ its own name.
cd "$(dirname "$0")" || exit 1
echo '#include "jit.cuh"'
echo 'const JitHeader gpucol_jit_headers[] = {'
one()
{
	printf '{"%s", R"~~~~(' "$1"
	cat "$2" || exit 1
	printf ')~~~~"},\n'
}
for f in "$@"; do
	one "${f#../src/}" "$f"
done
for name in cstddef cstdint stdbool.h stddef.h stdint.h string.h; do
	one $name jit_std.h
done
echo '{nullptr, nullptr}};'
