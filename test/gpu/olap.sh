# olap.sh: parts of test/gpu/run with whole queries: the Star Schema Benchmark and TPC-H
# (test/olap); sourced.

# A file of test/olap with its variables replaced.
olap_file() { sed "s/:scale/$2/g; s/:skew/${SKEW:-40}/g" "$TREE/test/olap/$1.sql"; }

# The queries of a benchmark, each in a file of its own.
olap_queries()
{
	local benchmark=$1 scale=$2

	mkdir -p "$OUT/$benchmark"
	olap_file "${benchmark}_queries" "$scale" | awk -v at="$OUT/$benchmark" '/^-- [0-9Q]/ { file = at "/" $2 ".sql"; next } file { print > file }'
}

# The tables of a benchmark in schemas heap_BENCHMARK and gpucol_BENCHMARK.
olap_load()
{
	local benchmark=$1 scale=$2 path

	path="set client_min_messages = warning; set search_path = heap_$benchmark, public;"
	[ -n "$(psql -XAtqc "select to_regproc('public.draw')")" ] || cat "$TREE/test/olap/draw.sql" "$TREE/test/olap/nations.sql" | psql -Xq
	{ echo "create schema heap_$benchmark; create schema gpucol_$benchmark; $path"
	  olap_file "${benchmark}_tables" "$scale"; olap_file "${benchmark}_rows" "$scale"
	  echo "set search_path = gpucol_$benchmark, public; set default_table_access_method = gpucol;"
	  olap_file "${benchmark}_tables" "$scale"
	  echo "select format('insert into gpucol_$benchmark.%I select * from heap_$benchmark.%I', relname, relname)
		from pg_class where relnamespace = 'heap_$benchmark'::regnamespace and relkind = 'r' \\gexec"
	  echo "vacuum analyze;"
	} | psql -Xq > "$OUT/olap-$benchmark.log" 2>&1
}

# ask SCHEMA SETTING QUERY-FILE: its answer, sorted.
olap_ask() { { echo "set search_path = $1, public; set statement_timeout = '60s'; $2;"; cat "$3"; } | psql -XAtq 2>&1 | LC_ALL=C sort; }

# Every query of a benchmark by heap and by both engines.
olap_compare()
{
	local benchmark=$1 scale=$2 n=0 bad=0 slow=0 q a b c

	olap_load "$benchmark" "$scale"
	olap_queries "$benchmark" "$scale"
	: > "$OUT/olap-$benchmark-explain.txt"
	for q in "$OUT/$benchmark"/*.sql; do
		n=$((n + 1))
		a=$(olap_ask "heap_$benchmark" "set gpucol.enabled = off" "$q")
		b=$(olap_ask "gpucol_$benchmark" "set gpucol.engine = cpu" "$q")
		c=$(olap_ask "gpucol_$benchmark" "set gpucol.engine = cuda" "$q")
		{ echo "== $q"; echo "set search_path = gpucol_$benchmark, public; set gpucol.engine = cuda; explain (analyze, timing off, costs off)"; cat "$q"; } |
			sed '1{s/^/\\echo /}' | psql -XAtq >> "$OUT/olap-$benchmark-explain.txt" 2>&1
		if [[ $a == *"statement timeout"* ]]; then
			slow=$((slow + 1)) a=$b
		fi
		if [ "$a" != "$c" ] || [ "$a" != "$b" ]; then
			bad=$((bad + 1))
			{ echo "== $q"; echo "heap: $(head -c 300 <<< "$a")"; echo "cpu:  $(head -c 300 <<< "$b")"; echo "cuda: $(head -c 300 <<< "$c")"; } >> "$OUT/olap-differences.txt"
		fi
	done
	note "$benchmark $scale, heap = cpu = cuda" "$((n - bad)) passed, $bad failed; heap did not end $slow"
	note "  nodes that join, on the device" "$(grep -c '^ *Join: ' "$OUT/olap-$benchmark-explain.txt") joins; $(grep -c 'Engine: cuda' "$OUT/olap-$benchmark-explain.txt") nodes on the device, $(grep -c 'Engine: cpu' "$OUT/olap-$benchmark-explain.txt") not"
	grep -ho 'Device Declined: .*' "$OUT/olap-$benchmark-explain.txt" | sort | uniq -c | sort -rn | head -8 |
		while read -r line; do note "  declined" "$line"; done
	grep -o 'Table Declined: .*' "$OUT/olap-$benchmark-explain.txt" | sed 's/: [^:]*:/:/' | sort | uniq -c | sort -rn | head -8 |
		while read -r line; do note "  tables of the host" "$line"; done
}

part_olap()
{
	server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return 1; }
	olap_compare ssb "${SSB_SCALE:-0.1}"
	olap_compare tpch "${TPCH_SCALE:-0.05}"
}

# Line orders of the Star Schema Benchmark by several sessions at once; STAR_SCALE times 6 M.
star_load()
{
	local scale=$1 sessions=16 i rows at

	cat "$TREE/test/olap/draw.sql" "$TREE/test/olap/nations.sql" | psql -Xq
	{ echo "create schema star; set search_path = star, public; set default_table_access_method = gpucol;"
	  SKEW=0 olap_file ssb_tables "$scale"
	  SKEW=0 olap_file ssb_rows "$scale" | sed '/^INSERT INTO lineorder/,$d'
	} | psql -Xq > "$OUT/star-load.log" 2>&1
	echo "create table star.orders using gpucol as select i::bigint as o_orderkey, draw(i, 99, 5)::int as o_priority
		from generate_series(1, $((1500000 * scale))) i" | psql -Xq >> "$OUT/star-load.log" 2>&1 &
	rows=$((6000000 * scale / sessions))
	for i in $(seq 0 $((sessions - 1))); do
		at=$((i * rows))
		{ echo "set search_path = star, public;"
		  SKEW=0 olap_file ssb_rows "$scale" | sed -n '/^INSERT INTO lineorder/,$p' |
			sed "s/generate_series(0, ([0-9]* \* $scale)::int - 1)/generate_series($at, $((at + rows - 1)))/"
		} | psql -Xq >> "$OUT/star-load.log" 2>&1 &
	done
	wait $(jobs -p)
	psql -XAtqc "select gpucol.merge('star.lineorder')" >> "$OUT/star-load.log" 2>&1	# what the sessions left
	psql -Xq -c "vacuum analyze star.lineorder, star.dates, star.customer, star.supplier, star.part, star.orders" >> "$OUT/star-load.log" 2>&1
}

# Times of the 13 star joins at STAR_SCALE, and of one with as many orders as TPC-H has: kernels, statements on the device and on the CPU.
part_star()
{
	local scale=${STAR_SCALE:-10} q name sql kernels cpu cuda

	server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return 1; }
	star_load "$scale"
	note "star joins" "$(psql -XAtqc 'select count(*) from star.lineorder') line orders; ms: device time, statement cuda, statement cpu"
	SKEW=0 olap_queries ssb "$scale"
	echo "select o_priority, sum(lo_revenue) from lineorder, orders where lo_orderkey = o_orderkey and o_priority < 3 group by o_priority" > "$OUT/ssb/orders.sql"
	for q in "$OUT"/ssb/*.sql; do
		name=$(basename "$q" .sql)
		sql=$(tr '\n' ' ' < "$q" | sed 's/; *$//')
		RUNS=2 SETTINGS="set search_path = star, public; set gpucol.engine = cuda" olap_ms "$sql" > /dev/null
		sleep 3					# the compiler's
		cuda=$(RUNS=6 SETTINGS="set search_path = star, public; set gpucol.engine = cuda" olap_ms "$sql")
		cpu=$(RUNS=3 SETTINGS="set search_path = star, public; set gpucol.engine = cpu" olap_ms "$sql")
		psql -XAtq -c "set search_path = star, public" -c "set gpucol.engine = cuda" -c "explain (analyze, costs off) $sql" > "$OUT/star-$name.txt" 2>&1
		kernels=$(sed -n 's/^ *Device Time: \([0-9.]*\).*/\1/p' "$OUT/star-$name.txt" | head -1)
		note "  SSB $name" "$kernels, $cuda, $cpu; $(sed -n 's/^ *Kernel: //p' "$OUT/star-$name.txt" | head -1)"
	done
}

# Least milliseconds, at the client, of RUNS executions.
olap_ms()
{
	{ printf '%s;\n' "$SETTINGS"; echo '\timing on'; for _ in $(seq "${RUNS:-5}"); do printf '%s;\n' "$1"; done; } |
		psql -XAtq 2>/dev/null | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | sort -n | head -1
}

# TPC-H at WHOLE_SCALE, made by tpchgen-cli: both engines beside DuckDB, all with WHOLE_THREADS; the answers are compared first.
part_whole()
{
	local python=$AT/python threads=${WHOLE_THREADS:-$(nproc)}

	server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return 1; }
	mkdir -p "$python" "$TREE/build"
	tar xJf "$HERE/python.tar.xz" -C "$python" || { note whole "FAILED (no python.tar.xz: collect with WHEELS=1)"; return 1; }
	chmod +x "$python"/*.data/scripts/tpchgen-cli
	# as much as DuckDB takes of the host
	psql -Xq -c "alter database postgres set gpucol.max_memory = '64GB'" -c "alter database postgres set gpucol.memory_limit = '32GB'"
	PYTHONPATH=$python GPUCOL_BENCH_TPCHGEN=$(echo "$python"/*.data/scripts/tpchgen-cli) GPUCOL_BENCH_LOADERS=$threads \
		GPUCOL_BENCH_SYSTEMS="gpucol cuda" GPUCOL_BENCH_SCALE=${WHOLE_SCALE:-10} GPUCOL_BENCH_THREADS=$threads GPUCOL_BENCH_KEYS=no \
		GPUCOL_BENCH_LIMIT=20 GPUCOL_BENCH_COMMIT=${COMMIT:-unknown} python3 "$TREE/test/bench/olap.py" "$TREE" tpch > "$OUT/whole.md" 2>&1
	note "TPC-H beside DuckDB" "$(verdict test $? = 0) (whole.md)"
	sed -n 's/^| geometric mean/geometric mean/p' "$OUT/whole.md" | while read -r line; do note "  whole" "$line"; done
}
