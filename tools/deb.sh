#!/bin/bash
# deb.sh: Debian packages of the extension and of the CUDA daemon, in build/deb.
#
# One postgresql-N-gpucol for each PostgreSQL major whose server headers Debian has
# installed here, and for those that PG16_CONFIG, PG17_CONFIG or PG18_CONFIG name (a
# server that `make check-major` built, say).  gpucol-gpud where there is nvcc, unless
# GPUCOL_CUDA=no.  Built from a clean copy of the tree; lintian has the last word.

. "$(dirname "$0")/common.sh"

OUT=$ROOT/build/deb
TREE=$OUT/gpucol
TOOLS="debhelper fakeroot lintian postgresql-server-dev-all liblz4-dev"

# The majors to build for.
majors()
{
	local major config

	for major in 15 16 17 18; do
		config=PG${major}_CONFIG
		complete "${!config:-/usr/lib/postgresql/$major/bin/pg_config}" && echo "$major"
	done
	return 0
}

copy_tree()
{
	rm -rf "$TREE"
	mkdir -p "$TREE"
	tar -C "$ROOT" -c --exclude='*.o' --exclude='*.d' --exclude='*.so' --exclude='*.bc' --exclude='sql/gpucol--*' \
		Makefile gpucol.control README.md CHANGELOG.md LICENSE src sql tools docs cuda debian | tar -C "$TREE" -x
}

has_cuda()
{
	[ "${GPUCOL_CUDA:-yes}" != no ] && PATH=$PATH:/usr/local/cuda/bin command -v nvcc >/dev/null
}

build_packages()
{
	local profiles=

	! has_cuda || profiles=pkg.gpucol.cuda
	PG_SUPPORTED_VERSIONS=$(majors | xargs)
	export PG_SUPPORTED_VERSIONS
	[ -n "$PG_SUPPORTED_VERSIONS" ] || die "no server headers of PostgreSQL 15 to 18 are installed here"
	say "building packages for PostgreSQL $PG_SUPPORTED_VERSIONS${profiles:+, and the CUDA daemon} (log: $OUT/build.log)"
	(cd "$TREE" && pg_buildext updatecontrol && chmod 644 debian/control &&
		dpkg-buildpackage -us -uc -b ${profiles:+-P$profiles} -j"$(nproc)") >"$OUT/build.log" 2>&1 || {
		tail -n 30 "$OUT/build.log" >&2
		die "the packages were not built"
	}
}

mkdir -p "$OUT"
# the build asks for packages, not for what is in them
need_packages "$OUT/apt.log" $TOOLS
rm -f "$OUT"/*.deb "$OUT"/*.buildinfo "$OUT"/*.changes
copy_tree
build_packages
say "lintian"
(cd "$OUT" && lintian --allow-root --fail-on error,warning ./*.changes)
ls -l "$OUT"/*.deb
