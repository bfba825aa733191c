# Joins.pm: random tables to join, and random queries over two to six of them: every
# kind of join, key and duplicate, conditions in ON and in WHERE, subqueries in every
# place, grouping, DISTINCT and ORDER BY … LIMIT above.
#
# A query names tables without their schema: `plain` holds heap tables, `packed` the
# same rows in gpucol tables (and in a few heap ones, so that both kinds meet).  What a
# query shows is determined: what has an order is ordered by all that it shows, and of
# values that are equal and look different (ci, c) nothing is shown.
package Joins;

use strict;
use warnings;
use Exporter 'import';
use Gpucol qw(pick between);

our @EXPORT = qw(join_tables join_settings join_query);

# Who attacks (fuzz/joins.pl) puts a function here: of a table's name and alias it makes a
# condition, or nothing.
our $attack;

sub chance { return rand() < $_[0]; }

# ---- tables ----

my $COLUMNS = 'id int NOT NULL, k2 int2, k4 int, k8 int8, n1 numeric(8,1), n2 numeric(10,2), nf numeric,'
  . ' s text, v varchar(12), c char(6), ci text COLLATE public.folded, d date, ts timestamp, tz timestamptz,'
  . ' b bool, f float8, r real, u uuid, y bytea, a int, m numeric(15,2)';

# Least and greatest number of rows.
my %TABLES = (
	fact => [ 1500, 4000 ], mid => [ 200, 500 ], dim => [ 30, 60 ], tiny => [ 5, 12 ], lone => [ 1, 1 ],
	bare => [ 0, 0 ], uni => [ 100, 300 ], parts => [ 300, 900 ], other => [ 50, 400 ]);

# An expression of i with values 0 to D, of some distribution.
sub draw
{
	my ($d) = @_;

	return pick("(random() * $d)::int", "(random() * $d)::int", "(i % ($d + 1))", "floor($d * random() ^ 3)::int",
		"(CASE WHEN random() < 0.6 THEN 1 ELSE (random() * $d)::int END)", "(($d - i % $d) / 2)");
}

sub nullable
{
	my ($expression) = @_;
	my $share = pick(0, 0, 0, 0.05, 0.3, chance(0.2) ? 0.9 : 0.1);

	return $share ? "CASE WHEN random() < $share THEN NULL ELSE $expression END" : $expression;
}

# One of two expressions, the second for few rows.
sub seldom { my ($often, $else) = @_; return "CASE WHEN random() < 0.03 THEN $else ELSE $often END"; }

# The columns of a batch of rows.
sub batch
{
	my ($d) = @_;

	return join ",\n ", 'i', nullable(draw($d) . '::int2'),
	  nullable(pick(draw($d), draw($d), seldom(draw($d), pick('2147483647', '-2147483648', '-1')))),
	  nullable(pick(draw($d) . '::int8', seldom(draw($d), pick('9223372036854775807', '5000000000')))),
	  nullable(draw($d) . pick('', ' + (i % 2) * 0.5')), nullable(draw($d) . pick('', ' + (i % 4) * 0.25')),
	  nullable(pick(draw($d), draw($d) . ' / 4.0', seldom(draw($d), pick("'NaN'::numeric", '1e25', "'-Infinity'::numeric")))),
	  nullable(pick("'s' || " . draw($d), seldom("'s' || " . draw($d), "''"), "repeat('s', 1 + i % 9)")),
	  nullable("'s' || " . draw($d)), nullable("'s' || " . draw($d)),
	  nullable("CASE WHEN random() < 0.5 THEN 's' ELSE 'S' END || " . draw($d)),
	  nullable(pick("date '2024-01-01' + " . draw($d), seldom("date '2024-01-01' + " . draw($d), pick("'infinity'", "'1900-01-01'")))),
	  nullable("timestamp '2024-01-01' + " . draw($d) . pick('', ' / 2.0') . " * interval '1 day'"),
	  nullable("timestamptz '2024-01-01 UTC' + " . draw($d) . " * interval '1 day'"), nullable('random() < ' . pick(0.5, 0.1, 1)),
	  nullable(pick(draw($d), draw($d) . ' * 0.5', seldom(draw($d), pick("'NaN'::float8", "'-0'::float8", "'Infinity'::float8")))),
	  nullable(pick(draw($d), seldom(draw($d), pick("'NaN'::real", "'-0'::real")))),
	  nullable('md5(' . draw($d) . '::text)::uuid'), nullable('substr(decode(md5(' . draw($d) . "::text), 'hex'), 1, 5)"),
	  nullable('(random() * 100)::int'), nullable('(random() * 100000)::numeric(15,2)');
}

# SQL that fills a table of both schemas: packed rows, then deleted ones and delta.
sub fill
{
	my ($table, $domain) = @_;
	my ($least, $most) = @{ $TABLES{$table} };
	my $rows = between($least, $most);
	my $d = chance(0.8) ? $domain : pick(4, 30, 100, 1000, 5000);
	my $more = $rows < 20 || chance(0.4) ? 0 : between(1, 40);
	my $merge = chance(0.4) && $table !~ /^(?:parts|other)$/ ? "SELECT gpucol.merge('packed.$table') IS NULL AND false;\n" : '';
	my $changes = '';

	$changes .= "DELETE FROM %s.$table WHERE id % 9 = 4;\n" if $rows > 20 && chance(0.5);
	$changes .= "DELETE FROM %s.$table WHERE id < " . int($rows / 3) . ";\n" if $rows > 20 && chance(0.1);
	$changes .= "UPDATE %s.$table SET k4 = k4 / 2, s = v, a = id % 50 WHERE id % 40 = 7;\n" if chance(0.4);
	return "INSERT INTO plain.$table SELECT " . batch($d) . " FROM generate_series(1, $rows) i;\n"
	  . "INSERT INTO packed.$table SELECT * FROM plain.$table;\n$merge"
	  . "INSERT INTO plain.$table SELECT " . batch($d) . " FROM generate_series($rows + 1, $rows + $more) i;\n"
	  . join('', map { "INSERT INTO packed.$table SELECT * FROM plain.$table WHERE id > $_ AND id <= $_ + 9;\n" }
		  map { $rows + 9 * $_ } 0 .. $more / 9)
	  . join('', map { $changes =~ s/%s/$_/gr } qw(plain packed));
}

# SQL that makes the tables.  Rows are drawn once and copied.
sub join_tables
{
	my ($seed) = @_;
	my $sql = "SET client_min_messages = warning;\nDROP SCHEMA IF EXISTS plain, packed CASCADE;\n"
	  . "CREATE COLLATION IF NOT EXISTS public.folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);\n"
	  . "SELECT setseed(" . ($seed % 1000) / 1000 . ")\\g /dev/null\nSET gpucol.segment_rows = " . pick(1024, 2048, 65536) . ";\n";

	for my $schema (qw(plain packed))
	{
		my $method = $schema eq 'plain' ? 'heap' : 'gpucol';

		$sql .= "CREATE SCHEMA $schema;\nSET search_path = $schema, public;\nSET default_table_access_method = $method;\n";
		$sql .= "CREATE TABLE $_ ($COLUMNS)" . ($_ eq 'other' ? ' USING heap' : '') . ";\n"
		  for grep { $_ ne 'parts' } sort keys %TABLES;
		$sql .= "CREATE TABLE parts ($COLUMNS) PARTITION BY RANGE (id);\nCREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (200);\n"
		  . "CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (200) TO (500) USING heap;\n"
		  . "CREATE TABLE parts3 PARTITION OF parts FOR VALUES FROM (500) TO (MAXVALUE);\nALTER TABLE uni ADD PRIMARY KEY (id);\n"
		  . "CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM mid WHERE k4 > 2 AND a < 90;\n"
		  . "CREATE VIEW view AS SELECT * FROM fact WHERE k4 IS NOT NULL AND id % 3 <> 0;\n";
	}
	if (chance(0.3)) { $sql .= "CREATE INDEX ON $_.fact (k4);\nCREATE INDEX ON $_.mid (s);\n" for qw(plain packed); }
	my $domain = pick(15, 30, 60, 150);
	$sql .= join '', map { fill($_, $domain) } sort keys %TABLES;
	$sql .= "ANALYZE $_;\n" for map { ("plain.$_", "packed.$_") } sort keys %TABLES;
	return $sql;
}

# Ways in which a session over the packed tables may be set up.
my @WAYS = (
	'SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_nestloop = off',
	'SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_nestloop = off',
	'SET enable_hashjoin = off', 'SET enable_mergejoin = off; SET enable_hashagg = off', 'SET enable_nestloop = off',
	'SET gpucol.cpu_threads = 1', 'SET gpucol.cpu_threads = 3', "SET work_mem = '64kB'", 'SET join_collapse_limit = 1; SET from_collapse_limit = 1',
	'SET gpucol.enable_join = off', 'SET enable_partitionwise_aggregate = on; SET enable_partitionwise_join = on', 'SET geqo_threshold = 3', 'SET enable_memoize = off; SET enable_material = off',
	'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0', 'SET plan_cache_mode = force_generic_plan');

# Some of those ways.
sub join_settings { return map { pick(@WAYS) } 1 .. between(0, 2); }

# ---- relations and what is known of their columns ----

my %CLASSES = (
	int => [qw(k4 k4 k4 k8 k8 k2 id a)], num => [qw(n1 n2 nf m)], text => [qw(s s v)], char => ['c'], folded => ['ci'], date => ['d'], stamp => ['ts'],
	zoned => ['tz'], bool => ['b'], float => [qw(f r)], uuid => ['u'], bytea => ['y']);

# Number of the next alias, and the common table expressions of the query.
my ($aliases, @ctes) = (0);

# A relation: its SQL with alias, and its columns by class.
sub described
{
	my ($sql, $alias, %columns) = @_;
	my ($name) = $alias =~ /^(\w+)/;

	return { sql => "$sql $alias", alias => $name, columns => { map { my $class = $_; $class => [ map { "$name.$_" } @{ $columns{$class} } ] } keys %columns } };
}

sub some_table { return chance(0.04) ? pick(qw(lone bare)) : pick(qw(fact fact fact mid mid mid dim dim dim uni uni tiny parts parts other other view barrier)); }

sub base
{
	my $table = $_[0] // some_table();

	return { %{ described($table, 'x' . ++$aliases, %CLASSES) }, table => $table };
}

# A column of one of some relations; nothing where they have none of the class.
sub column
{
	my ($class, @relations) = @_;
	my @found = map { @{ $_->{columns}{$class} || [] } } @relations;

	return @found ? pick(@found) : undef;
}

sub any_column
{
	for my $class (map { pick(qw(int int int int num text text date stamp bool float uuid)) } 1 .. 8)
	{
		my $found = column($class, @_);
		return $found if $found;
	}
	return column('int', @_) // '1';
}

# A relation that is a table, a subquery or a common table expression.
sub relation
{
	my ($depth) = @_;
	my $dice = rand;

	return described(pick(@ctes), 'x' . ++$aliases, int => [qw(k n)], text => ['s'], num => ['m']) if @ctes && chance(0.6);
	return base() if $depth <= 0 || $dice < 0.8;
	return grouped($depth - 1) if $dice < 0.88;
	if ($dice < 0.91)
	{
		my ($one, $two) = map { my $x = base(); my $where = where(0, $x); "SELECT $x->{alias}.k4 AS k, $x->{alias}.s, $x->{alias}.a, $x->{alias}.d FROM $x->{sql} $where" } 1 .. 2;
		return described("($one " . pick('UNION ALL', 'UNION ALL', 'UNION') . " $two)", 'x' . ++$aliases, int => [qw(k a)], text => ['s'], date => ['d']);
	}
	if ($dice < 0.95)
	{
		my $x = base();
		my $a = $x->{alias};
		my $where = where(0, $x);
		return described("(SELECT $a.k4 AS k, $a.id, 7 AS n, coalesce($a.a, 5) AS a, $a.s || '-' AS s, $a.s IS NULL AS b, $a.d + 1 AS d FROM $x->{sql} $where)",
			'x' . ++$aliases, int => [qw(k id n a)], text => ['s'], bool => ['b'], date => ['d']);
	}
	if ($dice < 0.965)
	{
		my $x = base();
		my $where = where(0, $x);
		return described("(SELECT DISTINCT $x->{alias}.k4 AS k, $x->{alias}.b, $x->{alias}.s FROM $x->{sql} $where)", 'x' . ++$aliases, int => ['k'], bool => ['b'], text => ['s']);
	}
	return described('(VALUES (1, \'s1\'), (2, \'s2\'), (NULL, \'s3\'), (3, NULL), (3, \'s1\'))', 'x' . ++$aliases . '(k, s)', int => ['k'], text => ['s']) if $dice < 0.98;
	return described('generate_series(0, ' . pick(3, 20, 100) . ')', 'x' . ++$aliases . '(k)', int => ['k']);
}

# A derived table of groups.
sub grouped
{
	my ($depth) = @_;
	my ($from, @in) = chance(0.6) ? single() : from_clause(2, $depth);
	my ($k, $s, $m) = (column('int', @in) // '1', column('text', @in) // "'s1'", column('num', @in) // '1.5');
	my $where = where(0, @in);

	return described("(SELECT $k AS k, count(*) AS n, max($s) AS s, sum($m) AS m FROM $from $where GROUP BY $k" . pick('', '', ' HAVING count(*) > 2') . ')',
		'x' . ++$aliases, int => [qw(k n)], text => ['s'], num => ['m']);
}

sub single { my $x = base(); return ($x->{sql}, $x); }

# ---- conditions ----

# Classes that may be equal to each other; a key of few values only beside another.
my @PAIRS = ((map { [ 'int', 'int' ] } 1 .. 12), (map { [ 'text', 'text' ] } 1 .. 5), [qw(int num)], [qw(num int)], [qw(num num)], [qw(num num)], [qw(char char)], [qw(text char)],
	[qw(char text)], [qw(folded folded)], [qw(date date)], [qw(date date)], [qw(date stamp)], [qw(stamp date)], [qw(stamp stamp)], [qw(zoned zoned)], [qw(zoned date)],
	[qw(float float)], [qw(float float)], [qw(float int)], [qw(num float)], [qw(uuid uuid)], [qw(bytea bytea)]);

# An equality of relations on the left and one on the right.
sub key
{
	my ($left, $right, $plain) = @_;

	for (1 .. 12)
	{
		my ($one, $two) = @{ pick(@PAIRS) };
		my ($l, $r) = (column($one, @$left), column($two, $right));

		next unless $l && $r;
		return "$l = $r" if $plain || chance(0.8);
		return pick("$l + 1 = $r", "$l = $r - 1", "$l % 7 = $r", "coalesce($l, -1) = coalesce($r, -1)", "$l * 2 = $r", "$l IS NOT DISTINCT FROM $r", "($l)::numeric = $r", "abs($l) = $r", "$l / 2 = $r",
			"$l / ($r - 3) = 1")
		  if "$one$two" eq 'intint';
		return pick("lower($l) = $r", "$l || 'x' = $r || 'x'", "substr($l, 1, 2) = substr($r, 1, 2)", "coalesce($l, 's1') = $r") if "$one$two" eq 'texttext';
		return pick("$l + 1 = $r", "date_trunc('month', $l) = $r", "extract(month FROM $l) = extract(month FROM $r)") if "$one$two" eq 'datedate';
		return "$r = $l";
	}
	return pick('true', 'false', column('int', $right) . ' = 1');
}

# One to three equalities, which a cross of flags may be among.
sub keys_of
{
	my ($left, $right, $plain) = @_;
	my @keys = map { key($left, $right, $plain) } 1 .. pick(1, 1, 1, 1, 1, 1, 2, 3);
	my ($l, $r) = (column('bool', @$left), column('bool', $right));

	push @keys, "$l = $r" if $l && $r && chance(0.06);
	return @keys;
}

# A condition of relations without a subquery.
sub simple
{
	my @relations = @_;
	my $class = pick(qw(int int int int num text text date stamp bool float));
	my $attacked = $attack && chance(0.2) ? pick(@relations) : undef;

	$attacked = $attack->($attacked->{table}, $attacked->{alias}) if $attacked && $attacked->{table};
	return $attacked if $attacked && !ref $attacked;
	my $one = column($class, @relations) // column('int', @relations) // return 'true';
	my $two = column($class, @relations);
	my %value = (int => sub { pick(0, 1, 1, 2, 3, 5, 10, 20, 50) }, num => sub { pick('2.5', '10', '1', '0.25') }, text => sub { pick("'s1'", "'s1'", "'s2'", "'s15'") },
		date => sub { pick("date '2024-01-02'", "date '2024-02-01'", "date '2024-05-01'") }, stamp => sub { "timestamp '2024-01-" . between(10, 30) . "'" },
		bool => sub { pick('true', 'false') }, float => sub { pick('1.5', '1', '20', '5') });

	$class = 'int' if !$two;
	$two //= $one;
	return "$one IS " . pick('NULL', 'NOT NULL') if chance(0.12);
	return pick($one, "NOT $one", "$one IS NOT TRUE") if $class eq 'bool';
	return "$one " . pick('<', '>', '<>', '<=', '=') . " $two" if chance(0.25);
	return "$one " . pick('IN', 'NOT IN', 'NOT IN') . ' (' . join(', ', map { $value{$class}->() } 1 .. between(1, 5)) . ')' if chance(0.15);
	return "$one LIKE " . pick("'s1%'", "'%2'", "'s_'") if $class eq 'text' && chance(0.4);
	return pick("$one LIKE left($two, 2) || '%'", "md5($one) < md5($two)", "strpos($one, $two) > 0") if $class eq 'text' && chance(0.2);
	return "$one BETWEEN SYMMETRIC " . $value{$class}->() . ' AND ' . $value{$class}->() if chance(0.1);
	return "coalesce($one, 7) " . pick('<', '>') . ' ' . $value{int}->() if $class eq 'int' && chance(0.1);
	return "($one " . pick('<', '>') . ' ' . $value{$class}->() . ' OR ' . simple(@relations) . ')' if chance(0.15);
	return "$one " . pick('<', '>', '<>', '<>', '<=', '>=', '<>', '<>') . ' ' . $value{$class}->();
}

# A subquery of one row, for the most part, of a column of other relations.
sub one_value
{
	my ($from, $where, @in) = @_;
	my $value = column(pick(qw(int int int num)), @in) // '2';
	my $call = pick("avg($value)", "max($value)", "min($value)", 'count(*)', "sum($value)", "0.2 * avg($value)",
		"count($value)", "coalesce(max($value), 0)", "coalesce(sum($value), 3) + count(*)", "count(DISTINCT $value)",
		"CASE WHEN count(*) = 0 THEN 4 ELSE min($value) END", "sum($value) / nullif(count(*) - 2, 0)");

	$call = $value if chance(0.06);
	return "(SELECT $call FROM $from $where" . (chance(0.05) ? ' HAVING count(*) > 1' : '') . ')' if $call =~ /\(/;
	return "(SELECT $call FROM $from $where" . pick('', ' ORDER BY 1 LIMIT 1 OFFSET 100') . ')';
}

# A condition with a subquery that may refer to the relations outside.
sub with_subquery
{
	my ($depth, @outer) = @_;
	my $test = subquery_test($depth, @outer);

	return $test if chance(0.7);
	return pick("($test OR " . simple(@outer) . ')', "NOT ($test AND " . simple(@outer) . ')', "($test) IS NOT TRUE", "($test) IS NULL",
		'CASE WHEN ' . simple(@outer) . " THEN $test ELSE " . simple(@outer) . ' END');
}

sub subquery_test
{
	my ($depth, @outer) = @_;
	my ($from, @in) = $depth > 0 && chance(0.3) ? from_clause(2, $depth - 1) : single();
	my @conditions = map { simple(@in, chance(0.2) ? @outer : ()) } 1 .. pick(0, 0, 1, 1, 2);
	my @correlated = (keys_of(\@outer, $in[0]), chance(0.2) ? simple(@in, @outer) : (), @conditions);
	my ($one, $two) = @{ pick(@PAIRS) };
	my ($l, $r) = (column($one, @outer), column($two, @in));
	my $not = pick('', '', 'NOT ');
	my ($number, $other) = (column('int', @outer) // '1', column('int', @in) // '2');

	push @correlated, with_subquery(0, @in, chance(0.3) ? @outer : ()) if $depth > 0 && chance(0.2);
	my $where = @conditions ? 'WHERE ' . join(' AND ', @conditions) : '';
	my $bound = 'WHERE ' . join(' AND ', @correlated);

	return "${not}EXISTS (SELECT " . pick('*', '1', $other) . " FROM $from $bound)" if chance(0.28) || !($l && $r);
	return "$number " . pick('<', '>', '<=', '<>', '=') . ' ' . one_value($from, pick($where, $bound, $bound, $bound), @in) if chance(0.4);
	return "$l ${not}IN (SELECT $r FROM $from " . pick($where, $where, $bound) . ')' if chance(0.5);
	return "($l, $number) ${not}IN (SELECT $r, $other FROM $from $where)" if chance(0.25);
	return "$number " . pick('<', '>', '=', '<>') . ' ' . pick('ANY', 'ALL') . " (SELECT $other FROM $from " . pick($where, $bound) . ')' if chance(0.4);
	return "(EXISTS (SELECT 1 FROM $from $bound) OR " . simple(@outer) . ')';
}

# WHERE with random conditions, or nothing.
sub where
{
	my ($depth, @relations) = @_;
	my @conditions = map { $depth > 0 && chance(0.4) ? with_subquery($depth - 1, @relations) : simple(@relations) } 1 .. pick(0, 0, 1, 1, 1, 2);

	return @conditions ? 'WHERE ' . join(' AND ', @conditions) : '';
}

# ---- FROM ----

# Joins of some relations and those relations.
sub from_clause
{
	my ($count, $depth) = @_;
	my $first = relation($depth);
	my ($sql, @in) = ($first->{sql}, $first);

	while (@in < $count)
	{
		my ($part, @right);
		if ($count - @in > 1 && chance(0.15)) { ($part, @right) = from_clause(2, $depth - 1); $part = "($part)"; }
		else { my $x = relation($depth); ($part, @right) = ($x->{sql}, $x); }
		my $type = pick('JOIN', 'JOIN', 'JOIN', 'JOIN', 'LEFT JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN');
		my @on = keys_of(\@in, $right[0], $type eq 'FULL JOIN');

		push @on, simple(@in, @right) if chance(0.2);
		push @on, simple(chance(0.5) ? @in : @right) if chance(0.15);
		if (chance(0.06)) { my $x = base(pick(qw(tiny lone bare))); ($type, $part, @on, @right) = ('CROSS JOIN', $x->{sql}); @right = ($x); }
		elsif (chance(0.06)) { ($type, $part, @right) = lateral(@in); @on = $type eq 'CROSS JOIN' ? () : ('true'); }
		$sql .= " $type $part" . (@on ? ' ON ' . join(' AND ', @on) : '');
		push @in, @right;
	}
	return ($sql, @in);
}

# A subquery that refers to relations beside it.
sub lateral
{
	my @outer = @_;
	my $x = base();
	my $a = $x->{alias};
	my $where = 'WHERE ' . join ' AND ', keys_of(\@outer, $x), chance(0.3) ? simple($x) : ();
	my $body = pick("SELECT count(*) AS n, max($a.s) AS s, sum($a.k8) AS k FROM $x->{sql} $where",
		"SELECT count(*) AS n, $a.s, $a.k4 AS k FROM $x->{sql} $where GROUP BY $a.s, $a.k4" . pick('', ' HAVING count(*) > 1'), "SELECT DISTINCT $a.id % 3 AS n, $a.s, $a.k4 AS k FROM $x->{sql} $where",
		"SELECT $a.id AS n, $a.s, $a.k4 AS k FROM $x->{sql} $where ORDER BY $a.id LIMIT 2");
	my $made = described("LATERAL ($body)", 'x' . ++$aliases, int => [qw(n k)], text => ['s']);

	return (pick('CROSS JOIN', 'LEFT JOIN'), $made->{sql}, $made);
}

# Relations in a list, joined by WHERE: (list, conditions, relations).
sub comma_list
{
	my ($count, $depth) = @_;
	my @in = (relation($depth));
	my @conditions;

	while (@in < $count)
	{
		my $x = relation($depth);

		push @conditions, keys_of(\@in, $x);
		push @in, $x;
	}
	return (join(', ', map { $_->{sql} } @in), \@conditions, @in);
}

# FROM and WHERE of a query, and its relations.
sub from_where
{
	my ($depth) = @_;
	my $count = pick(1, 2, 2, 2, 2, 2, 3, 3, 3, 4, 5, 6);

	if (chance(0.35))
	{
		my ($list, $conditions, @in) = comma_list($count, $depth);
		my $where = where($depth, @in);

		return ("FROM $list " . join(' AND ', $where || 'WHERE true', @$conditions), @in);
	}
	my ($from, @in) = from_clause($count, $depth);
	return ("FROM $from " . where($depth, @in), @in);
}

# ---- what is shown ----

sub aggregate
{
	my @in = @_;
	my $number = column(pick(qw(int int num float)), @in) // '1';
	my $int = column('int', @in) // '1';
	my $call = pick('count(*)', 'count(*)', 'count(' . any_column(@in) . ')', $number =~ /\.r$/ ? "max($number)" : "sum($number)", "avg($int)", pick('min', 'max') . '(' . (column(pick(qw(int num text date stamp)), @in) // '1') . ')',
		"sum($int * " . (column('num', @in) // '2') . ')', "sum($int + " . (column('int', @in) // '2') . ')', 'count(DISTINCT ' . any_column(@in) . ')',
		'bool_or(' . simple(@in) . ')', 'sum(CASE WHEN ' . simple(@in) . " THEN $int ELSE 0 END)", 'count(' . pick(@in)->{alias} . '.*)');

	return chance(0.12) && $call !~ /count\(\*\)\s*$/ ? "$call FILTER (WHERE " . simple(@in) . ')' : $call;
}

# ORDER BY all that is shown, or nothing; the kinds of order of a random LIMIT.
sub ordered
{
	my ($columns, $share) = @_;

	return '' unless chance($share);
	return 'ORDER BY ' . join(', ', map { $_ . pick('', ' DESC', ' DESC NULLS LAST', ' NULLS FIRST') } 1 .. $columns)
	  . pick('', ' LIMIT ' . pick(1, 3, 10, 100), ' LIMIT ' . pick(5, 20) . ' OFFSET ' . pick(1, 7));
}

sub one_query
{
	my ($depth) = @_;
	my ($body, @in) = from_where($depth);
	my $dice = rand;

	return 'SELECT ' . join(', ', map { aggregate(@in) } 1 .. between(1, 4)) . " $body" if $dice < 0.3;
	if ($dice < 0.65)
	{
		my @keys = map { chance(0.85) ? any_column(@in) : '(' . (column('int', @in) // '1') . ') % 5' } 1 .. pick(1, 1, 2, 3);
		my @shown = (@keys, map { aggregate(@in) } 1 .. between(1, 3));
		my $having = chance(0.2) ? 'HAVING ' . pick('count(*) > 2', 'count(*) > 1 AND max(' . (column('int', @in) // '1') . ') > 3', 'sum(' . (column('int', @in) // '1') . ') > (SELECT avg(a) / 9 FROM dim)') : '';

		return 'SELECT ' . join(', ', @shown) . " $body GROUP BY " . join(', ', 1 .. @keys) . " $having " . ordered(scalar @shown, 0.4);
	}
	my @shown = map { any_column(@in) } 1 .. between(1, 5);
	if (chance(0.2)) { my ($from, $z) = single(); push @shown, one_value($from, 'WHERE ' . join(' AND ', keys_of(\@in, $z)), $z); }
	push @shown, pick(@in)->{alias} . '.* IS NULL' if chance(0.05);
	return 'SELECT DISTINCT ' . join(', ', @shown) . " $body " . ordered(scalar @shown, 0.3) if $dice < 0.73;
	return 'SELECT ' . join(', ', @shown) . " $body " . ordered(scalar @shown, 1) if $dice < 0.88;
	return 'SELECT ' . join(', ', @shown) . " $body";
}

# One query, of two to six tables for the most part.
sub join_query
{
	my ($dice, $with) = (rand, '');

	($aliases, @ctes) = (0);
	if ($dice < 0.08)
	{
		my $derived = grouped(0)->{sql} =~ s/ x\d+$//r;
		$with = 'WITH g AS ' . pick('', '', 'MATERIALIZED ') . "$derived ";
		@ctes = ('g');
	}
	return $with . one_query(pick(0, 1, 1, 2)) if $dice < 0.9;
	my $set = pick('UNION ALL', 'UNION ALL', 'UNION', 'EXCEPT ALL', 'INTERSECT');
	my ($one, $two) = map { my ($body, @in) = from_where(1); 'SELECT ' . (column('int', @in) // '1') . ', ' . (column('text', @in) // "'s1'") . " $body" } 1 .. 2;
	return "SELECT count(*), sum(k), max(s) FROM ($one $set $two) q(k, s)" if chance(0.4);
	return "$one $set $two" . pick('', ' ORDER BY 1, 2 LIMIT 20');
}

1;
