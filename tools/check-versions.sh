#!/bin/bash
# check-versions.sh [16|17|18 …]: compile every source file, warnings as errors,
# against the headers of other PostgreSQL majors.
#
# Headers come, in this order, from an installed server package, from a source
# tree named by PG16_SOURCE, PG17_SOURCE or PG18_SOURCE, from the Python package
# pgserver, which carries 16's, or from Debian's source packages (pgsource.sh).
# What was fetched and configured is kept under build/versions.  A major that is
# not to be had is skipped with a line that says so.

. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/pgsource.sh"

# The installed headers of 16 that a Python package carries, in CACHE/pgserver.
download_wheel()
{
	local include=$CACHE/pgserver/pgserver/pginstall/include/postgresql/server

	if [ ! -d "$include" ]; then
		python3 -m pip download -q --no-deps --only-binary :all: -d "$CACHE/pgserver" \
			pgserver==0.1.4 >"$CACHE/pgserver.log" 2>&1 &&
			python3 -m zipfile -e "$CACHE"/pgserver/*.whl "$CACHE/pgserver" || return 1
	fi
	echo "-isystem $include"
}

# configure MAJOR SOURCE: generated headers in CACHE/MAJOR-headers.
configure()
{
	local build=$CACHE/$1-headers

	[ ! -e "$build/ready" ] || return 0
	pgsource_tools make gcc perl bison flex >&2 || return 1
	rm -rf "$build"
	mkdir -p "$build"
	(cd "$build" &&
		"$2/configure" --without-icu --without-readline --without-zlib &&
		make -s -C src/backend generated-headers) >"$CACHE/configure-$1.log" 2>&1 || return 1
	touch "$build/ready"
}

# Include flags of a major, or failure where it is not to be had.
headers()
{
	local installed=/usr/lib/postgresql/$1/bin/pg_config source=PG$1_SOURCE

	if [ -f "$("$installed" --includedir-server 2>/dev/null)/postgres.h" ]; then
		echo "-isystem $("$installed" --includedir-server)"
		return
	fi
	source=${!source:-}
	if [ "$1" = 16 ] && [ -z "$source" ]; then
		download_wheel
		return
	fi
	source=${source:-$CACHE/$1}
	[ -d "$source" ] || pgsource_fetch "$1" || return 1
	configure "$1" "$source" || return 1
	echo "-isystem $CACHE/$1-headers/src/include -isystem $source/src/include"
}

# compile_all MAJOR FLAGS: the number of files that do not compile.
compile_all()
{
	local file bad=0

	for file in "$ROOT"/src/*.c "$ROOT"/src/*/*.c "$ROOT"/src/*/*/*.c; do
		[ -e "$file" ] || continue
		# shellcheck disable=SC2086
		gcc -std=gnu11 -O2 -fPIC -Wall -Wextra -Werror -D_GNU_SOURCE $2 -I"$ROOT/src" \
			-fsyntax-only "$file" || bad=$((bad + 1))
	done
	return $bad
}

mkdir -p "$CACHE"
failed=0
for major in ${*:-16 17 18}; do
	if ! flags=$(headers "$major"); then
		echo "PostgreSQL $major: skipped, neither installed nor to be fetched here (PG${major}_SOURCE names a source tree)"
	elif compile_all "$major" "$flags"; then
		echo "PostgreSQL $major: every file compiles"
	else
		echo "PostgreSQL $major: some files do not compile"
		failed=1
	fi
done
exit $failed
