# Ordered.pm: random queries whose rows come in an order, and queries with
# expressions above groups, over the tables of Expressions.pm.
#
# Rows that are equal in all that is ordered by may come in any order, so nothing
# else is shown of them, and of values that are equal and look different only what
# they have in common.
package Ordered;

use strict;
use warnings;
use Exporter 'import';
use Expressions;
use Gpucol qw(pick between);

our @EXPORT = qw(ordered_query grouped_query scrolling);

# An expression to order by, and one that shows what equal values have in common.
sub order_key
{
	my ($table, $alias) = @_;
	my $class = pick(grep { $_ ne 'composite' } known($table));
	my $e = expr($class, pick(0, 0, 0, 1), $table, $alias);

	$e = "trim_scale($e)" if $class =~ /^(?:num|free)$/;
	return ($e, "($e) IS NULL") if $class =~ /^(?:interval|timetz)$/;
	return ($e, "lower(($e)::text COLLATE \"C\")") if $class eq 'folded';
	return ($e, "rtrim(($e)::text)") if $class eq 'char';
	return ($e, "($e) + 0.0::float8") if $class eq 'float';
	return ($e, $e);
}

sub direction { return pick('', ' DESC', ' ASC', ' DESC NULLS LAST', ' ASC NULLS FIRST', ' NULLS LAST', ' DESC NULLS FIRST'); }

# What follows ORDER BY.
sub limit
{
	my $count = pick(0, 1, 2, 3, 7, 10, 50, 200, 1000);
	my $offset = pick('', '', '', ' OFFSET ' . pick(0, 1, 5, 100, 100000));

	return pick("LIMIT $count$offset", "LIMIT $count$offset", "$offset FETCH FIRST $count ROWS ONLY", "LIMIT NULL$offset", "LIMIT ($count + 1)$offset", "LIMIT (SELECT $count)$offset");
}

# One query over table t; its rows are to be compared as they come.
sub ordered_query
{
	my ($t) = @_;
	my @keys = map { [ order_key($t, 'x') ] } 1 .. between(1, 3);
	my @by = map { $_->[0] . direction() } @keys;
	my ($by, $shown) = (join(', ', @by), join(', ', map { $_->[1] } @keys));
	my ($key, $one) = @{ $keys[0] };
	my $where = where($t, 'x');
	my $more = $where =~ s/^WHERE (.*)/AND ($1)/sr;
	my $limit = limit();
	my $kind = int rand 20;

	return "SELECT $shown FROM $t x $where ORDER BY $by $limit" if $kind < 7;
	return "SELECT $shown FROM $t x $where ORDER BY $by FETCH FIRST " . pick(1, 3, 20) . ' ROWS WITH TIES' if $kind < 9;
	return "SELECT y.* FROM generate_series(1, 5) n, LATERAL (SELECT " . join(', ', map { "$keys[$_][1] AS s$_, $keys[$_][0] AS k$_" } 0 .. $#keys) . " FROM $t x WHERE " . pick('x.i2', 'x.i4', 'x.id')
	  . pick(' = ', ' > ', ' < ') . "n $more ORDER BY $by " . limit() . ') z, LATERAL (SELECT n, ' . join(', ', map { "z.s$_" } 0 .. $#keys) . ') y ORDER BY n, '
	  . join(', ', map { "z.k$_" . substr($by[$_], length $keys[$_][0]) } 0 .. $#keys) if $kind == 9;
	return "SELECT DISTINCT ON ($key) $one FROM $t x $where ORDER BY $by[0] $limit" if $kind == 10;
	return "SELECT $one AS k, count(*), rank() OVER (ORDER BY count(*) DESC, $one), lag(count(*)) OVER (ORDER BY $one), sum(count(*)) OVER (ORDER BY $one ROWS UNBOUNDED PRECEDING) FROM $t x $where GROUP BY 1 ORDER BY 1 $limit" if $kind == 11;
	return "SELECT count(*), count(DISTINCT x.id), sum(x.id) FROM $t x TABLESAMPLE " . pick('BERNOULLI', 'SYSTEM') . '(100) ' . pick('', 'REPEATABLE (3)') . " $where" if $kind == 12;
	return "SELECT $shown FROM $t x WHERE (x.tableoid, x.ctid) IN (SELECT x.tableoid, x.ctid FROM $t x $where) ORDER BY $by" if $kind == 13;
	return "SELECT $shown FROM $t x WHERE x.ctid = ANY (ARRAY(SELECT x.ctid FROM ONLY $t x $where)) AND x.tableoid = '$t'::regclass ORDER BY $by" if $kind == 14;
	return "SELECT $shown FROM $t x $where ORDER BY $by LIMIT 5 FOR " . pick('UPDATE', 'SHARE', 'KEY SHARE', 'NO KEY UPDATE') . pick('', ' SKIP LOCKED', ' NOWAIT') if $kind == 15;
	return "SELECT x.id % 3, array_agg($one ORDER BY $by[0]), count(DISTINCT $one), count(*) FILTER (WHERE " . predicate(0, $t, 'x') . ") FROM $t x $where GROUP BY 1 ORDER BY 1" if $kind == 16;
	return "SELECT x.id % 3, percentile_disc(0.3) WITHIN GROUP (ORDER BY $one), mode() WITHIN GROUP (ORDER BY $one) FROM $t x $where GROUP BY 1 ORDER BY 1" if $kind == 17;
	return "SELECT first_value($one) OVER w, last_value($one) OVER w, row_number() OVER w FROM $t x $where WINDOW w AS (ORDER BY $key, x.id, x::text COLLATE \"C\" " . pick('', 'ROWS 3 PRECEDING', 'ROWS BETWEEN 2 FOLLOWING AND 5 FOLLOWING') . ') ORDER BY 3 ' . $limit if $kind == 18;
	return "SELECT $shown FROM (SELECT * FROM $t x $where ORDER BY $by LIMIT ALL) x ORDER BY $by $limit";
}

# An expression of a group's key, often one whose value is not the key's.
sub wrapped
{
	my ($key) = @_;

	return pick("($key)", "(($key)::text || 'x')", "(($key) IS NULL)", "ROW($key, count(*))::text", "coalesce(($key)::text, 'none')", "CASE WHEN ($key) IS NOT NULL THEN ($key)::text ELSE '-' END",
		"(left(random()::text, 0) || ($key)::text)", "md5(($key)::text)", "ARRAY[($key)::text]", "unnest(ARRAY[($key)::text, 'u'])", "generate_series(1, length(($key)::text) % 3)");
}

# One query with expressions, windows and set-returning functions above groups; its
# rows come in no order.
sub grouped_query
{
	my ($t) = @_;
	my @keys = map { key($t, 'x') } 1 .. pick(1, 1, 2, 2, 3);
	my $where = where($t, 'x');
	my $by = join ', ', @keys;
	my @shown = some(between(1, 4), sub { my $key = pick(@keys); return pick(wrapped($key), wrapped($key), aggregate($t, 'x'), "sum(count(*)) OVER (PARTITION BY " . pick($key, "($key)::text || 'w'") . ')',
		"sum(count(*)) OVER (ORDER BY $by)", 'max(' . wrapped($key) =~ s/(?:unnest|generate_series)/format/r . '::text) OVER (PARTITION BY count(*))', 'count(*) FILTER (WHERE ' . predicate(0, $t, 'x') . ')'); });
	my $having = chance(0.35) ? 'HAVING ' . pick('count(*) > ' . between(0, 4), 'max(' . expr('int', 0, $t, 'x') . ') > ' . between(0, 9), "($keys[0]) IS NOT NULL") : '';
	# PostgreSQL takes a constant key for the same in every set, so windows find open which rows are peers; what it
	# folds to a constant is hard to tell, so that windows over several sets are by columns
	my $folded = grep({ / OVER \(/ } @shown) ? qr/^(?!(?:trim_scale)?\(?x\.\w+\)?(?:::text)?$)/ : qr/^(?!.*\bx\.)/;
	my $groups = grep({ /$folded/ } @keys) ? $by : pick(($by) x 6, "ROLLUP ($by)", "CUBE ($by)", "GROUPING SETS (($by), ($keys[0]), ())");
	my $query = 'SELECT ' . (chance(0.12) ? 'DISTINCT ' : '') . 'ROW(' . join(', ', @shown) . ")::text AS r FROM $t x $where GROUP BY $groups $having";

	$query .= ' ORDER BY ' . join(', ', some(between(1, 2), sub { pick(wrapped(pick(@keys)), 'count(*) DESC') })) if chance(0.4) && $query !~ /^SELECT DISTINCT/;
	return chance(0.2) ? "SELECT r, count(*) FROM ($query) q GROUP BY r" : $query;
}

# Statements that read a query through a cursor that goes both ways.
sub scrolling
{
	my ($query) = @_;
	my $hold = chance(0.4);
	my @moves = some(between(3, 7), sub { pick('FETCH 3', 'FETCH BACKWARD 2', 'FETCH ABSOLUTE 4', 'FETCH LAST', 'FETCH FIRST', 'MOVE 2', 'FETCH ALL', 'FETCH RELATIVE -1', 'FETCH PRIOR', 'MOVE BACKWARD ALL', 'FETCH ABSOLUTE -2') . ' FROM k' });

	splice @moves, between(1, 2), 0, 'COMMIT' if $hold;
	return ('BEGIN', 'DECLARE k SCROLL CURSOR ' . ($hold ? 'WITH HOLD ' : '') . "FOR $query", @moves, 'CLOSE k', 'ROLLBACK');
}

1;
