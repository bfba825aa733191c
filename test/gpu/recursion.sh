# recursion.sh: the recursion part of test/gpu/run; sourced.
#
# Graphs are NAME.tsv.gz files and their answers truth.tsv in $HERE/graphs (see
# test/gpu/recursive_check.cu for its columns); without them the part is
# skipped.

# Load graph $1 as table edge.
load_graph()
{
	zcat "$HERE/graphs/$1.tsv.gz" > /tmp/graph.tsv
	psql -Xq -c "drop table if exists edge" -c "create table edge (src int, dst int) using gpucol" \
		-c "\\copy edge from /tmp/graph.tsv" -c "analyze edge" > /dev/null 2>&1
}

TC="with recursive r(x, y) as (select src, dst from edge union select r.x, e.dst from r, edge e where e.src = r.y)"
SG="with recursive r(x, y) as (select a.dst, b.dst from edge a, edge b where a.src = b.src and a.dst <> b.dst
	union select p.dst, q.dst from r, edge p, edge q where p.src = r.x and q.src = r.y)"

# One query of one graph: WITH-clause, its name, known count and sums.
run_recursion()
{
	local graph=$1 query=$2 with=$3 want=$4 settings=$5 got ms

	got=$(psql -XAtq -F' ' -c "set gpucol.engine = cuda" -c "set gpucol.recursive_memory_limit = '100GB'" -c "$settings" \
		-c "$with select count(*), sum(x), sum(y) from r" 2>&1 | tail -1)
	SETTINGS="set gpucol.engine = cuda; set gpucol.recursive_memory_limit = '100GB'; $settings"
	ms=$({ printf '%s;\n' "$SETTINGS"; echo '\timing on'; for i in 1 2 3; do printf '%s;\n' "$with select count(*) from r"; done; } |
		psql -XAtq 2>/dev/null | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | sort -n | sed -n 2p)
	note "$graph $query" "$([ "$got" = "$want" ] && echo "agrees" || echo "FAILED: $got, not $want")  $ms ms"
	psql -XAtq -c "$SETTINGS" -c "explain (analyze, costs off, timing off) $with select count(*) from r" >> "$OUT/recursion-explain.txt" 2>&1
}

part_recursion()
{
	local name rows edges nodes tc tcx tcy tcxy sg sgx rest

	[ -f "$HERE/graphs/truth.tsv" ] || { note recursion "skipped: no graphs"; return; }
	[ -f /opt/pgdata/PG_VERSION ] || server > "$OUT/server-start.log" 2>&1 || { note server "FAILED (server-start.log)"; return; }
	while IFS=$'\t' read -r name rows edges nodes tc tcx tcy tcxy sg sgx rest; do
		[ -f "$HERE/graphs/$name.tsv.gz" ] && [ "$name" != dataset ] || continue
		load_graph "$name"
		run_recursion "$name" tc "$TC" "$tc $tcx $tcy" "select 1"
		[ -z "$sg" ] || [ "$sg" = 0 ] || run_recursion "$name" sg "$SG" "$sg $sgx $sgx" "select 1"
	done < "$HERE/graphs/truth.tsv"
	note "recursions answered by the device" "$(grep -c 'Engine: cuda' "$OUT/recursion-explain.txt")"
}
