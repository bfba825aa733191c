#!/bin/bash
# demo.sh [stop]: set-up, then a tour of gpucol on a private cluster.
#
# Loads the flights table of test/bench/data, makes a copy of GPUCOL_DEMO_YEARS
# (default 75) times its rows with shifted dates in a heap and in a gpucol
# table, and runs the same queries on both.  The cluster stays up for the
# reader to try; `make demo-stop` stops it, `make demo` starts afresh.

. "$(dirname "$0")/common.sh"

YEARS=${GPUCOL_DEMO_YEARS:-75}
BENCH=$ROOT/test/bench

if [ "${1:-}" = stop ]; then
	exec "$ROOT/tools/cluster.sh" demo stop
fi

# Print SQL as it will run, then run it.
sql()
{
	printf '\n%s\n' "$1" | sed 's/^/    /'
	"$PSQL" -X -q -v ON_ERROR_STOP=1 -c "$1"
}

value() { "$PSQL" -X -qAt -v ON_ERROR_STOP=1 -c "$1"; }

# Milliseconds of a query: the median of three runs in one session.
milliseconds()
{
	printf '\\timing on\n%s;\n%s;\n%s;\n' "$1" "$1" "$1" |
		"$PSQL" -X -q -v ON_ERROR_STOP=1 -o /dev/null -f - |
		sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | sort -n | sed -n 2p
}

prepare()
{
	"$ROOT/tools/setup.sh"
	find_postgres
	say "starting a private cluster in $WORK/demo (Unix socket only, no other cluster is touched)"
	"$ROOT/tools/cluster.sh" demo init "max_wal_size = 16GB" "work_mem = 256MB" \
		"wal_level = minimal" "max_wal_senders = 0" "synchronous_commit = off"
	"$ROOT/tools/cluster.sh" demo start
	PGHOST=$("$ROOT/tools/cluster.sh" demo socket)
	export PGHOST PGUSER=postgres PGDATABASE=postgres PGOPTIONS='-c timezone=UTC'
	PSQL=$PGBIN/psql
}

load()
{
	say "loading 336,776 flights that left New York in 2013 (real data, test/bench/data)"
	sql "CREATE EXTENSION gpucol"
	"$PSQL" -X -q -v ON_ERROR_STOP=1 -v name=flights -v am=gpucol -f "$BENCH/sql/flights.sql"
	xz -dc "$BENCH/data/flights.csv.xz" |
		"$PSQL" -X -q -v ON_ERROR_STOP=1 -c "COPY flights FROM STDIN (FORMAT csv, HEADER, NULL 'NA')"
	sql "SELECT count(*), min(time_hour), max(time_hour), count(DISTINCT tailnum) AS planes FROM flights"

	say "$YEARS years of it, dates shifted: once in a heap table, once packed"
	copy_years flights_heap heap
	copy_years flights_gpucol gpucol
	sql "VACUUM ANALYZE flights_heap"
	sql "VACUUM ANALYZE flights_gpucol"
}

# copy_years TABLE METHOD
copy_years()
{
	"$PSQL" -X -q -v ON_ERROR_STOP=1 <<-SQL
		\\set name $1
		\\set am $2
		BEGIN;
		\\i $BENCH/sql/flights.sql
		\\echo
		\\echo '    INSERT INTO $1 SELECT … FROM flights, generate_series(0, $YEARS - 1)'
		\\timing on
		INSERT INTO $1
		SELECT (year + n)::smallint, month, day, dep_time, sched_dep_time, dep_delay, arr_time,
			sched_arr_time, arr_delay, carrier, flight, tailnum, origin, dest, air_time, distance,
			hour, minute, time_hour + n * interval '1 year'
		FROM generate_series(0, $YEARS - 1) n, flights;
		COMMIT;
	SQL
}

sizes()
{
	say "size on disk"
	sql "SELECT relname AS \"table\", pg_size_pretty(pg_total_relation_size(oid)) AS size,
       round(pg_total_relation_size('flights_heap')::numeric / pg_total_relation_size(oid), 1) AS times_smaller
FROM pg_class WHERE relname IN ('flights_heap', 'flights_gpucol') ORDER BY 1 DESC"
}

FILTER="SELECT count(*), sum(distance) FROM %s WHERE dep_delay > 60 AND carrier = 'UA'"
GROUPS_="SELECT carrier, count(*), avg(arr_delay), max(dep_delay) FROM %s GROUP BY carrier ORDER BY 2 DESC"
RANGE="SELECT count(*) FROM %s WHERE time_hour >= '2020-07-01' AND time_hour < '2020-08-01'"
TEXT="SELECT origin, dest, count(*) FROM %s WHERE dest LIKE 'S%%' GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 5"

# on TABLE QUERY: the query with its table.
on() { printf "${2}" "$1"; }

plans()
{
	local query table

	for query in "$FILTER" "$GROUPS_"; do
		for table in flights_heap flights_gpucol; do
			say "the same query on $table"
			sql "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $(on $table "$query")"
		done
	done
}

# The same query on both tables: equal rows, then the medians of three runs.
compare()
{
	local heap gpucol

	[ "$(value "$(on flights_heap "$2")")" = "$(value "$(on flights_gpucol "$2")")" ] ||
		die "the answers differ: $2"
	heap=$(milliseconds "$(on flights_heap "$2")")
	gpucol=$(milliseconds "$(on flights_gpucol "$2")")
	awk -v q="$1" -v h="$heap" -v g="$gpucol" \
		'BEGIN { printf "%-44s %10.1f %10.1f %8.1f\n", q, h, g, h / g }'
}

times()
{
	say "times side by side: milliseconds, warm, medians of three, answers compared"
	printf '%-44s %10s %10s %8s\n' query heap gpucol ratio
	compare "delays over an hour of one carrier" "$FILTER"
	compare "average delay of each carrier" "$GROUPS_"
	compare "one month of $YEARS years" "$RANGE"
	compare "destinations LIKE 'S%'" "$TEXT"
}

REACH="WITH RECURSIVE reach AS (SELECT src, dst FROM host%s UNION SELECT reach.src, host.dst FROM reach JOIN host ON host.src = reach.dst)
SELECT count(*), sum(src), sum(dst) FROM reach"

recursion()
{
	local limit=${GPUCOL_DEMO_SECONDS:-20} one ours theirs

	say "a real network: 26,013 connections of Gnutella hosts (demo/README); who reaches whom?"
	sql "CREATE TABLE host (src int, dst int) USING gpucol"
	gzip -dc "$ROOT/demo/p2p-Gnutella09.tsv.gz" |
		"$PSQL" -X -q -v ON_ERROR_STOP=1 -c "COPY host FROM STDIN"
	sql "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $(on "" "$REACH")"
	ours=$(milliseconds "$(on "" "$REACH")")
	echo "all pairs, gpucol: $ours ms"
	if theirs=$(PGOPTIONS="$PGOPTIONS -c gpucol.enable_recursive=off -c statement_timeout=${limit}s" \
		value "$(on "" "$REACH")" 2>/dev/null); then
		[ "$theirs" = "$(value "$(on "" "$REACH")")" ] || die "the closures differ"
		echo "all pairs, PostgreSQL: the same, within $limit s"
	else
		echo "all pairs, PostgreSQL: not ready after $limit s (on the machine of test/bench/results/2026-11-22-recursion-cpu.txt it takes 165 s)"
	fi
	one=$(on " WHERE src < 4" "$REACH")
	ours=$(milliseconds "$one")
	theirs=$(PGOPTIONS="$PGOPTIONS -c gpucol.enable_recursive=off" milliseconds "$one")
	[ "$(PGOPTIONS="$PGOPTIONS -c gpucol.enable_recursive=off" value "$one")" = "$(value "$one")" ] ||
		die "the answers differ: $one"
	awk -v h="$theirs" -v g="$ours" \
		'BEGIN { printf "from four hosts, both: PostgreSQL %.1f ms, gpucol %.1f ms, %.1f times\n", h, g, h / g }'
}

# The comments of the file tell the story; psql's own commands do not.
ranking()
{
	say "readings that each carry a confidence (demo/uncertain.sql): which are likely the hottest?"
	PGOPTIONS="$PGOPTIONS -c client_min_messages=warning" \
		"$PSQL" -X -q -a -v ON_ERROR_STOP=1 -f "$ROOT/demo/uncertain.sql" | sed '/^\\/d'
}

farewell()
{
	say "the cluster stays up; look around with"
	echo "    $(enter)$PGBIN/psql -h $PGHOST -U postgres postgres"
	echo "and end it with    make demo-stop"
}

# The socket's folder is private to the server's user (root may enter).
enter() { [ "$(id -u)" = 0 ] || [ "$(id -un)" = "$PLAIN_USER" ] || echo "sudo -u $PLAIN_USER "; }

prepare
start=$SECONDS
load
sizes
plans
times
recursion
ranking
farewell
echo "(the tour took $((SECONDS - start)) s after installation)"
