# 023_recursion_random.pl: random WITH RECURSIVE queries against PostgreSQL's own
# executor, and random Datalog programs against naive evaluation in Programs.pm.
#
# GPUCOL_SEED repeats a run; GPUCOL_COUNT is the number of queries (and a third as
# many programs).
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use Programs;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $COUNT = $ENV{GPUCOL_COUNT} || 150;

seed_random();
my $node = new_server('random', 'shared_preload_libraries = gpucol', 'statement_timeout = 300s');

# ---- queries ----

sub null_or { my ($value) = @_; return between(1, 12) == 1 ? 'NULL' : $value; }

sub rows
{
	my ($n, @columns) = @_;
	return join(', ', map { '(' . join(', ', map { null_or($_->()) } @columns) . ')' } 1 .. $n);
}

my $small = sub { between(0, 11) };
my $text = sub { "'" . pick(qw(a b c d)) . "'" };
my $exact = sub { pick('1.0', '1.00', '2', '2.5', "'NaN'") };

sub make_tables
{
	my $am = pick(qw(heap gpucol));
	# rows that no search reaches, and indexes that lead past them
	my @more = between(0, 1) ? (map { ("INSERT INTO $_ SELECT i, i FROM generate_series(1000, 6000) i", "CREATE INDEX ON $_ (a)", "CREATE INDEX ON $_ (b)") } qw(e1 e2)) : ();
	return join(";\n", 'DROP TABLE IF EXISTS e1, e2, n',
		"CREATE TABLE e1 (a int, b int) USING $am", 'INSERT INTO e1 VALUES ' . rows(25, $small, $small),
		'CREATE TABLE e2 (a int, b bigint, c text)', 'INSERT INTO e2 VALUES ' . rows(20, $small, $small, $text),
		'CREATE TABLE n (id int, k numeric, t text)', 'INSERT INTO n VALUES ' . rows(12, $small, $exact, $text),
		@more, 'ANALYZE');
}

# An integer expression and a condition over columns in scope.
sub value
{
	my (@scope) = @_;
	my $column = pick(@scope);
	return pick($column, $column, $column, "($column + " . pick(@scope) . ') % 11', "CASE WHEN $column > 5 THEN " . pick(@scope) . " ELSE 3 END",
		"coalesce($column, 1)", "abs($column - 6)", "length(repeat('x', ($column)::int))", "greatest($column, " . pick(@scope) . ')');
}

sub condition
{
	my (@scope) = @_;
	my ($x, $y) = (pick(@scope), pick(@scope));
	return pick("$x < 8", "$x <> $y", "$x IN (1, 2, 3, 5, 8, $y)", "NOT ($x = 4 OR $y IS NULL)", "($x > 2) IS NOT FALSE", "$x IS DISTINCT FROM $y",
		"EXISTS (SELECT FROM n WHERE n.id = $x)", "NOT EXISTS (SELECT FROM n WHERE n.id = $x)", "NOT EXISTS (SELECT FROM n WHERE n.id = $x AND n.t = 'a')",
		"$x NOT IN (SELECT id FROM n WHERE id IS NOT NULL)", "$x NOT IN (SELECT id FROM n WHERE t <> 'b')", "$x > (SELECT avg(id) - 2 FROM n)",
		"(SELECT count(*) FROM n WHERE n.id < $x AND n.id <> $y) > 2", "($x < 4 OR EXISTS (SELECT FROM e1 z WHERE z.a > $x AND z.b = $y))",
		"NOT EXISTS (SELECT FROM e1 z WHERE z.a = $x AND z.b > $y)", "NOT EXISTS (SELECT FROM n WHERE n.id BETWEEN $x AND $y)", "EXISTS (SELECT FROM e1 z WHERE z.a = $x AND z.b <> $y)",
		"EXISTS (SELECT FROM e1 z JOIN n ON n.id = z.b WHERE z.a = $x AND n.id < $y)",
		"NOT EXISTS (SELECT FROM e2 z WHERE z.c = 'a' AND z.b = $x + 1 AND z.a IS DISTINCT FROM $y)", "NOT EXISTS (SELECT FROM n JOIN e1 z ON z.a = n.id WHERE z.b = $x)",
		"$x IN (SELECT id FROM n)", "EXISTS (SELECT FROM e1 z WHERE z.a = $x AND z.b = $y)", "CASE WHEN $x > 4 THEN $y < 9 END", "$x = 0 OR 12 / $x > 1");
}

# FROM of the recursive term, and the columns it brings into scope.
sub joins
{
	my $from = 'r';
	my @scope = qw(r.x r.y);
	for my $i (1 .. between(1, 2))
	{
		my $table = pick(qw(e1 e2));
		my ($left, $key) = (pick(@scope), pick('a', 'a', 'b'));
		$from .= pick('', '', ' LEFT') . " JOIN $table t$i ON t$i.$key = $left" . pick('', '', " AND t$i.a > 2", " AND t$i.b <> r.x", ' AND r.y > 3', " AND t$i.b > r.y AND t$i.a IS NOT NULL");
		push @scope, "t$i.a", "t$i.b";
	}
	if (between(1, 4) == 1)
	{
		$from .= ' LEFT JOIN (e1 u JOIN n w ON w.id = u.' . pick('a', 'b') . ') ON u.' . pick('a', 'b') . ' = ' . pick(@scope) . pick('', ' AND w.id <> r.x');
		push @scope, 'u.b', 'w.id';
	}
	# functions that return rows, of columns to their left
	for my $i (1 .. pick(0, 0, 0, 1, 1, 2))
	{
		my ($x, $y) = (pick(@scope), pick(@scope));
		my $call = pick("unnest(ARRAY[$x, $y, 7])", "generate_series(least($x, 20)::int, least($y, 20)::int)", "generate_series(1, ($x)::int % 4)", "unnest(CASE WHEN $x > 3 THEN ARRAY[$y, NULL] END)",
			"jsonb_array_elements_text(jsonb_build_array($x, 2)) AS g$i(w), LATERAL (SELECT (g$i.w || '')::int)", "string_to_table(repeat('3 ', $i), ' ') AS g$i(w), LATERAL (SELECT length(g$i.w) + 2)",
			"(SELECT e.b + 1 FROM e1 e WHERE e.a = $x ORDER BY e.b, e.a LIMIT 2)");
		$from .= pick(", LATERAL $call AS f$i(v)", " CROSS JOIN LATERAL $call AS f$i(v)", $call =~ / AS / ? " CROSS JOIN LATERAL $call AS f$i(v)" : " LEFT JOIN LATERAL $call AS f$i(v) ON true");
		push @scope, "f$i.v";
	}
	return ($from, @scope);
}

sub make_query
{
	my $all = between(0, 2) == 0;
	my $extra = pick('', '', 'k', 't');
	my ($from, @scope) = joins();
	my @targets = (value(@scope), value(@scope));
	my $where = join(' AND ', 'true', map { '(' . condition(@scope) . ')' } 1 .. between(0, 2));
	my @seeds = map { $_ . '::int' } pick('a', 'b', '3'), pick('a', 'b', 'a + 1');
	my @columns = qw(x y);

	@targets = map { "($_)::int" } @targets;
	$targets[0] = pick("unnest(ARRAY[$targets[0], $targets[1]])", "generate_series($targets[0], least($targets[0] + 2, 15))", "unnest(ARRAY[$targets[0], 5]) % 9") if between(1, 8) == 1;
	if ($extra)
	{
		push @columns, 'v';
		push @seeds, "(SELECT max($extra) FROM n WHERE id = e1.a)";
		# numbers of which equal ones look different come up on the way
		push @targets, $extra eq 'k' ? pick('r.v', 'r.v', 'round(r.v / 2, 1)', 'greatest(r.v, 1.00)', 'r.v * 1.0', 'CASE WHEN r.x > 4 THEN 1.000 ELSE r.v END', 'abs(r.v - 3)') :
			pick('r.v', $all ? "r.v || 'z'" : 'r.v');
	}
	if ($all)
	{
		push @columns, 'h';
		push @seeds, '1';
		push @targets, 'r.h + 1';
		$where .= ' AND r.h < 3';
	}
	# now and then, all of it is a subquery of rows whose values it uses
	my $outer = between(1, 5) == 1 ? 'v.n' : undef;
	$where .= pick('', " AND r.x <> $outer", " AND $scope[-1] NOT IN (SELECT id + $outer FROM n)") if $outer;
	my $recursion = 'WITH RECURSIVE r(' . join(', ', @columns) . ') AS (SELECT ' . join(', ', @seeds) . ' FROM e1 WHERE a < ' . ($outer // between(1, 9)) .
		($all ? ' UNION ALL ' : ' UNION ') . 'SELECT ' . join(', ', @targets) . " FROM $from WHERE $where) ";
	my $query = $recursion . pick('SELECT * FROM r', 'SELECT count(*) FROM r JOIN r s ON s.x = r.y', 'SELECT * FROM r WHERE x > (SELECT avg(y) FROM r)',
		'SELECT * FROM r WHERE x >= (SELECT avg(a) FROM e1)', 'SELECT count(*), sum(x), max(y), avg(y) FROM r', 'SELECT y, count(*), sum(x) FROM r GROUP BY y HAVING count(*) > 1',
		'SELECT * FROM r WHERE x > 3 OR y IS NULL', 'SELECT DISTINCT x FROM r', 'SELECT x, y FROM r ORDER BY y DESC, x NULLS FIRST LIMIT 5', 'SELECT x % 3, count(*) FROM r WHERE y < 8 GROUP BY 1',
		'SELECT count(*) FROM e1 JOIN r ON r.y = e1.a');
	return $outer ? "SELECT v.n, l.* FROM (VALUES (4), (7), (NULL), (2), (9)) v(n), LATERAL ($query) l" : $query;
}

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION same(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	strategy text;
	results text[] := '{}';
	result text;
BEGIN
	FOREACH strategy IN ARRAY '{off,auto,hisa,bitmap}'::text[] LOOP
		PERFORM set_config('gpucol.enable_recursive', CASE strategy WHEN 'off' THEN 'off' ELSE 'on' END, true);
		IF strategy <> 'off' THEN
			PERFORM set_config('gpucol.recursive_strategy', strategy, true);
		END IF;
		BEGIN
			-- read, or written to a table and read from there
			IF length(query) % 3 > 0 THEN
				EXECUTE 'CREATE TEMP TABLE made ' || CASE length(query) % 3 WHEN 1 THEN 'USING gpucol' ELSE '' END || ' AS ' || query;
			END IF;
			EXECUTE 'SELECT count(*) || '' '' || coalesce(string_agg(q, E''\n'' ORDER BY q COLLATE "C"), '''') FROM (SELECT trim_scale_of(q::text) AS q FROM ('
				|| CASE WHEN length(query) % 3 > 0 THEN 'TABLE made' ELSE query END || ') q) x' INTO result;
			DROP TABLE IF EXISTS made;
		EXCEPTION WHEN OTHERS THEN
			result := SQLSTATE || ' ' || SQLERRM;
		END;
		IF strategy <> 'off' AND result IS DISTINCT FROM results[1] THEN
			RETURN format('%s: %s, not %s', strategy, left(result, 400), left(results[1], 400));
		END IF;
		results := results || result;
	END LOOP;
	PERFORM set_config('gpucol.recursive_strategy', 'auto', true);
	result := 'not pushed';
	FOR strategy IN EXECUTE 'EXPLAIN ' || query LOOP
		result := CASE WHEN strategy LIKE '%Tried First%' THEN 'tried first' WHEN strategy LIKE '%GpucolRecursive)%' THEN 'pushed' ELSE result END;
	END LOOP;
	RETURN result;
END $$;
-- 1.0 and 1.00 are one value of a set: either may show
CREATE FUNCTION trim_scale_of(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT regexp_replace($1, '([.][0-9]*?)0+\M', '\1', 'g') $$;
SQL

my ($pushed, $tried, $wrong) = (0, 0, 0);
for my $i (1 .. $COUNT)
{
	$node->safe_psql('postgres', make_tables()) if $i % 25 == 1;
	my $query = make_query();
	my $answer = $node->safe_psql('postgres', "SELECT same(\$q\$$query\$q\$)");
	$pushed++ if $answer =~ /^(pushed|tried first)$/;
	$tried++ if $answer eq 'tried first';
	next if $answer =~ /^((not )?pushed|tried first)$/;
	$wrong++;
	diag("$query\n$answer");
}
is($wrong, 0, "$COUNT random queries");
cmp_ok($pushed, '>', $COUNT / 2, "most of them pushed down ($pushed)");
note("PostgreSQL's plan was tried first in $tried");

# ---- programs ----

my $differing = 0;
my $programs = int($COUNT / 3);
my %count;
for my $i (1 .. $programs)
{
	$node->safe_psql('postgres', base_tables()) if $i % 5 == 1;
	my ($program, $columns, $rows, $choices) = random_program();
	for my $output (sort keys %$rows)
	{
		my ($strategy, $threads) = (pick(qw(auto hisa bitmap sparse)), between(1, 3));
		my (undef, $mine, $error) = $node->psql('postgres', "SET gpucol.recursive_strategy = $strategy; SET gpucol.cpu_threads = $threads; SELECT * FROM gpucol.datalog(\$d\$$program\$d\$, '$output') AS t($columns->{$output})");
		my $sorted = join("\n", sort split /\n/, $mine, -1);
		my $theirs = join("\n", @{ $rows->{$output} });
		$count{ @{ $rows->{$output} } > 0 }++;
		next if $error eq '' && ($choices->{$output} ? is_choice($choices->{$output}, split /\n/, $mine, -1) : $sorted eq $theirs);
		$differing++;
		diag("$program\n$output by $strategy:\n$sorted$error\nnot\n$theirs");
	}
}
is($differing, 0, "$programs random programs");
cmp_ok($count{1}, '>', $count{''} // 0, 'most of their relations hold rows');

# ---- what is asked for by constants ----

# Closures and the like, of a relation t(x, y) over f1, of which a rule r reads some rows.
my @begin = ('t(x, y) :- f1(x, y).', 't(x, y) :- f1(x, y).', 't(x, 3) :- f1(x, _).', 't(1, y) :- f1(y, _).', 't(x, x) :- f1(x, _).', 't(2, 3).');
my @go_on = ('t(x, z) :- t(x, y), f1(y, z).', 't(x, z) :- f1(x, y), t(y, z).', 't(x, z) :- t(x, y), t(y, z).', 't(x, y) :- f1(a, x), t(a, b), f1(b, y).',
	't(x, y) :- t(y, x), x < 3.', 't(x, z) :- f1(x, y), u(y, z).', 't(x, z) :- t(x, y), f1(y, z), z != 2.', 't(x, z) :- f1(x, y), t(y, z), 1 < count : { f1(y, _) }.',
	't(x, z) :- t(y, z), f1(x, _), y = x + 1.', 't(z, x) :- f1(x, y), t(y, z), !f1(z, x).');
my @asks = ('r(y) :- t(C, y).', 'r(x) :- t(x, C).', 'r(x) :- t(x, y), y = C.', 'r(1) :- t(C, D).', 'r(n) :- n = count : { t(C, _) }.', 'r(n) :- n = sum y : { t(C, y) }.',
	'r(x) :- f1(x, _), !t(C, x).', 'r(x) :- f1(x, _), !t(x, C), t(D, x).', 'r(x) :- v(C, x). v(x, z) :- t(x, y), f1(y, z).', 'r(x) :- u(x, C).', 'r(x) :- u(C, y), t(D, x), x < y.');
my $asked = 0;
$differing = 0;
for my $i (1 .. $programs)
{
	$node->safe_psql('postgres', base_tables()) if $i % 10 == 1;
	my $text = join("\n", '.decl f1(x: number, y: number) .input f1', map({ ".decl $_(x: number, y: number)" } qw(t u v)), '.decl r(x: number) .decl c(x: number) .decl d(x: number)',
		pick(@begin), map({ pick(@begin) } 0 .. between(0, 1)), map({ pick(@go_on) } 0 .. between(0, 2)), 'u(x, z) :- f1(x, y), t(y, z).', 'u(x, y) :- f1(y, x).');
	my ($ask, $c, $d) = (pick(@asks), between(0, 4), between(0, 4));
	# the same of values that no rule knows until it runs
	my $hidden = join("\n", "c($c). d($d).", $ask =~ s/^(.*? :- )/$1c(C), d(D), /r);
	$ask =~ s/C/$c/g;
	$ask =~ s/D/$d/g;
	$text =~ s/C/$c/g;
	my @rows;
	for my $rule ($ask, $hidden)
	{
		my $strategy = pick(qw(auto hisa bitmap sparse));
		my (undef, $out, $error) = $node->psql('postgres', "SET gpucol.recursive_strategy = $strategy; SET client_min_messages = debug1; SELECT * FROM gpucol.datalog(\$d\$$text\n$rule\$d\$, 'r') AS t(x int8)");
		$asked++ if $error =~ /datalog rule: [tu]\(/;
		$error = join("\n", grep { /ERROR/ } split /\n/, $error);
		push @rows, join("\n", sort split /\n/, $out) . $error;
	}
	# what a query above asks for, against the same over the function's rows
	my $what = pick('count(*)', 'count(*), sum(t.x), min(t.y), max(t.x), avg(t.y), count(t.y)', 't.x, count(*)', 't.x, count(DISTINCT t.y), max(t.y)', "t.x % 3, string_agg(t.y::text, ',' ORDER BY t.y)", 't.*', 't.*', 't.y, t.x');
	my $query = "$what FROM " . pick('', '', 'f1 AS f, ') . "gpucol.datalog(\$d\$$text\$d\$, '" . pick(qw(t u)) . "') AS t(" . pick('x int8, y int8', 'x int8, y int8', 'x int, y int', 'x int, y numeric', 'x int2, y int8') . ')'
		. pick('', " WHERE t.x = $c", " WHERE $c = t.y", " WHERE t.x = $c AND t.y > $d", " WHERE t.x = $c AND t.y = $d", " WHERE t.y = $c OR t.x = $d", ' WHERE t.x % 2 = t.y % 3', ' WHERE t.x < t.y', " WHERE t.y IN ($c, $d)");
	$query .= ' GROUP BY 1' . pick('', '', ' HAVING count(*) > 1') if $what =~ /^t\.x[ ,]/;
	$query .= ' ORDER BY 1, 2 LIMIT 3' if $what =~ /^t\.y/;
	for my $above (qw(on off))
	{
		my (undef, $out, $error) = $node->psql('postgres', "SET gpucol.enable_recursive = $above; SELECT $query");
		push @rows, join("\n", sort split /\n/, $out) . $error;
	}
	next if $rows[0] eq $rows[1] && $rows[2] eq $rows[3];
	$differing++;
	diag("$text\n$ask\n$rows[0]\nnot\n$rows[1]\n$query\n$rows[2]\nnot\n$rows[3]");
}
is($differing, 0, "$programs random closures that are asked for by constants");
cmp_ok($asked, '>', $programs / 4, "most of them restricted ($asked)");

$node->stop;
done_testing();
