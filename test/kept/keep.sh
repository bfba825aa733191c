#!/bin/bash
# keep.sh: keep a cluster of PostgreSQL 15 with tables that the installed gpucol writes, as
# test/kept/VERSION.tar.xz, for later versions to read (test/t/036_kept.pl).
#
#	test/kept/keep.sh VERSION	not as root: servers refuse it
#
# Once for a version, at its release; what is kept is never made again, for that is the
# promise (docs/upgrading.md).
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
KEPT=$HERE/${1:?usage: test/kept/keep.sh VERSION}.tar.xz
BIN=$("${PG_CONFIG:-pg_config}" --bindir)
AT=$(mktemp -d)
trap 'rm -rf "$AT"' EXIT

[ ! -e "$KEPT" ] || { echo "keep.sh: $KEPT is kept already" >&2; exit 1; }
cd "$AT"
"$BIN/initdb" -D data -U postgres -A trust --no-locale -E UTF8 --wal-segsize=1 --no-sync > /dev/null
printf '%s\n' "unix_socket_directories = '$AT'" "listen_addresses = ''" "fsync = off" "autovacuum = off" \
	"min_wal_size = 2MB" "max_wal_size = 4MB" > data/postgresql.auto.conf
"$BIN/pg_ctl" -D data -w -l log start > /dev/null
"$BIN/psql" -h "$AT" -U postgres -Xqo /dev/null -v ON_ERROR_STOP=1 -f "$HERE/tables.sql" postgres
"$BIN/pg_ctl" -D data -w -m fast stop > /dev/null
rm -f data/postgresql.auto.conf data/postmaster.opts data/global/pg_internal.init data/base/*/pg_internal.init
tar c --sort=name --owner=0 --group=0 data | xz -9e > "$KEPT"
ls -l "$KEPT"
