#!/bin/bash
# check-citus.sh SOURCE: gpucol's tables under Citus, whose source is in the folder SOURCE.
#
# Builds a copy of SOURCE against a copy of PostgreSQL's installation, so that nothing is
# installed into the machine's own; starts a coordinator and two workers on the loopback, each
# with a password; loads distributed and reference tables in gpucol with twins in heap, and
# checks answers, plans, merges, changes of the access method, a shard that is moved while it
# is written to, and a worker that is killed and comes back. Last it measures a query over 1,
# 2 and 4 shards. docs/scale-out.md explains the steps.
#
# Debian's packages that Citus needs are installed with apt-get where they are missing.

. "$(dirname "$0")/common.sh"
find_postgres || die "run tools/setup.sh first"

SOURCE=$(realpath "${1:?usage: tools/check-citus.sh SOURCE}")
[ -x "$SOURCE/configure" ] || die "$SOURCE is no source of Citus: it has no configure"
HOME_DIR=$WORK/citus
LOGS=$HOME_DIR/logs
COPY=$HOME_DIR/installation
TESTS=$HOME_DIR/tests
WORKERS="worker1 worker2"
# Headers that Citus needs, and those that PostgreSQL's own want.
PACKAGES="libcurl4-openssl-dev libzstd-dev liblz4-dev libicu-dev libxml2-dev libssl-dev libkrb5-dev"
passed=0 failed=0

# ---- building ----

# PostgreSQL finds its files from where its programs lie, so a copy of them is an installation.
copy_installation()
{
	local option folder

	rm -rf "$COPY"
	for option in bindir libdir pkglibdir sharedir includedir includedir-server pgxs; do
		folder=$("$PG_CONFIG" --$option)
		[ "$option" != pgxs ] || folder=$(dirname "$folder")
		# libraries and headers of the whole system stay where they are
		case $option in libdir) continue ;; esac
		[ -d "$COPY$folder" ] || { mkdir -p "$COPY$folder" && cp -a "$folder/." "$COPY$folder/"; }
	done
	PG_CONFIG=$COPY$("$PG_CONFIG" --bindir)/pg_config
	PGBIN=$("$PG_CONFIG" --bindir)
	export PG_CONFIG PATH=$PGBIN:$PATH
}

# Minor releases of PostgreSQL export a function that Citus has as its own.
mend_source()
{
	local header=$1/src/include/pg_version_compat.h

	! grep -qs have_createdb_privilege "$("$PG_CONFIG" --includedir-server)/commands/dbcommands.h" ||
		sed -i '/^static inline bool$/{N;/have_createdb_privilege/{:a;N;/\n}$/!ba;d}}' "$header"
}

build()
{
	say "building Citus and gpucol (logs in $LOGS)"
	rm -rf "$HOME_DIR"
	mkdir -p "$LOGS"
	# shellcheck disable=SC2086
	! command -v apt-get >/dev/null || need_packages "$LOGS/apt" $PACKAGES
	copy_installation
	cp -r "$SOURCE" "$HOME_DIR/source"
	mend_source "$HOME_DIR/source"
	(cd "$HOME_DIR/source" && ./configure -q PG_CONFIG="$PG_CONFIG" --without-pg-version-check --with-security-flags=no &&
		make -s -j"$(nproc)" with_llvm=no && make -s install with_llvm=no) > "$LOGS/citus" 2>&1 ||
		die "Citus was not built, see $LOGS/citus"
	rm -rf "$HOME_DIR/source"
	make -s -C "$ROOT" -j"$(nproc)" all > "$LOGS/gpucol" 2>&1 && make -s -C "$ROOT" install >> "$LOGS/gpucol" 2>&1 ||
		die "gpucol was not built, see $LOGS/gpucol"
	cp -r "$ROOT/test/citus" "$TESTS"
	[ "$(id -u)" != 0 ] || chown -R "$PLAIN_USER" "$HOME_DIR"
}

# ---- servers ----

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# server ACTION NAME
server() { as_user "$PGBIN/pg_ctl" -D "$HOME_DIR/$2" -l "$LOGS/$2" -m fast -w "$1" > /dev/null; }

start_node()
{
	local name=$1

	port[$name]=$(free_port)
	as_user "$PGBIN/initdb" -D "$HOME_DIR/$name" -U postgres --pwfile="$HOME_DIR/password" -A scram-sha-256 --no-sync \
		--encoding=UTF8 --locale=C.UTF-8 > "$LOGS/initdb-$name" 2>&1 || die "initdb failed, see $LOGS/initdb-$name"
	printf '%s\n' "listen_addresses = '127.0.0.1'" "port = ${port[$name]}" "unix_socket_directories = ''" "fsync = off" \
		"shared_preload_libraries = 'citus,gpucol'" "wal_level = logical" "max_wal_size = 4GB" "shared_buffers = 256MB" "citus.node_conninfo = 'sslmode=disable'" |
		as_user tee -a "$HOME_DIR/$name/postgresql.conf" > /dev/null
	server start "$name" || { tail -5 "$LOGS/$name" >&2; die "$name did not start"; }
	sql "$name" 'CREATE EXTENSION citus; CREATE EXTENSION gpucol' > /dev/null
}

# sql NODE STATEMENTS: as the superuser; what it prints, errors too.
sql() { as_user env -C "$TESTS" "$PGBIN/psql" -h 127.0.0.1 -p "${port[$1]}" -U postgres -XAtq -v ON_ERROR_STOP=1 -d postgres -c "$2" 2>&1; }

start_nodes()
{
	local name

	declare -gA port
	(umask 077 && head -c 18 /dev/urandom | base64 > "$HOME_DIR/password" && echo "*:*:*:*:$(cat "$HOME_DIR/password")" > "$HOME_DIR/pass")
	[ "$(id -u)" != 0 ] || chown "$PLAIN_USER" "$HOME_DIR/password" "$HOME_DIR/pass"
	export PGPASSFILE=$HOME_DIR/pass
	for name in coordinator $WORKERS; do start_node "$name"; done
	sql coordinator "SELECT citus_set_coordinator_host('127.0.0.1', ${port[coordinator]})" > /dev/null
	for name in $WORKERS; do sql coordinator "SELECT citus_add_node('127.0.0.1', ${port[$name]})" > /dev/null; done
}

stop_nodes()
{
	local name

	for name in coordinator $WORKERS; do
		[ ! -f "$HOME_DIR/$name/postmaster.pid" ] || server stop "$name" || true
	done
}

# ---- checks ----

# check NAME FOUND WANTED
check()
{
	if [ "$2" = "$3" ]; then passed=$((passed + 1)); printf 'ok      %s\n' "$1"
	else failed=$((failed + 1)); printf 'FAILED  %s: %.300s instead of %.300s\n' "$1" "$2" "$3"
	fi
}

SETTINGS="SET client_min_messages = warning; SET citus.enable_repartition_joins = on;"

# Each query, over the distributed tables and over their twins.
same_answers()
{
	local when=$1 query n=0 one two

	while read -r query; do
		n=$((n + 1))
		one=$(sql coordinator "$SETTINGS ${query//@/}" | sort)
		two=$(sql coordinator "SET gpucol.pushdown = forbid; $(sed -E 's/@([a-z_]+)/\1_heap/g' <<< "$query")" | sort)
		! grep -m1 '^ERROR' <<< "$two" || die "query $n is none"
		check "query $n $when" "$(md5sum <<< "$one") ${one:0:200}" "$(md5sum <<< "$two") ${two:0:200}"
	done < <(grep -v '^--' "$TESTS/queries.sql")
}

loads()
{
	as_user env -C "$TESTS" "$PGBIN/psql" -h 127.0.0.1 -p "${port[coordinator]}" -U postgres -XAtq -v ON_ERROR_STOP=1 \
		-d postgres -f tables.sql > "$LOGS/tables" 2>&1 || { tail -5 "$LOGS/tables" >&2; die "the tables were not made"; }
	check 'shards are gpucol tables' "$(sql coordinator "SELECT string_agg(DISTINCT result, ',') FROM run_command_on_shards('sale', 'SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE c.oid = ''%s''::regclass')")" gpucol
	check 'COPY and INSERT packed rows' "$(sql coordinator "SELECT sum(result::int) > 100000 FROM run_command_on_shards('sale', 'SELECT coalesce(sum(rows), 0) FROM gpucol.segments(''%s'')')")" t
}

plans()
{
	local plan

	plan=$(sql coordinator "$SETTINGS SET citus.explain_all_tasks = on; EXPLAIN (COSTS OFF) SELECT product, count(*), sum(amount) FROM sale GROUP BY product")
	check 'each of 4 shards aggregates in the engine' "$(grep -c GpucolAgg <<< "$plan")" 4
	plan=$(sql coordinator "$SETTINGS SET citus.explain_all_tasks = on; EXPLAIN (COSTS OFF) SELECT c.region, sum(s.amount) FROM sale s JOIN customer c USING (customer) GROUP BY c.region")
	check 'each of 4 shards joins in the engine' "$(grep -cE 'Join: |GpucolJoin' <<< "$plan" | awk '{ print ($1 >= 4) }')" 1
}

changes()
{
	local suffix

	for suffix in '' _heap; do
		sql coordinator "UPDATE sale$suffix SET amount = amount + 1, note = 'changed' WHERE id % 41 = 0;
			DELETE FROM sale$suffix WHERE customer % 17 = 0 AND id % 2 = 0;
			INSERT INTO sale$suffix SELECT id + 1000000, customer, product, day, amount, 'again' FROM sale$suffix WHERE id % 10 = 0;
			UPDATE product$suffix SET name = name || '!' WHERE product % 9 = 0;" > "$LOGS/changes$suffix" || cat "$LOGS/changes$suffix"
	done
	same_answers 'after changes'
	check 'merges on all shards' "$(sql coordinator "SELECT bool_and(success) FROM run_command_on_shards('sale', 'SELECT gpucol.merge(''%s'')')")" t
	check 'VACUUM' "$(sql coordinator 'VACUUM sale')" ''
	same_answers 'after merges'
	check 'every shard is sound' "$(sql coordinator "SELECT sum(result::int) FROM run_command_on_shards('sale', 'SELECT count(*) FROM gpucol.verify(''%s'')')")" 0
	check 'to heap and back' "$(sql coordinator "SET client_min_messages = error; SELECT alter_table_set_access_method('customer', 'heap'); SELECT alter_table_set_access_method('customer', 'gpucol')" | grep -c ERROR)" 0
}

# A shard goes to the other worker, online, while rows are written to it.
move()
{
	local shard from to writer count

	IFS='|' read -r shard from <<< "$(sql coordinator "SELECT shardid, nodeport FROM citus_shards WHERE table_name = 'sale'::regclass ORDER BY shardid LIMIT 1")"
	to=${port[worker1]}
	[ "$from" != "$to" ] || to=${port[worker2]}
	(for ((i = 0; i < 100000; i++)); do
		[ ! -e "$HOME_DIR/moved" ] || break
		sql coordinator "INSERT INTO sale SELECT 5000000 + $i * 50 + g, g, 1, '2024-01-01', 1, 'moving' FROM generate_series(1, 50) g" >> "$LOGS/writer"
		echo $((i + 1)) > "$HOME_DIR/written"
	done) &
	writer=$!
	until [ -s "$HOME_DIR/written" ]; do sleep 0.1; done
	check 'a shard is moved while it is written to' "$(sql coordinator "SET client_min_messages = error; SELECT citus_move_shard_placement($shard, '127.0.0.1', $from, '127.0.0.1', $to, shard_transfer_mode => 'force_logical')")" ''
	touch "$HOME_DIR/moved"
	wait $writer
	count=$(cat "$HOME_DIR/written")
	check '  every row that was written is there' "$(sql coordinator "SELECT count(*), count(DISTINCT (customer, id)) FROM sale WHERE note = 'moving'")" "$((count * 50))|$((count * 50))"
	check '  the shard is where it should be' "$(sql coordinator "SELECT nodeport FROM citus_shards WHERE shardid = $shard")" "$to"
	sql coordinator "DELETE FROM sale WHERE note = 'moving'" > /dev/null
	same_answers 'after the move'
}

# A worker dies as in a loss of power, is missed, and comes back.
die_and_come_back()
{
	local postmaster tries=0

	postmaster=$(head -1 "$HOME_DIR/worker2/postmaster.pid")
	# shellcheck disable=SC2046
	as_user kill -9 "$postmaster" $(pgrep -P "$postmaster")
	check 'a dead worker is missed' "$(sql coordinator "SELECT count(*) FROM sale" | grep -c ERROR)" 1
	# its shared memory goes with the last of its processes
	until server start worker2 2> /dev/null; do
		[ $((tries += 1)) -lt 30 ] || die 'worker2 did not come back'
		sleep 1
	done
	same_answers 'after a worker came back'
}

measure()
{
	local shards i

	for shards in 1 2 4; do
		sql coordinator "CREATE TABLE measured$shards (customer int, product int, amount numeric(10, 2)) USING gpucol"
		sql coordinator "SET citus.shard_count = $shards; SELECT create_distributed_table('measured$shards', 'customer', colocate_with => 'none')"
		sql coordinator "INSERT INTO measured$shards SELECT i * 7919::bigint % 5000, i % 300, i % 99991 / 100.0 FROM generate_series(1, 2000000) i"
		for i in 1 2 3 4 5 6; do
			as_user "$PGBIN/psql" -h 127.0.0.1 -p "${port[coordinator]}" -U postgres -XAtq -d postgres -c '\timing on' -c "SELECT product, count(*), sum(amount) FROM measured$shards WHERE amount > 100 GROUP BY product" |
				sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p'
		done | sort -n | sed -n 3p | sed "s/^/2,000,000 rows, $shards shards, median ms: /"
	done
}

trap stop_nodes EXIT
build
start_nodes
say "checking, with Citus $(sql coordinator "SELECT extversion FROM pg_extension WHERE extname = 'citus'") and $(sql coordinator 'SHOW server_version')"
loads
same_answers 'loaded'
plans
changes
move
die_and_come_back
measure
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
