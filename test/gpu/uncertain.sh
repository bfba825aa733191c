# uncertain.sh: rankings and the first k rows on the device; sourced by test/gpu/run.

# Compare a list of queries over T between heap (h_...), CPU engine and device.
# differ FILE WHAT NODE: one query a line; TABLE stands for the table's prefix; those are
# on the device whose plan has such a node there.
differ()
{
	local n=0 bad=0 on=0 raised=0 q a b c

	while IFS= read -r q; do
		[ -n "$q" ] || continue
		n=$((n + 1))
		a=$(psql -XAtq -c "set gpucol.enabled = off" -c "${q//TABLE_/h_}" 2>&1 | LC_ALL=C sort | md5sum)
		b=$(psql -XAtq -c "set gpucol.engine = cpu" -c "${q//TABLE_/g_}" 2>&1 | LC_ALL=C sort | md5sum)
		c=$(psql -XAtq -c "set gpucol.engine = cuda" -c "${q//TABLE_/g_}" 2>&1 | LC_ALL=C sort | md5sum)
		psql -XAtq -c "set gpucol.engine = cuda" -c "explain (analyze, verbose, costs off, timing off, summary off) ${q//TABLE_/g_}" > "$OUT/plan.txt" 2>&1
		grep -q 'Engine: cuda' "$OUT/plan.txt" && grep -q "$3" "$OUT/plan.txt" && on=$((on + 1))
		grep -q '^ERROR' "$OUT/plan.txt" && raised=$((raised + 1))
		{ echo "== $q"; grep -E 'GpucolTopK|Engine|Declined|Not Pushed|Fallback|ERROR' "$OUT/plan.txt"; } >> "$OUT/ranking-plans.txt"
		if [ "$a" != "$b" ] || [ "$a" != "$c" ]; then
			bad=$((bad + 1))
			{ echo "== $q"
			  psql -XAtq -c "set gpucol.engine = cpu" -c "${q//TABLE_/g_}" 2>&1 | LC_ALL=C sort > "$OUT/a"
			  psql -XAtq -c "set gpucol.engine = cuda" -c "${q//TABLE_/g_}" 2>&1 | LC_ALL=C sort > "$OUT/b"
			  echo "heap $a cpu $b cuda $c"; diff "$OUT/a" "$OUT/b" | cut -c1-300 | head -6; } >> "$OUT/ranking-differences.txt"
		fi
	done < "$1"
	note "$2, heap = cpu = cuda" "$((n - bad)) passed, $bad failed"
	note "$2, on the device" "$on of $((n - raised)); $raised raise their error"
}

# Tables with NULLs, ties, probabilities 0 and 1, deleted, changed and delta rows.
ranking_tables()
{
	psql -Xq > "$OUT/ranking-load.log" 2>&1 <<-'S'
		set client_min_messages = warning;
		drop table if exists h_r, g_r, h_x, g_x, h_w, g_w;
		create table h_r as select nullif(i % 40, 39) as grp, case when i % 5 > 0 then 's' || i % 5 end as sub, i as id,
			9007199254740992 + i * 7919 % 1009 as big, case when i % 53 > 0 then 'label ' || i % 977 end as label,
			'2024-01-01'::date + i * 31 % 700 as day, case when i % 47 > 0 then (i * 7919::bigint % 10007) / 8.0::float8 end as score,
			((i * 31 % 5000) / 100.0)::numeric(8,2) as points,
			case when i % 61 > 0 then (i * 104729::bigint % 1001) / 1000.0::float8 end as p, ((i * 271 % 1001) / 1000.0)::numeric(4,3) as conf,
			i * 7919::bigint * 1000003 as wide, (i % 1000) / 7.0::float8 as fkey
			from generate_series(1, 200000) i;
		create table g_r (like h_r) using gpucol;
		insert into g_r select * from h_r;
		delete from h_r where id % 7 = 0; delete from g_r where id % 7 = 0;
		update h_r set p = 1 - p where id % 500 = 1; update g_r set p = 1 - p where id % 500 = 1;
		insert into h_r (grp, id, score, p) values (1, 200001, 2000, 0.7), (77, 200002, 1, 0.3), (78, null, 1, 0.3), (79, 5, null, 0.5);
		insert into g_r (grp, id, score, p) values (1, 200001, 2000, 0.7), (77, 200002, 1, 0.3), (78, null, 1, 0.3), (79, 5, null, 0.5);
		create table h_x as select i / 4 % 20 as grp, i as id, i * 7919 % 211 as score, (i * 271 % 1001) / 4000.0::float8 as p, i / 4 as x, case when i % 7 > 0 then 'x' || i / 4 end as name
			from generate_series(1, 3000) i;
		create table g_x (like h_x) using gpucol;
		insert into g_x select * from h_x;
		create table h_w as select g as grp, 1 + g % 5 as k, g * 16 + i as id, (random() * 4)::int as score, (random() * 10)::int / 10.0::float8 as p
			from generate_series(1, 20000) g, generate_series(1, 14) i where i <= 1 + g % 14;
		create table g_w (like h_w) using gpucol;
		insert into g_w select * from h_w;
		analyze h_r; analyze g_r; analyze h_x; analyze g_x; analyze h_w; analyze g_w;
	S
}

ranking_queries()
{
	cat > "$OUT/ranking-queries" <<-'S'
		select grp, gpucol.u_topk(id, score, p, 10) from TABLE_r group by grp
		select grp, gpucol.u_topk(id, score, p, 3), gpucol.u_topk_probability(score, p, 3)::numeric(20,12), gpucol.u_kranks(id, score, p, 3), gpucol.pt_k(id, score, p, 5, 0.2), gpucol.global_topk(id, score, p, 4), gpucol.expected_rank_topk(id, score, p, 4) from TABLE_r group by grp
		select gpucol.u_topk(id, score, p, 25), gpucol.global_topk(id, score, p, 25), gpucol.u_kranks(id, score, p, 30), gpucol.pt_k(id, score, p, 40, 0.3) from TABLE_r
		select gpucol.expected_rank_topk(id, score, p, 50), gpucol.u_topk(id, score, p, 700) from TABLE_r
		select gpucol.u_topk(id, score, p, 25), gpucol.pt_k(id, score, p, 25, 0.5) from TABLE_r where id < 0
		select grp, gpucol.u_topk(id, score, p, 25) from TABLE_r where id < 0 group by grp
		select sub, grp, gpucol.u_topk(id, score, p, 4) from TABLE_r group by sub, grp
		select sub, grp, gpucol.u_kranks(label, score, p, 4) from TABLE_r group by sub, grp
		select sub, gpucol.u_topk(label, wide, p, 6) from TABLE_r group by sub
		select day, gpucol.global_topk(id, points, conf, 2) from TABLE_r group by day
		select points, gpucol.u_topk(big, wide, conf, 2), gpucol.expected_rank_topk(big, wide, conf, 2) from TABLE_r group by points
		select fkey, gpucol.u_topk(points, day, p, 1) from TABLE_r group by fkey
		select wide % 100000007, grp, gpucol.u_topk(id, day, p, 1) from TABLE_r group by 1, 2
		select grp, gpucol.u_topk(day, points, p, 4) from TABLE_r where day > '2024-06-01' and sub in ('s1', 's2') group by grp
		select grp, gpucol.u_topk(id, score, p, 4) filter (where day > '2024-06-01'), gpucol.u_kranks(id, score, p, 2) filter (where day > '2024-06-01') from TABLE_r group by grp
		select grp + 1, gpucol.u_topk(id * 2, score + 1, p / 2, 4), gpucol.global_topk(id * 2, score + 1, p / 2, 4) from TABLE_r group by grp + 1
		select grp, gpucol.u_topk(id, score, p, 4000), gpucol.u_kranks(id, score, p, 2000), gpucol.global_topk(id, score, p, 3000), gpucol.pt_k(id, score, p, 3000, 0.9) from TABLE_r group by grp
		select grp, gpucol.u_topk(id, score, p, 4) from TABLE_r group by grp having gpucol.u_topk_probability(score, p, 4) > 0.05
		select id, gpucol.u_topk(id, score, p, 1), gpucol.pt_k(id, score, p, 1, 0.5) from TABLE_r group by id
		select grp, gpucol.u_topk(id, 5, p, 9), gpucol.global_topk(id, 5, p, 9) from TABLE_r group by grp
		select grp, gpucol.u_topk(id, score, case when id % 3 = 0 then 1.0 else 0.0 end, 9), gpucol.u_kranks(id, score, case when id % 3 = 0 then 1.0 else 0.0 end, 9) from TABLE_r group by grp
		select grp, gpucol.u_topk(id, score, p / 1e5, 3), gpucol.global_topk(id, score, p / 1e5, 3) from TABLE_r group by grp
		select gpucol.u_topk(id, score, p / 1e6, 3), gpucol.u_topk_probability(score, p / 1e6, 3)::numeric(30,20), gpucol.u_kranks(id, score, p / 1e6, 4), gpucol.pt_k(id, score, p / 1e6, 4, 9.9e-7), gpucol.global_topk(id, score, p / 1e6, 70) from TABLE_r
		select id % 3, gpucol.u_topk(id, score, p / 1e4, 40), gpucol.u_kranks(id, score, p / 1e4, 4), gpucol.pt_k(id, score, p / 1e4, 4, 5e-5), gpucol.global_topk(id, score, p / 1e4, 9) from TABLE_r group by id % 3
		select id % 9, k, gpucol.u_topk(id, score, p / 1e4, k), gpucol.u_kranks(id, score, p / 1e4, k), gpucol.pt_k(id, score, p / 1e4, k, 5e-5), gpucol.global_topk(id, score, p / 1e4, k) from (select *, 1 + id % 3 as k from TABLE_r where id > 0) s group by 1, 2
		select grp, gpucol.u_topk(score, points, p, 4), gpucol.u_topk(fkey, score, p, 4) from TABLE_r group by grp
		select grp, id % 37 + 1, gpucol.u_topk(id, score, p, id % 37 + 1), gpucol.u_kranks(id, score, p, id % 37 + 1), gpucol.pt_k(id, score, p, id % 37 + 1, 0.3), gpucol.global_topk(id, score, p, id % 37 + 1), gpucol.expected_rank_topk(id, score, p, id % 37 + 1) from TABLE_r group by 1, 2
		select grp, count(*), gpucol.u_topk(id, score, p, 3), max(points), sum(id) filter (where p > 0.5) from TABLE_r group by grp
		select avg(points), gpucol.u_topk(id, score, p, 3), count(distinct sub) from TABLE_r where day > '2024-06-01'
		select grp, gpucol.u_topk(id, score, p, k), gpucol.u_topk_probability(score, p, k)::numeric(20,14), gpucol.u_kranks(id, score, p, k), gpucol.pt_k(id, score, p, k, 0.3), gpucol.global_topk(id, score, p, k), gpucol.expected_rank_topk(id, score, p, k) from TABLE_w group by grp, k
		select grp, gpucol.u_topk(id, score, p, 4, x), gpucol.u_kranks(id, score, p, 4, x) from TABLE_x group by grp
		select grp, gpucol.u_topk(id, score, p, 3, x), gpucol.u_topk_probability(score, p, 3, x)::numeric(20,14), gpucol.u_kranks(id, score, p, 5, x), gpucol.pt_k(id, score, p, 5, 0.1, x), gpucol.global_topk(id, score, p, 4, x), gpucol.expected_rank_topk(id, score, p, 4, x) from TABLE_x group by grp
		select grp, gpucol.u_topk(id, score, p, 3, name), gpucol.u_kranks(id, score, p, 5, name), gpucol.pt_k(id, score, p, 5, 0.1, name), gpucol.global_topk(id, score, p, 4, name), gpucol.expected_rank_topk(id, score, p, 4, name) from TABLE_x group by grp
		select grp, x % 3 + 1, gpucol.u_topk(id, score, p, x % 3 + 1, x), gpucol.global_topk(id, score, p, x % 3 + 1, x) from TABLE_x group by 1, 2
		select gpucol.u_topk(id, score, p, 20, x), gpucol.u_kranks(id, score, p, 9, x), gpucol.pt_k(id, score, p, 30, 0.1, x), gpucol.global_topk(id, score, p, 40, x), gpucol.expected_rank_topk(id, score, p, 40, x) from TABLE_x where id < 2000
		select grp, gpucol.u_topk(id, score, p, 30, id), gpucol.u_kranks(id, score, p, 9, id) from TABLE_x group by grp
		select grp, gpucol.u_topk(id, score, case when id % 4 = 0 then 1.0 else 0.0 end, 9, x), gpucol.global_topk(id, score, case when id % 4 = 0 then 1.0 else 0.0 end, 9, x) from TABLE_x group by grp
		select grp, gpucol.u_topk(id, score, p, 2, x) filter (where id % 3 > 0) from TABLE_x group by grp
		select grp, k, gpucol.u_topk(id, score, p / 3, k, id / 3), gpucol.u_topk_probability(score, p / 3, k, id / 3)::numeric(20,14), gpucol.u_kranks(id, score, p / 3, k, id / 3), gpucol.pt_k(id, score, p / 3, k, 0.1, id / 3), gpucol.global_topk(id, score, p / 3, k, id / 3), gpucol.expected_rank_topk(id, score, p / 3, k, id / 3) from TABLE_w group by grp, k
		select grp, gpucol.u_topk(id, score, case when x = 7 then p * 4 else p end, 2, x) from TABLE_x group by grp
		select grp, gpucol.u_topk(id, score, p, 5) filter (where id % 3 = 0), gpucol.u_topk(id, score, p, 5) filter (where id % 3 = 1), gpucol.u_kranks(id, points, conf, 3), gpucol.u_topk(id, score, p, 5), gpucol.pt_k(label, score, p, 5, 0.2) filter (where label is not null) from TABLE_r group by grp
		select gpucol.u_topk(id, score, p, 25) filter (where id % 3 = 0), gpucol.global_topk(id, score, p, 25), gpucol.u_kranks(id, points, conf, 30), gpucol.u_topk_probability(score, p / 1e5, 4)::numeric(30,20), gpucol.expected_rank_topk(fkey, day, p, 9) from TABLE_r where label is not null
		select sub, gpucol.u_topk(fkey, day, conf, 7), gpucol.u_topk_probability(day, p, 3)::numeric(20,14), gpucol.global_topk(big, day, p, 6) filter (where points > 30) from TABLE_r group by sub
		select grp, gpucol.u_topk(id, score, p, 3) filter (where grp = 7), gpucol.u_topk(id, score, p / 2, 3), count(*) from TABLE_r group by grp
		select grp, gpucol.u_topk(id, score, p, 3, x), gpucol.u_topk(id, score, p, 3), gpucol.u_topk(id, score, p, 3, id / 8) filter (where id % 8 < 4), gpucol.u_kranks(x, score, p, 4, x) from TABLE_x group by grp
		select grp, gpucol.u_topk_probability(score, p / 3, 3, id / 3)::numeric(20,14), gpucol.u_topk(k, score, p / 3, 3, id / 3), gpucol.u_topk(1, score, p / 3, 2, nullif(id / 3, 40)) from TABLE_w group by grp
		select gpucol.u_topk(id, score, p * 2, 2) from TABLE_r where id in (1, 2, 9)
		select gpucol.u_topk(id, score, p, 0) from TABLE_r
	S
	cat > "$OUT/top-queries" <<-'S'
		select id, score from TABLE_r order by score desc nulls last, id limit 20
		select id, score from TABLE_r order by score desc, id limit 4500
		select id, score from TABLE_r order by score, id limit 20
		select id, points from TABLE_r order by points desc, id limit 100
		select id, wide from TABLE_r order by wide limit 100
		select id, wide from TABLE_r where p > 0.5 and sub = 's2' order by wide desc limit 100
		select id, day from TABLE_r where points > 20 order by day desc, id offset 30 limit 50
		select id, fkey from TABLE_r where id % 3 = 1 order by fkey desc, id limit 40
		select id, p from TABLE_r order by p desc nulls last, id fetch first 7 rows only
		select p from TABLE_r order by p desc nulls last fetch first 7 rows with ties
		select id from TABLE_r where id < 0 order by id limit 5
		select id from TABLE_r where id < 50 order by id desc limit 500
		select grp, id from TABLE_r order by grp nulls first, id limit 5100
		select id from TABLE_r order by id + 1 desc limit 5
		select id, grp from TABLE_r order by grp, id limit 30
		select id, grp from TABLE_r order by grp desc, id desc limit 30
		select id, grp, points from TABLE_r where id % 3 = 1 order by grp, points desc, id limit 40
		select id, grp, fkey, p from TABLE_r order by grp desc nulls last, p desc, fkey, id limit 50
		select id, grp, p from TABLE_r where points > 2 order by p, grp nulls first, id desc limit 200
		select day, grp from TABLE_r order by grp, day desc fetch first 5 rows with ties
		select id, grp from TABLE_r where day < '2025-01-01' order by grp nulls first, label, id limit 20
		select id, conf, grp from TABLE_r order by grp, conf, day, id desc offset 4000 limit 3000
	S
}


# Milliseconds at the client of SQL executed N times after two: the median.
middle_ms()
{
	local n=$1 sql=$2 i

	{ printf '%s;\n' "$SETTINGS"; echo '\timing on'; for i in $(seq $((n + 2))); do printf '%s \\g /dev/null\n' "$sql"; done; } |
		psql -XAtq 2>/dev/null | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | tail -n "$n" | sort -n | sed -n $((n / 2 + 1))p
}

# Run SQL once and N times more (default 1), or once (0): "median ms of the latter|answer".
timed()
{
	local settings=$1 sql=$2 more=${3:-1} i

	{ printf '%s;\n' "$settings"; echo '\timing on'; for i in $(seq $((more + 1))); do printf '%s;\n' "$sql"; done; } |
		psql -XAtq 2>&1 | awk -v n="$((more > 0 ? more : 1))" '/^Time:/ {t[++m] = $2; next} {answer = $0}
			END {c = 0; for (i = m - n + 1; i <= m; i++) v[c++] = t[i] + 0
				for (i = 0; i < c; i++) for (j = i + 1; j < c; j++) if (v[j] < v[i]) {x = v[i]; v[i] = v[j]; v[j] = x}
				print v[int(c / 2)] "|" answer}'
}

# One batch of groups of up to n rows: heap with one core, CPU engine with 2 threads, device.
# The heap table holds the first of the groups only, where all would be too many rows; its time
# is multiplied by their share, and the answers are compared for those groups.
ranking_batch()
{
	local n=$1 k=$2 table=$3 heap cpu cuda part out plan q rows held all=${GROUPS_:-100000} by=grp serial="set max_parallel_workers_per_gather = 0; set work_mem = '16GB'"

	[ "$k" != random ] || { k=k by="grp, k"; }
	q="select count(u), sum(u[1]::bigint), sum(u[array_upper(u, 1)]::bigint) from (select gpucol.u_topk(id, score, prob, $k) as u from TABLE_$table WHERE_ group by $by offset 0) s"
	rows=$(psql -XAtqc "select count(*) from g_$table")
	held=$(psql -XAtqc "select max(grp) from h_$table")
	of() { local s=${q/TABLE_/$1}; echo "${s/WHERE_/${2:-}}"; }
	heap=$(timed "$serial" "$(of h_)" 0)
	cpu=$(timed "set gpucol.engine = cpu; set gpucol.cpu_threads = 2; $serial" "$(of g_)")
	cuda=$(timed "set gpucol.engine = cuda" "$(of g_)" 7)
	part=$(timed "set gpucol.engine = cuda" "$(of g_ "where grp <= $held")" 0)
	out=$(SETTINGS="set gpucol.engine = cuda" middle_ms 3 "select grp, gpucol.u_topk(id, score, prob, $k) from g_$table group by $by")
	plan=$(psql -XAtq -c "set gpucol.engine = cuda" -c "explain (analyze, costs off) $(of g_)" | sed -n 's/.*Device Time: \([0-9.]*\) ms.*/\1/p')
	[ "${cuda#*|}" = "${cpu#*|}" ] && [ "${part#*|}" = "${heap#*|}" ] || note "batch n $n k $2" "FAILED: answers differ: heap $heap cpu $cpu cuda $cuda, of the heap's groups $part"
	heap=$(awk "BEGIN {print ${heap%%|*} * $all / $held}")
	printf '%6s %6s %10s %10.0f %10.1f %9.1f %9.1f %9.1f %9.0f %8.0f\n' "$n" "$2" "$rows" "$heap" "${cpu%%|*}" "${cuda%%|*}" "$out" "${plan:-0}" \
		"$(awk "BEGIN {print $heap / ${cuda%%|*}}")" "$(awk "BEGIN {print ${cpu%%|*} / ${cuda%%|*}}")" >> "$OUT/ranking-table"
}

# Load by so many clients: each runs the statement with J replaced by its number.
load_by()
{
	local clients=$1 sql=$2 j

	for j in $(seq 0 $((clients - 1))); do
		psql -Xqc "${sql//JJ/$j}" &
	done
	wait $(jobs -p | tail -n "$clients")
}

# Groups of `least` to n rows that are spread over the table, scores and probabilities
# pseudo-random; column k is a random k of each group, at most its rows.
ranking_load()
{
	local n=$1 least=$2 name=$3 all=${GROUPS_:-100000} rows size

	size="($least + (g * 7919::bigint) % ($n - $least + 1))"
	rows="select g, (1 + (g * 104729::bigint) % $size)::int, (j * 100000 + g) % 1000000007, hashint8(j * 1000003::bigint + g) * 0.000232830643e0::float8, (hashint8(g * 1000003::bigint - j) & 65535) % 1001 / 1000.0::float8"
	psql -Xqc "create table h_$name (grp int, k int, id int, score float8, prob float8)" -c "create table g_$name (like h_$name) using gpucol"
	load_by 16 "insert into g_$name $rows from generate_series(1, $n) j, generate_series(1, $all) g where j % 16 = JJ and j <= $size"
	load_by 16 "insert into h_$name $rows from generate_series(1, $n) j, generate_series(1, ($all * least(1.0, ${HEAP_ROWS:-6000000} * 2.0 / $all / ($n + $least)))::int) g where j % 16 = JJ and j <= $size"
	psql -Xqc "vacuum analyze g_$name" -c "analyze h_$name"
}

part_uncertain()
{
	[ -f $AT/pgdata/PG_VERSION ] || server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return; }
	if "$B/rank_check" check > "$OUT/rank-check.log" 2>&1; then note "ranking kernels" ok; else note "ranking kernels" FAILED; fi
	ranking_tables
	ranking_queries
	differ "$OUT/ranking-queries" rankings GpucolTopK
	differ "$OUT/top-queries" "first k rows" "GpucolTopK\|GpucolScan"
}

# Time of one statement over the table of so many rows, median of so many.
one_statement()
{
	note "$1 rows, ms cuda" "$(SETTINGS='set gpucol.engine = cuda' middle_ms "$2" "$3")   $3"
	psql -XAtq -c "set gpucol.engine = cuda" -c "explain (analyze, costs off) $3" > "$OUT/plan.txt" 2>&1
	note "  on the device" "$(grep -hE 'Engine|Device Time|Declined|Fallback' "$OUT/plan.txt" | tr -s ' \n' ' ')"
}

# The batch of Chang et al. from SQL, one large group, and the first rows of a table.
part_ranking()
{
	local load least table rows=${ONE_GROUP:-100000000} q

	[ -f $AT/pgdata/PG_VERSION ] || server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return; }
	printf '%s groups, ms: heap on one core, CPU engine with 2 threads, device (sums over the answers), device (answers to the client), on the device\n' "${GROUPS_:-100000}" > "$OUT/ranking-table"
	printf '%6s %6s %10s %10s %10s %9s %9s %9s %9s %8s\n' 'n <=' k rows heap 'cpu 2' cuda 'to client' device heap/cuda cpu/cuda >> "$OUT/ranking-table"
	for load in ${LOADS:-10:10 10:random 50:10 50:random 50:50 100:10 100:random 100:50 500:10 500:random 500:50 500:500}; do
		least=${load#*:}
		[ "$least" != random ] || least=10
		table=b${load%:*}_$least
		[ -n "$(psql -XAtqc "select to_regclass('g_$table')")" ] || ranking_load "${load%:*}" "$least" "$table"
		ranking_batch "${load%:*}" "${load#*:}" "$table"
	done
	cat "$OUT/ranking-table"
	psql -Xqc "create table one (id int, score float8, prob float8) using gpucol"
	load_by 16 "insert into one select i * 16 + JJ, random() * 1e6, (random() * 1000)::int / 1000.0::float8 from (select generate_series(1, $rows / 16) i) s"
	psql -Xqc "vacuum analyze one"
	for q in "select gpucol.u_topk(id, score, prob, 100) from one" \
		"select gpucol.u_topk(id, score, prob, 100), gpucol.u_kranks(id, score, prob, 100), gpucol.pt_k(id, score, prob, 100, 0.5), gpucol.global_topk(id, score, prob, 100) from one" \
		"select id, score from one order by score desc limit 100" \
		"select id, score from one where prob > 0.5 order by score desc limit 100" \
		"select id from one order by id limit 100"; do
		[ "$(psql -XAtqc "set gpucol.engine = cuda" -c "$q" | md5sum)" = "$(psql -XAtqc "set gpucol.engine = cpu" -c "set work_mem = '16GB'" -c "$q" | md5sum)" ] ||
			note "one table of $rows rows" "FAILED: answers differ: $q"
		one_statement "$rows" 9 "$q"
	done
	# every row matters: minutes for one core, so not compared here
	for q in "select gpucol.u_topk(id, score, prob / 1e8, 100) from one" \
		"select gpucol.u_kranks(id, score, prob / 1e8, 100) from one" \
		"select gpucol.pt_k(id, score, prob / 1e8, 100, 9.999e-9) from one" \
		"select gpucol.global_topk(id, score, prob / 1e8, 100) from one"; do
		one_statement "$rows" 3 "$q"
	done
}

# The first rows of orders over one large table: which node, how long, and are the
# keys of both engines equal (rows that tie with the last one are chance)?
part_first_rows()
{
	local rows=${FIRST_ROWS:-300000000} q keys engine workers

	[ -f $AT/pgdata/PG_VERSION ] || server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return; }
	psql -Xqc "create table top_rows (k int, c int, v float8, d int) using gpucol"
	load_by 16 "insert into top_rows select (x * 7919 + JJ) % 100003, hashint8(x * 16 + JJ), x / 8.0::float8, x % 1000 from generate_series(1, ($rows / 16)::bigint) x"
	psql -Xqc "analyze top_rows"
	for q in "order by c desc limit 100" "where k % 7 = 3 order by c desc limit 100" "where k % 7 = 3 order by c desc fetch first 100 rows with ties" \
		"order by c desc, k limit 100" "order by k, c limit 100" "order by d desc, c fetch first 100 rows with ties" "where k < 50000 order by c desc limit 100" \
		"where v > 1000 order by v desc nulls last limit 100" "where d % 2 = 1 and k % 3 = 1 order by v limit 1000 offset 100"; do
		keys="select $(echo "$q" | sed 's/.*order by //; s/ desc//g; s/ nulls last//; s/ limit.*//; s/ fetch.*//') from top_rows $q"
		[ "$(psql -XAtqc "set gpucol.engine = cuda" -c "$keys" | md5sum)" = "$(psql -XAtqc "set gpucol.engine = cpu" -c "$keys" | md5sum)" ] ||
			note "first rows" "FAILED: keys differ: $q"
		for engine in cuda cpu; do
			for workers in 2 8; do
				{ echo "== $engine, $workers workers: $q"
				  psql -XAtq -c "set gpucol.engine = $engine; set max_parallel_workers_per_gather = $workers" -c "explain (analyze, verbose) select k, c from top_rows $q"; } > "$OUT/plan.txt" 2>&1
				cat "$OUT/plan.txt" >> "$OUT/first-rows-plans.txt"
				note "$rows rows, $engine, ms" "$(SETTINGS="set gpucol.engine = $engine; set max_parallel_workers_per_gather = $workers" middle_ms 5 "select k, c from top_rows $q")   $(grep -o 'GpucolTopK\|GpucolScan\|Gather Merge' "$OUT/plan.txt" | tr '\n' ' ')  $q"
			done
		done
	done
}

# Rankings on the CPU engine with more and more threads: milliseconds, and are the answers equal?
part_ranking_threads()
{
	local q threads ms answers line

	[ -f $AT/pgdata/PG_VERSION ] || server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return; }
	psql -Xqc "create table ranked (grp int, id int, score float8, prob float8, x int, name text) using gpucol"
	load_by 16 "insert into ranked select (x * 7919 + JJ) % 100003, x * 16 + JJ, hashint8(x * 16 + JJ) / 8.0::float8, (hashint8(-x * 16 - JJ) & 65535) % 1001 / 4004.0::float8, (x * 16 + JJ) / 4, 'n' || x % 1000 from generate_series(1, (${RANKED:-8000000} / 16)::bigint) x"
	psql -Xqc "analyze ranked"
	for q in "select grp, gpucol.u_topk(id, score, prob, 10) u from ranked group by grp" "select grp, gpucol.u_topk(id, score, prob, 10, x) u from ranked group by grp" \
		"select grp, gpucol.u_topk(name, score, prob, 10) u from ranked group by grp" "select name, gpucol.u_kranks(id, score, prob, 10) u from ranked group by name" \
		"select gpucol.u_topk(id, score, prob, 100) u from ranked" "select grp, gpucol.u_topk(id, score, prob, 10) u, gpucol.u_topk(id, x, prob, 10) v from ranked group by grp"; do
		line='' answers=''
		for threads in 1 2 4 8 16; do
			ms=$(SETTINGS="set gpucol.engine = cpu; set gpucol.cpu_threads = $threads; set max_parallel_workers_per_gather = 0" middle_ms 5 "select count(u) from ($q) s")
			line="$line $threads: $ms"
			answers="$answers $(psql -XAtqc "set gpucol.engine = cpu; set gpucol.cpu_threads = $threads" -c "select md5(string_agg(s::text, ',' order by s::text)) from ($q) s")"
		done
		[ "$(echo $answers | tr ' ' '\n' | sort -u | wc -l)" = 1 ] || note "ranking in threads" "FAILED: answers differ: $q"
		note "ms by threads" "$line   $q"
	done
}
