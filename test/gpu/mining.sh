# mining.sh: the parts mining, mining_rest and arrays of test/gpu/run; sourced.
#
# mining: the workloads of Chen and Agrawal's paper ("Optimizing MapReduce for GPUs", table 1, large, but for matrices of 512
# and not 2048), as docs/mining.md writes them, beside heap on one core (once each, several at a time) and DuckDB; how often as
# fast as one core each is, beside the paper's. Then CASE of 3 and 30 branches and ticks of the traffic simulation.
# mining_rest: the other statements of test/olap/mining_queries.sql.
# arrays: ARRAYS (10,000,000) arrays of ten elements: sizes, unnested and grouped.
#
# ENGINES ("cpu cuda") names gpucol's; ROWS_SHARE (1) makes all tables smaller. DuckDB takes part where collect had WHEELS=1.

ENGINES=${ENGINES:-cpu cuda}
ROWS_SHARE=${ROWS_SHARE:-1}

# What the paper says of its large inputs: times one core.
PAPER="kmeans20_lateral - kmeans40_lateral - kmeans100_lateral 180 words 200 bayes 50 knn 3.6 covariances 24 views_distinct - product -"

MINING_MAIN="kmeans100_lateral product covariances kmeans40_lateral kmeans20_lateral words views_distinct bayes knn case30 case3 traffic"

# Scales of the tables such that they are as large as the paper's: 87.5 MB of words, 104 MB of samples, 176 MB of views.
SCALES="points 1 centres 1 documents 18 views 4.4 samples 5 matrix 6.55 vectors 1 baskets 5 readings 1 branches 1 streets 1 turns 1 weathers 1 actors 1"

# The word behind another one of a list.
after() { awk -v w="$2" '{ for (i = 1; i < NF; i++) if ($i == w) { print $(i + 1); exit } }' <<< "$1"; }

# How many sessions load a table, or execute statements, at a time.
sessions() { local n; n=$(nproc); echo $((n > 16 ? 16 : n)); }

# A table of 32 columns, and one whose rows take different branches.
mining_more_tables()
{
	echo "create table vectors (id int not null, $(for i in $(seq 32); do printf 'c%d float8 not null, ' "$i"; done) last int);"
	echo "create table branches (id int not null, k int not null, x float8 not null);"
}

mining_more_rows()
{
	echo "INSERT INTO vectors SELECT i, $(for i in $(seq 32); do printf 'draw(i, 1%02d, 1000) / 8.0::float8, ' "$i"; done) 0 FROM generate_series(1, (1000000 * :scale)::int) i;"
	echo "INSERT INTO branches SELECT i, draw(i, 201, 30), draw(i, 202, 1000) / 8.0::float8 FROM generate_series(1, (10000000 * :scale)::int) i;"
}

# The statements that test/olap has not: all pairs of 32 columns, and CASE of so many branches.
mining_more_statements()
{
	local i j n functions=(sin exp sqrt ln atan cbrt)

	{ echo "select count(*)"
	  for i in $(seq 32); do for j in $(seq "$i" 32); do echo ", sum(c$i * c$j)"; done; echo ", sum(c$i)"; done
	  echo "from vectors"; } > "$1/covariances.sql"
	for n in 3 30; do
		{ echo "select count(*), cast(avg(case k % $n"
		  for i in $(seq 0 $((n - 1))); do echo "when $i then ${functions[$((i % 6))]}(x * 0.01 + $((1 + i % 7)))"; done
		  echo "end) as numeric(20, 6)) from branches"; } > "$1/case$n.sql"
	done
}

# Insert the rows of a table; those of one series in several sessions.
mining_fill()
{
	local table=$1 insert=$2 scale n of i rows

	scale=$(awk -v a="$(after "$SCALES" "$table")" -v b="$ROWS_SHARE" 'BEGIN { print a * b }')
	rows=$(sed -n 's/.*generate_series(1, (\([0-9]*\) \* :scale)::int) i.*/\1/p' <<< "$insert" | tail -1)
	of=$(sessions)
	if [ -z "$rows" ] || [ "$rows" -lt 100000 ]; then
		psql -Xqc "$MINING" -c "${insert//:scale/$scale}"
	else
		n=$(awk -v r="$rows" -v s="$scale" -v of="$of" 'BEGIN { print int(r * s / of) }')
		for i in $(seq 0 $((of - 1))); do
			psql -Xqc "$MINING" -c "$(sed "s/generate_series(1, ($rows \* :scale)::int) i/generate_series($((i * n + 1)), $(((i + 1) * n))) i/" <<< "$insert")" &
		done
		wait
		psql -XAtqc "select gpucol.merge('gpucol_mining.$table')" > /dev/null
	fi
}

# Columns of a table as DuckDB reads them.
mining_columns()
{
	psql -XAtqc "select string_agg(case when data_type = 'ARRAY' then format('translate(%1\$I::text, ''{}'', ''[]'') as %1\$I', column_name)
		else quote_ident(column_name) end, ', ' order by ordinal_position) from information_schema.columns where table_schema = 'gpucol_mining' and table_name = '$1'"
}

mining_load()
{
	local tables="$OUT/mining-tables.sql" table inserts
	MINING="set search_path = gpucol_mining, public; set default_table_access_method = gpucol"

	[ -n "$(psql -XAtqc "select to_regproc('public.draw')")" ] || psql -Xq < "$TREE/test/olap/draw.sql"
	mkdir -p "$AT/csv" && chmod 777 "$AT/csv"
	{ cat "$TREE/test/olap/mining_tables.sql"; mining_more_tables; } > "$tables"
	{ echo "create schema gpucol_mining; create schema heap_mining; $MINING;"; cat "$tables"
	  echo "set search_path = heap_mining; set default_table_access_method = heap;"; cat "$tables"; } | psql -Xq
	inserts=$({ sed 's/--.*//' "$TREE/test/olap/mining_rows.sql"; mining_more_rows; } | tr '\n\t' '  ')
	while read -r -d ';' insert; do
		table=$(awk '{ print $3 }' <<< "$insert")
		(mining_fill "$table" "$insert"
		 psql -Xq -c "vacuum analyze gpucol_mining.$table"
		 [ "$table" = branches ] || psql -Xq -c "insert into heap_mining.$table select * from gpucol_mining.$table" -c "vacuum analyze heap_mining.$table"
		 psql -Xqc "$MINING" -c "\\copy (select $(mining_columns "$table") from $table) to '$AT/csv/$table.csv' (format csv, header)") &
	done <<< "$inserts"
	wait
	psql -Xq -c "insert into heap_mining.branches select * from gpucol_mining.branches" -c "vacuum analyze heap_mining.branches"
}

# Answer of a statement, sorted; its milliseconds are left in a file.
mining_ask()
{
	{ echo "set search_path = $1_mining, public; $2; set statement_timeout = '${HEAP_SECONDS:-100}s';"; echo '\timing on'; cat "$3"; echo ';'; } | psql -XAtq 2>&1 |
		tee >(sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' > "${3%.sql}.$4.ms") | grep -v '^Time: ' | LC_ALL=C sort
}

# Heap's answers and times, one core each, several at a time.
mining_heap()
{
	local q

	for q in "$@"; do
		while [ "$(jobs -pr | wc -l)" -ge "$(sessions)" ]; do wait -n; done
		mining_ask heap "set gpucol.enabled = off; set max_parallel_workers_per_gather = 0; set work_mem = '1GB'" "$q" heap > "${q%.sql}.heap" &
	done
	wait
}

# Least milliseconds of a statement by one of gpucol's engines.
mining_ms()
{
	RUNS=${2:-5} SETTINGS="set search_path = gpucol_mining, public; set gpucol.engine = $1; set gpucol.cpu_threads = $(sessions); set statement_timeout = '30s'" olap_ms "$(cat "$3")"
}

# A line of the table: times, and how often as fast as one core of heap.
mining_note()
{
	local q=$1 name heap line= ms paper

	name=$(basename "$q" .sql)
	heap=$(cat "${q%.sql}.heap.ms" 2>/dev/null)
	for engine in $ENGINES; do
		ms=$(mining_ms "$engine" "${RUNS:-4}" "$q")
		line="$line $engine ${ms:-none} ($(awk -v a="$heap" -v b="$ms" 'BEGIN { if (a && b) printf "%.0f", a / b; else print "?" }'))"
		{ echo "set search_path = gpucol_mining, public; set gpucol.engine = $engine; explain (analyze, verbose, costs off)"; cat "$q"; } | psql -XAtq > "${q%.sql}.$engine.txt" 2>&1
	done
	paper=$(after "$PAPER" "$name")
	note "  $name" "heap ${heap:-> ${HEAP_SECONDS:-100}000},$line, duckdb $(awk -v n="$name" '$1 == n { print $2 }' "$OUT/mining-duck.txt")${paper:+; paper $paper}; device: $(grep -c 'Engine: cuda' "${q%.sql}.cuda.txt" 2>/dev/null)$(sed -n 's/^ *Device Declined: /, declined: /p' "${q%.sql}.cuda.txt" 2>/dev/null | sort -u | head -1)"
}

# Do all engines give heap's answers?
mining_compare()
{
	local q engine bad=0 n=0

	for q in "$@"; do
		grep -q 'statement timeout' "${q%.sql}.heap" && continue
		for engine in $ENGINES; do
			n=$((n + 1))
			mining_ask gpucol "set gpucol.engine = $engine" "$q" "$engine" > "${q%.sql}.$engine"
			cmp -s "${q%.sql}.heap" "${q%.sql}.$engine" || { bad=$((bad + 1)); echo "$q $engine" >> "$OUT/mining-differ"; }
		done
	done
	note "mining, engines = heap" "$((n - bad)) passed, $bad failed$(sed 's/.*\//, /' "$OUT/mining-differ" 2>/dev/null | tr -d '\n')"
}

# python3 with the packages that collect put in, or that the host has.
mining_python()
{
	local python=$AT/python

	[ ! -f "$HERE/python.tar.xz" ] || [ -d "$python" ] || { mkdir -p "$python" && tar xJf "$HERE/python.tar.xz" -C "$python"; }
	PYTHONPATH=$python python3 "$@"
}

# What both parts begin with: tables, and each statement in a file.
mining_begin()
{
	server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return 1; }
	psql -Xq -c "alter database $PGDATABASE set gpucol.max_memory = '64GB'" -c "alter database $PGDATABASE set gpucol.memory_limit = '32GB'"
	[ -n "$(psql -XAtqc "select to_regnamespace('gpucol_mining')")" ] || mining_load > "$OUT/mining-load.log" 2>&1
	mkdir -p "$OUT/mining"
	awk -v at="$OUT/mining" '/^-- [a-z0-9_]+$/ { file = at "/" $2 ".sql"; next } file { sub(/;$/, ""); print > file }' "$TREE/test/olap/mining_queries.sql"
	mining_more_statements "$OUT/mining"
}

# Compare and measure statements.
mining_measure()
{
	local q

	mining_heap "$@"
	mining_compare "$@"
	mining_python "$TREE/test/gpu/duck.py" "$(sessions)" 2 "$AT/csv" "$OUT/mining-tables.sql" "$@" > "$OUT/mining-duck.txt" 2>> "$OUT/mining-duck.log"
	note "mining" "ms; heap: one core; (times one core); $(sessions) threads; $(psql -XAtqc 'select count(*) from gpucol_mining.points') points"
	for q in "$@"; do
		mining_note "$q"
	done
}

part_mining()
{
	mining_begin || return 1
	mining_measure $(printf "$OUT/mining/%s.sql " $MINING_MAIN)
	note "  traffic" "50 ticks each: ticks a second are 50,000 / ms"
}

# The other statements of test/olap/mining_queries.sql.
part_mining_rest()
{
	mining_begin || return 1
	mining_measure $(ls "$OUT"/mining/*.sql | grep -vE "/($(tr ' ' '|' <<< "$MINING_MAIN"))\.sql")
}

part_arrays()
{
	local n=$((${ARRAYS:-10000000} / 16)) i elements comma=

	server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return 1; }
	psql -Xq -c "alter database $PGDATABASE set gpucol.max_memory = '64GB'" -c "alter database $PGDATABASE set gpucol.memory_limit = '32GB'"
	[ -n "$(psql -XAtqc "select to_regproc('public.draw')")" ] || psql -Xq < "$TREE/test/olap/draw.sql"
	elements=$(for i in $(seq 10); do printf '%sdraw(i, %d, 1000)::int' "$comma" "$i"; comma=', '; done)
	mkdir -p "$AT/arrays" "$OUT/arrays" && chmod 777 "$AT/arrays"
	psql -Xq -c "create schema gpucol_arrays" -c "create table gpucol_arrays.a (id int, e int[]) using gpucol" -c "create schema heap_arrays" -c "create table heap_arrays.a (id int, e int[])"
	for i in $(seq 0 15); do
		(psql -Xqc "insert into gpucol_arrays.a select i, array[$elements] from generate_series($((i * n + 1)), $(((i + 1) * n))) i"
		 psql -Xq -c "\\copy (select id, translate(e::text, '{}', '[]') as e from gpucol_arrays.a where id between $((i * n + 1)) and $(((i + 1) * n))) to '$AT/arrays/a.$i.csv' (format csv, header)" \
			-c "insert into heap_arrays.a select * from gpucol_arrays.a where id between $((i * n + 1)) and $(((i + 1) * n))") &
		[ $(( (i + 1) % $(sessions) )) != 0 ] || wait
	done > "$OUT/arrays.log" 2>&1
	wait
	psql -XAtq -c "select gpucol.merge('gpucol_arrays.a')" -c "vacuum analyze gpucol_arrays.a" >> "$OUT/arrays.log" 2>&1
	echo "create table a (id int, e int[]);" > "$OUT/arrays/tables"
	echo "select v, count(*), sum(cast(id as bigint)) from (select id, unnest(e) as v from a) q group by v order by v" > "$OUT/arrays/unnest.sql"
	echo "select count(*) from a where 7 = any (e)" > "$OUT/arrays/any.sql"
	echo "select e[1] as v, count(*), sum(e[2]) from a group by 1 order by 1" > "$OUT/arrays/subscript.sql"
	echo "select count(*) from a where e @> array[7, 9]" > "$OUT/arrays/contains.sql"
	mining_python "$TREE/test/gpu/duck.py" "$(sessions)" 3 "$AT/arrays" "$OUT/arrays/tables" "$OUT"/arrays/*.sql > "$OUT/arrays-duck.txt" 2> "$OUT/arrays-duck.log"
	note "arrays" "$((n * 16)) of ten elements; MB: gpucol $(psql -XAtqc "select pg_total_relation_size('gpucol_arrays.a') / 1000000"), heap $(psql -XAtqc "select pg_total_relation_size('heap_arrays.a') / 1000000"), duckdb $(awk '$1 == "bytes" { print int($2 / 1000000) }' "$OUT/arrays-duck.txt")"
	for i in "$OUT"/arrays/*.sql; do
		note "  $(basename "$i" .sql)" "ms:$(for engine in $ENGINES; do printf ' %s %s,' "$engine" "$(RUNS=4 SETTINGS="set search_path = gpucol_arrays, public; set gpucol.engine = $engine; set gpucol.cpu_threads = $(sessions)" olap_ms "$(cat "$i")")"; done) duckdb $(awk -v n="$(basename "$i" .sql)" '$1 == n { print $2 }' "$OUT/arrays-duck.txt")"
		{ echo "set search_path = gpucol_arrays; explain (costs off)"; cat "$i"; } | psql -XAtq > "${i%.sql}.txt" 2>&1
	done
}
