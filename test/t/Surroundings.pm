# Surroundings.pm: random scripts about what surrounds a table's rows, for
# 025_surroundings.pl: rights, policies, views, triggers, keys, changes of columns and
# types, partitions that come and go, savepoints, COPY (Twins.pm runs them).
#
# The tables are those of Statements.pm, three with random columns; each scene below
# writes a few statements about one of them, and leaves what it made or drops it.
package Surroundings;

use strict;
use warnings;
use Exporter 'import';
use Expressions;
use Gpucol qw(pick between);
use Statements qw(ask change check emit insert query random_alter scene_script settle sorted step);

our @EXPORT = qw(surroundings surrounded_script);

# Types and functions that both schemas share.
sub surroundings
{
	return <<'SQL';
-- raises an error for a row that nobody may look at before its policy has been tested
CREATE FUNCTION nosy(hidden bool) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS $$
BEGIN
	IF hidden THEN RAISE 'a hidden row was looked at'; END IF;
	RETURN true;
END $$;
CREATE FUNCTION nosy_text(hidden bool, value text) RETURNS text LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS $$
BEGIN
	IF hidden THEN RAISE 'a hidden row was looked at'; END IF;
	RETURN value;
END $$;
CREATE FUNCTION rebuild(name text, method text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF (SELECT amname FROM pg_am JOIN pg_class c ON relam = pg_am.oid WHERE c.oid = name::regclass) IN ('gpucol', 'heap') AND current_setting('default_table_access_method') = 'gpucol' THEN
		EXECUTE format('ALTER TABLE %s SET ACCESS METHOD %s', name, method);
	END IF;
END $$;
SQL
}

sub few { my ($column) = @_; return "$column % " . pick(2, 3, 7, 20) . ' = ' . between(0, 1); }
sub merged { my ($t) = @_; emit("SELECT public.settle(relid::regclass::text) FROM pg_partition_tree('$t') WHERE isleaf"); return; }

# Queries of a table by its aggregates, filters and order.
sub asked
{
	my ($t) = @_;

	ask("SELECT " . join(', ', map { aggregate($t) . " AS a$_" } 1 .. 3) . " FROM $t " . where($t));
	ask("SELECT " . key($t) . " AS k, count(*), " . aggregate($t) . " FROM $t " . where($t) . ' GROUP BY 1') if chance(0.6);
	ask("SELECT id FROM $t " . where($t)) if chance(0.6);
	check($t);
	return;
}

# ---- scenes; each takes a table and a number of its own ----

# Row security, with conditions that tell what they are shown.
sub policies
{
	my ($t, $n) = @_;
	my @hidden = ('id % 3 = 0', 'i4 % 2 = 0', "s < 'm'", 'i2 IS NULL', 'id BETWEEN 50 AND 200', "s LIKE 'word%'", 'i4 > 20 AND i2 < 100', predicate(1, $t));
	my $hidden = pick(@hidden);
	my $also = pick(@hidden);

	emit("ALTER TABLE $t ENABLE ROW LEVEL SECURITY" . pick('', ', FORCE ROW LEVEL SECURITY'));
	emit("CREATE POLICY p$n ON $t FOR " . pick('ALL', 'ALL', 'SELECT') . " USING (($hidden) IS NOT TRUE)" );
	emit("CREATE POLICY q$n ON $t AS RESTRICTIVE FOR " . pick('ALL', 'SELECT', 'UPDATE', 'DELETE') . " USING (($also) IS NOT TRUE)") if chance(0.4);
	emit("CREATE POLICY r$n ON $t FOR INSERT WITH CHECK (id % 5 <> 1)") if chance(0.5);
	emit("GRANT ALL ON $t TO reader");
	emit('SET ROLE reader');
	for (1 .. between(4, 9))
	{
		my $more = chance(0.5) ? ' AND ' . predicate(1, $t) : '';
		my $nosy = "public.nosy(($hidden) IS TRUE)";
		ask(pick("SELECT id, i4, s FROM $t WHERE $nosy$more", "SELECT count(*) FROM $t WHERE $nosy$more", "SELECT " . key($t) . " AS k, count(*), min(public.nosy_text(($hidden) IS TRUE, s)) FROM $t WHERE true$more GROUP BY 1",
			"SELECT public.nosy_text(($hidden) IS TRUE, s) AS k, count(*) FROM $t GROUP BY 1", "SELECT " . aggregate($t) . " AS a, count(*) FILTER (WHERE $nosy) FROM $t WHERE true$more", "SELECT x.id FROM $t x JOIN $t y ON x.id = y.id WHERE " . $nosy =~ s/\b(id|i4|i2|s)\b/y.$1/gr . " AND x.id < 100",
			"SELECT id, i4 FROM $t WHERE $nosy ORDER BY i4, id, s, i2 LIMIT 5", query()));
	}
	emit(returning_some("UPDATE $t SET i4 = i4 + 1 WHERE public.nosy(($hidden) IS TRUE) AND " . few('id')));
	emit("UPDATE $t SET s = 'changed', i2 = NULL WHERE " . predicate(1, $t));
	emit("INSERT INTO $t (id, i4, s) SELECT i, i, 'word ' || i FROM generate_series(100001, 100001 + " . pick(3, 300) . ') i WHERE i % ' . pick(5, 100) . ' <> 1');
	emit("INSERT INTO $t (id, i4, s) VALUES (100301, 1, 'refused') RETURNING id");
	emit(returning_some("DELETE FROM $t WHERE public.nosy(($hidden) IS TRUE) AND " . few('id')));
	emit("COPY (SELECT id FROM $t ORDER BY id, i4, s) TO stdout") if chance(0.5);
	emit("TRUNCATE $t") if chance(0.05);
	emit('RESET ROLE');
	check($t);
	emit("DROP POLICY p$n ON $t");
	emit("ALTER TABLE $t DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY");
	return;
}

sub returning_some { my ($sql) = @_; return chance(0.5) ? $sql : "WITH q AS ($sql RETURNING id) " . sorted('SELECT * FROM q'); }

# What a role may read and write by column, directly and through views and functions.
sub rights
{
	my ($t, $n) = @_;

	emit("REVOKE ALL ON $t FROM reader");
	emit("GRANT SELECT (id, i4), UPDATE (s), INSERT (id, s) ON $t TO reader");
	emit("CREATE VIEW v$n AS SELECT * FROM $t WHERE i4 > 3");
	emit("CREATE VIEW w$n WITH (security_barrier) AS SELECT id, s, i4 FROM $t WHERE id % 3 <> 0 WITH CHECK OPTION");
	emit("CREATE VIEW x$n WITH (security_invoker) AS SELECT id, i2 FROM $t");
	emit("GRANT ALL ON v$n, w$n, x$n TO reader");
	emit("CREATE FUNCTION definer$n() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT sum(length(s)) FROM $t'");
	emit('SET ROLE reader');
	ask($_) for "SELECT count(*) FROM $t", "SELECT sum(i4) FROM $t WHERE id > 5", "SELECT * FROM $t", "SELECT count(s) FROM $t", "SELECT id FROM $t WHERE s = 'x'", "SELECT i4, count(*) FROM $t GROUP BY i4", "SELECT max(i2) FROM $t",
		"SELECT id FROM $t ORDER BY s LIMIT 3", "SELECT count($t) FROM $t", "SELECT count(*) FROM v$n WHERE " . predicate(1, $t), "SELECT id, s FROM w$n WHERE public.nosy(id % 3 = 0) AND s LIKE '%1%'", "SELECT count(*) FROM x$n", "SELECT count(id) FROM x$n", "SELECT definer$n()",
		"SELECT y.id FROM w$n x JOIN $t y ON x.id = y.id WHERE public.nosy(x.id % 3 = 0)";
	emit($_) for "UPDATE $t SET s = 'by right' WHERE id % 9 = 4", "UPDATE $t SET i4 = 1 WHERE id = 4", "UPDATE $t SET s = s WHERE id = 3", "DELETE FROM $t WHERE id = 1", "INSERT INTO $t (id, s) VALUES (200000, 'mine')", "INSERT INTO $t (id, i4) VALUES (200001, 1)",
		"UPDATE w$n SET id = 300 WHERE id = 301", "UPDATE w$n SET s = 'viewed' WHERE public.nosy(id % 3 = 0) AND id % 4 = 1", "DELETE FROM w$n WHERE id % 50 = 1", "INSERT INTO w$n (id, s) VALUES (200002, 'via')", "INSERT INTO w$n (id, s) VALUES (200004, 'via')", "SELECT id FROM $t WHERE id = 7 FOR UPDATE", "COPY $t (id, i4) TO '/dev/null'", "LOCK TABLE $t";
	emit('RESET ROLE');
	check($t);
	emit("DROP VIEW v$n, w$n, x$n");
	return;
}

# Columns come, go and change; what was loaded before has none, a default, or another type.
sub columns
{
	my ($t, $n) = @_;
	my $u = "cols$n";
	my ($m, @names) = (0, 'k');
	my @types = (
		[ 'int', '7', 'id % 50' ], [ 'int8', '9000000000000000000', 'id::int8 * 1000000007' ], [ 'int2', '-5', 'id % 100' ], [ 'text', "'default'", "'t' || id % 20" ], [ 'text', "''", "repeat('long ', 900) || id % 3" ],
		[ 'numeric(10,2)', '1.50', 'id % 1000 / 8.0' ], [ 'numeric', '1e30', 'id / 3.0' ], [ 'float8', "'NaN'", 'id / 4.0' ], [ 'real', '0.1', 'id % 7' ], [ 'bool', 'true', 'id % 2 = 0' ], [ 'date', "'infinity'", "date '2020-01-01' + id" ], [ 'timestamptz', "'2020-01-01 00:00+00'", "timestamptz '2020-01-01Z' + id * interval '1 minute'" ],
		[ 'uuid', "'00000000-0000-0000-0000-000000000001'", 'md5(id::text)::uuid' ], [ 'char(4)', "'ab'", "'c' || id % 9" ], [ 'jsonb', q('{"a": 1}'), q(jsonb_build_object('a', id % 4)) ], [ 'int[]', "'{1,2}'", 'ARRAY[id % 3, NULL]' ], [ 'public.mood', "'ok'", "'sad'" ], [ 'interval', "'1 day'", "id * interval '1 hour'" ],
		[ 'public.small', '3', 'id % 90' ], [ 'public.pair', "'(1,x)'", "ROW(id, 'y')::public.pair" ], [ 'inet', "'10.0.0.1'", "inet '10.0.0.0' + id" ], [ 'bytea', q('\xff'), "decode(md5(id::text), 'hex')" ], [ 'money', '5', 'id::money' ], [ 'name', "'nm'", "('n' || id % 4)::name" ], [ 'int4range', "'[1,3)'", 'int4range(id, id + 3)' ], [ 'varchar(8)', "'v'", "left(md5(id::text), 8)" ], [ 'timetz', "'12:00+02'", "'01:00+00'" ]);
	my %value = (k => 'id % 11');
	my %type = (k => 'int');
	my $load = sub {
		my ($rows) = @_;
		my $from = $m * 10000;
		$m++;
		my @set = grep { chance(0.8) } @names;
		emit("INSERT INTO $u (" . join(', ', 'id', @set) . ') SELECT ' . join(', ', 'id', map { $value{$_} } @set) . " FROM generate_series($from, $from + $rows) id");
	};
	my $ask = sub {
		for my $c (grep { chance(0.5) } @names)
		{
			my $shown = $type{$c} =~ /^(?:numeric|real|float8)/ ? "($c)::float8::text" : $c;
			ask(pick("SELECT $shown AS k, count(*), min(id), max(id) FROM $u GROUP BY 1", "SELECT count(*), count($c), count(DISTINCT $c) FROM $u", "SELECT id FROM $u WHERE $c IS NULL", "SELECT id, $c FROM $u WHERE id % 100 = 3", "SELECT id, $shown FROM $u ORDER BY $c DESC NULLS LAST, id LIMIT 12",
				"SELECT count(*) FROM $u WHERE $c = (SELECT $c FROM $u WHERE $c IS NOT NULL ORDER BY id " . pick('', 'DESC') . ' LIMIT 1)', "SELECT count(*) FROM $u WHERE $c > (SELECT $c FROM $u WHERE $c IS NOT NULL ORDER BY id " . pick('', 'DESC') . ' LIMIT 1)', "SELECT max(id), count(*) FILTER (WHERE $c IS NOT NULL) FROM $u WHERE id % 3 = 1",
				$type{$c} =~ /^(?:int|numeric|float8|real|date|time|text|char|var)/ && $type{$c} !~ /\[|range/ ? "SELECT min($c)::text::varchar, max($c)::text::varchar FROM $u WHERE k > 4" : "SELECT count(*) FROM $u WHERE NOT ($c IS NULL)")) if $type{$c} ne 'public.pair' || chance(0.3);
		}
		check($u);
	};

	emit("CREATE TABLE $u (id int" . pick('', ' PRIMARY KEY') . ', k int)');
	$load->(pick(5, 1200, 3000));
	for (1 .. between(6, 16))
	{
		my $kind = rand;
		my $c = "c" . ++$m;
		my $saved = chance(0.25);
		my @before = @names;
		my %before = %type;

		if ($saved) { emit('BEGIN'); emit('SAVEPOINT one'); }
		if ($kind < 0.4)
		{
			my ($type, $default, $value) = @{ pick(@types) };
			emit("ALTER TABLE $u ADD COLUMN $c $type" . pick('', " DEFAULT $default", " DEFAULT $default", " DEFAULT $default NOT NULL"));
			push @names, $c;
			($value{$c}, $type{$c}) = ($value, $type);
			emit("ALTER TABLE $u ALTER $c " . pick('DROP DEFAULT', 'DROP NOT NULL', 'SET NOT NULL')) if chance(0.3);
		}
		elsif ($kind < 0.5 && @names > 1)
		{
			my $gone = pick(grep { $_ ne 'k' } @names);
			emit("ALTER TABLE $u DROP COLUMN $gone" . (chance(0.3) ? ", ADD COLUMN $gone $type{$gone}" : ''));
			my $back = step() && 0;
			@names = grep { $_ ne $gone } @names;
			emit("ALTER TABLE $u DROP COLUMN IF EXISTS $gone");
		}
		elsif ($kind < 0.6) { emit("ALTER TABLE $u ALTER k TYPE " . pick('int8', 'numeric', 'text USING k::text', 'int2', 'numeric(20,2)', 'float8', 'real')); $load->(pick(3, 500)); emit("SELECT k::text::float8, count(*) FROM $u GROUP BY 1 ORDER BY 1"); emit("ALTER TABLE $u ALTER k TYPE int USING k::text::float8::int"); }
		elsif ($kind < 0.65) { emit("ALTER TABLE $u ADD COLUMN $c int GENERATED ALWAYS AS (k * 2) STORED"); ask("SELECT $c, count(*) FROM $u GROUP BY 1"); emit("ALTER TABLE $u ALTER $c DROP EXPRESSION"); push @names, $c; $value{$c} = 'id % 3'; $type{$c} = 'int'; }
		elsif ($kind < 0.7) { emit("ALTER TABLE $u ADD COLUMN $c int DEFAULT (public.pseudo(3, 4, 100)) CHECK ($c >= 0)"); push @names, $c; $value{$c} = 'id % 3'; $type{$c} = 'int'; }
		elsif ($kind < 0.76) { emit(pick("CREATE INDEX ON $u (" . pick(@names) . ')', "CREATE INDEX ON $u (" . pick(@names) . ", id)", "CREATE UNIQUE INDEX ON $u (id)")); }
		elsif ($kind < 0.82) { emit("UPDATE $u SET " . join(', ', map { "$_ = " . pick('NULL', $value{$_}, 'DEFAULT') } grep { chance(0.4) || $_ eq 'k' } @names) . ' WHERE ' . few('id')); }
		elsif ($kind < 0.86) { emit("DELETE FROM $u WHERE " . few('id')); }
		elsif ($kind < 0.9) { emit("ALTER TABLE $u RENAME TO ${u}_other"); emit("CREATE TABLE $u (LIKE ${u}_other INCLUDING ALL)"); emit("INSERT INTO $u SELECT * FROM ${u}_other"); emit("DROP TABLE ${u}_other"); }
		elsif ($kind < 0.93) { emit(pick("VACUUM $u", "VACUUM FULL $u", "REINDEX TABLE $u", "ANALYZE $u")) unless $saved; }
		elsif ($kind < 0.96) { emit("SELECT public.rebuild('$u', 'heap')"); $load->(pick(3, 500)); $ask->(); emit("SELECT public.rebuild('$u', 'gpucol')"); }
		else { emit("TRUNCATE $u"); $load->(600); }
		$load->(pick(2, 40, 1500)) if chance(0.5);
		merged($u) if chance(0.4) && !$saved;
		$ask->() if chance(0.6);
		if ($saved)
		{
			my $end = pick('ROLLBACK TO one', 'ROLLBACK TO one', 'RELEASE one');
			emit($end);
			if ($end =~ /^ROLL/) { @names = @before; %type = %before; }
			$load->(20);
			$ask->();
			emit('COMMIT');
		}
	}
	$ask->();
	emit("CREATE TABLE copy$n AS SELECT * FROM $u");
	check("copy$n");
	emit("DROP TABLE $u, copy$n");
	return;
}

# Types that change beneath packed rows.
sub types
{
	my ($t, $n) = @_;

	emit("CREATE TYPE color$n AS ENUM ('red', 'green', 'blue')");
	emit("CREATE TYPE both$n AS (x int, y text)");
	emit("CREATE DOMAIN positive$n AS numeric(8,2)");
	emit("CREATE TABLE typed$n (id int, e color$n, b both$n, p positive$n, ea color$n\[], ba both$n\[])");
	emit("INSERT INTO typed$n SELECT i, (ARRAY['red', 'green', 'blue']::color$n\[])[1 + i % 3], ROW(i % 5, 'y' || i % 3), i % 100, ARRAY['blue', 'red']::color$n\[], ARRAY[ROW(1, 'a')::both$n] FROM generate_series(1, 1500) i");
	merged("typed$n");
	emit("ALTER TYPE color$n ADD VALUE 'orange' " . pick("BEFORE 'red'", "AFTER 'red'", "BEFORE 'blue'", ''));
	emit("ALTER TYPE color$n ADD VALUE 'black' " . pick("BEFORE 'red'", "AFTER 'red'", "BEFORE 'blue'", ''));
	emit("INSERT INTO typed$n (id, e) SELECT i, (ARRAY['orange', 'black', 'red']::color$n\[])[1 + i % 3] FROM generate_series(2001, " . pick(2010, 3500) . ') i');
	merged("typed$n") if chance(0.5);
	for my $value (qw(orange black red green blue))
	{
		ask("SELECT count(*), min(id) FROM typed$n WHERE e " . pick('<', '<=', '>', '>=', '=', '<>') . " '$value'") for 1 .. 2;
	}
	ask("SELECT min(e), max(e), count(DISTINCT e) FROM typed$n");
	emit("SELECT e, count(*) FROM typed$n GROUP BY e ORDER BY e");
	emit("SELECT e, id FROM typed$n ORDER BY e DESC NULLS LAST, id LIMIT 5");
	emit("SELECT id FROM typed$n WHERE e BETWEEN 'orange' AND 'green' ORDER BY e, id LIMIT 5");
	emit("CREATE INDEX ON typed$n (e)");
	emit("ALTER TYPE color$n RENAME VALUE 'red' TO 'crimson'");
	emit("SELECT e, count(*) FROM typed$n WHERE e <= 'crimson' GROUP BY e ORDER BY e");
	emit("ALTER TYPE both$n " . pick('ADD ATTRIBUTE z int', 'DROP ATTRIBUTE x', 'RENAME ATTRIBUTE y TO yy', 'ADD ATTRIBUTE z text CASCADE', 'ALTER ATTRIBUTE x TYPE int8'));
	check("typed$n");
	ask("SELECT b, count(*) FROM typed$n GROUP BY b");
	emit("INSERT INTO typed$n (id, b) SELECT id + 5000, b FROM typed$n WHERE id < 50");
	check("typed$n");
	emit("ALTER DOMAIN positive$n ADD CONSTRAINT limit$n CHECK (VALUE < " . pick(50, 200) . ')');
	emit("ALTER DOMAIN positive$n SET NOT NULL");
	emit("INSERT INTO typed$n (id, p) VALUES (1, 300)");
	emit("INSERT INTO typed$n (id, p) VALUES (1, 30)");
	emit("ALTER TABLE typed$n ALTER e TYPE text USING e::text, ALTER p TYPE int");
	ask("SELECT e, p, count(*) FROM typed$n GROUP BY 1, 2");
	emit("DROP TABLE typed$n");
	return;
}

# Triggers that change, refuse and record rows, and read the table they guard.
sub triggers
{
	my ($t, $n) = @_;
	my $u = "guard$n";
	my $body = pick("NEW.v := NEW.v || '+'; RETURN NEW;", "IF NEW.id % 4 = 0 THEN RETURN NULL; END IF; RETURN NEW;", "NEW.k := (SELECT count(*) FROM $u WHERE id < 10); RETURN NEW;", "IF NEW.id = 77 THEN RAISE 'seventy-seven'; END IF; RETURN NEW;",
		"IF NEW.id % 100 = 1 THEN INSERT INTO $u (id, k, v) VALUES (NEW.id + 50003, 1, 'child'); END IF; RETURN NEW;");

	emit("CREATE TABLE $u (id int" . pick('', ' PRIMARY KEY') . ", k int, v text, g int GENERATED ALWAYS AS (k + 1) STORED)");
	emit("CREATE TABLE seen$n (what text, n bigint, a bigint, b text)");
	emit("INSERT INTO $u (id, k, v) SELECT i, i % 9, 'v' || i % 5 FROM generate_series(1, 1200) i");
	merged($u) if chance(0.7);
	emit("CREATE FUNCTION before$n() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN $body END \$\$");
	emit("CREATE FUNCTION gone$n() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN IF OLD.id % 6 = 1 THEN RETURN NULL; END IF; RETURN OLD; END \$\$");
	emit("CREATE FUNCTION row$n() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN INSERT INTO seen$n VALUES (TG_OP || TG_NAME, coalesce(NEW.id, OLD.id), (SELECT count(*) FROM $u WHERE id < 30), OLD::text || NEW::text); RETURN NULL; END \$\$");
	emit("CREATE FUNCTION all$n() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN IF TG_OP <> 'INSERT' THEN INSERT INTO seen$n SELECT TG_OP || ' old', count(*), sum(id), max(v) FROM old_rows; END IF; IF TG_OP <> 'DELETE' THEN INSERT INTO seen$n SELECT TG_OP || ' new', count(*), sum(g), min(v) FROM new_rows; END IF; RETURN NULL; END \$\$");
	emit("CREATE TRIGGER b BEFORE " . pick('INSERT', 'UPDATE', 'INSERT OR UPDATE', 'UPDATE OF k') . " ON $u FOR EACH ROW " . pick('', 'WHEN (NEW.id % 3 = 1) ') . "EXECUTE FUNCTION before$n()") if chance(0.7);
	emit("CREATE TRIGGER d BEFORE DELETE ON $u FOR EACH ROW EXECUTE FUNCTION gone$n()") if chance(0.4);
	emit("CREATE " . pick('', 'CONSTRAINT ') . "TRIGGER r AFTER " . pick('INSERT', 'UPDATE', 'DELETE', 'INSERT OR UPDATE OR DELETE') . " ON $u FOR EACH ROW EXECUTE FUNCTION row$n()") if chance(0.6);
	emit("CREATE CONSTRAINT TRIGGER late AFTER INSERT OR UPDATE OR DELETE ON $u DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION row$n()") if chance(0.4);
	if (chance(0.7))
	{
		emit("CREATE TRIGGER ai AFTER INSERT ON $u REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION all$n()");
		emit("CREATE TRIGGER au AFTER UPDATE ON $u REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION all$n()");
		emit("CREATE TRIGGER ad AFTER DELETE ON $u REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION all$n()");
	}
	for (1 .. between(4, 9))
	{
		my $first = between(1, 3000);
		my $last = $first + pick(0, 3, 60, 1500);
		my $begun = chance(0.3);

		emit('BEGIN') if $begun;
		emit(pick("INSERT INTO $u (id, k, v) SELECT i, i % 7, 'new' FROM generate_series($first, $last) i ON CONFLICT DO NOTHING", "INSERT INTO $u (id, k, v) SELECT i, i % 7, 'new' FROM generate_series($first, $last) i ON CONFLICT (id) DO UPDATE SET v = excluded.v || $u.v, k = excluded.k",
			"UPDATE $u SET k = k + 1 WHERE id BETWEEN $first AND $last", "UPDATE $u SET v = v || '!' WHERE k = " . between(0, 8), "DELETE FROM $u WHERE id BETWEEN $first AND $last AND k < 5",
			"MERGE INTO $u USING (SELECT i, i % 5 AS k FROM generate_series($first, $last) i) s ON s.i = $u.id WHEN MATCHED AND s.k = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'merged' WHEN NOT MATCHED AND s.k = 2 THEN INSERT (id, k, v) VALUES (s.i, s.k, 'm')",
			"COPY $u (id, k, v) FROM stdin;\n" . join('', map { ($first + 7000 + $_) . "\t$_\tcopied\n" } 1 .. pick(2, 1100)) . "\\.\n\\echo",
			"WITH d AS (DELETE FROM $u WHERE id % 10 = 3 AND id < $last RETURNING *), i AS (INSERT INTO $u (id, k, v) SELECT id + 9000, k, v FROM d RETURNING id) SELECT (SELECT count(*) FROM d), (SELECT count(*) FROM i), (SELECT count(*) FROM $u)"));
		emit("SELECT count(*), sum(k) FROM $u") if $begun;
		emit(pick('COMMIT', 'COMMIT', 'ROLLBACK')) if $begun;
		merged($u) if chance(0.3);
		check($_) for $u, "seen$n";
		ask("SELECT v, count(*), sum(g), sum(k) FROM $u GROUP BY 1");
	}
	emit("DROP TABLE $u, seen$n");
	emit("DROP FUNCTION before$n, gone$n, row$n, all$n CASCADE");
	return;
}

# Foreign keys with every action, tables that refer to themselves, deferred uniqueness.
sub keys_between
{
	my ($t, $n) = @_;
	my $actions = sub { return join ' ', 'ON DELETE ' . pick('CASCADE', 'SET NULL', 'SET DEFAULT', 'NO ACTION', 'RESTRICT', 'SET NULL (p)'), 'ON UPDATE ' . pick('CASCADE', 'CASCADE', 'SET NULL', 'NO ACTION'), pick('', '', 'DEFERRABLE', 'DEFERRABLE INITIALLY DEFERRED') };
	my $parted = chance(0.3);

	emit("CREATE TABLE top$n (id int PRIMARY KEY, code text UNIQUE" . pick('', ' DEFERRABLE INITIALLY DEFERRED', ' NULLS NOT DISTINCT') . ", up int REFERENCES top$n " . $actions->() . ')');
	emit("CREATE TABLE low$n (id int, p int DEFAULT 1 REFERENCES top$n " . $actions->() . ', v text)' . ($parted ? ' PARTITION BY RANGE (id)' : ''));
	if ($parted) { emit("CREATE TABLE low${n}_1 PARTITION OF low$n FOR VALUES FROM (MINVALUE) TO (500)"); emit("CREATE TABLE low${n}_2 PARTITION OF low$n DEFAULT"); }
	emit("INSERT INTO top$n SELECT i, 'c' || i, nullif(i / 3, 0) FROM generate_series(1, 400) i");
	emit("INSERT INTO low$n SELECT i, 1 + i % 390, 'v' || i % 8 FROM generate_series(1, 1500) i");
	merged("top$n") if chance(0.6);
	merged("low$n") if chance(0.6);
	for (1 .. between(5, 10))
	{
		my $x = between(1, 420);
		my $begun = chance(0.4);

		emit('BEGIN') if $begun;
		for (1 .. ($begun ? 3 : 1))
		{
			emit(pick("DELETE FROM top$n WHERE id = $x", "DELETE FROM top$n WHERE id BETWEEN $x AND $x + 10", "UPDATE top$n SET id = id + 1000 WHERE id % 40 = $x % 40", "UPDATE top$n SET id = -id WHERE id = $x", "UPDATE top$n SET code = 'c' || (id + 1) WHERE id BETWEEN $x AND $x + 5", "UPDATE low$n SET p = $x WHERE id % 50 = 3",
				"UPDATE low$n SET p = 5000 + $x WHERE id = $x", "INSERT INTO low$n SELECT i, $x, 'more' FROM generate_series(1, 700) i", "INSERT INTO low$n VALUES (1, 5000 + $x, 'orphan')", "INSERT INTO top$n SELECT i, 'n' || i, $x FROM generate_series(2000 + $x, 2010 + $x) i ON CONFLICT DO NOTHING", "INSERT INTO top$n VALUES (7000 + $x, NULL, 7001 + $x), (7001 + $x, NULL, NULL)",
				"UPDATE top$n SET code = lag FROM (SELECT id, lag(code) OVER (ORDER BY id) FROM top$n WHERE id BETWEEN $x AND $x + 3) o WHERE o.id = top$n.id", "DELETE FROM low$n WHERE p = $x", "SET CONSTRAINTS ALL " . pick('IMMEDIATE', 'DEFERRED'), "TRUNCATE top$n", "UPDATE low$n SET id = id + 600 WHERE id % 90 = 5", "SAVEPOINT k", "ROLLBACK TO k"));
		}
		emit(pick('COMMIT', 'COMMIT', 'ROLLBACK')) if $begun;
		check($_) for "top$n", "low$n";
		ask("SELECT t.up, count(l.id), min(l.v) FROM top$n t LEFT JOIN low$n l ON l.p = t.id GROUP BY 1");
		merged(pick("top$n", "low$n")) if chance(0.3);
	}
	emit("ALTER TABLE low$n DROP CONSTRAINT low${n}_p_fkey");
	emit("UPDATE low$n SET p = 99999 WHERE id % 700 = 3");
	emit("ALTER TABLE low$n ADD FOREIGN KEY (p) REFERENCES top$n" . pick('', ' NOT VALID'));
	emit("DROP TABLE top$n, low$n CASCADE");
	return;
}

# Partitions are attached, detached, filled apart and moved between.
sub partitions
{
	my ($t, $n) = @_;
	my $p = "part$n";
	my $count = 0;
	my $new = sub {
		my ($from, $to) = @_;
		my $name = "${p}_" . ++$count;
		my $odd = chance(0.5);
		emit("CREATE TABLE $name (" . ($odd ? 'gone text, v text, k int, id int, late numeric' : 'id int, k int, v text') . ')');
		emit("INSERT INTO $name (id, k, v) SELECT i, i % 13, 'v' || i % 7 FROM generate_series($from, $to - 1) i WHERE i % 2 = 0");
		if ($odd) { emit("ALTER TABLE $name DROP gone, DROP late"); emit("INSERT INTO $name (id, k, v) SELECT i, i % 13, 'w' || i % 7 FROM generate_series($from, $to - 1) i WHERE i % 3 = 0"); }
		merged($name) if chance(0.5);
		return $name;
	};
	my $ask = sub {
		ask(pick("SELECT k, count(*), min(v), max(id) FROM $p GROUP BY k", "SELECT tableoid::regclass::text, count(*) FROM $p GROUP BY 1", "SELECT count(*), sum(k) FROM $p WHERE id BETWEEN 500 AND 1500", "SELECT v, count(*) FROM $p WHERE k < 5 GROUP BY v", "SELECT id, v FROM $p WHERE v = 'w3' AND k = 4", "SELECT min(id), max(id), count(DISTINCT v) FROM $p")) for 1 .. 2;
		emit("SELECT id, k, v FROM $p WHERE k > 2 ORDER BY " . pick('id', 'k, id', 'v DESC, id') . ', k, v LIMIT 7');
		check($p);
	};

	emit("CREATE TABLE $p (id int, k int, v text DEFAULT 'none') PARTITION BY RANGE (id)");
	my @there = map { my $name = $new->($_ * 1000, $_ * 1000 + 1000); emit("ALTER TABLE $p ATTACH PARTITION $name FOR VALUES FROM (" . $_ * 1000 . ') TO (' . ($_ + 1) * 1000 . ')'); $name } 0 .. 2;
	emit("CREATE INDEX ON $p (k)") if chance(0.5);
	emit("ALTER TABLE $p ADD PRIMARY KEY (id)") if chance(0.1);
	for (1 .. between(5, 10))
	{
		my $one = pick(@there);
		my $i = (grep { $there[$_] eq $one } 0 .. $#there)[0];
		my $bound = 'FOR VALUES FROM (' . $i * 1000 . ') TO (' . ($i + 1) * 1000 . ')';
		my $kind = int rand 9;

		if ($kind == 0) { emit("ALTER TABLE $p DETACH PARTITION $one"); $ask->(); check($one); emit("INSERT INTO $one (id, k, v) SELECT id, k + 1, 'apart' FROM $one WHERE k = 3"); emit("ALTER TABLE $p ATTACH PARTITION $one $bound"); }
		elsif ($kind == 1) { emit("ALTER TABLE $p DETACH PARTITION $one"); $there[$i] = $new->($i * 1000, $i * 1000 + 1000); emit("ALTER TABLE $p ATTACH PARTITION $there[$i] $bound"); emit("DROP TABLE $one"); }
		elsif ($kind == 2) { emit("ALTER TABLE $p DETACH PARTITION $one"); emit("INSERT INTO $one (id, k, v) VALUES (9000, 1, 'astray')"); emit("ALTER TABLE $p ATTACH PARTITION $one $bound"); emit("DELETE FROM $one WHERE id = 9000"); emit("ALTER TABLE $p ATTACH PARTITION $one $bound"); }
		elsif ($kind == 3) { emit("UPDATE $p SET id = (id + 1000) % 3000 WHERE k = " . between(0, 12)); }
		elsif ($kind == 4) { emit("INSERT INTO $p SELECT i % 3000, i % 13, 'x' || i % 4 FROM generate_series(1, " . pick(5, 2500) . ') i' . pick('', ' ON CONFLICT DO NOTHING')); emit("INSERT INTO $p VALUES (5000, 1, 'nowhere')"); }
		elsif ($kind == 5) { emit("ALTER TABLE $p ADD COLUMN more$_ " . pick('int DEFAULT 4', 'text', "text DEFAULT 'm'")); }
		elsif ($kind == 6) { emit("ALTER TABLE $p ALTER k TYPE " . pick('int8', 'numeric', 'int')); emit("ALTER TABLE $p ALTER k TYPE int"); }
		elsif ($kind == 7) { emit("SELECT public.rebuild('$one', '" . pick('heap', 'gpucol') . "')"); }
		else { emit("DELETE FROM $p WHERE v < 'v4' AND k = " . between(0, 12)); emit("TRUNCATE $one") if chance(0.2); }
		$ask->();
	}
	emit("DROP TABLE $p");
	return;
}

# Loads in subtransactions of which some fail.
sub savepoints
{
	my ($t, $n) = @_;
	my $u = "saved$n";
	my $rows = pick(1, 3, 1100);
	my $loops = $rows > 100 ? 8 : pick(30, 90);
	my $index = pick('', ' PRIMARY KEY');

	emit("CREATE TABLE $u (id int$index, k int, v text)");
	emit("DO \$\$ BEGIN FOR i IN 1..$loops LOOP BEGIN INSERT INTO $u SELECT i * 10000 + j, i, 'v' || j FROM generate_series(1, $rows) j; IF i % " . pick(2, 3, 7) . " = 0 THEN RAISE 'undone'; END IF; EXCEPTION WHEN raise_exception THEN NULL; END;"
		. pick('', " IF i % 4 = 0 THEN COMMIT; END IF;", " IF i % 5 = 0 THEN ROLLBACK; END IF;", " UPDATE $u SET k = -1 WHERE id = i * 10000 + 1;", " PERFORM count(*) FROM $u WHERE k = i;", " DELETE FROM $u WHERE id = i * 10000 + 1;") . " END LOOP; END \$\$");
	check($u);
	emit(pick('BEGIN', 'BEGIN ISOLATION LEVEL REPEATABLE READ'));
	my $depth = 0;
	for (1 .. between(8, 20))
	{
		my $dice = rand;
		my $x = between(1, $loops) * 10000;

		if ($dice < 0.2) { emit('SAVEPOINT s' . ++$depth); }
		elsif ($dice < 0.35 && $depth) { emit("ROLLBACK TO s$depth"); }
		elsif ($dice < 0.45 && $depth) { emit("RELEASE s" . $depth--); }
		elsif ($dice < 0.7) { emit("INSERT INTO $u SELECT $x + 2000 + i, 5, 'w' || i FROM generate_series(1, " . pick(1, 20, 1200) . ') i ON CONFLICT DO NOTHING'); }
		elsif ($dice < 0.8) { emit("UPDATE $u SET v = v || '-' WHERE id > $x AND id % 3 = 0"); }
		elsif ($dice < 0.9) { emit("DELETE FROM $u WHERE id BETWEEN $x AND $x + " . pick(10, 2500)); }
		elsif ($dice < 0.93) { emit("DECLARE c$_ CURSOR FOR SELECT count(*), sum(k) FROM $u"); emit("DELETE FROM $u WHERE id % 5 = 1"); emit("FETCH ALL FROM c$_"); }
		elsif ($dice < 0.96) { emit("INSERT INTO $u SELECT id + 5, k / (id - $x - 500), v FROM $u"); }
		else { emit("TRUNCATE $u"); }
		ask("SELECT k, count(*), min(v), max(id) FROM $u GROUP BY k") if chance(0.5);
		check($u) if chance(0.5);
	}
	emit(pick('COMMIT', 'COMMIT', 'ROLLBACK'));
	check($u);
	merged($u);
	check($u);
	emit("DROP TABLE $u");
	return;
}

# Rows go out and come back through COPY in every format.
sub copies
{
	my ($t, $n) = @_;
	my $file = "/tmp/gpucol-copy-$$";
	my @names = ('id', writable($t));
	my $names = join ', ', @names;
	my $format = pick('text', 'csv', 'binary', "csv, NULL 'nil', FORCE_QUOTE *", "text, DELIMITER '|'");

	emit("COPY (SELECT $names FROM $t ORDER BY id, $t\::text COLLATE \"C\") TO '$file' (FORMAT $format)");
	emit("CREATE TABLE copy$n (LIKE $t)");
	emit("BEGIN");
	emit(pick("TRUNCATE copy$n", "ALTER TABLE copy$n ADD added int DEFAULT 3", "CREATE INDEX ON copy$n (id)", "SAVEPOINT a"));
	emit("COPY copy$n ($names) FROM '$file' (FORMAT $format" . pick('', ', FREEZE') . ')' . pick('', ' WHERE id % 3 <> 1'));
	emit(pick("COMMIT", "COMMIT", "ROLLBACK"));
	check("copy$n");
	emit("COPY copy$n ($names) FROM '$file' (FORMAT $format)");
	emit("COPY copy$n ($names) TO '$file.all' (FORMAT $format)");
	emit("DELETE FROM copy$n WHERE id % 2 = 0");
	emit("COPY copy$n ($names) FROM '$file.all' (FORMAT $format)");
	check("copy$n");
	emit("COPY $t (id, i4) FROM stdin;\n1\t2\n3\tbroken\n\\.\n\\echo");
	check($t);
	emit("DROP TABLE copy$n");
	return;
}

# Cursors at whose row tables change, statements that change what they read, rows locked.
sub places
{
	my ($t, $n) = @_;
	my $u = pick('i4', 'i2', 's');
	my $scroll = pick('', 'SCROLL ', 'NO SCROLL ');
	# which other cursors go back is the plan's affair
	my @back = $scroll eq '' ? () : ("FETCH PRIOR FROM c$n", "FETCH ABSOLUTE 2 FROM c$n");

	emit('BEGIN');
	emit("DECLARE c$n ${scroll}CURSOR FOR SELECT id, $u FROM $t WHERE " . predicate(0, $t) . ' AND id < 60 ORDER BY id, i4, s, ' . "$t\::text COLLATE \"C\"" . pick(' FOR UPDATE', '', ' FOR SHARE', " FOR NO KEY UPDATE OF $t"));
	for (1 .. between(3, 8))
	{
		emit(pick("FETCH NEXT FROM c$n", "FETCH 3 FROM c$n", "MOVE NEXT FROM c$n", @back));
		emit(pick("UPDATE $t SET s = 'here', i4 = 6 WHERE CURRENT OF c$n", "DELETE FROM $t WHERE CURRENT OF c$n", "SELECT count(*) FROM $t WHERE s = 'here'", 'SAVEPOINT p', 'ROLLBACK TO p', "SELECT id FROM $t WHERE id < 10 AND id > 0 ORDER BY id, s, i4, i2 FOR SHARE"));
	}
	emit(pick('COMMIT', 'ROLLBACK'));
	check($t);
	emit($_) for "WITH d AS (DELETE FROM $t WHERE " . few('id') . " RETURNING id, i4, s), i AS (INSERT INTO $t (id, i4, s) SELECT id + 40000, i4, s FROM d RETURNING id) SELECT (SELECT count(*) FROM d), (SELECT count(*) FROM i), (SELECT count(*) FROM $t)",
		"WITH u AS (UPDATE $t SET s = s || 'u' WHERE " . few('id') . " RETURNING id, s) SELECT count(*), count(DISTINCT u.s), min(x.s) FROM u JOIN $t x USING (id)",
		"UPDATE $t SET i4 = (SELECT count(*) FROM $t y WHERE y.id < $t.id) WHERE id < 30", "UPDATE $t SET i4 = (SELECT " . pick('count(*)', 'max(y.i4)', 'sum(y.i2)', 'min(y.id) + 1') . " FROM $t y WHERE y.$u = $t.$u" . pick('', " AND y.id > 10", " AND $t.id < 700") . ')' . pick('', ' WHERE ' . few('id')),
		"DELETE FROM $t WHERE id % 5 < 2 AND i4 < (SELECT avg(y.i4) FROM $t y WHERE y.$u = $t.$u)", "WITH q AS (INSERT INTO $t (id, i4, s) SELECT id + 60000, i4, s FROM $t WHERE id IN (SELECT min(id) FROM $t GROUP BY i2) RETURNING " . pick('id', "id, $t.s") . ') ' . sorted('SELECT * FROM q');
	check($t);
	emit("SELECT id FROM $t WHERE (id, i4) IN (SELECT id, i4 FROM $t WHERE " . predicate(1, $t) . ' LIMIT 0) FOR UPDATE');
	emit(sorted("SELECT id FROM (SELECT id FROM $t WHERE " . predicate(1, $t) . ' FOR ' . pick('UPDATE', 'KEY SHARE') . ') q'));
	emit("UPDATE $t SET i4 = i4 + 1 FROM (SELECT id AS j FROM $t WHERE " . predicate(1, $t) . " FOR UPDATE) q WHERE q.j = $t.id AND " . few('id'));
	check($t);
	return;
}

my @scenes = (\&policies, \&policies, \&rights, \&columns, \&columns, \&columns, \&types, \&triggers, \&triggers, \&keys_between, \&partitions, \&savepoints, \&copies, \&places, \&places);

sub surrounded_script
{
	my ($steps) = @_;

	return scene_script($steps, sub {
		my ($t) = @_;

		pick(@scenes)->($t, step()) if chance(0.7);
		random_alter() if chance(0.3);
		change() if chance(0.3);
		settle() if chance(0.5);
		asked($t) if chance(0.3);
		ask(query());
	}, 'UNLOGGED ', '', '');
}

1;
