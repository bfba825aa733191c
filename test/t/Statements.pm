# Statements.pm: random scripts of SQL over tables of PostgreSQL's many types, for
# 012_statements.pl, 014_ordered.pl and 015_sessions.pl (Twins.pm runs them).
#
# A script runs once in a schema whose tables are heap's and again in one whose
# tables are gpucol's; every statement stands alone between markers, so that what
# both print can be compared.  Everything is a function of row numbers: no clock,
# no random().  What PostgreSQL leaves open is not asked: rows are sorted, LIMIT,
# DISTINCT ON and window functions have a total order, equal values look alike.
package Statements;

use strict;
use warnings;
use Exporter 'import';
use Expressions;
use Gpucol qw(pick between);
use Ordered;

our @EXPORT = qw(preparations random_script ordered_script sessions_script);
our @EXPORT_OK = qw(ask change check cursor disturb emit insert prepared query random_alter scene_script settle sorted step transaction);

# Types, functions and collations that both schemas share.
sub preparations
{
	return <<'SQL';
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN small AS int CHECK (VALUE < 1000000);
CREATE DOMAIN tag AS text;
CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION german (provider = icu, locale = 'de');
-- a number below n that depends on i and salt alone
CREATE FUNCTION pseudo(i int, salt int, n int) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN ((hashint8extended(i, salt) % n + n) % n)::int;
CREATE FUNCTION settle(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF (SELECT amname FROM pg_am JOIN pg_class c ON relam = pg_am.oid WHERE c.oid = name::regclass) = 'gpucol' THEN
		PERFORM gpucol.merge(name::regclass);
	END IF;
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	NULL;		-- an index keeps rows in the delta
END $$;
-- runs a query for its side effects, lets it be cancelled, and notes that it did not end
CREATE FUNCTION disturb(query text, milliseconds int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('statement_timeout', milliseconds::text, true);
	EXECUTE query;
EXCEPTION WHEN OTHERS THEN
	IF SQLSTATE ~ '^XX' THEN RAISE; END IF;
	RAISE NOTICE 'disturbed';
END $$;
CREATE FUNCTION rows_of(name text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM %s', name) INTO n;
	RETURN n;
END $$;
CREATE FUNCTION twice(x int) RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN x * 2; END';
CREATE ROLE reader;
SQL
}

# ---- state of a script ----

my (@tables, $script, $step, $next);
my $elsewhere;		# another session shall run what is emitted

# One query with a result that does not depend on the order of rows.
sub query
{
	my ($t, $u) = (pick(@tables), pick(@tables));
	my $where = where($t);
	my $kind = int rand 24;
	my @keys = map { key($t) } 1 .. pick(1, 1, 2, 3);
	my $names = join ', ', map { "$keys[$_ - 1] AS k$_" } 1 .. @keys;
	my $by = join ', ', 1 .. @keys;
	my $aggs = join ', ', map { aggregate($t) . " AS a$_" } 1 .. between(1, 4);

	return "SELECT $names, $aggs FROM $t $where GROUP BY $by" . (chance(0.2) ? ' HAVING ' . pick('count(*) > 2', 'min(id) > 50', 'count(*) BETWEEN 1 AND 9') : '') if $kind < 5;
	return "SELECT $aggs FROM $t $where" if $kind < 7;
	return "SELECT DISTINCT $names FROM $t $where" if $kind == 7;
	return "SELECT id, " . columns_of($t, '', between(1, 3)) . " FROM $t $where" if $kind < 11;
	return pick("SELECT * FROM $t $where", "SELECT $t FROM $t $where", "SELECT tableoid::regclass::text AS k, count(*), count($t) FROM $t $where GROUP BY 1", "SELECT to_jsonb($t) - 'js' AS o FROM $t WHERE id % 20 = 1",
		"SELECT id FROM $t WHERE $t IS NULL OR id % 50 = 7", "SELECT xmax::text = '0' AS k, count(*) FROM $t GROUP BY 1 HAVING count(*) IS NULL") if $kind == 11;
	if ($kind == 12)
	{
		my ($k) = $keys[0];
		# what raises no error: whether that of a row which is not the first is met, SQL leaves open
		return "SELECT DISTINCT ON ($k) $k AS k, id, " . columns_of($t, '', 1, 0) . " FROM $t $where ORDER BY $k, id, $t\::text COLLATE \"C\"";
	}
	return "SELECT id, " . pick("sum(" . expr('int', 0, $t) . ") OVER (PARTITION BY $keys[0] ORDER BY id)", "row_number() OVER (PARTITION BY $keys[0], id ORDER BY $t\::text COLLATE \"C\")",
		"lag(" . expr('text', 0, $t) . ") OVER (ORDER BY $t\::text COLLATE \"C\")", "rank() OVER (ORDER BY $keys[0])", "count(*) OVER (PARTITION BY $keys[0])", "first_value(id) OVER (PARTITION BY $keys[0] ORDER BY id DESC)") . " AS w FROM $t $where" if $kind == 13;
	return "SELECT id, o FROM (SELECT id, " . expr(pick(qw(int num float date stamp text)), 1, $t) . " AS o FROM $t $where ORDER BY " . order($t) . ' LIMIT ' . between(1, 40) . ' OFFSET ' . pick(0, 0, 3) . ') q' if $kind == 14;
	if ($kind < 18)
	{
		my $class = pick(grep { !/bool|free|folded|array|jsonb|composite/ } known($t));
		my ($x, $y) = alike($class, expr($class, 0, $t, 'x'), expr($class, 0, $u, 'y'));
		my $on = chance(0.6) ? "x.id = y.id " . (chance(0.4) ? "AND $x = $y" : '') : "$x = $y AND x.id % 50 = 3 AND y.id % 20 = 1";
		my $join = pick('JOIN', 'JOIN', 'LEFT JOIN', 'FULL JOIN', 'RIGHT JOIN');

		$on = 'x.id = y.id' if $join eq 'FULL JOIN';
		return "SELECT x.id AS i, y.id AS j, " . columns_of($t, 'x', 1) . ', ' . expr('text', 1, $u, 'y') . " AS z FROM $t x $join $u y ON $on WHERE " . predicate(1, $t, 'x') if $kind == 15;
		return "SELECT " . key($t, 'x') . " AS k, count(*), " . aggregate($u, 'y') . " FROM $t x $join $u y ON $on GROUP BY 1" if $kind == 16;
		return "SELECT x.id FROM $t x WHERE " . pick('', 'NOT ') . "EXISTS (SELECT FROM $u y WHERE $on AND " . predicate(0, $u, 'y') . ')';
	}
	return "SELECT id, (SELECT " . aggregate($u, 'y') . " FROM $u y WHERE y.id = x.id + 1 AND " . predicate(0, $u, 'y') . ") FROM $t x WHERE x.id % 40 = 2" if $kind == 18;
	return "SELECT $keys[0] AS k, count(*) FROM $t GROUP BY " . pick("ROLLUP (1)", "GROUPING SETS ((1), ())", "CUBE (1)") if $kind == 19;
	return "(SELECT " . key($t) . "::text FROM $t $where) " . pick('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT', 'EXCEPT ALL') . " SELECT " . key($u) . "::text FROM $u" if $kind == 20;
	return "SELECT x, (SELECT " . aggregate($t) . " FROM $t WHERE id > x AND " . predicate(1, $t) . ") FROM generate_series(-1, 200, 100) x" if $kind == 21;
	return "WITH q AS " . pick('', 'MATERIALIZED ') . "(SELECT id, $keys[0] AS k FROM $t $where) SELECT k, count(*), min(id) FROM q GROUP BY k" if $kind == 22;
	return "SELECT id FROM $t WHERE " . pick('id', 'id % 100') . ' ' . pick('', 'NOT ') . "IN (SELECT y.id FROM $u y WHERE " . predicate(1, $u, 'y') . ' AND y.id IS NOT NULL)';
}

# ---- the script ----

sub emit
{
	my ($sql) = @_;
	my $marked = "\\echo <<< " . ++$step . "\n$sql;\n\\echo >>>\n";

	$script .= $elsewhere ? "SELECT \$elsewhere\$$marked\$elsewhere\$ \\g |psql -X -q -A -t -v VERBOSITY=verbose >>\"\$GPUCOL_ELSEWHERE\" 2>&1\n" : $marked;
	return;
}

sub sorted { my ($sql) = @_; return "SELECT q::text FROM ($sql) q ORDER BY q::text COLLATE \"C\""; }
sub ask { emit(sorted($_[0])); return; }
sub check { my ($t) = @_; emit("SELECT count(*), sum(hashtextextended(x::text, 0)) FROM $t x"); return; }

sub row_values
{
	my ($table, $given) = @_;

	return map {
		my $name = $_;
		my $value = $columns{$name}[2]->();
		my $every = pick(0, 0, 3, 20);

		$given->{$name} // ($every ? 'CASE WHEN ' . number($every) . " = 0 THEN NULL ELSE ($value)::" . type_of($name) . ' END' : "($value)::" . type_of($name))
	} writable($table);
}

sub insert
{
	my ($table, $rows) = @_;
	my $first = $next;

	$next += $rows;
	emit("INSERT INTO $table (" . join(', ', 'id', writable($table)) . ') SELECT ' . join(', ', 'i', row_values($table, {})) . " FROM generate_series($first, " . ($next - 1) . ') i'
		. (chance(0.2) ? ' ON CONFLICT DO NOTHING' : ''));
	return;
}

# A partitioned table whose partitions have their columns elsewhere, or an
# inheritance tree.
sub create_family
{
	my ($table, @names) = @_;
	my $columns = sub { join ', ', map { "$_ $columns{$_}[0]" } @_ };
	my @order = shuffled('id', grep { $columns{$_}[2] } @names);
	my $odd = join ', ', 'gone int', map({ $_ eq 'id' ? 'id int' : "$_ $columns{$_}[0]" } @order), 'late int';

	delete $has{$table}{gen};
	@names = grep { $columns{$_}[2] } @names;
	if (chance(0.6))
	{
		emit("CREATE TABLE $table (id int, " . $columns->(@names) . ') PARTITION BY RANGE (id)');
		emit("CREATE TABLE ${table}_1 ($odd)");
		emit("ALTER TABLE ${table}_1 DROP COLUMN gone, DROP COLUMN late");
		emit("ALTER TABLE $table ATTACH PARTITION ${table}_1 FOR VALUES FROM (MINVALUE) TO (300)");
		emit("CREATE TABLE ${table}_2 PARTITION OF $table DEFAULT");
		return;
	}
	emit("CREATE TABLE $table (id int, " . $columns->(@names) . ')');
	emit("CREATE TABLE ${table}_1 () INHERITS ($table)");
	emit("CREATE TABLE ${table}_2 (more text) INHERITS ($table)");
	emit("INSERT INTO ${table}_$_ (id, i4, s) SELECT -i, i % 9, 'heir ' || i % 5 FROM generate_series(1, 200) i") for 1, 2;
	return;
}

sub create_table
{
	my ($table, @kinds) = @_;
	my @names = grep { chance(0.55) || /^(?:i2|i4|s)$/ } sort keys %columns;
	my $plain = chance(0.7);

	$has{$table} = { map { $_ => 1 } @names };
	my $body = join(', ', 'id int' . ($plain && chance(0.5) ? ' PRIMARY KEY' : ''), map { "$_ $columns{$_}[0]" } @names);
	if ($plain) { emit('CREATE ' . pick(@kinds) . "TABLE $table ($body)"); }
	elsif (chance(0.3)) { create_family($table, @names); }
	else
	{
		my $how = pick('RANGE (id)', 'HASH (id)', 'LIST (i2)');
		my @bounds = $how =~ /RANGE/ ? ('FROM (MINVALUE) TO (400)', 'FROM (400) TO (MAXVALUE)') : $how =~ /HASH/ ? ('WITH (MODULUS 2, REMAINDER 0)', 'WITH (MODULUS 2, REMAINDER 1)') : ('IN (0, 1, 2, 3, NULL)');
		my $n = 0;

		emit("CREATE TABLE $table ($body) PARTITION BY $how");
		emit("CREATE TABLE ${table}_" . ++$n . " PARTITION OF $table FOR VALUES $_") for @bounds;
		emit("CREATE TABLE ${table}_rest PARTITION OF $table DEFAULT") if $how =~ /LIST/;
	}
	push @tables, $table;
	insert($table, pick(30, 300, 900)) for 1 .. between(1, 3);
	insert($table, pick(1, 5)) for 0 .. between(0, 3);
	return;
}

sub set_list
{
	my ($table) = @_;
	my @names = grep { !/^(?:long)$/ || chance(0.3) } writable($table);
	my %set = map { my $n = pick(@names); ($n => 1) } 1 .. between(1, 3);

	return join ', ', map { my $name = $_; "$name = " . (chance(0.25) ? 'NULL' : '(' . $columns{$name}[2]->() =~ s/\bi\b/id/gr . ')::' . type_of($name)) } sort keys %set;
}

sub returning
{
	my ($sql, $what) = @_;
	return chance(0.5) ? $sql : "WITH q AS ($sql RETURNING $what) " . sorted('SELECT * FROM q');
}

sub change
{
	my ($t, $u) = (pick(@tables), pick(@tables));
	my $few = 'id % ' . pick(3, 7, 20) . ' = ' . between(0, 2);
	my $kind = int rand 16;

	if ($kind == 12) { emit("UPDATE $t SET id = id + " . pick(1, 503) . " WHERE $few"); }
	elsif ($kind == 13)
	{
		my $first = $next;
		my @common = grep { $has{$u}{$_} } writable($t);
		$next += 400;
		emit("INSERT INTO $t (id, " . join(', ', @common) . ") SELECT $first + row_number() OVER (ORDER BY $u\::text COLLATE \"C\") % 100000, " . join(', ', @common) . " FROM $u") if chance(0.3);
		emit("INSERT INTO $t (id, i4, s) SELECT id + 100000, " . pick('i4', 'i2', 'i4 / 2') . ', ' . pick('s', "left(s, 3)", "'const'", 'NULL') . " FROM $u " . where($u)) if chance(0.6);
		emit("INSERT INTO $t (id, " . join(', ', @common) . ') SELECT id, ' . join(', ', @common) . " FROM $u WHERE $few");
	}
	elsif ($kind == 14) { emit("INSERT INTO $t (id, i4) SELECT $next + i, public.rows_of('$t') + i - i FROM generate_series(1, 40) i"); $next += 40; }
	elsif ($kind == 15)
	{
		my $n = $step;

		emit("CREATE TABLE copy$n AS SELECT " . join(', ', pick('*', 'id, ' . columns_of($t, '', 2))) . " FROM $t " . where($t));
		check("copy$n");
		emit("DROP TABLE copy$n");
	}
	elsif ($kind < 4) { emit(returning("UPDATE $t SET " . set_list($t) . ' WHERE ' . predicate(1, $t) . " AND $few", 'id')); }
	elsif ($kind < 6) { emit(returning("DELETE FROM $t WHERE " . predicate(1, $t) . " AND $few", '*')); }
	elsif ($kind == 6) { emit("DELETE FROM $t x USING $u y WHERE x.id = y.id AND " . predicate(0, $u, 'y') . " AND x.$few"); }
	elsif ($kind == 7) { emit("UPDATE $t x SET s = y.s FROM $u y WHERE x.id = y.id + 1 AND x.$few AND y.id IN (SELECT id FROM $u GROUP BY id HAVING count(*) = 1)"); }
	elsif ($kind == 8)
	{
		emit("MERGE INTO $t x USING (SELECT id, min(s) AS s FROM $u GROUP BY id) y ON x.id = y.id WHEN MATCHED AND x.$few THEN UPDATE SET s = y.s || '!' WHEN MATCHED AND x.id % 11 = 3 THEN DELETE WHEN NOT MATCHED AND y.id % 50 = 1 THEN INSERT (id, i4, s) VALUES (y.id, 5, y.s)");
	}
	elsif ($kind == 9)
	{
		my ($from, $to) = (int $next * rand, int $next * rand);
		emit("INSERT INTO $t (id, i4, s) SELECT i, i, 'again' FROM generate_series($from, $from + 30) i ON CONFLICT (id) DO " . pick('NOTHING', "UPDATE SET s = 'conflict ' || excluded.id, i4 = $t.i4 + 1", "UPDATE SET s = excluded.s WHERE $t.id % 2 = 0"));
	}
	elsif ($kind == 10) { insert($t, pick(1, 3, 40, 400)); }
	else { emit("COPY $t (id, i4, s) FROM stdin;\n" . join('', map { $next++ . "\t" . pick('\N', $_) . "\tcopied $_\n" } 1 .. pick(2, 100, 1200)) . '\.' . "\n\\echo") }
	check($t);
	return;
}

sub alter
{
	my ($t) = pick(@tables);
	my $n = $step;
	my @droppable = grep { !/^(?:i2|i4|s)$/ } writable($t);
	my $kind = int rand 20;

	if ($kind == 14) { retype($t); }
	elsif ($kind == 15) { emit("CREATE INDEX x$n ON $t (id)"); emit("CLUSTER $t USING x$n"); }
	elsif ($kind == 16) { emit("CREATE " . pick('', 'UNIQUE ') . "INDEX CONCURRENTLY x$n ON $t (" . pick('id', 's') . ')'); emit("REINDEX TABLE CONCURRENTLY $t"); }
	elsif ($kind == 17) { emit("CREATE INDEX x$n ON $t USING " . pick(map { my $c = $_; $columns{$c}[1] eq 'jsonb' || $c =~ /^(?:a|at|tsv)$/ ? "gin ($c)" : $c =~ /^(?:r4|rt)$/ ? pick("gist ($c)", "spgist ($c)") : $c eq 'pt' ? "gist ($c)" : $c eq 's' ? "spgist ($c)" : pick("hash ($c)", "brin (id, i2) WITH (pages_per_range = " . pick(1, 4) . ", autosummarize)") } writable($t))); }
	elsif ($kind == 18) { emit("ALTER TABLE $t " . pick('ALTER id SET NOT NULL', 'ALTER i4 SET NOT NULL', 'ADD UNIQUE (id)', 'ADD PRIMARY KEY (id)', "ADD CONSTRAINT c$n CHECK (id > 3)", "ADD CONSTRAINT c$n CHECK (length(s) < 20) NOT VALID", "ADD UNIQUE (i4, s)", "ALTER s SET COMPRESSION lz4", "SET (fillfactor = 50)", "ALTER s SET DEFAULT 'default'", "SET UNLOGGED", "SET LOGGED")); emit("ALTER TABLE $t VALIDATE CONSTRAINT c$n"); }
	elsif ($kind == 19) { emit("CREATE FUNCTION watch$n() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN NEW.i4 := public.rows_of('$t'); RETURN NEW; END \$\$"); emit("CREATE TRIGGER watch BEFORE INSERT ON $t FOR EACH ROW WHEN (NEW.id % 3 = 0) EXECUTE FUNCTION watch$n()"); insert($t, 60); emit("DROP FUNCTION watch$n() CASCADE"); }
	elsif ($kind < 2 && @droppable > 3)
	{
		my $name = pick(@droppable);
		delete $has{$t}{$name};
		emit("ALTER TABLE $t DROP COLUMN $name CASCADE");
	}
	elsif ($kind < 5)
	{
		my ($name) = grep { !$has{$t}{$_} && $columns{$_}[2] } shuffled(sort keys %columns);
		return unless $name;
		my $default = $columns{$name}[2]->() =~ s/\bi\b/7/gr;
		emit("ALTER TABLE $t ADD COLUMN $name $columns{$name}[0]" . pick('', " DEFAULT ($default)::" . type_of($name)));
		$has{$t}{$name} = 1;
	}
	elsif ($kind == 5)
	{
		emit("ALTER TABLE $t ALTER COLUMN i4 TYPE " . pick('int8', 'numeric(20,3)', 'int', 'float8 USING i4::float8') . ", ALTER COLUMN s TYPE " . pick('varchar', 'text', 'char(40)'));
		emit("ALTER TABLE $t ALTER COLUMN i4 TYPE int USING i4::int, ALTER COLUMN s TYPE text");
	}
	elsif ($kind == 6) { emit("CREATE " . pick('', 'UNIQUE ') . "INDEX x$n ON $t (" . pick('id', 'id, i4', 's, id', 'i4') . ')' . pick('', ' INCLUDE (i2)', ' WHERE i4 > 3')); }
	elsif ($kind == 7) { emit("CREATE INDEX x$n ON $t USING " . pick('hash (s)', 'btree (upper(s))', 'hash (i4)', 'brin (i4, id) WITH (pages_per_range = 1)', 'brin (upper(s), i2) WITH (pages_per_range = 2)')); }
	elsif ($kind == 8) { emit("ALTER TABLE $t ADD CONSTRAINT c$n CHECK (i4 IS NULL OR i4 > -2147483648)" . pick('', ' NOT VALID')); }
	elsif ($kind == 9) { emit("VACUUM FULL $t"); }
	elsif ($kind == 10) { emit(pick("VACUUM $t", "VACUUM (FREEZE, ANALYZE) $t", "ANALYZE $t", "REINDEX TABLE $t")); }
	elsif ($kind == 11) { emit("ALTER TABLE $t RENAME COLUMN s TO s_renamed"); ask("SELECT id, s_renamed FROM $t WHERE id % 30 = 1"); emit("ALTER TABLE $t RENAME COLUMN s_renamed TO s"); }
	elsif ($kind == 12) { emit("ALTER TABLE $t ALTER COLUMN s SET STORAGE " . pick(qw(external main extended plain))); }
	else { emit("CREATE STATISTICS st$n (ndistinct, dependencies, mcv) ON i2, i4 FROM $t"); emit("ANALYZE $t"); }
	check($t);
	return;
}

# Change a column's type, mostly where PostgreSQL does not rewrite the table, ask
# for it and change it back.
sub retype
{
	my ($t) = @_;
	my %other = (n2 => [ 'numeric(14,2)', 'numeric', 'numeric(20,2)', 'numeric(12,3)' ], i4 => [ 'oid USING (i4 % 1000)::oid', 'int8' ], v => [ 'varchar(20)', 'text' ], ts => ['timestamptz'], tz => ['timestamp'], dom => ['int'],
		n5 => ['numeric(30,2)'], vb => ['varbit(70)'], domt => [ 'text', 'varchar' ], s => [ 'text COLLATE "C"', 'varchar' ], sc => ['text COLLATE public.folded'], f4 => ['float8'], d => ['timestamp']);
	my $name = pick(grep { $has{$t}{$_} } sort keys %other) // return;

	emit("ALTER TABLE $t ALTER $name TYPE " . pick(@{ $other{$name} }));
	emit("INSERT INTO $t (id, $name) SELECT id + 7000, $name FROM $t WHERE id < 40") if chance(0.5);
	my $shown = $name eq 'f4' ? 'f4 + 0.0::float8' : $name;		# of -0 and 0 any may be shown

	ask($_) for "SELECT $shown, count(*), min(id) FROM $t GROUP BY 1", "SELECT id, $name FROM $t WHERE $name > (SELECT $name FROM $t ORDER BY $name, id LIMIT 1)", "SELECT count(DISTINCT $name), min($shown), max($shown) FROM $t",
		"SELECT id FROM $t WHERE $name IS NOT NULL ORDER BY $name DESC, id LIMIT 9";
	check($t);
	emit("ALTER TABLE $t ALTER $name TYPE $columns{$name}[0] USING $name" . ($name eq 'i4' ? '::int8::int' : ''));
	return;
}

# Queries explained or cancelled, work rolled back, loops that change what they read:
# nothing may be left behind.
sub disturb
{
	my $t = pick(@tables);
	my $query = query() =~ s/'/''/gr;

	emit("SELECT public.disturb('EXPLAIN (ANALYZE, VERBOSE, BUFFERS, FORMAT " . pick(qw(text json)) . ") $query', 0)") if chance(0.5);
	emit("SELECT public.disturb('" . sorted($query) . "', " . pick(1, 2, 5, 20) . ')') if chance(0.5);
	emit("SELECT public.disturb('UPDATE $t SET s = s || ''!'' WHERE id / (id - " . between(1, 900) . ") IS NOT NULL', 0)");
	emit("SELECT public.disturb('INSERT INTO $t (id, i4) SELECT i, 10 / (i - " . between(1, 3000) . ") FROM generate_series(1, 3000) i', 0)") if chance(0.5);
	emit("DO \$\$ DECLARE r record; BEGIN FOR r IN SELECT id FROM $t WHERE id % 40 = 1 ORDER BY id LOOP UPDATE $t SET i2 = 5 WHERE id = r.id; IF r.id % 3 = 0 THEN COMMIT; END IF; END LOOP; END \$\$") if chance(0.4);
	emit("DO \$\$ DECLARE c CURSOR FOR SELECT id FROM $t WHERE id % 30 = 2 ORDER BY id FOR UPDATE; BEGIN FOR r IN c LOOP UPDATE $t SET s = 'current' WHERE CURRENT OF c; END LOOP; END \$\$") if chance(0.4);
	emit("SELECT count(*) FROM (SELECT id FROM $t WHERE id % 9 = 1 FOR " . pick('UPDATE', 'SHARE', 'NO KEY UPDATE', 'KEY SHARE SKIP LOCKED') . ') q');
	check($t);
	return;
}

# A table that a transaction makes, fills, changes and empties, here and there from a
# savepoint; its cursors see what there was when they were opened.
sub made_here
{
	my $t = "made$step";
	my $kind = pick('', '', 'TEMP ', 'UNLOGGED ');
	my $end = $kind eq 'TEMP ' ? pick('', ' ON COMMIT DELETE ROWS', ' ON COMMIT DROP') : '';
	my @steps = (
		sub { my $first = between(1, 5000); "INSERT INTO $t (id, k, v) SELECT i, i % 7, 'made ' || i % 11 FROM generate_series($first, " . ($first + pick(0, 5, 1500, 3000)) . ') i ON CONFLICT DO NOTHING' },
		sub { "INSERT INTO $t (id, k, v) SELECT id + 10000, k, v FROM $t WHERE k = " . between(0, 6) . " ORDER BY id, v" }, sub { 'DELETE FROM ' . $t . ' WHERE id % ' . pick(1, 2, 5) . ' = 0' },
		sub { "UPDATE $t SET k = k + 1, v = v || '!' WHERE id % 3 = 1" }, sub { "TRUNCATE $t" . pick('', ' RESTART IDENTITY') }, sub { "TRUNCATE $t" },
		sub { "CREATE INDEX ON $t (" . pick('k', 'lower(v)', 'v, id') . ')' }, sub { "ALTER TABLE $t ALTER k TYPE " . pick('bigint', 'numeric', 'smallint') }, sub { "ALTER TABLE $t ADD added$step int DEFAULT 4" },
		sub { 'SAVEPOINT ' . pick('a', 'b') }, sub { 'SAVEPOINT a' }, sub { 'ROLLBACK TO ' . pick('a', 'b') }, sub { 'RELEASE ' . pick('a', 'b') }, sub { "REINDEX TABLE $t" },
		sub { "DECLARE over$step SCROLL CURSOR FOR SELECT id, k, v FROM $t WHERE id % 50 < 3 ORDER BY id" }, sub { "FETCH ALL FROM over" . ($step - between(1, 3)) }, sub { "SELECT id, k, v FROM $t WHERE id BETWEEN 1490 AND 1510 ORDER BY id" });

	# how many numbers a statement takes before it meets a key that there is, is nobody's business
	emit("CREATE ${kind}TABLE $t (id int" . pick(', n int GENERATED ALWAYS AS IDENTITY', ' PRIMARY KEY', ' PRIMARY KEY') . ", k int, v text)$end");
	for (1 .. between(6, 20))
	{
		emit(pick(@steps)->());
		check($t) if chance(0.5);
	}
	return;
}

sub transaction
{
	my $name = "g$step";

	emit(pick('BEGIN', 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'BEGIN ISOLATION LEVEL SERIALIZABLE'));
	made_here() if chance(0.5);
	change();
	emit('SAVEPOINT one');
	pick(\&change, \&change, \&alter)->();
	ask(query());
	emit(pick('ROLLBACK TO one', 'RELEASE one', 'SAVEPOINT two'));
	change();
	ask(query());
	if (chance(0.3)) { emit("PREPARE TRANSACTION '$name'"); emit(pick('COMMIT', 'ROLLBACK') . " PREPARED '$name'"); emit('ROLLBACK'); }
	else { emit(pick('COMMIT', 'ROLLBACK')); }
	check($_) for @tables;
	return;
}

sub cursor
{
	my $t = pick(@tables);

	emit('BEGIN');
	emit("DECLARE c" . pick(' NO SCROLL', ' SCROLL', ' SCROLL') . " CURSOR " . pick('', 'WITH HOLD ') . "FOR SELECT id, i4, s FROM $t WHERE " . predicate(0, $t) . " ORDER BY id, i4, s, $t\::text COLLATE \"C\"");
	emit('FETCH ' . pick('ALL', 'NEXT', '5', 'ABSOLUTE 3', 'BACKWARD 2', 'LAST', 'FIRST', 'RELATIVE 2') . ' FROM c') for 1 .. between(2, 6);
	emit('CLOSE c');
	emit("DECLARE d CURSOR FOR SELECT id FROM $t WHERE id % 10 = 3" . pick('', ' FOR UPDATE'));
	emit('MOVE 2 FROM d');
	emit("SELECT count(*) FROM $t");
	emit(pick('COMMIT', 'ROLLBACK'));
	return;
}

sub prepared
{
	my $t = pick(@tables);
	my $n = $step;
	my $agg = aggregate($t);

	emit('SET plan_cache_mode = ' . pick(qw(auto force_generic_plan force_custom_plan)));
	emit("PREPARE p$n (int, text, numeric, date) AS " . sorted(pick(
		"SELECT $agg, count(*) FROM $t WHERE i4 > \$1 AND s <> \$2 AND (\$3 IS NULL OR id > \$3) AND \$4 IS NOT NULL",
		"SELECT id FROM $t WHERE id BETWEEN \$1 AND \$3 OR s = \$2 AND \$4 > '2000-01-01'",
		"SELECT i2 % 5 AS k, $agg FROM $t WHERE i4 + \$1 > id AND s || \$2 <> 'x' AND \$3 > 1 AND coalesce(\$4, '2000-01-01') > '1999-01-01' GROUP BY 1",
		"SELECT id, \$1 + i4 AS x, \$2 || s AS y FROM $t WHERE i2 = ANY (ARRAY[\$1, \$3]) AND \$4 IS NOT NULL")));
	emit("EXECUTE p$n (" . join(', ', pick(0, 5, 40, 'NULL'), pick("'word 3'", "''", 'NULL'), pick(200, '1.5', 'NULL'), "'2020-01-01'") . ')') for 1 .. between(1, 4);
	emit("RESET plan_cache_mode");
	return;
}

# Triggers, foreign keys, row security and rules over a table of their own.
sub dependents
{
	my $n = $step;

	emit("CREATE TABLE parent$n (id int PRIMARY KEY, v text)");
	emit("CREATE TABLE child$n (id int, p int REFERENCES parent$n ON DELETE " . pick('CASCADE', 'SET NULL', 'NO ACTION', 'RESTRICT') . ' ON UPDATE CASCADE' . pick('', ' DEFERRABLE INITIALLY DEFERRED') . ', v text)');
	emit("CREATE TABLE log$n (what text, id int, old text, new text)");
	emit("CREATE FUNCTION note$n() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN INSERT INTO log$n VALUES (TG_OP || TG_WHEN, coalesce(OLD.id, NEW.id), OLD::text, NEW::text); RETURN coalesce(NEW, OLD); END \$\$");
	emit("CREATE FUNCTION total$n() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN INSERT INTO log$n SELECT 'sum', count(*), min(id)::text, max(v) FROM changed; RETURN NULL; END \$\$");
	emit("CREATE TRIGGER note BEFORE INSERT OR UPDATE OR DELETE ON parent$n FOR EACH ROW EXECUTE FUNCTION note$n()") if chance(0.5);
	emit("CREATE TRIGGER note2 AFTER INSERT OR UPDATE OR DELETE ON child$n FOR EACH ROW EXECUTE FUNCTION note$n()") if chance(0.5);
	emit("CREATE TRIGGER total AFTER UPDATE ON parent$n REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION total$n()");
	emit("CREATE TRIGGER total2 AFTER INSERT ON child$n REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION total$n()");
	emit("INSERT INTO parent$n SELECT i, 'p' || i % 9 FROM generate_series(1, 300) i");
	emit("INSERT INTO child$n SELECT i, 1 + i % 290, 'c' || i FROM generate_series(1, 900) i");
	emit("INSERT INTO child$n VALUES (5000, 100000, 'orphan')");
	emit("SELECT public.settle('parent$n'), public.settle('child$n')");
	emit("UPDATE parent$n SET id = id + 1000, v = v || '+' WHERE id % 17 = 3");
	emit("DELETE FROM parent$n WHERE id % 23 = 5");
	emit("DELETE FROM child$n WHERE id % 3 = 0");
	emit("DELETE FROM parent$n WHERE v = 'p3'");
	emit("UPDATE child$n SET p = 99999 WHERE id = 7");
	check("$_$n") for qw(parent child log);
	ask("SELECT p.v, count(*), min(c.v) FROM parent$n p LEFT JOIN child$n c ON c.p = p.id GROUP BY 1");
	emit("ALTER TABLE child$n ENABLE ROW LEVEL SECURITY");
	emit("CREATE POLICY odd ON child$n USING (id % 2 = 1 AND v < 'c7') WITH CHECK (id < 10000)");
	emit("GRANT ALL ON child$n, parent$n, log$n TO reader");
	emit("SET ROLE reader");
	ask("SELECT * FROM child$n WHERE v LIKE 'c%'");
	ask("SELECT p % 4 AS k, count(*), min(v) FROM child$n GROUP BY 1");
	emit("UPDATE child$n SET v = v || 'r' WHERE id % 5 = 1");
	emit("INSERT INTO child$n VALUES (20001, 5, 'refused')");
	emit("DELETE FROM child$n WHERE id < 100");
	emit('RESET ROLE');
	check("child$n");
	emit("CREATE VIEW view$n WITH (security_barrier) AS SELECT id, v FROM child$n WHERE id % 3 = 1");
	ask("SELECT * FROM view$n WHERE v ~ '5'");
	emit("UPDATE view$n SET v = 'through' WHERE id % 7 = 1");
	emit("CREATE MATERIALIZED VIEW mat$n AS SELECT p, count(*) AS n FROM child$n GROUP BY p");
	emit("CREATE UNIQUE INDEX ON mat$n (p)");
	emit("DELETE FROM child$n WHERE id % 4 = 1");
	emit("REFRESH MATERIALIZED VIEW CONCURRENTLY mat$n");
	check("$_$n") for qw(child mat log);
	emit("CREATE TABLE as$n AS SELECT * FROM child$n WHERE id % 2 = 0");
	emit("CREATE TABLE heir$n (extra int) INHERITS (child$n)");
	emit("INSERT INTO heir$n SELECT i, 5, 'h' || i, i FROM generate_series(1, 200) i");
	ask("SELECT v, count(*) FROM child$n WHERE id < 50 GROUP BY 1");
	emit("TRUNCATE parent$n CASCADE");
	check("$_$n") for qw(parent child as);
	emit("DROP TABLE parent$n, child$n, as$n, heir$n CASCADE");
	return;
}

# Queries that stay prepared, and functions with cached plans, to be run again while
# this session and another change what they read.
sub lasting
{
	my ($count) = @_;
	my @found;

	for my $n (1 .. $count)
	{
		my ($query, @parameters) = with_parameters(\&query);

		$query =~ s/(?:[<>=]|LIMIT|OFFSET) \K(\d+)\b/push @parameters, [ 'int', 'int', $1 ]; '$' . @parameters/ge if chance(0.5);
		if (@parameters && chance(0.3))
		{
			emit("CREATE FUNCTION f$n(" . join(', ', map { $_->[1] } @parameters) . ") RETURNS SETOF text LANGUAGE plpgsql AS \$\$ BEGIN RETURN QUERY " . sorted($query) . "; END \$\$");
			push @found, [ "SELECT f$n", @parameters ];
			next;
		}
		emit("PREPARE l$n" . (@parameters ? ' (' . join(', ', map { $_->[1] } @parameters) . ')' : '') . ' AS ' . sorted($query));
		push @found, [ "EXECUTE l$n", @parameters ];
	}
	return @found;
}

sub again
{
	my ($call, @parameters) = @{ $_[0] };
	my $values = join ', ', map { other_value($_) . ($call =~ /^SELECT/ ? "::$_->[1]" : '') } @parameters;

	emit($call . (@parameters || $call =~ /^SELECT/ ? " ($values)" : ''));
	return;
}

# An empty script, and tables made in one of those ways.
sub begin_script
{
	($script, $step, $next, $elsewhere, @tables) = ('', 0, 1, 0);
	fresh_numbers(int rand 1000000);
	%has = ();
	create_table("t$_", @_) for 1 .. 3;
	return;
}

sub end_script
{
	$elsewhere = 0;
	check($_) for @tables;
	return $script . "\\echo finished\n";
}

# Merge some table's rows into segments.
sub settle { emit("SELECT public.settle(relid::regclass::text) FROM pg_partition_tree('" . pick(@tables) . "') WHERE isleaf"); return; }

# Statements of every kind over a few random tables.
sub random_script
{
	my ($steps) = @_;

	begin_script('', '', '', 'UNLOGGED ', 'TEMP ');
	while ($step < $steps)
	{
		my $dice = rand;

		if ($dice < 0.62) { ask(query()); }
		elsif ($dice < 0.74) { change(); }
		elsif ($dice < 0.80) { settle(); }
		elsif ($dice < 0.87) { alter(); }
		elsif ($dice < 0.90) { transaction(); }
		elsif ($dice < 0.92) { cursor(); }
		elsif ($dice < 0.97) { prepared(); }
		elsif ($dice < 0.996) { disturb(); }
		else { dependents(); }
	}
	return end_script();
}

# Scenes about one of a few random tables, which a function writes with what follows.
sub step { return $step; }
sub random_alter { alter(); return; }

sub scene_script
{
	my ($steps, $scene, @kinds) = @_;

	begin_script(@kinds);
	$scene->(pick(@tables)) while $step < $steps;
	return end_script();
}

# Queries with an order, plain, through cursors and explained, and queries with
# expressions above groups; often they must be pushed down.
sub ordered_script
{
	my ($steps) = @_;

	begin_script('', '', 'TEMP ');
	while ($step < $steps)
	{
		my $dice = rand;
		my $required = $dice > 0.15 && chance(0.5);
		my $query = $dice < 0.6 ? ordered_query(pick(@tables)) : grouped_query(pick(@tables));

		if ($dice > 0.97) { change(); settle(); next; }
		emit('SET gpucol.pushdown = require') if $required;
		if ($dice > 0.6) { ask($query); }
		elsif ($dice < 0.15) { emit($_) for scrolling($query); }
		else { emit($query); }
		emit("SELECT public.disturb('EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) " . $query =~ s/'/''/gr . "', 0)") if chance(0.15);
		emit('RESET gpucol.pushdown') if $required;
	}
	return end_script();
}

# One session with prepared statements and functions that last, over tables that it
# and another session change.
sub sessions_script
{
	my ($steps) = @_;
	my @lasting;

	begin_script('', '', 'UNLOGGED ');
	emit('SET plan_cache_mode = ' . pick(qw(auto force_generic_plan)));
	@lasting = lasting(12);
	while ($step < $steps)
	{
		my $dice = rand;

		$elsewhere = $dice < 0.3;
		if ($dice < 0.09 || $dice > 0.91) { change(); }
		elsif ($dice < 0.16 || $dice > 0.85) { alter(); }
		elsif ($dice < 0.2) { disturb(); }
		elsif ($dice < 0.3) { settle(); }
		elsif ($dice < 0.35) { transaction(); }
		elsif ($dice < 0.40) { ask(query()); }
		else { again(pick(@lasting)); }
	}
	return end_script();
}

1;
