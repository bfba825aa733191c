# common.sh: what every script of tools/ and test/ shares; sourced by bash.
#
# Sets ROOT (the tree), PLAIN_USER (who runs servers: a PostgreSQL server
# refuses root), WORK (where clusters and logs are kept, writable by that user)
# and, after find_postgres, PG_CONFIG, PGBIN and PGTEST.
#
# GPUCOL_USER and GPUCOL_WORK override the choice of user and folder.

set -euo pipefail
export LC_ALL=C.UTF-8
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '\n== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Run a command as root: directly, or through sudo.
as_root()
{
	if [ "$(id -u)" = 0 ]; then "$@"
	elif command -v sudo >/dev/null; then sudo "$@"
	else die "this step needs root and there is no sudo: $*"
	fi
}

# Run a command as PLAIN_USER, in a folder that this user can be in.
as_user()
{
	if [ "$(id -un)" = "$PLAIN_USER" ]; then (cd "$WORK" && "$@")
	else (cd "$WORK" && HOME=$WORK runuser -u "$PLAIN_USER" -- "$@")
	fi
}

# True where a pg_config belongs to an installation that has a server, its
# headers and the build rules.
complete()
{
	command -v "$1" >/dev/null &&
		[ -x "$("$1" --bindir)/postgres" ] && [ -f "$("$1" --pgxs)" ] &&
		[ -f "$("$1" --includedir-server)/postgres.h" ]
}

# Choose PG_CONFIG: the caller's, else the one on PATH, else Debian's 15.
# Fails where the choice is not complete.
find_postgres()
{
	local candidate

	if [ -n "${PG_CONFIG:-}" ]; then
		complete "$PG_CONFIG" || die "PG_CONFIG=$PG_CONFIG has no server, headers or build rules"
	else
		for candidate in pg_config /usr/lib/postgresql/15/bin/pg_config; do
			complete "$candidate" || continue
			PG_CONFIG=$(command -v "$candidate")
			break
		done
		[ -n "${PG_CONFIG:-}" ] || return 1
	fi
	export PG_CONFIG
	PGBIN=$("$PG_CONFIG" --bindir)
	PGTEST=$(dirname "$("$PG_CONFIG" --pgxs)")/../test
}

# Who runs servers.
choose_user()
{
	if [ -n "${GPUCOL_USER:-}" ]; then PLAIN_USER=$GPUCOL_USER
	elif [ "$(id -u)" != 0 ]; then PLAIN_USER=$(id -un)
	elif [ -n "${SUDO_USER:-}" ] && [ "$SUDO_USER" != root ]; then PLAIN_USER=$SUDO_USER
	else PLAIN_USER=nobody
	fi
}

# Where servers live: build/ in the tree, or a folder of /var/tmp when the
# plain user cannot reach the tree.
choose_work()
{
	if [ -n "${GPUCOL_WORK:-}" ]; then WORK=$GPUCOL_WORK
	else
		WORK=$ROOT/build/run
		if [ "$(id -u)" = 0 ] && ! runuser -u "$PLAIN_USER" -- test -x "$ROOT" 2>/dev/null; then
			WORK=/var/tmp/gpucol-run-$(echo -n "$ROOT" | cksum | cut -d' ' -f1)
		fi
	fi
	mkdir -p "$WORK"
	[ "$(id -u)" != 0 ] || chown "$PLAIN_USER" "$WORK"
	[ -O "$WORK" ] || [ "$(id -u)" = 0 ] || die "$WORK belongs to another user"
}

# For which devices the CUDA daemon is built (cuda/Makefile): the caller's ARCH, else those
# that are here, else $1.
cuda_arch()
{
	if [ -n "${ARCH:-}" ]; then echo "$ARCH"
	elif nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then echo native
	else echo "$1"
	fi
}

# need_packages LOG PACKAGE…: install with apt-get those of Debian's packages that are missing.
need_packages()
{
	local log=$1 package missing=()

	shift
	for package; do
		dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	say "installing with apt-get: ${missing[*]}"
	{ as_root apt-get -q update &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${missing[@]}"; } \
		>"$log" 2>&1 || die "apt-get could not install them; see $log"
}

# copy_tests FOLDER: the tests, where the server's user can read and run them.
copy_tests()
{
	rm -rf "$1"
	mkdir -p "$1/src/service"
	cp -r "$ROOT/test" "$ROOT/expected" "$ROOT/demo" "$ROOT/docs" "$ROOT/README.md" "$1/"
	cp "$ROOT/src/service/protocol.h" "$1/src/service/"
	[ "$(id -u)" != 0 ] || chown -R "$PLAIN_USER" "$1"
}

# as_tester FOLDER COMMAND…: run a command in FOLDER/test with what PostgreSQL's
# modules for tests want to know.
as_tester()
{
	local test_dir=$1/test

	shift
	as_user env -C "$test_dir" -u PGHOST -u PGUSER TESTDIR="$test_dir" \
		TESTDATADIR="$test_dir/tmp_check" TESTLOGDIR="$test_dir/tmp_check/log" \
		PG_REGRESS="$PGTEST/regress/pg_regress" PERL5LIB="$PGTEST/perl" PATH="$PGBIN:$PATH" "$@"
}

choose_user
choose_work
