# service.sh: parts of test/gpu/run about the daemon as a service; sourced.

# Restart the server with options of the daemon and settings NAME=VALUE, and with
# DAEMON_ENVIRONMENT before the daemon.
restart()
{
	local options=$1 setting

	shift
	sed -i '/^# of the test$/,$d' $AT/pgdata/postgresql.conf
	echo "# of the test" >> $AT/pgdata/postgresql.conf
	for setting in "$@"; do echo "$setting" >> $AT/pgdata/postgresql.conf; done
	as "${DAEMON_ENVIRONMENT:-} GPUCOL_GPUD_TEST='$options' pg_ctl -D $AT/pgdata -m fast -l $AT/pgdata/log -w restart >/dev/null"
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

# Sessions that are cancelled and then say nothing: what the daemon does for them ends at once.
cancelled_and_idle()
{
	local q="select count(*) from (select k, v, id, count(*) from g group by 1, 2, 3) s" ms states

	for ms in 2 4 8 12 16 24 32 48; do
		{ echo "set gpucol.engine = cuda; set application_name = 'idler'; select gpucol.evict('g'); set statement_timeout = $ms; $q;"; sleep 3; } |
			psql -XAtq > "$OUT/cancelled-idle-$ms" 2>&1 &
	done
	sleep 2
	states=$(psql -XAtqc "select coalesce(string_agg(state, ' '), 'nothing') from gpucol.activity
		where state <> 'idle' and pid in (select pid from pg_stat_activity where application_name = 'idler')")
	note "cancelled, then idle" "$(cat "$OUT"/cancelled-idle-* | grep -c 'statement timeout') of 8 cancelled, of which the daemon does $states: $(verdict test "$states" = nothing)"
	wait
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
	pid=$(pgrep -u $OWNER -x gpucol_gpud | head -1)
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
	local n tps first=0

	sql_tables || return
	grep -v "like\|id between\|v = 777\|group by k, v\|d >=" "$OUT/queries" | head -12 | sed 's/from T/from g/; s/$/;/' > "$OUT/mix"
	split -l 1 -a 2 "$OUT/mix" "$OUT/mix."
	chmod a+r "$OUT"/mix.*
	for n in 1 8 32; do
		tps=$(PGOPTIONS='-c gpucol.engine=cuda' pgbench -n -c $n -j $((n < 8 ? n : 8)) -T "${SECONDS_EACH:-5}" $(for f in "$OUT"/mix.*; do echo "-f $f"; done) 2>&1 |
			tee -a "$OUT/pgbench.txt" | awk '/^tps/ {print $3} /failed transactions:/ {f = $5} /ERROR|aborted/ {e++} END {print "failed", f + 0, "errors", e + 0}' | tr '\n' ' ')
		[ $n -gt 1 ] || first=${tps%% *}
		note "$n clients, queries/s" "$tps$(verdict eval "[[ '$tps' == *'failed 0 errors 0 ' ]] && awk 'BEGIN {exit !(${tps%% *} >= $first)}'")"
	done
	note "device memory held / limit, MB" "$(psql -XAtqc "select string_agg(held / 1000000 || ' / ' || memory_limit / 1000000, ', ') from gpucol.devices") $(verdict test t = "$(psql -XAtqc "select bool_and(held <= memory_limit) from gpucol.devices")")"
}

# A table of twelve columns of 31 bits, 12 MB each, for little device memory.
memory_table()
{
	psql -Xq -c "create table m (id int$(printf ', c%s int' $(seq 12))) using gpucol" \
		-c "set gpucol.segment_rows = 262144" \
		-c "insert into m select i$(printf ', i::bigint * (2654435761 + 2 * %s) %% 2147483647' $(seq 12)) from generate_series(1, 3000000) i" \
		-c "analyze m" > "$OUT/memory-load.log" 2>&1
}

# Columns of m that are resident as a whole.
resident()
{
	psql -XAtqc "select string_agg(c, ' ' order by c) from (select column_name c from gpucol.cache where relation = 'm'::regclass
		group by 1 having count(*) = (select count(*) from gpucol.segments('m'))) s"
}

# Sum column $1 of m on the device.
sum_column() { psql -XAtq -c "set gpucol.engine = cuda" -c "set client_min_messages = debug1" -c "select sum(c$1) from m" 2>&1; }

# Which columns leave where five and a half fit?  The first was used again, the second and a part of the third go.
lru_of_columns()
{
	local i

	restart "--test" "gpucol.gpu_memory_limit = 64"
	for i in 1 2 3 4 5 1 6 7; do sum_column $i > /dev/null; done
	note "least recently used leaves first" "$(verdict test "$(resident)" = "c1 c4 c5 c6 c7") ($(resident))"
}

# $1 clients each sum all columns, from different ones on, while memory is looked at.
clients_in_little_memory()
{
	local n=$1 i j most=0 held limit wrong declined

	rm -f "$OUT"/memory-[0-9]*
	sum_column 1 > /dev/null	# a daemon is there
	for i in $(seq 12); do psql -XAtq -c "set gpucol.engine = cpu" -c "select sum(c$i) from m"; done > "$OUT/memory-want"
	limit=$(psql -XAtqc "select sum(memory_limit) from gpucol.devices")
	for i in $(seq "$n"); do
		{ echo "set gpucol.engine = cuda; set client_min_messages = debug1;"
		  for j in $(seq $i $((i + 35))); do echo "select $((j % 12 + 1)), sum(c$((j % 12 + 1))) from m;"; done
		} | psql -XAtq -F' ' > "$OUT/memory-$i" 2>&1 &
	done
	while [ -n "$(jobs -pr)" ]; do
		held=$(psql -XAtqc "select sum(held) from gpucol.devices")
		[ "${held:-0}" -le "$most" ] || most=$held
	done
	wait
	wrong=$(cat "$OUT"/memory-[0-9]* | grep -v DEBUG | sort -u | sort -n | cut -d' ' -f2 | diff - "$OUT/memory-want" | grep -c '^[<>]')
	declined=$(cat "$OUT"/memory-[0-9]* | grep -c 'left a query to the CPU')
	cat "$OUT"/memory-[0-9]* | grep 'left a query to the CPU' | sort | uniq -c > "$OUT/memory-declined.txt"
	note "$n clients, more than memory holds" "$((n * 36)) queries, $wrong failed, $declined left to the CPU, $(verdict test "$(cat "$OUT"/memory-[0-9]* | grep -cv DEBUG)" = $((n * 36)))"
	note "  most held / limit, MB" "$((most / 1000000)) / $((limit / 1000000)) $(verdict test "$most" -le "$limit")"
}

# nothing_held [BYTES]: what is pinned or held beside the cache when nobody asks anything: nothing
# but what sizes of chunks are rounded up by, and so many bytes.
nothing_held()
{
	sleep 1
	psql -XAtqc "select coalesce(sum(pins), 0) = 0 from gpucol.cache" -c "select held - cached <= 512 * (select count(*) from gpucol.cache) + ${1:-0} from gpucol.devices" \
		-c "select count(*) = 0 from gpucol.activity" | sort -u | tr '\n' ' '
}

# Sessions that end in the middle of what they ask: everything of theirs is free.
death_of_clients()
{
	local i q="select c1, c2, count(*), sum(c3), stddev(c4) from m group by c1, c2"

	restart "--test" "gpucol.gpu_memory_limit = 2048"
	for i in $(seq 12); do sum_column $i > /dev/null; done
	for i in $(seq 12); do
		(sleep 0.$((RANDOM % 4 + 1)); psql -XAtqc "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'victim'" > /dev/null) &
		for _ in 1 2 3 4; do PGAPPNAME=victim PGOPTIONS="-c gpucol.engine=cuda" psql -XAtqc "select count(*) from ($q) s" > /dev/null 2>&1 & done
		wait
	done
	note "sessions terminated, 48" "nothing pinned, held, at work: $(verdict test "$(nothing_held)" = "t ")"
	PGAPPNAME=victim PGOPTIONS="-c gpucol.engine=cuda" psql -XAtqc "select count(*) from ($q) s" > /dev/null 2>&1 &
	sleep 0.3
	kill -9 "$(psql -XAtq -c checkpoint -c "select pid from pg_stat_activity where application_name = 'victim'")" 2>/dev/null
	wait
	for i in $(seq 60); do sleep 1; ! psql -XAtqc "select 1" > /dev/null 2>&1 || break; done
	sleep 3
	note "kill -9 of a session: server and daemon again" "$(verdict test "$(sum_column 1 | grep -v DEBUG)" = "$(head -1 "$OUT/memory-want")"), $(pgrep -u $OWNER -x -c gpucol_gpud) daemon, nothing held: $(verdict test "$(nothing_held)" = "t ")"
}

# A recursion where tables have taken device memory: they make room for it.
recursion_in_little_memory()
{
	local i with="with recursive r(a, b) as (select a, b from arcs union select r.a, e.b from r, arcs e where e.a = r.b)"
	local settings="set gpucol.engine = cuda; set gpucol.recursive_strategy = hisa" got

	psql -XAtq -c "set client_min_messages = warning" -c "drop table if exists arcs" \
		-c "create table arcs using gpucol as select i as a, i + 1 as b from generate_series(1, 1200) i" -c "analyze arcs"
	restart "--test" "gpucol.gpu_memory_limit = 96"
	for i in $(seq 9); do sum_column $i > /dev/null; done
	got=$(psql -XAtq -c "$settings" -c "$with select count(*) from r")
	psql -XAtq -c "$settings" -c "explain (analyze, costs off, timing off) $with select count(*) from r" > "$OUT/recursion-in-little.txt" 2>&1
	note "recursion where tables fill memory" "$(verdict test "$got" = 720600), $(grep -E 'Engine|Method|Peak|Fallback' "$OUT/recursion-in-little.txt" | tr -s ' \n' ' '): $(verdict grep -q 'Engine: cuda' "$OUT/recursion-in-little.txt")"
	note "  held / limit, MB, then" "$(psql -XAtqc "select held / 1000000 || ' / ' || memory_limit / 1000000 from gpucol.devices") $(verdict test t = "$(psql -XAtqc "select bool_and(held <= memory_limit) from gpucol.devices")")"
}

# The column cache and its limit, many clients in little memory, and clients that die.
part_memory()
{
	[ -f $AT/pgdata/PG_VERSION ] || server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return; }
	[ -n "$(psql -XAtqc "select to_regclass('m')")" ] || memory_table
	lru_of_columns
	clients_in_little_memory 8
	clients_in_little_memory 24
	restart "--test --slabs 20000000" "gpucol.gpu_memory_limit = 64"
	clients_in_little_memory 8
	recursion_in_little_memory
	death_of_clients
	restart "--test"
}

# Queries of every kind of kernel that many rows keep busy for a moment.
cancelled_queries()
{
	cat <<-'S'
		select md5(string_agg(t::text, ',' order by grp)) from (select grp, gpucol.u_topk(id, score, p, 10) t from cancels group by grp) s
		select md5(gpucol.u_topk(id, score, p * 0.0001, 700)::text), md5(gpucol.u_kranks(id, score, p * 0.0001, 100)::text) from cancels
		select md5(string_agg(s::text, ',' order by grp)) from (select grp, gpucol.u_kranks(id, score, p, 10), gpucol.pt_k(id, score, p, 10, 0.3), gpucol.global_topk(id, score, p, 10) from cancels group by grp) s
		select md5(string_agg(s::text, ',' order by grp)) from (select grp, count(*), sum(id), min(id), max(id) from cancels group by grp) s
		select md5(string_agg(s::text, ',')) from (select id, score from cancels where p > 0.3 order by score desc, id limit 50) s
		select md5(string_agg(s::text, ',' order by g)) from (select (id % 7)::int g, count(distinct id), sum(p)::numeric(30,6) from cancels group by 1) s
		select count(*), sum(id) from (select id, score from cancels where p * 2 > 1.99) s
		select sum(id), count(*) from cancels where grp between 100 and 900
		select sum(n * id), sum(s) from (select id, count(*) n, sum(grp) s from cancels group by id) s
	S
}

# Cancels at every moment: the daemon lives, what is answered is right, and nothing is held.
part_cancels()
{
	local pid i c errors wrong held

	[ -f $AT/pgdata/PG_VERSION ] || server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return; }
	psql -Xq -c "set client_min_messages = warning" -c "drop table if exists cancels" -c "create table cancels using gpucol as
		select i % 1000 as grp, i::int as id, (i::bigint * 2654435761 % 1000003) / 8.0::float8 as score, (i::bigint * 7919 % 1001) / 1000.0::float8 as p
		from generate_series(1, 5000000) i" -c "analyze cancels" > "$OUT/cancels-load.log" 2>&1
	cancelled_queries > "$OUT/cancels"
	while IFS= read -r q; do psql -XAtq -c "set gpucol.engine = cuda" -c "$q"; done < "$OUT/cancels" > "$OUT/cancels-want" 2>&1
	held=$(psql -XAtqc "select max(held - cached) from gpucol.devices")
	pid=$(pgrep -u $OWNER -x gpucol_gpud | head -1)
	for c in $(seq 10); do
		{ echo "set gpucol.engine = cuda;"
		  for i in $(seq 400); do
			echo "set statement_timeout = $((RANDOM % (c > 5 ? 12 : 60) + 1));"
			echo "$(sed -n "$((RANDOM % $(wc -l < "$OUT/cancels") + 1))p" "$OUT/cancels");"
		  done
		} | timeout "${SECONDS_EACH:-15}" psql -XAtq > "$OUT/cancels-$c" 2>&1 &
	done
	wait
	# "user request" is what PostgreSQL says of a timeout that met the next statement
	errors=$(cat "$OUT"/cancels-[0-9]* | grep ERROR | grep -vc 'statement timeout\|user request')
	wrong=$(cat "$OUT"/cancels-[0-9]* | grep -v ERROR | sort -u | grep -vxcFf "$OUT/cancels-want")
	note "cancels at every moment" "$(cat "$OUT"/cancels-[0-9]* | grep -c 'statement timeout') cancelled, $(cat "$OUT"/cancels-[0-9]* | grep -vc ERROR) answered, $wrong wrong, $errors other errors: $(verdict test "$wrong$errors" = 00)"
	note "  the daemon" "the same as before: $(verdict kill -0 "$pid"), nothing more held: $(verdict test "$(nothing_held "$held")" = "t ")"
	rm -f "$OUT"/cancels-[0-9]*
	psql -Xqc "drop table cancels"
}

# Every regression test with the device required: the results that are expected of the CPU.
part_suite() { suite all '1,$p'; }
part_suite_odd() { suite odd '1~2p'; }
part_suite_even() { suite even '2~2p'; }

# suite NAME LINES: the regression tests, of which sed's LINES chooses some.
suite()
{
	local t same=0 differ="" ended tests

	tests=$(cd "$TREE/test/sql" && ls ./*.sql | sed 's/^..//; s/.sql$//' | sed -n "$2")

	[ -f $AT/pgdata/PG_VERSION ] || server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return; }
	ended=$(grep -c 'gpucol_gpud ended' $AT/pgdata/log)
	rm -rf $AT/suite && mkdir -p $AT/suite && cp -r "$TREE/expected" "$TREE/test" $AT/suite/
	chown -R $OWNER $AT/suite
	as "cd $AT/suite && PGOPTIONS='-c gpucol.engine=cuda' timeout ${SUITE_TIMEOUT:-420} \
		/opt/pg/usr/lib/postgresql/15/lib/pgxs/src/test/regress/pg_regress --inputdir=test --outputdir=. \
		--bindir=/opt/pg/usr/lib/postgresql/15/bin --host=$AT/d --user=postgres --load-extension=gpucol --dbname=suite \
		$(tr '\n' ' ' <<< "$tests")" > "$OUT/suite.log" 2>&1
	cp $AT/suite/regression.diffs "$OUT/suite.diffs" 2>/dev/null
	for t in $tests; do
		if cmp -s <(plain "$TREE/expected/$t.out") <(plain $AT/suite/results/$t.out); then
			same=$((same + 1))
		else
			differ="$differ $t"
			{ echo "== $t"; diff <(plain "$TREE/expected/$t.out") <(plain $AT/suite/results/$t.out) | head -60; } >> "$OUT/suite-differences.txt"
		fi
	done
	note "suite ($1), engine = cuda" "$same as expected but for plans;${differ:- none} differ: $(verdict test -z "$differ")"
	note "suite, daemons that ended" "$(grep -c 'gpucol_gpud ended' $AT/pgdata/log | awk -v before="$ended" '{print $1 - before}') $(verdict test "$(grep -c 'gpucol_gpud ended' $AT/pgdata/log)" = "$ended")"
	note "suite, plans on the device" "$(cat $AT/suite/results/*.out | grep -c 'Engine: cuda')"
}

# Results without what EXPLAIN says about an engine.
plain()
{
	sed -E '/^ *(Engine|Threads|Packed Bytes|Vectors (Read|Skipped)|Segments (Read|Skipped)|(Device|Table) Declined|Device Time|Daemon Time|Device Note|Devices|Batches|Kernel|Method|Rounds|Small Rounds|Peak Memory): ?/d; s/\b(cpu|cuda|auto)\b/ENGINE/g; s/\bGpucol(Agg|Scan)\b/NODE/g; s/\b(in parts|whole)\b/TABLE/g; s/Rows Removed by Filter: [0-9]+/none/; s/-{5,}/---/g; s/^ +QUERY PLAN +$/QUERY PLAN/; s/^\([0-9]+ rows?\)$//; s/ +$//; s/^ +([a-z_]+)$/\1/; s/ +/ /g' "$1"
}
