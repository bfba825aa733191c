# 047_groups.pl: random aggregations of many groups, over heap tables and over gpucol tables
# with pushdown required: keys of texts, numbers and dates and what is computed of them,
# count(DISTINCT), lengths and parts of texts, HAVING, and the first groups of an order.
#
# Every answer is compared by EXCEPT ALL in both directions; an order with a limit is made total
# by the keys, so that it determines the answer.
# GPUCOL_SEED repeats a run, GPUCOL_STEPS is its length, or GPUCOL_SECONDS.
use strict;
use warnings;
use utf8;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Utils;
use Test::More;
use Twins;

seed_random();
my $node = new_server('groups', 'max_parallel_workers_per_gather = 0', 'statement_timeout = 20s', 'shared_buffers = 256MB');

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE missing bigint; extra bigint; n bigint; plan text := ''; line text;
BEGIN
	SET LOCAL gpucol.pushdown = require;
	EXECUTE 'CREATE TEMP TABLE packed AS ' || replace(query, '@', 'packed_t');
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, '@', 'packed_t') LOOP plan := plan || line; END LOOP;
	SET LOCAL gpucol.pushdown = allow;
	EXECUTE 'CREATE TEMP TABLE plain AS ' || replace(query, '@', 'heap_t');
	SELECT count(*) INTO n FROM plain;
	SELECT count(*) INTO missing FROM (SELECT x::text FROM plain x EXCEPT ALL SELECT x::text FROM packed x) q;
	SELECT count(*) INTO extra FROM (SELECT x::text FROM packed x EXCEPT ALL SELECT x::text FROM plain x) q;
	DROP TABLE packed, plain;
	RETURN concat_ws('|', missing, extra, n, plan LIKE '%GpucolAgg%', plan LIKE '%First Groups%');
END $$;
SQL

# ---- tables ----

# Texts of a round: some empty, some NULL, of several bytes a character, few or many.
sub text_of
{
	my $many = pick(3, 40, 900, 1e9);
	my $beginning = pick("''", "'http://w' || i % 7 || '.example/'", "'日本' || i % 3", "'ä'", "repeat('x', i % 20)");
	my $empty = pick(1e9, 2, 3, 10);
	my $null = pick(1e9, 1e9, 4, 30);

	return "CASE WHEN i % $null = 1 THEN NULL WHEN i % $empty > 0 OR i % $empty = i THEN $beginning || (i * 7919 % $many) ELSE '' END";
}

sub holes { my ($expression) = @_; my $every = pick(1e9, 1e9, 7, 30); return "CASE WHEN i % $every <> 0 OR i % $every = i THEN $expression END"; }

sub tables
{
	my $sql = "DROP TABLE IF EXISTS heap_t, packed_t;\n"
	  . "CREATE TABLE heap_t (id int NOT NULL, k int, big bigint, n numeric(10,2), t text, u varchar, b bytea, d date, ts timestamp, f bool, r float8);\n";

	for my $part (0 .. between(0, 2))
	{
		my $rows = pick(30, 1500, 3000, 6000);

		$sql .= "INSERT INTO heap_t SELECT " . join(', ', "i + $part * 10000", holes('i * 31 % ' . pick(5, 300, 100000)),
			holes('i * 7919::bigint % ' . pick(4, 1000, 1e9) . ' * 1000000007'), holes('i * 37 % ' . pick(9, 900) . ' / 4.0'), text_of(), text_of(),
			"convert_to(" . text_of() . ", 'UTF8')", holes("date '2024-01-01' + i % " . pick(3, 400)), holes("timestamp '2024-01-01' + i * interval '7 minutes'"),
			holes('i % 3 = 0'), holes('i % ' . pick(5, 500) . ' / 8.0')) . " FROM generate_series(1, $rows) i;\n";
	}
	return $sql . "CREATE TABLE packed_t (LIKE heap_t) USING gpucol;\n"
	  . join('', map { "INSERT INTO packed_t SELECT * FROM heap_t WHERE id / 10000 = $_;\n" } 0 .. 2)
	  . (rand() < 0.5 ? "INSERT INTO heap_t VALUES (50001, 1, 2, 3, 'new', '', 'x'); INSERT INTO heap_t (id) VALUES (50002);\n"
		. "INSERT INTO packed_t SELECT * FROM heap_t WHERE id > 50000;\n" : '')
	  . (rand() < 0.5 ? "DELETE FROM heap_t WHERE id % 13 = 4; DELETE FROM packed_t WHERE id % 13 = 4;\n" : '')
	  . "ANALYZE heap_t, packed_t;\n";
}

# ---- statements ----

sub text_expression
{
	my $t = pick('t', 'u');

	return pick("left($t, " . between(-3, 9) . ')', "right($t, " . between(-3, 9) . ')', "substr($t, " . between(-2, 8) . ')',
		"substr($t, " . between(-2, 8) . ', ' . between(0, 9) . ')', "lower($t)", "length($t)", "octet_length($t)", "left(right($t, 5), 2)",
		"split_part($t, '/', 3)", "coalesce($t, 'none')", "CASE WHEN f THEN $t ELSE '' END", "substr(b, 2, 3)", 'length(b)');
}

sub key
{
	return pick('t', 't', 'u', 'k', 'k', 'big', 'n', 'd', 'f', 'b', 'k % 7', 'big / 3', "date_trunc('hour', ts)", 'extract(minute FROM ts)', text_expression(), text_expression());
}

sub keys_of
{
	my @keys = map { key() } 1 .. pick(1, 1, 2, 2, 3);

	# and what is computed of one of them
	push @keys, pick('k - 1', 'abs(k)', 'k::text') if rand() < 0.2 && grep { $_ eq 'k' } @keys;
	push @keys, pick('lower(t)', 'length(t)', "t || '!'") if rand() < 0.2 && grep { $_ eq 't' } @keys;
	my %seen;
	return grep { !$seen{$_}++ } @keys;
}

sub filter { return rand() < 0.2 ? ' FILTER (WHERE ' . condition() . ')' : ''; }

sub aggregate
{
	return pick('count(*)', 'count(*)', 'count(t)', 'sum(k)', 'sum(big)', 'sum(n)', 'avg(k)', 'avg(n)', 'min(k)', 'max(n)', 'min(d)', 'max(ts)', 'min(t)', 'max(u)',
		'sum(length(t))', 'avg(length(u))', 'max(octet_length(b))', 'bool_or(f)', map { "count(DISTINCT $_)" } 't', 'u', 'k', 'big', 'd', 'left(t, 3)', 'length(u)')
	  . filter();
}

sub condition
{
	return pick("t <> ''", "u <> ''", "t = ''", "b <> ''", "t LIKE '%1%'", 't IS NOT NULL', 'k > 20', 'id % 3 = 0', "d > '2024-02-01'", 'f', 'length(t) > 9', 'length(t) > length(u)',
		"u NOT IN ('', 'ä1')");
}

sub having
{
	return pick('count(*) > 1', 'count(*) >= 3', '2 < count(*)', 'sum(k) > 100', 'min(id) < 900', 'avg(n) > 3', 'count(DISTINCT t) > 1', 'max(k) IS NOT NULL');
}

sub statement
{
	my $column = 0;
	my @keys = map { "$_ AS c" . ++$column } keys_of();
	my @aggs = map { "$_ AS c" . ++$column } map { aggregate() } 1 .. between(1, 3);
	my $n = @keys;
	my $sql = 'SELECT ' . join(', ', @keys, @aggs) . ' FROM @';

	$sql .= ' WHERE ' . join(' AND ', map { condition() } 1 .. pick(1, 1, 2)) if rand() < 0.5;
	return $sql =~ s/SELECT .* FROM/'SELECT ' . join(', ', @aggs) . ' FROM'/er if rand() < 0.1;
	return $sql =~ s/SELECT .* FROM/'SELECT DISTINCT ' . join(', ', @keys) . ' FROM'/er if rand() < 0.1;
	$sql .= ' GROUP BY ' . join(', ', 1 .. $n);
	$sql .= ' HAVING ' . join(' AND ', map { having() } 1 .. pick(1, 1, 2)) if rand() < 0.3;
	return $sql if rand() < 0.4;
	my @order = map { between(1, $n + @aggs) . pick('', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST') } 1 .. pick(1, 1, 2);
	return $sql . ' ORDER BY ' . join(', ', @order, 1 .. $n) . ' LIMIT ' . pick(1, 10, 100) . pick('', '', ' OFFSET ' . between(1, 50));
}

# ---- comparison ----

my ($pushed, $first, $rows) = (0, 0, 0);
my ($steps, $wrong) = compare_queries($node, steps => 150, tables => \&tables, round => 40, query => \&statement,
	settings => sub { return 'SET gpucol.cpu_threads = ' . pick(1, 2, 5) . '; ' },
	count => sub {
		my (undef, $n, $aggregated, $limited) = @_;

		$pushed += $aggregated eq 't';
		$first += $limited eq 't';
		$rows += $n;
	});

ok($wrong == 0, "$steps statements of $rows rows answered alike, $pushed by GpucolAgg, $first of them by their first groups");
cmp_ok($pushed, '>', $steps / 2, 'most were pushed down');
$node->stop;
done_testing();
