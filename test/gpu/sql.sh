# sql.sh: parts of test/gpu/run that need a server; sourced.

# Median milliseconds, at the client, of 15 executions after three.
median_ms()
{
	local sql=$1 i

	{ printf '%s;\n' "$SETTINGS"; echo '\timing on'; for i in $(seq ${RUNS:-18}); do printf '%s;\n' "$sql"; done; } |
		psql -XAtq 2>/dev/null | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | tail -n 15 | sort -n | sed -n 8p
}

# The same rows in a heap and a gpucol table, and queries over them.
sql_tables()
{
	[ -z "$(psql -XAtqc "select to_regclass('g')" 2>/dev/null)" ] || { sql_queries; return; }
	server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return 1; }
	psql -Xq > "$OUT/sql-load.log" 2>&1 <<-'S'
		set client_min_messages = warning;
		select setseed(0.5);
		create table h as select i as id, (random() * 100)::int as k, (random() * 30000)::int as v,
			(random() * 1e6)::numeric(12,2) as price, random() * 1000 as f, (random() * 10)::real as r4,
			case when i % 7 = 0 then null else 'word' || i % 12 end as w,
			date '2020-01-01' + (i % 1000)::int as d, i % 3 = 0 as b,
			case when i % 5 = 0 then null else i % 1000 end as nn
			from generate_series(1, 3000000) i;
		set gpucol.segment_rows = 131072;	-- so that parts of it fit a small window
		create table g (like h) using gpucol;
		insert into g select * from h;
		delete from g where id % 1001 = 0;
		delete from h where id % 1001 = 0;
		insert into g select * from h where id <= 500;
		insert into h select * from h where id <= 500;
		analyze h; analyze g;
		-- the same as partitions, of which one keeps its columns in another order, and as a UNION ALL
		create table gp (like h) partition by range (id);
		create table gp1 partition of gp for values from (1) to (1000000) using gpucol;
		create table gp2 (gone text, nn int, b bool, d date, w text, r4 real, f float8, price numeric(12,2), v int, k int, id int) using gpucol;
		alter table gp2 drop column gone;
		alter table gp attach partition gp2 for values from (1000000) to (2000000);
		create table gp3 partition of gp for values from (2000000) to (maxvalue) partition by list (k);
		create table gp3a partition of gp3 for values in (1, 2, 3, 4, 5) using gpucol;
		create table gp3b partition of gp3 default using gpucol;
		insert into gp select * from h where id % 7 > 0;
		delete from gp where id % 3 = 0;
		insert into gp select * from h where id % 7 = 0 or id % 3 = 0;
		create view gu as select id, k, v, price, f, r4, w, d, b, nn from gp1
			union all select id, k, v, price, f, r4, w, d, b, nn from gp2
			union all select id, k, v, price, f, r4, w, d, b, nn from gp3a
			union all select id, k, v, price, f, r4, w, d, b, nn from gp3b;
		analyze gp;
	S
	sql_queries
}

sql_queries()
{
	cat > "$OUT/queries" <<-'S'
		select count(*) from T
		select count(*) from T where v between 100 and 20000
		select count(*), sum(v), min(v), max(v), avg(v) from T where k < 50
		select k, count(*), sum(v), min(v), max(v) from T group by k
		select k, count(*), sum(price), avg(price) from T where v > 1000 group by k
		select w, count(*), sum(v) from T group by w
		select w, b, count(nn), sum(nn), min(d), max(d) from T group by w, b
		select count(*) from T where w like 'word1%'
		select count(*) from T where w in ('word3', 'word5') and v % 3 = 1
		select sum(v * 2 + k), max(v - k) from T where nn is not null
		select count(distinct k), count(distinct w) from T
		select stddev(v), variance(v) from T
		select k, stddev(v) from T group by k
		select sum(price * v), min(price), max(price) from T
		select d, count(*) from T where d >= date '2021-06-01' group by d
		select count(*) from T where f < 10.5
		select max(f), min(f), max(r4) from T
		select id, v, price, w from T where v = 777 and k = 5
		select id, f, w from T where id between 1000 and 1010 or w is null and v = 1
		select k, v, count(*) from T where id < 200000 group by k, v
		select count(*), sum(n * id), sum(s * (id % 1000)), sum(m * (id % 77)), sum(x * (id % 13)) from (select id, count(*) n, sum(v) s, min(price) m, max(nn) x from T group by id) q
		select count(*), sum(n * k), sum(c * v), sum(s * (v % 77)) from (select k, v, count(*) n, count(nn) c, sum(id) s from T where b or k > 9 group by k, v) q
		select min(w), max(w), max(w collate "C") from T where v > 5
		select k, min(w), max(w), count(*), max(w) filter (where b), min(w) filter (where v = 7) from T group by k
		select count(*) from T where nn is null
		select bool_and(b), bool_or(b), count(b) from T
		select case when v > 15000 then 'hi' end is null, count(*) from T group by 1
		select id % 10, sum(v) from T group by 1
		select count(*) filter (where v > 100), sum(v) filter (where k = 3) from T
		select count(*) from (select id from T where 1000 / (id - 2500000) = 0 limit 1000) t
	S
}

# Different answers of float sums that sessions ask for again and again beside each other.
repeated_sums()
{
	local i

	for i in 1 2 3 4; do
		{ echo "set gpucol.engine = cuda; set extra_float_digits = 3;"
		  for _ in $(seq 20); do echo "select sum(f), avg(f), stddev(f), sum(f * v), sum(r4::float8) from g;"; done
		} | psql -XAtq 2>&1 &
	done | sort -u | wc -l
}

# A query over a table in the place of T.
over()
{
	local q=${1//from T/from $2}

	q=${q//( T /( $2 }
	echo "${q//join T/join $2}"
}

# Joins of tables that are read as one, which the device makes where it can.
join_queries()
{
	cat <<-'S'
		select count(*), sum(a.v), sum(b.price) from T a join T b on a.id = b.id where b.k < 7
		select b.k, count(*), sum(a.v) from T a join T b on a.nn = b.id where b.id between 3 and 900 group by b.k
		select count(*), sum(a.v) from T a where exists (select from T b where b.id = a.v and b.k = 5)
		select count(*) from T a left join T b on a.v = b.id and b.w = 'word3' where b.id is null
		select a.w, b.d, count(*) from T a join T b on a.nn = b.id where a.k = 3 and b.id < 50 group by a.w, b.d
		select c.w, count(*), sum(a.v) from T a left join ( T b join T c on b.nn = c.id and c.id < 900) on a.v = b.id and b.k < 40 group by c.w
		select count(*), count(b.id), sum(b.v), count(distinct b.w) from T a left join T b on a.nn = b.nn and b.id < 20000 and b.v > a.v
		select count(*), sum(a.v) from T a join (select k, max(v) as most from T group by k having count(*) > 1000) b on a.k = b.k and a.v = b.most
	S
}

# Queries of the input, on the device over a table and by PostgreSQL over its heap twin.
on_device()
{
	local table=$1 twin=$2 n=0 bad=0 there=0 q

	while IFS= read -r q; do
		[ -n "$q" ] || continue
		n=$((n + 1))
		if [ "$(psql -XAtq -c "set gpucol.enabled = off" -c "$(over "$q" "$twin")" 2>&1 | LC_ALL=C sort)" != \
			"$(psql -XAtq -c "set gpucol.engine = cuda" -c "$(over "$q" "$table")" 2>&1 | LC_ALL=C sort)" ]; then
			bad=$((bad + 1))
			echo "== $table: $q" >> "$OUT/differences.txt"
		fi
		psql -XAtq -c "set gpucol.engine = cuda" -c "explain (analyze, costs off, timing off) $(over "$q" "$table")" > "$OUT/explained" 2>&1
		there=$((there + $(grep -c -m 1 'Engine: cuda' "$OUT/explained")))
		cat "$OUT/explained" >> "$OUT/explain-$table.txt"
	done
	note "queries of $table, heap = cuda" "$((n - bad)) passed, $bad failed"
	note "queries of $table on the device" "$there of $n"
}

# Every query over tables that are read as one.
tables_as_one()
{
	on_device "$1" h < <(cat "$OUT/queries"; join_queries)
	note "  tables resident" "$(psql -XAtqc "select count(distinct relation) from gpucol.cache where relation::text ~ '^gp[123]'")"
}

# Texts that have no dictionary: few, which are numbered, and too many, which are read of the rows found.
raw_texts()
{
	psql -Xq > "$OUT/sql-texts.log" 2>&1 <<-'S'
		create table hx as select id, k, v, md5(id::text) as t, 'x' || id % 1000 as w from h where id <= 100000;
		create table gx using gpucol as table hx;
		create table hy as select id, k, v, md5(id::text) as t, 'x' || id % 1000 as w from h;
		create table gy using gpucol as table hy;
		analyze hx; analyze gx; analyze hy; analyze gy;
	S
	on_device gx hx <<-'S'
		select count(*), sum(id) from T where t like '%ab%c%'
		select id, t from T where t like 'abc%' and v > 100
		select t, count(*) from T where t in (md5('77'), md5('4711')) group by t
		select k, min(t), max(t), count(distinct t) from T group by k
		select id, t, w from T where v between 100 and 110
		select id, t from T order by v desc, id limit 20
		select a.k, b.t, count(*) from T a join T b on a.v = b.id where b.k = 5 and b.id < 300 group by a.k, b.t
	S
	on_device gy hy <<-'S'
		select id, t, w from T where v = 777 and k = 5
		select id, t from T order by v desc, id limit 20
		select a.id, a.t, b.w from T a join T b on a.v = b.id where a.id % 20011 = 7 and b.id < 30000
		select count(t), count(*) from T where k > 5
	S
}

# Every query with both engines and the heap table.
part_sql()
{
	local n=0 bad=0 q a b c

	sql_tables || return
	while IFS= read -r q; do
		[ -n "$q" ] || continue
		n=$((n + 1))
		a=$(psql -XAtq -c "set gpucol.enabled = off" -c "${q//from T/from h}" 2>&1 | LC_ALL=C sort)
		b=$(psql -XAtq -c "set gpucol.engine = cpu" -c "${q//from T/from g}" 2>&1 | LC_ALL=C sort)
		c=$(psql -XAtq -c "set gpucol.engine = cuda" -c "${q//from T/from g}" 2>&1 | LC_ALL=C sort)
		psql -XAtq -c "set gpucol.engine = cuda" -c "explain (analyze, costs off, timing off) ${q//from T/from g}" >> "$OUT/explain.txt" 2>&1
		if [ "$a" != "$c" ] || [ "$a" != "$b" ]; then
			bad=$((bad + 1))
			{ echo "== $q"; echo "heap: $(head -c 300 <<< "$a")"; echo "cpu:  $(head -c 300 <<< "$b")"; echo "cuda: $(head -c 300 <<< "$c")"; } >> "$OUT/differences.txt"
		fi
	done < "$OUT/queries"
	note "queries, heap = cpu = cuda" "$((n - bad)) passed, $bad failed"
	note "queries answered by the device" "$(grep -c 'Engine: cuda' "$OUT/explain.txt") of $n (that with an error behind its LIMIT is the CPU's)"
	# where the code is PTX of 7.5 or 8.0, blocks have too little shared memory to partition rows in
	code=$(psql -XAtqc "select min(code) from gpucol.devices")
	note "groups of partitioned rows" "$(psql -XAtq -c "set gpucol.engine = cuda" -c "explain (analyze, costs off) select id, count(*), sum(v) from g group by id" 2>&1 |
		tee -a "$OUT/explain.txt" | grep -o "Kernel: group$([[ "$code" =~ ^PTX\ [78] ]] || echo ', partitioned')" || echo FAILED)"
	tables_as_one gp
	note "partitions evicted" "$(verdict test "$(psql -XAtqc "select gpucol.evict('gp') > 0 and not exists (select from gpucol.cache where relation::text ~ '^gp')")" = t)"
	note "and loaded" "$(verdict test "$(psql -XAtqc "select gpucol.prefetch('gp') > 0" -c "select count(distinct relation) from gpucol.cache where relation::text ~ '^gp'" | xargs)" = "t 4")"
	tables_as_one gu
	raw_texts
	note "float sums, cuda - heap below 1e-12" "$(verdict test t = "$(psql -XAtq -c "set gpucol.engine = cuda" -c "select abs((select sum(f) from g) / (select sum(f) from h) - 1) < 1e-12")")"
	note "float sums, 4 sessions, 20 times each" "$(verdict test "$(repeated_sums)" = 1) (one answer)"
	psql -XAtq -c "select * from gpucol.devices" >> "$OUT/explain.txt"
	psql -XAtq -c "select relation, count(*), sum(bytes) from gpucol.cache group by 1" >> "$OUT/explain.txt"
	SETTINGS="set gpucol.engine = cuda"
	for q in "select count(*) from g where v between 100 and 20000" "select k, count(*), sum(v), min(v) from g group by k" \
		"select w, count(*) from g group by w"; do
		note "ms cuda / cpu / heap, 3 M rows" "$(SETTINGS='set gpucol.engine = cuda' median_ms "$q") / $(SETTINGS='set gpucol.engine = cpu' median_ms "$q") / $(SETTINGS='select 1' median_ms "${q/from g/from h}")   $q"
	done
}

# Loads that end early, and loads by other numbers of threads and workers: the answers after them.
faults_of_loading()
{
	local got=ok i load="set client_min_messages = error; select gpucol.evict('g'); select gpucol.prefetch('g')"

	for i in 1:0 2:0 16:0 16:3 8:8; do
		psql -XAtq -c "set gpucol.cpu_threads = ${i%:*}; set max_parallel_workers = ${i#*:}" -c "$load" > "$OUT/load.log" 2>&1 &&
			[ "$(ask)" = "$want" ] || got=FAILED
	done
	note "loaded by 1 to 16 threads, 0 to 8 workers" "$got"
	got=ok
	for i in $(seq 12); do
		psql -XAtq -c "set statement_timeout = $i" -c "$load" > "$OUT/load.log" 2>&1
		[ "$(ask)" = "$want" ] || got=FAILED
	done
	note "loading cancelled after 1 to 12 ms" "$got"
	got=ok
	for i in $(seq 6); do
		(sleep 0.0$((i + 1)); psql -XAtqc "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'loader'" > /dev/null) &
		PGAPPNAME=loader psql -XAtq <<< "$(for _ in $(seq 40); do echo "$load;"; done)" > "$OUT/load.log" 2>&1
		wait $!
		[ "$(ask)" = "$want" ] || got=FAILED
	done
	note "a loading session terminated, 6 times" "$got"
	got=ok
	for i in $(seq 6); do
		(sleep 0.0$((i + 1)); kill -9 "$(daemon)" 2>/dev/null) &
		for _ in 1 2 3; do psql -XAtqc "$load" > "$OUT/load.log" 2>&1; done
		wait $!
		[ "$(ask)" = "$want" ] || got=FAILED
	done
	note "kill -9 of the daemon while it loads, 6 times" "$got"
	psql -XAtqc "create extension if not exists pg_buffercache"
	for i in 1 2 3 4 5; do	# the checkpointer may have one pinned for a moment
		got=$(psql -XAtqc "select count(*) from pg_buffercache where pinning_backends > 0")
		[ "$got" != 0 ] || break
		sleep 0.2
	done
	note "pages pinned after that" "$got $(verdict test "$got" = 0)"
}

# Four sessions ask $q over and over while a command breaks the daemon: none may notice
# by anything but the engine that answers.
beside()
{
	local name=$1 i

	shift
	for i in 1 2 3 4; do
		{ echo "set gpucol.engine = cuda; set client_min_messages = debug1;"
		  for _ in $(seq 3000); do echo "$q;"; done
		} | psql -XAtq > "$OUT/beside-$i" 2>&1 &
	done
	sleep 0.3
	"$@" > "$OUT/beside.log" 2>&1
	wait
	note "$name" "$(verdict test "$(cat "$OUT"/beside-[1-4] | grep -v DEBUG | grep -cxF "$want")" = 12000 -a "$(cat "$OUT"/beside-[1-4] | grep -cv DEBUG)" = 12000), 12000 answers, $(cat "$OUT"/beside-[1-4] | grep -c 'left a query to the CPU') by the CPU engine"
}

# Queries of every kind of kernel over a small table.
queries_of_lies()
{
	cat "$OUT/queries"
	cat <<-'S'
		select d, k, b, count(*), min(v) from T group by d, k, b
		select id, v from T order by v desc, id limit 20
		select f, id from T order by f limit 7
		select gpucol.u_topk(id, f, r4::float8 / 10, 5) from T where v < 3000
		select k, gpucol.pt_k(id, f, r4::float8 / 10, 3, 0.2) from T group by k
		with recursive r(a, b) as (select k, v % 100 from T where v < 2000 union select r.a, e.v % 100 from r, T e where e.k = r.b and e.v < 2000) select count(*) from r
	S
}

# under_lies SEED: ask through a relay that changes messages.
under_lies()
{
	local relay query

	python3 "$TREE/test/gpu/wire.py" relay $AT/pgdata/gpucol_gpud.sock "$1" >> "$OUT/relay.log" 2>&1 &
	relay=$!
	sleep 0.5
	while IFS= read -r query; do
		timeout 10 psql -XAtq -c "set gpucol.engine = cuda" -c "set statement_timeout = '5s'" -c "set client_min_messages = debug1" \
			-c "$query" -c "select gpucol.evict('lies')" < /dev/null >> "$OUT/changed" 2>&1
		echo asked >> "$OUT/changed"
	done < "$OUT/lies"
	kill $relay
	wait $relay
}

# The server's own messages, changed on their way: whatever they come to, the daemon and
# the server live, and what is answered afterwards is right.
messages_changed()
{
	local pid seed options

	psql -Xq -c "set client_min_messages = warning" -c "drop table if exists lies" -c "set gpucol.segment_rows = 65536" \
		-c "create table lies using gpucol as select * from g limit 150000" -c "delete from lies where id % 77 = 0" \
		-c "insert into lies select * from g limit 100" -c "analyze lies" > "$OUT/lies-load.log" 2>&1
	queries_of_lies | sed 's/\bT\b/lies/g' > "$OUT/lies"
	for options in "--test" "--test --slabs 0 --copies 2" "--test --slabs 0 --window 600000"; do
		restart "$options"
		ask > /dev/null
		pid=$(daemon)
		rm -f "$OUT/relay.log" "$OUT/changed"
		for seed in ${LIES:-7}; do under_lies "$seed"; done
		note "lies, gpud $options" "$(awk '{n += $1} END {print n + 0}' "$OUT/relay.log") messages changed, $(grep -c '^asked' "$OUT/changed") statements, $(grep -c 'left a query to the CPU' "$OUT/changed") of them to the CPU; daemon alive: $(verdict test "$pid" = "$(daemon)"), $(answers), device $(again)"
	done
	restart "--test"
}

# Does the device answer again?
again() { verdict grep -q 'Engine: cuda' <<< "$(psql -XAtq -c "set gpucol.engine = cuda" -c "explain (analyze, costs off, timing off) $q")"; }

# Kill, break and fuzz the daemon while the server asks it.
part_faults()
{
	local q="select count(*), sum(v) from g where v between 100 and 20000" want got i pid restarts

	sql_tables || return
	restarts=$(grep -c 'terminating any other active' $AT/pgdata/log)
	want=$(psql -XAtq -c "set gpucol.engine = cpu" -c "$q")
	ask() { psql -XAtq -c "set gpucol.engine = cuda" -c "$q" 2>&1; }
	answers() { [ "$(ask)" = "$want" ] && echo ok || echo FAILED; }
	daemon() { pgrep -u $OWNER -x gpucol_gpud | head -1; }
	note "answer" "$(answers)"
	cancelled_and_idle
	kill -9 "$(daemon)"; note "after kill -9 of the idle daemon" "$(answers)"
	sleep 3; note "device again" "$(again)"
	got=ok
	for i in $(seq 8); do
		(sleep 0.0$((RANDOM % 9)); kill -9 "$(daemon)" 2>/dev/null) &
		[ "$(ask)" = "$want" ] || got=FAILED
		wait $!
	done
	note "kill -9 in a loop of 8 queries" "$got"
	sleep 3
	pid=$(daemon)
	python3 "$TREE/test/gpu/wire.py" fault $AT/pgdata/gpucol_gpud.sock > "$OUT/fault.log" 2>&1
	note "after an illegal address on the device" "$(answers), another daemon: $(verdict test "$pid" != "$(daemon)")"
	sleep 3; note "device again" "$(again)"
	beside "an illegal address beside 4 sessions" python3 "$TREE/test/gpu/wire.py" fault $AT/pgdata/gpucol_gpud.sock
	beside "kill -9 beside 4 sessions" eval 'kill -9 "$(daemon)"'
	sleep 3; note "device again" "$(again)"
	pid=$(daemon)
	python3 "$TREE/test/gpu/wire.py" fuzz $AT/pgdata/gpucol_gpud.sock 600 > "$OUT/fuzz.log" 2>&1
	note "600 malformed messages: daemon alive" "$([ "$pid" = "$(daemon)" ] && echo ok || echo FAILED), $(answers), device $(again), $(cat "$OUT/fuzz.log") $(verdict grep -q '^[1-9]' "$OUT/fuzz.log")"
	pid=$(daemon)
	python3 "$TREE/test/gpu/lies.py" $AT/pgdata/gpucol_gpud.sock > "$OUT/lies.log" 2>&1
	got=$(verdict test $? = 0)
	note "figures that contradict each other" "$(tail -1 "$OUT/lies.log"): $got, daemon alive: $(verdict test "$pid" = "$(daemon)")"
	got=$(timeout 60 psql -XAtq -c "set gpucol.engine = cuda" -c "set statement_timeout = 1" -c "$q" 2>&1)
	note "statement_timeout of 1 ms" "$(grep -q timeout <<< "$got" && echo ok || echo "not reached"), $(answers)"
	faults_of_loading
	got=ok
	for i in $(seq 32); do ( [ "$(ask)" = "$want" ] || touch "$OUT/client-failed" ) & done
	wait
	[ ! -f "$OUT/client-failed" ] || got=FAILED
	note "32 clients at once" "$got"
	messages_changed
	got=$(grep -c 'terminating any other active' $AT/pgdata/log)
	note "server restarts" "$((got - restarts)) $(verdict test "$got" = "$restarts")"
}

# Load the billion rows into device memory with so many threads and at most so many workers.
prefetch_rate()
{
	psql -XAtq -c "select gpucol.evict('big') > 0" -c "set gpucol.cpu_threads = $1" -c "set max_parallel_workers = ${2:-8}" -c '\timing on' -c "select gpucol.prefetch('big')" |
		awk 'NR == 2 {b = $1} /^Time/ {printf "%.2f GB in %.0f ms = %.2f GB/s", b / 1e9, $2, b / $2 / 1e6}'
}

# One billion rows of 15 and 16 bits: cold load, then statements at the client.
part_billion()
{
	local i q rows=${BILLION:-1000000000} clients=${LOADERS:-8} start end

	[ -f $AT/pgdata/PG_VERSION ] || server > "$OUT/server-start.log" 2>&1
	psql -Xqc "create table big (c int, k int) using gpucol"
	start=$(date +%s.%N)
	for i in $(seq $clients); do
		psql -Xqc "insert into big select (x * 7919 + $i) % 32768, (x * 104729) % 10000 from (select generate_series(1, $((rows / clients))::bigint) x) s" &
	done
	wait $(jobs -p | tail -n $clients)
	end=$(date +%s.%N)
	note "load by $clients clients, M rows/s" "$(echo "$rows $start $end" | awk '{printf "%.1f", $1 / ($3 - $2) / 1e6}')"
	psql -XAtqc "select gpucol.merge('big')" > "$OUT/merge.log" 2>&1	# what the loaders left
	psql -Xqc "analyze big"
	note "segments" "$(psql -XAtqc "select count(*) from gpucol.segments('big')")"
	psql -XAtq -c "create table tiny (i int) using gpucol" -c "set gpucol.engine = cuda" -c "select count(*) from tiny" > /dev/null	# starts the daemon
	note "prefetch, first, checksums verified" "$(prefetch_rate 16)"
	for i in 16:8 16:8 16:8 16:3 16:1 16:0 8:8 8:0 4:0 2:0 1:0; do
		note "prefetch, verified before, threads:workers $i" "$(prefetch_rate ${i/:/ })"
	done
	psql -Xqc "create table r10 as select i k, 100000::bigint n, 1638300000::bigint s, 3 m from generate_series(1, 10000) i" -c "analyze r10"
	note "10,000 rows of a heap table, ms" "$(SETTINGS='select 1' median_ms "select * from r10")"
	note "count, cold, ms at the client" "$(psql -XAtq -c "select gpucol.evict('big')" -c "set gpucol.engine = cuda" -c '\timing on' \
		-c "select count(*) from big where c between 8000 and 16000" | sed -n 's/^Time: //p')"
	for q in "select count(*) from big where c between 8000 and 16000" \
		"select count(*), sum(k) from big where c between 8000 and 16000" \
		"select k, count(*), sum(c), min(c) from big group by k" \
		"select k, count(*), sum(c), min(c) from big where k < 1000 group by k" \
		"select sum(n) from (select k, count(*) n, sum(c), min(c) from big group by k) s" \
		"select c, count(*) from big where k < 100 group by c" \
		"select sum(c * 2 + k) from big where c % 7 = 3" \
		"select c, k from big order by c desc limit 100" \
		"select c, k from big order by k, c desc limit 100" \
		"select c, k from big where k < 5000 order by c desc limit 100"; do
		note "1 G rows, ms at the client" "$(SETTINGS='set gpucol.engine = cuda' median_ms "$q")   $q"
		psql -XAtq -c "set gpucol.engine = cuda" -c "$q" -c "explain (analyze, costs off) $q" 2>&1 | tee -a "$OUT/big-explain.txt" > "$OUT/big.txt"
		note "  of that" "$(grep -hE 'Device Time|Daemon Time|Planning Time|Execution Time|Kernel' "$OUT/big.txt" | tr -s ' \n' ' ')"
	done
	note "cpu engine, ms" "$(SETTINGS='set gpucol.engine = cpu' median_ms "select count(*) from big where c between 8000 and 16000")   count"
}
