#!/bin/bash
# check-major.sh MAJOR [regress|isolation|tap …]: the tests on another PostgreSQL
# major, built from source with assertions on.  `check-major.sh MAJOR server` only builds
# that, and fails where it cannot.
#
# The source is the tree that PG16_SOURCE, PG17_SOURCE or PG18_SOURCE names, or
# Debian's source package (pgsource.sh).  The server is built once and kept in
# WORK/major-MAJOR/pgsql; the extension is built anew in a copy of this tree beside
# it, from which test/run tests it.  A failed assertion or a crashed process in a
# server's log fails, too.  CC and CFLAGS are those of the environment, if any.

. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/pgsource.sh"

# PostgreSQL's makefiles generate headers at the outermost level only, and that is theirs.
unset MAKELEVEL

MAJOR=${1:?major}
shift
HOME_DIR=$WORK/major-$MAJOR
PREFIX=$HOME_DIR/pgsql
TREE=$HOME_DIR/source
BUILD=$CACHE/$MAJOR-build

# Modules of contrib that tests and people at work use.
CONTRIB="test_decoding dblink amcheck pageinspect pg_buffercache pg_prewarm pg_visibility"

# The folder of the source, or failure where it is not to be had.
find_source()
{
	local source=PG${MAJOR}_SOURCE

	SOURCE=${!source:-$CACHE/$MAJOR}
	[ -d "$SOURCE" ] || pgsource_fetch "$MAJOR"
}

# What of optional libraries is there: "--with-icu --with-lz4", say.
options()
{
	[ ! -e /usr/include/unicode/ucol.h ] && [ "$MAJOR" -ge 16 ] && echo --without-icu
	[ ! -e /usr/include/unicode/ucol.h ] || echo --with-icu
	[ -e /usr/include/zlib.h ] || echo --without-zlib
	[ ! -e /usr/include/zstd.h ] || echo --with-zstd
	[ ! -e /usr/include/libxml2/libxml/parser.h ] || echo --with-libxml
	echo --with-lz4
}

# Run in the build folder; the major's tools come with the server.
compile_server()
{
	# shellcheck disable=SC2046
	"$SOURCE/configure" --prefix="$PREFIX" --enable-cassert --enable-debug --enable-tap-tests \
		--without-readline $(options) CFLAGS="${CFLAGS:--O1 -g -fno-omit-frame-pointer}" &&
		make -s -j"$(nproc)" -C src all &&
		make -s -C src install || return 1
	for module in $CONTRIB; do
		make -s -C "contrib/$module" all install || return 1
	done
}

build_server()
{
	[ ! -e "$PREFIX/ready" ] || return 0
	pgsource_tools make gcc perl bison flex || die "PostgreSQL $MAJOR needs make, gcc, perl, bison and flex"
	say "building PostgreSQL $MAJOR from $SOURCE (log: $CACHE/build-$MAJOR.log)"
	rm -rf "$PREFIX" "$BUILD"
	mkdir -p "$PREFIX" "$BUILD"
	(cd "$BUILD" && compile_server) >"$CACHE/build-$MAJOR.log" 2>&1 ||
		die "PostgreSQL $MAJOR was not built, see $CACHE/build-$MAJOR.log"
	rm -rf "$BUILD"
	touch "$PREFIX/ready"
}

# The tree without what was built in it for another major.
copy_tree()
{
	rm -rf "$TREE"
	mkdir -p "$TREE"
	tar -C "$ROOT" -c --exclude='*.o' --exclude='*.d' --exclude='*.so' --exclude='*.bc' \
		--exclude='sql/gpucol--*' Makefile gpucol.control README.md src sql test expected tools demo docs |
		tar -C "$TREE" -x
}

# Lines of the servers' logs that tell of a failed assertion or a crash; a test
# that kills servers uses signal 9.
show_crashes()
{
	find "$HOME_DIR"/test* "$HOME_DIR"/tree* -name '*.log' -print0 |
		xargs -0 -r grep -EH 'TRAP: |terminated by signal (4|6|7|8|11)\b' || true
}

if [ "$*" = server ]; then
	find_source || die "no source of PostgreSQL $MAJOR is to be had here"
	build_server
	exit 0
fi
find_source || {
	echo "check-major: skipped, no source of PostgreSQL $MAJOR is to be had here (PG${MAJOR}_SOURCE names a source tree)"
	exit 0
}
build_server
copy_tree
[ $# -gt 0 ] || set -- regress isolation tap
status=0
PG_CONFIG=$PREFIX/bin/pg_config GPUCOL_WORK=$HOME_DIR GPUCOL_CUDA=no "$TREE/test/run" "$@" || status=1
crashes=$(show_crashes)
[ -z "$crashes" ] || { printf '%s\n' "$crashes" "servers crashed"; status=1; }
exit $status
