# service.sh: parts of test/gpu/run about the daemon as a service; sourced.

# Restart the server with options of the daemon and settings NAME=VALUE, and with
# DAEMON_ENVIRONMENT before the daemon.
restart()
{
	local options=$1 setting

	shift
	sed -i '/^# of the test$/,$d' /opt/pgdata/postgresql.conf
	echo "# of the test" >> /opt/pgdata/postgresql.conf
	for setting in "$@"; do echo "$setting" >> /opt/pgdata/postgresql.conf; done
	as "${DAEMON_ENVIRONMENT:-} GPUCOL_GPUD_TEST='$options' pg_ctl -D /opt/pgdata -m fast -l /opt/pgdata/log -w restart >/dev/null"
}

# The device's answers with the daemon under an option or setting, against the CPU's.
under()
{
	local name=$1 q n=0 bad=0 cuda=0 a b

	restart "${@:2}"
	while IFS= read -r q; do
		n=$((n + 1))
		a=$(psql -XAtq -c "set gpucol.engine = cpu" -c "${q//from T/from g}" 2>&1 | LC_ALL=C sort)
		b=$(psql -XAtq -c "set gpucol.engine = cuda" -c "${q//from T/from g}" 2>&1 | LC_ALL=C sort)
		[ "$a" = "$b" ] || { bad=$((bad + 1)); { echo "== $name: $q"; echo "cpu:  ${a:0:300}"; echo "cuda: ${b:0:300}"; } >> "$OUT/differences.txt"; }
		psql -XAtq -c "set gpucol.engine = cuda" -c "explain (analyze, costs off) ${q//from T/from g}" > "$OUT/under" 2>&1
		cat "$OUT/under" >> "$OUT/under.txt"
		grep -q 'Engine: cuda' "$OUT/under" && cuda=$((cuda + 1))
	done < "$OUT/queries"
	note "$name" "$((n - bad)) passed, $bad failed, $cuda on the device; devices $(psql -XAtqc 'select count(*) from gpucol.devices'), most parts $(grep -ho 'Batches: [0-9]*' "$OUT/under.txt" | sort -t' ' -k2n | tail -1)"
}

# Several devices, little memory, no slabs, no worker slot.
part_service()
{
	local why pid

	sql_tables || return
	under "queries, two devices" "--test --copies 2"
	under "queries, in parts" "--test --window 4000000"
	under "queries, in parts on two devices" "--test --window 3000000 --copies 2"
	under "queries, 24 MB of device memory" "--test" "gpucol.gpu_memory_limit = 24"
	psql -XAtq -c "set gpucol.engine = cuda" -c "explain (analyze, costs off) select k, v, count(*) from g group by k, v" >> "$OUT/under.txt" 2>&1
	under "queries, no shared memory to pin" "--test --slabs 0"
	restart "--test" "max_worker_processes = 0"
	why=$(psql -XAtq -c "set gpucol.engine = cuda" -c "explain (analyze, costs off, timing off) select count(*) from g where v < 100" | grep 'Device Declined')
	note "no worker slot" "$(grep -q 'background worker slot' <<< "$why" && echo ok || echo FAILED): $why"
	restart "--test"
	psql -XAtqc "set gpucol.engine = cuda" -c "select count(*) from g where v < 100" > /dev/null
	pid=$(pgrep -u pguser -x gpucol_gpud | head -1)
	kill -9 $pid
	sleep 2
	note "activity while running" "$(
		psql -XAtqc "set gpucol.engine = cuda" -c "select count(*) from (select k, v, id, count(*) from g group by 1, 2, 3) s" > /dev/null &
		for i in $(seq 100); do psql -XAtqc "select state from gpucol.activity where state <> 'idle'"; sleep 0.01; done | sort | uniq -c | tr -s ' \n' ' '
		wait)"
}

# On a host with several devices: do all take part, with the right answers?
part_devices()
{
	local n want

	n=$(nvidia-smi -L | wc -l)
	[ "$n" -gt 1 ] || { note "several devices" "this host has one"; return; }
	sql_tables || return
	plans "on $n devices" "21 22 23"
	plans "in parts on $n devices" "24" --window 1500000
	under "queries, all $n devices" "--test"
	want=$(psql -XAtqc "select count(*) from gpucol.devices where requests > 0 and cached > 0")
	note "devices that hold and computed" "$want of $n $([ "$want" = "$n" ] && echo ok || echo FAILED)"
	note "segments by device" "$(psql -XAtqc "select string_agg(device || ': ' || n, ', ' order by device) from (select device, count(distinct segment) n from gpucol.cache where relation = 'g'::regclass group by 1) s")"
	note "plans over all devices" "$(grep -c "Devices: $n" "$OUT/under.txt")"
	grep -h 'Device Note' "$OUT/under.txt" | sort | uniq -c > "$OUT/device-notes.txt"
	note "count(DISTINCT) says where" "$(grep -q 'computed on one device' "$OUT/device-notes.txt" && echo ok || echo FAILED)"
}

# Throughput of one client and of many, of the same mix.
part_clients()
{
	local n tps memory

	sql_tables || return
	grep -v "like\|id between\|v = 777\|group by k, v\|d >=" "$OUT/queries" | head -12 | sed 's/from T/from g/; s/$/;/' > "$OUT/mix"
	split -l 1 -a 2 "$OUT/mix" "$OUT/mix."
	chmod a+r "$OUT"/mix.*
	for n in 1 8 32; do
		tps=$(PGOPTIONS='-c gpucol.engine=cuda' pgbench -n -c $n -j $((n < 8 ? n : 8)) -T "${SECONDS_EACH:-5}" $(for f in "$OUT"/mix.*; do echo "-f $f"; done) 2>&1 |
			tee -a "$OUT/pgbench.txt" | awk '/^tps/ {print $3} /failed transactions:/ {f = $5} /ERROR|aborted/ {e++} END {print "failed", f + 0, "errors", e + 0}' | tr '\n' ' ')
		note "$n clients, queries/s" "$tps"
	done
	note "device memory held / limit, MB" "$(psql -XAtqc "select string_agg(held / 1000000 || ' / ' || memory_limit / 1000000, ', ') from gpucol.devices")"
}

# Every regression test with the device required: the results that are expected of the CPU.
part_suite()
{
	local t same=0 differ=""

	[ -f /opt/pgdata/PG_VERSION ] || server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return; }
	rm -rf /tmp/suite && mkdir -p /tmp/suite && cp -r "$HERE/tree/expected" "$HERE/tree/test" /tmp/suite/
	chown -R pguser /tmp/suite
	as "cd /tmp/suite && PGOPTIONS='-c gpucol.engine=cuda' timeout ${SUITE_TIMEOUT:-150} \
		/opt/pg/usr/lib/postgresql/15/lib/pgxs/src/test/regress/pg_regress --inputdir=test --outputdir=. \
		--bindir=/opt/pg/usr/lib/postgresql/15/bin --host=/tmp --user=pguser --load-extension=gpucol --dbname=suite \
		$(cd "$HERE/tree/test/sql" && ls ./*.sql | sed 's/^..//; s/.sql$//' | tr '\n' ' ')" > "$OUT/suite.log" 2>&1
	cp /tmp/suite/regression.diffs "$OUT/suite.diffs" 2>/dev/null
	for t in "$HERE"/tree/test/sql/*.sql; do
		t=$(basename "$t" .sql)
		if cmp -s <(plain "$HERE/tree/expected/$t.out") <(plain /tmp/suite/results/$t.out); then
			same=$((same + 1))
		else
			differ="$differ $t"
			{ echo "== $t"; diff <(plain "$HERE/tree/expected/$t.out") <(plain /tmp/suite/results/$t.out) | head -60; } >> "$OUT/suite-differences.txt"
		fi
	done
	note "suite, engine = cuda" "$same as expected but for plans;${differ:- none} differ"
	note "suite, plans on the device" "$(cat /tmp/suite/results/*.out | grep -c 'Engine: cuda')"
}

# Results without what EXPLAIN says about an engine.
plain()
{
	sed -E '/^ *(Engine|Threads|Packed Bytes|Vectors (Read|Skipped)|Segments (Read|Skipped)|Device Declined|Device Time|Daemon Time|Device Note|Devices|Batches|Kernel|Method|Rounds|Small Rounds|Peak Memory): ?/d; s/\b(cpu|cuda|auto)\b/ENGINE/g; s/-{5,}/---/; s/^ +QUERY PLAN +$/QUERY PLAN/; s/^\([0-9]+ rows?\)$//' "$1"
}
