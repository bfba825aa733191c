# Arrays.pm: tables with columns of arrays, changes of them, and random statements over both twins: conditions,
# what is computed of arrays, and their elements as rows.  For 053_arrays.pl and fuzz/arrays.pl.
#
# A table is called t_both in a statement, which stands for t_heap and t_packed.
package Arrays;

use strict;
use warnings;
use Exporter 'import';
use Gpucol qw(between pick);

our @EXPORT = qw(array_statement array_tables array_change element_statement fold_statement);

# Columns, a constant element or NULL, a column of the table with such values.
my @COLUMNS = (
	[ 's', sub { pick(0, 3, -2, 7) . '::int2' }, 'x' ], [ 'i', sub { pick(0, 3, 17, 1003, -1) }, 'x' ], [ 'few', sub { pick(0, 3, 7, 9) }, 'x' ],
	[ 'b', sub { pick("'3'", "'5000000017'", "'2147483647'", "'-9223372036854775808'") . '::int8' }, 'y' ],
	[ 'f', sub { pick('0', '0.5', "'NaN'", "'-Infinity'", '4') . '::float8' }, 'z' ], [ 'r', sub { pick('0', '0.5', "'NaN'", '-0.0') . '::float4' }, 'z::float4' ],
	[ 't', sub { pick("''", "'t1'", "'é2'", "'w9'", "'c4ca4238a0b923820dcc509a6f75849b'", "'xxx'") . '::text' }, 'w' ],
	[ 'v', sub { pick("'v1'", "'v2'", "'t'") . '::varchar(9)' }, 'w' ],
	[ 'd', sub { pick("'2024-01-03'", "'infinity'") . '::date' }, 'day' ], [ 'ts', sub { pick("'2024-01-03'", "'-infinity'") . '::timestamp' }, undef ]);
# Numerics too.
my @ALL = (@COLUMNS, [ 'n', sub { pick('0', '1.00', '0.25', "'NaN'", '17') . '::numeric' }, 'z::numeric' ]);
my %TYPE = (s => 'int2', i => 'int4', few => 'int4', b => 'int8', f => 'float8', r => 'float4', t => 'text', v => 'varchar', d => 'date', ts => 'timestamp', n => 'numeric');

# Elements of many values, by a number k.
my %MANY = (s => 'k::int2', i => 'k', few => 'k', b => "k * '4294967296'::int8", f => 'k / 8.0::float8', r => 'k / 8.0::float4', t => "CASE k % 3 WHEN 0 THEN 't' || k WHEN 1 THEN 'w' || k ELSE repeat('é', abs(k)) END", d => "date '2024-01-01' + k");

sub number { return $_[0] =~ /^[sibrf]|few/; }

sub list
{
	my ($element, $column) = @_;
	my $type = $TYPE{$column};

	return "'{}'::${type}[]" if rand() < 0.1;
	return pick("NULL::${type}[]", "(SELECT NULL::${type}[])", "ARRAY(SELECT @{[ $element->() ]}::$type)") if rand() < 0.05;
	return 'ARRAY[' . join(', ', map { rand() < 0.1 ? 'NULL' : $element->() } 1 .. between(1, 3)) . "]::${type}[]" if rand() < 0.7 || !$MANY{$column};
	# so many that they are looked up
	my ($first, $step) = (between(-3, 3), pick(1, 2, 7));

	return 'ARRAY[' . join(', ', map { my $k = $first + $_ * $step; $MANY{$column} =~ s/\bk\b/($k)/gr } 0 .. pick(7, 20, 150)) . "]::${type}[]" if rand() < 0.6;
	return 'ARRAY[' . join(', ', map { $element->() } 1 .. 8) . "]::${type}[]";
}

sub size
{
	my ($column) = @_;

	return pick("cardinality($column)", "array_length($column, 1)", "array_length($column, 2)", "array_upper($column, 1)", "array_lower($column, 1)",
		"array_ndims($column)");
}

# A condition on one column of arrays, or on two that are the same.
sub condition
{
	my $chosen = pick(@COLUMNS);

	return one_condition($chosen) if rand() < 0.75;
	return '(' . join(pick(' AND ', ' OR '), map { (rand() < 0.2 ? 'NOT ' : '') . '(' . one_condition($chosen) . ')' } 1 .. between(2, 3)) . ')';
}

sub one_condition
{
	my ($column, $element) = @{ $_[0] };
	my $text = $column =~ /^[tv]$/;
	my $op = $text ? pick('=', '<>') : pick('=', '<>', '<', '<=', '>', '>=');
	my $x = rand() < 0.05 ? pick("NULL::$TYPE{$column}", "(SELECT @{[ $element->() ]}::$TYPE{$column})") : $element->();

	return size($column) . ' ' . pick('=', '<>', '<', '<=', '>', '>=') . ' ' . between(-1, 5) if rand() < 0.2;
	return "$column " . pick('@>', '&&', '<@') . ' ' . list($element, $column) if rand() < 0.35;
	return list($element, $column) . ' ' . pick('@>', '&&', '<@') . " $column" if rand() < 0.1;
	return "$x $op " . pick('ANY', 'ALL') . " ($column)" if rand() < 0.5;
	return $column . '[' . between(-1, 3) . "] $op $x" if rand() < 0.6;
	return 't[' . between(1, 4) . '] ' . pick("LIKE 'é%'", "LIKE '%x%'", "~ '^w[0-9]5'", 'IS NULL', 'IS NOT NULL', "IN ('t1', 'T1')", "= 't2'", "> 't'") if $text;
	return "$column IS NULL OR " . size($column) . ' > 2';
}

# A condition that compares elements with a column.
sub column_condition
{
	my ($column, undef, $value) = @{ pick(grep { defined $_->[2] } @COLUMNS) };

	return "$value = ANY ($column)" if rand() < 0.4;
	return "$value <> ALL ($column)" if rand() < 0.4;
	return 'i[x] > 2' if rand() < 0.5;
	return 'i[1] = few[1]';
}

sub conditions { return join(pick(' AND ', ' AND ', ' OR '), map { rand() < 0.15 ? 'NOT coalesce(' . condition() . ', false)' : condition() } 1 .. between(1, 2)); }

sub argument
{
	my ($column) = @{ pick(grep { number($_->[0]) } @COLUMNS) };

	return pick('sum', 'min', 'max', 'count') . '(' . size(pick(@COLUMNS)->[0]) . ')' if rand() < 0.3;
	return pick('sum', 'avg') . '(n[' . between(1, 2) . '])' if rand() < 0.15;
	return pick('min', 'max', 'count') . "(${column}[" . between(0, 4) . '])' if rand() < 0.4;
	return 'sum((' . pick('s', 'i', 'few') . '[' . between(1, 2) . ']) * 2)' if rand() < 0.3;
	return 'sum(array_position(' . pick('s, 3::int2', 'few, 7', 'few, x', 'r, z::float4', 't, w', 'v, w::varchar', 'i, 3') . '))' if rand() < 0.4;
	return 'count(*) FILTER (WHERE ' . pick(column_condition(), condition()) . ')' if rand() < 0.6;
	return "count(DISTINCT t[" . between(1, 3) . '])';
}

# A statement over t_both: rows that conditions take, or groups.
sub array_statement
{
	my @keys = @{ pick([], [], ['few[1]'], ['t[1]'], ['cardinality(t)'], ['x', 's[1]'], ['v[1]'], ['d[1]'], ['array_position(few, 7)'], ['array_length(i, 1)'], ['t'], ['i'], ['v', 'x'], ['n']) };
	my $where = rand() < 0.7 ? ' WHERE ' . (rand() < 0.25 ? column_condition() : conditions()) : '';
	my $column = 0;

	return 'SELECT id, ' . pick('x', 'i', 't', 'few[1]') . " AS c FROM t_both" . $where if rand() < 0.3;
	my @list = map { "$_ AS c" . ++$column } @keys, 'count(*)', map { argument() } 1 .. between(1, 3);
	return 'SELECT ' . join(', ', @list) . " FROM t_both" . $where . (@keys ? ' GROUP BY ' . join(', ', @keys) : '');
}

# An element of a column, an expression of a row's number i and the element's number k: of few or of many values.
sub element
{
	my ($column) = @_;
	my $range = pick(3, 40, 5000, 2000000000);
	my $n = "hashint4(i * @{[ pick(1, 7, 31) ]} + k * 131) % $range";
	my %of = (s => "(($n) % 32767)::int2", few => "abs($n) % 5", b => pick("($n)::int8", "($n)::int8 * 4294967296", "CASE ($n) % 9 WHEN 0 THEN '-9223372036854775808'::int8 WHEN 1 THEN '9223372036854775807' ELSE $n END::int8"),
		i => pick($n, "CASE WHEN ($n) % 11 = 0 THEN '2147483647' ELSE $n END::int4"),
		r => "CASE ($n) % 13 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' ELSE ($n) / 8.0 END::float4", f => "CASE ($n) % 13 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '-Infinity' ELSE ($n) / @{[ pick('8.0', '3.0') ]} END::float8",
		t => pick("'t' || $n", "repeat('é', abs($n) % 20)", "CASE ($n) % 5 WHEN 0 THEN '' WHEN 1 THEN md5((($n) / 7)::text) ELSE 'w' || abs($n) % 9 END"),
		v => "left('v' || abs($n), 9)::varchar(9)", d => "CASE ($n) % 17 WHEN 1 THEN 'infinity' ELSE date '2024-01-01' + ($n) % 5000 END::date",
		ts => "CASE ($n) % 17 WHEN 1 THEN '-infinity' ELSE timestamp '2024-01-01' + ($n) % 5000 * interval '1 hour' END::timestamp",
		n => pick("(($n) / 4.0)::numeric(14,2)", "($n)::numeric", "CASE ($n) % 7 WHEN 0 THEN 'NaN' WHEN 1 THEN 1e30 ELSE ($n) / 3.0 END::numeric"));

	return rand() < 0.4 ? "CASE WHEN hashint4(i + k * 7) % @{[ pick(2, 9, 50) ]} <> 0 THEN $of{$column} END" : $of{$column};
}

# A column's value in row i; odd: some are of several dimensions, or begin elsewhere.
sub array_value
{
	my ($column, $odd) = @_;
	my $element = element($column);
	my $length = pick(between(1, 5), 'i % 7', 'abs(hashint4(i)) % 30', 'CASE WHEN i % 211 = 0 THEN 2000 ELSE i % 4 END');
	my $value = "(SELECT array_agg($element) FROM generate_series(1, $length) k)";
	my $at = sub { my ($k) = @_; return $element =~ s/\bk\b/$k/gr; };

	$value = "coalesce($value, '{}')" if rand() < 0.6;
	$value = "CASE WHEN i % @{[ pick(13, 53) ]} = 0 THEN ARRAY[[@{[ $at->(1) ]}, @{[ $at->(2) ]}], [@{[ $at->(3) ]}, NULL]] WHEN i % @{[ pick(17, 61) ]} = 1 THEN array_fill(@{[ $at->(1) ]}, ARRAY[@{[ pick('3', '2, 2', '1, 2, 2') ]}], ARRAY[@{[ pick('-1', '0', '5') ]}]) ELSE $value END"
	  =~ s/ARRAY\[2, 2\], ARRAY\[(\S+)\]/ARRAY[2, 2], ARRAY[$1, 1]/r =~ s/ARRAY\[1, 2, 2\], ARRAY\[(\S+)\]/ARRAY[1, 2, 2], ARRAY[$1, 1, 0]/r if $odd;
	return rand() < 0.6 ? "CASE WHEN hashint4(i * 3) % @{[ pick(3, 11) ]} <> 0 THEN $value END" : $value;
}

# A SELECT of rows for the tables.
sub array_rows
{
	my ($from, $to, $odd) = @_;

	return 'SELECT i, ' . join(', ', map { '(' . array_value($_, $odd) . ")::$TYPE{$_}\[\]" } qw(s i b r f t v d ts n few))
	  . ", CASE WHEN i % 12 > 0 THEN i % 5 END, i % 6, CASE WHEN i % 10 > 0 THEN i % 4 / 2.0 ELSE 'NaN' END, CASE WHEN i % 9 > 0 THEN 't' || i % 5 END, date '2024-01-01' + i % 11 FROM generate_series($from, $to) i";
}

# SQL that makes t_both and e_both, whose columns are elements.
sub array_tables
{
	my $sql = "DROP TABLE IF EXISTS t_heap, t_packed, e_heap, e_packed;\nSET gpucol.segment_rows = @{[ pick(1024, 1024, 4096) ]};\n"
	  . 'CREATE TABLE t_heap (id int, s int2[], i int4[], b int8[], r float4[], f float8[], t text[], v varchar(9)[], d date[], ts timestamp[], n numeric[], few int4[], x int4, y int8, z float8, w text, day date);' . "\n";
	my $first = 1;

	for (1 .. between(1, 3))
	{
		my $last = $first + pick(0, 10, 1023, 1023, 1500);

		$sql .= 'INSERT INTO t_heap ' . array_rows($first, $last, rand() < 0.3) . ";\n";
		$first = $last + 1;
	}
	return $sql . "CREATE TABLE t_packed (LIKE t_heap) USING gpucol;\nINSERT INTO t_packed TABLE t_heap;\n"
	  . "CREATE TABLE e_heap AS SELECT k, k::int8 AS k8, 't' || k AS w, date '2024-01-01' + k AS day, k % 3 AS g FROM generate_series(-20, 60) k;\nCREATE TABLE e_packed (LIKE e_heap) USING gpucol;\nINSERT INTO e_packed TABLE e_heap;\n"
	  . pick('', "VACUUM ANALYZE t_packed;\n") . "ANALYZE;\n";
}

# SQL that changes both tables in the same way, or packs the one.
sub array_change
{
	my $divisor = pick(2, 7, 50, 400);
	my $change = pick("DELETE FROM t_both WHERE id % $divisor = 1", "INSERT INTO t_both SELECT * FROM t_both WHERE id % $divisor = 1 AND id < 3000", 'INSERT INTO t_both ' . array_rows(5000, 5000 + between(0, 30), rand() < 0.5),
		"UPDATE t_both SET i = i || ARRAY[x, NULL], few = few[2:], t = array_append(t, w) WHERE id % $divisor = 2 AND coalesce(array_ndims(i), 1) = 1 AND coalesce(array_ndims(t), 1) = 1", "UPDATE t_both SET b = NULL, n = '{}', d = ARRAY[day] WHERE id % $divisor = 3", 'MERGE', 'VACUUM');

	return "SELECT gpucol.merge('t_packed') IS NULL AND false;\n" if $change eq 'MERGE';
	return "VACUUM t_packed;\n" if $change eq 'VACUUM';
	return join '', map { $change =~ s/_both/_$_/gr . ";\n" } qw(heap packed);
}

# A condition on an element, of that column.
sub on_element
{
	my ($column) = @_;
	my $x = $column->[1]->();

	return pick("u.e IS NOT NULL", "u.e IS NULL OR s.x > 2", "u.e = $x", "u.e <> $x", "u.e > $x", "u.e <= $x", defined $column->[2] ? "u.e = s.$column->[2]" : 'u.e IS NOT NULL', "u.e BETWEEN $x AND " . $column->[1]->());
}

sub slice { return pick('1:2', '2:', ':1', between(-2, 3) . ':' . between(-1, 6), '2147483647:', ':-2147483648'); }

# Rows s with elements u.e, of that column.
sub elements
{
	my ($column) = @_;
	my $other = pick(@ALL)->[0];
	my $unnest = "unnest(s.$column->[0])";
	my $key = { t => 'w', v => 'w', d => 'day', b => 'k8', i => 'k', few => 'k', s => 'k' }->{ $column->[0] };

	return "t_both s, unnest(s.$column->[0], s.$other) u(e, e2)" if rand() < 0.15;
	return "t_both s, $unnest u(e) JOIN e_both z ON z.$key = u.e" if $key && rand() < 0.15;
	return pick(("t_both s, $unnest u(e)") x 3, "t_both s, $unnest WITH ORDINALITY u(e, o)", "t_both s LEFT JOIN LATERAL $unnest u(e) ON " . pick('true', on_element($column)), "t_both s, LATERAL (SELECT e FROM $unnest u(e) WHERE " . on_element($column) . ') u',
		"(SELECT * FROM t_both s WHERE " . pick('s.x > 2', "s.few && '{1}'") . ") s, $unnest u(e)", "t_both s, unnest(s.$column->[0]\[@{[ slice() ]}]) u(e)", "t_both s LEFT JOIN LATERAL unnest(s.$column->[0]\[@{[ slice() ]}]) WITH ORDINALITY u(e, o) ON true");
}

sub of_elements
{
	my ($column, $from) = @_;
	my $number = $column->[0] =~ /^(?:s|few|n)$/;

	return 'sum(u.o)' if $from =~ /ORDINALITY/ && rand() < 0.4;
	return 'count(u.e2)' if $from =~ /e2/ && rand() < 0.4;
	return pick('count(*)', 'count(u.e)', 'count(DISTINCT u.e)', 'min(u.e)', 'max(u.e)', 'sum(s.x)', 'array_agg(u.e ORDER BY u.e, s.id)', "count(*) FILTER (WHERE " . on_element($column) . ')', 'max(s.day)', $number ? ('sum(u.e)', 'avg(u.e)') : ());
}

# A statement over elements of t_both's arrays: groups, rows, subqueries of each row.
sub element_statement
{
	my $column = pick(@ALL);
	my $name = $column->[0];
	my $from = elements($column);
	my @where = ((rand() < 0.3 ? on_element($column) : ()), (rand() < 0.3 ? pick('s.x > 2', 's.id % 3 = 0', "s.$name IS NOT NULL", 's.few @> ARRAY[1]', 'cardinality(s.t) > 1') : ()));
	my $where = @where ? ' WHERE ' . join(' AND ', @where) : '';
	my @keys = @{ pick(['u.e'], ['u.e', 's.x'], ['s.x'], ['s.w', 's.day'], [], [], $from =~ /ORDINALITY/ ? ['u.o'] : $from =~ /e2/ ? ['u.e2'] : ['u.e'], $from =~ / z / ? ['z.g'] : ['s.id']) };
	my $n = 0;

	return "SELECT s.id AS c1, u.e AS c2 FROM $from$where" if rand() < 0.1;
	return "SELECT DISTINCT u.e AS c1 FROM $from$where" if rand() < 0.1;
	return "SELECT s.id AS c1, (SELECT " . pick('max(u.e)', 'count(*)', 'min(u.e)') . " FROM unnest(s.$name) u(e)" . pick('', ' WHERE ' . on_element($column)) . ') AS c2 FROM t_both s' if rand() < 0.1;
	return 'SELECT count(*) AS c1, sum(s.id) AS c2 FROM t_both s WHERE ' . pick('', 'NOT ') . "EXISTS (SELECT FROM unnest(s.$name) u(e) WHERE " . on_element($column) . ')' if rand() < 0.1;
	return "SELECT count(*) AS c1, sum(s.id) AS c2 FROM t_both s WHERE " . pick("cardinality(s.$name\[" . pick('1:2', '2:', ':1', '0:3') . ']) ' . pick('>', '=', '<') . ' ' . between(0, 2), "s.$name " . pick('=', '<>', '<', '>=') . ' ' . list($column->[1], $name),
		"array_position(s.$name, " . $column->[1]->() . "::$TYPE{$name}) " . pick('= 1', '> 1', 'IS NULL'), "s.$name " . pick('@>', '&&', '<@') . ' ' . list($column->[1], $name)) . ($where =~ s/^ WHERE (.*)/ AND $1/r =~ s/.*\bu\..*//r) if rand() < 0.2;
	my $sql = 'SELECT ' . join(', ', map { "$_ AS c" . ++$n } @keys, map { of_elements($column, $from) } 1 .. between(1, 3)) . " FROM $from$where";
	return $sql . (@keys ? ' GROUP BY ' . join(', ', @keys) . (rand() < 0.2 ? ' HAVING count(*) > 3' : '') : '');
}

# A subquery over the elements of row s, one value; exact: it is no float that is computed.
sub fold
{
	my ($column, $exact) = @_;
	my $name = $column->[0];
	my $float = $name =~ /^[fr]$/;
	my $where = rand() < 0.5 ? ' WHERE ' . join(pick(' AND ', ' OR '), map { on_element($column) } 1 .. between(1, 2)) : '';
	my $from = "unnest(s.$name) u(e)";
	my @of = ('count(*)', 'count(u.e)', 'count(DISTINCT u.e)', $name =~ /^[tvn]$/ ? () : ('min(u.e)', 'max(u.e)'));

	push @of, 'sum(u.e)', 'avg(u.e)', 'sum(u.e) FILTER (WHERE ' . on_element($column) . ')', 'sum(CASE WHEN ' . on_element($column) . ' THEN u.e END)'
	  if $name =~ /^(?:s|i|few|b)$/ || ($float && !$exact);
	return "(SELECT " . pick('sum(u.o)', 'count(*)', 'max(u.o)') . " FROM unnest(s.$name) WITH ORDINALITY u(e, o)$where)" if rand() < 0.15;
	return "(SELECT " . pick('count(*)', 'count(u.e2)', 'count(u.e)') . " FROM unnest(s.$name, s.@{[ pick(@ALL)->[0] ]}) u(e, e2)$where)" if rand() < 0.15;
	return "(SELECT " . pick(@of) . " FROM $from$where)";
}

# A condition on one, or on elements.
sub fold_condition
{
	my $column = pick(@ALL);
	my $name = $column->[0];
	my $value = $column->[2];

	return pick('', 'NOT ') . "EXISTS (SELECT FROM unnest(s.$name) u(e) WHERE " . join(pick(' AND ', ' OR '), map { on_element($column) } 1 .. between(1, 2)) . ')' if rand() < 0.4;
	return "s.$value " . pick('', 'NOT ') . 'IN (SELECT ' . pick("unnest(s.$name)", "e FROM unnest(s.$name) e") . ')' if defined $value && rand() < 0.3;
	return fold(pick(grep { $_->[0] =~ /^(?:s|i|few|b)$/ } @ALL), 1) . ' ' . pick('>', '<', '=', '<>') . ' ' . between(0, 4);
}

# A statement over subqueries of each row's elements.
sub fold_statement
{
	my $of = sub { my ($exact) = @_; return fold(pick(@ALL), $exact); };
	my $where = rand() < 0.5 ? ' WHERE ' . join(' AND ', map { fold_condition() } 1 .. between(1, 2)) : '';
	my @keys = @{ pick([], [], ['s.x'], ['s.w'], [$of->(1)], ['s.x', $of->(1)]) };
	my $integers = pick(grep { $_->[0] =~ /^(?:s|i|few)$/ } @ALL);
	my $n = 0;

	return 'SELECT s.id AS c1, ' . $of->(0) . " AS c2 FROM t_both s$where" if rand() < 0.1;
	return "SELECT s.x AS c1, sum(l.a) AS c2, max(l.b) AS c3 FROM t_both s" . pick(', LATERAL ', ' LEFT JOIN LATERAL ')
	  =~ s/$/"(SELECT count(*) AS a, max(u.e) AS b FROM unnest(s.$integers->[0]) u(e) WHERE " . on_element($integers) . ') l'/er =~ s/^( LEFT.*)/$1 ON true/r . ' GROUP BY s.x' if rand() < 0.15;
	my @list = map { "$_ AS c" . ++$n } @keys, 'count(*)', map { pick('min', 'max', 'count') . '(' . $of->(0) . ')' } 1 .. between(1, 2);
	push @list, 'sum(' . fold($integers, 1) . ') AS c' . ++$n, 'count(*) FILTER (WHERE ' . fold_condition() . ') AS c' . ++$n if rand() < 0.5;
	return 'SELECT ' . join(', ', @list) . " FROM t_both s$where" . (@keys ? ' GROUP BY ' . join(', ', @keys) : '');
}

1;
