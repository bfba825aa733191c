#!/bin/bash
# uncertain.sh: U-Topk of many groups in SQL, the batch of Chang et al., on a running
# cluster that PGHOST and friends name and whose database has the extension.
#
# GPUCOL_BENCH_GROUPS (default 100000) groups of a random number of rows from k up
# to n, probabilities uniform in [0, 1] in steps of 0.001, rows in random order, for
# n 10, 50, 100, 500 and k 10, and n 500 with k 50.  Milliseconds, medians of 3 warm
# runs in one session:
#	heap		the aggregate over a heap table, one process: the one-core heap
#	gpucol 1	GpucolTopK with one thread
#	gpucol T	GpucolTopK with GPUCOL_BENCH_THREADS (default: all processors)
# The answers are compared first.  Expected: 3 to 8 times the aggregate with one
# thread, growing with n.
set -euo pipefail

GROUPS_=${GPUCOL_BENCH_GROUPS:-100000}
THREADS=${GPUCOL_BENCH_THREADS:-$(nproc)}
sql() { psql -X -q -At -v ON_ERROR_STOP=1 "$@"; }

# Median of three timed runs: milliseconds SETTINGS QUERY
milliseconds()
{
	printf '%s;\n%s \\g /dev/null\n\\timing on\n%s \\g /dev/null\n%s \\g /dev/null\n%s \\g /dev/null\n' "$1" "$2" "$2" "$2" "$2" |
		sql -f - | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | sort -n | sed -n 2p
}

load()
{
	sql <<-SQL
		SET client_min_messages = warning;
		DROP TABLE IF EXISTS uncertain_heap, uncertain_gpucol;
		SELECT setseed(0.5) \\g /dev/null
		CREATE TABLE uncertain_heap AS
		SELECT g AS grp, (random() * 1e9)::int AS id, random() * 1e6 AS score, round(random()::numeric, 3)::float8 AS prob
		FROM generate_series(1, $GROUPS_) g, generate_series(1, $2 + (random() * ($1 - $2))::int)
		ORDER BY random();
		CREATE TABLE uncertain_gpucol (LIKE uncertain_heap) USING gpucol;
		INSERT INTO uncertain_gpucol SELECT * FROM uncertain_heap;
		VACUUM ANALYZE uncertain_heap;
		VACUUM ANALYZE uncertain_gpucol;
	SQL
}

# on TABLE K: the statement, in a form that prints one number.
on() { echo "SELECT sum(hashtext(u::text)::bigint) FROM (SELECT gpucol.u_topk(id, score, prob, $2) AS u FROM $1 GROUP BY grp) q"; }

# measure N K
measure()
{
	local heap one many rows
	local serial="SET max_parallel_workers_per_gather = 0; SET work_mem = '2GB'"

	load "$1" "$2"
	rows=$(sql -c "SELECT count(*) FROM uncertain_heap")
	[ "$(sql -c "SET gpucol.pushdown = require" -c "$(on uncertain_gpucol "$2")")" = "$(sql -c "$(on uncertain_heap "$2")")" ] ||
		{ echo "answers differ: n $1, k $2"; exit 1; }
	heap=$(milliseconds "$serial" "$(on uncertain_heap "$2")")
	one=$(milliseconds "SET gpucol.pushdown = require; SET gpucol.cpu_threads = 1; $serial" "$(on uncertain_gpucol "$2")")
	many=$(milliseconds "SET gpucol.pushdown = require; SET gpucol.cpu_threads = $THREADS; $serial" "$(on uncertain_gpucol "$2")")
	awk -v n="$1" -v k="$2" -v r="$rows" -v h="$heap" -v o="$one" -v m="$many" \
		'BEGIN { printf "%5d %5d %10d %10.0f %10.0f %10.0f %8.1f %8.1f\n", n, k, r, h, o, m, h / o, h / m }'
}

printf '%s groups, milliseconds; T = %s threads\n%5s %5s %10s %10s %10s %10s %8s %8s\n' "$GROUPS_" "$THREADS" \
	'n <=' k rows heap 'gpucol 1' 'gpucol T' ratio1 ratioT
for load in "10 10" "50 10" "100 10" "500 10" "500 50"; do
	# shellcheck disable=SC2086
	measure $load
done
sql -c "DROP TABLE uncertain_heap, uncertain_gpucol"
