# jit.sh: the part of test/gpu/run about compiled kernels behind the server; sourced.

# compiled NAME WHICH OPTIONS: the queries that sed prints by WHICH, three times each on the
# device, with the daemon compiling before it answers, against the CPU's answers.  The first is the
# interpreter's, on which the compiled kernels are tried; then they answer.
compiled()
{
	local name=$1 n=0 bad=0 q i a b

	restart "$3"
	: > "$OUT/compiled.txt"
	while IFS= read -r q; do
		n=$((n + 1))
		q=${q//from T/from g}
		a=$(psql -XAtq -c "set gpucol.engine = cpu" -c "$q" 2>&1 | LC_ALL=C sort)
		for i in 1 2 3; do
			b=$(psql -XAtq -c "set gpucol.engine = cuda" -c "set gpucol.jit = on" -c "$q" 2>&1 | LC_ALL=C sort)
			[ "$a" = "$b" ] || { bad=$((bad + 1)); { echo "== $name, $i: $q"; echo "cpu:  ${a:0:300}"; echo "cuda: ${b:0:300}"; } >> "$OUT/differences.txt"; }
		done
		psql -XAtq -c "set gpucol.engine = cuda" -c "set gpucol.jit = on" -c "explain (analyze, costs off) $q" 2>&1 | grep Kernel >> "$OUT/compiled.txt"
	done < <(sed -n "$2" "$OUT/queries")
	cat "$OUT/compiled.txt" >> "$OUT/kernels.txt"
	note "$name" "$((3 * n - bad)) answers right, $bad failed; $(grep -c ', compiled' "$OUT/compiled.txt") of $n compiled, $(grep -c 'no compiler' "$OUT/compiled.txt") without compiler"
}

# Compiled kernels: right, from damaged files, without the compiler, and wrong ones.
part_jit()
{
	local f files=$AT/pgdata/gpucol_jit which=${JIT_QUERIES:-p} few="4p; 6p; 10p; 13p"

	sql_tables || return
	rm -rf $files
	compiled "queries, compiled kernels" "$which" "--test --jit-wait"
	note "kernels in files" "$(ls $files/*.cubin | wc -l), $(du -sk $files | cut -f1) kB, $(ls $files | grep -c attempts) attempts not ended"
	for f in $files/*.cubin; do truncate -s -100 "$f"; done
	compiled "queries, files cut short" "$few" "--test --jit-wait"
	DAEMON_ENVIRONMENT=GPUCOL_NVRTC=/nowhere/libnvrtc.so compiled "queries, no compiler" "$few" "--test --jit-wait"
	cp $AT/pgdata/log "$OUT/log-before"
	DAEMON_ENVIRONMENT=GPUCOL_JIT_OPTIONS=-DGPUCOL_RUN_VECTORS=8 compiled "queries, wrong kernels" "$few" "--test --jit-wait"
	note "wrong kernels found" "$(diff "$OUT/log-before" $AT/pgdata/log | grep -c 'compiled kernel differs')"
	compiled "queries, after the wrong ones" "$few" "--test --jit-wait"
	restart "--test"
}
