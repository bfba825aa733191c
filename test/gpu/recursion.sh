# recursion.sh: the recursion part of test/gpu/run; sourced.
#
# Graphs are NAME.tsv.gz files and their answers truth.tsv in $HERE/graphs (see
# test/gpu/recursive_check.cu for its columns); without them the part is
# skipped.  $OUT/recursion.md gets a row for each graph and query: milliseconds
# of count(*) at the client, warm (median of three), with cold buffers (the
# first query of its table after a restart of the server and without the
# system's page cache), and with HISA only; peak device memory of both; and, for
# those that the paper measured, its seconds on an H100 over ours.
# GRAPHS_ONLY="NAME..." restricts the graphs.

TC="with recursive r(x, y) as (select src, dst from EDGE union select r.x, e.dst from r, EDGE e where e.src = r.y)"
SG="with recursive r(x, y) as (select a.dst, b.dst from EDGE a, EDGE b where a.src = b.src and a.dst <> b.dst
	union select p.dst, q.dst from r, EDGE p, EDGE q where p.src = r.x and q.src = r.y)"
ON_DEVICE="set gpucol.engine = cuda; set gpucol.recursive_memory_limit = '120GB'; set statement_timeout = '60s'"
HISA_ONLY="$ON_DEVICE; set gpucol.recursive_strategy = hisa"

# Seconds of GDlog on an H100 (arXiv:2311.02206 and its logs): graph, query.
PAPER="usroads tc 17.5
fe_ocean tc 23.4
p2p-Gnutella31 tc 3.8
fe_body tc 3.8
SF.cedge tc 1.6
fe_body sg 5.1
fe_sphere sg 2.4
SF.cedge sg 5.5
loc-Brightkite sg 3.4
CA-HepTh sg 2.8
ego-Facebook sg 1.2"

# Load graph $1 as table "$1" and, for same generation, "$1 sg".
load_graph()
{
	zcat "$HERE/graphs/$1.tsv.gz" > $AT/d/graph.tsv
	for t in "$1" "$1 sg"; do
		psql -Xq -c "drop table if exists \"$t\"" -c "create table \"$t\" (src int, dst int) using gpucol" \
			-c "\\copy \"$t\" from $AT/d/graph.tsv" -c "analyze \"$t\"" > /dev/null 2>&1
	done
}

# The query $2 (tc or sg) of graph $1, up to the final SELECT.
with_clause()
{
	if [ "$2" = tc ]; then echo "${TC//EDGE/\"$1\"}"; else echo "${SG//EDGE/\"$1 sg\"}"; fi
}

# Milliseconds of statement $2 under settings $1: median of three.
three_ms()
{
	{ printf '%s;\n' "$1"; echo '\timing on'; for i in 1 2 3; do printf '%s;\n' "$2"; done; } |
		psql -XAtq 2>/dev/null | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | sort -n | sed -n 2p
}

# Method and peak memory in MB of statement $2 under settings $1.
explained()
{
	psql -XAtq -c "$1" -c "explain (analyze, costs off, timing off) $2" 2>&1 | tee -a "$OUT/recursion-explain.txt" |
		awk '/Engine:/ {e = $2} /Method:/ {sub(/.*Method: /, ""); m = $0} /Peak Memory:/ {p = int($3 / 1024)} END {print e "|" m "|" p}'
}

# Answer, warm times and memory of one query of one graph.
warm_recursion()
{
	local graph=$1 query=$2 want=$3 with got

	with=$(with_clause "$graph" "$query")
	got=$(psql -XAtq -F' ' -c "$ON_DEVICE" -c "$with select count(*), sum(x), sum(y) from r" 2>&1 | tail -1)
	[ "$got" = "$want" ] && got=agrees || got="FAILED: $got, not $want"
	note "$graph $query" "$got"
	printf '%s\t' "$graph" "$query" "${want%% *}" "$got" "$(three_ms "$ON_DEVICE" "$with select count(*) from r")" \
		"$(explained "$ON_DEVICE" "$with select count(*) from r")" >> "$OUT/recursion.tsv"
	# beyond this a HISA needs more than the device has
	if [ "${want%% *}" -lt 2000000000 ]; then
		printf '%s\t' "$(three_ms "$HISA_ONLY" "$with select count(*) from r")" >> "$OUT/recursion.tsv"
		explained "$HISA_ONLY" "$with select count(*) from r" >> "$OUT/recursion.tsv"
	else
		printf '\t\n' >> "$OUT/recursion.tsv"
	fi
}

# First queries after a restart: one session, so that only buffers are cold.
cold_recursions()
{
	local name query rest

	as "GPUCOL_GPUD_TEST=--test pg_ctl -D $AT/pgdata -l $AT/pgdata/log -m fast -w restart >/dev/null"
	sync; echo 3 > /proc/sys/vm/drop_caches 2>/dev/null
	psql -XAtq -c "create temp table warm as select i as a, i + 1 as b from generate_series(1, 5000) i" \
		-c "set gpucol.engine = cuda" -c "with recursive r(a, b) as (select a, b from warm union select r.a, w.b from r, warm w where w.a = r.b) select count(*) from r" > /dev/null 2>&1
	{
		printf '%s;\n' "$ON_DEVICE" "select count(*) from pg_class"
		echo '\timing on'
		while IFS=$'\t' read -r name query rest; do
			printf '%s select count(*) from r;\n' "$(with_clause "$name" "$query" | tr '\n' ' ')"
		done < "$OUT/recursion.tsv"
	} | psql -XAtq 2>&1 | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' > "$OUT/recursion-cold.txt"
}

# The table, from what was gathered.
recursion_table()
{
	echo "| graph | query | rows | answer | warm ms | cold ms | method | MB | HISA ms | HISA MB | paper s | times, warm | cold | HISA |"
	echo "|---|---|--:|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|"
	paste "$OUT/recursion.tsv" "$OUT/recursion-cold.txt" | awk -F'\t' -v paper="$PAPER" '
		BEGIN { n = split(paper, lines, "\n"); for (i = 1; i <= n; i++) { split(lines[i], f, " "); want[f[1] " " f[2]] = f[3] } }
		function times(ms) { return want[$1 " " $2] != "" && ms > 0 ? sprintf("%.1f", want[$1 " " $2] * 1000 / ms) : "" }
		{ split($6, a, "|"); split($8, h, "|")
		printf "| %s | %s | %s | %s | %s | %s | %s, %s | %s | %s | %s%s | %s | %s | %s | %s |\n", $1, $2, $3, $4, $5, $9, a[1], a[2], a[3], $7,
			h[3], h[1] == "cuda" ? "" : " " h[1], want[$1 " " $2], times($5), times($9), times($7)
		if (want[$1 " " $2] != "" && $2 == "tc" && $5 > 0) { sum += log(want[$1 " " $2] * 1000 / $5); count++ } }
		END { if (count) printf "\nGeometric mean of the tc ratios, warm: %.1f\n", exp(sum / count) }'
}

part_recursion()
{
	local name rows edges nodes tc tcx tcy tcxy sg sgx rest

	[ -f "$HERE/graphs/truth.tsv" ] || { note recursion "skipped: no graphs"; return; }
	[ -f $AT/pgdata/PG_VERSION ] || server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return; }
	: > "$OUT/recursion.tsv"
	while IFS=$'\t' read -r name rows edges nodes tc tcx tcy tcxy sg sgx rest; do
		[ -f "$HERE/graphs/$name.tsv.gz" ] && [ "$name" != dataset ] || continue
		[ -z "${GRAPHS_ONLY:-}" ] || [[ " $GRAPHS_ONLY " = *" $name "* ]] || continue
		load_graph "$name"
		warm_recursion "$name" tc "$tc $tcx $tcy"
		[ -z "$sg" ] || [ "$sg" = 0 ] || warm_recursion "$name" sg "$sg $sgx $sgx"
	done < "$HERE/graphs/truth.tsv"
	cold_recursions
	recursion_table > "$OUT/recursion.md"
	cat "$OUT/recursion.md"
	note "recursions answered by the device" "$(grep -c 'Engine: cuda' "$OUT/recursion-explain.txt")"
}

# Milliseconds from the end of statement_timeout = 200 ms to the error that it gives
# statement $2 under settings $1: the most of five.
cancel_ms()
{
	{ printf '%s;\n' "$1" "set statement_timeout = '200ms'"; echo '\timing on'; for i in 1 2 3 4 5; do printf '%s;\n' "$2"; done; } |
		psql -XAtq 2>&1 | awk '/canceling statement/ {c++} /^Time:/ {ms = $2 - 200; if (ms > most) most = ms} END {printf "%.1f ms, %d of 5 cancelled", most, c}'
}

# Recursions that are more than joins: the engine's unit test, then programs with known
# answers (test/bench/recursion.py) on the device and on the CPU, recursions that leave
# the device, and how soon a cancel ends each engine.
part_programs()
{
	local e t q graph mb spread="with recursive r(n, k) as (select 1::bigint, 0 union select n * 3 % 100000007 + s, k + 1 from r, generate_series(0, 9) s where k < 30)"

	[ -x "$B/recursive_plans" ] && note "recursion plans (unit test)" \
		"$(timeout 60 "$B/recursive_plans" 2>&1 | tee "$OUT/recursive-plans.log" | grep -E 'passed|plans:' | tr '\n' ' ')"
	[ -x "$B/recursive_plans" ] && note "recursion plans, small rounds" \
		"$(GPUCOL_SMALL_ROUNDS=1 timeout 90 "$B/recursive_plans" 2>&1 | tee "$OUT/recursive-plans-small.log" | grep -E 'passed|plans:' | tr '\n' ' ')"
	[ -x "$B/rounds_bench" ] && note "small rounds, usual, CPU engine" \
		"$(timeout 40 "$B/rounds_bench" 2>&1 | tee "$OUT/rounds-bench.txt" | tail -1 | sed 's/SOME/FAILED: SOME/')"
	[ -f "$HERE/graphs/truth.tsv" ] || { note programs "skipped: no data"; return; }
	[ -f $AT/pgdata/PG_VERSION ] || server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return; }
	[ -e "$HERE/graphs/graphs" ] || ln -s . "$HERE/graphs/graphs"
	for e in cuda cpu; do
		PGOPTIONS="-c gpucol.engine=$e -c log_min_messages=debug2 -c statement_timeout=60s" GPUCOL_BENCH_ROWS=1 \
			timeout 120 python3 "$TREE/test/bench/recursion.py" "$HERE/graphs" check > "$OUT/programs-$e.txt" 2> "$OUT/programs-$e.err"
		note "programs, $e" "$(grep -c ' right' "$OUT/programs-$e.txt") right, $(grep -c WRONG "$OUT/programs-$e.txt") failed"
		grep -E 'GALEN|CSPA|paths|usroads|fe_ocean|string' "$OUT/programs-$e.txt" | while read -r line; do note "  $e" "$line"; done
	done
	grep -o 'recursion ran on engine .*' $AT/pgdata/log > "$OUT/programs-engines.txt"
	note "programs answered by the device" "$(grep -c 'on engine cuda' "$OUT/programs-engines.txt"); fallbacks: $(grep -o 'fallback: .*' "$OUT/programs-engines.txt" | sort | uniq -c | tr '\n' ';')"
	load_graph usroads
	load_graph p2p-Gnutella31
	for e in cuda cpu; do
		note "cancel, closure, $e" "$(cancel_ms "set gpucol.engine = $e; set gpucol.recursive_strategy = hisa" "$(with_clause p2p-Gnutella31 tc) select count(*) from r")"
		note "cancel, same generation, $e" "$(cancel_ms "set gpucol.engine = $e" "$(with_clause usroads sg) select count(*) from r")"
		note "cancel, computed values, $e" "$(cancel_ms "set gpucol.engine = $e" "$spread select count(*) from r")"
	done
	load_graph p2p-Gnutella09
	load_graph cti
	for graph in "p2p-Gnutella09 tc hisa" "p2p-Gnutella31 tc auto" "cti sg hisa" "cti sg auto"; do
		set -- $graph
		note "CPU ms, $graph, 1 2 4 8 16 threads" "$(for t in 1 2 4 8 16; do
			three_ms "set gpucol.engine = cpu; set gpucol.cpu_threads = $t; set gpucol.recursive_strategy = $3" "$(with_clause "$1" "$2") select count(*) from r"; done | tr '\n' ' ')"
	done
	psql -Xq -c 'create table arc (a int, b int, w int) using gpucol' -c 'insert into arc select i, i + 1 + s, s * 7 + 1 from generate_series(1, 30000) i, generate_series(0, 2) s' > /dev/null 2>&1
	note "left to the CPU engine" "$(psql -XAtq -c 'set gpucol.engine = cuda' -c "explain (analyze, costs off, timing off) with recursive r(a, d) as
		(select 1, 0 union select arc.b, abs(r.d - arc.w) % 100 from r, arc where arc.a = r.a) select count(*) from r" 2>&1 | grep -E 'Engine|Fallback' | tr -s ' ' | tr '\n' ';')"
	# the fourth may have begun to deliver rows before it would have moved: either engine
	for q in "few rows in each round|cpu|with recursive r(n) as (select 1 union select n + 1 from r where n < 200000) select count(*) from r" \
		"few rows, read|cpu|with recursive r(n) as (select 1 union select n + 1 from r where n < 200000) select n from r" \
		"rounds that grow|cuda|$spread select count(*) from r" "rounds that grow, read|c|${spread/30/6} select n from r"; do
		note "auto: ${q%%|*}" "$(psql -XAtq -c "load 'gpucol'" -c 'set gpucol.engine = auto' -c "explain (analyze, costs off, timing off) ${q##*|}" 2>&1 |
			grep -E 'Engine|Fallback' | tr -s ' ' | tr '\n' ';' | grep "Engine: $(echo "$q" | cut -d'|' -f2)" || echo FAILED)"
	done
	[ ! -x "$B/recursive_check" ] || for mb in 400 3000; do
		graph=SF.cedge; [ $mb = 400 ] || graph=p2p-Gnutella31
		note "HISA with $mb MB on the device" "$(timeout 60 "$B/recursive_check" --device-mb $mb "$HERE/graphs/truth.tsv" "$HERE/graphs/$graph.tsv.gz" 2>&1 | grep host | tr -s ' ' | tr '\n' ';')"
	done
	for q in "count(*), sum(a), sum(d)" "d % 10 as x, count(*), max(a) group" "a, d order"; do
		local text="with recursive r(a, d) as (select 1, 0 union select arc.b, r.d + arc.w from r, arc where arc.a = r.a and r.d < 400)"
		case $q in
			*group) text="$text select ${q% group} from r group by 1 order by 1" ;;
			*order) text="$text select ${q% order} from r where d > 390 order by d desc, a limit 20" ;;
			*) text="$text select $q from r" ;;
		esac
		for e in cuda cpu; do psql -XAtq -c "set gpucol.engine = $e" -c "$text" > "$OUT/fused-$e.txt" 2>&1; done
		note "fused: ${q:0:24}" "$(cmp -s "$OUT/fused-cuda.txt" "$OUT/fused-cpu.txt" && ! grep -q ERROR "$OUT/fused-cuda.txt" && echo alike || echo FAILED), $(psql -XAtq -c 'set gpucol.engine = cuda' -c "explain (analyze, costs off, timing off) $text" 2>&1 | grep -E 'Engine|Method|Fallback' | tr -s ' ' | tr '\n' ';')"
	done
}

CSPA='.decl assign(a:number, b:number) .decl dereference(a:number, b:number)
.decl VF(a:number, b:number) .decl VA(a:number, b:number) .decl MA(a:number, b:number) .output VF .output VA .output MA
VF(y, x) :- assign(y, x). VF(x, y) :- assign(x, z), MA(z, y). VF(x, y) :- VF(x, z), VF(z, y).
MA(x, w) :- dereference(y, x), VA(y, z), dereference(z, w). VA(x, y) :- VF(z, x), VF(z, y). VA(x, y) :- VF(z, x), MA(z, w), VF(w, y).
VF(x, x) :- assign(x, _). VF(x, x) :- assign(_, x). MA(x, x) :- assign(_, x). MA(x, x) :- assign(x, _).'

# k disjoint copies of a program's CSPA for growing k; more rows than memory.
part_scaling()
{
	local k ms got

	[ -f "$HERE/graphs/gzip.assign.tsv.gz" ] || { note scaling "skipped: no CSPA data"; return; }
	[ -f $AT/pgdata/PG_VERSION ] || server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return; }
	for t in assign dereference; do
		zcat "$HERE/graphs/gzip.$t.tsv.gz" > $AT/d/$t.tsv
		psql -Xq -c "create table one_$t (a int, b int)" -c "\\copy one_$t from $AT/d/$t.tsv" > /dev/null
	done
	for k in 1 10 100 1000; do
		for t in assign dereference; do
			psql -Xq -c "drop table if exists $t" -c "create table $t (a int, b int) using gpucol" \
				-c "insert into $t select a + i * 100000, b + i * 100000 from one_$t, generate_series(0, $k - 1) i order by i" > /dev/null 2>&1
		done
		for e in cuda cpu; do
			got=$(psql -XAtq -c "set gpucol.engine = $e" -c "create schema cspa_${k}_$e" -c '\timing on' \
				-c "select row_count from gpucol.datalog_into(\$\$$CSPA\$\$, 'cspa_${k}_$e')" 2>&1 | tr '\n' ' ')
			note "CSPA gzip x $k, $e" "$got"
		done
	done
	load_graph grid_250
	for limit in 1GB 120GB; do
		got=$(psql -XAtq -c "set statement_timeout = '100s'; set gpucol.engine = cuda; set gpucol.recursive_strategy = hisa; set gpucol.recursive_memory_limit = '$limit'" \
			-c '\timing on' -c "$(with_clause grid_250 tc) select count(*) from r" 2>&1 | tr '\n' ' ')
		note "1,000 M rows, HISA, $limit" "$got"
	done
	note "server after that" "$(psql -XAtqc 'select count(*) from one_assign' 2>&1)"
}
