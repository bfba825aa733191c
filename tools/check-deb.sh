#!/bin/bash
# check-deb.sh: the packages of build/deb (made first where they are missing) in a fresh
# Debian 12: install, CREATE EXTENSION, README's six lines, upgrade, remove.  Those for
# PostgreSQL 16 to 18, which Debian 12 does not have, are looked into.
#
# Needs root: the fresh Debian is a folder, build/deb/root, that debootstrap fills from the
# machine's own package source; commands run there with their own mounts and processes, and
# its server listens on no port.  Nothing is installed in the machine but debootstrap.

. "$(dirname "$0")/common.sh"

OUT=$ROOT/build/deb
FRESH=$OUT/root
LOG=$OUT/check.log
passed=0 failed=0

# within COMMAND…: run it in the fresh Debian.
within()
{
	unshare --mount --pid --fork sh -c '
		mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/dev/shm" && cp -L /etc/resolv.conf "$1/etc/" &&
		shift 0 && root=$1 && shift && exec chroot "$root" env -i HOME=/root LC_ALL=C.UTF-8 \
			PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"' sh "$FRESH" "$@"
}

# check NAME COMMAND…
check()
{
	local name=$1

	shift
	echo "== $name" >>"$LOG"
	if "$@" >>"$LOG" 2>&1; then
		passed=$((passed + 1)); echo "ok $passed - $name"
	else
		failed=$((failed + 1)); echo "not ok - $name"; tail -n 15 "$LOG" | sed 's/^/# /'
	fi
}

# The machine's source of Debian packages.
mirror()
{
	cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
		sed -n 's/^URIs: *\([^ ]*\/debian\)\/*$/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\/debian\)\/* bookworm .*/\2/p' | head -n 1
}

make_fresh()
{
	local deb

	rm -rf "$FRESH"
	command -v debootstrap >/dev/null ||
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install debootstrap >>"$LOG" 2>&1
	say "making a fresh Debian 12 in $FRESH"
	debootstrap --variant=minbase bookworm "$FRESH" "$(mirror)" >>"$LOG" 2>&1 || die "debootstrap failed; see $LOG"
	printf '#!/bin/sh\nexit 101\n' >"$FRESH/usr/sbin/policy-rc.d"
	chmod +x "$FRESH/usr/sbin/policy-rc.d"
	mkdir -p "$FRESH/packages"
	for deb in "$OUT"/{postgresql-15-gpucol,gpucol-gpud}_*.deb; do
		[ ! -e "$deb" ] || cp "$deb" "$FRESH/packages/"
	done
}

# The same packages, of a later version.
make_upgrade()
{
	local deb

	mkdir -p "$FRESH/upgrade"
	for deb in "$FRESH"/packages/*.deb; do
		rm -rf "$OUT/unpacked"
		dpkg-deb -R "$deb" "$OUT/unpacked"
		sed -i 's/^Version: .*/&+1/; s/(= 0.2)/(= 0.2+1)/' "$OUT/unpacked/DEBIAN/control"
		dpkg-deb --root-owner-group -b "$OUT/unpacked" "$FRESH/upgrade/$(basename "$deb")" >>"$LOG"
	done
	rm -rf "$OUT/unpacked"
}

# The block of SQL below "Six lines" in README.md.
six_lines()
{
	awk '/^## Six lines/ { on = 1 } on && /^```$/ { exit } on && sql { print } on && /^```sql/ { sql = 1 }' "$ROOT/README.md"
}

# with_server COMMAND…: in the fresh Debian, while its own cluster runs.
with_server()
{
	within sh -c 'pg_ctlcluster 15 main start -o "-c listen_addresses=" && { "$@"; status=$?; pg_ctlcluster 15 main stop; exit $status; }' sh "$@"
}

as_postgres() { with_server runuser -u postgres -- psql -X -v ON_ERROR_STOP=1 -At "$@"; }

uses_it()
{
	six_lines >"$FRESH/tmp/six.sql"
	as_postgres -f /tmp/six.sql | tee "$OUT/six.out" && grep -q '^0|4730|19.5253699788583510$' "$OUT/six.out" &&
		grep -q 'Custom Scan (GpucolScan)\|Custom Scan (GpucolAgg)' "$OUT/six.out"
}

# gpucol.devices names a device, or says why none is used; not that there is no daemon where its package is.
devices_say()
{
	as_postgres -c "SELECT name, unused_because FROM gpucol.devices" >"$OUT/devices.out" && cat "$OUT/devices.out" &&
		grep -q '[[:alnum:]]' "$OUT/devices.out" || return 1
	[ ! -e "$FRESH/usr/lib/gpucol/gpucol_gpud" ] || ! grep 'is not installed' "$OUT/devices.out"
}

still_there() { [ "$(as_postgres -c 'SELECT count(*) FROM reading' | tail -n 1)" = 1000000 ]; }

# The package for a major wants its server, and has its files where Debian's server of that major looks.
in_its_place()
{
	local deb=$1 major=$2 file

	dpkg-deb -f "$deb" Depends | grep "^postgresql-$major," || return 1
	for file in "lib/postgresql/$major/lib/gpucol.so" "share/postgresql/$major/extension/gpucol.control"; do
		dpkg-deb -c "$deb" | grep " \./usr/$file\$" || return 1
	done
}

# Nothing but the cluster's data knows of it.
nothing_left()
{
	! find "$FRESH/usr" "$FRESH/etc" -iname '*gpucol*' | grep . &&
		as_postgres -c 'SELECT 1' && ! as_postgres -c 'SELECT count(*) FROM reading'
}

[ "$(id -u)" = 0 ] || die "a fresh Debian in a folder needs root"
mkdir -p "$OUT"
: >"$LOG"
ls "$OUT"/postgresql-15-gpucol_*.deb >/dev/null 2>&1 || "$ROOT/tools/deb.sh"
for major in 16 17 18; do
	for deb in "$OUT/postgresql-$major-gpucol"_*.deb; do
		[ ! -e "$deb" ] || check "the package for PostgreSQL $major has its files in their places" in_its_place "$deb" "$major"
	done
done
make_fresh
make_upgrade
check "apt-get update" within apt-get -q update
check "the packages install" within sh -c 'apt-get -q -y --no-install-recommends install /packages/*.deb'
check "CREATE EXTENSION and six lines" uses_it
check "gpucol.devices says what is used, or why not" devices_say
check "the packages upgrade" within sh -c 'apt-get -q -y install /upgrade/*.deb'
check "tables are still read" still_there
check "the packages are removed" within sh -c 'apt-get -q -y purge "*gpucol*"'
check "nothing is left of them, and the server runs" nothing_left
rm -rf "$FRESH"
echo "$passed passed, $failed failed (log: $LOG)"
[ "$failed" -eq 0 ]
