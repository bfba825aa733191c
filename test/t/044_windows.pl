# 044_windows.pl: random window functions, over heap tables and over gpucol tables, with
# and without GpucolWindow: one answer, and one SQLSTATE.
#
# Rows that tie in a window's order come in any order, so that functions whose results
# depend on it have windows that end with a unique column.  Statements of one round share
# a table of random contents, of packed, deleted and delta rows.  GPUCOL_SEED repeats a run,
# GPUCOL_STEPS is its length, or GPUCOL_SECONDS.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $SECONDS = $ENV{GPUCOL_SECONDS} || 1e9;
my $STEPS = $ENV{GPUCOL_STEPS} || ($ENV{GPUCOL_SECONDS} ? 1e9 : 240);
my $ROUND = 50;

seed_random();
my $node = new_server('windows', 'max_parallel_workers_per_gather = 0', 'statement_timeout = 5s');

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION answer(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	EXECUTE 'SELECT count(*) || '' '' || md5(coalesce(string_agg(x::text, ''/'' ORDER BY x::text COLLATE "C"), '''')) FROM ('
		|| query || ') x' INTO result;
	RETURN result;
EXCEPTION WHEN others OR query_canceled THEN RETURN SQLSTATE;
END $$;
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE heap text := answer(replace(query, '@', '_heap')); packed text := replace(query, '@', '_packed');
	ours text; theirs text; line text; node bool := false;
BEGIN
	ours := answer(packed);
	BEGIN
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || packed LOOP node := node OR line ~ 'GpucolWindow'; END LOOP;
	EXCEPTION WHEN others THEN NULL;
	END;
	SET gpucol.enable_window = off;
	theirs := answer(packed);
	SET gpucol.enable_window = on;
	RETURN concat_ws('|', heap, theirs, ours, node);
EXCEPTION WHEN query_canceled THEN RETURN '57014|57014|57014|f';
END $$;
SQL

# ---- tables ----

my %type = (id => 'int', k => 'int', s => 'smallint', b => 'bigint', v => 'int', d => 'numeric(9,2)', n => 'numeric', f => 'float8', r => 'float4',
	t => 'text', c => 'char(4)', day => 'date', ts => 'timestamp', iv => 'interval', e => 'bool', m => 'money');
my @columns = sort keys %type;
my @numbers = qw(id k s b v d n f);

# NULL for some rows.
sub holes { my ($expression) = @_; my $every = pick(1e9, 2, 5, 9); return "CASE WHEN i % $every <> 0 OR i % $every = i THEN $expression END"; }

sub value
{
	my ($column) = @_;
	my $distinct = pick(1, 3, 10, 50, 1000);
	my $x = "(i * 7919 % $distinct)";

	return 'i' if $column eq 'id';
	return "$x" . pick('', ' - 20') if $column eq 'k' || $column eq 'v';
	return "($x - 5)::smallint" if $column eq 's';
	return pick("${x}::int8 * 1000000007", "CASE $x WHEN 0 THEN -9223372036854775808 WHEN 1 THEN 9223372036854775807 ELSE $x END") if $column eq 'b';
	return "$x / 8.0" . pick('', ' - 50') if $column eq 'd';
	return pick("${x}::numeric / (CASE i % 3 WHEN 0 THEN 1 WHEN 1 THEN 4 ELSE 8 END)", "${x}::numeric ^ 9", "$x * 1.50", "CASE $x WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' ELSE ${x}::numeric END") if $column eq 'n';
	return pick("$x / 8.0", "CASE $x WHEN 1 THEN 'NaN' WHEN 2 THEN '-Infinity' WHEN 3 THEN 'Infinity' WHEN 0 THEN '-0' ELSE ($x / 3.0)::float8 END", "$x * 1e290") if $column eq 'f';
	return "$x / 4.0" if $column eq 'r';
	return pick("'t' || $x", "repeat(chr(97 + $x % 26), i % 30)", "CASE $x % 3 WHEN 0 THEN '' WHEN 1 THEN 'Ä' ELSE 'a B' END || $x") if $column eq 't';
	return "chr(65 + $x % 5) || repeat(' ', i % 3)" if $column eq 'c';
	return "date '2024-01-01' + $x % 300" if $column eq 'day';
	return "timestamp '2024-01-01' + $x * interval '7 hours'" if $column eq 'ts';
	return "$x * interval '1 day'" if $column eq 'iv';
	return "$x % 2 = 0" if $column eq 'e';
	return "${x}::money";
}

sub tables
{
	my $rows = pick(0, 1, 30, 200, 400, 1500);
	my $left = between(0, $rows);

	return "DROP TABLE IF EXISTS a_heap, a_packed, dim_heap, dim_packed;\n"
	  . 'CREATE TABLE a_heap (' . join(', ', map { "$_ $type{$_}" } @columns) . ");\n"
	  . 'INSERT INTO a_heap SELECT ' . join(', ', map { $_ eq 'id' ? 'i' : holes(value($_)) } @columns) . " FROM generate_series(1, $rows) i;\n"
	  . "CREATE TABLE a_packed (LIKE a_heap) USING gpucol;\nINSERT INTO a_packed SELECT * FROM a_heap WHERE id <= $left;\n"
	  . "SELECT FROM gpucol.merge('a_packed');\nINSERT INTO a_packed SELECT * FROM a_heap WHERE id > $left;\n"
	  . "DELETE FROM a_packed WHERE id % 7 = 3; DELETE FROM a_heap WHERE id % 7 = 3;\n"
	  . "CREATE TABLE dim_heap AS SELECT i AS k, 'dim ' || i % 4 AS label FROM generate_series(-20, 40) i;\n"
	  . "CREATE TABLE dim_packed USING gpucol AS SELECT * FROM dim_heap;\nANALYZE a_heap, a_packed, dim_heap, dim_packed;\n";
}

# ---- statements ----

sub expression { return pick((pick(@numbers)) x 6, 'v + k', 'd * 2', 'n - v', 'CASE WHEN e THEN v END', 'abs(k)', '100 / v'); }

sub partition { return join ', ', map { pick(@columns, 'v % 3', 'lower(t)') } 1 .. pick(0, 1, 1, 2); }

sub direction { return pick('', '', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'); }

sub key { my ($column) = @_; return $column eq 't' && rand() < 0.5 ? 't COLLATE "C"' : $column; }

sub bound
{
	my ($unit, $range) = @_;

	return pick('UNBOUNDED', 'CURRENT') if $unit eq 'RANGE' && !defined $range;
	return pick('UNBOUNDED', 'CURRENT', $unit eq 'RANGE' ? $range : pick(0, 1, 2, 5, 30, rand() < 0.05 ? ('NULL', -1) : ()));
}

# A frame clause; offsets of ranges are of the key's type.
sub frame
{
	my ($ordered, $range) = @_;
	my $unit = pick('ROWS', $ordered ? ('GROUPS', 'RANGE') : 'RANGE');
	my ($start, $end) = (bound($unit, $range), bound($unit, $range));
	my @order = ('PRECEDING', 'FOLLOWING');
	my ($a, $b) = sort { $a <=> $b } (between(0, 1), between(0, 1));

	$start = $start eq 'CURRENT' ? 'CURRENT ROW' : $start eq 'UNBOUNDED' ? 'UNBOUNDED PRECEDING' : "$start $order[$a]";
	$end = $end eq 'CURRENT' ? 'CURRENT ROW' : $end eq 'UNBOUNDED' ? 'UNBOUNDED FOLLOWING' : "$end $order[$b]";
	$end = 'UNBOUNDED FOLLOWING' if $start =~ /FOLLOWING/ && $end =~ /CURRENT|PRECEDING/ || $start eq 'CURRENT ROW' && $end =~ /PRECEDING/;
	return " $unit BETWEEN $start AND $end" . pick('', '', '', ' EXCLUDE CURRENT ROW', ' EXCLUDE GROUP', ' EXCLUDE TIES');
}

# A window, and whether its order is total.
sub window
{
	my $total = rand() < 0.6;
	my @order = map { pick(@columns, 'v % 4') } 1 .. pick(0, 1, 1, 2);
	my ($partition, $frame, $range) = (partition(), '', undef);

	push @order, 'id' if $total;
	if (@order == 1)
	{
		$range = pick(0, 1, 7) if $order[0] =~ /^(id|k|s|b|v|d|n|v % 4)$/;
		$range = pick("'0'", "'1.5'", "'20'") if $order[0] =~ /^[fr]$/;
		$range = pick("'3 days'", "'1 month'", "'90 minutes'") if $order[0] =~ /^(day|ts|iv)$/;
	}
	$frame = frame(scalar @order, $range) if rand() < 0.6;
	$frame =~ s/ROWS/RANGE/ if !$total && @order == 0;
	$frame = '' if !$total && $frame =~ /ROWS|RANGE.*\d.*(PRECEDING|FOLLOWING)/ && @order != 1 || !$total && $frame =~ /ROWS/;
	return ($total, ($partition eq '' ? '' : "PARTITION BY $partition ") . (@order ? 'ORDER BY ' . join(', ', map { key($_) . direction() } @order) : '') . $frame);
}

sub any_order
{
	my $filter = rand() < 0.2 ? ' FILTER (WHERE ' . pick('e', 'v > 3', "t > 't3'", 'k IS NULL') . ')' : '';
	my $exact = pick(qw(id k s b v d n), 'v + k', 'd * 2');

	return pick('rank()', 'dense_rank()', 'percent_rank()', 'cume_dist()', "count(*)$filter", 'count(' . pick(@columns) . ")$filter",
		("sum($exact)$filter", "avg($exact)$filter") x 2, pick(qw(stddev var_pop variance stddev_pop)) . "($exact)$filter", pick('min', 'max') . '(' . pick(qw(id k s b v d day ts iv r m t)) . ")$filter",
		pick('bool_and', 'bool_or', 'every') . '(' . pick('e', 'v > 2') . ")$filter", "sum(m)$filter");
}

sub total_order
{
	my $column = pick(@columns);
	my $filter = rand() < 0.2 ? ' FILTER (WHERE v > 3)' : '';

	return pick('row_number()', 'ntile(' . pick(1, 2, 3, 17, 500, rand() < 0.1 ? (0, 'NULL') : ()) . ')', "lag($column)", "lead($column, " . pick(0, 2, -1, 's') . ')',
		'lag(v, 1, k)', "lead(t, 2, 'x')", 'lag(' . expression() . ')', "first_value($column)", "last_value($column)", 'first_value(' . expression() . ')',
		"nth_value($column, " . pick(1, 2, 5, rand() < 0.1 ? ('NULL', 0) : ()) . ')', "sum(f)$filter", "avg(f)$filter", "sum(r)$filter", "avg(r)$filter",
		pick('min', 'max') . "($column)$filter", 'sum(' . expression() . ")$filter", any_order(), any_order(),
		"string_agg(t, ',')$filter", "array_agg($column)$filter", 'stddev(' . pick(qw(f v d)) . ")$filter", "corr(f, v)$filter", "sum(iv)$filter", "var_pop(r)$filter") =~ s/(min|max)\(e\)/count(e)/r;
}

sub functions
{
	my @windows = map { [ window() ] } 1 .. pick(1, 1, 2, 3);
	my $n = 0;

	return map { my ($total, $window) = @{ pick(@windows) }; $n++; ($total ? total_order() : any_order()) . " OVER ($window) AS f$n" } 1 .. between(1, 5);
}

# A condition on columns and on numbers that windows give, most of them numerics.
sub number
{
	my ($depth) = @_;

	return pick('x', 'y', 'x', 'y', @numbers, 1, 1.5, 0.001, 100) if $depth == 0;
	return pick('(' . number($depth - 1) . pick(' + ', ' - ', ' * ', ' / ') . number($depth - 1) . ')', 'abs(' . number($depth - 1) . ')',
		'nullif(' . number($depth - 1) . ', 0)', 'coalesce(' . number($depth - 1) . ', 0)', 'CASE WHEN x > y THEN x ELSE ' . number($depth - 1) . ' END');
}

sub condition
{
	my $compared = number(pick(0, 1, 2)) . pick(' < ', ' <= ', ' = ', ' <> ', ' > ') . number(pick(0, 1));

	return pick($compared, $compared, "NOT $compared", "$compared AND id > 3", "($compared OR x IS NULL)");
}

sub numeric_window
{
	my ($total, $window) = window();

	return pick(qw(avg sum stddev var_pop min max)) . '(' . pick(qw(d n v b), 'd * 2') . ") OVER ($window)";
}

sub source { return pick(('a@ a') x 4, "(SELECT * FROM a@ WHERE v > 2 OR e) a", '(SELECT * FROM a@ ORDER BY t, id LIMIT 100) a', '(SELECT * FROM a@ UNION ALL SELECT * FROM a@ WHERE false) a'); }

sub statement
{
	my @functions = functions();
	my $list = join ', ', @functions;
	my $source = source();
	my $ranked = pick('row_number()', 'rank()', 'dense_rank()') . ' OVER (' . (rand() < 0.8 ? 'PARTITION BY ' . pick(@columns) : '') . ' ORDER BY ' . key(pick(@columns)) . direction() . ', id)';

	return pick(("SELECT id, $list FROM $source") x 5,
		(map { "SELECT $_ FROM (SELECT *, " . numeric_window() . ' AS x, ' . numeric_window() . " AS y FROM $source) x WHERE " . condition() } 'id, x', 'count(*), sum(id)'),
		"SELECT a.id, label, $list FROM a@ a JOIN dim@ USING (k)" =~ s/\bk\b(?!\))/a.k/gr,
		"SELECT * FROM (SELECT id, t, $ranked AS r" . (rand() < 0.5 ? ", $list" : '') . " FROM $source) x WHERE r " . pick('<= 1', '< 3', '<= 5', '= 2', '<= 0', '> 2', '<= 3 AND id > 5'),
		"SELECT count(*), " . join(', ', map { "min(f$_\::text COLLATE \"C\")" } 1 .. @functions) . " FROM (SELECT $list FROM $source) x",
		"SELECT x.* FROM (VALUES (1), (2), (-3)) y (z), LATERAL (SELECT id, $list FROM a@ a WHERE a.k >= z) x",
		"SELECT k, e, count(*), rank() OVER (ORDER BY count(*) DESC, k), sum(sum(v)) OVER (PARTITION BY e), lag(sum(d)) OVER (ORDER BY k, e), sum(count(*)) OVER (ORDER BY k RANGE 2 PRECEDING) FROM $source GROUP BY k, e");
}

# ---- rounds ----

my ($start, $steps, $wrong, $ours, $errors) = (time, 0, 0, 0, 0);

while (time - $start < $SECONDS && $steps < $STEPS && $wrong < 4)
{
	my @statements = map { statement() } 1 .. $ROUND;
	my $script = "SET gpucol.pushdown = require;\n" . tables() . join '', map { "SELECT compare(\$q\$$_\$q\$);\n" } @statements;
	my @results = split /\n/, $node->safe_psql('postgres', $script);

	shift @results while @results > @statements;
	for my $i (0 .. $#results)
	{
		my ($heap, $theirs, $result, $node_used) = split /\|/, $results[$i];

		$steps++;
		$ours++ if ($node_used // '') eq 't';
		next if grep { $_ eq '57014' } $heap, $theirs, $result;
		$errors++ if $heap =~ /^\w{5}$/;
		next if $heap eq $theirs && $heap eq $result;
		$wrong++;
		fail("heap $heap, PostgreSQL's windows over gpucol $theirs, GpucolWindow $result");
		diag("$statements[$i]");
		diag($script =~ s/SELECT compare.*//rs) if $ENV{GPUCOL_SHOW};
	}
}
is($wrong, 0, "$steps statements give heap's answers");
cmp_ok($ours, '>', $steps / 2, "GpucolWindow computed $ours");
cmp_ok($errors, '<', $steps / 2, "$errors raised an error in heap");
$node->stop;
done_testing();
